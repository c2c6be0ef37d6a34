/* SPDX-License-Identifier: Apache-2.0 */
/* self_check.c: see self_check.h. An answer has a receipt, and a run is its replay by one thread on one
 * processor: a prompt in a pass of many rows, its last token in a pass of one, the answer in one of many. The
 * chain of hashes behind the last position has seen all of them. What is right is what two runs on different
 * processors agree on.
 *
 * One bit that is wrong once, anywhere, changes the hash of its operation and those that follow from it. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "model/self_check.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "model/engine.h"
#include "term/clock.h"
#include "term/message.h"
#include "term/output.h"

enum { PROMPT = 40, ANSWER = 24 }; /* tokens */

/* ---- processors ---- */

static void list_processors(struct self_check *c)
{
    cpu_set_t mask;

    if (sched_getaffinity(0, sizeof mask, &mask) != 0)
        CPU_ZERO(&mask);
    for (int i = 0; i < MOST_PROCESSORS && i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &mask))
            c->processor[c->n_processors++] = i;
    if (c->n_processors == 0) /* wherever the system likes */
        c->processor[c->n_processors++] = -1;
}

/* Moves this thread there. It stays where it is when the system does not let it. */
static void go_to(int processor)
{
    cpu_set_t mask;

    CPU_ZERO(&mask);
    if (processor >= 0) {
        CPU_SET(processor, &mask);
        (void)sched_setaffinity(0, sizeof mask, &mask);
    }
}

static void go_anywhere(const struct self_check *c)
{
    cpu_set_t mask;

    CPU_ZERO(&mask);
    for (int i = 0; i < c->n_processors && c->processor[i] >= 0; i++)
        CPU_SET(c->processor[i], &mask);
    if (CPU_COUNT(&mask))
        (void)sched_setaffinity(0, sizeof mask, &mask);
}

/* ---- the answer ---- */

static carat_status draw_answer(struct self_check *c, const carat_model *model, carat_session *session,
                                carat_generation **generation, carat_error *err)
{
    static const int32_t none;
    carat_sampling sampling;
    carat_sampling_default(model, &sampling);
    carat_generation_options options;
    carat_generation_options_default(&options);
    carat_model_info info;
    carat_model_info_default(&info);
    int32_t ids[PROMPT];

    carat_status status = carat_model_get_info(model, &info, err);
    for (int i = 0; i < PROMPT && !status; i++)
        ids[i] = (7 + 131 * i) % info.n_vocab;
    sampling.temperature = 0;
    options.sampling = &sampling;
    options.max_tokens = ANSWER;
    options.lookup = CARAT_LOOKUP_OFF; /* passes of one row */
    options.stop_ids = &none;          /* and none of them */
    if (!status)
        status = carat_sync(session, ids, PROMPT, NULL, err);
    if (!status)
        status = carat_generation_create(generation, session, &options, err);
    if (!status)
        status = carat_receipt_begin(&c->receipt, *generation, NULL, err);
    if (!status)
        status = carat_generate(*generation, err);
    return status ? status : carat_receipt_finish(c->receipt, err);
}

int self_check_open(struct self_check *c, const carat_model *model, const char *isa)
{
    carat_engine_options options;
    carat_engine_options_default(&options);
    carat_session *session = NULL;
    carat_generation *generation = NULL;
    carat_error err;

    list_processors(c);
    options.threads = 1;
    options.isa = isa;
    options.context = PROMPT + ANSWER;
    TRY(create_engine(&c->engine, model, &options));
    TRY(create_session(&session, c->engine, NULL, NULL));
    go_to(c->processor[0]);
    const carat_status status = draw_answer(c, model, session, &generation, &err);
    go_anywhere(c);
    carat_generation_close(generation);
    carat_session_close(session);
    return status == CARAT_OK ? DONE : fail_status(&err);
}

/* ---- runs ---- */

static int keep_hash(void *user, const carat_operation_hash *hash)
{
    struct self_check *c = user;
    struct self_check_hashes *h = &c->now;

    if (h->n == h->capacity) {
        carat_operation_hash *more = realloc(h->of, (size_t)(2 * h->capacity + 128) * sizeof *more);
        c->no_memory = !more;
        if (!more)
            return 1;
        h->of = more;
        h->capacity = 2 * h->capacity + 128;
    }
    h->of[h->n++] = *hash;
    return 0;
}

/* The share of the check that is done. */
static double share_done(const struct self_check *c)
{
    const double all = c->rounds > 0 ? (double)c->rounds * c->n_processors : c->limit;

    return c->rounds > 0 ? (double)c->runs / all : (term_seconds() - c->start) / all;
}

static int watch_run(void *user, size_t done, size_t total)
{
    const struct self_check *c = user;

    (void)done;
    (void)total;
    return c->watch ? c->watch(c->user, share_done(c)) : 0;
}

