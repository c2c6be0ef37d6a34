/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: contracts of the kernels, pure functions on arrays: no allocation, threads, errors or globals.
 * What each number is: NUMERICS.md; the meaning in C: ref/; who calls them: backend/cpu/cpu_backend.c.
 * One table per ISA level, never with a null entry, and every level gives the same bits. */
#ifndef CT_KERNEL_H
#define CT_KERNEL_H

#include "base/base.h"
#include "layout/kv.h"
#include "os/cpu.h"
#include "quant/logits.h"
#include "quant/weight.h"

#define CT_LANES   8  /* tokens side by side in a prepared input of more than one token */
#define CT_QUERIES 32 /* most queries of a tile */

/* Rows that the same thread will most likely multiply after a call: the end of the call may ask memory for
 * their beginning. */
struct ct_panels_next {
    const struct ct_weight *w;
    int r0, r1;
};

/* What a product wants its input to be. */
enum ct_input {
    CT_INPUT_F32,        /* f32 as it is */
    CT_INPUT_BF16,       /* rounded to bf16, tiny values to 0 (section 5); kept as f32 */
    CT_INPUT_Q8,         /* int8 in groups of 32 (section 4) */
    CT_INPUT_LANES,      /* the same as a level's kernels for panels want it */
    CT_INPUT_BF16_LANES, /* BF16 as they do; below AMX the same again */
    CT_INPUT_COUNT,
};

/* A prepared input of n tokens and cols values. F32 and BF16: value[block][k][lane], lane = 1 for n == 1,
 * else CT_LANES; k padded to a multiple of CT_GROUP and lanes beyond n with zeros. Q8: q[n][k],
 * scale[n][k/32], sum[n][k/16]. */
struct ct_prepared {
    int n, cols;
    float *value;
    int8_t *q;
    float *scale;
    int32_t *sum;
};

/* A part of an input: groups [g0, g1) of tokens [t0, t1), whole blocks of CT_LANES; the last may be filled
 * with tokens that nobody has. */
struct ct_input_part {
    int t0, t1, g0, g1;
};

/* A tile: queries that read one KV head of one sequence, and the positions that each sees. */
struct ct_queries {
    int n; /* 1 to CT_QUERIES */
    int lo[CT_QUERIES], hi[CT_QUERIES];
    float *q; /* [CT_QUERIES][head_dim], 64-byte aligned; attend_query wrote it */
};

/* What n queries made of some blocks of keys (NUMERICS.md section 7): the largest score, the sum of the
 * weights, and of weights times values. A sum of 0 means that the query saw none of them; then the other
 * two say nothing. */
struct ct_attended {
    float *max, *sum; /* [n] */
    float *out;       /* [n][head_dim], 64-byte aligned */
};
#define CT_ATTEND_SCRATCH (CT_QUERIES * (size_t)(CT_KEY_BLOCK + 16)) /* floats, 64-byte aligned */

/* Scratch of a draw, each [n] for n logits. */
struct ct_draw_room {
    int32_t *order, *best, *spare;
    float *value, *weight, *edited;
};
enum { CT_DRAW_ARRAYS = 6 };

/* Floats of scratch that dequantize_row and project need for rows of cols values. */
#define CT_SCRATCH(cols) (8 * (size_t)ct_pad_group(cols))

enum { CT_MOST_ENTRIES = 40 };
struct ct_kernel {
    const char *isa;
    const char *by[CT_MOST_ENTRIES]; /* the level that wrote each entry; ct_kernel_level_of reads it */
    /* How this level wants weights to lie whose type has panels (panel.h). It takes both. */
    enum ct_layout layout;
    /* Output rows of a block, the least that a thread claims: small, so that a busy neighbour costs little.
     * For up to CT_LANES tokens the four panels that a product of one token reads side by side; for more,
     * whose blocks take longer, two. */
    int rows_few, rows_many;
    /* Queries that this level likes to have in a tile, at most CT_QUERIES. These three: sizes.h. */
    int queries;

