/* SPDX-License-Identifier: Apache-2.0 */
/* gpu.h: the contracts of the kernels for GPUs: which there are, what each is told, and how weights lie on a
 * device. NUMERICS.md says what each number is. Kernels include it behind dialect.h, the backend alone; sizes
 * and places are the same in both. A block has CT_GPU_THREADS threads; the grid is [blocks][rows of the
 * pass], and what counts as blocks is said with each kernel. Rows of matrices are ld... floats apart. */
#ifndef CT_GPU_H
#define CT_GPU_H

#ifndef GLOBAL /* dialect.h has it */
#include <stdint.h>
#define GLOBAL
#endif

/* The backend compares arguments as bytes: where a struct would have padding, it has `none`, which is 0. */
#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wpadded"

#define CT_GPU_THREADS 256
#define CT_GPU_ROWS    32  /* of a weight, that a block computes: a lane of a warp has one */
#define CT_GPU_TOKENS  8   /* rows of the pass, for which it does so: a warp folds one */
#define CT_GPU_TILE    32  /* the same of project_matrix and project_tensor, */
#define CT_GPU_STRIP   128 /* whose blocks compute so many rows of a weight */
#define CT_GPU_PANEL   16  /* rows of a panel, and of a block of project_eight */

/* Kernels by name, with what follows ct_gpu_ in the name of their arguments. The list is all that the backend
 * and the emulation know of them. */
/* clang-format off */
#define CT_GPU_KERNELS(K) CT_GPU_PLAIN_KERNELS(K) CT_GPU_MATRIX_KERNELS(K)
#define CT_GPU_PLAIN_KERNELS(K)                                                                             \
    K(add_experts, add_experts) K(add_rows, add_rows) K(altup, altup) K(altup_match, altup_match)           \
    K(apart, apart) K(attend, attend) K(attend_merge, attend_merge) K(best, best) K(cutoff, cutoff)         \
    K(embed, embed) K(geglu, geglu)                                                                         \
    K(kv_write, kv_write) K(logits, logits) K(norm, norm) K(prepare_q8, prepare) K(prepare_value, prepare)  \
    K(project_q8, project) K(project_value, project) K(rope, rope) K(route, route) K(scale, scale)          \
    K(select_rows, select)
/* Those that a module of their own has, for devices from 8.0 on. */
#define CT_GPU_MATRIX_KERNELS(K)                                                                            \
    K(project_matrix, project) K(project_eight, project) K(prepare_tensor, prepare)                         \
    K(project_tensor, project)
/* clang-format on */

/* ---- weights: panels of 16 rows (layout/panel.h), one behind the other ---- */

/* The form of a value: a float of so many bits, or a code by factors. d and e are the 16 bit factors of a row
 * in a chunk, a and b the bytes of a group. */
enum ct_gpu_form {
    CT_GPU_F32,
    CT_GPU_F16,
    CT_GPU_BF16,
    CT_GPU_SFP,
    CT_GPU_F16_SCALE,  /* an f16 scale, and perhaps an f16 minimum */
    CT_GPU_BF16_SCALE, /* d; a zero point e */
    CT_GPU_SIX_BITS,   /* d * a, and perhaps a minimum -(e * b) */
    CT_GPU_HALVES,     /* d * by; a for the first half, b for the second */
    CT_GPU_NIBBLES,    /* the same, of low nibbles; a minimum -e by the high ones */
    CT_GPU_E8M0,       /* a power of two */
    CT_GPU_E4M3,       /* a for the first half, b for the second */
};
/* The second step that a group takes in the chain of integers. */
enum ct_gpu_more { CT_GPU_ONE_STEP, CT_GPU_MINIMUM, CT_GPU_APART };

/* A type as kernels read it. */
struct ct_gpu_type {
    enum ct_gpu_form form;
    enum ct_gpu_more more;
    uint32_t low, high;       /* bits of a plane, and of the one above it */
    uint32_t mask, mask_high; /* ones of these in each byte */
    /* A chunk's measures: its groups as a power of two, its bytes, and those before its lines; to the d of
     * the next group, and to e; before a, and from row to row. */
    uint32_t shift, chunk, lines, stride, apart, bytes, width;
    uint32_t times; /* an integer is code * times - minus */
    int minus;
    uint32_t flip;     /* bits that codes have otherwise */
    int tabled;        /* codes are numbers of values: */
    uint32_t value[4]; /* 16 int8 */
    float by;
};

/* out = row of the table * factor * scale. Blocks: of columns. */
struct ct_gpu_embed {
    struct ct_gpu_type type;
    GLOBAL float *out;
    GLOBAL const void *table;
    GLOBAL const int32_t *token;
    uint64_t panel; /* bytes */
    int ldo, cols;
    float factor, scale;
};

