/* SPDX-License-Identifier: Apache-2.0 */
/* matrix.cu: int8 products of many rows of the pass, by the units that devices have for matrices from 8.0 on
 * (NUMERICS.md sections 3 and 4), for types whose groups are codes by one f16 scale. It is a module of its
 * own, so that older devices take the others. A warp has a panel of 16 rows of a weight and CT_GPU_TILE rows
 * of the pass. What a MATRIX_MULTIPLY sums is a group, and exact; the chain over groups stays in the lane that
 * has the sum, in order, and nothing is passed on.
 *
 * A fragment is what each lane holds of a matrix. Lane l has, with q = l / 4 and c = l % 4:
 *   codes    16 rows by 32 k, four k to a word: rows q and q + 8 of k 4 c..., and the same of k 16 + 4 c...
 *   input    32 k by 8 rows of the pass: k 4 c... and 16 + 4 c... of row q
 *   sums     16 by 8: row q of the weight by rows 2 c and 2 c + 1 of the pass, then row q + 8 by these
 * Which k is which is free, where both agree: lane l takes the 8 k from 8 c on, which are a word of two codes
 * to a byte, or two. */
#if defined(__CUDA__)
#define MATRIX_MULTIPLY(d, a, b0, b1, c)                                                                     \
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "      \
                 "{%8, %9}, {%10, %10, %10, %10};"                                                           \
                 : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                            \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1), "r"(c))
#else
#define MATRIX_MULTIPLY(d, a, b0, b1, c)                                                                     \
    (d[0] = d[1] = d[2] = d[3] = c, fibre_multiply((int32_t *)d, a, (const uint32_t[]){b0, b1}))
#endif

/* The bits of 1.5 * 2^23, whose last place is 1: a sum that begins with them becomes a float by a subtraction,
 * where it is below 2^22, which it is as long as halves have no factors. */
#define MATRIX_ZERO 0x4b400000u

enum { PANELS = BLOCK / 32, EIGHTS = CT_GPU_TILE / 8 };

/* Codes of rows q and q + 8 as int8: of 4 bits, whose zero `less` and `flip` take from four bytes, of which
 * none borrows from its neighbour; or of 8. */
DEVICE void matrix_codes(uint32_t code[4], struct ct_gpu_type t, GLOBAL const uint32_t *lines, int c,
                         uint32_t less, uint32_t flip)
{
    UNROLLED for (int r = 0; r < 2; r++)
    {
        if (t.low == 8) {
            code[r] = lines[c * 32 + r * 8] ^ t.flip;
            code[r + 2] = lines[c * 32 + 16 + r * 8] ^ t.flip;
        } else {
            uint32_t both = lines[c * 16 + r * 8];
            code[r] = ((both & 0x0f0f0f0fu) + less) ^ flip;
            code[r + 2] = ((both >> 4 & 0x0f0f0f0fu) + less) ^ flip;
        }
    }
}

KERNEL(project_matrix, ct_gpu_project)
{
    THREADS(ct_gpu_project);
    int q = lane / 4, c = lane % 4, panel = bid * PANELS + tid / 32, token = row * CT_GPU_TILE;
    int last = (a.rows - 1) / 16, r = (panel < last ? panel : last) * 16 + q;
    struct ct_gpu_type t = a.type;
    uint32_t less = t.minus ? (128u - t.minus) * 0x01010101u : 0u, flip = t.minus ? 0x80808080u : 0u;
    GLOBAL const uint8_t *w = gpu_panel(a.w, a.panel, r);
    GLOBAL const uint32_t *x = (GLOBAL const uint32_t *)a.x + gpu_input(token + q, a.groups, 0) * 8 + 2 * c;
    GLOBAL const float *scale = a.scale + gpu_input(token + 2 * c, a.groups, 0);
    float acc[EIGHTS][4];

    t.form = CT_GPU_F16_SCALE; /* no other comes here */
    UNROLLED for (int j = 0; j < EIGHTS; j++)
        UNROLLED for (int i = 0; i < 4; i++) acc[j][i] = 0.0f;
    for (int g = 0; g < a.groups; g++) {
        struct gpu_group f[2] = {gpu_group(w, t, g, r), gpu_group(w, t, g, r + 8)};
        uint32_t code[4];
        matrix_codes(code, t, f[0].lines, c, less, flip);
        UNROLLED for (int j = 0; j < EIGHTS; j++)
        {
            if (token + j * 8 >= a.n)
                continue;
            int at = (j * a.groups + g) * CT_GPU_TOKENS;
            GLOBAL const float *xs = PAIR(scale + at);
            GLOBAL const uint32_t *by = PAIR(x + at * 8);
            uint32_t dot[4];
            MATRIX_MULTIPLY(dot, code, by[0], by[1], MATRIX_ZERO);
            UNROLLED for (int i = 0; i < 4; i++) acc[j][i] =
                FMA(ADD(AS_F32(dot[i]), -0x1.8p23f), MUL(f[i / 2].ws, xs[i % 2]), acc[j][i]);
        }
    }
    UNROLLED for (int j = 0; j < EIGHTS; j++)
        UNROLLED for (int i = 0; i < 4; i++)
        {
            int to = token + j * 8 + 2 * c + i % 2, out = panel * 16 + q + i / 2 * 8;
            if (to < a.n && out < a.rows)
                a.out[(long)to * a.ldo + out] = MUL(acc[j][i], a.factor);
        }
}
