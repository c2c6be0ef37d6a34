/* SPDX-License-Identifier: Apache-2.0 */
/* chat_value.c: JSON values as the templates with tools write them. */
#include "text/chat/chat_parts.h"

#include <stdlib.h>

/* Between quotes, escaped where JSON has it so; all else as it is. */
static void write_json_string(struct ct_chat_writer *w, struct ct_str s)
{
    static const char named[] = "\b\f\n\r\t\"\\", letter[] = "bfnrt\"\\";
    size_t done = 0;
    char escape[8];
    ct_chat_literal(w, "\"");
    for (size_t i = 0; i < s.n; i++) {
        const char *at = s.s[i] ? strchr(named, s.s[i]) : NULL;
        if ((uint8_t)s.s[i] >= 0x20 && !at)
            continue;
        if (at)
            snprintf(escape, sizeof escape, "\\%c", letter[at - named]);
        else
            snprintf(escape, sizeof escape, "\\u%04x", (unsigned)(uint8_t)s.s[i]);
        ct_chat_content(w, (struct ct_str){s.s + done, i - done});
        ct_chat_content(w, ct_str_of(escape));
        done = i + 1;
    }
    ct_chat_content(w, (struct ct_str){s.s + done, s.n - done});
    ct_chat_literal(w, "\"");
}

void ct_chat_escaped(struct ct_chat_writer *w, struct ct_str s)
{
    if (w->syntax->json) {
        write_json_string(w, s);
        return;
    }
    ct_chat_control(w, w->syntax->quote);
    ct_chat_content(w, s);
    ct_chat_control(w, w->syntax->quote);
}

/* As Python prints a float: the fewest digits that read back the same, always with a point or an exponent.
 * The point is no '.' in some locales. */
static void write_real(struct ct_chat_writer *w, double v)
{
    char text[48], out[48];
    int precision = 0, n = 0;
    do
        snprintf(text, sizeof text, "%.*e", precision, v);
    while (strtod(text, NULL) != v && ++precision <= 16);
    int exponent = atoi(strchr(text, 'e') + 1);
    if (exponent >= -4 && exponent < 16)
        snprintf(text, sizeof text, "%.*f", CT_MAX(precision - exponent, 1), v);
    for (const char *s = text; *s; s++)
        if (strchr("0123456789+-e", *s))
            out[n++] = *s;
        else if (out[n - 1] != '.')
            out[n++] = '.';
    ct_chat_content(w, (struct ct_str){out, (size_t)n});
}

/* ---- lists and objects ---- */

/* Without regard to case, those that are alike as they were given. */
static int dictsort_order(const void *a, const void *b)
{
    const struct ct_json_value *v = *(const struct ct_json_value *const *)a,
                               *u = *(const struct ct_json_value *const *)b;
    struct ct_str x = ct_json_str(v), y = ct_json_str(u);
    for (size_t i = 0; i < CT_MIN(x.n, y.n); i++)
        if (ct_chat_lower(x.s[i]) != ct_chat_lower(y.s[i]))
            return ct_chat_lower(x.s[i]) - ct_chat_lower(y.s[i]);
    return x.n != y.n ? (x.n > y.n ? 1 : -1) : (v > u) - (v < u);
}

const struct ct_json_value **ct_chat_sorted_keys(struct ct_chat_writer *w, const struct ct_json_value *object,
                                                 size_t *n)
{
    size_t i = 0;
    *n = ct_json_is(object, CT_JSON_OBJECT) ? ct_json_count(object) : 0;
    const struct ct_json_value **keys = *n ? malloc(*n * sizeof *keys) : NULL;
    if (!keys) {
        w->failed = w->failed || *n;
        *n = 0;
        return NULL;
    }
    CT_JSON_EACH(key, object)
    keys[i++] = key;
    qsort(keys, *n, sizeof *keys, dictsort_order);
    return keys;
}

static void write_member(struct ct_chat_writer *w, const struct ct_json_value *key)
{
    if (w->quotes_keys || w->syntax->json)
        ct_chat_escaped(w, ct_json_str(key));
    else
        ct_chat_content(w, ct_json_str(key));
    ct_chat_literal(w, w->syntax->json ? ": " : ":");
    ct_chat_value(w, ct_json_of_key(key));
}

static void write_sorted(struct ct_chat_writer *w, const struct ct_json_value *object)
{
    size_t n;
    const struct ct_json_value **keys = ct_chat_sorted_keys(w, object, &n);
    for (size_t i = 0; i < n; i++) {
        ct_chat_literal(w, i ? "," : "");
        write_member(w, keys[i]);
    }
    free(keys);
}

/* The elements of a list, or the members of an object with their keys. */
static void write_elements(struct ct_chat_writer *w, const struct ct_json_value *v)
{
    const char *comma = "";
    CT_JSON_EACH(item, v)
    {
        ct_chat_literal(w, comma);
        if (item->kind == CT_JSON_KEY)
            write_member(w, item);
        else
            ct_chat_value(w, item);
        comma = w->syntax->json ? ", " : ",";
    }
}

void ct_chat_members(struct ct_chat_writer *w, const struct ct_json_value *object)
{
    ct_chat_literal(w, "{");
    if (w->syntax->sorts)
        write_sorted(w, object);
    else
        write_elements(w, object);
    ct_chat_literal(w, "}");
}

/* ---- values ---- */

/* Its text is one in a buffer, and ends there. */
static bool is_whole(const struct ct_json_value *v)
{
    for (size_t i = 0; i < v->n; i++)
        if (v->s[i] == '.' || v->s[i] == 'e' || v->s[i] == 'E')
            return false;
    return true;
}

static void write_number(struct ct_chat_writer *w, const struct ct_json_value *v)
{
    char text[32];
    int64_t integer;
    if (w->syntax->json) { /* every digit that was given */
        ct_chat_content(w, (struct ct_str){v->s, v->n});
        return;
    }
    if (!ct_json_integer(v, &integer) && is_whole(v)) { /* of any length, as Python's */
        ct_chat_content(w, (struct ct_str){v->s, v->n});
        return;
    }
    if (!ct_json_integer(v, &integer)) {
        write_real(w, ct_json_double(v));
        return;
    }
    snprintf(text, sizeof text, "%lld", (long long)integer);
    ct_chat_content(w, ct_str_of(text));
}

void ct_chat_value(struct ct_chat_writer *w, const struct ct_json_value *v)
{
    switch (v->kind) {
    case CT_JSON_STRING:
        ct_chat_escaped(w, ct_json_str(v));
        break;
    case CT_JSON_OBJECT:
        ct_chat_members(w, v);
        break;
    case CT_JSON_ARRAY:
        ct_chat_literal(w, "[");
        write_elements(w, v);
        ct_chat_literal(w, "]");
        break;
    case CT_JSON_NUMBER:
        write_number(w, v);
        break;
    default:
        ct_chat_literal(w, v->kind == CT_JSON_TRUE ? "true" : v->kind == CT_JSON_FALSE ? "false" : w->none);
    }
}
