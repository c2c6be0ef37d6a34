/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare_head.c: carat_compare where the test's head computes few logits: the reference is whole
 * whatever its own head is, and what the test leaves out is told. The list is so short that the best id is
 * often none of it. How rows are scored is test_score.c's. */
#include "compare_util.h"

#include "model/tiles.h"

enum { TILE = 64, LIST = 2, N = 12, PLACES = 256, MOST_IDS = 1024 };

static carat_model *tiny;
static carat_tokens prompt;
static struct rig dense;
static int n_ids; /* of text */

static carat_engine *engine_of(carat_head strategy, int threads, int chunk)
{
    carat_engine_options o = options(1, chunk, PLACES);
    carat_engine *e;
    carat_head_options head;
    carat_head_options_default(&head);
    head.strategy = strategy;
    head.tile = strategy == CARAT_HEAD_SHORTLIST ? TILE : 0;
    head.shortlist_tiles = strategy == CARAT_HEAD_SHORTLIST ? LIST : 0;
    o.head = &head;
    o.threads = threads;
    OK(carat_engine_create(&e, tiny, &o, err));
    return e;
}

static int open_tiny(void **state)
{
    carat_engine_options o = options(1, 16, PLACES);
    (void)state;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    OK(carat_tokenize(tiny, "Turn on the kitchen lights", 26, CARAT_BOS, &prompt, err));
    dense = rig_open(tiny, &o);
    n_ids = model_info(tiny).n_text_vocab;
    return 0;
}

static int close_tiny(void **state)
{
    (void)state;
    rig_close(&dense);
    carat_tokens_free(&prompt);
    carat_model_close(tiny);
    return 0;
}

/* With the prompt; text[N] follows with the driver text, and rows are recorded logits. Engines are closed. */
static struct heard_prompt told(carat_engine *ref, carat_engine *test, carat_driver driver,
                                const int32_t *text, const float *rows)
{
    static struct heard_all h;
    hear_nothing(&h);
    carat_compare_prompt p = {.size = sizeof p,
                              .prompt = prompt.ids,
                              .n_prompt = prompt.n,
                              .text = text,
                              .n_text = text ? N : 0,
                              .recorded = rows,
                              .n_recorded = rows ? prompt.n + N : 0,
                              .user = &h.of[0]};
    carat_compare_options o = all_options(&h, driver, N);
    OK(carat_compare(ref, test, &p, &o, err));
    carat_engine_close(ref);
    carat_engine_close(test);
    return h.of[0];
}

/* ---- a position, from the logits of all ids and the list of the test ---- */

static int32_t best_of(const float *row, const bool *among)
{
    int32_t best = -1;
    for (int32_t i = 0; i < n_ids; i++)
        if (among[i] && (best < 0 || row[i] > row[best]))
            best = i;
    return best;
}

/* Which ids the test computes behind these tokens. */
static int listed(const int32_t *held, int n, bool *is_listed)
{
    const int tiles = (n_ids + TILE - 1) / TILE;
    const struct ct_tile_text text = {.held = held, .n_held = n};
    struct ct_tiles t;
    int32_t chosen[LIST];
    void *memory = malloc(ct_tiles_bytes(tiles, tiles));
    int ids_of_list = 0;

    ct_tiles_begin(&t, tiles, tiles, memory);
    const int n_chosen = ct_tiles_shortlist(&t, TILE, LIST, &text, chosen);
    for (int i = 0; i < n_ids; i++) {
        is_listed[i] = false;
        for (int k = 0; k < n_chosen; k++)
            is_listed[i] |= chosen[k] == i / TILE;
        ids_of_list += is_listed[i];
    }
    free(memory);
    return ids_of_list;
}

static void near(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-12 + 1e-11 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", got, expected);
}

