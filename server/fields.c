/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c: bodies and their fields. What a field means is left to those who have the tables. */
#include "fields.h"

#include <math.h>
#include <stdlib.h>

#include "base/utf8.h"

enum { MOST_VALUES = 100000, MOST_FIELDS = 256, MOST_WARNED = 4096 };

bool document_read(struct document *d, struct ct_bytes text)
{
    struct ct_json reader;
    bool good = false;

    d->text = text;
    ct_json_init(&reader, "body", text);
    const enum ct_json_token token = ct_json_next(&reader);
    if (token != CT_JSON_OBJECT && reader.error.code == CARAT_OK) {
        reader.at = reader.start;
        ct_json_fail(&reader, "expected a JSON object");
    }
    if (token == CT_JSON_OBJECT && ct_json_tree_value(&d->tree, &reader, token, MOST_VALUES))
        good = ct_json_next(&reader) == CT_JSON_END;
    if (d->tree.failed)
        server_refuse(d->r, 503, NULL, NULL, "there is no memory for a body of %zu bytes", text.size);
    else if (!good && reader.error.code != CARAT_OK)
        server_refuse(d->r, 400, NULL, NULL, "%s", reader.error.message);
    else if (!good)
        server_refuse(d->r, 400, NULL, NULL, "body: more than %d values, expected at most so many",
                      MOST_VALUES);
    ct_json_free(&reader);
    return good;
}

void document_free(struct document *d)
{
    ct_json_tree_free(&d->tree);
    buffer_free(&d->ignored);
    buffer_free(&d->idle);
    buffer_free(&d->warned);
}

bool field_refuse(struct document *d, const char *name, const struct ct_json_value *v, const char *expected,
                  ...)
{
    char text[700];
    carat_error err;

    CT_FORMAT(text, expected);
    ct_json_refuse(&err, CARAT_E_ARGUMENT, "body", d->text, v, name, "%s", text);
    return server_refuse(d->r, 400, NULL, name, "%s", err.message);
}

struct ct_str value_text(const struct document *d, const struct ct_json_value *v)
{
    const char *place = ct_json_place(v);
    const size_t at = (size_t)(place - (const char *)d->text.data);
    struct ct_json reader;

    ct_json_init(&reader, NULL, (struct ct_bytes){(const uint8_t *)place, d->text.size - at});
    ct_json_skip(&reader);
    const size_t n = reader.at;
    ct_json_free(&reader);
    return (struct ct_str){place, n};
}

void value_put(struct buffer *out, const struct document *d, const struct ct_json_value *v)
{
    const struct ct_str text = value_text(d, v);

    buffer_put(out, text.s, text.n);
}

char *text_copy(struct ct_str s)
{
    char *copy = malloc(s.n + 1);

    if (copy) {
        memcpy(copy, s.s, s.n);
        copy[s.n] = 0;
    }
    return copy;
}

/* ---- names that are nearly right ---- */

enum { MOST_NAME = 40 };

static int letters_apart(const char *a, struct ct_str b)
{
    int row[MOST_NAME + 1], before;
    const int n = (int)strlen(a);

    if (n > MOST_NAME || b.n > MOST_NAME)
        return MOST_NAME;
    for (int i = 0; i <= n; i++)
        row[i] = i;
    for (int k = 1; k <= (int)b.n; k++) {
        before = row[0];
        row[0] = k;
        for (int i = 1; i <= n; i++) {
            const int changed = before + (a[i - 1] != b.s[k - 1]), added = CT_MIN(row[i], row[i - 1]) + 1;
            before = row[i];
            row[i] = CT_MIN(changed, added);
        }
    }
    return row[n];
}

static const char *nearly(const struct field *fields, int n, struct ct_str name, int below)
{
    const char *best = NULL;
    int least = below;

    for (int i = 0; i < n; i++) {
        const int apart = letters_apart(fields[i].name, name);
        if (apart < least && apart * 3 <= (int)name.n) {
            least = apart;
            best = fields[i].name;
        }
    }
    return best;
}

/* ---- values ---- */

