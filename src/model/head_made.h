/* SPDX-License-Identifier: Apache-2.0 */
/* head_made.h: what strategies make of the head and what the packed copy of a model keeps of it. */
#ifndef CT_HEAD_MADE_H
#define CT_HEAD_MADE_H

#include "model/head.h"

/* What a rule makes of the head, in this form; rules are numbered, and one that would give other bytes is another
 * rule. Its weight has data where the model's packed copy has it; without a key it cannot be kept. The name lives
 * for ever. */
struct ct_made ct_head_made(const struct ct_head *h, const char *name, int rule,
                            const struct ct_weight *form);
/* A weight in panels, without data. */
struct ct_weight ct_head_made_panels(enum ct_type type, int rows, int cols);
/* It was made, and lies at w->data as long as the engine: it is to be kept. */
void ct_head_keep(struct ct_head *h, const struct ct_made *m, const struct ct_weight *w);

#endif
