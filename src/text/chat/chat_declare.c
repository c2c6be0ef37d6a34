/* SPDX-License-Identifier: Apache-2.0 */
/* chat_declare.c: FunctionGemma's declaration of one tool out of its JSON schema. Names and descriptions are content.
 * As the template does, it leaves out properties that are named like a schema keyword and whatever else of JSON
 * Schema it does not know. A nested schema is at most CT_TREE_DEPTH deep, which bounds the recursion. */
#include "text/chat/chat_parts.h"

#include <stdio.h>
#include <stdlib.h>

struct declaration {
    struct ct_chat_writer *w;
    size_t tool;          /* index, for messages */
    const char *property; /* the innermost one being written, for messages; or NULL */
    const char *comma;
    carat_error *err;
};

static carat_status wrong(const struct declaration *d, const char *what)
{
    if (!d->property)
        return ct_fail(d->err, CARAT_E_ARGUMENT, "tools[%zu]: %s", d->tool, what);
    return ct_fail(d->err, CARAT_E_ARGUMENT, "tools[%zu]: at property \"%.*s\": %s", d->tool,
                   (int)ct_utf8_cut(d->property, strlen(d->property), 64), d->property, what);
}

/* Tells of a part of a schema that the model does not get to see. property NULL: of the parameters
 * themselves. */
static void tell(const struct declaration *d, const char *property, const char *what)
{
    char line[256];
    if (!d->w->log)
        return;
    if (property)
        snprintf(line, sizeof line, "tools[%zu]: property \"%.*s\" %s", d->tool,
                 (int)ct_utf8_cut(property, strlen(property), 64), property, what);
    else
        snprintf(line, sizeof line, "tools[%zu]: the parameters %s", d->tool, what);
    d->w->log(d->w->user, line);
}

/* A schema without a type that the template has room for. */
static void tell_untyped(const struct declaration *d, const char *property, const json_t *schema)
{
    static const char *const instead[] = {"anyOf", "oneOf", "allOf", "$ref", "const", "not"};
    char what[96] = "has no type: the model is told an empty one";
    for (size_t i = 0; i < CT_COUNT(instead); i++)
        if (json_object_get(schema, instead[i])) {
            snprintf(what, sizeof what, "has %s instead of a type, which the template leaves out",
                     instead[i]);
            break;
        }
    tell(d, property, what);
}

/* Keys sorted as Jinja's dictsort does, without regard to case (of ASCII letters). */
static int lower(char c)
{
    return c >= 'A' && c <= 'Z' ? c + 32 : (uint8_t)c;
}

static int compare_keys(const void *a, const void *b)
{
    const char *first = *(const char *const *)a, *second = *(const char *const *)b;
    const char *x = first, *y = second;
    while (*x && lower(*x) == lower(*y)) {
        x++;
        y++;
    }
    int order = lower(*x) - lower(*y);
    return order ? order : strcmp(first, second);
}

/* The object's keys in order, malloc'd; NULL for an empty object and without memory, which marks the writer. */
static const char **sorted_keys(struct ct_chat_writer *w, const json_t *object, size_t *n)
{
    *n = json_object_size(object);
    const char **keys = *n ? malloc(*n * sizeof *keys) : NULL;
    if (!keys) {
        w->failed = w->failed || *n;
        *n = 0;
        return NULL;
    }
    size_t i = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) keys[i++] = key;
    qsort(keys, *n, sizeof *keys, compare_keys);
    return keys;
}

static const char *const type_names[] = {"STRING", "NUMBER", "INTEGER", "BOOLEAN", "OBJECT", "ARRAY", "NULL"};

