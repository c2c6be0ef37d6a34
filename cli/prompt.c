/* prompt.c: finds the prompt of `carat run` and turns it into ids. The templates themselves are the library's. */
#define _POSIX_C_SOURCE 200809L
#include "prompt.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int check_prompt_options(const struct options *o)
{
    int sources = (o->text != NULL) + (o->prompt != NULL) + (o->file != NULL) + (o->ids != NULL);

    if (sources > 1)
        return fail(USAGE, "run: more than one prompt; give one of PROMPT, -p, -f and --ids");
    if (o->system && o->system_file)
        return fail(USAGE, "run: both -sys and -sysf are given");
    if ((o->raw || o->ids) && (o->system || o->system_file || o->tools || o->chat_template))
        return fail(USAGE, "run: %s uses no chat template, so it takes no %s", o->raw ? "--raw" : "--ids",
                    o->system || o->system_file ? "--system-prompt"
                    : o->tools                  ? "--tools"
                                                : "--chat-template");
    return DONE;
}

/* A file or a pipe on standard input is meant for this command; a terminal, /dev/null or a socket may be anybody's. */
static bool stdin_is_given(void)
{
    struct stat s;

    return fstat(STDIN_FILENO, &s) == 0 && (S_ISREG(s.st_mode) || S_ISFIFO(s.st_mode));
}

/* A pipe that nobody writes to would make the command wait without a word. */
static void note_waiting(void)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};

    if (poll(&in, 1, 2000) == 0)
        note("waiting for standard input, which is appended to the prompt; </dev/null keeps it out");
}

/* The text, an empty line, and standard input if there is any; malloc'd. */
static int append_stdin(const char *given, char **text, size_t *n)
{
    size_t n_given = strlen(given), n_more = 0;
    char *more = NULL;
    int code;

    note_waiting();
    if (interrupted())
        return INTERRUPTED;
    if ((code = read_input("-", &more, &n_more)) != DONE)
        return code;
    *text = malloc(n_given + 2 + n_more + 1);
    if (*text) {
        *n = (size_t)sprintf(*text, "%s%s", given, n_more && n_given ? "\n\n" : "");
        memcpy(*text + *n, more, n_more + 1);
        *n += n_more;
    }
    free(more);
    return *text ? DONE : fail_memory();
}

/* The prompt's text, malloc'd. */
static int read_prompt(const struct options *o, char **text, size_t *n)
{
    const char *given = o->text ? o->text : o->prompt;

    if (given && !o->stdin_taken && stdin_is_given())
        return append_stdin(given, text, n);
    if (given) {
        *n = strlen(given);
        *text = strdup(given);
        return *text ? DONE : fail_memory();
    }
    if (!o->file && isatty(STDIN_FILENO))
        note("reading the prompt from the terminal; Ctrl-D ends it");
    return read_input(o->file ? o->file : "-", text, n);
}

/* Refuses what is not UTF-8, or replaces it in place. */
static int settle_utf8(const char *what, char **text, size_t *n, bool lossy)
{
    int code = check_utf8(what, *text, *n, lossy);

    if (code == DONE && utf8_valid(*text, *n) < *n) {
        char *clean = utf8_clean(*text, *n, n);
        if (!clean)
            return fail_memory();
        free(*text);
        *text = clean;
    }
    return code;
}

/* The system message, malloc'd, or NULL when there is none. */
static int read_system(const struct options *o, char **text)
{
    size_t n;
    int code = DONE;

    *text = o->system ? strdup(o->system) : NULL;
    if (o->system && !*text)
        return fail_memory();
    if (o->system_file)
        code = read_json_text(o->system_file, text);
    if (code == DONE && *text) {
        n = strlen(*text);
        code = settle_utf8("the system message", text, &n, o->lossy);
    }
    return code;
}

static int render(const carat_model *model, const carat_model_info *info, const struct options *o,
                  const char *text, carat_tokens *ids)
{
    carat_message messages[2];
    carat_render_options options = CARAT_RENDER_OPTIONS;
    carat_error err;
    char *tools = NULL, *system = NULL;
    int n = 0, code = read_system(o, &system);

    if (code == DONE && o->tools)
        code = read_json_text(o->tools, &tools);
    if (code != DONE) {
        free(system);
        return code;
    }
    options.tools = tools;
    options.chat_template = o->chat_template;
    /* Only FunctionGemma's template has a place for tools; a checkpoint of another family gets them in that form. */
    if (tools && !o->chat_template && strcmp(info->chat_template, "functiongemma") != 0)
        options.chat_template = "functiongemma";
    if (system)
        messages[n++] = (carat_message){.role = "system", .content = system};
    messages[n++] = (carat_message){.role = "user", .content = text};
    code = carat_render(model, messages, n, &options, ids, NULL, &err) == CARAT_OK ? DONE : fail_status(&err);
    free(system);
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
    if (o->system || o->system_file)
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
            code = settle_utf8("the prompt", &text, &n, o->lossy);
        if (code == DONE)
            code = encode(model, info, o, text, n, ids);
        free(text);
    }
    if (code == DONE && ids->n == 0)
        code = fail(USAGE, "the prompt is empty");
    return code;
}
