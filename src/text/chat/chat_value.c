/* SPDX-License-Identifier: Apache-2.0 */
/* chat_value.c: JSON values as FunctionGemma's template writes them. */
#include "text/chat/chat_parts.h"

#include <stdlib.h>

void ct_chat_escaped(struct ct_chat_writer *w, struct ct_str s)
{
    ct_chat_control(w, CT_CONTROL_ESCAPE);
    ct_chat_content(w, s);
    ct_chat_control(w, CT_CONTROL_ESCAPE);
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

/* The elements of a list, or the members of an object with their keys. */
static void write_elements(struct ct_chat_writer *w, const struct ct_json_value *v)
{
    const char *comma = "";
    CT_JSON_EACH(item, v)
    {
        bool key = item->kind == CT_JSON_KEY;
        ct_chat_literal(w, comma);
        if (key) {
            ct_chat_content(w, ct_json_str(item));
            ct_chat_literal(w, ":");
        }
        ct_chat_value(w, key ? ct_json_of_key(item) : item);
        comma = ",";
    }
}

void ct_chat_members(struct ct_chat_writer *w, const struct ct_json_value *object)
{
    ct_chat_literal(w, "{");
    write_elements(w, object);
    ct_chat_literal(w, "}");
}

static void write_number(struct ct_chat_writer *w, const struct ct_json_value *v)
{
    char text[32];
    int64_t integer;
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
        ct_chat_literal(w, v->kind == CT_JSON_TRUE ? "true" : v->kind == CT_JSON_FALSE ? "false" : "null");
    }
}
