/* SPDX-License-Identifier: Apache-2.0 */
/* test_threads.c: the thread rules of carat.h. Two models, two engines of each and four threads with their
 * own sessions give the bits of one thread alone; a second call on one session is told that it is busy;
 * callbacks may call into the library; sessions come and go from all threads. `make check-deep` runs it
 * under ThreadSanitizer too. */
#include "vector_util.h"

#include <pthread.h>
#include <stdatomic.h>

enum { MODELS = 2, ENGINES = 2, THREADS = 4, PROMPT = 6, STEPS = 2, STOP = 1 };
enum { ROUNDS = SANITIZED ? 1 : 4 }; /* a pass takes fifty times as long under ThreadSanitizer */

static const char *const paths[MODELS] = {CT_TEST_DATA "/../../models/tiny",
                                          CT_TEST_DATA "/vectors/gguf/mixed.gguf"};
static carat_model *models[MODELS];
static carat_engine *engines[MODELS][ENGINES];

static int open_all(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        OK(carat_model_open(&models[m], paths[m], NULL, err));
        for (int e = 0; e < ENGINES; e++) {
            carat_engine_options o;
            carat_engine_options_default(&o);
            o.threads = 1 + e; /* with and without a pool */
            o.context = 64;
            o.sessions = THREADS;
            o.chunk = 4; /* several passes a prompt, so that threads take turns inside one call */
            OK(carat_engine_create(&engines[m][e], models[m], &o, err));
        }
    }
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (int m = 0; m < MODELS; m++) {
        for (int e = 0; e < ENGINES; e++)
            carat_engine_close(engines[m][e]);
        carat_model_close(models[m]);
    }
    return 0;
}

