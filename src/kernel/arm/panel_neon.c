/* SPDX-License-Identifier: Apache-2.0 */
/* panel_neon.c: products over panels with int8 inputs for Arm's vectors of 128 bits: 4 rows to a vector, one
 * token or up to 8 at a time. Compiled for plain NEON, again with the dot product of 4 bytes, and again with
 * products of 2 x 8 by 8 x 2 bytes (i8mm). Lanes are rows, so every sum is the chain of NUMERICS.md section
 * 4. Products in f32 and bf16: panel_float_neon.c; layout: panel.h. */
#include "kernel/arm/simd_neon.h"
#include "kernel/contract.h"
#include "kernel/panel_kind.h"
#include "kernel/ref/ref_math.h"

enum {
    TOKENS = CT_LANES,
#ifdef __ARM_FEATURE_MATMUL_INT8
    RUN = 8, /* bytes of k that lie together in inputs of more than one token */
#else
    RUN = 4,
#endif
};

/* Products of a weight with at most 127 that stay together below 2^15. */
INLINE int run_of(const struct kind kind)
{
    return kind.bits == 8 || kind.table == ct_iq4_values ? 2 : 8;
}

/* ---- weights ---- */

/* The 8 words of 4 k of a group of 4 rows as signed bytes. */
INLINE void panel_decode_neon(int8x16_t w[8], const struct kind kind, const uint8_t *lines, int8x16_t table)
{
    const int low = ct_plane_bits(kind.bits), high = kind.bits - low;

    UNROLL for (int i = 0; i < 8; i++)
    {
        uint8x16_t v = vld1q_u8(lines + 64 * (i * low / 8));
        v = v >> (i * low % 8);
        if (i * low % 8 + low < 8)
            v = v & vdupq_n_u8((uint8_t)((1 << low) - 1));
        if (high) {
            uint8x16_t h = vld1q_u8(lines + 64 * (low + i * high / 8)) >> (i * high % 8);
            v |= (h & vdupq_n_u8((uint8_t)((1 << high) - 1))) << low;
        }
        if (kind.table)
            w[i] = vqtbl1q_s8(table, v);
        else
            w[i] = (int8x16_t)(v - (uint8_t)kind.zero);
    }
}

/* The factors of a group of 4 rows. */
struct factors {
    float32x4_t ws, m;              /* m: of APART the second ws */
    int32x4_t scale[2], minimum[2]; /* of halves */
};

INLINE uint32x4_t shorts(const uint8_t *p)
{
    return vmovl_u16(vreinterpret_u16_u8(vld1_u8(p)));
}

INLINE uint32x4_t bytes(const uint8_t *p)
{
    uint32_t four;
    memcpy(&four, p, 4);
    return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
}

/* Half of E4M3 values: as f16 their bits are 2^-7 of it. 0x7f is none, here 0. */
INLINE float32x4_t half_e4m3(uint32x4_t e)
{
    const uint16x4_t f16 = vmovn_u32((e & 0x7f & ~(e == 0x7f)) << 7);
    return vcvt_f32_f16(vreinterpret_f16_u16(f16)) * 128.0f;
}

INLINE struct factors factors_of(const struct kind kind, const uint8_t *chunk, int g, int row)
{
    const uint8_t *small = chunk + 64;
    const fvec d = kind.factor == ODD ? fvec_load(chunk + 4 * row) : halves(chunk + 2 * row);
    struct factors f = {.ws = d};
    uint32x4_t v = {0}; /* two bytes of each row */

    if (kind.factor == PAIR || by_halves(kind.factor))
        v = shorts(small + 32 * g + 2 * row);
    switch (kind.factor) {
    case OWN:
    case OWN_PAIR:
        f.ws = halves(chunk + 32 * g + 2 * row);
        if (kind.factor == OWN_PAIR)
            f.m = halves(chunk + kind.header / 2 + 32 * g + 2 * row);
        break;
    case PAIR:
        f.ws = d * vcvtq_f32_u32(v & 255);
        f.m = -(halves(chunk + 32 + 2 * row) * vcvtq_f32_u32(v >> 8));
        break;
    case HALVES:
    case ODD:
        f.scale[0] = (int32x4_t)(v << 24) >> 24;
        f.scale[1] = (int32x4_t)(v << 16) >> 24;
        break;
    case NIBBLES:
        f.m = -halves(chunk + 32 + 2 * row);
        UNROLL for (int i = 0; i < 2; i++)
        {
            f.scale[i] = (int32x4_t)((v >> 8 * i) & 15);
            f.minimum[i] = (int32x4_t)((v >> (8 * i + 4)) & 15);
        }
        break;
    case SIGNED:
        f.ws = d * whole_bytes(small + 16 * g + row);
        break;
    case EXPONENT: /* the first two are subnormal */
        v = bytes(chunk + 16 * g + row);
        f.ws = (fvec)vbslq_u32(v > 1, (v - 1) << 23, vshlq_u32(vdupq_n_u32(0x00200000), (int32x4_t)v));
        break;
    case WHOLE:
        break;
    case APART:
        v = shorts(chunk + 32 * g + 2 * row);
        f.ws = half_e4m3(v & 255);
        f.m = half_e4m3(v >> 8);
        break;
    case BLOCK:
        f.ws = (fvec)(shorts(chunk + 2 * row) << 16);
        f.m = -((fvec)(shorts(chunk + 32 + 2 * row) << 16) * f.ws);
        break;
    }
    return f;
}

