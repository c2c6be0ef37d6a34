/* SPDX-License-Identifier: Apache-2.0 */
/* replay.c: `carat replay`: receipts computed once more, and what it means when something else comes out. The
 * file of a trace is trace_file.c's. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask/receipt.h"
#include "ask/trace_file.h"
#include "carat_tools.h"
#include "io/input.h"
#include "io/save.h"
#include "model/engine.h"
#include "model/form.h"
#include "model/model.h"
#include "prompt/prompt.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/progress.h"
#include "term/size.h"

/* ---- traces ---- */

/* --trace and --against: what each operation gives around the first difference, for another machine, and in
 * which operation this one differs from that. Hashes are the library's
 * (carat_replay_options.on_operation). */
struct replay_trace {
    const char *against; /* file; NULL: nothing is compared */
    bool runs;
    struct traced theirs, mine;
    struct save save;
    struct progress bar;
    bool no_memory;    /* for what was heard */
    int differs;       /* the first hash that does; -1: none */
    bool is_confirmed; /* while it was traced */
};

static int receipt_info(const carat_receipt *receipt, carat_receipt_info *info)
{
    carat_error err;

    carat_receipt_info_default(info);
    return carat_receipt_get_info(receipt, info, &err) == CARAT_OK ? DONE : fail_status(&err);
}

/* Everything that can be wrong before a model is opened. Exit codes. */
static int replay_trace_open(struct replay_trace *t, const struct options *o, const carat_receipt *receipt)
{
    const struct receipt_options *how = o->receipt;
    carat_receipt_info info;

    t->against = how->against;
    t->runs = how->trace || how->against;
    t->differs = -1;
    if (how->trace && strcmp(how->trace, "-") == 0)
        return term_fail(USAGE, "replay: --trace - and the result cannot both go to standard output");
    TRY(receipt_info(receipt, &info));
    if (how->against)
        TRY(traced_read(&t->theirs, how->against, &info));
    return how->trace ? save_open(&t->save, how->trace) : DONE;
}

/* From the last position that is the same to the first that surely is not; of an answer that is confirmed,
 * its last ones. */
static void choose_positions(struct traced *t, const carat_replay *found, int n_prompt)
{
    int same = found->tokens - CARAT_RECEIPT_STEP, differ = found->tokens;

    if (found->states_differ >= 0) {
        same = found->states_same;
        differ = found->states_differ;
    } else if (found->differs >= 0) {
        same = found->differs;
        differ = found->differs < found->tokens ? found->differs + 1 : found->tokens;
    }
    t->first = n_prompt - 2 + (same > 0 ? same : 0);
    t->first = t->first > 0 ? t->first : 0;
    t->positions = n_prompt - 1 + differ - t->first;
}

static int hear_hash(void *user, const carat_operation_hash *hash)
{
    struct replay_trace *t = user;

    t->no_memory = !traced_add(&t->mine, hash);
    return t->no_memory;
}

static int show_progress(void *user, size_t done, size_t total)
{
    return progress_update(&((struct replay_trace *)user)->bar, done, total);
}

static void compare(struct replay_trace *t)
{
    for (int i = 0; i < t->mine.n && t->differs < 0; i++)
        if (strcmp(t->mine.hash[i], t->theirs.hash[i]) != 0)
            t->differs = i;
}

/* Replays once more, as `how` says, around what was found, or where the file was traced. */
static int replay_trace_run(struct replay_trace *t, const carat_receipt *receipt, carat_engine *engine,
                            carat_replay_options how, const carat_replay *found)
{
    carat_receipt_info info;
    carat_replay traced;
    carat_replay_default(&traced);
    carat_error err;

    TRY(receipt_info(receipt, &info));
    snprintf(t->mine.content, sizeof t->mine.content, "%s", info.content);
    snprintf(t->mine.digest, sizeof t->mine.digest, "%s", info.digest);
    choose_positions(&t->mine, found, info.n_prompt);
    if (t->against) {
        t->mine.first = t->theirs.first;
        t->mine.positions = t->theirs.positions;
    }
    how.on_operation = hear_hash;
    how.user = t;
    how.progress = show_progress;
    how.trace_first = t->mine.first;
    how.n_traced = t->mine.positions;
    progress_begin(&t->bar, "trace", "tok");
    const carat_status status = carat_receipt_replay(receipt, engine, &how, &traced, &err);
    progress_end(&t->bar);
    if (status != CARAT_OK)
        return t->no_memory ? fail_memory() : fail_status(&err);
    t->is_confirmed = traced.confirmed;
    if (t->against) {
        TRY(traced_check(&t->theirs, t->against, &t->mine));
        compare(t);
    }
    if (!t->save.file)
        return DONE;
    traced_write(&t->mine, t->save.file);
    return save_close(&t->save);
}

