/* SPDX-License-Identifier: Apache-2.0 */
/* panel_avx2.c: products over panels for 256-bit vectors: one token (bound by memory) and tiles of tokens
 * (bound by arithmetic). Compiled for AVX2 and again for AVX-VNNI, where a byte dot is one instruction
 * (CT_DOT_VNNI). Lanes are rows, so every sum is the chain that NUMERICS.md sections 3 to 5 ask for. Layout:
 * panel.h; everything else: ref*.c. */
#include "kernel/contract.h"
#include "kernel/sizes.h"
#include "kernel/x86/avx2/simd_avx2.h"

#include "kernel/x86/project_panels.h"

enum {
    INTEGERS_AT_ONCE = CT_SIZE(integers), /* panels of one token */
    TOKENS = 4,                           /* of a tile: more would not fit the registers */
    MANY = 16,                            /* tokens that pay for taking the factors of a panel beforehand */
    CACHED = CT_SIZE(cached),
};

/* ---- integers ---- */

/* What the sums of a group begin with and what its minimum is multiplied by, for every token: vectors that
 * are read back one value at a time. */
struct begin {
    int32_t sum[TOKENS];
    float minimum[TOKENS];
} __attribute__((aligned(16)));

/* 4 k of 16 rows as they are multiplied: codes or weights of both halves; where by_weight() says so, then
 * their magnitudes. */
struct factors {
    __m256i v[4];
};

#ifdef CT_DOT_VNNI

/* A byte product wants one side unsigned: the code as it is, and sums begin at -zero times the sum of x. */
INLINE bool by_weight(const struct kind kind)
{
    (void)kind;
    return false;
}

INLINE __m128i first_sum(const struct kind kind, __m128i xsum, __m128i pair)
{
    (void)pair;
    return _mm_mullo_epi32(xsum, _mm_set1_epi32(code_of(kind) == TABLE ? -128 : -kind.zero));
}

INLINE void dot_avx2(__m256i *low, __m256i *high, const struct kind kind, const struct factors *w,
                     const int8_t *x)
{
    __m256i v = same(x);
    (void)kind;
    *low = _mm256_dpbusd_avx_epi32(*low, w->v[0], v);
    *high = _mm256_dpbusd_avx_epi32(*high, w->v[1], v);
}

INLINE __m256 total(const struct kind kind, __m256i sum)
{
    (void)kind;
    return _mm256_cvtepi32_ps(sum);
}

#else

/* A byte product wants one side unsigned and adds two products in 16 bits. For nibbles that is the code, and
 * eight such sums fit. For others it is |w|, and x gets the sign of w: |w| is at most 128 and |x| at most
 * 127, 2 * 128 * 127 = 32512. */
INLINE bool by_weight(const struct kind kind)
{
    return code_of(kind) != NIBBLE;
}

/* -zero times the sums of both halves of x: together what the codes give too much. With it every sum of 16
 * bits is that of 16 products of at most (15 - 8) * 127, 8 * 127 or 15 * 127. */
INLINE __m128i first_sum(const struct kind kind, __m128i xsum, __m128i pair)
{
    (void)xsum;
    return by_weight(kind) ? _mm_setzero_si128() : _mm_mullo_epi16(pair, _mm_set1_epi16((short)-kind.zero));
}

/* In assembly, because compilers reorder integer additions, and then spill every product. */
INLINE void dot_avx2(__m256i *low, __m256i *high, const struct kind kind, const struct factors *w,
                     const int8_t *x)
{
    __m256i a, b;

    if (by_weight(kind))
        __asm__("vpbroadcastd %[x], %[a]\n\t"
                "vpsignb %[w1], %[a], %[b]\n\t"
                "vpsignb %[w0], %[a], %[a]\n\t"
                "vpmaddubsw %[a], %[m0], %[a]\n\t"
                "vpmaddubsw %[b], %[m1], %[b]\n\t"
                "vpmaddwd %[one], %[a], %[a]\n\t"
                "vpmaddwd %[one], %[b], %[b]\n\t"
                "vpaddd %[a], %[low], %[low]\n\t"
                "vpaddd %[b], %[high], %[high]"
                : [low] "+x"(*low), [high] "+x"(*high), [a] "=&x"(a), [b] "=&x"(b)
                : [x] "m"(*(const int8_t(*)[4])x), [w0] "x"(w->v[0]), [w1] "x"(w->v[1]), [m0] "x"(w->v[2]),
                  [m1] "x"(w->v[3]), [one] "x"(_mm256_set1_epi16(1)));
    else
        __asm__("vpbroadcastd %[x], %[a]\n\t"
                "vpmaddubsw %[a], %[w1], %[b]\n\t"
                "vpmaddubsw %[a], %[w0], %[a]\n\t"
                "vpaddw %[b], %[high], %[high]\n\t"
                "vpaddw %[a], %[low], %[low]"
                : [low] "+x"(*low), [high] "+x"(*high), [a] "=&x"(a), [b] "=&x"(b)
                : [x] "m"(*(const int8_t(*)[4])x), [w0] "x"(w->v[0]), [w1] "x"(w->v[1]));
}

