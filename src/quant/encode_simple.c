/* SPDX-License-Identifier: Apache-2.0 */
/* encode_simple.c: float32 values as blocks of 32 with one scale, byte by byte as ggml's quantisers write
 * them: Q4_1, Q5_1 and MXFP4; and those two, Q4_0 and Q5_0 with the importance of columns. Without it the
 * latter are encode_plain.c's. Searches: encode_lanes.h. */
#include "quant/encode_lanes.h"

#include "quant/blocks.h"
#include "quant/encode_rows.h"

enum { VALUES = 32 };

static void simple_nibbles(uint8_t to[16], const uint8_t code[VALUES])
{
    for (int i = 0; i < 16; i++)
        to[i] = (uint8_t)((code[i] & 15) | (code[i + 16] & 15) << 4);
}

static void simple_fifth_bits(uint8_t to[4], const uint8_t code[VALUES])
{
    uint32_t bits = 0;

    for (int i = 0; i < VALUES; i++)
        bits |= (uint32_t)(code[i] >> 4 & 1) << i;
    memcpy(to, &bits, sizeof bits);
}

/* What was found for one block. */
struct simple_found {
    float scale, min; /* as encode_search has it; without a minimum the codes count from their middle */
    uint8_t code[VALUES];
};

static void put_q4_0(void *to, const struct simple_found *f)
{
    struct ct_block_q4_0 *b = to;

    b->d = ct_f32_to_f16(f->scale);
    simple_nibbles(b->q, f->code);
}

static void put_q4_1(void *to, const struct simple_found *f)
{
    struct ct_block_q4_1 *b = to;

    b->d = ct_f32_to_f16(f->scale);
    b->m = ct_f32_to_f16(-f->min);
    simple_nibbles(b->q, f->code);
}

static void put_q5_0(void *to, const struct simple_found *f)
{
    struct ct_block_q5_0 *b = to;

    b->d = ct_f32_to_f16(f->scale);
    simple_nibbles(b->q, f->code);
    simple_fifth_bits(b->high, f->code);
}

static void put_q5_1(void *to, const struct simple_found *f)
{
    struct ct_block_q5_1 *b = to;

    b->d = ct_f32_to_f16(f->scale);
    b->m = ct_f32_to_f16(-f->min);
    simple_nibbles(b->q, f->code);
    simple_fifth_bits(b->high, f->code);
}

static const struct simple_kind {
    enum ct_type type;
    size_t bytes;
    int most; /* code */
    bool minimum;
    void (*put)(void *to, const struct simple_found *f);
} kinds[] = {
    {CT_Q4_0, sizeof(struct ct_block_q4_0), 15, false, put_q4_0},
    {CT_Q4_1, sizeof(struct ct_block_q4_1), 15, true, put_q4_1},
    {CT_Q5_0, sizeof(struct ct_block_q5_0), 31, false, put_q5_0},
    {CT_Q5_1, sizeof(struct ct_block_q5_1), 31, true, put_q5_1},
};

/* From the least value in equal steps to the largest. */
static void find_between_ends(struct simple_found *f, const float *x, int most)
{
    float min = x[0], max = x[0];

    for (int i = 1; i < VALUES; i++) {
        min = x[i] < min ? x[i] : min;
        max = x[i] > max ? x[i] : max;
    }
    f->scale = (max - min) / (float)most;
    f->min = -min;
    const float inverse = f->scale != 0 ? 1 / f->scale : 0;
    for (int i = 0; i < VALUES; i++) {
        const int code = (int)((x[i] - min) * inverse + 0.5f);
        f->code[i] = (uint8_t)CT_MIN(most, code);
    }
}

/* As many blocks as there are lanes, of which `blocks` are the row's. */
static void put_by_importance(const struct simple_kind *k, uint8_t *to, const float *x,
                              const float *importance, int blocks, float more)
{
    const struct encode_search fitted = {k->most, 36, -0.9f, 0.05f, false};
    uint8_t code[LANES * VALUES];
    struct encode_lanes e;

    lanes_load(&e, x, VALUES);
    lanes_weigh(&e, importance, lanes_all(more));
    if (k->minimum)
        lanes_search(&e, &fitted);
    else
        lanes_search_signed(&e, (k->most + 1) / 2);
    lanes_store_codes(code, &e);
    for (int lane = 0; lane < blocks; lane++) {
        struct simple_found f = {.scale = e.scale[lane], .min = k->minimum ? e.min[lane] : 0};
        memcpy(f.code, code + lane * VALUES, sizeof f.code);
        k->put(to + (size_t)lane * k->bytes, &f);
    }
}

