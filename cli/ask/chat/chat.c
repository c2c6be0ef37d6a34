/* SPDX-License-Identifier: Apache-2.0 */
/* chat.c: `carat chat`: reads messages and commands, line by line, until the user leaves. */
#define _POSIX_C_SOURCE 200809L
#include "ask/chat/chat.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/input.h"
#include "model/engine.h"
#include "model/model.h"
#include "prompt/conversation.h"
#include "prompt/prompt.h"
#include "prompt/tool_command.h"
#include "term/interrupt.h"
#include "term/output.h"

static const char prompt[] = ">>> ", more[] = "... ", quotes[] = "\"\"\"";

/* ---- messages ---- */

/* A line that begins with three quotes is a message up to the next three, over as many lines as it takes.
 * *text is replaced. */
static enum line_end read_quoted(struct chat *c, char **text, size_t *n, int *code)
{
    char *line, *all = *text, *longer;
    size_t n_line, n_all = *n - 3;
    bool begun = n_all > 0; /* there is a line already */

    memmove(all, all + 3, n_all + 1);
    for (;;) {
        if (n_all >= 3 && strcmp(all + n_all - 3, quotes) == 0) {
            all[ *n = n_all - 3] = 0;
            *text = all;
            return LINE_READ;
        }
        enum line_end end = line_read(&c->lines, more, NULL, &line, &n_line, code);
        if (end == LINE_OVER && !c->by_hand) {
            *code = term_fail(USAGE, "standard input ends before the \"\"\" that ends a message");
            end = LINE_FAILED;
        }
        longer = end == LINE_READ ? realloc(all, n_all + n_line + 2) : NULL;
        if (!longer) {
            free(line);
            free(all);
            *text = NULL;
            if (end == LINE_READ)
                *code = fail_memory();
            return end == LINE_READ ? LINE_FAILED : end == LINE_OVER ? LINE_DROPPED : end;
        }
        all = longer;
        if (begun)
            all[n_all++] = '\n';
        begun = true;
        memcpy(all + n_all, line, n_line + 1);
        n_all += n_line;
        free(line);
    }
}

static int check_text(struct chat *c, char **text, size_t *n)
{
    char what[48] = "the message";

    if (!c->lines.edit)
        snprintf(what, sizeof what, "line %d of standard input", c->lines.number);
    if (strlen(*text) != *n)
        return term_fail(USAGE, "%s has a NUL byte at offset %zu", what, strlen(*text));
    return settle_utf8(what, text, n, c->o.prompt->lossy);
}

/* A message of the user, behind what /read has put there. */
static int take_message(struct chat *c, const char *text)
{
    size_t n = c->before ? strlen(c->before) + 2 : 0;
    char *all = malloc(n + strlen(text) + 1);
    int code;

    if (!all)
        return fail_memory();
    sprintf(all, "%s%s%s", c->before ? c->before : "", c->before ? "\n\n" : "", text);
    code = talk_add_user(&c->talk, all);
    free(all);
    free(c->before);
    c->before = NULL;
    c->with->sampling.number = 0;
    c->rounds = 0;
    c->turn_due = code == DONE;
    return code;
}

/* Does what a line asks for. While a called function waits for its result, the line is that result, unless it
 * is a command. */
static int take_line(struct chat *c, char *text)
{
    bool waits = talk_awaits(&c->talk) != NULL;
    int code;

    if (!waits && !text[strspn(text, " \t\n")] && !c->before)
        return DONE;
    edit_remember(c->lines.edit, text);
    if (command_is(text))
        return command_do(c, text);
    if (!waits)
        return take_message(c, text);
    code = talk_add_result(&c->talk, text);
    c->turn_due = code == DONE && !talk_awaits(&c->talk);
    return code;
}

/* One line, or several between quotes, and what they ask for. An exit code. */
static int read_turn(struct chat *c)
{
    const char *name = talk_awaits(&c->talk);
    char *text, ask[96];
    size_t n;
    int code;

    snprintf(ask, sizeof ask, name ? "result of %.60s> " : "%s", name ? name : prompt);
    enum line_end end = line_read(&c->lines, ask, NULL, &text, &n, &code);
    if (end == LINE_READ && strncmp(text, quotes, 3) == 0)
        end = read_quoted(c, &text, &n, &code);
    c->leaves = end == LINE_LEFT || end == LINE_OVER || end == LINE_FAILED;
    if (end == LINE_LEFT && !c->by_hand)
        code = INTERRUPTED;
    if (end == LINE_READ)
        code = check_text(c, &text, &n);
    if (end == LINE_READ && code == DONE)
        code = take_line(c, text);
    free(text);
    return code;
}

/* ---- turns ---- */

