/* SPDX-License-Identifier: Apache-2.0 */
/* chat_declare.c: what the declarations of both syntaxes share: the frame of one, and the reading of a
 * schema. Names and descriptions are content. */
#include "text/chat/chat_declare.h"

#include <stdlib.h>

size_t ct_place_enter(struct ct_declaration *d, struct ct_str key)
{
    const size_t before = d->n_place;
    d->n_place += 1 + key.n;
    if (d->n_place >= sizeof d->place)
        return before;
    d->place[before] = '.';
    for (size_t i = 0; i < key.n; i++)
        d->place[before + 1 + i] = ct_json_shown(key.s[i]);
    d->place[d->n_place] = 0;
    return before;
}

void ct_place_leave(struct ct_declaration *d, size_t n)
{
    d->n_place = n;
    if (n < sizeof d->place)
        d->place[n] = 0;
}

carat_status ct_schema_wrong(struct ct_declaration *d, const char *key, const char *what)
{
    if (key)
        ct_place_enter(d, ct_str_of(key));
    return ct_fail(d->err, CARAT_E_ARGUMENT, "%s: %s", d->place, what);
}

void ct_schema_tell(const struct ct_declaration *d, const struct ct_json_value *property, const char *what)
{
    char line[256];
    if (!d->w->log)
        return;
    if (property)
        snprintf(line, sizeof line, "tools[%zu]: property \"%.*s\" %s", d->tool,
                 CT_BRIEF(ct_json_str(property)), what);
    else
        snprintf(line, sizeof line, "tools[%zu]: %s", d->tool, what);
    d->w->log(d->w->user, line);
}

void ct_schema_tell_untyped(const struct ct_declaration *d, const struct ct_json_value *property,
                            const struct ct_json_value *schema)
{
    static const char *const instead[] = {"anyOf", "oneOf", "allOf", "$ref", "const", "not"};
    const char *const subject = property ? "" : "the parameters ";
    char what[112];
    snprintf(what, sizeof what, "%shas no type: the model is told an empty one", subject);
    for (size_t i = 0; i < CT_COUNT(instead); i++)
        if (ct_json_get(schema, instead[i])) {
            snprintf(what, sizeof what, "%shas %s instead of a type, which the template leaves out", subject,
                     instead[i]);
            break;
        }
    ct_schema_tell(d, property, what);
}

static const char *const type_names[] = {"STRING", "NUMBER", "INTEGER", "BOOLEAN",
                                         "OBJECT", "ARRAY",  "NULL",    "ANY"};

carat_status ct_schema_type_name(struct ct_declaration *d, const struct ct_json_value *type,
                                 char name[CT_SCHEMA_TYPE])
{
    const struct ct_str given = ct_json_str(type);
    char line[400];
    if (!ct_json_is(type, CT_JSON_STRING) || given.n == 0 || given.n >= CT_SCHEMA_TYPE)
        return ct_schema_wrong(d, "type",
                               "expected a type of JSON Schema (string, number, integer, boolean, object, "
                               "array, null)");
    for (size_t i = 0; i < given.n; i++)
        name[i] = given.s[i] >= 'a' && given.s[i] <= 'z' ? (char)(given.s[i] - 'a' + 'A') : given.s[i];
    name[given.n] = 0;
    for (size_t k = 0; k < CT_COUNT(type_names); k++)
        if (strcmp(name, type_names[k]) == 0)
            return CARAT_OK;
    snprintf(line, sizeof line, "%s.type: \"%.*s\" is no type of JSON Schema; the model is told it as it is",
             d->place, CT_BRIEF(given));
    if (d->w->log)
        d->w->log(d->w->user, line);
    return CARAT_OK;
}

carat_status ct_schema_type(struct ct_declaration *d, const struct ct_json_value *schema,
                            char name[CT_SCHEMA_TYPE])
{
    const struct ct_json_value *type = ct_json_get(schema, "type");
    if (ct_json_is(type, CT_JSON_ARRAY))
        CT_JSON_EACH(item, type)
    if (item->last || !ct_json_is_text(item, "null")) {
        type = item;
        break;
    }
    name[0] = 0;
    return type ? ct_schema_type_name(d, type, name) : CARAT_OK;
}

carat_status ct_schema_description(struct ct_declaration *d, const struct ct_json_value *schema,
                                   struct ct_str *text)
{
    const struct ct_json_value *description = ct_json_get(schema, "description");
    *text = ct_json_str(description);
    if (description && !ct_json_is(description, CT_JSON_STRING) && !ct_json_is(description, CT_JSON_NULL))
        return ct_schema_wrong(d, "description", "expected a string");
    return CARAT_OK;
}

