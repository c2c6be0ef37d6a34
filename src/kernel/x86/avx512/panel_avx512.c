/* SPDX-License-Identifier: Apache-2.0 */
/* panel_avx512.c: products over panels for 512-bit vectors, a line to a vector: one token (bound by memory)
 * and tiles of up to 12 tokens (bound by arithmetic). Compiled for AVX-512 without byte dots and again with
 * them (CT_DOT_VNNI). Lanes are rows, so every sum is the chain that NUMERICS.md sections 3 to 5 ask for.
 * Inputs are those of panel_avx2.c. */
#include "kernel/sizes.h"
#include "kernel/x86/avx512/simd_avx512.h"

#include "kernel/x86/project_panels.h"

/* `panels` panels at once, `apart` bytes from one to the next: as many streams from memory. How many of them
 * and of tokens fit the 32 registers: panels * T <= 16 sums in flight. Tokens are taken by fours, which lie
 * side by side (struct tokens). */
enum { MOST = 16, FOUR = 4 };

/* ---- memory ---- */

/* Panels side by side, read from or asked for. */
struct stream {
    const uint8_t *at; /* of the first panel */
    size_t apart;      /* bytes from a panel to the next */
};

INLINE struct stream stream_from(const struct ct_weight *w, int r0)
{
    return (struct stream){(const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes,
                           w->row_bytes};
}

/* Which lines panels ask memory for while they are read: those so many bytes further on, and near their end
 * the beginning of the panels that are read next. */
struct ahead {
    int distance;
    struct stream next; /* NULL: not known, so that nothing is asked for */
    bool asked;         /* the panels before these asked for their beginning; else they do it themselves */
};

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
enum { TABLE_ZERO = 128, WIDE = 12 };

INLINE void dot_avx512(__m512i *sum, const struct kind kind, const __m512i *w, const int panels,
                       const struct tokens *x, size_t at, const int T)
{
    (void)kind;
    UNROLL for (int t = 0; t < T; t++)
    {
        __m512i v = same(x[t / FOUR].q + at + 4 * (t % FOUR));
        UNROLL for (int j = 0; j < panels; j++) sum[j * T + t] = _mm512_dpbusd_epi32(sum[j * T + t], w[j], v);
    }
}
#else
enum { TABLE_ZERO = 0, WIDE = 0 };

INLINE void dot_avx512(__m512i *sum, const struct kind kind, const __m512i *w, const int panels,
                       const struct tokens *x, size_t at, const int T)
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
        __m512i v = same(x[t / FOUR].q + at + 4 * (t % FOUR));
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
    return _mm512_xor_si512(sixteen(kind.table), _mm512_set1_epi8((char)TABLE_ZERO));
}

/* acc[panel][t] += group g of each panel's chunk, of which there are one or two; it is group x_group of the
 * input. */
INLINE void panel_group_avx512(__m512 *acc, const struct kind kind, const uint8_t *chunk, size_t apart,
                               const int g, const struct tokens *x, size_t x_group, const int panels,
                               const int lanes, const int T, const bool asks, struct stream ask,
                               __m512i table)
{
    const size_t x_at = x_group * CT_GROUP * (size_t)lanes, x_one = x_group * (size_t)lanes;
    const __m512i low = _mm512_set1_epi8(15);
    const int lines = kind.header + g * group_bytes(kind);
    __m512i sum[MOST];

    UNROLL for (int t = 0; t < T; t++)
    {
        __m512i start = _mm512_set1_epi32(bias(kind) * x[t / FOUR].sum[x_one + t % FOUR]);
        UNROLL for (int j = 0; j < panels; j++) sum[j * T + t] = start;
    }
    const int each = code_of(kind) == BYTE ? 1 : 2; /* words of 4 k in a byte line */
    __m512i raw[MOST] = {0}, w[MOST];
    UNROLL for (int i = 0; i < 8; i++) /* 4 k of all panels, so that they share what is broadcast of x */
    {
        UNROLL for (int j = 0; j < panels; j++)
        {
            const int at = lines + 64 * (i / each);
            if (i % each == 0) {
                raw[j] = ivec_load(chunk + at + (size_t)j * apart);
                if (asks)
                    fetch(ask.at + at + (size_t)j * ask.apart);
            }
            w[j] = raw[j];
            if (code_of(kind) != BYTE)
                w[j] = _mm512_and_si512(i % 2 ? _mm512_srli_epi16(w[j], 4) : w[j], low);
            if (code_of(kind) == TABLE)
                w[j] = _mm512_shuffle_epi8(table, w[j]);
            PIN(w[j]);
        }
        dot_avx512(sum, kind, w, panels, x, x_at + (size_t)(4 * i * lanes), T);
    }
    UNROLL for (int j = 0; j < panels; j++)
    {
        const uint8_t *scale = chunk + (size_t)j * apart + 32 * g;
        __m512 ws = halves(scale), minimum = kind.factor == OWN_PAIR ? halves(scale + 64) : ws;
        UNROLL for (int t = 0; t < T; t++)
        {
            const float x_scale = x[t / FOUR].scale[x_one + t % FOUR];
            __m512 s = _mm512_mul_ps(ws, _mm512_set1_ps(x_scale)), a = acc[j * T + t];
            a = _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum[j * T + t]), s, a);
            if (kind.factor == OWN_PAIR)
                a = _mm512_fmadd_ps(minimum,
                                    _mm512_set1_ps(x_scale * (float)x[t / FOUR].sum[x_one + t % FOUR]), a);
            acc[j * T + t] = a;
        }
    }
}