INLINE __m256 total(const struct kind kind, __m256i sum)
{
    return _mm256_cvtepi32_ps(by_weight(kind) ? sum : _mm256_madd_epi16(sum, _mm256_set1_epi16(1)));
}

#endif

/* Makes factor i of 8 of a group from its stored lines. */
INLINE void take(struct factors *f, const struct kind kind, const uint8_t *line, int i, __m256i table)
{
    UNROLL for (int half = 0; half < 2; half++)
    {
        const uint8_t *at = line + 64 * (code_of(kind) == BYTE ? i : i / 2) + 32 * half;
        __m256i w = ivec_load(at);
        if (code_of(kind) != BYTE)
            w = _mm256_and_si256(i % 2 ? _mm256_srli_epi16(w, 4) : w, _mm256_set1_epi8(15));
        if (code_of(kind) == TABLE)
            w = _mm256_shuffle_epi8(table, w);
        if (code_of(kind) == BYTE && by_weight(kind))
            w = _mm256_xor_si256(w, _mm256_set1_epi8((char)0x80));
        f->v[half] = w;
        if (by_weight(kind))
            f->v[2 + half] = _mm256_abs_epi8(w);
    }
}

/* Bytes of the factors of a group, where they are kept for many tokens. */
INLINE int factor_bytes(const struct kind kind)
{
    return by_weight(kind) ? 8 * 128 : 8 * 64;
}

/* True when keeping factors pays: they are more than the stored bytes. */
INLINE bool pays(const struct kind kind)
{
    return by_weight(kind) || code_of(kind) != BYTE;
}

INLINE __m256i table_of(const struct kind kind)
{
    const __m256i table = code_of(kind) == TABLE ? sixteen(kind.table) : _mm256_setzero_si256();

    return by_weight(kind) ? table : _mm256_xor_si256(table, _mm256_set1_epi8((char)0x80));
}

/* Makes the factors of a whole panel. */
INLINE void take_all(uint8_t *to, const struct kind kind, const uint8_t *chunk, int groups)
{
    const __m256i table = table_of(kind);

    for (int g = 0; g < groups; g++) {
        const uint8_t *line = chunk + kind.header + (g & 1) * group_bytes(kind);
        UNROLL for (int i = 0; i < 8; i++)
        {
            struct factors f;
            take(&f, kind, line, i, table);
            UNROLL for (int j = 0; j < factor_bytes(kind) / 256; j++, to += 32)
                _mm256_storeu_si256((__m256i *)(void *)to, f.v[j]);
        }
        chunk += g % 2 ? chunk_bytes(kind) : 0;
    }
}

/* Fills b for group g. lanes: how many tokens of x lie side by side; where there are more than one, TOKENS
 * are read. */
INLINE void begin_group(struct begin *b, const struct kind kind, const struct tokens *x, int g,
                        const int lanes)
{
    const size_t at = (size_t)g * (size_t)lanes, bytes = 4 * (size_t)CT_MIN(lanes, TOKENS);
    __m128i xsum = _mm_setzero_si128(), pair = xsum;
    __m128 scale = _mm_setzero_ps();

    memcpy(&xsum, x->sum + at, bytes);
    memcpy(&pair, x->pair + at, bytes);
    memcpy(&scale, x->scale + at, bytes);
    _mm_store_si128((__m128i *)(void *)b->sum, first_sum(kind, xsum, pair));
    if (kind.factor == OWN_PAIR)
        _mm_store_ps(b->minimum, _mm_mul_ps(scale, _mm_cvtepi32_ps(xsum)));
}

