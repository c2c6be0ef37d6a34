/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_product.h: what products and experts share: how blocks of output rows go round among threads, and calls
 * of the kernels on inputs that are prepared. cpu_project.c has it. */
#ifndef CT_CPU_PRODUCT_H
#define CT_CPU_PRODUCT_H

#include "backend/cpu/cpu_backend.h"

/* Blocks [first, end) of output rows; none: {0, 0}. */
struct ct_blocks {
    int first, end;
};

/* Work on blocks; who has more to say of it begins a struct with this one. */
struct ct_block_job {
    struct ct_cpu_backend *b;
    /* Computes blocks; those of next will most likely be the same thread's. */
    void (*compute)(struct ct_block_job *j, struct ct_blocks now, struct ct_blocks next, int thread);
    int blocks, shares, share; /* the first blocks are so many shares of so many, a share for each thread */
    atomic_int claimed;        /* of the pieces that the others are cut into */
};

/* Sets what compute does not, and computes all blocks. */
void ct_cpu_run_blocks(struct ct_block_job *j, int blocks);
/* Rows of a block for so many tokens. */
int ct_cpu_rows_of_block(const struct ct_cpu_backend *b, int tokens);
/* The most rows, whole blocks, of which so many products lie beside each other in memory of a thread. */
int ct_cpu_rows_beside(const struct ct_cpu_backend *b, int tokens, int products);
/* That memory. */
float *ct_cpu_beside(const struct ct_cpu_backend *b, int thread);

/* Prepares a part of p, whose first row is row of in; others follow in's. */
void ct_cpu_prepare(const struct ct_cpu_backend *b, struct ct_prepared *p, enum ct_input form, const float *x,
                    size_t ldx, struct ct_input_part part);
/* Lays an input of n tokens, of which memory for whole blocks of CT_LANES is taken, to `at`, aligned to 64.
 * Returns its bytes. */
size_t ct_cpu_lay_prepared(struct ct_prepared *p, void *at, enum ct_input form, int n, int cols);

/* Rows [r0, r1) of a product of all tokens of x, and what the thread multiplies then. */
void ct_cpu_product(struct ct_cpu_backend *b, ct_mat out, const struct ct_weight *w, int r0, int r1,
                    const struct ct_prepared *x, struct ct_panels_next next, int thread);

/* gelu(gate) * up of the same tokens. */
struct ct_cpu_geglu {
    const struct ct_weight *gate, *up;
    const struct ct_prepared *x[2]; /* as each reads it */
    ct_mat out;                     /* where it goes; or */
    struct ct_prepared *reader;     /* the input of who reads it, not NULL, in that form */
    enum ct_input form;
    const struct ct_trace *trace; /* who may listen to it; NULL: nobody */
    int expert;                   /* whose it is then */
};
/* Rows [r0, r1), at most so many at a time; both, and r0, are whole blocks. */
void ct_cpu_geglu_rows(struct ct_cpu_backend *b, const struct ct_cpu_geglu *g, int r0, int r1, int step,
                       struct ct_panels_next next, int thread);

/* ---- what draws read of logits; cpu_few.c has it ---- */

/* logits: of a row, whose memory has room for all of them. */
void ct_cpu_few_begin(const struct ct_cpu_backend *b, struct ct_few *few, int n, int logits);
/* A thread has computed the logits of ids [first, first + n) of a row. */
void ct_cpu_few_see(const struct ct_cpu_backend *b, const struct ct_few *few, const float *logits, int first,
                    int n, int thread);
/* All logits have been seen: sets what was found of each row. */
void ct_cpu_few_end(struct ct_cpu_backend *b, struct ct_few *few, int n);

#endif
