/* SPDX-License-Identifier: Apache-2.0 */
/* ref.h: the entries that ref*.c define for the level being compiled; ref.c puts them into a table. */
#ifndef CT_REF_H
#define CT_REF_H

#include "kernel/ref/ref_math.h"

void CT_NAME(ct_kernel_init)(struct ct_kernel *k);
void CT_NAME(ct_dequantize_row)(float *out, const struct ct_weight *w, int row, float *scratch);
void CT_NAME(ct_prepare_input)(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx,
                               struct ct_input_part part);
void CT_NAME(ct_prepare_lanes)(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part);
void CT_NAME(ct_project)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                         const struct ct_prepared *x, enum ct_input form, float *scratch,
                         const struct ct_panels_next *next);
void CT_NAME(ct_kv_write)(const struct ct_kv_head *kv, int position, const float *k, const float *v);
void CT_NAME(ct_attend_query)(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv);
void CT_NAME(ct_attend_block)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                              int block, float scale, float cap, float *s);
void CT_NAME(ct_attend_merge)(struct ct_attended *all, const struct ct_attended *block, int n, int dim);
void CT_NAME(ct_attend_finish)(float *out, const struct ct_attended *all, int i, int dim);
void CT_NAME(ct_rope_frequencies)(double *inv, int dim, double base, double factor);
void CT_NAME(ct_rope_table)(float *cosine, float *sine, const double *inv, int pairs, int position);
void CT_NAME(ct_rope)(float *x, const float *cosine, const float *sine, int pairs, int dim);
void CT_NAME(ct_input_norms)(struct ct_input_norms *out, const float *x, int n, enum ct_input form);
int CT_NAME(ct_prune)(int32_t *panels, int *rows, const struct ct_prune *p);
float CT_NAME(ct_uncap)(float capped, float cap);
int CT_NAME(ct_select)(int32_t *best, const struct ct_logits *l, int k, const int32_t *excluded,
                       int n_excluded, void *spare);
int32_t CT_NAME(ct_draw)(const struct ct_logits *l, const struct ct_draw *d, struct ct_draw_room *room);

/* ---- parts of a draw ---- */

enum ct_edit_kind { CT_EDIT_BIAS, CT_EDIT_PENALTIES, CT_EDIT_DRY };
float CT_NAME(ct_edited)(float logit, enum ct_edit_kind kind, const struct ct_edit *e, const carat_chain *c);
/* value[l->n] are the logits of l's ids. */
void CT_NAME(ct_edit_all)(float *value, const struct ct_logits *l, enum ct_edit_kind kind,
                          const struct ct_draw *d);

/* Those that are left, best first. */
struct ct_candidates {
    const struct ct_logits *logits; /* order has places in it */
    struct ct_draw_room *room;      /* best, spare and edited of it are free */
    int32_t *order;
    float *value, *weight; /* logits as they are by now; their softmax where weighed */
    int n;
    bool weighed, cut; /* cut: some have gone since */
};
/* Makes weights of logits that have none. */
void CT_NAME(ct_chain_weigh)(struct ct_candidates *c);
/* u: the random number of XTC's chance. */
void CT_NAME(ct_chain_link)(struct ct_candidates *c, carat_link link, const struct ct_draw *d, float u);

#endif
