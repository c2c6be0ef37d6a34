/* SPDX-License-Identifier: Apache-2.0 */
/* books.c: looking up in plain C, and the choice of a way. A type says which numbers, signs and scales the
 * rows of a group have; what is written for them is one loop for entries of 8 weights and one for those of 4.
 * Entries and signs are whole loads from tables of 37 KB, made at first use, and nothing branches on data.
 *
 * Books are looked up a chunk at a time into one form that lies like a panel of bytes, so that a level has
 * one kernel for all of them, and only who looks up knows the types. Levels with vectors of 512 bits have it
 * done by permutations of bytes (x86/vbmi), which is a fact of the processor and no level; where it has none,
 * x86/vnni/books_vnni.c multiplies one token behind the lookup. */
#include "kernel/books.h"

#include <pthread.h>

#include "kernel/kernel.h"
#include "os/cpu.h"
#include "quant/grids.h"

enum { ZERO = 128, ROWS = CT_PANEL_ROWS, MOST = CT_GROUP / 4 };

/* ---- tables ---- */

/* A change of 8 bytes at once: all bits of some are inverted, and then something is added, which carries from
 * no byte into the next. */
struct change {
    uint64_t flip, add;
};

static struct {
    uint8_t iq2_xxs[256][8], iq2_xs[512][8], iq2_s[1024][8], iq1[2048][8]; /* entries: bytes, + ZERO */
    uint8_t iq3_xxs[256][4], iq3_s[512][4];
    struct change sign[256];   /* a set bit: 2 ZERO less the byte, which is one more than its bits inverted */
    struct change eighth[256]; /* the lowest bit, clear: 1 more, set: 1 less */
} table;

const struct ct_book ct_books[CT_TYPE_COUNT] = {
    [CT_IQ2_XXS] = {table.iq2_xxs[0], 8, 0.125f, false}, [CT_IQ2_XS] = {table.iq2_xs[0], 8, 0.125f, false},
    [CT_IQ2_S] = {table.iq2_s[0], 8, 0.125f, false},     [CT_IQ3_XXS] = {table.iq3_xxs[0], 4, 0.25f, false},
    [CT_IQ3_S] = {table.iq3_s[0], 4, 1, false},          [CT_IQ1_S] = {table.iq1[0], 8, 0.125f, true},
    [CT_IQ1_M] = {table.iq1[0], 8, 0.125f, true},        [CT_TQ1_0] = {NULL, 0, 1, false},
};

static ct_look_up look_up, *way_of[CT_BOOK_WAYS] = {look_up, look_up, look_up};

/* Runs once: small, and not fast. */
#define ONCE __attribute__((cold))

static ONCE void make_entries(uint8_t *to, const uint16_t *grid, int entries, int size, const int8_t *levels)
{
    const int bits = size == 8 ? 2 : 3;

    for (int i = 0; i < entries * size; i++)
        to[i] = (uint8_t)(ZERO + levels[grid[i / size] >> bits * (i % size) & ((1 << bits) - 1)]);
}

static ONCE void begin(void)
{
    static const int8_t eighths[4] = {-8, 0, 8, 0};
    const uint64_t ones = 0x0101010101010101u;

    make_entries(table.iq2_xxs[0], ct_grid_iq2_xxs, 256, 8, ct_levels_iq2);
    make_entries(table.iq2_xs[0], ct_grid_iq2_xs, 512, 8, ct_levels_iq2);
    make_entries(table.iq2_s[0], ct_grid_iq2_s, 1024, 8, ct_levels_iq2);
    make_entries(table.iq1[0], ct_grid_iq1, 2048, 8, eighths);
    make_entries(table.iq3_xxs[0], ct_grid_iq3_xxs, 256, 4, ct_levels_iq3_xxs);
    make_entries(table.iq3_s[0], ct_grid_iq3_s, 512, 4, ct_levels_iq3_s);
    for (int i = 0; i < 256; i++) {
        uint64_t set = 0;
        for (int j = 0; j < 8; j++)
            set |= (uint64_t)(i >> j & 1) << 8 * j;
        table.sign[i] = (struct change){set * 255, set};
        table.eighth[i] = (struct change){0, i % 2 ? 0 - ones : ones};
    }
#if defined(__x86_64__)
    if (ct_cpu_has_avx2()) {
        ct_book_init_avx2(ct_books);
        way_of[CT_BOOK_256] = way_of[CT_BOOK_512] = ct_look_up_avx2;
    }
    if (ct_cpu_has_vbmi()) {
        ct_book_init_vbmi();
        way_of[CT_BOOK_512] = ct_look_up_vbmi;
    }
#endif
}