/* One run into c->now. */
static int compute_once(struct self_check *c)
{
    carat_replay_options how;
    carat_replay_options_default(&how);
    carat_replay result;
    carat_replay_default(&result);
    carat_error err;
    const int processor = c->processor[c->runs % c->n_processors];

    how.on_operation = keep_hash;
    how.progress = watch_run;
    how.user = c;
    how.trace_first = PROMPT + ANSWER - 2;
    how.n_traced = 1;
    c->now.n = 0;
    go_to(processor);
    const carat_status status = carat_receipt_replay(c->receipt, c->engine, &how, &result, &err);
    go_anywhere(c);
    if (status == CARAT_E_CANCELLED && !out_is_read())
        return PIPE_CLOSED;
    if (status != CARAT_OK)
        return c->no_memory ? fail_memory() : fail_status(&err);
    c->now.confirmed = result.confirmed;
    c->now.of_run = (struct self_check_fault){processor, ++c->runs, term_seconds() - c->start, -1, NULL};
    return DONE;
}

/* The first operation of two runs that differs; NULL: none does. */
static const carat_operation_hash *difference(const struct self_check_hashes *a,
                                              const struct self_check_hashes *b)
{
    for (int i = 0; i < a->n && i < b->n; i++)
        if (strcmp(a->of[i].hash, b->of[i].hash) != 0)
            return &a->of[i];
    return NULL;
}

static void tell_fault(struct self_check *c, struct self_check_fault fault, const carat_operation_hash *of)
{
    fault.operation = of->operation;
    fault.layer = of->layer;
    c->wrong++;
    if (c->tell)
        c->tell(c->user, &fault);
}

static void swap(struct self_check_hashes *a, struct self_check_hashes *b)
{
    const struct self_check_hashes kept = *a;

    *a = *b;
    *b = kept;
}

/* Was a run computed on another processor than this one? A run that is confirmed was computed on the first
 * one, too, one token after another. */
static bool is_elsewhere(const struct self_check *c, const struct self_check_hashes *run, int processor)
{
    return run->of_run.processor != processor || (run->confirmed && c->processor[0] != processor);
}

/* Chooses the run that is right: one whose hashes came from more than one processor; else those that came
 * most often. -1: the runs are too few to say yet. */
static int choose_right(const struct self_check *c, const struct self_check_hashes *run, int n, bool last)
{
    int best = 0, most = 0;

    for (int i = 0; i < n; i++) {
        int votes = 0;
        bool elsewhere = false;
        for (int k = 0; k < n; k++)
            if (!difference(&run[k], &run[i])) {
                votes++;
                elsewhere |= is_elsewhere(c, &run[k], run[i].of_run.processor);
            }
        if (elsewhere || (c->n_processors == 1 && votes > 1))
            return i;
        if (votes > most || (votes == most && run[i].confirmed && !run[best].confirmed)) {
            best = i;
            most = votes;
        }
    }
    return last ? best : -1;
}

/* Takes from a run what it says of the right hashes, and of those that are wrong. */
static void weigh_run(struct self_check *c, struct self_check_hashes *run)
{
    const carat_operation_hash *differs = difference(run, &c->right);

    if (!differs) {
        c->elsewhere |= is_elsewhere(c, run, c->right.of_run.processor);
        return;
    }
    tell_fault(c, run->of_run, differs);
    if (!c->other.of)
        swap(&c->other, run);
    else
        c->varies |= difference(run, &c->other) != NULL;
}

/* Runs until it is known what is right. A processor that is always wrong agrees with itself alone; of two of
 * which each does, none can be believed more than the other. */
static int agree(struct self_check *c)
{
    enum { MOST = 5 };
    struct self_check_hashes run[MOST] = {{0}};
    int code = DONE, n = 0, right = -1;

    while (code == DONE && right < 0) {
        code = compute_once(c);
        swap(&c->now, &run[n++]);
        if (code == DONE && n > 1)
            right = choose_right(c, run, n, n == MOST);
    }
    if (code == DONE) {
        swap(&c->right, &run[right]);
        c->elsewhere = is_elsewhere(c, &c->right, c->right.of_run.processor);
    }
    for (int i = 0; i < n && code == DONE; i++)
        if (i != right)
            weigh_run(c, &run[i]);
    for (int i = 0; i < MOST; i++)
        free(run[i].of);
    return code;
}

int self_check_run(struct self_check *c)
{
    static const carat_operation_hash generating = {.layer = -1, .operation = "generating"};

    c->start = term_seconds();
    TRY(agree(c));
    if (!c->right.confirmed) /* the first processor, one token after another */
        tell_fault(c, (struct self_check_fault){c->processor[0], 0, 0, -1, NULL}, &generating);
    while (share_done(c) < 1) {
        TRY(compute_once(c));
        weigh_run(c, &c->now);
    }
    c->undecided = c->other.of && !c->elsewhere && !c->varies && c->n_processors > 1;
    c->seconds = term_seconds() - c->start;
    return DONE;
}

void self_check_close(struct self_check *c)
{
    free(c->right.of);
    free(c->other.of);
    free(c->now.of);
    carat_receipt_close(c->receipt);
    carat_engine_close(c->engine);
}
