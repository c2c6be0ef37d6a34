/* SPDX-License-Identifier: Apache-2.0 */
/* planes.c: rows of the types whose bits fill no nibbles or whose factors are small integers (Q5_0, Q5_1,
 * K-quants, IQ4_XS, MXFP4, I8) to panels of bit planes and back, losing nothing. Layout: panel.h; what the
 * bits of a stored block mean: quant/blocks.h. */
#include "layout/panel.h"

#include "quant/blocks.h"

static inline uint32_t get_word(const uint8_t *p)
{
    return ct_le32(p);
}

static inline void put_word(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, 4);
}

/* `width` ones in each byte. */
static inline uint32_t mask_of(int width)
{
    return ((1u << width) - 1) * 0x01010101u;
}

/* ---- codes: of a stored block as 8 words of 4 bytes for each group of 32 ---- */

/* Where a stored block keeps one plane of its codes. */
struct source {
    enum { NONE, SHARED, CROSSED, HALVED, BYTES, ROW } order;
    int at;    /* offset in the block */
    int width; /* bits of each code */
    int to;    /* the bit of the code that the lowest of them is */
};

/* SHARED: 8 / width groups one after another share 32 bytes, the first has the lowest bits. CROSSED: the same
 * with the middle groups of each four exchanged (Q6_K). HALVED: 16 bytes for a group, low nibbles first.
 * BYTES: signed bytes. ROW: 32 single bits in a row, of which a word has the next 4.
 * Gives the offset of word i of group g and the shift of its bits. */
static inline int place(const struct source *s, int g, int i, int *shift)
{
    if (s->order == BYTES) {
        *shift = 0;
        return s->at + 32 * g + 4 * i;
    }
    if (s->order == HALVED) {
        *shift = i / 4 * 4;
        return s->at + 16 * g + 4 * (i % 4);
    }
    if (s->order == ROW) {
        *shift = 4 * i;
        return s->at;
    }
    if (s->order == CROSSED)
        g = (g & ~3) | (g & 1) << 1 | (g >> 1 & 1);
    *shift = g * s->width % 8;
    return s->at + g * s->width / 8 * 32 + 4 * i;
}

/* The codes of a word out of the stored bits that begin at place(), and those bits of a word's codes. */
static inline uint32_t codes_of(const struct source *s, uint32_t bits)
{
    if (s->order == ROW)
        return (bits & 1) | (bits & 2) << 7 | (bits & 4) << 14 | (bits & 8) << 21;
    return bits & mask_of(s->width);
}

static inline uint32_t bits_of(const struct source *s, uint32_t codes)
{
    codes &= mask_of(s->width);
    return s->order == ROW ? (codes | codes >> 7 | codes >> 14 | codes >> 21) & 15 : codes;
}

/* ---- factors: the small integers of a block as bytes, in the order of groups ---- */

typedef void factors_in(uint8_t *f, const uint8_t *b);
typedef void factors_out(uint8_t *b, const uint8_t *f);

/* Scale and minimum of each group in 6 bits: see unpack_6bit in quant/expand.c. */
static void six_pairs_in(uint8_t *f, const uint8_t *s)
{
    for (int k = 0; k < 4; k++) {
        f[2 * k] = s[k] & 63;
        f[2 * k + 1] = s[k + 4] & 63;
        f[2 * k + 8] = (uint8_t)((s[k + 8] & 15) | s[k] >> 6 << 4);
        f[2 * k + 9] = (uint8_t)(s[k + 8] >> 4 | s[k + 4] >> 6 << 4);
    }
}

static void six_pairs_out(uint8_t *s, const uint8_t *f)
{
    for (int k = 0; k < 4; k++) {
        s[k] = (uint8_t)(f[2 * k] | f[2 * k + 8] >> 4 << 6);
        s[k + 4] = (uint8_t)(f[2 * k + 1] | f[2 * k + 9] >> 4 << 6);
        s[k + 8] = (uint8_t)((f[2 * k + 8] & 15) | f[2 * k + 9] << 4);
    }
}

/* 16 scales of Q3_K in 6 bits, here less 32. */
static void six_in(uint8_t *f, const uint8_t *s)
{
    for (int k = 0; k < 16; k++) {
        int low = k < 8 ? s[k] & 15 : s[k - 8] >> 4;
        f[k] = (uint8_t)((low | (s[8 + k % 4] >> 2 * (k / 4) & 3) << 4) - 32);
    }
}

static void six_out(uint8_t *s, const uint8_t *f)
{
    memset(s, 0, 12);
    for (int k = 0; k < 16; k++) {
        int scale = (f[k] + 32) & 63;
        s[k % 8] = (uint8_t)(s[k % 8] | (scale & 15) << (k < 8 ? 0 : 4));
        s[8 + k % 4] = (uint8_t)(s[8 + k % 4] | scale >> 4 << 2 * (k / 4));
    }
}

