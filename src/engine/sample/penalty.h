/* SPDX-License-Identifier: Apache-2.0 */
/* penalty.h: which logits a chain edits, and why: a function of the tokens that are held, and of nothing
 * else. */
#ifndef CT_PENALTY_H
#define CT_PENALTY_H

#include "backend/backend.h"

/* Memory for the edits of a draw. */
struct ct_penalty {
    int n_vocab, context;
    uint64_t *set;         /* [n_vocab / 64] bits of ids that are edited */
    int32_t *before;       /* the number of them below each word of it */
    int32_t *run;          /* [context] */
    struct ct_edit *edits; /* [ct_most_edits] */
};

/* Edits of a vocabulary and a context, at most. */
static inline size_t ct_most_edits(int n_vocab, int context)
{
    return CT_MIN((size_t)n_vocab, (size_t)context + CARAT_MOST_BIASES);
}
void ct_penalty_lay_out(struct ct_penalty *p, struct ct_backend *b, int n_vocab, int context);
/* Fills p->edits, by id, for the id that follows held[n], n <= context; returns their number. */
int ct_penalty_edits(struct ct_penalty *p, const carat_chain *c, const int32_t *held, int n);

/* True when the links of the chain that look at held tokens do anything. */
bool ct_chain_repeats(const carat_chain *c); /* repeat, frequency, presence */
bool ct_chain_is_dry(const carat_chain *c);

#endif
