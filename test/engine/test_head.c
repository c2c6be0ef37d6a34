/* SPDX-License-Identifier: Apache-2.0 */
/* test_head.c: sessions over a head that computes what is read and no more: the ids and the best logits are
 * those of a dense head, for every model, greedy and drawn, alone and in batches, with drafts; whatever is
 * asked for later is there with dense's bits, and saved with them. The head alone: test/model/test_head.c.
 * Tiles: test_head_tiles.c. */
#include "os/scratch.h"

#include "invariance.h"

#include <carat_generate.h>
#include <math.h>

enum { PROMPT = 20, ANSWER = SANITIZED ? 24 : 60, TOP = 5, BATCH = 4 };

#define TINY CT_TEST_DATA "/../../models/tiny"

static carat_head_options pruned(void)
{
    carat_head_options h;
    carat_head_options_default(&h);
    h.strategy = CARAT_HEAD_EXACT_PRUNED;
    h.audit = 1; /* so that every token is pruned, whether or not that pays, and looked at */
    return h;
}

static carat_sampling sampling_of(const carat_model *model, int i)
{
    static const int ks[BATCH] = {1, 4, 64, 0};
    carat_sampling s;

    carat_sampling_default(model, &s);
    s.temperature = i == 0 ? 0 : 1;
    s.top_k = ks[i];
    s.seed = (uint64_t)i;
    return s;
}

/* Answers of sessions that draw in different ways, in one pass each. */
static void answers(carat_model *model, const carat_head_options *h, int threads, carat_lookup lookup,
                    int32_t (*id)[ANSWER])
{
    const struct ids prompt = scattered_ids(PROMPT, model_info(model).n_text_vocab, 3);
    carat_engine_options o = options_of(&modes[FAST], 64, threads);
    carat_session *session[BATCH];
    carat_generation *g[BATCH];
    carat_engine *engine = NULL;
    carat_head_stats stats = {.size = sizeof stats};
    int ended = 0;

    o.sessions = BATCH;
    o.context = 256;
    o.head = h;
    OK(carat_engine_create(&engine, model, &o, err));
    for (int i = 0; i < BATCH; i++) {
        const carat_sampling s = sampling_of(model, i);
        carat_session_options of_session;
        carat_generation_options of_generation;
        carat_session_options_default(&of_session);
        of_session.sampling = i % 2 ? NULL : &s;
        OK(carat_session_create(&session[i], engine, &of_session, err));
        OK(carat_sync(session[i], prompt.id, PROMPT - i, NULL, err));
        carat_generation_options_default(&of_generation);
        of_generation.sampling = &s;
        of_generation.max_tokens = ANSWER;
        of_generation.stop_ids = prompt.id; /* none */
        of_generation.lookup = lookup;
        OK(carat_generation_create(&g[i], session[i], &of_generation, err));
    }
    while (!ended) {
        carat_generation_info info = {.size = sizeof info};
        OK(carat_generation_step(engine, g, BATCH, err));
        ended = 1;
        for (int i = 0; i < BATCH; i++) {
            OK(carat_generation_get_info(g[i], &info, err));
            ended &= info.reason == CARAT_REASON_LENGTH;
        }
    }
    for (int i = 0; i < BATCH; i++) {
        const int32_t *held;
        int n = carat_tokens_held(session[i], &held);
        assert_int_equal(n, PROMPT - i + ANSWER - 1);
        memcpy(id[i], held + PROMPT - i, (ANSWER - 1) * sizeof **id);
        carat_generation_close(g[i]);
    }
    OK(carat_engine_get_head(engine, &stats, err));
    if (h) {
        assert_true(stats.audits > 0 && stats.rows_finished > 0);
        assert_int_equal(stats.differences, 0);
    }
    for (int i = 0; i < BATCH; i++)
        carat_session_close(session[i]);
    carat_engine_close(engine);
    free(prompt.id);
}

