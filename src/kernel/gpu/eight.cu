/* SPDX-License-Identifier: Apache-2.0 */
/* eight.cu: int8 products of up to eight rows of the pass with a panel of 16 rows of a weight, by the units
 * of matrix.cu: of one that decodes, or of eight side by side. Codes are worked out once for all of these. A
 * step is 16 groups, two of each warp, which leaves its sums to those who fold: a thread has one row of both
 * sides, and takes its chain over the groups further, in order (NUMERICS.md section 4). The next step leaves
 * its sums in the other half of the memory, so that a step has one barrier. What it reads is loaded in the
 * step before, and brought near some steps earlier.
 *
 * Of the fragments of matrix.cu it is free, too, which row is which: lane l takes rows 2 q and 2 q + 1, which
 * lie side by side. */
#if defined(__CUDA__)
#define BRING_NEAR(p) asm volatile("prefetch.global.L2 [%0];" ::"l"(p))
#define FLIPPED(x, y, z) eight_flipped(x, y, z)
DEVICE uint32_t eight_flipped(uint32_t x, uint32_t y, uint32_t z)
{
    uint32_t d;
    asm("lop3.b32 %0, %1, %2, %3, 0x28;" : "=r"(d) : "r"(x), "r"(y), "r"(z));
    return d;
}
#else
#define BRING_NEAR(p) (void)*(volatile const uint8_t *)(p)
#define FLIPPED(x, y, z) (((x) ^ (y)) & (z))
#endif

enum {
    EIGHT_STEP = BLOCK / 16, /* groups */
    /* Words from row to row of sums and of factors: lanes that go together differ in their banks. */
    EIGHT_ACROSS = CT_GPU_TOKENS + 2,
    EIGHT_WIDE = EIGHT_STEP + 4,
    EIGHT_LINE = 64 /* bytes that are brought near: so many of each thread are on their way */
};

/* A step leaves this to those who fold: sums by row of the weight and of the pass, and factors by group. */
struct eight_step {
    uint32_t dot[EIGHT_STEP][CT_GPU_PANEL][EIGHT_ACROSS];
    float ws[CT_GPU_PANEL][EIGHT_WIDE], m[CT_GPU_PANEL][EIGHT_WIDE];
    float xs[CT_GPU_TOKENS][EIGHT_WIDE];
};

/* A lane reads this of a group ahead of time: 8 k of a row of the pass, and of types of ct_gpu_has_matrix,
 * the commonest ones, these 8 k of its two rows: all of them, or the last four in `more`. */
struct eight_words {
    uint32_t x[2], low[2], more[2];
};

DEVICE void eight_load(uint32_t to[2], GLOBAL const void *from)
{
    GLOBAL const uint32_t *pair = PAIR((GLOBAL const uint32_t *)from);
    to[0] = pair[0];
    to[1] = pair[1];
}

/* The codes of a step, of two groups by two rows, as int8, four to a word: in each group of the first 4 k,
 * then of the others. Those of 4 bits, whose zero is 8, become 16 times as much in the upper half of a byte. */
DEVICE void eight_common_codes(uint32_t code[2][4], struct ct_gpu_type t, const struct eight_words w[2])
{
    if (t.low == 8) {
        UNROLLED for (int i = 0; i < 8; i++) code[i / 4][i % 4] =
            (i % 4 < 2 ? w[i / 4].low : w[i / 4].more)[i % 2] ^ t.flip;
    } else {
        UNROLLED for (int i = 0; i < 8; i++) code[i / 4][i % 4] =
            FLIPPED(w[i / 4].low[i % 2] << (i % 4 < 2 ? 4 : 0), 0x80808080u, 0xf0f0f0f0u);
    }
}

/* Reads the codes of any type, where there are so many groups. room is the lane's own, every 32nd word. */
DEVICE void eight_codes(uint32_t code[2][4], struct ct_gpu_type t, GLOBAL const uint8_t *lines,
                        uint32_t further, int groups, int c, LOCAL uint32_t *room)
{
    uint32_t less = t.minus ? (128u - t.minus) * 0x01010101u : 0u, flip = t.minus ? 0x80808080u : 0u;
    for (int i = 0; i < 8 && i / 4 < groups; i++) {
        GLOBAL const uint32_t *at = (GLOBAL const uint32_t *)(lines + i / 4 * further) + i % 2;
        room[i * 32] = (gpu_codes(t, at, 2 * c + i % 4 / 2) + less) ^ flip;
    }
    UNROLLED for (int i = 0; i < 8; i++) code[i / 4][i % 4] = room[i * 32];
}

