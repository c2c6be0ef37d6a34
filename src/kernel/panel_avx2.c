/* panel_avx2.c: products over panels for 256-bit vectors: one token (bound by memory) and tiles of tokens (bound by
 * arithmetic). Compiled for AVX2 and again for AVX-VNNI, where a byte dot is one instruction (DOT_VNNI). Lanes are rows,
 * so every sum is the chain that NUMERICS.md sections 3 to 5 ask for. Layout: panel.h; everything else: ref*.c. */
#include <immintrin.h>

#include "kernel/panel.h"
#include "kernel/ref.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#define AHEAD  2048 /* bytes between a line and what is prefetched with it */

enum { AT_ONCE = 4 }; /* panels of one token in flight: as many streams from memory */

INLINE __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

INLINE void fetch(const uint8_t *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T1);
}

/* 4 bytes of x in every lane. */
INLINE __m256i quad(const int8_t *x)
{
    int32_t v;
    memcpy(&v, x, 4);
    return _mm256_set1_epi32(v);
}

/* Half a panel's scales (or minima) as f32. */
INLINE __m256 halves(const uint8_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}

/* ---- integers: one group of 32 k, 8 rows, T tokens ---- */

/* What the bytes of a line mean. */
enum code {
    BYTE,   /* weight + 128 */
    NIBBLE, /* weight + 8 (Q4_0), or weight (Q4_1): unsigned */
    TABLE,  /* nibbles that stand for the bytes of a table */
};

/* sum[t] += dot of 4 k: signed weights w of 8 rows with x. |w| is at most 128 and |x| at most 127, so two products fit
 * 16 bits: 2 * 128 * 127 = 32512. */
INLINE __m256i dot_signed(__m256i sum, __m256i magnitude, __m256i w, __m256i x)
{
    __m256i pairs = _mm256_maddubs_epi16(magnitude, _mm256_sign_epi8(x, w));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}

INLINE void bytes_group(__m256i *sum, const uint8_t *line, const int8_t *const *x, const int T, const bool ahead)
{
    for (int t = 0; t < T; t++)
        sum[t] = _mm256_setzero_si256();
    UNROLL for (int i = 0; i < 8; i++) {
        __m256i w = _mm256_xor_si256(load(line + 64 * i), _mm256_set1_epi8((char)0x80));
        __m256i magnitude = _mm256_abs_epi8(w);
        if (ahead)
            fetch(line + 64 * i + AHEAD);
        UNROLL for (int t = 0; t < T; t++)
            sum[t] = dot_signed(sum[t], magnitude, w, quad(x[t] + 4 * i));
    }
}

/* Unsigned nibbles: eight products of at most 15 * 127 * 2 = 3810 fit 16 bits, so pairs are added once a group. */
INLINE void nibbles_group(__m256i *sum, const uint8_t *line, const int8_t *const *x, const int T, const bool ahead)
{
    const __m256i low = _mm256_set1_epi8(15);
    for (int t = 0; t < T; t++)
        sum[t] = _mm256_setzero_si256();
    UNROLL for (int i = 0; i < 4; i++) {
        __m256i w = load(line + 64 * i);
        __m256i a = _mm256_and_si256(w, low), b = _mm256_and_si256(_mm256_srli_epi16(w, 4), low);
        if (ahead)
            fetch(line + 64 * i + AHEAD);
        UNROLL for (int t = 0; t < T; t++) {
            sum[t] = _mm256_add_epi16(sum[t], _mm256_maddubs_epi16(a, quad(x[t] + 8 * i)));
            sum[t] = _mm256_add_epi16(sum[t], _mm256_maddubs_epi16(b, quad(x[t] + 8 * i + 4)));
        }
    }
    for (int t = 0; t < T; t++)
        sum[t] = _mm256_madd_epi16(sum[t], _mm256_set1_epi16(1));
}

/* Nibbles that stand for signed bytes. */
INLINE void table_group(__m256i *sum, const uint8_t *line, const int8_t *const *x, const int T, const bool ahead,
                        __m256i table)
{
    const __m256i low = _mm256_set1_epi8(15);
    for (int t = 0; t < T; t++)
        sum[t] = _mm256_setzero_si256();
    UNROLL for (int i = 0; i < 8; i++) {
        __m256i n = load(line + 64 * (i / 2));
        __m256i w = _mm256_shuffle_epi8(table, _mm256_and_si256(i % 2 ? _mm256_srli_epi16(n, 4) : n, low));
        __m256i magnitude = _mm256_abs_epi8(w);
        if (ahead && i % 2 == 0)
            fetch(line + 64 * (i / 2) + AHEAD);
        UNROLL for (int t = 0; t < T; t++)
            sum[t] = dot_signed(sum[t], magnitude, w, quad(x[t] + 4 * i));
    }
}

