/* SPDX-License-Identifier: Apache-2.0 */
/* alike.h: whether ids mean the same in two vocabularies, as those of a model and its drafter must. */
#ifndef CT_ALIKE_H
#define CT_ALIKE_H

#include "text/tokenizer/tokenizer.h"

/* The first id below n that stands for other text in b than in a, or the id in a of the first control token
 * that is another one in b; -1: there is none. What is unused on one side, and how a container spells blanks
 * and bytes, is no difference. */
int32_t ct_tokenizer_first_other(const struct ct_tokenizer *a, const struct ct_tokenizer *b, int32_t n);

#endif
