/* SPDX-License-Identifier: Apache-2.0 */
/* converse.c: a prompt, and the answer to it. The loop is the library's (carat_generate); here is what
 * becomes of its text. */
#define _POSIX_C_SOURCE 200809L
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ask/converse.h"
#include "io/input.h"
#include "model/engine.h"
#include "model/head.h"
#include "model/lookup.h"
#include "model/model.h"
#include "options/written.h"
#include "prompt/prompt.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/output.h"

/* The options about answers. */
#define AT(field) offsetof(struct answer_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_GENERATION + 10, {"-n", "--predict", "--n-predict", "--max-tokens"}, INT, AT(predict), GENERATES, "N", "-1",
     "generate at most N tokens (default {default}: to the end of the context)", -1, INT_MAX},
    {ABOUT_GENERATION + 240, {"--context-shift"}, FLAG, AT(context_shift), "/ run", NULL, NULL,
     "when the context is full, drop the older half of it and continue", 0, 0},
    {ABOUT_GENERATION + 250, {"--keep"}, INT, AT(keep), "/ run", "N", "0",
     "with --context-shift: how many first tokens of the prompt are kept, besides <bos>; -1 is all "
     "(default {default})", -1, INT_MAX},
    {ABOUT_INPUT + 207, {"--jsonl"}, READS, AT(jsonl), "/ run", "FILE", NULL,
     "answer a prompt a line, {\"prompt\": ...}, {\"messages\": ...} or {\"ids\": ...}, several together; print one "
     "{\"line\", \"ids\", \"text\", \"stop\"} a line", 0, 0},
    {ABOUT_COMPUTING + 262, {"--parallel", "-np"}, INT, AT(parallel), "/ run", "N", "8",
     "the most answers of --jsonl that are drawn together, if memory has room (default {default})", 1, 256},
    {ABOUT_OUTPUT + 70, {"--raw-calls"}, FLAG, AT(raw_calls), "/ run", NULL, NULL,
     "print function calls as the model wrote them", 0, 0},
    {ABOUT_COMPUTING + 240, {"--prompt-cache"}, TEXT, AT(prompt_cache), "/ " GENERATES, "FILE", NULL,
     "continue from the evaluated prompt in FILE, and write this one there", 0, 0},
    {ABOUT_COMPUTING + 250, {"--prompt-cache-all"}, FLAG, AT(prompt_cache_all), "/ " GENERATES, NULL, NULL,
     "write the answer there, too", 0, 0},
    {ABOUT_COMPUTING + 260, {"--prompt-cache-ro"}, FLAG, AT(prompt_cache_ro), "/ " GENERATES, NULL, NULL,
     "only read that FILE", 0, 0},
    {ABOUT_MESSAGES + 40, {"--log-jsonl"}, WRITES, AT(log_jsonl), "/ " GENERATES, "FILE", NULL,
     "append a line of JSON for each load, prompt and generation: numbers only, no text", 0, 0},
    {ABOUT_MESSAGES + 50, {"--no-perf"}, FLAG, AT(no_perf), "/ run", NULL, NULL,
     "do not print speed", 0, 0},
};
/* clang-format on */

const struct option_group answer_group = OPTION_GROUP(rows, struct answer_options, NULL);

/* Their number is the library's to limit; a message about it should not come after a long load. */
static int read_stop_ids(struct converse *c)
{
    TRY(read_ids(c->o->told->stop_ids, "--stop-ids", &c->stop_ids));
    if (c->stop_ids.n > CARAT_MOST_STOP_IDS)
        return term_fail(USAGE, "--stop-ids has %d ids, at most %d are taken", c->stop_ids.n,
                         CARAT_MOST_STOP_IDS);
    return DONE;
}

/* Nor should this come after the answer. */
static int check_kept(const struct options *o)
{
    const char *kept = o->receipt->file ? "--receipt" : o->answer->prompt_cache ? "--prompt-cache" : NULL;

    if (kept && strcmp(o->engine->arith, "tensor") == 0)
        return term_fail(
            USAGE,
            "options %s and --arith tensor: what is kept has bits that every device gives, and those of "
            "tensor are not",
            kept);
    return DONE;
}

