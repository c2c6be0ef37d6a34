/* SPDX-License-Identifier: Apache-2.0 */
/* json.h: a pull reader for very large JSON (a 33 MB tokenizer.json): no tree, no recursion, no allocation
 * besides one buffer for strings with escapes. json_tree.h makes a tree of a document that is asked for
 * its values in another order than they stand in. */
#ifndef CT_JSON_H
#define CT_JSON_H

#include "base/base.h"

enum ct_json_token {
    CT_JSON_END, /* after the document */
    CT_JSON_OBJECT,
    CT_JSON_OBJECT_END,
    CT_JSON_ARRAY,
    CT_JSON_ARRAY_END,
    CT_JSON_KEY,
    CT_JSON_STRING,
    CT_JSON_NUMBER,
    CT_JSON_TRUE,
    CT_JSON_FALSE,
    CT_JSON_NULL,
    CT_JSON_ERROR, /* sticky: the first error is kept and every later call returns this */
};

#define CT_JSON_DEPTH 64
/* Limits on what a hostile document can make the reader look at. The JSON of a checkpoint stays far below. */
#define CT_JSON_STRING_MAX (16 << 20) /* bytes of one string as spelled */
#define CT_JSON_NUMBER_MAX 1024       /* characters of one number */
#define CT_JSON_SPACE_MAX                                                                                    \
    (1 << 20) /* white space between two tokens; beyond it, the next byte of it is refused */

struct ct_json {
    const char *name; /* for messages: path of the document */
    const uint8_t *text;
    size_t size, at;
    size_t start;                 /* where the token that came last begins */
    uint8_t stack[CT_JSON_DEPTH]; /* '{' or '[' */
    int depth;
    int expect;           /* reader state, private */
    struct ct_str string; /* of KEY and STRING: decoded UTF-8, valid until the next call */
    double number;        /* of NUMBER */
    char *buffer;         /* owned; for strings with escapes */
    size_t capacity;
    carat_error error; /* the first error: document, byte offset, found and expected */
};

void ct_json_init(struct ct_json *j, const char *name, struct ct_bytes text);
void ct_json_free(struct ct_json *j);
enum ct_json_token ct_json_next(struct ct_json *j);
/* Skips the value that comes next (a whole object or array, or a scalar). False after an error. */
bool ct_json_skip(struct ct_json *j);
/* The value of a number that a reader has accepted. */
double ct_json_decimal(struct ct_str spelled);
/* Reads a number as an integer: false for a fraction, an exponent and what 64 bits cannot hold. */
bool ct_json_whole(struct ct_str spelled, int64_t *out);
/* Records "name: at byte N: message" as the reader's error unless it already has one. */
carat_status ct_json_fail(struct ct_json *j, const char *format, ...);

#endif