void ct_declare_member(struct ct_declaration *d, const char *key)
{
    ct_chat_literal(d->w, d->comma);
    ct_chat_literal(d->w, key);
    ct_chat_literal(d->w, ":");
    d->comma = ",";
}

void ct_declare_type(struct ct_declaration *d, const char *type)
{
    ct_declare_member(d, "type");
    ct_chat_escaped(d->w, ct_str_of(type));
}

carat_status ct_declare_required(struct ct_declaration *d, const struct ct_json_value *schema)
{
    const struct ct_json_value *list = ct_json_given(schema, "required");
    bool good = !list || ct_json_is(list, CT_JSON_ARRAY);
    CT_JSON_EACH(name, list)
    good = good && ct_json_is(name, CT_JSON_STRING);
    if (!good)
        return ct_schema_wrong(d, "required", "expected a list of strings");
    if (ct_json_count(list)) {
        ct_declare_member(d, "required");
        ct_chat_value(d->w, list);
    }
    return CARAT_OK;
}

carat_status ct_declare_items(struct ct_declaration *d, const struct ct_json_value *items,
                              carat_status (*write_item)(struct ct_declaration *d,
                                                         const struct ct_json_value *items,
                                                         const struct ct_json_value *key))
{
    size_t n;
    const struct ct_json_value **keys = ct_chat_sorted_keys(d->w, items, &n);
    const size_t place = ct_place_enter(d, ct_str_of("items"));
    carat_status status = CARAT_OK;
    ct_declare_member(d, "items");
    ct_chat_literal(d->w, "{");
    d->comma = "";
    for (size_t i = 0; i < n && status == CARAT_OK; i++)
        status = write_item(d, items, keys[i]);
    ct_chat_literal(d->w, "}");
    d->comma = ",";
    free(keys);
    ct_place_leave(d, place);
    return status;
}

/* ---- writing ---- */

carat_status ct_declare_check(struct ct_declaration *d, const struct ct_json_value *tool,
                              struct ct_str *description)
{
    const struct ct_json_value *function = ct_chat_function(tool), *kind = ct_json_get(tool, "type");
    d->n_place = (size_t)snprintf(d->place, sizeof d->place, "tools[%zu]", d->tool);
    if (function != tool && kind && !ct_json_is_text(kind, "function"))
        return ct_schema_wrong(d, "type", "expected \"function\"");
    if (function != tool)
        ct_place_enter(d, ct_str_of("function"));
    if (!ct_json_is(function, CT_JSON_OBJECT))
        return ct_schema_wrong(d, NULL, "expected an object");
    const struct ct_json_value *parameters = ct_json_get(function, "parameters");
    if (ct_json_str(ct_json_get(function, "name")).n == 0)
        return ct_schema_wrong(d, "name", "a function needs a name");
    if (parameters && !ct_json_is(parameters, CT_JSON_NULL) && !ct_json_is(parameters, CT_JSON_OBJECT))
        return ct_schema_wrong(d, "parameters", "expected an object");
    return ct_schema_description(d, function, description);
}

carat_status ct_declare_begin(struct ct_declaration *d, const struct ct_json_value *tool)
{
    const struct ct_json_value *function = ct_chat_function(tool), *name = ct_json_get(function, "name"),
                               *parameters = ct_json_get(function, "parameters");
    struct ct_str description;
    CT_TRY(ct_declare_check(d, tool, &description));

    ct_chat_control(d->w, d->w->syntax->declaration);
    ct_chat_literal(d->w, "declaration:");
    ct_chat_content(d->w, ct_json_str(name));
    ct_chat_literal(d->w, "{");
    ct_declare_member(d, "description");
    ct_chat_escaped(d->w, description);
    if (ct_json_count(parameters)) {
        const struct ct_json_value *properties = ct_json_get(parameters, "properties");
        const size_t place = ct_place_enter(d, ct_str_of("parameters"));
        char type[CT_SCHEMA_TYPE];
        CT_TRY(ct_schema_type(d, parameters, type));
        ct_declare_member(d, "parameters");
        ct_chat_literal(d->w, "{");
        d->comma = "";
        if (properties && !(ct_json_is(properties, CT_JSON_OBJECT) && ct_json_count(properties) == 0)) {
            ct_declare_member(d, "properties");
            CT_TRY(d->write_properties(d, properties));
        }
        CT_TRY(ct_declare_required(d, parameters));
        ct_declare_type(d, *type ? type : "OBJECT");
        if (!*type && !properties)
            ct_schema_tell_untyped(d, NULL, parameters);
        ct_chat_literal(d->w, "}");
        ct_place_leave(d, place);
    }
    return CARAT_OK;
}

void ct_declare_end(struct ct_declaration *d)
{
    ct_chat_literal(d->w, "}");
    ct_chat_control(d->w, d->w->syntax->declaration_end);
}
