/* SPDX-License-Identifier: Apache-2.0 */
/* panel_planes.h: products over panels of planes (all types of blocks but Q8_0, Q4_0, Q4_1 and IQ4_NL),
 * with inputs as panel_avx2.c prepares them. panel_planes_X.c includes a simd_X.h and this. Levels differ
 * in that header, and in CT_DOT_VNNI: with it a dot of bytes is one instruction. The words of a group are
 * decoded once for all tokens of some blocks. Lanes are rows, so every sum is the chain of NUMERICS.md
 * section 4. Layout: panel.h. */
#ifndef CT_PANEL_PLANES_H
#define CT_PANEL_PLANES_H

#include "kernel/panel_kind.h"
#include "kernel/ref/ref_math.h"
#include "kernel/sizes.h"
#include "kernel/x86/plane_groups.h"

#define BOOK_WAY (VEC == 16 ? CT_BOOK_512 : CT_BOOK_256)

enum {
    BLOCKS = 4, /* blocks of tokens that share decoded weights */
    TOKENS = BLOCKS * CT_LANES,
#ifdef CT_DOT_VNNI
    BYTE_DOTS = 1,
    SIGNED_ZERO = 128, /* the code of weight 0 of signed bytes: byte dots want one side unsigned */
#else
    BYTE_DOTS = 0,
    SIGNED_ZERO = 0,
#endif
    TABLE_ZERO = 12,           /* added to values of small tables, which makes unsigned codes of them */
    MOST = 4,                  /* panels in flight at most */
    TILE = PARTS == 1 ? 8 : 4, /* tokens whose sums are in registers at once */
};

/* Words whose byte products fit one 16-bit sum: 2 * run * 127 * the largest code is below 2^15. 0: weights
 * are signed bytes, none do. */
INLINE int run_of(const struct kind kind)
{
    const int largest = kind.table ? 2 * TABLE_ZERO : (1 << kind.bits) - 1, one = 2 * 127 * largest;

    if (kind.bits == 8 || kind.factor == SIGNED)
        return 0;
    return 8 * one < 1 << 15 && !by_halves(kind.factor) && kind.factor != APART ? 8
           : 4 * one < 1 << 15                                                  ? 4
                                                                                : 2;
}

/* The code of weight 0, as dots want codes. */
INLINE int zero_of(const struct kind kind)
{
    return run_of(kind) == 0 ? SIGNED_ZERO : kind.table ? TABLE_ZERO : kind.zero;
}

/* The table of nibbles as codes: unsigned where dots want them. */
INLINE ivec table_of(const struct kind kind)
{
    ivec table = kind.table ? sixteen(kind.table) : V(set1_epi8)(0);
    return run_of(kind) ? V(add_epi8)(table, V(set1_epi8)(TABLE_ZERO))
                        : BITS(xor)(table, V(set1_epi8)((char)SIGNED_ZERO));
}

/* Word i of the 8 words of 4 bytes that a group of a part is. */
INLINE ivec word(const struct kind kind, const uint8_t *lines, const int i, ivec table)
{
    ivec w = code_word(kind, lines, i);

    if (kind.table)
        w = V(shuffle_epi8)(table, w);
    if (kind.bits == 8 && SIGNED_ZERO == 0)
        w = BITS(xor)(w, V(set1_epi8)((char)0x80));
    return w;
}

/* The words of a group, for tokens that share them; size: |w| of signed ones. */
struct words {
    ivec w[8][PARTS], size[8][PARTS];
};

INLINE void planes_decode(struct words *to, const struct kind kind, const uint8_t *lines, ivec table)
{
    UNROLL for (int i = 0; i < 8; i++) UNROLL for (int p = 0; p < PARTS; p++)
    {
        to->w[i][p] = word(kind, lines + 4 * VEC * p, i, table);
        if (!run_of(kind) && !BYTE_DOTS)
            to->size[i][p] = V(abs_epi8)(to->w[i][p]);
    }
}

