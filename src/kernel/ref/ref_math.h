/* SPDX-License-Identifier: Apache-2.0 */
/* ref_math.h: exp, log, tanh and bf16 rounding of NUMERICS.md sections 5 and 6, and exp and log in double, as
 * inline C out of mul, add, fma and integer operations, so that every compiler and CPU gives the same bits.
 * Included by ref*.c, and by check for sums in double. */
#ifndef CT_REF_MATH_H
#define CT_REF_MATH_H

#include "kernel/kernel.h"

#define CT_PASTE2(a, b) a##_##b
#define CT_PASTE(a, b)  CT_PASTE2(a, b)
/* ct_norm_f32 becomes ct_norm_f32_ref or ct_norm_f32_avx2: the file is compiled once per level. */
#define CT_NAME(name) CT_PASTE(name, CT_ISA)

/* ln 2 in two parts */
#define CT_LN2_HIGH 0x1.62e42fefa39efp-1
#define CT_LN2_LOW  0x1.abc9e3b39803fp-56

#define ct_fma(a, b, c) __builtin_fmaf(a, b, c)

/* Nearest integer, ties to even, for |x| < 2^22. */
static inline float ct_rne(float x)
{
    return (x + 0x1.8p23f) - 0x1.8p23f;
}

/* e^x: x = n ln2 + r, the Taylor polynomial of degree 7 in r (its remainder is 5e-9 relative, 0.04 ulp),
 * times 2^n in two factors because n reaches 128. */
static inline float ct_exp(float x)
{
    float n = ct_rne(CT_MIN(CT_MAX(x, -100.0f), 100.0f) * 1.44269504f);
    float r =
        ct_fma(n, -0x1.62e4p-1f, x); /* ln 2 in two parts; the first has 14 bits, so n times it is exact */
    r = ct_fma(n, -0x1.7f7d1cp-20f, r);
    float p = 1.0f / 5040;
    p = ct_fma(p, r, 1.0f / 720);
    p = ct_fma(p, r, 1.0f / 120);
    p = ct_fma(p, r, 1.0f / 24);
    p = ct_fma(p, r, 1.0f / 6);
    p = ct_fma(p, r, 0.5f);
    p = ct_fma(p, r, 1.0f);
    p = ct_fma(p, r, 1.0f);
    int32_t e = (int32_t)n, half = e >> 1;
    p *= ct_f32_from_bits((uint32_t)(half + 127) << 23);
    p *= ct_f32_from_bits((uint32_t)(e - half + 127) << 23);
    p = x < -87.33655f ? 0.0f : p;
    p = x > 88.72284f ? ct_f32_from_bits(0x7f800000u) : p;
    return x != x ? x : p;
}

/* log x: x = 2^e m with m in [sqrt 1/2, sqrt 2), f = m - 1, s = f / (2 + f), and log m = 2 artanh s by its
 * series to s^9 (its remainder is 2e-9 relative), written as f - (f^2/2 - s (f^2/2 + r)) so that f, which
 * is exact, comes in last. */
