/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_math.h: exp, tanh and the roundings of kernel/ref/ref_math.h in the dialect of GPUs. Included once, by
 * gpu.cu. */

/* Nearest integer, ties to even, for |x| < 2^22. */
DEVICE float gpu_rne(float x)
{
    return ADD(ADD(x, 0x1.8p23f), -0x1.8p23f);
}

DEVICE float gpu_exp(float x)
{
    float inside = x > -100.0f ? x : -100.0f;
    inside = inside < 100.0f ? inside : 100.0f;
    float n = gpu_rne(MUL(inside, 1.44269504f));
    float r = FMA(n, -0x1.7f7d1cp-20f, FMA(n, -0x1.62e4p-1f, x));
    float p = FMA(1.0f / 5040, r, 1.0f / 720);
    p = FMA(p, r, 1.0f / 120);
    p = FMA(p, r, 1.0f / 24);
    p = FMA(p, r, 1.0f / 6);
    p = FMA(p, r, 0.5f);
    p = FMA(p, r, 1.0f);
    p = FMA(p, r, 1.0f);
    int32_t e = (int32_t)n, half_e = e >> 1;
    p = MUL(p, AS_F32((uint32_t)(half_e + 127) << 23));
    p = MUL(p, AS_F32((uint32_t)(e - half_e + 127) << 23));
    p = x < -87.33655f ? 0.0f : p;
    p = x > 88.72284f ? AS_F32(0x7f800000u) : p;
    return x != x ? x : p;
}

DEVICE float gpu_tanh(float x)
{
    uint32_t sign = AS_U32(x) & 0x80000000u;
    float u = gpu_exp(MUL(-2.0f, AS_F32(AS_U32(x) ^ sign)));
    return AS_F32(AS_U32(DIV(ADD(1.0f, -u), ADD(1.0f, u))) | sign);
}

/* f32 rounded to bf16; values below 2^-50 become 0. */
DEVICE float gpu_bf16_round(float v)
{
    uint32_t u = AS_U32(v), rounded = (u + 0x7fffu + (u >> 16 & 1)) & 0xffff0000u;
    rounded = (u & 0x7fffffffu) > 0x7f800000u ? (u | 0x400000u) & 0xffff0000u : rounded;
    return AS_F32((rounded & 0x7fffffffu) < 0x26800000u ? 0u : rounded);
}

/* A pair of bf16 in a word. */
DEVICE float gpu_low(uint32_t pair)
{
    return AS_F32(pair << 16);
}
DEVICE float gpu_high(uint32_t pair)
{
    return AS_F32(pair & 0xffff0000u);
}

DEVICE float gpu_f16(uint32_t h)
{
#if defined(__CUDA__)
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"((uint16_t)h));
    return f;
#else
    uint32_t m = (h & 0x7fff) << 13;
    uint32_t u = AS_U32(MUL(AS_F32(m), 0x1p112f)) | (m >= 0x0f800000u ? 0x7f800000u : 0u);
    return AS_F32(u | (h & 0x8000) << 16);
#endif
}

/* Rounds to nearest even; not for NaN. */
DEVICE uint32_t gpu_to_f16(float x)
{
#if defined(__CUDA__)
    uint16_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(x));
    return h;
#else
    uint32_t u = AS_U32(x), sign = u >> 16 & 0x8000u, m = u & 0x7fffffffu;
    uint32_t tiny = AS_U32(ADD(AS_F32(m), 0.5f)) - 0x3f000000u; /* a multiple of 2^-24 */
    uint32_t normal = (m - 0x38000000u + 0xfffu + (m >> 13 & 1)) >> 13;
    return sign | (m >= 0x477ff000u ? 0x7c00u : m < 0x38800000u ? tiny : normal);
#endif
}

DEVICE bool gpu_finite(float x)
{
    return (AS_U32(x) & 0x7f800000u) != 0x7f800000u;
}
