/* SPDX-License-Identifier: Apache-2.0 */
/* chat_command.c: what a line that begins with / asks for. */
#define _POSIX_C_SOURCE 200809L
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/chat/chat.h"
#include "io/input.h"
#include "model/model.h"
#include "options/store.h"
#include "prompt/conversation.h"
#include "prompt/prompt.h"

struct command {
    const char *name, *other; /* as typed; NULL: no other name */
    const char *args, *help;
    bool needs; /* its argument */
    int (*run)(struct chat *c, const char *argument);
};

/* ---- what changes the conversation ---- */

static int do_clear(struct chat *c, const char *argument)
{
    (void)argument;
    while (talk_back(&c->talk, true))
        ;
    free(c->before);
    c->before = NULL;
    return DONE;
}

static int no_message(void)
{
    return term_fail(USAGE, "there is no message of yours yet");
}

static int do_regen(struct chat *c, const char *argument)
{
    (void)argument;
    if (!talk_back(&c->talk, false))
        return no_message();
    c->with->sampling.number++;
    if (c->with->sampling.temperature == 0 || c->with->sampling.top_k == 1)
        term_note(
            "nothing is drawn with this sampling: the answer will be the same; /set temp 1 changes that");
    c->turn_due = true;
    return DONE;
}

/* The message comes back into the line, or gets the text that is given. */
static int do_edit(struct chat *c, const char *argument)
{
    const char *last = talk_last_user(&c->talk);
    char *text = NULL;
    size_t n;
    int code = DONE;

    if (!last)
        return no_message();
    if (!*argument && !c->lines.edit)
        return term_fail(USAGE, "/edit needs the new text where lines cannot be edited: /edit TEXT");
    if (*argument) {
        text = strdup(argument);
    } else if (line_read(&c->lines, ">>> ", last, &text, &n, &code) != LINE_READ || !*text) {
        free(text); /* as it was */
        return code;
    }
    if (!text)
        return fail_memory();
    edit_remember(c->lines.edit, text);
    talk_back(&c->talk, true);
    code = talk_add_user(&c->talk, text);
    c->with->sampling.number = 0;
    c->turn_due = code == DONE;
    free(text);
    return code;
}

static int do_undo(struct chat *c, const char *argument)
{
    (void)argument;
    return talk_back(&c->talk, true) ? DONE : no_message();
}

/* ---- files ---- */

/* ~ is the user's folder; for free. */
static char *path_of(const char *name)
{
    const char *home = getenv("HOME");
    size_t n = strlen(name) + (home ? strlen(home) : 0) + 1;
    char *path = malloc(n);

    if (path)
        snprintf(path, n, "%s%s", name[0] == '~' && name[1] == '/' && home ? home : "",
                 name[0] == '~' && name[1] == '/' && home ? name + 1 : name);
    return path;
}

/* Behind what was read before. */
static int add_before(struct chat *c, const char *text)
{
    size_t n = c->before ? strlen(c->before) : 0;
    char *longer = realloc(c->before, n + strlen(text) + 3);

    if (!longer)
        return fail_memory();
    sprintf(longer + n, "%s%s", n ? "\n\n" : "", text);
    c->before = longer;
    return DONE;
}

static int do_read(struct chat *c, const char *argument)
{
    char *path = path_of(argument), *text = NULL;
    size_t n = 0;
    int code = path ? read_json_text(path, &text) : fail_memory();

    if (code == DONE) {
        n = strlen(text);
        code = settle_utf8(path, &text, &n, c->o.prompt->lossy);
    }
    if (code == DONE)
        code = add_before(c, text);
    if (code == DONE)
        term_note("%s: %zu bytes, which go before your next message", path, n);
    free(text);
    free(path);
    return code;
}

/* A session that lacks everything has nothing to save: then the conversation is evaluated. */
static int evaluate_all(struct chat *c)
{
    carat_tokens ids = {0};
    carat_error err;
    int code = DONE;

    if (carat_tokens_held(c->with->session, NULL) > 0)
        return DONE;
    code = turn_render(c, false, &ids);
    if (code == DONE && carat_sync(c->with->session, ids.ids, ids.n, NULL, &err) != CARAT_OK)
        code = fail_status(&err);
    carat_tokens_free(&ids);
    return code;
}

