/* SPDX-License-Identifier: Apache-2.0 */
/* call_json.c: reads calls that are JSON: {"name": NAME, "parameters": {...}}, several of them in a list or
 * one after another, all of it perhaps in a fence of Markdown. An answer has calls at its beginning or
 * nowhere; what stands behind them is text. Nothing is repaired: what is no such call is returned with its
 * text and an error. */
#include <stdlib.h>

#include "text/chat/call_parts.h"

/* ---- where calls begin ---- */

struct cursor {
    const char *s;
    size_t n, at;
};

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->n && strchr(" \t\r\n", c->s[c->at]) && c->s[c->at])
        c->at++;
}

/* 1: the word comes next, and is taken; 0: it does not; -1: the text ends before that is known. */
static int json_take(struct cursor *c, const char *word)
{
    size_t i = 0;
    while (word[i] && c->at + i < c->n && c->s[c->at + i] == word[i])
        i++;
    if (word[i])
        return c->at + i < c->n ? 0 : -1;
    c->at += i;
    return 1;
}

static const char fence[] = "```";

/* The word behind a fence, if there is one, and blanks. False: the text ends within it. */
static bool take_info(struct cursor *c)
{
    static const char *const words[] = {"json", "tool_code", "tool_call"};
    int taken = 0, cut = 0;
    for (size_t i = 0; i < CT_COUNT(words) && taken <= 0; i++) {
        taken = json_take(c, words[i]);
        cut = CT_MIN(cut, taken);
    }
    skip_blanks(c);
    return taken > 0 || !cut;
}

/* Leads the cursor to the bracket of the first call. As ct_calls_begin. */
static int find_call(struct cursor *c, bool *fenced, bool *list)
{
    static const char *const words[] = {"{", "\"name\"", ":"};
    int taken;
    skip_blanks(c);
    taken = json_take(c, fence);
    if (taken < 0)
        return taken;
    *fenced = taken;
    if (*fenced && !take_info(c))
        return -1;
    taken = json_take(c, "[");
    if (taken < 0)
        return taken;
    *list = taken;
    skip_blanks(c);
    struct cursor behind = *c;
    for (size_t i = 0; i < CT_COUNT(words); i++) {
        taken = json_take(&behind, words[i]);
        if (taken <= 0)
            return taken;
        skip_blanks(&behind);
    }
    return 1;
}

int ct_calls_begin(struct ct_str text)
{
    struct cursor c = {text.s, text.n, 0};
    bool fenced = false, list = false;
    return find_call(&c, &fenced, &list);
}

/* ---- one call ---- */

/* The text of a JSON object without blanks, but for those in strings. */
static void put_compact(struct call_text *t, const char *s, size_t n)
{
    bool quoted = false;
    size_t done = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"')
            quoted = !quoted;
        else if (quoted && s[i] == '\\')
            i++;
        else if (!quoted && (uint8_t)s[i] <= ' ') {
            ct_call_put(t, s + done, i - done);
            done = i + 1;
        }
    }
    ct_call_put(t, s + done, n - done);
}

/* The bytes of a value that is an object. */
static struct ct_str object_text(const struct ct_json_value *v)
{
    bool quoted = false;
    size_t n = 0, depth = 0;
    do {
        const char c = v->s[n++];
        if (c == '"')
            quoted = !quoted;
        else if (quoted && c == '\\')
            n++;
        else if (!quoted && (c == '{' || c == '}'))
            depth += c == '{' ? 1 : (size_t)-1;
    } while (depth);
    return (struct ct_str){v->s, n};
}

/* Judges all keys in the parameters of a function. */
static void declared_keys(struct call_parser *p, const struct ct_json_value *v)
{
    const struct ct_json_value *open[CT_JSON_DEPTH]; /* where each list or object ends */
    int depth = 0;
    for (const struct ct_json_value *end = v + v->span; v < end; v += v->escaped ? 2 : 1) {
        while (depth && v >= open[depth - 1]) {
            depth--;
            ct_declared_close(&p->declared);
        }
        if (v->kind == CT_JSON_KEY) {
            if (!ct_declared_key(&p->declared, ct_json_str(v)))
                ct_call_wrong(p, (size_t)(ct_json_place(v) - p->text.s), "the key \"%.*s\" is not declared",
                              CT_BRIEF(ct_json_str(v)));
        } else if (v->kind == CT_JSON_OBJECT || v->kind == CT_JSON_ARRAY) {
            ct_declared_open(&p->declared, v->kind == CT_JSON_OBJECT);
            open[depth++] = v + v->span;
        }
    }
}