/* The type of the head says whether it can be pruned. */
static bool can_be_pruned(carat_model *model)
{
    const carat_head_options h = pruned();
    carat_engine_options o = options_of(&modes[FAST], 16, 1);
    carat_engine *engine = NULL;

    o.head = &h;
    carat_error refusal;
    carat_status status = carat_engine_create(&engine, model, &o, &refusal);
    carat_engine_close(engine);
    assert_true(status == CARAT_OK ||
                (status == CARAT_E_ARGUMENT && strstr(refusal.message, "exact-pruned")));
    return status == CARAT_OK;
}

static int compared;
static void check_answers(carat_model *model, const carat_model_info *info)
{
    int32_t dense[BATCH][ANSWER], id[BATCH][ANSWER];
    const carat_head_options h = pruned();

    (void)info;
    if (!can_be_pruned(model))
        return;
    answers(model, NULL, 1, CARAT_LOOKUP_OFF, dense);
    for (int threads = 1; threads <= 3; threads++) {
        answers(model, &h, threads, threads == 2 ? CARAT_LOOKUP_ON : CARAT_LOOKUP_OFF, id);
        for (int i = 0; i < BATCH; i++)
            if (memcmp(id[i], dense[i], (ANSWER - 1) * sizeof **id) != 0)
                fail_msg("%s, %d threads: session %d gives other ids than dense", where, threads, i);
    }
    compared++;
}

static void answers_are_those_of_dense(void **state)
{
    carat_model *tiny = NULL;

    (void)state;
    for_every_model(check_answers, 0);
    OK(carat_model_open(&tiny, TINY, NULL, err));
    snprintf(where, sizeof where, "tiny");
    check_answers(tiny, NULL);
    carat_model_close(tiny);
    /* rows of the others are no multiple of 32, or have few bits */
    assert_in_range(compared, tier_is_deep() ? 7 : 1, 7);
}

/* The k best of dense's logits. */
static void best_of(const float *logits, int n, carat_candidate *out, int k)
{
    for (int i = 0; i < k; i++) {
        out[i] = (carat_candidate){-1, 0};
        for (int32_t id = 0; id < n; id++) {
            bool taken = false;
            for (int j = 0; j < i; j++)
                taken |= out[j].id == id;
            if (!taken && (out[i].id < 0 || logits[id] > out[i].logit))
                out[i] = (carat_candidate){id, logits[id]};
        }
    }
}

static void check_best(carat_session *s, const float *logits, int n, int k)
{
    carat_candidate *want = calloc((size_t)k, sizeof *want), *got = calloc((size_t)k, sizeof *got);

    best_of(logits, n, want, k);
    OK(carat_top(s, k, got, err));
    for (int i = 0; i < k; i++)
        assert_true(got[i].id == want[i].id && memcmp(&got[i].logit, &want[i].logit, sizeof(float)) == 0);
    free(want);
    free(got);
}

static void check_same_file(const char *a, const char *b)
{
    size_t n, m;
    void *x = read_whole(a, &n), *y = read_whole(b, &m);

    assert_true(n == m && memcmp(x, y, n) == 0);
    free(x);
    free(y);
}

