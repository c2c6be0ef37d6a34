/* SPDX-License-Identifier: Apache-2.0 */
/* speller.h: spells short texts that go on behind others, again and again, in the tokenizer's own way, and
 * allocates nothing meanwhile. */
#ifndef CT_SPELLER_H
#define CT_SPELLER_H

#include "text/tokenizer/tokenizer.h"

struct ct_speller;            /* one caller at a time */
enum { CT_SPELLED_MAX = 60 }; /* bytes of a text */

/* Borrows t. E_MEMORY. */
carat_status ct_speller_create(struct ct_speller **speller, const struct ct_tokenizer *t, carat_error *err);
void ct_speller_free(struct ct_speller *s); /* NULL is fine */
/* The ids of a text of at most CT_SPELLED_MAX bytes, until the next call; control tokens in it are text.
 * Returns their number. */
int ct_speller_spell(struct ct_speller *s, const char *text, size_t n, const int32_t **ids);

#endif