/* The upper-case name of a schema's type; of a list of types the first that is not null; "" when there is none. */
static carat_status read_type(const struct declaration *d, const json_t *schema, const char **name)
{
    const json_t *type = json_object_get(schema, "type");
    for (size_t i = 0; json_is_array(type) && i < json_array_size(type); i++) {
        const json_t *item = json_array_get(type, i);
        if (json_array_size(type) == i + 1 || !json_is_string(item) ||
            strcmp(json_string_value(item), "null") != 0) {
            type = item;
            break;
        }
    }
    *name = "";
    if (!type)
        return CARAT_OK;
    const char *given = json_is_string(type) ? json_string_value(type) : "";
    for (size_t k = 0; k < CT_COUNT(type_names); k++) {
        const char *x = given, *y = type_names[k];
        while (*x && *y && lower(*x) == lower(*y)) {
            x++;
            y++;
        }
        if (!*x && !*y) {
            *name = type_names[k];
            return CARAT_OK;
        }
    }
    return wrong(d, "a type in the parameters is none of JSON Schema's (string, number, integer, boolean, "
                    "object, array, null)");
}

/* A list of strings under key; *list NULL when absent or null. */
static carat_status read_names(const struct declaration *d, const json_t *schema, const char *key,
                               const json_t **list)
{
    *list = json_object_get(schema, key);
    if (json_is_null(*list))
        *list = NULL;
    if (*list && !json_is_array(*list))
        return wrong(d, "required in the parameters must be a list of strings");
    for (size_t i = 0; i < json_array_size(*list); i++)
        if (!json_is_string(json_array_get(*list, i)))
            return wrong(d, "required in the parameters must be a list of strings");
    return CARAT_OK;
}

static carat_status read_description(const struct declaration *d, const json_t *schema, struct ct_str *text)
{
    const json_t *description = json_object_get(schema, "description");
    *text = (struct ct_str){"", 0};
    if (json_is_string(description))
        *text = ct_json_str(description);
    else if (description && !json_is_null(description))
        return wrong(d, "a description is not a string");
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
    ct_chat_escaped(d->w, (struct ct_str){type, strlen(type)});
}

static carat_status write_required(struct declaration *d, const json_t *schema)
{
    const json_t *required;
    CT_TRY(read_names(d, schema, "required", &required));
    if (json_array_size(required)) {
        begin_member(d, "required");
        ct_chat_value(d->w, required);
    }
    return CARAT_OK;
}

static carat_status write_properties(struct declaration *d, const json_t *properties);