/* acc[half][t] += group g for 16 rows and T tokens; chunk is the one that holds the group; `before`:
 * its factors were made before, and are in `taken`. A broadcast serves both halves. */
INLINE void panel_group_avx2(__m256 *acc, const struct kind kind, const uint8_t *chunk, const bool before,
                             const uint8_t *taken, int g, const struct tokens *x, const int lanes,
                             const int T, const struct begin *begin, const bool ask, size_t ahead,
                             __m256i table)
{
    const uint8_t *scale = chunk + 32 * (g & 1);
    const uint8_t *line = chunk + kind.header + (g & 1) * group_bytes(kind);
    const float *xs = x->scale + (size_t)g * (size_t)lanes;
    const int8_t *q = x->q + (size_t)g * CT_GROUP * (size_t)lanes;
    __m256i sum[2 * TOKENS];

    UNROLL for (int t = 0; t < T; t++) sum[t] = sum[T + t] = same(&begin->sum[t]);
    UNROLL for (int i = 0; i < 8; i++)
    {
        struct factors f;
        if (ask && (code_of(kind) == BYTE || i % 2 == 0))
            fetch(line + 64 * (code_of(kind) == BYTE ? i : i / 2) + ahead);
        if (before) {
            UNROLL for (int j = 0; j < factor_bytes(kind) / 256; j++) f.v[j] =
                ivec_load(taken + i * factor_bytes(kind) / 8 + 32 * j);
        } else {
            take(&f, kind, line, i, table);
        }
        UNROLL for (int t = 0; t < T; t++) dot_avx2(&sum[t], &sum[T + t], kind, &f, q + 4 * (i * lanes + t));
    }
    __m256 low = halves(scale), high = halves(scale + 16);
    UNROLL for (int t = 0; t < T; t++)
    {
        __m256 s = _mm256_broadcast_ss(xs + t);
        acc[t] = _mm256_fmadd_ps(total(kind, sum[t]), _mm256_mul_ps(low, s), acc[t]);
        acc[T + t] = _mm256_fmadd_ps(total(kind, sum[T + t]), _mm256_mul_ps(high, s), acc[T + t]);
        if (kind.factor == OWN_PAIR) {
            __m256 m = _mm256_broadcast_ss(&begin->minimum[t]);
            acc[t] = _mm256_fmadd_ps(halves(scale + 64), m, acc[t]);
            acc[T + t] = _mm256_fmadd_ps(halves(scale + 80), m, acc[T + t]);
        }
    }
}

INLINE void store_tile_avx2(float *out, size_t ldo, const __m256 *acc, const int T, int rows, float scale)
{
    UNROLL for (int t = 0; t < T; t++)
        store_rows(out + (size_t)t * ldo, (const fvec[]){acc[t], acc[T + t]}, rows, scale);
}

/* A tile asks for memory in one of these ways: what this stream reads a little later, or the same place of
 * the next panel, which was 7 to 12 % faster for two tokens and not for four; a panel that was read already
 * asks for nothing. */
enum ask { NOTHING, AHEAD_OF_LINE, NEXT_PANEL };

/* The distance ahead of a line to ask for memory, at a byte of its panel: near its end, in the panel that
 * this stream reads next. */
INLINE size_t ahead_of(size_t at, size_t apart, const int panels)
{
    return at + AHEAD < apart ? AHEAD : AHEAD + (size_t)(panels - 1) * apart;
}

/* `panels` panels, one after another in memory, and T tokens: as many streams from memory. Factors of a
 * single panel may have been made before. */
