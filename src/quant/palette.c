/* SPDX-License-Identifier: Apache-2.0 */
/* palette.c: see palette.h. Which clusters are best: kmeans.c. */
#include "quant/palette.h"

#include <stdlib.h>

#include "quant/kmeans.h"

enum { VALUES = 65536 }; /* of f16 */

bool ct_palette_bits(int bits)
{
    return bits >= 2 && bits <= 8 && bits != 5 && bits != 7;
}

size_t ct_palette_row_bytes(int bits, int n)
{
    return ((size_t)bits * (size_t)n + 7) / 8;
}

void ct_palette_row(uint16_t *value, const uint8_t *indices, const uint16_t *palette, int bits, int n)
{
    uint32_t left = 0;
    int have = 0;

    for (int i = 0; i < n; i++) {
        if (have < bits) {
            left |= (uint32_t)*indices++ << have;
            have += 8;
        }
        value[i] = palette[left & ((1u << bits) - 1)];
        left >>= bits;
        have -= bits;
    }
}

carat_status ct_palette_begin(struct ct_palette_maker *p, carat_error *err)
{
    *p = (struct ct_palette_maker){.count = calloc(VALUES, sizeof *p->count),
                                   .index = malloc(VALUES * sizeof *p->index)};
    if (p->count && p->index)
        return CARAT_OK;
    ct_palette_end(p);
    return ct_no_memory(err, "a palette");
}

void ct_palette_end(struct ct_palette_maker *p)
{
    free(p->count);
    free(p->index);
    free(p->scratch);
    *p = (struct ct_palette_maker){0};
}

/* Its place among all f16 values, in their order; both zeros have one. */
static inline uint16_t palette_place(float x)
{
    const uint16_t bits = ct_f32_to_f16(x);

    return bits & 0x8000 ? (uint16_t)(0x8000 - (bits & 0x7fff)) : (uint16_t)(0x8000 + bits);
}

static inline float palette_value(int place)
{
    return ct_f16_to_f32((uint16_t)(place < 0x8000 ? 0x8000 + (0x8000 - place) : place - 0x8000));
}

void ct_palette_count(struct ct_palette_maker *p, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p->count[palette_place(x[i])]++;
}

void ct_palette_join(struct ct_palette_maker *p, const struct ct_palette_maker *other)
{
    for (int i = 0; i < VALUES; i++)
        p->count[i] += other->count[i];
}

/* The values that were counted, and how often. Returns their number. */
static int palette_collect(struct ct_palette_maker *p, float *x, uint32_t *count)
{
    int n = 0;

    for (int i = 0; i < VALUES; i++) {
        if (!p->count[i])
            continue;
        x[n] = palette_value(i);
        count[n++] = p->count[i];
    }
    return n;
}

/* Entries ascend, and values do: the next value's nearest is the last one's, or one above it. */
static void palette_assign(struct ct_palette_maker *p, const uint16_t *palette, int entries)
{
    int at = 0;

    for (int i = 0; i < VALUES; i++) {
        if (!p->count[i])
            continue;
        const double x = (double)palette_value(i);
        while (at + 1 < entries &&
               (double)ct_f16_to_f32(palette[at + 1]) - x < x - (double)ct_f16_to_f32(palette[at]))
            at++;
        p->index[i] = (uint8_t)at;
        p->count[i] = 0;
    }
}

/* To f16, rounded once: float32 gets its last bit set where it is cut, so that no cut looks like a tie. */
static uint16_t palette_entry(double mean)
{
    const float near = (float)mean;
    uint32_t bits = ct_f32_bits(near);

    if ((double)near != mean)
        bits = (bits - (__builtin_fabs((double)near) > __builtin_fabs(mean))) | 1;
    return ct_f32_to_f16(ct_f32_from_bits(bits));
}

static carat_status palette_room(struct ct_palette_maker *p, size_t bytes, carat_error *err)
{
    if (bytes <= p->scratch_bytes)
        return CARAT_OK;
    free(p->scratch);
    p->scratch = malloc(bytes);
    p->scratch_bytes = p->scratch ? bytes : 0;
    return p->scratch ? CARAT_OK : ct_no_memory(err, "a palette");
}

carat_status ct_palette_cluster(struct ct_palette_maker *p, uint16_t *palette, int bits, carat_error *err)
{
    double mean[CT_PALETTE_MOST];
    int n = 0;

    for (int i = 0; i < VALUES; i++)
        n += p->count[i] > 0;
    const int k = CT_MIN(n, 1 << bits);
    const size_t values = (size_t)n * (sizeof(float) + sizeof(uint32_t));
    CT_TRY(palette_room(p, values + ct_kmeans_scratch(n, k), err));
    float *x = p->scratch;
    uint32_t *count = (uint32_t *)(x + n);
    palette_collect(p, x, count);
    if (k > 0)
        ct_kmeans(mean, x, count, n, k, (uint8_t *)p->scratch + values);
    for (int i = 0; i < 1 << bits; i++)
        palette[i] = i < k ? palette_entry(mean[i]) : 0;
    palette_assign(p, palette, k);
    return CARAT_OK;
}

void ct_palette_values(const struct ct_palette_maker *p, void *to, const uint16_t *palette, const float *x,
                       int n)
{
    for (int i = 0; i < n; i++)
        memcpy((uint8_t *)to + 2 * i, &palette[p->index[palette_place(x[i])]], 2);
}

void ct_palette_indices(const struct ct_palette_maker *p, uint8_t *indices, int bits, const float *x, int n)
{
    uint32_t held = 0;
    int have = 0;

    for (int i = 0; i < n; i++) {
        held |= (uint32_t)p->index[palette_place(x[i])] << have;
        for (have += bits; have >= 8; have -= 8, held >>= 8)
            *indices++ = (uint8_t)held;
    }
    if (have > 0)
        *indices = (uint8_t)held;
}
