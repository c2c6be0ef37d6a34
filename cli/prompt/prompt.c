/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.c: finds the prompt of `carat run` and `carat logits` and turns it into ids. The templates
 * themselves are the library's. */
#define _POSIX_C_SOURCE 200809L
#include "prompt/prompt.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "carat_tools.h"
#include "io/input.h"
#include "model/model.h"
#include "prompt/reasoning.h"
#include "prompt/tool_command.h"
#include "term/interrupt.h"
#include "term/message.h"

/* Options that contradict each other. */
static int check_options(const struct options *o)
{
    const char *name = o->verb->name;
    bool system = o->prompt->system || o->prompt->system_file;
    int sources = (o->text != NULL) + (o->prompt->prompt != NULL) + (o->prompt->file != NULL) +
                  (o->prompt->messages != NULL) + (o->prompt->ids != NULL);

    if (o->prompt->talks &&
        (o->text || o->prompt->file || o->prompt->messages || o->prompt->ids || o->prompt->raw || o->json))
        return fail(USAGE, "%s: -cnv is a conversation, whose messages come from standard input, one a line",
                    name);
    if (sources > 1)
        return fail(USAGE, "%s: more than one prompt; give one of %s-p, -f, --messages and --ids", name,
                    o->verb->reads ? "PROMPT, " : "");
    if (sources == 0 && !o->verb->reads)
        return fail(USAGE, "%s needs a prompt: one of -p, -f, --messages and --ids", name);
    if (o->prompt->system && o->prompt->system_file)
        return fail(USAGE, "%s: both -sys and -sysf are given", name);
    if (o->prompt->messages && system)
        return fail(USAGE, "%s: a system message is the first of --messages, which takes no --system-prompt",
                    name);
    if ((o->prompt->raw || o->prompt->ids) &&
        (system || o->prompt->tools || o->prompt->chat_template || o->prompt->messages))
        return fail(USAGE, "%s: %s uses no chat template, so it takes no %s", name,
                    o->prompt->raw ? "--raw" : "--ids",
                    system                ? "--system-prompt"
                    : o->prompt->tools    ? "--tools"
                    : o->prompt->messages ? "--messages"
                                          : "--chat-template");
    if ((o->prompt->raw || o->prompt->ids) && reasoning_on(o))
        return fail(USAGE, "%s: %s uses no chat template, so it takes no --reasoning on", name,
                    o->prompt->raw ? "--raw" : "--ids");
    if (o->prompt->tool_command && !o->prompt->tools)
        return fail(USAGE, "%s: --tool-command answers calls of functions, which --tools declares", name);
    return DONE;
}

int read_prompt_files(struct conversation *talk, const struct options *o, carat_tokens *ids)
{
    int code = check_options(o);

    if (code == DONE)
        code = conversation_read(talk, o);
    return code == DONE && o->prompt->ids ? read_ids(o->prompt->ids, "--ids", ids) : code;
}

/* Is standard input meant for this command? A file at its beginning is; one that is read already
 * belongs to its reader, as in `while read`. A pipe is when it brings bytes, or its end, at once: the parent
 * may hold one open that never brings anything. A terminal, /dev/null or a socket is not. */
static bool stdin_is_given(void)
{
    enum { AT_ONCE = 200 }; /* milliseconds */
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    struct stat s;

    if (fstat(STDIN_FILENO, &s) != 0)
        return false;
    if (S_ISREG(s.st_mode))
        return lseek(STDIN_FILENO, 0, SEEK_CUR) == 0;
    if (!S_ISFIFO(s.st_mode))
        return false;
    if (poll(&in, 1, AT_ONCE) > 0)
        return true;
    if (!interrupted())
        note(
            "standard input is a pipe that brings nothing: it is not read; 'carat run MODEL -' waits for it");
    return false;
}