int converse_open(struct converse *c, const struct options *o)
{
    carat_error err;
    double start = term_seconds();

    c->o = o;
    c->info.size = sizeof c->info;
    c->calls.start = -1;
    if (o->told->stop_ids && *o->told->stop_ids)
        TRY(read_stop_ids(c));
    TRY(told_check(o));
    TRY(check_lookup(o));
    TRY(sampling_check(o));
    TRY(form_check(o, o->prompt->tools, o->told->ignore_eos));
    TRY(receipts_check(o, o->answer->context_shift));
    TRY(check_kept(o));
    TRY(open_packed(&c->model, o));
    c->load_s = term_seconds() - start;
    if (carat_model_get_info(c->model, &c->info, &err) != CARAT_OK)
        return fail_status(&err);
    TRY(told_open(&c->told, o, c->model, c->info.n_vocab));
    return check_spares_model(o, c->model);
}

/* ---- sampling ---- */

/* 32 bits are enough to tell runs apart and short enough to type. */
static int64_t random_seed(void)
{
    uint32_t seed;
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0 && read(fd, &seed, sizeof seed) == (ssize_t)sizeof seed;

    if (fd >= 0)
        close(fd);
    if (!good) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        seed = (uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec << 12 ^ (uint32_t)getpid();
    }
    return seed;
}

int converse_sampling(struct converse *c)
{
    const struct options *o = c->o;

    TRY(sampling_take(&c->how, c->model, o));
    c->sampling = c->how.s;
    c->seed_is_random = o->draw->seed < 0;
    c->sampling.seed = (uint64_t)(c->seed_is_random ? random_seed() : o->draw->seed);
    c->sampling.banned = c->told.banned.ids;
    c->sampling.n_banned = c->told.banned.n;
    return DONE;
}

bool converse_draws(const carat_sampling *s)
{
    return s->temperature > 0 && s->top_k != 1;
}

/* Checks --keep before anything is loaded, by the plan: the tokens that stay have to leave room. */
static int check_keep(const struct converse *c, const carat_engine_options *engine)
{
    carat_plan plan = {.size = sizeof plan};
    carat_error err;

    if (!c->o->answer->keep)
        return DONE;
    if (!c->o->answer->context_shift)
        term_note("--keep changes nothing without --context-shift");
    else if (carat_plan_engine(c->model, engine, &plan, &err) != CARAT_OK)
        return fail_status(&err);
    else if (c->o->answer->keep >= plan.context)
        return term_fail(USAGE, "option --keep: %d tokens are not less than the %d positions of the context",
                         c->o->answer->keep, plan.context);
    return DONE;
}

/* As many answers together as have room. */
static void fit_together(struct converse *c, carat_engine_options *engine)
{
    carat_plan plan = {.size = sizeof plan};

    while (c->together > 1 && carat_plan_engine(c->model, engine, &plan, NULL) == CARAT_E_MEMORY)
        engine->sessions = c->together /= 2;
}

int converse_engine(struct converse *c, const char *tools)
{
    carat_engine_options engine;

    TRY(converse_sampling(c));
    if (c->o->reasoning->budget >= 0 && !c->info.can_think && !c->o->prompt->chat_template)
        term_note("--reasoning-budget changes nothing: the model's template has no thoughts");
    TRY(form_open(&c->form, c->o, c->model, tools));
    if (c->info.has_tokenizer && c->holds_calls)
        calls_start(&c->calls, c->model, tools);
    TRY(engine_report_begin(&c->engine_report, &engine, c->o));
    engine.sessions = c->together;
    TRY(fit_engine(&engine, c->model, c->o));
    fit_together(c, &engine);
    TRY(engine_report_costs(&c->engine_report, c->model, &engine));
    TRY(check_keep(c, &engine));
    TRY(create_engine(&c->engine, c->model, &engine));
    log_load(c);
    return engine_report_engine(&c->engine_report, c->engine);
}

static int open_session(struct converse *c)
{
    carat_session_options session;
    carat_session_options_default(&session);
    carat_error err;

    session.watch = progress_update;
    session.user = &c->bar;
    session.sampling = &c->sampling;
    return carat_session_create(&c->session, c->engine, &session, &err) == CARAT_OK ? DONE
                                                                                    : fail_status(&err);
}

