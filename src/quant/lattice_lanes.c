/* SPDX-License-Identifier: Apache-2.0 */
/* lattice_lanes.c: see lattice.h. Blocks lie side by side in lanes. Of weights that lie on no lattice
 * it is known after a few values, and where their least error is after a grid of scales. */
#include "quant/lattice.h"

#include "quant/encode_lanes.h"

enum { VALUES = CT_LATTICE_VALUES };

struct look {
    struct encode_lanes e;
    lanes size[VALUES], largest; /* |x| */
};

/* A value is off by less than half a step of BF16, 2^-8 of it, and so is the largest. */
static ilanes could_be(const struct look *l)
{
    ilanes could = {0};

    for (int k = 1; k <= CT_LATTICE_CODE; k++) {
        const lanes by = (float)k / l->largest;
        ilanes fits = l->largest > lanes_all(0);
        for (int i = 0; i < VALUES && (i % 4 || lanes_any(fits)); i++) {
            const lanes v = l->size[i] * by, code = CT_LATTICE_NEAREST(v);
            fits &= lanes_abs(v - code) <= code * 0x1.1p-7f;
        }
        could |= fits & (1 << k);
    }
    return could;
}

/* Sums over values by their codes: the best scale removes xq^2 / q2 of the sum of squares. */
struct sums {
    lanes xq, q2;
};

/* Both signs of a scale; they differ where a code is 8, which is -8 by one of them and 7 by the other. */
struct both {
    struct sums positive, negative;
};

static struct both sums_at(const struct look *l, lanes at)
{
    const lanes most = lanes_all(CT_LATTICE_CODE), zero = lanes_all(0), one = lanes_all(1);
    struct sums s = {zero, zero}, above = {zero, zero}, below = {zero, zero};

    for (int i = 0; i < VALUES; i++) {
        lanes q = CT_LATTICE_NEAREST(l->size[i] * at);
        q = lanes_pick(q > most, most, q);
        s.xq += l->size[i] * q;
        s.q2 += q * q;
    }
    for (int i = 0; i < VALUES && (i || lanes_any(l->largest * at > lanes_all(7.49f))); i++) {
        const ilanes last = l->size[i] * at > lanes_all(7.5f);
        const ilanes up = last & (l->e.x[i] > zero), down = last & ~up;
        above.xq += lanes_pick(up, l->size[i], zero);
        above.q2 += lanes_pick(up, one, zero);
        below.xq += lanes_pick(down, l->size[i], zero);
        below.q2 += lanes_pick(down, one, zero);
    }
    return (struct both){{s.xq - above.xq, s.q2 - 15 * above.q2}, {s.xq - below.xq, s.q2 - 15 * below.q2}};
}

static lanes larger(lanes a, lanes b)
{
    return lanes_pick(b > a, b, a); /* a where b is no number */
}

static lanes removed_by(const struct both *b)
{
    const lanes zero = lanes_all(0);

    return larger(larger(zero, b->positive.xq * b->positive.xq / b->positive.q2),
                  b->negative.xq * b->negative.xq / b->negative.q2);
}

/* On the way from one inverse scale to the next codes become larger one by one: an edge at s adds |x| to xq
 * and 2 s |x| to q2. So q2 is above the line that begins with the first s, and above the one that ends with
 * the last; and on a straight line xq^2 / q2 has no peak but at its ends. This is where the two meet. */
static lanes between(const struct sums *from, const struct sums *to, lanes first, lanes last)
{
    const lanes zero = lanes_all(0), more = to->xq - from->xq;
    lanes t = (2 * last * more - (to->q2 - from->q2)) / (2 * (last - first));

    t = lanes_pick(t < zero, zero, t);
    t = lanes_pick(t > more, more, t);
    return (from->xq + t) * (from->xq + t) / (from->q2 + 2 * first * t);
}

/* The inverse scales worth a look, by the error of some guesses: smaller ones leave too many values at 0,
 * larger ones the largest value too far out. */