/* A kind of integer panel, constant where it is used. */
struct kind {
    enum code code;
    bool minimum;
    int zero; /* what to take from an unsigned code: the sum of x times this */
    const int8_t *table;
};

/* Tokens of an integer input. */
struct tokens {
    const int8_t *q;
    const float *scale;
    const int32_t *sum;
    int cols, groups; /* from one token to the next */
};

/* acc[half][t] += group g of one chunk, for 16 rows and T tokens. */
INLINE void add_group(__m256 *acc, const struct kind kind, const uint8_t *chunk, int g, const struct tokens *x,
                      const int T, const bool ahead, __m256i table)
{
    const int8_t *q[8];
    const uint8_t *lines = chunk + (kind.minimum ? 128 : 64) + (g & 1) * (kind.code == BYTE ? 512 : 256);

    for (int t = 0; t < T; t++)
        q[t] = x->q + (size_t)t * (size_t)x->cols + (size_t)g * CT_GROUP;
    UNROLL for (int half = 0; half < 2; half++) {
        __m256i sum[8];
        if (kind.code == BYTE)
            bytes_group(sum, lines + 32 * half, q, T, ahead && half == 0);
        else if (kind.code == NIBBLE)
            nibbles_group(sum, lines + 32 * half, q, T, ahead && half == 0);
        else
            table_group(sum, lines + 32 * half, q, T, ahead && half == 0, table);
        __m256 ws = halves(chunk + 32 * (g & 1) + 16 * half);
        UNROLL for (int t = 0; t < T; t++) {
            size_t at = (size_t)t * (size_t)x->groups + (size_t)g;
            if (kind.zero)
                sum[t] = _mm256_sub_epi32(sum[t], _mm256_set1_epi32(kind.zero * x->sum[at]));
            __m256 xs = _mm256_set1_ps(x->scale[at]), *a = &acc[half * T + t];
            *a = _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum[t]), _mm256_mul_ps(ws, xs), *a);
            if (kind.minimum)
                *a = _mm256_fmadd_ps(halves(chunk + 64 + 32 * (g & 1) + 16 * half),
                                     _mm256_set1_ps(x->scale[at] * (float)x->sum[at]), *a);
        }
    }
}

INLINE void store(float *out, size_t ldo, const __m256 *acc, const int T, int rows)
{
    for (int t = 0; t < T; t++) {
        float *to = out + (size_t)t * ldo;
        if (rows == CT_PANEL_ROWS) {
            _mm256_storeu_ps(to, acc[t]);
            _mm256_storeu_ps(to + 8, acc[T + t]);
        } else {
            float all[CT_PANEL_ROWS];
            _mm256_storeu_ps(all, acc[t]);
            _mm256_storeu_ps(all + 8, acc[T + t]);
            memcpy(to, all, (size_t)rows * sizeof *to);
        }
    }
}

/* A panel of integers and T tokens. */
INLINE void tile(float *out, size_t ldo, const struct kind kind, const uint8_t *panel, int rows, struct tokens x,
                 const int T, const bool ahead)
{
    const int chunk_bytes = (kind.minimum ? 128 : 64) + (kind.code == BYTE ? 1024 : 512);
    __m256i table = kind.table ? _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)kind.table))
                               : _mm256_setzero_si256();
    __m256 acc[16];

    for (int i = 0; i < 2 * T; i++)
        acc[i] = _mm256_setzero_ps();
    for (int g = 0; g < x.groups; g++) {
        if (ahead && g % 2 == 0)
            fetch(panel + AHEAD);
        add_group(acc, kind, panel, g, &x, T, ahead, table);
        panel += g % 2 ? chunk_bytes : 0;
    }
    store(out, ldo, acc, T, rows);
}

