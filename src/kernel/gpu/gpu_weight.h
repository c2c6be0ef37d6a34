/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_weight.h: weights as kernels read them out of panels (layout/panel.h), by what struct ct_gpu_type tells
 * of their type: the codes of a group, its factors, its values; and where a group of int8 inputs is. Included
 * once, by gpu.cu. */

/* UNROLLED: of a loop, all steps one after another; the others stay loops. WIDE: an address of a multiple of
 * 16 bytes, of which a load may take all; PAIR: of 8. PERMUTE: bytes of two words by the numbers in the low
 * nibbles of s. */
#if defined(__CUDA__)
#define UNROLLED         _Pragma("unroll")
#define WIDE(p)          ((__typeof__(p))__builtin_assume_aligned(p, 16))
#define PAIR(p)          ((__typeof__(p))__builtin_assume_aligned(p, 8))
#define PERMUTE(x, y, s) __nvvm_prmt(x, y, s)
#else
#define UNROLLED
#define WIDE(p) (p)
#define PAIR(p) (p)
DEVICE uint32_t PERMUTE(uint32_t x, uint32_t y, uint32_t s)
{
    uint32_t all = 0;

    for (int i = 0; i < 32; i += 8, s >>= 4)
        all |= ((s & 4 ? y : x) >> (s & 3) * 8 & 255) << i;
    return all;
}
#endif

/* A group of a row. */
struct gpu_group {
    GLOBAL const uint32_t *lines;      /* at the row's first word */
    float ws, m;                       /* m: the minimum, or the second half's ws */
    int32_t first, second, low0, low1; /* factors of halves: of codes, and of the minimum */
};

/* The place of a group: its row's first word, its d, its a. A chunk has eight groups, or a part of them, so
 * that the group eight behind lies alike. */
struct gpu_place {
    GLOBAL const uint8_t *lines, *d, *a;
};

DEVICE GLOBAL const uint8_t *gpu_panel(GLOBAL const void *w, uint64_t panel, uint32_t row)
{
    return (GLOBAL const uint8_t *)w + (uint64_t)(row / 16) * panel;
}

/* Which of the groups of int8 inputs it is: rows of the pass lie in eights, group by group. */
DEVICE long gpu_input(int row, int groups, int g)
{
    return ((long)(row / CT_GPU_TOKENS) * groups + g) * CT_GPU_TOKENS + row % CT_GPU_TOKENS;
}

/* Half an E4M3 value without sign; 0x7f is none. */
DEVICE float gpu_half_e4m3(uint32_t e)
{
    uint32_t exponent = e >> 3 & 15, mantissa = e & 7;
    float v = exponent ? AS_F32((exponent + 119) << 23 | mantissa << 20) : MUL((float)mantissa, 0x1p-10f);
    return e == 0x7f ? 0.0f : v;
}

DEVICE struct gpu_place gpu_place(GLOBAL const uint8_t *panel, struct ct_gpu_type t, uint32_t g, uint32_t row)
{
    uint32_t r = row % 16, at = g & ((1u << t.shift) - 1);
    GLOBAL const uint8_t *chunk = panel + (uint64_t)(g >> t.shift) * t.chunk;
    struct gpu_place p = {chunk + t.lines + at * 64 * (t.low + t.high) + r * 4, chunk + at * t.stride + r * 2,
                          chunk + t.bytes + at * t.width * 16 + r * t.width};
    return p;
}

DEVICE struct gpu_place gpu_eight_on(struct gpu_place p, struct ct_gpu_type t)
{
    uint32_t bytes = (8u >> t.shift) * t.chunk;

    p.lines += bytes;
    p.d += bytes;
    p.a += bytes;
    return p;
}

