/* SPDX-License-Identifier: Apache-2.0 */
/* schema_parts.h: what the files of JSON Schema share.
 *
 * A rule stands for the values that fit several schemas at once: a list of items. So allOf, a $ref beside
 * other keywords and a key that several schemas know need no merging of schemas: each keyword asks all items.
 * anyOf and oneOf are cut into alternatives, each a list of items without them (schema_split.c). */
#ifndef CT_SCHEMA_PARTS_H
#define CT_SCHEMA_PARTS_H

#include "grammar/schema.h"

enum {
    SCHEMA_ITEMS = 48,     /* of one list */
    SCHEMA_MOST = 1 << 26, /* characters or items: no answer has so many */
};

/* Parts of an item that are done with. */
enum {
    ITEM_OPENED = 1, /* its $ref and allOf are items of their own */
    ITEM_ANY_OF = 2, /* one of anyOf is an item of its own */
    ITEM_ONE_OF = 4,
    ITEM_CONST = 8, /* one value of const, or of enum, is an item of its own */
    ITEM_ENUM = 16,
    ITEM_VALUE = 32,   /* no schema, but a value that is the only one */
    ITEM_DROPPED = 64, /* says nothing */
};

struct item {
    const struct ct_json_value *schema;
    uint8_t done;
    int8_t via; /* in a list that is being split: the item that it came from; -1 */
};

struct items {
    const struct item *item;
    int n;
};

/* A rule to be filled. */
struct task {
    uint32_t first; /* of its items in schema.item */
    int32_t n, rule;
    int8_t common; /* a rule that schemas share; -1: it is none */
};

struct schema {
    struct ct_grammar *g;
    const struct ct_schema_options *o;
    struct ct_schema_shared *shared;
    struct ct_schema_formats *formats; /* those of the whole schema, also where a part of it is tried */
    const struct ct_json_value *root;
    bool old_references; /* what stands beside $ref says nothing (drafts 4, 6, 7) */
    bool trial;          /* only asks whether anything fits: oneOf is taken as anyOf */
    uint8_t *checked;    /* [root->span] the schema that begins at this value is good */
    struct item *item;
    struct task *task;
    int32_t *slot; /* hash table of tasks: number + 1 */
    size_t item_room, task_room, slots;
    uint32_t n_items;
    int32_t n_tasks;
    int32_t trials; /* grammars that were built to ask */
    int64_t spent;  /* states of all languages that were made */
    /* Makes the rule of a value that fits the items, and all that it needs. */
    int32_t (*run)(struct schema *s, const struct item *item, int n);
    char note[400]; /* the first thing that nothing fits, if it is one */
};

/* Types of values. Integers and other numbers are apart. */
enum {
    TYPE_NULL = 1,
    TYPE_BOOLEAN = 2,
    TYPE_INTEGER = 4,
    TYPE_FRACTION = 8,
    TYPE_NUMBER = TYPE_INTEGER | TYPE_FRACTION,
    TYPE_STRING = 16,
    TYPE_ARRAY = 32,
    TYPE_OBJECT = 64,
    TYPE_ALL = 127,
};

/* True when nobody waits for the grammar any more, n steps further on; then it has failed. */
static inline bool ct_schema_cancelled(struct schema *s, size_t n)
{
    const bool ended = ct_watch_ended(s->g->watch, n);

    if (ended)
        ct_grammar_fail(s->g, CARAT_E_CANCELLED, CT_WATCH_SAYS);
    return ended;
}

/* ---- schema_rules.c ---- */

/* Zeroed memory; NULL: the grammar has failed. */
void *ct_schema_memory(struct schema *s, size_t bytes);
/* The rule for these items, which is filled later. */
int32_t ct_schema_rule_of(struct schema *s, const struct item *item, int n);
int32_t ct_schema_common_rule(struct schema *s, enum ct_schema_common which);
/* White space, if the syntax has any; returns the node behind it. */
int32_t ct_schema_spaces(struct schema *s, int32_t from);
/* A character or two of the syntax, with the blank that json.dumps writes behind it. */
void ct_schema_mark(struct schema *s, int32_t from, const char *mark, int32_t to);
void ct_schema_free_tasks(struct schema *s);
/* Adds an item unless it says nothing; false: it lets nothing fit. */
bool ct_schema_add(struct schema *s, struct item *list, int *n, const struct ct_json_value *schema,
                   uint8_t done);
/* A function that writes a unit of a repetition. */
typedef void schema_unit(struct schema *s, int32_t rule, int32_t from, int32_t to);
/* From min to max units; max < 0: no end. */
void ct_schema_repeat(struct schema *s, schema_unit *unit, int32_t rule, int32_t from, int64_t min,
                      int64_t max, int32_t to);

/* ---- schema_check.c ---- */

