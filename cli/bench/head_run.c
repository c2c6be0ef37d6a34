/* SPDX-License-Identifier: Apache-2.0 */
/* head_run.c: measures a strategy of the head. Each opens the model anew, so that its memory is its own, and
 * goes through the ids that dense drew: first beside dense's logits, then, a run at a time, with the clock
 * on. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench_options.h"
#include "bench/heads.h"
#include "model/engine.h"
#include "model/model.h"
#include "term/clock.h"
#include "term/interrupt.h"

/* ---- set-up ---- */

/* Bytes of this process that are in memory; NAN where the system does not tell. */
static double resident(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    unsigned long long pages;
    bool known = f && fscanf(f, "%*u %llu", &pages) == 1;

    if (f)
        fclose(f);
    return known ? (double)pages * (double)sysconf(_SC_PAGESIZE) : NAN;
}

void head_seat_close(struct head_seat *s)
{
    carat_session_close(s->session);
    carat_engine_close(s->engine);
    carat_model_close(s->model);
    *s = (struct head_seat){NULL, NULL, NULL};
}

static int stop_quietly(void *user, size_t done, size_t total)
{
    (void)user;
    (void)done;
    (void)total;
    return term_interrupted();
}

/* Creates the engine of a row. A head that the row cannot have is no error: the row says why. */
static int create_head(struct heads *h, struct head_seat *seat, struct head_row *row)
{
    carat_engine_options options;
    carat_error err;

    engine_options(&options, h->o);
    options.context = h->n_ids + h->n_steps;
    options.threads = atoi(h->o->bench->thread_list); /* one number, as checked */
    options.chunk = atoi(h->o->bench->chunk_list);
    options.head = &row->options;
    options.progress = stop_quietly;
    TRY(fit_engine(&options, seat->model, h->o));
    carat_status status = carat_plan_engine(seat->model, &options, &h->plan, &err);
    if (status == CARAT_OK)
        status = carat_engine_create(&seat->engine, seat->model, &options, &err);
    if (status == CARAT_E_ARGUMENT || status == CARAT_E_UNSUPPORTED || status == CARAT_E_MEMORY)
        snprintf(row->refused, sizeof row->refused, "%.255s", err.message);
    else if (status != CARAT_OK)
        return fail_status(&err);
    return DONE;
}

/* Model and engine, from the origin alone or as the cache has it; the seconds of it. */
static int set_up(struct heads *h, struct head_row *row, bool cached, bool fills, double *spent)
{
    struct options o = *h->o;
    struct open_options open = *o.open;
    double start;
    int code;

    head_seat_close(&h->seat);
    open.no_cache = !cached || open.no_cache;
    o.open = &open;
    start = term_seconds();
    if (h->memory)
        code = head_spectrum_open(&h->seat.model, h->memory, h->n_memory);
    else
        code = fills ? open_packed(&h->seat.model, &o) : open_model(&h->seat.model, &o, false);
    if (code == DONE)
        code = create_head(h, &h->seat, row);
    *spent = term_seconds() - start;
    return code;
}

/* Both ways for the first row of a group, for the others as they need it. */
static int set_up_row(struct heads *h, struct head_row *row)
{
    const bool first = row == h->row || row[-1].group != row->group;
    double spent, before;
    int code = DONE;

    if (first && row->k) {
        code = set_up(h, row, false, false, &row->cold_s);
        if (code == DONE && !*row->refused && !h->memory)
            code = set_up(h, row, true, true, &spent); /* what it wants kept is there from now on */
    } else if (row->k) {
        row->cold_s = row[-1].cold_s;
    }
    head_seat_close(&h->seat);
    before = resident();
    if (code == DONE && !*row->refused)
        code = set_up(h, row, true, false, &row->cached_s);
    if (h->memory) /* which no cache has */
        row->cached_s = NAN;
    row->rss = -before;
    return code;
}

/* ---- steps ---- */

static carat_sampling sampling_of(const struct heads *h, const struct head_row *row)
{
    carat_sampling s;

    carat_sampling_default(h->dense.model, &s);
    s.temperature = row->k == 1 ? 0 : 1;
    s.top_k = row->k;
    s.top_p = 1;
    s.min_p = 0;
    s.seed = 1;
    return s;
}

