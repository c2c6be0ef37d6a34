/* SPDX-License-Identifier: Apache-2.0 */
/* batch.c: `carat run --jsonl`. All lines are read, and become ids, before the first is answered. Then as
 * many as there are sessions are drawn together, a step of all at a time, and a session whose answer has
 * ended takes the next line. Answers and receipts come out in the order of the lines, whichever ends first,
 * and are those that each line would have alone. What a line may be is dataset_line.h's, an answer
 * converse.h's. */
#define _POSIX_C_SOURCE 200809L
#include "ask/converse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/input.h"
#include "io/json_lines.h"
#include "model/engine_report.h"
#include "prompt/dataset_line.h"
#include "prompt/prompt.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/out_json.h"
#include "term/output.h"

/* A prompt, and what came of it. */
struct line {
    long number; /* of the file, from 1 */
    json_t *id;  /* its own, or NULL */
    carat_tokens prompt;
    uint64_t seed;
    bool has_seed;
    json_t *answer; /* NULL: there is none yet */
    char *calls;    /* that are in it, commas between; NULL: none */
    char *receipt;  /* NULL: none is asked for, or possible */
};

struct slot {
    struct converse with;
    carat_generation *g; /* NULL: it waits for a line */
    struct line *line;
};

struct batch {
    struct converse with; /* what all share */
    struct conversation talk;
    struct json_lines file;
    struct line *lines;        /* [n] */
    int n, next, printed;      /* the next one to be answered; those that are out */
    struct slot *slots;        /* [n_slots] */
    carat_generation **active; /* [n_slots] */
    int n_slots, unfinished;   /* answers whose form went no further */
    double start;
    long tokens;
};

/* ---- lines ---- */

/* Messages begin with it, until line is NULL. */
static void at_line(const struct batch *b, const struct line *line)
{
    char place[300] = "";

    if (line)
        snprintf(place, sizeof place, "%.200s: line %ld: ", b->file.name, line->number);
    message_place(line ? place : NULL);
}

static int take_ids(struct batch *b, const json_t *ids, struct line *line)
{
    TRY(ids_of_json(ids, "\"ids\"", &line->prompt));
    return check_prompt_ids(&line->prompt, &b->with.info);
}

static int take_messages(struct batch *b, const struct conversation *talk, const json_t *messages,
                         struct line *line)
{
    struct conversation one = *talk;
    int code = FAILED;

    one.messages = json_dumps(messages, JSON_COMPACT);
    code = one.messages ? conversation_render(&one, b->with.model, NULL, &line->prompt, NULL) : fail_memory();
    free(one.messages);
    return code;
}

static int take_prompt(struct batch *b, const struct dataset_line *d, struct line *line)
{
    const struct options *o = b->with.o;
    struct conversation talk = b->talk;
    char *tools = NULL;
    int code = DONE;

    if (d->tools && !(talk.tools = tools = json_dumps(d->tools, JSON_COMPACT)))
        return fail_memory();
    if (d->kind == PROMPT_IDS)
        code = take_ids(b, d->ids, line);
    else if (d->kind == PROMPT_MESSAGES)
        code = take_messages(b, &talk, d->messages, line);
    else
        code = encode_prompt(b->with.model, &talk, d->kind == PROMPT_USER && becomes_turn(o, &b->with.info),
                             d->text, d->n_text, &line->prompt);
    free(tools);
    return code == DONE && line->prompt.n == 0 ? term_fail(USAGE, "the prompt is empty") : code;
}

static int take_seed(struct batch *b, const json_t *root, struct line *line)
{
    const json_t *seed = json_object_get(root, "seed");

    if (!seed)
        return DONE;
    if (!json_is_integer(seed) || json_integer_value(seed) < 0)
        return json_lines_fail(&b->file, json_lines_byte(&b->file, "seed", -1),
                               "\"seed\" is no whole number from 0 on");
    line->seed = (uint64_t)json_integer_value(seed);
    line->has_seed = true;
    return DONE;
}

static struct line *push_prompt(struct batch *b)
{
    struct line *more =
        b->n & (b->n - 1) ? b->lines : realloc(b->lines, (size_t)(b->n ? 2 * b->n : 1) * sizeof *more);

    if (!more)
        return NULL;
    b->lines = more;
    more[b->n] = (struct line){.number = b->file.number};
    return &more[b->n++];
}

static int read_prompt_line(struct batch *b)
{
    struct dataset_line d;
    struct line_fault fault;

    if (!dataset_line_read(&d, b->file.line, b->file.n_line, &fault))
        return fault.memory ? fail_memory() : json_lines_fail(&b->file, fault.byte, "%s", fault.text);
    struct line *line = push_prompt(b);
    int code = line ? take_seed(b, d.root, line) : fail_memory();
    if (code == DONE) {
        line->id = json_incref((json_t *)(uintptr_t)d.id);
        at_line(b, line);
        code = take_prompt(b, &d, line);
        at_line(b, NULL);
    }
    dataset_line_free(&d);
    return code;
}

