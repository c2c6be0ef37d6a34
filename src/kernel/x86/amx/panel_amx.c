/* SPDX-License-Identifier: Apache-2.0 */
/* panel_amx.c: products over panels with AMX tiles, 16 tokens at a time; fewer are left to the level below
 * (CT_BELOW), and so is every type that has no path here. A tile of weights is lines of a panel, a tile of
 what prepare_lanes wrote: rows of C are tokens, columns rows of the matrix. NUMERICS.md sections 4 and
 * 5; layout: panel.h. */
#include "kernel/contract.h"
#include "kernel/sizes.h"
#include "kernel/x86/avx512/simd_avx512.h"

#include "kernel/x86/project_panels.h"
#include "kernel/x86/amx/tile.h"

/* Levels below: their products, and the inputs that AVX2 prepares for all of them. */
#define BELOW CT_PASTE(ct_panels_project, CT_BELOW)
void BELOW(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1, const struct ct_prepared *x,
           enum ct_input form, float *scratch, const struct ct_panels_next *next);
void ct_panels_prepare_avx2(struct ct_prepared *p, const float *x, size_t ldx, int t0, int t1);
void ct_prepare_input_avx2(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx, int t0,
                           int t1);

enum {
    TOKENS = 16, /* of a tile */
    MANY = CT_SIZE(tokens),
    PART = CT_SIZE(part),
    GROUPS = PART / CT_GROUP,
};

/* Tokens that tiles take; of bytes not all but one, which would lie otherwise. */
static int tiled(const struct ct_prepared *p)
{
    int n = p->n / TOKENS * TOKENS;
    return p->q && p->n - n == 1 ? CT_MAX(0, n - TOKENS) : n;
}

INLINE void store_tile_amx(float *out, size_t ldo, const float *acc, int rows, float scale)
{
    for (int t = 0; t < TOKENS; t++)
        _mm512_mask_storeu_ps(out + (size_t)t * ldo, (__mmask16)((1u << rows) - 1),
                              _mm512_mul_ps(_mm512_loadu_ps(acc + CT_PANEL_ROWS * t), _mm512_set1_ps(scale)));
}

/* ---- integers: a tile is one group, its sums leave it for the scales ---- */

/* Sums begin at these bits, which are the float 12582912: then their bits are the float 12582912 + sum, and a
 * subtraction makes it (float)sum, exactly, where a conversion would occupy the multiplier. |sum| <= 32 * 128
 * * 127. A tile of them is this line sixteen times. */
static const _Alignas(64) int32_t start[CT_PANEL_ROWS] = {
    0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000,
    0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000,
};

/* Weights of `groups` groups as signed bytes [k/4][16][4]; chunk is the one of the first. */
INLINE void unpack(int8_t *to, const struct kind kind, const uint8_t *chunk, int groups)
{
    const __m512i low = _mm512_set1_epi8(15), top = _mm512_set1_epi8((char)0x80);
    const __m512i zero = _mm512_set1_epi8((char)kind.zero);
    __m512i table = zero;

    if (code_of(kind) == TABLE)
        table = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)kind.table));
    for (int g = 0; g < groups; g++) {
        const uint8_t *line = chunk + kind.header + (g & 1) * group_bytes(kind);
        for (int i = 0; i < 8; i++, to += 64) {
            __m512i w = _mm512_loadu_si512((const void *)(line + 64 * (code_of(kind) == BYTE ? i : i / 2)));
            if (code_of(kind) != BYTE)
                w = _mm512_and_si512(i % 2 ? _mm512_srli_epi16(w, 4) : w, low);
            if (code_of(kind) == TABLE)
                w = _mm512_shuffle_epi8(table, w);
            else
                w = code_of(kind) == BYTE ? _mm512_xor_si512(w, top) : _mm512_sub_epi8(w, zero);
            _mm512_storeu_si512((void *)to, w);
        }
        chunk += g % 2 ? chunk_bytes(kind) : 0;
    }
}

/* A block of 16 tokens: bytes [group][16][32], and scales and sums of both blocks of CT_LANES,
 * [group][CT_LANES]. */
struct block {
    const int8_t *q;
    const float *scale[2];
    const int32_t *sum[2];
};

