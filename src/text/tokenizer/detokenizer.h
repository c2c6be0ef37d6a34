/* SPDX-License-Identifier: Apache-2.0 */
/* detokenizer.h: ids to text as a stream that never splits a UTF-8 character and never allocates. */
#ifndef CT_DETOKENIZER_H
#define CT_DETOKENIZER_H

#include "text/tokenizer/tokenizer.h"

#define CT_STREAM_MAX 256 /* as carat.h promises */

struct ct_detokenizer {
    const struct ct_tokenizer *t;
    int flags;       /* CARAT_SPECIAL: print control tokens */
    uint8_t held[4]; /* an unfinished UTF-8 character from byte tokens */
    int n_held;
};
void ct_detokenizer_init(struct ct_detokenizer *d, const struct ct_tokenizer *t, int flags);
/* Writes what id completes, terminated, and returns its bytes without the terminator. Where these are not
 * fewer than capacity, nothing is written and nothing has happened: the same id can be pushed again with
 * more room. CT_STREAM_MAX is always enough. id -1 flushes. */
size_t ct_detokenizer_push(struct ct_detokenizer *d, int32_t id, char *out, size_t capacity);

#endif
