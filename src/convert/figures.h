/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h: how far the values of a new tensor are from those that it was made from. */
#ifndef CT_FIGURES_H
#define CT_FIGURES_H

#include "carat_convert.h"
#include "quant/quant.h"

/* Sums over values; sums of parts are added in the order of the file, so that threads change no bit. */
struct ct_figures {
    double n, w, v, w2, v2, wv, e, e2; /* w: values that were, v: that are, e: v - w */
    double seconds;
    double blocks, on_lattice, looked, one_scale; /* blocks and rows that were looked at for lattices */
    float largest, least_scale, most_scale;       /* least_scale < 0: there is no scale so far */
    float off;                                    /* largest |e| */
    float most_clipped;
    int rows;
    uint64_t clipped;
    uint64_t seen[(1 << 16) / 64]; /* a bit for each number of F16 that a value is nearest to */
};

void ct_figures_begin(struct ct_figures *f);
/* A row: n values, and what they became; decoded[n] is overwritten. */
void ct_figures_row(struct ct_figures *f, const float *w, int n, enum ct_type type, const void *blocks,
                    float *decoded);
/* Counts a sample: of so many blocks, `on` lie on lattices; of so many rows, `one_scale` have one scale. */
void ct_figures_sample(struct ct_figures *f, int blocks, int on, int rows, int one_scale);
/* Such a value is saturated. */
void ct_figures_clip(struct ct_figures *f, float w);
/* Those of a row of Q8_0 with integers up to qmax. */
void ct_figures_clipped(struct ct_figures *f, const float *w, int n, const uint8_t *blocks, int qmax);
void ct_figures_add(struct ct_figures *to, const struct ct_figures *part);
/* Fills what was measured. */
void ct_figures_tell(const struct ct_figures *f, carat_converted *c);

#endif
