/* SPDX-License-Identifier: Apache-2.0 */
/* attend_q8_avx2.c: the KV type q8 in vectors of 256 bits (NUMERICS.md section 7): storing, and attention of
 * a tile of queries over a block of keys with the product and the weights of attend_avx2.h. A group is turned
 * into floats once for all queries of the tile, which stay in the first cache. Heads that groups of 32 do not
 * fill are left to ref_attend.c. */
#include "kernel/contract.h"
#include "kernel/x86/avx2/attend_avx2.h"

enum {
    LANES = 16,               /* of a line: keys, or channels */
    LINES = CT_GROUP * LANES, /* floats of a group's lines */
};

/* ---- storing ---- */

/* 32 values as int8, and their scale in f16. */
INLINE uint16_t quantize_kv(int8_t q[CT_GROUP], const float *v)
{
    __m256i most = _mm256_setzero_si256(), whole[4];

    for (int i = 0; i < 4; i++) /* as integers, so that what is not a number is the largest */
        most = _mm256_max_epu32(most, _mm256_castps_si256(fvec_and(fvec_load(v + 8 * i), 0x7fffffffu)));
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    const uint16_t scale = ct_q8_scale((uint32_t)_mm_cvtsi128_si32(m));
    const float d = ct_f16_to_f32(scale);
    if (!(d > 0)) {
        memset(q, 0, CT_GROUP);
        return scale;
    }
    for (int i = 0; i < 4; i++) {
        fvec ratio = fvec_div(fvec_load(v + 8 * i), fvec_all(d));
        whole[i] = _mm256_cvtps_epi32(fvec_clamp(ratio, -127, 127));
    }
    __m256i bytes =
        _mm256_packs_epi16(_mm256_packs_epi32(whole[0], whole[1]), _mm256_packs_epi32(whole[2], whole[3]));
    bytes = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    _mm256_storeu_si256((__m256i *)(void *)q, bytes);
    return scale;
}

static void kv_write_q8(const struct ct_kv_head *kv, int position, const float *k, const float *v)
{
    ct_assert_kv(kv, position);
    const size_t slot = (size_t)(position % kv->capacity), groups = (size_t)kv->head_dim / CT_GROUP;
    const size_t lane = slot % CT_KEY_PANEL, at = slot / CT_KEY_PANEL * groups;
    struct ct_kv_q8 *to_k = (struct ct_kv_q8 *)kv->k + at, *to_v = (struct ct_kv_q8 *)kv->v + at;

    if (kv->head_dim % CT_GROUP) {
        ct_kv_write_avx2(kv, position, k, v);
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

/* ---- attention ---- */

/* Eight of them times their scales, exactly. */
INLINE void expand(float *to, const int8_t *q, fvec scale)
{
    __m256i whole = _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)q));
    _mm256_store_ps(to, fvec_mul(scale, _mm256_cvtepi32_ps(whole)));
}

INLINE fvec eight_scales(const uint16_t *h)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)h));
}

/* 16 keys and 32 channels of K as lines of keys. */
INLINE void expand_keys(float *to, const struct ct_kv_q8 *b)
{
    const fvec low = eight_scales(b->scale), high = eight_scales(b->scale + 8);

    for (int c = 0; c < CT_GROUP; c++) {
        expand(to + c * LANES, b->k[c], low);
        expand(to + c * LANES + 8, b->k[c] + 8, high);
    }
}

/* 16 keys and 32 channels of V as lines of channels, the upper 16 of which lie LINES on. */
INLINE void expand_values(float *to, const struct ct_kv_q8 *b)
{
    float scale[CT_KEY_PANEL];

    fvec_store(scale, eight_scales(b->scale));
    fvec_store(scale + 8, eight_scales(b->scale + 8));
    for (int key = 0; key < CT_KEY_PANEL; key++)
        UNROLL for (int i = 0; i < 4; i++)
            expand(to + key * LANES + i / 2 * LINES + i % 2 * 8, b->v[key] + 8 * i, fvec_all(scale[key]));
}

/* acc[i] += the lines of a group times x[i], for n queries i. */
static void add_lines(float *acc, size_t ld_acc, const float *at, const float *x, size_t ld_x, int n,
                      bool first)
{
    const struct lines l = {(const uint8_t *)at, LANES * sizeof *at, NULL, 0};

    for (int T; n > 0; n -= T, acc += (size_t)T * ld_acc, x += (size_t)T * ld_x) {
        T = next_queries(n);
        if (T == 3)
            attend_group_avx2(acc, ld_acc, CT_KV_F32, l, x, ld_x, 3, first);
        else if (T == 2)
            attend_group_avx2(acc, ld_acc, CT_KV_F32, l, x, ld_x, 2, first);
        else
            attend_group_avx2(acc, ld_acc, CT_KV_F32, l, x, ld_x, 1, first);
    }
}

static void attend_block_q8(struct ct_attended *a, const struct ct_queries *t, const struct ct_kv_head *kv,
                            int block, float scale, float cap, float *s)
{
    ct_assert_attend(a, t, kv, block, s);
    const size_t dim = (size_t)kv->head_dim, groups = dim / CT_GROUP;
    const int base = block * CT_KEY_BLOCK;
    const size_t at = (size_t)(base % kv->capacity) / CT_KEY_PANEL * groups;
    _Alignas(64) float lines[2 * LINES];

    if (dim % CT_GROUP) {
        ct_attend_block_avx2(a, t, kv, block, scale, cap, s);
        return;
    }
    const struct seen all = seen_by_all(a, t, block);
    if (all.first > all.last)
        return;

    const struct groups groups_seen = groups_of(all);
    const int begin = groups_seen.begin, end = groups_seen.end;
    const struct ct_kv_q8 *k = (const struct ct_kv_q8 *)kv->k + at, *v = (const struct ct_kv_q8 *)kv->v + at;
    for (int j = all.first / CT_KEY_PANEL * CT_KEY_PANEL; j <= all.last; j += CT_KEY_PANEL)
        for (size_t g = 0; g < groups; g++) {
            expand_keys(lines, k + (size_t)(j / CT_KEY_PANEL) * groups + g);
            add_lines(s + j, ROW, lines, t->q + g * CT_GROUP, dim, t->n, g == 0);
        }

    weigh_all(a, t, block, groups_seen, s, scale, cap, FLOATS, put_floats);

    for (int j = begin; j < end; j += CT_GROUP)
        for (size_t g = 0; g < groups; g++) {
            const struct ct_kv_q8 *b = v + (size_t)(j / CT_KEY_PANEL) * groups + g;
            float *out = a->out + g * CT_GROUP;
            expand_values(lines, b);
            expand_values(lines + CT_KEY_PANEL * LANES, b + groups);
            add_lines(out, dim, lines, s + j, ROW, t->n, j == begin);
            add_lines(out + LANES, dim, lines + LINES, s + j, ROW, t->n, j == begin);
        }
}

void ct_attend_q8_init_avx2(struct ct_kernel *k);
void ct_attend_q8_init_avx2(struct ct_kernel *k)
{
    k->kv_write_q8 = kv_write_q8;
    k->attend_block_q8 = attend_block_q8;
}