/* AT_ONCE panels, `apart` bytes from one to the next, and one token. */
INLINE void column(float *out, const struct kind kind, const uint8_t *panel, size_t apart, struct tokens x)
{
    const int chunk_bytes = (kind.minimum ? 128 : 64) + (kind.code == BYTE ? 1024 : 512);
    __m256i table = kind.table ? _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)kind.table))
                               : _mm256_setzero_si256();
    __m256 acc[AT_ONCE][2];

    for (int j = 0; j < AT_ONCE; j++)
        acc[j][0] = acc[j][1] = _mm256_setzero_ps();
    for (int g = 0; g < x.groups; g++) {
        UNROLL for (int j = 0; j < AT_ONCE; j++) {
            if (g % 2 == 0)
                fetch(panel + j * apart + AHEAD);
            add_group(acc[j], kind, panel + j * apart, g, &x, 1, true, table);
        }
        panel += g % 2 ? chunk_bytes : 0;
    }
    for (int j = 0; j < AT_ONCE; j++)
        store(out + CT_PANEL_ROWS * j, 0, acc[j], 1, CT_PANEL_ROWS);
}

INLINE void integers(float *out, size_t ldo, const struct kind kind, const struct ct_weight *w, int r0, int r1,
                     const struct ct_prepared *p)
{
    size_t apart = w->row_bytes;
    const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * apart;
    const struct tokens all = {p->q, p->scale, p->sum, p->cols, p->cols / CT_GROUP};

    for (; p->n == 1 && r0 + AT_ONCE * CT_PANEL_ROWS <= r1; r0 += AT_ONCE * CT_PANEL_ROWS, panel += AT_ONCE * apart)
        column(out + r0, kind, panel, apart, all);
    for (; r0 < r1; r0 += CT_PANEL_ROWS, panel += apart) {
        int rows = CT_MIN(CT_PANEL_ROWS, r1 - r0), t = 0;
        struct tokens x = all;
#define TILES(T)                                                                                                   \
    for (; t + T <= p->n; t += T) {                                                                                \
        tile(out + (size_t)t * ldo + r0, ldo, kind, panel, rows, x, T, t == 0);                                    \
        x.q += (size_t)T * (size_t)x.cols;                                                                         \
        x.scale += (size_t)T * (size_t)x.groups;                                                                   \
        x.sum += (size_t)T * (size_t)x.groups;                                                                     \
    }
        TILES(8)
        TILES(4)
        TILES(2)
        TILES(1)
#undef TILES
    }
}

/* ---- floats: two chains a group (sections 3 and 5) ---- */

/* Weights of 8 rows for k = 2i and 2i + 1 of a chunk. */
INLINE void pair(__m256 *even, __m256 *odd, const enum ct_type type, const uint8_t *lines, int i, int half)
{
    if (type == CT_F32) {
        *even = _mm256_loadu_ps((const float *)(const void *)(lines + 128 * i + 32 * half));
        *odd = _mm256_loadu_ps((const float *)(const void *)(lines + 128 * i + 64 + 32 * half));
        return;
    }
    __m256i both = load(lines + 64 * i + 32 * half);
    if (type == CT_BF16) {
        *even = _mm256_castsi256_ps(_mm256_slli_epi32(both, 16));
        *odd = _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32((int32_t)0xffff0000)));
    } else { /* f16: the low halves, then the high ones, side by side */
        __m256i sorted = _mm256_shuffle_epi8(
            both, _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0, 1, 4, 5, 8, 9, 12, 13, 2, 3,
                                   6, 7, 10, 11, 14, 15));
        sorted = _mm256_permute4x64_epi64(sorted, 0xd8);
        *even = _mm256_cvtph_ps(_mm256_castsi256_si128(sorted));
        *odd = _mm256_cvtph_ps(_mm256_extracti128_si256(sorted, 1));
    }
}

/* acc[2][T] += a chunk of 32 k; x[k][stride]. */
INLINE void add_floats(__m256 *acc, const enum ct_type type, const uint8_t *lines, const float *x, int stride,
                       const int T, const bool ahead)
{
    __m256 e[2 * 4], o[2 * 4];

    for (int i = 0; i < 2 * T; i++)
        e[i] = o[i] = _mm256_setzero_ps();
    UNROLL for (int i = 0; i < 16; i++) {
        if (ahead) {
            fetch(lines + (type == CT_F32 ? 128 : 64) * i + AHEAD);
            if (type == CT_F32)
                fetch(lines + 128 * i + 64 + AHEAD);
        }
        UNROLL for (int half = 0; half < 2; half++) {
            __m256 even, odd;
            pair(&even, &odd, type, lines, i, half);
            UNROLL for (int t = 0; t < T; t++) {
                e[half * T + t] = _mm256_fmadd_ps(even, _mm256_set1_ps(x[2 * i * stride + t]), e[half * T + t]);
                o[half * T + t] = _mm256_fmadd_ps(odd, _mm256_set1_ps(x[(2 * i + 1) * stride + t]), o[half * T + t]);
            }
        }
    }
    for (int i = 0; i < 2 * T; i++)
        acc[i] = _mm256_add_ps(acc[i], _mm256_add_ps(e[i], o[i]));
}

