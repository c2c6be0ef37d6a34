/* SPDX-License-Identifier: Apache-2.0 */
/* call.c: cuts what a model wrote into text and calls, and reads each call: the inverse of chat_calls.c, in
 * the syntax whose tokens the vocabulary has, FunctionGemma's or Gemma 4's. Where it has none, calls are
 * JSON, which is call_json.c's.
 *
 * It works on token ids. The tokens around a call and around a string count where the model drew those
 * tokens; text that only spells one is content. Nothing is repaired: a call is read as the renderer would
 * have written it, or it is returned with its text and an error. Names and keys are not quoted in the
 * syntax, so one that holds a character of the syntax is an error.
 *
 * Lists and objects are kept on a stack of CT_JSON_DEPTH levels; nothing here recurses. */
#include "text/chat/call.h"

#include <stdlib.h>

#include "base/array.h"
#include "text/chat/call_parts.h"
#include "text/tokenizer/detokenizer.h"
#include "text/tokenizer/tokenizer_parts.h"

/* As a JSON string. */
static void call_put_quoted(struct call_text *t, struct ct_str s)
{
    char escape[8];
    size_t done = 0;
    ct_call_put(t, "\"", 1);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.s[i];
        if (c >= 0x20 && c != '"' && c != '\\')
            continue;
        ct_call_put(t, s.s + done, i - done);
        done = i + 1;
        ct_call_put(t, escape, (size_t)snprintf(escape, sizeof escape, c < 0x20 ? "\\u%04x" : "\\%c", c));
    }
    ct_call_put(t, s.s + done, s.n - done);
    ct_call_put(t, "\"", 1);
}

/* ---- how calls are written ---- */

/* That of the vocabulary. */
static const struct ct_chat_syntax *call_syntax(const struct ct_tokenizer *t)
{
    return ct_tokenizer_control(t, CT_CONTROL_TOOL_CALL) >= 0 ? &ct_chat_gemma4_syntax
                                                              : &ct_chat_gemma3_syntax;
}

bool ct_call_marks(const struct ct_tokenizer *t, struct ct_call_marks *marks)
{
    const struct ct_chat_syntax *x = call_syntax(t);

    *marks = (struct ct_call_marks){ct_tokenizer_control(t, x->call), ct_tokenizer_control(t, x->call_end),
                                    ct_tokenizer_control(t, x->quote)};
    return marks->begin >= 0 && marks->end >= 0 && marks->quote >= 0;
}

struct ct_call_span ct_call_span(const struct ct_tokenizer *t)
{
    const struct ct_chat_syntax *x = call_syntax(t);
    struct ct_call_marks marks;

    if (!ct_call_marks(t, &marks))
        return (struct ct_call_span){-1, -1, -1, -1, -1};
    return (struct ct_call_span){marks.begin, marks.end, ct_tokenizer_control(t, x->response),
                                 ct_tokenizer_control(t, x->turn), ct_tokenizer_control(t, x->turn_end)};
}

const struct ct_json_value *ct_call_function(const struct ct_json_value *tool)
{
    return ct_chat_function(tool);
}

/* ---- one call ---- */

/* The next byte, or one of these. */
enum { AT_END = -1, AT_CONTROL = -2 };
static int call_look(struct call_parser *p)
{
    while (p->k < p->n && p->begin[p->k + 1] <= p->at)
        p->k++;
    if (p->k == p->n)
        return AT_END;
    return ct_call_is_mark(p, p->id[p->k]) ? AT_CONTROL : (unsigned char)p->text.s[p->at];
}

static bool at_mark(struct call_parser *p, enum ct_control c)
{
    return call_look(p) == AT_CONTROL && p->id[p->k] == p->control[c];
}

static bool call_unexpected(struct call_parser *p, const char *expected)
{
    int c = call_look(p);
    if (c == AT_END)
        return ct_call_wrong(p, p->at, "expected %s, found the end of the call", expected);
    if (c == AT_CONTROL)
        return ct_call_wrong(p, p->at, "expected %s, found the token %.*s", expected,
                             CT_BRIEF(ct_piece_text(p->t, p->id[p->k])));
    if (c > 0x20 && c < 0x7f)
        return ct_call_wrong(p, p->at, "expected %s, found '%c'", expected, c);
    return ct_call_wrong(p, p->at, "expected %s, found the byte 0x%02x", expected, c);
}

