/* SPDX-License-Identifier: Apache-2.0 */
/* json_tree.h: a JSON document as a tree of 16 bytes for each value, which the pull reader fills as it
 * goes. Strings and numbers stay where they stand in the text, which must outlive the tree. A document
 * that can be read in one walk, as a tokenizer.json, needs json.h alone. */
#ifndef CT_JSON_TREE_H
#define CT_JSON_TREE_H

#include "base/json.h"

#define CT_JSON_TREE_MAX (1 << 27) /* bytes of a text: what the counts of a value can hold */

/* A value. What is in a list or an object follows it, in the order of the text, each key before its value.
 * NULL is an absent value, which all questions below accept. */
struct ct_json_value {
    const char *s;     /* a string's or a key's characters, not terminated; else the first byte in the text */
    uint32_t span;     /* values from here to the next one beside it */
    uint32_t kind : 4; /* enum ct_json_token: an opening bracket, a key or a scalar */
    uint32_t last : 1; /* nothing follows in its list or object */
    uint32_t escaped : 1; /* s is no place in the text; the value behind this one tells the place */
    uint32_t n : 26;      /* bytes of a string or number, elements of a list, members of an object */
};

/* Starts from {0}. */
struct ct_json_tree {
    struct ct_json_value *value; /* [0] is the root */
    size_t n, capacity;
    struct ct_json_decoded *decoded; /* strings that are spelled with escapes, a block for each text */
    uint32_t open[CT_JSON_DEPTH + 1],
        child[CT_JSON_DEPTH + 1]; /* what is not closed, and the newest value in it */
    int depth;
    bool failed; /* memory ran out */
};

/* Adds the document, an object or a list, to what is open, or as the root. name says in messages what the
 * text is. Fails with code (E_ARGUMENT for a caller's text, E_FORMAT for a file), or E_MEMORY. A key that
 * is there twice and a NUL character are errors. At most CT_JSON_DEPTH levels deep. */
carat_status ct_json_tree_read(struct ct_json_tree *t, carat_status code, const char *name,
                               struct ct_bytes text, carat_error *err);
/* Adds the object or list whose bracket the reader has just read, and leaves the reader at its end. False:
 * what j->error says, memory ran out (t->failed), or there are more than `most` values. */
bool ct_json_tree_value(struct ct_json_tree *t, struct ct_json *j, enum ct_json_token bracket, size_t most);
void ct_json_tree_free(struct ct_json_tree *t); /* leaves {0} */

/* A tree without a text, built value by value. Strings are borrowed, at most CT_JSON_STRING_MAX bytes. A
 * failure is kept in t->failed. */
void ct_json_tree_open(struct ct_json_tree *t, enum ct_json_token bracket, const char *at);
void ct_json_tree_close(struct ct_json_tree *t);
void ct_json_tree_string(struct ct_json_tree *t, enum ct_json_token key_or_string, struct ct_str s);
/* A copy of a value with all that is in it, whose characters stay where they are. */
void ct_json_tree_copy(struct ct_json_tree *t, const struct ct_json_value *v);
/* Opens again the list or object that was closed last: it goes on. */
void ct_json_tree_reopen(struct ct_json_tree *t);

/* ---- questions ---- */

static inline bool ct_json_is(const struct ct_json_value *v, enum ct_json_token kind)
{
    return v && v->kind == (uint32_t)kind;
}
static inline bool ct_json_is_bool(const struct ct_json_value *v)
{
    return ct_json_is(v, CT_JSON_TRUE) || ct_json_is(v, CT_JSON_FALSE);
}
/* "" for anything but a string or a key. */
static inline struct ct_str ct_json_str(const struct ct_json_value *v)
{
    bool has = ct_json_is(v, CT_JSON_STRING) || ct_json_is(v, CT_JSON_KEY);
    return (struct ct_str){has ? v->s : "", has ? v->n : 0};
}
/* Elements of a list, members of an object; else 0. */
static inline size_t ct_json_count(const struct ct_json_value *v)
{
    return ct_json_is(v, CT_JSON_ARRAY) || ct_json_is(v, CT_JSON_OBJECT) ? v->n : 0;
}
/* The first element of a list or the first key of an object, then the next ones; NULL at the end. */
static inline const struct ct_json_value *ct_json_first(const struct ct_json_value *v)
{
    return ct_json_count(v) ? v + 1 : NULL;
}
static inline const struct ct_json_value *ct_json_of_key(const struct ct_json_value *key)
{
    return key + key->span;
}
static inline const struct ct_json_value *ct_json_after(const struct ct_json_value *v)
{
    if (v->kind == CT_JSON_KEY)
        v = ct_json_of_key(v);
    return v->last ? NULL : v + v->span;
}
#define CT_JSON_EACH(v, list)                                                                                \
    for (const struct ct_json_value *v = ct_json_first(list); v; v = ct_json_after(v))
/* The value under a key; NULL when there is none, or no object. */
const struct ct_json_value *ct_json_get(const struct ct_json_value *object, const char *key);
const struct ct_json_value *ct_json_find(const struct ct_json_value *object, struct ct_str key);
/* Like ct_json_get, but null counts as absent, as it does in transformers. */
static inline const struct ct_json_value *ct_json_given(const struct ct_json_value *object, const char *key)
{
    const struct ct_json_value *v = ct_json_get(object, key);
    return ct_json_is(v, CT_JSON_NULL) ? NULL : v;
}
static inline bool ct_json_is_text(const struct ct_json_value *v, const char *text)
{
    return ct_json_is(v, CT_JSON_STRING) && ct_str_is(ct_json_str(v), text);
}
/* A byte of a key as it stands in the place that a message begins with: no blank, so that ": " ends it. */
static inline char ct_json_shown(char c)
{
    return (char)(c > 0x20 && c < 0x7f ? c : '?');
}
/* The first byte of a value, or a key, in the text that it was read from. */
const char *ct_json_place(const struct ct_json_value *v);
/* A number that is spelled without a fraction and an exponent and fits into 64 bits. */
bool ct_json_integer(const struct ct_json_value *v, int64_t *out);
/* The value of a number; else 0. */
double ct_json_double(const struct ct_json_value *v);

/* "FILE: KEY at byte 12 is VALUE, EXPECTED", for a value that cannot stay; text is what the tree was read
 * from. "FILE: KEY: EXPECTED" for one that is absent. key leads to it: "rope_scaling.factor",
 * "layer_types[3]". */
carat_status ct_json_refuse(carat_error *err, carat_status code, const char *file, struct ct_bytes text,
                            const struct ct_json_value *v, const char *key, const char *expected, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 7, 8)))
#endif
    ;

#endif
