/* panel_planes_avx2.c: products over panels of planes (K-quants, IQ4_XS, MXFP4, I8) for 256-bit vectors; the inputs and
 * all other panels are panel_avx2.c's. Eight words of weights are decoded once and stay in registers for all tokens of a
 * block. Lanes are rows, so every sum is the chain of NUMERICS.md section 4. Layout: panel.h. */
#include <immintrin.h>

#include "kernel/panel.h"
#include "kernel/ref_math.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#define AHEAD  2048 /* bytes between a line and what is prefetched with it */

enum {
    MOST = 4,   /* panels in flight */
    BLOCKS = 4, /* blocks of tokens that share decoded weights */
    TOKENS = BLOCKS * CT_LANES,
};

/* What the factors of a group are; panel.h says where they lie. */
enum factor {
    PAIR,     /* d * scale, dmin * minimum */
    HALVES,   /* d, a signed scale for each half */
    NIBBLES,  /* d, dmin, a scale and a minimum for each half */
    SIGNED,   /* d * signed scale */
    EXPONENT, /* 2^(e - 128) */
    BLOCK,    /* scale, zero * scale */
};

/* A kind of panel, constant where it is used. */
struct kind {
    enum ct_type type;
    int bits;
    enum factor factor;
    int run;     /* words whose byte products fit one 16-bit sum; 0: weights are signed bytes, none do */
    int zero;    /* unsigned codes: the code of weight 0 */
    int at_once; /* panels of one token in flight: as many streams from memory */
    const int8_t *table; /* what nibbles stand for, NULL: themselves */
};

INLINE bool by_halves(const struct kind kind)
{
    return kind.factor == HALVES || kind.factor == NIBBLES;
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

INLINE __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

INLINE void fetch(const uint8_t *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

INLINE __m128i load_half(const uint8_t *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* The same 4 bytes in every lane. */
INLINE __m256i same(const void *p)
{
    int32_t v;
    memcpy(&v, p, 4);
    return _mm256_set1_epi32(v);
}

/* 16-bit lanes shifted left by a constant of either sign. */
INLINE __m256i shift(__m256i v, const int by)
{
    return by > 0 ? _mm256_slli_epi16(v, by) : by < 0 ? _mm256_srli_epi16(v, -by) : v;
}

/* Words [from, to) of the 8 words of 4 bytes that a group of 8 rows is. */
INLINE void decode(__m256i w[8], const struct kind kind, const uint8_t *lines, const int from, const int to,
                   const bool ahead, __m256i table)
{
    const int low = ct_plane_bits(kind.bits), high = kind.bits - low;

    UNROLL for (int i = from; i < to; i++)
    {
        w[i] = load(lines + 64 * (i * low / 8));
        if (ahead && i < kind.bits)
            fetch(lines + 64 * i + AHEAD);
        if (low < 8)
            w[i] = _mm256_and_si256(shift(w[i], -(i * low % 8)), _mm256_set1_epi8((char)((1 << low) - 1)));
        if (high) {
            __m256i h = shift(load(lines + 64 * (low + i * high / 8)), low - i * high % 8);
            h = _mm256_and_si256(h, _mm256_set1_epi8((char)(((1 << high) - 1) << low)));
            w[i] = _mm256_or_si256(w[i], h);
        }
        if (kind.table)
            w[i] = _mm256_shuffle_epi8(table, w[i]);
        if (kind.bits == 8)
            w[i] = _mm256_xor_si256(w[i], _mm256_set1_epi8((char)0x80));
    }
}

/* The factors of a group of 8 rows. */
struct factors {
    __m256 ws, m;          /* m: what is taken away times the sum */
    __m256i scale[2];      /* of halves: the same 16 bits twice */
    __m256i zero, minimum; /* 16 bits for each half */
};

/* chunk + 16 * half is where the rows begin; g counts within the chunk. */
INLINE struct factors factors_of(const struct kind kind, const uint8_t *chunk, int g, int half)
{
    struct factors f = {0};
    const uint8_t *small = chunk + (kind.factor == EXPONENT ? 0 : 64);
    __m256i pair, v;

    if (kind.factor == EXPONENT) {
        v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(small + 16 * g + 8 * half)));
        __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(v, _mm256_set1_epi32(1)), 23);
        __m256i tiny = _mm256_sllv_epi32(_mm256_set1_epi32(0x00200000), v); /* the first two are subnormal */
        f.ws = _mm256_castsi256_ps(
            _mm256_blendv_epi8(tiny, normal, _mm256_cmpgt_epi32(v, _mm256_set1_epi32(1))));
        return f;
    }
    if (kind.factor == BLOCK) {
        f.ws =
            _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_half(chunk + 16 * half)), 16));
        f.m = _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_cvtepu16_epi32(load_half(chunk + 32 + 16 * half)), 16));
        f.m = _mm256_mul_ps(f.m, f.ws);
        return f;
    }
    f.ws = _mm256_cvtph_ps(load_half(chunk + 16 * half));
    if (kind.factor == SIGNED) {
        v = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(small + 16 * g + 8 * half)));
        f.ws = _mm256_mul_ps(f.ws, _mm256_cvtepi32_ps(v));
        return f;
    }
    if (kind.factor == HALVES)
        pair = _mm256_cvtepi8_epi16(load_half(small + 32 * g + 16 * half));
    else
        pair = _mm256_cvtepu8_epi16(load_half(small + 32 * g + 16 * half));
    if (kind.factor != HALVES)
        f.m = _mm256_cvtph_ps(load_half(chunk + 32 + 16 * half));
    if (kind.factor == PAIR) {
        f.ws = _mm256_mul_ps(f.ws, _mm256_cvtepi32_ps(_mm256_and_si256(pair, _mm256_set1_epi32(0xffff))));
        f.m = _mm256_mul_ps(f.m, _mm256_cvtepi32_ps(_mm256_srli_epi32(pair, 16)));
        return f;
    }
    if (kind.factor == NIBBLES) {
        f.minimum = _mm256_srli_epi16(pair, 4);
        pair = _mm256_and_si256(pair, _mm256_set1_epi16(15));
    }
    f.zero = _mm256_mullo_epi16(pair, _mm256_set1_epi16((short)-kind.zero));
    f.scale[0] = _mm256_blend_epi16(pair, _mm256_slli_epi32(pair, 16), 0xaa);
    f.scale[1] = _mm256_blend_epi16(pair, _mm256_srli_epi32(pair, 16), 0x55);
    return f;
}