int converse_start(struct converse *c, const char *tools)
{
    TRY(converse_engine(c, tools));
    return open_session(c);
}

int converse_join(struct converse *c, const struct converse *with, const char *tools)
{
    *c = (struct converse){
        .o = with->o,
        .model = with->model,
        .info = with->info,
        .engine = with->engine,
        .sampling = with->sampling,
        .stop_ids = with->stop_ids,
        .told = {.o = with->o, .model = with->model},
        .form = {.first = with->form.first, .options = with->form.options, .model = with->model},
        .holds_calls = with->holds_calls,
        .calls.start = -1};
    if (c->info.has_tokenizer && c->holds_calls)
        calls_start(&c->calls, c->model, tools);
    return open_session(c);
}

/* ---- prompt ---- */

/* With a hint that works: room for the prompt and for an answer, as far as the model goes. */
static int too_long(const struct converse *c, int n, int context)
{
    int most = c->info.max_context, answer = c->o->answer->predict > 0 ? c->o->answer->predict : 256;
    int room = most - n < answer ? most : n + answer;

    if (n >= most)
        return fail_as(FAILED, CARAT_E_CONTEXT,
                       "the prompt has %d tokens, the context %d positions and the model %d", n, context,
                       most);
    return fail_as(FAILED, CARAT_E_CONTEXT,
                   "the prompt has %d tokens and the context %d positions; -c %d makes room for it", n,
                   context, room);
}

/* Loads the session of --prompt-cache. It is a help and never needed: a file that is of no use is noted. */
static void take_kept(const struct converse *c)
{
    const char *path = c->o->answer->prompt_cache;
    carat_error err;
    carat_status status = path ? carat_load(c->session, path, NULL, NULL, &err) : CARAT_OK;

    if (status != CARAT_OK && status != CARAT_E_NOT_FOUND)
        term_note("%s; the prompt is evaluated", err.message);
}

int converse_keep(struct converse *c)
{
    carat_error err;

    if (carat_save(c->session, c->o->answer->prompt_cache, NULL, 0, &err) != CARAT_OK)
        return fail_status(&err);
    return DONE;
}

static carat_status sync_prompt(struct converse *c, const carat_tokens *prompt, carat_error *err)
{
    int reused = 0;

    progress_begin(&c->bar, "prompt", "tok");
    carat_status status = carat_sync(c->session, prompt->ids, prompt->n, &reused, err);
    progress_end(&c->bar);
    c->evaluated = carat_tokens_held(c->session, NULL) - reused;
    return status;
}

int converse_prompt(struct converse *c, const carat_tokens *prompt)
{
    int context = carat_engine_context(c->engine);
    double start = term_seconds();
    carat_error err;

    c->stop = NULL;
    c->prompt_n = prompt->n;
    if (prompt->n > context)
        return too_long(c, prompt->n, context);
    if (carat_tokens_held(c->session, NULL) == 0)
        take_kept(c);
    carat_status status = sync_prompt(c, prompt, &err);
    c->prompt_s = term_seconds() - start;
    log_prompt(c, prompt->n);
    if (status == CARAT_E_CANCELLED) {
        c->stop = carat_reason_name(CARAT_REASON_CANCELLED);
        return DONE;
    }
    return status == CARAT_OK ? DONE : fail_status(&err);
}

/* ---- answer ---- */

/* Text goes out at once, or is kept. */
static int emit_text(void *user, const char *piece, size_t n)
{
    struct converse *c = user;

    if (n == 0)
        return DONE;
    c->last_byte = piece[n - 1];
    if (c->prints) {
        out_answer(piece, n);
        return out_flush() ? DONE : FAILED;
    }
    if (c->n_text + n > c->text_capacity) {
        size_t capacity = (c->n_text + n) * 2;
        char *text = realloc(c->text, capacity);
        if (!text)
            return fail_memory();
        c->text = text;
        c->text_capacity = capacity;
    }
    memcpy(c->text + c->n_text, piece, n);
    c->n_text += n;
    return DONE;
}

void converse_end_text(struct converse *c)
{
    if (c->prints && c->last_byte != '\n')
        out_answer("\n", 1);
    c->last_byte = '\n';
    out_flush();
}