/* Sums of a group whose halves have factors, two bytes of each of both rows, as floats. */
DEVICE void eight_halves(uint32_t made[4], const uint32_t code[4], const uint32_t x[2], uint32_t factors,
                         bool first)
{
    uint32_t half = first ? ~0u : 0u;
    int32_t one[4], two[4];
    MATRIX_MULTIPLY(one, code, x[0] & half, x[1] & half, 0);
    MATRIX_MULTIPLY(two, code, x[0] & ~half, x[1] & ~half, 0);
    UNROLLED for (int i = 0; i < 4; i++)
    {
        uint32_t by = factors >> i / 2 * 16;
        made[i] = AS_U32((float)((int8_t)by * one[i] + (int8_t)(by >> 8) * two[i]));
    }
}

/* A step further on the chain of rows r and i. Sums are the bits of a float that is greater by `zero`. */
DEVICE float eight_fold(float acc, LOCAL const struct eight_step *s, int r, int i, float zero)
{
    enum { AT_ONCE = 8 };
    for (int j = 0; j < EIGHT_STEP; j += AT_ONCE) {
        LOCAL const float *ws = WIDE(&s->ws[r][j]), *xs = WIDE(&s->xs[i][j]);
        UNROLLED for (int k = 0; k < AT_ONCE; k++) acc =
            FMA(ADD(AS_F32(s->dot[j + k][r][i]), -zero), MUL(ws[k], xs[k]), acc);
    }
    return acc;
}

/* Folds so many groups of a type that takes a second step for each. sum: of the input's halves. */
DEVICE float eight_fold_two(float acc, LOCAL const struct eight_step *s, int r, int i, float zero,
                            GLOBAL const int32_t *sum, int groups)
{
    for (int j = 0; j < EIGHT_STEP && j < groups; j++, sum += 2 * CT_GPU_TOKENS) {
        acc = FMA(ADD(AS_F32(s->dot[j][r][i]), -zero), MUL(s->ws[r][j], s->xs[i][j]), acc);
        acc = FMA(s->m[r][j], MUL(s->xs[i][j], (float)(sum[0] + sum[1])), acc);
    }
    return acc;
}

