/* SPDX-License-Identifier: Apache-2.0 */
/* run.c: `carat run`: a prompt in, text out as it is drawn, speed on stderr at the end. Where the prompt
 * comes from is decided in prompt.c, how it is answered in converse.c; many at once are batch.c's. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ask/chat/chat.h"
#include "ask/converse.h"
#include "model/head.h"
#include "model/lookup.h"
#include "prompt/prompt.h"
#include "prompt/tool_command.h"
#include "term/interrupt.h"
#include "term/out_json.h"
#include "term/output.h"

struct run {
    struct converse with;
    struct conversation talk;
    carat_tokens prompt;
    int not_kept; /* exit code of a timeline that could not be written, or 0 */
};

static void print_timings(const struct run *r)
{
    const struct converse *c = &r->with;
    const carat_sampling *s = &c->sampling;
    struct speed_notes said;
    char names[SAMPLING_TEXT];

    speed_notes_begin(&said);
    if (!c->o->answer->no_perf) {
        note_speed(&said, "prompt", c->evaluated, r->prompt.n, speed_of(c->evaluated, c->prompt_s));
        note_speed(&said, "generation", c->ids.n, c->ids.n,
                   speed_of(from_passes(&c->generation), c->generation_s));
    }
    if (converse_draws(s) && (c->seed_is_random || c->o->verbose))
        speed_note_tell(&said, "seed %llu", (unsigned long long)s->seed);
    if (c->o->verbose) {
        speed_notes_flush(&said);
        speed_note_tell(&said, "loaded in %.2f s", c->load_s);
        speed_note_tell(&said, "prompt in %.2f s", c->prompt_s);
        speed_note_tell(&said, "generation in %.2f s", c->generation_s);
        note_thoughts(&said, c);
        speed_note_tell(&said, "stopped: %s", c->stop);
        speed_note_tell(&said, "temperature %g", (double)s->temperature);
        speed_note_tell(&said, "top-k %d", s->top_k);
        speed_note_tell(&said, "top-p %g", (double)s->top_p);
        speed_note_tell(&said, "min-p %g", (double)s->min_p);
        speed_note_tell(&said, "samplers %s", sampling_names(names, s));
        note_drafts(&said, &c->generation);
    }
    speed_notes_flush(&said);
}

static int print_json(const struct run *r)
{
    const struct converse *c = &r->with;
    json_t *timings = json_pack("{s:f, s:i, s:f, s:o, s:i, s:f, s:o}", "load_ms", c->load_s * 1e3, "prompt_n",
                                c->evaluated, "prompt_ms", c->prompt_s * 1e3, "prompt_per_second",
                                json_number(speed_of(c->evaluated, c->prompt_s)), "predicted_n", c->ids.n,
                                "predicted_ms", c->generation_s * 1e3, "predicted_per_second",
                                json_number(speed_of(from_passes(&c->generation), c->generation_s)));

    if (timings && !add_drafts(timings, &c->generation)) {
        json_decref(timings);
        timings = NULL;
    }
    /* a seed that was not given and decided nothing is not part of the result */
    if (timings && (converse_draws(&c->sampling) || !c->seed_is_random) &&
        json_object_set_new(timings, "seed", json_integer((json_int_t)c->sampling.seed)) != 0) {
        json_decref(timings);
        timings = NULL;
    }
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:s, s:o}", "prompt_ids", json_ids(r->prompt.ids, r->prompt.n), "ids",
                  json_ids(c->ids.ids, c->ids.n), "text", json_text(c->text ? c->text : "", c->n_text),
                  "stop", c->stop, "timings", timings);
    if (object && json_object_set_new(object, "sampling", sampling_json(&c->sampling)) != 0) {
        json_decref(object);
        object = NULL;
    }
    if (object && c->form.first)
        json_object_set_new(object, "forced", json_integer(c->generation.forced));
    if (object && c->thoughts.n_text)
        json_object_set_new(object, "thinking", json_text(c->thoughts.text, c->thoughts.n_text));
    tell_head(c->o, c->engine, object);
    told_json(&c->told, object);
    engine_report_json(&c->engine_report, c->engine, &c->generation, object);
    return out_json_with(object, c->o->answer->raw_calls ? NULL : "calls",
                         c->calls.list ? c->calls.list : "");
}

/* An answer whose timeline could not be kept is one all the same: the exit code comes at the end. */
static void keep(struct run *r, bool of_answer)
{
    const struct options *o = r->with.o;

    if (o->answer->prompt_cache && !o->answer->prompt_cache_ro && o->answer->prompt_cache_all == of_answer &&
        (of_answer || r->with.evaluated > 0))
        r->not_kept = converse_keep(&r->with);
}

