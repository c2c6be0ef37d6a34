/* panel_sfp_avx2.c: products over panels of SFP codes for 256-bit vectors. Codes become bf16 values in registers; what
 * follows is NUMERICS.md section 5. Inputs are ref's (CT_INPUT_BF16). Layout: panel.h. */
#include <immintrin.h>

#include "kernel/panel.h"
#include "kernel/ref_math.h"

#define INLINE static inline __attribute__((always_inline))
#define UNROLL _Pragma("GCC unroll 16")
#define AHEAD  2048 /* bytes between a line and what is prefetched with it */

enum {
    CHUNK_BYTES = CT_GROUP * CT_PANEL_ROWS,
    TOKENS = 8 * CT_LANES, /* that share decoded weights */
    GROUPS = 8,            /* decoded at a time: with their inputs they fit the first cache */
};

/* 16-bit codes less their sign, times 16, as bf16. A code m above 0 is 0x3400 + 32 m, from 64 on 0x3800 + 16 m, always the
 * smaller of the two. */
INLINE __m256i magnitude(__m256i m16)
{
    __m256i v = _mm256_add_epi16(m16, _mm256_set1_epi16(0x3400));
    v = _mm256_add_epi16(m16, _mm256_min_epi16(v, _mm256_set1_epi16(0x3800)));
    return _mm256_sign_epi16(v, m16); /* 0 for 0 */
}

/* 4 k of 8 rows as f32. Code 0x80 becomes -0, which no sum that begins with +0 can tell from +0. */
INLINE void decode(__m256 w[4], __m256i code)
{
    const __m256i mask = _mm256_set1_epi16(0x07f0), minus = _mm256_set1_epi16((short)0x8000);
    const __m256i upper = _mm256_set1_epi32((int32_t)0xffff0000);
    __m256i even = magnitude(_mm256_and_si256(_mm256_slli_epi16(code, 4), mask));
    __m256i odd = magnitude(_mm256_and_si256(_mm256_srli_epi16(code, 4), mask));

    even = _mm256_or_si256(even, _mm256_and_si256(_mm256_slli_epi16(code, 8), minus));
    odd = _mm256_or_si256(odd, _mm256_and_si256(code, minus));
    w[0] = _mm256_castsi256_ps(_mm256_slli_epi32(even, 16));
    w[1] = _mm256_castsi256_ps(_mm256_slli_epi32(odd, 16));
    w[2] = _mm256_castsi256_ps(_mm256_and_si256(even, upper));
    w[3] = _mm256_castsi256_ps(_mm256_and_si256(odd, upper));
}