/* acc[t] += group g of the part, whose sums have left their tile. */
INLINE void panel_group_amx(__m512 *acc, const struct kind kind, const int32_t *sums, const uint8_t *part,
                            const struct block *x, int g)
{
    const uint8_t *scale = part + (size_t)(g / 2) * (size_t)chunk_bytes(kind) + 32 * (g & 1);
    const __m512 ws = halves(scale), minimum = kind.factor == OWN_PAIR ? halves(scale + 64) : ws;

    UNROLL for (int half = 0; half < 2; half++)
    {
        const float *xs = x->scale[half] + (size_t)g * CT_LANES;
        const int32_t *xsum = x->sum[half] + (size_t)g * CT_LANES,
                      *sum = sums + half * CT_LANES * CT_PANEL_ROWS;
        UNROLL for (int t = 0; t < CT_LANES; t++)
        {
            __m512 v = _mm512_castsi512_ps(_mm512_loadu_si512((const void *)(sum + CT_PANEL_ROWS * t)));
            __m512 to = acc[half * CT_LANES + t];
            v = _mm512_sub_ps(v, _mm512_set1_ps(12582912.0f));
            to = _mm512_fmadd_ps(v, _mm512_mul_ps(ws, _mm512_set1_ps(xs[t])), to);
            if (kind.factor == OWN_PAIR)
                to = _mm512_fmadd_ps(minimum, _mm512_set1_ps(xs[t] * (float)xsum[t]), to);
            acc[half * CT_LANES + t] = to;
        }
    }
}

/* acc[16][16] += the groups of a part. While group g is multiplied, the one before is stored and the one
 * before that is scaled: a store that follows its product waits for it. */
INLINE void run(float *acc, const struct kind kind, const int8_t *weights, const uint8_t *part,
                const struct block *x, int groups)
{
    _Alignas(64) int32_t sums[2][TOKENS * CT_PANEL_ROWS];
    __m512 a[TOKENS];

    UNROLL for (int t = 0; t < TOKENS; t++) a[t] = _mm512_loadu_ps(acc + CT_PANEL_ROWS * t);
#define STEP(g, c, tokens, lines, d)                                                                         \
    if ((g) < groups) {                                                                                      \
        CT_TILE_LOAD(c, start, 0);                                                                           \
        CT_TILE_LOAD(tokens, x->q + 512 * (g), 32);                                                          \
        CT_TILE_LOAD(lines, weights + 512 * (g), 64);                                                        \
        CT_TILE_DOT_BYTES(c, tokens, lines);                                                                 \
    }                                                                                                        \
    if ((g) >= 1 && (g) <= groups)                                                                           \
        CT_TILE_STORE(d, sums[d], 64);                                                                       \
    if ((g) >= 2 && (g) <= groups + 1)                                                                       \
        panel_group_amx(a, kind, sums[c], part, x, (g)-2);
    for (int g = 0; g < groups + 2; g += 2) {
        STEP(g, 0, 2, 4, 1)
        STEP(g + 1, 1, 3, 5, 0)
    }
#undef STEP
    UNROLL for (int t = 0; t < TOKENS; t++) _mm512_storeu_ps(acc + CT_PANEL_ROWS * t, a[t]);
}

static const struct ct_tile_config of_bytes = {
    .palette = 1, .row_bytes = {64, 64, 32, 32, 64, 64}, .rows = {16, 16, 16, 16, 8, 8}};

INLINE void panel_of_bytes(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0,
                           int rows, const struct ct_prepared *p, int t0, int t1)
{
    _Alignas(64) int8_t weights[PART * CT_PANEL_ROWS];
    _Alignas(64) float acc[MANY / TOKENS][TOKENS * CT_PANEL_ROWS];
    const size_t cols = (size_t)p->cols, all = cols / CT_GROUP;
    const uint8_t *part = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;

    memset(acc, 0, sizeof acc);
    for (size_t g0 = 0; g0 < all; g0 += GROUPS, part += GROUPS / 2 * chunk_bytes(kind)) {
        int groups = (int)CT_MIN(all - g0, (size_t)GROUPS);
        unpack(weights, kind, part, groups);
        for (int t = t0; t < t1; t += TOKENS) {
            size_t low = (size_t)t * all + g0 * CT_LANES, high = low + all * CT_LANES;
            struct block x = {(const int8_t *)p->tile + (size_t)t * cols + g0 * CT_GROUP * TOKENS,
                              {p->scale + low, p->scale + high},
                              {p->sum + low, p->sum + high}};
            run(acc[(t - t0) / TOKENS], kind, weights, part, &x, groups);
        }
    }
    for (int t = t0; t < t1; t += TOKENS)
        store_tile_amx(out + (size_t)t * ldo + r0, ldo, acc[(t - t0) / TOKENS], rows, w->scale);
}