/* What a tree of a call has. */
static void read_tree(struct call_parser *p, const struct ct_json_value *call)
{
    const struct ct_json_value *name = ct_json_get(call, "name"),
                               *parameters = ct_json_get(call, "parameters"), *function = NULL;
    CT_JSON_EACH(key, call)
    {
        const struct ct_str own = ct_json_str(key);
        if (!ct_str_is(own, "name") && !ct_str_is(own, "parameters"))
            ct_call_wrong(p, (size_t)(ct_json_place(key) - p->text.s),
                          "expected name and parameters, found the key \"%.*s\"", CT_BRIEF(own));
    }
    const size_t place = (size_t)(ct_json_place(name ? name : call) - p->text.s);
    if (ct_json_str(name).n == 0) {
        ct_call_wrong(p, place, "the function has no name");
        return;
    }
    p->part->name = ct_call_copy(&p->text, ct_json_str(name).s, ct_json_str(name).n);
    function = ct_call_tool(p->tools, ct_json_str(name));
    if (p->tools && !function)
        ct_call_wrong(p, place, "the function \"%.*s\" is not declared", CT_BRIEF(ct_json_str(name)));
    p->json.n = 0;
    if (parameters && !ct_json_is(parameters, CT_JSON_OBJECT)) {
        ct_call_wrong(p, (size_t)(ct_json_place(parameters) - p->text.s), "parameters is no object");
        return;
    }
    if (parameters) {
        const struct ct_str text = object_text(parameters);
        ct_declared_begin(&p->declared, ct_json_get(function, "parameters"), function != NULL);
        declared_keys(p, parameters);
        put_compact(&p->json, text.s, text.n);
    } else {
        ct_call_put(&p->json, "{}", 2);
    }
    p->part->arguments = ct_call_copy(&p->text, p->json.s, p->json.n);
}

/* The name of a call whose JSON is wrong behind it. */
static void read_name(struct call_parser *p, const struct ct_json_tree *tree)
{
    const struct ct_json_value *key = tree->n > 1 ? tree->value + 1 : NULL, *name;
    if (!ct_json_is(key, CT_JSON_KEY) || !ct_str_is(ct_json_str(key), "name") || tree->n <= 1 + key->span)
        return;
    name = ct_json_of_key(key);
    if (ct_json_str(name).n)
        p->part->name = ct_call_copy(&p->text, ct_json_str(name).s, ct_json_str(name).n);
}

/* True when a text that is no JSON is only too short: at its end, or within the last word. */
static bool breaks_off(const struct ct_json *j)
{
    static const char letters[] = "aeflnrstu"; /* of true, false and null */
    size_t at = j->at;
    while (at < j->size && strchr(letters, j->text[at]) && j->text[at])
        at++;
    return at == j->size && at - j->at < strlen("false");
}

/* Of a call whose JSON breaks off: how its parameters begin. */
static void read_begun(struct call_parser *p, const struct ct_json_tree *tree)
{
    const struct ct_json_value *end = tree->value + tree->n, *at = tree->value + 1;
    p->json.n = 0;
    ct_call_put(&p->json, "", 0);
    at += at->span;                /* the key of the name, which has been read */
    at += at < end ? at->span : 0; /* and the name */
    if (at < end && ct_json_is(at, CT_JSON_KEY) && ct_str_is(ct_json_str(at), "parameters") &&
        at + at->span < end && ct_json_is(at + at->span, CT_JSON_OBJECT)) {
        const char *from = ct_json_place(at + at->span);
        put_compact(&p->json, from, (size_t)(p->text.s + p->text.n - from));
    }
    p->part->begun = ct_call_copy(&p->text, p->json.s, p->json.n);
}

/* Reads the call at the cursor, which moves behind it. False: it is none, and is all the rest of the text. */
static bool read_json(struct call_parser *p, struct cursor *c)
{
    struct ct_json_tree tree = {0};
    struct ct_json j;
    bool good;
    ct_json_init(&j, "", (struct ct_bytes){(const uint8_t *)c->s + c->at, c->n - c->at});
    good = ct_json_tree_value(&tree, &j, ct_json_next(&j), CT_JSON_TREE_MAX);
    if (good)
        read_tree(p, tree.value);
    else if (tree.failed || j.error.code == CARAT_E_MEMORY)
        p->text.failed = true;
    else { /* ": at byte 12: expected..." */
        read_name(p, &tree);
        if (p->part->name && breaks_off(&j))
            read_begun(p, &tree);
        ct_call_wrong(p, c->at + j.at, "%s", strchr(j.error.message + 2, ':') + 2);
    }
    c->at = good ? c->at + j.at : c->n;
    ct_json_tree_free(&tree);
    ct_json_free(&j);
    return good;
}