/* Ends the calls that are held. They begin on a line of their own, unless they go into a list. */
static int emit_calls(struct converse *c)
{
    int code = DONE;

    if (c->prints && c->last_byte && c->last_byte != '\n')
        code = emit_text(c, "\n", 1);
    return code == DONE ? calls_finish(&c->calls, c->prints, emit_text, c) : code;
}

/* An id of a call is kept until the call is whole. Before its first one stands the rest of an unfinished
 * character. */
static int hold_id(struct converse *c, const carat_given *given)
{
    size_t own = c->calls.start_text, n;
    const char *text;
    int code = DONE;

    if (!c->calls.as_json && c->calls.held.n == 0 && given->n_text > own)
        code = emit_text(c, given->text, given->n_text - own);
    if (code == DONE)
        code = calls_hold(&c->calls, given->id, c->ids.n - 1);
    if (code == DONE && c->calls.as_json)
        return (code = calls_watch(&c->calls, given->text, given->n_text, &text, &n)) == DONE
                   ? emit_text(c, text, n)
                   : code;
    return code == DONE && given->id == c->calls.end ? emit_calls(c) : code;
}

/* An id of a thought, or the one behind it. */
static int emit_thought(struct converse *c, const carat_given *given)
{
    c->thoughts.forced += given->forced != 0;
    if (!given->thought) {
        thoughts_end(&c->thoughts);
        return DONE;
    }
    c->began_inside |= c->ids.n == 1;
    if (c->prints && c->last_byte && c->last_byte != '\n' && !c->thoughts.open && given->n_text &&
        !c->thoughts.hides)
        converse_end_text(c);
    return thoughts_emit(&c->thoughts, given->text, given->n_text);
}

static int emit_given(struct converse *c, const carat_given *given)
{
    char number[16];

    if (!push_id(&c->ids, given->id))
        return fail_memory();
    int code = told_token(&c->told, given);
    if (code != DONE)
        return code;
    c->unfinished = given->n_text ? 0 : c->unfinished + 1;
    code = emit_thought(c, given);
    if (code != DONE || given->thought)
        return code;
    c->n_said += given->n_text;
    if (calls_take(&c->calls, given->id))
        return hold_id(c, given);
    if (c->info.has_tokenizer || !c->prints)
        return emit_text(c, given->text, given->n_text);
    return emit_text(
        c, number, (size_t)snprintf(number, sizeof number, "%s%d", c->ids.n > 1 ? " " : "", (int)given->id));
}

static int take_given(void *user, const carat_given *given)
{
    struct converse *c = user;

    c->emit_code = emit_given(c, given);
    return c->emit_code != DONE || term_interrupted();
}

/* The end of an answer that may still have become calls as JSON: it is text. */
static int emit_undecided(struct converse *c, const char *rest, size_t n_rest)
{
    int code = emit_text(c, c->calls.text, c->calls.n_text);

    c->calls.held.n = 0;
    c->calls.json = NO_JSON;
    return code == DONE ? emit_text(c, rest, n_rest) : code;
}

/* Text that stop strings have held back, and with the end of the answer the bytes of an unfinished character.
 * A call that is under way keeps its own. */
static int emit_held(struct converse *c, carat_generation *g)
{
    char text[CARAT_REST_BYTES];
    size_t n = carat_generation_rest(g, text, sizeof text);

    if (c->generation.in_thought)
        return thoughts_emit(&c->thoughts, text, n);
    c->n_said += n;
    if (c->calls.json == MAY_BE_JSON)
        return emit_undecided(c, text, n);
    return c->calls.held.n > 0 ? DONE : emit_text(c, text, n);
}

/* Puts out the rest at the end, with calls that have no end. */
static int emit_rest(struct converse *c, carat_generation *g)
{
    int code = emit_held(c, g);

    thoughts_end(&c->thoughts);
    if (c->calls.held.n > 0 && c->generation.reason == CARAT_REASON_STOP_STRING) {
        term_note("a stop string ended the answer within the call of a function, which is left out");
        c->calls.held.n = 0;
    }
    code = code == DONE && c->calls.held.n > 0 ? emit_calls(c) : code;
    if (c->calls.json == IS_JSON && c->calls.n_good > 0 && c->generation.reason == CARAT_REASON_STOP)
        c->stop = carat_reason_name(CARAT_REASON_TOOL_CALLS);
    return code;
}

