/* SPDX-License-Identifier: Apache-2.0 */
/* kv_write_avx2.c: storing K and V: conversions are vectors, though the places of values are far apart. Heads
 * that vectors or groups of 32 do not fill, and f32, are left to ref_attend.c. Neighbouring positions may be
 * another thread's: nothing but the values themselves is written. */
#include "kernel/contract.h"
#include "kernel/ref/ref.h"
#include "kernel/x86/avx2/simd_avx2.h"

__typeof__(CT_NAME(ct_kv_write)) ct_kv_write_ref;

/* Eight values as bf16, rounded and flushed as ct_bf16_round does. */
INLINE __m128i to_bf16(const float *p)
{
    const fvec v = fvec_load(p);
    /* NaN must not become infinity: a quiet one instead */
    const fvec quiet = (fvec)((uvec)v | 0x400000);
    const ivec r = (ivec)_mm256_blendv_ps(fvec_bf16_round(v), quiet, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    const ivec size = _mm256_and_si256(r, _mm256_set1_epi32(0x7fff0000));
    const ivec bits =
        _mm256_and_si256(_mm256_srli_epi32(r, 16), _mm256_cmpgt_epi32(size, _mm256_set1_epi32(0x267fffff)));
    return _mm_packus_epi32(_mm256_castsi256_si128(bits), _mm256_extracti128_si256(bits, 1));
}

/* Values of bf16 lie in pairs: K of two channels, V of two keys. */
INLINE void kv_write_halves(const struct ct_kv_head *kv, size_t slot, const float *k, const float *v,
                            const bool bf16)
{
    const size_t dim = (size_t)kv->head_dim, pair = bf16 ? 2 : 1;
    uint16_t *to_k =
        (uint16_t *)kv->k + slot / CT_KEY_PANEL * dim * CT_KEY_PANEL + slot % CT_KEY_PANEL * pair;
    uint16_t *to_v = (uint16_t *)kv->v + slot / pair * pair * dim + slot % pair;
    const float *const from[2] = {k, v};

    for (size_t d = 0; d < dim; d += VEC) {
        uint16_t half[2][VEC];
        for (int i = 0; i < 2; i++)
            _mm_storeu_si128((void *)half[i],
                             bf16 ? to_bf16(from[i] + d)
                                  : _mm256_cvtps_ph(fvec_load(from[i] + d), _MM_FROUND_TO_NEAREST_INT));
        for (size_t i = 0; i < VEC; i += pair)
            memcpy(to_k + (d + i) * CT_KEY_PANEL, &half[0][i], 2 * pair);
        for (size_t i = 0; i < VEC; i++)
            to_v[(d + i) * pair] = half[1][i];
    }
}

static void kv_write(const struct ct_kv_head *kv, int position, const float *k, const float *v)
{
    ct_assert_kv(kv, position);
    const size_t slot = (size_t)(position % kv->capacity);

    if (kv->head_dim % VEC || kv->type == CT_KV_F32)
        ct_kv_write_ref(kv, position, k, v);
    else if (kv->type == CT_KV_BF16)
        kv_write_halves(kv, slot, k, v, true);
    else
        kv_write_halves(kv, slot, k, v, false);
}

/* 32 values as int8, and their scale in f16. */
INLINE uint16_t quantize_kv(int8_t q[CT_GROUP], const float *v)
{
    ivec most = _mm256_setzero_si256(), whole[4];

    for (int i = 0; i < 4; i++) /* as integers, so that what is not a number is the largest */
        most = _mm256_max_epi32(most, as_bits(fvec_and(fvec_load(v + VEC * i), 0x7fffffffu)));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    const uint16_t scale = ct_q8_scale((uint32_t)_mm_cvtsi128_si32(m));
    const float d = ct_f16_to_f32(scale);
    if (!(d > 0)) {
        memset(q, 0, CT_GROUP);
        return scale;
    }
    for (int i = 0; i < 4; i++)
        whole[i] = _mm256_cvtps_epi32(fvec_clamp(fvec_load(v + VEC * i) / d, -127, 127));
    /* packing works within 128 bits: words come out as 0 2 4 6 1 3 5 7 */
    const ivec bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3]));
    _mm256_storeu_si256((void *)q,
                        _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
    return scale;
}

static void kv_write_q8(const struct ct_kv_head *kv, int position, const float *k, const float *v)
{
    ct_assert_kv(kv, position);
    const size_t slot = (size_t)(position % kv->capacity), groups = (size_t)kv->head_dim / CT_GROUP;
    const size_t lane = slot % CT_KEY_PANEL, at = slot / CT_KEY_PANEL * groups;
    struct ct_kv_q8 *to_k = (struct ct_kv_q8 *)kv->k + at, *to_v = (struct ct_kv_q8 *)kv->v + at;

    if (kv->head_dim % CT_GROUP) {
        ct_kv_write_ref(kv, position, k, v);
        return;
    }
    for (size_t g = 0; g < groups; g++, to_k++, to_v++) {
        int8_t q[CT_GROUP];
        to_k->scale[lane] = quantize_kv(q, k + g * CT_GROUP);
        for (int i = 0; i < CT_GROUP; i++)
            to_k->k[i][lane] = q[i];
        to_v->scale[lane] = quantize_kv(to_v->v[lane], v + g * CT_GROUP);
    }
}

void ct_kv_write_init_avx2(struct ct_kernel *k);
void ct_kv_write_init_avx2(struct ct_kernel *k)
{
    k->kv_write = kv_write;
    k->kv_write_q8 = kv_write_q8;
}
