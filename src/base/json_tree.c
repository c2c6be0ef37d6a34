/* SPDX-License-Identifier: Apache-2.0 */
/* json_tree.c: fills the tree of json_tree.h token by token, in one walk over the text, and answers
 * questions that take more than a line.
 *
 * A value takes 16 bytes. A file keeps the trees of its side files, so that each is read once. */
#include "base/json_tree.h"

#include <stdlib.h>

#include "base/array.h"

struct ct_json_decoded {
    struct ct_json_decoded *older;
    size_t used;
    char text[];
};

/* ---- building ---- */

/* Appends a value to what is open. */
static void tree_add(struct ct_json_tree *t, enum ct_json_token kind, const char *s, size_t n)
{
    if (t->failed || !ct_array_grow(&t->value, &t->capacity, t->n + 2, sizeof *t->value)) {
        t->failed = true;
        return;
    }
    if (t->depth) {
        t->value[t->open[t->depth - 1]].n += kind != CT_JSON_KEY;
        t->child[t->depth - 1] = (uint32_t)t->n;
    }
    t->value[t->n++] = (struct ct_json_value){.s = s, .span = 1, .kind = kind & 15u, .n = n & 0x3ffffffu};
}

void ct_json_tree_open(struct ct_json_tree *t, enum ct_json_token bracket, const char *at)
{
    if (t->failed) /* nothing is closed then */
        return;
    assert(t->depth < (int)CT_COUNT(t->open));
    t->open[t->depth] = (uint32_t)t->n;
    tree_add(t, bracket, at, 0);
    t->depth++;
}

void ct_json_tree_close(struct ct_json_tree *t)
{
    if (t->failed)
        return;
    t->depth--;
    struct ct_json_value *v = &t->value[t->open[t->depth]];
    v->span = (uint32_t)(t->n - t->open[t->depth]);
    if (v->n)
        t->value[t->child[t->depth]].last = 1;
}

void ct_json_tree_string(struct ct_json_tree *t, enum ct_json_token key_or_string, struct ct_str s)
{
    assert(s.n <= CT_JSON_STRING_MAX);
    tree_add(t, key_or_string, s.s, s.n);
}

void ct_json_tree_copy(struct ct_json_tree *t, const struct ct_json_value *v)
{
    const size_t at = t->n;

    tree_add(t, v->kind, v->s, v->n);
    if (t->failed || !ct_array_grow(&t->value, &t->capacity, at + v->span + 1, sizeof *t->value)) {
        t->failed = true;
        return;
    }
    memcpy(&t->value[at], v, v->span * sizeof *v);
    t->value[at].last = 0;
    t->n = at + v->span;
}

void ct_json_tree_reopen(struct ct_json_tree *t)
{
    if (t->failed)
        return;
    if (t->value[t->open[t->depth]].n)
        t->value[t->child[t->depth]].last = 0;
    t->depth++;
}

void ct_json_tree_free(struct ct_json_tree *t)
{
    for (struct ct_json_decoded *d = t->decoded, *older; d; d = older) {
        older = d->older;
        free(d);
    }
    free(t->value);
    *t = (struct ct_json_tree){0};
}

/* ---- reading ---- */

struct reading {
    struct ct_json *j;
    bool decoded; /* t->decoded holds strings of this text */
    char key[32]; /* the newest one of the element of the outermost list, for messages */
};

/* Keeps a string that is spelled with escapes. Decoded text is shorter than its spelling, so the bytes
 * from the first such string to the end of the text are room enough for all of them. */
static void tree_add_decoded(struct ct_json_tree *t, struct reading *r, enum ct_json_token kind)
{
    const struct ct_json *j = r->j;
    if (!r->decoded) {
        struct ct_json_decoded *d = malloc(sizeof *d + j->size - j->start);
        if (!d) {
            t->failed = true;
            return;
        }
        d->older = t->decoded;
        d->used = 0;
        t->decoded = d;
        r->decoded = true;
    }
    struct ct_json_decoded *d = t->decoded;
    char *s = memcpy(d->text + d->used, j->string.s, j->string.n);
    d->used += j->string.n;
    tree_add(t, kind, s, j->string.n);
    if (t->failed)
        return;
    t->value[t->n - 1].escaped = 1;
    t->value[t->n - 1].span = 2;
    t->value[t->n++] = (struct ct_json_value){.s = (const char *)j->text + j->start};
}

const char *ct_json_place(const struct ct_json_value *v)
{
    bool quoted = v->kind == CT_JSON_STRING || v->kind == CT_JSON_KEY;
    return v->escaped ? v[1].s : v->s - quoted;
}

