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

#define CT_GPU_THREADS 256
#define CT_GPU_TILE    32 /* rows of a weight that lie side by side: a lane of a warp has one */

/* Kernels by name. The list is all that the backend and the emulation know of them. */
/* clang-format off */
#define CT_GPU_KERNELS(K)                                                                                    \
    K(attend) K(embed_bf16) K(embed_q8) K(geglu) K(kv_write) K(logits) K(norm) K(prepare_bf16)               \
    K(prepare_q8) K(project_bf16) K(project_q8) K(rope) K(scale) K(select_rows)
/* clang-format on */

/* ---- weights, in tiles of 32 rows; rows and k that are padded are zeros ----
 * BF16: [tile][k / 8][32] of 16 bytes, 8 values of a row each.
 * Q8_0: [tile][k / 32] of a group: [32] scales in f16, then [2][32] of 16 bytes, half of a row's group. */
#define CT_GPU_Q8_WORDS 68 /* of 16 bytes, in a group of a tile: 4 of scales, 64 of weights */

/* out = row of the table * factor * scale. Blocks: of columns. */
struct ct_gpu_embed {
    GLOBAL float *out;
    GLOBAL const void *table;
    GLOBAL const int32_t *token;
    int ldo, cols, groups; /* groups: of 32 k, padded */
    float factor, scale;
};

/* out = x / rms(x) * w, or plus that where add is not 0. Blocks: parts of n values, each by itself. out may
 * be x. */
struct ct_gpu_norm {
    GLOBAL float *out;
    GLOBAL const float *x, *w; /* w NULL: x as it is */
    int ldo, ldx, n, add;
    float eps;
};

/* The input of products, [row][padded]: f32 that are bf16 values, or int8 with a scale for each group.
 * Blocks: of columns, padded. */
struct ct_gpu_prepare {
    GLOBAL const float *x;
    GLOBAL void *to;
    GLOBAL float *scale;
    int ldx, cols, padded;
};

/* out = x * w^T * factor. Blocks: tiles. */
struct ct_gpu_project {
    GLOBAL float *out;
    GLOBAL const void *w;
    GLOBAL const void *x;
    GLOBAL const float *scale; /* of x */
    int ldo, rows, groups;
    float factor;
};

/* gate = gelu(gate) * up. Blocks: of columns. */
struct ct_gpu_geglu {
    GLOBAL float *gate;
    GLOBAL const float *up;
    int ldg, ldu, n;
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

/* Where K and V of a layer lie: heads of a block of 256 positions one after another, each as layout/kv.h says
 * for bf16. */
struct ct_gpu_kv {
    GLOBAL uint8_t *k, *v; /* of block 0 */
    GLOBAL const int32_t *table, *sequence;
    uint64_t block_bytes;
    int length; /* entries of a sequence's table */
    int dim;
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

/* out = attention of the rows' queries. Blocks: query heads. */
struct ct_gpu_attend {
    struct ct_gpu_kv kv;
    GLOBAL float *out;
    GLOBAL const float *q;
    GLOBAL const int32_t *seen; /* [row] first, last */
    int ldo, ldq, group;        /* group: query heads of a KV head */
    float scale, cap;
};

/* Caps logits where cap > 0, and notes rows with one that is not finite. Blocks: of columns. */
struct ct_gpu_logits {
    GLOBAL float *x;
    GLOBAL const int32_t *origin; /* of the first row here */
    GLOBAL int32_t *bad;
    int ldx, n;
    float cap;
};

/* Row i becomes row from[i], i ascending, from[i] >= i. Blocks: of columns; there is one row of blocks. */
struct ct_gpu_select {
    GLOBAL float *x;
    GLOBAL const int32_t *from;
    int ldx, cols, n;
};

#endif
