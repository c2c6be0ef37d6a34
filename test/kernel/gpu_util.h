/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_util.h: what tests of kernels for GPUs share: threads of the kernels as host C, hard values, and ref,
 * which they are compared with. */
#ifndef GPU_UTIL_H
#define GPU_UTIL_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "fibre.h"
#include "kernel/gpu/gpu.h"
#include "kernel/kernel.h"

#define DECLARE(name, arguments) void name##_thread(const void *all), name##_planted(const void *all);
CT_GPU_KERNELS(DECLARE)

static uint64_t state;

static inline uint32_t bits(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

/* Any of the values at which rules change, or one within forty binades. */
static inline float hard(void)
{
    static const float edges[] = {0.0f,          -0.0f,    0x1p-149f, -0x1p-130f, 0x1p-126f,  0x1p-90f,
                                  0x1.8p-91f,    0x1p-50f, 0x1p-51f,  -127.5f,    0x1p60f,    0x1.fep7f,
                                  0x1.00ffffp0f, 1.0f,     -0x1p20f,  -0x1p40f,   0x1.002p0f, 0x1.006p-3f};
    const uint32_t u = bits();

    if (u % 16 == 0)
        return edges[bits() % CT_COUNT(edges)];
    return ct_f32_from_bits((u & 0x807fffffu) | (107 + bits() % 40) << 23);
}

static inline float mild(void)
{
    return ct_f32_from_bits((bits() & 0x807fffffu) | (123 + bits() % 5) << 23);
}

static inline float *values(size_t n, float (*value)(void))
{
    float *v = malloc(n * sizeof *v);

    assert_non_null(v);
    for (size_t i = 0; i < n; i++)
        v[i] = value();
    return v;
}

static inline void *room(size_t bytes)
{
    void *p = aligned_alloc(64, ct_round_up(bytes, 64));

    assert_non_null(p);
    memset(p, 0, bytes);
    return p;
}

static struct ct_kernel ref;

static inline int choose(void **unused)
{
    struct ct_cpu cpu;

    (void)unused;
    ct_cpu_detect(&cpu);
    return !ct_kernel_choose(&ref, &cpu, "ref");
}

/* Every order of threads. */
#define ORDERS(i)                                                                                            \
    int i = 0;                                                                                               \
    fibre_order = (enum fibre_order)i, i < FIBRE_ORDERS;                                                     \
    i++

#endif
