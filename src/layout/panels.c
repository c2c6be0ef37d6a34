/* SPDX-License-Identifier: Apache-2.0 */
/* panels.c: stored rows to panels and back. Packing moves bits, it never computes: unpacking gives the
 * stored row again, except that BF16 weights below 2^-50 become 0 on the way in (NUMERICS.md section 5).
 * Layout: panel.h. */
#include "layout/panel.h"

/* 4 bytes of one row in line `line` behind `lines`. */
static inline uint8_t *word_at(uint8_t *lines, int line, int r)
{
    return lines + 64 * line + 4 * r;
}

static inline uint32_t get_word(const uint8_t *p)
{
    return ct_le32(p);
}

static inline void put_word(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, 4);
}

/* ---- types of 32-blocks: f16 scale, perhaps an f16 minimum, codes ---- */

/* The 32 codes of a block as 8 words of 4 bytes, in order of k: words in, or words out. */
typedef void codes_in(uint32_t word[8], const uint8_t *block);
typedef void codes_out(uint8_t *block, const uint32_t word[8]);

static void bytes_in(uint32_t word[8], const uint8_t *q)
{
    for (int i = 0; i < 8; i++)
        word[i] = get_word(q + 4 * i) ^ 0x80808080u;
}

static void bytes_out(uint8_t *q, const uint32_t word[8])
{
    for (int i = 0; i < 8; i++)
        put_word(q + 4 * i, word[i] ^ 0x80808080u);
}

static void nibbles_in(uint32_t word[8], const uint8_t *q)
{
    for (int i = 0; i < 4; i++) {
        word[i] = get_word(q + 4 * i) & 0x0f0f0f0fu;
        word[i + 4] = get_word(q + 4 * i) >> 4 & 0x0f0f0f0fu;
    }
}

static void nibbles_out(uint8_t *q, const uint32_t word[8])
{
    for (int i = 0; i < 4; i++)
        put_word(q + 4 * i, word[i] | word[i + 4] << 4);
}

/* ---- the table ---- */

#define PLANES(k, scales, bits, factors, minimum)                                                            \
    {                                                                                                        \
        CT_LINES_PLANES, k, scales, scales + k / CT_GROUP * 64 * bits, minimum, bits, factors                \
    }

static const struct packing {
    struct ct_panel panel;
    int block;    /* bytes of a stored block of 32, 0 for plain types and planes */
    codes_in *in; /* codes of a block lie behind its scale and minimum */
    codes_out *out;
} table[CT_TYPE_COUNT] = {
    [CT_F32] = {{CT_LINES_32, 32, 0, 2048, false, 0, 0}, 0, NULL, NULL},
    [CT_F16] = {{CT_LINES_16, 32, 0, 1024, false, 0, 0}, 0, NULL, NULL},
    [CT_BF16] = {{CT_LINES_16, 32, 0, 1024, false, 0, 0}, 0, NULL, NULL},
    [CT_Q8_0] = {{CT_LINES_BYTE, 64, 64, 1088, false, 0, 0}, 34, bytes_in, bytes_out},
    [CT_Q5_0] = {.panel = PLANES(64, 64, 5, 2, false)},
    [CT_Q5_1] = {.panel = PLANES(32, 64, 5, 0, true)},
    [CT_Q4_0] = {{CT_LINES_NIBBLE, 64, 64, 576, false, 0, 0}, 18, nibbles_in, nibbles_out},
    [CT_Q4_1] = {{CT_LINES_NIBBLE, 64, 128, 640, true, 0, 0}, 20, nibbles_in, nibbles_out},
    [CT_IQ4_NL] = {{CT_LINES_NIBBLE, 64, 64, 576, false, 0, 0}, 18, nibbles_in, nibbles_out},
    [CT_Q2_K] = {.panel = PLANES(256, 64 + 256, 2, 2, true)},
    [CT_Q3_K] = {.panel = PLANES(256, 64 + 256, 3, 2, false)},
    [CT_Q4_K] = {.panel = PLANES(256, 64 + 256, 4, 2, true)},
    [CT_Q5_K] = {.panel = PLANES(256, 64 + 256, 5, 2, true)},
    [CT_Q6_K] = {.panel = PLANES(256, 64 + 256, 6, 2, false)},
    [CT_IQ4_XS] = {.panel = PLANES(256, 64 + 128, 4, 1, false)},
    [CT_MXFP4] = {.panel = PLANES(128, 64, 4, 1, false)},
    [CT_SFP] = {{CT_LINES_BYTE, 32, 0, 512, false, 0, 0}, 0, NULL, NULL},
    [CT_I8] = {.panel = PLANES(128, 64, 8, 0, true)},
};

const struct ct_panel *ct_panel_of(enum ct_type type)
{
    return &table[type].panel;
}

size_t ct_panel_size(enum ct_type type, int cols)
{
    const struct ct_panel *p = &table[type].panel;
    return p->lines == CT_LINES_NONE ? 0 : ct_panel_bytes(p, cols);
}

/* ---- rows ---- */

/* Where group g of row r keeps its scale (which 0) or minimum (which 1), in its chunk. */
static size_t scale_offset(int which, int g, int r)
{
    return (size_t)(64 * which + 32 * (g & 1) + 2 * r);
}