DEVICE struct gpu_group gpu_read(struct gpu_place p, struct ct_gpu_type t)
{
    GLOBAL const uint8_t *a = p.a;
    struct gpu_group f = {(GLOBAL const uint32_t *)p.lines, 0.0f, 0.0f, 1, 1, 1, 1};

    if (t.form <= CT_GPU_SFP)
        return f;
    uint32_t one = *(GLOBAL const uint16_t *)p.d;
    f.ws = MUL(t.form == CT_GPU_BF16_SCALE ? gpu_low(one) : gpu_f16(one), t.by);
    if (t.more) {
        uint32_t two = *(GLOBAL const uint16_t *)(p.d + t.apart);
        f.m = t.form == CT_GPU_BF16_SCALE ? -MUL(gpu_low(two), f.ws) : gpu_f16(two);
    }
    if (t.form == CT_GPU_SIX_BITS) {
        f.ws = MUL(f.ws, (float)(int8_t)a[0]);
        f.m = -MUL(f.m, (float)a[1]);
    } else if (t.form == CT_GPU_HALVES) {
        f.first = (int8_t)a[0];
        f.second = (int8_t)a[1];
    } else if (t.form == CT_GPU_NIBBLES) {
        f.m = -f.m;
        f.first = a[0] & 15;
        f.second = a[1] & 15;
        f.low0 = a[0] >> 4;
        f.low1 = a[1] >> 4;
    } else if (t.form == CT_GPU_E8M0) { /* the first two are denormal */
        uint32_t e = a[0];
        f.ws = AS_F32(e < 2 ? 0x00200000u << e : (e - 1) << 23);
    } else if (t.form == CT_GPU_E4M3) {
        f.ws = gpu_half_e4m3(a[0]);
        f.m = gpu_half_e4m3(a[1]);
        f.second = 0;
    }
    return f;
}

DEVICE struct gpu_group gpu_group(GLOBAL const uint8_t *panel, struct ct_gpu_type t, uint32_t g, uint32_t row)
{
    return gpu_read(gpu_place(panel, t, g, row), t);
}

/* Looks up what four codes stand for, which are numbers of a table's entries. */
DEVICE uint32_t gpu_look_up(struct ct_gpu_type t, uint32_t code)
{
    uint32_t s = PERMUTE(code | code >> 4, 0u, 0x4420u), low = s & 0x7777u;
    uint32_t below = PERMUTE(t.value[0], t.value[1], low), above = PERMUTE(t.value[2], t.value[3], low);
    return PERMUTE(below, above, 0x3210u | (s & 0x8888u) >> 1);
}

/* Codes 4 i to 4 i + 3 of a group, as bytes. */
DEVICE uint32_t gpu_codes(struct ct_gpu_type t, GLOBAL const uint32_t *lines, uint32_t i)
{
    uint32_t low = i * t.low, high = i * t.high;
    uint32_t code = lines[(low >> 3) * 16] >> (low & 7) & t.mask;

    if (t.high)
        code |= (lines[(t.low + (high >> 3)) * 16] >> (high & 7) & t.mask_high) << t.low;
    code = code * t.times ^ t.flip;
    return t.tabled ? gpu_look_up(t, code) : code;
}

/* Value k of a group. */
DEVICE float gpu_value(struct ct_gpu_type t, struct gpu_group f, uint32_t k)
{
    if (t.form == CT_GPU_F32)
        return AS_F32(f.lines[k * 16]);
    if (t.form == CT_GPU_F16 || t.form == CT_GPU_BF16) {
        uint32_t v = f.lines[k / 2 * 16] >> k % 2 * 16 & 0xffffu;
        return t.form == CT_GPU_F16 ? gpu_f16(v) : gpu_low(v);
    }
    uint32_t code = gpu_codes(t, f.lines, k / 4) >> k % 4 * 8 & 255u, s = code & 0x7fu;
    if (t.form == CT_GPU_SFP) {
        uint32_t magnitude = s & 0x40u ? 0x38000000u + (s << 20) : 0x34000000u + (s << 21);
        return AS_F32(s ? magnitude | (code & 0x80u) << 24 : 0u);
    }
    float q = (float)((int32_t)(int8_t)code - t.minus);
    float ws = k >= 16 && t.more == CT_GPU_APART ? f.m : MUL(f.ws, (float)(k < 16 ? f.first : f.second));
    float m = MUL(f.m, (float)(k < 16 ? f.low0 : f.low1)), v = MUL(ws, q);
    return t.more == CT_GPU_MINIMUM ? ADD(v, m) : v; /* of bf16 v is exact, as in an fma */
}