static int compare_keys(const void *a, const void *b)
{
    const struct ct_json_value *x = *(const struct ct_json_value *const *)a,
                               *y = *(const struct ct_json_value *const *)b;
    int order = x->n != y->n ? (x->n < y->n ? -1 : 1) : memcmp(x->s, y->s, x->n);
    return order ? order : (x > y) - (x < y);
}

/* The first key of the object just closed that repeats an earlier key; NULL: none. */
static const struct ct_json_value *repeated_key(struct ct_json_tree *t)
{
    enum { FEW = 16 };
    const struct ct_json_value *few[FEW], **key = few, *found = NULL, *object = &t->value[t->open[t->depth]];
    size_t n = 0, count = object->n;
    if (count > FEW && !(key = malloc(count * sizeof *key))) {
        t->failed = true;
        return NULL;
    }
    CT_JSON_EACH(k, object)
    {
        for (size_t i = 0; i < n && count <= FEW && !found; i++)
            if (ct_str_same(ct_json_str(key[i]), ct_json_str(k)))
                found = k;
        key[n++] = k;
    }
    if (count > FEW) {
        qsort(key, n, sizeof *key, compare_keys);
        for (size_t i = 1; i < n; i++)
            if (ct_str_same(ct_json_str(key[i - 1]), ct_json_str(key[i])) && (!found || key[i] < found))
                found = key[i];
        free(key);
    }
    return found;
}

/* Moves the reader behind a key and its colon, for a message about it. */
static void go_behind_key(struct ct_json *j, const struct ct_json_value *key)
{
    size_t at = (size_t)(ct_json_place(key) - (const char *)j->text) + 1;
    while (j->text[at] != '"')
        at += j->text[at] == '\\' ? 2 : 1;
    while (j->text[at] != ':')
        at++;
    j->at = at + 1;
}

/* Refuses a key, by the keys that lead to it in this text. */
static void refuse_twice(const struct ct_json_tree *t, struct ct_json *j, const struct ct_json_value *key)
{
    char path[128] = "";
    size_t n = 0;

    for (int d = CT_MAX(t->depth - j->depth, 0) + 1; d <= t->depth + 1; d++) {
        const struct ct_json_value *k = d > t->depth ? key : &t->value[t->open[d] - 1];
        if (k > t->value && k[-1].escaped)
            k--;
        const struct ct_str s = ct_json_str(k);
        if (n && n + 1 < sizeof path && k->kind == CT_JSON_KEY)
            path[n++] = '.';
        for (size_t i = 0; i < s.n && n + 1 < sizeof path && k->kind == CT_JSON_KEY; i++)
            path[n++] = ct_json_shown(s.s[i]);
        path[n] = 0;
    }
    go_behind_key(j, key);
    ct_json_fail(j, "duplicate key %s, expected once", path);
}

static void tree_note_key(struct reading *r)
{
    const struct ct_str s = r->j->string;
    size_t n = CT_MIN(s.n, sizeof r->key - 1);
    for (size_t i = 0; i < n; i++)
        r->key[i] = ct_json_shown(s.s[i]);
    r->key[n] = 0;
}

/* Takes what the reader has just read. */
static void tree_take(struct ct_json_tree *t, struct reading *r, enum ct_json_token token)
{
    struct ct_json *j = r->j;
    const char *at = (const char *)j->text + j->start;
    const struct ct_json_value *twice;
    switch (token) {
    case CT_JSON_OBJECT:
    case CT_JSON_ARRAY:
        ct_json_tree_open(t, token, at);
        break;
    case CT_JSON_OBJECT_END:
    case CT_JSON_ARRAY_END:
        ct_json_tree_close(t);
        if (token == CT_JSON_OBJECT_END && !t->failed && (twice = repeated_key(t)) != NULL)
            refuse_twice(t, j, twice);
        break;
    case CT_JSON_KEY:
    case CT_JSON_STRING:
        if (j->string.n && memchr(j->string.s, 0, j->string.n))
            ct_json_fail(j, "a %s holds a NUL character", token == CT_JSON_KEY ? "key" : "string");
        else if (j->string.s != at + 1)
            tree_add_decoded(t, r, token);
        else
            ct_json_tree_string(t, token, j->string);
        break;
    default:
        tree_add(t, token, at, j->at - j->start);
    }
    if (j->depth == 1 && token != CT_JSON_KEY)
        r->key[0] = 0;
    else if (j->depth == 2 && token == CT_JSON_KEY)
        tree_note_key(r);
}

/* Passes the reader's message on. Inside an element of a list it says which: "name[2].content: at byte
 * ...". */
