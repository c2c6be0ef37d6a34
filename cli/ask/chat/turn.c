/* SPDX-License-Identifier: Apache-2.0 */
/* turn.c: one answer of the model: the whole conversation is rendered, what is new of it evaluated, and the
 * answer put behind it. Drawing and printing are converse.c's. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ask/chat/chat.h"
#include "io/input.h"
#include "model/lookup.h"
#include "prompt/calls.h"
#include "prompt/prompt.h"
#include "term/interrupt.h"

static void note_tools(void *user, const char *line)
{
    struct chat *c = user;

    if (!c->noted)
        term_note("%s: %s", input_name(c->o.prompt->tools), line);
}

int turn_render(struct chat *c, bool answers, carat_tokens *ids)
{
    char *messages = talk_json(&c->talk);
    carat_render_options options;
    carat_render_options_default(&options);
    carat_error err;
    int code = DONE;

    if (!messages)
        return fail_memory();
    options.tools = c->tools;
    options.chat_template = c->o.prompt->chat_template;
    options.no_generation_prompt = !answers;
    options.thinking = reasoning_on(&c->o);
    options.log = note_tools;
    options.progress = NULL;
    options.user = c;
    if (carat_render_json(c->with->model, messages, &options, ids, NULL, &err) != CARAT_OK)
        code = conversation_fail(&c->o, &err);
    c->noted = true;
    free(messages);
    return code;
}

/* With a hint that works. */
static int conversation_too_long(const struct chat *c, int n)
{
    int context = carat_engine_context(c->with->engine), most = c->with->info.max_context;

    if (n >= most)
        return fail_as(FAILED, CARAT_E_CONTEXT,
                       "the conversation has %d tokens, and the context of this model %d positions: /undo "
                       "takes messages back, /clear begins anew",
                       n, most);
    return fail_as(FAILED, CARAT_E_CONTEXT,
                   "the conversation has %d tokens and the context %d positions: /undo takes messages back, "
                   "/clear begins anew, -c %d would make room",
                   n, context, most - n < 256 ? most : n + 256);
}

static void note_turn(const struct chat *c, int n)
{
    const struct converse *w = c->with;
    struct speed_notes r;

    speed_notes_begin(&r);
    note_speed(&r, "prompt", w->evaluated, n, speed_of(w->evaluated, w->prompt_s));
    note_speed(&r, "generation", w->ids.n, w->ids.n, speed_of(from_passes(&w->generation), w->generation_s));
    speed_note_tell(&r, "prompt in %.2f s", w->prompt_s);
    speed_note_tell(&r, "generation in %.2f s", w->generation_s);
    note_thoughts(&r, w);
    speed_note_tell(&r, "stopped: %s", w->stop);
    note_drafts(&r, &w->generation);
    if (converse_draws(&w->sampling))
        speed_note_tell(&r, "seed %llu", (unsigned long long)w->sampling.seed);
    speed_notes_flush(&r);
}

/* The timeline of the first prompt, unless that of the answers is wanted. */
static void keep_prompt(struct chat *c)
{
    const struct options *o = &c->o;

    if (!c->begun && o->answer->prompt_cache && !o->answer->prompt_cache_ro && !o->answer->prompt_cache_all &&
        c->with->evaluated > 0)
        (void)converse_keep(c->with);
    c->begun = true;
}

static bool was_stopped(const struct chat *c)
{
    return c->with->stop && strcmp(c->with->stop, carat_reason_name(CARAT_REASON_CANCELLED)) == 0;
}

static int turn_evaluate(struct chat *c, const carat_tokens *prompt)
{
    int code;

    if (prompt->n >= carat_engine_context(c->with->engine))
        return conversation_too_long(c, prompt->n);
    c->with->ids.n = 0;
    if ((code = converse_prompt(c->with, prompt)) != DONE || was_stopped(c))
        return code;
    keep_prompt(c);
    code = converse_answer(c->with);
    if (code == DONE || c->with->last_byte)
        converse_end_text(c->with);
    if (code == DONE)
        told_end(&c->with->told, &c->with->generation, &c->with->ids, true);
    return code;
}

int turn_answer(struct chat *c)
{
    struct converse *w = c->with;
    carat_tokens prompt = {0};
    int code;

    interrupt_install();
    code = turn_render(c, true, &prompt);
    w->behind_results = talk_ends_with_result(&c->talk);
    if (code == DONE)
        code = turn_evaluate(c, &prompt);
    size_t said = w->generation.reason == CARAT_REASON_STOP_STRING ? w->n_said : SIZE_MAX;
    if (code == DONE && was_stopped(c) && (w->ids.n == 0 || w->ids.n == w->generation.thought_ids))
        term_note("stopped before an answer began: the message is taken back");
    else if (code == DONE)
        code = talk_add_answer(&c->talk, w->model, &w->ids, w->began_inside, said, calls_any(&w->calls),
                               c->tools);
    talk_drop_unanswered(&c->talk);
    if (code == DONE && w->generation.context_full)
        term_note("the context of %d positions is full: /clear begins anew, /undo takes messages back",
                  carat_engine_context(w->engine));
    if (code == DONE)
        note_unfinished_thought(w);
    if (code == DONE)
        (void)note_unfinished_form(w); /* the conversation goes on */
    if (code == DONE && c->o.verbose)
        note_turn(c, prompt.n);
    if (code == DONE && was_stopped(c) && !c->by_hand)
        code = INTERRUPTED;
    carat_tokens_free(&prompt);
    return code;
}
