/* panel_planes.h: products over panels of planes (Q5_0, Q5_1, K-quants, IQ4_XS, MXFP4, I8); all other panels and the
 * inputs are panel_avx2.c's. panel_planes_X.c includes the lanes of its instruction set before this, which is all that the
 * levels differ in, but for CT_DOT_VNNI: with it a dot of bytes is one instruction. Eight words of weights are decoded once
 * and stay in registers for all tokens of a block. Lanes are rows, so every sum is the chain of NUMERICS.md section 4.
 * Layout: panel.h. */
#ifndef CT_PANEL_PLANES_H
#define CT_PANEL_PLANES_H

#include "kernel/ref_math.h"

enum {
    AHEAD = 2048, /* bytes between a line and what is prefetched with it */
    BLOCKS = 4,   /* blocks of tokens that share decoded weights */
    TOKENS = BLOCKS * CT_LANES,
#ifdef CT_DOT_VNNI
    BYTE_DOTS = 1,
    SIGNED_ZERO = 128, /* the code of weight 0 of signed bytes: byte dots want one side unsigned */
#else
    BYTE_DOTS = 0,
    SIGNED_ZERO = 0,
#endif
    MOST = 4, /* panels in flight */
};

/* What the factors of a group are; panel.h says where they lie. */
enum factor {
    OWN,      /* an f16 scale of each group */
    OWN_PAIR, /* an f16 scale, an f16 minimum */
    PAIR,     /* d * scale, dmin * minimum */
    HALVES,   /* d, a signed scale for each half */
    NIBBLES,  /* d, dmin, a scale and a minimum for each half */
    SIGNED,   /* d * signed scale */
    EXPONENT, /* 2^(e - 128) */
    BLOCK,    /* scale, zero * scale */
};

/* A kind of panel, constant where it is used. */
struct kind {
    int bits;
    enum factor factor;
    int run;    /* words whose byte products fit one 16-bit sum; 0: weights are signed bytes, none do */
    int zero;   /* the code of weight 0, of unsigned codes */
    int groups; /* in a chunk */
    int header; /* bytes before its lines */
    int zen;    /* panels of one token in flight on plain AVX2, MOST elsewhere */
    const int8_t *table; /* what nibbles stand for, NULL: themselves */
};

INLINE bool by_halves(const struct kind kind)
{
    return kind.factor == HALVES || kind.factor == NIBBLES;
}

/* Something times the sum of a token's group is added or taken away. */
INLINE bool with_sum(const struct kind kind)
{
    return kind.factor == PAIR || kind.factor == OWN_PAIR || kind.factor == BLOCK;
}

/* doubled, plus 12 */
static const int8_t mxfp4[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};

/* A block of tokens of a prepared input: q[k/4][lanes][4], the others [group][lanes]; pair is both halves' sums as 16
 * bits. */
struct tokens {
    const int8_t *q;
    const float *scale;
    const int32_t *sum, *pair;
    size_t groups;
};

/* 16-bit lanes shifted left by a constant of either sign. */
INLINE vec shift(vec v, const int by)
{
    return by > 0 ? V(slli_epi16)(v, by) : by < 0 ? V(srli_epi16)(v, -by) : v;
}

/* The words of a group of a part; size: |w| of signed ones. */
struct group {
    vec w[8], size[8];
};

/* The table of nibbles, of unsigned values where dots want them. */
INLINE vec table_of(const struct kind kind)
{
    vec table = kind.table ? sixteen(kind.table) : V(set1_epi8)(0);
    return kind.run ? table : BITS(xor)(table, V(set1_epi8)((char)SIGNED_ZERO));
}

/* Words [from, to) of the 8 words of 4 bytes that a group of a part is. */
INLINE void decode(struct group *of, const struct kind kind, const uint8_t *lines, const int from,
                   const int to, const bool ahead, vec table)
{
    vec *w = of->w;

    const int low = ct_plane_bits(kind.bits), high = kind.bits - low;

    UNROLL for (int i = from; i < to; i++)
    {
        w[i] = load(lines + 64 * (i * low / 8));
        if (ahead && i < kind.bits)
            fetch(lines + 64 * i + AHEAD);
        if (low < 8)
            w[i] = BITS(and)(shift(w[i], -(i * low % 8)), V(set1_epi8)((char)((1 << low) - 1)));
        if (high) {
            vec h = shift(load(lines + 64 * (low + i * high / 8)), low - i * high % 8);
            h = BITS(and)(h, V(set1_epi8)((char)(((1 << high) - 1) << low)));
            w[i] = BITS(or)(w[i], h);
        }
        if (kind.table)
            w[i] = V(shuffle_epi8)(table, w[i]);
        if (kind.bits == 8 && SIGNED_ZERO == 0)
            w[i] = BITS(xor)(w[i], V(set1_epi8)((char)0x80));
        of->size[i] = kind.run ? w[i] : V(abs_epi8)(w[i]);
    }
}