/* A session that was told of greedy draws is asked for everything else. */
static void what_is_asked_later_is_there(void **state)
{
    carat_model *model = NULL;
    carat_session *session = NULL, *fork = NULL, *other = NULL;
    struct baseline b;
    const carat_head_options h = pruned();
    carat_session_options of_session;
    char path[2][PATH_SIZE];

    (void)state;
    OK(carat_model_open(&model, TINY, NULL, err));
    b = baseline_of(model, &modes[FAST], PROMPT, 9);
    const int n_vocab = model_info(model).n_vocab;
    const float *dense = row_of(&b, PROMPT - 1, n_vocab);
    carat_engine *engine[2] = {NULL, NULL};
    for (int i = 0; i < 2; i++) {
        carat_engine_options o = options_of(&modes[FAST], 16, 2);
        o.sessions = 2;
        o.head = i ? &h : NULL;
        OK(carat_engine_create(&engine[i], model, &o, err));
        path_join(path[i], scratch, i ? "pruned" : "dense");
    }
    const carat_sampling greedy = sampling_of(model, 0);
    carat_session_options_default(&of_session);
    of_session.sampling = &greedy;
    OK(carat_session_create(&other, engine[0], NULL, err));
    OK(carat_sync(other, b.ids.id, PROMPT, NULL, err));
    for (int what = 0; what < 5; what++) {
        int32_t id[2];
        OK(carat_session_create(&session, engine[1], &of_session, err));
        OK(carat_sync(session, b.ids.id, PROMPT, NULL, err));
        if (what == 0)
            for (int k = 1; k <= n_vocab; k = k * 3 + 1)
                check_best(session, dense, n_vocab, k);
        if (what == 1)
            expect_same(carat_logits(session), dense, (size_t)n_vocab, "logits", PROMPT - 1);
        for (int i = 0; what == 2 && i < BATCH; i++) { /* draws with other parameters, and with bans */
            int32_t banned[2] = {0, 0};
            carat_sampling s = sampling_of(model, i);
            OK(carat_sample(session, &s, &id[0], err));
            OK(carat_sample(other, &s, &id[1], err));
            assert_int_equal(id[0], id[1]);
            banned[1] = id[0];
            s.banned = banned;
            s.n_banned = 2;
            OK(carat_sample(session, &s, &id[0], err));
            OK(carat_sample(other, &s, &id[1], err));
            assert_true(id[0] == id[1] && id[0] != banned[1]);
        }
        if (what == 3) {
            OK(carat_save(session, path[1], "note", 4, err));
            OK(carat_save(other, path[0], "note", 4, err));
            OK(carat_load(session, path[0], NULL, NULL, err)); /* logits without a hidden state */
            check_best(session, dense, n_vocab, TOP);
            expect_same(carat_logits(session), dense, (size_t)n_vocab, "loaded", PROMPT - 1);
            check_same_file(path[0], path[1]);
        }
        if (what == 4) {
            OK(carat_fork(session, PROMPT, &fork, err));
            expect_same(carat_logits(fork), dense, (size_t)n_vocab, "fork", PROMPT - 1);
            check_best(session, dense, n_vocab, TOP);
            carat_session_close(fork);
        }
        carat_session_close(session);
    }
    carat_session_close(other);
    for (int i = 0; i < 2; i++)
        carat_engine_close(engine[i]);
    baseline_free(&b);
    carat_model_close(model);
}

static void hear_logits(void *user, const carat_tap *t)
{
    *(int *)user += strcmp(t->operation, "project_logits") == 0;
}

/* A tap hears all logits of a pruned head. */
static void a_tap_hears_all_logits(void **state)
{
    carat_model *model = NULL;
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    const carat_head_options h = pruned();
    carat_session_options of_session;
    const int32_t id = 5;
    int heard = 0;

    (void)state;
    OK(carat_model_open(&model, TINY, NULL, err));
    const carat_sampling greedy = sampling_of(model, 0);
    carat_engine_options o = options_of(&modes[FAST], 16, 1);
    o.head = &h;
    carat_session_options_default(&of_session);
    of_session.sampling = &greedy;
    OK(carat_engine_create(&engine, model, &o, err));
    OK(carat_session_create(&session, engine, &of_session, err));
    OK(carat_tap_begin(engine, hear_logits, &heard, err));
    OK(carat_append(session, &id, 1, err));
    carat_tap_end(engine);
    assert_int_equal(heard, 1);
    OK(carat_append(session, &id, 1, err));
    assert_int_equal(heard, 1);
    carat_session_close(session);
    carat_engine_close(engine);
    carat_model_close(model);
}

