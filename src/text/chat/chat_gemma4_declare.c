/* SPDX-License-Identifier: Apache-2.0 */
/* chat_gemma4_declare.c: properties in Gemma 4's declarations. What the template does not know of JSON
 * Schema it leaves out, and so does this. A nested schema is at most CT_JSON_DEPTH deep, which bounds the
 * recursion. */
#include "text/chat/chat_declare.h"

#include <stdlib.h>

static carat_status write_properties(struct ct_declaration *d, const struct ct_json_value *properties);
static carat_status write_members(struct ct_declaration *d, const struct ct_json_value *object, bool filters,
                                  bool schemas);

/* The value under a key that is written as it is, its keys as strings. */
static void write_value(struct ct_declaration *d, const struct ct_json_value *value)
{
    d->w->quotes_keys = true;
    ct_chat_value(d->w, value);
    d->w->quotes_keys = false;
}

/* ---- items of an array ---- */

/* One type or a list of them. */
static carat_status write_item_type(struct ct_declaration *d, const struct ct_json_value *type)
{
    const char *comma = "";
    char name[CT_SCHEMA_TYPE];
    if (!ct_json_is(type, CT_JSON_ARRAY)) {
        CT_TRY(ct_schema_type_name(d, type, name));
        ct_declare_type(d, name);
        return CARAT_OK;
    }
    ct_declare_member(d, "type");
    ct_chat_literal(d->w, "[");
    CT_JSON_EACH(item, type)
    {
        CT_TRY(ct_schema_type_name(d, item, name));
        ct_chat_literal(d->w, comma);
        ct_chat_escaped(d->w, ct_str_of(name));
        comma = ",";
    }
    ct_chat_literal(d->w, "]");
    return CARAT_OK;
}

static carat_status write_member_of_items(struct ct_declaration *d, const struct ct_json_value *items,
                                          const struct ct_json_value *key)
{
    const struct ct_json_value *value = ct_json_of_key(key);
    struct ct_str name = ct_json_str(key);
    if (ct_json_is(value, CT_JSON_NULL))
        return CARAT_OK;
    if (ct_str_is(name, "properties")) {
        ct_declare_member(d, "properties");
        return write_properties(d, value);
    }
    if (ct_str_is(name, "required") && ct_json_count(value))
        return ct_declare_required(d, items);
    if (ct_str_is(name, "type"))
        return write_item_type(d, value);
    ct_chat_literal(d->w, d->comma);
    ct_chat_content(d->w, name);
    ct_chat_literal(d->w, ":");
    write_value(d, value);
    d->comma = ",";
    return CARAT_OK;
}

/* ---- properties ---- */

/* "nullable", or null among the types. */
static void write_nullable(struct ct_declaration *d, const struct ct_json_value *schema)
{
    const struct ct_json_value *type = ct_json_get(schema, "type");
    bool nullable = ct_json_is(ct_json_get(schema, "nullable"), CT_JSON_TRUE);
    if (ct_json_is(type, CT_JSON_ARRAY))
        CT_JSON_EACH(item, type)
    nullable = nullable || ct_json_is_text(item, "null");
    if (nullable) {
        ct_declare_member(d, "nullable");
        ct_chat_literal(d->w, "true");
    }
}

/* What a type has of its own: properties and what is required of an object. One without "properties" is
 * taken for a list of them itself, by the template too. */
static carat_status write_object(struct ct_declaration *d, const struct ct_json_value *schema)
{
    const struct ct_json_value *properties = ct_json_get(schema, "properties");
    ct_declare_member(d, "properties");
    if (ct_json_is(properties, CT_JSON_OBJECT))
        CT_TRY(write_properties(d, properties));
    else
        CT_TRY(write_members(d, schema, true, false));
    return ct_declare_required(d, schema);
}

static carat_status write_choices(struct ct_declaration *d, const struct ct_json_value *schema)
{
    const struct ct_json_value *choices = ct_json_given(schema, "enum");
    if (choices && !ct_json_is(choices, CT_JSON_ARRAY))
        return ct_schema_wrong(d, "enum", "expected a list");
    if (ct_json_count(choices)) {
        ct_declare_member(d, "enum");
        write_value(d, choices);
    }
    return CARAT_OK;
}