INLINE void panel_tile_avx2(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0,
                            int rows, const bool before, const uint8_t *taken, const struct tokens *x,
                            int groups, const int panels, const int lanes, const int T, const enum ask ask)
{
    const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;
    const uint8_t *chunk = panel;
    const __m256i table = table_of(kind);
    __m256 acc[INTEGERS_AT_ONCE * 2 * TOKENS];

    UNROLL for (int i = 0; i < panels * 2 * T; i++) acc[i] = _mm256_setzero_ps();
    for (int g = 0; g < groups; g++) {
        size_t ahead =
            ask == NEXT_PANEL ? w->row_bytes : ahead_of((size_t)(chunk - panel), w->row_bytes, panels);
        struct begin begin;
        begin_group(&begin, kind, x, g, lanes);
        UNROLL for (int j = 0; j < panels; j++)
        {
            if (ask != NOTHING && g % 2 == 0)
                fetch(chunk + (size_t)j * w->row_bytes + ahead);
            panel_group_avx2(acc + j * 2 * T, kind, chunk + (size_t)j * w->row_bytes, before, taken, g, x,
                             lanes, T, &begin, ask != NOTHING, ahead, table);
        }
        chunk += g % 2 ? chunk_bytes(kind) : 0;
        taken += before ? factor_bytes(kind) : 0;
    }
    UNROLL for (int j = 0; j < panels; j++)
        store_tile_avx2(out + r0 + j * CT_PANEL_ROWS, ldo, acc + j * 2 * T, T, rows, w->scale);
}

/* Tokens [t, t + T) of block t / CT_LANES. */
INLINE struct tokens tokens_at(const struct ct_prepared *p, int t)
{
    const size_t groups = (size_t)p->cols / CT_GROUP, lanes = p->n == 1 ? 1 : CT_LANES;
    const size_t block = (size_t)t / lanes * lanes, lane = (size_t)t % lanes, g = block * groups + lane;
    const size_t padded = ct_round_up((size_t)p->n, lanes);

    return (struct tokens){p->q + block * (size_t)p->cols + 4 * lane, p->scale + g, p->sum + g,
                           p->sum + padded * groups + g};
}

/* Tokens whose inputs of `bytes` each stay in the cache while all panels go by. */
INLINE int block_of(size_t bytes)
{
    return (int)CT_MAX(CACHED / bytes / CT_LANES, 2) * CT_LANES;
}

INLINE void CT_NAME(integers)(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w,
                              int r0, int r1, const struct ct_prepared *p, float *scratch,
                              const struct ct_panels_next *next)
{
    const int groups = p->cols / CT_GROUP, each = block_of((size_t)p->cols);
    const uint8_t *data = w->data, *taken = (const uint8_t *)scratch;
    const enum ask first = p->n == 2 ? NEXT_PANEL : AHEAD_OF_LINE;

    (void)next;
    if (p->n == 1) {
        struct tokens x = tokens_at(p, 0);
        for (const int wide = INTEGERS_AT_ONCE * CT_PANEL_ROWS; r0 + wide <= r1; r0 += wide)
            panel_tile_avx2(out, ldo, kind, w, r0, CT_PANEL_ROWS, false, NULL, &x, groups, INTEGERS_AT_ONCE,
                            1, 1, AHEAD_OF_LINE);
        for (; r0 < r1; r0 += CT_PANEL_ROWS)
            panel_tile_avx2(out, ldo, kind, w, r0, CT_MIN(CT_PANEL_ROWS, r1 - r0), false, NULL, &x, groups, 1,
                            1, 1, AHEAD_OF_LINE);
        return;
    }
    for (int from = 0; from < p->n; from += each)
        for (int r = r0, end = CT_MIN(from + each, p->n); r < r1; r += CT_PANEL_ROWS) {
            int t = from, rows = CT_MIN(CT_PANEL_ROWS, r1 - r);
#define TILE(T, before, ask)                                                                                 \
    do {                                                                                                     \
        struct tokens x = tokens_at(p, t);                                                                   \
        panel_tile_avx2(out + (size_t)t * ldo, ldo, kind, w, r, rows, before, taken, &x, groups, 1,          \
                        CT_LANES, T, ask);                                                                   \
        t += T;                                                                                              \
    } while (0)
            if (end - t >= MANY && pays(kind) && groups * factor_bytes(kind) <= CACHED / 2) {
                take_all((uint8_t *)scratch, kind, data + (size_t)(r / CT_PANEL_ROWS) * w->row_bytes, groups);
                while (t + TOKENS <= end)
                    TILE(TOKENS, true, NOTHING);
            }
            while (t + TOKENS <= end)
                TILE(TOKENS, false, t == 0 ? first : NOTHING);
            if (end - t == 3)
                TILE(3, false, t == 0 ? first : NOTHING);
            else if (end - t == 2)
                TILE(2, false, t == 0 ? first : NOTHING);
            else if (end - t == 1)
                TILE(1, false, t == 0 ? first : NOTHING);
#undef TILE
        }
}