static inline float ct_log(float x)
{
    bool tiny = x < 0x1p-126f;
    uint32_t u = ct_f32_bits(tiny ? x * 0x1p25f : x), above = u - 0x3f3504f3u; /* sqrt 1/2 */
    float e = (float)((int32_t)above >> 23) - (tiny ? 25.0f : 0.0f);
    float f = ct_f32_from_bits((above & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float s = f / (2.0f + f), z = s * s, h = 0.5f * f * f;
    float r = 2.0f / 9;
    r = ct_fma(r, z, 2.0f / 7);
    r = ct_fma(r, z, 2.0f / 5);
    r = ct_fma(r, z, 2.0f / 3);
    r = r * z;
    /* ln 2 in two parts, as in ct_exp: e times the first is exact */
    float low = ct_fma(s, h + r, e * 0x1.7f7d1cp-20f);
    float y = ct_fma(e, 0x1.62e4p-1f, f - (h - low));
    y = x == 0 ? -__builtin_inff() : y;
    y = x < 0 ? __builtin_nanf("") : y;
    return x - x == 0 ? y : x < 0 ? __builtin_nanf("") : x; /* NaN and infinity are themselves */
}

/* tanh x = (1 - u) / (1 + u) with u = exp(-2|x|), and the sign of x: odd, exactly 0 at 0. */
static inline float ct_tanh(float x)
{
    uint32_t sign = ct_f32_bits(x) & 0x80000000u;
    float u = ct_exp(-2.0f * ct_f32_from_bits(ct_f32_bits(x) ^ sign));
    return ct_f32_from_bits(ct_f32_bits((1.0f - u) / (1.0f + u)) | sign);
}

/* Values with |v| < 2^-50 become +0 (section 5). */
static inline float ct_flush(float v)
{
    uint32_t u = ct_f32_bits(v);
    return ct_f32_from_bits((u & 0x7fffffffu) < 0x26800000u ? 0 : u);
}

/* f32 rounded to bf16 and flushed, still as f32. */
static inline float ct_bf16_round(float v)
{
    uint32_t u = ct_f32_bits(v);
    uint32_t rounded = (u + 0x7fffu + ((u >> 16) & 1)) & 0xffff0000u;
    rounded = (u & 0x7fffffffu) > 0x7f800000u ? (u | 0x400000u) & 0xffff0000u : rounded;
    return ct_flush(ct_f32_from_bits(rounded));
}

/* The f16 scale of a group of q8 (section 7) from the bits of its largest value without the sign; of one
 * that holds what is not a number, NaN. */
static inline uint16_t ct_q8_scale(uint32_t most)
{
    uint16_t scale = ct_f32_to_f16(ct_f32_from_bits(most) / 127);
    return most >= 0x7f800000u ? 0x7e00 : CT_MIN(scale, 0x7bff);
}

/* f16 without a branch, so that loops of it become vectors. Exact for normals and subnormals: the exponent is
 * moved by a multiplication with 2^112. */
static inline float ct_f16_value(uint16_t h)
{
    uint32_t magnitude = (uint32_t)(h & 0x7fff) << 13;
    float f = ct_f32_from_bits(magnitude) * 0x1p112f;
    uint32_t u = ct_f32_bits(f) | (magnitude >= 0x0f800000u ? 0x7f800000u : 0u);
    return ct_f32_from_bits(u | (uint32_t)(h & 0x8000) << 16);
}

/* A group of `have` activations as int8 (section 4), the rest 0; returns the scale. */
static inline float ct_quantise_group(int8_t q[CT_GROUP], const float *x, int have)
{
    uint32_t top = 0; /* the bits of max|x| order like the values, and a NaN comes out on top */
    for (int i = 0; i < have; i++)
        top = CT_MAX(top, ct_f32_bits(x[i]) & 0x7fffffffu);
    float a = ct_f32_from_bits(top);
    bool zero = a < 0x1p-90f;
    float r = zero ? 0 : 127.0f / a;
    for (int i = 0; i < CT_GROUP; i++) {
        float v = i < have ? x[i] * r : 0;
        v = v < 127.0f ? v : 127.0f;
        v = v > -127.0f ? v : -127.0f;
        q[i] = (int8_t)ct_rne(zero ? 0 : v);
    }
    return zero ? 0 : a / 127.0f;
}

/* Section 3: 32 partial sums folded by halves. */
static inline float ct_fold(float p[32])
{
    for (int half = 16; half >= 1; half /= 2)
        for (int j = 0; j < half; j++)
            p[j] += p[j + half];
    return p[0];
}

/* Section 3 of x[n]. */
static inline float ct_sum(const float *x, int n)
{
    float p[32] = {0};
    int i = 0;

    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < 32; j++)
            p[j] += x[i + j];
    for (; i < n; i++)
        p[i % 32] += x[i];
    return ct_fold(p);
}

/* The largest of x[n], NaN aside: in 32 parts, so that it is done in vectors. */
static inline float ct_top_of(const float *x, int n)
{
    float m[32];
    int i = 0;

    for (int j = 0; j < 32; j++)
        m[j] = -__builtin_inff();
    for (; i + 32 <= n; i += 32)
        for (int j = 0; j < 32; j++)
            m[j] = x[i + j] > m[j] ? x[i + j] : m[j];
    for (; i < n; i++)
        m[i % 32] = x[i] > m[i % 32] ? x[i] : m[i % 32];
    for (int j = 1; j < 32; j++)
        m[0] = m[j] > m[0] ? m[j] : m[0];
    return m[0];
}

/* ---- in double ---- */

/* e^x for |x| < 700: x = n ln2 + r, the Taylor polynomial of degree 14 in r, times 2^n. */
static inline double ct_exp_double(double x)
{
    double n = (x * 1.4426950408889634 + 0x1.8p52) - 0x1.8p52;
    double r = __builtin_fma(n, -CT_LN2_LOW, __builtin_fma(n, -CT_LN2_HIGH, x)), p = 1;
    for (int i = 14; i >= 1; i--)
        p = __builtin_fma(p * r, 1.0 / i, 1);
    uint64_t u = (uint64_t)(1023 + (int64_t)n) << 52;
    double scale;
    memcpy(&scale, &u, 8);
    return p * scale;
}

/* e^x for x <= 0, and 0 below -708, so that no result is denormal. For loops: there is no branch and no
 * conversion (n is the lowest bits of the sum that rounds), so that compilers make vectors of it, and of the
 * polynomial, of degree 13, pairs go side by side. What the rest makes of smaller x is not used. */
static inline double ct_exp_weight(double x)
{
    double turned = __builtin_fma(x, 1.4426950408889634, 0x1.8p52), n = turned - 0x1.8p52;
    double r = __builtin_fma(n, -CT_LN2_LOW, __builtin_fma(n, -CT_LN2_HIGH, x)), r2 = r * r, r4 = r2 * r2;
    double p2 = __builtin_fma(r, 1.0 / 6, 1.0 / 2), p4 = __builtin_fma(r, 1.0 / 120, 1.0 / 24),
           p6 = __builtin_fma(r, 1.0 / 5040, 1.0 / 720), p8 = __builtin_fma(r, 1.0 / 362880, 1.0 / 40320),
           p10 = __builtin_fma(r, 1.0 / 39916800, 1.0 / 3628800),
           p12 = __builtin_fma(r, 1.0 / 6227020800, 1.0 / 479001600);
    double upper = __builtin_fma(__builtin_fma(p12, r2, p10), r4, __builtin_fma(p8, r2, p6));
    double p = __builtin_fma(__builtin_fma(upper, r4, __builtin_fma(p4, r2, p2)), r2, r) + 1, scale;
    uint64_t u;
    memcpy(&u, &turned, 8);
    u = (u + 1023) << 52;
    memcpy(&scale, &u, 8);
    return x < -708.0 ? 0 : p * scale;
}

/* ln x for normal x > 0: x = m 2^k with m in [1/sqrt2, sqrt2], ln m = 2 artanh((m-1)/(m+1)) by its odd
 * series. */
static inline double ct_log_double(double x)
{
    uint64_t u;
    memcpy(&u, &x, 8);
    int k = (int)(u >> 52) - 1023;
    u = (u & 0xfffffffffffffu) | 0x3ff0000000000000u;
    double m;
    memcpy(&m, &u, 8);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        k++;
    }
    double s = (m - 1) / (m + 1), z = s * s, p = 0;
    for (int i = 23; i >= 1; i -= 2) /* |s| < 0.1716: the first term left out is below 2^-60 */
        p = __builtin_fma(p, z, 1.0 / i);
    return __builtin_fma((double)k, CT_LN2_HIGH, __builtin_fma((double)k, CT_LN2_LOW, 2 * s * p));
}

/* Section 3 in double. */
static inline double ct_fold_double(double p[32])
{
    for (int half = 16; half >= 1; half /= 2)
        for (int j = 0; j < half; j++)
            p[j] += p[j + half];
    return p[0];
}

#endif
