/* SPDX-License-Identifier: Apache-2.0 */
/* test_kv_q8.c: the KV type q8 against NUMERICS.md section 7: where its bytes lie, what each value becomes
 * and how far that is from it, and that attention over it is attention over f32 KV that holds the same
 * values. Levels among each other are left to kcheck, attention over f32 to test_ref.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernel/kernel.h"

enum { BLOCK = 544, MAX_DIM = 256 }; /* bytes of 16 keys and 32 channels */

static uint64_t state = 88172645463325252u;
static float uniform(float lo, float hi)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return lo + (hi - lo) * ((float)(state >> 40) * 0x1p-24f);
}

static void choose(struct ct_kernel *k, const char *limit)
{
    struct ct_cpu cpu;
    ct_cpu_detect(&cpu);
    assert_true(ct_kernel_choose(k, &cpu, limit));
}

static struct ct_kv_head head_of(enum ct_kv_type type, int capacity, int dim)
{
    size_t bytes = ct_kv_bytes(type, capacity, dim);
    struct ct_kv_head kv = {type, capacity, dim, aligned_alloc(64, bytes), aligned_alloc(64, bytes)};
    assert_true(kv.k && kv.v);
    memset(kv.k, 0, bytes);
    memset(kv.v, 0, bytes);
    return kv;
}

static void release(const struct ct_kv_head *kv)
{
    free(kv->k);
    free(kv->v);
}

/* Where the scale and the int8 of a slot's channel lie, in bytes. */
static size_t at_scale(int slot, int d, int dim)
{
    return (size_t)((slot / 16 * ((dim + 31) / 32) + d / 32) * BLOCK + slot % 16 * 2);
}
static size_t at_k(int slot, int d, int dim)
{
    return at_scale(slot / 16 * 16, d, dim) + 32 + (size_t)(d % 32 * 16 + slot % 16);
}
static size_t at_v(int slot, int d, int dim)
{
    return at_scale(slot / 16 * 16, d, dim) + 32 + (size_t)(slot % 16 * 32 + d % 32);
}

static float scale_at(const void *base, int slot, int d, int dim)
{
    uint16_t h;
    memcpy(&h, (const uint8_t *)base + at_scale(slot, d, dim), 2);
    return ct_f16_to_f32(h);
}
static float stored_k(const struct ct_kv_head *kv, int slot, int d)
{
    return scale_at(kv->k, slot, d, kv->head_dim) *
           (float)((const int8_t *)kv->k)[at_k(slot, d, kv->head_dim)];
}
static float stored_v(const struct ct_kv_head *kv, int slot, int d)
{
    return scale_at(kv->v, slot, d, kv->head_dim) *
           (float)((const int8_t *)kv->v)[at_v(slot, d, kv->head_dim)];
}

static void bytes_are_34_for_32_values(void **unused)
{
    (void)unused;
    for (int dim = 32; dim <= 512; dim *= 2)
        assert_int_equal(ct_kv_bytes(CT_KV_Q8, 768, dim), 768 * dim / 32 * 34);
    assert_int_equal(ct_kv_bytes(CT_KV_Q8, 256, 40), ct_kv_bytes(CT_KV_Q8, 256, 64)); /* padded */
    assert_int_equal(sizeof(struct ct_kv_q8), BLOCK);
}