/* out = x / rms(x) * w; where add is not 0, x becomes that and is added to out. Blocks: parts of n values,
 * each by itself. out may be x. */
struct ct_gpu_norm {
    GLOBAL float *out, *x;
    GLOBAL const float *w; /* NULL: x as it is */
    int ldo, ldx, n, add;
    float eps;
    int none;
};

/* The input of products: f32, perhaps rounded to bf16, [row][padded]; or int8 with a scale for each group and
 * the sums of its halves, [row / 8][group][row % 8] groups of 32; or, for tensor.cu, bf16, or two f16 that a
 * scale goes with. Blocks: of columns, padded. */
struct ct_gpu_prepare {
    GLOBAL const float *x;
    GLOBAL void *to;
    GLOBAL float *scale; /* of a group */
    GLOBAL int32_t *sum; /* two */
    int ldx, cols, padded, bf16;
};

/* out = x * w^T * factor, for n rows of the pass. Blocks: of CT_GPU_ROWS rows of w; a row of blocks has
 * CT_GPU_TOKENS rows of the pass. Those of project_matrix and project_tensor are CT_GPU_STRIP and
 * CT_GPU_TILE, and x and scale have memory for whole tiles; those of project_eight are CT_GPU_PANEL and
 * CT_GPU_TOKENS. Which types project_matrix and project_eight read: gpu_types.h; project_tensor reads F16 and
 * BF16, by what prepare_tensor made. */
struct ct_gpu_project {
    struct ct_gpu_type type;
    GLOBAL float *out;
    GLOBAL const void *w;
    GLOBAL const void *x;
    GLOBAL const float *scale; /* of x */
    GLOBAL const int32_t *sum;
    /* Experts, for project_q8 and project_value: a row of blocks is row i of out, by expert id[i] and row i /
     * share of x. NULL: by w and its factor. */
    GLOBAL const struct ct_gpu_expert *expert;
    GLOBAL const int32_t *id;
    uint64_t panel; /* bytes */
    int ldo, n, rows, groups;
    float factor;
    int share;
};

/* A matrix of an expert. */
struct ct_gpu_expert {
    GLOBAL const void *w;
    float factor;
    int none;
};

/* The experts of each row, by id ascending, and how much each of them counts; used is CT_GPU_THREADS at most.
 * Blocks: one. */
struct ct_gpu_route {
    GLOBAL int32_t *id;                 /* [row][used] */
    GLOBAL float *weight;               /* [row][used] */
    GLOBAL const float *logits, *scale; /* scale[n] */
    int ldl, n, used;
    int none;
};

/* out = what the experts of a row made of it, as they count. Blocks: of columns. */
struct ct_gpu_add_experts {
    GLOBAL float *out;
    GLOBAL const float *y, *weight; /* y: [row][used] rows */
    int ldo, ldy, n, used;
};

/* gate = gelu(gate) * up. Blocks: of columns. */
struct ct_gpu_geglu {
    GLOBAL float *gate;
    GLOBAL const float *up;
    int ldg, ldu, n;
    int none;
};

/* x = (x + from) * times. Blocks: of columns. */
struct ct_gpu_add_rows {
    GLOBAL float *x;
    GLOBAL const float *from; /* [row][n] */
    int ldx, n;
    float times;
    int none;
};

/* AltUp: each stream becomes what is predicted of it, or is corrected by y, which a layer made of the first;
 * y becomes the first one, times scale. Blocks: one. */
struct ct_gpu_altup {
    GLOBAL float *y;
    GLOBAL float *stream[4];
    GLOBAL const float *norm, *router, *coefs, *scale; /* scale NULL: y as it is */
    int ldy, lds, n, corrects;
    float eps;
    int none;
};

/* y gets the root mean square of x. Blocks: one. */
struct ct_gpu_altup_match {
    GLOBAL float *y;
    GLOBAL const float *x;
    int ldy, ldx, n;
    int none;
};

/* x loses so many deviations above its mean, and what would be negative is 0. Blocks: one. */
struct ct_gpu_cutoff {
    GLOBAL float *x;
    int ldx, n;
    float deviations;
    int none;
};

/* Turns all heads. Blocks: one. */
struct ct_gpu_rope {
    GLOBAL float *x;
    GLOBAL const float *cosine, *sine; /* [row][pairs] */
    int ldx, heads, dim, pairs;
};

/* x *= *by. Blocks: of columns. */
struct ct_gpu_scale {
    GLOBAL float *x;
    GLOBAL const float *by;
    int ldx, n;
};

