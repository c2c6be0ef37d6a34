/* SPDX-License-Identifier: Apache-2.0 */
/* gunzip.c: see gunzip.h. The format is RFC 1951's: blocks whose codes are Huffman's, given by their lengths
 * alone. Codes are read bit by bit: what is small counts here, not speed. */
#include "base/gunzip.h"

#include <stdlib.h>

enum {
    MOST_BITS = 15,
    LITERALS = 288, /* bytes, the end, lengths of copies */
    DISTANCES = 30,
    HEAD = 10,
    TAIL = 8, /* the check sum, and how many bytes there were */
};

/* Bytes that are read from the lowest bit on; what there is written so far. bad: they ended, or are wrong. */
struct inflate {
    const uint8_t *in, *end;
    uint32_t held;
    int n_held;
    uint8_t *out;
    size_t n, room;
    bool bad;
};

static unsigned take_bits(struct inflate *s, int bits)
{
    while (s->n_held < bits) {
        s->bad |= s->in == s->end;
        s->held |= (uint32_t)(s->in < s->end ? *s->in++ : 0) << s->n_held;
        s->n_held += 8;
    }
    const unsigned value = s->held & ((1u << bits) - 1);
    s->held >>= bits;
    s->n_held -= bits;
    return value;
}

static void put(struct inflate *s, uint8_t byte)
{
    s->bad |= s->n == s->room;
    if (!s->bad)
        s->out[s->n++] = byte;
}

/* ---- codes ---- */

/* Codes of a length are successive numbers, in the order of their symbols. */
struct codes {
    uint16_t of_length[MOST_BITS + 1]; /* how many */
    uint16_t symbol[LITERALS];         /* by length, then by number */
};

static void make_codes(struct codes *c, const uint8_t *length, int n)
{
    int at[MOST_BITS + 2] = {0};

    memset(c->of_length, 0, sizeof c->of_length);
    for (int i = 0; i < n; i++)
        c->of_length[length[i]]++;
    c->of_length[0] = 0;
    for (int bits = 1; bits <= MOST_BITS; bits++)
        at[bits + 1] = at[bits] + c->of_length[bits];
    for (int i = 0; i < n; i++)
        if (length[i])
            c->symbol[at[length[i]]++] = (uint16_t)i;
}

static int read_symbol(struct inflate *s, const struct codes *c)
{
    int code = 0, before = 0; /* of its length: which it is; symbols of shorter codes */

    for (int bits = 1; bits <= MOST_BITS; bits++) {
        code += (int)take_bits(s, 1);
        if (code < c->of_length[bits])
            return c->symbol[before + code];
        before += c->of_length[bits];
        code = (code - c->of_length[bits]) * 2;
    }
    s->bad = true;
    return 0;
}

/* The lengths of a block's own codes are coded themselves. */
static void read_lengths(struct inflate *s, struct codes *literals, struct codes *distances)
{
    static const uint8_t order[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    static const struct {
        uint8_t bits, least;
    } repeat[] = {{2, 3}, {3, 3}, {7, 11}}; /* of the last length, of 0, of 0 */
    uint8_t length[LITERALS + 32] = {0};
    const int n_literals = 257 + (int)take_bits(s, 5), n = n_literals + 1 + (int)take_bits(s, 5);
    const int n_order = 4 + (int)take_bits(s, 4);

    for (int i = 0; i < n_order; i++)
        length[order[i]] = (uint8_t)take_bits(s, 3);
    make_codes(literals, length, 19);
    memset(length, 0, sizeof length);
    for (int i = 0; i < n && !s->bad;) {
        const int symbol = read_symbol(s, literals);
        if (symbol < 16) {
            length[i++] = (uint8_t)symbol;
            continue;
        }
        const uint8_t again = symbol == 16 && i > 0 ? length[i - 1] : 0;
        int times = repeat[symbol - 16].least + (int)take_bits(s, repeat[symbol - 16].bits);
        s->bad |= times > n - i || (symbol == 16 && i == 0);
        while (!s->bad && times-- > 0)
            length[i++] = again;
    }
    s->bad |= n_literals > LITERALS - 2 || n - n_literals > DISTANCES;
    if (s->bad)
        return;
    make_codes(literals, length, n_literals);
    make_codes(distances, length + n_literals, n - n_literals);
}

static void fixed_lengths(struct codes *literals, struct codes *distances)
{
    uint8_t length[LITERALS];

    for (int i = 0; i < LITERALS; i++)
        length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_codes(literals, length, LITERALS);
    memset(length, 5, DISTANCES);
    make_codes(distances, length, DISTANCES);
}

/* ---- blocks ---- */

/* So much was written before, and is written again. */
static void copy(struct inflate *s, size_t distance, int length)
{
    s->bad |= distance > s->n;
    while (!s->bad && length-- > 0)
        put(s, s->out[s->n - distance]);
}

/* Lengths and distances stand in steps that double: the first of a step, and the bits that say which. */
static int stepped(struct inflate *s, int symbol, int alike)
{
    const int bits = symbol < 2 * alike ? 0 : symbol / alike - 1;
    const int first = bits ? (alike + symbol % alike) << bits : symbol;

    return first + (int)take_bits(s, bits);
}

static void read_block(struct inflate *s, const struct codes *literals, const struct codes *distances)
{
    enum { END = 256, LONGEST = 285 };

    while (!s->bad) {
        const int symbol = read_symbol(s, literals);
        if (symbol < END) {
            put(s, (uint8_t)symbol);
            continue;
        }
        if (symbol == END)
            return;
        if (symbol > LONGEST) {
            s->bad = true;
            return;
        }
        const int length = symbol == LONGEST ? 258 : 3 + stepped(s, symbol - END - 1, 4);
        const int distance = read_symbol(s, distances);
        copy(s, 1 + (size_t)stepped(s, distance, 2), length);
    }
}

static void read_stored(struct inflate *s)
{
    s->held = 0, s->n_held = 0; /* to the next byte */
    const unsigned n = take_bits(s, 16), not_n = take_bits(s, 16);

    s->bad |= (n ^ not_n) != 0xffff;
    for (unsigned i = 0; i < n && !s->bad; i++)
        put(s, (uint8_t)take_bits(s, 8));
}

static void read_blocks(struct inflate *s)
{
    struct codes literals, distances;
    bool last = false;

    while (!last && !s->bad) {
        last = take_bits(s, 1);
        const unsigned kind = take_bits(s, 2);
        if (kind == 0)
            read_stored(s);
        else if (kind == 1)
            fixed_lengths(&literals, &distances);
        else if (kind == 2)
            read_lengths(s, &literals, &distances);
        s->bad |= kind == 3;
        if (kind > 0)
            read_block(s, &literals, &distances);
    }
}

char *ct_gunzip(const uint8_t *bytes, size_t n)
{
    static const uint8_t head[] = {0x1f, 0x8b, 8, 0}; /* deflated, no name */
    struct inflate s = {.in = bytes + HEAD};

    if (n < HEAD + TAIL || memcmp(bytes, head, sizeof head) != 0)
        return NULL;
    s.end = bytes + n - TAIL;
    const uint8_t *size = bytes + n - 4;
    s.room = size[0] | (size_t)size[1] << 8 | (size_t)size[2] << 16 | (size_t)size[3] << 24;
    s.out = malloc(s.room + 1);
    if (!s.out)
        return NULL;
    read_blocks(&s);
    if (s.bad || s.n != s.room) {
        free(s.out);
        return NULL;
    }
    s.out[s.n] = 0;
    return (char *)s.out;
}