/* The factors of a group of a part, and what dots make of the scales of its halves. */
struct factors {
    struct group_factors f;
#ifdef CT_DOT_VNNI
    fvec weight[2]; /* the scales as numbers */
#else
    ivec scale[2]; /* the same 16 bits twice */
    ivec zero;     /* 16 bits for each half */
#endif
};

INLINE struct factors factors_of(const struct kind kind, const uint8_t *chunk, int g, int row)
{
    struct factors of = {.f = group_factors(kind, chunk, g, row)};

    if (!by_halves(kind.factor))
        return of;
#ifdef CT_DOT_VNNI
    UNROLL for (int half = 0; half < 2; half++) of.weight[half] = half_scale(of.f.scales, half);
#else
    static const uint8_t low[16] = {0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13},
                         high[16] = {2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15};
    of.zero = V(mullo_epi16)(of.f.scales, V(set1_epi16)((short)-zero_of(kind)));
    of.scale[0] = V(shuffle_epi8)(of.f.scales, sixteen(low));
    of.scale[1] = V(shuffle_epi8)(of.f.scales, sixteen(high));
#endif
    return of;
}

/* A group of weights: decoded, or on its way from its lines where only one token wants it. */
struct group {
    const struct words *words;
    const uint8_t *lines;
    ivec table;
    struct factors factors[PARTS];
};

INLINE ivec word_of(const struct kind kind, const struct group *of, const int i, const int part)
{
    return of->words ? of->words->w[i][part] : word(kind, of->lines + 4 * VEC * part, i, of->table);
}

/* The sum of a token's words [from, to), all or a half. */
INLINE int32_t sum_of_words(int32_t all, int32_t pair, const int from, const int to)
{
    return to - from == 8 ? all : from ? pair >> 16 : (int16_t)pair;
}

/* sum[t][part] += the products of words [from, to) with T tokens. A word serves all of them, and what is
 * broadcast of a token all parts. */
#ifdef CT_DOT_VNNI

INLINE void planes_dot(ivec (*sum)[PARTS], const struct kind kind, const struct group *of, const int8_t *q,
                       const int lanes, const int T, const int from, const int to)
{
    UNROLL for (int i = from; i < to; i++)
    {
        ivec w[PARTS];
        UNROLL for (int p = 0; p < PARTS; p++) w[p] = word_of(kind, of, i, p);
        UNROLL for (int t = 0; t < T; t++)
        {
            const int8_t *at = q + 4 * (i * lanes + t);
            if (PARTS == 1 && T > 1) {
                DOT_BROADCAST(sum[t][0], w[0], at);
                continue;
            }
            ivec x = same(at);
            UNROLL for (int p = 0; p < PARTS; p++) sum[t][p] = DOT_BYTES(sum[t][p], w[p], x);
        }
    }
}

/* What sums of T tokens begin with, for words [from, to): what the zeros of codes give too much. Of several
 * tokens it is made in a vector, from the sums of both halves, and read back where it is broadcast. */
INLINE void begin(ivec (*sum)[PARTS], const int zero, const int32_t *xsum, const int32_t *pair, const int T,
                  const int from, const int to)
{
    const int low = from ? 0 : -zero & 0xffff, high = to == 8 ? -zero : 0;
    int32_t first[TILE];
    const int32_t *at = first;

    if (T == 1) {
        UNROLL for (int p = 0; p < PARTS; p++) sum[0][p] =
            V(set1_epi32)(-zero * sum_of_words(xsum[0], pair[0], from, to));
        return;
    }
    store_half(first, HALF(madd_epi16)(load_half(pair), HALF(set1_epi32)((int)((uint32_t)high << 16) | low)));
    ANEW(at);
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int p = 0; p < PARTS; p++) sum[t][p] = same(at + t);
}

/* value[t][part] = what the scales of the halves, if there are any, make of products of words [from, to) of a
 * group, all or a half, with T tokens, as numbers: integers below 2^24 all the way. */