/* The first position that differs; *before: maybe one before it does. */
static int place_of(const struct replay_trace *t, bool *before)
{
    const int position = t->mine.first + t->differs / t->mine.n_operations;

    *before = position == t->mine.first && position > 0;
    return position;
}

/* Two lines for people, and a member for programs. */
static void replay_trace_print(const struct replay_trace *t, const carat_replay *found)
{
    const int last = t->mine.first + t->mine.positions - 1;
    bool before;

    if (t->differs >= 0) {
        const int position = place_of(t, &before);
        out_print("the first operation that differs from %s: %s, at position %d%s\n", t->against,
                  t->mine.operation[t->differs % t->mine.n_operations], position, before ? " or before" : "");
    } else if (t->against) {
        out_print("no operation differs from %s at positions %d to %d\n", t->against, t->mine.first, last);
    } else {
        out_print("traced %d operations at positions %d to %d\n", t->mine.n_operations, t->mine.first, last);
    }
    if (t->is_confirmed && found->states_differ >= 0)
        out_print(
            "While they were traced, all numbers were the receipt's: the fault did not happen again.\n");
}

static json_t *replay_trace_json(const struct replay_trace *t)
{
    json_t *o = json_pack("{s:i, s:i, s:i, s:b}", "first", t->mine.first, "positions", t->mine.positions,
                          "operations", t->mine.n_operations, "confirmed", t->is_confirmed);
    bool before;

    if (o && t->against)
        json_object_set_new(o, "against", json_string(t->against));
    if (o && t->differs >= 0) {
        const int position = place_of(t, &before);
        json_object_set_new(o, "differs",
                            json_pack("{s:s, s:i, s:b}", "operation",
                                      t->mine.operation[t->differs % t->mine.n_operations], "position",
                                      position, "or_before", before));
    }
    return o;
}

static void replay_trace_close(struct replay_trace *t)
{
    traced_free(&t->theirs);
    traced_free(&t->mine);
    save_abandon(&t->save);
}

/* ---- replays ---- */

enum { RECEIPT_LIMIT = 16 << 20 }; /* bytes of a file of receipts */

struct named {
    char *name; /* file, and line if there are several */
    carat_receipt *receipt;
};

struct replays {
    const struct options *o;
    carat_model *model;
    carat_tokens prompt, answer; /* of private ones */
    struct form form;
    char *tools;
    struct named *all; /* [n] */
    int n;
    struct replay_trace trace;
    int differ; /* receipts that were not confirmed */
};

/* ---- one receipt ---- */

/* The text of an id, quoted, for people. */
static void show_id(const struct replays *r, int32_t id, char *out, size_t capacity)
{
    char *text = NULL;
    carat_error err;

    if (id < 0)
        snprintf(out, capacity, "the end of the answer");
    else if (carat_detokenize(r->model, &id, 1, CARAT_SPECIAL, &text, NULL, &err) == CARAT_OK)
        snprintf(out, capacity, "%d \"%s\"", (int)id, text);
    else
        snprintf(out, capacity, "%d", (int)id);
    carat_free(text);
}

/* Tells in plain words what a difference may come from. */
static const char *cause(const carat_replay *t)
{
    if (t->states_differ >= 0 && t->states_same == 0)
        return "The digests differ from the beginning. The prompt, a setting or an id was changed after the "
               "answer, or it came from other weights, or a machine computes wrongly.";
    if (t->states_differ >= 0)
        return "The digests agree up to there and differ then. An id was changed after the answer, or a "
               "fault in arithmetic happened while it was generated, or happens here.";
    if (t->differs >= 0)
        return "The digests are the same. The ids were drawn with other settings than the receipt says.";
    return "All ids and digests are the same. The answer ended for another reason than the receipt says.";
}

