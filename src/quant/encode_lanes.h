/* SPDX-License-Identifier: Apache-2.0 */
/* encode_lanes.h: blocks side by side, one in each lane of a vector, and the searches that ggml's quantisers
 * make in a block: every lane adds in the order of the reference, so that its bits do not depend on the
 * width. Scales of a whole row or super-block are searched without lanes. For encoders in src/quant, which
 * are compiled for the baseline and again for AVX2. Rules: ggml's ggml-quants.c; no sum is contracted. */
#ifndef CT_ENCODE_LANES_H
#define CT_ENCODE_LANES_H

#include "base/base.h"

#ifdef __AVX2__
#define LANES 8
#else
#define LANES 4
#endif

typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef int32_t ilanes __attribute__((vector_size(4 * LANES)));

/* What is smaller than this counts as zero. */
#define ENCODE_TINY 1e-15f

enum { ENCODE_MOST = 32 }; /* values of a block in a lane */

/* Blocks of n values; what is found for them. */
struct encode_lanes {
    int n;
    lanes x[ENCODE_MOST], w[ENCODE_MOST]; /* values, and how much their errors weigh */
    lanes sum_x2;                         /* of each */
    ilanes code[ENCODE_MOST];
    lanes scale, min; /* min: what is subtracted, at least 0 */
};

static inline lanes lanes_all(float v)
{
    lanes r = {0};
    return r + v;
}

static inline lanes lanes_of(ilanes v)
{
    return __builtin_convertvector(v, lanes);
}

static inline lanes lanes_pick(ilanes where, lanes a, lanes b)
{
    return (lanes)(((ilanes)a & where) | ((ilanes)b & ~where));
}

static inline ilanes lanes_pick_codes(ilanes where, ilanes a, ilanes b)
{
    return (a & where) | (b & ~where);
}

static inline lanes lanes_abs(lanes v)
{
    return (lanes)((ilanes)v & 0x7fffffff);
}

static inline lanes lanes_sqrt(lanes v)
{
    for (int i = 0; i < LANES; i++)
        v[i] = __builtin_sqrtf(v[i]);
    return v;
}

static inline bool lanes_any(ilanes where)
{
    int32_t any = 0;

    for (int i = 0; i < LANES; i++)
        any |= where[i];
    return any != 0;
}

/* The nearest integer, the even one of two, as ggml finds it: in the low bits of the sum. */
static inline ilanes lanes_nearest(lanes v)
{
    return ((ilanes)(v + 12582912.0f) & 0x7fffff) - 0x400000;
}

static inline int encode_nearest(float v)
{
    return (int)(ct_f32_bits(v + 12582912.0f) & 0x7fffff) - 0x400000;
}

static inline ilanes lanes_clamp(ilanes v, int lo, int hi)
{
    const ilanes least = {0}, low = least + lo, high = least + hi;

    v = lanes_pick_codes(v < low, low, v);
    return lanes_pick_codes(v > high, high, v);
}

/* Lane i gets the n values at x + i * n. */
static inline void lanes_load(struct encode_lanes *e, const float *x, int n)
{
    e->n = n;
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < n; i++)
            e->x[i][lane] = x[lane * n + i];
    e->sum_x2 = lanes_all(0);
    for (int i = 0; i < n; i++)
        e->sum_x2 += e->x[i] * e->x[i];
}

/* Weights that the caller says of columns: importance * sqrt(more + x^2). */
static inline void lanes_weigh(struct encode_lanes *e, const float *importance, lanes more)
{
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < e->n; i++)
            e->w[i][lane] = importance[lane * e->n + i];
    for (int i = 0; i < e->n; i++)
        e->w[i] = e->w[i] * lanes_sqrt(more + e->x[i] * e->x[i]);
}

static inline void lanes_store_codes(uint8_t *to, const struct encode_lanes *e)
{
    for (int lane = 0; lane < LANES; lane++)
        for (int i = 0; i < e->n; i++)
            to[lane * e->n + i] = (uint8_t)e->code[i][lane];
}

/* x = scale * code - min with codes from 0 to most: a first guess from the ends, then steps + 1 others, of
 * which each is fitted by least squares and kept if its weighted error is less. absolute: of the error the
 * magnitude counts, else the square. */