static void find_ends(const struct look *l, lanes *low, lanes *high)
{
    const lanes half = l->largest * 0.5f;
    lanes most = lanes_all(0), least = lanes_all(__builtin_inff());

    for (int guess = 0; guess < 3; guess++) {
        const struct both b = sums_at(l, (8 - 0.5f * (float)guess) / l->largest);
        most = larger(most, removed_by(&b));
    }
    most = lanes_pick(l->largest > lanes_all(0x1p-10f), most - l->e.sum_x2 * 0x1p-15f, lanes_all(0));
    const lanes error = l->e.sum_x2 - most, out = lanes_sqrt(error) * 1.001f;
    *low = 0.45f / l->largest;
    for (int guess = 3; guess <= 6; guess++) {
        lanes lost = lanes_all(0);
        for (int i = 0; i < VALUES; i++)
            lost += lanes_pick(l->size[i] * (float)guess <= half, l->e.x[i] * l->e.x[i], lanes_all(0));
        *low = lanes_pick(lost * (1 - 0x1p-15f) > error, (float)guess / l->largest, *low);
    }
    for (int i = 0; i < VALUES; i++)
        least = lanes_pick((l->size[i] > lanes_all(0)) & (l->size[i] < least), l->size[i], least);
    *high = 7.6f / least;
    *high = lanes_pick((l->largest > out) & (8 / (l->largest - out) < *high), 8 / (l->largest - out), *high);
}

/* Where the error may be least. In F16 a scale that is not too small differs from the best one by 2^-11 of
 * it, and removes 2^-22 less; sums here are rounded more than that. */
static void find_least(struct ct_lattice_lanes *found, const struct look *l)
{
    lanes low, high, last = lanes_all(0), most = lanes_all(0), might[CT_LATTICE_GRID];
    struct both before;
    ilanes worth = {0};

    find_ends(l, &low, &high);
    lanes step = high / low;
    for (int halved = CT_LATTICE_GRID; halved > 1; halved /= 2)
        step = lanes_sqrt(step);
    for (int g = 0; g <= CT_LATTICE_GRID; g++) {
        const struct both b = sums_at(l, low);
        memcpy(found->at[g], &low, sizeof low);
        memcpy(found->xq[0][g], &b.positive.xq, sizeof low);
        memcpy(found->q2[0][g], &b.positive.q2, sizeof low);
        memcpy(found->xq[1][g], &b.negative.xq, sizeof low);
        memcpy(found->q2[1][g], &b.negative.q2, sizeof low);
        if (g > 0) {
            might[g - 1] = larger(removed_by(&before), removed_by(&b));
            might[g - 1] = larger(might[g - 1], larger(between(&before.positive, &b.positive, last, low),
                                                       between(&before.negative, &b.negative, last, low)));
        }
        before = b;
        last = low;
        most = larger(most, removed_by(&b));
        low *= step;
    }
    most = lanes_pick(l->largest > lanes_all(0x1p-10f), most * (1 - 0x1p-15f), lanes_all(0));
    for (int g = 0; g < CT_LATTICE_GRID; g++)
        worth |= (might[g] >= most) & (ilanes)(lanes_all(0) == lanes_all(0)) & (int32_t)(1u << g);
    memcpy(found->removed, &most, sizeof most);
    memcpy(found->worth, &worth, sizeof worth);
}

#ifdef __AVX2__
int ct_lattice_look_avx2(struct ct_lattice_lanes *found, const float *x, bool error)
#else
int ct_lattice_look_base(struct ct_lattice_lanes *found, const float *x, bool error)
#endif
{
    struct look l = {.largest = lanes_all(0)};

    lanes_load(&l.e, x, VALUES);
    for (int i = 0; i < VALUES; i++) {
        l.size[i] = lanes_abs(l.e.x[i]);
        l.largest = lanes_pick(l.size[i] > l.largest, l.size[i], l.largest);
    }
    const ilanes could = could_be(&l);
    memcpy(found->could, &could, sizeof could);
    memcpy(found->largest, &l.largest, sizeof l.largest);
    if (error)
        find_least(found, &l);
    return LANES;
}
