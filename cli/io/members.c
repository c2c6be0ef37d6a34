/* SPDX-License-Identifier: Apache-2.0 */
/* members.c: see members.h. */
#include "io/members.h"

#include <math.h>
#include <string.h>

#include "term/out_json.h"

struct words words_of(const char *text)
{
    return (struct words){text ? text : "", text ? strlen(text) : 0};
}

struct words words_some(struct words w)
{
    return w.s ? w : words_of("");
}

bool words_are(struct words w, const char *text)
{
    return w.s && w.n == strlen(text) && memcmp(w.s, text, w.n) == 0;
}

/* ---- names ---- */

/* The part of a name before the next dot; false: there is none. */
static bool next_part(const char **name, char part[32])
{
    const char *dot = strchr(*name, '.');

    if (!dot || dot - *name >= 32)
        return false;
    memcpy(part, *name, (size_t)(dot - *name));
    part[dot - *name] = 0;
    *name = dot + 1;
    return true;
}

json_t *field_find(const json_t *object, const char *name)
{
    char part[32];

    while (next_part(&name, part))
        object = json_object_get(object, part);
    return json_object_get(object, name);
}

/* Takes the reference. */
static void field_put(json_t *object, const char *name, json_t *value)
{
    char part[32];

    while (next_part(&name, part)) {
        json_t *inner = json_object_get(object, part);
        if (!inner) {
            inner = json_object();
            json_object_set_new(object, part, inner);
        }
        object = inner;
    }
    json_object_set_new(object, name, value);
}

/* ---- writing ---- */

static json_t *list_json(const struct field *f, const void *first, int n)
{
    const bool whole = (f->kind & ~FIELD_OPTIONAL) == FIELD_INTS;
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, f->of   ? fields_json(f->of, (const char *)first + (size_t)i * f->size)
                                    : whole ? json_integer(((const int32_t *)first)[i])
                                            : json_number(((const double *)first)[i]));
    return list;
}

/* A new reference; NULL: none. */
static json_t *field_value(const struct field *f, const char *from)
{
    const void *at = from + f->at;
    const struct words *words = at;
    const double *real = at;
    const int *n = (const void *)(from + f->n_at), kind = f->kind & ~FIELD_OPTIONAL;
    const void *pointer = NULL;

    if (kind == FIELD_STRING || kind == FIELD_AT || kind == FIELD_LIST)
        memcpy(&pointer, at, sizeof pointer);
    switch (kind) {
    case FIELD_BOOL:
        return *(const bool *)at || !(f->kind & FIELD_OPTIONAL) ? json_boolean(*(const bool *)at) : NULL;
    case FIELD_TRUTH:
        return json_boolean(*(const int *)at);
    case FIELD_INT:
        return json_integer(*(const int *)at);
    case FIELD_LONG:
        return json_integer(*(const int64_t *)at);
    case FIELD_COUNT:
        return *(const int64_t *)at < 0 ? NULL : json_integer(*(const int64_t *)at);
    case FIELD_REAL:
        return isfinite(*real) ? json_real(*real) : NULL;
    case FIELD_PAIR:
        return isfinite(*real) ? json_pack("[f, f]", real[0], real[1]) : NULL;
    case FIELD_WORDS:
        return words->s ? json_text(words->s, words->n) : NULL;
    case FIELD_STRING:
        return pointer ? json_text(pointer, strlen(pointer)) : NULL;
    case FIELD_CHARS:
        return *(const char *)at || !(f->kind & FIELD_OPTIONAL) ? json_text(at, strlen(at)) : NULL;
    case FIELD_NAMED:
        return json_string(f->named(*(const int *)at));
    case FIELD_JSON:
        return json_incref(*(json_t *const *)at);
    case FIELD_PART:
        return fields_json(f->of, at);
    case FIELD_SOME:
        return *(const bool *)at ? fields_json(f->of, at) : NULL;
    case FIELD_AT:
        return pointer ? fields_json(f->of, pointer) : NULL;
    case FIELD_LIST:
        return pointer ? list_json(f, pointer, *n) : NULL;
    case FIELD_INTS:
    case FIELD_REALS:
        return list_json(f, at, *n);
    default:
        return NULL;
    }
}

static void put_fields(json_t *object, const struct field *table, const void *from)
{
    for (const struct field *f = table; f->name; f++) {
        const void *at = (const char *)from + f->at;
        if (!*f->name && (f->kind & ~FIELD_OPTIONAL) == FIELD_AT)
            memcpy(&at, at, sizeof at);
        if (!*f->name && at)
            put_fields(object, f->of, at);
        if (!*f->name)
            continue;
        json_t *value = field_value(f, from);
        if (value || !(f->kind & FIELD_OPTIONAL))
            field_put(object, f->name, value ? value : json_null());
    }
}

json_t *fields_json(const struct field *table, const void *from)
{
    json_t *object = json_object();

    put_fields(object, table, from);
    return object;
}

char *fields_text(const struct field *table, const void *from, size_t flags)
{
    json_t *object = fields_json(table, from);
    char *text = json_dumps(object, flags);

    json_decref(object);
    return text;
}

bool fields_equal(const struct field *table, const void *a, const void *b)
{
    json_t *of_a = fields_json(table, a), *of_b = fields_json(table, b);
    const bool equal = json_equal(of_a, of_b);

    json_decref(of_a);
    json_decref(of_b);
    return equal;
}

/* ---- reading ---- */

double field_number(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

void fields_read(const struct field *table, void *to, const json_t *object)
{
    for (const struct field *f = table; f->name; f++) {
        json_t *value = field_find(object, f->name);
        void *at = (char *)to + f->at;
        switch (f->kind & ~FIELD_OPTIONAL) {
        case FIELD_BOOL:
            *(bool *)at = json_is_true(value);
            break;
        case FIELD_INT:
            *(int *)at = (int)json_integer_value(value);
            break;
        case FIELD_LONG:
            *(int64_t *)at = json_integer_value(value);
            break;
        case FIELD_COUNT:
            *(int64_t *)at = json_is_integer(value) ? json_integer_value(value) : -1;
            break;
        case FIELD_REAL:
            *(double *)at = field_number(value);
            break;
        case FIELD_WORDS:
            *(struct words *)at = (struct words){json_string_value(value), json_string_length(value)};
            break;
        case FIELD_JSON:
            *(json_t **)at = value;
            break;
        case FIELD_SOME:
        case FIELD_PART:
            fields_read(f->of, at, value);
            if ((f->kind & ~FIELD_OPTIONAL) == FIELD_SOME)
                *(bool *)at = json_is_object(value);
            break;
        default:
            break;
        }
    }
}
