/* SPDX-License-Identifier: Apache-2.0 */
/* test_head_audit.c: shortlists, and what finds them out. A shortlist gives the logits of dense for the tiles
 * of its text, which are chosen here once more. Audits find no difference in exact strategies, and a planted
 * one; a shortlist that misses too much is given up. */
#include "head_util.h"

#include "checkpoint/checkpoint.h"
#include "engine/engine.h"

enum { N = 13 };

/* ---- shortlists ---- */

/* The k best of dense's logits in the tiles of so many rows that a shortlist has for a text. */
static void best_of_tiles(const float *logits, int n_vocab, int rows, int most, const int32_t *text, int n,
                          int k, carat_candidate *best)
{
    const int tiles = (n_vocab + rows - 1) / rows, around = most == 1 ? 0 : (most + 7) / 8;
    bool in[64] = {false};
    int count = 0, kept = 0;

    for (int i = n; i-- > 0 && count < most - around;) {
        count += !in[text[i] / rows];
        in[text[i] / rows] = true;
    }
    for (int i = (n - 1) * around % tiles; count < most; i = (i + 1) % tiles) {
        count += !in[i];
        in[i] = true;
    }
    for (int id = 0; id < n_vocab; id++) {
        int at = kept;
        if (!in[id / rows])
            continue;
        while (at > 0 && best[at - 1].logit < logits[id])
            at--;
        for (int i = CT_MIN(kept, k - 1); i > at; i--)
            best[i] = best[i - 1];
        if (at < k)
            best[at] = (carat_candidate){id, logits[id]};
        kept = CT_MIN(kept + 1, k);
    }
}

/* Every strategy that can have one, by drawing sessions, in passes of several tokens and one at a time. */
static void shortlists_are_few_tiles_of_dense(void **unused)
{
    enum { K = 5, MANY = 513, LENGTH = 40 };
    static carat_candidate got[MANY], many[MANY];
    static const carat_head strategies[] = {CARAT_HEAD_SHORTLIST, CARAT_HEAD_LAZY, CARAT_HEAD_PRELOAD};
    carat_model *tiny = NULL;

    (void)unused;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    struct baseline b = baseline_of(tiny, &modes[FAST], LENGTH, 9);
    for (int i = 0; i < 9; i++) {
        carat_head_options h = head_options(strategies[i % 3], SMALL, 3 * (i % 2));
        carat_engine_options o = options_of(&modes[FAST], 1 + 2 * i, 1 + i % 3);
        carat_sampling greedy = {.size = sizeof greedy, .top_p = 1};
        carat_session_options so = {.size = sizeof so, .sampling = &greedy};
        carat_session *s = NULL;
        carat_engine *engine = NULL;
        h.shortlist_tiles = i == 8 ? 9 : 1 + i;
        o.head = &h;
        OK(carat_engine_create(&engine, tiny, &o, err));
        OK(carat_session_create(&s, engine, &so, err));
        for (int n = 7; n <= LENGTH; n += 1 + n % 3) {
            carat_candidate want[K];
            int32_t id = -1;
            OK(carat_sync(s, b.ids.id, n, NULL, err));
            best_of_tiles(row_of(&b, n - 1, 1024), 1024, SMALL, i == 8 ? 16 : 1 + i, b.ids.id, n, K, want);
            OK(carat_sample(s, &greedy, &id, err)); /* of what the pass computed */
            assert_int_equal(id, want[0].id);
            OK(carat_top(s, K, got, err));
            for (int k = 0; k < K; k++)
                assert_true(got[k].id == want[k].id && got[k].logit == want[k].logit);
            /* more than there are in its tiles are those of dense */
            best_of_tiles(row_of(&b, n - 1, 1024), 1024, SMALL, 16, b.ids.id, n, MANY, many);
            OK(carat_top(s, MANY, got, err));
            for (int k = 0; k < MANY && n % 4 == 0; k++)
                assert_true(got[k].id == many[k].id && got[k].logit == many[k].logit);
            /* what asks for all logits gets all */
            if (n % 5 == 0)
                expect_same(carat_logits(s), row_of(&b, n - 1, 1024), 1024, "all logits", n - 1);
        }
        const carat_head_stats stats = stats_of(engine);
        assert_true(i == 8 ? stats.exact && stats.bytes == stats.dense_bytes
                           : !stats.exact && stats.bytes < stats.dense_bytes);
        carat_session_close(s);
        carat_engine_close(engine);
    }
    baseline_free(&b);
    carat_model_close(tiny);
}