    /* One row of w as f32 (BF16: values below 2^-50 become 0), out[w->cols]. */
    void (*dequantize_row)(float *out, const struct ct_weight *w, int row, float *scratch);
    /* Prepares a part of p in one form but LANES; p->n and p->cols are set, buffers are large enough. x is
     * the first value of the part, tokens are ldx apart; what is beyond p->n or p->cols is not read. */
    void (*prepare_input)(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx,
                          struct ct_input_part part);
    /* The same for LANES. What it writes, only project_panels of the same level reads. */
    void (*prepare_lanes)(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part);
    /* out[token][row] for rows [r0, r1) and all tokens, out rows ldo apart; next may be NULL. */
    void (*project)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                    const struct ct_prepared *x, enum ct_input form, float *scratch,
                    const struct ct_panels_next *next);
    /* The same for weights in panels; r0 is a multiple of 16. */
    void (*project_panels)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                           const struct ct_prepared *x, enum ct_input form, float *scratch,
                           const struct ct_panels_next *next);
    /* y = x / rms(x) * w, one row of n; y may be x. */
    void (*norm)(float *y, const float *x, const float *w, int n, float eps);
    /* x += y */
    void (*add)(float *x, const float *y, int n);
    /* x *= s */
    void (*scale)(float *x, float s, int n);
    /* gate = gelu(gate) * up */
    void (*geglu)(float *gate, const float *up, int n);
    /* x = cap * tanh(x / cap) */
    void (*softcap)(float *x, float cap, int n);
    /* inv[i] = base^(-2i/dim) / factor for i < dim/2 */
    void (*rope_frequencies)(double *inv, int dim, double base, double factor);
    /* cos and sin of position * inv[i], i < pairs */
    void (*rope_table)(float *cosine, float *sine, const double *inv, int pairs, int position);
    /* Rotates one head in place: pairs (i, i + dim/2) for i < pairs. */
    void (*rope)(float *x, const float *cosine, const float *sine, int pairs, int dim);
    /* Stores one position's K and V, k[head_dim] and v[head_dim]. */
    void (*kv_write)(const struct ct_kv_head *kv, int position, const float *k, const float *v);
    /* The same for q8, which shares little with the types whose values stand alone: a level may have one
     * without the other. */
    void (*kv_write_q8)(const struct ct_kv_head *kv, int position, const float *k, const float *v);
    /* Brings q[head_dim] into query i of a tile, in the form that attend_block of the same level reads. */
    void (*attend_query)(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv);
    /* What each query of a tile makes of positions [256 * block, 256 * block + 255]. cap 0: none. s is
     * scratch of CT_ATTEND_SCRATCH floats. */
    void (*attend_block)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                         int block, float scale, float cap, float *s);
    /* The same for q8. */
    void (*attend_block_q8)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                            int block, float scale, float cap, float *s);
    /* Adds the next block of n queries to what they made of all before it. */
    void (*attend_merge)(struct ct_attended *all, const struct ct_attended *block, int n, int dim);
    /* out[dim] of query i, when every block was added. */
    void (*attend_finish)(float *out, const struct ct_attended *all, int i, int dim);
    /* True when no value is NaN or infinite. */
    bool (*finite)(const float *x, size_t n);
    /* log of the sum of exp(x[i] - *top), *top being the largest of x[n], n >= 1; all are finite. So
     * x[i] - *top - the result is the logarithm of the probability of i. */
    float (*log_sum)(const float *x, int n, float *top);
    /* The entropy in nat of the probabilities that logits x[n] stand for, n >= 1; all are finite. */
    float (*entropy)(const float *x, int n);
    /* Euclidean norms of x[n], which a head multiplies in that form. */
    void (*input_norms)(struct ct_input_norms *out, const float *x, int n, enum ct_input form);
    /* Panels of 16 rows with one whose logit may still reach the bar, ascending; returns how many, and in
     * rows the number of such rows. NaN and infinity, of whatever, may. */
    int (*prune)(int32_t *panels, int *rows, const struct ct_prune *p);
    /* A float below which no soft-capped value reaches `capped`, which is one itself: hardly below the lowest
     * that does. */
    float (*uncap)(float capped, float cap);
    /* The places in l of its k best by (value descending, id ascending), best first; returns how many there
     * are. Ids of excluded, in any order, are passed over. NaN counts as -infinity. best and spare have room
     * for l->n; or spare is NULL and best has room for k, which takes longer where k is not small. */
    int (*select)(int32_t *best, const struct ct_logits *l, int k, const int32_t *excluded, int n_excluded,
                  void *spare);
    /* The next id out of logits; -1 when every id is banned. A chain that begins with top-k gives the same
     * id for a list that has the k best, edits included, as for all. */
    int32_t (*draw)(const struct ct_logits *l, const struct ct_draw *d, struct ct_draw_room *room);
};

/* Fills k with the best level the CPU has, at most limit (a name of level.c's table; NULL: no limit);
 * false for a limit that this architecture does not have, with k untouched. */
bool ct_kernel_choose(struct ct_kernel *k, const struct ct_cpu *cpu, const char *limit);
/* The level whose table wrote the entry of that name; NULL: there is no such entry. */
const char *ct_kernel_level_of(const struct ct_kernel *k, const char *entry);

/* The entries for a head's type. */
static inline void ct_kv_write(const struct ct_kernel *kernel, const struct ct_kv_head *kv, int position,
                               const float *k, const float *v)
{
    (kv->type == CT_KV_Q8 ? kernel->kv_write_q8 : kernel->kv_write)(kv, position, k, v);
}
static inline void ct_kv_attend(const struct ct_kernel *kernel, struct ct_attended *a,
                                const struct ct_queries *t, const struct ct_kv_head *kv, int block,
                                float scale, float cap, float *s)
{
    (kv->type == CT_KV_Q8 ? kernel->attend_block_q8 : kernel->attend_block)(a, t, kv, block, scale, cap, s);
}

/* All groups of tokens [t0, t1). */
static inline struct ct_input_part ct_input_of_tokens(const struct ct_prepared *p, int t0, int t1)
{
    return (struct ct_input_part){t0, t1, 0, ct_pad_group(p->cols) / CT_GROUP};
}

/* The form in which a weight wants its input. */
static inline enum ct_input ct_input_form(const struct ct_weight *w, bool exact)
{
    if (exact || w->type == CT_F32 || w->type == CT_F16)
        return CT_INPUT_F32;
    if (w->type == CT_BF16 && w->layout == CT_LAYOUT_PANELS)
        return CT_INPUT_BF16_LANES;
    if (w->type == CT_BF16 || w->type == CT_SFP)
        return CT_INPUT_BF16;
    return w->layout == CT_LAYOUT_PANELS ? CT_INPUT_LANES : CT_INPUT_Q8;
}

#endif