static void pack_blocks(const struct packing *t, uint8_t *panel, const uint8_t *row, int r, int cols)
{
    int scales = t->panel.minimum ? 2 : 1;

    for (int g = 0; g < cols / CT_GROUP; g++, row += t->block) {
        uint8_t *chunk = panel + (size_t)(g / 2) * (size_t)t->panel.bytes;
        uint8_t *lines = chunk + t->panel.scales;
        uint32_t word[8];
        for (int s = 0; s < scales; s++)
            memcpy(chunk + scale_offset(s, g, r), row + 2 * s, 2);
        t->in(word, row + 2 * scales);
        for (int i = 0; i < 8 && t->panel.lines == CT_LINES_BYTE; i++)
            put_word(word_at(lines, 8 * (g & 1) + i, r), word[i]);
        for (int i = 0; i < 4 && t->panel.lines == CT_LINES_NIBBLE; i++)
            put_word(word_at(lines, 4 * (g & 1) + i, r), word[2 * i] | word[2 * i + 1] << 4);
    }
}

static void unpack_blocks(const struct packing *t, uint8_t *row, const uint8_t *panel, int r, int cols)
{
    int scales = t->panel.minimum ? 2 : 1;

    for (int g = 0; g < cols / CT_GROUP; g++, row += t->block) {
        uint8_t *chunk = (uint8_t *)panel + (size_t)(g / 2) * (size_t)t->panel.bytes;
        uint8_t *lines = chunk + t->panel.scales;
        uint32_t word[8];
        for (int s = 0; s < scales; s++)
            memcpy(row + 2 * s, chunk + scale_offset(s, g, r), 2);
        for (int i = 0; i < 8 && t->panel.lines == CT_LINES_BYTE; i++)
            word[i] = get_word(word_at(lines, 8 * (g & 1) + i, r));
        for (int i = 0; i < 8 && t->panel.lines == CT_LINES_NIBBLE; i++)
            word[i] = get_word(word_at(lines, 4 * (g & 1) + i / 2, r)) >> 4 * (i & 1) & 0x0f0f0f0fu;
        t->out(row + 2 * scales, word);
    }
}

/* Two bf16, each 0 below 2^-50. */
static uint32_t flush_pair(uint32_t v)
{
    uint32_t low = (v & 0x7fffu) < 0x2680u ? 0 : v & 0xffffu;
    uint32_t high = (v & 0x7fff0000u) < 0x26800000u ? 0 : v & 0xffff0000u;
    return low | high;
}

/* Lines go on through all chunks: there is nothing between them. */
static void pack_plain(enum ct_type type, uint8_t *panel, const uint8_t *row, int r, int cols)
{
    size_t bytes = (size_t)cols * (size_t)ct_type_info(type)->bytes, at = 0;
    uint32_t v;

    panel += 4 * (size_t)r;
    for (; at + 4 <= bytes; at += 4) {
        v = get_word(row + at);
        put_word(panel + 16 * at, type == CT_BF16 ? flush_pair(v) : v);
    }
    if (at < bytes) {
        v = 0;
        memcpy(&v, row + at, bytes - at);
        put_word(panel + 16 * at, type == CT_BF16 ? flush_pair(v) : v);
    }
}

static void unpack_plain(enum ct_type type, uint8_t *row, const uint8_t *panel, int r, int cols)
{
    size_t bytes = (size_t)cols * (size_t)ct_type_info(type)->bytes, at = 0;

    panel += 4 * (size_t)r;
    for (; at + 4 <= bytes; at += 4)
        memcpy(row + at, panel + 16 * at, 4);
    if (at < bytes)
        memcpy(row + at, panel + 16 * at, bytes - at);
}

void ct_pack(uint8_t *panel, const struct ct_weight *w, int r0)
{
    const struct packing *t = &table[w->type];

    memset(panel, 0, ct_panel_bytes(&t->panel, w->cols));
    for (int r = 0; r < CT_MIN(CT_PANEL_ROWS, w->rows - r0); r++) {
        const uint8_t *row = (const uint8_t *)w->data + (size_t)(r0 + r) * w->row_bytes;
        if (t->panel.lines == CT_LINES_PLANES)
            ct_pack_planes(panel, ct_panel_of(w->type), w->type, row, r, w->cols);
        else if (t->block)
            pack_blocks(t, panel, row, r, w->cols);
        else
            pack_plain(w->type, panel, row, r, w->cols);
    }
}

void ct_unpack(uint8_t *row, const struct ct_weight *w, int r)
{
    const struct packing *t = &table[w->type];
    const uint8_t *panel = (const uint8_t *)w->data + (size_t)(r / CT_PANEL_ROWS) * w->row_bytes;

    if (t->panel.lines == CT_LINES_PLANES)
        ct_unpack_planes(row, ct_panel_of(w->type), w->type, panel, r % CT_PANEL_ROWS, w->cols);
    else if (t->block)
        unpack_blocks(t, row, panel, r % CT_PANEL_ROWS, w->cols);
    else
        unpack_plain(w->type, row, panel, r % CT_PANEL_ROWS, w->cols);
}