struct encode_search {
    int most, steps;
    float begin, step;
    bool absolute;
};
static inline lanes search_error(const struct encode_lanes *e, const struct encode_search *s,
                                 const ilanes *code, lanes scale, lanes min)
{
    lanes sum = lanes_all(0);

    for (int i = 0; i < e->n; i++) {
        lanes off = scale * lanes_of(code[i]) + min - e->x[i];
        off = s->absolute ? lanes_abs(off) : off * off;
        sum += e->w[i] * off;
    }
    return sum;
}

static inline void lanes_search(struct encode_lanes *e, const struct encode_search *s)
{
    const lanes zero = lanes_all(0);
    lanes min = e->x[0], max = e->x[0], sum_w = e->w[0], sum_x = sum_w * e->x[0];
    ilanes code[ENCODE_MOST];

    for (int i = 1; i < e->n; i++) {
        min = lanes_pick(e->x[i] < min, e->x[i], min);
        max = lanes_pick(e->x[i] > max, e->x[i], max);
        sum_w += e->w[i];
        sum_x += e->w[i] * e->x[i];
    }
    min = lanes_pick(min > zero, zero, min);
    const ilanes flat = max <= min;
    const lanes flat_min = -min;
    lanes inverse = (float)s->most / (max - min);
    e->scale = 1 / inverse;
    for (int i = 0; i < e->n; i++)
        e->code[i] = lanes_clamp(lanes_nearest(inverse * (e->x[i] - min)), 0, s->most);
    lanes best = search_error(e, s, e->code, e->scale, min);
    for (int k = 0; k <= s->steps; k++) {
        lanes sum_l = zero, sum_l2 = zero, sum_xl = zero;
        inverse = (s->begin + s->step * (float)k + (float)s->most) / (max - min);
        for (int i = 0; i < e->n; i++) {
            code[i] = lanes_clamp(lanes_nearest(inverse * (e->x[i] - min)), 0, s->most);
            const lanes l = lanes_of(code[i]), wl = e->w[i] * l;
            sum_l += wl;
            sum_l2 += wl * l;
            sum_xl += wl * e->x[i];
        }
        const lanes det = sum_w * sum_l2 - sum_l * sum_l;
        lanes scale = (sum_w * sum_xl - sum_x * sum_l) / det, low = (sum_l2 * sum_x - sum_l * sum_xl) / det;
        const ilanes above = low > zero;
        scale = lanes_pick(above, sum_xl / sum_l2, scale);
        low = lanes_pick(above, zero, low);
        const lanes error = search_error(e, s, code, scale, low);
        const ilanes better = (det > zero) & (error < best);
        if (!lanes_any(better))
            continue;
        for (int i = 0; i < e->n; i++)
            e->code[i] = lanes_pick_codes(better, code[i], e->code[i]);
        best = lanes_pick(better, error, best);
        e->scale = lanes_pick(better, scale, e->scale);
        min = lanes_pick(better, low, min);
    }
    for (int i = 0; i < e->n; i++)
        e->code[i] &= ~flat;
    e->scale = lanes_pick(flat, zero, e->scale);
    e->min = lanes_pick(flat, flat_min, -min);
}

/* The first value of the largest magnitude, with its sign, and that magnitude. */
static inline lanes lanes_extreme(const struct encode_lanes *e, lanes *magnitude)
{
    lanes extreme = lanes_all(0);

    *magnitude = extreme;
    for (int i = 0; i < e->n; i++) {
        const lanes a = lanes_abs(e->x[i]);
        const ilanes more = a > *magnitude;
        *magnitude = lanes_pick(more, a, *magnitude);
        extreme = lanes_pick(more, e->x[i], extreme);
    }
    return extreme;
}

/* x = scale * (code - half) with codes from 0 to 2 * half - 1: 19 scales are tried about the one that gives
 * the largest value the code 0. */
