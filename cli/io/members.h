/* SPDX-License-Identifier: Apache-2.0 */
/* members.h: structs as objects of JSON, by tables of their members: written from a struct, and read into
 * one. What is read is checked here, once: a member of another type is none. */
#ifndef IO_MEMBERS_H
#define IO_MEMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Text that may have bytes of 0; s NULL: there is none. What was read belongs to its JSON. */
struct words {
    const char *s;
    size_t n;
};
/* "" where there is none. */
struct words words_of(const char *text);
struct words words_some(struct words w);
bool words_are(struct words w, const char *text);

/* The type of a member, and which value is none: null in JSON, or left out when the field is optional. Those
 * of the second part are written alone. */
enum field_kind {
    FIELD_BOOL,  /* bool; false is none when it is optional */
    FIELD_INT,   /* int */
    FIELD_LONG,  /* int64_t */
    FIELD_COUNT, /* int64_t; below 0 */
    FIELD_REAL,  /* double; what is not finite */
    FIELD_WORDS, /* struct words; of NULL */
    FIELD_JSON,  /* json_t *, of any type, borrowed; NULL */
    FIELD_PART,  /* a struct with a table of its own */
    FIELD_SOME,  /* the same, and its first member is a bool; false */

    FIELD_TRUTH,  /* int */
    FIELD_STRING, /* const char *; NULL */
    FIELD_CHARS,  /* char[]; "" when it is optional */
    FIELD_NAMED,  /* int, by its name */
    FIELD_PAIR,   /* double[2]; the first is not finite */
    FIELD_INTS,   /* int32_t[], as many as an int says */
    FIELD_REALS,  /* double[] */
    FIELD_LIST,   /* structs behind a pointer; NULL */
    FIELD_AT,     /* one of them; NULL */

    FIELD_OPTIONAL = 64,
};

struct field {
    const char *name; /* a dot leads into an object; "": its fields stand beside others; NULL ends a table */
    int kind;
    size_t at;              /* in the struct */
    const struct field *of; /* the table of a struct within */
    size_t size;            /* of an element of a list */
    size_t n_at;            /* where the number of elements is */
    const char *(*named)(int value);
};

/* A new object; the same as text, by jansson's flags: NULL when memory is out. */
json_t *fields_json(const struct field *table, const void *from);
char *fields_text(const struct field *table, const void *from, size_t flags);
bool fields_equal(const struct field *table, const void *a, const void *b);
/* Sets all members that the table has; object may be NULL, or anything. */
void fields_read(const struct field *table, void *to, const json_t *object);
/* NAN: it is no number. */
double field_number(const json_t *value);
/* The value under a name with dots; NULL: nothing. */
json_t *field_find(const json_t *object, const char *name);

#endif
