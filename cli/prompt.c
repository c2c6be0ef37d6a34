/* prompt.c: finds the prompt of `carat run` and turns it into ids. The templates themselves are the library's. */
#define _POSIX_C_SOURCE 200809L
#include "prompt.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int check_prompt_options(const struct options *o)
{
    int sources = (o->text != NULL) + (o->prompt != NULL) + (o->file != NULL) + (o->ids != NULL);

    if (sources > 1)
        return fail(USAGE, "run: more than one prompt; give one of PROMPT, -p, -f and --ids");
    if ((o->raw || o->ids) && (o->system || o->tools || o->chat_template))
        return fail(USAGE, "run: %s uses no chat template, so it takes no %s", o->raw ? "--raw" : "--ids",
                    o->system  ? "--system-prompt"
                    : o->tools ? "--tools"
                               : "--chat-template");
    return DONE;
}

/* The prompt's text, malloc'd. */
static int read_prompt(const struct options *o, char **text, size_t *n)
{
    const char *given = o->text ? o->text : o->prompt;

    if (given) {
        *n = strlen(given);
        *text = malloc(*n + 1);
        if (!*text)
            return fail_memory();
        memcpy(*text, given, *n + 1);
        return DONE;
    }
    if (!o->file && isatty(STDIN_FILENO))
        note("reading the prompt from the terminal; Ctrl-D ends it");
    return read_input(o->file ? o->file : "-", text, n);
}

static int render(const carat_model *model, const carat_model_info *info, const struct options *o,
                  const char *text, carat_tokens *ids)
{
    carat_message messages[2];
    carat_render_options options = CARAT_RENDER_OPTIONS;
    carat_error err;
    char *tools = NULL;
    int n = 0, code;

    if (o->tools && (code = read_json_text(o->tools, &tools)) != DONE)
        return code;
    options.tools = tools;
    options.chat_template = o->chat_template;
    /* Only FunctionGemma's template has a place for tools; a checkpoint of another family gets them in that form. */
    if (tools && !o->chat_template && strcmp(info->chat_template, "functiongemma") != 0)
        options.chat_template = "functiongemma";
    if (o->system)
        messages[n++] = (carat_message){.role = "system", .content = o->system};
    messages[n++] = (carat_message){.role = "user", .content = text};
    code = carat_render(model, messages, n, &options, ids, NULL, &err) == CARAT_OK ? DONE : fail_status(&err);
    free(tools);
    return code;
}

static int encode(const carat_model *model, const carat_model_info *info, const struct options *o,
                  const char *text, size_t n, carat_tokens *ids)
{
    bool chat = info->has_chat_template || o->tools || o->chat_template;
    carat_error err;

    if (chat && !o->raw) {
        if (strlen(text) != n)
            return fail(USAGE, "the prompt has a NUL byte at offset %zu; only --raw takes that",
                        strlen(text));
        return render(model, info, o, text, ids);
    }
    if (o->system)
        return fail(USAGE, "%s has no chat template, so it takes no --system-prompt", o->model);
    if (!o->raw)
        note("%s has no chat template: the prompt is run raw, and the model continues it",
             model_name(o->model));
    if (carat_tokenize(model, text, n, CARAT_BOS | CARAT_SPECIAL, ids, &err) != CARAT_OK)
        return fail_status(&err);
    return DONE;
}

int make_prompt(const carat_model *model, const carat_model_info *info, const struct options *o,
                carat_tokens *ids)
{
    char *text = NULL;
    size_t n;
    int code;

    if (o->ids) {
        code = parse_ids(o->ids, strlen(o->ids), "--ids", ids);
    } else if (!info->has_tokenizer) {
        code = fail(BAD_MODEL, "%s has no tokenizer; give the prompt as --ids", o->model);
    } else {
        code = read_prompt(o, &text, &n);
        if (code == DONE)
            code = encode(model, info, o, text, n, ids);
        free(text);
    }
    if (code == DONE && ids->n == 0)
        code = fail(USAGE, "the prompt is empty");
    return code;
}