static inline void lanes_search_signed(struct encode_lanes *e, int half)
{
    const lanes zero = lanes_all(0);
    lanes magnitude, max = lanes_extreme(e, &magnitude), best = zero;
    const ilanes none = magnitude < lanes_all(ENCODE_TINY);
    lanes inverse = -(float)half / max;
    ilanes code[ENCODE_MOST];

    for (int k = -10; k <= 9; k++) { /* the first is the guess itself */
        lanes sum_xl = zero, sum_l2 = zero;
        if (k == 0)
            continue;
        if (k > -10)
            inverse = -((float)half + 0.1f * (float)k) / max;
        for (int i = 0; i < e->n; i++) {
            code[i] = lanes_clamp(lanes_nearest(inverse * e->x[i]), -half, half - 1);
            const lanes l = lanes_of(code[i]);
            sum_xl += e->w[i] * e->x[i] * l;
            sum_l2 += e->w[i] * l * l;
        }
        const ilanes any = sum_l2 > zero;
        const ilanes better = k == -10 ? ~none : any & (sum_xl * sum_xl > best * sum_l2);
        if (k > -10 && !lanes_any(better))
            continue;
        const lanes scale = lanes_pick(sum_l2 != zero, sum_xl / sum_l2, zero);
        e->scale = k == -10 ? scale : lanes_pick(better, scale, e->scale);
        best = k == -10 ? scale * sum_xl : lanes_pick(better, scale * sum_xl, best);
        for (int i = 0; i < e->n; i++)
            e->code[i] = k == -10 ? code[i] + half : lanes_pick_codes(better, code[i] + half, e->code[i]);
    }
    for (int i = 0; i < e->n; i++)
        e->code[i] &= ~none;
    e->scale = lanes_pick(none, zero, e->scale);
}

/* The same where each code is then moved alone, up to five times, while that fits better; w is x^2. */
static inline void lanes_refine_signed(struct encode_lanes *e, int half)
{
    const lanes zero = lanes_all(0);
    lanes magnitude, max = lanes_extreme(e, &magnitude), sum_xl = zero, sum_l2 = zero;
    const ilanes none = magnitude < lanes_all(ENCODE_TINY);
    const lanes inverse = -(float)half / max;
    ilanes going = ~none;

    for (int i = 0; i < e->n; i++) {
        e->code[i] = lanes_clamp(lanes_nearest(inverse * e->x[i]), -half, half - 1);
        const lanes l = lanes_of(e->code[i]), w = e->x[i] * e->x[i];
        sum_xl += w * e->x[i] * l;
        sum_l2 += w * l * l;
    }
    for (int k = 0; k < 5 && lanes_any(going); k++) {
        ilanes changed = {0};
        for (int i = 0; i < e->n; i++) {
            const lanes w = e->x[i] * e->x[i], old = lanes_of(e->code[i]);
            lanes xl = sum_xl - w * e->x[i] * old, l2 = sum_l2 - w * old * old;
            const ilanes code = lanes_clamp(lanes_nearest(e->x[i] * l2 / xl), -half, half - 1);
            ilanes moved = (xl > zero) & (code != e->code[i]) & going;
            const lanes l = lanes_of(code);
            xl += w * e->x[i] * l;
            l2 += w * l * l;
            moved &= (l2 > zero) & (xl * xl * sum_l2 > sum_xl * sum_xl * l2);
            e->code[i] = lanes_pick_codes(moved, code, e->code[i]);
            sum_xl = lanes_pick(moved, xl, sum_xl);
            sum_l2 = lanes_pick(moved, l2, sum_l2);
            changed |= moved;
        }
        going &= changed;
    }
    for (int i = 0; i < e->n; i++)
        e->code[i] = (e->code[i] + half) & ~none;
    e->scale = lanes_pick(~none & (sum_l2 > zero), sum_xl / sum_l2, zero);
}

/* Codes again, for the scale and minimum as they are stored; where the scale is 0 they stay. */
static inline void lanes_recode(struct encode_lanes *e, lanes scale, lanes min, int least, int most)
{
    const ilanes none = scale == lanes_all(0);

    for (int i = 0; i < e->n; i++) {
        const ilanes code = lanes_clamp(lanes_nearest((e->x[i] + min) / scale), least, most) - least;
        e->code[i] = lanes_pick_codes(none, e->code[i], code);
    }
}

#endif
