/* SPDX-License-Identifier: Apache-2.0 */
/* talk.c: conversations member by member: the values that templates read, built without a text of JSON. What
 * is under way of a message lies in lists of its own, since contents and calls may come in any order. It is
 * rendered by chat.c. */
#include "text/chat/talk.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/arguments.h"
#include "base/utf8.h"

/* What was read of a text of JSON, in the arena. */
struct owned_tree {
    struct ct_json_tree tree;
    struct owned_tree *next;
};

struct carat_talk {
    struct ct_json_tree list; /* the messages that are complete, in a list that is open */
    struct ct_arena arena;    /* texts */
    struct owned_tree *owned;
    int n;          /* messages, that under way too */
    bool is_closed; /* the list is */
    /* of the message under way */
    bool begun;
    const char *role;
    struct ct_str name, call; /* of a result, or empty */
    bool is_text; /* its content is `text` alone: a string, as templates may tell it from a list */
    struct ct_str text;
    struct ct_json_tree parts, calls;
    struct ct_json_tree thoughts; /* strings */
};

static carat_status no_memory(carat_error *err)
{
    return ct_no_memory(err, "a conversation");
}

static void put_str(struct ct_json_tree *t, const char *key, struct ct_str text)
{
    ct_json_tree_string(t, CT_JSON_KEY, ct_str_of(key));
    ct_json_tree_string(t, CT_JSON_STRING, text);
}

static void put_literal(struct ct_json_tree *t, const char *key, const char *text)
{
    put_str(t, key, ct_str_of(text));
}

static void put_list(struct ct_json_tree *t, const char *key, struct ct_json_tree *list)
{
    ct_json_tree_close(list);
    ct_json_tree_string(t, CT_JSON_KEY, ct_str_of(key));
    if (!list->failed)
        ct_json_tree_copy(t, list->value);
    t->failed |= list->failed;
}

/* A list that is open, which few messages have. */
static struct ct_json_tree *open_parts(struct ct_json_tree *list)
{
    if (!list->n)
        ct_json_tree_open(list, CT_JSON_ARRAY, NULL);
    return list;
}

/* All thoughts of the message as one text. */
static void put_thought(carat_talk *t)
{
    size_t n = 0, at = 0;

    ct_json_tree_close(&t->thoughts);
    CT_JSON_EACH(one, t->thoughts.value)
    n += one->n;
    char *text = ct_arena_push(&t->arena, 1, n + 1);
    if (!text || t->thoughts.failed) {
        t->list.failed = true;
        return;
    }
    CT_JSON_EACH(one, t->thoughts.value)
    {
        memcpy(text + at, one->s, one->n);
        at += one->n;
    }
    put_str(&t->list, "reasoning_content", (struct ct_str){text, n});
}

/* The message under way is complete. */
static void end_message(carat_talk *t)
{
    if (!t->begun)
        return;
    ct_json_tree_open(&t->list, CT_JSON_OBJECT, NULL);
    put_literal(&t->list, "role", t->role);
    if (t->name.n)
        put_str(&t->list, "name", t->name);
    if (t->call.n)
        put_str(&t->list, "tool_call_id", t->call);
    if (t->is_text)
        put_str(&t->list, "content", t->text);
    else
        put_list(&t->list, "content", open_parts(&t->parts));
    if (t->thoughts.n)
        put_thought(t);
    if (t->calls.n)
        put_list(&t->list, "tool_calls", &t->calls);
    ct_json_tree_close(&t->list);
    ct_json_tree_free(&t->parts);
    ct_json_tree_free(&t->calls);
    ct_json_tree_free(&t->thoughts);
    t->begun = t->is_text = false;
    t->name = t->call = (struct ct_str){"", 0};
}

/* The list has room for a message. */
static void open_list(carat_talk *t)
{
    end_message(t);
    if (t->is_closed)
        ct_json_tree_reopen(&t->list);
    t->is_closed = false;
    t->n++;
}

static carat_status begin_message(carat_talk *t, const char *role, carat_error *err)
{
    open_list(t);
    t->role = role;
    t->begun = true;
    return t->list.failed ? no_memory(err) : CARAT_OK;
}

/* A text of the caller's as templates may have it, in the talk. what: "text", "thought". */
static carat_status keep_text(carat_talk *t, const char *text, size_t n, const char *what,
                              struct ct_str *kept, carat_error *err)
{
    if (!text && n)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is NULL", what);
    if (n > CT_JSON_STRING_MAX)
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%d]: its %s has %zu bytes, expected at most %d",
                       t->n - 1, what, n, CT_JSON_STRING_MAX);
    if (n && !ct_utf8_valid(text, n))
        return ct_fail(err, CARAT_E_ARGUMENT, "messages[%d]: its %s is not UTF-8", t->n - 1, what);
    *kept = (struct ct_str){ct_arena_str(&t->arena, n ? text : "", n), n};
    return kept->s ? CARAT_OK : no_memory(err);
}