/* ---- what the rows of a group have ---- */

struct rows {
    uint16_t number[MOST][ROWS]; /* of entries */
    uint32_t change[ROWS];       /* of 8 weights a byte: their signs, or that of an eighth */
};

/* Four times seven bits as bytes, the eighth bit of which makes their number even. */
static inline uint32_t four_signs(uint32_t v)
{
    uint32_t s = (v & 0x7f) | (v << 1 & 0x7f00) | (v << 2 & 0x7f0000) | (v << 3 & 0x7f000000);
    uint32_t odd = s ^ (s >> 4 & 0x0f0f0f0f);

    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return s | (odd & 0x01010101) << 7;
}

static inline void odd_scales(int8_t to[2], unsigned first, unsigned second)
{
    to[0] = (int8_t)(2 * (first & 15) + 1);
    to[1] = (int8_t)(2 * (second & 15) + 1);
}

/* n numbers, whose lower eight bits lie in lines of four. */
static inline void low_numbers(struct rows *to, const uint8_t *lines, const int n)
{
    for (int e = 0; e < n; e++)
        for (int r = 0; r < ROWS; r++)
            to->number[e][r] = lines[64 * (e / 4) + 4 * r + e % 4];
}

static void read_iq2_xxs(struct rows *to, int8_t (*scale)[2], const uint8_t *chunk, int g)
{
    const uint8_t *lines = chunk + 64 + 128 * g;

    low_numbers(to, lines, 4);
    for (int r = 0; r < ROWS; r++) {
        const uint32_t v = ct_le32(lines + 64 + 4 * r);
        to->change[r] = four_signs(v);
        odd_scales(scale[r], v >> 28, v >> 28);
    }
}

static void read_iq2_xs(struct rows *to, int8_t (*scale)[2], const uint8_t *chunk, int g)
{
    const uint8_t *lines = chunk + 64 + 144 * g;

    for (int r = 0; r < ROWS; r++) {
        const uint32_t v = ct_le32(lines + 4 * r), w = ct_le32(lines + 64 + 4 * r);
        to->number[0][r] = v & 511;
        to->number[1][r] = v >> 16 & 511;
        to->number[2][r] = w & 511;
        to->number[3][r] = w >> 16 & 511;
        to->change[r] = four_signs((v >> 9 & 127) | v >> 25 << 7 | (w >> 9 & 127) << 14 | w >> 25 << 21);
        odd_scales(scale[r], lines[128 + r], lines[128 + r] >> 4);
    }
}

static void read_iq2_s(struct rows *to, int8_t (*scale)[2], const uint8_t *chunk, int g)
{
    const uint8_t *lines = chunk + 64 + 160 * g;

    low_numbers(to, lines, 4);
    for (int r = 0; r < ROWS; r++) {
        for (int e = 0; e < 4; e++)
            to->number[e][r] |= (uint16_t)((lines[128 + r] >> 2 * e & 3) << 8);
        to->change[r] = ct_le32(lines + 64 + 4 * r);
        odd_scales(scale[r], lines[144 + r], lines[144 + r] >> 4);
    }
}

