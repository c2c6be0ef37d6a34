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

#include "carat_generate.h"
#include "carat_tools.h"
#include "io/input.h"
#include "model/model.h"
#include "prompt/reasoning.h"
#include "prompt/tool_command.h"
#include "term/interrupt.h"
#include "term/message.h"

/* The options about what is asked. */
#define AT(field) offsetof(struct prompt_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_INPUT + 10, {"-p", "--prompt"}, TEXT, AT(prompt), GENERATES " logits tokenize compare", "TEXT", NULL,
     "the prompt, the first message, or the text", 0, 0},
    {ABOUT_INPUT + 20, {"-f", "--file"}, READS, AT(file), "run logits tokenize compare perplexity imatrix", "FILE", NULL,
     "read the prompt from FILE", 0, 0},
    {ABOUT_INPUT + 21, {"-f", "--file"}, READS, AT(file), "show convert", "FILE", NULL,
     "the text of --ranges, or of --residual-scale auto", 0, 0},
    {ABOUT_INPUT + 30, {"-sys", "--system-prompt"}, TEXT, AT(system), GENERATES " / logits compare", "TEXT", NULL,
     "a system message before the prompt", 0, 0},
    {ABOUT_INPUT + 40, {"-sysf", "--system-prompt-file"}, READS, AT(system_file), "/ " GENERATES " logits compare", "FILE", NULL,
     "read the system message from FILE", 0, 0},
    {ABOUT_INPUT + 50, {"--ids"}, IDS, AT(ids), "logits decode bench compare imatrix / run", "IDS", NULL,
     "token ids instead of text, as in 2,5,9; @FILE reads them from FILE", 0, 0},
    {ABOUT_INPUT + 60, {"--raw", "-no-cnv", "--no-conversation"}, FLAG, AT(raw), "run logits compare", NULL, NULL,
     "do not use the chat template", 0, 0},
    {ABOUT_INPUT + 70, {"--messages"}, READS, AT(messages), "run logits render compare", "FILE", NULL,
     "the conversation, a JSON array in OpenAI's form", 0, 0},
    {ABOUT_INPUT + 80, {"--messages"}, READS, AT(messages), "perplexity imatrix", "FILE", NULL,
     "score the model's turns of conversations: each line is a JSON array of messages, or an object with "
     "messages and optionally tools", 0, 0},
    {ABOUT_INPUT + 90, {"--tools"}, READS, AT(tools), GENERATES " render / logits compare replay", "FILE", NULL,
     "function tools, a JSON array in OpenAI's form", 0, 0},
    {ABOUT_INPUT + 100, {"--tool-command"}, TEXT, AT(tool_command), "/ " GENERATES, "PROGRAM", NULL,
     "a program and its arguments, separated by spaces: it reads each call as JSON from standard input "
     "and prints the result", 0, 0},
    {ABOUT_INPUT + 110, {"--tool-rounds"}, INT, AT(tool_rounds), "/ " GENERATES, "N", "8",
     "the most rounds of calls and results with --tool-command (default {default})", 1, 1000},
    {ABOUT_INPUT + 120, {"--chat-template"}, CHOICE, AT(chat_template), "render serve / " GENERATES " " SCORES " logits compare", "gemma|gemma3|functiongemma|gemma4|gemma4-small", NULL,
     "the chat template to use instead of the model's own", 0, 0},
    {ABOUT_INPUT + 130, {"-cnv", "--conversation"}, FLAG, AT(talks), "/ " GENERATES, NULL, NULL,
     "hold a conversation, also when standard input is not a terminal", 0, 0},
    {ABOUT_INPUT + 140, {"-st", "--single-turn"}, FLAG, AT(single_turn), "/ " GENERATES, NULL, NULL,
     "end after one message and its answer", 0, 0},
    {ABOUT_INPUT + 150, {"--no-generation-prompt"}, FLAG, AT(no_generation_prompt), "render", NULL, NULL,
     "do not open the model's turn", 0, 0},
    {ABOUT_INPUT + 170, {"--special"}, FLAG, AT(special), "tokenize render", NULL, NULL,
     "recognise control tokens in the text", 0, 0},
    {ABOUT_INPUT + 180, {"--special"}, FLAG, AT(special), "detokenize", NULL, NULL,
     "print control tokens", 0, 0},
    {ABOUT_INPUT + 190, {"--lossy"}, FLAG, AT(lossy), "tokenize / " GENERATES " logits compare perplexity imatrix show convert", NULL, NULL,
     "replace invalid UTF-8 by U+FFFD instead of refusing it", 0, 0},
};
/* clang-format on */

