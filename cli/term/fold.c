/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c: see fold.h. */
#include "term/fold.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

size_t columns_fit(const char *line, size_t n, int columns, int label)
{
    size_t at = 0, space = 0;

    for (int used = 0; at < n; at++) {
        used += ((unsigned char)line[at] & 0xc0) != 0x80;
        if (used > columns)
            break;
        if (line[at] == ' ' && used > label)
            space = at;
    }
    if (at == n || line[at] == ' ' || space > 0)
        return at == n || line[at] == ' ' ? at : space;
    while (at < n && line[at] != ' ')
        at++;
    return at;
}

/* ---- text that comes in pieces ---- */

/* Widths are those that terminals agree upon: two columns for ideographs and pictures, none for marks that
 * join the letter before them. */
struct range {
    uint32_t first, last;
};

static bool is_in(const struct range *range, size_t n, uint32_t c)
{
    for (size_t i = 0; i < n; i++)
        if (c >= range[i].first && c <= range[i].last)
            return true;
    return false;
}

static int width_of(uint32_t c)
{
    static const struct range none[] = {
        {0x0300, 0x036f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}};
    static const struct range two[] = {{0x1100, 0x115f},   {0x2e80, 0x303e},   {0x3041, 0xa4cf},
                                       {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},
                                       {0xff00, 0xff60},   {0xffe0, 0xffe6},   {0x1f300, 0x1f64f},
                                       {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

    if (c < 0x300)
        return 1;
    return is_in(none, sizeof none / sizeof *none, c) ? 0 : is_in(two, sizeof two / sizeof *two, c) ? 2 : 1;
}

/* The character at text[0], of well-formed UTF-8, and its bytes. */
static uint32_t code_point(const char *text, size_t n, size_t *bytes)
{
    const unsigned char first = (unsigned char)*text;
    uint32_t c = first < 0x80   ? first
                 : first < 0xe0 ? first & 0x1fu
                 : first < 0xf0 ? first & 0x0fu
                                : first & 7u;
    size_t all = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;

    for (*bytes = 1; *bytes < all && *bytes < n; ++*bytes)
        c = c << 6 | ((unsigned char)text[*bytes] & 0x3fu);
    return c;
}

static void begin_word(struct wrap *w)
{
    w->word = 0;
    w->n = 0;
}

/* The word under way goes to the next line, without what of it stands already at the end of this one. */
static void next_line(struct wrap *w, void (*put)(const void *data, size_t n))
{
    char wipe[32];

    if (w->word > 0)
        put(wipe, (size_t)snprintf(wipe, sizeof wipe, "\033[%dD\033[K", w->word));
    put("\n", 1);
    put(w->bytes, w->n);
    w->used = w->word;
}

static void put_blank(struct wrap *w, int most, char blank, void (*put)(const void *data, size_t n))
{
    begin_word(w);
    if (blank == '\n') {
        w->used = 0;
    } else {
        const int to = blank == '\t' ? w->used / 8 * 8 + 8 : w->used + 1;
        if (to > most) { /* the break stands for the blank */
            blank = '\n';
            w->used = 0;
        } else {
            w->used = to;
        }
    }
    put(&blank, 1);
}

static void put_letter(struct wrap *w, int most, const char *text, size_t n, int width,
                       void (*put)(const void *data, size_t n))
{
    if (width == 2) /* a line may be broken before and behind it */
        begin_word(w);
    if (w->used + width > most && w->used > w->word && w->n + n <= sizeof w->bytes)
        next_line(w, put);
    else if (w->used + width > most + 1) /* the terminal has begun a line */
        w->used = 0;
    put(text, n);
    w->used += width;
    w->word += width;
    if (w->n + n <= sizeof w->bytes)
        memcpy(w->bytes + w->n, text, n);
    w->n += n;
    if (width == 2)
        begin_word(w);
}

void wrap_put(struct wrap *w, int columns, const char *text, size_t n,
              void (*put)(const void *data, size_t n))
{
    /* some terminals go on when their last column is taken */
    const int most = columns - 1;

    for (size_t at = 0, bytes; at < n; at += bytes) {
        const uint32_t c = code_point(text + at, n - at, &bytes);
        if (c == ' ' || c == '\n' || c == '\t')
            put_blank(w, most, text[at], put);
        else
            put_letter(w, most, text + at, bytes, width_of(c), put);
    }
}