/* sum + the products of words [from, to) of a group of 8 rows with a token, scaled by halves where the kind has them;
 * size is |w| where weights are signed. */
INLINE __m256i dot(__m256i sum, const struct kind kind, const __m256i w[8], const __m256i size[8],
                   const __m256i scale[2], const int8_t *q, const int lanes, const int from, const int to)
{
    const int run = kind.run ? kind.run : 1;

    UNROLL for (int i = from; i < to; i += run)
    {
        __m256i pairs = _mm256_setzero_si256();
        if (kind.run)
            UNROLL for (int j = i; j < i + run; j++) pairs =
                _mm256_add_epi16(pairs, _mm256_maddubs_epi16(w[j], same(q + 4 * j * lanes)));
        else /* |w| is at most 128 and |x| at most 127: 2 * 128 * 127 = 32512 fits 16 bits */
            pairs = _mm256_maddubs_epi16(size[i], _mm256_sign_epi8(same(q + 4 * i * lanes), w[i]));
        sum = _mm256_add_epi32(
            sum, _mm256_madd_epi16(pairs, by_halves(kind) ? scale[i / 4] : _mm256_set1_epi16(1)));
    }
    return sum;
}

/* acc[half][t] += group g for 16 rows and T tokens; chunk is the one that the group is in, `at` the group in the row. */
INLINE void add_group(__m256 *acc, const struct kind kind, const uint8_t *chunk, int g, const uint8_t *lines,
                      const struct tokens *x, int at, const int lanes, int T, const bool ahead, __m256i table)
{
    const size_t of_group = (size_t)at * (size_t)lanes;
    /* signed weights want two registers a word: those of many tokens are taken in two parts */
    const int part = kind.run || lanes == 1 ? 0 : 4;
    __m256i first[TOKENS];
    float sums[TOKENS];

    if (kind.factor == PAIR || kind.factor == BLOCK)
        for (int t0 = 0; t0 < T; t0 += lanes)
            for (int t = 0; t < lanes; t++)
                sums[t0 + t] =
                    x->scale[x->groups * t0 + of_group + t] * (float)x->sum[x->groups * t0 + of_group + t];
    UNROLL for (int half = 0; half < 2; half++)
    {
        const struct factors f = factors_of(kind, chunk, g, half);
        __m256i w[8], size[8];
        decode(w, kind, lines + 32 * half, 0, part, ahead && half == 0, table);
        UNROLL for (int i = 0; i < part; i++) size[i] = _mm256_abs_epi8(w[i]);
        for (int t0 = 0; part && t0 < T; t0 += lanes) {
            const int8_t *q = x->q + (x->groups * t0 + of_group) * CT_GROUP;
            for (int t = 0; t < CT_MIN(lanes, T - t0); t++)
                first[t0 + t] =
                    dot(_mm256_setzero_si256(), kind, w, size, f.scale, q + 4 * t, lanes, 0, part);
        }
        decode(w, kind, lines + 32 * half, part, 8, ahead && half == 0, table);
        if (!kind.run)
            UNROLL for (int i = part; i < 8; i++) size[i] = _mm256_abs_epi8(w[i]);
        for (int t0 = 0; t0 < T; t0 += lanes) {
            const int8_t *q = x->q + (x->groups * t0 + of_group) * CT_GROUP;
            const float *xs = x->scale + x->groups * t0 + of_group;
            const int32_t *sum = x->sum + x->groups * t0 + of_group,
                          *pair = x->pair + x->groups * t0 + of_group;
            for (int t = 0; t < CT_MIN(lanes, T - t0); t++) {
                __m256 *to = &acc[half * TOKENS + t0 + t], s = _mm256_set1_ps(xs[t]), a = *to;
                __m256i isum = part ? first[t0 + t] : _mm256_setzero_si256();
                isum = dot(isum, kind, w, size, f.scale, q + 4 * t, lanes, part, 8);
                if (kind.zero && by_halves(kind))
                    isum = _mm256_add_epi32(isum, _mm256_madd_epi16(f.zero, _mm256_set1_epi32(pair[t])));
                else if (kind.zero)
                    isum = _mm256_sub_epi32(isum, _mm256_set1_epi32(kind.zero * sum[t]));
                a = _mm256_fmadd_ps(_mm256_cvtepi32_ps(isum), _mm256_mul_ps(f.ws, s), a);
                if (kind.factor == PAIR || kind.factor == BLOCK)
                    a = _mm256_fnmadd_ps(f.m, _mm256_set1_ps(sums[t0 + t]), a);
                if (kind.factor == NIBBLES) {
                    __m256i msum = _mm256_madd_epi16(f.minimum, _mm256_set1_epi32(pair[t]));
                    a = _mm256_fnmadd_ps(f.m, _mm256_mul_ps(s, _mm256_cvtepi32_ps(msum)), a);
                }
                *to = a;
            }
        }
    }
}