/* ---- dots: sum[t] = words [from, to) of 4 rows with T tokens, of which `lanes` lie side by side ---- */

#define FOUR(M) M(0) M(1) M(2) M(3)

#ifdef __ARM_FEATURE_DOTPROD

INLINE void dot_of_one(int32x4_t *sum, const int8x16_t w[8], const int8_t *q, const int from, const int to)
{
    int32x4_t s = vdupq_n_s32(0);
    UNROLL for (int i = from; i < to; i += 4)
    {
        int8x16_t x = vld1q_s8(q + 4 * i);
#define DOT(j) s = vdotq_laneq_s32(s, w[i + j], x, j);
        FOUR(DOT)
#undef DOT
    }
    *sum = s;
}

#endif

/* For i8mm words as 8 k of two rows: rows 0 and 1, then 2 and 3. */
INLINE void arrange(int8x16_t w[8], const int lanes)
{
    if (RUN == 4 || lanes == 1)
        return;
    UNROLL for (int i = 0; i < 8; i += 2)
    {
        const int32x4_t a = (int32x4_t)w[i], b = (int32x4_t)w[i + 1];
        w[i] = (int8x16_t)vzip1q_s32(a, b);
        w[i + 1] = (int8x16_t)vzip2q_s32(a, b);
    }
}

#if defined(__ARM_FEATURE_MATMUL_INT8)

INLINE void dot_neon(int32x4_t *sum, const struct kind kind, const int8x16_t w[8], const int8_t *q,
                     const int lanes, const int T, const int from, const int to)
{
    (void)kind;
    if (lanes == 1) {
        dot_of_one(sum, w, q, from, to);
        return;
    }
    UNROLL for (int t = 0; t < T; t++) sum[t] = vdupq_n_s32(0);
    UNROLL for (int i = from; i < to; i += 2) UNROLL for (int t = 0; t < T; t += 2)
    {
        int8x16_t x = vld1q_s8(q + 4 * i * lanes + RUN * t);
        sum[t] = vmmlaq_s32(sum[t], w[i], x); /* a row with one token, with the next, the next row */
        sum[t + 1] = vmmlaq_s32(sum[t + 1], w[i + 1], x);
    }
    UNROLL for (int t = 0; t < T; t += 2)
    {
        int32x4_t a = sum[t], b = sum[t + 1];
        sum[t] = vuzp1q_s32(a, b);
        sum[t + 1] = vuzp2q_s32(a, b);
    }
}

#elif defined(__ARM_FEATURE_DOTPROD)

INLINE void dot_neon(int32x4_t *sum, const struct kind kind, const int8x16_t w[8], const int8_t *q,
                     const int lanes, const int T, const int from, const int to)
{
    (void)kind;
    if (lanes == 1) {
        dot_of_one(sum, w, q, from, to);
        return;
    }
    UNROLL for (int t = 0; t < T; t++) sum[t] = vdupq_n_s32(0);
    UNROLL for (int i = from; i < to; i++) UNROLL for (int t = 0; t < T; t += 4)
    {
        int8x16_t x = vld1q_s8(q + RUN * (i * lanes + t));
#define DOT(j) sum[t + j] = vdotq_laneq_s32(sum[t + j], w[i], x, j);
        FOUR(DOT)
#undef DOT
    }
}

#else

INLINE void dot_neon(int32x4_t *sum, const struct kind kind, const int8x16_t w[8], const int8_t *q,
                     const int lanes, const int T, const int from, const int to)
{
    const int run = CT_MIN(run_of(kind), to - from);

    UNROLL for (int t = 0; t < T; t++)
    {
        int32x4_t low = vdupq_n_s32(0), high = low; /* two rows each, even k and odd ones */
        UNROLL for (int i = from; i < to; i += run)
        {
            int16x8_t a = vdupq_n_s16(0), b = a;
            UNROLL for (int j = i; j < i + run; j++)
            {
                int32_t four;
                memcpy(&four, q + RUN * (j * lanes + t), 4);
                int8x16_t x = (int8x16_t)vdupq_n_s32(four);
                a = vmlal_s8(a, vget_low_s8(w[j]), vget_low_s8(x));
                b = vmlal_high_s8(b, w[j], x);
            }
            low = vpadalq_s16(low, a);
            high = vpadalq_s16(high, b);
        }
        sum[t] = vpaddq_s32(low, high);
    }
}

