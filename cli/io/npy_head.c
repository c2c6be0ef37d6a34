/* SPDX-License-Identifier: Apache-2.0 */
/* npy_head.c: reads the head of an NPY file of version 1.0, 2.0 or 3.0: a Python literal with the type,
 * the order and the shape, in any order and with any spaces. Anybody may have written it, so every byte is
 * looked for before it is read. The file itself is npy.c's. */
#include "io/npy_head.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "term/message.h"

/* The rest of the literal, which is still to be read. */
struct literal {
    const char *at, *end;
    struct npy_head *head;
};

static bool head_wrong(struct npy_head *h, const char *format, ...) PRINTF(2, 3);
static bool head_wrong(struct npy_head *h, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(h->wrong, sizeof h->wrong, format, args);
    va_end(args);
    return false;
}

static void literal_skip(struct literal *l)
{
    while (l->at < l->end && (*l->at == ' ' || *l->at == '\n' || *l->at == '\t' || *l->at == '\r'))
        l->at++;
}

static bool literal_takes(struct literal *l, char c)
{
    literal_skip(l);
    if (l->at == l->end || *l->at != c)
        return false;
    l->at++;
    return true;
}

static bool literal_broken(struct literal *l, const char *expected)
{
    if (l->at == l->end)
        return head_wrong(l->head, "its head ends, expected %s", expected);
    return head_wrong(l->head, "its head has '%c', expected %s", *l->at, expected);
}

/* A string without escapes, in single or double quotes. */
static bool literal_string(struct literal *l, const char **text, int *n, const char *expected)
{
    char quote;

    literal_skip(l);
    if (l->at == l->end || (*l->at != '\'' && *l->at != '"'))
        return literal_broken(l, expected);
    quote = *l->at++;
    *text = l->at;
    while (l->at < l->end && *l->at != quote && *l->at != '\\')
        l->at++;
    if (l->at == l->end || *l->at != quote || l->at - *text > 64)
        return head_wrong(l->head, "its head has a string without an end, expected %s", expected);
    *n = (int)(l->at++ - *text);
    return true;
}

static bool literal_word(struct literal *l, const char *word)
{
    size_t n = strlen(word);

    literal_skip(l);
    if ((size_t)(l->end - l->at) < n || memcmp(l->at, word, n) != 0)
        return false;
    l->at += n;
    return true;
}

static bool literal_number(struct literal *l, size_t *value)
{
    literal_skip(l);
    if (l->at == l->end || *l->at < '0' || *l->at > '9')
        return literal_broken(l, "a number of its shape");
    for (*value = 0; l->at < l->end && *l->at >= '0' && *l->at <= '9'; l->at++) {
        if (*value > (SIZE_MAX - 9) / 10)
            return head_wrong(l->head, "a number of its shape is larger than memory");
        *value = *value * 10 + (size_t)(*l->at - '0');
    }
    return true;
}

/* (rows, cols) */
static bool literal_shape(struct literal *l)
{
    size_t dim[2] = {0, 0}, one;
    int n = 0;

    if (!literal_takes(l, '('))
        return literal_broken(l, "a shape");
    while (!literal_takes(l, ')')) {
        if (!literal_number(l, n < 2 ? &dim[n] : &one))
            return false;
        n++;
        if (!literal_takes(l, ',')) {
            if (!literal_takes(l, ')'))
                return literal_broken(l, "a comma or the end of its shape");
            break;
        }
    }
    if (n != 2)
        return head_wrong(l->head, "its shape has %d dimension%s, expected 2: (ids, vocabulary)", n,
                          n == 1 ? "" : "s");
    l->head->rows = dim[0];
    l->head->cols = dim[1];
    return true;
}

static bool literal_type(struct literal *l)
{
    const char *type;
    int n;

    if (!literal_string(l, &type, &n, "a type like '<f4'"))
        return false;
    if (n != 3 || memcmp(type, "<f4", 3) != 0)
        return head_wrong(l->head, "its type is '%.*s', expected '<f4' (float32, little-endian)", n, type);
    return true;
}

static bool literal_order(struct literal *l)
{
    if (literal_word(l, "False"))
        return true;
    if (literal_word(l, "True"))
        return head_wrong(l->head, "it is in Fortran's order, expected C's (numpy.ascontiguousarray)");
    return literal_broken(l, "True or False");
}

static bool literal_members(struct literal *l)
{
    static const char *const names[] = {"descr", "fortran_order", "shape"};
    unsigned seen = 0;

    if (!literal_takes(l, '{'))
        return literal_broken(l, "a Python dictionary");
    while (!literal_takes(l, '}')) {
        const char *name;
        int n, i = 0;
        if (!literal_string(l, &name, &n, "'descr', 'fortran_order' or 'shape'"))
            return false;
        while (i < 3 && (strlen(names[i]) != (size_t)n || memcmp(name, names[i], (size_t)n) != 0))
            i++;
        if (i == 3 || seen & 1u << i)
            return head_wrong(l->head, "its head has '%.*s'%s, expected 'descr', 'fortran_order' and 'shape'",
                              n, name, i < 3 ? " twice" : "");
        seen |= 1u << i;
        if (!literal_takes(l, ':'))
            return literal_broken(l, "a colon");
        if (!(i == 0 ? literal_type(l) : i == 1 ? literal_order(l) : literal_shape(l)))
            return false;
        if (!literal_takes(l, ',')) {
            if (!literal_takes(l, '}'))
                return literal_broken(l, "a comma or the end of the dictionary");
            break;
        }
    }
    for (int i = 0; i < 3; i++) {
        if (!(seen & 1u << i))
            return head_wrong(l->head, "its head has no '%s'", names[i]);
    }
    literal_skip(l);
    return l->at == l->end || literal_broken(l, "nothing more");
}

bool npy_head(struct npy_head *h, const unsigned char *data, size_t size)
{
    static const char magic[] = "\x93NUMPY";
    size_t n, first, bytes;

    *h = (struct npy_head){0};
    if (size < 10)
        return head_wrong(h, "it has %zu bytes, which is no NPY file", size);
    if (memcmp(data, magic, 6) != 0)
        return head_wrong(
            h, "it begins with %02x %02x %02x %02x %02x %02x, expected 93 4e 55 4d 50 59 (\\x93NUMPY)",
            data[0], data[1], data[2], data[3], data[4], data[5]);
    if (data[6] < 1 || data[6] > 3 || data[7] != 0)
        return head_wrong(h, "it is of version %d.%d, expected 1.0, 2.0 or 3.0", data[6], data[7]);
    first = data[6] == 1 ? 10 : 12;
    if (size < first)
        return head_wrong(h, "it has %zu bytes, which is no NPY file", size);
    n = data[8] | (size_t)data[9] << 8;
    if (first == 12)
        n |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
    if (n > size - first)
        return head_wrong(h, "its head has %zu bytes, and %zu are left of the file", n, size - first);
    struct literal l = {(const char *)data + first, (const char *)data + first + n, h};
    if (!literal_members(&l))
        return false;
    h->data = first + n;
    if (h->rows == 0 || h->cols == 0)
        return head_wrong(h, "its shape is (%zu, %zu), which has no numbers", h->rows, h->cols);
    if (h->data % sizeof(float))
        return head_wrong(h, "its numbers begin at byte %zu, expected a multiple of 4", h->data);
    if (__builtin_mul_overflow(h->rows, h->cols, &bytes) || bytes > (size - h->data) / sizeof(float))
        return head_wrong(h, "its shape is (%zu, %zu), and %zu bytes of numbers are there", h->rows, h->cols,
                          size - h->data);
    return true;
}