INLINE void store(float *out, __m256 low, __m256 high, int rows, float scale)
{
    __m256 s = _mm256_set1_ps(scale);
    float all[CT_PANEL_ROWS];

    _mm256_storeu_ps(all, _mm256_mul_ps(low, s));
    _mm256_storeu_ps(all + 8, _mm256_mul_ps(high, s));
    memcpy(out, all, (size_t)rows * sizeof *out);
}

/* `panels` panels and T tokens. */
INLINE void tile(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0, int rows,
                 const struct tokens *x, int groups, const int panels, const int lanes, int T, bool ahead)
{
    const int in_chunk = kind.factor == EXPONENT || kind.factor == BLOCK ? 4 : 8, line_bytes = 64 * kind.bits;
    const int factors = kind.factor == BLOCK ? 0 : kind.factor == EXPONENT || kind.factor == SIGNED ? 1 : 2;
    const int header = (kind.factor == EXPONENT ? 0 : 64) + in_chunk * CT_PANEL_ROWS * factors;
    const int chunk_bytes = header + in_chunk * line_bytes;
    const uint8_t *chunk = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * w->row_bytes;
    __m256i table = _mm256_setzero_si256();
    __m256 acc[MOST * 2 * TOKENS];

    if (kind.table)
        table = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)kind.table));
    UNROLL for (int j = 0; j < panels; j++) for (int t = 0; t < T; t++) acc[2 * j * TOKENS + t] =
        acc[(2 * j + 1) * TOKENS + t] = _mm256_setzero_ps();
    for (int g0 = 0; g0 < groups; g0 += in_chunk, chunk += chunk_bytes) {
        if (ahead)
            UNROLL for (int j = 0; j < panels; j++) UNROLL for (int i = 0; i < header; i += 64)
                fetch(chunk + (size_t)j * w->row_bytes + i + AHEAD);
        for (int g = 0; g < in_chunk && g0 + g < groups; g++)
            UNROLL for (int j = 0; j < panels; j++)
            {
                const uint8_t *c = chunk + (size_t)j * w->row_bytes, *lines = c + header + g * line_bytes;
                add_group(acc + j * 2 * TOKENS, kind, c, g, lines, x, g0 + g, lanes, T, ahead, table);
            }
    }
    UNROLL for (int j = 0; j < panels; j++) for (int t = 0; t < T; t++)
        store(out + (size_t)t * ldo + r0 + j * CT_PANEL_ROWS, acc[2 * j * TOKENS + t],
              acc[(2 * j + 1) * TOKENS + t], rows, w->scale);
}

