/* SPDX-License-Identifier: Apache-2.0 */
/* panel_bytes_amx.c: products of whole numbers with AMX tiles (NUMERICS.md section 4). Some k of a panel
 * become signed bytes, whatever their type, and serve all tokens that stay in the cache; a tile is one group,
 * and its sums leave it for the scales. Which tokens these are, and their inputs: panel_amx.c. */
#include "kernel/panel_kind.h"
#include "kernel/x86/amx/panel_amx.h"
#include "kernel/x86/plane_groups.h"

enum { PART = CT_SIZE(part), GROUPS = PART / CT_GROUP };

/* Sums begin at these bits, which are the float 12582912: then their bits are the float 12582912 + sum, and a
 * subtraction makes it (float)sum, exactly, where a conversion would occupy the multiplier. |sum| <= 32 * 128
 * * 127. A tile of them is this line sixteen times. */
static const _Alignas(64) int32_t start[CT_PANEL_ROWS] = {
    0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000,
    0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000, 0x4b400000,
};

/* ---- weights: [k/4][16][4] signed bytes ---- */

/* True when the scales of halves fit the bytes: 3 * 15 and -(-4 * -32), of which the sign is minus. Then a
 * group is one tile, else two of 16 k, as where halves stand apart. */
INLINE bool scaled(const struct kind kind)
{
    return by_halves(kind.factor) && kind.bits <= 3;
}

INLINE bool two_tiles(const struct kind kind)
{
    return (by_halves(kind.factor) && !scaled(kind)) || kind.factor == APART;
}

/* Bytes of products of each row's scale of a half: of 0, 1, 2, 3 where rows have four bytes. */
INLINE __m512i multiples(__m512i scales, const int half)
{
    const __m512i byte = _mm512_set1_epi32(0xff);
    __m512i one = half ? _mm512_srli_epi32(scales, 16) : scales;
    __m512i two = _mm512_add_epi32(one, one), three = _mm512_add_epi32(two, one);

    one = _mm512_slli_epi32(_mm512_and_si512(one, byte), 8);
    two = _mm512_slli_epi32(_mm512_and_si512(two, byte), 16);
    return _mm512_or_si512(_mm512_or_si512(one, two), _mm512_slli_epi32(three, 24));
}

/* Codes of two bits, or of three and the sign, times the scales of their half: a lookup among the four rows
 * that 16 bytes hold. */
INLINE __m512i scaled_word(const struct kind kind, __m512i code, __m512i products)
{
    const __m512i row = _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
    const __m512i low = _mm512_set1_epi8(3);
    __m512i v = _mm512_shuffle_epi8(products, _mm512_or_si512(_mm512_and_si512(code, low), row));

    if (kind.bits == 2)
        return v;
    /* -(low + 4 high - 4) */
    const __m512i once = _mm512_shuffle_epi8(products, _mm512_or_si512(row, _mm512_set1_epi8(1)));
    const __m512i often = _mm512_slli_epi16(_mm512_and_si512(once, _mm512_set1_epi8(0x3f)), 2);
    const __mmask64 high = _mm512_movepi8_mask(_mm512_slli_epi16(code, 5));
    return _mm512_sub_epi8(_mm512_maskz_mov_epi8(~high, often), v);
}

/* Turns codes into signed bytes. */
INLINE __m512i signed_word(const struct kind kind, __m512i code, __m512i table)
{
    if (kind.table)
        return _mm512_shuffle_epi8(table, code);
    if (kind.bits == 8)
        return _mm512_xor_si512(code, _mm512_set1_epi8((char)0x80));
    return kind.zero ? _mm512_sub_epi8(code, _mm512_set1_epi8((char)kind.zero)) : code;
}

/* `groups` groups; chunk is the one of the first. Returns where their factors are: there, or in the chunks
 * that were looked up. */
INLINE const uint8_t *unpack(int8_t *to, struct ct_looked_up *looked, const struct kind kind,
                             enum ct_type type, const uint8_t *chunk, int groups)
{
    const __m512i table = kind.table ? sixteen(kind.table) : _mm512_setzero_si512();
    const uint8_t *factors = kind.factor == ODD ? (const uint8_t *)looked : chunk;