/* The position behind what the dense session holds. */
static void check_position(const carat_position *p)
{
    const carat_difference *d = &p->difference;
    const float *row = carat_logits(dense.session[0]);
    const int32_t *held;
    bool all[MOST_IDS], is_listed[MOST_IDS];
    const int n = carat_tokens_held(dense.session[0], &held), have = listed(held, n, is_listed);
    double sum = 0, outside = 0, entropy = 0, of_list = 0;

    memset(all, true, sizeof all);
    const int32_t top = best_of(row, all), top_test = best_of(row, is_listed);
    assert_int_equal(d->top_ref, top);
    assert_int_equal(d->top_test, top_test);
    assert_int_equal(d->match, top == top_test);
    assert_int_equal(d->compared, have);
    assert_int_equal(d->left_out, n_ids - have);
    all[top] = false;
    near(d->margin_ref, (double)row[top] - row[best_of(row, all)]);
    for (int i = 0; i < n_ids; i++) {
        const double e = exp((double)row[i] - row[top]);
        sum += e;
        outside += is_listed[i] ? 0 : e;
        of_list += is_listed[i] ? e : 0;
    }
    for (int i = 0; i < n_ids; i++)
        entropy -= exp((double)row[i] - row[top]) / sum * ((double)row[i] - row[top] - log(sum));
    near(d->outside, outside / sum);
    near(d->entropy_ref, entropy);
    near(d->logprob_ref, (double)row[p->next] - row[top] - log(sum));
    assert_true(d->kl == 0); /* where both have logits, they are the same */
    if (is_listed[p->next])
        near(d->logprob_test, (double)row[p->next] - row[top] - log(of_list));
    else
        assert_true(d->logprob_test == -INFINITY);
    near(d->delta_p, exp(d->logprob_test) - exp(d->logprob_ref));
}

static void a_position_has_a_whole_reference(void **state)
{
    (void)state;
    for (carat_driver driver = CARAT_DRIVER_REF; driver <= CARAT_DRIVER_TEST; driver++) {
        const struct heard_prompt h = told(engine_of(CARAT_HEAD_DENSE, 1, 16),
                                           engine_of(CARAT_HEAD_SHORTLIST, 1, 16), driver, NULL, NULL);
        int lacking = 0;
        assert_int_equal(h.n, N);
        OK(carat_sync(dense.session[0], prompt.ids, prompt.n, NULL, err));
        for (int i = 0; i < N; i++) {
            const carat_difference *d = &h.p[i].difference;
            check_position(&h.p[i]);
            assert_int_equal(h.p[i].next, driver == CARAT_DRIVER_REF ? d->top_ref : d->top_test);
            assert_int_equal(h.ref[i], d->top_ref);
            assert_int_equal(h.test[i], d->top_test);
            lacking += !d->match && d->outside > 0.5;
            OK(carat_append(dense.session[0], &h.p[i].next, 1, err));
        }
        assert_true(lacking > 0);
    }
}

/* ---- who drives, and in which slices ---- */

static void answers_are_those_of_each_alone(void **state)
{
    (void)state;
    const struct heard_prompt whole = told(engine_of(CARAT_HEAD_DENSE, 1, 16),
                                           engine_of(CARAT_HEAD_DENSE, 1, 16), CARAT_DRIVER_REF, NULL, NULL),
                              of_test =
                                  told(engine_of(CARAT_HEAD_DENSE, 1, 16),
                                       engine_of(CARAT_HEAD_SHORTLIST, 1, 16), CARAT_DRIVER_TEST, NULL, NULL),
                              apart =
                                  told(engine_of(CARAT_HEAD_DENSE, 1, 16),
                                       engine_of(CARAT_HEAD_SHORTLIST, 1, 16), CARAT_DRIVER_FREE, NULL, NULL);
    assert_true(apart.end.parted >= 0 && apart.end.parted < N - 2);
    assert_int_equal(apart.end.n_ref, N);
    assert_int_equal(apart.end.n_test, N);
    assert_memory_equal(apart.ref, whole.ref, N * sizeof *whole.ref);
    assert_memory_equal(apart.test, of_test.test, N * sizeof *of_test.test);
}

