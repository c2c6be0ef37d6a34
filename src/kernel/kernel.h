/* SPDX-License-Identifier: Apache-2.0 */
/* kernel.h: the contracts of the kernels. A kernel is a pure function on arrays: it allocates nothing, starts
 * no thread, reports no error and has no globals. NUMERICS.md says what each number is ("section" means a
 * section of it), ref/ says it in C, backend/cpu calls it. Each ISA level has a table of all entries, and
 * every level gives the same bits. contract.h asserts what callers promise here. */
#ifndef CT_KERNEL_H
#define CT_KERNEL_H

#include "base/base.h"
#include "layout/kv.h"
#include "os/cpu.h"
#include "quant/logits.h"
#include "quant/weight.h"

/* ---- matrix products (sections 3 to 5) ---- */

#define CT_LANES 8 /* tokens side by side in a prepared input of more than one token */

/* The forms in which products read their input. */
enum ct_input {
    CT_INPUT_F32,        /* f32 as it is */
    CT_INPUT_BF16,       /* rounded to bf16, tiny values to 0; kept as f32 */
    CT_INPUT_Q8,         /* int8 in groups of 32 */
    CT_INPUT_LANES,      /* the same values, arranged as the level's kernels for panels read them */
    CT_INPUT_BF16_LANES, /* BF16, so arranged; below AMX the same as BF16 */
    CT_INPUT_COUNT,
};

/* A prepared input of n tokens with cols values each. F32 and BF16 are in value[block][k][lane]: blocks of
 * one token where n is 1, else of CT_LANES. k is padded to a multiple of CT_GROUP, and lanes beyond n are
 * padded, with zeros. Q8 is in q[n][k], scale[n][k/32] and sum[n][k/16]. */
struct ct_prepared {
    int n, cols;
    float *value;
    int8_t *q;
    float *scale;
    int32_t *sum;
};

/* A part of an input: groups [g0, g1) of tokens [t0, t1), in whole blocks of CT_LANES. t1 may exceed the
 * number of tokens. */
struct ct_input_part {
    int t0, t1, g0, g1;
};

/* The rows that the same thread will most likely multiply next. The end of a call may prefetch the first of
 * them. */
struct ct_panels_next {
    const struct ct_weight *w;
    int r0, r1;
};

/* Floats of scratch that dequantize_row and project need for rows of cols values. */
#define CT_SCRATCH(cols) (8 * (size_t)ct_pad_group(cols))

/* ---- AltUp (section 6) ---- */

/* A router makes coefficients with this out of a row of a stream. */
struct ct_altup {
    const float *norm, *router, *coefs; /* [n], [CT_STREAMS][n], [n_coef][CT_STREAMS] */
    int n_coef;
};

/* ---- attention (section 7) ---- */

#define CT_QUERIES 32 /* most queries of a tile */

/* A tile: queries that read one KV head of one sequence, and the positions that each sees. */
struct ct_queries {
    int n;                              /* 1 to CT_QUERIES */
    int lo[CT_QUERIES], hi[CT_QUERIES]; /* the first and the last position */
    float *q;                           /* [CT_QUERIES][head_dim], 64-byte aligned; attend_query wrote it */
};

/* Results of n queries over some blocks of keys: the largest score, the sum of the weights, and the sum of
 * weights times values. Where the sum of the weights is 0, the query saw no key, and max and out are
 * undefined. */
struct ct_attended {
    float *max, *sum; /* [n] */
    float *out;       /* [n][head_dim], 64-byte aligned */
};
#define CT_ATTEND_SCRATCH (CT_QUERIES * (size_t)(CT_KEY_BLOCK + 16)) /* floats, 64-byte aligned */

/* ---- a draw (section 8) ---- */

/* Scratch, each [n] for n logits. */
struct ct_draw_room {
    int32_t *order, *best, *spare;
    float *value, *weight, *edited;
};
enum { CT_DRAW_ARRAYS = 6 };

/* ---- the table of a level ---- */