static void add_name(struct buffer *list, const char *prefix, struct ct_str name)
{
    enum { MOST_LIST = 1024 };

    if (list->n + name.n > MOST_LIST)
        return;
    if (list->n)
        buffer_text(list, ", ");
    buffer_text(list, prefix);
    for (size_t i = 0; i < name.n; i++) {
        const char c = name.s[i];
        buffer_put(list, c > 0x20 && c < 0x7f && c != ',' ? &c : "?", 1);
    }
}

void document_idle(struct document *d, const char *name)
{
    add_name(&d->idle, "", ct_str_of(name));
}

void document_tell(struct document *d, const char *name, const char *why)
{
    if (d->warned.n > MOST_WARNED)
        return;
    buffer_text(&d->warned, name);
    buffer_text(&d->warned, ": ");
    buffer_text(&d->warned, why);
    buffer_text(&d->warned, "\n");
}

void document_warn(struct document *d, const char *name, const char *why)
{
    document_idle(d, name);
    document_tell(d, name, why);
}

/* ProtoJSON has numbers as strings too, and Google's servers take one element where a list is expected. */
static bool is_of(const struct document *d, const struct ct_json_value *v, int kinds)
{
    if (d->protojson && (kinds & IS_NUMBER) && ct_json_is(v, CT_JSON_STRING))
        return true;
    if (d->protojson && (kinds & IS_LIST) && ct_json_is(v, CT_JSON_OBJECT))
        return true;
    return (ct_json_is(v, CT_JSON_STRING) && (kinds & IS_TEXT)) ||
           (ct_json_is(v, CT_JSON_ARRAY) && (kinds & IS_LIST)) ||
           (ct_json_is(v, CT_JSON_OBJECT) && (kinds & IS_OBJECT)) ||
           (ct_json_is(v, CT_JSON_NUMBER) && (kinds & IS_NUMBER)) ||
           (ct_json_is_bool(v) && (kinds & IS_FLAG));
}

static const char *kinds_text(int kinds)
{
    static const char *const names[] = {
        [IS_TEXT | IS_LIST | IS_OBJECT] = "a string, a list or an object",
        [IS_TEXT] = "a string",
        [IS_LIST] = "a list",
        [IS_TEXT | IS_LIST] = "a string or a list",
        [IS_OBJECT] = "an object",
        [IS_TEXT | IS_OBJECT] = "a string or an object",
        [IS_LIST | IS_OBJECT] = "a list or an object",
        [IS_NUMBER] = "a number",
        [IS_FLAG] = "true or false",
        [IS_TEXT | IS_NUMBER] = "a string or a number",
        [IS_TEXT | IS_FLAG] = "true, false or a string",
        [IS_OBJECT | IS_FLAG] = "an object, true or false",
        [IS_TEXT | IS_OBJECT | IS_FLAG] = "a JSON schema",
    };
    return names[kinds];
}

/* Whether a value is one of those that a refused field may have. */
static bool is_neutral(const struct document *d, const struct field *f, const struct ct_json_value *v)
{
    const struct ct_str text = ct_json_is(v, CT_JSON_STRING) ? ct_json_str(v) : value_text(d, v);
    char word[32];

    if (!f->neutral || text.n + 3 > sizeof word)
        return false;
    snprintf(word, sizeof word, " %.*s ", (int)text.n, text.s);
    return strstr(f->neutral, word) != NULL;
}

/* The text of a number, which ProtoJSON may have as a string; "": it is none. */
static struct ct_str number_text(const struct document *d, const struct ct_json_value *v)
{
    struct ct_str text = {v ? v->s : "", v ? v->n : 0};
    struct ct_json reader;

    if (ct_json_is(v, CT_JSON_NUMBER))
        return text;
    if (!d->protojson || !ct_json_is(v, CT_JSON_STRING))
        return ct_str_of("");
    ct_json_init(&reader, NULL, (struct ct_bytes){(const uint8_t *)text.s, text.n});
    const bool good = ct_json_next(&reader) == CT_JSON_NUMBER && reader.at == text.n &&
                      ct_json_next(&reader) == CT_JSON_END && text.s[0] > ' ';
    if (!good)
        text = ct_str_of("");
    ct_json_free(&reader);
    return text;
}

bool field_real(const struct document *d, const struct ct_json_value *v, double *out)
{
    const struct ct_str text = number_text(d, v);

    *out = text.n ? ct_json_decimal(text) : NAN;
    return text.n > 0;
}

