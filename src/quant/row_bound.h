/* SPDX-License-Identifier: Apache-2.0 */
/* row_bound.h: how far the score that a sketch of a row gives may be from the row's logit (NUMERICS.md section
 * 12). Who makes these numbers: model/head_bound.c; who tests scores with them: prune of kernel/kernel.h. */
#ifndef CT_ROW_BOUND_H
#define CT_ROW_BOUND_H

#include <stdint.h>

/* Of a row: f16 codes, never negative; infinity says that nothing is known. */
struct ct_row_bound {
    uint16_t residual; /* at least ||w - sketch|| and what the sum of the sketch rounds away */
    uint16_t norm;     /* at least ||w|| */
};

/* Of a token: |logit - score| <= residual * x + norm * y. */
struct ct_token_bound {
    double x, y;
};

/* Euclidean norms of an input: as int8 activations, of what these differ by from what the head multiplies,
 * and of that. */
struct ct_input_norms {
    double int8, apart, dense;
};

/* Scores of the rows of a head, and what a logit must reach. */
struct ct_prune {
    const float *score;               /* [n] */
    const struct ct_row_bound *bound; /* [n] */
    int n;
    struct ct_token_bound token;
    float bar;
    const uint32_t *finished; /* panels that are left out: bit i % 32 of word i / 32; NULL: none */
};

#endif
