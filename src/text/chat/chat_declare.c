/* SPDX-License-Identifier: Apache-2.0 */
/* chat_declare.c: FunctionGemma's declaration of one tool out of its JSON schema. Names and descriptions
 * are content. As the template does, it leaves out properties that are named like a schema keyword and
 * whatever else of JSON Schema it does not know. A nested schema is at most CT_JSON_DEPTH deep, which
 * bounds the recursion. */
#include "text/chat/chat_parts.h"

#include <stdlib.h>

struct declaration {
    struct ct_chat_writer *w;
    size_t tool;            /* index, for messages */
    struct ct_str property; /* the innermost one being written, for messages; s is NULL outside */
    const char *comma;
    carat_error *err;
};

static carat_status schema_wrong(const struct declaration *d, const char *what)
{
    if (!d->property.s)
        return ct_fail(d->err, CARAT_E_ARGUMENT, "tools[%zu]: %s", d->tool, what);
    return ct_fail(d->err, CARAT_E_ARGUMENT, "tools[%zu]: at property \"%.*s\": %s", d->tool,
                   CT_BRIEF(d->property), what);
}

/* Logs a part of a schema that the model does not get to see. property NULL: of the parameters themselves. */
static void schema_tell(const struct declaration *d, const struct ct_json_value *property, const char *what)
{
    char line[256];
    if (!d->w->log)
        return;
    if (property)
        snprintf(line, sizeof line, "tools[%zu]: property \"%.*s\" %s", d->tool,
                 CT_BRIEF(ct_json_str(property)), what);
    else
        snprintf(line, sizeof line, "tools[%zu]: the parameters %s", d->tool, what);
    d->w->log(d->w->user, line);
}

/* Logs a schema without a type that the template can express. */
static void schema_tell_untyped(const struct declaration *d, const struct ct_json_value *property,
                                const struct ct_json_value *schema)
{
    static const char *const instead[] = {"anyOf", "oneOf", "allOf", "$ref", "const", "not"};
    char what[96] = "has no type: the model is told an empty one";
    for (size_t i = 0; i < CT_COUNT(instead); i++)
        if (ct_json_get(schema, instead[i])) {
            snprintf(what, sizeof what, "has %s instead of a type, which the template leaves out",
                     instead[i]);
            break;
        }
    schema_tell(d, property, what);
}

/* Keys sorted as Jinja's dictsort does, without regard to case (of ASCII letters). */
static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : (uint8_t)c;
}

static int dictsort_order(const void *a, const void *b)
{
    struct ct_str x = ct_json_str(*(const struct ct_json_value *const *)a),
                  y = ct_json_str(*(const struct ct_json_value *const *)b);
    for (size_t i = 0; i < CT_MIN(x.n, y.n); i++)
        if (lower(x.s[i]) != lower(y.s[i]))
            return lower(x.s[i]) - lower(y.s[i]);
    return x.n != y.n ? (x.n > y.n ? 1 : -1) : memcmp(x.s, y.s, x.n);
}

/* The object's keys in order, malloc'd; NULL for an empty object and without memory, which marks the
 * writer. */
static const struct ct_json_value **sorted_keys(struct ct_chat_writer *w, const struct ct_json_value *object,
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

static const char *const type_names[] = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "OBJECT", "ARRAY", "NULL"};

/* The upper-case name of a schema's type; of a list of types the first that is not null; "" when there is
 * none. */
static carat_status schema_type(const struct declaration *d, const struct ct_json_value *schema,
                                const char **name)
{
    const struct ct_json_value *type = ct_json_get(schema, "type");
    if (ct_json_is(type, CT_JSON_ARRAY))
        CT_JSON_EACH(item, type)
    if (item->last || !ct_json_is_text(item, "null")) {
        type = item;
        break;
    }
    *name = "";
    if (!type)
        return CARAT_OK;
    struct ct_str given = ct_json_str(type);
    for (size_t k = 0; k < CT_COUNT(type_names); k++) {
        size_t i = 0;
        while (i < given.n && type_names[k][i] && lower(given.s[i]) == lower(type_names[k][i]))
            i++;
        if (i == given.n && !type_names[k][i]) {
            *name = type_names[k];
            return CARAT_OK;
        }
    }
    return schema_wrong(d, "a type in the parameters is none of JSON Schema's (string, number, integer, "
                           "boolean, object, array, null)");
}

