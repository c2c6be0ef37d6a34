/* SPDX-License-Identifier: Apache-2.0 */
/* spelling.c: characters as paths of bytes: a range of code points becomes few ranges of bytes, in UTF-8, or
 * in hexadecimal digits behind a backslash. */
#include "base/utf8.h"
#include "grammar/grammar.h"

/* ---- ranges of numbers with several digits ---- */

/* A digit of such a number: the edges that take the values low to high of it. */
struct digits {
    struct ct_grammar *g;
    int n;            /* digits */
    int bits[4];      /* of each, the first one first */
    uint8_t base[4];  /* added to the value, where it is a byte */
    bool hexadecimal; /* the digits are written 0-9, a-f and A-F */
};

static void digit_edges(const struct digits *d, int i, int32_t from, uint32_t low, uint32_t high, int32_t to)
{
    if (!d->hexadecimal) {
        ct_grammar_bytes(d->g, from, d->base[i] + (int)low, d->base[i] + (int)high, to);
        return;
    }
    if (low < 10)
        ct_grammar_bytes(d->g, from, '0' + (int)low, '0' + (int)CT_MIN(high, 9), to);
    for (int letter = 'a'; letter >= 'A' && high > 9; letter -= 'a' - 'A')
        ct_grammar_bytes(d->g, from, letter + (int)CT_MAX(low, 10) - 10, letter + (int)high - 10, to);
}

/* Numbers from low to high of the digits from i on. A range is cut where its first digit changes: in the
 * middle all that follow are free. Each call goes one digit deeper, of four at most. */
static void digit_paths(const struct digits *d, int i, int32_t from, uint32_t low, uint32_t high, int32_t to)
{
    int below = 0;

    for (int k = i + 1; k < d->n; k++)
        below += d->bits[k];
    const uint32_t mask = ((uint32_t)1 << below) - 1;
    if (from < 0 || to < 0)
        return;
    if (i + 1 == d->n) {
        digit_edges(d, i, from, low, high, to);
        return;
    }
    uint32_t first = low >> below, last = high >> below;
    const bool cut_low = (low & mask) != 0, cut_high = (high & mask) != mask;
    if (first == last || cut_low) {
        const uint32_t end = first == last ? high : low | mask;
        if (first != last || cut_low || cut_high) {
            const int32_t next = ct_grammar_node(d->g, d->g->owner[from]);
            digit_edges(d, i, from, first, first, next);
            digit_paths(d, i + 1, next, low & mask, end & mask, to);
            first++;
        }
    }
    if (first <= last && cut_high) {
        const int32_t next = ct_grammar_node(d->g, d->g->owner[from]);
        digit_edges(d, i, from, last, last, next);
        digit_paths(d, i + 1, next, 0, high & mask, to);
        last--;
    }
    if (first <= last) {
        const int32_t next = ct_grammar_node(d->g, d->g->owner[from]);
        digit_edges(d, i, from, first, last, next);
        digit_paths(d, i + 1, next, 0, mask, to);
    }
}

/* ---- UTF-8 ---- */

static void chars_utf8(struct ct_grammar *g, int32_t from, uint32_t low, uint32_t high, int32_t to)
{
    static const struct {
        uint32_t low, high;
        struct digits digits;
    } length[] = {
        {0, 0x7f, {.n = 1, .bits = {7}, .base = {0}}},
        {0x80, 0x7ff, {.n = 2, .bits = {5, 6}, .base = {0xc0, 0x80}}},
        {0x800, 0xd7ff, {.n = 3, .bits = {4, 6, 6}, .base = {0xe0, 0x80, 0x80}}},
        {0xe000, 0xffff, {.n = 3, .bits = {4, 6, 6}, .base = {0xe0, 0x80, 0x80}}},
        {0x10000, 0x10ffff, {.n = 4, .bits = {3, 6, 6, 6}, .base = {0xf0, 0x80, 0x80, 0x80}}},
    };
    for (size_t i = 0; i < CT_COUNT(length); i++) {
        struct digits d = length[i].digits;
        const uint32_t first = CT_MAX(low, length[i].low), last = CT_MIN(high, length[i].high);
        d.g = g;
        if (first <= last)
            digit_paths(&d, 0, from, first, last, to);
    }
}

/* ---- between the quotes of JSON ---- */