static void print_difference(const struct replays *r, const char *name, const carat_replay *t,
                             const carat_receipt_info *info)
{
    char expected[300], computed[300];

    out_print("%s%sdiffers", r->n > 1 ? name : "", r->n > 1 ? ": " : "");
    if (t->differs >= 0) {
        show_id(r, t->expected, expected, sizeof expected);
        show_id(r, t->computed, computed, sizeof computed);
        out_print(" at token %d of %d: the receipt has %s, computed is %s", t->differs + 1, t->tokens,
                  expected, computed);
        if (t->expected >= 0 && t->computed >= 0)
            out_print("; their logits are %.6g and %.6g, %.6g apart", (double)t->logit_expected,
                      (double)t->logit_computed, (double)(t->logit_computed - t->logit_expected));
    } else if (t->states_differ < 0) {
        out_print(": the receipt's answer ended with \"%s\", computed is \"%s\"",
                  carat_reason_name(info->reason), carat_reason_name(t->reason));
    }
    out_print("\n");
    if (t->states_differ >= 0)
        out_print("states: the same for %d of %d tokens, different at the latest behind token %d\n",
                  t->states_same, t->tokens, t->states_differ);
    else if (t->states_same)
        out_print("states: the same for %d of %d tokens\n", t->states_same, t->tokens);
    out_print("%s\n", cause(t));
}

static int replay_json(const struct replays *r, const char *name, const carat_replay *t,
                       const carat_receipt_info *info)
{
    json_t *o = json_pack("{s:s, s:b, s:i, s:i, s:i, s:s, s:s, s:f}", "receipt", name, "confirmed",
                          t->confirmed, "tokens", t->tokens, "drawn", t->drawn, "states_same", t->states_same,
                          "digest", t->digest, "reason", carat_reason_name(t->reason), "seconds", t->seconds);

    if (o && t->states_differ >= 0)
        json_object_set_new(o, "states_differ", json_integer(t->states_differ));
    if (o && t->differs >= 0)
        json_object_set_new(o, "differs",
                            json_pack("{s:i, s:i, s:i, s:f, s:f}", "token", t->differs, "receipt",
                                      t->expected, "computed", t->computed, "logit_receipt",
                                      (double)t->logit_expected, "logit_computed",
                                      (double)t->logit_computed));
    if (o && !t->confirmed && t->differs < 0)
        json_object_set_new(o, "reason_receipt", json_string(carat_reason_name(info->reason)));
    if (o && !t->confirmed)
        json_object_set_new(o, "cause", json_string(cause(t)));
    if (o && r->trace.runs)
        json_object_set_new(o, "trace", replay_trace_json(&r->trace));
    return out_json(o);
}

static uint64_t random_seed(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30;
}

static int replay(struct replays *r, const char *name, const carat_receipt *receipt, carat_engine *engine)
{
    const struct receipt_options *how = r->o->receipt;
    struct progress bar;
    carat_replay_options options;
    carat_replay_options_default(&options);
    carat_replay t;
    carat_replay_default(&t);
    carat_receipt_info info;
    carat_receipt_info_default(&info);
    carat_error err;

    options.states_only = how->states;
    options.sample = how->sample < 1 ? how->sample : 0;
    options.sample_seed = random_seed();
    options.progress = progress_update;
    options.user = &bar;
    options.prompt = r->prompt.ids;
    options.n_prompt = r->prompt.n;
    options.answer = r->answer.ids;
    options.n_answer = r->answer.n;
    options.form = r->form.first ? &r->form.options : NULL;
    progress_begin(&bar, "replay", "tok");
    carat_status status = carat_receipt_replay(receipt, engine, &options, &t, &err);
    progress_end(&bar);
    if (status != CARAT_OK || carat_receipt_get_info(receipt, &info, &err) != CARAT_OK)
        return fail_status(&err);
    if (r->trace.runs)
        TRY(replay_trace_run(&r->trace, receipt, engine, options, &t));
    r->differ += !t.confirmed || (r->trace.runs && r->trace.differs >= 0);
    if (r->o->json)
        return replay_json(r, name, &t, &info);
    if (!t.confirmed)
        print_difference(r, name, &t, &info);
    else
        out_print("%s%sconfirmed: %d token%s, %.1f s\n", r->n > 1 ? name : "", r->n > 1 ? ": " : "", t.tokens,
                  t.tokens == 1 ? "" : "s", t.seconds);
    if (r->trace.runs)
        replay_trace_print(&r->trace, &t);
    return DONE;
}