INLINE __m256i load(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

INLINE void store(float *out, __m256 low, __m256 high, int rows, float scale)
{
    __m256 s = _mm256_set1_ps(scale);
    float all[CT_PANEL_ROWS];

    _mm256_storeu_ps(all, _mm256_mul_ps(low, s));
    _mm256_storeu_ps(all + 8, _mm256_mul_ps(high, s));
    memcpy(out, all, (size_t)rows * sizeof *out);
}

/* ---- one token ---- */

/* Decoding takes longer than memory: one stream is faster than several. */
static void column(float *out, const uint8_t *panel, int rows, int groups, const float *x, float scale)
{
    __m256 acc[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};

    for (int g = 0; g < groups; g++, panel += CHUNK_BYTES, x += CT_GROUP)
        UNROLL for (int half = 0; half < 2; half++)
        {
            const uint8_t *p = panel + 32 * half;
            __m256 chain[2] = {_mm256_setzero_ps(), _mm256_setzero_ps()};
            UNROLL for (int i = 0; i < 8; i++)
            {
                __m256 w[4];
                if (half == 0)
                    _mm_prefetch((const char *)(p + 64 * i + AHEAD), _MM_HINT_T1);
                decode(w, load(p + 64 * i));
                UNROLL for (int k = 0; k < 4; k++) chain[k % 2] =
                    _mm256_fmadd_ps(w[k], _mm256_set1_ps(x[4 * i + k]), chain[k % 2]);
            }
            acc[half] = _mm256_add_ps(acc[half], _mm256_add_ps(chain[0], chain[1]));
        }
    store(out, acc[0], acc[1], rows, scale);
}

/* ---- more tokens ---- */

/* Keeps a vector in a register: compilers read it from memory again for each of its products, and loads run out first. */
INLINE void pin(__m256 *v)
{
    __asm__("" : "+x"(*v));
}

/* acc[t][2] += `groups` groups of decoded weights w[k][16] and T tokens x[k][lanes]. */
INLINE void add_groups(__m256 (*acc)[2], const float *w, const float *x, int groups, const int T)
{
    for (int g = 0; g < groups; g++, w += CT_GROUP * CT_PANEL_ROWS, x += CT_GROUP * CT_LANES) {
        __m256 chain[2][2 * 3];
        UNROLL for (int i = 0; i < 2 * T; i++) chain[0][i] = chain[1][i] = _mm256_setzero_ps();
        UNROLL for (int i = 0; i < CT_GROUP; i += 2) UNROLL for (int odd = 0; odd < 2; odd++)
        {
            __m256 low = _mm256_load_ps(w + CT_PANEL_ROWS * (i + odd));
            __m256 high = _mm256_load_ps(w + CT_PANEL_ROWS * (i + odd) + 8);
            pin(&low);
            pin(&high);
            UNROLL for (int t = 0; t < T; t++)
            {
                __m256 v = _mm256_set1_ps(x[CT_LANES * (i + odd) + t]);
                chain[odd][2 * t] = _mm256_fmadd_ps(low, v, chain[odd][2 * t]);
                chain[odd][2 * t + 1] = _mm256_fmadd_ps(high, v, chain[odd][2 * t + 1]);
            }
        }
        UNROLL for (int i = 0; i < 2 * T; i++) acc[i / 2][i % 2] =
            _mm256_add_ps(acc[i / 2][i % 2], _mm256_add_ps(chain[0][i], chain[1][i]));
    }
}

/* One panel and up to TOKENS tokens; x is the block of the first, `padded` values for each token. */
static void tile(float *out, size_t ldo, const uint8_t *panel, int rows, int groups, const float *x,
                 size_t padded, int tokens, float scale)
{
    _Alignas(32) float decoded[GROUPS * CT_GROUP * CT_PANEL_ROWS];
    __m256 acc[TOKENS][2];

    for (int t = 0; t < tokens; t++)
        acc[t][0] = acc[t][1] = _mm256_setzero_ps();
    for (int g = 0; g < groups; g += GROUPS) {
        int now = CT_MIN(GROUPS, groups - g);
        for (int i = 0; i < 16 * now; i++) {
            __m256 w[4];
            decode(w, load(panel + 32 * ((size_t)g * 16 + (size_t)i)));
            UNROLL for (int k = 0; k < 4; k++)
                _mm256_store_ps(decoded + CT_PANEL_ROWS * (4 * (i / 2) + k) + 8 * (i % 2), w[k]);
        }
        for (int t = 0; t < tokens;) {
            const float *from = x + (size_t)(t / CT_LANES * CT_LANES) * padded +
                                (size_t)g * CT_GROUP * CT_LANES + t % CT_LANES;
            int left = CT_MIN(tokens - t, CT_LANES - t % CT_LANES), T = left == 4 ? 2 : CT_MIN(left, 3);
            if (T == 3)
                add_groups(acc + t, decoded, from, now, 3);
            else if (T == 2)
                add_groups(acc + t, decoded, from, now, 2);
            else
                add_groups(acc + t, decoded, from, now, 1);
            t += T;
        }
    }
    for (int t = 0; t < tokens; t++)
        store(out + (size_t)t * ldo, acc[t][0], acc[t][1], rows, scale);
}

void CT_NAME(ct_project_sfp)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                             const struct ct_prepared *p)
{
    const size_t apart = w->row_bytes, padded = (size_t)ct_pad_group(p->cols);
    const int groups = (int)padded / CT_GROUP;
    const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r0 / CT_PANEL_ROWS) * apart;

    for (; r0 < r1; r0 += CT_PANEL_ROWS, panel += apart) {
        int rows = CT_MIN(CT_PANEL_ROWS, r1 - r0);
        if (p->n == 1)
            column(out + r0, panel, rows, groups, p->value, w->scale);
        for (int t = 0; p->n > 1 && t < p->n; t += TOKENS)
            tile(out + (size_t)t * ldo + r0, ldo, panel, rows, groups, p->value + (size_t)t * padded, padded,
                 CT_MIN(TOKENS, p->n - t), w->scale);
    }
}