/* Content up to one of the bytes in `stops`, a NUL or a control token. */
static struct ct_str call_until(struct call_parser *p, const char *stops)
{
    size_t from = p->at;
    for (int c; (c = call_look(p)) >= 0 && !strchr(stops, c);)
        p->at++;
    return (struct ct_str){p->text.s + from, p->at - from};
}

/* ---- values ---- */

/* RFC 8259's grammar, which is all that the renderer writes. What follows s is no digit. */
static bool is_json_number(struct ct_str s)
{
    static const char digits[] = "0123456789";
    size_t i = s.s[0] == '-', n = strspn(s.s + i, digits);
    bool good = n && (s.s[i] != '0' || n == 1);
    i += n;
    if (s.s[i] == '.') {
        n = strspn(s.s + i + 1, digits);
        good = good && n;
        i += n + 1;
    }
    if (s.s[i] == 'e' || s.s[i] == 'E') {
        i += 1 + (s.s[i + 1] == '+' || s.s[i + 1] == '-');
        n = strspn(s.s + i, digits);
        good = good && n;
        i += n;
    }
    return good && i == s.n;
}

static const char *quote_text(const struct call_parser *p)
{
    return ct_controls[p->syntax->quote].text;
}

/* A number, true, false or null. */
static bool call_bare(struct call_parser *p)
{
    size_t at = p->at;
    struct ct_str word = call_until(p, CT_CALL_SYNTAX);
    if (word.n == 0)
        return call_unexpected(p, "a value");
    if (p->syntax->null_too && ct_str_is(word, p->syntax->null_too))
        word = ct_str_of("null");
    if (!is_json_number(word) && !ct_str_is(word, "true") && !ct_str_is(word, "false") &&
        !ct_str_is(word, "null"))
        return ct_call_wrong(p, at, "\"%.*s\" is not a value: text stands between %s tokens", CT_BRIEF(word),
                             quote_text(p));
    ct_call_put(&p->json, word.s, word.n);
    return true;
}

/* A string that the answer breaks off in, as far as it came; half a character does not count. */
static void call_cut_string(struct call_parser *p, struct ct_str s)
{
    const size_t n = strlen(CT_UTF8_REPLACEMENT);
    if (s.n >= n && memcmp(s.s + s.n - n, CT_UTF8_REPLACEMENT, n) == 0)
        s.n -= n;
    call_put_quoted(&p->json, s);
    if (!p->json.failed)
        p->json.s[--p->json.n] = 0;
}

static bool call_string(struct call_parser *p)
{
    size_t from = p->at = p->begin[p->k + 1];
    while (call_look(p) >= 0)
        p->at = p->begin[p->k + 1];
    struct ct_str s = {p->text.s + from, p->at - from};
    if (!at_mark(p, p->syntax->quote)) {
        char end[48];
        if (call_look(p) == AT_END)
            call_cut_string(p, s);
        snprintf(end, sizeof end, "%s at the end of a string", quote_text(p));
        return call_unexpected(p, end);
    }
    p->at = p->begin[p->k + 1];
    call_put_quoted(&p->json, s);
    return true;
}

/* ---- lists and objects ---- */

struct frame {
    char close;
    size_t n;        /* items so far */
    uint32_t object; /* its number */
};

/* Takes the key of the next item. */
static bool call_key(struct call_parser *p, struct frame *f)
{
    size_t at = p->at;
    struct ct_str key = call_until(p, CT_CALL_SYNTAX);
    if (call_look(p) != ':')
        return call_unexpected(p, key.n ? "':' after a key" : "a key");
    p->at++;
    if (!ct_array_grow(&p->key, &p->key_capacity, p->n_key + 1, sizeof *p->key)) {
        p->json.failed = true;
        return false;
    }
    p->key[p->n_key++] = (struct call_key){key, f->object};
    if (!ct_declared_key(&p->declared, key)) /* noted; reading goes on */
        ct_call_wrong(p, at, "the key \"%.*s\" is not declared", CT_BRIEF(key));
    call_put_quoted(&p->json, key);
    ct_call_put(&p->json, ":", 1);
    return true;
}

