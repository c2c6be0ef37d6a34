/* SPDX-License-Identifier: Apache-2.0 */
/* panel_avx512.c: products over panels for 512-bit vectors, a line to a vector: one token (bound by memory)
 * and tiles of up to 8 tokens (bound by arithmetic). Compiled for AVX-512 without byte dots and again with
 * them (CT_DOT_VNNI). Lanes are rows, so every sum is the chain that NUMERICS.md sections 3 to 5 ask for.
 * Inputs are those of panel_avx2.c. */
#include "kernel/sizes.h"
#include "kernel/x86/avx512/simd_avx512.h"

#include "kernel/x86/project_panels.h"

/* `panels` panels at once, `apart` bytes from one to the next: as many streams from memory. How many of them
 * and of tokens fit the 32 registers: panels * T <= 16 sums in flight. */
enum { MOST = 16 };

INLINE void store_tile_avx512(float *out, size_t ldo, const __m512 *acc, const int T, int rows, int tokens,
                              float scale)
{
    UNROLL for (int t = 0; t < T; t++) if (t < tokens)
        store_rows(out + (size_t)t * ldo, acc + t, rows, scale);
}

/* ---- integers ---- */

/* Byte products want one side unsigned. VNNI: the code as it is, and sums begin at -zero times the sum of x.
 * Else: the nibbles as they are, and |w| beside x with the sign of w: |w| is at most 128 and |x| at most 127,
 * so two products fit 16 bits: 2 * 128 * 127 = 32512. */
#ifdef CT_DOT_VNNI
enum { TABLE_ZERO = 128 };

INLINE void dot_avx512(__m512i *sum, const struct kind kind, const __m512i *w, const int panels,
                       const int8_t *x, const int T)
{
    (void)kind;
    UNROLL for (int t = 0; t < T; t++)
    {
        __m512i v = same(x + 4 * t);
        UNROLL for (int j = 0; j < panels; j++) sum[j * T + t] = _mm512_dpbusd_epi32(sum[j * T + t], w[j], v);
    }
}
#else
enum { TABLE_ZERO = 0 };

INLINE void dot_avx512(__m512i *sum, const struct kind kind, const __m512i *w, const int panels,
                       const int8_t *x, const int T)
{
    const __m512i one = _mm512_set1_epi16(1), top = _mm512_set1_epi8((char)0x80);
    __m512i magnitude[MOST];
    __mmask64 negative[MOST];

    UNROLL for (int j = 0; j < panels; j++)
    {
        __m512i value = code_of(kind) == BYTE ? _mm512_xor_si512(w[j], top) : w[j];
        negative[j] = _mm512_movepi8_mask(value);
        magnitude[j] = code_of(kind) == NIBBLE ? value : _mm512_abs_epi8(value);
    }
    UNROLL for (int t = 0; t < T; t++)
    {
        __m512i v = same(x + 4 * t);
        UNROLL for (int j = 0; j < panels; j++)
        {
            __m512i u =
                code_of(kind) == NIBBLE ? v : _mm512_mask_sub_epi8(v, negative[j], _mm512_setzero_si512(), v);
            u = _mm512_madd_epi16(_mm512_maddubs_epi16(magnitude[j], u), one);
            sum[j * T + t] = _mm512_add_epi32(sum[j * T + t], u);
            PIN(sum[j * T + t]);
        }
    }
}
#endif

/* What the sums of a kind begin at, per unit of the sum of x. */
INLINE int bias(const struct kind kind)
{
#ifndef CT_DOT_VNNI
    if (code_of(kind) == BYTE)
        return 0;
#endif
    return code_of(kind) == TABLE ? -TABLE_ZERO : -kind.zero;
}

/* The table as codes, in every 16 bytes. */
INLINE __m512i codes(const struct kind kind)
{
    if (code_of(kind) != TABLE)
        return _mm512_setzero_si512();
    __m512i t = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)(const void *)kind.table));
    return _mm512_xor_si512(t, _mm512_set1_epi8((char)TABLE_ZERO));
}

