/* SPDX-License-Identifier: Apache-2.0 */
/* vector_avx2.c: the small operators in vectors of 256 bits: norm, geglu, soft-cap and log-softmax of
 * vector_body.h, and storing K and V, whose conversions are vectors though their places are far apart. */
#include "kernel/contract.h"
#include "kernel/ref/ref.h"
#include "kernel/x86/avx2/simd_avx2.h"
#include "kernel/vector_body.h"

/* Eight values as bf16, rounded and flushed as ct_bf16_round does. */
INLINE __m128i to_bf16(const float *p)
{
    const __m256i one = _mm256_set1_epi32(1), below = _mm256_set1_epi32(0x267fffff);
    __m256i u = _mm256_castps_si256(_mm256_loadu_ps(p));
    __m256i odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), one);
    __m256i r = _mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff)));
    /* NaN must not become infinity: a quiet one instead */
    __m256i nan =
        _mm256_castps_si256(_mm256_cmp_ps(_mm256_castsi256_ps(u), _mm256_castsi256_ps(u), _CMP_UNORD_Q));
    r = _mm256_blendv_epi8(r, _mm256_or_si256(u, _mm256_set1_epi32(0x400000)), nan);
    __m256i magnitude = _mm256_and_si256(r, _mm256_set1_epi32(0x7fff0000));
    r = _mm256_and_si256(_mm256_srli_epi32(r, 16), _mm256_cmpgt_epi32(magnitude, below));
    return _mm_packus_epi32(_mm256_castsi256_si128(r), _mm256_extracti128_si256(r, 1));
}

INLINE __m128i to_f16(const float *p)
{
    return _mm256_cvtps_ph(_mm256_loadu_ps(p), _MM_FROUND_TO_NEAREST_INT);
}

/* K goes by pairs of channels into one lane of 16 keys, V by channels beside the other key of its pair.
 * Neighbouring positions may be another thread's: nothing but the value itself is written. */
static void kv_write_bf16(const struct ct_kv_head *kv, size_t slot, const float *k, const float *v)
{
    size_t dim = (size_t)kv->head_dim;
    uint16_t *to_k = (uint16_t *)kv->k + slot / CT_KEY_PANEL * dim * CT_KEY_PANEL + slot % CT_KEY_PANEL * 2;
    uint16_t *to_v = (uint16_t *)kv->v + slot / 2 * 2 * dim + slot % 2;

    for (size_t d = 0; d < dim; d += 8) {
        uint16_t half[2][8];
        _mm_storeu_si128((__m128i *)(void *)half[0], to_bf16(k + d));
        _mm_storeu_si128((__m128i *)(void *)half[1], to_bf16(v + d));
        for (size_t i = 0; i < 8; i += 2)
            memcpy(to_k + (d + i) * CT_KEY_PANEL, &half[0][i], 4);
        for (size_t i = 0; i < 8; i++)
            to_v[(d + i) * 2] = half[1][i];
    }
}

static void kv_write_f16(const struct ct_kv_head *kv, size_t slot, const float *k, const float *v)
{
    size_t dim = (size_t)kv->head_dim;
    uint16_t *to_k = (uint16_t *)kv->k + slot / CT_KEY_PANEL * dim * CT_KEY_PANEL + slot % CT_KEY_PANEL;
    uint16_t *to_v = (uint16_t *)kv->v + slot * dim;

    for (size_t d = 0; d < dim; d += 8) {
        uint16_t half[8];
        _mm_storeu_si128((__m128i *)(void *)half, to_f16(k + d));
        _mm_storeu_si128((__m128i *)(void *)(to_v + d), to_f16(v + d));
        for (size_t i = 0; i < 8; i++)
            to_k[(d + i) * CT_KEY_PANEL] = half[i];
    }
}

static void kv_write(const struct ct_kv_head *kv, int position, const float *k, const float *v)
{
    ct_assert_kv(kv, position);
    size_t slot = (size_t)(position % kv->capacity);

    if (kv->head_dim % 8 || kv->type == CT_KV_F32)
        ct_kv_write_avx2(kv, position, k, v);
    else
        (kv->type == CT_KV_BF16 ? kv_write_bf16 : kv_write_f16)(kv, slot, k, v);
}

void ct_vector_init_avx2(struct ct_kernel *k);
void ct_vector_init_avx2(struct ct_kernel *k)
{
    k->norm = vector_norm;
    k->log_sum = log_sum;
    k->geglu = geglu;
    k->softcap = softcap;
    k->kv_write = kv_write;
}
