/* SPDX-License-Identifier: Apache-2.0 */
/* test_score_ids.c: log-probabilities of given ids: they are those of the logits, to 1e-12 of a plain sum in
 * long double; every way to cut the work gives the same bits; what the session holds afterwards; what is
 * refused, and what becomes of a call that ends early. The sums themselves are test_score.c's. */
#include "engine/step_util.h"

#include <carat_quality.h>
#include <math.h>
#include <pthread.h>

#define TINY CT_TEST_DATA "/../../models/tiny"
enum { HELD = 9, N = 100 };

static double plain_logprob(const float *logits, int n, int32_t id)
{
    long double sum = 0, top = logits[0];

    for (int i = 1; i < n; i++)
        top = logits[i] > top ? logits[i] : top;
    for (int i = 0; i < n; i++)
        sum += expl(logits[i] - top);
    return (double)(logits[id] - top - logl(sum));
}

static carat_model *open_tiny(void)
{
    carat_model *m = NULL;
    OK(carat_model_open(&m, TINY, NULL, err));
    return m;
}

/* The log-probabilities of ids[N] after the first HELD of them, by a session that such options make. */
static void score_with(carat_model *m, const carat_engine_options *o, const int32_t *id, double *logprob)
{
    struct rig r = rig_open(m, o);
    const int32_t *held;

    OK(carat_sync(r.session[0], id, HELD, NULL, err));
    OK(carat_score(r.session[0], id + HELD, N - HELD, logprob, err));
    assert_int_equal(carat_tokens_held(r.session[0], &held), N - 1);
    assert_memory_equal(held, id, (N - 1) * sizeof *held);
    rig_close(&r);
}

/* Of a model whose vocabulary is text as a whole, and of one that has ids beyond. */
static void log_probabilities_of_logits(carat_model *m)
{
    carat_model_info info = model_info(m);
    struct ids id = scattered_ids(N, info.n_text_vocab, 5);
    carat_engine_options o = options(1, 16, 256);
    struct rig r = rig_open(m, &o);
    float *logits = malloc((size_t)N * (size_t)info.n_vocab * sizeof *logits);
    carat_row row = {.session = r.session[0], .tokens = id.id, .n = N, .logits = logits};
    double logprob[N], again[N];

    OK(carat_step(r.engine, &row, sizeof row, 1, err));
    score_with(m, &o, id.id, logprob);
    for (int i = 0; i < N - HELD; i++) {
        const float *before = logits + (size_t)(HELD + i - 1) * (size_t)info.n_vocab;
        double wanted = plain_logprob(before, info.n_text_vocab, id.id[HELD + i]);
        assert_true(fabs(logprob[i] - wanted) <= 1e-12 * fabs(wanted));
    }
    /* the logits that it holds are those of what it holds, and it goes on from there, one id at a time */
    OK(carat_sync(r.session[0], id.id, HELD, NULL, err));
    for (int i = HELD; i < N; i++) {
        OK(carat_score(r.session[0], id.id + i, 1, &again[i - HELD], err));
        assert_int_equal(carat_tokens_held(r.session[0], NULL), i);
        OK(carat_append(r.session[0], id.id + i, 1, err));
    }
    assert_memory_equal(again, logprob, (N - HELD) * sizeof *again);
    OK(carat_sync(r.session[0], id.id, HELD, NULL, err));
    OK(carat_score(r.session[0], id.id + HELD, N - HELD, again, err));
    assert_memory_equal(carat_logits(r.session[0]), logits + (size_t)(N - 2) * (size_t)info.n_vocab,
                        (size_t)info.n_vocab * sizeof *logits);
    free(logits);
    free(id.id);
    rig_close(&r);
}

static void equal_recomputation(void **state)
{
    (void)state;
    carat_model *m = open_tiny();
    log_probabilities_of_logits(m);
    log_probabilities_of_logits(model); /* SICK is among its ids, and its embedding alone is NaN */
    carat_model_close(m);
}