/* The factors of a group of a part. */
struct factors {
    real ws, m;        /* m: what is taken away times the sum */
    vec scale[2];      /* of halves: the same 16 bits twice */
    real weight[2];    /* the same as numbers */
    vec zero, minimum; /* 16 bits for each half */
};

/* 2^(e - 128); the first two are subnormal */
INLINE real power(vec e)
{
    const vec one = V(set1_epi32)(1);
    vec tiny = V(sllv_epi32)(V(set1_epi32)(0x00200000), V(min_epi32)(e, one));
    return as_real(V(max_epi32)(tiny, V(slli_epi32)(V(sub_epi32)(e, one), 23)));
}

INLINE real bf16(const uint8_t *p)
{
    return as_real(V(slli_epi32)(words_unsigned(p), 16));
}

/* chunk is the one that the group is in, g counts within it, row is the first of the part. */
INLINE struct factors factors_of(const struct kind kind, const uint8_t *chunk, int g, int row)
{
    struct factors f = {0};
    const uint8_t *small = chunk + 64;
    vec pair;

    switch (kind.factor) {
    case OWN:
        f.ws = halves(chunk + 32 * g + 2 * row);
        return f;
    case OWN_PAIR:
        f.ws = halves(chunk + 2 * row);
        f.m = halves(chunk + 32 + 2 * row);
        return f;
    case EXPONENT:
        f.ws = power(bytes_unsigned(chunk + CT_PANEL_ROWS * g + row));
        return f;
    case BLOCK:
        f.ws = bf16(chunk + 2 * row);
        f.m = V(mul_ps)(bf16(chunk + 32 + 2 * row), f.ws);
        return f;
    case SIGNED:
        f.ws =
            V(mul_ps)(halves(chunk + 2 * row), V(cvtepi32_ps)(bytes_signed(small + CT_PANEL_ROWS * g + row)));
        return f;
    default:
        break;
    }
    small += 2 * (CT_PANEL_ROWS * g + row);
    pair = kind.factor == HALVES ? pairs_signed(small) : pairs_unsigned(small);
    f.ws = halves(chunk + 2 * row);
    if (kind.factor != HALVES)
        f.m = halves(chunk + 32 + 2 * row);
    if (kind.factor == PAIR) {
        f.ws = V(mul_ps)(f.ws, V(cvtepi32_ps)(BITS(and)(pair, V(set1_epi32)(0xffff))));
        f.m = V(mul_ps)(f.m, V(cvtepi32_ps)(V(srli_epi32)(pair, 16)));
        return f;
    }
    if (kind.factor == NIBBLES) {
        f.minimum = V(srli_epi16)(pair, 4);
        pair = BITS(and)(pair, V(set1_epi16)(15));
    }
#ifdef CT_DOT_VNNI
    f.weight[0] = V(cvtepi32_ps)(V(madd_epi16)(pair, V(set1_epi32)(0x00000001)));
    f.weight[1] = V(cvtepi32_ps)(V(madd_epi16)(pair, V(set1_epi32)(0x00010000)));
#else
    static const uint8_t low[16] = {0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13},
                         high[16] = {2, 3, 2, 3, 6, 7, 6, 7, 10, 11, 10, 11, 14, 15, 14, 15};
    f.zero = V(mullo_epi16)(pair, V(set1_epi16)((short)-kind.zero));
    f.scale[0] = V(shuffle_epi8)(pair, sixteen(low));
    f.scale[1] = V(shuffle_epi8)(pair, sixteen(high));
#endif
    return f;
}

#ifdef CT_DOT_VNNI

/* sum + the products of words [from, to) of a group with a token. */
INLINE vec dot(vec sum, const struct kind kind, const struct factors *f, const struct group *of,
               const int8_t *q, const int lanes, const int from, const int to)
{
    (void)kind, (void)f;
    UNROLL for (int i = from; i < to; i++) sum = DOT_BYTES(sum, of->w[i], same(q + 4 * i * lanes));
    return sum;
}

/* What the scales of the halves, if there are any, make of the products of a group with a token, as a number: integers
 * below 2^24 all the way. `first` has those of the words before `from`; sum and pair are the token's. */
INLINE real total(vec first, const int from, const struct kind kind, const struct factors *f,
                  const struct group *of, const int8_t *q, const int lanes, int32_t sum, int32_t pair)
{
    const int zero = kind.run ? kind.zero : SIGNED_ZERO;

    (void)first, (void)from; /* there are none */
    if (!by_halves(kind))
        return V(cvtepi32_ps)(dot(V(set1_epi32)(-zero * sum), kind, f, of, q, lanes, 0, 8));
    vec a = dot(V(set1_epi32)(-zero * (int16_t)pair), kind, f, of, q, lanes, 0, 4);
    vec b = dot(V(set1_epi32)(-zero * (pair >> 16)), kind, f, of, q, lanes, 4, 8);
    return V(fmadd_ps)(V(cvtepi32_ps)(b), f->weight[1], V(mul_ps)(V(cvtepi32_ps)(a), f->weight[0]));
}