INLINE void total(fvec (*value)[PARTS], const struct kind kind, const struct group *of, const int8_t *q,
                  const int32_t *xsum, const int32_t *pair, const int lanes, const int T, const int from,
                  const int to)
{
    ivec sum[TILE][PARTS];

    begin(sum, zero_of(kind), xsum, pair, T, from, by_halves(kind.factor) ? 4 : to);
    planes_dot(sum, kind, of, q, lanes, T, from, by_halves(kind.factor) ? 4 : to);
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int p = 0; p < PARTS; p++) value[t][p] =
        V(cvtepi32_ps)(sum[t][p]);
    if (!by_halves(kind.factor))
        return;
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int p = 0; p < PARTS; p++) value[t][p] =
        V(mul_ps)(value[t][p], of->factors[p].weight[0]);
    begin(sum, zero_of(kind), xsum, pair, T, 4, 8);
    planes_dot(sum, kind, of, q, lanes, T, 4, 8);
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int p = 0; p < PARTS; p++) value[t][p] =
        V(fmadd_ps)(V(cvtepi32_ps)(sum[t][p]), of->factors[p].weight[1], value[t][p]);
}

#else

/* Two words at a time, in 16 bits as long as a run allows. */
INLINE void planes_dot(ivec (*sum)[PARTS], const struct kind kind, const struct group *of, const int8_t *q,
                       const int lanes, const int T, const int from, const int to)
{
    const int run = CT_MAX(run_of(kind), 1), step = run == 2 ? 2 : 1;
    ivec pairs[TILE][PARTS];

    UNROLL for (int i = from; i < to; i += step)
    {
        ivec w[2][PARTS], size[PARTS];
        UNROLL for (int p = 0; p < PARTS; p++)
        {
            UNROLL for (int j = 0; j < step; j++)
            {
                w[j][p] = word_of(kind, of, i + j, p);
                if (run_of(kind))
                    PIN(w[j][p]);
            }
            if (!run_of(kind))
                size[p] = of->words ? of->words->size[i][p] : V(abs_epi8)(w[0][p]);
        }
        UNROLL for (int t = 0; t < T; t++)
        {
            ivec x[2];
            UNROLL for (int j = 0; j < step; j++) x[j] = same(q + 4 * ((i + j) * lanes + t));
            UNROLL for (int p = 0; p < PARTS; p++)
            {
                ivec two =
                    run_of(kind) ? V(maddubs_epi16)(w[0][p], x[0]) : signed_pairs(size[p], w[0][p], x[0]);
                if (step == 2)
                    two = V(add_epi16)(two, V(maddubs_epi16)(w[1][p], x[1]));
                pairs[t][p] = i % run ? V(add_epi16)(pairs[t][p], two) : two;
                PIN(pairs[t][p]);
                if ((i + step) % run)
                    continue;
                two = V(madd_epi16)(pairs[t][p],
                                    by_halves(kind.factor) ? of->factors[p].scale[i / 4] : V(set1_epi16)(1));
                sum[t][p] = i + step - from > run ? V(add_epi32)(sum[t][p], two) : two;
                PIN(sum[t][p]);
            }
        }
    }
}

INLINE void total(fvec (*value)[PARTS], const struct kind kind, const struct group *of, const int8_t *q,
                  const int32_t *xsum, const int32_t *pair, const int lanes, const int T, const int from,
                  const int to)
{
    ivec sum[TILE][PARTS];

    planes_dot(sum, kind, of, q, lanes, T, from, to);
    UNROLL for (int t = 0; t < T; t++) UNROLL for (int p = 0; p < PARTS; p++)
    {
        ivec all = sum[t][p];
        if (zero_of(kind) && by_halves(kind.factor))
            all = V(add_epi32)(all, V(madd_epi16)(of->factors[p].zero, V(set1_epi32)(pair[t])));
        else if (zero_of(kind))
            all = V(sub_epi32)(all, V(set1_epi32)(zero_of(kind) * sum_of_words(xsum[t], pair[t], from, to)));
        value[t][p] = V(cvtepi32_ps)(all);
    }
}

#endif