/* Adds the counts of a further generation of the same answer. */
static void add_info(carat_generation_info *all, const carat_generation_info *info)
{
    for (int i = 0; i < info->switched && i < CARAT_MOST_SWITCHES; i++, all->switched++)
        if (all->switched < CARAT_MOST_SWITCHES) {
            all->switches[all->switched] = info->switches[i];
            all->switches[all->switched].given += all->given;
        }
    all->given += info->given;
    all->passes += info->passes;
    all->drafted += info->drafted;
    all->accepted += info->accepted;
    all->gained_ms += info->gained_ms;
    all->thought_ids += info->thought_ids;
    all->in_thought = info->in_thought;
    all->reason = info->reason;
    all->context_full = info->context_full;
    all->last = info->last;
    all->cycle = info->cycle;
    all->stop = info->stop;
    all->complete = info->complete;
    all->closed = info->closed;
    all->forced += info->forced;
}

const char *converse_reason(const struct converse *c, carat_reason reason, bool closed)
{
    if (reason == CARAT_REASON_LENGTH && closed) /* nothing was cut off: the form ends so */
        reason = c->o->form->tool_choice ? CARAT_REASON_TOOL_CALLS : CARAT_REASON_STOP;
    return carat_reason_name(reason);
}

static int generate(struct converse *c, carat_generation *g)
{
    carat_generation_info info;
    carat_generation_info_default(&info);
    carat_error err;
    carat_status status = CARAT_E_CANCELLED;

    while (status == CARAT_E_CANCELLED && !term_interrupted()) /* only Ctrl-C ends it */
        status = carat_generate(g, &err);
    if (status == CARAT_OK || status == CARAT_E_CANCELLED)
        status = carat_generation_get_info(g, &info, &err);
    if (status != CARAT_OK) { /* the message must not stand behind the text */
        thoughts_end(&c->thoughts);
        if (c->calls.held.n > 0)
            (void)emit_calls(c);
        if (c->last_byte)
            converse_end_text(c);
        return fail_status(&err);
    }
    c->stop = converse_reason(c, term_interrupted() ? CARAT_REASON_CANCELLED : info.reason, info.closed);
    if (c->shifts)
        add_info(&c->generation, &info);
    else
        c->generation = info;
    return c->emit_code;
}

/* *g is the generation, NULL when there is none. */
static int begin_part(struct converse *c, const carat_generation_options *options, carat_generation **g)
{
    carat_error err;

    if (carat_generation_create(g, c->session, options, &err) != CARAT_OK)
        return fail_status(&err);
    return receipts_begin(&c->receipts, c->o, *g, form_of_answer(&c->form));
}

/* Goes on in a context that had no room; what the part before holds back is given first. */
static int generate_on(struct converse *c, carat_generation_options *options, carat_generation **g)
{
    int code = converse_shift(c);

    if (code == DONE)
        code = emit_held(c, *g);
    if (code == DONE)
        code = form_goes_on(&c->form, *g, &c->sampling.matcher);
    if (code != DONE || term_interrupted())
        return code;
    carat_generation_close(*g);
    *g = NULL;
    options->max_tokens = c->o->answer->predict < 0 ? 0 : c->o->answer->predict - c->ids.n;
    options->in_thought = c->generation.in_thought;
    TRY(begin_part(c, options, g));
    return generate(c, *g);
}

/* True: the full context ended this answer, which goes on when there is room. */
static bool wants_room(const struct converse *c)
{
    return c->o->answer->context_shift && carat_engine_context(c->engine) > 1 && c->generation.context_full &&
           c->generation.reason == CARAT_REASON_LENGTH && !term_interrupted();
}