#endif

/* ---- tiles ---- */

/* acc[t] += group g of 4 rows from `row` on, for T tokens; chunk is the one that the group is in, `at` the
 * group in the row. */
INLINE void panel_group_neon(float32x4_t *acc, const struct kind kind, const uint8_t *chunk, int g, int row,
                             const struct tokens *x, int at, const int lanes, const int T, int8x16_t table)
{
    const int8_t *q = x->q + (size_t)at * CT_GROUP * (size_t)lanes;
    const float *scale = x->scale + (size_t)at * (size_t)lanes;
    const int32_t *sum = x->sum + 2 * (size_t)at * (size_t)lanes;
    const struct factors f = factors_of(kind, chunk, g, row);
    int8x16_t w[8];
    int32x4_t all[TOKENS], second[TOKENS];

    panel_decode_neon(w, kind, chunk + kind.header + group_bytes(kind) * g + 4 * row, table);
    arrange(w, lanes);
    const bool halves_apart = by_halves(kind.factor) || kind.factor == APART;
    dot_neon(all, kind, w, q, lanes, T, 0, halves_apart ? 4 : 8);
    if (halves_apart)
        dot_neon(second, kind, w, q, lanes, T, 4, 8);
    if (by_halves(kind.factor)) {
        UNROLL for (int t = 0; t < T; t++) all[t] =
            vmlaq_s32(vmulq_s32(all[t], f.scale[0]), second[t], f.scale[1]);
    }
    UNROLL for (int t = 0; t < T; t++)
    {
        const float s = scale[t];
        acc[t] = vfmaq_f32(acc[t], vcvtq_f32_s32(all[t]), f.ws * vdupq_n_f32(s));
        if (kind.factor == APART)
            acc[t] = vfmaq_f32(acc[t], vcvtq_f32_s32(second[t]), f.m * vdupq_n_f32(s));
        if (kind.factor == OWN_PAIR || kind.factor == PAIR || kind.factor == BLOCK)
            acc[t] = vfmaq_f32(acc[t], f.m, vdupq_n_f32(s * (float)(sum[t] + sum[lanes + t])));
        if (kind.factor == NIBBLES) {
            int32x4_t m = vmulq_n_s32(f.minimum[0], sum[t]);
            m = vmlaq_n_s32(m, f.minimum[1], sum[lanes + t]);
            acc[t] = vfmaq_f32(acc[t], f.m, vdupq_n_f32(s) * vcvtq_f32_s32(m));
        }
    }
}

/* One panel and T tokens, of which `tokens` are there. */
INLINE void panel_tile_neon(float *out, size_t ldo, const struct kind kind, const uint8_t *chunk, int rows,
                            const struct tokens *x, int groups, const int lanes, const int T, int tokens,
                            float scale)
{
    const int8x16_t table = kind.table ? vld1q_s8(kind.table) : vdupq_n_s8(0);
    float32x4_t acc[PARTS][TOKENS];

    for (int i = 0; i < PARTS; i++)
        UNROLL for (int t = 0; t < T; t++) acc[i][t] = vdupq_n_f32(0);
    for (int g0 = 0; g0 < groups; g0 += kind.groups, chunk += chunk_bytes(kind))
        for (int g = 0; g < CT_MIN(kind.groups, groups - g0); g++)
            for (int i = 0; i < PARTS; i++)
                panel_group_neon(acc[i], kind, chunk, g, VEC * i, x, g0 + g, lanes, T, table);
    store_tokens(out, ldo, acc, rows, tokens, scale);
}

INLINE void panel_project_neon(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w,
                               int r0, int r1, const struct ct_prepared *p, float *scratch)
{
    const int groups = p->cols / CT_GROUP;

    for (; r0 < r1; r0 += CT_PANEL_ROWS) {
        const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;
        if (kind.factor == ODD) /* once for all tokens */
            panel = ct_look_up_panel((struct ct_looked_up *)(void *)scratch, CT_BOOK_PLAIN, w->type, panel,
                                     groups);
        int rows = CT_MIN(CT_PANEL_ROWS, r1 - r0);
        for (int t = 0; t < p->n; t += TOKENS) {
            const size_t at = (size_t)t * (size_t)groups;
            const struct tokens x = {p->q + at * CT_GROUP, p->scale + at, p->sum + 2 * at, NULL};
            float *to = out + (size_t)t * ldo + r0;
            int tokens = CT_MIN(TOKENS, p->n - t);
#define TILE(lanes, T) panel_tile_neon(to, ldo, kind, panel, rows, &x, groups, lanes, T, tokens, w->scale)
            if (p->n == 1)
                TILE(1, 1);
            else if (tokens <= 4)
                TILE(CT_LANES, 4);
            else
                TILE(CT_LANES, 8);
#undef TILE
        }
    }
}