static carat_status write_property(struct ct_declaration *d, const struct ct_json_value *schema)
{
    const bool early = d->state->early_schema;
    char type[CT_SCHEMA_TYPE];
    struct ct_str description;
    CT_TRY(ct_schema_type(d, schema, type));
    CT_TRY(ct_schema_description(d, schema, &description));
    if (description.n) {
        ct_declare_member(d, "description");
        ct_chat_escaped(d->w, description);
    }
    if (early)
        write_nullable(d, schema);
    if (strcmp(type, "STRING") == 0)
        CT_TRY(write_choices(d, schema));
    const char *comma = d->comma;
    if (early)
        d->comma = ","; /* whatever stands before; and what follows looks only at that */
    if (strcmp(type, "ARRAY") == 0) {
        const struct ct_json_value *items = ct_json_get(schema, "items");
        if (ct_json_is(items, CT_JSON_OBJECT) && ct_json_count(items))
            CT_TRY(ct_declare_items(d, items, write_member_of_items));
    }
    if (!early)
        write_nullable(d, schema);
    if (strcmp(type, "OBJECT") == 0)
        CT_TRY(write_object(d, schema));
    if (early)
        d->comma = comma;
    ct_declare_type(d, type);
    return CARAT_OK;
}

/* The members of an object in braces, each as a property. filters: not those that are named as words of a
 * schema; schemas: each must be one, and is told of where it says little. */
static carat_status write_members(struct ct_declaration *d, const struct ct_json_value *object, bool filters,
                                  bool schemas)
{
    static const char *const words[] = {"description", "type", "properties", "required", "nullable"};
    size_t n;
    const struct ct_json_value **keys = ct_chat_sorted_keys(d->w, object, &n);
    carat_status status = CARAT_OK;
    const char *comma = "";
    ct_chat_literal(d->w, "{");
    for (size_t i = 0; i < n && status == CARAT_OK; i++) {
        const struct ct_json_value *schema = ct_json_of_key(keys[i]);
        bool skip = false;
        for (size_t k = 0; filters && k < CT_COUNT(words); k++)
            skip = skip || ct_str_is(ct_json_str(keys[i]), words[k]);
        if (skip && schemas)
            ct_schema_tell(d, keys[i], "is left out: the template takes the name for a word of the schema");
        if (skip)
            continue;
        const size_t place = ct_place_enter(d, ct_json_str(keys[i]));
        if (schemas && !ct_json_is(schema, CT_JSON_OBJECT)) {
            status = ct_schema_wrong(d, NULL, "expected an object");
            continue;
        }
        ct_chat_literal(d->w, comma);
        ct_chat_content(d->w, ct_json_str(keys[i]));
        ct_chat_literal(d->w, ":{");
        d->comma = "";
        status = write_property(d, schema);
        if (schemas && !ct_json_get(schema, "type"))
            ct_schema_tell_untyped(d, keys[i], schema);
        ct_chat_literal(d->w, "}");
        comma = ",";
        if (status == CARAT_OK)
            ct_place_leave(d, place);
    }
    ct_chat_literal(d->w, "}");
    d->comma = ",";
    free(keys);
    return status;
}

static carat_status write_properties(struct ct_declaration *d, const struct ct_json_value *properties)
{
    const size_t place = ct_place_enter(d, ct_str_of("properties"));
    if (!ct_json_is(properties, CT_JSON_OBJECT))
        return ct_schema_wrong(d, NULL, "expected an object");
    CT_TRY(write_members(d, properties, d->state->filters_names, true));
    ct_place_leave(d, place);
    return CARAT_OK;
}

/* What the function returns; the template can say it of an object alone. */
static carat_status write_response(struct ct_declaration *d, const struct ct_json_value *response)
{
    char type[CT_SCHEMA_TYPE];
    struct ct_str description;
    if (!response)
        return CARAT_OK;
    ct_place_enter(d, ct_str_of("response"));
    CT_TRY(ct_schema_type(d, response, type));
    CT_TRY(ct_schema_description(d, response, &description));
    if (strcmp(type, "OBJECT") != 0) {
        ct_schema_tell(d, NULL, "the response is left out: the template knows only that of an object");
        return CARAT_OK;
    }
    ct_declare_member(d, "response");
    ct_chat_literal(d->w, "{");
    d->comma = "";
    if (description.n) {
        ct_declare_member(d, "description");
        ct_chat_escaped(d->w, description);
    }
    ct_declare_type(d, type);
    ct_chat_literal(d->w, "}");
    return CARAT_OK;
}

carat_status ct_chat_gemma4_declaration(struct ct_chat_writer *w, const struct ct_gemma4_state *state,
                                        const struct ct_json_value *tool, size_t i, carat_error *err)
{
    struct ct_declaration d = {
        .w = w, .state = state, .tool = i, .comma = "", .err = err, .write_properties = write_properties};
    CT_TRY(ct_declare_begin(&d, tool));
    CT_TRY(write_response(&d, ct_json_given(ct_chat_function(tool), "response")));
    ct_declare_end(&d);
    return CARAT_OK;
}