static void slices_and_threads_change_nothing(void **state)
{
    static const int chunks[] = {1, 5, 16};
    float *rows = malloc((size_t)(prompt.n + N) * (size_t)dense.n_vocab * sizeof *rows);
    (void)state;
    const struct heard_prompt drove =
        told(engine_of(CARAT_HEAD_DENSE, 1, 16), engine_of(CARAT_HEAD_SHORTLIST, 1, 16), CARAT_DRIVER_REF,
             NULL, NULL);
    for (int i = 0; i < 3; i++) {
        const struct heard_prompt text =
            told(engine_of(CARAT_HEAD_DENSE, i + 1, chunks[i]),
                 engine_of(CARAT_HEAD_SHORTLIST, i + 1, chunks[i]), CARAT_DRIVER_TEXT, drove.ref, NULL);
        assert_int_equal(text.n, N);
        same_positions(text.p, drove.p, N);
    }
    /* a reference that is recorded has all logits, too */
    OK(carat_rewind(dense.session[0], 0, err));
    for (int i = 0; i < 2; i++) {
        carat_row row = {.session = dense.session[0],
                         .tokens = i ? drove.ref : prompt.ids,
                         .n = i ? N : prompt.n,
                         .logits = rows + (i ? (size_t)prompt.n * (size_t)dense.n_vocab : 0)};
        OK(carat_step(dense.engine, &row, sizeof row, 1, err));
    }
    const struct heard_prompt recorded =
        told(NULL, engine_of(CARAT_HEAD_SHORTLIST, 2, 5), CARAT_DRIVER_TEXT, drove.ref, rows);
    for (int i = 0; i < N; i++)
        same_difference(&recorded.p[i].difference, &drove.p[i].difference);
    free(rows);
}

/* ---- heads that leave nothing out ---- */

static void a_shortlist_does_not_cut_the_reference(void **state)
{
    static const carat_head tests[] = {CARAT_HEAD_DENSE, CARAT_HEAD_EXACT_PRUNED, CARAT_HEAD_LAZY};
    (void)state;
    const struct heard_prompt whole = told(engine_of(CARAT_HEAD_DENSE, 1, 16),
                                           engine_of(CARAT_HEAD_DENSE, 1, 16), CARAT_DRIVER_REF, NULL, NULL),
                              listed_test =
                                  told(engine_of(CARAT_HEAD_DENSE, 1, 16),
                                       engine_of(CARAT_HEAD_SHORTLIST, 1, 16), CARAT_DRIVER_REF, NULL, NULL);
    for (carat_driver driver = CARAT_DRIVER_REF; driver <= CARAT_DRIVER_TEXT; driver += 3)
        for (int i = 0; i < 3; i++) {
            const struct heard_prompt h = told(
                engine_of(i ? CARAT_HEAD_SHORTLIST : CARAT_HEAD_EXACT_PRUNED, 1, 16),
                engine_of(tests[i], 1, 16), driver, driver == CARAT_DRIVER_TEXT ? whole.ref : NULL, NULL);
            assert_int_equal(h.n, N);
            same_positions(h.p, whole.p, N);
            assert_true(h.p[0].difference.left_out == 0 && h.p[0].difference.outside == 0);
        }
    const struct heard_prompt both =
        told(engine_of(CARAT_HEAD_SHORTLIST, 1, 16), engine_of(CARAT_HEAD_SHORTLIST, 1, 16), CARAT_DRIVER_REF,
             NULL, NULL);
    same_positions(both.p, listed_test.p, N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_has_a_whole_reference),
        cmocka_unit_test(answers_are_those_of_each_alone),
        cmocka_unit_test(slices_and_threads_change_nothing),
        cmocka_unit_test(a_shortlist_does_not_cut_the_reference),
    };
    return cmocka_run_group_tests(tests, open_tiny, close_tiny);
}
