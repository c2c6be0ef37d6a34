/* SPDX-License-Identifier: Apache-2.0 */
/* receipt.c: a receipt once it is there, kept or read: what it says of itself, its hashes, its end. */
#include "receipt/receipt.h"

#include <stdlib.h>

/* Rows whose logits a replay holds at once: with fewer the head's weights are read more often than needed. */
enum { SLICE = 32 };

carat_status ct_ids_sha(uint8_t sha[CT_SHA256], const uint8_t *salt, const int32_t *ids, int n,
                        carat_error *err)
{
    struct ct_canonical list = {0};
    struct ct_sha256 s;

    ct_canonical_ids(&list, ids, n);
    ct_sha256_begin(&s);
    if (salt)
        ct_sha256_add(&s, salt, CT_SALT);
    ct_sha256_add(&s, list.text, list.n);
    ct_sha256_end(&s, sha);
    free(list.text);
    return list.failed ? ct_no_memory(err, "a receipt") : CARAT_OK;
}

carat_status ct_text_sha(uint8_t sha[CT_SHA256], const uint8_t *salt, const struct ct_tokenizer *tokenizer,
                         const int32_t *ids, int n, carat_error *err)
{
    struct ct_sha256 s;
    char *text = NULL;
    size_t length = 0;

    if (tokenizer)
        CT_TRY(ct_tokenizer_decode(tokenizer, ids, n, 0, &text, &length, err));
    ct_sha256_begin(&s);
    if (salt)
        ct_sha256_add(&s, salt, CT_SALT);
    if (length)
        ct_sha256_add(&s, text, length);
    ct_sha256_end(&s, sha);
    free(text);
    return CARAT_OK;
}

carat_status ct_receipt_chain(ct_digest start, const struct ct_receipt_header *h, carat_error *err)
{
    struct ct_canonical header = {0};

    ct_header_write(&header, h);
    if (!header.failed)
        ct_digest_start(start, &header);
    free(header.text);
    return header.failed ? ct_no_memory(err, "a receipt") : CARAT_OK;
}

void carat_receipt_close(carat_receipt *receipt)
{
    if (!receipt)
        return;
    if (receipt->generation)
        receipt->generation->witness = NULL;
    free(receipt->ids);
    free(receipt->digests.kept);
    ct_arena_free(&receipt->arena);
    free(receipt);
}

carat_status carat_receipt_get_info(const carat_receipt *receipt, carat_receipt_info *info, carat_error *err)
{
    CT_GIVEN(receipt, err);
    const bool known = receipt->finished && receipt->ids;
    const carat_receipt_info full = {.content = receipt->header.content,
                                     .digest = receipt->digest,
                                     .previous = receipt->header.previous,
                                     .prompt = known ? receipt->ids : NULL,
                                     .answer = known ? receipt->ids + receipt->n_prompt : NULL,
                                     .n_prompt = receipt->n_prompt,
                                     .n_answer = receipt->n_answer,
                                     .reason = receipt->reason,
                                     .is_private = receipt->is_private,
                                     .has_form = receipt->header.has_form,
                                     .tokens = receipt->n_answer + (receipt->end_id >= 0)};

    return ct_give_struct(info, &full, sizeof full, "carat_receipt_info", err);
}

carat_status carat_receipt_engine(const carat_receipt *receipt, carat_engine_options *options,
                                  carat_head_options *head, carat_error *err)
{
    CT_GIVEN(receipt, err);
    CT_GIVEN(options, err);
    CT_GIVEN(head, err);
    const struct ct_receipt_header *h = &receipt->header;

    if (!receipt->finished)
        return ct_fail(err, CARAT_E_ARGUMENT, "the receipt is not finished");
    options->exact = h->arithmetic == CT_EXACT;
    options->fast8 = h->arithmetic == CT_FAST8;
    options->kv = (carat_kv)(h->kv + 1);
    options->first_layer = h->first_layer;
    options->layers = h->layers;
    options->activations_f16 = h->activations_f16;
    options->context = receipt->n_prompt + receipt->n_answer;
    options->logits_rows = SLICE;
    options->head = NULL;
    if (h->has_head) {
        head->strategy = (carat_head)h->strategy;
        head->quant = (carat_head_quant)h->quant;
        head->tile = h->tile;
        head->shortlist_tiles = h->tiles;
        options->head = head;
    }
    return CARAT_OK;
}