static int read_batch(struct batch *b)
{
    int code = DONE;

    while (code == DONE && !term_interrupted() && json_lines_next(&b->file))
        code = read_prompt_line(b);
    return code == DONE && term_interrupted() ? INTERRUPTED : code;
}

/* Room for its prompt, before another is answered. */
static int check_lengths(const struct batch *b)
{
    const int context = carat_engine_context(b->with.engine);

    for (int i = 0; i < b->n; i++) {
        const struct line *line = &b->lines[i];
        if (line->prompt.n > context)
            return fail_as(
                FAILED, CARAT_E_CONTEXT,
                "%s: line %ld: the prompt has %d tokens and the context %d positions; -c makes room",
                b->file.name, line->number, line->prompt.n, context);
    }
    return DONE;
}

/* ---- answers ---- */

/* The answer of a line as an object, which is printed when it is its turn. */
static int keep_answer(struct batch *b, struct slot *slot)
{
    struct converse *c = &slot->with;
    struct line *line = slot->line;
    json_t *o = json_pack("{s:I}", "line", (json_int_t)line->number);

    if (o && line->id)
        json_object_set(o, "id", line->id);
    if (o)
        json_object_update_new(o, json_pack("{s:i, s:o, s:o, s:s}", "prompt_n", line->prompt.n, "ids",
                                            json_ids(c->ids.ids, c->ids.n), "text",
                                            json_text(c->text ? c->text : "", c->n_text), "stop", c->stop));
    if (o && converse_draws(&c->sampling))
        json_object_set_new(o, "seed", json_integer((json_int_t)c->sampling.seed));
    if (o && c->form.first)
        json_object_set_new(o, "forced", json_integer(c->generation.forced));
    if (o && c->thoughts.n_text)
        json_object_set_new(o, "thinking", json_text(c->thoughts.text, c->thoughts.n_text));
    told_json(&c->told, o);
    b->tokens += c->ids.n;
    line->answer = o;
    line->calls = c->calls.list;
    c->calls.list = NULL;
    line->receipt = c->receipts.kept;
    c->receipts.kept = NULL;
    receipts_forget(&c->receipts);
    carat_tokens_free(&line->prompt);
    slot->line = NULL;
    return o ? DONE : fail_memory();
}

/* Ends an answer, as its generation says, or as cancelled. */
static int end_answer(struct batch *b, struct slot *slot)
{
    struct converse *c = &slot->with;
    int code = DONE;

    at_line(b, slot->line);
    if (c->generation.reason != CARAT_REASON_NONE)
        c->stop = converse_reason(c, c->generation.reason, c->generation.closed);
    if (term_interrupted())
        c->stop = carat_reason_name(CARAT_REASON_CANCELLED);
    if (slot->g)
        code = converse_end(c, slot->g);
    slot->g = NULL;
    if (code == DONE)
        b->unfinished += note_unfinished_form(c) != DONE;
    at_line(b, NULL);
    return code == DONE ? keep_answer(b, slot) : code;
}

static int begin_line(struct batch *b, struct slot *slot)
{
    struct converse *c = &slot->with;

    slot->line = &b->lines[b->next++];
    c->sampling.seed =
        slot->line->has_seed ? slot->line->seed : b->with.sampling.seed + (uint64_t)slot->line->number - 1;
    TRY(converse_prompt(c, &slot->line->prompt));
    if (c->stop) { /* by Ctrl-C, before it began */
        slot->line = NULL;
        return DONE;
    }
    TRY(converse_begin(c, &slot->g));
    return slot->g ? DONE : end_answer(b, slot); /* -n 0 */
}

/* Prints the answers that are ready, in the order of the lines, up to the first line that still waits; all
 * (behind a Ctrl-C): every answer that is there. */
static int print_answers(struct batch *b, bool all)
{
    const bool calls = !b->with.o->answer->raw_calls;

    for (; b->printed < b->n && (b->lines[b->printed].answer || all); b->printed++) {
        struct line *line = &b->lines[b->printed];
        if (!line->answer)
            continue;
        json_t *answer = line->answer;
        line->answer = NULL;
        TRY(out_json_with(answer, calls ? "calls" : NULL, line->calls ? line->calls : ""));
        if (line->receipt)
            TRY(receipts_write(&b->with.receipts, b->with.o, line->receipt));
        if (!out_flush())
            return FAILED;
    }
    return DONE;
}

/* One step of all that are under way; n of them. */
static int step(struct batch *b, int n)
{
    carat_error err;
    const carat_status status = carat_generation_step(b->with.engine, b->active, n, &err);

    if (status != CARAT_OK && status != CARAT_E_CANCELLED)
        return fail_status(&err);
    for (int i = 0; i < b->n_slots; i++) {
        struct slot *slot = &b->slots[i];
        if (!slot->g)
            continue;
        if (slot->with.emit_code != DONE)
            return slot->with.emit_code;
        if (carat_generation_get_info(slot->g, &slot->with.generation, &err) != CARAT_OK)
            return fail_status(&err);
        if (slot->with.generation.reason != CARAT_REASON_NONE || term_interrupted())
            TRY(end_answer(b, slot));
    }
    return DONE;
}