static void have_the_same_bits(void **state)
{
    (void)state;
    carat_model *m = open_tiny();
    struct ids id = scattered_ids(N, model_info(m).n_text_vocab, 6);
    static const int chunks[] = {1, 7, 64};
    carat_head_options head;
    carat_head_options_default(&head);
    double first[N], logprob[N];
    carat_engine_options o = options(1, 0, 256);

    score_with(m, &o, id.id, first);
    /* a sanitizer looks for other mistakes, and makes this ten times slower */
    for (int threads = SANITIZED ? 3 : 1; threads <= 3; threads++)
        for (int c = 0; c < 3; c++) {
            o.threads = threads;
            o.chunk = chunks[c];
            score_with(m, &o, id.id, logprob);
            assert_memory_equal(logprob, first, (N - HELD) * sizeof *first);
        }
    for (int i = 0; carat_isa_name(i) && !SANITIZED; i++) {
        o.isa = carat_isa_name(i);
        if (has_isa(m, o.isa)) {
            score_with(m, &o, id.id, logprob);
            assert_memory_equal(logprob, first, (N - HELD) * sizeof *first);
        }
    }
    o.isa = NULL;
    o.head = &head;
    head.strategy = CARAT_HEAD_EXACT_PRUNED;
    score_with(m, &o, id.id, logprob);
    assert_memory_equal(logprob, first, (N - HELD) * sizeof *first);
    head.strategy = CARAT_HEAD_SHORTLIST; /* drawing looks at few tiles, scoring at all */
    head.tile = 64;
    head.shortlist_tiles = 2;
    score_with(m, &o, id.id, logprob);
    assert_memory_equal(logprob, first, (N - HELD) * sizeof *first);
    free(id.id);
    carat_model_close(m);
}

/* ---- what is refused ---- */

