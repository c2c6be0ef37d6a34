/* SPDX-License-Identifier: Apache-2.0 */
/* unit.h: how units for matrices sum floats. NVIDIA does not tell it; here they do all that NUMERICS.md
 * section 16 lets them do, so that no test passes because a unit sums like the chains of ref. */
#ifndef UNIT_H
#define UNIT_H

#include <stdbool.h>
#include <stdint.h>

enum unit {
    UNIT_IN_ORDER,  /* one product after another, each by an fma */
    UNIT_BACKWARDS, /* the same from the last on, cut off; the next ones so many in a step */
    UNIT_FOURS,
    UNIT_EIGHTS,
    UNIT_WHOLE,
    UNIT_SOUND,               /* how many; the next ones are broken: */
    UNIT_HALVES = UNIT_SOUND, /* sums have 11 bits, as f16 */
    UNIT_DROPS,               /* the last product is missing */
    UNIT_SWAPS,               /* two k of one operand have changed places */
    UNIT_COUNT
};
/* The one that kernels have. */
extern enum unit unit;

/* One of "in-order", "backwards", ... NULL: the first. */
enum unit unit_named(const char *name);
/* *sum += 16 products. */
void unit_add(float *sum, const float *a, const float *b);
/* What 16 bits are. */
float unit_value(uint32_t half, bool bf16);

#endif