static uint64_t mix(uint64_t digest, const void *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        digest = (digest ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
    return digest;
}

/* cmocka's assertions belong to the main thread; the others count what went wrong. */
static atomic_int failures;
static void expect(bool holds)
{
    atomic_fetch_add(&failures, !holds);
}

/* One conversation of thread `who` with an engine from a session of its own: all ids, texts and logits in a
 * digest. */
static uint64_t converse(int m, carat_engine *engine, int who)
{
    carat_session *s = NULL;
    carat_sampling sampling;
    carat_tokens t = {0};
    uint64_t digest = 0;
    int32_t prompt[PROMPT], id = 0;
    char text[64], piece[256];

    carat_sampling_default(models[m], &sampling);
    sampling.number = (uint32_t)who;
    expect(carat_session_create(&s, engine, NULL, NULL) == CARAT_OK);
    for (int i = 0; i < PROMPT; i++)
        prompt[i] = i ? 3 + (i * 37 + who * 11) % 120 : 2;
    expect(carat_sync(s, prompt, PROMPT, NULL, NULL) == CARAT_OK);
    for (int i = 0; i < STEPS; i++) {
        expect(carat_sample(s, &sampling, &id, NULL) == CARAT_OK);
        digest = mix(digest, &id, sizeof id);
        digest = mix(digest, piece, carat_stream_text(s, id, piece, sizeof piece));
        expect(carat_append(s, &id, 1, NULL) == CARAT_OK);
    }
    digest = mix(digest, carat_logits(s), (size_t)model_info(models[m]).n_vocab * sizeof(float));
    if (m == 0) { /* the one with a tokenizer */
        snprintf(text, sizeof text, "Thread %d says hello", who);
        carat_message message = {.role = "user", .content = text};
        expect(carat_render(models[m], &message, sizeof(carat_message), 1, NULL, &t, NULL, NULL) == CARAT_OK);
        digest = mix(digest, t.ids, (size_t)t.n * sizeof *t.ids);
    }
    expect(carat_tokens_held(s, NULL) == PROMPT + STEPS);
    carat_tokens_free(&t);
    carat_session_close(s);
    return digest;
}

struct talker {
    pthread_t thread;
    int who;
    uint64_t digest[MODELS][ENGINES]; /* of all rounds */
};

static void *talk(void *arg)
{
    struct talker *t = arg;
    for (int round = 0; round < ROUNDS; round++)
        for (int k = 0; k < MODELS * ENGINES; k++) { /* each begins with another engine */
            int at = (k + t->who) % (MODELS * ENGINES), m = at / ENGINES, e = at % ENGINES;
            uint64_t digest = converse(m, engines[m][e], t->who);
            t->digest[m][e] = mix(t->digest[m][e], &digest, sizeof digest);
        }
    return NULL;
}

static void threads_get_the_bits_of_one(void **state)
{
    (void)state;
    struct talker alone[THREADS] = {{0}}, together[THREADS] = {{0}};
    for (int i = 0; i < THREADS; i++) {
        alone[i].who = together[i].who = i;
        talk(&alone[i]);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&together[i].thread, NULL, talk, &together[i]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(together[i].thread, NULL);
    assert_int_equal(atomic_load(&failures), 0);
    for (int i = 0; i < THREADS; i++)
        assert_memory_equal(together[i].digest, alone[i].digest, sizeof alone[i].digest);
    assert_memory_not_equal(alone[0].digest, alone[1].digest, sizeof alone[0].digest);
}

/* ---- one session ---- */

struct meeting {
    carat_session *session, *other; /* of one engine */
    carat_engine *engine;
    int calls;
    carat_status status[8];
    int held, other_held, wrote;
    bool logits;
};

/* A second call on the session, from wherever. */
static void *intrude(void *arg)
{
    struct meeting *m = arg;
    int32_t id = 5;
    char piece[256] = "x";
    const int32_t *tokens = &id;
    carat_session *more = NULL;
    carat_row rows[2] = {{.session = m->other, .tokens = &id, .n = 1},
                         {.session = m->session, .tokens = &id, .n = 1}};
    carat_error err = {CARAT_OK, ""};

    m->status[0] = carat_sync(m->session, &id, 1, NULL, &err);
    m->status[1] = carat_append(m->session, &id, 1, NULL);
    m->status[2] = carat_rewind(m->session, 0, NULL);
    m->status[3] = carat_sample(m->session, NULL, &id, NULL);
    m->status[4] = carat_step(m->engine, rows, sizeof(carat_row), 2, NULL);
    m->held = carat_tokens_held(m->session, &tokens);
    m->logits = carat_logits(m->session) != NULL || tokens != NULL;
    m->wrote = (int)carat_stream_text(m->session, 5, piece, sizeof piece) + (piece[0] != 0);
    m->status[6] = carat_fork(m->session, 0, &more, NULL);
    m->status[7] = carat_reserve(m->session, 10, NULL);
    m->status[5] = strstr(err.message, "another call") ? err.code : CARAT_OK;
    return NULL;
}

/* Called back in the middle of a call on m->session. */
static int visit(void *user, size_t done, size_t total)
{
    struct meeting *m = user;
    pthread_t thread;
    carat_session *third = NULL;
    int32_t ids[] = {2, 9, 8};

    (void)done;
    (void)total;
    if (m->calls++)
        return 0;
    if (pthread_create(&thread, NULL, intrude, m) == 0)
        pthread_join(thread, NULL);
    for (int i = 0; i < 8; i++)
        expect(m->status[i] == CARAT_E_BUSY);
    expect(m->held == 0 && !m->logits && m->wrote == 0);
    intrude(m); /* the thread of the call itself is no exception */
    for (int i = 0; i < 8; i++)
        expect(m->status[i] == CARAT_E_BUSY);
    /* the rest of the engine is free meanwhile */
    expect(carat_sync(m->other, ids, 3, NULL, NULL) == CARAT_OK);
    expect(carat_sample(m->other, NULL, ids, NULL) == CARAT_OK);
    m->other_held = carat_tokens_held(m->other, NULL);
    expect(carat_session_create(&third, m->engine, NULL, NULL) == CARAT_OK);
    carat_session_close(third);
    /* and so is the model, of which 1 ends an answer and 2 begins a text */
    expect(carat_is_stop(models[0], STOP) == 1 && carat_is_stop(models[0], STOP + 1) == 0);
    return 0;
}

static void a_session_is_busy_in_its_own_call(void **state)
{
    (void)state;
    struct meeting m = {.engine = engines[1][1]};
    carat_session *fresh = NULL;
    carat_session_options o;
    carat_session_options_default(&o);
    struct ids ids = scattered_ids(20, model_info(models[1]).n_vocab, 4);
    o.progress = visit;
    o.user = &m;
    OK(carat_session_create(&m.session, m.engine, &o, err));
    OK(carat_session_create(&m.other, m.engine, NULL, err));
    OK(carat_sync(m.session, ids.id, ids.n, NULL, err));
    assert_true(m.calls > 1);
    assert_int_equal(atomic_load(&failures), 0);
    assert_int_equal(m.other_held, 3);
    OK(carat_session_create(&fresh, m.engine, NULL, err));
    OK(carat_sync(fresh, ids.id, ids.n, NULL, err));
    assert_memory_equal(carat_logits(m.session), carat_logits(fresh),
                        (size_t)model_info(models[1]).n_vocab * sizeof(float));
    carat_session_close(fresh);
    carat_session_close(m.other);
    carat_session_close(m.session);
    free(ids.id);
}

/* Two threads at one session without any agreement: each call is done whole or refused. */
static atomic_int appended, refused;

static void *quarrel(void *arg)
{
    int32_t ids[3] = {7, 8, 9};
    for (int i = 0; i < 8; i++) {
        carat_status status = carat_append(arg, ids, 3, NULL);
        expect(status == CARAT_OK || status == CARAT_E_BUSY);
        atomic_fetch_add(&appended, status == CARAT_OK ? 3 : 0);
        atomic_fetch_add(&refused, status == CARAT_E_BUSY);
        (void)carat_tokens_held(arg, NULL);
        status = carat_sample(arg, NULL, ids, NULL);
        expect(status == CARAT_OK || status == CARAT_E_BUSY);
        ids[0] = 7;
    }
    return NULL;
}

static void two_threads_on_one_session(void **state)
{
    (void)state;
    carat_session *s = NULL;
    pthread_t t[2];
    const int32_t begin = 2;
    OK(carat_session_create(&s, engines[1][0], NULL, err));
    OK(carat_append(s, &begin, 1, err));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&t[i], NULL, quarrel, s), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&failures), 0);
    assert_int_equal(carat_tokens_held(s, NULL), 1 + atomic_load(&appended));
    assert_int_equal(atomic_load(&appended) / 3 + atomic_load(&refused), 16);
    carat_session_close(s);
}

