/* SPDX-License-Identifier: Apache-2.0 */
/* unit.c: sums of floats in steps. Terms of a step are cut off below 24 bits of the largest, and so is their
 * sum; nothing is rounded. Published measurements of V100, T4 and A100 found fours and eights that do no
 * worse (Fasi, Higham, Mikaitis and Pranesh 2021). */
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum unit unit;

static const struct form {
    const char *name;
    int step; /* products that come in one; 0: each by an fma */
    bool backwards;
} forms[] = {
    [UNIT_IN_ORDER] = {"in-order", 0, false}, [UNIT_BACKWARDS] = {"backwards", 1, true},
    [UNIT_FOURS] = {"fours", 4, false},       [UNIT_EIGHTS] = {"eights", 8, true},
    [UNIT_WHOLE] = {"whole", 16, false},      [UNIT_HALVES] = {"halves", 0, false},
    [UNIT_DROPS] = {"drops", 4, false},       [UNIT_SWAPS] = {"swaps", 4, false},
};

enum unit unit_named(const char *name)
{
    for (int i = 0; name && i < UNIT_COUNT; i++)
        if (strcmp(forms[i].name, name) == 0)
            return (enum unit)i;
    if (name)
        abort();
    return UNIT_IN_ORDER;
}

float unit_value(uint32_t half, bool bf16)
{
    return bf16 ? ct_f32_from_bits(half << 16) : ct_f16_to_f32((uint16_t)half);
}

/* The last of 24 bits of v, and how many of them are 1. */
struct grid {
    double bit, per;
};
static struct grid grid_of(double v)
{
    uint64_t bits;
    struct grid g;

    memcpy(&bits, &v, sizeof bits);
    const uint64_t exponent = (bits >> 52 & 0x7ff) - 23, bit = exponent << 52, per = (2046 - exponent) << 52;
    memcpy(&g.bit, &bit, sizeof bit);
    memcpy(&g.per, &per, sizeof per);
    return g;
}

/* v without what is below the last bit; it has less than 2^31 of these. */
static double cut(double v, struct grid g)
{
    return (double)(int32_t)(v * g.per) * g.bit;
}

/* Of exact terms. */
static float sum_of(const double *term, int n)
{
    double most = 0, plain = 0, sum = 0;

    for (int i = 0; i < n; i++) {
        most = fabs(term[i]) > most ? fabs(term[i]) : most;
        plain += term[i];
    }
    if (most == 0 || !isfinite(plain))
        return (float)plain;
    const struct grid g = grid_of(most);
    for (int i = 0; i < n; i++)
        sum += cut(term[i], g);
    return sum != 0 ? (float)cut(sum, grid_of(sum)) : 0.0f;
}

void unit_add(float *sum, const float *a, const float *b)
{
    const struct form *f = &forms[unit];
    double term[17];

    for (int k = 0; f->step == 0 && k < 16; k++) {
        *sum = fmaf(a[k], b[k], *sum);
        if (unit == UNIT_HALVES) { /* 11 bits are left */
            const float beyond = *sum * 0x2001p0f;
            *sum = beyond - (beyond - *sum);
        }
    }
    for (int k = 0; f->step != 0 && k < 16; k += f->step) {
        term[0] = *sum;
        for (int i = 0; i < f->step; i++) {
            const int at = f->backwards ? 15 - k - i : k + i,
                      of_b = unit == UNIT_SWAPS && at < 2 ? 1 - at : at;
            term[1 + i] = unit == UNIT_DROPS && at == 15 ? 0 : (double)a[at] * b[of_b];
        }
        *sum = sum_of(term, 1 + f->step);
    }
}
