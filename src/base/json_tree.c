/* SPDX-License-Identifier: Apache-2.0 */
/* json_tree.c: builds the tree of json_tree.h token by token. Every value is hung into its parent as soon as it exists, so
 * that giving back the root gives back everything. */
#include "base/json_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"

struct builder {
    struct ct_json reader;
    json_t *root;
    json_t *open[CT_JSON_DEPTH]; /* borrowed: the containers that are not finished, outermost first */
    int n_open;
    char *key; /* of the value that comes next; terminated */
    size_t key_capacity;
};

static void no_memory(struct builder *b)
{
    ct_fail(&b->reader.error, CARAT_E_MEMORY, "%s: out of memory while reading JSON of %zu bytes",
            b->reader.name, b->reader.size);
}

/* Keeps a string of the reader, which holds it only until the next token. */
static void take_key(struct builder *b, struct ct_str s)
{
    if (s.n && memchr(s.s, 0, s.n)) {
        ct_json_fail(&b->reader, "a key holds a NUL character");
        return;
    }
    if (s.n + 1 > b->key_capacity) {
        char *grown = realloc(b->key, 2 * s.n + 64);
        if (!grown) {
            no_memory(b);
            return;
        }
        b->key = grown;
        b->key_capacity = 2 * s.n + 64;
    }
    memcpy(b->key, s.s, s.n);
    b->key[s.n] = 0;
    if (json_object_get(b->open[b->n_open - 1], b->key))
        ct_json_fail(&b->reader, "duplicate key");
}

/* Hangs a new value into the innermost container; NULL is one that could not be made. */
static void hang(struct builder *b, json_t *value)
{
    json_t *parent = b->n_open ? b->open[b->n_open - 1] : NULL;
    int failed = value == NULL;

    if (!parent)
        b->root = value;
    else if (json_is_object(parent))
        failed = json_object_set_new_nocheck(parent, b->key, value);
    else
        failed = json_array_append_new(parent, value);
    if (failed)
        no_memory(b);
    else if (json_is_object(value) || json_is_array(value))
        b->open[b->n_open++] = value;
}

static json_t *string(struct builder *b)
{
    struct ct_str s = b->reader.string;
    return json_stringn_nocheck(s.n ? s.s : "", s.n);
}

/* A number spelled without a fraction and an exponent is an integer while 64 bits hold it, else a real. */
static json_t *number(const struct ct_json *j)
{
    const char *s = (const char *)j->text + j->start;
    size_t n = j->at - j->start;
    json_int_t value = 0;
    bool negative = *s == '-', fits = !memchr(s, '.', n) && !memchr(s, 'e', n) && !memchr(s, 'E', n);

    for (size_t i = negative; i < n && fits; i++) /* downwards: the lowest integer has no positive twin */
        fits =
            !__builtin_mul_overflow(value, 10, &value) && !__builtin_sub_overflow(value, s[i] - '0', &value);
    if (fits && !negative)
        fits = !__builtin_sub_overflow((json_int_t)0, value, &value);
    return fits ? json_integer(value) : json_real(j->number);
}

static void take(struct builder *b, enum ct_json_token token)
{
    switch (token) {
    case CT_JSON_OBJECT:
        hang(b, json_object());
        break;
    case CT_JSON_ARRAY:
        hang(b, json_array());
        break;
    case CT_JSON_OBJECT_END:
    case CT_JSON_ARRAY_END:
        b->n_open--;
        break;
    case CT_JSON_KEY:
        take_key(b, b->reader.string);
        break;
    case CT_JSON_STRING:
        if (b->reader.string.n && memchr(b->reader.string.s, 0, b->reader.string.n))
            ct_json_fail(&b->reader, "a string holds a NUL character");
        else
            hang(b, string(b));
        break;
    case CT_JSON_NUMBER:
        hang(b, number(&b->reader));
        break;
    case CT_JSON_TRUE:
        hang(b, json_true());
        break;
    case CT_JSON_FALSE:
        hang(b, json_false());
        break;
    case CT_JSON_NULL:
        hang(b, json_null());
        break;
    case CT_JSON_END:
    case CT_JSON_ERROR:
        break;
    }
}

carat_status ct_json_tree(json_t **root, carat_status code, const char *name, struct ct_bytes text,
                          carat_error *err)
{
    struct builder b = {.root = NULL};
    enum ct_json_token token;

    ct_json_init(&b.reader, name, text);
    token = ct_json_next(&b.reader);
    if (token != CT_JSON_OBJECT && token != CT_JSON_ARRAY)
        ct_json_fail(&b.reader, "expected an object or a list");
    while (b.reader.error.code == CARAT_OK && token != CT_JSON_END) {
        take(&b, token);
        if (b.reader.error.code == CARAT_OK)
            token = ct_json_next(&b.reader);
    }
    carat_status status = b.reader.error.code;
    if (status && status != CARAT_E_MEMORY)
        status = code;
    if (status) {
        json_decref(b.root);
        ct_fail(err, status, "%s", b.reader.error.message);
    } else {
        *root = b.root;
    }
    free(b.key);
    ct_json_free(&b.reader);
    return status;
}

/* ---- the place of a value ---- */

/* Moves the reader before the value that key leads to; false: there is none. */
static bool descend(struct ct_json *j, const char *key)
{
    while (*key) {
        char *end;
        if (*key == '[') {
            if (ct_json_next(j) != CT_JSON_ARRAY)
                return false;
            for (long i = strtol(key + 1, &end, 10); i > 0; i--)
                if (!ct_json_skip(j))
                    return false;
            key = end + (*end == ']');
        } else {
            size_t n = strcspn(key, ".[");
            if (ct_json_next(j) != CT_JSON_OBJECT)
                return false;
            while (ct_json_next(j) == CT_JSON_KEY && !(j->string.n == n && memcmp(j->string.s, key, n) == 0))
                if (!ct_json_skip(j))
                    return false;
            if (j->error.code != CARAT_OK || j->text[j->start] != '"') /* the object has ended */
                return false;
            key += n;
        }
        key += *key == '.';
    }
    return true;
}

enum { SHOWN = 64 };

/* The value that comes next as the document spells it, in plain ASCII; its first byte, or 0 of none. */
static size_t spell(struct ct_json *j, char out[SHOWN + 4])
{
    ct_json_next(j);
    size_t begin = j->start;
    for (int depth = j->depth, open = j->text[begin] == '{' || j->text[begin] == '['; open && !j->error.code;)
        open = ct_json_next(j) != CT_JSON_ERROR && j->depth >= depth;
    size_t n = CT_MIN(j->at - begin, (size_t)SHOWN);
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(j->text[begin + i] >= 0x20 && j->text[begin + i] < 0x7f ? j->text[begin + i] : '?');
    memcpy(out + n, j->at - begin > n ? "..." : "", j->at - begin > n ? 4 : 1);
    return begin;
}

carat_status ct_json_refuse(carat_error *err, carat_status code, const char *file, struct ct_bytes text,
                            const char *key, const char *expected, ...)
{
    char wanted[256], value[SHOWN + 4];
    struct ct_json j;
    va_list args;

    va_start(args, expected);
    vsnprintf(wanted, sizeof wanted, expected, args);
    va_end(args);
    ct_json_init(&j, file, text);
    carat_status status;
    if (descend(&j, key)) {
        size_t at = spell(&j, value);
        status = ct_fail(err, code, "%s: %s at byte %zu is %s, %s", file, key, at, value, wanted);
    } else {
        status = ct_fail(err, code, "%s: %s: %s", file, key, wanted);
    }
    ct_json_free(&j);
    return status;
}