/* The last of six tiles has 64 rows of 192. A text takes tiles in any order, so whole ones come into each
 * slot, that of the last one too. */
static void a_short_tile_leaves_room_for_whole_ones(void **unused)
{
    enum { K = 5, ROWS = 192, LENGTH = 40 };
    static const struct {
        int most, capacity;
        carat_head_quant quant;
    } cases[] = {
        {1, 0, 0}, {2, 0, 0}, {3, 0, 0}, {3, 2, 0}, {2, 0, CARAT_QUANT_GROUP}, {3, 5, CARAT_QUANT_TENSOR}};
    carat_model *tiny = NULL;

    (void)unused;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    struct baseline b = baseline_of(tiny, &modes[FAST], LENGTH, 9);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        carat_head_options h = head_options(CARAT_HEAD_LAZY, ROWS, cases[i].capacity);
        carat_engine_options o = options_of(&modes[FAST], 1, 2);
        carat_sampling greedy = {.size = sizeof greedy, .top_p = 1};
        carat_session_options so = {.size = sizeof so, .sampling = &greedy};
        carat_session *s = NULL;
        carat_engine *engine = NULL;
        h.shortlist_tiles = cases[i].most;
        h.quant = cases[i].quant;
        o.head = &h;
        OK(carat_engine_create(&engine, tiny, &o, err));
        OK(carat_session_create(&s, engine, &so, err));
        for (int n = 1; n <= LENGTH; n++) {
            carat_candidate want[K], got[K];
            OK(carat_sync(s, b.ids.id, n, NULL, err));
            best_of_tiles(row_of(&b, n - 1, 1024), 1024, ROWS, cases[i].most, b.ids.id, n, K, want);
            OK(carat_top(s, K, got, err));
            for (int k = 0; k < K && !cases[i].quant; k++)
                assert_true(got[k].id == want[k].id && got[k].logit == want[k].logit);
        }
        assert_in_range(ct_head_weight(&engine->head)->rows, stats_of(engine).kept * ROWS, INT32_MAX);
        carat_session_close(s);
        carat_engine_close(engine);
    }
    baseline_free(&b);
    carat_model_close(tiny);
}

/* ---- audits ---- */

/* Exact strategies agree with dense whatever is read; int8 does not, which is no error. */
static void audits_agree(void **unused)
{
    carat_model *tiny = NULL;

    (void)unused;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    struct ids ids = scattered_ids(60, 1024, 21);
    for (int i = 0; i < 12; i++) {
        carat_head_options h = head_options(i % 2 ? CARAT_HEAD_LAZY : CARAT_HEAD_PRELOAD, SMALL, 4 * (i % 3));
        carat_engine_options o = options_of(&modes[FAST], 16, 1 + i % 2);
        carat_sampling sampling;
        carat_session_options so = {.size = sizeof so, .sampling = i % 4 ? &sampling : NULL};
        carat_session *s = NULL;
        carat_engine *engine = NULL;
        carat_sampling_default(tiny, &sampling);
        sampling.temperature = 1;
        sampling.top_k = 1 + 7 * i;
        h.audit = 1 + i % 3;
        h.quant = i >= 8 ? CARAT_QUANT_TENSOR : CARAT_QUANT_NATIVE;
        o.head = &h;
        OK(carat_engine_create(&engine, tiny, &o, err));
        OK(carat_session_create(&s, engine, &so, err));
        for (int n = 1; n <= ids.n; n++)
            OK(carat_sync(s, ids.id, n, NULL, err));
        const carat_head_stats stats = stats_of(engine);
        assert_int_equal(stats.audits, ids.n / h.audit);
        assert_int_equal(stats.differences, 0);
        assert_true(h.quant ? stats.recall > 0.8 && stats.recall < 1 : stats.recall == 1 && stats.top1 == 1);
        carat_session_close(s);
        carat_engine_close(engine);
    }
    free(ids.id);
    carat_model_close(tiny);
}