/* Enters the list or object that begins here. */
static bool open_frame(struct call_parser *p, struct frame *stack, int *depth)
{
    bool object = p->text.s[p->at] == '{';
    if (*depth == CT_JSON_DEPTH)
        return ct_call_wrong(p, p->at, "lists and objects are nested deeper than %d levels", CT_JSON_DEPTH);
    stack[(*depth)++] = (struct frame){.close = object ? '}' : ']', .object = p->n_object++};
    ct_declared_open(&p->declared, object);
    ct_call_put(&p->json, p->text.s + p->at++, 1);
    return !p->json.failed;
}

/* Reads on inside the innermost list or object: its end, or another item. */
static bool call_step(struct call_parser *p, struct frame *stack, int *depth)
{
    struct frame *f = &stack[*depth - 1];
    int c = call_look(p);
    if (c == f->close) {
        ct_call_put(&p->json, p->text.s + p->at++, 1);
        ct_declared_close(&p->declared);
        --*depth;
        return true;
    }
    if (f->n++ > 0) {
        if (c != ',')
            return call_unexpected(p, f->close == '}' ? "',' or '}'" : "',' or ']'");
        ct_call_put(&p->json, ",", 1);
        p->at++;
    }
    if (f->close == '}' && !call_key(p, f))
        return false;
    c = call_look(p);
    if (c == '{' || c == '[')
        return open_frame(p, stack, depth);
    return at_mark(p, p->syntax->quote) ? call_string(p) : call_bare(p);
}

static int compare_call_keys(const void *a, const void *b)
{
    const struct call_key *x = a, *y = b;
    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    if (x->s.n != y->s.n)
        return x->s.n < y->s.n ? -1 : 1;
    int order = memcmp(x->s.s, y->s.s, x->s.n);
    return order ? order : (x->s.s > y->s.s) - (x->s.s < y->s.s);
}

/* No object may have a key twice. */
static bool check_call_keys(struct call_parser *p)
{
    bool good = true;
    if (p->n_key)
        qsort(p->key, p->n_key, sizeof *p->key, compare_call_keys);
    for (size_t i = 1; i < p->n_key; i++) {
        struct ct_str key = p->key[i].s;
        if (p->key[i - 1].object == p->key[i].object && ct_str_same(p->key[i - 1].s, key))
            good = ct_call_wrong(p, (size_t)(key.s - p->text.s), "the key \"%.*s\" is there twice",
                                 CT_BRIEF(key));
    }
    return good;
}

/* The arguments of a function with these parameters. */
static bool call_arguments(struct call_parser *p, const struct ct_json_value *parameters, bool declared)
{
    struct frame stack[CT_JSON_DEPTH];
    int depth = 0;
    p->n_key = 0;
    ct_declared_begin(&p->declared, parameters, declared);
    bool good = open_frame(p, stack, &depth);
    while (good && depth > 0)
        good = call_step(p, stack, &depth) && !p->json.failed;
    return check_call_keys(p) && good;
}

/* The arguments as far as they are known, where the call breaks off and no more is wrong with it. */
static bool call_is_cut(struct call_parser *p)
{
    if (call_look(p) == AT_END)
        p->part->begun = ct_call_copy(&p->text, p->json.s, p->json.n);
    return false;
}

/* Reads the call that is spelled in p into the part. False: p->error says why it is none. */
static bool read_call(struct call_parser *p, carat_part *part)
{
    static const char lead[] = "call:";
    p->part = part;
    p->at = p->begin[1];
    p->k = 1;
    *p->error = 0;
    for (const char *c = lead; *c; c++, p->at++)
        if (call_look(p) != *c)
            return call_unexpected(p, "\"call:\"");
    size_t at = p->at;
    struct ct_str name = call_until(p, "{");
    if (call_look(p) != '{')
        return call_unexpected(p, "'{' after the name of the function");
    if (name.n == 0)
        return ct_call_wrong(p, at, "the function has no name");
    part->name = ct_call_copy(&p->text, name.s, name.n);
    const struct ct_json_value *function = ct_call_tool(p->tools, name);
    if (p->tools && !function)
        ct_call_wrong(p, at, "the function \"%.*s\" is not declared", CT_BRIEF(name));
    if (!call_arguments(p, ct_json_get(function, "parameters"), function != NULL))
        return call_is_cut(p);
    if (!at_mark(p, p->syntax->call_end)) {
        (void)call_unexpected(p, ct_controls[p->syntax->call_end].text);
        return call_is_cut(p);
    }
    part->arguments = ct_call_copy(&p->text, p->json.s, p->json.n);
    return true;
}

/* ---- the whole ---- */

