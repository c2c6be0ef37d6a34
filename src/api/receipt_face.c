/* SPDX-License-Identifier: Apache-2.0 */
/* receipt_face.c: the functions of carat_receipt.h: arguments are checked here. Receipts are receipt/'s. */
#include "receipt/receipt.h"

carat_status carat_receipt_begin(carat_receipt **receipt, carat_generation *generation,
                                 const carat_receipt_options *options, carat_error *err)
{
    CT_GIVEN(receipt, err);
    CT_GIVEN(generation, err);
    return ct_receipt_begin(receipt, generation, options, err);
}

carat_status carat_receipt_finish(carat_receipt *receipt, carat_error *err)
{
    CT_GIVEN(receipt, err);
    return ct_receipt_finish(receipt, err);
}

carat_status carat_receipt_write(const carat_receipt *receipt, char **text, size_t *n, carat_error *err)
{
    CT_GIVEN(receipt, err);
    CT_GIVEN(text, err);
    return ct_receipt_write(receipt, text, n, err);
}

carat_status carat_receipt_read(carat_receipt **receipt, const char *name, const char *text, size_t n,
                                carat_error *err)
{
    CT_GIVEN(receipt, err);
    CT_GIVEN(name, err);
    CT_GIVEN(text, err);
    return ct_receipt_read(receipt, name, (struct ct_str){text, n}, err);
}

void carat_receipt_close(carat_receipt *receipt)
{
    ct_receipt_close(receipt);
}

carat_status carat_receipt_get_info(const carat_receipt *receipt, carat_receipt_info *info, carat_error *err)
{
    CT_GIVEN(receipt, err);
    return ct_receipt_info(receipt, info, err);
}

carat_status carat_receipt_engine(const carat_receipt *receipt, carat_engine_options *options,
                                  carat_head_options *head, carat_error *err)
{
    CT_GIVEN(receipt, err);
    CT_GIVEN(options, err);
    CT_GIVEN(head, err);
    return ct_receipt_engine(receipt, options, head, err);
}

carat_status carat_receipt_replay(const carat_receipt *receipt, carat_engine *engine,
                                  const carat_replay_options *options, carat_replay *result, carat_error *err)
{
    CT_GIVEN(receipt, err);
    CT_GIVEN(engine, err);
    return ct_receipt_replay(receipt, engine, options, result, err);
}
