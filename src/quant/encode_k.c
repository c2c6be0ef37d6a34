/* SPDX-License-Identifier: Apache-2.0 */
/* encode_k.c: float32 values as Q2_K to Q6_K, byte by byte as ggml's quantisers write them. Searches and
 * lanes: encode_lanes.h; what the bytes mean: blocks.h. */
#include "quant/encode_lanes.h"

#include "quant/blocks.h"
#include "quant/encode_rows.h"

enum { SUPER = 256, MOST_BLOCKS = 16 };

/* A super-block: its blocks, in turns of LANES; scales and minima of all of them. */
struct super {
    int n, blocks; /* values of a block; blocks */
    struct encode_lanes turn[MOST_BLOCKS / LANES];
    float scale[MOST_BLOCKS], min[MOST_BLOCKS], weight[MOST_BLOCKS]; /* weight: the sum of a block's */
    uint8_t code[SUPER];
};

static void super_load(struct super *s, const float *x, int n)
{
    s->n = n;
    s->blocks = SUPER / n;
    for (int t = 0; t < s->blocks / LANES; t++)
        lanes_load(&s->turn[t], x + t * LANES * n, n);
}

static float super_sum_x2(const float *x)
{
    float sum = 0;

    for (int i = 0; i < SUPER; i++)
        sum += x[i] * x[i];
    return sum;
}

static void super_weigh(struct super *s, const float *importance, float more)
{
    for (int t = 0; t < s->blocks / LANES; t++) {
        struct encode_lanes *e = &s->turn[t];
        lanes sum = lanes_all(0);
        lanes_weigh(e, importance + t * LANES * s->n, lanes_all(more));
        for (int i = 0; i < s->n; i++)
            sum += e->w[i];
        memcpy(s->weight + t * LANES, &sum, sizeof sum);
    }
}

static void super_keep(struct super *s, int turn)
{
    memcpy(s->scale + turn * LANES, &s->turn[turn].scale, sizeof(lanes));
    memcpy(s->min + turn * LANES, &s->turn[turn].min, sizeof(lanes));
}

/* ---- scales of a super-block ---- */

static float largest_of(const float *v, int n)
{
    float most = 0;

    for (int i = 0; i < n; i++)
        most = v[i] > most ? v[i] : most;
    return most;
}

/* Codes for scales that are not negative, the largest of which gets `most`; returns what a code is worth. */
static float plain_scales(uint8_t *code, const float *scale, int n, int most)
{
    const float largest = largest_of(scale, n), inverse = largest > 0 ? (float)most / largest : 0;

    for (int i = 0; i < n; i++)
        code[i] = (uint8_t)CT_MIN(most, (uint8_t)encode_nearest(inverse * scale[i]));
    return largest / (float)most;
}

/* The same by the least weighted error. */
static float fitted_scales(uint8_t *code, const float *x, const float *w, int n, int most)
{
    const float largest = largest_of(x, n);
    float best_inverse = (float)most / largest, best = 0, sum_xl = 0, sum_l2 = 0;

    if (largest < ENCODE_TINY) {
        memset(code, 0, (size_t)n);
        return 0;
    }
    for (int k = -5; k <= 4; k++) { /* the first is the guess itself */
        const float inverse = k == -5 ? best_inverse : (0.1f * (float)k + (float)most) / largest,
                    scale = 1 / inverse;
        float error = 0;
        if (k == 0)
            continue;
        for (int i = 0; i < n; i++) {
            const int l = encode_nearest(inverse * x[i]);
            const float off = x[i] - scale * (float)(k == -5 ? (uint8_t)l : CT_MIN(most, l));
            error += w[i] * off * off;
        }
        if (k == -5 || error < best) {
            best = error;
            best_inverse = inverse;
        }
    }
    for (int i = 0; i < n; i++) {
        const int l = CT_MIN(most, encode_nearest(best_inverse * x[i]));
        code[i] = (uint8_t)l;
        sum_xl += w[i] * x[i] * (float)l;
        sum_l2 += w[i] * (float)l * (float)l;
    }
    for (int k = 0, changed = 1; k < 5 && changed; k++) {
        changed = 0;
        for (int i = 0; i < n; i++) {
            const float old = (float)code[i];
            float xl = sum_xl - w[i] * x[i] * old, l2 = sum_l2 - w[i] * old * old;
            if (!(xl > 0 && l2 > 0))
                continue;
            const int l = CT_MIN(most, encode_nearest(x[i] * l2 / xl));
            xl += w[i] * x[i] * (float)l;
            l2 += w[i] * (float)l * (float)l;
            if (l != code[i] && xl * xl * sum_l2 > sum_xl * sum_xl * l2) {
                code[i] = (uint8_t)l;
                sum_xl = xl;
                sum_l2 = l2;
                changed = 1;
            }
        }
    }
    return sum_l2 > 0 ? sum_xl / sum_l2 : 0;
}