KERNEL(project_eight, ct_gpu_project)
{
    THREADS(ct_gpu_project);
    SHARED struct eight_step steps[2] __attribute__((aligned(16)));
    struct ct_gpu_type t = a.type;
    int warp = tid / 32, q = lane / 4, c = lane % 4, r = lane % 16, token = row * CT_GPU_TOKENS;
    int n = a.n - token < CT_GPU_TOKENS ? a.n - token : CT_GPU_TOKENS;
    /* The thread computes this of a step: sums of groups g and g + 1; factors of group `whose` of row r, and
     * of group `of` of row `to` of the pass; the chain of row `mine` of it, with row r. */
    int g = 2 * warp, whose = g + lane / 16, of = tid / CT_GPU_TOKENS, to = tid % CT_GPU_TOKENS;
    int mine = tid / 16;
    bool halves = t.form == CT_GPU_HALVES, common = t.form == CT_GPU_F16_SCALE && !t.more && !t.high &&
                                                    !t.tabled && t.low >= 4;
    /* Bytes from a group to the next one, and to the next step. */
    uint32_t further = t.shift ? 64 * (t.low + t.high) : t.chunk, step = (EIGHT_STEP >> t.shift) * t.chunk;
    GLOBAL const uint8_t *panel = gpu_panel(a.w, a.panel, bid * CT_GPU_PANEL), *end = panel + a.panel;
    GLOBAL const uint8_t *lines = gpu_place(panel, t, g, 2 * q).lines, *ahead = panel + tid * EIGHT_LINE;
    GLOBAL const uint8_t *factor = gpu_place(panel, t, whose, r).d;
    GLOBAL const uint32_t *x = (GLOBAL const uint32_t *)a.x + 2 * c;
    GLOBAL const float *scale = a.scale + gpu_input(token, a.groups, 0) + tid;
    struct eight_words word[2] = {{{0}, {0}, {0}}, {{0}, {0}, {0}}};
    /* Sums begin as the bits of a float in whose last place they are counted. */
    uint32_t zero = halves ? 0u : common && t.low == 4 ? MATRIX_ZERO - (4u << 23) : MATRIX_ZERO;
    uint32_t d = 0;
    float acc = 0.0f, x_scale = 0.0f;

    x += gpu_input(token + (q < n ? q : n - 1), a.groups, g) * 8;
    if (ahead < end)
        BRING_NEAR(ahead);
    ahead = (uint32_t)tid * EIGHT_LINE < step ? ahead + BLOCK * EIGHT_LINE : end;
    for (int first = -EIGHT_STEP, half = 0; first < a.groups; first += EIGHT_STEP, half ^= 1) {
        LOCAL struct eight_step *s = &steps[half];
        int next = first + EIGHT_STEP;
        if (first >= 0) { /* what has been loaded */
            LOCAL uint32_t *sums = &s->dot[0][0][0] + (g * CT_GPU_PANEL + 2 * q) * EIGHT_ACROSS + 2 * c;
            struct gpu_group f = {0, 0.0f, 0.0f, 1, 1, 1, 1};
            uint32_t code[2][4];
            if (common) {
                eight_common_codes(code, t, word);
                f.ws = gpu_f16(d);
            } else {
                eight_codes(code, t, lines, further, a.groups - first - g, c, s->dot[g][0] + lane);
                if (first + whose < a.groups)
                    f = gpu_group(panel, t, first + whose, r);
            }
            UNROLLED for (int j = 0; j < 2; j++)
            {
                uint32_t made[4];
                if (halves) {
                    uint32_t factors = 0;
                    if (first + g + j < a.groups)
                        factors = *(GLOBAL const uint32_t *)gpu_place(panel, t, first + g + j, 2 * q).a;
                    eight_halves(made, code[j], word[j].x, factors, c < 2);
                } else {
                    MATRIX_MULTIPLY(made, code[j], word[j].x[0], word[j].x[1], zero);
                }
                UNROLLED for (int i = 0; i < 4; i++)
                    if (2 * c < n)
                        PAIR(sums + (j * CT_GPU_PANEL + i / 2) * EIGHT_ACROSS)[i % 2] = made[i];
            }
            s->ws[r][whose] = first + whose < a.groups ? f.ws : 0.0f; /* who is not there adds 0 */
            if (t.more)
                s->m[r][whose] = f.m;
            if (of < EIGHT_STEP)
                s->xs[to][of] = first + of < a.groups ? x_scale : 0.0f;
            lines += step;
            factor += step;
            x += EIGHT_STEP * CT_GPU_TOKENS * 8;
            scale += EIGHT_STEP * CT_GPU_TOKENS;
        }
        if (next + g < a.groups) { /* of common types there are two groups */
            UNROLLED for (int j = 0; j < 2; j++)
            {
                GLOBAL const uint8_t *from = lines + j * further + c * t.low * 16;
                eight_load(word[j].x, x + j * CT_GPU_TOKENS * 8);
                if (common)
                    eight_load(word[j].low, from);
                if (common && t.low == 8)
                    eight_load(word[j].more, from + 64);
            }
            if (common)
                d = *(GLOBAL const uint16_t *)factor;
        }
        if (of < EIGHT_STEP && next + of < a.groups)
            x_scale = *scale;
        if (ahead < end)
            BRING_NEAR(ahead);
        ahead += step;
        BARRIER();
        if (first >= 0 && mine < n)
            acc = t.more ? eight_fold_two(acc, s, r, mine, AS_F32(zero),
                                          a.sum + 2 * gpu_input(token + mine, a.groups, first),
                                          a.groups - first)
                         : eight_fold(acc, s, r, mine, AS_F32(zero));
    }
    if (mine < n && bid * CT_GPU_PANEL + r < a.rows)
        a.out[(long)(token + mine) * a.ldo + bid * CT_GPU_PANEL + r] = MUL(acc, a.factor);
}