static carat_status need_message(const carat_talk *t, carat_error *err)
{
    CT_GIVEN(t, err);
    return t->begun ? CARAT_OK : ct_fail(err, CARAT_E_ARGUMENT, "no message is under way: begin one first");
}

/* ---- the whole ---- */

carat_status carat_talk_create(carat_talk **talk, carat_error *err)
{
    CT_GIVEN(talk, err);
    carat_talk *t = calloc(1, sizeof *t);
    if (!t)
        return no_memory(err);
    ct_json_tree_open(&t->list, CT_JSON_ARRAY, NULL);
    *talk = t;
    return CARAT_OK;
}

void carat_talk_close(carat_talk *talk)
{
    if (!talk)
        return;
    ct_json_tree_free(&talk->list);
    ct_json_tree_free(&talk->parts);
    ct_json_tree_free(&talk->calls);
    ct_json_tree_free(&talk->thoughts);
    for (struct owned_tree *own = talk->owned; own; own = own->next)
        ct_json_tree_free(&own->tree);
    ct_arena_free(&talk->arena);
    free(talk);
}

int carat_talk_count(const carat_talk *talk)
{
    return talk ? talk->n : 0;
}

const struct ct_json_value *ct_talk_list(carat_talk *talk)
{
    end_message(talk);
    if (!talk->is_closed)
        ct_json_tree_close(&talk->list);
    talk->is_closed = true;
    return talk->list.failed ? NULL : talk->list.value;
}

/* ---- members ---- */

carat_status carat_talk_message(carat_talk *talk, const char *role, carat_error *err)
{
    struct ct_str kept;

    CT_GIVEN(talk, err);
    CT_GIVEN(role, err);
    CT_TRY(keep_text(talk, role, strlen(role), "role", &kept, err));
    return begin_message(talk, kept.s, err);
}

carat_status carat_talk_text(carat_talk *talk, const char *text, size_t n, carat_error *err)
{
    struct ct_str kept;

    CT_TRY(need_message(talk, err));
    CT_TRY(keep_text(talk, text, n, "text", &kept, err));
    if (talk->is_text || talk->parts.n)
        return ct_talk_text(talk, kept, err);
    talk->is_text = true;
    talk->text = kept;
    return CARAT_OK;
}

void ct_talk_put_text(struct ct_json_tree *parts, struct ct_str text)
{
    ct_json_tree_open(parts, CT_JSON_OBJECT, NULL);
    put_literal(parts, "type", "text");
    put_str(parts, "text", text);
    ct_json_tree_close(parts);
}

/* The content is a list. */
static void list_parts(carat_talk *t)
{
    if (t->is_text)
        ct_talk_put_text(open_parts(&t->parts), t->text);
    t->is_text = false;
}

carat_status ct_talk_text(carat_talk *talk, struct ct_str text, carat_error *err)
{
    CT_TRY(need_message(talk, err));
    list_parts(talk);
    ct_talk_put_text(open_parts(&talk->parts), text);
    return talk->parts.failed ? no_memory(err) : CARAT_OK;
}

carat_status carat_talk_thought(carat_talk *talk, const char *text, size_t n, carat_error *err)
{
    struct ct_str kept;

    CT_TRY(need_message(talk, err));
    CT_TRY(keep_text(talk, text, n, "thought", &kept, err));
    ct_json_tree_string(open_parts(&talk->thoughts), CT_JSON_STRING, kept);
    return talk->thoughts.failed ? no_memory(err) : CARAT_OK;
}

carat_status ct_talk_call(carat_talk *talk, struct ct_str id, struct ct_str name,
                          const struct ct_json_value *arguments, carat_error *err)
{
    CT_TRY(need_message(talk, err));
    struct ct_json_tree *calls = open_parts(&talk->calls);
    ct_json_tree_open(calls, CT_JSON_OBJECT, NULL);
    if (id.n)
        put_str(calls, "id", id);
    put_literal(calls, "type", "function");
    ct_json_tree_string(calls, CT_JSON_KEY, ct_str_of("function"));
    ct_json_tree_open(calls, CT_JSON_OBJECT, NULL);
    put_str(calls, "name", name);
    ct_json_tree_string(calls, CT_JSON_KEY, ct_str_of("arguments"));
    if (arguments) {
        ct_json_tree_copy(calls, arguments);
    } else {
        ct_json_tree_open(calls, CT_JSON_OBJECT, NULL);
        ct_json_tree_close(calls);
    }
    ct_json_tree_close(calls);
    ct_json_tree_close(calls);
    return calls->failed ? no_memory(err) : CARAT_OK;
}