/* All that decides the answer; it has no token yet. */
static int begin_answer(struct converse *c, carat_generation_options *options)
{
    static const int32_t none;
    const struct options *o = c->o;

    c->ids.n = c->emit_code = c->unfinished = c->shifts = c->shifted = 0;
    c->n_text = c->n_said = 0;
    c->last_byte = 0;
    c->began_inside = false;
    calls_begin(&c->calls);
    thoughts_begin(&c->thoughts, o, c->prints);
    c->generation = (carat_generation_info){.size = sizeof c->generation};
    c->stop = carat_reason_name(CARAT_REASON_LENGTH);
    c->generation_s = 0;
    c->answer_start = term_seconds();
    int code = told_begin(&c->told);
    if (code != DONE || o->answer->predict == 0)
        return code;
    TRY(form_begin(&c->form, c->behind_results, &c->sampling.matcher));
    carat_generation_options_default(options);
    options->sampling = &c->sampling;
    options->max_tokens = o->answer->predict < 0 ? 0 : o->answer->predict;
    options->stop_ids = c->stop_ids.n                              ? c->stop_ids.ids
                        : o->told->stop_ids || o->told->ignore_eos ? &none
                                                                   : NULL;
    options->n_stop_ids = c->stop_ids.n;
    options->naive = o->engine->naive;
    reasoning_generation(o, options);
    lookup_options(options, o);
    told_options(&c->told, options);
    options->on_token = take_given;
    options->user = c;
    return DONE;
}

int converse_begin(struct converse *c, carat_generation **g)
{
    carat_generation_options options;

    *g = NULL;
    TRY(begin_answer(c, &options));
    return c->o->answer->predict == 0 ? DONE : begin_part(c, &options, g);
}

int converse_end(struct converse *c, carat_generation *g)
{
    int code = emit_rest(c, g);

    if (code == DONE)
        code = receipts_end(&c->receipts, c->o);
    carat_generation_close(g);
    c->generation_s = term_seconds() - c->answer_start;
    if (code == DONE)
        log_generation(c);
    return code;
}

int converse_answer(struct converse *c)
{
    carat_generation_options options;
    carat_generation *g = NULL;
    int code = begin_answer(c, &options);

    if (code != DONE || c->o->answer->predict == 0)
        return code;
    code = begin_part(c, &options, &g);
    if (code == DONE)
        code = generate(c, g);
    while (code == DONE && wants_room(c))
        code = generate_on(c, &options, &g);
    if (code == DONE)
        return converse_end(c, g);
    carat_generation_close(g);
    c->generation_s = term_seconds() - c->answer_start;
    return code;
}

int note_unfinished_form(const struct converse *c)
{
    if (!c->form.first)
        return DONE;
    if (c->generation.reason == CARAT_REASON_CONSTRAINT)
        return term_fail(
            FAILED,
            "each token that the form of the answer allows is banned by --logit-bias or another option");
    if (!c->generation.complete)
        term_note("the answer ended before its form was complete");
    return DONE;
}

void note_unfinished_thought(const struct converse *c)
{
    if (c->generation.in_thought && c->generation.reason == CARAT_REASON_LENGTH)
        term_note(
            "the answer ended inside its thought, after %d token%s: --reasoning-budget N ends a thought "
            "sooner",
            c->ids.n, c->ids.n == 1 ? "" : "s");
}

void note_thoughts(struct speed_notes *r, const struct converse *c)
{
    if (c->generation.thought_ids)
        speed_note_tell(r, "thought %d token%s%s", c->generation.thought_ids,
                        c->generation.thought_ids == 1 ? "" : "s",
                        c->thoughts.forced ? ", up to the budget" : "");
}

int converse_audits(const struct converse *c)
{
    carat_head_stats head = {.size = sizeof head};
    carat_error err;

    if (!c->o->head->audit || !c->engine)
        return DONE;
    return carat_engine_get_head(c->engine, &head, &err) == CARAT_OK ? check_audits(&head)
                                                                     : fail_status(&err);
}

void converse_leave(struct converse *c)
{
    c->form.first = NULL; /* what all share is closed once */
    c->stop_ids = (carat_tokens){0};
    c->engine = NULL;
    c->model = NULL;
    c->receipts.file = NULL;
    converse_close(c);
}

void converse_close(struct converse *c)
{
    (void)receipts_close(&c->receipts, c->o);
    free(c->text);
    thoughts_free(&c->thoughts);
    calls_free(&c->calls);
    carat_tokens_free(&c->ids);
    carat_tokens_free(&c->stop_ids);
    engine_report_free(&c->engine_report);
    told_close(&c->told);
    carat_session_close(c->session);
    carat_engine_close(c->engine);
    form_close(&c->form);
    carat_model_close(c->model);
}
