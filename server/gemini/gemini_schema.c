/* SPDX-License-Identifier: Apache-2.0 */
/* gemini_schema.c: Google's schemas, a dialect of OpenAPI's, as JSON schemas: types in small letters, what
 * may be null, counts that are sent as strings, the order of properties. */
#include "base/utf8.h"
#include "gemini/gemini.h"
#include "json_write.h"

/* What becomes of a keyword. */
enum how { LEFT_OUT, AS_IT_IS, A_REF, A_TYPE, A_FORMAT, A_COUNT, A_SCHEMA, SCHEMAS, NAMED };

static const struct keyword {
    const char *name, *as; /* as: in JSON schema */
    enum how how;
} keywords[] = {
    {"type", "type", A_TYPE},
    {"format", "format", A_FORMAT},
    {"nullable", "", LEFT_OUT},
    {"propertyOrdering", "", LEFT_OUT},
    {"properties", "properties", NAMED},
    {"defs", "$defs", NAMED},
    {"$defs", "$defs", NAMED},
    {"ref", "$ref", A_REF},
    {"items", "items", A_SCHEMA},
    {"prefixItems", "prefixItems", SCHEMAS},
    {"anyOf", "anyOf", SCHEMAS},
    {"additionalProperties", "additionalProperties", A_SCHEMA},
    {"minItems", "minItems", A_COUNT},
    {"maxItems", "maxItems", A_COUNT},
    {"minLength", "minLength", A_COUNT},
    {"maxLength", "maxLength", A_COUNT},
    {"minProperties", "minProperties", A_COUNT},
    {"maxProperties", "maxProperties", A_COUNT},
};

const struct ct_json_value *gemini_get(const struct document *d, const struct ct_json_value *object,
                                       const char *name)
{
    if (ct_json_is(object, CT_JSON_OBJECT))
        CT_JSON_EACH(key, object)
    if (field_is(d, ct_json_str(key), name)) {
        const struct ct_json_value *v = ct_json_of_key(key);
        return ct_json_is(v, CT_JSON_NULL) ? NULL : v;
    }
    return NULL;
}

/* The type in small letters. */
static void put_type(struct ct_str type, struct buffer *out)
{
    buffer_text(out, "\"");
    for (size_t i = 0; i < type.n; i++) {
        const char c = text_lower(type.s[i]);
        buffer_put(out, c >= 'a' && c <= 'z' ? &c : "?", 1);
    }
    buffer_text(out, "\"");
}

/* Formats of numbers and of a choice say what the type and the values do. */
static bool is_told_otherwise(const struct ct_json_value *format)
{
    static const char *const names[] = {"float", "double", "int32", "int64", "enum"};

    for (size_t i = 0; i < CT_COUNT(names); i++)
        if (ct_json_is_text(format, names[i]))
            return true;
    return false;
}

/* A place in the schema. Those of "#/defs/" have another name in JSON schema. */
static void put_ref(struct ct_str ref, struct buffer *out)
{
    static const char defs[] = "#/defs/";
    const size_t n = sizeof defs - 1;
    struct buffer named = {0};

    if (ref.n < n || memcmp(ref.s, defs, n) != 0) {
        json_put_string(out, ref.s, ref.n);
        return;
    }
    buffer_text(&named, "#/$defs/");
    buffer_put(&named, ref.s + n, ref.n - n);
    json_put_string(out, named.data, named.n);
    out->failed = out->failed || named.failed;
    buffer_free(&named);
}

static const struct keyword *find_keyword(const struct document *d, struct ct_str name)
{
    for (size_t i = 0; i < CT_COUNT(keywords); i++)
        if (field_is(d, name, keywords[i].name))
            return &keywords[i];
    return NULL;
}

static void put_named(const struct document *d, const struct ct_json_value *key, struct buffer *out, int n)
{
    json_put(out, n ? ",%t:" : "%t:", ct_json_str(key).s, ct_json_str(key).n);
    gemini_put_schema(d, ct_json_of_key(key), out);
}

static bool is_listed(const struct ct_json_value *list, struct ct_str name)
{
    CT_JSON_EACH(one, list)
    if (ct_str_same(ct_json_str(one), name))
        return true;
    return false;
}

/* Schemas by their names, those first that have a place in the order. */
static void put_properties(const struct document *d, const struct ct_json_value *named,
                           const struct ct_json_value *order, struct buffer *out)
{
    int n = 0;

    buffer_text(out, "{");
    CT_JSON_EACH(name, order)
    CT_JSON_EACH(key, named)
    if (ct_str_same(ct_json_str(key), ct_json_str(name)))
        put_named(d, key, out, n++);
    CT_JSON_EACH(key, named)
    if (!is_listed(order, ct_json_str(key)))
        put_named(d, key, out, n++);
    buffer_text(out, "}");
}

static void put_schemas(const struct document *d, const struct ct_json_value *list, struct buffer *out)
{
    int n = 0;

    buffer_text(out, "[");
    CT_JSON_EACH(one, list)
    {
        buffer_text(out, n++ ? "," : "");
        gemini_put_schema(d, one, out);
    }
    buffer_text(out, "]");
}

static void put_value(const struct document *d, const struct ct_json_value *schema, enum how how,
                      const struct ct_json_value *v, struct buffer *out)
{
    const bool is_object = ct_json_is(v, CT_JSON_OBJECT), is_list = ct_json_is(v, CT_JSON_ARRAY);

    if (how == A_TYPE && ct_json_is(v, CT_JSON_STRING))
        put_type(ct_json_str(v), out);
    else if (how == A_REF && ct_json_is(v, CT_JSON_STRING))
        put_ref(ct_json_str(v), out);
    else if (how == A_COUNT && ct_json_is(v, CT_JSON_STRING) && ct_json_whole(ct_json_str(v), &(int64_t){0}))
        buffer_put(out, v->s, v->n);
    else if (how == NAMED && is_object)
        put_properties(d, v, gemini_get(d, schema, "propertyOrdering"), out);
    else if (how == SCHEMAS && is_list)
        put_schemas(d, v, out);
    else if (how == A_SCHEMA && is_object)
        gemini_put_schema(d, v, out);
    else
        value_put(out, d, v);
}

static void put_object(const struct document *d, const struct ct_json_value *schema, struct buffer *out)
{
    int n = 0;

    buffer_text(out, "{");
    CT_JSON_EACH(key, schema)
    {
        const struct ct_json_value *v = ct_json_of_key(key);
        const struct keyword *k = find_keyword(d, ct_json_str(key));
        const struct ct_str name = k ? ct_str_of(k->as) : ct_json_str(key);
        if (ct_json_is(v, CT_JSON_NULL) || (k && k->how == LEFT_OUT) ||
            (k && k->how == A_TYPE && ct_json_is_text(v, "TYPE_UNSPECIFIED")) ||
            (k && k->how == A_FORMAT && is_told_otherwise(v)))
            continue;
        json_put(out, n++ ? ",%t:" : "%t:", name.s, name.n);
        put_value(d, schema, k ? k->how : AS_IT_IS, v, out);
    }
    buffer_text(out, "}");
}

void gemini_put_schema(const struct document *d, const struct ct_json_value *schema, struct buffer *out)
{
    const bool nullable = ct_json_is(gemini_get(d, schema, "nullable"), CT_JSON_TRUE);

    if (!ct_json_is(schema, CT_JSON_OBJECT)) {
        value_put(out, d, schema);
        return;
    }
    buffer_text(out, nullable ? "{\"anyOf\":[" : "");
    put_object(d, schema, out);
    buffer_text(out, nullable ? ",{\"type\":\"null\"}]}" : "");
}