static void what_cannot_be_is_refused(void **state)
{
    carat_model *model = NULL;
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    carat_candidate best[4];
    const int32_t id = 5;

    (void)state;
    OK(carat_model_open(&model, TINY, NULL, err));
    const int n_vocab = model_info(model).n_vocab;
    OK(carat_engine_create(&engine, model, NULL, err));
    OK(carat_session_create(&session, engine, NULL, err));
    assert_int_equal(carat_top(session, 1, best, NULL), CARAT_E_ARGUMENT); /* nothing is held */
    OK(carat_sync(session, &id, 1, NULL, err));
    assert_int_equal(carat_top(session, 0, best, NULL), CARAT_E_ARGUMENT);
    assert_int_equal(carat_top(session, n_vocab + 1, best, NULL), CARAT_E_ARGUMENT);
    assert_int_equal(carat_top(NULL, 1, best, NULL), CARAT_E_ARGUMENT);
    assert_int_equal(carat_top(session, 1, NULL, NULL), CARAT_E_ARGUMENT);
    OK(carat_top(session, 4, best, err));
    carat_session_close(session);
    carat_engine_close(engine);
    const carat_head_options bad[] = {
        {.size = sizeof bad[0], .strategy = (carat_head)9},
        {.size = sizeof bad[0], .strategy = CARAT_HEAD_EXACT_PRUNED, .shortlist_tiles = 2},
        {.size = sizeof bad[0], .strategy = CARAT_HEAD_EXACT_PRUNED, .quant = CARAT_QUANT_GROUP},
        {.size = sizeof bad[0], .audit = -1},
        {.size = sizeof bad[0], .min_recall = NAN},
        {.size = sizeof bad[0] + 8},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        carat_engine_options o = options_of(&modes[FAST], 16, 1);
        o.head = &bad[i];
        engine = NULL;
        assert_int_equal(carat_engine_create(&engine, model, &o, NULL), CARAT_E_ARGUMENT);
        assert_null(engine);
    }
    carat_model_close(model);
}

/* Exact arithmetic needs every row; auto needs room. Both say so. */
static int lines;
static void count_line(void *user, const char *line)
{
    assert_non_null(strstr(line, user));
    lines++;
}

static void dense_says_why(void **state)
{
    carat_model *model = NULL;
    carat_engine *engine = NULL;
    carat_head_stats stats = {.size = sizeof stats};
    carat_plan plan = {.size = sizeof plan};
    carat_head_options h = pruned();

    (void)state;
    OK(carat_model_open(&model, TINY, NULL, err));
    carat_engine_options o = options_of(&modes[0], 16, 1);
    OK(carat_plan_engine(model, &o, &plan, err));
    h.log = count_line;
    h.user = "dense";
    o.head = &h;
    OK(carat_engine_create(&engine, model, &o, err));
    OK(carat_engine_get_head(engine, &stats, err));
    assert_true(stats.strategy == CARAT_HEAD_DENSE && *stats.reason && lines == 1);
    carat_engine_close(engine);
    h.strategy = CARAT_HEAD_AUTO;
    h.audit = 0;
    o = options_of(&modes[FAST], 16, 1);
    OK(carat_plan_engine(model, &o, &plan, err));
    o.head = &h;
    o.max_bytes = plan.bytes;
    OK(carat_engine_create(&engine, model, &o, err));
    OK(carat_engine_get_head(engine, &stats, err));
    assert_true(stats.strategy == CARAT_HEAD_DENSE && strstr(stats.reason, "room") && lines == 2);
    carat_engine_close(engine);
    o.max_bytes = 0;
    h.user = "";
    OK(carat_engine_create(&engine, model, &o, err));
    OK(carat_engine_get_head(engine, &stats, err));
    assert_true(stats.strategy == CARAT_HEAD_EXACT_PRUNED && stats.sketch_bytes > 0);
    carat_engine_close(engine);
    carat_model_close(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_dense),
        cmocka_unit_test(what_is_asked_later_is_there),
        cmocka_unit_test(a_tap_hears_all_logits),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(dense_says_why),
    };
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}