static void refuses(void **state)
{
    (void)state;
    carat_engine_options o = options(1, 16, 64);
    struct rig r = rig_open(model, &o);
    carat_session *s = r.session[0];
    int32_t bad[3] = {5, 6, 7};
    double logprob[MOST] = {42};

    FAILS(CARAT_E_ARGUMENT, carat_score(NULL, ids, 1, logprob, err));
    FAILS(CARAT_E_ARGUMENT, carat_score(s, NULL, 1, logprob, err));
    FAILS(CARAT_E_ARGUMENT, carat_score(s, ids, 0, logprob, err));
    FAILS(CARAT_E_ARGUMENT, carat_score(s, ids, -1, logprob, err));
    FAILS(CARAT_E_ARGUMENT, carat_score(s, ids, 1, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_score(s, ids, 5, logprob, err)); /* nothing is held */
    OK(carat_sync(s, ids, 10, NULL, err));
    bad[2] = -1;
    FAILS(CARAT_E_ARGUMENT, carat_score(s, bad, 3, logprob, err));
    bad[2] = VOCAB;
    FAILS(CARAT_E_ARGUMENT, carat_score(s, bad, 3, logprob, err));
    FAILS(CARAT_E_CONTEXT, carat_score(s, ids + 10, 56, logprob, err));
    assert_true(logprob[0] == 42);
    check_held(s, 10);
    OK(carat_score(s, ids + 10, 55, logprob, err)); /* the last one needs no position */
    check_held(s, 64);
    OK(carat_rewind(s, 20, err));
    FAILS(CARAT_E_ARGUMENT, carat_score(s, ids + 20, 3, logprob, err)); /* it holds no logits */
    assert_int_equal(carat_tokens_held(s, NULL), 20);
    rig_close(&r);
}

/* Ids beyond the text vocabulary are never scored, and take no part in the sum. */
static void text_vocabulary_alone(void **state)
{
    (void)state;
    struct ct_config *c = (struct ct_config *)(uintptr_t)&model->config; /* nobody else uses it now */
    carat_engine_options o = options(1, 16, 64);
    struct rig r = rig_open(model, &o);
    const int whole = c->n_text_vocab;
    double logprob[1];

    c->n_text_vocab = 50;
    OK(carat_sync(r.session[0], ids, 5, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_score(r.session[0], (int32_t[]){50}, 1, logprob, err));
    OK(carat_score(r.session[0], (int32_t[]){49}, 1, logprob, err));
    assert_true(fabs(logprob[0] - plain_logprob(right + (size_t)4 * VOCAB, 50, 49)) < 1e-12);
    c->n_text_vocab = whole;
    rig_close(&r);
}

static void is_not_finite(void **state)
{
    (void)state;
    carat_engine_options o = options(2, 16, 256);
    struct rig r = rig_open(model, &o);
    double logprob[MOST];
    int32_t ill[60];

    memcpy(ill, ids + 10, sizeof ill);
    ill[50] = SICK; /* in the second slice */
    OK(carat_sync(r.session[0], ids, 10, NULL, err));
    OK(carat_sync(r.session[1], ids, 10, NULL, err));
    assert_int_equal(carat_score(r.session[0], ill, 60, logprob, NULL), CARAT_E_NUMERIC);
    assert_int_equal(carat_tokens_held(r.session[0], NULL), 0);
    FAILS(CARAT_E_ARGUMENT, carat_score(r.session[0], ids, 2, logprob, err));
    check_held(r.session[1], 10);
    check_goes_on(r.session[0], 30);
    /* as the last one it is scored, and not evaluated */
    OK(carat_score(r.session[1], ill, 51, logprob, err));
    rig_close(&r);
}

/* ---- watching ---- */

struct watcher {
    carat_session *session;
    size_t last, total;
    int calls, busy, stop_at; /* stop_at: ids after which it wants no more; 0: never */
    bool wrong;
};

static int watch(void *user, size_t done, size_t total)
{
    struct watcher *w = user;
    double logprob;

    w->wrong |= done < w->last || done > total || (w->calls && total != w->total);
    w->last = done;
    w->total = total;
    w->calls++;
    w->busy += carat_score(w->session, ids, 1, &logprob, NULL) == CARAT_E_BUSY;
    return w->stop_at && done >= (size_t)w->stop_at;
}

static void is_watched(void **state)
{
    (void)state;
    carat_engine_options o = options(1, 7, MOST);
    struct rig r = rig_open(model, &o);
    carat_session *s = NULL;
    struct watcher w = {NULL, 0, 0, 0, 0, 0, false};
    carat_session_options watched;
    carat_session_options_default(&watched);
    double logprob[MOST], again[MOST];

    carat_session_close(r.session[0]);
    watched.watch = watch;
    watched.user = &w;
    OK(carat_session_create(&s, r.engine, &watched, err));
    r.session[0] = w.session = s;
    OK(carat_sync(s, ids, 20, NULL, err));
    w = (struct watcher){.session = s};
    OK(carat_score(s, ids + 20, 200, logprob, err));
    assert_true(w.calls > 20 && w.busy == w.calls && !w.wrong);
    assert_int_equal(w.total, 199);
    assert_in_range(w.last, 190, 199);
    OK(carat_rewind(s, 60, err)); /* the local layers have no longer what comes before */
    OK(carat_sync(s, ids, 61, NULL, err));
    w = (struct watcher){.session = s, .stop_at = 50};
    assert_int_equal(carat_score(s, ids + 61, 100, again, NULL), CARAT_E_CANCELLED);
    assert_true(!w.wrong);
    int held = carat_tokens_held(s, NULL);
    assert_in_range(held, 61 + 32, 61 + 64);
    w = (struct watcher){.session = s};
    check_goes_on(s, held);
    OK(carat_score(s, ids + held, 220 - held, again, err));
    assert_memory_equal(again, logprob + held - 20, (size_t)(220 - held) * sizeof *again);
    carat_cancel(s);
    FAILS(CARAT_E_CANCELLED, (carat_cancel(s), carat_score(s, ids + 219, 2, again, err)));
    rig_close(&r);
}

/* ---- threads ---- */

struct worker {
    carat_session *session;
    int failed;
    double logprob[N];
};

static void *work(void *arg)
{
    struct worker *w = arg;

    for (int i = 0; i < 3; i++)
        w->failed += carat_sync(w->session, ids, HELD, NULL, NULL) != CARAT_OK ||
                     carat_score(w->session, ids + HELD, N - HELD, w->logprob, NULL) != CARAT_OK;
    return NULL;
}

static void two_at_once(void **state)
{
    (void)state;
    carat_engine_options o = options(2, 16, 256);
    o.threads = 2;
    struct rig r = rig_open(model, &o);
    struct worker w[2] = {{.session = r.session[0]}, {.session = r.session[1]}};
    double alone[N];
    pthread_t t;

    score_with(model, &o, ids, alone);
    assert_int_equal(pthread_create(&t, NULL, work, &w[1]), 0);
    work(&w[0]);
    pthread_join(t, NULL);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(w[i].failed, 0);
        assert_memory_equal(w[i].logprob, alone, (N - HELD) * sizeof *alone);
    }
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_recomputation),
        cmocka_unit_test(have_the_same_bits),
        cmocka_unit_test(refuses),
        cmocka_unit_test(text_vocabulary_alone),
        cmocka_unit_test(is_not_finite),
        cmocka_unit_test(is_watched),
        cmocka_unit_test(two_at_once),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
