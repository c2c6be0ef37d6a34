/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_line.c: reads a line of a data set: JSON, with a prompt in it, and everything of the kind that
 * it has to be. Vocabulary, templates and files are dataset.c's. */
#include "prompt/dataset_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "io/json_place.h"
#include "term/message.h"

struct reading {
    const char *text;
    size_t n;
    struct dataset_line *line;
    struct line_fault *fault;
};

static bool line_wrong(struct reading *r, size_t byte, const char *format, ...) PRINTF(3, 4);
static bool line_wrong(struct reading *r, size_t byte, const char *format, ...)
{
    va_list args;

    r->fault->byte = byte < r->n ? byte : r->n;
    va_start(args, format);
    vsnprintf(r->fault->text, sizeof r->fault->text, format, args);
    va_end(args);
    return false;
}

static bool member_wrong(struct reading *r, const char *member, const char *expected)
{
    return line_wrong(r, json_member_at(r->text, r->n, member, -1), "\"%s\" is no %s", member, expected);
}

static bool line_ids(struct reading *r, const char *member, const json_t **ids)
{
    *ids = json_object_get(r->line->root, member);
    if (!*ids)
        return true;
    if (!json_is_array(*ids) || json_array_size(*ids) == 0 || json_array_size(*ids) > INT32_MAX)
        return member_wrong(r, member, "list of token ids");
    for (size_t i = 0; i < json_array_size(*ids); i++) {
        const json_t *id = json_array_get(*ids, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 || json_integer_value(id) > INT32_MAX)
            return line_wrong(r, json_member_at(r->text, r->n, member, (int)i),
                              "entry %zu of \"%s\" is not a token id (a number from 0 to %d)", i, member,
                              INT32_MAX);
    }
    return true;
}

static bool line_text(struct reading *r, const char *member, bool may_have_nul, const char **text, size_t *n)
{
    const json_t *value = json_object_get(r->line->root, member);

    if (!value)
        return true;
    if (!json_is_string(value))
        return member_wrong(r, member, "string");
    *text = json_string_value(value);
    *n = json_string_length(value);
    if (!may_have_nul && strlen(*text) != *n)
        return line_wrong(r, json_member_at(r->text, r->n, member, -1),
                          "\"%s\" has a NUL character, which only \"text\" may have", member);
    return true;
}

static bool line_prompt(struct reading *r)
{
    struct dataset_line *l = r->line;
    const char *user = NULL, *raw = NULL;
    size_t n_user = 0, n_raw = 0;

    if (!line_ids(r, "ids", &l->ids) || !line_text(r, "prompt", false, &user, &n_user) ||
        !line_text(r, "text", true, &raw, &n_raw))
        return false;
    l->messages = json_object_get(l->root, "messages");
    l->tools = json_object_get(l->root, "tools");
    if (l->messages && (!json_is_array(l->messages) || json_array_size(l->messages) == 0))
        return member_wrong(r, "messages", "list of messages");
    if (l->tools && !json_is_array(l->tools))
        return member_wrong(r, "tools", "list of tools");
    l->kind = l->ids ? PROMPT_IDS : l->messages ? PROMPT_MESSAGES : user ? PROMPT_USER : PROMPT_RAW;
    l->text = l->kind == PROMPT_USER ? user : raw;
    l->n_text = l->kind == PROMPT_USER ? n_user : n_raw;
    if (l->kind == PROMPT_RAW && (!raw || n_raw == 0))
        return line_wrong(r, raw ? json_member_at(r->text, r->n, "text", -1) : 0,
                          raw ? "\"text\" is empty"
                              : "it has no prompt: one of \"ids\", \"messages\", \"prompt\" and \"text\"");
    return true;
}

static bool line_members(struct reading *r)
{
    struct dataset_line *l = r->line;
    size_t n_logits = 0;

    if (!json_is_object(l->root))
        return line_wrong(r, 0, "it is not a JSON object");
    l->id = json_object_get(l->root, "id");
    if (json_is_null(l->id))
        l->id = NULL;
    if (l->id && !json_is_string(l->id) && !json_is_integer(l->id))
        return member_wrong(r, "id", "string or whole number");
    return line_prompt(r) && line_ids(r, "answer_ids", &l->answer_ids) &&
           line_text(r, "answer", false, &l->answer, &l->n_answer) &&
           line_text(r, "logits", false, &l->logits, &n_logits);
}

bool dataset_line_read(struct dataset_line *l, const char *text, size_t n, struct line_fault *fault)
{
    struct reading r = {text, n, l, fault};
    json_error_t error;

    *l = (struct dataset_line){0};
    *fault = (struct line_fault){0};
    l->root = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!l->root) {
        fault->memory = json_error_code(&error) == json_error_out_of_memory;
        return line_wrong(&r, error.position > 0 ? (size_t)error.position : 0, "this is not JSON: %.150s",
                          error.text);
    }
    if (line_members(&r))
        return true;
    dataset_line_free(l);
    return false;
}

void dataset_line_free(struct dataset_line *l)
{
    json_decref(l->root);
    *l = (struct dataset_line){0};
}
