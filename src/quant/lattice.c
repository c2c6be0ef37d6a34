/* SPDX-License-Identifier: Apache-2.0 */
/* lattice.c: see lattice.h. What can be asked of several blocks at once, lattice_lanes.c answers: here is
 * what is left to do for one. */
#include "quant/lattice.h"

#include "quant/blocks.h"

enum { VALUES = CT_LATTICE_VALUES, MOST = CT_LATTICE_CODE, EDGES = VALUES * MOST };

#define LARGEST_F16 0x7bff

static ct_lattice_look *const looks[2] = {
    ct_lattice_look_base,
#ifdef __x86_64__
    ct_lattice_look_avx2,
#else
    ct_lattice_look_base,
#endif
};

/* A block. */
struct place {
    const float *x;
    float size[VALUES]; /* |x| */
    float largest;
};

/* ---- on a lattice ---- */

/* Half of the distance to the next number of a type, in last bits of F32. */
static uint32_t half_step(enum ct_type stored)
{
    return stored == CT_BF16 ? 0x8000 : stored == CT_F16 ? 0x1000 : 0;
}

/* A magnitude after rounding, as bits. */
static inline uint32_t bits_stored(float v, enum ct_type stored)
{
    const uint32_t bits = ct_f32_bits(v);

    if (stored == CT_BF16)
        return (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    return stored == CT_F16 ? ct_f32_bits(ct_f16_to_f32(ct_f32_to_f16(v))) : bits;
}

/* True when the scale gives all values; code: their magnitudes. */
static inline bool gives(const struct place *p, const float code[VALUES], float d, enum ct_type stored)
{
    uint32_t off = 0;

    for (int at = 0; at < VALUES && !off; at += 8)
        for (int i = at; i < at + 8; i++)
            off |= bits_stored(code[i] * d, stored) ^ ct_f32_bits(p->size[i]);
    return !off;
}

static bool gives_all(const struct place *p, const float code[VALUES], int scale, enum ct_type stored)
{
    const float d = ct_f16_to_f32((uint16_t)scale);

    return stored == CT_BF16  ? gives(p, code, d, CT_BF16) /* without a choice for each value */
           : stored == CT_F16 ? gives(p, code, d, CT_F16)
                              : gives(p, code, d, CT_F32);
}

/* Scales of F16 that give all values of a block: their bits, without sign. */
struct scales {
    int first, last;
    bool positive, negative; /* which of the two signs do */
};

/* k: the largest code. The scales that give the largest value are few. */
static bool find_scales(struct scales *s, const struct place *p, int k, enum ct_type stored)
{
    const float by = (float)k / p->largest;
    const uint32_t bits = ct_f32_bits(p->largest), half = half_step(stored);
    float code[VALUES];

    for (int i = 0; i < VALUES; i++)
        code[i] = CT_LATTICE_NEAREST(p->size[i] * by);
    s->positive = s->negative = true;
    for (int i = 0; i < VALUES && k == MOST; i++) {
        s->positive &= code[i] < MOST || p->x[i] < 0;
        s->negative &= code[i] < MOST || p->x[i] > 0;
    }
    s->first = CT_MAX(ct_f32_to_f16(ct_f32_from_bits(bits - half) / (float)k) - 1, 0);
    s->last = CT_MIN(ct_f32_to_f16(ct_f32_from_bits(bits + half) / (float)k) + 1, LARGEST_F16);
    while (s->first <= s->last && !gives_all(p, code, s->first, stored))
        s->first++;
    while (s->first < s->last && !gives_all(p, code, s->last, stored))
        s->last--;
    return s->first <= s->last && (s->positive || s->negative);
}

/* By the smallest codes; could: see lattice.h. */
static bool lies_on(struct scales *s, const struct place *p, unsigned could, enum ct_type stored)
{
    for (; could; could &= could - 1)
        if (find_scales(s, p, __builtin_ctz(could), stored))
            return true;
    return false;
}

/* ---- the least squared error ---- */

/* The best scale so far, and what it removes of the sum of squares. */
struct best {
    uint16_t scale;
    double removed;
    float nearly; /* what is worth a try removes as much by sums that are rounded; 0: everything is */
};

/* The best scale in F16 for the codes of an inverse scale. Only a code of 8 has a sign: that of -8 by a
 * positive scale, or by a negative one; the other gets 7. */
static void try_codes(struct best *b, const struct place *p, float at, bool negative)
{
    double sum[4] = {0}; /* beside each other */
    float code[VALUES], q2 = 0;

    for (int i = 0; i < VALUES; i++) {
        const float most = (float)(MOST - ((p->x[i] > 0) != negative));
        code[i] = CT_LATTICE_NEAREST(p->size[i] * at);
        code[i] = CT_MIN(code[i], most);
    }
    for (int i = 0; i < VALUES; i++)
        sum[i % 4] += (double)p->size[i] * (double)code[i];
    for (int i = 0; i < VALUES; i++)
        q2 += code[i] * code[i]; /* a whole number */
    const double xq = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    const uint16_t rounded = ct_f32_to_f16((float)(xq / (double)q2)), scale = CT_MIN(rounded, LARGEST_F16);
    const double d = (double)ct_f16_to_f32(scale), removed = d * (2 * xq - d * (double)q2);
    if (removed > b->removed)
        *b = (struct best){(uint16_t)(scale | (negative ? 0x8000 : 0)), removed, b->nearly};
}

/* Where, on the way to smaller scales, a code becomes larger by one. */
struct edge {
    float at; /* 1 / scale */
    uint8_t value, code;
};

/* The edges of an interval, in their order. Returns how many there are. */
static int list_edges(struct edge edge[EDGES], const struct place *p, float from, float to)
{
    int32_t before[VALUES], behind[VALUES];
    int n = 0;

    for (int i = 0; i < VALUES; i++) {
        before[i] = (int32_t)CT_LATTICE_NEAREST(p->size[i] * from);
        behind[i] = (int32_t)CT_LATTICE_NEAREST(p->size[i] * to);
    }
    for (int i = 0; i < VALUES; i++)
        for (int k = before[i] + 1; k <= CT_MIN(behind[i], MOST); k++) {
            const struct edge e = {((float)k - 0.5f) / p->size[i], (uint8_t)i, (uint8_t)k};
            int at = n++;
            for (; at > 0 && edge[at - 1].at > e.at; at--)
                edge[at] = edge[at - 1];
            edge[at] = e;
        }
    return n;
}

/* For every scale the nearest codes are best, and these change at edges alone: between two of them all scales
 * have the same, of which those are tried that may be better than the best so far. */
static void try_between(struct best *b, const struct place *p, const struct ct_lattice_lanes *found, int g,
                        int lane)
{
    const float from = found->at[g][lane], to = found->at[g + 1][lane];
    struct edge edge[EDGES];
    const int n = list_edges(edge, p, from, to);

    for (int sign = 0; sign < (p->largest * to < MOST - 0.51f ? 1 : 2); sign++) {
        float xq = found->xq[sign][g][lane], q2 = found->q2[sign][g][lane], at = from;
        for (int i = 0; i <= n; i++) {
            const float end = i < n ? edge[i].at : to;
            if (q2 > 0 && xq * xq >= b->nearly * q2) {
                if (b->nearly > 0)
                    b->nearly = CT_MAX(b->nearly, xq * xq / q2 * (1 - 0x1p-17f));
                try_codes(b, p, 0.5f * (at + end), sign);
            }
            if (i == n || (edge[i].code == MOST && (p->x[edge[i].value] > 0) != sign))
                continue;
            at = end;
            xq += p->size[edge[i].value];
            q2 += (float)(2 * edge[i].code - 1);
        }
    }
}

static uint16_t least_error(const struct place *p, const struct ct_lattice_lanes *found, int lane)
{
    struct best b = {.nearly = found->removed[lane]};

    if (p->largest > (float)MOST * 65504.0f) /* no scale holds it */
        return 0x7c00;
    for (uint32_t worth = found->worth[lane]; worth; worth &= worth - 1)
        try_between(&b, p, found, __builtin_ctz(worth), lane);
    return b.scale;
}

/* ---- blocks ---- */

static void put_block(struct ct_block_q4_0 *to, const float *x, uint16_t scale)
{
    const float d = ct_f16_to_f32(scale), by = d != 0 ? 1 / d : 0;
    uint8_t code[VALUES];

    for (int i = 0; i < VALUES; i++) {
        const int c = (int)(x[i] * by + 8.5f);
        code[i] = (uint8_t)(c < 0 ? 0 : CT_MIN(c, 15));
    }
    to->d = scale;
    for (int i = 0; i < VALUES / 2; i++)
        to->q[i] = (uint8_t)(code[i] | code[i + VALUES / 2] << 4);
}

/* What is known of a row, and the scales that all of its blocks have so far. */
struct row {
    struct ct_lattice found;
    struct scales all;
};

/* Returns whether its scale is known. */
static bool take_block(struct row *r, struct place *p, unsigned could, enum ct_type stored, uint16_t *scale)
{
    struct scales s;

    *scale = 0;
    r->found.blocks++;
    if (p->largest == 0) {
        r->found.zeros++;
        r->found.on++;
        return true;
    }
    for (int i = 0; i < VALUES; i++)
        p->size[i] = __builtin_fabsf(p->x[i]);
    if (!lies_on(&s, p, could, stored))
        return false;
    r->found.on++;
    r->all.first = CT_MAX(r->all.first, s.first);
    r->all.last = CT_MIN(r->all.last, s.last);
    r->all.positive &= s.positive;
    r->all.negative &= s.negative;
    *scale = (uint16_t)((s.first + s.last) / 2 | (s.positive ? 0 : 0x8000));
    return true;
}

struct ct_lattice ct_encode_lattice(void *blocks, const float *x, size_t n, enum ct_type stored, bool avx2)
{
    struct row row = {.all = {0, LARGEST_F16, true, true}};
    struct ct_block_q4_0 *to = blocks;
    struct ct_lattice_lanes found;

    assert(n % VALUES == 0);
    for (size_t at = 0, lanes; at < n; at += lanes * VALUES) {
        const size_t left = CT_MIN(n - at, (size_t)CT_LATTICE_LANES * VALUES);
        float values[CT_LATTICE_LANES * VALUES] = {0};
        bool asked = false;
        memcpy(values, x + at, left * sizeof *x);
        lanes = (size_t)looks[avx2](&found, values, false);
        for (size_t lane = 0; lane < lanes && lane * VALUES < left; lane++) {
            struct place p = {.x = values + lane * VALUES, .largest = found.largest[lane]};
            uint16_t scale;
            const bool known = take_block(&row, &p, (unsigned)found.could[lane], stored, &scale);
            if (!to)
                continue;
            if (!known && !asked)
                asked = looks[avx2](&found, values, true) > 0;
            put_block(&to[at / VALUES + lane], p.x, known ? scale : least_error(&p, &found, (int)lane));
        }
    }
    row.found.one_scale = row.found.on == row.found.blocks && row.all.first <= row.all.last &&
                          (row.all.positive || row.all.negative);
    return row.found;
}