static carat_status schema_description(const struct declaration *d, const struct ct_json_value *schema,
                                       struct ct_str *text)
{
    const struct ct_json_value *description = ct_json_get(schema, "description");
    *text = ct_json_str(description);
    if (description && !ct_json_is(description, CT_JSON_STRING) && !ct_json_is(description, CT_JSON_NULL))
        return schema_wrong(d, "a description is not a string");
    return CARAT_OK;
}

/* Begins "key:" of the object being written, with the comma the last member wants. */
static void begin_member(struct declaration *d, const char *key)
{
    ct_chat_literal(d->w, d->comma);
    ct_chat_literal(d->w, key);
    ct_chat_literal(d->w, ":");
    d->comma = ",";
}

static void write_type(struct declaration *d, const char *type)
{
    begin_member(d, "type");
    ct_chat_escaped(d->w, ct_str_of(type));
}

/* The list of strings under "required"; nothing when it is absent, null or empty. */
static carat_status write_required(struct declaration *d, const struct ct_json_value *schema)
{
    const struct ct_json_value *list = ct_json_given(schema, "required");
    bool good = !list || ct_json_is(list, CT_JSON_ARRAY);
    CT_JSON_EACH(name, list)
    good = good && ct_json_is(name, CT_JSON_STRING);
    if (!good)
        return schema_wrong(d, "required in the parameters must be a list of strings");
    if (ct_json_count(list)) {
        begin_member(d, "required");
        ct_chat_value(d->w, list);
    }
    return CARAT_OK;
}

static carat_status write_properties(struct declaration *d, const struct ct_json_value *properties);

/* The schema of an array's items: its members sorted, a nested schema like any other. */
static carat_status write_items(struct declaration *d, const struct ct_json_value *items)
{
    size_t n;
    const struct ct_json_value **keys = sorted_keys(d->w, items, &n);
    carat_status status = CARAT_OK;
    begin_member(d, "items");
    ct_chat_literal(d->w, "{");
    d->comma = "";
    for (size_t i = 0; i < n && status == CARAT_OK; i++) {
        const struct ct_json_value *value = ct_json_of_key(keys[i]);
        struct ct_str key = ct_json_str(keys[i]);
        const char *type;
        if (ct_json_is(value, CT_JSON_NULL))
            continue;
        if (ct_str_is(key, "properties")) {
            begin_member(d, "properties");
            status = write_properties(d, value);
        } else if (ct_str_is(key, "required")) {
            status = write_required(d, items);
        } else if (ct_str_is(key, "type")) {
            if ((status = schema_type(d, items, &type)) == CARAT_OK)
                write_type(d, type);
        } else if (ct_str_is(key, "items") && ct_json_is(value, CT_JSON_OBJECT)) {
            status = write_items(d, value);
        } else {
            ct_chat_literal(d->w, d->comma);
            ct_chat_content(d->w, key);
            ct_chat_literal(d->w, ":");
            ct_chat_value(d->w, value);
            d->comma = ",";
        }
    }
    ct_chat_literal(d->w, "}");
    d->comma = ",";
    free(keys);
    return status;
}