/* Products in f32 and bf16 have nothing that differs between the levels. */
void ct_project_floats_neon(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                            const struct ct_prepared *p);

static void project_panels(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                           const struct ct_prepared *x, enum ct_input form, float *scratch,
                           const struct ct_panels_next *next)
{
    ct_assert_project(out, ldo, w, r0, r1, x, form);
    (void)form;
    (void)next;
    switch (w->type) {
#define KIND(type, ...)                                                                                      \
    case type:                                                                                               \
        panel_project_neon(out, ldo, (struct kind){__VA_ARGS__}, w, r0, r1, x, scratch);                     \
        break;
        CT_KINDS_OF_LINES(KIND)
        CT_KINDS_OF_PLANES(KIND)
#undef KIND
    case CT_F32:
    case CT_F16:
    case CT_BF16:
    case CT_SFP:
        ct_project_floats_neon(out, ldo, w, r0, r1, x);
        break;
    default:
        panel_project_neon(out, ldo, (struct kind)CT_KIND_OF_BOOKS, w, r0, r1, x, scratch);
    }
}

/* ---- inputs (section 4) ---- */

/* 32 values of a token as integers, with their scale and the sums of both halves. */
INLINE void quantize_group(int8_t q[CT_GROUP], float *scale, int32_t sum[2], const float *x)
{
    float32x4_t v[8];
    uint32x4_t top = vdupq_n_u32(0);
    int16x8_t s[4];

    UNROLL for (int i = 0; i < 8; i++)
    {
        v[i] = vld1q_f32(x + 4 * i);
        /* bits order like magnitudes, and a NaN comes out on top */
        top = vmaxq_u32(top, (uint32x4_t)v[i] & 0x7fffffff);
    }
    float a = ct_f32_from_bits(vmaxvq_u32(top));
    bool zero = a < 0x1p-90f;
    float32x4_t r = vdupq_n_f32(zero ? 0 : 127.0f / a), most = vdupq_n_f32(127);
    UNROLL for (int i = 0; i < 8; i += 2)
    {
        /* of a NaN and a number these take the number */
        float32x4_t low = vmaxnmq_f32(vminnmq_f32(v[i] * r, most), -most);
        float32x4_t high = vmaxnmq_f32(vminnmq_f32(v[i + 1] * r, most), -most);
        s[i / 2] = vcombine_s16(vmovn_s32(vcvtnq_s32_f32(low)), vmovn_s32(vcvtnq_s32_f32(high)));
    }
    vst1q_s8(q, vcombine_s8(vmovn_s16(s[0]), vmovn_s16(s[1])));
    vst1q_s8(q + CT_HALF, vcombine_s8(vmovn_s16(s[2]), vmovn_s16(s[3])));
    *scale = zero ? 0 : a / 127.0f;
    sum[0] = vaddvq_s16(s[0] + s[1]);
    sum[1] = vaddvq_s16(s[2] + s[3]);
}

static void prepare_lanes(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part)
{
    ct_assert_prepare(p, x, ldx, part);
    const size_t lanes = p->n == 1 ? 1 : CT_LANES, cols = (size_t)p->cols, groups = cols / CT_GROUP;
    const size_t padded = ct_round_up((size_t)p->n, lanes);

    for (size_t t = (size_t)part.t0; t < (size_t)part.t1 && t < padded; t++, x += ldx) {
        size_t block = t / lanes * lanes, lane = t % lanes;
        for (int g = part.g0; g < part.g1; g++) {
            size_t at = block * groups + (size_t)g * lanes;
            int8_t q[CT_GROUP] = {0};
            int32_t sum[2] = {0};
            p->scale[at + lane] = 0;
            if (t < (size_t)p->n)
                quantize_group(q, &p->scale[at + lane], sum, x + (g - part.g0) * CT_GROUP);
            p->sum[2 * at + lane] = sum[0];
            p->sum[2 * at + lanes + lane] = sum[1];
            for (size_t k = 0; k < CT_GROUP; k += RUN)
                memcpy(p->q + at * CT_GROUP + k * lanes + lane * RUN, q + k, RUN);
        }
    }
}

void CT_NAME(ct_panels_init)(struct ct_kernel *k)
{
    k->layout = CT_LAYOUT_PANELS;
    k->prepare_lanes = prepare_lanes;
    k->project_panels = project_panels;
}