/* acc[t][part] += a group for T tokens, of which x is the first; at: the group in the row */
INLINE void planes_group(fvec (*acc)[PARTS], const struct kind kind, const struct group *of,
                         const struct tokens *x, size_t at, const int lanes, const int T)
{
    const float *scale = x->scale + at * (size_t)lanes;
    const int32_t *sum = x->sum + at * (size_t)lanes, *pair = x->pair + at * (size_t)lanes;
    const int8_t *q = x->q + at * CT_GROUP * (size_t)lanes;

    fvec value[TILE][PARTS];
    if (kind.factor == APART) { /* the first half has an addition of its own */
        total(value, kind, of, q, sum, pair, lanes, T, 0, 4);
        UNROLL for (int t = 0; t < T; t++) UNROLL for (int p = 0; p < PARTS; p++) acc[t][p] =
            V(fmadd_ps)(value[t][p], V(mul_ps)(of->factors[p].f.ws, V(set1_ps)(scale[t])), acc[t][p]);
    }
    total(value, kind, of, q, sum, pair, lanes, T, kind.factor == APART ? 4 : 0, 8);
    AFTER(scale, value[T - 1][PARTS - 1]);
    float sums[TILE] = {0}; /* of tokens, scaled; read back as in begin() */
    const float *at_sums = sums;
    if (T == 1) {
        sums[0] = scale[0] * (float)sum[0];
    } else if (kind.factor == OWN_PAIR || kind.factor == PAIR || kind.factor == BLOCK) {
        HALF(storeu_ps)(sums, HALF(mul_ps)(HALF(loadu_ps)(scale), HALF(cvtepi32_ps)(load_half(sum))));
        ANEW(at_sums);
    }
    UNROLL for (int t = 0; t < T; t++)
    {
        const fvec s = V(set1_ps)(scale[t]), xsum = V(set1_ps)(at_sums[t]);
        UNROLL for (int p = 0; p < PARTS; p++)
        {
            const struct group_factors *f = &of->factors[p].f;
            fvec a = V(fmadd_ps)(value[t][p], V(mul_ps)(kind.factor == APART ? f->m : f->ws, s), acc[t][p]);
            if (kind.factor == OWN_PAIR)
                a = V(fmadd_ps)(f->m, xsum, a);
            if (kind.factor == PAIR || kind.factor == BLOCK)
                a = V(fnmadd_ps)(f->m, xsum, a);
            if (kind.factor == NIBBLES) {
                ivec minima = V(madd_epi16)(f->minimum, V(set1_epi32)(pair[t]));
                a = V(fnmadd_ps)(f->m, V(mul_ps)(s, V(cvtepi32_ps)(minima)), a);
            }
            acc[t][p] = a;
        }
    }
}

/* Group g of a chunk, but for its words, asking for the lines so many bytes on; 0: for nothing. */
INLINE void read_group(struct group *of, const struct kind kind, const uint8_t *chunk, int g, size_t ahead)
{
    of->lines = chunk + kind.header + group_bytes(kind) * g;
    if (ahead)
        UNROLL for (int i = 0; i < kind.bits; i++) fetch(of->lines + 64 * i + ahead);
    UNROLL for (int p = 0; p < PARTS; p++) of->factors[p] = factors_of(kind, chunk, g, VEC * p);
}

/* The chunk of a kind as its groups are read: where it lies, or looked up into `looked`. */
INLINE const uint8_t *chunk_to_read(struct ct_looked_up *looked, const struct kind kind, enum ct_type type,
                                    const uint8_t *chunk)
{
    if (kind.factor != ODD)
        return chunk;
    ct_book_reader(BOOK_WAY)(looked, type, chunk);
    return (const uint8_t *)looked;
}

/* True when one token is multiplied where entries of the type are looked up: with vectors of 512 bits and
 * dots of bytes, unless permutations of bytes look up, which store what they find. */
INLINE bool multiplies_books(enum ct_type type)
{
    return PARTS == 1 && BYTE_DOTS && ct_books[type].entries && ct_book_reader(BOOK_WAY) == ct_look_up_avx2;
}

/* `panels` panels and one token. Lines are asked for some whole chunks before they are read, those of the
 * next as many panels too where there are any: `first` and `last` say that these are alone in a call. */
