/* SPDX-License-Identifier: Apache-2.0 */
/* json_write.c: patterns, strings and numbers of JSON. */
#include "json_write.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* A control character, a quote, a backslash or a bad byte; the line separators of JavaScript too. */
static void put_escaped(struct buffer *b, unsigned char c)
{
    static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    char text[8];

    for (const char *at = letters; *at; at += 2)
        if ((unsigned char)*at == c) {
            text[0] = '\\';
            text[1] = at[1];
            buffer_put(b, text, 2);
            return;
        }
    snprintf(text, sizeof text, "\\u%04x", c);
    buffer_put(b, text, 6);
}

void json_put_string(struct buffer *b, const char *s, size_t n)
{
    size_t from = 0, i = 0;

    buffer_put(b, "\"", 1);
    while (i < n) {
        const unsigned char c = (unsigned char)s[i];
        bool whole = true;
        size_t span = c < 0x80 ? 1 : ct_utf8_span((const uint8_t *)s + i, n - i, &whole);
        if (whole && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
            i += span;
            continue;
        }
        buffer_put(b, s + from, i - from);
        if (whole)
            put_escaped(b, c);
        else
            buffer_text(b, CT_UTF8_REPLACEMENT);
        i += span;
        from = i;
    }
    buffer_put(b, s + from, n - from);
    buffer_put(b, "\"", 1);
}

static void put_double(struct buffer *b, double value)
{
    char text[40];

    if (!isfinite(value)) {
        buffer_text(b, "null");
        return;
    }
    snprintf(text, sizeof text, "%.9g", value);
    buffer_text(b, text);
}

void json_put(struct buffer *b, const char *pattern, ...)
{
    va_list values;
    char number[24];
    const char *text;

    va_start(values, pattern);
    for (const char *at = pattern; *at; at++) {
        size_t plain = strcspn(at, "%'");
        buffer_put(b, at, plain);
        at += plain;
        if (*at == '\'')
            buffer_put(b, "\"", 1);
        if (*at == 0)
            break;
        if (*at == '\'')
            continue;
        switch (*++at) {
        case 's':
            text = va_arg(values, const char *);
            if (text)
                json_put_string(b, text, strlen(text));
            else
                buffer_text(b, "null");
            break;
        case 't':
            text = va_arg(values, const char *);
            json_put_string(b, text, va_arg(values, size_t));
            break;
        case 'r':
            buffer_text(b, va_arg(values, const char *));
            break;
        case 'b':
            buffer_text(b, va_arg(values, int) ? "true" : "false");
            break;
        case 'f':
            put_double(b, va_arg(values, double));
            break;
        case 'd':
            snprintf(number, sizeof number, "%d", va_arg(values, int));
            buffer_text(b, number);
            break;
        case 'l':
            snprintf(number, sizeof number, "%" PRId64, va_arg(values, int64_t));
            buffer_text(b, number);
            break;
        default: /* u */
            snprintf(number, sizeof number, "%" PRIu64, va_arg(values, uint64_t));
            buffer_text(b, number);
        }
    }
    va_end(values);
}

void json_put_compact(struct buffer *b, const char *s, size_t n)
{
    bool in_string = false;
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"')
            in_string = !in_string;
        else if (s[i] == '\\') /* what follows is no end of a string */
            i++;
        else if (!in_string && strchr(" \t\r\n", s[i])) {
            buffer_put(b, s + from, i - from);
            from = i + 1;
        }
    }
    buffer_put(b, s + from, n - from);
}

double json_short(float value)
{
    char text[24];

    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)value);
        if (strtof(text, NULL) == value)
            break;
    }
    return strtod(text, NULL);
}

void json_put_ids(struct buffer *b, const int32_t *ids, int n)
{
    buffer_text(b, "[");
    for (int i = 0; i < n; i++)
        json_put(b, i ? ",%d" : "%d", (int)ids[i]);
    buffer_text(b, "]");
}