static int do_save(struct chat *c, const char *argument)
{
    char *path = path_of(argument), *messages = talk_json(&c->talk);
    carat_error err;
    int code = DONE;

    if (!path || !messages)
        code = fail_memory();
    else if (talk_count(&c->talk) == 0)
        code = term_fail(USAGE, "there is no conversation yet to save");
    else
        code = evaluate_all(c);
    if (code == DONE && carat_save(c->with->session, path, messages, strlen(messages), &err) != CARAT_OK)
        code = fail_status(&err);
    if (code == DONE)
        term_note("%s has the conversation now", path);
    free(messages);
    free(path);
    return code;
}

/* K and V that cannot be used are evaluated with the next message. */
static int do_load(struct chat *c, const char *argument)
{
    char *path = path_of(argument), *messages = NULL;
    size_t n;
    carat_error err;
    int code = DONE;

    if (!path)
        return fail_memory();
    if (carat_load_note(path, &messages, &n, &err) != CARAT_OK)
        code = err.code == CARAT_E_MEMORY ? fail_status(&err) /* other codes of it speak of the model */
                                          : fail_as(FAILED, err.code, "%s", err.message);
    else if (!talk_read(&c->talk, messages, n))
        code = term_fail(FAILED, "%s: is a timeline file without a conversation", path);
    if (code == DONE && carat_load(c->with->session, path, NULL, NULL, &err) != CARAT_OK)
        term_note("%s; the conversation is evaluated with your next message", err.message);
    if (code == DONE)
        term_note("%s: %zu messages", path, talk_count(&c->talk));
    carat_free(messages);
    free(path);
    return code;
}

/* ---- values ---- */

static const struct {
    const char *name, *option;
} values[] = {
    {"temp", "--temp"},
    {"top-k", "--top-k"},
    {"top-p", "--top-p"},
    {"min-p", "--min-p"},
    {"seed", "--seed"},
    {"predict", "--predict"},
    {"reasoning", "--reasoning"},
    {"repeat-penalty", "--repeat-penalty"},
    {"frequency-penalty", "--frequency-penalty"},
    {"presence-penalty", "--presence-penalty"},
    {"repeat-last-n", "--repeat-last-n"},
    {"dry-multiplier", "--dry-multiplier"},
    {"typical", "--typical"},
    {"xtc-probability", "--xtc-probability"},
    {"xtc-threshold", "--xtc-threshold"},
};
enum { N_VALUES = sizeof values / sizeof values[0] };

static const char *value_name(void *user, int i)
{
    (void)user;
    return i < N_VALUES ? values[i].name : i == N_VALUES ? "system" : NULL;
}

static void tell_values(const struct chat *c)
{
    const carat_sampling *s = &c->with->sampling;
    char text[SAMPLING_TEXT];

    chat_tell(c, "temp %g, top-k %d, top-p %g, min-p %g, seed %llu, predict %d\n", (double)s->temperature,
              s->top_k, (double)s->top_p, (double)s->min_p, (unsigned long long)s->seed,
              c->o.answer->predict);
    if (c->with->info.can_think || strcmp(reasoning_word(&c->o), "auto") != 0)
        chat_tell(c, "reasoning %s\n", reasoning_word(&c->o));
    if (s->chain)
        chat_tell(c, "samplers %s\n", sampling_text(text, s));
}

static int do_set(struct chat *c, const char *argument)
{
    size_t n = strcspn(argument, " ");
    const char *text = argument + n + strspn(argument + n, " ");
    char name[32], what[48];
    struct options before;
    int i = 0, code;

    if (!*argument) {
        tell_values(c);
        return DONE;
    }
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), argument);
    if (strcmp(name, "system") == 0)
        return talk_set_system(&c->talk, text);
    while (i < N_VALUES && strcmp(name, values[i].name) != 0)
        i++;
    if (i == N_VALUES) {
        const char *meant = term_nearest(name, value_name, NULL);
        return term_fail(USAGE, "/set: there is no value '%s'%s%s", name,
                         meant
                             ? "; did you mean "
                             : "; there are temp, top-k, top-p, min-p, seed, predict, reasoning, system and "
                               "others of --help-all",
                         meant ? meant : "");
    }
    if (!*text)
        return term_fail(USAGE, "/set %s needs a value", name);
    snprintf(what, sizeof what, "/set %s", name);
    before = c->o;
    if ((code = options_copy(&c->o, &before)) != DONE)
        return code;
    code = option_store(&c->o, option_named(c->o.verb, values[i].option), what, text);
    struct reasoning_options *reasoning = options_group(&c->o, GROUP_OF_reasoning);
    reasoning->reasoning = reasoning_word(&c->o); /* not the text, which goes */
    if (code == DONE)
        code = conversation_check(&c->o, c->with->model);
    if (code == DONE)
        code = converse_sampling(c->with);
    options_free(code == DONE ? &before : &c->o);
    if (code != DONE)
        c->o = before;
    return code;
}