static int begin_session(struct head_seat *seat, const carat_sampling *sampling)
{
    carat_session_options options;
    carat_error err;

    carat_session_options_default(&options);
    options.watch = stop_when_interrupted;
    options.sampling = sampling;
    carat_session_close(seat->session);
    seat->session = NULL;
    return carat_session_create(&seat->session, seat->engine, &options, &err) == CARAT_OK ? DONE
                                                                                          : fail_status(&err);
}

/* A session that holds all ids of the prompt but the last. */
static int begin_run(const struct heads *h, struct head_seat *seat, const carat_sampling *sampling)
{
    TRY(begin_session(seat, sampling));
    return evaluate_ids(seat->engine, seat->session, h->truth.ids, h->n_ids - 1, h->o->bench->prefill_logits);
}

static int take_step(const struct heads *h, const struct head_seat *seat, int i,
                     const carat_sampling *sampling, int32_t *id)
{
    carat_error err;

    if (carat_append(seat->session, &h->truth.ids[h->n_ids - 1 + i], 1, &err) != CARAT_OK ||
        carat_sample(seat->session, sampling, id, &err) != CARAT_OK)
        return fail_status(&err);
    return DONE;
}

/* ---- dense, from which the ids come ---- */

static int keep_step(struct heads *h, int i)
{
    const size_t n = (size_t)h->info.n_vocab, k = (size_t)h->k;
    const float *logits = carat_logits(h->dense.session);
    carat_error err;

    if (!logits || carat_top(h->dense.session, h->k, &h->truth.best[(size_t)i * k], &err) != CARAT_OK)
        return term_fail(FAILED, "bench lm-head: no logits");
    memcpy(&h->truth.logits[(size_t)i * n], logits, n * sizeof *logits);
    return DONE;
}

int heads_find_truth(struct heads *h)
{
    const size_t n = (size_t)h->compared;
    struct head_row *dense = &h->row[0];
    const carat_sampling sampling = sampling_of(h, dense);
    int code;

    h->truth.logits = calloc(n * (size_t)h->info.n_vocab, sizeof(float));
    h->truth.best = calloc(n * (size_t)h->k, sizeof *h->truth.best);
    h->seconds = calloc((size_t)h->runs * (size_t)h->n_steps, sizeof *h->seconds);
    h->beside = calloc((size_t)h->runs * (size_t)h->n_steps, sizeof *h->beside);
    if (!h->truth.logits || !h->truth.best || !h->seconds || !h->beside)
        return fail_memory();
    if ((code = create_head(h, &h->dense, dense)) == DONE && *dense->refused)
        return term_fail(FAILED, "%s", dense->refused);
    if (code == DONE)
        code = begin_run(h, &h->dense, &sampling);
    for (int i = 0; i < h->n_steps && code == DONE; i++) {
        code = take_step(h, &h->dense, i, &sampling, &h->truth.ids[h->n_ids + i]);
        if (code == DONE && i < h->compared)
            code = keep_step(h, i);
    }
    return code;
}

/* ---- a row ---- */

static int compare_row(struct heads *h, struct head_row *row, const carat_sampling *sampling)
{
    carat_candidate best[HEAD_K];
    carat_error err;
    int code = begin_run(h, &h->seat, sampling);
    int32_t id;

    for (int i = 0; i < h->compared && code == DONE; i++) {
        code = take_step(h, &h->seat, i, sampling, &id);
        if (code == DONE && carat_top(h->seat.session, row->k, best, &err) != CARAT_OK)
            code = fail_status(&err);
        if (code == DONE)
            heads_liken(h, row, i, best);
    }
    return code;
}

/* Adds what the head did since. */
static int count_since(struct heads *h, struct head_row *row, const carat_head_stats *then)
{
    carat_head_stats now = {.size = sizeof now}, *sum = &row->head;
    carat_error err;

    if (carat_engine_get_head(h->seat.engine, &now, &err) != CARAT_OK)
        return fail_status(&err);
    now.tokens += sum->tokens - then->tokens;
    now.bytes += sum->bytes - then->bytes;
    now.dense_bytes += sum->dense_bytes - then->dense_bytes;
    now.seconds += sum->seconds - then->seconds;
    now.hits += sum->hits - then->hits;
    now.misses += sum->misses - then->misses;
    now.evictions += sum->evictions - then->evictions;
    now.evaluated += sum->evaluated - then->evaluated;
    now.made_bytes += sum->made_bytes - then->made_bytes;
    now.rows_finished += sum->rows_finished - then->rows_finished;
    now.panels_finished += sum->panels_finished - then->panels_finished;
    now.fallbacks += sum->fallbacks - then->fallbacks;
    *sum = now;
    return DONE;
}