bool field_whole(const struct document *d, const struct ct_json_value *v, int64_t *out)
{
    const struct ct_str text = number_text(d, v);
    double real;

    if (text.n == 0)
        return false;
    if (ct_json_whole(text, out))
        return true;
    real = ct_json_decimal(text);
    if (real != floor(real) || !(fabs(real) < 0x1p53))
        return false;
    *out = (int64_t)real;
    return true;
}

/* A bound as people write it: 9007199254740992, 0.001, 100. */
static const char *bound_text(double bound, char text[32])
{
    snprintf(text, 32, bound == floor(bound) ? "%.0f" : "%g", bound);
    return text;
}

static bool take_number(struct document *d, const char *name, const struct field *f,
                        const struct ct_json_value *v, void *to)
{
    const bool whole = f->kind == FIELD_WHOLE;
    int64_t integer = 0;
    double real = NAN;
    char low[32], high[32];

    if (!whole)
        field_real(d, v, &real);
    else if (field_whole(d, v, &integer))
        real = (double)integer;
    if (!(real >= f->low && real <= f->high))
        return field_refuse(d, name, v, "expected a %snumber from %s to %s", whole ? "whole " : "",
                            bound_text(f->low, low), bound_text(f->high, high));
    if (whole)
        memcpy(to, &integer, sizeof integer);
    else
        memcpy(to, &real, sizeof real);
    return true;
}

static bool take_field(struct document *d, const char *prefix, const struct field *f,
                       const struct ct_json_value *v, void *values)
{
    char name[160], *to = (char *)values + f->at;

    snprintf(name, sizeof name, "%s%s", prefix, f->name);
    switch (f->kind) {
    case FIELD_IDLE:
        if (is_neutral(d, f, v))
            return true;
        if (f->says)
            document_warn(d, name, f->says);
        else
            add_name(&d->idle, prefix, ct_str_of(f->name));
        return true;
    case FIELD_REFUSED:
        if (is_neutral(d, f, v))
            return true;
        return field_refuse(d, name, v, "which is not supported: %s", f->says);
    case FIELD_FLAG:
        if (!ct_json_is_bool(v))
            return field_refuse(d, name, v, "expected true or false");
        *(bool *)to = ct_json_is(v, CT_JSON_TRUE);
        return true;
    case FIELD_VALUE:
        if (!is_of(d, v, (int)f->low))
            return field_refuse(d, name, v, "expected %s", kinds_text((int)f->low));
        *(const struct ct_json_value **)(void *)to = v;
        return true;
    default:
        return take_number(d, name, f, v, to);
    }
}

static bool take_unknown(struct document *d, const char *prefix, const struct ct_json_value *key,
                         const struct field *fields, int n)
{
    const struct ct_str name = ct_json_str(key);
    const char *meant = nearly(fields, n, name, 3);
    char shown[100];

    if (!meant) /* of other APIs, by a letter: others have names that are alike */
        meant = nearly(d->more, d->n_more, name, 2);

    snprintf(shown, sizeof shown, "%s%.*s", prefix, CT_BRIEF(name));
    if (meant)
        return server_refuse(d->r, 400, "unknown_field", shown, "%s is no field; did you mean %s%s?", shown,
                             prefix, meant);
    if (d->strict)
        return server_refuse(d->r, 400, "unknown_field", shown, "%s is no field that is known here", shown);
    add_name(&d->ignored, prefix, name);
    return true;
}

bool field_is(const struct document *d, struct ct_str key, const char *name)
{
    size_t i = 0;

    if (!d->protojson)
        return ct_str_is(key, name);
    for (; *name && i < key.n; name++, i++) {
        const bool capital = *name >= 'A' && *name <= 'Z', low = capital && key.s[i] == '_';
        i += low;
        if (i == key.n || key.s[i] != (low ? *name + 'a' - 'A' : *name))
            return false;
    }
    return *name == 0 && i == key.n;
}

/* The row of a name, counted through both tables; NULL: it has none. */
static const struct field *find_row(const struct document *d, struct ct_str key, const struct field *fields,
                                    int n, int *at)
{
    for (*at = 0; *at < n + d->n_more; (*at)++) {
        const struct field *f = *at < n ? &fields[*at] : &d->more[*at - n];
        if (field_is(d, key, f->name))
            return f;
    }
    return NULL;
}