static int check_content(const struct replays *r, const char *name, const char *expected)
{
    char content[33];
    struct progress bar;
    carat_error err;

    progress_begin(&bar, "reading", NULL);
    const carat_status status = carat_model_content(r->model, progress_update, &bar, content, &err);
    progress_end(&bar);
    if (status != CARAT_OK)
        return fail_status(&err);
    return strcmp(content, expected) == 0
               ? DONE
               : fail_as(BAD_MODEL, CARAT_E_UNSUPPORTED,
                         "%s: header.content is %s, but the model's content hash is %s: it is another model, "
                         "or has weights of other types",
                         name, expected, content);
}

/* Bytes of K and V for more positions than an engine can have, drawn on in a straight line from `most`, the
 * most that it can, and half of that. */
static double cache_bytes(const carat_model *model, const carat_engine_options *options, int most)
{
    carat_engine_options o = *options;
    carat_plan all, half;
    carat_plan_default(&all);
    carat_plan_default(&half);

    o.context = most;
    (void)carat_plan_engine(model, &o, &all, NULL);
    o.context = most / 2;
    (void)carat_plan_engine(model, &o, &half, NULL);
    return (double)all.kv_bytes +
           ((double)all.kv_bytes - (double)half.kv_bytes) / (most - most / 2) * (options->context - most);
}

/* Refuses a receipt whose engine cannot be made: it is another model's, or has a header that nobody can have.
 * Where nothing of it is wrong the replay looks at the content itself. */
static int check_engine(const struct replays *r, const char *name, const carat_receipt *receipt,
                        const carat_engine_options *options)
{
    carat_model_info model;
    carat_model_info_default(&model);
    carat_receipt_info info;
    carat_receipt_info_default(&info);
    carat_plan plan;
    carat_plan_default(&plan);
    carat_error err;
    char needs[SIZE_TEXT];

    if (carat_model_get_info(r->model, &model, &err) != CARAT_OK ||
        carat_receipt_get_info(receipt, &info, &err) != CARAT_OK)
        return fail_status(&err);
    const carat_status status = carat_plan_engine(r->model, options, &plan, &err);
    if (status != CARAT_E_ARGUMENT)
        return status == CARAT_OK ? DONE : fail_status(&err);
    TRY(check_content(r, name, info.content));
    if (options->context > model.max_context)
        return fail_as(
            BAD_MODEL, CARAT_E_FORMAT,
            "%s: predicate.prompt.n and predicate.answer.n are %d tokens, whose K and V need %s, expected at "
            "most the %d of the model's context",
            name, options->context, size_text(needs, cache_bytes(r->model, options, model.max_context)),
            model.max_context);
    return fail_as(BAD_MODEL, CARAT_E_FORMAT, "%s: predicate.header: %s", name, err.message);
}

static int replay_in_engine(struct replays *r, const char *name, const carat_receipt *receipt)
{
    carat_engine_options options;
    carat_engine_options_default(&options);
    carat_head_options head;
    carat_head_options_default(&head);
    carat_engine *engine = NULL;
    carat_error err;

    if (carat_receipt_engine(receipt, &options, &head, &err) != CARAT_OK)
        return fail_status(&err);
    TRY(check_engine(r, name, receipt, &options));
    options.threads = r->o->engine->threads;
    options.isa = r->o->engine->isa;
    options.chunk = r->o->engine->chunk;
    int code = create_engine(&engine, r->model, &options);
    if (code == DONE)
        code = replay(r, name, receipt, engine);
    carat_engine_close(engine);
    return code;
}

/* ---- files of receipts ---- */

