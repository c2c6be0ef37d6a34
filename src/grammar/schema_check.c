/* SPDX-License-Identifier: Apache-2.0 */
/* schema_check.c: which keywords there are and what may stand under each, where a schema lies in its
 * document, what a $ref leads to, and what several schemas say together. */
#include <stdlib.h>

#include "base/json_reference.h"
#include "base/utf8.h"
#include "grammar/schema_parts.h"

/* ---- keywords ---- */

enum shape {
    SAYS_NOTHING, /* an annotation */
    A_SCHEMA,
    SCHEMAS,        /* a list */
    NAMED_SCHEMAS,  /* an object */
    ONE_OR_SCHEMAS, /* a schema or a list */
    A_COUNT,        /* a whole number from 0 */
    A_NUMBER,
    A_LIMIT, /* a number, or in draft 4 true or false */
    A_TEXT,
    TEXTS,
    A_TYPE,
    VALUES, /* a list that is not empty */
    A_VALUE,
    NOT_TRUE, /* false says nothing, true is not supported */
};

static const struct {
    const char *name;
    enum shape shape;
} keywords[] = {
    {"type", A_TYPE},
    {"enum", VALUES},
    {"const", A_VALUE},
    {"properties", NAMED_SCHEMAS},
    {"required", TEXTS},
    {"additionalProperties", A_SCHEMA},
    {"patternProperties", NAMED_SCHEMAS},
    {"minProperties", A_COUNT},
    {"maxProperties", A_COUNT},
    {"items", ONE_OR_SCHEMAS},
    {"prefixItems", SCHEMAS},
    {"additionalItems", A_SCHEMA},
    {"minItems", A_COUNT},
    {"maxItems", A_COUNT},
    {"uniqueItems", NOT_TRUE},
    {"minLength", A_COUNT},
    {"maxLength", A_COUNT},
    {"pattern", A_TEXT},
    {"format", A_TEXT},
    {"minimum", A_NUMBER},
    {"maximum", A_NUMBER},
    {"exclusiveMinimum", A_LIMIT},
    {"exclusiveMaximum", A_LIMIT},
    {"multipleOf", A_NUMBER},
    {"anyOf", SCHEMAS},
    {"allOf", SCHEMAS},
    {"oneOf", SCHEMAS},
    {"$ref", A_TEXT},
    {"$defs", SAYS_NOTHING},
    {"definitions", SAYS_NOTHING},
    {"title", SAYS_NOTHING},
    {"description", SAYS_NOTHING},
    {"default", SAYS_NOTHING},
    {"examples", SAYS_NOTHING},
    {"example", SAYS_NOTHING},
    {"deprecated", SAYS_NOTHING},
    {"readOnly", SAYS_NOTHING},
    {"writeOnly", SAYS_NOTHING},
    {"contentMediaType", SAYS_NOTHING},
    {"contentEncoding", SAYS_NOTHING},
    {"contentSchema", SAYS_NOTHING},
    {"$comment", SAYS_NOTHING},
    {"$schema", SAYS_NOTHING},
    {"$vocabulary", SAYS_NOTHING},
    {"$anchor", SAYS_NOTHING},
    {"$id", SAYS_NOTHING},
    {"id", SAYS_NOTHING},
};

static int find_keyword(struct ct_str name)
{
    for (size_t i = 0; i < CT_COUNT(keywords); i++)
        if (ct_str_is(name, keywords[i].name))
            return (int)i;
    return -1;
}

/* ---- places and messages ---- */

/* Appends to a text that is cut where it is full. */
__attribute__((format(printf, 3, 4))) static void text_add(char *text, size_t size, const char *format, ...)
{
    const size_t n = strlen(text);
    va_list args;

    va_start(args, format);
    vsnprintf(text + n, size - n, format, args);
    va_end(args);
}

/* The path of a value from the root. */
void ct_schema_path(const struct schema *s, const struct ct_json_value *v, char *text, size_t size)
{
    const struct ct_json_value *key = NULL, *at = s->root;
    size_t number;

    snprintf(text, size, "%s", s->o->prefix ? s->o->prefix : "");
    while (at && at != v) {
        at = ct_json_part(at, v, &key, &number);
        if (at && key)
            text_add(text, size, "%s%.*s", *text ? "." : "", CT_BRIEF(ct_json_str(key)));
        else if (at)
            text_add(text, size, "[%zu]", number);
    }
}

static void write_place(const struct schema *s, const struct ct_json_value *v, const char *key, char *text,
                        size_t size)
{
    ct_schema_path(s, v, text, size);
    if (key)
        text_add(text, size, "%s%s", *text ? "." : "", key);
    text_add(text, size, "%s", *text ? ": " : "the schema: ");
}

static int32_t fail_as(struct schema *s, carat_status status, const struct ct_json_value *v, const char *key,
                       const char *text)
{
    char place[600];

    write_place(s, v, key, place, sizeof place);
    return ct_grammar_fail(s->g, status, "%s%s", place, text);
}