/* The prompt once more, with the answer and the results of its calls behind it. */
static int prompt_with_results(struct run *r, struct talk *talk)
{
    char *messages = talk_json(talk);
    int code = messages ? DONE : fail_memory();

    free(r->talk.messages);
    r->talk.messages = messages;
    r->prompt.n = 0;
    return code == DONE ? conversation_render(&r->talk, r->with.model, NULL, &r->prompt, NULL) : code;
}

/* While an answer ends in calls, --tool-command answers them, and the model goes on. */
static int go_on_after_calls(struct run *r)
{
    struct converse *c = &r->with;
    const struct options *o = c->o;
    struct talk talk = {0};
    int code = conversation_talk(&r->talk, &talk), left = o->prompt->tool_rounds;

    while (code == DONE && strcmp(c->stop, "tool_calls") == 0 && left-- > 0) {
        code = talk_add_answer(&talk, c->model, &c->ids, c->began_inside, SIZE_MAX, true, r->talk.tools);
        if (code == DONE)
            code = tool_answer_calls(o->prompt->tool_command, &talk);
        if (code == DONE)
            code = prompt_with_results(r, &talk);
        if (code == DONE)
            code = converse_prompt(c, &r->prompt);
        c->behind_results = true;
        if (code == DONE && !c->stop)
            code = converse_answer(c);
    }
    if (code == DONE && strcmp(c->stop, "tool_calls") == 0)
        term_note("the last calls have no results: --tool-rounds %d is reached", o->prompt->tool_rounds);
    talk_close(&talk);
    return code;
}

/* Everything between the open model and the last line of output. */
static int answer(struct run *r)
{
    struct converse *c = &r->with;
    const struct options *o = c->o;
    int code = DONE;

    c->prints = !o->json;
    c->holds_calls = !o->answer->raw_calls && (o->json || o->prompt->tools);
    TRY(converse_start(c, r->talk.tools));
    TRY(converse_prompt(c, &r->prompt));
    if (!c->stop) {
        keep(r, false);
        code = converse_answer(c);
        if (code == DONE && o->prompt->tool_command)
            code = go_on_after_calls(r);
        if (code == INTERRUPTED)
            c->stop = "cancelled";
        else if (code != DONE)
            return code;
        keep(r, true);
    }
    if (o->json)
        code = print_json(r);
    else if (c->last_byte || strncmp(c->stop, "stop", 4) == 0) /* an answer, be it empty */
        converse_end_text(c);
    out_flush();
    told_end(&c->told, &c->generation, &c->ids, !o->json);
    if (c->shifts)
        term_note("the context of %d positions was full %d time%s, and %d token%s evaluated anew to go on",
                  carat_engine_context(c->engine), c->shifts, c->shifts == 1 ? "" : "s", c->shifted,
                  c->shifted == 1 ? " was" : "s were");
    else if (c->generation.context_full)
        term_note("the context of %d positions is full", carat_engine_context(c->engine));
    note_unfinished_thought(c);
    const int unfinished = note_unfinished_form(c);
    if (o->verbose || (!o->json && out_is_terminal() && isatty(STDERR_FILENO)))
        print_timings(r);
    engine_report_end(&c->engine_report, c->engine, &c->generation);
    if (code == DONE && strcmp(c->stop, "cancelled") == 0)
        return INTERRUPTED;
    int audits = converse_audits(c);
    if (code == DONE)
        code = r->not_kept;
    if (code == DONE)
        code = unfinished;
    return code == DONE ? audits : code;
}

/* Without a prompt there is a conversation, on a terminal or where --conversation asks for one. */
static bool is_conversation(const struct options *o, const carat_model_info *info)
{
    bool prompt = o->text || o->prompt->prompt || o->prompt->file || o->prompt->messages || o->prompt->ids;

    return o->prompt->talks || (!prompt && !o->prompt->raw && !o->json && isatty(STDIN_FILENO) &&
                                out_is_terminal() && (info->has_chat_template || o->prompt->chat_template));
}

int verb_run(const struct options *o)
{
    struct run r = {.with.o = o};
    int code;

    interrupt_install();
    if (o->answer->jsonl)
        return answer_lines(o);
    code = read_prompt_files(&r.talk, o, &r.prompt);
    if (code == DONE)
        code = converse_open(&r.with, o);
    if (code == DONE && is_conversation(o, &r.with.info)) {
        code = chat_begin(&r.with);
        conversation_free(&r.talk);
        converse_close(&r.with);
        return code;
    }
    if (code == DONE)
        code = make_prompt(r.with.model, &r.with.info, &r.talk, &r.prompt);
    if (code == DONE)
        code = answer(&r);
    conversation_free(&r.talk);
    carat_tokens_free(&r.prompt);
    converse_close(&r.with);
    return code == FAILED && !out_flush() ? DONE : code; /* a write error is out_finish's to report */
}
