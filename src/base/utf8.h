/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.h: UTF-8, one character at a time: validity, decoding, encoding. The caller decides what becomes of
 * a bad byte. */
#ifndef CT_UTF8_H
#define CT_UTF8_H

#include "base/base.h"

#define CT_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* The length of the longest beginning of a valid character at p (1 <= n bytes there), at least 1; *whole
 * says whether the character is complete. When it is not, the length is the "maximal subpart" that one
 * U+FFFD replaces, or, when it reaches n, perhaps an unfinished character. */
static inline size_t ct_utf8_span(const uint8_t *p, size_t n, bool *whole)
{
    uint8_t a = p[0];
    size_t need = a < 0x80 ? 1 : a < 0xc2 ? 0 : a < 0xe0 ? 2 : a < 0xf0 ? 3 : a < 0xf5 ? 4 : 0;
    if (need <= 1) {
        *whole = need == 1;
        return 1;
    }
    uint8_t lo = a == 0xe0 ? 0xa0 : a == 0xf0 ? 0x90 : 0x80;
    uint8_t hi = a == 0xed ? 0x9f : a == 0xf4 ? 0x8f : 0xbf;
    size_t i = 1;
    while (i < need && i < n && p[i] >= lo && p[i] <= hi) {
        i++;
        lo = 0x80;
        hi = 0xbf;
    }
    *whole = i == need;
    return i;
}

/* Bytes of the valid character at p, 0 when there is none (n >= 1). */
static inline size_t ct_utf8_length(const uint8_t *p, size_t n)
{
    bool whole;
    size_t span = ct_utf8_span(p, n, &whole);
    return whole ? span : 0;
}

/* True when the whole text is valid UTF-8. */
static inline bool ct_utf8_valid(const char *s, size_t n)
{
    size_t length = 1;
    for (; n && length; s += length, n -= length)
        length = ct_utf8_length((const uint8_t *)s, n);
    return n == 0;
}

/* The code point of a valid character of n bytes. */
static inline uint32_t ct_utf8_decode(const uint8_t *p, size_t n)
{
    if (n == 1)
        return p[0];
    uint32_t c = p[0] & (0x7fu >> n);
    for (size_t i = 1; i < n; i++)
        c = c << 6 | (p[i] & 0x3fu);
    return c;
}

/* The longest beginning of valid text in max bytes that cuts no character: for quotes in messages. */
static inline size_t ct_utf8_cut(const char *s, size_t n, size_t max)
{
    if (n <= max)
        return n;
    while (max && ((uint8_t)s[max] & 0xc0) == 0x80)
        max--;
    return max;
}

/* A string in a message, cut to 64 bytes: the two arguments of %.*s. */
#define CT_BRIEF(str) (int)ct_utf8_cut((str).s, (str).n, 64), (str).s

/* Writes the character c (a code point, no surrogate), returns its bytes (1 to 4). */
static inline size_t ct_utf8_encode(uint32_t c, char *out)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 63));
    out[0] = (char)(n == 1 ? c : (0xff00u >> n & 0xff) | c);
    return n;
}

#endif