INLINE void panel_tile_avx512(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w,
                              const uint8_t *chunk, int rows, const struct tokens *x, const int panels,
                              const int lanes, const int T, int tokens, const bool asks, struct ahead ahead)
{
    const __m512i table = codes(kind);
    const int groups = w->cols / CT_GROUP, chunks = (groups + 1) / 2, bytes = chunk_bytes(kind);
    const int d = CT_MIN(chunks, (ahead.distance + bytes / 2) / bytes);
    __m512 acc[MOST];
    size_t g = 0;

    for (int b = 0; asks && !ahead.asked && b < d * bytes; b += 64)
        UNROLL for (int j = 0; j < panels; j++) fetch(chunk + (size_t)j * w->row_bytes + b);
    UNROLL for (int i = 0; i < panels * T; i++) acc[i] = _mm512_setzero_ps();
    for (int c = 0; c < chunks; c++, chunk += bytes) {
        struct stream ask = {chunk + d * bytes, w->row_bytes};
        if (c + d >= chunks) /* in the next group, if it is known; else what is here already */
            ask = ahead.next.at ? (struct stream){ahead.next.at + (c + d - chunks) * bytes, ahead.next.apart}
                                : (struct stream){chunk, w->row_bytes};
        if (asks)
            UNROLL for (int j = 0; j < panels; j++) fetch(ask.at + (size_t)j * ask.apart);
        panel_group_avx512(acc, kind, chunk, w->row_bytes, 0, x, g++, panels, lanes, T, asks, ask, table);
        if (2 * c + 1 == groups)
            break;
        panel_group_avx512(acc, kind, chunk, w->row_bytes, 1, x, g++, panels, lanes, T, asks, ask, table);
    }
    UNROLL for (int j = 0; j < panels; j++)
        store_tile_avx512(out + j * CT_PANEL_ROWS, ldo, acc + j * T, T, rows, tokens, w->scale);
}

/* Four tokens from t on, a multiple of four; t is 0 where there is one. */
INLINE struct tokens four_from(const struct ct_prepared *p, int t)
{
    const size_t lane = (size_t)(t % CT_LANES), block = (size_t)t - lane;
    const size_t cols = (size_t)p->cols, groups = cols / CT_GROUP;

    return (struct tokens){p->q + block * cols + 4 * lane, p->scale + block * groups + lane,
                           p->sum + block * groups + lane, NULL};
}

/* Panels that n tokens read side by side where so many rows are left; one token `most`, if they are short. */
INLINE int panels_at_once(const struct ct_weight *w, int n, int rows, const int most)
{
    const int fit = rows / CT_PANEL_ROWS, streams = w->row_bytes > CT_SIZE(long_panel) ? 4 : most;

    if (n == 1)
        return fit >= streams ? streams : fit >= 4 && most > 1 ? 4 : 1;
    return n <= 4 && fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
}

/* The stream that `panels` panels from row r0 on ask for: the next as many, in this call or after it. */
INLINE struct stream next_stream(const struct ct_weight *w, int r0, int r1, int n, int panels, const int most,
                                 const struct ct_panels_next *next)
{
    int then = r0 + panels * CT_PANEL_ROWS;

    if (then >= r1 && next) {
        w = next->w;
        then = next->r0;
        r1 = next->r1;
    }
    if (then >= r1 || (panels > 1 && panels_at_once(w, n, r1 - then, most) != panels))
        return (struct stream){NULL, 0};
    return stream_from(w, then);
}

