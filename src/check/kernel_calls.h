/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_calls.h: the calls of kernels that are compared between levels, by carat_verify (verify_trial.c) on
 * a model's weights and by kcheck (test/kernel) on random and hard ones. What they are given, and how results
 * are compared, is theirs. */
#ifndef CT_KERNEL_CALLS_H
#define CT_KERNEL_CALLS_H

#include "kernel/layout/panel.h"

/* Whether panels of a type serve a product: exact arithmetic decodes blocks, which it takes as rows. */
static inline bool ct_takes_panels(enum ct_type type, bool exact)
{
    enum ct_lines lines = ct_panel_of(type)->lines;
    return lines != CT_LINES_NONE && (!exact || lines == CT_LINES_16 || lines == CT_LINES_32);
}

static inline void ct_call_prepare(const struct ct_kernel *k, struct ct_prepared *p, enum ct_input form,
                                   const float *x, int t0, int t1)
{
    if (form == CT_INPUT_LANES)
        k->prepare_lanes(p, x, t0, t1);
    else
        k->prepare_input(p, form, x, t0, t1);
}

static inline void ct_call_project(const struct ct_kernel *k, float *out, size_t ldo,
                                   const struct ct_weight *w, int r0, int r1, const struct ct_prepared *x,
                                   enum ct_input form, float *scratch)
{
    (w->layout == CT_LAYOUT_PANELS ? k->project_panels : k->project)(out, ldo, w, r0, r1, x, form, scratch);
}

/* Operators that change one vector by another, or by a number. */
enum ct_elementwise { CT_NORM, CT_ADD, CT_SCALE, CT_GEGLU, CT_SOFTCAP, CT_ELEMENTWISE_COUNT };

static inline const char *ct_elementwise_name(enum ct_elementwise what)
{
    static const char *const name[] = {"norm", "add", "scale", "geglu", "softcap"};
    return name[what];
}

static inline void ct_call_elementwise(const struct ct_kernel *k, enum ct_elementwise what, float *x,
                                       const float *y, float number, int n)
{
    if (what == CT_NORM)
        k->norm(x, x, y, n, number);
    else if (what == CT_ADD)
        k->add(x, y, n);
    else if (what == CT_SCALE)
        k->scale(x, number, n);
    else if (what == CT_GEGLU)
        k->geglu(x, y, n);
    else
        k->softcap(x, number, n);
}

/* What a tile makes of the blocks with keys [lo, hi], q[t->n][head_dim]: all of them in `all`, the last alone
 * in `last`. attend_finish is left. */
static inline void ct_call_attend(const struct ct_kernel *k, struct ct_attended *all,
                                  struct ct_attended *last, struct ct_queries *t, const float *q,
                                  const struct ct_kv_head *kv, int lo, int hi, float scale, float cap,
                                  float *scratch)
{
    for (int i = 0; i < t->n; i++) {
        k->attend_query(t, i, q + (size_t)i * (size_t)kv->head_dim, kv);
        all->sum[i] = 0;
    }
    for (int b = lo / CT_KEY_BLOCK; b <= hi / CT_KEY_BLOCK; b++) {
        ct_kv_attend(k, last, t, kv, b, scale, cap, scratch);
        k->attend_merge(all, last, t->n, kv->head_dim);
    }
}

#endif