/* A position writes the bytes of its own lane and nothing else: another thread may be at the next one. */
static void a_position_writes_its_own_bytes(void **unused)
{
    const int dims[] = {40, 64, 128};

    (void)unused;
    for (int level = 0; level < 2; level++)
        for (size_t i = 0; i < CT_COUNT(dims); i++) {
            struct ct_kernel kernel;
            int dim = dims[i], slot = 256 + 21;
            struct ct_kv_head kv = head_of(CT_KV_Q8, 512, dim);
            size_t bytes = ct_kv_bytes(CT_KV_Q8, 512, dim);
            float x[MAX_DIM];
            uint8_t *mine = calloc(2, bytes);
            assert_true(mine);
            for (int d = 0; d < dim; d++) {
                x[d] = 1; /* 127 times a scale of 0x2008: no byte is that of the pattern */
                mine[at_k(slot, d, dim)] = mine[bytes + at_v(slot, d, dim)] = 1;
                for (size_t b = 0; b < 2; b++)
                    mine[at_scale(slot, d, dim) + b] = mine[bytes + at_scale(slot, d, dim) + b] = 1;
            }
            choose(&kernel, level ? NULL : "ref");
            memset(kv.k, 0xaa, bytes);
            memset(kv.v, 0xaa, bytes);
            ct_kv_write(&kernel, &kv, 512 + slot, x, x); /* the ring's second round */
            for (size_t b = 0; b < bytes; b++) {
                assert_int_equal(((uint8_t *)kv.k)[b] != 0xaa, mine[b]);
                assert_int_equal(((uint8_t *)kv.v)[b] != 0xaa, mine[bytes + b]);
            }
            free(mine);
            release(&kv);
        }
}

/* d = f16(a / 127) is at most 2^-11 of itself off where it is a normal f16, so that no quotient exceeds
 * 127.07 and rounding to the nearest integer is off by d / 2 at most. Below 2^-14 it is off by up to
 * 2^-25, which for the 127 of the largest value is 127 * 2^-25. The quotient itself is rounded once: a
 * part in 2^24 of at most 127.5 d. */
static double bound_of(float d)
{
    return fmax(d / 2 * (1 + 0x1p-15), 127 * 0x1p-25 * (1 + 0x1p-15));
}

static void check_group(const struct ct_kernel *kernel, const float x[32])
{
    struct ct_kv_head kv = head_of(CT_KV_Q8, 256, 32);
    float a = 0;

    ct_kv_write(kernel, &kv, 7, x, x);
    for (int i = 0; i < 32; i++)
        a = fmaxf(a, fabsf(x[i]));
    uint16_t bits = ct_f32_to_f16(a / 127);
    float d = ct_f16_to_f32(bits > 0x7bff ? 0x7bff : bits);
    assert_true(scale_at(kv.k, 7, 0, 32) == d && scale_at(kv.v, 7, 0, 32) == d);
    for (int i = 0; i < 32; i++) {
        double q = d == 0 ? 0 : nearbyint((float)((double)x[i] / d));
        q = fmax(-127, fmin(q, 127));
        assert_int_equal(((int8_t *)kv.k)[at_k(7, i, 32)], (int)q);
        assert_int_equal(((int8_t *)kv.v)[at_v(7, i, 32)], (int)q);
        float stored = stored_k(&kv, 7, i);
        assert_true((double)stored == q * d); /* exact */
        if (a <= 127 * 65504.0f)
            assert_true(fabs((double)stored - x[i]) <= bound_of(d));
        else
            assert_true(fabs(stored) <= 127 * 65504.0f);
    }
    release(&kv);
}

static void values_are_close(void **unused)
{
    static const float largest[] = {0,
                                    0x1p-149f,
                                    127 * 0x1p-25f,
                                    127 * 0x1.000002p-25f,
                                    127 * 0x1p-24f,
                                    127 * 0x1.7ffffep-24f,
                                    127 * 0x1.8p-24f,
                                    127 * 0x1p-15f,
                                    127 * 0x1.ffcp-15f,
                                    127 * 0x1p-14f,
                                    127 * 0x1.002p0f,
                                    1,
                                    127,
                                    65504,
                                    127 * 65504.0f,
                                    127 * 65520.0f,
                                    0x1p100f,
                                    0x1.fffffep127f};

    (void)unused;
    for (int level = 0; level < 2; level++) {
        struct ct_kernel kernel;
        float x[32];
        choose(&kernel, level ? NULL : "ref");
        for (size_t i = 0; i < CT_COUNT(largest); i++) {
            for (int c = 0; c < 32; c++)
                x[c] = largest[i] * (c == 5   ? -1
                                     : c == 6 ? -0.0f
                                     : c < 5  ? (float)(2 * c + 1) / 254
                                              : uniform(-1, 1));
            check_group(&kernel, x);
        }
        for (int round = 0; round < 20000; round++) {
            float magnitude = ldexpf(1, (int)uniform(-45, 24));
            for (int c = 0; c < 32; c++)
                x[c] = magnitude * uniform(-1, 1);
            check_group(&kernel, x);
        }
    }
}