static int do_show(struct chat *c, const char *argument)
{
    const char *system = talk_system(&c->talk);

    (void)argument;
    chat_tell(c, "model %s, context %d of %d positions, %zu message%s\n", model_name(c->o.model),
              carat_tokens_held(c->with->session, NULL), carat_engine_context(c->with->engine),
              talk_count(&c->talk), talk_count(&c->talk) == 1 ? "" : "s");
    tell_values(c);
    if (system)
        chat_tell(c, "system: %s\n", system);
    return DONE;
}

static int do_bye(struct chat *c, const char *argument)
{
    (void)argument;
    c->leaves = true;
    return DONE;
}

static int do_help(struct chat *c, const char *argument);

static const struct command commands[] = {
    {"/help", "/?", "", "these lines", false, do_help},
    {"/regen", NULL, "", "answer again, drawn otherwise", false, do_regen},
    {"/edit", NULL, "[TEXT]", "change your last message", false, do_edit},
    {"/undo", NULL, "", "take your last message and its answer back", false, do_undo},
    {"/clear", NULL, "", "forget all messages but the system's", false, do_clear},
    {"/read", NULL, "FILE", "put the text of FILE before your next message", true, do_read},
    {"/save", NULL, "FILE", "keep the conversation in FILE", true, do_save},
    {"/load", NULL, "FILE", "go on with what /save kept", true, do_load},
    {"/set", NULL, "[NAME VALUE]", "temp, top-k, top-p, min-p, seed, predict, reasoning, system", false,
     do_set},
    {"/show", NULL, "", "the model, its context and the values of /set", false, do_show},
    {"/bye", "/exit", "", "leave, as Ctrl-D does", false, do_bye},
    {"/quit", "/q", "", "the same", false, do_bye},
};
enum { N_COMMANDS = sizeof commands / sizeof commands[0], HELP_INDENT = 20 };

static int do_help(struct chat *c, const char *argument)
{
    char name[HELP_INDENT * 2];

    (void)argument;
    for (int i = 0; i < N_COMMANDS; i++) {
        const struct command *d = &commands[i];
        snprintf(name, sizeof name, "%s%s%s%s%s", d->name, d->other ? " " : "", d->other ? d->other : "",
                 *d->args ? " " : "", d->args);
        chat_tell(c, "%-*s%s\n", HELP_INDENT, name, d->help);
    }
    chat_tell(c, "%-*s%s\n", HELP_INDENT, "\"\"\"", "begins and ends a message of several lines");
    chat_tell(c, "%-*s%s\n", HELP_INDENT, "Ctrl-C", "ends an answer");
    return DONE;
}

const char *command_word(int i)
{
    /* every first name, then every other one */
    if (i < N_COMMANDS)
        return commands[i].name;
    for (int k = 0; k < N_COMMANDS; k++)
        if (commands[k].other && i-- == N_COMMANDS)
            return commands[k].other;
    return NULL;
}

static const char *next_word(void *user, int i)
{
    (void)user;
    return command_word(i);
}

/* The bytes of the first word. */
static size_t word_of(const char *line)
{
    return strcspn(line, " \t\n");
}

bool command_is(const char *line)
{
    size_t n = word_of(line), i = 1;

    if (line[0] != '/' || n < 2)
        return false;
    while (i < n && (isalpha((unsigned char)line[i]) || line[i] == '?'))
        i++;
    return i == n;
}

int command_do(struct chat *c, const char *line)
{
    size_t n = word_of(line), end = strlen(line);
    char name[32], *argument;
    int i = 0, code;

    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), line);
    while (i < N_COMMANDS && strcmp(name, commands[i].name) != 0 &&
           !(commands[i].other && strcmp(name, commands[i].other) == 0))
        i++;
    if (i == N_COMMANDS) {
        const char *meant = term_nearest(name, next_word, NULL);
        return term_fail(USAGE, "there is no command %s; %s%s", name,
                         meant ? "did you mean " : "/help lists them", meant ? meant : "");
    }
    n += strspn(line + n, " \t\n");
    while (end > n && strchr(" \t\n", line[end - 1]))
        end--;
    if (commands[i].needs && n == end)
        return term_fail(USAGE, "%s needs %s", name, commands[i].args);
    if (!*commands[i].args && n < end)
        return term_fail(USAGE, "%s takes no more words", name);
    if (!(argument = strndup(line + n, end - n)))
        return fail_memory();
    code = commands[i].run(c, argument);
    free(argument);
    return code;
}