int32_t ct_schema_fail(struct schema *s, const struct ct_json_value *v, const char *key, const char *format,
                       ...)
{
    char text[360];

    CT_FORMAT(text, format);
    return fail_as(s, CARAT_E_ARGUMENT, v, key, text);
}

int32_t ct_schema_unsupported(struct schema *s, const struct ct_json_value *v, const char *key,
                              const char *format, ...)
{
    char text[360];

    CT_FORMAT(text, format);
    return fail_as(s, CARAT_E_UNSUPPORTED, v, key, text);
}

void ct_schema_note(struct schema *s, const struct ct_json_value *v, const char *key, const char *format, ...)
{
    char text[160];

    if (*s->note || s->trial)
        return;
    CT_FORMAT(text, format);
    write_place(s, v, key, s->note, sizeof s->note - sizeof text);
    text_add(s->note, sizeof s->note, "%s", text);
}

/* ---- what may stand under a keyword ---- */

static const struct {
    const char *name;
    int types;
} type_names[] = {
    {"array", TYPE_ARRAY},   {"boolean", TYPE_BOOLEAN}, {"integer", TYPE_INTEGER}, {"null", TYPE_NULL},
    {"number", TYPE_NUMBER}, {"object", TYPE_OBJECT},   {"string", TYPE_STRING},
};

/* 0: it is no name of a type. */
static int named_type(const struct ct_json_value *name)
{
    for (size_t i = 0; i < CT_COUNT(type_names); i++)
        if (ct_json_is_text(name, type_names[i].name))
            return type_names[i].types;
    return 0;
}

int ct_schema_types(const struct ct_json_value *type)
{
    int types = 0;

    if (!type)
        return TYPE_ALL;
    if (ct_json_is(type, CT_JSON_STRING))
        return named_type(type);
    CT_JSON_EACH(t, type)
    types |= named_type(t);
    return types;
}

int ct_schema_type_of(const struct ct_json_value *value)
{
    static const uint8_t of[] = {
        [CT_JSON_NULL] = TYPE_NULL,     [CT_JSON_TRUE] = TYPE_BOOLEAN,  [CT_JSON_FALSE] = TYPE_BOOLEAN,
        [CT_JSON_NUMBER] = TYPE_NUMBER, [CT_JSON_STRING] = TYPE_STRING, [CT_JSON_ARRAY] = TYPE_ARRAY,
        [CT_JSON_OBJECT] = TYPE_OBJECT,
    };
    return of[value->kind];
}

static bool is_schema(const struct ct_json_value *v)
{
    return ct_json_is(v, CT_JSON_OBJECT) || ct_json_is_bool(v);
}

static bool is_text_list(const struct ct_json_value *v)
{
    bool good = ct_json_is(v, CT_JSON_ARRAY);

    CT_JSON_EACH(e, v)
    good = good && ct_json_is(e, CT_JSON_STRING);
    return good;
}

static bool are_schemas(const struct ct_json_value *v)
{
    CT_JSON_EACH(e, v)
    if (!is_schema(ct_json_is(v, CT_JSON_OBJECT) ? ct_json_of_key(e) : e))
        return false;
    return true;
}

static bool is_count(const struct ct_json_value *v)
{
    const double n = ct_json_double(v);

    return ct_json_is(v, CT_JSON_NUMBER) && n >= 0 && n < 1e18 && n == (double)(int64_t)n;
}

/* Says what is expected under a keyword; NULL: it is there. */
static const char *shape_breach(enum shape shape, const struct ct_json_value *v)
{
    const bool list = ct_json_is(v, CT_JSON_ARRAY), some = list && ct_json_count(v) > 0;

    switch (shape) {
    case A_SCHEMA:
        return is_schema(v) ? NULL : "expected a schema: an object, true or false";
    case SCHEMAS:
        return some && are_schemas(v) ? NULL : "expected a list of schemas that is not empty";
    case NAMED_SCHEMAS:
        return ct_json_is(v, CT_JSON_OBJECT) && are_schemas(v) ? NULL : "expected an object of schemas";
    case ONE_OR_SCHEMAS:
        return is_schema(v) || (list && are_schemas(v)) ? NULL : "expected a schema or a list of schemas";
    case A_COUNT:
        return is_count(v) ? NULL : "expected a whole number from 0";
    case A_NUMBER:
        return ct_json_is(v, CT_JSON_NUMBER) ? NULL : "expected a number";
    case A_LIMIT:
        return ct_json_is(v, CT_JSON_NUMBER) || ct_json_is_bool(v) ? NULL : "expected a number";
    case A_TEXT:
        return ct_json_is(v, CT_JSON_STRING) ? NULL : "expected a text";
    case TEXTS:
        return is_text_list(v) ? NULL : "expected a list of texts";
    case A_TYPE:
        return is_text_list(v) && some         ? NULL
               : ct_json_is(v, CT_JSON_STRING) ? NULL
                                               : "expected the name of a type, or a list of some";
    case VALUES:
        return !list ? "expected a list of values" : some ? NULL : "the list is empty, so that nothing fits";
    case NOT_TRUE:
        return ct_json_is_bool(v) ? NULL : "expected true or false";
    case SAYS_NOTHING:
    case A_VALUE:
        break;
    }
    return NULL;
}

