/* SPDX-License-Identifier: Apache-2.0 */
/* char_ranges.h: the characters of a class, as ranges of code points. Whoever reads a class (regex.c,
 * gbnf.c) adds what it finds and settles it at the end. */
#ifndef CT_CHAR_RANGES_H
#define CT_CHAR_RANGES_H

#include "grammar/language.h"

struct ct_range {
    uint32_t low, high;
};

struct ct_ranges {
    struct ct_range *range; /* [n] */
    size_t n, room;
};

static inline void ct_ranges_clear(struct ct_ranges *r)
{
    r->n = 0;
}
void ct_ranges_free(struct ct_ranges *r);
/* False: out of memory, here and below. */
bool ct_ranges_add(struct ct_ranges *r, uint32_t low, uint32_t high);
/* Adds all that n settled ranges leave out. */
bool ct_ranges_add_others(struct ct_ranges *r, const struct ct_range *range, size_t n);
/* Ascending ranges that do not touch; inverts: of the other characters. */
bool ct_ranges_settle(struct ct_ranges *r, bool inverts);

/* ---- how characters are written ---- */

/* n hexadecimal digits at s, of the bytes that are left; false: there are less. */
bool ct_hex_number(const char *s, size_t left, size_t n, uint32_t *out);
/* The first byte that is no UTF-8, or NUL; text.n: there is none. */
size_t ct_text_flaw(struct ct_str text);
/* Says what is wrong with that byte. */
static inline const char *ct_text_flaw_name(struct ct_str text, size_t at)
{
    return text.s[at] ? "found a byte that is no UTF-8" : "found NUL, expected \\x00 for the character";
}
static inline bool ct_is_surrogate(uint32_t c)
{
    return c >= 0xd800 && c <= 0xdfff;
}

#endif
