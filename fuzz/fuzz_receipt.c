/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_receipt.c: any text as a receipt. Checked besides memory: what is refused says why; what is taken is
 * written so that reading it gives the same text again, and its settings become options. */
#include <stdlib.h>

#include "receipt/receipt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define must(what) ((what) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    carat_receipt *first = NULL, *second = NULL;
    char *text = NULL, *again = NULL;
    size_t n = 0, n_again = 0;
    carat_error err = {CARAT_OK, ""};
    const carat_status status =
        ct_receipt_read(&first, "receipt", (struct ct_str){(const char *)data, size}, &err);

    if (status) {
        must(status == err.code && *err.message &&
             (status == CARAT_E_FORMAT || status == CARAT_E_UNSUPPORTED || status == CARAT_E_MEMORY));
        return 0;
    }
    must(carat_receipt_write(first, &text, &n, &err) == CARAT_OK);
    must(ct_receipt_read(&second, "receipt", (struct ct_str){text, n}, &err) == CARAT_OK);
    must(carat_receipt_write(second, &again, &n_again, &err) == CARAT_OK);
    must(n == n_again && memcmp(text, again, n) == 0);
    free(text);
    free(again);
    carat_receipt_close(first);
    carat_receipt_close(second);
    return 0;
}