INLINE void column(float *out, const struct kind kind, const struct ct_weight *w, int r0, int rows,
                   const struct tokens *x, int groups, const int panels, const bool first, const bool last)
{
    const uint8_t *chunk = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;
    const int chunks = (groups + kind.groups - 1) / kind.groups;
    const int stored = stored_bytes(kind, w->type), near = CT_MIN(chunks, (AHEAD + stored / 2) / stored);
    const size_t bytes = (size_t)(near * stored);
    struct group of = {.table = table_of(kind)};
    const bool multiplies = kind.factor == ODD && multiplies_books(w->type);
    struct ct_looked_up looked;
    fvec acc[MOST][1][PARTS];

    for (size_t b = 0; first && b < bytes; b += 64)
        UNROLL for (int j = 0; j < panels; j++) fetch(chunk + (size_t)j * w->row_bytes + b);
    UNROLL for (int j = 0; j < panels; j++) UNROLL for (int p = 0; p < PARTS; p++) acc[j][0][p] =
        V(setzero_ps)();
    for (int c = 0; c < chunks; c++, chunk += stored) {
        const int g0 = c * kind.groups;
        const size_t beyond = last ? 0 : bytes + (size_t)(panels - 1) * w->row_bytes;
        const size_t ahead = c + near < chunks ? bytes : beyond;
        if (kind.factor == ODD)
            for (int i = 0; i < stored; i += 64)
                fetch(chunk + i + ahead);
        else
            UNROLL for (int j = 0; j < panels; j++) UNROLL for (int i = 0; i < kind.header; i += 64)
                fetch(chunk + (size_t)j * w->row_bytes + i + ahead);
        const int count = CT_MIN(kind.groups, groups - g0);
        if (multiplies) {
            ct_book_multiply_vnni((float *)acc[0], w->type, chunk, x, g0, count);
            continue;
        }
        const uint8_t *read = chunk_to_read(&looked, kind, w->type, chunk);
        for (int g = 0; g < count; g++)
            UNROLL for (int j = 0; j < panels; j++)
            {
                read_group(&of, kind, read + (size_t)j * w->row_bytes, g, kind.factor == ODD ? 0 : ahead);
                planes_group(acc[j], kind, &of, x, (size_t)(g0 + g), 1, 1);
            }
    }
    UNROLL for (int j = 0; j < panels; j++)
        store_rows(out + r0 + j * CT_PANEL_ROWS, acc[j][0], rows, w->scale);
}

/* Q1_0 and Q2_0, which are not worth a tile of few tokens. */
INLINE bool is_rare(const struct kind kind)
{
    return kind.factor == WHOLE && kind.groups < 8;
}

/* A panel as tiles of tokens read it: where it lies, or looked up, once for all of them, into scratch. */
INLINE const uint8_t *panel_to_read(float *scratch, const struct kind kind, const struct ct_weight *w, int r0,
                                    int groups)
{
    const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;

    if (kind.factor != ODD)
        return panel;
    return ct_look_up_panel((struct ct_looked_up *)(void *)scratch, BOOK_WAY, w->type, panel, groups);
}