    for (int g = 0; g < groups; chunk += stored_bytes(kind, type)) {
        if (kind.factor == ODD)
            ct_book_reader(CT_BOOK_512)(looked, type, chunk);
        const uint8_t *read = kind.factor == ODD ? (const uint8_t *)looked++ : chunk;
        for (int of = 0; of < kind.groups && g < groups; of++, g++) {
            const uint8_t *lines = read + kind.header + group_bytes(kind) * of;
            __m512i products[2] = {0};
            for (int half = 0; scaled(kind) && half < 2; half++)
                products[half] = multiples(group_factors(kind, read, of, 0).scales, half);
            UNROLL for (int i = 0; i < 8; i++, to += LINE_BYTES)
            {
                __m512i w = code_word(kind, lines, i);
                w = scaled(kind) ? scaled_word(kind, w, products[i / 4]) : signed_word(kind, w, table);
                _mm512_storeu_si512((void *)to, w);
            }
        }
    }
    return factors;
}

/* ---- a block of 16 tokens ---- */

/* A block as panel_amx.c made it, from some group on: [group][16]. */
struct block {
    const int8_t *q; /* [32] */
    const float *scale, *xsum;
    const int32_t *pair;
};

/* (float)sum of a row of a tile. */
INLINE __m512 sum_of(const int32_t *sums, int t)
{
    const __m512 v = _mm512_castsi512_ps(_mm512_loadu_si512((const void *)(sums + CT_PANEL_ROWS * t)));
    return _mm512_sub_ps(v, _mm512_set1_ps(12582912.0f));
}

/* acc[t] += group g of a part, whose sums have left their tiles. */
INLINE void add_group(__m512 *acc, const struct kind kind, int32_t (*const sums)[TOKENS * CT_PANEL_ROWS],
                      const uint8_t *part, const struct block *x, int g)
{
    const unsigned chunk = (unsigned)g / (unsigned)kind.groups, of = (unsigned)g % (unsigned)kind.groups;
    const struct group_factors f =
        group_factors(kind, part + (size_t)chunk * (size_t)chunk_bytes(kind), (int)of, 0);
    const bool minus = scaled(kind) && kind.factor == HALVES;
    const __m512 ws = minus ? _mm512_sub_ps(_mm512_setzero_ps(), f.ws) : f.ws;
    __m512 weight[2] = {ws, ws};

    if (by_halves(kind.factor))
        UNROLL for (int half = 0; half < 2; half++) weight[half] = half_scale(f.scales, half);
    UNROLL for (int t = 0; t < TOKENS; t++)
    {
        const __m512 s = _mm512_set1_ps(x->scale[g * TOKENS + t]);
        __m512 v = sum_of(sums[0], t), to = acc[t];
        if (kind.factor == APART) {
            to = _mm512_fmadd_ps(v, _mm512_mul_ps(ws, s), to);
            acc[t] = _mm512_fmadd_ps(sum_of(sums[1], t), _mm512_mul_ps(f.m, s), to);
            continue;
        }
        if (two_tiles(kind))
            v = _mm512_fmadd_ps(sum_of(sums[1], t), weight[1], _mm512_mul_ps(v, weight[0]));
        to = _mm512_fmadd_ps(v, _mm512_mul_ps(ws, s), to);
        if (kind.factor == OWN_PAIR)
            to = _mm512_fmadd_ps(f.m, _mm512_set1_ps(x->xsum[g * TOKENS + t]), to);
        if (kind.factor == PAIR || kind.factor == BLOCK)
            to = _mm512_fnmadd_ps(f.m, _mm512_set1_ps(x->xsum[g * TOKENS + t]), to);
        if (kind.factor == NIBBLES) {
            const __m512i minima = _mm512_madd_epi16(f.minimum, _mm512_set1_epi32(x->pair[g * TOKENS + t]));
            to = _mm512_fnmadd_ps(f.m, _mm512_mul_ps(s, _mm512_cvtepi32_ps(minima)), to);
        }
        acc[t] = to;
    }
}