enum { CT_N_ENTRIES = 36 };
struct ct_kernel {
    const char *isa;
    const char *by[CT_N_ENTRIES]; /* the level that wrote each entry; ct_kernel_level_of reads it */
    /* The layout that this level wants for a weight whose type has panels. It takes both layouts. */
    enum ct_layout layout;
    /* Output rows of a block, the least that a thread claims, for up to CT_LANES tokens and for more. Blocks
     * are small, so that a busy neighbour costs little. */
    int rows_few, rows_many;
    /* Queries that this level prefers in a tile, at most CT_QUERIES. These three numbers are from sizes.h. */
    int queries;

    /* One row of w as f32 (BF16: values below 2^-50 become 0), out[w->cols]. */
    void (*dequantize_row)(float *out, const struct ct_weight *w, int row, float *scratch);
    /* Prepares a part of p in any form but LANES. p->n and p->cols are set, and the buffers are large enough.
     * x is the first value of the part; rows of x are ldx apart. Values beyond p->n or p->cols are not
     * read. */
    void (*prepare_input)(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx,
                          struct ct_input_part part);
    /* Prepares an input for LANES. Only project_panels of the same level reads the result. */
    void (*prepare_lanes)(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part);
    /* out[token][row] for rows [r0, r1) and all tokens; rows of out are ldo apart. next may be NULL. */
    void (*project)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                    const struct ct_prepared *x, enum ct_input form, float *scratch,
                    const struct ct_panels_next *next);
    /* Does what project does, for weights in panels; r0 is a multiple of 16. */
    void (*project_panels)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                           const struct ct_prepared *x, enum ct_input form, float *scratch,
                           const struct ct_panels_next *next);

    /* y = x / rms(x) * w for one row of n values; y may be x. */
    void (*norm)(float *y, const float *x, const float *w, int n, float eps);
    /* x += y */
    void (*add)(float *x, const float *y, int n);
    /* x *= s */
    void (*scale)(float *x, float s, int n);
    /* x = fma(s, y, x) */
    void (*add_scaled)(float *x, float s, const float *y, int n);
    /* gate = gelu(gate) * up */
    void (*geglu)(float *gate, const float *up, int n);
    /* x = cap * tanh(x / cap) */
    void (*softcap)(float *x, float cap, int n);
    /* Coefficients out[w->n_coef] that a row x[n] of a stream asks for. */
    void (*altup_coefs)(float *out, const float *x, const struct ct_altup *w, int n, float eps);
    /* stream[j] += the sum over k of coef[j][k] times stream[k], of n values each. */
    void (*altup_predict)(float *const stream[CT_STREAMS], const float *coef, int n);
    /* stream[j] += (coef[j] + 1) times what active has over stream[0]. */
    void (*altup_correct)(float *const stream[CT_STREAMS], const float *active, const float *coef, int n);
    /* Gives y the root mean square of x. */
    void (*altup_match)(float *y, const float *x, int n);
    /* Takes from x so many deviations above its mean; what would be negative becomes 0. */
    void (*cutoff)(float *x, float deviations, int n);
    /* The k experts of a row with n logits, by id ascending, and the weight of each; scale[n]. k <= n. */
    void (*route)(int32_t *id, float *weight, const float *logits, int n, int k, const float *scale);
    /* inv[i] = base^(-2i/dim) / factor for i < dim/2 */
    void (*rope_frequencies)(double *inv, int dim, double base, double factor);
    /* cos and sin of position * inv[i], i < pairs */
    void (*rope_table)(float *cosine, float *sine, const double *inv, int pairs, int position);
    /* Rotates one head in place: pairs (i, i + dim/2) for i < pairs. */
    void (*rope)(float *x, const float *cosine, const float *sine, int pairs, int dim);

    /* Stores K and V of one position, k[head_dim] and v[head_dim]. */
    void (*kv_write)(const struct ct_kv_head *kv, int position, const float *k, const float *v);
    /* Stores them as q8, which shares little with the other types: a level may have one without the other. */
    void (*kv_write_q8)(const struct ct_kv_head *kv, int position, const float *k, const float *v);
    /* Writes q[head_dim] as query i of a tile, in the form that attend_block of the same level reads. */
    void (*attend_query)(struct ct_queries *t, int i, const float *q, const struct ct_kv_head *kv);
    /* Computes what each query of a tile makes of positions [256 * block, 256 * block + 255]. cap 0: none. s
     * is scratch of CT_ATTEND_SCRATCH floats. */
    void (*attend_block)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                         int block, float scale, float cap, float *s);
    /* Does for q8 what attend_block does for the other types. */
    void (*attend_block_q8)(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                            int block, float scale, float cap, float *s);
    /* Adds the next block of n queries to what they made of all blocks before it. */
    void (*attend_merge)(struct ct_attended *all, const struct ct_attended *block, int n, int dim);
    /* out[dim] of query i, when every block was added. */
    void (*attend_finish)(float *out, const struct ct_attended *all, int i, int dim);

    /* True when no value is NaN or infinite. */
    bool (*finite)(const float *x, size_t n);
    /* Returns the log of the sum of exp(x[i] - *top), where *top is the largest of x[n]; n >= 1, all values
     * are finite. x[i] - *top - the result is the log-probability of i. */
    float (*log_sum)(const float *x, int n, float *top);
    /* The entropy in nat of the probabilities that logits x[n] stand for; n >= 1, all are finite. */
    float (*entropy)(const float *x, int n);
    /* Euclidean norms of x[n], which a head multiplies in that form. */
    void (*input_norms)(struct ct_input_norms *out, const float *x, int n, enum ct_input form);
    /* Writes the numbers of the panels in which the logit of a row may still reach the bar, ascending, and
     * returns how many there are. *rows is the number of such rows. Where a NaN or an infinity takes part,
     * the row may. */
    int (*prune)(int32_t *panels, int *rows, const struct ct_prune *p);
    /* A float below which no value reaches `capped` when it is soft-capped; hardly below the lowest that
     * does. */
    float (*uncap)(float capped, float cap);
    /* Writes the places in l of its k best by (value descending, id ascending), best first, and returns how
     * many there are. Ids in excluded, in any order, are left out. NaN counts as -infinity. best and spare
     * have room for l->n each. Or spare is NULL and best has room for k; then a large k takes longer. */
    int (*select)(int32_t *best, const struct ct_logits *l, int k, const int32_t *excluded, int n_excluded,
                  void *spare);
    /* The first place in x[n] whose value is above the limit; n: none is. NaN is never above. */
    int (*above)(const float *x, int n, float limit);
    /* The next id out of logits; -1 when every id is banned. A chain that begins with top-k gives the same id
     * for a list that has the k best, edits included, as for all logits. */
    int32_t (*draw)(const struct ct_logits *l, const struct ct_draw *d, struct ct_draw_room *room);
};

/* Fills k with the best level that the CPU has, up to limit (a name in level.c's table; NULL: no limit).
 * False, and k is untouched, when this architecture has no level of that name. */
bool ct_kernel_choose(struct ct_kernel *k, const struct ct_cpu *cpu, const char *limit);
/* The level that wrote an entry, which is named by its offset in struct ct_kernel. */
#define CT_FIRST_ENTRY offsetof(struct ct_kernel, dequantize_row)
static inline const char *ct_kernel_level_of(const struct ct_kernel *k, size_t offset)
{
    return k->by[(offset - CT_FIRST_ENTRY) / sizeof(void (*)(void))];
}

/* Calls the entry for the type of a head. */
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
    if (exact || w->f32_input || w->type == CT_F32 || w->type == CT_F16)
        return CT_INPUT_F32;
    if (w->type == CT_BF16 && w->layout == CT_LAYOUT_PANELS)
        return CT_INPUT_BF16_LANES;
    if (w->type == CT_BF16 || w->type == CT_SFP)
        return CT_INPUT_BF16;
    return w->layout == CT_LAYOUT_PANELS ? CT_INPUT_LANES : CT_INPUT_Q8;
}

#endif