/* Slots are handed out once, however many threads ask. */
static void *come_and_go(void *arg)
{
    (void)arg;
    for (int i = 0; i < 200; i++) {
        carat_session *s = NULL;
        expect(carat_session_create(&s, engines[0][0], NULL, NULL) == CARAT_OK);
        expect(carat_tokens_held(s, NULL) == 0);
        carat_session_close(s);
    }
    return NULL;
}

static void sessions_come_and_go(void **state)
{
    (void)state;
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, come_and_go, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&failures), 0);
    carat_session *s[THREADS] = {NULL}, *more = NULL;
    for (int i = 0; i < THREADS; i++)
        OK(carat_session_create(&s[i], engines[0][0], NULL, err));
    FAILS(CARAT_E_MEMORY, carat_session_create(&more, engines[0][0], NULL, err));
    for (int i = 0; i < THREADS; i++)
        carat_session_close(s[i]);
}

/* ---- forks, reservations, cancelling ---- */

enum { TRUNK = 40, BRANCH = 6 };

struct gardener {
    pthread_t thread;
    carat_engine *engine;
    carat_session *trunk;
    int who, cancelled;
    const float *right; /* logits of its branch, by a session alone */
    carat_session *branch;
};

static void branch_ids(int32_t ids[BRANCH], int who)
{
    for (int i = 0; i < BRANCH; i++)
        ids[i] = 3 + (who * 17 + i * 5) % 90;
}

/* Forks the trunk, which others fork at the same time and which is at work itself, goes on from there by its
 * own tokens, reserves, rewinds, asks about use. */
static void *grow_branches(void *arg)
{
    struct gardener *g = arg;
    size_t bytes = (size_t)model_info(models[1]).n_vocab * sizeof(float);
    int32_t ids[BRANCH];

    branch_ids(ids, g->who);
    for (int round = 0; round < 4 * ROUNDS; round++) {
        carat_session *s = NULL;
        carat_use use = {.size = sizeof use};
        carat_status status;
        while ((status = carat_fork(g->trunk, TRUNK, &s, NULL)) == CARAT_E_BUSY)
            ;
        expect(status == CARAT_OK);
        expect(carat_reserve(s, TRUNK + BRANCH, NULL) == CARAT_OK);
        for (int again = 0; again < 2; again++) {
            expect(carat_append(s, ids, BRANCH, NULL) == CARAT_OK);
            expect(memcmp(carat_logits(s), g->right, bytes) == 0);
            expect(carat_rewind(s, TRUNK, NULL) == CARAT_OK);
        }
        expect(carat_engine_use(g->engine, &use, NULL) == CARAT_OK);
        expect(use.held + use.free == use.blocks && use.held > 0);
        carat_session_close(s);
    }
    return NULL;
}

static carat_engine *branching_engine(int threads)
{
    carat_engine *engine = NULL;
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = threads;
    o.context = 300;
    o.sessions = 2 * THREADS;
    o.chunk = 4;
    OK(carat_engine_create(&engine, models[1], &o, err));
    return engine;
}