/* One past the last id of the call that begins at ids[i]. */
static int end_of_call(const struct call_parser *p, const int32_t *ids, int n, int i)
{
    const struct ct_call_span span = ct_call_span(p->t);
    while (++i < n)
        if (ids[i] == span.end)
            return i + 1;
        else if (ct_call_stops_before(&span, ids[i]))
            return i;
    return n;
}

/* The same of a text: a thought with its control tokens, or what stands before the next thought or call. */
static int end_of_text(const struct call_parser *p, const int32_t *ids, int n, int i)
{
    const int32_t channel = p->control[CT_CONTROL_CHANNEL];
    if (ids[i] == channel) {
        while (++i < n)
            if (ids[i] == p->control[CT_CONTROL_CHANNEL_END])
                return i + 1;
        return n;
    }
    while (++i < n && ids[i] != p->control[p->syntax->call] && ids[i] != channel)
        ;
    return i;
}

/* Cuts ids[first, end), text or a call, and adds it to the list; text of no bytes is none. */
static void add_part(struct call_parser *p, const int32_t *ids, int first, int end, bool call,
                     carat_calls *out)
{
    ct_call_spell(p, ids + first, end - first, call);
    if (p->text.failed || (!call && p->text.n == 0))
        return;
    carat_part *part = ct_call_part(p, out);
    if (!part)
        return;
    *part = (carat_part){.is_call = call, .first = first, .n = end - first, .n_text = p->text.n};
    part->text = ct_call_copy(&p->text, p->text.s, p->text.n);
    if (!call)
        return;
    read_call(p, part);
    if (*p->error)
        part->error = ct_call_copy(&p->text, p->error, strlen(p->error));
}

void carat_calls_free(carat_calls *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->n; i++) {
        free((char *)c->part[i].text);
        free((char *)c->part[i].name);
        free((char *)c->part[i].arguments);
        free((char *)c->part[i].error);
        free((char *)c->part[i].begun);
    }
    free(c->part);
    *c = (carat_calls){.size = c->size};
}

static void parse_parts(struct call_parser *p, const int32_t *ids, int n, carat_calls *out)
{
    for (int c = 0; c < CT_CONTROLS; c++)
        p->control[c] = ct_tokenizer_control(p->t, (enum ct_control)c);
    for (int i = 0, end; i < n && !p->text.failed; i = end) {
        bool call = ids[i] == p->control[p->syntax->call];
        end = call ? end_of_call(p, ids, n, i) : end_of_text(p, ids, n, i);
        add_part(p, ids, i, end, call, out);
        p->text.failed = p->text.failed || p->json.failed;
    }
}

carat_status ct_calls_parse(const struct ct_tokenizer *t, const int32_t *ids, int n, const char *tools,
                            carat_calls *out, carat_error *err)
{
    struct call_parser p = {.t = t, .syntax = call_syntax(t)};
    carat_calls calls = {0};
    struct ct_json_tree tree = {0};
    struct ct_call_marks marks;
    carat_status status = CARAT_OK;
    for (int i = 0; i < n; i++)
        if (ids[i] < 0 || ids[i] >= t->n)
            return ct_fail(err, CARAT_E_ARGUMENT, "ids[%d] is %d, expected 0 to %d", i, ids[i], t->n - 1);
    if (tools)
        status = ct_json_tree_read(&tree, CARAT_E_ARGUMENT, "tools", ct_str_bytes(ct_str_of(tools)), err);
    if (!status && tools && !ct_json_is(tree.value, CT_JSON_ARRAY))
        status = ct_fail(err, CARAT_E_ARGUMENT, "tools: expected a list of functions");
    if (status) {
        ct_json_tree_free(&tree);
        return status;
    }
    p.tools = tree.value;
    p.begin = calloc((size_t)n + 1, sizeof *p.begin);
    if (p.begin && ct_call_marks(t, &marks))
        parse_parts(&p, ids, n, &calls);
    else if (p.begin)
        ct_calls_parse_json(&p, ids, n, &calls);
    bool failed = !p.begin || p.text.failed || p.json.failed;
    free(p.begin);
    free(p.text.s);
    free(p.json.s);
    free(p.key);
    ct_json_tree_free(&tree);
    if (failed) {
        carat_calls_free(&calls);
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for the calls in %d tokens", n);
    }
    *out = calls;
    return CARAT_OK;
}
