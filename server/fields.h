/* SPDX-License-Identifier: Apache-2.0 */
/* fields.h: the fields of a request as rows of data: what is taken of each, within which bounds, and what has
 * no effect or is refused. A surface has a table of them; the values are the same for all. */
#ifndef FIELDS_H
#define FIELDS_H

#include "base/json_tree.h"
#include "buffer.h"
#include "refusal.h"

enum field_kind {
    FIELD_VALUE, /* a value that others read; kinds below say which */
    FIELD_FLAG,
    FIELD_WHOLE,
    FIELD_REAL,
    FIELD_IDLE,    /* changes no text, and is taken as it is; with a reason the reply's warnings tell it */
    FIELD_REFUSED, /* says why; what it is when it changes nothing is taken */
};

enum {
    IS_TEXT = 1,
    IS_LIST = 2,
    IS_OBJECT = 4,
    IS_NUMBER = 8,
    IS_FLAG = 16,
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t at;           /* offset of the value */
    double low, high;    /* of numbers, both ends included; of VALUE: low is which kinds */
    const char *says;    /* REFUSED, IDLE: the reason */
    const char *neutral; /* the same: words and numbers between spaces of which nothing is said, or NULL */
};

/* A request as it is read. Memory of values is the tree's. */
struct document {
    struct ct_json_tree tree;
    struct ct_bytes text;
    struct refusal *r;
    bool strict;
    bool protojson;        /* other spellings: top_p for topP, "5" for 5, {} for [{}] */
    struct buffer ignored; /* names of fields that nobody knows, between commas */
    struct buffer idle;    /* names of those without effect */
    struct buffer warned;  /* lines about those of them that a reply's body tells, too */
    /* Further rows for fields_take, behind those that it is given: of the same values, or NULL. */
    const struct field *more;
    int n_more;
};

/* Reads the JSON object that a body must be. False: *d->r says why not. */
bool document_read(struct document *d, struct ct_bytes text);
void document_free(struct document *d);
/* Whether a key is this name, in a spelling that the document may have. */
bool field_is(const struct document *d, struct ct_str key, const char *name);
/* Puts the fields of an object into *values. Two spellings of one value must say the same. prefix leads to
 * them in messages: "" or "stream_options.". */
bool fields_take(struct document *d, const struct ct_json_value *object, const char *prefix,
                 const struct field *fields, int n, void *values);
/* What an object inside a body may have: where it stands ("messages[].content[]"), and its names between
 * spaces. Whatever else it has is named as a field that nobody knows, or refused where the host is strict;
 * null is nothing. Kinds of values are left to those who take them. */
struct members {
    const char *place, *names;
};
bool fields_inside(struct document *d, const struct members *rows, size_t n);
/* Names a field among those without effect; why: the reply's body says so, too, unless it is NULL. */
void document_idle(struct document *d, const char *name);
void document_warn(struct document *d, const char *name, const char *why);
/* The reply's body says this of a part of the request that is obeyed. */
void document_tell(struct document *d, const char *name, const char *why);
/* Refuses a value of a field: "temperature at byte 12 is "hot", expected a number". v may be NULL. */
bool field_refuse(struct document *d, const char *name, const struct ct_json_value *v, const char *expected,
                  ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;
/* A number, and a whole one, also where it is spelled 5.0; false: it is none. */
bool field_real(const struct document *d, const struct ct_json_value *v, double *out);
bool field_whole(const struct document *d, const struct ct_json_value *v, int64_t *out);
/* The elements of a list, or the one that stands there without brackets (protojson). */
static inline const struct ct_json_value *field_first(const struct ct_json_value *list)
{
    return ct_json_is(list, CT_JSON_ARRAY) ? ct_json_first(list) : list;
}
static inline const struct ct_json_value *field_next(const struct ct_json_value *list,
                                                     const struct ct_json_value *one)
{
    return ct_json_is(list, CT_JSON_ARRAY) ? ct_json_after(one) : NULL;
}
#define FIELD_EACH(v, list)                                                                                  \
    for (const struct ct_json_value *v = field_first(list); v; v = field_next(list, v))
/* The text of a value, as it stands in the body. */
struct ct_str value_text(const struct document *d, const struct ct_json_value *v);
void value_put(struct buffer *out, const struct document *d, const struct ct_json_value *v);
/* A copy, terminated, for free; NULL without memory. */
char *text_copy(struct ct_str s);

#endif