/* Scales with signs, of which the largest gets the code 0; weighted by w. */
static float fitted_signed_scales(uint8_t *code, const float *x, const float *w, int n, int half)
{
    float max = 0, scale = 0, best = 0;

    for (int i = 0; i < n; i++)
        max = __builtin_fabsf(x[i]) > __builtin_fabsf(max) ? x[i] : max;
    memset(code, 0, (size_t)n);
    if (__builtin_fabsf(max) < ENCODE_TINY)
        return 0;
    for (int k = -10; k <= 9; k++) { /* the first is the guess itself */
        const float inverse = k == -10 ? -(float)half / max : -((float)half + 0.1f * (float)k) / max;
        float sum_xl = 0, sum_l2 = 0;
        if (k == 0)
            continue;
        for (int i = 0; i < n; i++) {
            const float l = (float)CT_MAX(-half, CT_MIN(half - 1, encode_nearest(inverse * x[i])));
            sum_xl += w[i] * x[i] * l;
            sum_l2 += w[i] * l * l;
        }
        if (k > -10 && !(sum_l2 > 0 && sum_xl * sum_xl > best * sum_l2))
            continue;
        scale = sum_l2 != 0 ? sum_xl / sum_l2 : 0;
        best = scale * sum_xl;
        for (int i = 0; i < n; i++)
            code[i] = (uint8_t)(half + CT_MAX(-half, CT_MIN(half - 1, encode_nearest(inverse * x[i]))));
    }
    return scale;
}

/* ---- what is stored ---- */

static void super_recode(struct super *s, const float *scale, const float *min, int least, int most)
{
    for (int t = 0; t < s->blocks / LANES; t++) {
        lanes d, m;
        memcpy(&d, scale + t * LANES, sizeof d);
        memcpy(&m, min + t * LANES, sizeof m);
        lanes_recode(&s->turn[t], d, m, least, most);
        lanes_store_codes(s->code + t * LANES * s->n, &s->turn[t]);
    }
}

/* Codes of scales and minima, and what one of each is worth, as stored. */
struct stored_scales {
    uint8_t scale[MOST_BLOCKS], min[MOST_BLOCKS];
    uint16_t d, dmin;
};
static void super_scales(struct super *s, struct stored_scales *to, bool weighted, int most)
{
    float d, dmin;

    if (weighted) {
        d = fitted_scales(to->scale, s->scale, s->weight, s->blocks, most);
        dmin = fitted_scales(to->min, s->min, s->weight, s->blocks, most);
    } else {
        d = plain_scales(to->scale, s->scale, s->blocks, most);
        dmin = plain_scales(to->min, s->min, s->blocks, most);
    }
    to->d = ct_f32_to_f16(d);
    to->dmin = ct_f32_to_f16(dmin);
}

static void super_recode_stored(struct super *s, const struct stored_scales *from, int most)
{
    float scale[MOST_BLOCKS], min[MOST_BLOCKS];

    for (int i = 0; i < s->blocks; i++) {
        scale[i] = ct_f16_to_f32(from->d) * (float)from->scale[i];
        min[i] = ct_f16_to_f32(from->dmin) * (float)from->min[i];
    }
    super_recode(s, scale, min, 0, most);
}

/* Eight pairs of 6 bits: the first four in a byte each, whose upper bits are the upper ones of the others. */
static void pack_6bit(uint8_t to[12], const uint8_t scale[8], const uint8_t min[8])
{
    for (int i = 0; i < 4; i++) {
        to[i] = (uint8_t)(scale[i] | scale[i + 4] >> 4 << 6);
        to[i + 4] = (uint8_t)(min[i] | min[i + 4] >> 4 << 6);
        to[i + 8] = (uint8_t)((scale[i + 4] & 15) | (min[i + 4] & 15) << 4);
    }
}

/* Codes of two bits: byte i of 32 has those of values i, i + 32, i + 64 and i + 96 of 128. */
static void pack_2bit(uint8_t to[64], const uint8_t code[SUPER])
{
    for (int i = 0; i < 64; i++) {
        const uint8_t *c = code + i / 32 * 128 + i % 32;
        to[i] = (uint8_t)((c[0] & 3) | (c[32] & 3) << 2 | (c[64] & 3) << 4 | (c[96] & 3) << 6);
    }
}

static void pack_nibbles(uint8_t to[128], const uint8_t code[SUPER])
{
    for (int i = 0; i < 128; i++) {
        const uint8_t *c = code + i / 32 * 64 + i % 32;
        to[i] = (uint8_t)((c[0] & 15) | (c[32] & 15) << 4);
    }
}