/* The places of K and V of a layer: heads of a block of 256 positions one after another, each as layout/kv.h
 * says for the type, which has the number of its enum ct_kv_type. */
enum { CT_GPU_KV_BF16, CT_GPU_KV_F16, CT_GPU_KV_F32, CT_GPU_KV_Q8 };
struct ct_gpu_kv {
    GLOBAL uint8_t *k, *v; /* of block 0 */
    GLOBAL const int32_t *table, *sequence;
    uint64_t block_bytes, head_bytes;
    int length; /* entries of a sequence's table */
    uint32_t dim, type;
    int none;
};

/* Stores K and V of the rows. One that has a value of `limit` or more is not finite and stores zeros; of
 * positions below kept nothing is stored. Blocks: one. */
struct ct_gpu_kv_write {
    struct ct_gpu_kv kv;
    GLOBAL const float *k, *v;
    GLOBAL const int32_t *position, *kept; /* kept: [sequence], or NULL */
    GLOBAL const int32_t *origin;
    GLOBAL int32_t *bad; /* [origin] */
    int ldk, ldv, heads;
    float limit;
};

/* out = attention of the queries of n rows. A block has those of `rows` rows and `heads` query heads of a KV
 * head, CT_GPU_QUERIES at most, and every splits-th block of keys. Where splits > 1, it leaves what each of
 * these gives, and `attend_merge` merges that. Blocks: [KV head][heads of its group][split]; a row of blocks
 * has `rows` rows of the pass. */
struct ct_gpu_attend {
    struct ct_gpu_kv kv;
    GLOBAL float *out;
    GLOBAL const float *q;
    GLOBAL const int32_t *seen; /* [row] first, last */
    GLOBAL float *part;         /* [row][query head][entry of the table][dim + 2]: o, and behind it m and l */
    int ldo, ldq, n, all, group; /* all, group: query heads of a row, and of a KV head */
    int rows, heads, splits;
    float scale, cap;
};
#define CT_GPU_QUERIES 8

/* out = what all blocks of keys give. Blocks: query heads. */
struct ct_gpu_attend_merge {
    GLOBAL float *out;
    GLOBAL const float *part;
    GLOBAL const int32_t *seen;
    int ldo, all, dim, length; /* length: entries of a sequence's table */
};

/* Caps logits where cap > 0, and notes rows with one that is not finite. Blocks: of columns. */
struct ct_gpu_logits {
    GLOBAL float *x;
    GLOBAL const int32_t *origin; /* of the first row here */
    GLOBAL int32_t *bad;
    int ldx, n;
    float cap;
    int none;
};

/* ---- what is read of logits: a candidate is its id and its bits in 64 bits, {id, bits}; id -1: none ---- */

/* Takes ids out of logits: to[row][i] = the candidate id[row][i], whose logit becomes -infinity. Ids outside
 * [0, n) are none. Blocks: of ids. */
struct ct_gpu_apart {
    GLOBAL float *x;
    GLOBAL const int32_t *id;
    GLOBAL uint64_t *to;
    int ldx, n, ids;
    int none;
};

/* Settings that draw an id from the k best of a row, at most CT_GPU_THREADS: by the usual chain, without
 * edits. */
struct ct_gpu_draw {
    float temperature, top_p, min_p; /* temperature 0: the best */
    int k;
    uint32_t seed[2], position, number; /* position: tokens before the id */
};

/* The k best by logit, and of two alike the lower id. Each block sorts CT_GPU_SORTED of n logits, or of n
 * keys that blocks left before it, [row][n], and leaves the keys of its k best, [row][blocks][k]. Where there
 * is one block, it ends with ends != 0: to[row][k + ids] are candidates, those of `apart` too, by id
 * ascending; and token[row] is drawn from the k best, 0 where there is none. Those of the rows [drawn,
 * padded) become that of the first. Blocks: of logits or keys. */
struct ct_gpu_best {
    GLOBAL const float *x;
    GLOBAL const uint64_t *from; /* keys; NULL: logits */
    GLOBAL const uint64_t *apart;
    GLOBAL uint64_t *to;
    GLOBAL const struct ct_gpu_draw *draw; /* [row]; NULL: nothing is drawn */
    GLOBAL int32_t *token;
    int ldx, n, k, ids, ends, drawn, padded;
    int none;
};
#define CT_GPU_SORTED 1024 /* k + ids at most, too */

/* Row i becomes row from[i], i ascending, from[i] >= i. Blocks: of columns; there is one row of blocks. */
struct ct_gpu_select {
    GLOBAL float *x;
    GLOBAL const int32_t *from;
    int ldx, cols, n;
    int none;
};

#pragma GCC diagnostic pop
#endif