/* a[16] += the groups of a part. While group g is multiplied, the one before is stored and the one before
 * that is scaled: a store that follows its product waits for it. */
INLINE void add_part(__m512 *a, const struct kind kind, const int8_t *weights, const uint8_t *part,
                     const struct block *x, const int groups, struct asking next)
{
    _Alignas(64) int32_t sums[2][2][TOKENS * CT_PANEL_ROWS];
    int g;

/* even and odd groups have tiles and sums of their own, c; the second half of a group has c2 */
#define EVEN 0, 2, 4, 6
#define ODD  1, 3, 5, 7
#define DOT(g, half, c, tokens, lines)                                                                       \
    CT_TILE_LOAD(c, start, 0);                                                                               \
    CT_TILE_LOAD(tokens, x->q + TOKENS * CT_GROUP * (g) + CT_HALF * (half), CT_GROUP);                       \
    CT_TILE_LOAD(lines, weights + CT_PANEL_ROWS * (CT_GROUP * (g) + CT_HALF * (half)), LINE_BYTES);          \
    CT_TILE_DOT_BYTES(c, tokens, lines)
#define MULTIPLY_(g, c, c2, tokens, lines)                                                                   \
    ask(&next, false);                                                                                       \
    if (two_tiles(kind)) {                                                                                   \
        DOT(g, 0, c, 4, 6);                                                                                  \
        DOT(g, 1, c2, 5, 7);                                                                                 \
    } else {                                                                                                 \
        DOT(g, 0, c, tokens, lines);                                                                         \
    }
#define STORE_(c, c2, tokens, lines)                                                                         \
    CT_TILE_STORE(c, sums[c][0], LINE_BYTES);                                                                \
    if (two_tiles(kind))                                                                                     \
        CT_TILE_STORE(c2, sums[c][1], LINE_BYTES);
#define SCALE_(g, c, c2, tokens, lines) add_group(a, kind, sums[c], part, x, g);
#define MULTIPLY(g, which)              MULTIPLY_(g, which)
#define STORE(which)                    STORE_(which)
#define SCALE(g, which)                 SCALE_(g, which)

    MULTIPLY(0, EVEN)
    if (groups > 1) {
        MULTIPLY(1, ODD)
    }
    STORE(EVEN)
    for (g = 2; g + 1 < groups; g += 2) {
        MULTIPLY(g, EVEN)
        STORE(ODD)
        SCALE(g - 2, EVEN)
        MULTIPLY(g + 1, ODD)
        STORE(EVEN)
        SCALE(g - 1, ODD)
    }
    if (g < groups) {
        MULTIPLY(g, EVEN)
    }
    if (groups > 1) {
        STORE(ODD)
    }
    SCALE(g - 2, EVEN)
    if (groups > 1)
        SCALE(g - 1, ODD)
    if (g < groups) {
        STORE(EVEN)
        SCALE(g, EVEN)
    }
#undef EVEN
#undef ODD
#undef DOT
#undef MULTIPLY_
#undef STORE_
#undef SCALE_
#undef MULTIPLY
#undef STORE
#undef SCALE
}

/* The same where sums begin and end: at zero or in kept, there or in the results. */
INLINE void block_of_bytes(const struct results *to, float *kept, const struct kind kind,
                           const int8_t *weights, const uint8_t *part, const struct block *x, int groups,
                           struct asking next, bool first, bool last)
{
    __m512 a[TOKENS];

    if (first)
        UNROLL for (int t = 0; t < TOKENS; t++) a[t] = _mm512_setzero_ps();
    else
        UNROLL for (int t = 0; t < TOKENS; t++) a[t] = _mm512_load_ps(kept + CT_PANEL_ROWS * t);
    if (last)
        own_results(to, 1);
    add_part(a, kind, weights, part, x, groups, next);
    if (last)
        store_results(to, a);
    else
        UNROLL for (int t = 0; t < TOKENS; t++) _mm512_store_ps(kept + CT_PANEL_ROWS * t, a[t]);
}

/* ---- a panel, and tokens [t0, t1) ---- */

