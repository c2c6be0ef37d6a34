/* SPDX-License-Identifier: Apache-2.0 */
/* ref.c: the reference kernels, NUMERICS.md in plain C: vector operations here, products in ref_project.c,
 * attention in ref_attend.c, positions in ref_rope.c, bounds in ref_prune.c, the k best in ref_select.c,
 * sampling in ref_draw.c. Compiled once per ISA level from this one source; the levels agree bit for bit
 * because the source fixes every rounding. */
#include "kernel/ref/ref.h"

static void norm(float *y, const float *x, const float *w, int n, float eps)
{
    float p[32] = {0};

    for (int i = 0; i < n; i++)
        p[i % 32] = ct_fma(x[i], x[i], p[i % 32]);
    float r = 1.0f / __builtin_sqrtf(ct_fold(p) / (float)n + eps);
    for (int i = 0; i < n; i++)
        y[i] = (x[i] * r) * w[i];
}

static void add(float *x, const float *y, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = x[i] + y[i];
}

static void scale(float *x, float s, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = x[i] * s;
}

static void geglu(float *gate, const float *up, int n)
{
    for (int i = 0; i < n; i++) {
        float x = gate[i];
        float u = 0.7978845608f * ct_fma(0.044715f * x * x, x, x);
        gate[i] = x / (1.0f + ct_exp(-2.0f * u)) * up[i];
    }
}

static void softcap(float *x, float cap, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = cap * ct_tanh(x[i] / cap);
}

static bool finite(const float *x, size_t n)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= (ct_f32_bits(x[i]) & 0x7f800000u) == 0x7f800000u;
    return !bad;
}

/* The probabilities that logits stand for are sums over the whole vocabulary: section 3, partial = id mod
 * 32. */
static float log_sum(const float *x, int n, float *top)
{
    float p[32] = {0}, most = x[0];

    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int i = 0; i < n; i++)
        p[i % 32] += ct_exp(x[i] - most);
    *top = most + 0.0f; /* of the two zeros the positive one */
    return ct_log(ct_fold(p));
}

/* -sum p log p, where p = w / sum w and log p = (x - top) - log sum w. */
static float entropy(const float *x, int n)
{
    float p[32] = {0}, q[32] = {0}, most = x[0];

    for (int i = 1; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int i = 0; i < n; i++) {
        float below = x[i] - most, w = ct_exp(below);
        p[i % 32] += w;
        q[i % 32] = ct_fma(w, below, q[i % 32]);
    }
    float sum = ct_fold(p);
    return ct_log(sum) - ct_fold(q) / sum;
}

void CT_NAME(ct_kernel_init)(struct ct_kernel *k)
{
    *k = (struct ct_kernel){
        .layout = CT_LAYOUT_ROWS,
        .dequantize_row = CT_NAME(ct_dequantize_row),
        .prepare_input = CT_NAME(ct_prepare_input),
        .prepare_lanes = CT_NAME(ct_prepare_lanes),
        .project = CT_NAME(ct_project),
        .project_panels = CT_NAME(ct_project),
        .norm = norm,
        .add = add,
        .scale = scale,
        .geglu = geglu,
        .softcap = softcap,
        .rope_frequencies = CT_NAME(ct_rope_frequencies),
        .rope_table = CT_NAME(ct_rope_table),
        .rope = CT_NAME(ct_rope),
        .kv_write = CT_NAME(ct_kv_write),
        .kv_write_q8 = CT_NAME(ct_kv_write),
        .attend_query = CT_NAME(ct_attend_query),
        .attend_block = CT_NAME(ct_attend_block),
        .attend_block_q8 = CT_NAME(ct_attend_block),
        .attend_merge = CT_NAME(ct_attend_merge),
        .attend_finish = CT_NAME(ct_attend_finish),
        .finite = finite,
        .log_sum = log_sum,
        .entropy = entropy,
        .input_norms = CT_NAME(ct_input_norms),
        .prune = CT_NAME(ct_prune),
        .uncap = CT_NAME(ct_uncap),
        .select = CT_NAME(ct_select),
        .draw = CT_NAME(ct_draw),
    };
}
