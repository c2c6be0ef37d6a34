/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_cases.h: the calls of kernels that are compared between levels, bit for bit. carat_verify makes them
 * on a model's weights (verify_kernels.c), kcheck (test/kernel) on random and hard values between forbidden
 * pages. What a case is given is theirs, and so is what a difference becomes. */
#ifndef CT_KERNEL_CASES_H
#define CT_KERNEL_CASES_H

#include "kernel/kernel.h"
#include "layout/panel.h"

/* Who runs cases. */
struct ct_case {
    const struct ct_kernel *level; /* [n_level]; the first is ref */
    int n_level;
    /* Memory until release is called with what mark gave before; NULL when there is none. */
    void *(*take)(struct ct_case *c, size_t bytes, size_t align);
    int (*mark)(const struct ct_case *c);
    void (*release)(struct ct_case *c, int mark);
    /* From here on nobody may write into what was taken there. */
    void (*freeze)(struct ct_case *c, const void *at);
    /* Says which entry of which level runs from here on; how: ", rows", ", panels" or "". */
    void (*enter)(struct ct_case *c, int level, const char *entry, const char *how);
    /* Keeps what ref gave at one of CT_CASE_PLACES, and compares with it. keep: false without memory. */
    bool (*keep)(struct ct_case *c, int place, const void *data, size_t bytes);
    void (*compare_floats)(struct ct_case *c, int place, const float *got, size_t n);
    void (*compare_bytes)(struct ct_case *c, int place, const void *got, size_t n);
    /* A random number below n: calls are cut into parts by it. NULL: each is made as a whole. */
    int (*below)(struct ct_case *c, int n);
    bool failed; /* memory is out */
};

enum { CT_CASE_PLACES = 4 };

/* Takes memory for a case; without memory the case has failed. */
void *ct_case_take(struct ct_case *c, size_t bytes, size_t align);

/* A product: a weight as rows and, where packed, as panels, and n tokens x[n][cols]. */
struct ct_product {
    struct ct_weight rows, panels;
    bool packed;
    int n;
    const float *x;
    size_t ldo;
    bool exact;
};

/* Operators that change one vector by another, or by a number. */
enum ct_elementwise {
    CT_NORM,
    CT_ADD,
    CT_SCALE,
    CT_ADD_SCALED,
    CT_GEGLU,
    CT_SOFTCAP,
    CT_ALTUP_MATCH,
    CT_CUTOFF,
    CT_ELEMENTWISE_COUNT
};
const char *ct_elementwise_name(enum ct_elementwise what);

/* A row of each stream and what a layer made of the first: x[CT_STREAMS + 1][n]. */
struct ct_stream_rows {
    int n;
    const float *x, *norm, *router,
        *coefs; /* of struct ct_altup; coefs[CT_STREAMS * CT_STREAMS][CT_STREAMS] */
};

struct ct_rotation {
    int dim, pairs, position;
    double base, factor;
    const float *x; /* [dim] */
};

struct ct_attention {
    enum ct_kv_type type;
    int capacity, dim;
    /* Fills the ring with what lies in it before, which is the same for each level. NULL: it stays as memory
     * is taken. */
    void (*fill)(struct ct_case *c, const struct ct_kv_head *kv);
    const float *stored; /* [n_stored][2][dim]: K and V of position hi, hi - 1, ... */
    int n_stored;
    struct ct_queries tile; /* q is the case's own */
    const float *q;         /* [tile.n][dim] */
    float scale, cap;
};

void ct_case_pack(struct ct_case *c, struct ct_product *p); /* makes the panels, where the type has any */
void ct_case_dequantize_row(struct ct_case *c, const struct ct_product *p, int row);
void ct_case_product(struct ct_case *c, const struct ct_product *p);
void ct_case_elementwise(struct ct_case *c, enum ct_elementwise what, const float *x, const float *y,
                         float number, int n);
/* The k experts of a row. */
void ct_case_route(struct ct_case *c, const float *logits, int n, int k, const float *scale);
void ct_case_rope(struct ct_case *c, const struct ct_rotation *r);
void ct_case_altup(struct ct_case *c, const struct ct_stream_rows *s);
void ct_case_finite(struct ct_case *c, const float *x, int n);
void ct_case_above(struct ct_case *c, const float *x, int n);
/* All are finite. */
void ct_case_log_sum(struct ct_case *c, const float *x, int n);
void ct_case_entropy(struct ct_case *c, const float *x, int n);
/* Checks that the other logits give the same ids. */
void ct_case_draw(struct ct_case *c, const struct ct_logits *logits, const struct ct_logits *others,
                  int n_others, const struct ct_draw *d, const struct ct_draw *same);
/* The k best, by a heap and by a sort. */
void ct_case_select(struct ct_case *c, const struct ct_logits *l, int k, const int32_t *excluded,
                    int n_excluded);
/* Norms of an input in every form. */
void ct_case_input_norms(struct ct_case *c, const float *x, int n);
void ct_case_prune(struct ct_case *c, const struct ct_prune *p);
void ct_case_uncap(struct ct_case *c, float capped, float cap);
void ct_case_attend(struct ct_case *c, const struct ct_attention *a);

/* ---- single calls, for tests that compare otherwise ---- */

static inline void ct_call_prepare(const struct ct_kernel *k, struct ct_prepared *p, enum ct_input form,
                                   const float *x, size_t ldx, struct ct_input_part part)
{
    if (form == CT_INPUT_LANES)
        k->prepare_lanes(p, x, ldx, part);
    else
        k->prepare_input(p, form, x, ldx, part);
}

/* Runs a tile over the blocks with keys [lo, hi], q[t->n][head_dim]: results of all of them in `all`, of the
 * last alone in `last`. attend_finish is left. */
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