/* ---- types with minima ---- */

static const struct encode_search found_4 = {15, 20, -1.0f, 0.1f, false},
                                  found_5 = {31, 15, -0.5f, 0.1f, false},
                                  found_2 = {3, 15, -0.5f, 0.1f, true};

static void super_search(struct super *s, const struct encode_search *search)
{
    for (int t = 0; t < s->blocks / LANES; t++) {
        lanes_search(&s->turn[t], search);
        super_keep(s, t);
    }
}

/* Blocks of 32 with scales of 6 bits: what Q4_K and Q5_K share. */
static void super_of_32(struct super *s, struct stored_scales *to, const float *x, const float *importance,
                        const struct encode_search *plain)
{
    const struct encode_search fitted = {plain->most, 36, -0.9f, 0.05f, false};

    super_load(s, x, 32);
    if (importance) {
        super_weigh(s, importance, 2 * super_sum_x2(x) / SUPER);
    } else {
        for (int t = 0; t < s->blocks / LANES; t++) {
            struct encode_lanes *e = &s->turn[t];
            const lanes root = lanes_sqrt(e->sum_x2 / 32);
            for (int i = 0; i < 32; i++)
                e->w[i] = root + lanes_abs(e->x[i]);
        }
    }
    super_search(s, importance ? &fitted : plain);
    super_scales(s, to, importance, 63);
    super_recode_stored(s, to, plain->most);
}

/* Of Q5_K what it has in common with Q4_K: all but the fifth bits of codes, which stay in s. */
static void encode_low_bits(struct super *s, struct ct_block_q4_k *b, const float *x, const float *importance,
                            const struct encode_search *search)
{
    struct stored_scales scales;

    super_of_32(s, &scales, x, importance, search);
    b->d = scales.d;
    b->dmin = scales.dmin;
    pack_6bit(b->scale, scales.scale, scales.min);
    pack_nibbles(b->q, s->code);
}

static void encode_q4_k(struct super *s, void *to, const float *x, const float *importance)
{
    encode_low_bits(s, to, x, importance, &found_4);
}

static void encode_q5_k(struct super *s, void *to, const float *x, const float *importance)
{
    struct ct_block_q5_k *b = to;
    struct ct_block_q4_k low;

    encode_low_bits(s, &low, x, importance, &found_5);
    b->d = low.d;
    b->dmin = low.dmin;
    memcpy(b->scale, low.scale, sizeof b->scale);
    memcpy(b->q, low.q, sizeof b->q);
    memset(b->high, 0, sizeof b->high);
    for (int i = 0; i < SUPER; i++)
        b->high[i % 32] |= (uint8_t)(s->code[i] >> 4 << i / 32);
}

static void encode_q2_k(struct super *s, void *to, const float *x, const float *importance)
{
    static const struct encode_search fitted = {3, 36, -0.9f, 0.05f, false};
    struct ct_block_q2_k *b = to;
    struct stored_scales scales;

    super_load(s, x, 16);
    if (importance)
        super_weigh(s, importance, super_sum_x2(x) / SUPER);
    else
        for (int t = 0; t < s->blocks / LANES; t++)
            for (int i = 0; i < 16; i++)
                s->turn[t].w[i] = lanes_abs(s->turn[t].x[i]);
    super_search(s, importance ? &fitted : &found_2);
    super_scales(s, &scales, importance, 15);
    super_recode_stored(s, &scales, 3);
    b->d = scales.d;
    b->dmin = scales.dmin;
    for (int i = 0; i < 16; i++)
        b->scale[i] = (uint8_t)(scales.scale[i] | scales.min[i] << 4);
    pack_2bit(b->q, s->code);
}

/* ---- types whose scales have signs ---- */

/* The first scale of the largest magnitude. */
static float extreme_scale(const struct super *s)
{
    float most = 0;

    for (int i = 0; i < s->blocks; i++)
        most = __builtin_fabsf(s->scale[i]) > __builtin_fabsf(most) ? s->scale[i] : most;
    return most;
}

static void super_recode_signed(struct super *s, uint16_t d, const int *scale, int half)
{
    static const float none[MOST_BLOCKS] = {0};
    float worth[MOST_BLOCKS];

    for (int i = 0; i < s->blocks; i++)
        worth[i] = ct_f16_to_f32(d) * (float)scale[i];
    super_recode(s, worth, none, -half, half - 1);
}