#else

INLINE vec dot(vec sum, const struct kind kind, const struct factors *f, const struct group *of,
               const int8_t *q, const int lanes, const int from, const int to)
{
    const int run = kind.run ? kind.run : 1;

    UNROLL for (int i = from; i < to; i += run)
    {
        vec pairs = kind.run ? V(maddubs_epi16)(of->w[i], same(q + 4 * i * lanes))
                             : signed_pairs(of->size[i], of->w[i], same(q + 4 * i * lanes));
        UNROLL for (int j = i + 1; j < i + run; j++) pairs =
            V(add_epi16)(pairs, V(maddubs_epi16)(of->w[j], same(q + 4 * j * lanes)));
        sum = V(add_epi32)(sum, V(madd_epi16)(pairs, by_halves(kind) ? f->scale[i / 4] : V(set1_epi16)(1)));
    }
    return sum;
}

INLINE real total(vec first, const int from, const struct kind kind, const struct factors *f,
                  const struct group *of, const int8_t *q, const int lanes, int32_t sum, int32_t pair)
{
    vec all = dot(first, kind, f, of, q, lanes, from, 8);

    if (kind.zero && by_halves(kind))
        all = V(add_epi32)(all, V(madd_epi16)(f->zero, V(set1_epi32)(pair)));
    else if (kind.zero)
        all = V(sub_epi32)(all, V(set1_epi32)(kind.zero * sum));
    return V(cvtepi32_ps)(all);
}

#endif

/* acc[t][part] += group g for 16 rows and T tokens; chunk is the one that the group is in, `at` the group in the row. */
INLINE void add_group(real (*acc)[PARTS], const struct kind kind, const uint8_t *chunk, int g,
                      const struct tokens *x, int at, const int lanes, int T, const bool ahead, vec table)
{
    const uint8_t *lines = chunk + kind.header + 64 * kind.bits * g;
    /* plain AVX2 wants two registers for a signed word: those of many tokens are taken in two halves */
    const int half = kind.run || BYTE_DOTS || PARTS == 1 || lanes == 1 ? 0 : 4;
    float sums[TOKENS];
    vec first[TOKENS];

    if (with_sum(kind))
        for (int t0 = 0; t0 < T; t0 += lanes) {
            size_t of = x->groups * (size_t)t0 + (size_t)(at * lanes);
            for (int t = 0; t < lanes; t++)
                sums[t0 + t] = x->scale[of + t] * (float)x->sum[of + t];
        }
    UNROLL for (int part = 0; part < PARTS; part++)
    {
        const struct factors f = factors_of(kind, chunk, g, ROWS * part);
        struct group of;
        if (half)
            decode(&of, kind, lines + 4 * ROWS * part, 0, half, ahead && part == 0, table);
        for (int t0 = 0; half && t0 < T; t0 += lanes) {
            const int8_t *q = x->q + (x->groups * (size_t)t0 + (size_t)(at * lanes)) * CT_GROUP;
            for (int t = 0; t < CT_MIN(lanes, T - t0); t++)
                first[t0 + t] = dot(V(set1_epi32)(0), kind, &f, &of, q + 4 * t, lanes, 0, half);
        }
        decode(&of, kind, lines + 4 * ROWS * part, half, 8, ahead && part == 0, table);
        for (int t0 = 0; t0 < T; t0 += lanes) {
            const size_t of_group = x->groups * (size_t)t0 + (size_t)(at * lanes);
            const int8_t *q = x->q + of_group * CT_GROUP;
            for (int t = 0; t < CT_MIN(lanes, T - t0); t++) {
                real *to = &acc[t0 + t][part], s = V(set1_ps)(x->scale[of_group + t]), a = *to;
                real v = total(half ? first[t0 + t] : V(set1_epi32)(0), half, kind, &f, &of, q + 4 * t, lanes,
                               x->sum[of_group + t], x->pair[of_group + t]);
                a = V(fmadd_ps)(v, V(mul_ps)(f.ws, s), a);
                if (kind.factor == OWN_PAIR)
                    a = V(fmadd_ps)(f.m, V(set1_ps)(sums[t0 + t]), a);
                else if (with_sum(kind))
                    a = V(fnmadd_ps)(f.m, V(set1_ps)(sums[t0 + t]), a);
                if (kind.factor == NIBBLES) {
                    vec sum = V(madd_epi16)(f.minimum, V(set1_epi32)(x->pair[of_group + t]));
                    a = V(fnmadd_ps)(f.m, V(mul_ps)(s, V(cvtepi32_ps)(sum)), a);
                }
                *to = a;
            }
        }
    }
}

