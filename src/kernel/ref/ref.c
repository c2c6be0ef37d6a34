/* SPDX-License-Identifier: Apache-2.0 */
/* ref.c: the reference kernels, NUMERICS.md in plain C: vector operations, positions and what attention does
 * once for a block here, products in ref_project.c, attention in ref_attend.c, bounds in ref_prune.c, the k
 * best in ref_select.c, experts in ref_route.c, sampling in ref_draw.c and ref_chain.c, Gemma 3n's own in
 * ref_altup.c. Compiled once per ISA level from this one source; the levels agree bit for bit because the
 * source fixes every rounding. */
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

static void add_scaled(float *x, float s, const float *y, int n)
{
    for (int i = 0; i < n; i++)
        x[i] = ct_fma(s, y[i], x[i]);
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
    float p[32] = {0}, most = ct_top_of(x, n);

    for (int i = 0; i < n; i++)
        p[i % 32] += ct_exp(x[i] - most);
    *top = most + 0.0f; /* of the two zeros the positive one */
    return ct_log(ct_fold(p));
}

/* -sum p log p, where p = w / sum w and log p = (x - top) - log sum w. */
static float entropy(const float *x, int n)
{
    float p[32] = {0}, q[32] = {0}, most = ct_top_of(x, n);

    for (int i = 0; i < n; i++) {
        float below = x[i] - most, w = ct_exp(below);
        p[i % 32] += w;
        q[i % 32] = ct_fma(w, below, q[i % 32]);
    }
    float sum = ct_fold(p);
    return ct_log(sum) - ct_fold(q) / sum;
}

/* ---- rotary position embedding (section 6): angles in double, rounded once to f32 ---- */

#define HALF_PI_HI 0x1.921fb54442d18p+0
#define HALF_PI_LO 0x1.1a62633145c07p-54

static inline double flip(double v, uint64_t sign)
{
    uint64_t u;
    memcpy(&u, &v, 8);
    u ^= sign;
    memcpy(&v, &u, 8);
    return v;
}

/* Both at once; pi/2 in two parts leaves an error below 1e-26 for the angles of a million positions. The
 * quadrant is the lowest bits of the sum that rounds, and is chosen by without a branch, so that pairs go
 * side by side in vectors. */
static inline void sine_cosine(double x, double *sine, double *cosine)
{
    double turned = x * 0.6366197723675814 + 0x1.8p52, n = turned - 0x1.8p52;
    double r = __builtin_fma(n, -HALF_PI_LO, __builtin_fma(n, -HALF_PI_HI, x)), z = r * r;
    double s = 1, c = 1;
    for (int i = 17; i >= 3; i -= 2) /* 1 - z/(2*3) (1 - z/(4*5) (... */
        s = __builtin_fma(-z / (double)(i * (i - 1)), s, 1);
    for (int i = 18; i >= 2; i -= 2)
        c = __builtin_fma(-z / (double)(i * (i - 1)), c, 1);
    s *= r;
    uint64_t quadrant;
    memcpy(&quadrant, &turned, 8);
    *sine = flip(quadrant & 1 ? c : s, (quadrant & 2) << 62);
    *cosine = flip(quadrant & 1 ? s : c, ((quadrant + 1) & 2) << 62);
}

static void rope_frequencies(double *inv, int dim, double base, double factor)
{
    double log_base = ct_log_double(base);
    for (int i = 0; i < dim / 2; i++)
        inv[i] = ct_exp_double(-2.0 * i / dim * log_base) / factor;
}

static void rope_table(float *cosine, float *sine, const double *inv, int pairs, int position)
{
    for (int i = 0; i < pairs; i++) {
        double s, c;
        sine_cosine(position * inv[i], &s, &c);
        cosine[i] = (float)c;
        sine[i] = (float)s;
    }
}

static void rope(float *x, const float *cosine, const float *sine, int pairs, int dim)
{
    float *a = x, *b = x + dim / 2;
    for (int i = 0; i < pairs; i++) {
        float x1 = a[i], x2 = b[i];
        a[i] = ct_fma(x1, cosine[i], -(x2 * sine[i]));
        b[i] = ct_fma(x2, cosine[i], x1 * sine[i]);
    }
}

static void attend_merge(struct ct_attended *all, const struct ct_attended *block, int n, int dim)
{
    for (int i = 0; i < n; i++) {
        float *out = all->out + (size_t)i * (size_t)dim;
        const float *more = block->out + (size_t)i * (size_t)dim;
        if (block->sum[i] == 0)
            continue;
        if (all->sum[i] == 0) {
            all->max[i] = block->max[i];
            all->sum[i] = block->sum[i];
            memcpy(out, more, (size_t)dim * sizeof *out);
            continue;
        }
        float top = CT_MAX(all->max[i], block->max[i]);
        float alpha = ct_exp(all->max[i] - top), beta = ct_exp(block->max[i] - top);
        all->sum[i] = ct_fma(all->sum[i], alpha, block->sum[i] * beta);
        for (int d = 0; d < dim; d++)
            out[d] = ct_fma(out[d], alpha, more[d] * beta);
        all->max[i] = top;
    }
}

static void attend_finish(float *out, const struct ct_attended *all, int i, int dim)
{
    const float *o = all->out + (size_t)i * (size_t)dim;

    for (int d = 0; d < dim; d++)
        out[d] = o[d] / all->sum[i];
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
        .add_scaled = add_scaled,
        .geglu = geglu,
        .softcap = softcap,
        .route = CT_NAME(ct_route),
        .rope_frequencies = rope_frequencies,
        .rope_table = rope_table,
        .rope = rope,
        .attend_merge = attend_merge,
        .attend_finish = attend_finish,
        .altup_coefs = CT_NAME(ct_altup_coefs),
        .altup_predict = CT_NAME(ct_altup_predict),
        .altup_correct = CT_NAME(ct_altup_correct),
        .altup_match = CT_NAME(ct_altup_match),
        .cutoff = CT_NAME(ct_cutoff),
        .finite = finite,
        .log_sum = log_sum,
        .entropy = entropy,
        .input_norms = CT_NAME(ct_input_norms),
        .prune = CT_NAME(ct_prune),
        .uncap = CT_NAME(ct_uncap),
        .select = CT_NAME(ct_select),
        .above = CT_NAME(ct_above),
        .draw = CT_NAME(ct_draw),
    };
}