/* ---- inputs in lanes (section 4) ---- */

/* q[k/4][lanes][4], scale[group][lanes] and sum[group][lanes] of each block of tokens; behind the sums of all
 * blocks the same again with the sums of both halves of a group as 16 bits, the first half low. */

/* 32 values of a token as integers: 8 words of 4, their scale and sum, and the sums of both halves in 16 bits
 * each. */
INLINE void quantize_group(uint32_t word[8], float *scale, int32_t *sum, int32_t *pair, const float *x)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    __m256 v[4];
    __m256i top = _mm256_setzero_si256(), q[4];

    UNROLL for (int i = 0; i < 4; i++)
    {
        v[i] = _mm256_loadu_ps(x + 8 * i);
        /* bits order like magnitudes, and a NaN comes out on top */
        top = _mm256_max_epi32(top, _mm256_and_si256(_mm256_castps_si256(v[i]), magnitude));
    }
    __m128i t = _mm_max_epi32(_mm256_castsi256_si128(top), _mm256_extracti128_si256(top, 1));
    t = _mm_max_epi32(t, _mm_shuffle_epi32(t, 0x4e));
    t = _mm_max_epi32(t, _mm_shuffle_epi32(t, 0xb1));
    float a = ct_f32_from_bits((uint32_t)_mm_cvtsi128_si32(t));
    bool zero = a < 0x1p-90f;
    __m256 r = _mm256_set1_ps(zero ? 0 : 127.0f / a);
    UNROLL for (int i = 0; i < 4; i++)
    {
        __m256 y = _mm256_min_ps(_mm256_mul_ps(v[i], r), _mm256_set1_ps(127.0f));
        q[i] = _mm256_cvtps_epi32(_mm256_max_ps(y, _mm256_set1_ps(-127.0f)));
    }
    __m256i s = _mm256_hadd_epi32(_mm256_add_epi32(q[0], q[1]), _mm256_add_epi32(q[2], q[3]));
    __m128i total = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
    total = _mm_hadd_epi32(total, total);
    /* packing works within 128 bits: words come out as 0 2 4 6 1 3 5 7 */
    __m256i bytes = _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)(void *)word, bytes);
    *scale = zero ? 0 : a / 127.0f;
    int32_t low = _mm_cvtsi128_si32(total), high = _mm_extract_epi32(total, 1);
    *sum = low + high;
    *pair = (int32_t)((uint32_t)high << 16 | ((uint32_t)low & 0xffff));
}

static void prepare_lanes_avx2(struct ct_prepared *p, const float *x, size_t ldx, struct ct_input_part part)
{
    ct_assert_prepare(p, x, ldx, part);
    const int lanes = p->n == 1 ? 1 : CT_LANES, padded = (int)ct_round_up((size_t)p->n, (size_t)lanes);
    const size_t cols = (size_t)p->cols, groups = cols / CT_GROUP;
    int32_t *pair = p->sum + (size_t)padded * groups;

    for (int t = part.t0; t < part.t1 && t < padded; t++, x += ldx) {
        int block = t / lanes * lanes, lane = t % lanes;
        for (int g = part.g0; g < part.g1; g++) {
            size_t at = (size_t)block * groups + (size_t)(g * lanes + lane);
            size_t to = (size_t)block * cols + (size_t)(g * CT_GROUP * lanes + 4 * lane);
            uint32_t word[8] = {0};
            p->scale[at] = 0;
            p->sum[at] = 0;
            pair[at] = 0;
            if (t < p->n)
                quantize_group(word, &p->scale[at], &p->sum[at], &pair[at], x + (g - part.g0) * CT_GROUP);
            for (int i = 0; i < 8; i++, to += 4 * (size_t)lanes)
                memcpy(p->q + to, &word[i], 4);
        }
    }
}

void CT_NAME(ct_panels_init)(struct ct_kernel *k)
{
    k->layout = CT_LAYOUT_PANELS;
    k->prepare_lanes = prepare_lanes_avx2;
    k->project_panels = CT_NAME(ct_panels_project);
}