/* `panels` panels and T tokens. */
INLINE void tile(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0, int rows,
                 const struct tokens *x, int groups, const int panels, const int lanes, int T, bool ahead)
{
    const uint8_t *chunk = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;
    const vec table = table_of(kind);
    real acc[MOST * TOKENS][PARTS];

    UNROLL for (int j = 0; j < panels; j++) for (int t = 0; t < T; t++) UNROLL for (int i = 0; i < PARTS; i++)
        acc[j * TOKENS + t][i] = V(setzero_ps)();
    for (int g0 = 0; g0 < groups; g0 += kind.groups) {
        if (ahead)
            UNROLL for (int j = 0; j < panels; j++) UNROLL for (int i = 0; i < kind.header; i += 64)
                fetch(chunk + (size_t)j * w->row_bytes + i + AHEAD);
        for (int g = 0; g < CT_MIN(kind.groups, groups - g0); g++)
            UNROLL for (int j = 0; j < panels; j++)
                add_group(acc + j * TOKENS, kind, chunk + (size_t)j * w->row_bytes, g, x, g0 + g, lanes, T,
                          ahead, table);
        chunk += kind.header + kind.groups * 64 * kind.bits;
    }
    UNROLL for (int j = 0; j < panels; j++) for (int t = 0; t < T; t++)
        store(out + (size_t)t * ldo + r0 + j * CT_PANEL_ROWS, acc[j * TOKENS + t], rows, w->scale);
}

INLINE void project(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0, int r1,
                    const struct ct_prepared *p)
{
    const int groups = p->cols / CT_GROUP;

    if (p->n == 1) {
        const int at_once = BYTE_DOTS || PARTS == 1 ? MOST : kind.zen;
        struct tokens x = {p->q, p->scale, p->sum, p->sum + groups, (size_t)groups};
        for (; r0 + at_once * CT_PANEL_ROWS <= r1; r0 += at_once * CT_PANEL_ROWS)
            tile(out, ldo, kind, w, r0, CT_PANEL_ROWS, &x, groups, at_once, 1, 1, true);
        for (; r0 < r1; r0 += CT_PANEL_ROWS)
            tile(out, ldo, kind, w, r0, CT_MIN(CT_PANEL_ROWS, r1 - r0), &x, groups, 1, 1, 1, true);
        return;
    }
    const size_t tokens = ct_round_up((size_t)p->n, CT_LANES);
    for (; r0 < r1; r0 += CT_PANEL_ROWS)
        for (int t = 0; t < p->n; t += TOKENS) {
            size_t g = (size_t)t * (size_t)groups;
            struct tokens x = {p->q + (size_t)t * (size_t)p->cols, p->scale + g, p->sum + g,
                               p->sum + tokens * (size_t)groups + g, (size_t)groups};
            tile(out + (size_t)t * ldo, ldo, kind, w, r0, CT_MIN(CT_PANEL_ROWS, r1 - r0), &x, groups, 1,
                 CT_LANES, CT_MIN(TOKENS, p->n - t), t == 0);
        }
}

void CT_NAME(ct_project_planes)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x)
{
    /* Byte products of `run` words: 2 * run * 127 * the largest code is below 2^15. */
    switch (w->type) {
#define KIND(type, ...)                                                                                      \
    case type:                                                                                               \
        project(out, ldo, (struct kind){__VA_ARGS__}, w, r0, r1, x);                                         \
        break;
        KIND(CT_Q5_0, 5, OWN, 4, 16, 2, 64, 1, NULL)
        KIND(CT_Q5_1, 5, OWN_PAIR, 4, 0, 1, 64, 1, NULL)
        KIND(CT_Q2_K, 2, NIBBLES, 4, 0, 8, 320, 1, NULL)
        KIND(CT_Q3_K, 3, HALVES, 4, 4, 8, 320, 1, NULL)
        KIND(CT_Q4_K, 4, PAIR, 8, 0, 8, 320, 4, NULL)
        KIND(CT_Q5_K, 5, PAIR, 4, 0, 8, 320, 1, NULL)
        KIND(CT_Q6_K, 6, HALVES, 2, 32, 8, 320, 1, NULL)
        KIND(CT_IQ4_XS, 4, SIGNED, 0, 0, 8, 192, 1, ct_iq4_values)
        KIND(CT_MXFP4, 4, EXPONENT, 4, 12, 4, 64, 1, mxfp4)
        KIND(CT_I8, 8, BLOCK, 0, 0, 4, 64, 4, NULL)
#undef KIND
    default:
        break; /* no other type lies in planes */
    }
}

#endif