/* \uXXXX of a number from low to high; of code points above U+FFFF two of them. */
static void chars_escaped(struct ct_grammar *g, int32_t from, uint32_t low, uint32_t high, int32_t to)
{
    const struct digits four = {.g = g, .n = 4, .bits = {4, 4, 4, 4}, .hexadecimal = true};
    const int32_t owner = from < 0 ? -1 : g->owner[from];
    const uint32_t most = CT_MIN(high, 0xffff);

    if (low <= most) {
        const int32_t digits = ct_grammar_node(g, owner);
        ct_grammar_text(g, from, ct_str_of("\\u"), digits);
        if (low <= CT_MIN(most, 0xd7ff))
            digit_paths(&four, 0, digits, low, CT_MIN(most, 0xd7ff), to);
        if (CT_MAX(low, 0xe000) <= most)
            digit_paths(&four, 0, digits, CT_MAX(low, 0xe000), most, to);
    }
    if (high < 0x10000)
        return;
    /* pairs: a range is cut where the first of two changes, as digits are */
    uint32_t first = CT_MAX(low, 0x10000) - 0x10000, last = high - 0x10000;
    while (first <= last && !ct_grammar_failed(g)) {
        const bool whole = (first & 0x3ff) == 0 && last - first >= 0x3ff;
        const uint32_t end =
            whole ? first + ((last - first + 1) & ~(uint32_t)0x3ff) - 1 : CT_MIN(last, first | 0x3ff);
        const int32_t digits = ct_grammar_node(g, owner), second = ct_grammar_node(g, owner),
                      more = ct_grammar_node(g, owner);
        ct_grammar_text(g, from, ct_str_of("\\u"), digits);
        digit_paths(&four, 0, digits, 0xd800 + (first >> 10), 0xd800 + (end >> 10), second);
        ct_grammar_text(g, second, ct_str_of("\\u"), more);
        digit_paths(&four, 0, more, 0xdc00 + (first & 0x3ff), 0xdc00 + (end & 0x3ff), to);
        first = end + 1;
    }
}

/* Characters with an escape of their own. JSON has one for the slash, too. */
static const char short_escapes[][2] = {{'"', '"'},  {'\\', '\\'}, {'/', '/'},  {'\b', 'b'},
                                        {'\f', 'f'}, {'\n', 'n'},  {'\r', 'r'}, {'\t', 't'}};

static void chars_json(struct ct_grammar *g, int32_t from, uint32_t low, uint32_t high, int32_t to)
{
    static const uint32_t plain[][2] = {{0x20, 0x21}, {0x23, 0x5b}, {0x5d, 0x10ffff}};
    /* printable ASCII is never written in digits: so a text has one spelling as a key */
    static const uint32_t in_digits[][2] = {{0, 0x1f}, {0x7f, 0x10ffff}};

    for (size_t i = 0; i < CT_COUNT(plain); i++)
        if (CT_MAX(low, plain[i][0]) <= CT_MIN(high, plain[i][1]))
            chars_utf8(g, from, CT_MAX(low, plain[i][0]), CT_MIN(high, plain[i][1]), to);
    for (size_t i = 0; i < CT_COUNT(in_digits); i++)
        if (CT_MAX(low, in_digits[i][0]) <= CT_MIN(high, in_digits[i][1]))
            chars_escaped(g, from, CT_MAX(low, in_digits[i][0]), CT_MIN(high, in_digits[i][1]), to);
    for (size_t i = 0; i < CT_COUNT(short_escapes); i++)
        if (low <= (uint32_t)short_escapes[i][0] && (uint32_t)short_escapes[i][0] <= high) {
            const char escape[] = {'\\', short_escapes[i][1]};
            ct_grammar_text(g, from, (struct ct_str){escape, sizeof escape}, to);
        }
}

/* ---- both ---- */

void ct_grammar_chars(struct ct_grammar *g, int32_t from, uint32_t low, uint32_t high,
                      enum ct_spelling spelling, int32_t to)
{
    if (spelling == CT_SPELL_JSON)
        chars_json(g, from, low, high, to);
    else
        chars_utf8(g, from, low, high, to);
}

void ct_grammar_spelled(struct ct_grammar *g, int32_t from, struct ct_str text, enum ct_spelling spelling,
                        int32_t to)
{
    if (text.n == 0)
        ct_grammar_skip(g, from, to);
    for (size_t i = 0; i < text.n && from >= 0;) {
        const uint8_t *at = (const uint8_t *)text.s + i;
        const size_t length = CT_MAX(ct_utf8_length(at, text.n - i), 1);
        const uint32_t code = ct_utf8_decode(at, length);
        i += length;
        const int32_t next = i == text.n ? to : ct_grammar_node(g, g->owner[from]);
        ct_grammar_chars(g, from, code, code, spelling, next);
        from = next;
    }
}
