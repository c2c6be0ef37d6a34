/* SPDX-License-Identifier: Apache-2.0 */
/* call_parts.h: what the readers of calls share: call.c cuts and spells what a model wrote and reads calls
 * between tokens, call_json.c reads calls that are JSON. */
#ifndef CT_CALL_PARTS_H
#define CT_CALL_PARTS_H

#include "base/json_tree.h"
#include "text/chat/call.h"
#include "text/chat/chat_parts.h"

/* ---- call_declared.c ---- */

/* Whether the keys of a call's arguments are declared. The reader of a call tells what it comes upon;
 * here is which schemas say something about it. Only keys are judged, and never more strictly than the
 * schema is meant: where it leaves a choice (anyOf), a key that one branch declares is good, and one that
 * a pattern could fit is, too. So all that the form of calls lets through (src/grammar/tool_call.h) is
 * good. */

enum { CT_DECLARED_SCHEMAS = 512, CT_DECLARED_OF_ONE = 64 };

struct call_said {
    const struct ct_json_value *schema;
    bool branch; /* one of several: an object may fit another one */
    bool closed; /* a schema that holds it declares properties */
};

struct call_declared {
    const struct ct_json_value *root;
    struct call_said said[CT_DECLARED_SCHEMAS]; /* of each level, then of the value that comes next */
    int n;
    bool next_is_any; /* nothing is known of that value */
    int depth;
    struct {
        int first, end; /* in said */
        bool object, any, patterned;
    } level[CT_JSON_DEPTH];
};

/* The parameters come next; declared: they are those of a function, which may have none. */
void ct_declared_begin(struct call_declared *j, const struct ct_json_value *parameters, bool declared);
/* An object or a list begins, at most CT_JSON_DEPTH of them in each other; the innermost one ends. */
void ct_declared_open(struct call_declared *j, bool object);
void ct_declared_close(struct call_declared *j);
/* A key of the innermost object; its value comes next. False: the key is not declared. */
bool ct_declared_key(struct call_declared *j, struct ct_str key);

/* Text that grows; the first failure to allocate sticks. */
struct call_text {
    char *s;
    size_t n, capacity;
    bool failed;
};
void ct_call_put(struct call_text *t, const char *s, size_t n);
/* A copy for the caller; NULL, and the failure noted in t, when memory is out. */
char *ct_call_copy(struct call_text *t, const char *s, size_t n);

/* A key, and the number of its object. */
struct call_key {
    struct ct_str s;
    uint32_t object;
};

struct call_parser {
    const struct ct_tokenizer *t;
    const struct ct_chat_syntax *syntax;
    const struct ct_json_value *tools; /* NULL: every name and key is good */
    int32_t control[CT_CONTROLS];      /* ids */
    struct call_text text;             /* of the part being read */
    struct call_text json;             /* arguments as they are written */
    size_t *begin;                     /* [n + 1] in text, of each id of the part */
    const int32_t *id;                 /* [n] of the part */
    int n;
    /* of a call: where the reader is, and the first thing that is wrong */
    size_t at;
    int k;             /* the id whose text at lies in */
    uint32_t n_object; /* that were begun */
    struct call_key *key;
    size_t n_key, key_capacity;
    carat_part *part;
    size_t part_capacity; /* of the list that it is in */
    char error[400];
    struct call_declared declared;
    size_t origin; /* the byte of text where the part begins */
};

/* A control token, which is never part of a name or a value. */
bool ct_call_is_mark(const struct call_parser *p, int32_t id);
/* Spells ids of an answer into p->text and p->begin, control tokens only within a call. */
void ct_call_spell(struct call_parser *p, const int32_t *id, int n, bool call);
/* Notes what is wrong at byte `at` of p->text, unless there is something before it. Returns false. */
bool ct_call_wrong(struct call_parser *p, size_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The function of that name, or NULL. */
const struct ct_json_value *ct_call_tool(const struct ct_json_value *tools, struct ct_str name);
/* A new part of the list; NULL: memory is out. */
carat_part *ct_call_part(struct call_parser *p, carat_calls *out);

/* Divides an answer in a vocabulary without tokens for calls. */
void ct_calls_parse_json(struct call_parser *p, const int32_t *ids, int n, carat_calls *out);

#endif
