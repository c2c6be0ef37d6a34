/* SPDX-License-Identifier: Apache-2.0 */
/* panels.c: stored rows to panels and back. Packing moves bits, it never computes: unpacking gives the stored
 * row again, except that BF16 weights below 2^-50 become 0 on the way in (NUMERICS.md section 5). Layout:
 * panel.h; what the bits of a stored block mean: quant/blocks.h. */
#include "layout/panel.h"

#include "layout/palettes.h"
#include "quant/blocks.h"

/* So that what is constant for a type is folded into its loop. */
#define INLINE static inline __attribute__((always_inline))

INLINE void put_word(uint8_t *p, uint32_t v)
{
    memcpy(p, &v, 4);
}

/* `width` ones in each byte. */
INLINE uint32_t mask_of(int width)
{
    return ((1u << width) - 1) * 0x01010101u;
}

/* Copies n bytes into a panel (pack) or out of it. */
INLINE void move_bytes(uint8_t *panel, uint8_t *stored, size_t n, const bool pack)
{
    memcpy(pack ? panel : stored, pack ? stored : panel, n);
}

/* ---- codes: of a stored block as 8 words of 4 bytes for each group of 32 ---- */

/* The place where a stored block keeps one plane of its codes. */
struct source {
    enum { NONE, SHARED, CROSSED, HALVED, QUARTERED, BYTES, ROW } order;
    int at;    /* offset in the block */
    int width; /* bits of each code */
    int to;    /* the bit of the code that the lowest of them is */
};

/* SHARED: 8 / width groups one after another share 32 bytes, the first has the lowest bits. CROSSED: the same
 * with the middle groups of each four exchanged (Q6_K). HALVED: 16 bytes for a group, low nibbles first;
 * QUARTERED: 8 bytes for each half of a group likewise. BYTES: signed bytes. ROW: codes of 1 or 2 bits in a
 * row, of which a word has the next 4.
 * Gives the offset of word i of group g and the shift of its bits. */
INLINE int place(const struct source *s, int g, int i, int *shift)
{
    if (s->order == BYTES) {
        *shift = 0;
        return s->at + 32 * g + 4 * i;
    }
    if (s->order == HALVED) {
        *shift = i / 4 * 4;
        return s->at + 16 * g + 4 * (i % 4);
    }
    if (s->order == QUARTERED) {
        *shift = i / 2 % 2 * 4;
        return s->at + 16 * g + 8 * (i / 4) + 4 * (i % 2);
    }
    if (s->order == ROW) {
        *shift = 4 * s->width * i % 32;
        return s->at + 4 * s->width * g + s->width * i / 8 * 4;
    }
    if (s->order == CROSSED)
        g = (g & ~3) | (g & 1) << 1 | (g >> 1 & 1);
    *shift = g * s->width % 8;
    return s->at + g * s->width / 8 * 32 + 4 * i;
}

/* Four codes of `width` bits, as bytes, and back. */
INLINE uint32_t spread(uint32_t v, int width)
{
    uint32_t all = 0, mask = (1u << width) - 1;
    for (int j = 0; j < 4; j++)
        all |= (v >> width * j & mask) << 8 * j;
    return all;
}

INLINE uint32_t gather(uint32_t v, int width)
{
    uint32_t all = 0, mask = (1u << width) - 1;
    for (int j = 0; j < 4; j++)
        all |= (v >> 8 * j & mask) << width * j;
    return all;
}

/* The codes of group g among those of a block. */
INLINE void get_codes(uint32_t word[8], const struct source *s, const uint8_t *block, int g)
{
    for (int i = 0; i < 8; i++) {
        int shift, at = place(s, g, i, &shift);
        uint32_t v = ct_le32(block + at) >> shift;
        if (s->order == ROW)
            v = spread(v, s->width);
        word[i] |= (v & mask_of(s->width)) << s->to;
    }
}

INLINE void put_codes(uint8_t *block, const struct source *s, const uint32_t word[8], int g)
{
    for (int i = 0; i < 8; i++) {
        int shift, at = place(s, g, i, &shift);
        uint32_t v = word[i] >> s->to & mask_of(s->width);
        if (s->order == ROW)
            v = gather(v, s->width);
        put_word(block + at, ct_le32(block + at) | v << shift);
    }
}

/* ---- factors of groups that a block packs into fewer bits: as bytes, in the order of groups ---- */