static void encode_q3_k(struct super *s, void *to, const float *x, const float *importance)
{
    struct ct_block_q3_k *b = to;
    uint8_t code[16];
    int scale[16];

    super_load(s, x, 16);
    if (importance)
        super_weigh(s, importance, 2 * super_sum_x2(x) / SUPER);
    for (int t = 0; t < s->blocks / LANES; t++) {
        if (importance)
            lanes_search_signed(&s->turn[t], 4);
        else
            lanes_refine_signed(&s->turn[t], 4);
        memcpy(s->scale + t * LANES, &s->turn[t].scale, sizeof(lanes));
    }
    if (importance) {
        b->d = ct_f32_to_f16(fitted_signed_scales(code, s->scale, s->weight, 16, 32));
    } else {
        const float most = extreme_scale(s), inverse = -32.0f / most;
        for (int i = 0; i < 16; i++)
            code[i] = most != 0
                          ? (uint8_t)(CT_MAX(-32, CT_MIN(31, encode_nearest(inverse * s->scale[i]))) + 32)
                          : 0;
        b->d = ct_f32_to_f16(most != 0 ? 1 / inverse : 0);
    }
    memset(b->scale, 0, sizeof b->scale);
    for (int i = 0; i < 16; i++) {
        b->scale[i % 8] |= (uint8_t)((code[i] & 15) << i / 8 * 4);
        b->scale[8 + i % 4] |= (uint8_t)(code[i] >> 4 << i / 4 * 2);
        scale[i] = code[i] - 32;
    }
    super_recode_signed(s, b->d, scale, 4);
    memset(b->high, 0, sizeof b->high);
    for (int i = 0; i < SUPER; i++)
        b->high[i % 32] |= (uint8_t)(s->code[i] >> 2 << i / 32);
    pack_2bit(b->q, s->code);
}

static void encode_q6_k(struct super *s, void *to, const float *x, const float *importance)
{
    struct ct_block_q6_k *b = to;
    int scale[16];

    super_load(s, x, 16);
    for (int t = 0; t < s->blocks / LANES; t++) {
        struct encode_lanes *e = &s->turn[t];
        for (int i = 0; i < 16; i++)
            e->w[i] = e->x[i] * e->x[i];
        for (int lane = 0; importance && lane < LANES; lane++)
            for (int i = 0; i < 16; i++)
                e->w[i][lane] = importance[(t * LANES + lane) * 16 + i];
        lanes_search_signed(e, 32);
        memcpy(s->scale + t * LANES, &e->scale, sizeof(lanes));
    }
    const float most = extreme_scale(s), inverse = -128.0f / most;
    if (__builtin_fabsf(most) < ENCODE_TINY) {
        memset(b, 0, sizeof *b);
        return;
    }
    b->d = ct_f32_to_f16(1 / inverse);
    for (int i = 0; i < 16; i++) {
        b->scale[i] = (int8_t)CT_MIN(127, encode_nearest(inverse * s->scale[i]));
        scale[i] = b->scale[i];
    }
    super_recode_signed(s, b->d, scale, 32);
    for (int i = 0; i < 64; i++) {
        const uint8_t *c = s->code + i / 32 * 128 + i % 32;
        uint8_t *low = b->low + i / 32 * 64 + i % 32;
        low[0] = (uint8_t)((c[0] & 15) | (c[64] & 15) << 4);
        low[32] = (uint8_t)((c[32] & 15) | (c[96] & 15) << 4);
        b->high[i] = (uint8_t)(c[0] >> 4 | c[32] >> 4 << 2 | c[64] >> 4 << 4 | c[96] >> 4 << 6);
    }
}

/* ---- rows ---- */

static const struct {
    enum ct_type type;
    size_t bytes;
    void (*encode)(struct super *s, void *to, const float *x, const float *importance);
} kinds[] = {
    {CT_Q2_K, sizeof(struct ct_block_q2_k), encode_q2_k},
    {CT_Q3_K, sizeof(struct ct_block_q3_k), encode_q3_k},
    {CT_Q4_K, sizeof(struct ct_block_q4_k), encode_q4_k},
    {CT_Q5_K, sizeof(struct ct_block_q5_k), encode_q5_k},
    {CT_Q6_K, sizeof(struct ct_block_q6_k), encode_q6_k},
};

bool CT_ENCODE(k)(enum ct_type type, void *blocks, const float *x, size_t n, const float *importance)
{
    struct super s;
    uint8_t *to = blocks;
    size_t i = 0;

    while (i < CT_COUNT(kinds) && kinds[i].type != type)
        i++;
    if (i == CT_COUNT(kinds))
        return false;
    assert(n % SUPER == 0);
    for (size_t at = 0; at < n; at += SUPER, to += kinds[i].bytes)
        kinds[i].encode(&s, to, x + at, importance ? importance + at : NULL);
    return true;
}