/* The names of types that are none. */
static bool check_types(struct schema *s, const struct ct_json_value *schema,
                        const struct ct_json_value *type)
{
    const struct ct_json_value *name = ct_json_is(type, CT_JSON_STRING) ? type : ct_json_first(type);

    for (; name; name = name == type ? NULL : ct_json_after(name))
        if (!named_type(name)) {
            ct_schema_fail(
                s, schema, "type",
                "\"%.*s\" is no type, expected array, boolean, integer, null, number, object or string",
                CT_BRIEF(ct_json_str(name)));
            return false;
        }
    return true;
}

bool ct_schema_says_type_only(const struct ct_json_value *schema)
{
    CT_JSON_EACH(key, schema)
    {
        const int k = find_keyword(ct_json_str(key));
        if (k < 0 || (keywords[k].shape != SAYS_NOTHING && keywords[k].shape != A_TYPE))
            return false;
    }
    return true;
}

/* The number of schemas that lie around one, itself included. */
static int schema_level(const struct schema *s, const struct ct_json_value *v)
{
    const struct ct_json_value *key = NULL, *at = s->root;
    int level = 1;
    size_t number;

    while (at && at != v) {
        at = ct_json_part(at, v, &key, &number);
        const int k = at && key ? find_keyword(ct_json_str(key)) : -1;
        level += k >= 0 && keywords[k].shape >= A_SCHEMA && keywords[k].shape <= ONE_OR_SCHEMAS;
    }
    return level;
}

bool ct_schema_checked(struct schema *s, const struct ct_json_value *v)
{
    if (!is_schema(v)) {
        ct_schema_fail(s, v, NULL, "expected a schema: an object, true or false");
        return false;
    }
    if (ct_json_is_bool(v) || s->checked[v - s->root])
        return true;
    s->checked[v - s->root] = 1;
    if (schema_level(s, v) > CT_SCHEMA_LEVELS) {
        ct_schema_fail(s, v, NULL, "more than %d schemas lie in each other", CT_SCHEMA_LEVELS);
        return false;
    }
    CT_JSON_EACH(key, v)
    {
        const struct ct_json_value *under = ct_json_of_key(key);
        const int k = find_keyword(ct_json_str(key));
        const char *breach = k < 0 ? NULL : shape_breach(keywords[k].shape, under);
        char name[80];
        snprintf(name, sizeof name, "%.*s", CT_BRIEF(ct_json_str(key)));
        if (k < 0 || (keywords[k].shape == NOT_TRUE && ct_json_is(under, CT_JSON_TRUE))) {
            ct_schema_unsupported(s, v, name, "this keyword is not supported");
            return false;
        }
        if (breach) {
            ct_schema_fail(s, v, name, "%s", breach);
            return false;
        }
        if (keywords[k].shape == A_TYPE && !check_types(s, v, under))
            return false;
    }
    return true;
}

/* ---- references ---- */

const struct ct_json_value *ct_schema_reference(struct schema *s, const struct ct_json_value *schema)
{
    const struct ct_str ref = ct_json_str(ct_json_get(schema, "$ref"));
    bool outside = false;
    const struct ct_json_value *found = ct_json_reference(s->root, schema, &outside);

    if (outside)
        ct_schema_fail(s, schema, "$ref",
                       "\"%.*s\" is not in this schema, expected \"#/…\"; nothing is fetched", CT_BRIEF(ref));
    else if (!found)
        ct_schema_fail(s, schema, "$ref", "nothing is at \"%.*s\"", CT_BRIEF(ref));
    return found;
}

/* ---- what items say ---- */

const struct ct_json_value *ct_schema_get(const struct item *item, const char *key)
{
    return item->done & ITEM_VALUE ? NULL : ct_json_get(item->schema, key);
}

int64_t ct_schema_least(const struct items *all, const char *key)
{
    int64_t least = 0;

    for (int i = 0; i < all->n; i++) {
        const struct ct_json_value *v = ct_schema_get(&all->item[i], key);
        const int64_t n = v ? (int64_t)ct_json_double(v) : 0;
        least = CT_MAX(least, n);
    }
    return least;
}

int64_t ct_schema_most(const struct items *all, const char *key)
{
    int64_t most = -1;

    for (int i = 0; i < all->n; i++) {
        const struct ct_json_value *v = ct_schema_get(&all->item[i], key);
        const int64_t n = v ? (int64_t)ct_json_double(v) : 0;
        if (v && (most < 0 || n < most))
            most = n;
    }
    return most;
}

const struct ct_json_value *ct_schema_values(const struct item *item, size_t *n)
{
    const struct ct_json_value *list = item->done & ITEM_ENUM ? NULL : ct_schema_get(item, "enum"),
                               *one = item->done & ITEM_CONST ? NULL : ct_schema_get(item, "const");

    if (item->done & ITEM_VALUE)
        one = item->schema;
    *n = one ? 1 : ct_json_count(list);
    return one ? one : ct_json_first(list);
}