/* Each step's seconds. */
static int time_steps(const struct heads *h, const struct head_seat *seat, const carat_sampling *sampling,
                      double *spent)
{
    int code = DONE;
    int32_t id;

    for (int i = 0; i < h->n_steps && code == DONE; i++) {
        double start = term_seconds();
        code = take_step(h, seat, i, sampling, &id);
        spent[i] = term_seconds() - start;
    }
    return code;
}

/* Run r, behind one of dense: the machine is then as it was for that. What the head does in the prompt is not
 * counted. */
static int time_run(struct heads *h, struct head_row *row, const carat_sampling *sampling, int r)
{
    const carat_sampling usual = sampling_of(h, h->row);
    double sum = 0, *spent = &h->seconds[r * h->n_steps];
    carat_head_stats before = {.size = sizeof before};
    carat_error err;
    int code = begin_run(h, &h->dense, &usual);

    if (code == DONE)
        code = time_steps(h, &h->dense, &usual, &h->beside[r * h->n_steps]);
    if (code == DONE)
        code = begin_run(h, &h->seat, sampling);
    if (code == DONE && carat_engine_get_head(h->seat.engine, &before, &err) != CARAT_OK)
        code = fail_status(&err);
    if (code == DONE)
        code = time_steps(h, &h->seat, sampling, spent);
    for (int i = 0; i < h->n_steps; i++)
        sum += spent[i];
    row->speed[r] = h->n_steps / fmax(sum, 1e-9);
    return code == DONE ? count_since(h, row, &before) : code;
}

static int time_prompt(struct heads *h, struct head_row *row, const carat_sampling *sampling, int r)
{
    carat_head_stats before = {.size = sizeof before};
    carat_error err;
    int code = begin_session(&h->seat, sampling);

    if (code == DONE && carat_engine_get_head(h->seat.engine, &before, &err) != CARAT_OK)
        code = fail_status(&err);
    double start = term_seconds();
    if (code == DONE)
        code = evaluate_ids(h->seat.engine, h->seat.session, h->truth.ids, h->n_ids, row->prompt_logits);
    h->seconds[r] = term_seconds() - start;
    row->speed[r] = h->n_ids / fmax(h->seconds[r], 1e-9);
    return code == DONE ? count_since(h, row, &before) : code;
}

static int run_row(struct heads *h, struct head_row *row)
{
    const carat_sampling sampling = sampling_of(h, row);
    const int n = row->k ? h->runs * h->n_steps : h->runs;
    int code = row->k ? compare_row(h, row, &sampling) : time_prompt(h, row, &sampling, 0);

    row->rss += resident();
    for (int r = 0; r < h->runs && code == DONE; r++)
        code = row->k ? time_run(h, row, &sampling, r) : time_prompt(h, row, &sampling, r);
    if (code != DONE)
        return code;
    return spread_of(&row->ts, row->speed, h->runs, 1) && spread_of(&row->ms, h->seconds, n, 1e3) &&
                   spread_of(&row->dense_ms, h->beside, row->k ? n : 0, 1e3)
               ? DONE
               : fail_memory();
}

int heads_run(struct heads *h, struct head_row *row)
{
    int code = DONE;

    row->speed = calloc((size_t)h->runs, sizeof *row->speed);
    if (!row->speed)
        return fail_memory();
    code = set_up_row(h, row);
    if (code == DONE && !*row->refused)
        code = run_row(h, row);
    if (row->compared) { /* sums become means */
        row->kl /= row->compared;
        row->top1 /= row->compared;
        row->recall /= row->compared;
        row->same /= row->compared;
        row->differs = row->head.exact && row->same < 1;
    }
    head_seat_close(&h->seat);
    return code;
}