/* acc[panel][t] += group g of each panel; chunk is the one of the first panel that the group is in. */
INLINE void panel_group_avx512(__m512 *acc, const struct kind kind, const uint8_t *chunk, size_t apart, int g,
                               const struct tokens *x, const int panels, const int lanes, const int T,
                               const bool ahead, __m512i table)
{
    const __m512i low = _mm512_set1_epi8(15);
    const uint8_t *line = chunk + kind.header + (g & 1) * group_bytes(kind);
    const int8_t *q = x->q + (size_t)g * CT_GROUP * (size_t)lanes;
    const float *xs = x->scale + (size_t)g * (size_t)lanes;
    const int32_t *xsum = x->sum + (size_t)g * (size_t)lanes;
    __m512i sum[MOST];

    UNROLL for (int t = 0; t < T; t++)
    {
        __m512i start = _mm512_set1_epi32(bias(kind) * xsum[t]);
        UNROLL for (int j = 0; j < panels; j++) sum[j * T + t] = start;
    }
    const int each = code_of(kind) == BYTE ? 1 : 2; /* words of 4 k in a byte line */
    __m512i raw[MOST], w[MOST];
    UNROLL for (int i = 0; i < 8; i++) /* 4 k of all panels, so that they share what is broadcast of x */
    {
        UNROLL for (int j = 0; j < panels; j++)
        {
            const uint8_t *at = line + 64 * (i / each) + (size_t)j * apart;
            if (i % each == 0) {
                raw[j] = ivec_load(at);
                if (ahead)
                    fetch(at + AHEAD);
            }
            w[j] = raw[j];
            if (code_of(kind) != BYTE)
                w[j] = _mm512_and_si512(i % 2 ? _mm512_srli_epi16(w[j], 4) : w[j], low);
            if (code_of(kind) == TABLE)
                w[j] = _mm512_shuffle_epi8(table, w[j]);
            PIN(w[j]);
        }
        dot_avx512(sum, kind, w, panels, q + 4 * i * lanes, T);
    }
    UNROLL for (int j = 0; j < panels; j++)
    {
        const uint8_t *scale = chunk + (size_t)j * apart + 32 * (g & 1);
        __m512 ws = halves(scale), minimum = kind.factor == OWN_PAIR ? halves(scale + 64) : ws;
        UNROLL for (int t = 0; t < T; t++)
        {
            __m512 s = _mm512_mul_ps(ws, _mm512_set1_ps(xs[t])), a = acc[j * T + t];
            a = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[j * T + t]), s, a);
            if (kind.factor == OWN_PAIR)
                a = _mm512_fmadd_ps(minimum, _mm512_set1_ps(xs[t] * (float)xsum[t]), a);
            acc[j * T + t] = a;
        }
    }
}

INLINE void panel_tile_avx512(float *out, size_t ldo, const struct kind kind, const uint8_t *chunk,
                              size_t apart, int rows, const struct tokens *x, int groups, const int panels,
                              const int lanes, const int T, int tokens, const bool ahead, float scale)
{
    const __m512i table = codes(kind);
    __m512 acc[MOST];

    UNROLL for (int i = 0; i < panels * T; i++) acc[i] = _mm512_setzero_ps();
    for (int g = 0; g < groups; g++) {
        if (ahead && g % 2 == 0)
            UNROLL for (int j = 0; j < panels; j++) fetch(chunk + (size_t)j * apart + AHEAD);
        panel_group_avx512(acc, kind, chunk, apart, g, x, panels, lanes, T, ahead, table);
        chunk += g % 2 ? chunk_bytes(kind) : 0;
    }
    UNROLL for (int j = 0; j < panels; j++)
        store_tile_avx512(out + j * CT_PANEL_ROWS, ldo, acc + j * T, T, rows, tokens, scale);
}

/* One block of tokens over `panels` panels; lanes that no token has may be computed, and are dropped. */
INLINE void block(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0, int rows,
                  const struct tokens *x, int groups, const int panels, const int lanes, int tokens,
                  const bool ahead)
{
    const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;

#define TILE(T)                                                                                              \
    panel_tile_avx512(out, ldo, kind, panel, w->row_bytes, rows, x, groups, panels, lanes, T, tokens, ahead, \
                      w->scale)
    if (lanes == 1)
        TILE(1);
    else if (tokens > 4 && panels < 4)
        TILE(8);
    else if (tokens > 2)
        TILE(4);
    else
        TILE(2);
#undef TILE
}

INLINE void CT_NAME(integers)(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w,
                              int r0, int r1, const struct ct_prepared *p, float *scratch,
                              const struct ct_panels_next *next)
{
    const int groups = p->cols / CT_GROUP, n = p->n;

    (void)scratch;
    (void)next;
    while (r0 < r1) {
        int fit = (r1 - r0) / CT_PANEL_ROWS, rows = CT_MIN(CT_PANEL_ROWS, r1 - r0), panels = 1;
        for (int t = 0; t < n; t += CT_LANES) {
            size_t k = (size_t)t * (size_t)p->cols, g = (size_t)t * (size_t)groups;
            struct tokens x = {p->q + k, p->scale + g, p->sum + g, NULL};
            float *to = out + (size_t)t * ldo + r0;
            int tokens = CT_MIN(CT_LANES, n - t);
#define BLOCK(most, lanes) block(to, ldo, kind, w, r0, rows, &x, groups, panels = most, lanes, tokens, t == 0)
            if (n == 1 && fit >= CT_SIZE(integers))
                BLOCK(CT_SIZE(integers), 1);
            else if (n == 1)
                BLOCK(1, 1);
            else if (n <= 4 && fit >= 4)
                BLOCK(4, CT_LANES);
            else if (fit >= 2)
                BLOCK(2, CT_LANES);
            else
                BLOCK(1, CT_LANES);
#undef BLOCK
        }
        r0 += panels * CT_PANEL_ROWS;
    }
}