/* 8 scales of IQ4_XS, the upper two bits of all before the nibbles; here less 32. */
static void split_in(uint8_t *f, const uint8_t *s)
{
    for (int k = 0; k < 8; k++)
        f[k] = (uint8_t)(((s[2 + k / 2] >> 4 * (k % 2) & 15) | (ct_le16(s) >> 2 * k & 3) << 4) - 32);
}

static void split_out(uint8_t *s, const uint8_t *f)
{
    memset(s, 0, 6);
    for (int k = 0; k < 8; k++) {
        int scale = (f[k] + 32) & 63;
        s[2 + k / 2] = (uint8_t)(s[2 + k / 2] | (scale & 15) << 4 * (k % 2));
        s[k / 4] = (uint8_t)(s[k / 4] | scale >> 4 << 2 * (k % 4));
    }
}

static void sixteen_in(uint8_t *f, const uint8_t *s)
{
    memcpy(f, s, 16);
}
static void sixteen_out(uint8_t *s, const uint8_t *f)
{
    memcpy(s, f, 16);
}

static void two_in(uint8_t *f, const uint8_t *s)
{
    memcpy(f, s, 2);
}
static void two_out(uint8_t *s, const uint8_t *f)
{
    memcpy(s, f, 2);
}

static void one_in(uint8_t *f, const uint8_t *s)
{
    f[0] = s[0];
}
static void one_out(uint8_t *s, const uint8_t *f)
{
    s[0] = f[0];
}

/* ---- the table ---- */

#define AT(type, member) offsetof(struct ct_block_##type, member)

static const struct packing {
    struct source source[2];
    int half[2];    /* offsets of the 16 bit factors, -1: none */
    int factor;     /* offset of the others */
    factors_in *in; /* NULL: there are none */
    factors_out *out;
} table[CT_TYPE_COUNT] = {
    [CT_Q5_0] =
        {{{HALVED, AT(q5_0, q), 4, 0}, {ROW, AT(q5_0, high), 1, 4}}, {-1, -1}, AT(q5_0, d), two_in, two_out},
    [CT_Q5_1] = {{{HALVED, AT(q5_1, q), 4, 0}, {ROW, AT(q5_1, high), 1, 4}},
                 {AT(q5_1, d), AT(q5_1, m)},
                 0,
                 NULL,
                 NULL},
    [CT_Q2_K] = {{{SHARED, AT(q2_k, q), 2, 0}},
                 {AT(q2_k, d), AT(q2_k, dmin)},
                 AT(q2_k, scale),
                 sixteen_in,
                 sixteen_out},
    [CT_Q3_K] = {{{SHARED, AT(q3_k, q), 2, 0}, {SHARED, AT(q3_k, high), 1, 2}},
                 {AT(q3_k, d), -1},
                 AT(q3_k, scale),
                 six_in,
                 six_out},
    [CT_Q4_K] = {{{SHARED, AT(q4_k, q), 4, 0}},
                 {AT(q4_k, d), AT(q4_k, dmin)},
                 AT(q4_k, scale),
                 six_pairs_in,
                 six_pairs_out},
    [CT_Q5_K] = {{{SHARED, AT(q5_k, q), 4, 0}, {SHARED, AT(q5_k, high), 1, 4}},
                 {AT(q5_k, d), AT(q5_k, dmin)},
                 AT(q5_k, scale),
                 six_pairs_in,
                 six_pairs_out},
    [CT_Q6_K] = {{{CROSSED, AT(q6_k, low), 4, 0}, {SHARED, AT(q6_k, high), 2, 4}},
                 {AT(q6_k, d), -1},
                 AT(q6_k, scale),
                 sixteen_in,
                 sixteen_out},
    [CT_IQ4_XS] =
        {{{HALVED, AT(iq4_xs, q), 4, 0}}, {AT(iq4_xs, d), -1}, AT(iq4_xs, scale_high), split_in, split_out},
    [CT_MXFP4] = {{{HALVED, AT(mxfp4, q), 4, 0}}, {-1, -1}, AT(mxfp4, e), one_in, one_out},
    [CT_I8] = {{{BYTES, AT(i8, q), 8, 0}}, {AT(i8, scale), AT(i8, zero)}, 0, NULL, NULL},
};

/* ---- rows ---- */

/* Where group g of a chunk keeps factor i of row r. */
static inline size_t factor_at(const struct ct_panel *p, int g, int i, int r)
{
    return (size_t)(p->scales - p->k / CT_GROUP * CT_PANEL_ROWS * p->factors +
                    (g * CT_PANEL_ROWS + r) * p->factors + i);
}