/* One panel and n tokens, CT_LANES to a block; lanes that no token has may be computed, and are dropped. */
INLINE void planes_tile(float *out, size_t ldo, const struct kind kind, const uint8_t *chunk, int rows,
                        const struct tokens *x, int groups, int n, bool ahead, float scale)
{
    struct words words;
    struct group of = {.words = &words, .table = table_of(kind)};
    fvec acc[TOKENS][PARTS];

    for (int t = 0; t < TOKENS; t++)
        UNROLL for (int p = 0; p < PARTS; p++) acc[t][p] = V(setzero_ps)();
    for (int g0 = 0; g0 < groups; g0 += kind.groups, chunk += chunk_bytes(kind))
        for (int g = 0; g < CT_MIN(kind.groups, groups - g0); g++) {
            read_group(&of, kind, chunk, g, ahead && kind.factor != ODD ? AHEAD : 0);
            planes_decode(&words, kind, of.lines, of.table);
            for (int t = 0; t < n; t += CT_LANES) {
                const size_t first = (size_t)t * (size_t)groups + (size_t)(g0 + g) * CT_LANES;
                const int8_t *q = x->q + first * CT_GROUP;
                UNROLL for (int i = 0; i < CT_LANES * CT_GROUP; i += 64)
                    _mm_prefetch((const char *)q + CT_LANES * CT_GROUP + i, _MM_HINT_T0); /* of the next */
                UNROLL for (int i = 0; i < CT_LANES; i += TILE)
                {
                    ANEW(q);
                    const struct tokens some = {q + 4 * i, x->scale + first + i, x->sum + first + i,
                                                x->pair + first + i};
                    if (n - t > i + (is_rare(kind) ? 0 : TILE / 2))
                        planes_group(acc + t + i, kind, &of, &some, 0, CT_LANES, TILE);
                    else if (!is_rare(kind) && n - t > i)
                        planes_group(acc + t + i, kind, &of, &some, 0, CT_LANES, TILE / 2);
                }
            }
        }
    for (int t = 0; t < n; t++)
        store_rows(out + (size_t)t * ldo, acc[t], rows, scale);
}

/* Panels of one token in flight: the level's number, but all that fit where decoding costs little. */
INLINE int panels_at_once(const struct kind kind)
{
    if (kind.factor == ODD || kind.factor == WHOLE) /* a chunk looked up is much of the first cache */
        return 1;
    if (kind.factor == APART) /* two additions a group, each waits for the one before */
        return CT_MIN(2, CT_SIZE(integers));
    const bool cheap = kind.bits == 8 || (kind.bits == 4 && kind.factor == PAIR);
    return cheap ? MOST : CT_MIN((int)MOST, CT_SIZE(integers));
}

INLINE void planes_project(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0,
                           int r1, const struct ct_prepared *p, float *scratch)
{
    const int groups = p->cols / CT_GROUP, at_once = panels_at_once(kind);
    const int32_t *pair = p->sum + (p->n == 1 ? 1 : ct_round_up((size_t)p->n, CT_LANES)) * (size_t)groups;

    if (p->n == 1) {
        const struct tokens x = {p->q, p->scale, p->sum, pair};
        const int wide = at_once * CT_PANEL_ROWS, begin = r0;
        for (; at_once > 1 && r0 + wide <= r1; r0 += wide)
            column(out, kind, w, r0, CT_PANEL_ROWS, &x, groups, at_once, r0 == begin, r0 + 2 * wide > r1);
        for (const int rest = r0; r0 < r1; r0 += CT_PANEL_ROWS)
            column(out, kind, w, r0, CT_MIN(CT_PANEL_ROWS, r1 - r0), &x, groups, 1, r0 == rest,
                   r0 + CT_PANEL_ROWS >= r1);
        return;
    }
    for (; r0 < r1; r0 += CT_PANEL_ROWS) {
        const uint8_t *panel = panel_to_read(scratch, kind, w, r0, groups);
        for (int t = 0; t < p->n; t += TOKENS) {
            size_t g = (size_t)t * (size_t)groups;
            const struct tokens x = {p->q + g * CT_GROUP, p->scale + g, p->sum + g, pair + g};
            planes_tile(out + (size_t)t * ldo + r0, ldo, kind, panel, CT_MIN(CT_PANEL_ROWS, r1 - r0), &x,
                        groups, CT_MIN(TOKENS, p->n - t), t == 0, w->scale);
        }
    }
}

void CT_NAME(ct_project_planes)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x, float *scratch);
void CT_NAME(ct_project_planes)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x, float *scratch)
{
    switch (w->type) {
#define KIND(type, ...)                                                                                      \
    case type:                                                                                               \
        planes_project(out, ldo, (struct kind){__VA_ARGS__}, w, r0, r1, x, scratch);                         \
        break;
        CT_KINDS_OF_PLANES(KIND)
#undef KIND
    default: /* no other type has panels of integers */
        planes_project(out, ldo, (struct kind)CT_KIND_OF_BOOKS, w, r0, r1, x, scratch);
    }
}

#endif