static void threads_fork_one_session(void **state)
{
    (void)state;
    int n_vocab = model_info(models[1]).n_vocab;
    struct ids ids = scattered_ids(TRUNK + 8, n_vocab, 5);
    for (int threads = 1; threads <= 2; threads++) {
        struct gardener g[THREADS] = {{0}};
        carat_session *trunk = NULL, *alone = NULL;
        carat_engine *engine = branching_engine(threads);
        OK(carat_session_create(&trunk, engine, NULL, err));
        OK(carat_session_create(&alone, engine, NULL, err));
        for (int i = 0; i < THREADS; i++) {
            int32_t branch[BRANCH];
            branch_ids(branch, i);
            float *right = malloc((size_t)n_vocab * sizeof *right);
            OK(carat_sync(alone, ids.id, TRUNK, NULL, err));
            OK(carat_append(alone, branch, BRANCH, err));
            memcpy(right, carat_logits(alone), (size_t)n_vocab * sizeof *right);
            g[i] = (struct gardener){.engine = engine, .trunk = trunk, .who = i, .right = right};
        }
        OK(carat_sync(trunk, ids.id, TRUNK + 2, NULL, err));
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(pthread_create(&g[i].thread, NULL, grow_branches, &g[i]), 0);
        for (int i = 0; i < 6; i++) { /* it writes on in the block that all of them hold */
            carat_status status = carat_append(trunk, ids.id + TRUNK + 2 + i, 1, NULL);
            i -= status == CARAT_E_BUSY;
            expect(status == CARAT_OK || status == CARAT_E_BUSY);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(g[i].thread, NULL);
            free((void *)(uintptr_t)g[i].right);
        }
        OK(carat_sync(alone, ids.id, TRUNK + 8, NULL, err));
        assert_memory_equal(carat_logits(trunk), carat_logits(alone), (size_t)n_vocab * sizeof(float));
        assert_int_equal(atomic_load(&failures), 0);
        carat_session_close(trunk);
        carat_session_close(alone);
        carat_engine_close(engine);
    }
    free(ids.id);
}

/* Steps of two threads at once, each with two sessions of one engine, which a third thread cancels. */
static atomic_bool steps_go_on;

static void *step_branches(void *arg)
{
    struct gardener *g = arg;
    carat_row rows[2];
    int32_t ids[2][BRANCH];

    branch_ids(ids[0], g->who);
    branch_ids(ids[1], g->who + 1);
    for (int round = 0; round < 4 * ROUNDS; round++) {
        for (int i = 0; i < 2; i++)
            rows[i] = (carat_row){.session = i ? g->branch : g->trunk, .tokens = ids[i], .n = BRANCH};
        carat_status status = carat_step(g->engine, rows, sizeof(carat_row), 2, NULL);
        for (int i = 0; i < 2; i++) {
            expect(rows[i].status == CARAT_OK || rows[i].status == CARAT_E_CANCELLED);
            g->cancelled += rows[i].status == CARAT_E_CANCELLED;
            while ((status = carat_rewind(rows[i].session, 0, NULL)) == CARAT_E_BUSY)
                ;
            expect(status == CARAT_OK);
        }
    }
    return NULL;
}

static void *cancel_branches(void *arg)
{
    struct gardener *g = arg;
    for (int i = 0; atomic_load(&steps_go_on); i++)
        carat_cancel(i % 3 ? g->trunk : g->branch);
    return NULL;
}

static void a_thread_cancels_steps(void **state)
{
    (void)state;
    carat_engine *engine = branching_engine(2);
    carat_session *s[4];
    struct gardener g[2];
    pthread_t canceller;
    for (int i = 0; i < 4; i++)
        OK(carat_session_create(&s[i], engine, NULL, err));
    atomic_store(&steps_go_on, true);
    for (int i = 0; i < 2; i++)
        g[i] = (struct gardener){.engine = engine, .trunk = s[2 * i], .branch = s[2 * i + 1], .who = i};
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&g[i].thread, NULL, step_branches, &g[i]), 0);
    assert_int_equal(pthread_create(&canceller, NULL, cancel_branches, &g[0]), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(g[i].thread, NULL);
    atomic_store(&steps_go_on, false);
    pthread_join(canceller, NULL);
    assert_int_equal(atomic_load(&failures), 0);
    assert_int_equal(g[1].cancelled, 0);
    for (int i = 0; i < 4; i++)
        carat_session_close(s[i]);
    carat_engine_close(engine);
}

/* Opening and closing, each thread its own. */
static void *open_and_close(void *arg)
{
    const char *path = arg;
    carat_model *m = NULL;
    carat_engine *e = NULL;
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.context = 32;
    o.threads = 2;
    expect(carat_model_open(&m, path, NULL, NULL) == CARAT_OK);
    expect(carat_engine_create(&e, m, &o, NULL) == CARAT_OK);
    carat_engine_close(e);
    carat_model_close(m);
    return NULL;
}

static void models_open_side_by_side(void **state)
{
    (void)state;
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&t[i], NULL, open_and_close, (void *)paths[i % MODELS]), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    assert_int_equal(atomic_load(&failures), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_get_the_bits_of_one), cmocka_unit_test(a_session_is_busy_in_its_own_call),
        cmocka_unit_test(two_threads_on_one_session),  cmocka_unit_test(sessions_come_and_go),
        cmocka_unit_test(models_open_side_by_side),    cmocka_unit_test(threads_fork_one_session),
        cmocka_unit_test(a_thread_cancels_steps),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