static void row_by_importance(const struct simple_kind *k, uint8_t *to, const float *x, size_t n,
                              const float *importance)
{
    float sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    for (size_t at = 0; at < n; at += LANES * VALUES, to += LANES * k->bytes) {
        const size_t left = CT_MIN(n - at, (size_t)LANES * VALUES);
        float values[LANES * VALUES] = {0}, weights[LANES * VALUES] = {0};
        memcpy(values, x + at, left * sizeof *x);
        memcpy(weights, importance + at, left * sizeof *x);
        put_by_importance(k, to, values, weights, (int)(left / VALUES), sum / (float)n);
    }
}

/* ---- MXFP4 ---- */

/* The integer below log2(x), x > 0 and finite, where log2 is rounded to float32 first, as it is there: what
 * is a little less than a power of two may count as that. */
static int rounded_log2(float x)
{
    const int shift = x < 0x1p-126f ? 24 : 0;
    const uint32_t bits = ct_f32_bits(shift ? x * 0x1p24f : x);
    const int below = (int)(bits >> 23) - 127 - shift, above = below + 1;
    const double missing =
        (double)(0x800000 - (bits & 0x7fffff)) * 0x1p-24; /* of the power above, at most 1/2 */
    const double less = (missing + missing * missing / 2) / 0.693147180559945309;
    const float far = (float)(above < 0 ? -above : above);
    /* half of the step between float32 values on the side of zero, or on the other */
    const float beside = ct_f32_from_bits(above > 0 ? ct_f32_bits(far) - 1 : ct_f32_bits(far) + 1);
    const double half = (double)(above > 0 ? far - beside : beside - far) / 2;

    return above != 0 && less <= half ? above : below;
}

static int nearest_mxfp4(float x, float d)
{
    int best = 0;
    float least = __builtin_fabsf((float)ct_mxfp4_values[0] * d - x);

    for (int i = 1; i < 16; i++) {
        const float off = __builtin_fabsf((float)ct_mxfp4_values[i] * d - x);
        best = off < least ? i : best;
        least = off < least ? off : least;
    }
    return best;
}

static void put_mxfp4(struct ct_block_mxfp4 *b, const float *x)
{
    uint8_t code[VALUES];
    float largest = 0;

    for (int i = 0; i < VALUES; i++)
        largest = __builtin_fabsf(x[i]) > largest ? __builtin_fabsf(x[i]) : largest;
    b->e = largest > 0 ? (uint8_t)(rounded_log2(largest) - 2 + 127) : 0;
    /* 2^(e - 128), of which the table has twice the values */
    const float d = ct_f32_from_bits(b->e < 2 ? 0x200000u << b->e : (uint32_t)(b->e - 1) << 23);
    for (int i = 0; i < VALUES; i++)
        code[i] = (uint8_t)nearest_mxfp4(x[i], d);
    simple_nibbles(b->q, code);
}

/* ---- rows ---- */

bool CT_ENCODE(simple)(enum ct_type type, void *blocks, const float *x, size_t n, const float *importance)
{
    const struct simple_kind *k = kinds, *const end = kinds + CT_COUNT(kinds);
    uint8_t *to = blocks;

    assert(n % VALUES == 0);
    if (type == CT_MXFP4) {
        for (size_t at = 0; at < n; at += VALUES, to += sizeof(struct ct_block_mxfp4))
            put_mxfp4((struct ct_block_mxfp4 *)to, x + at);
        return true;
    }
    while (k < end && k->type != type)
        k++;
    if (k == end || (!importance && !k->minimum))
        return false;
    if (importance) {
        row_by_importance(k, to, x, n, importance);
        return true;
    }
    for (size_t at = 0; at < n; at += VALUES, to += k->bytes) {
        struct simple_found f;
        find_between_ends(&f, x + at, k->most);
        k->put(to, &f);
    }
    return true;
}
