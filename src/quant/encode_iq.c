/* SPDX-License-Identifier: Apache-2.0 */
/* encode_iq.c: float32 values as IQ4_NL and IQ4_XS, byte by byte as ggml's quantisers write them: codes stand
 * for 16 values that are not evenly spaced. Lanes: encode_lanes.h; what the bytes mean: blocks.h. */
#include "quant/encode_lanes.h"

#include "quant/blocks.h"
#include "quant/encode_rows.h"

enum { VALUES = 32, SUPER = 256, TRIES = 7 };

/* The nearest of the 16 values, the upper one of two; its code. */
static ilanes iq4_nearest(lanes v)
{
    ilanes code = {0};

    for (int i = 0; i < 15; i++) { /* v lies above the middle of these two */
        const float low = (float)ct_iq4_values[i], high = (float)ct_iq4_values[i + 1];
        const ilanes inside = (v > low) & ~(v - low < high - v);
        code -= inside | (v >= high);
    }
    return code;
}

static lanes iq4_value(ilanes code)
{
    lanes v;

    for (int i = 0; i < LANES; i++)
        v[i] = (float)ct_iq4_values[code[i]];
    return v;
}

/* The scale of each block for which the values fit best, of 15 about the one that gives the largest its own
 * code, and that one. */
static void iq4_search(struct encode_lanes *e)
{
    const lanes zero = lanes_all(0);
    const float first = (float)ct_iq4_values[0];
    lanes magnitude, max = lanes_extreme(e, &magnitude), best = zero;
    const ilanes none = magnitude < lanes_all(ENCODE_TINY);

    for (int k = -TRIES - 1; k <= TRIES; k++) { /* the first is the guess itself */
        const lanes inverse = k < -TRIES ? 1 / (-max / first) : ((float)k + first) / max;
        lanes sum_xq = zero, sum_q2 = zero;
        for (int i = 0; i < e->n; i++) {
            const lanes q = iq4_value(iq4_nearest(inverse * e->x[i]));
            sum_xq += e->w[i] * q * e->x[i];
            sum_q2 += e->w[i] * q * q;
        }
        const ilanes any = sum_q2 > zero;
        const lanes scale = lanes_pick(any, sum_xq / sum_q2, zero);
        const ilanes better = any & (sum_xq * sum_xq > best * sum_q2);
        e->scale = k < -TRIES ? scale : lanes_pick(better, scale, e->scale);
        best = k < -TRIES ? scale * sum_xq : lanes_pick(better, scale * sum_xq, best);
    }
    e->scale = lanes_pick(none, zero, e->scale);
}

static void iq4_recode(struct encode_lanes *e, lanes scale)
{
    const ilanes none = scale == lanes_all(0);
    const lanes inverse = lanes_pick(none, lanes_all(0), 1 / scale);

    for (int i = 0; i < e->n; i++)
        e->code[i] = iq4_nearest(inverse * e->x[i]);
}

static void iq4_weigh(struct encode_lanes *e, const float *importance, lanes more)
{
    if (importance)
        lanes_weigh(e, importance, more);
    else
        for (int i = 0; i < e->n; i++)
            e->w[i] = e->x[i] * e->x[i];
}

static void iq4_nibbles(uint8_t to[16], const uint8_t code[VALUES])
{
    for (int i = 0; i < 16; i++)
        to[i] = (uint8_t)(code[i] | code[i + 16] << 4);
}

/* As many blocks as there are lanes, of which `blocks` are the row's. */
static void put_iq4_nl(struct ct_block_iq4_nl *b, const float *x, const float *importance, int blocks)
{
    uint8_t code[LANES * VALUES];
    struct encode_lanes e;

    lanes_load(&e, x, VALUES);
    iq4_weigh(&e, importance, e.sum_x2 * (2.0f / VALUES));
    iq4_search(&e);
    iq4_recode(&e, e.scale);
    lanes_store_codes(code, &e);
    for (int lane = 0; lane < blocks; lane++) {
        b[lane].d = ct_f32_to_f16(e.scale[lane]);
        iq4_nibbles(b[lane].q, code + lane * VALUES);
    }
}

static void row_iq4_nl(uint8_t *to, const float *x, size_t n, const float *importance)
{
    for (size_t at = 0; at < n; at += LANES * VALUES) {
        const size_t left = CT_MIN(n - at, (size_t)LANES * VALUES);
        float values[LANES * VALUES] = {0}, weights[LANES * VALUES] = {0};
        memcpy(values, x + at, left * sizeof *x);
        if (importance)
            memcpy(weights, importance + at, left * sizeof *x);
        put_iq4_nl((struct ct_block_iq4_nl *)to + at / VALUES, values, importance ? weights : NULL,
                   (int)(left / VALUES));
    }
}

static void put_iq4_xs(struct ct_block_iq4_xs *b, const float *x, const float *importance)
{
    enum { BLOCKS = SUPER / VALUES, TURNS = BLOCKS / LANES };
    struct encode_lanes turn[TURNS];
    uint8_t code[SUPER];
    float scale[BLOCKS], sum = 0, most = 0;

    for (int i = 0; i < SUPER; i++)
        sum += x[i] * x[i];
    for (int t = 0; t < TURNS; t++) {
        lanes_load(&turn[t], x + t * LANES * VALUES, VALUES);
        iq4_weigh(&turn[t], importance ? importance + t * LANES * VALUES : NULL,
                  lanes_all(sum * (2.0f / SUPER)));
        iq4_search(&turn[t]);
        memcpy(scale + t * LANES, &turn[t].scale, sizeof(lanes));
    }
    for (int i = 0; i < BLOCKS; i++)
        most = __builtin_fabsf(scale[i]) > __builtin_fabsf(most) ? scale[i] : most;
    const float d = -most / 32, inverse = d != 0 ? 1 / d : 0;
    *b = (struct ct_block_iq4_xs){.d = ct_f32_to_f16(d)};
    for (int i = 0; i < BLOCKS; i++) {
        const int l = CT_MAX(-32, CT_MIN(31, encode_nearest(inverse * scale[i])));
        scale[i] = d * (float)l;
        b->scale_low[i / 2] |= (uint8_t)(((l + 32) & 15) << i % 2 * 4);
        b->scale_high = (uint16_t)(b->scale_high | (l + 32) >> 4 << 2 * i);
    }
    for (int t = 0; t < TURNS; t++) {
        lanes worth;
        memcpy(&worth, scale + t * LANES, sizeof worth);
        iq4_recode(&turn[t], worth);
        lanes_store_codes(code + t * LANES * VALUES, &turn[t]);
    }
    for (int i = 0; i < BLOCKS; i++)
        iq4_nibbles(b->q + i * 16, code + i * VALUES);
}

bool CT_ENCODE(iq)(enum ct_type type, void *blocks, const float *x, size_t n, const float *importance)
{
    struct ct_block_iq4_xs *b = blocks;

    if (type == CT_IQ4_NL)
        row_iq4_nl(blocks, x, n, importance);
    if (type == CT_IQ4_XS)
        for (size_t at = 0; at < n; at += SUPER)
            put_iq4_xs(b++, x + at, importance ? importance + at : NULL);
    return type == CT_IQ4_NL || type == CT_IQ4_XS;
}
