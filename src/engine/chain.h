/* SPDX-License-Identifier: Apache-2.0 */
/* chain.h: the chain of a sampling as data: is it sound, a copy of it, what its draws read of logits, and
 * which logits it edits: a function of the tokens that are held, and of nothing else. The arithmetic is
 * kernel/ref/ref_{chain,draw}.c's. */
#ifndef CT_CHAIN_H
#define CT_CHAIN_H

#include "backend/backend.h"

/* E_ARGUMENT names what is wrong. c is complete; NULL is sound. */
carat_status ct_chain_check(const carat_chain *c, int n_vocab, carat_error *err);

/* A copy that shares nothing with the original, which is sound; *memory is for free. E_MEMORY. */
carat_status ct_sampling_copy(carat_sampling *to, void **memory, const carat_sampling *from,
                              carat_error *err);

/* The number of best logits that a draw reads, edited ones aside; 0: all of them. */
int ct_chain_best(const carat_sampling *o);
/* The ids that a chain may edit in draws behind held[first], held[first + 1] ... held[last]: at least
 * these, in any order, some more than once. Returns their number; -1: there are more than `room`. NULL:
 * none. */
int ct_chain_apart(const carat_chain *c, const int32_t *held, int first, int last, int32_t *ids, int room);

/* Memory for the edits of a draw. */
struct ct_penalty {
    int n_vocab, context;
    uint64_t *set;         /* [n_vocab / 64] bits of ids that are edited */
    int32_t *before;       /* the number of them below each word of it */
    int32_t *run;          /* [context] */
    struct ct_edit *edits; /* [least of n_vocab, context and CARAT_MOST_BIASES together] */
};

void ct_penalty_lay_out(struct ct_penalty *p, struct ct_backend *b, int n_vocab, int context);
/* Fills p->edits, by id, for the id that follows held[n], n <= context; returns their number. */
int ct_penalty_edits(struct ct_penalty *p, const carat_chain *c, const int32_t *held, int n);

/* True when the links of the chain that look at held tokens do anything. */
bool ct_chain_repeats(const carat_chain *c); /* repeat, frequency, presence */
bool ct_chain_is_dry(const carat_chain *c);
/* True when it has the usual links, of which none but top-k, temperature, top-p and min-p do anything, and
 * edits nothing. NULL: it is so. */
bool ct_chain_is_usual(const carat_chain *c);

#endif