carat_status carat_talk_call(carat_talk *talk, const char *id, const char *name, const char *arguments,
                             carat_error *err)
{
    struct ct_str kept_id = {"", 0}, kept_name, text;
    char place[40];

    CT_TRY(need_message(talk, err));
    CT_GIVEN(name, err);
    if (id)
        CT_TRY(keep_text(talk, id, strlen(id), "id of a call", &kept_id, err));
    CT_TRY(keep_text(talk, name, strlen(name), "name of a call", &kept_name, err));
    if (!arguments)
        return ct_talk_call(talk, kept_id, kept_name, NULL, err);
    CT_TRY(keep_text(talk, arguments, strlen(arguments), "arguments", &text, err));
    struct ct_json_tree tree = {0};
    snprintf(place, sizeof place, "messages[%d].arguments", talk->n - 1);
    carat_status status = ct_json_tree_read(&tree, CARAT_E_ARGUMENT, place, ct_str_bytes(text), err);
    if (!status && !ct_json_is(tree.value, CT_JSON_OBJECT))
        status = ct_fail(err, CARAT_E_ARGUMENT, "%s: expected an object", place);
    ct_json_tree_free(&tree);
    const struct ct_json_value as_text = {
        .s = text.s, .span = 1, .kind = CT_JSON_STRING, .n = text.n & 0x3ffffffu};
    return status ? status : ct_talk_call(talk, kept_id, kept_name, &as_text, err);
}

carat_status ct_talk_result(carat_talk *talk, struct ct_str call, struct ct_str name, carat_error *err)
{
    CT_TRY(begin_message(talk, "tool", err));
    talk->call = call;
    talk->name = name;
    return CARAT_OK;
}

carat_status carat_talk_result(carat_talk *talk, const char *call, const char *name, carat_error *err)
{
    struct ct_str kept_call = {"", 0}, kept_name = {"", 0};

    CT_GIVEN(talk, err);
    if (!call && !name)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "a result has the id of its call, the function's name, or both");
    if (call)
        CT_TRY(keep_text(talk, call, strlen(call), "id of a call", &kept_call, err));
    if (name)
        CT_TRY(keep_text(talk, name, strlen(name), "name of a call", &kept_name, err));
    return ct_talk_result(talk, kept_call, kept_name, err);
}

struct ct_json_tree *ct_talk_open(carat_talk *talk)
{
    open_list(talk);
    ct_json_tree_open(&talk->list, CT_JSON_OBJECT, NULL);
    return &talk->list;
}

carat_status ct_talk_message(carat_talk *talk, const struct ct_json_value *message, carat_error *err)
{
    open_list(talk);
    ct_json_tree_copy(&talk->list, message);
    return talk->list.failed ? no_memory(err) : CARAT_OK;
}

carat_status carat_talk_json(carat_talk *talk, const char *message, size_t n, carat_error *err)
{
    char place[32];
    struct ct_str kept;

    CT_GIVEN(talk, err);
    CT_TRY(keep_text(talk, message, n, "JSON", &kept, err));
    struct owned_tree *own = ct_arena_push(&talk->arena, 1, sizeof *own);
    if (!own)
        return no_memory(err);
    own->next = talk->owned;
    talk->owned = own;
    snprintf(place, sizeof place, "messages[%d]", talk->n);
    CT_TRY(ct_json_tree_read(&own->tree, CARAT_E_ARGUMENT, place, ct_str_bytes(kept), err));
    if (!ct_json_is(own->tree.value, CT_JSON_OBJECT))
        return ct_fail(err, CARAT_E_ARGUMENT, "%s: a list, expected an object", place);
    return ct_talk_message(talk, own->tree.value, err);
}

/* ---- reading back ---- */

static size_t gather_text(char *to, size_t at, const struct ct_json_value *text)
{
    const struct ct_str s = ct_json_str(text);

    if (to && s.n)
        memcpy(to + at, s.s, s.n);
    return at + s.n;
}

/* The texts of a content, one behind the other; to NULL: their bytes alone. */
static size_t content_text(char *to, const struct ct_json_value *content)
{
    size_t n = gather_text(to, 0, content);

    CT_JSON_EACH(part, ct_json_is(content, CT_JSON_ARRAY) ? content : NULL)
    n = gather_text(to, n, ct_json_get(part, "text"));
    return n;
}

carat_status carat_talk_get(carat_talk *talk, int i, carat_talk_member member, char **text, carat_error *err)
{
    static const char *const keys[] = {[CARAT_TALK_ROLE] = "role",
                                       [CARAT_TALK_TEXT] = "content",
                                       [CARAT_TALK_THOUGHT] = "reasoning_content"};

    CT_GIVEN(talk, err);
    CT_GIVEN(text, err);
    CT_TRY(ct_check_range("i", i, 0, talk->n - 1, err));
    CT_TRY(ct_check_range("member", (int)member, 0, (int)CT_COUNT(keys) - 1, err));
    const struct ct_json_value *message = ct_json_first(ct_talk_list(talk));
    if (!message)
        return no_memory(err);
    while (i-- > 0)
        message = ct_json_after(message);
    const struct ct_json_value *v = ct_json_given(message, keys[member]);
    if (!v)
        return ct_fail(err, CARAT_E_NOT_FOUND, "the message has no %s", keys[member]);
    const size_t n = content_text(NULL, v);
    if (!(*text = malloc(n + 1)))
        return no_memory(err);
    content_text(*text, v);
    (*text)[n] = 0;
    return CARAT_OK;
}