INLINE void CT_NAME(integers)(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w,
                              int r0, int r1, const struct ct_prepared *p, float *scratch,
                              const struct ct_panels_next *next)
{
    const int n = p->tile ? tiled(p) : 0;
    const size_t groups = (size_t)n * (size_t)(p->cols / CT_GROUP);

    if (n > 0) {
        CT_TILE_CONFIG(&of_bytes);
        for (int t = 0; t < n; t += MANY)
            for (int r = r0; r < r1; r += CT_PANEL_ROWS)
                panel_of_bytes(out, ldo, kind, w, r, CT_MIN(CT_PANEL_ROWS, r1 - r), p, t,
                               CT_MIN(t + MANY, n));
        CT_TILE_RELEASE();
    }
    if (n < p->n) {
        struct ct_prepared rest = {.n = p->n - n,
                                   .cols = p->cols,
                                   .q = p->q + (size_t)n * (size_t)p->cols,
                                   .scale = p->scale + groups,
                                   .sum = p->sum + groups};
        BELOW(out + (size_t)n * ldo, ldo, w, r0, r1, &rest, CT_INPUT_LANES, scratch, next);
    }
}

/* ---- bf16: tiles are the sums, from the first k to the last ---- */

static const struct ct_tile_config of_bf16 = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 64, 64, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

/* Two blocks of tokens and two panels, or one of either. */
INLINE void bf16_tile_amx(float *out, size_t ldo, const uint8_t *w, size_t apart, const uint8_t *x,
                          size_t block, int chunks, int rows, float scale, const bool panels,
                          const bool blocks)
{
    _Alignas(64) float sums[4][TOKENS * CT_PANEL_ROWS];

    CT_TILE_ZERO(0);
    CT_TILE_ZERO(1);
    CT_TILE_ZERO(2);
    CT_TILE_ZERO(3);
    for (int c = 0; c < chunks; c++, w += 1024, x += 1024) {
        CT_TILE_LOAD(4, x, 64);
        CT_TILE_LOAD(6, w, 64);
        CT_TILE_DOT_BF16(0, 4, 6);
        if (panels) {
            CT_TILE_LOAD(7, w + apart, 64);
            CT_TILE_DOT_BF16(1, 4, 7);
        }
        if (blocks) {
            CT_TILE_LOAD(5, x + block, 64);
            CT_TILE_DOT_BF16(2, 5, 6);
        }
        if (panels && blocks)
            CT_TILE_DOT_BF16(3, 5, 7);
    }
    CT_TILE_STORE(0, sums[0], 64);
    CT_TILE_STORE(1, sums[1], 64);
    CT_TILE_STORE(2, sums[2], 64);
    CT_TILE_STORE(3, sums[3], 64);
    for (int b = 0; b < 1 + blocks; b++)
        for (int j = 0; j < 1 + panels; j++)
            store_tile_amx(out + (size_t)(b * TOKENS) * ldo + CT_PANEL_ROWS * j, ldo, sums[2 * b + j], rows,
                           scale);
}

static void project_bf16(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                         const struct ct_prepared *p, int t0, int t1)
{
    const int padded = ct_pad_group(p->cols), chunks = padded / CT_GROUP;
    const size_t block = 4 * TOKENS * (size_t)padded; /* bytes: as many as the floats that would lie here */

    for (int r = r0; r < r1; r += 2 * CT_PANEL_ROWS) {
        const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r / CT_PANEL_ROWS) * w->row_bytes;
        for (int t = t0; t < t1; t += 2 * TOKENS) {
            const uint8_t *x = (const uint8_t *)p->value + (size_t)(t / TOKENS) * block;
            float *to = out + (size_t)t * ldo + r;
            const bool blocks = t + TOKENS < t1;
            if (r1 - r >= 2 * CT_PANEL_ROWS)
                bf16_tile_amx(to, ldo, panel, w->row_bytes, x, block, chunks, CT_PANEL_ROWS, w->scale, true,
                              blocks);
            else
                for (int at = r; at < r1; at += CT_PANEL_ROWS)
                    bf16_tile_amx(to + at - r, ldo, panel + (size_t)((at - r) / CT_PANEL_ROWS) * w->row_bytes,
                                  0, x, block, chunks, CT_MIN(CT_PANEL_ROWS, r1 - at), w->scale, false,
                                  blocks);
        }
    }
}

