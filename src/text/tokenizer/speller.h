/* SPDX-License-Identifier: Apache-2.0 */
/* speller.h: spells short texts that go on behind others, again and again, in the tokenizer's own way, and
 * allocates nothing meanwhile. */
#ifndef CT_SPELLER_H
#define CT_SPELLER_H

#include "text/tokenizer/tokenizer.h"

/* The bytes that an id adds to a text: a piece with spaces in place of U+2581, the byte of a byte token, of
 * control tokens, calls' too, none. out takes CT_TOKEN_BYTES; returns their number. */
enum { CT_TOKEN_BYTES = 256 };
size_t ct_tokenizer_bytes(const struct ct_tokenizer *t, int32_t id, char *out);

struct ct_speller;            /* one caller at a time */
enum { CT_SPELLED_MAX = 60 }; /* bytes of a text */

/* Borrows t. E_MEMORY. */
carat_status ct_speller_create(struct ct_speller **speller, const struct ct_tokenizer *t, carat_error *err);
void ct_speller_free(struct ct_speller *s); /* NULL is fine */
/* The ids of a text of at most CT_SPELLED_MAX bytes, until the next call; control tokens in it are text.
 * A character that is cut off at the end is left out. Returns their number; 0 where the text is no UTF-8. */
int ct_speller_spell(struct ct_speller *s, const char *text, size_t n, const int32_t **ids);

#endif
