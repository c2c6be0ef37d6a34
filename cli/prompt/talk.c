/* SPDX-License-Identifier: Apache-2.0 */
/* talk.c: the messages of a conversation, as JSON: so they are rendered, saved and read back. Evaluating them
 * is others' business. */
#define _POSIX_C_SOURCE 200809L
#include "prompt/talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "carat_tools.h"
#include "term/message.h"
#include "term/out_json.h"

int talk_open(struct talk *t)
{
    t->list = json_array();
    return t->list ? DONE : fail_memory();
}

void talk_close(struct talk *t)
{
    json_decref(t->list);
}

static const char *member(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static bool is_role(const json_t *message, const char *role)
{
    const char *own = member(message, "role");

    return own && strcmp(own, role) == 0;
}

static int append(struct talk *t, json_t *message)
{
    return message && json_array_append_new(t->list, message) == 0 ? DONE : fail_memory();
}

const char *talk_system(const struct talk *t)
{
    const json_t *first = json_array_get(t->list, 0);

    return is_role(first, "system") ? member(first, "content") : NULL;
}

int talk_set_system(struct talk *t, const char *text)
{
    if (talk_system(t))
        json_array_remove(t->list, 0);
    if (!text || !*text)
        return DONE;
    json_t *message = json_pack("{s:s, s:o}", "role", "system", "content", json_text(text, strlen(text)));
    return message && json_array_insert_new(t->list, 0, message) == 0 ? DONE : fail_memory();
}

int talk_add_user(struct talk *t, const char *text)
{
    return append(t, json_pack("{s:s, s:o}", "role", "user", "content", json_text(text, strlen(text))));
}

/* ---- what the model wrote ---- */

/* Text of n bytes behind what is there. A NUL byte, which no message can have, is a space. */
static bool add_text(char **all, size_t *n_all, const char *text, size_t n)
{
    char *longer = realloc(*all, *n_all + n + 1);

    if (!longer)
        return false;
    *all = longer;
    for (size_t i = 0; i < n; i++)
        longer[(*n_all)++] = text[i] ? text[i] : ' ';
    longer[*n_all] = 0;
    return true;
}

/* A call as OpenAI has it. Arguments stay the text that they were written as, numbers included. */
static json_t *call_of(const carat_part *p)
{
    return json_pack("{s:s, s:{s:o, s:o}}", "type", "function", "function", "name",
                     json_text(p->name, strlen(p->name)), "arguments",
                     json_text(p->arguments, strlen(p->arguments)));
}

/* Divides the answer, of which so many bytes count; *calls is NULL when there are none. An exit code. */
static int divide(const carat_model *model, const carat_tokens *ids, size_t most, const char *tools,
                  char **text, size_t *n_text, json_t **calls)
{
    carat_calls parts = {.size = sizeof *parts.part};
    carat_error err;
    bool kept = true;

    if (carat_parse_calls(model, ids->ids, ids->n, tools, &parts, &err) != CARAT_OK)
        return fail_status(&err);
    for (int i = 0; i < parts.n && kept; i++) {
        const carat_part *p = &parts.part[i];
        size_t n = p->n_text < most ? p->n_text : most;
        most -= n;
        if (!p->is_call || !p->name || !p->arguments) {
            kept = add_text(text, n_text, p->text, n);
            continue;
        }
        if (!*calls)
            *calls = json_array();
        kept = json_array_append_new(*calls, call_of(p)) == 0;
    }
    carat_calls_free(&parts);
    return kept ? DONE : fail_memory();
}

/* Adds what the model wrote, with its thoughts as a member of their own. */
static int add_answer(struct talk *t, const carat_model *model, const carat_tokens *ids, const char *thought,
                      size_t most, bool calls, const char *tools)
{
    char *text = NULL, *plain;
    size_t n = 0, n_plain;
    json_t *called = NULL, *message;
    carat_error err;
    int code = DONE;

    if (calls) {
        code = divide(model, ids, most, tools, &text, &n, &called);
    } else if (carat_detokenize(model, ids->ids, ids->n, 0, &plain, &n_plain, &err) == CARAT_OK) {
        code = add_text(&text, &n, plain, n_plain < most ? n_plain : most) ? DONE : fail_memory();
        carat_free(plain);
    } else {
        code = fail_status(&err);
    }
    if (code == DONE) {
        message = json_pack("{s:s, s:o}", "role", "assistant", "content",
                            called && n == 0 ? json_null() : json_text(text ? text : "", n));
        if (message && called)
            json_object_set(message, "tool_calls", called);
        if (message && *thought)
            json_object_set_new(message, "reasoning_content", json_text(thought, strlen(thought)));
        code = append(t, message);
    }
    json_decref(called);
    free(text);
    return code;
}

int talk_add_answer(struct talk *t, const carat_model *model, const carat_tokens *ids, bool in_thought,
                    size_t most, bool calls, const char *tools)
{
    carat_tokens answer = {0};
    char *thought = NULL;
    size_t n;
    carat_error err;
    int code;

    if (carat_split_thoughts(model, ids->ids, ids->n, in_thought, &answer, &thought, &n, &err) != CARAT_OK)
        return fail_status(&err);
    for (size_t i = 0; i < n; i++)
        thought[i] = thought[i] ? thought[i] : ' '; /* as no message can have it */
    code = add_answer(t, model, &answer, thought, most, calls, tools);
    carat_free(thought);
    carat_tokens_free(&answer);
    return code;
}

/* The "function" of the first call without a result. */
static const json_t *awaited_function(const struct talk *t)
{
    size_t n = json_array_size(t->list), results = 0;
    const json_t *last;

    while (n > 0 && is_role(json_array_get(t->list, n - 1), "tool")) {
        results++;
        n--;
    }
    last = n > 0 ? json_array_get(t->list, n - 1) : NULL;
    return json_object_get(json_array_get(json_object_get(last, "tool_calls"), results), "function");
}

const char *talk_awaits(const struct talk *t)
{
    return member(awaited_function(t), "name");
}

char *talk_awaited_call(const struct talk *t)
{
    const json_t *function = awaited_function(t);
    char *name = json_dumps(json_object_get(function, "name"), JSON_ENCODE_ANY), *call = NULL;
    const char *arguments = member(function, "arguments");
    size_t n = (name ? strlen(name) : 0) + strlen(arguments) + 32;

    if (name && (call = malloc(n)))
        snprintf(call, n, "{\"name\":%s,\"arguments\":%s}", name, arguments);
    free(name);
    return call;
}

int talk_add_result(struct talk *t, const char *text)
{
    const char *name = talk_awaits(t);

    return append(t, json_pack("{s:s, s:s, s:o}", "role", "tool", "name", name ? name : "", "content",
                               json_text(text, strlen(text))));
}

bool talk_ends_with_result(const struct talk *t)
{
    const size_t n = json_array_size(t->list);

    return n > 0 && is_role(json_array_get(t->list, n - 1), "tool");
}

/* ---- going back ---- */

size_t talk_count(const struct talk *t)
{
    return json_array_size(t->list) - (talk_system(t) != NULL);
}

/* Its index, or the number of messages. */
static size_t last_user(const struct talk *t)
{
    size_t n = json_array_size(t->list);

    for (size_t i = n; i > 0; i--)
        if (is_role(json_array_get(t->list, i - 1), "user"))
            return i - 1;
    return n;
}

const char *talk_last_user(const struct talk *t)
{
    return member(json_array_get(t->list, last_user(t)), "content");
}

bool talk_back(struct talk *t, bool with_it)
{
    size_t at = last_user(t), n = json_array_size(t->list);

    if (at == n)
        return false;
    for (at += !with_it; n > at; n--)
        json_array_remove(t->list, n - 1);
    return true;
}

void talk_drop_unanswered(struct talk *t)
{
    size_t n = json_array_size(t->list);

    if (n > 0 && is_role(json_array_get(t->list, n - 1), "user"))
        json_array_remove(t->list, n - 1);
    for (; n > 0 && is_role(json_array_get(t->list, n - 1), "tool"); n--)
        json_array_remove(t->list, n - 1);
}

/* ---- files ---- */

char *talk_json(const struct talk *t)
{
    return json_dumps(t->list, JSON_COMPACT);
}

static bool is_message(const json_t *message)
{
    return is_role(message, "system") || is_role(message, "user") || is_role(message, "assistant") ||
           is_role(message, "tool");
}

bool talk_read(struct talk *t, const char *text, size_t n)
{
    json_t *list = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL), *message;
    size_t i;
    bool good = json_is_array(list) && json_array_size(list) > 0;

    json_array_foreach(list, i, message)
    {
        good = good && is_message(message);
    }
    if (good) {
        json_decref(t->list);
        t->list = json_incref(list);
    }
    json_decref(list);
    return good;
}
