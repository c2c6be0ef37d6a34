/* SPDX-License-Identifier: Apache-2.0 */
/* text.h: runs of bytes that lie elsewhere, and the characters of HTTP's grammar (RFC 9110 5.6). */
#ifndef SERVER_TEXT_H
#define SERVER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* s is NULL where there is nothing, which is not the same as no bytes. */
struct text {
    const char *s;
    size_t n;
};

static inline bool text_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
}

/* -1: c is no hexadecimal digit. */
static inline int text_hex_digit(char c)
{
    const char small = text_lower(c);

    return text_is_digit(c) ? c - '0' : small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

/* A letter, a digit or one of others. */
static inline bool text_is_one_of(char c, const char *others)
{
    return text_is_digit(c) || (text_lower(c) >= 'a' && text_lower(c) <= 'z') || (c && strchr(others, c));
}

static inline bool text_is_token(char c)
{
    return text_is_one_of(c, "!#$%&'*+-.^_`|~");
}

static inline bool text_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* What may stand in values and in quotes: everything but control characters. */
static inline bool text_is_plain(char c)
{
    return c == '\t' || ((unsigned char)c >= 0x20 && c != 0x7f);
}

/* Whether small letters and capitals aside both are the same. */
static inline bool text_same(struct text a, struct text b)
{
    bool equal = a.n == b.n;

    for (size_t i = 0; equal && i < a.n; i++)
        equal = text_lower(a.s[i]) == text_lower(b.s[i]);
    return equal;
}

static inline bool text_is(struct text a, const char *s)
{
    return text_same(a, (struct text){s, strlen(s)});
}

static inline struct text text_from(struct text t, size_t n)
{
    return (struct text){t.s + n, t.n - n};
}

/* Cuts text before the first byte c, and returns what stands behind it; nothing where there is none. */
static inline struct text text_split(struct text *t, char c)
{
    const char *at = t->n ? memchr(t->s, c, t->n) : NULL;

    if (!at)
        return (struct text){NULL, 0};
    const struct text rest = text_from(*t, (size_t)(at + 1 - t->s));
    t->n = (size_t)(at - t->s);
    return rest;
}

static inline struct text text_trim(struct text t)
{
    while (t.n && text_is_blank(t.s[0]))
        t = text_from(t, 1);
    while (t.n && text_is_blank(t.s[t.n - 1]))
        t.n--;
    return t;
}

#endif