static carat_status write_property(struct declaration *d, const struct ct_json_value *key)
{
    const struct ct_json_value *schema = ct_json_of_key(key);
    const char *type;
    struct ct_str description;
    d->property = ct_json_str(key);
    if (!ct_json_is(schema, CT_JSON_OBJECT))
        return schema_wrong(d, "a property in the parameters is not an object");
    CT_TRY(schema_type(d, schema, &type));
    CT_TRY(schema_description(d, schema, &description));
    ct_chat_literal(d->w, d->comma);
    ct_chat_content(d->w, ct_json_str(key));
    ct_chat_literal(d->w, ":{");
    d->comma = "";
    begin_member(d, "description");
    ct_chat_escaped(d->w, description);
    const struct ct_json_value *choices = ct_json_get(schema, "enum"), *items = ct_json_get(schema, "items");
    if (choices && !(ct_json_is(choices, CT_JSON_ARRAY) && ct_json_count(choices)))
        return schema_wrong(d, "an enum in the parameters is not a list of at least one value");
    if (strcmp(type, "STRING") == 0 && choices) {
        begin_member(d, "enum");
        ct_chat_value(d->w, choices);
    } else if (strcmp(type, "OBJECT") == 0) {
        begin_member(d, "properties");
        CT_TRY(write_properties(d, ct_json_get(schema, "properties")));
        CT_TRY(write_required(d, schema));
    } else if (strcmp(type, "ARRAY") == 0 && ct_json_is(items, CT_JSON_OBJECT) && ct_json_count(items)) {
        CT_TRY(write_items(d, items));
    }
    write_type(d, type);
    if (!*type)
        schema_tell_untyped(d, key, schema);
    ct_chat_literal(d->w, "}");
    return CARAT_OK;
}

static carat_status write_properties(struct declaration *d, const struct ct_json_value *properties)
{
    static const char *const skipped[] = {"description", "type", "properties", "required", "nullable"};
    if (properties && !ct_json_is(properties, CT_JSON_OBJECT))
        return schema_wrong(d, "properties in the parameters is not an object");
    size_t n;
    const struct ct_json_value **keys = sorted_keys(d->w, properties, &n);
    carat_status status = CARAT_OK;
    ct_chat_literal(d->w, "{");
    d->comma = "";
    for (size_t i = 0; i < n && status == CARAT_OK; i++) {
        bool skip = false;
        for (size_t k = 0; k < CT_COUNT(skipped); k++)
            skip = skip || ct_str_is(ct_json_str(keys[i]), skipped[k]);
        if (skip) {
            schema_tell(d, keys[i], "is left out: the template takes the name for a word of the schema");
        } else {
            status = write_property(d, keys[i]);
            d->comma = ",";
        }
    }
    ct_chat_literal(d->w, "}");
    d->comma = ",";
    free(keys);
    return status;
}

carat_status ct_chat_declaration(struct ct_chat_writer *w, const struct ct_json_value *tool, size_t i,
                                 carat_error *err)
{
    struct declaration d = {w, i, {NULL, 0}, "", err};
    const struct ct_json_value *function = ct_chat_function(tool), *kind = ct_json_get(tool, "type");
    if (function != tool && kind && !ct_json_is_text(kind, "function"))
        return schema_wrong(&d, "type must be \"function\"");
    const struct ct_json_value *name = ct_json_get(function, "name"),
                               *parameters = ct_json_get(function, "parameters");
    if (ct_json_str(name).n == 0)
        return schema_wrong(&d, "a function needs a name");
    if (parameters && !ct_json_is(parameters, CT_JSON_NULL) && !ct_json_is(parameters, CT_JSON_OBJECT))
        return schema_wrong(&d, "parameters must be an object");
    struct ct_str description;
    CT_TRY(schema_description(&d, function, &description));

    ct_chat_control(w, CT_CONTROL_START_DECLARATION);
    ct_chat_literal(w, "declaration:");
    ct_chat_content(w, ct_json_str(name));
    ct_chat_literal(w, "{");
    begin_member(&d, "description");
    ct_chat_escaped(w, description);
    if (ct_json_count(parameters)) {
        const struct ct_json_value *properties = ct_json_get(parameters, "properties");
        const char *type;
        CT_TRY(schema_type(&d, parameters, &type));
        begin_member(&d, "parameters");
        ct_chat_literal(w, "{");
        d.comma = "";
        if (properties && !(ct_json_is(properties, CT_JSON_OBJECT) && ct_json_count(properties) == 0)) {
            begin_member(&d, "properties");
            CT_TRY(write_properties(&d, properties));
        }
        CT_TRY(write_required(&d, parameters));
        write_type(&d, *type ? type : "OBJECT");
        if (!*type && !properties)
            schema_tell_untyped(&d, NULL, parameters);
        ct_chat_literal(w, "}");
    }
    ct_chat_literal(w, "}");
    ct_chat_control(w, CT_CONTROL_END_DECLARATION);
    return CARAT_OK;
}