/* The calls of an answer: --tool-command gives their results, as often as it may; else they are asked for. */
static int take_results(struct chat *c)
{
    int most = c->o.prompt->tool_rounds, code;

    if (!c->o.prompt->tool_command)
        return DONE;
    if (c->rounds++ == most) {
        term_note("--tool-rounds %d is reached: the next line is the result", most);
        return DONE;
    }
    code = tool_answer_calls(c->o.prompt->tool_command, &c->talk);
    c->turn_due = code == DONE;
    return code;
}

static int take_turn(struct chat *c)
{
    int code;

    c->turn_due = false;
    code = turn_answer(c);
    if (talk_awaits(&c->talk)) /* the turn goes on */
        return code == DONE ? take_results(c) : code;
    if (c->lines.edit)
        out_print("\n");
    out_flush();
    c->leaves = c->o.prompt->single_turn;
    return code;
}

static int chat_loop(struct chat *c)
{
    int code = DONE;

    while (!c->leaves) {
        code = c->turn_due ? take_turn(c) : read_turn(c);
        bool ends = !c->by_hand || code == NO_MEMORY || !out_flush();
        if (code != DONE && ends)
            break;
        if (code != DONE)
            c->turn_due = false;
    }
    return code;
}

/* ---- beginning and end ---- */

/* Gives snapshots their memory, so that what was spoken of stays at hand. */
static int take_snapshots(struct chat *c)
{
    carat_engine_options engine;
    int code;

    engine_options(&engine, &c->o);
    code = choose_snapshots(&engine, c->with->model);
    ((struct engine_options *)options_group(&c->o, GROUP_OF_engine))->snapshots = engine.snapshot_bytes;
    return code;
}

static int chat_start(struct chat *c, const struct conversation *files)
{
    c->tools = files->tools;
    TRY(talk_open(&c->talk));
    TRY(talk_set_system(&c->talk, files->system));
    TRY(take_snapshots(c));
    c->with->prints = true;
    c->with->holds_calls = c->tools != NULL;
    int code = converse_start(c->with, c->tools);
    struct draw_options *draw = options_group(&c->o, GROUP_OF_draw);
    draw->seed = (int64_t)c->with->sampling.seed; /* it stays, whatever else is set */
    return code;
}

static int check_chat(const struct chat *c)
{
    const struct options *o = &c->o;

    if (!c->with->info.has_chat_template && !o->prompt->chat_template)
        return term_fail(USAGE,
                         "chat: %s has no chat template to talk by; --chat-template gives it one, "
                         "carat run %s PROMPT continues a text",
                         o->model, o->model);
    if (o->prompt->tool_command && !o->prompt->tools)
        return term_fail(USAGE, "chat: --tool-command answers calls of functions, which --tools declares");
    if (o->prompt->system && o->prompt->system_file)
        return term_fail(USAGE, "chat: both -sys and -sysf are given");
    return conversation_check(o, c->with->model);
}

static int chat_talk(struct chat *c)
{
    int code = DONE;

    lines_open(&c->lines, command_word, c->o.verbose);
    if (c->lines.edit)
        fprintf(stderr, "%s%.40s: /help lists the commands, Ctrl-D leaves%s\n", dim_on(),
                model_name(c->o.model), dim_off());
    if (c->o.prompt->prompt)
        code = take_message(c, c->o.prompt->prompt);
    if (code == DONE)
        code = chat_loop(c);
    lines_close(&c->lines);
    if (c->o.answer->prompt_cache && c->o.answer->prompt_cache_all && !c->o.answer->prompt_cache_ro &&
        c->begun) {
        int kept = converse_keep(c->with);
        code = code == DONE ? kept : code;
    }
    return code;
}

int chat_begin(struct converse *with)
{
    const struct options *o = with->o;
    struct chat c = {.with = with, .by_hand = isatty(STDIN_FILENO)};
    struct conversation files = {0};

    TRY(options_copy(&c.o, o));
    int code = check_chat(&c);
    if (code == DONE)
        code = conversation_read(&files, o);
    with->o = &c.o;
    if (code == DONE)
        code = chat_start(&c, &files);
    if (code == DONE)
        code = chat_talk(&c);
    if (with->engine)
        engine_report_end(&with->engine_report, with->engine, &with->generation);
    if (code == DONE)
        code = converse_audits(with);
    with->o = o;
    talk_close(&c.talk);
    conversation_free(&files);
    free(c.before);
    options_free(&c.o);
    return code == FAILED && !out_flush() ? DONE : code; /* a write error is out_finish's to report */
}

int verb_chat(const struct options *o)
{
    struct converse with = {.o = o};
    int code;

    interrupt_install();
    code = converse_open(&with, o);
    if (code == DONE)
        code = chat_begin(&with);
    converse_close(&with);
    return code;
}
