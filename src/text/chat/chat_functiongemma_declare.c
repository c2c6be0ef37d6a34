/* SPDX-License-Identifier: Apache-2.0 */
/* chat_functiongemma_declare.c: properties in FunctionGemma's declarations. As the template does, it leaves
 * out those that are named like a schema keyword and whatever else of JSON Schema it does not know. A nested
 * schema is at most CT_JSON_DEPTH deep, which bounds the recursion. */
#include "text/chat/chat_declare.h"

#include <stdlib.h>

static carat_status write_properties(struct ct_declaration *d, const struct ct_json_value *properties);

/* A member of the schema of an array's items; a nested schema is one like any other. */
static carat_status write_member_of_items(struct ct_declaration *d, const struct ct_json_value *items,
                                          const struct ct_json_value *key)
{
    const struct ct_json_value *value = ct_json_of_key(key);
    struct ct_str name = ct_json_str(key);
    char type[CT_SCHEMA_TYPE];
    if (ct_json_is(value, CT_JSON_NULL))
        return CARAT_OK;
    if (ct_str_is(name, "properties")) {
        ct_declare_member(d, "properties");
        return write_properties(d, value);
    }
    if (ct_str_is(name, "required"))
        return ct_declare_required(d, items);
    if (ct_str_is(name, "type")) {
        CT_TRY(ct_schema_type(d, items, type));
        ct_declare_type(d, type);
        return CARAT_OK;
    }
    if (ct_str_is(name, "items") && ct_json_is(value, CT_JSON_OBJECT))
        return ct_declare_items(d, value, write_member_of_items);
    ct_chat_literal(d->w, d->comma);
    ct_chat_content(d->w, name);
    ct_chat_literal(d->w, ":");
    ct_chat_value(d->w, value);
    d->comma = ",";
    return CARAT_OK;
}

static carat_status write_property(struct ct_declaration *d, const struct ct_json_value *key)
{
    const struct ct_json_value *schema = ct_json_of_key(key);
    char type[CT_SCHEMA_TYPE];
    struct ct_str description;
    const size_t place = ct_place_enter(d, ct_json_str(key));
    if (!ct_json_is(schema, CT_JSON_OBJECT))
        return ct_schema_wrong(d, NULL, "expected an object");
    CT_TRY(ct_schema_type(d, schema, type));
    CT_TRY(ct_schema_description(d, schema, &description));
    ct_chat_literal(d->w, d->comma);
    ct_chat_content(d->w, ct_json_str(key));
    ct_chat_literal(d->w, ":{");
    d->comma = "";
    ct_declare_member(d, "description");
    ct_chat_escaped(d->w, description);
    const struct ct_json_value *choices = ct_json_get(schema, "enum"), *items = ct_json_get(schema, "items");
    if (choices && !ct_json_is(choices, CT_JSON_ARRAY))
        return ct_schema_wrong(d, "enum", "expected a list of values");
    if (choices && ct_json_count(choices) == 0)
        ct_schema_tell(d, key, "has an empty enum, which the template leaves out");
    if (strcmp(type, "STRING") == 0 && ct_json_count(choices)) {
        ct_declare_member(d, "enum");
        ct_chat_value(d->w, choices);
    } else if (strcmp(type, "OBJECT") == 0) {
        ct_declare_member(d, "properties");
        CT_TRY(write_properties(d, ct_json_get(schema, "properties")));
        CT_TRY(ct_declare_required(d, schema));
    } else if (strcmp(type, "ARRAY") == 0 && ct_json_is(items, CT_JSON_OBJECT) && ct_json_count(items)) {
        CT_TRY(ct_declare_items(d, items, write_member_of_items));
    }
    ct_declare_type(d, type);
    if (!*type)
        ct_schema_tell_untyped(d, key, schema);
    ct_chat_literal(d->w, "}");
    ct_place_leave(d, place);
    return CARAT_OK;
}

static carat_status write_properties(struct ct_declaration *d, const struct ct_json_value *properties)
{
    static const char *const skipped[] = {"description", "type", "properties", "required", "nullable"};
    const size_t place = ct_place_enter(d, ct_str_of("properties"));
    if (properties && !ct_json_is(properties, CT_JSON_OBJECT))
        return ct_schema_wrong(d, NULL, "expected an object");
    size_t n;
    const struct ct_json_value **keys = ct_chat_sorted_keys(d->w, properties, &n);
    carat_status status = CARAT_OK;
    ct_chat_literal(d->w, "{");
    d->comma = "";
    for (size_t i = 0; i < n && status == CARAT_OK; i++) {
        bool skip = false;
        for (size_t k = 0; k < CT_COUNT(skipped); k++)
            skip = skip || ct_str_is(ct_json_str(keys[i]), skipped[k]);
        if (skip) {
            ct_schema_tell(d, keys[i], "is left out: the template takes the name for a word of the schema");
        } else {
            status = write_property(d, keys[i]);
            d->comma = ",";
        }
    }
    ct_chat_literal(d->w, "}");
    d->comma = ",";
    free(keys);
    ct_place_leave(d, place);
    return status;
}

carat_status ct_chat_declaration(struct ct_chat_writer *w, const struct ct_json_value *tool, size_t i,
                                 carat_error *err)
{
    struct ct_declaration d = {
        .w = w, .tool = i, .comma = "", .err = err, .write_properties = write_properties};
    CT_TRY(ct_declare_begin(&d, tool));
    ct_declare_end(&d);
    return CARAT_OK;
}
