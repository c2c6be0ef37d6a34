/* SPDX-License-Identifier: Apache-2.0 */
/* chat_declare.h: the declaration of a tool out of its JSON schema: what FunctionGemma's and Gemma 4's
 * templates have in common. How properties are written is each template's own. */
#ifndef CT_CHAT_DECLARE_H
#define CT_CHAT_DECLARE_H

#include "text/chat/chat_parts.h"

struct ct_declaration {
    struct ct_chat_writer *w;
    const struct ct_gemma4_state *state; /* of Gemma 4's template */
    size_t tool;                         /* index, for messages */
    char place[200];   /* terminated: what is being written, "tools[0].function.parameters" */
    size_t n_place;    /* bytes, also those that have no room */
    const char *comma; /* before the next member */
    carat_error *err;
    /* Writes the members of "properties" in braces. */
    carat_status (*write_properties)(struct ct_declaration *d, const struct ct_json_value *properties);
};

/* Goes to the value of a key, for messages, and back to where it was: n, which this returns. A place ends
 * with the last key that has room. */
size_t ct_place_enter(struct ct_declaration *d, struct ct_str key);
void ct_place_leave(struct ct_declaration *d, size_t n);
/* Fails: what is wrong under a key of what is being written; key NULL: in that itself. */
carat_status ct_schema_wrong(struct ct_declaration *d, const char *key, const char *what);
/* Logs a part of a schema that the model does not get to see. property NULL: what
 * is a whole sentence. */
void ct_schema_tell(const struct ct_declaration *d, const struct ct_json_value *property, const char *what);
/* Logs a schema without a type that the template can express. property NULL: of the parameters. */
void ct_schema_tell_untyped(const struct ct_declaration *d, const struct ct_json_value *property,
                            const struct ct_json_value *schema);
enum { CT_SCHEMA_TYPE = 64 };
/* The upper-case name of a schema's type; of a list of types the first that is not null; "" when there is
 * none. One that JSON Schema does not have is told of, and written as it is. */
carat_status ct_schema_type(struct ct_declaration *d, const struct ct_json_value *schema,
                            char name[CT_SCHEMA_TYPE]);
/* The same of one value, that of the key "type". */
carat_status ct_schema_type_name(struct ct_declaration *d, const struct ct_json_value *type,
                                 char name[CT_SCHEMA_TYPE]);
carat_status ct_schema_description(struct ct_declaration *d, const struct ct_json_value *schema,
                                   struct ct_str *text);

/* Begins "key:" of the object being written, with the comma the last member wants. */
void ct_declare_member(struct ct_declaration *d, const char *key);
void ct_declare_type(struct ct_declaration *d, const char *type);
/* The list of strings under "required"; nothing when it is absent, null or empty. */
carat_status ct_declare_required(struct ct_declaration *d, const struct ct_json_value *schema);
/* The schema of an array's items: its members sorted, each written by the template. */
carat_status ct_declare_items(struct ct_declaration *d, const struct ct_json_value *items,
                              carat_status (*write_item)(struct ct_declaration *d,
                                                         const struct ct_json_value *items,
                                                         const struct ct_json_value *key));
/* That a tool has what every template needs, and its description. */
carat_status ct_declare_check(struct ct_declaration *d, const struct ct_json_value *tool,
                              struct ct_str *description);
/* Everything up to the function's own closing brace, and that. */
carat_status ct_declare_begin(struct ct_declaration *d, const struct ct_json_value *tool);
void ct_declare_end(struct ct_declaration *d);

#endif