static int answer_all(struct batch *b)
{
    int n;

    do {
        n = 0;
        for (int i = 0; i < b->n_slots; i++) {
            while (!b->slots[i].g && b->next < b->n && !term_interrupted())
                TRY(begin_line(b, &b->slots[i]));
            if (b->slots[i].g)
                b->active[n++] = b->slots[i].g;
        }
        if (n)
            TRY(step(b, n));
        TRY(print_answers(b, term_interrupted()));
    } while (n && !term_interrupted());
    return term_interrupted() ? INTERRUPTED : DONE;
}

/* ---- the whole ---- */

static int check_batch(const struct options *o)
{
    const struct prompt_options *p = o->prompt;
    const char *other = o->text || p->prompt       ? "a prompt"
                        : p->file                  ? "-f"
                        : p->messages              ? "--messages"
                        : p->ids                   ? "--ids"
                        : p->talks                 ? "-cnv"
                        : p->tool_command          ? "--tool-command"
                        : o->json                  ? "--json"
                        : o->answer->prompt_cache  ? "--prompt-cache"
                        : o->answer->context_shift ? "--context-shift"
                                                   : NULL;

    if (other)
        return term_fail(USAGE, "run: %s and --jsonl contradict each other", other);
    if (o->receipt->file && strcmp(o->receipt->file, "-") == 0)
        return term_fail(USAGE, "run: --receipt - and --jsonl cannot both go to standard output");
    return DONE;
}

static int open_slots(struct batch *b)
{
    b->slots = calloc((size_t)b->with.together, sizeof *b->slots);
    b->active = calloc((size_t)b->with.together, sizeof *b->active);
    if (!b->slots || !b->active)
        return fail_memory();
    while (b->n_slots < b->with.together) {
        struct converse *c = &b->slots[b->n_slots++].with;
        TRY(converse_join(c, &b->with, b->talk.tools));
        c->receipts.keeps = true;
        c->receipts.file = b->with.receipts.file;
    }
    return DONE;
}

static void note_batch(const struct batch *b)
{
    const double s = term_seconds() - b->start;
    struct speed_notes said;

    if (!b->with.o->verbose && !(out_is_terminal() && isatty(STDERR_FILENO)))
        return;
    speed_notes_begin(&said);
    speed_note_tell(&said, "%d answer%s, up to %d together", b->printed, b->printed == 1 ? "" : "s",
                    b->n_slots);
    note_speed(&said, "generation with prompts", (int)b->tokens, (int)b->tokens, speed_of((int)b->tokens, s));
    if (converse_draws(&b->with.sampling) && b->with.seed_is_random)
        speed_note_tell(&said, "seed %llu", (unsigned long long)b->with.sampling.seed);
    speed_notes_flush(&said);
}

static int answer(struct batch *b)
{
    struct converse *c = &b->with;
    const struct options *o = c->o;

    c->together = b->n < o->answer->parallel ? b->n : o->answer->parallel;
    c->holds_calls = !o->answer->raw_calls;
    TRY(converse_engine(c, b->talk.tools));
    TRY(check_lengths(b));
    TRY(receipts_create(&c->receipts, o));
    TRY(open_slots(b));
    b->start = term_seconds();
    const int code = answer_all(b);
    if (code != DONE && code != INTERRUPTED)
        return code;
    note_batch(b);
    engine_report_end(&c->engine_report, c->engine, NULL);
    const int audits = converse_audits(c);
    return code != DONE ? code : b->unfinished ? FAILED : audits;
}

static void close_batch(struct batch *b)
{
    for (int i = 0; i < b->n_slots; i++) {
        carat_generation_close(b->slots[i].g);
        converse_leave(&b->slots[i].with);
    }
    for (int i = 0; i < b->n; i++) {
        json_decref(b->lines[i].id);
        json_decref(b->lines[i].answer);
        carat_tokens_free(&b->lines[i].prompt);
        free(b->lines[i].calls);
        carat_free(b->lines[i].receipt);
    }
    free(b->lines);
    free(b->slots);
    free(b->active);
    json_lines_close(&b->file);
    conversation_free(&b->talk);
    converse_close(&b->with);
}

int answer_lines(const struct options *o)
{
    struct batch b = {.with.o = o};
    int code = check_batch(o);

    if (code == DONE)
        code = read_prompt_files(&b.talk, o, NULL);
    if (code == DONE)
        code = json_lines_open(&b.file, o->answer->jsonl);
    if (code == DONE)
        code = converse_open(&b.with, o);
    if (code == DONE)
        code = check_template(o, &b.with.info);
    if (code == DONE)
        code = read_batch(&b);
    if (code == DONE)
        code = answer(&b);
    close_batch(&b);
    return code == FAILED && !out_flush() ? DONE : code; /* a write error is out_finish's to report */
}