static carat_status tree_complain(const struct ct_json_tree *t, size_t root, const struct reading *r,
                                  carat_status code, carat_error *err)
{
    const struct ct_json *j = r->j;
    const char *rest = j->error.message + CT_MIN(strlen(j->name), strlen(j->error.message));
    if (j->depth < 2 || j->stack[0] != '[')
        return ct_fail(err, code, "%s", j->error.message);
    return ct_fail(err, code, "%s[%u]%s%s%s", j->name, t->value[root].n - 1u, *r->key ? "." : "", r->key,
                   rest);
}

carat_status ct_json_tree_read(struct ct_json_tree *t, carat_status code, const char *name,
                               struct ct_bytes text, carat_error *err)
{
    struct ct_json reader, *j = &reader;
    struct reading r = {.j = j};
    size_t root = t->n;
    if (text.size > CT_JSON_TREE_MAX)
        return ct_fail(err, code, "%s: %zu bytes found, expected at most %d", name, text.size,
                       CT_JSON_TREE_MAX);
    ct_json_init(j, name, text);
    enum ct_json_token token = ct_json_next(j);
    if (token != CT_JSON_OBJECT && token != CT_JSON_ARRAY)
        ct_json_fail(j, "expected an object or a list");
    while (j->error.code == CARAT_OK && !t->failed && token != CT_JSON_END) {
        tree_take(t, &r, token);
        if (j->error.code == CARAT_OK)
            token = ct_json_next(j);
    }
    carat_status status = j->error.code;
    if (t->failed)
        status = ct_fail(err, CARAT_E_MEMORY, "%s: out of memory while reading JSON of %zu bytes", j->name,
                         j->size);
    else if (status)
        status = tree_complain(t, root, &r, status == CARAT_E_MEMORY ? status : code, err);
    ct_json_free(j);
    return status;
}

bool ct_json_tree_value(struct ct_json_tree *t, struct ct_json *j, enum ct_json_token bracket, size_t most)
{
    struct reading r = {.j = j};
    const int outside = j->depth - 1;
    tree_take(t, &r, bracket);
    while (j->depth > outside && t->n <= most && !t->failed && j->error.code == CARAT_OK) {
        enum ct_json_token token = ct_json_next(j);
        if (token != CT_JSON_ERROR)
            tree_take(t, &r, token);
    }
    return j->depth == outside && !t->failed && j->error.code == CARAT_OK;
}

/* ---- questions ---- */

const struct ct_json_value *ct_json_find(const struct ct_json_value *object, struct ct_str key)
{
    if (!ct_json_is(object, CT_JSON_OBJECT))
        return NULL;
    CT_JSON_EACH(k, object)
    {
        if (ct_str_same(ct_json_str(k), key))
            return ct_json_of_key(k);
    }
    return NULL;
}

const struct ct_json_value *ct_json_get(const struct ct_json_value *object, const char *key)
{
    return ct_json_find(object, ct_str_of(key));
}

bool ct_json_integer(const struct ct_json_value *v, int64_t *out)
{
    return ct_json_is(v, CT_JSON_NUMBER) && ct_json_whole((struct ct_str){v->s, v->n}, out);
}

double ct_json_double(const struct ct_json_value *v)
{
    return ct_json_is(v, CT_JSON_NUMBER) ? ct_json_decimal((struct ct_str){v->s, v->n}) : 0;
}

enum { SHOWN = 64 };

/* The value as its text spells it, in plain ASCII. */
static void tree_spell(const struct ct_json_value *v, struct ct_bytes text, char out[SHOWN + 4])
{
    struct ct_json j;
    const char *begin = ct_json_place(v);
    ct_json_init(
        &j, NULL,
        (struct ct_bytes){(const uint8_t *)begin, text.size - (size_t)(begin - (const char *)text.data)});
    do
        ct_json_next(&j);
    while (j.depth && j.error.code == CARAT_OK);
    size_t n = CT_MIN(j.at, (size_t)SHOWN);
    for (size_t i = 0; i < n; i++)
        out[i] = (char)(begin[i] >= 0x20 && begin[i] < 0x7f ? begin[i] : '?');
    memcpy(out + n, j.at > n ? "..." : "", j.at > n ? 4 : 1);
    ct_json_free(&j);
}

carat_status ct_json_refuse(carat_error *err, carat_status code, const char *file, struct ct_bytes text,
                            const struct ct_json_value *v, const char *key, const char *expected, ...)
{
    char wanted[256], value[SHOWN + 4];

    CT_FORMAT(wanted, expected);
    if (!v)
        return ct_fail(err, code, "%s: %s: %s", file, key, wanted);
    tree_spell(v, text, value);
    return ct_fail(err, code, "%s: %s at byte %zu is %s, %s", file, key,
                   (size_t)(ct_json_place(v) - (const char *)text.data), value, wanted);
}