static bool has_value(const struct field *f)
{
    return f->kind != FIELD_IDLE && f->kind != FIELD_REFUSED;
}

/* Whether another spelling of the same value stands before this one, and says something else. */
static bool is_contradicted(const struct document *d, const struct field *fields, int n,
                            const struct ct_json_value *const *seen, int at, const char **other)
{
    const struct field *f = at < n ? &fields[at] : &d->more[at - n];
    const struct ct_str text = value_text(d, seen[at]);

    for (int i = 0; i < n + d->n_more; i++) {
        const struct field *o = i < n ? &fields[i] : &d->more[i - n];
        *other = o->name;
        if (i != at && seen[i] && !ct_json_is(seen[i], CT_JSON_NULL) && has_value(o) && has_value(f) &&
            o->at == f->at && !ct_str_same(value_text(d, seen[i]), text))
            return true;
    }
    return false;
}

bool fields_take(struct document *d, const struct ct_json_value *object, const char *prefix,
                 const struct field *fields, int n, void *values)
{
    const struct ct_json_value *seen[MOST_FIELDS] = {0};
    const char *other;
    int at;

    CT_JSON_EACH(key, object)
    {
        const struct ct_json_value *v = ct_json_of_key(key);
        const struct field *f = find_row(d, ct_json_str(key), fields, n, &at);

        if (!f) {
            if (!take_unknown(d, prefix, key, fields, n))
                return false;
            continue;
        }
        if (seen[at])
            return server_refuse(d->r, 400, NULL, f->name, "%s%s is there twice", prefix, f->name);
        seen[at] = v;
        if (ct_json_is(v, CT_JSON_NULL))
            continue;
        if (is_contradicted(d, fields, n, seen, at, &other))
            return server_refuse(d->r, 400, NULL, f->name,
                                 "%s%s and %s%s say different things, expected one of them", prefix, other,
                                 prefix, f->name);
        if (!take_field(d, prefix, f, v, values))
            return false;
    }
    return true;
}

/* ---- objects inside ---- */

static bool name_members(struct document *d, const struct ct_json_value *object, const char *place,
                         const char *names)
{
    char word[MOST_NAME + 3], prefix[220];

    snprintf(prefix, sizeof prefix, "%s.", place);
    CT_JSON_EACH(key, object)
    {
        const struct ct_str name = ct_json_str(key);
        snprintf(word, sizeof word, " %.*s ", (int)CT_MIN(name.n, MOST_NAME), name.s);
        if (ct_json_is(ct_json_of_key(key), CT_JSON_NULL) || (name.n <= MOST_NAME && strstr(names, word)))
            continue;
        if (d->strict) {
            snprintf(prefix, sizeof prefix, "%s.%.*s", place, CT_BRIEF(name));
            return server_refuse(d->r, 400, "unknown_field", prefix, "%s is no field that is known here",
                                 prefix);
        }
        add_name(&d->ignored, prefix, name);
    }
    return true;
}

/* The objects to which the rest of a path leads from here. */
static bool walk_members(struct document *d, const struct ct_json_value *v, const char *rest,
                         const char *place, const char *names)
{
    char name[MOST_NAME], inner[200];
    const size_t n = strcspn(rest, ".[");

    if (!*rest)
        return !ct_json_is(v, CT_JSON_OBJECT) || name_members(d, v, place, names);
    if (*rest != '[') {
        snprintf(name, sizeof name, "%.*s", (int)n, rest);
        snprintf(inner, sizeof inner, "%s%s%s", place, *place ? "." : "", name);
        return walk_members(d, ct_json_get(v, name), rest + n + (rest[n] == '.'), inner, names);
    }
    int i = 0;
    if (ct_json_is(v, CT_JSON_ARRAY))
        CT_JSON_EACH(one, v)
        {
            snprintf(inner, sizeof inner, "%s[%d]", place, i++);
            if (!walk_members(d, one, rest + 2 + (rest[2] == '.'), inner, names))
                return false;
        }
    return true;
}

bool fields_inside(struct document *d, const struct members *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!walk_members(d, &d->tree.value[0], rows[i].place, "", rows[i].names))
            return false;
    return true;
}