/* One token and `most` panels side by side. */
INLINE void column(float *out, const struct kind kind, const struct ct_weight *w, int r0, int r1,
                   const struct ct_prepared *p, const struct ct_panels_next *next, const int most)
{
    const struct tokens x = four_from(p, 0);
    struct ahead ahead = {.asked = false};

    for (int panels; r0 < r1; r0 += panels * CT_PANEL_ROWS) {
        panels = panels_at_once(w, 1, r1 - r0, most);
        ahead.next = next_stream(w, r0, r1, 1, panels, most, next);
        ahead.distance = panels == 4 && w->row_bytes <= CT_SIZE(long_panel) ? 2048 : 1024;
#define COLUMN(panels)                                                                                       \
    panel_tile_avx512(out + r0, 0, kind, w, stream_from(w, r0).at, CT_MIN(CT_PANEL_ROWS, r1 - r0), &x,       \
                      panels, 1, 1, 1, true, ahead)
        if (most == 8 && panels == 8)
            COLUMN(8);
        else if (panels == 4)
            COLUMN(4);
        else
            COLUMN(1);
#undef COLUMN
        ahead.asked = ahead.next.at != NULL;
    }
}

INLINE void CT_NAME(integers)(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w,
                              int r0, int r1, const struct ct_prepared *p, float *scratch,
                              const struct ct_panels_next *next)
{
    const int n = p->n, most = CT_SIZE(integers);
    /* Many tokens of nibbles are taken by twelve, so that fewer are unpacked, and one panel after another. */
    const bool wide = WIDE > 0 && code_of(kind) != BYTE && n > WIDE;
    struct ahead ahead = {.distance = 2048, .asked = false};

    (void)scratch;
    if (n == 1) {
        column(out, kind, w, r0, r1, p, next, most);
        return;
    }
    for (int panels; r0 < r1; r0 += panels * CT_PANEL_ROWS) {
        const uint8_t *panel = stream_from(w, r0).at;
        const int rows = CT_MIN(CT_PANEL_ROWS, r1 - r0), step = wide ? WIDE : CT_LANES;

        panels = wide ? 1 : panels_at_once(w, n, r1 - r0, most);
        ahead.next = next_stream(w, r0, r1, n, panels, most, next);
        for (int t = 0; t < n; t += step) {
            const struct tokens x[] = {four_from(p, t), four_from(p, t + FOUR), four_from(p, t + 2 * FOUR)};
            const int tokens = CT_MIN(step, n - t);
/* Lanes that no token has may be computed, and are dropped. */
#define TILE(side, T)                                                                                        \
    panel_tile_avx512(out + (size_t)t * ldo + r0, ldo, kind, w, panel, rows, x, side, CT_LANES, T, tokens,   \
                      t == 0, ahead)
            if (panels == 4 && tokens > 2)
                TILE(4, 4);
            else if (panels == 4)
                TILE(4, 2);
            else if (panels == 2 && tokens > 4)
                TILE(2, 8);
            else if (panels == 2 && tokens > 2)
                TILE(2, 4);
            else if (panels == 2)
                TILE(2, 2);
            else if (wide && tokens > 8)
                TILE(1, 12);
            else if (tokens > 4)
                TILE(1, 8);
            else if (tokens > 2)
                TILE(1, 4);
            else
                TILE(1, 2);
#undef TILE
        }
        ahead.asked = ahead.next.at != NULL;
    }
}

/* For processors whose memory delivers one stream best. */
static void project_one_stream(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                               const struct ct_prepared *x, enum ct_input form, float *scratch,
                               const struct ct_panels_next *next)
{
    ct_assert_project(out, ldo, w, r0, r1, x, form);
    switch (x->n == 1 ? w->type : CT_TYPE_COUNT) {
#define KIND(type, ...)                                                                                      \
    case type:                                                                                               \
        column(out, (struct kind){__VA_ARGS__}, w, r0, r1, x, next, 1);                                      \
        break;
        CT_KINDS_OF_LINES(KIND)
#undef KIND
    default:
        CT_NAME(ct_panels_project)(out, ldo, w, r0, r1, x, form, scratch, next);
    }
}

void CT_NAME(ct_panels_init)(struct ct_kernel *k)
{
    k->project_panels = CT_NAME(ct_panels_project);
}

void CT_NAME(ct_panels_init_one_stream)(struct ct_kernel *k)
{
    k->project_panels = project_one_stream;
}