/* The block of tokens that begins at t, from group g on. */
INLINE struct block block_at(const struct ct_prepared *p, int t, size_t g)
{
    const size_t groups = (size_t)(p->cols / CT_GROUP), at = (size_t)t * groups + g * TOKENS;
    const int32_t *pair = p->sum + ct_round_up((size_t)p->n, TOKENS) * groups;

    return (struct block){p->q + at * CT_GROUP, p->scale + at, (const float *)(const void *)(p->sum + at),
                          pair + at};
}

INLINE void panel_of_bytes(struct results to, const struct kind kind, enum ct_type type, const uint8_t *part,
                           const struct ct_prepared *p, int t0, int t1, const struct ahead *next)
{
    _Alignas(64) int8_t weights[PART * CT_PANEL_ROWS];
    struct ct_looked_up looked[PART / CT_BOOK_K];
    _Alignas(64) float kept[MANY / TOKENS][TOKENS * CT_PANEL_ROWS];
    const int all = p->cols / CT_GROUP, blocks = (t1 - t0 + TOKENS - 1) / TOKENS;
    const int parts = (all + GROUPS - 1) / GROUPS;
    float *out = to.at;

    for (int i = 0; i < parts; i++, part += GROUPS / kind.groups * stored_bytes(kind, type)) {
        const int groups = CT_MIN(all - i * GROUPS, GROUPS);
        const uint8_t *factors = unpack(weights, looked, kind, type, part, groups);
        for (int b = 0; b < blocks; b++) {
            const int t = t0 + b * TOKENS;
            const struct block x = block_at(p, t, (size_t)(i * GROUPS));
            to.at = out + (size_t)t * to.ldo;
            to.n = CT_MIN(TOKENS, p->n - t);
            block_of_bytes(&to, kept[b], kind, weights, factors, &x, groups,
                           ask_part(next, i * blocks + b, parts * blocks, groups), i == 0, i == parts - 1);
        }
    }
}

static const struct ct_tile_config of_groups = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 32, 32, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 8, 8}};
static const struct ct_tile_config of_halves = {
    .palette = 1, .row_bytes = {64, 64, 64, 64, 16, 16, 64, 64}, .rows = {16, 16, 16, 16, 16, 16, 4, 4}};

INLINE void project_bytes(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0,
                          int r1, const struct ct_prepared *p, const struct ahead *after)
{
    const int many = tokens_at_once(p->cols);
    const uint8_t *data = w->data;
    const size_t apart = w->row_bytes;
    struct results to = {.ldo = ldo, .scale = w->scale};

    if (two_tiles(kind)) {
        CT_TILE_CONFIG(&of_halves);
    } else {
        CT_TILE_CONFIG(&of_groups);
    }
    for (int t = 0; t < p->n; t += many)
        for (int r = r0; r < r1; r += CT_PANEL_ROWS) {
            const bool again = t + many < p->n; /* the same rows follow, for other tokens */
            const int follows = r + CT_PANEL_ROWS < r1 ? r + CT_PANEL_ROWS : r0;
            struct ahead next = {data + (size_t)(follows / CT_PANEL_ROWS) * apart, apart, 0};
            if (follows == r0 && !again)
                next = *after;
            to.at = out + r;
            to.rows = CT_MIN(CT_PANEL_ROWS, r1 - r);
            panel_of_bytes(to, kind, w->type, data + (size_t)(r / CT_PANEL_ROWS) * apart, p, t,
                           CT_MIN(t + many, p->n), &next);
        }
}

void CT_NAME(ct_project_bytes)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                               const struct ct_prepared *p, const struct ct_panels_next *next)
{
    const struct ahead after = ahead_of_call(next);

    switch (w->type) {
#define KIND(type, ...)                                                                                      \
    case type:                                                                                               \
        project_bytes(out, ldo, (struct kind){__VA_ARGS__}, w, r0, r1, p, &after);                           \
        break;
        CT_KINDS_OF_LINES(KIND)
        CT_KINDS_OF_PLANES(KIND)
#undef KIND
    default: /* no other type has whole numbers */
        project_bytes(out, ldo, (struct kind)CT_KIND_OF_BOOKS, w, r0, r1, p, &after);
    }
    CT_TILE_RELEASE();
}
