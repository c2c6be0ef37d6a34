/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h: JSON Schema as productions: the texts that are JSON, fit the schema and are written in one
 * syntax. Draft 2020-12, with the spellings of drafts 4, 6 and 7 that most schemas still have. What a schema
 * says is kept, or the schema is refused with the path of what it says.
 *
 * Nothing is fetched. Schemas are worked on from a list, one by one: how deep they are nested takes no
 * stack. */
#ifndef CT_SCHEMA_H
#define CT_SCHEMA_H

#include "base/json_tree.h"
#include "grammar/language.h"

enum { CT_SCHEMA_BYTES = 256 << 10, CT_SCHEMA_LEVELS = 32 };

enum ct_schema_space {
    CT_SPACE_JSON,  /* wherever JSON has it, each time at most one line break and 20 blanks */
    CT_SPACE_DUMPS, /* ", " and ": ", as Python's json.dumps writes */
    CT_SPACE_NONE,
};

/* Rules that schemas of one grammar and one set of options share. */
enum ct_schema_common {
    CT_COMMON_SPACE,
    CT_COMMON_STRING,
    CT_COMMON_KEY,
    CT_COMMON_NUMBER,
    CT_COMMON_INTEGER,
    CT_COMMON_COMMA,
    CT_COMMON_VALUE,
    CT_COMMON_OBJECT,
    CT_COMMONS
};
/* Languages of formats, each made once: that of a URI takes milliseconds. */
enum { CT_FORMATS = 9 };
struct ct_schema_formats {
    struct ct_language of[CT_FORMATS]; /* without states: not made yet */
};
struct ct_schema_shared {
    struct ct_charsets charsets;
    int32_t rule[CT_COMMONS]; /* + 1; 0: not made yet */
    struct ct_schema_formats formats;
};
void ct_schema_shared_free(struct ct_schema_shared *s); /* starts from {0}, leaves {0} */

struct ct_schema_options {
    const char *prefix; /* where the schema stands, for messages: "tools[0].function.parameters"; or NULL */
    enum ct_schema_space space;
    /* The keys of an object in any order; else in that of the schema. Keys that are not declared are there
     * once of each kind, so that none is there twice: by the first letter, or that and the length. */
    bool any_order;
    /* An argument of a call, as text/chat/call.h reads it. An object that declares properties has no others
     * unless additionalProperties says so; keys are in any order, and none is there twice; NUL is nowhere. */
    bool argument;
    bool calls; /* in the syntax of calls, of which an argument is: keys bare, strings between two tokens */
    int32_t quote;                   /* of calls: the token's id */
    struct ct_schema_shared *shared; /* or NULL */
};

/* The rule of a value that fits the schema, which is part of a tree. E_ARGUMENT: what is wrong with the
 * schema, or not supported. That no JSON fits it is found by ct_grammar_finish. */
carat_status ct_schema_rule(struct ct_grammar *g, const struct ct_json_value *schema,
                            const struct ct_schema_options *o, int32_t *rule, carat_error *err);
/* A new rule of the white space between two tokens of JSON. */
int32_t ct_schema_space(struct ct_grammar *g);
/* The rule of a whole text, from a schema as text; with CT_SPACE_JSON white space may surround it. */
carat_status ct_schema_text(struct ct_grammar *g, struct ct_str schema, const struct ct_schema_options *o,
                            int32_t *rule, carat_error *err);

#endif
