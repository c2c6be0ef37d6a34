/* SPDX-License-Identifier: Apache-2.0 */
/* score_ids.c: log-probabilities of given ids. A slice of them is evaluated with the logits of every row,
 * which lie in memory of the call and not in the session's; then threads of the call's own make one number
 * of each row, and tell what a generation would tell. What a number is, is score.h's, and readout.h's what is
 * told. */
#include "check/quality.h"

#include "engine/row.h"
#include "engine/row_logits.h"
#include "engine/session.h"
#include "generate/readout.h"
#include "os/fp_environment.h"
#include "os/memory.h"
#include "os/pool.h"

/* Rows whose logits are held at once. With fewer the head's weights would be read more often than they are
 * needed; more take memory and are not faster. */
enum { SLICE = 32 };

struct scoring {
    carat_session *session;
    const int32_t *ids;
    int n;
    double *logprob; /* may be NULL */
    const carat_score_options *told;
    int n_text;    /* ids of the text vocabulary */
    size_t stride; /* of rows in `logits` */
    float *logits; /* [SLICE][stride] of the slice under way */
    size_t bytes;  /* of them */
    const struct ct_score *kernel;
    struct ct_pool *pool;
    int at; /* first id of the slice; those before are evaluated */
};

/* ---- what is said of each row ---- */

static void score_id(const struct scoring *s, int i, const float *logits)
{
    const struct ct_logits all = {.value = logits, .n = (int)s->stride};
    const int n_top = s->told->n_top;
    struct ct_score_row row;

    if (s->logprob) {
        s->kernel->row(&row, logits, s->n_text);
        s->logprob[i] = ct_score_logprob(&row, logits[s->ids[i]]);
    }
    if (!s->told->given && !n_top)
        return;
    float given = ct_likelihood(s->session->engine, &all, s->ids[i],
                                n_top ? s->told->top + (size_t)i * (size_t)n_top : NULL, n_top);
    if (s->told->given)
        s->told->given[i] = given;
}

/* The logits behind an id of the slice are those of the next one. */
static void score_behind(void *arg, int item, int thread)
{
    const struct scoring *s = arg;

    (void)thread;
    score_id(s, s->at + item + 1, s->logits + (size_t)item * s->stride);
}

static void score_slice(struct scoring *s, int rows)
{
    ct_fpenv saved = ct_os_fp_enter();

    ct_pool_run(s->pool, rows, score_behind, s);
    ct_os_fp_leave(saved);
}

/* The first id follows what the session holds. */
static carat_status score_first(struct scoring *s, carat_error *err)
{
    carat_engine *e = s->session->engine;
    struct ct_logits held;

    ct_lock_enter(&e->lock);
    carat_status status = ct_session_read(s->session, NULL, &held, err);
    ct_lock_leave(&e->lock);
    if (status)
        return status;
    ct_fpenv saved = ct_os_fp_enter();
    score_id(s, 0, held.value);
    ct_os_fp_leave(saved);
    return CARAT_OK;
}

/* ---- slices ---- */

/* The session's watch hears of the whole call, not of each slice. A session with logits has K and V of all
 * that it holds, so that `done` counts ids of the slice alone. */
static int watch_all(void *user, size_t done, size_t total)
{
    const struct scoring *s = user;

    (void)total;
    return s->session->watch(s->session->user, (size_t)s->at + done, (size_t)s->n - 1);
}

static carat_status score_slices(struct scoring *s, carat_error *err)
{
    for (int rows; s->at < s->n - 1; s->at += rows) {
        rows = CT_MIN(SLICE, s->n - 1 - s->at);
        struct ct_row row = {.row = {.session = s->session,
                                     .tokens = s->ids + s->at,
                                     .n = rows,
                                     .logits = s->logits,
                                     .wants = CARAT_WANTS_ALL},
                             .watch = s->session->watch ? watch_all : NULL,
                             .watcher = s};
        CT_TRY(ct_evaluate(&row, false, err));
        score_slice(s, rows);
    }
    return CARAT_OK;
}

/* ---- the call ---- */

static carat_status check_scoring(const struct scoring *s, carat_error *err)
{
    const carat_engine *e = s->session->engine;

    if (s->told->n_top > s->n_text)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "n_top is %d, expected at most the %d ids of the text vocabulary", s->told->n_top,
                       s->n_text);
    for (int i = 0; i < s->n; i++)
        if (s->ids[i] < 0 || s->ids[i] >= s->n_text)
            return ct_fail(err, CARAT_E_ARGUMENT, "id %d at index %d is outside the text vocabulary of %d",
                           (int)s->ids[i], i, s->n_text);
    if (s->session->n + (int64_t)s->n - 1 > e->plan.context)
        return ct_fail(err, CARAT_E_CONTEXT,
                       "%d tokens that are held and %d that are evaluated do not fit in a context of %d",
                       s->session->n, s->n - 1, e->plan.context);
    return CARAT_OK;
}

/* Memory and threads for the slices; one id needs neither. */
static carat_status prepare_scoring(struct scoring *s, carat_error *err)
{
    const carat_engine *e = s->session->engine;
    const int rows = CT_MIN(SLICE, s->n - 1);

    if (rows == 0)
        return CARAT_OK;
    s->bytes = (size_t)rows * s->stride * sizeof *s->logits;
    if (!(s->logits = ct_os_reserve(s->bytes)))
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for %d rows of logits", rows);
    ct_os_huge(s->logits, s->bytes);
    return ct_pool_create(&s->pool, CT_MIN(e->plan.threads, rows), err);
}

static carat_status score_claimed(struct scoring *s, carat_error *err)
{
    CT_TRY(check_scoring(s, err));
    CT_TRY(prepare_scoring(s, err));
    CT_TRY(score_first(s, err));
    return score_slices(s, err);
}

static carat_status score_ids(carat_session *session, const int32_t *ids, int n, double *logprob,
                              const carat_score_options *options, carat_error *err)
{
    const struct ct_config *config = &session->engine->model->config;
    struct scoring s = {.session = session,
                        .ids = ids,
                        .n = n,
                        .logprob = logprob,
                        .told = options,
                        .kernel = ct_score(),
                        .n_text = config->n_text_vocab,
                        .stride = (size_t)config->n_vocab};

    carat_status status = score_claimed(&s, err);
    ct_pool_destroy(s.pool);
    ct_os_release(s.logits, s.bytes);
    return status;
}

carat_status carat_score_with(carat_session *session, const int32_t *ids, int n, double *logprob,
                              const carat_score_options *options, carat_error *err)
{
    carat_score_options o = {0};

    if (!ids || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "ids is NULL, or n = %d is below 1", n);
    CT_TRY(ct_take_struct(&o, sizeof o, options, "carat_score_options", err));
    CT_TRY(ct_check_range("n_top", o.n_top, 0, CARAT_MOST_LOGPROBS, err));
    if (o.n_top && !o.top)
        return ct_fail(err, CARAT_E_ARGUMENT, "top is NULL and n_top is %d", o.n_top);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, score_ids(session, ids, n, logprob, &o, err));
}

carat_status carat_score(carat_session *session, const int32_t *ids, int n, double *logprob, carat_error *err)
{
    CT_GIVEN(logprob, err);
    return carat_score_with(session, ids, n, logprob, NULL, err);
}