INLINE void floats_tile(float *out, size_t ldo, const enum ct_type type, const uint8_t *panel, int rows, int chunks,
                        const float *x, int stride, const int T, const bool ahead)
{
    const int chunk_bytes = type == CT_F32 ? 2048 : 1024;
    __m256 acc[2 * 4];

    for (int i = 0; i < 2 * T; i++)
        acc[i] = _mm256_setzero_ps();
    for (int c = 0; c < chunks; c++, panel += chunk_bytes, x += CT_GROUP * stride)
        add_floats(acc, type, panel, x, stride, T, ahead);
    store(out, ldo, acc, T, rows);
}

INLINE void floats_column(float *out, const enum ct_type type, const uint8_t *panel, size_t apart, int chunks,
                          const float *x)
{
    const int chunk_bytes = type == CT_F32 ? 2048 : 1024;
    __m256 acc[AT_ONCE][2];

    for (int j = 0; j < AT_ONCE; j++)
        acc[j][0] = acc[j][1] = _mm256_setzero_ps();
    for (int c = 0; c < chunks; c++, panel += chunk_bytes, x += CT_GROUP)
        UNROLL for (int j = 0; j < AT_ONCE; j++)
            add_floats(acc[j], type, panel + j * apart, x, 1, 1, true);
    for (int j = 0; j < AT_ONCE; j++)
        store(out + CT_PANEL_ROWS * j, 0, acc[j], 1, CT_PANEL_ROWS);
}

INLINE void floats(float *out, size_t ldo, const enum ct_type type, const struct ct_weight *w, int r0, int r1,
                   const struct ct_prepared *p)
{
    size_t apart = w->row_bytes, padded = (size_t)ct_pad_group(p->cols);
    const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * apart;
    int chunks = ct_pad_group(p->cols) / CT_GROUP;

    for (; p->n == 1 && r0 + AT_ONCE * CT_PANEL_ROWS <= r1; r0 += AT_ONCE * CT_PANEL_ROWS, panel += AT_ONCE * apart)
        floats_column(out + r0, type, panel, apart, chunks, p->value);
    for (; r0 < r1; r0 += CT_PANEL_ROWS, panel += apart) {
        int rows = CT_MIN(CT_PANEL_ROWS, r1 - r0);
        if (p->n == 1)
            floats_tile(out + r0, ldo, type, panel, rows, chunks, p->value, 1, 1, true);
        for (int t = 0; p->n > 1 && t < p->n; t += CT_LANES) {
            const float *x = p->value + (size_t)t * padded;
            int left = p->n - t;
#define TILE(at, T) floats_tile(out + (size_t)(t + at) * ldo + r0, ldo, type, panel, rows, chunks, x + at, CT_LANES, T, \
                                t == 0 && at == 0)
            if (left >= 8) {
                TILE(0, 3);
                TILE(3, 3);
                TILE(6, 2);
            } else {
                int at = 0;
                for (; at + 3 <= left; at += 3)
                    TILE(at, 3);
                if (left - at == 2)
                    TILE(at, 2);
                else if (left - at == 1)
                    TILE(at, 1);
            }
#undef TILE
        }
    }
}

void CT_NAME(ct_project_panels)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                                const struct ct_prepared *x)
{
    static const int8_t iq4_nl[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

    switch (w->type) {
    case CT_F32:
        floats(out, ldo, CT_F32, w, r0, r1, x);
        break;
    case CT_F16:
        floats(out, ldo, CT_F16, w, r0, r1, x);
        break;
    case CT_BF16:
        floats(out, ldo, CT_BF16, w, r0, r1, x);
        break;
    case CT_Q4_0:
        integers(out, ldo, (struct kind){NIBBLE, false, 8, NULL}, w, r0, r1, x);
        break;
    case CT_Q4_1:
        integers(out, ldo, (struct kind){NIBBLE, true, 0, NULL}, w, r0, r1, x);
        break;
    case CT_IQ4_NL:
        integers(out, ldo, (struct kind){TABLE, false, 0, iq4_nl}, w, r0, r1, x);
        break;
    case CT_Q5_1:
        integers(out, ldo, (struct kind){BYTE, true, 0, NULL}, w, r0, r1, x);
        break;
    default:
        integers(out, ldo, (struct kind){BYTE, false, 0, NULL}, w, r0, r1, x);
    }
}