/* One more that is read; takes it over. */
static int add_receipt(struct replays *r, const char *name, carat_receipt *receipt)
{
    struct named *all = realloc(r->all, ((size_t)r->n + 1) * sizeof *all);

    if (all)
        r->all = all;
    char *copy = all ? strdup(name) : NULL;
    if (!copy) {
        carat_receipt_close(receipt);
        return fail_memory();
    }
    r->all[r->n++] = (struct named){copy, receipt};
    return DONE;
}

/* Each line of a text that is not empty. */
static int read_lines(struct replays *r, const char *file, const char *text, size_t n)
{
    char name[4200];
    int line = 0;
    carat_error err;

    for (size_t at = 0, length; at < n; at += length + 1) {
        const char *end = memchr(text + at, '\n', n - at);
        carat_receipt *receipt = NULL;
        length = end ? (size_t)(end - text) - at : n - at;
        snprintf(name, sizeof name, line || at + length + 1 < n ? "%s: line %d" : "%s", file, line + 1);
        line++;
        if (length == 0)
            continue;
        if (carat_receipt_read(&receipt, name, text + at, length, &err) != CARAT_OK)
            return fail_status(&err);
        TRY(add_receipt(r, name, receipt));
    }
    return DONE;
}

/* All of them, before a model is opened. */
static int read_file_of_receipts(struct replays *r, const char *path)
{
    const int before = r->n;
    char *text = NULL;
    size_t n = 0;
    int code = read_limited(path, RECEIPT_LIMIT, "receipts", &text, &n);

    if (code == DONE)
        code = read_lines(r, input_name(path), text, n);
    free(text);
    if (code == DONE && r->n == before)
        return fail_as(BAD_MODEL, CARAT_E_FORMAT, "%s: is empty, expected a receipt", input_name(path));
    return code;
}

static int read_all(struct replays *r)
{
    const struct texts *more = &r->o->more;

    TRY(read_file_of_receipts(r, r->o->text));
    for (int i = 0; i < more->n; i++)
        TRY(read_file_of_receipts(r, more->text[i]));
    if (!r->o->receipt->trace && !r->o->receipt->against)
        return DONE;
    if (r->n > 1)
        return term_fail(USAGE, "replay: %s goes with one receipt, and there are %d",
                         r->o->receipt->trace ? "--trace" : "--against", r->n);
    return replay_trace_open(&r->trace, r->o, r->all[0].receipt);
}

/* One that is refused does not hide what becomes of the others, and none hides one that differs. */
static int replay_all(struct replays *r)
{
    bool refused = false;

    for (int i = 0; i < r->n; i++) {
        const int code = replay_in_engine(r, r->all[i].name, r->all[i].receipt);
        if (term_interrupted())
            return INTERRUPTED;
        if (code != DONE && code != BAD_MODEL)
            return code;
        refused |= code == BAD_MODEL;
        if (!out_flush())
            return DONE; /* out_finish says why */
    }
    return r->differ ? CHECK_FAILED : refused ? BAD_MODEL : DONE;
}

int verb_replay(const struct options *o)
{
    struct replays r = {.o = o};
    int code = DONE;

    interrupt_install();
    if (o->receipt->prompt)
        code = read_ids(o->receipt->prompt, "--prompt-ids", &r.prompt);
    if (code == DONE && o->receipt->answer)
        code = read_ids(o->receipt->answer, "--answer-ids", &r.answer);
    if (code == DONE)
        code = read_all(&r);
    if (code == DONE)
        code = form_check(o, o->prompt->tools, false);
    if (code == DONE && o->prompt->tools)
        code = read_json_text(o->prompt->tools, &r.tools);
    if (code == DONE)
        code = open_packed(&r.model, o);
    if (code == DONE)
        code = form_open(&r.form, o, r.model, r.tools);
    if (code == DONE)
        code = replay_all(&r);
    for (int i = 0; i < r.n; i++) {
        free(r.all[i].name);
        carat_receipt_close(r.all[i].receipt);
    }
    free(r.all);
    carat_tokens_free(&r.prompt);
    carat_tokens_free(&r.answer);
    form_close(&r.form);
    replay_trace_close(&r.trace);
    free(r.tools);
    carat_model_close(r.model);
    return code;
}