/* ---- the whole ---- */

/* The id that has byte `at`. */
static int id_at(const struct call_parser *p, size_t at)
{
    int low = 0, high = p->n - 1;
    while (low < high) {
        const int mid = low + (high - low + 1) / 2;
        if (p->begin[mid] <= at)
            low = mid;
        else
            high = mid - 1;
    }
    return low;
}

/* Adds the bytes from `from` on up to `to` as a part. */
static carat_part *add_part(struct call_parser *p, size_t from, size_t to, carat_calls *out)
{
    carat_part *part = ct_call_part(p, out);
    if (!part)
        return NULL;
    const int first = id_at(p, from);
    *part = (carat_part){.first = first, .n = id_at(p, to - 1) - first + 1, .n_text = to - from};
    part->text = ct_call_copy(&p->text, p->text.s + from, to - from);
    return part;
}

static void add_text(struct call_parser *p, size_t from, carat_calls *out)
{
    if (from < p->text.n)
        add_part(p, from, p->text.n, out);
}

/* Adds the call at the cursor. False: nothing can come behind it. */
static bool add_call(struct call_parser *p, struct cursor *c, carat_calls *out)
{
    carat_part call = {.is_call = 1};
    const size_t from = c->at;
    *p->error = 0;
    p->part = &call;
    p->origin = from;
    const bool good = read_json(p, c);
    carat_part *part = add_part(p, from, c->at, out);
    if (!part) {
        free((char *)call.name);
        free((char *)call.arguments);
        free((char *)call.begun);
        return false;
    }
    part->is_call = 1;
    part->name = call.name;
    part->arguments = call.arguments;
    part->begun = call.begun;
    if (*p->error) {
        /* control tokens behind the part have no bytes */
        part->error_id = CT_MIN(call.error_id, part->first + part->n - 1);
        part->error_byte = call.error_byte;
        part->error = ct_call_copy(&p->text, p->error, strlen(p->error));
    }
    return good && !p->text.failed;
}

/* What is wrong behind the part that was added last, unless that has an error of its own. False. */
static bool wrong_behind(struct call_parser *p, carat_calls *out, const char *expected)
{
    carat_part *part = &out->part[out->n - 1];
    if (part->error)
        return false;
    *p->error = 0;
    p->part = part;
    ct_call_wrong(p, p->origin + part->n_text, "expected %s", expected);
    part->error_id = part->first + part->n - 1;
    part->error = ct_call_copy(&p->text, p->error, strlen(p->error));
    return false;
}

/* True when another call comes next; what stands between two of them is passed over. *list becomes false at
 * its end. */
static bool goes_on(struct call_parser *p, struct cursor *c, bool *list, carat_calls *out)
{
    bool fenced = false, inner = false;
    skip_blanks(c);
    if (*list) {
        if (json_take(c, "]") > 0)
            return *list = false;
        if (json_take(c, ",") <= 0)
            return wrong_behind(p, out, "',' or ']' behind a call");
        skip_blanks(c);
        if (c->at == c->n || c->s[c->at] != '{')
            return wrong_behind(p, out, "a call behind the ',' of a list");
        return true;
    }
    struct cursor next = *c;
    return find_call(&next, &fenced, &inner) > 0 && !fenced && !inner;
}

void ct_calls_parse_json(struct call_parser *p, const int32_t *ids, int n, carat_calls *out)
{
    bool fenced = false, list = false, was_list, more;
    ct_call_spell(p, ids, n, false);
    struct cursor c = {p->text.s, p->text.n, 0};
    if (p->text.failed)
        return;
    if (find_call(&c, &fenced, &list) <= 0) {
        add_text(p, 0, out);
        return;
    }
    was_list = list;
    do
        more = add_call(p, &c, out) && (!was_list || list) && goes_on(p, &c, &list, out);
    while (more);
    skip_blanks(&c);
    if (fenced && json_take(&c, fence) > 0)
        skip_blanks(&c);
    add_text(p, c.at, out);
}