static void read_iq3_xxs(struct rows *to, int8_t (*scale)[2], const uint8_t *chunk, int g)
{
    const uint8_t *lines = chunk + 64 + 192 * g;

    low_numbers(to, lines, 8);
    for (int r = 0; r < ROWS; r++) {
        const uint32_t v = ct_le32(lines + 128 + 4 * r);
        to->change[r] = four_signs(v);
        odd_scales(scale[r], v >> 28, v >> 28);
    }
}

static void read_iq3_s(struct rows *to, int8_t (*scale)[2], const uint8_t *chunk, int g)
{
    const uint8_t *lines = chunk + 128 + 208 * g;

    low_numbers(to, lines, 8);
    for (int r = 0; r < ROWS; r++) {
        const unsigned s = chunk[64 + ROWS * (g / 2) + r] >> 4 * (g % 2);
        for (int e = 0; e < 8; e++)
            to->number[e][r] |= (uint16_t)((lines[192 + r] >> e & 1) << 8);
        to->change[r] = ct_le32(lines + 128 + 4 * r);
        odd_scales(scale[r], s, s);
    }
}

static void read_iq1_s(struct rows *to, int8_t (*scale)[2], const uint8_t *chunk, int g)
{
    const uint8_t *lines = chunk + 64 + 96 * g;

    low_numbers(to, lines, 4);
    for (int r = 0; r < ROWS; r++) {
        const unsigned v = ct_le16(lines + 64 + 2 * r);
        for (int e = 0; e < 4; e++)
            to->number[e][r] |= (uint16_t)((v >> 3 * e & 7) << 8);
        to->change[r] = 0x01010101u * (v >> 15);
        odd_scales(scale[r], v >> 12 & 7, v >> 12 & 7);
    }
}

static void read_iq1_m(struct rows *to, int8_t (*scale)[2], const uint8_t *chunk, int g)
{
    const uint8_t *lines = chunk + 128 + 96 * g;

    low_numbers(to, lines, 4);
    for (int r = 0; r < ROWS; r++) {
        const unsigned v = ct_le16(lines + 64 + 2 * r);
        const unsigned s = (unsigned)ct_le16(chunk + 32 * (g / 2) + 2 * r) >> 6 * (g % 2);
        for (int e = 0; e < 4; e++)
            to->number[e][r] |= (uint16_t)((v >> 4 * e & 7) << 8);
        to->change[r] = (v >> 3 & 1) | (v >> 7 & 1) << 8 | (v >> 11 & 1) << 16 | (v >> 15 & 1) << 24;
        odd_scales(scale[r], s & 7, s >> 3 & 7);
    }
}

typedef void read_rows(struct rows *to, int8_t (*scale)[2], const uint8_t *chunk, int g);

static read_rows *const readers[CT_TYPE_COUNT] = {
    [CT_IQ2_XXS] = read_iq2_xxs, [CT_IQ2_XS] = read_iq2_xs, [CT_IQ2_S] = read_iq2_s,
    [CT_IQ3_XXS] = read_iq3_xxs, [CT_IQ3_S] = read_iq3_s,   [CT_IQ1_S] = read_iq1_s,
    [CT_IQ1_M] = read_iq1_m,
};

/* ---- entries ---- */

static void write_eights(uint8_t (*to)[ROWS][4], const struct rows *rows, const struct ct_book *b)
{
    const struct change *changes = b->eighth ? table.eighth : table.sign;

    for (int e = 0; e < MOST / 2; e++)
        for (int r = 0; r < ROWS; r++) {
            const struct change *c = &changes[rows->change[r] >> 8 * e & 255];
            uint64_t v;
            memcpy(&v, b->entries + 8 * (size_t)rows->number[e][r], 8);
            v = (v ^ c->flip) + c->add;
            const uint32_t low = (uint32_t)v, high = (uint32_t)(v >> 32);
            memcpy(to[2 * e][r], &low, 4);
            memcpy(to[2 * e + 1][r], &high, 4);
        }
}

