/* json_tree.c: builds the tree of json_tree.h token by token. Every value is hung into its parent as soon as it exists, so
 * that giving back the root gives back everything. */
#include "base/json_tree.h"

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
