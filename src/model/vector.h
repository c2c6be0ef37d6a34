/* SPDX-License-Identifier: Apache-2.0 */
/* vector.h: the end of an embedder's pass: from the hidden states of a text to one vector of length 1. What
 * each step computes: NUMERICS.md section 6; why: MODEL.md. */
#ifndef CT_VECTOR_H
#define CT_VECTOR_H

#include "model/forward.h"

/* Where the vectors of a pass come about. */
struct ct_vectors {
    struct ct_mat in, made[CT_MOST_DENSE]; /* [most][...] what each matrix gets, and what it makes */
    float *mean;                           /* [most][hidden] */
    float *row;                            /* [the widest of them] */
    int32_t *nothing;                      /* [most] zeros: texts have no place among others any more */
    struct ct_seen *itself;                /* [most] */
    bool *wanted;                          /* [most] */
};
/* Takes memory for so many texts; none where the model is no embedder. */
void ct_vectors_lay_out(struct ct_vectors *v, struct ct_backend *b, const struct ct_config *c, int most);

/* The mean of current rows [first, first + n) of the pass, whose hidden states p->h has, for text number
 * i. */
void ct_vector_mean(struct ct_vectors *v, const struct ct_pass *p, int i, int first, int n);
/* The means of n texts through the matrices behind them, as a pass of its own, which the caller ends. */
void ct_vectors_project(struct ct_vectors *v, const struct ct_pass *p, int n, const struct ct_watch *watch);
/* The first dim values of what text i has now, at length 1. raw: of its mean. False: one is not finite. */
bool ct_vector_give(const struct ct_vectors *v, const struct ct_pass *p, int i, bool raw, float *to, int dim);
/* Values of a vector; raw: of a mean. */
static inline int ct_vector_width(const struct ct_config *c, bool raw)
{
    return raw || c->n_dense == 0 ? c->hidden : c->dense[c->n_dense - 1];
}

#endif