/* One plane of a row in the lines of a group: 8 / width words in a line, the first in the lowest bits. */
static inline void put_plane(uint8_t *lines, int r, const uint32_t word[8], int width, int from)
{
    int share = 8 / width;
    for (int line = 0; line < width; line++) {
        uint32_t v = 0;
        for (int j = 0; j < share; j++)
            v |= (word[line * share + j] >> from & mask_of(width)) << width * j;
        put_word(lines + 64 * line + 4 * r, v);
    }
}

static inline void get_plane(uint32_t word[8], const uint8_t *lines, int r, int width, int to)
{
    int share = 8 / width;
    for (int i = 0; i < 8; i++)
        word[i] |= (get_word(lines + 64 * (i / share) + 4 * r) >> width * (i % share) & mask_of(width)) << to;
}

static inline void pack_group(uint8_t *lines, int r, const struct packing *t, int bits, const uint8_t *block,
                              int g)
{
    int low = ct_plane_bits(bits);
    uint32_t word[8] = {0};

    for (const struct source *s = t->source; s < t->source + 2 && s->order; s++)
        for (int i = 0; i < 8; i++) {
            int shift, at = place(s, g, i, &shift);
            word[i] |= codes_of(s, get_word(block + at) >> shift) << s->to;
        }
    for (int i = 0; i < 8 && bits == 8; i++)
        word[i] ^= 0x80808080u;
    put_plane(lines, r, word, low, 0);
    if (bits > low)
        put_plane(lines + 64 * low, r, word, bits - low, low);
}

static inline void unpack_group(uint8_t *block, int g, const struct packing *t, int bits,
                                const uint8_t *lines, int r)
{
    int low = ct_plane_bits(bits);
    uint32_t word[8] = {0};

    get_plane(word, lines, r, low, 0);
    if (bits > low)
        get_plane(word, lines + 64 * low, r, bits - low, low);
    for (int i = 0; i < 8 && bits == 8; i++)
        word[i] ^= 0x80808080u;
    for (const struct source *s = t->source; s < t->source + 2 && s->order; s++)
        for (int i = 0; i < 8; i++) {
            int shift, at = place(s, g, i, &shift);
            put_word(block + at, get_word(block + at) | bits_of(s, word[i] >> s->to) << shift);
        }
}

void ct_pack_planes(uint8_t *panel, const struct ct_panel *p, enum ct_type type, const uint8_t *row, int r,
                    int cols)
{
    const struct ct_type_info *info = ct_type_info(type);
    const struct packing *t = &table[type];

    for (int k = 0; k < cols; k += info->block, row += info->bytes) {
        uint8_t *chunk = panel + (size_t)(k / p->k) * (size_t)p->bytes, factor[16];
        int g0 = k % p->k / CT_GROUP, groups = info->block / CT_GROUP;
        for (int i = 0; i < 2; i++)
            if (t->half[i] >= 0)
                memcpy(chunk + 32 * i + 2 * r, row + t->half[i], 2);
        if (t->in)
            t->in(factor, row + t->factor);
        for (int i = 0; i < groups * p->factors; i++)
            chunk[factor_at(p, g0 + i / p->factors, i % p->factors, r)] = factor[i];
        for (int g = 0; g < groups; g++)
            pack_group(chunk + p->scales + (size_t)(g0 + g) * 64 * (size_t)p->bits, r, t, p->bits, row, g);
    }
}

void ct_unpack_planes(uint8_t *row, const struct ct_panel *p, enum ct_type type, const uint8_t *panel, int r,
                      int cols)
{
    const struct ct_type_info *info = ct_type_info(type);
    const struct packing *t = &table[type];

    for (int k = 0; k < cols; k += info->block, row += info->bytes) {
        const uint8_t *chunk = panel + (size_t)(k / p->k) * (size_t)p->bytes;
        uint8_t factor[16];
        int g0 = k % p->k / CT_GROUP, groups = info->block / CT_GROUP;
        memset(row, 0, (size_t)info->bytes);
        for (int i = 0; i < 2; i++)
            if (t->half[i] >= 0)
                memcpy(row + t->half[i], chunk + 32 * i + 2 * r, 2);
        for (int i = 0; i < groups * p->factors; i++)
            factor[i] = chunk[factor_at(p, g0 + i / p->factors, i % p->factors, r)];
        if (t->out)
            t->out(row + t->factor, factor);
        for (int g = 0; g < groups; g++)
            unpack_group(row, g, t, p->bits, chunk + p->scales + (size_t)(g0 + g) * 64 * (size_t)p->bits, r);
    }
}