/* Tiles that are not what the head is: the head is changed behind them. */
static void audits_find_differences(void **unused)
{
    carat_buffer file[2] = {{"config.json", NULL, 0}, {"model.safetensors", NULL, 0}};
    carat_model *model = NULL;
    carat_session *s = NULL;
    carat_engine *engine = NULL;
    char path[PATH_SIZE], line[256] = "";
    carat_head_options h = head_options(CARAT_HEAD_LAZY, SMALL, 0);
    carat_engine_options o = options_of(&modes[FAST], 16, 1);

    (void)unused;
    for (int i = 0; i < 2; i++)
        file[i].data = read_whole(path_join(path, TINY, file[i].name), &file[i].size);
    OK(carat_model_open_memory(&model, file, sizeof(carat_buffer), 2, NULL, err));
    struct ids ids = scattered_ids(9, 900, 3);
    h.audit = 1;
    h.log = hear_line;
    h.user = line;
    o.head = &h;
    OK(carat_engine_create(&engine, model, &o, err));
    OK(carat_session_create(&s, engine, NULL, err));
    for (int n = 1; n <= ids.n; n++) {
        OK(carat_sync(s, ids.id, n, NULL, err));
        assert_int_equal(stats_of(engine).differences, CT_MAX(n - 4, 0));
        if (n == 4) /* a row that no token has */
            *((uint16_t *)(uintptr_t)model->weights.head.data + 1000 * 256) ^= 1;
    }
    assert_string_equal(line, "an audit of the head found other ids or logits than dense, an error of carat");
    assert_int_equal(stats_of(engine).audits, ids.n);
    free(ids.id);
    carat_session_close(s);
    carat_engine_close(engine);
    carat_model_close(model);
    for (int i = 0; i < 2; i++)
        free((void *)(uintptr_t)file[i].data);
}

/* A shortlist that misses too much reads all tiles from then on, and says so once. */
static void poor_shortlists_are_given_up(void **unused)
{
    carat_model *tiny = NULL;

    (void)unused;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    snprintf(where, sizeof where, "tiny, given up");
    struct baseline b = baseline_of(tiny, &modes[FAST], N, 9);
    for (int poor = 0; poor <= 1; poor++) {
        carat_head_options h = head_options(CARAT_HEAD_SHORTLIST, SMALL, 0);
        carat_engine_options o = options_of(&modes[FAST], 16, 1);
        carat_sampling sampling;
        carat_session_options so = {.size = sizeof so, .sampling = &sampling};
        char line[256] = "";
        carat_sampling_default(tiny, &sampling);
        sampling.temperature = 1;
        sampling.top_k = 64;
        h.audit = 3;
        h.shortlist_tiles = 4;
        h.min_recall = poor ? 0.9f : 1e-6f;
        h.log = hear_line;
        h.user = line;
        o.head = &h;
        carat_session *s = NULL;
        carat_engine *engine = NULL;
        OK(carat_engine_create(&engine, tiny, &o, err));
        OK(carat_session_create(&s, engine, &so, err));
        for (int n = 1; n <= N; n++) {
            OK(carat_sync(s, b.ids.id, n, NULL, err));
            const carat_head_stats stats = stats_of(engine);
            const int given_up = poor && n >= 3;
            assert_int_equal(stats.exact, given_up);
            assert_int_equal(stats.strategy, given_up ? CARAT_HEAD_LAZY : CARAT_HEAD_SHORTLIST);
            assert_true((strncmp(line, "the shortlist is given up: it found 0.", 38) == 0) == given_up);
            assert_true(given_up ||
                        strcmp(line, "a shortlist of 4 of 16 tiles of the head is approximate") == 0);
            assert_true(stats.audits == (uint64_t)(n / 3) && stats.differences == 0);
        }
        assert_true(stats_of(engine).recall > 0.1 && stats_of(engine).recall < 0.9);
        carat_session_close(s);
        carat_engine_close(engine);
    }
    baseline_free(&b);
    carat_model_close(tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shortlists_are_few_tiles_of_dense),
        cmocka_unit_test(a_short_tile_leaves_room_for_whole_ones),
        cmocka_unit_test(audits_agree),
        cmocka_unit_test(audits_find_differences),
        cmocka_unit_test(poor_shortlists_are_given_up),
    };
    return cmocka_run_group_tests_name("engine: head_audit", tests, NULL, NULL);
}
