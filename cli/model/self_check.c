/* SPDX-License-Identifier: Apache-2.0 */
/* self_check.c: see self_check.h. An answer has a receipt, and a run is its replay by one thread on one
 * processor: a prompt in a pass of many rows, its last token in a pass of one, the answer in one of many. The
 * chain of hashes behind the last position has seen all of them. What is right is what two runs agree on. */
#define _GNU_SOURCE /* sched_setaffinity */
#include "model/self_check.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "model/engine.h"
#include "term/clock.h"
#include "term/message.h"

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

/* How much of it is done. */
static double share_done(const struct self_check *c)
{
    const double all = c->rounds > 0 ? (double)c->rounds * c->n_processors : c->limit;

    return c->rounds > 0 ? (double)c->runs / all : (seconds() - c->start) / all;
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
    if (status != CARAT_OK)
        return c->no_memory ? fail_memory() : fail_status(&err);
    c->now.confirmed = result.confirmed;
    c->now.of_run = (struct self_check_fault){processor, ++c->runs, seconds() - c->start, -1, NULL};
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

/* Finds what is right: what two of the first three runs agree on; but where one alone gives what was drawn
 * from, that one, since two of three may be on one processor. Of two processors that never agree it can take
 * the wrong one. */
static int agree(struct self_check *c)
{
    struct self_check_hashes run[3] = {{0}, {0}, {0}};
    int code = DONE, n = 0, right = 0;

    do {
        code = compute_once(c);
        swap(&c->now, &run[n++]);
    } while (code == DONE && n < 3 && (n < 2 || difference(&run[0], &run[1])));
    if (code == DONE && n == 3) {
        right = difference(&run[0], &run[2]) ? 1 : 0;
        right = run[1 - right].confirmed && !run[right].confirmed ? 1 - right : right;
        for (int i = 0; i < n; i++) {
            const carat_operation_hash *differs = difference(&run[i], &run[right]);
            if (differs)
                tell_fault(c, run[i].of_run, differs);
        }
    }
    swap(&c->right, &run[right]);
    for (int i = 0; i < 3; i++)
        free(run[i].of);
    return code;
}

int self_check_run(struct self_check *c)
{
    static const carat_operation_hash generating = {.layer = -1, .operation = "generating"};

    c->start = seconds();
    TRY(agree(c));
    if (!c->right.confirmed) /* the first processor, one token after another */
        tell_fault(c, (struct self_check_fault){c->processor[0], 0, 0, -1, NULL}, &generating);
    while (share_done(c) < 1) {
        TRY(compute_once(c));
        const carat_operation_hash *differs = difference(&c->now, &c->right);
        if (differs)
            tell_fault(c, c->now.of_run, differs);
    }
    c->seconds = seconds() - c->start;
    return DONE;
}

void self_check_close(struct self_check *c)
{
    free(c->right.of);
    free(c->now.of);
    carat_receipt_close(c->receipt);
    carat_engine_close(c->engine);
}