/* What is not a number makes its whole group none, so that logits say so; the groups beside it stay. */
static void an_error_is_not_lost(void **unused)
{
    const float wrong[] = {NAN, INFINITY, -INFINITY};

    (void)unused;
    for (int level = 0; level < 2; level++)
        for (size_t i = 0; i < CT_COUNT(wrong); i++) {
            struct ct_kernel kernel;
            struct ct_kv_head kv = head_of(CT_KV_Q8, 256, 64);
            float x[64];
            for (int d = 0; d < 64; d++)
                x[d] = d == 40 ? wrong[i] : 0.5f;
            choose(&kernel, level ? NULL : "ref");
            ct_kv_write(&kernel, &kv, 3, x, x);
            for (int d = 0; d < 64; d++) {
                assert_int_equal(isnan(stored_k(&kv, 3, d)), d >= 32);
                assert_int_equal(isnan(stored_v(&kv, 3, d)), d >= 32);
            }
            release(&kv);
        }
}

/* One query over keys [lo, hi], block after block. */
static void attend(float *out, const struct ct_kernel *k, const float *q, const struct ct_kv_head *kv, int lo,
                   int hi)
{
    static _Alignas(64) float at[3][CT_MAX_HEAD_DIM * CT_QUERIES], scratch[CT_ATTEND_SCRATCH];
    float max[2], sum[2] = {0};
    struct ct_queries tile = {1, {lo}, {hi}, at[0]};
    struct ct_attended all = {&max[0], &sum[0], at[1]}, block = {&max[1], &sum[1], at[2]};

    k->attend_query(&tile, 0, q, kv);
    for (int b = lo / CT_KEY_BLOCK; b <= hi / CT_KEY_BLOCK; b++) {
        ct_kv_attend(k, &block, &tile, kv, b, 0.2f, 30, scratch);
        k->attend_merge(&all, &block, 1, kv->head_dim);
    }
    k->attend_finish(out, &all, 0, kv->head_dim);
}

static void attention_is_that_of_f32(void **unused)
{
    const int dims[] = {2, 40, 64, 256};

    (void)unused;
    for (int level = 0; level < 2; level++)
        for (size_t i = 0; i < CT_COUNT(dims); i++) {
            struct ct_kernel kernel;
            int dim = dims[i], capacity = 512;
            struct ct_kv_head q8 = head_of(CT_KV_Q8, capacity, dim), f32 = head_of(CT_KV_F32, capacity, dim);
            float k[MAX_DIM], v[MAX_DIM], q[MAX_DIM], out[2][MAX_DIM];
            choose(&kernel, level ? NULL : "ref");
            for (int p = 0; p < 900; p++) {
                for (int d = 0; d < dim; d++) {
                    k[d] = uniform(-2, 2);
                    v[d] = uniform(-1, 1);
                    q[d] = uniform(-2, 2);
                }
                ct_kv_write(&kernel, &q8, p, k, v);
                for (int d = 0; d < dim; d++) {
                    k[d] = stored_k(&q8, p % capacity, d);
                    v[d] = stored_v(&q8, p % capacity, d);
                }
                ct_kv_write(&kernel, &f32, p, k, v);
                if (p % 71 && p != 899)
                    continue;
                attend(out[0], &kernel, q, &q8, CT_MAX(0, p - 200), p);
                attend(out[1], &kernel, q, &f32, CT_MAX(0, p - 200), p);
                assert_memory_equal(out[0], out[1], (size_t)dim * sizeof(float));
            }
            release(&q8);
            release(&f32);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_are_34_for_32_values), cmocka_unit_test(a_position_writes_its_own_bytes),
        cmocka_unit_test(values_are_close),           cmocka_unit_test(an_error_is_not_lost),
        cmocka_unit_test(attention_is_that_of_f32),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
