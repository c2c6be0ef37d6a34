/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.cu: products of many rows of the pass with weights of 16 bit floats, by the units that devices have
 * for matrices from 8.0 on, for `--arith tensor` alone (NUMERICS.md section 15). Nobody tells in which order a
 * unit sums, nor how it rounds, so that these are not the bits of section 3 or 5, but within a bound. A unit
 * sums half a group, and the other half behind it; the chain over groups is in order, and rounded as ever.
 *
 * Fragments are those of matrix.cu, with two values to a word where that has four: lane l takes the 8 k from
 * 8 c on of a group, the first four for one TENSOR_MULTIPLY and the last for the next. */
#if defined(__CUDA__)
#define TENSOR_OF(type, d, a, b)                                                                             \
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." type "." type ".f32 {%0, %1, %2, %3}, "            \
                 "{%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"                                             \
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"((b)[0]), "r"((b)[1]))
#define TENSOR_MULTIPLY(d, a, b, bf16)                                                                       \
    if (bf16)                                                                                                \
        TENSOR_OF("bf16", d, a, b);                                                                          \
    else                                                                                                     \
        TENSOR_OF("f16", d, a, b)
#else
#define TENSOR_MULTIPLY(d, a, b, bf16) fibre_multiply_floats(d, a, b, bf16)
#endif

/* The input: bf16 as section 5 has it, 16 bit each; or f32 as two f16, [group][rest, value][32], times a power
 * of two that brings the largest of a group to 2^14 or more. A warp is a group. */
KERNEL(prepare_tensor, ct_gpu_prepare)
{
    THREADS(ct_gpu_prepare);
    int i = bid * BLOCK + tid;
    long group = (long)row * (a.padded / 32) + i / 32;
    float v = i < a.cols ? a.x[(long)row * a.ldx + i] : 0.0f;
    uint32_t top = AS_U32(v) & 0x7fffffffu;

    for (int d = 16; d; d >>= 1) {
        uint32_t other = SHFL_XOR(top, d);
        top = other > top ? other : top;
    }
    if (i >= a.padded)
        return;
    GLOBAL uint16_t *to = (GLOBAL uint16_t *)a.to + group * (a.bf16 ? 32 : 64) + lane;
    if (a.bf16) {
        *to = (uint16_t)(AS_U32(gpu_bf16_round(v)) >> 16);
        return;
    }
    uint32_t exponent = top >> 23;
    bool tiny = exponent < 37; /* below 2^-90 */
    v = MUL(v, tiny ? 0.0f : AS_F32((268 - exponent) << 23));
    uint32_t value = gpu_to_f16(v);
    to[0] = (uint16_t)gpu_to_f16(ADD(v, -gpu_f16(value)));
    to[32] = (uint16_t)value;
    if (lane == 0)
        a.scale[group] = AS_F32(tiny ? 0u : (exponent - 14) << 23);
}

/* Sums of a group with those of a piece of x; `eight`: words from a row to the one eight behind. */
DEVICE void tensor_multiply(float dot[EIGHTS][4], const uint32_t w[2][4], GLOBAL const uint32_t *x, int eight,
                            bool bf16)
{
    UNROLLED for (int j = 0; j < EIGHTS; j++)
    {
        GLOBAL const uint32_t *by = WIDE(x + j * eight);
        uint32_t b[4];
        UNROLLED for (int i = 0; i < 4; i++) b[i] = by[i];
        TENSOR_MULTIPLY(dot[j], w[0], b, bf16);
        TENSOR_MULTIPLY(dot[j], w[1], b + 2, bf16);
    }
}

KERNEL(project_tensor, ct_gpu_project)
{
    THREADS(ct_gpu_project);
    int q = lane / 4, c = lane % 4, panel = bid * PANELS + tid / 32, token = row * CT_GPU_TILE + 2 * c;
    int last = (a.rows - 1) / 16, r = (panel < last ? panel : last) * 16, out = panel * 16 + q;
    bool bf16 = a.type.form == CT_GPU_BF16;
    int words = bf16 ? 16 : 32, eight = a.groups * words * 8; /* of a group of x, of eight of its rows */
    GLOBAL const uint32_t *w = (GLOBAL const uint32_t *)gpu_panel(a.w, a.panel, r) + c * 64 + q;
    GLOBAL const uint32_t *x =
        (GLOBAL const uint32_t *)a.x + (long)(row * CT_GPU_TILE + q) * a.groups * words + c * 4;
    GLOBAL const float *scale = a.scale + (long)token * a.groups;
    GLOBAL float *to = a.out + (long)token * a.ldo + out;
    float acc[EIGHTS][4], xs[EIGHTS][2];

    UNROLLED for (int j = 0; j < EIGHTS; j++)
    {
        UNROLLED for (int i = 0; i < 4; i++) acc[j][i] = 0.0f;
        xs[j][0] = xs[j][1] = 1.0f;
    }
    for (int g = 0; g < a.groups; g++, w += 256, x += words) {
        float dot[EIGHTS][4];
        uint32_t two[2][4];
        UNROLLED for (int i = 0; i < 8; i++) two[i / 4][i % 4] = w[i / 2 * 16 + i % 2 * 8];
        UNROLLED for (int j = 0; j < EIGHTS; j++)
            UNROLLED for (int i = 0; i < 4; i++) dot[j][i] = 0.0f;
        if (bf16) {
            tensor_multiply(dot, two, x, eight, true);
        } else {
            UNROLLED for (int j = 0; j < EIGHTS; j++)
                UNROLLED for (int i = 0; i < 2; i++) xs[j][i] = scale[(j * 8 + i) * a.groups + g];
            tensor_multiply(dot, two, x, eight, false);
            tensor_multiply(dot, two, x + 16, eight, false);
        }
        UNROLLED for (int j = 0; j < EIGHTS; j++)
            UNROLLED for (int i = 0; i < 4; i++) acc[j][i] = FMA(dot[j][i], xs[j][i % 2], acc[j][i]);
    }
    for (int j = 0; j < EIGHTS; j++, token += 8, to += 8 * (long)a.ldo) {
        UNROLLED for (int i = 0; i < 4; i++)
        {
            if (token + i % 2 < a.n && out + i / 2 * 8 < a.rows)
                to[i % 2 * (long)a.ldo + i / 2 * 8] = MUL(acc[0][i], a.factor);
        }
        UNROLLED for (int i = 0; i < EIGHTS * 4 - 4; i++) acc[i / 4][i % 4] = acc[i / 4 + 1][i % 4];
    }
}