/* ---- floats: two chains a group (sections 3 and 5) ---- */

/* Weights of a panel for k = 2i (odd = false) or 2i + 1 of a chunk. */
INLINE __m512 float_weights_avx512(const enum ct_type type, const uint8_t *lines, int i, const bool odd)
{
    if (type == CT_F32)
        return _mm512_loadu_ps((const void *)(lines + 128 * i + 64 * odd));
    __m512i both = ivec_load(lines + 64 * i);
    if (type == CT_BF16)
        return _mm512_castsi512_ps(odd ? _mm512_and_si512(both, _mm512_set1_epi32((int32_t)0xffff0000))
                                       : _mm512_slli_epi32(both, 16));
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(odd ? _mm512_srli_epi32(both, 16) : both));
}

/* acc[panel][t] += a chunk of 32 k; x[k][stride]. One chain after the other: sixteen sums at a time fit the
 * registers, and the second time the lines come from the nearest cache. */
INLINE void add_floats(__m512 *acc, const enum ct_type type, const uint8_t *lines, size_t apart,
                       const float *x, const int panels, const int stride, const int T, const bool ahead)
{
    const int bytes = type == CT_F32 ? 128 : 64; /* of two k */
    __m512 chain[2][MOST];

    UNROLL for (int odd = 0; odd < 2; odd++)
    {
        UNROLL for (int i = 0; i < panels * T; i++) chain[odd][i] = _mm512_setzero_ps();
        _Pragma("GCC unroll 4") for (int i = 0; i < 16; i++)
        {
            const float *v = x + (2 * i + odd) * stride;
            UNROLL for (int j = 0; j < panels; j++)
            {
                const uint8_t *at = lines + (size_t)j * apart;
                __m512 w = float_weights_avx512(type, at, i, odd);
                if (ahead && (odd == 0 || type == CT_F32))
                    fetch(at + bytes * i + 64 * (odd && type == CT_F32) + AHEAD / 2);
                UNROLL for (int t = 0; t < T; t++) chain[odd][j * T + t] =
                    _mm512_fmadd_ps(w, _mm512_set1_ps(v[t]), chain[odd][j * T + t]);
            }
        }
    }
    UNROLL for (int i = 0; i < panels * T; i++) acc[i] =
        _mm512_add_ps(acc[i], _mm512_add_ps(chain[0][i], chain[1][i]));
}

INLINE void floats_tile(float *out, size_t ldo, const enum ct_type type, const struct ct_weight *w, int r0,
                        int rows, const float *x, const int panels, const int stride, const int T, int tokens,
                        const bool ahead)
{
    const int bytes = type == CT_F32 ? 2048 : 1024;
    const uint8_t *lines = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;
    __m512 acc[MOST];

    UNROLL for (int i = 0; i < panels * T; i++) acc[i] = _mm512_setzero_ps();
    for (int c = ct_pad_group(w->cols) / CT_GROUP; c > 0; c--, lines += bytes, x += CT_GROUP * stride)
        add_floats(acc, type, lines, w->row_bytes, x, panels, stride, T, ahead);
    UNROLL for (int j = 0; j < panels; j++)
        store_tile_avx512(out + j * CT_PANEL_ROWS, ldo, acc + j * T, T, rows, tokens, w->scale);
}

INLINE void CT_NAME(floats)(float *out, size_t ldo, const enum ct_type type, const struct ct_weight *w,
                            int r0, int r1, const struct ct_prepared *p, enum ct_input form)
{
    const int n = p->n;

    (void)form; /* F32 and BF16 lie alike */
    while (r0 < r1) {
        int fit = (r1 - r0) / CT_PANEL_ROWS, rows = CT_MIN(CT_PANEL_ROWS, r1 - r0), panels = 1;
        for (int t = 0; t < n; t += CT_LANES) {
            const float *x = p->value + (size_t)t * (size_t)ct_pad_group(p->cols);
            float *to = out + (size_t)t * ldo + r0;
            int tokens = CT_MIN(CT_LANES, n - t);
#define TILE(most, lanes, T)                                                                                 \
    floats_tile(to, ldo, type, w, r0, rows, x, panels = most, lanes, T, tokens, t == 0)
            if (n == 1 && fit >= CT_SIZE(floats))
                TILE(CT_SIZE(floats), 1, 1);
            else if (n == 1)
                TILE(1, 1, 1);
            else if (n <= 4 && fit >= 4)
                TILE(4, CT_LANES, 4);
            else if (fit >= 2)
                TILE(2, CT_LANES, 8);
            else
                TILE(1, CT_LANES, 8);
#undef TILE
        }
        r0 += panels * CT_PANEL_ROWS;
    }
}

void CT_NAME(ct_panels_init)(struct ct_kernel *k)
{
    k->project_panels = CT_NAME(ct_panels_project);
}