typedef void factors_in(uint8_t *f, const uint8_t *b);
typedef void factors_out(uint8_t *b, const uint8_t *f);

/* Scale and minimum of each group in 6 bits: see unpack_6bit in quant/quant.c. */
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
    for (int k = 0; k < 8; k++) {
        int scale = (f[k] + 32) & 63;
        s[2 + k / 2] = (uint8_t)(s[2 + k / 2] | (scale & 15) << 4 * (k % 2));
        s[k / 4] = (uint8_t)(s[k / 4] | scale >> 4 << 2 * (k % 4));
    }
}

/* ---- the table ---- */

#define AT(type, member) offsetof(struct ct_block_##type, member)
#define PLAIN(lines, bytes)                                                                                  \
    {                                                                                                        \
        .panel = { CT_LINES_##lines, 32, bytes }                                                             \
    }
#define NUMBERS(bytes)                                                                                       \
    {                                                                                                        \
        .panel = { CT_LINES_NUMBERS, 256, bytes }                                                            \
    }
/* A panel in lines of that kind: chunks of `scales` bytes and then k codes of so many bits. */
#define BLOCKS(lines, k, scales, bits) {CT_LINES_##lines, k, scales + k / CT_GROUP * 64 * bits}, bits, scales

struct factors {
    int n, at; /* how many, and where the first one lies in a stored block */
};

static const struct packing {
    struct ct_panel panel;
    /* of types that are stored in blocks: */
    int bits;              /* of a code */
    int scales;            /* bytes before the lines of a chunk */
    struct factors chunk;  /* of 16 bits each */
    struct factors groups; /* bytes of each group; they end where the lines begin */
    struct source source[2];
    factors_in *in;   /* of groups; NULL: bytes are stored as they are */
    factors_out *out; /* into zeros */
} table[CT_TYPE_COUNT] = {
    [CT_F32] = PLAIN(32, 2048),
    [CT_F16] = PLAIN(16, 1024),
    [CT_BF16] = PLAIN(16, 1024),
    [CT_SFP] = PLAIN(BYTE, 512),
    [CT_Q8_0] = {BLOCKS(BYTE, 64, 64, 8), {0}, {2, AT(q8_0, d)}, {{BYTES, AT(q8_0, q), 8, 0}}, NULL, NULL},
    [CT_Q4_0] = {BLOCKS(NIBBLE, 64, 64, 4), {0}, {2, AT(q4_0, d)}, {{HALVED, AT(q4_0, q), 4, 0}}, NULL, NULL},
    [CT_Q4_1] =
        {BLOCKS(NIBBLE, 64, 128, 4), {0}, {4, AT(q4_1, d)}, {{HALVED, AT(q4_1, q), 4, 0}}, NULL, NULL},
    [CT_IQ4_NL] =
        {BLOCKS(NIBBLE, 64, 64, 4), {0}, {2, AT(iq4_nl, d)}, {{HALVED, AT(iq4_nl, q), 4, 0}}, NULL, NULL},
    [CT_Q5_0] = {BLOCKS(PLANES, 64, 64, 5),
                 {0},
                 {2, AT(q5_0, d)},
                 {{HALVED, AT(q5_0, q), 4, 0}, {ROW, AT(q5_0, high), 1, 4}},
                 NULL,
                 NULL},
    [CT_Q5_1] = {BLOCKS(PLANES, 32, 64, 5),
                 {2, AT(q5_1, d)},
                 {0},
                 {{HALVED, AT(q5_1, q), 4, 0}, {ROW, AT(q5_1, high), 1, 4}},
                 NULL,
                 NULL},
    [CT_Q2_K] = {BLOCKS(PLANES, 256, 320, 2),
                 {2, AT(q2_k, d)},
                 {2, AT(q2_k, scale)},
                 {{SHARED, AT(q2_k, q), 2, 0}},
                 NULL,
                 NULL},
    [CT_Q3_K] = {BLOCKS(PLANES, 256, 320, 3),
                 {1, AT(q3_k, d)},
                 {2, AT(q3_k, scale)},
                 {{SHARED, AT(q3_k, q), 2, 0}, {SHARED, AT(q3_k, high), 1, 2}},
                 six_in,
                 six_out},
    [CT_Q4_K] = {BLOCKS(PLANES, 256, 320, 4),
                 {2, AT(q4_k, d)},
                 {2, AT(q4_k, scale)},
                 {{SHARED, AT(q4_k, q), 4, 0}},
                 six_pairs_in,
                 six_pairs_out},
    [CT_Q5_K] = {BLOCKS(PLANES, 256, 320, 5),
                 {2, AT(q5_k, d)},
                 {2, AT(q5_k, scale)},
                 {{SHARED, AT(q5_k, q), 4, 0}, {SHARED, AT(q5_k, high), 1, 4}},
                 six_pairs_in,
                 six_pairs_out},
    [CT_Q6_K] = {BLOCKS(PLANES, 256, 320, 6),
                 {1, AT(q6_k, d)},
                 {2, AT(q6_k, scale)},
                 {{CROSSED, AT(q6_k, low), 4, 0}, {SHARED, AT(q6_k, high), 2, 4}},
                 NULL,
                 NULL},
    [CT_IQ4_XS] = {BLOCKS(PLANES, 256, 192, 4),
                   {1, AT(iq4_xs, d)},
                   {1, AT(iq4_xs, scale_high)},
                   {{HALVED, AT(iq4_xs, q), 4, 0}},
                   split_in,
                   split_out},
    [CT_MXFP4] =
        {BLOCKS(PLANES, 128, 64, 4), {0}, {1, AT(mxfp4, e)}, {{HALVED, AT(mxfp4, q), 4, 0}}, NULL, NULL},
    [CT_IQ2_XXS] = NUMBERS(1088),
    [CT_IQ2_XS] = NUMBERS(1216),
    [CT_IQ2_S] = NUMBERS(1344),
    [CT_IQ3_XXS] = NUMBERS(1600),
    [CT_IQ3_S] = NUMBERS(1792),
    [CT_IQ1_S] = NUMBERS(832),
    [CT_IQ1_M] = NUMBERS(896),
    [CT_TQ1_0] = NUMBERS(896),
    [CT_TQ2_0] =
        {BLOCKS(PLANES, 256, 64, 2), {1, AT(tq2_0, d)}, {0}, {{SHARED, AT(tq2_0, q), 2, 0}}, NULL, NULL},
    [CT_Q1_0] = {BLOCKS(PLANES, 128, 32, 1), {1, AT(q1_0, d)}, {0}, {{ROW, AT(q1_0, q), 1, 0}}, NULL, NULL},
    [CT_Q2_0] = {BLOCKS(PLANES, 64, 32, 2), {1, AT(q2_0, d)}, {0}, {{ROW, AT(q2_0, q), 2, 0}}, NULL, NULL},
    [CT_NVFP4] =
        {BLOCKS(PLANES, 64, 64, 4), {0}, {2, AT(nvfp4, d)}, {{QUARTERED, AT(nvfp4, q), 4, 0}}, NULL, NULL},
    [CT_I8] = {BLOCKS(PLANES, 128, 64, 8), {2, AT(i8, scale)}, {0}, {{BYTES, AT(i8, q), 8, 0}}, NULL, NULL},
};

/* Bytes that lie in a panel as in a stored block: `unit` of them for a row, n times. */
struct moved {
    uint8_t at, stride; /* in the block: of the first, and from one to the next */
    uint8_t unit, n;
    uint16_t to, apart; /* in the chunk likewise, of row 0 */
};

/* Of types whose blocks are numbers of entries or digits, all that a block has. */
enum { MOST_MOVED = 6 };
static const struct moved moved[CT_TYPE_COUNT][MOST_MOVED] = {
    [CT_IQ2_XXS] = {{0, 0, 2, 1, 0, 0}, {2, 8, 4, 8, 64, 128}, {6, 8, 4, 8, 128, 128}},
    [CT_IQ2_XS] = {{0, 0, 2, 1, 0, 0},
                   {2, 8, 4, 8, 64, 144},
                   {6, 8, 4, 8, 128, 144},
                   {66, 1, 1, 8, 192, 144}},
    [CT_IQ2_S] = {{0, 0, 2, 1, 0, 0},
                  {2, 4, 4, 8, 64, 160},
                  {34, 4, 4, 8, 128, 160},
                  {66, 1, 1, 8, 192, 160},
                  {74, 1, 1, 8, 208, 160}},
    [CT_IQ3_XXS] = {{0, 0, 2, 1, 0, 0},
                    {2, 8, 4, 8, 64, 192},
                    {6, 8, 4, 8, 128, 192},
                    {66, 4, 4, 8, 192, 192}},
    [CT_IQ3_S] = {{0, 0, 2, 1, 0, 0},
                  {106, 1, 1, 4, 64, 16},
                  {2, 8, 4, 8, 128, 208},
                  {6, 8, 4, 8, 192, 208},
                  {74, 4, 4, 8, 256, 208},
                  {66, 1, 1, 8, 320, 208}},
    [CT_IQ1_S] = {{0, 0, 2, 1, 0, 0}, {2, 4, 4, 8, 64, 96}, {34, 2, 2, 8, 128, 96}},
    [CT_IQ1_M] = {{48, 2, 2, 4, 0, 32}, {0, 4, 4, 8, 128, 96}, {32, 2, 2, 8, 192, 96}},
    [CT_TQ1_0] = {{52, 0, 2, 1, 0, 0}, {0, 4, 4, 13, 64, 64}},
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

/* ---- rows of plain types ---- */

/* Two bf16, each 0 below 2^-50. */
static uint32_t flush_pair(uint32_t v)
{
    uint32_t low = (v & 0x7fffu) < 0x2680u ? 0 : v & 0xffffu;
    uint32_t high = (v & 0x7fff0000u) < 0x26800000u ? 0 : v & 0xffff0000u;
    return low | high;
}

INLINE void move_word(uint8_t *panel, uint8_t *stored, size_t n, bool pack, bool flush)
{
    uint32_t v = 0;
    if (pack) {
        memcpy(&v, stored, n);
        put_word(panel, flush ? flush_pair(v) : v);
    } else {
        memcpy(stored, panel, n);
    }
}

/* Lines go on through all chunks: there is nothing between them. */
static void move_plain(uint8_t *panel, enum ct_type type, uint8_t *row, int r, int cols, const bool pack)
{
    const size_t bytes = (size_t)cols * (size_t)ct_type_info(type)->bytes;
    size_t at = 0;

    panel += 4 * r;
    for (; at + 4 <= bytes; at += 4)
        move_word(panel + 16 * at, row + at, 4, pack, type == CT_BF16);
    if (at < bytes)
        move_word(panel + 16 * at, row + at, bytes - at, pack, type == CT_BF16);
}

/* ---- rows of blocks ---- */

/* The place where group g of a chunk keeps factor i of row r: pairs lie apart. */
INLINE size_t factor_at(const struct packing *t, int g, int i, int r)
{
    const int lanes = t->panel.k / CT_GROUP * CT_PANEL_ROWS, width = CT_MIN(t->groups.n, 2);
    return (size_t)(t->scales - lanes * t->groups.n + i / 2 * 2 * lanes + (g * CT_PANEL_ROWS + r) * width +
                    i % 2);
}

/* One plane of a row in the lines of a group: 8 / width words in a line, the first in the lowest bits. */
INLINE void put_plane(uint8_t *lines, int r, const uint32_t word[8], int width, int from)
{
    int share = 8 / width;
    for (int line = 0; line < width; line++) {
        uint32_t v = 0;
        for (int j = 0; j < share; j++)
            v |= (word[line * share + j] >> from & mask_of(width)) << width * j;
        put_word(lines + 64 * line + 4 * r, v);
    }
}

INLINE void get_plane(uint32_t word[8], const uint8_t *lines, int r, int width, int to)
{
    int share = 8 / width;
    for (int i = 0; i < 8; i++)
        word[i] |= (ct_le32(lines + 64 * (i / share) + 4 * r) >> width * (i % share) & mask_of(width)) << to;
}

INLINE void pack_group(uint8_t *lines, int r, const struct packing *t, const uint8_t *block, int g)
{
    const int low = ct_plane_bits(t->bits);
    uint32_t word[8] = {0};

    get_codes(word, &t->source[0], block, g);
    if (t->source[1].order)
        get_codes(word, &t->source[1], block, g);
    for (int i = 0; i < 8 && t->bits == 8; i++)
        word[i] ^= 0x80808080u;
    put_plane(lines, r, word, low, 0);
    if (t->bits > low)
        put_plane(lines + 64 * low, r, word, t->bits - low, low);
}

INLINE void unpack_group(uint8_t *block, int g, const struct packing *t, const uint8_t *lines, int r)
{
    const int low = ct_plane_bits(t->bits);
    uint32_t word[8] = {0};

    get_plane(word, lines, r, low, 0);
    if (t->bits > low)
        get_plane(word, lines + 64 * low, r, t->bits - low, low);
    for (int i = 0; i < 8 && t->bits == 8; i++)
        word[i] ^= 0x80808080u;
    put_codes(block, &t->source[0], word, g);
    if (t->source[1].order)
        put_codes(block, &t->source[1], word, g);
}

INLINE void move_blocks(uint8_t *panel, enum ct_type type, uint8_t *row, int r, int cols, const bool pack)
{
    const struct ct_type_info *info = ct_type_info(type);
    const struct packing *t = &table[type];

    for (int k = 0; k < cols; k += info->block, row += info->bytes) {
        uint8_t *chunk = panel + (size_t)(k / t->panel.k) * (size_t)t->panel.bytes, factor[16];
        const int g0 = k % t->panel.k / CT_GROUP, groups = info->block / CT_GROUP;
        if (!pack)
            memset(row, 0, (size_t)info->bytes);
        for (int i = 0; i < t->chunk.n; i++)
            move_bytes(chunk + 32 * i + 2 * r, row + t->chunk.at + 2 * i, 2, pack);
        if (pack && t->in)
            t->in(factor, row + t->groups.at);
        for (int g = 0; g < groups; g++) {
            uint8_t *lines = chunk + t->scales + (g0 + g) * 64 * t->bits;
            uint8_t *f = (t->in ? factor : row + t->groups.at) + g * t->groups.n;
            for (int i = 0; i < t->groups.n; i++)
                move_bytes(&chunk[factor_at(t, g0 + g, i, r)], &f[i], 1, pack);
            if (pack)
                pack_group(lines, r, t, row, g);
            else
                unpack_group(row, g, t, lines, r);
        }
        if (!pack && t->out)
            t->out(row + t->groups.at, factor);
    }
}

INLINE void move_numbers(uint8_t *panel, enum ct_type type, uint8_t *row, int r, int cols, const bool pack)
{
    const struct packing *t = &table[type];
    const int bytes = ct_type_info(type)->bytes;

    for (int k = 0; k < cols; k += t->panel.k, row += bytes, panel += t->panel.bytes)
        for (const struct moved *m = moved[type]; m < moved[type] + MOST_MOVED && m->n; m++)
            for (int i = 0; i < m->n; i++)
                move_bytes(panel + m->to + i * m->apart + r * m->unit, row + m->at + i * m->stride,
                           (size_t)m->unit, pack);
}

/* Row r of a panel. The commonest blocks have a loop of their own, in which their row of the table is
 * constant. */
static void move_row(uint8_t *panel, enum ct_type type, uint8_t *row, int r, int cols, const bool pack)
{
    if (table[type].panel.lines == CT_LINES_NUMBERS)
        move_numbers(panel, type, row, r, cols, pack);
    else if (table[type].bits == 0)
        move_plain(panel, type, row, r, cols, pack);
    else if (type == CT_Q8_0)
        move_blocks(panel, CT_Q8_0, row, r, cols, pack);
    else if (type == CT_Q4_0 || type == CT_IQ4_NL) /* blocks of one form */
        move_blocks(panel, CT_Q4_0, row, r, cols, pack);
    else if (type == CT_Q4_1)
        move_blocks(panel, CT_Q4_1, row, r, cols, pack);
    else
        move_blocks(panel, type, row, r, cols, pack);
}

void ct_pack(uint8_t *panel, const struct ct_weight *w, int r0)
{
    const int rows = CT_MIN(CT_PANEL_ROWS, w->rows - r0);

    memset(panel, 0, ct_panel_size(w->type, w->cols));
    for (int r = 0; r < rows && w->layout == CT_LAYOUT_PALETTE; r++)
        ct_unpack_entries(panel + 4 * r, CT_PANEL_ROWS, w, r0 + r);
    for (int r = 0; r < rows && w->layout != CT_LAYOUT_PALETTE; r++)
        move_row(panel, w->type, (uint8_t *)(uintptr_t)w->data + (size_t)(r0 + r) * w->row_bytes, r, w->cols,
                 true);
}

void ct_unpack(uint8_t *row, const struct ct_weight *w, int r)
{
    if (w->layout == CT_LAYOUT_PALETTE)
        ct_unpack_entries(row, 1, w, r);
    else if (w->layout == CT_LAYOUT_NIBBLES)
        ct_unpack_palette(row, w, r);
    else
        move_row((uint8_t *)(uintptr_t)w->data + (size_t)(r / CT_PANEL_ROWS) * w->row_bytes, w->type, row,
                 r % CT_PANEL_ROWS, w->cols, false);
}
