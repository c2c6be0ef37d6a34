/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck.h: what the files of kcheck share: the levels of this CPU, random numbers, fenced memory, comparison
 * and reporting. kcheck_{product,attend,head,vector}.c draw what the cases of check/kernel_cases.h are given,
 * kcheck_bench.c says what is timed, kcheck_ceiling.c what could be reached. */
#ifndef KCHECK_H
#define KCHECK_H

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/kernel_cases.h"
#include "kernel/kernel.h"
#include "kernel/level.h"
#include "layout/panel.h"
#include "machine/machine.h"

enum { KC_LEVELS = 8, KC_PENS = 24, KC_ENTRIES = 40 };

/* Memory between two pages that nobody may touch, and canaries where the pages leave room. */
struct kc_pen {
    uint8_t *low, *high; /* what may be touched */
    uint8_t *at;         /* what was asked for */
    size_t bytes;
    bool frozen;
};

struct kcheck {
    struct ct_case cases; /* first: how cases come back to kcheck */

    /* options */
    uint64_t seed;
    double seconds;
    size_t room; /* between data and forbidden pages */
    int type;    /* -1: all */
    const char *only;
    bool verbose;

    int n_level;
    struct ct_kernel level[KC_LEVELS]; /* the first is ref */

    /* the case being run; the signal handler reads it */
    uint64_t random, case_seed;
    uint64_t ring; /* what older keys and values are drawn from */
    int now;       /* index of the level */
    const char *entry;
    char shape[256];
    struct kc_pen pen[KC_PENS];
    int pens;
    struct {
        void *data;
        size_t bytes;
    } want[CT_CASE_PLACES]; /* what ref gave */

    /* what was done */
    struct {
        const char *name;
        long cases[KC_LEVELS];
    } done[KC_ENTRIES];
    int failures;
};

/* ---- kcheck_data.c: random numbers, memory, comparison ---- */

uint32_t kc_random(struct kcheck *c);
/* Uniform below n; n >= 1. */
int kc_below(struct kcheck *c, int n);
float kc_uniform(struct kcheck *c, float lo, float hi);
static inline bool kc_chance(struct kcheck *c, int one_in)
{
    return kc_below(c, one_in) == 0;
}

/* Inputs of a product: ordinary ones, or groups that are zero, below the threshold, subnormal, huge, full
 * of ties. */
void kc_fill_inputs(struct kcheck *c, float *x, size_t n);
/* The same without NaN and infinity, for entries whose contract leaves those out. */
void kc_fill_finite(struct kcheck *c, float *x, size_t n);
/* Stored weights. */
enum kc_bits { KC_ORDINARY, KC_EXTREME_CODES, KC_EXTREME_FACTORS, KC_ANY_BITS, KC_BITS };
void kc_fill_weights(struct kcheck *c, enum ct_type type, uint8_t *data, size_t bytes, enum kc_bits bits);

/* Memory of that size, next to a forbidden page on one side, filled with a pattern. */
void *kc_take(struct kcheck *c, size_t bytes, size_t align);
/* From here on nobody may write into it. */
void kc_freeze(struct kcheck *c, const void *at);
/* Checks the canaries of what was taken since mark (a former c->pens) and gives it back. */
void kc_release(struct kcheck *c, int mark);
/* Has the cases of check/kernel_cases.h use all this. */
void kc_host(struct kcheck *c);

/* ---- what cases are given: one random case each ---- */

void kc_product_case(struct kcheck *c, enum ct_type type);
void kc_attend_case(struct kcheck *c);
void kc_select_case(struct kcheck *c);
void kc_norms_case(struct kcheck *c);
void kc_prune_case(struct kcheck *c);
void kc_uncap_case(struct kcheck *c);
extern const struct kc_vector_case {
    const char *name;
    void (*run)(struct kcheck *c);
} kc_vector_cases[];
extern const int kc_vector_case_count;

/* ---- kcheck_bench.c ---- */

struct kc_bench {
    int type;                    /* -1: all that have panels */
    const char *shapes, *tokens; /* separated by commas */
    int threads;
};
int kc_bench(struct kcheck *c, const struct kc_bench *b);

/* ---- kcheck_ceiling.c ---- */

/* What a product of a type can reach at a level, as a loop; run is NULL where that is not known. */
struct ct_roofline kc_ceiling(const char *isa, enum ct_type type);

/* ---- kcheck_bench_vector.c: the entry c->only, or all of the small ones ---- */

int kc_bench_vector(struct kcheck *c);

#endif