/* "PATH.key: sentence" becomes the failure of the grammar; key NULL: PATH alone. Returns -1. */
int32_t ct_schema_fail(struct schema *s, const struct ct_json_value *v, const char *key, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));
/* Fails for what is sound, and is only not understood here. */
int32_t ct_schema_unsupported(struct schema *s, const struct ct_json_value *v, const char *key,
                              const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Keeps a message as the note on why nothing fits, which is only heard if nothing at all does. */
void ct_schema_note(struct schema *s, const struct ct_json_value *v, const char *key, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Writes where a value lies in the schema. */
void ct_schema_path(const struct schema *s, const struct ct_json_value *v, char *text, size_t size);
/* True when nothing but `type` says anything. */
bool ct_schema_says_type_only(const struct ct_json_value *schema);
/* Checks a schema's own keywords, once. */
bool ct_schema_checked(struct schema *s, const struct ct_json_value *v);
/* The schema that a $ref leads to; NULL after a failure. */
const struct ct_json_value *ct_schema_reference(struct schema *s, const struct ct_json_value *schema);
/* Under a keyword; NULL where the item has none. */
const struct ct_json_value *ct_schema_get(const struct item *item, const char *key);
int ct_schema_types(const struct ct_json_value *type); /* of the keyword `type` */
int ct_schema_type_of(const struct ct_json_value *value);
/* The largest of minX, the smallest of maxX of all items; -1: none. */
int64_t ct_schema_least(const struct items *all, const char *key);
int64_t ct_schema_most(const struct items *all, const char *key);
/* The values that enum or const allow; NULL: nothing is said. *n of them follow each other. */
const struct ct_json_value *ct_schema_values(const struct item *item, size_t *n);

/* ---- schema_values.c ---- */

/* True when two scalars are the same value. */
bool ct_schema_same(const struct ct_json_value *a, const struct ct_json_value *b);
/* True when all items allow a scalar. */
bool ct_schema_allows(const struct items *all, const struct ct_json_value *v);

/* ---- schema_split.c ---- */

/* Calls for each alternative. */
void ct_schema_split(struct schema *s, const struct items *all,
                     void (*each)(struct schema *s, const struct items *all, int32_t rule), int32_t rule);

/* ---- a value of one type, from one node to another ---- */

void ct_schema_emit_string(struct schema *s, const struct items *all, int32_t from, int32_t to);
void ct_schema_emit_number(struct schema *s, const struct items *all, int types, int32_t from, int32_t to);
void ct_schema_emit_array(struct schema *s, const struct items *all, int32_t from, int32_t to);
void ct_schema_emit_object(struct schema *s, const struct items *all, int32_t from, int32_t to);
void ct_schema_fill_number(struct schema *s, int32_t rule, bool fractions); /* any */

/* ---- schema_string.c, schema_format.c, schema_number.c ---- */

/* l becomes what is in both, or `more` alone where *any says that l is everything; takes `more` over. False:
 * a failure, which names the schema. */
bool ct_schema_narrow(struct schema *s, struct ct_language *l, bool *any, struct ct_language *more,
                      const struct ct_json_value *schema);
/* Counts a language that was made. False: all together have too many states, a failure. */
bool ct_schema_spend(struct schema *s, const struct ct_language *l, const struct ct_json_value *schema);
/* The texts in which a pattern is found, determined. False: a failure, which names schema and key. */
bool ct_schema_pattern(struct schema *s, struct ct_str pattern, const struct ct_json_value *schema,
                       const char *key, struct ct_language *out);
/* The texts of a format, determined. counted: their length has a limit. */
bool ct_schema_format(struct ct_schema_formats *made, struct ct_str name, bool counted,
                      struct ct_language *out, carat_error *err);
/* Exactly this key, and any key of a language (NULL: any at all). */
void ct_schema_emit_key(struct schema *s, struct ct_str key, int32_t from, int32_t to);
void ct_schema_emit_keys(struct schema *s, const struct ct_language *keys, int32_t from, int32_t to);
/* True when the syntax can write a key. */
bool ct_schema_good_key(const struct schema *s, struct ct_str key);

/* ---- schema_keys.c ---- */

/* Which keys an object may have, and what their values are. */

enum { LAYERS_MAX = 20000 };

/* A key that the schema names. */
struct declared {
    struct ct_str key;
    const struct ct_json_value *of; /* the object that names it, and the value there */
    const struct ct_json_value *value;
    int32_t rule; /* -1: no value fits */
    bool required;
};

/* Keys that no schema names, and that fit the same patterns. */
struct others {
    struct ct_language keys;
    bool all;         /* keys is empty: it is all there are */
    uint32_t fitting; /* bits of the patterns */
    int32_t rule;
};

enum { PATTERNS_MAX = 32, OTHERS_MAX = 64 };

struct keys {
    struct declared *declared; /* [n] */
    int32_t *slot;             /* hash table of declared: number + 1 */
    size_t room, slots;
    int n, n_required, n_allowed; /* allowed: with a value that may fit */
    int64_t min, max;             /* how many keys; max < 0: no end */
    struct others others[OTHERS_MAX];
    int n_others;
    struct ct_language pattern[PATTERNS_MAX];
    const struct ct_json_value *pattern_schema[PATTERNS_MAX];
    int pattern_item[PATTERNS_MAX];
    int n_patterns;
    /* of objects in order */
    int64_t layers, min_layer;
    bool counts_to_end; /* the last layer has no key more */
};

/* Into zeroed memory of ct_schema_memory, which is too much for a stack. False: nothing fits, or a failure;
 * keys_free follows in any case. */
bool ct_keys_read(struct schema *s, const struct items *all, struct keys *k);
void ct_keys_free(struct keys *k);

#endif