const struct option_group prompt_group = OPTION_GROUP(rows, struct prompt_options, NULL);

/* Options that contradict each other. */
static int check_options(const struct options *o)
{
    const char *name = o->verb->name;
    bool system = o->prompt->system || o->prompt->system_file;
    int sources = (o->text != NULL) + (o->prompt->prompt != NULL) + (o->prompt->file != NULL) +
                  (o->prompt->messages != NULL) + (o->prompt->ids != NULL);

    if (o->prompt->talks &&
        (o->text || o->prompt->file || o->prompt->messages || o->prompt->ids || o->prompt->raw || o->json))
        return term_fail(
            USAGE, "%s: -cnv is a conversation, whose messages come from standard input, one a line", name);
    if (sources > 1)
        return term_fail(USAGE, "%s: more than one prompt; give one of %s-p, -f, --messages and --ids", name,
                         o->verb->reads ? "PROMPT, " : "");
    if (sources == 0 && !o->verb->reads)
        return term_fail(USAGE, "%s needs a prompt: one of -p, -f, --messages and --ids", name);
    if (o->prompt->system && o->prompt->system_file)
        return term_fail(USAGE, "%s: both -sys and -sysf are given", name);
    if (o->prompt->messages && system)
        return term_fail(
            USAGE, "%s: a system message is the first of --messages, which takes no --system-prompt", name);
    if ((o->prompt->raw || o->prompt->ids) &&
        (system || o->prompt->tools || o->prompt->chat_template || o->prompt->messages))
        return term_fail(USAGE, "%s: %s uses no chat template, so it takes no %s", name,
                         o->prompt->raw ? "--raw" : "--ids",
                         system                ? "--system-prompt"
                         : o->prompt->tools    ? "--tools"
                         : o->prompt->messages ? "--messages"
                                               : "--chat-template");
    if ((o->prompt->raw || o->prompt->ids) && reasoning_on(o))
        return term_fail(USAGE, "%s: %s uses no chat template, so it takes no --reasoning on", name,
                         o->prompt->raw ? "--raw" : "--ids");
    if (o->prompt->tool_command && !o->prompt->tools)
        return term_fail(USAGE, "%s: --tool-command answers calls of functions, which --tools declares",
                         name);
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
    if (!term_interrupted())
        term_note(
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
            term_note(
                "%zu byte%s of standard input appended to the prompt; with -p PROMPT, or </dev/null, it is "
                "not "
                "read",
                n_more, n_more == 1 ? "" : "s");
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
    if (term_interrupted())
        return INTERRUPTED;
    if (given) {
        *n = strlen(given);
        *text = strdup(given);
        return *text ? DONE : fail_memory();
    }
    if (!o->prompt->file && isatty(STDIN_FILENO))
        term_note("reading the prompt from the terminal; Ctrl-D ends it");
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
        return term_fail(USAGE, "%s has no chat template, so it takes no --system-prompt", o->model);
    if (!o->prompt->raw && reasoning_on(o))
        return term_fail(USAGE, "%s has no chat template, so it takes no --reasoning on", o->model);
    if (!o->prompt->raw)
        term_note("%s has no chat template: the prompt is run raw, and the model continues it",
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
            return term_fail(USAGE, "%s has a NUL byte at offset %zu; only --raw takes that", prompt_name(o),
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
        code = term_fail(USAGE, "the prompt is empty");
    return code;
}

int check_prompt_ids(const carat_tokens *ids, const carat_model_info *info)
{
    for (int i = 0; i < ids->n; i++)
        if (ids->ids[i] >= info->n_vocab)
            return term_fail(USAGE, "id %d of the prompt is outside the vocabulary of %d", (int)ids->ids[i],
                             info->n_vocab);
    return DONE;
}