INLINE void CT_NAME(floats)(float *out, size_t ldo, const enum ct_type type, const struct ct_weight *w,
                            int r0, int r1, const struct ct_prepared *p, enum ct_input form)
{
    const int n = type == CT_BF16 && form == CT_INPUT_BF16_LANES ? tiled(p) : 0;

    if (n > 0) {
        CT_TILE_CONFIG(&of_bf16);
        for (int t = 0; t < n; t += MANY)
            project_bf16(out, ldo, w, r0, r1, p, t, CT_MIN(t + MANY, n));
        CT_TILE_RELEASE();
    }
    if (n < p->n) {
        struct ct_prepared rest = {
            .n = p->n - n, .cols = p->cols, .value = p->value + (size_t)n * (size_t)ct_pad_group(p->cols)};
        BELOW(out + (size_t)n * ldo, ldo, w, r0, r1, &rest, form, NULL, NULL);
    }
}

/* ---- inputs: tokens of whole tiles in rows ---- */

/* Bytes as for the levels below, and again [group][16 tokens][32]. */
void CT_NAME(ct_panels_prepare)(struct ct_prepared *p, const float *x, size_t ldx, int t0, int t1)
{
    const size_t cols = (size_t)p->cols;

    ct_panels_prepare_avx2(p, x, ldx, t0, t1);
    for (int t = t0; p->tile && t < CT_MIN(t1, tiled(p)); t++)
        for (size_t k = 0; k < cols; k += CT_GROUP) {
            const int8_t *from =
                p->q + (size_t)(t / CT_LANES * CT_LANES) * cols + k * CT_LANES + 4 * (t % CT_LANES);
            int8_t *to = (int8_t *)p->tile + (size_t)(t / TOKENS * TOKENS) * cols + k * TOKENS +
                         CT_GROUP * (t % TOKENS);
            for (int i = 0; i < CT_GROUP; i += 4)
                memcpy(to + i, from + i * CT_LANES, 4);
        }
}

/* Two-byte values [chunk][16 tokens][32] where floats would lie; the tokens left over as those. */
static void prepare_bf16(struct ct_prepared *p, const float *x, size_t ldx, int t0, int t1)
{
    ct_assert_prepare(p, x, ldx, t0, t1);
    const int n = tiled(p), padded = ct_pad_group(p->cols);

    for (int t = t0; t < CT_MIN(t1, n); t++) {
        const float *in = x + (size_t)t * ldx;
        uint16_t *block = (uint16_t *)(void *)(p->value + (size_t)(t / TOKENS * TOKENS) * (size_t)padded);
        for (int k = 0; k < padded; k += CT_GROUP) {
            uint16_t *to = block + k * TOKENS + CT_GROUP * (t % TOKENS);
            int have = CT_MIN(CT_GROUP, p->cols - k);
            for (int i = 0; i < have; i++)
                to[i] = (uint16_t)(ct_f32_bits(ct_bf16_round(in[k + i])) >> 16);
            for (int i = have; i < CT_GROUP; i++)
                to[i] = 0;
        }
    }
    if (t1 > n && n < p->n) {
        struct ct_prepared rest = {
            .n = p->n - n, .cols = p->cols, .value = p->value + (size_t)n * (size_t)padded};
        ct_prepare_input_avx2(&rest, CT_INPUT_BF16, x + (size_t)n * ldx, ldx, CT_MAX(t0 - n, 0), t1 - n);
    }
}

static void prepare_input(struct ct_prepared *p, enum ct_input form, const float *x, size_t ldx, int t0,
                          int t1)
{
    if (form == CT_INPUT_BF16_LANES)
        prepare_bf16(p, x, ldx, t0, t1);
    else
        ct_prepare_input_avx2(p, form, x, ldx, t0, t1);
}

void CT_NAME(ct_panels_init)(struct ct_kernel *k)
{
    k->tiles = true;
    k->prepare_input = prepare_input;
    k->prepare_lanes = CT_NAME(ct_panels_prepare);
    k->project_panels = CT_NAME(ct_panels_project);
}