static void write_fours(uint8_t (*to)[ROWS][4], const struct rows *rows, const struct ct_book *b)
{
    for (int e = 0; e < MOST; e++)
        for (int r = 0; r < ROWS; r++) {
            const struct change *c = &table.sign[rows->change[r] >> 4 * e & 15];
            uint32_t v;
            memcpy(&v, b->entries + 4 * (size_t)rows->number[e][r], 4);
            v = (v ^ (uint32_t)c->flip) + (uint32_t)c->add;
            memcpy(to[e][r], &v, 4);
        }
}

/* ---- digits ---- */

/* Each of n digits of a line to where the group of its weights is, `apart` bytes from one to the next. Eight
 * bytes at once, even and odd ones apart: three times a byte is its digit, and below it the next digits. */
static void write_digits(uint8_t *to, const uint8_t *line, int n, size_t apart)
{
    const uint64_t even = 0x00ff00ff00ff00ffu, least = (ZERO - 1) * 0x0101010101010101u;

    for (size_t j = 0; j < 64; j += 8) {
        uint64_t x, y;
        memcpy(&x, line + j, 8);
        y = x >> 8 & even;
        x &= even;
        for (size_t i = 0; i < (size_t)n; i++) {
            x *= 3;
            y *= 3;
            const uint64_t digits = ((x >> 8 & even) | (y & ~even)) + least;
            memcpy(to + apart * i + j, &digits, 8);
            x &= even;
            y &= even;
        }
    }
}

static void look_up_digits(struct ct_looked_up *to, const uint8_t *chunk)
{
    const size_t half = sizeof to->word[0] / 2;
    const uint8_t *lines = chunk + 64;
    uint8_t *at = to->word[0][0][0];

    memset(to->scale, 1, sizeof to->scale);
    for (size_t i = 0; i < 8; i++) /* groups 0 to 4 */
        write_digits(at + 64 * i, lines + 64 * i, 5, 2 * half);
    for (size_t i = 0; i < 4; i++) /* five halves from group 5 on */
        write_digits(at + 10 * half + 64 * i, lines + 64 * (8 + i), 5, half);
    write_digits(at + 15 * half, lines + 64 * 12, 4, 64); /* four words are the last half */
}

/* ---- a chunk ---- */

static void look_up(struct ct_looked_up *to, enum ct_type type, const uint8_t *chunk)
{
    const struct ct_book *b = &ct_books[type];
    struct rows rows;

    for (int r = 0; r < ROWS; r++) {
        uint16_t d = ct_le16(chunk + 2 * r);
        if (type == CT_IQ1_M) /* its bits are the upper ones of four scales */
            d = (uint16_t)(d >> 12 | chunk[32 + 2 * r + 1] >> 4 << 4 | chunk[64 + 2 * r + 1] >> 4 << 8 |
                           chunk[96 + 2 * r + 1] >> 4 << 12);
        to->ws[r] = ct_f16_to_f32(d) * b->unit;
    }
    if (type == CT_TQ1_0) {
        look_up_digits(to, chunk);
        return;
    }
    for (int g = 0; g < CT_BOOK_GROUPS; g++) {
        readers[type](&rows, to->scale[g], chunk, g);
        if (b->size == 8)
            write_eights(to->word[g], &rows, b);
        else
            write_fours(to->word[g], &rows, b);
    }
}

ct_look_up *ct_book_reader(enum ct_book_way way)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, begin);
    return way_of[way];
}

_Static_assert(sizeof(struct ct_looked_up) <= 8 * CT_BOOK_K * sizeof(float),
               "CT_SCRATCH has room for a panel");

const uint8_t *ct_look_up_panel(struct ct_looked_up *to, enum ct_book_way way, enum ct_type type,
                                const uint8_t *panel, int groups)
{
    ct_look_up *read = ct_book_reader(way);

    for (int i = 0; i * CT_BOOK_GROUPS < groups; i++)
        read(&to[i], type, panel + (size_t)i * (size_t)ct_panel_of(type)->bytes);
    return (const uint8_t *)to;
}
