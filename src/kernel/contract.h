/* SPDX-License-Identifier: Apache-2.0 */
/* contract.h: what callers of kernels promise in kernel.h, as assertions: on in debug and sanitizer builds,
 * nothing in others. Files of kernels call these where their entries begin. */
#ifndef CT_CONTRACT_H
#define CT_CONTRACT_H

#include <assert.h>

#include "kernel/kernel.h"
#include "layout/panel.h"

static inline void ct_assert_aligned(const void *p)
{
    assert(p && (uintptr_t)p % 64 == 0);
    (void)p;
}

/* x, whose rows are ldx apart, becomes a part of p. */
static inline void ct_assert_prepare(const struct ct_prepared *p, const float *x, size_t ldx,
                                     struct ct_input_part part)
{
    assert(p->n > 0 && p->cols > 0 && x);
    assert(part.t0 >= 0 && part.t0 % CT_LANES == 0 && part.t0 < part.t1 && part.t1 % CT_LANES == 0);
    assert(part.g0 >= 0 && part.g0 < part.g1 && part.g1 <= ct_pad_group(p->cols) / CT_GROUP);
    assert(p->n == 1 || ldx >= (size_t)(CT_MIN(part.g1 * CT_GROUP, p->cols) - part.g0 * CT_GROUP));
    (void)p, (void)x, (void)ldx, (void)part;
}

/* Rows [r0, r1) of w times x, in a form that w asks for. */
static inline void ct_assert_project(const float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                     const struct ct_prepared *x, enum ct_input form)
{
    assert(out && w->data && x->n > 0 && x->cols == w->cols);
    assert(0 <= r0 && r0 < r1 && r1 <= w->rows);
    assert(x->n == 1 || ldo >= (size_t)(r1 - r0));
    assert(form == ct_input_form(w, false) || form == ct_input_form(w, true));
    if (ct_in_panels(w)) {
        assert(r0 % CT_PANEL_ROWS == 0 && w->row_bytes > 0);
        assert(w->row_bytes == (w->layout == CT_LAYOUT_NIBBLES ? ct_palette_panel_bytes(w->cols)
                                                               : ct_panel_size(w->type, w->cols)));
    }
    (void)out, (void)ldo, (void)w, (void)r0, (void)r1, (void)x, (void)form;
}

static inline void ct_assert_kv(const struct ct_kv_head *kv, int position)
{
    assert(kv->type < CT_KV_TYPE_COUNT && position >= 0);
    assert(kv->capacity > 0 && kv->capacity % CT_KEY_BLOCK == 0);
    assert(kv->head_dim > 0 && kv->head_dim % 2 == 0 && kv->head_dim <= CT_MAX_HEAD_DIM);
    ct_assert_aligned(kv->k);
    ct_assert_aligned(kv->v);
    (void)kv, (void)position;
}

static inline void ct_assert_attend(const struct ct_attended *a, const struct ct_queries *t,
                                    const struct ct_kv_head *kv, int block, const float *s)
{
    ct_assert_kv(kv, block);
    assert(t->n > 0 && t->n <= CT_QUERIES);
    ct_assert_aligned(t->q);
    ct_assert_aligned(a->out);
    ct_assert_aligned(s);
    for (int i = 0; i < t->n; i++) /* a single block may be one of many: who handed it out knows how many */
        assert(t->lo[i] >= 0 && (kv->capacity == CT_KEY_BLOCK || t->hi[i] - t->lo[i] < kv->capacity));
    (void)a, (void)t, (void)kv, (void)block, (void)s;
}

#endif