/* The schema of an array's items: its members sorted, a nested schema like any other. */
static carat_status write_items(struct declaration *d, const json_t *items)
{
    size_t n;
    const char **keys = sorted_keys(d->w, items, &n);
    carat_status status = CARAT_OK;
    begin_member(d, "items");
    ct_chat_literal(d->w, "{");
    d->comma = "";
    for (size_t i = 0; i < n && status == CARAT_OK; i++) {
        const json_t *value = json_object_get(items, keys[i]);
        const char *type;
        if (json_is_null(value))
            continue;
        if (strcmp(keys[i], "properties") == 0) {
            begin_member(d, "properties");
            status = write_properties(d, value);
        } else if (strcmp(keys[i], "required") == 0) {
            status = write_required(d, items);
        } else if (strcmp(keys[i], "type") == 0) {
            if ((status = read_type(d, items, &type)) == CARAT_OK)
                write_type(d, type);
        } else if (strcmp(keys[i], "items") == 0 && json_is_object(value)) {
            status = write_items(d, value);
        } else {
            ct_chat_literal(d->w, d->comma);
            ct_chat_content(d->w, (struct ct_str){keys[i], strlen(keys[i])});
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

static carat_status write_property(struct declaration *d, const char *key, const json_t *schema)
{
    const char *type;
    struct ct_str description;
    d->property = key;
    if (!json_is_object(schema))
        return wrong(d, "a property in the parameters is not an object");
    CT_TRY(read_type(d, schema, &type));
    CT_TRY(read_description(d, schema, &description));
    ct_chat_literal(d->w, d->comma);
    ct_chat_content(d->w, (struct ct_str){key, strlen(key)});
    ct_chat_literal(d->w, ":{");
    d->comma = "";
    begin_member(d, "description");
    ct_chat_escaped(d->w, description);
    const json_t *choices = json_object_get(schema, "enum"), *items = json_object_get(schema, "items");
    if (choices && !json_array_size(choices))
        return wrong(d, "an enum in the parameters is not a list of at least one value");
    if (strcmp(type, "STRING") == 0 && choices) {
        begin_member(d, "enum");
        ct_chat_value(d->w, choices);
    } else if (strcmp(type, "OBJECT") == 0) {
        begin_member(d, "properties");
        CT_TRY(write_properties(d, json_object_get(schema, "properties")));
        CT_TRY(write_required(d, schema));
    } else if (strcmp(type, "ARRAY") == 0 && json_object_size(items)) {
        CT_TRY(write_items(d, items));
    }
    write_type(d, type);
    if (!*type)
        tell_untyped(d, key, schema);
    ct_chat_literal(d->w, "}");
    return CARAT_OK;
}

static carat_status write_properties(struct declaration *d, const json_t *properties)
{
    static const char *const skipped[] = {"description", "type", "properties", "required", "nullable"};
    if (properties && !json_is_object(properties))
        return wrong(d, "properties in the parameters is not an object");
    size_t n;
    const char **keys = sorted_keys(d->w, properties, &n);
    carat_status status = CARAT_OK;
    ct_chat_literal(d->w, "{");
    d->comma = "";
    for (size_t i = 0; i < n && status == CARAT_OK; i++) {
        bool skip = false;
        for (size_t k = 0; k < CT_COUNT(skipped); k++)
            skip = skip || strcmp(keys[i], skipped[k]) == 0;
        if (skip) {
            tell(d, keys[i], "is left out: the template takes the name for a word of the schema");
        } else {
            status = write_property(d, keys[i], json_object_get(properties, keys[i]));
            d->comma = ",";
        }
    }
    ct_chat_literal(d->w, "}");
    d->comma = ",";
    free(keys);
    return status;
}

carat_status ct_chat_declaration(struct ct_chat_writer *w, const json_t *tools, size_t i, carat_error *err)
{
    struct declaration d = {w, i, NULL, "", err};
    const json_t *tool = json_array_get(tools, i), *function = json_object_get(tool, "function");
    const json_t *kind = json_object_get(tool, "type");
    if (!function) /* a bare function object has no wrapper */
        function = tool;
    else if (kind && (!json_is_string(kind) || strcmp(json_string_value(kind), "function") != 0))
        return wrong(&d, "type must be \"function\"");
    const json_t *name = json_object_get(function, "name"),
                 *parameters = json_object_get(function, "parameters");
    if (!json_is_string(name) || !json_string_length(name))
        return wrong(&d, "a function needs a name");
    if (parameters && !json_is_null(parameters) && !json_is_object(parameters))
        return wrong(&d, "parameters must be an object");
    struct ct_str description;
    CT_TRY(read_description(&d, function, &description));

    ct_chat_literal(w, "<start_function_declaration>declaration:");
    ct_chat_content(w, ct_json_str(name));
    ct_chat_literal(w, "{");
    begin_member(&d, "description");
    ct_chat_escaped(w, description);
    if (json_object_size(parameters)) {
        const json_t *properties = json_object_get(parameters, "properties");
        const char *type;
        CT_TRY(read_type(&d, parameters, &type));
        begin_member(&d, "parameters");
        ct_chat_literal(w, "{");
        d.comma = "";
        if (json_object_size(properties) || (properties && !json_is_object(properties))) {
            begin_member(&d, "properties");
            CT_TRY(write_properties(&d, properties));
        }
        CT_TRY(write_required(&d, parameters));
        write_type(&d, *type ? type : "OBJECT");
        if (!*type && !properties)
            tell_untyped(&d, NULL, parameters);
        ct_chat_literal(w, "}");
    }
    ct_chat_literal(w, "}<end_function_declaration>");
    return CARAT_OK;
}