INLINE void project(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0, int r1,
                    const struct ct_prepared *p)
{
    const int groups = p->cols / CT_GROUP;

    if (p->n == 1) {
        const int together = kind.at_once * CT_PANEL_ROWS;
        struct tokens x = {p->q, p->scale, p->sum, p->sum + groups, (size_t)groups};
        for (; r0 + together <= r1; r0 += together)
            tile(out, ldo, kind, w, r0, CT_PANEL_ROWS, &x, groups, kind.at_once, 1, 1, true);
        for (; r0 < r1; r0 += CT_PANEL_ROWS)
            tile(out, ldo, kind, w, r0, CT_MIN(CT_PANEL_ROWS, r1 - r0), &x, groups, 1, 1, 1, true);
        return;
    }
    const size_t tokens = (size_t)(p->n + CT_LANES - 1) / CT_LANES * CT_LANES;
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
    /* Where decoding takes longer than memory one stream is faster than four. Byte products of `run` words:
     * 2 * run * 127 * the largest code is below 2^15. */
    switch (w->type) {
    case CT_Q2_K:
        project(out, ldo, (struct kind){CT_Q2_K, 2, NIBBLES, 4, 0, 1, NULL}, w, r0, r1, x);
        break;
    case CT_Q3_K:
        project(out, ldo, (struct kind){CT_Q3_K, 3, HALVES, 4, 4, 1, NULL}, w, r0, r1, x);
        break;
    case CT_Q4_K:
        project(out, ldo, (struct kind){CT_Q4_K, 4, PAIR, 8, 0, 4, NULL}, w, r0, r1, x);
        break;
    case CT_Q5_K:
        project(out, ldo, (struct kind){CT_Q5_K, 5, PAIR, 4, 0, 1, NULL}, w, r0, r1, x);
        break;
    case CT_Q6_K:
        project(out, ldo, (struct kind){CT_Q6_K, 6, HALVES, 2, 32, 1, NULL}, w, r0, r1, x);
        break;
    case CT_IQ4_XS:
        project(out, ldo, (struct kind){CT_IQ4_XS, 4, SIGNED, 0, 0, 1, ct_iq4_values}, w, r0, r1, x);
        break;
    case CT_MXFP4:
        project(out, ldo, (struct kind){CT_MXFP4, 4, EXPONENT, 4, 12, 4, mxfp4}, w, r0, r1, x);
        break;
    default:
        project(out, ldo, (struct kind){CT_I8, 8, BLOCK, 0, 0, 4, NULL}, w, r0, r1, x);
    }
}