/* The text, an empty line, and standard input if there is any; malloc'd. */
static int append_stdin(const char *given, char **text, size_t *n)
{
    size_t n_given = strlen(given), n_more = 0;
    char *more = NULL;

    TRY(read_input("-", &more, &n_more));
    *text = malloc(n_given + 2 + n_more + 1);
    if (*text) {
        *n = (size_t)sprintf(*text, "%s%s", given, n_more && n_given ? "\n\n" : "");
        memcpy(*text + *n, more, n_more + 1);
        *n += n_more;
        if (n_more)
            note("%zu byte%s of standard input appended to the prompt", n_more, n_more == 1 ? "" : "s");
    }
    free(more);
    return *text ? DONE : fail_memory();
}

/* The prompt's text, malloc'd. */
static int read_prompt(const struct options *o, char **text, size_t *n)
{
    bool named = o->text && strcmp(o->text, "-") == 0;
    const char *given = named ? NULL : o->text ? o->text : o->prompt->prompt;

    if (o->appends_stdin && stdin_is_given())
        return append_stdin(given, text, n);
    if (interrupted())
        return INTERRUPTED;
    if (given) {
        *n = strlen(given);
        *text = strdup(given);
        return *text ? DONE : fail_memory();
    }
    if (!o->prompt->file && isatty(STDIN_FILENO))
        note("reading the prompt from the terminal; Ctrl-D ends it");
    return read_input(o->prompt->file ? o->prompt->file : "-", text, n);
}

static const char *prompt_name(const struct options *o)
{
    return o->prompt->file ? input_name(o->prompt->file) : "the prompt";
}

bool becomes_turn(const struct options *o, const carat_model_info *info)
{
    return !o->prompt->raw && (info->has_chat_template || o->prompt->tools || o->prompt->chat_template);
}

int check_template(const struct options *o, const carat_model_info *info)
{
    if (becomes_turn(o, info))
        return DONE;
    if (o->prompt->system || o->prompt->system_file)
        return fail(USAGE, "%s has no chat template, so it takes no --system-prompt", o->model);
    if (!o->prompt->raw && reasoning_on(o))
        return fail(USAGE, "%s has no chat template, so it takes no --reasoning on", o->model);
    if (!o->prompt->raw)
        note("%s has no chat template: the prompt is run raw, and the model continues it",
             model_name(o->model));
    return DONE;
}

int encode_prompt(const carat_model *model, const struct conversation *talk, bool turn, const char *text,
                  size_t n, carat_tokens *ids)
{
    const struct options *o = talk->o;
    carat_tokenize_options options;
    carat_tokenize_options_default(&options);
    carat_error err;

    if (turn) {
        if (strlen(text) != n)
            return fail(USAGE, "%s has a NUL byte at offset %zu; only --raw takes that", prompt_name(o),
                        strlen(text));
        return conversation_render(talk, model, text, ids, NULL);
    }
    options.flags = CARAT_BOS | CARAT_SPECIAL;
    options.progress = stop_when_interrupted;
    if (carat_tokenize_with(model, text, n, &options, ids, &err) != CARAT_OK)
        return fail_status(&err);
    return DONE;
}

int make_prompt(const carat_model *model, const carat_model_info *info, struct conversation *talk,
                carat_tokens *ids)
{
    const struct options *o = talk->o;
    size_t n;
    int code;

    if (o->prompt->ids) {
        code = DONE; /* read already */
    } else if (o->prompt->messages) {
        code = conversation_render(talk, model, NULL, ids, NULL);
    } else {
        code = read_prompt(o, &talk->user, &n);
        if (code == DONE)
            code = settle_utf8(prompt_name(o), &talk->user, &n, o->prompt->lossy);
        if (code == DONE)
            code = check_template(o, info);
        if (code == DONE)
            code = encode_prompt(model, talk, becomes_turn(o, info), talk->user, n, ids);
    }
    if (code == DONE && ids->n == 0)
        code = fail(USAGE, "the prompt is empty");
    return code;
}

int check_prompt_ids(const carat_tokens *ids, const carat_model_info *info)
{
    for (int i = 0; i < ids->n; i++)
        if (ids->ids[i] >= info->n_vocab)
            return fail(USAGE, "id %d of the prompt is outside the vocabulary of %d", (int)ids->ids[i],
                        info->n_vocab);
    return DONE;
}
