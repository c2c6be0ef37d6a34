/* SPDX-License-Identifier: Apache-2.0 */
/* test_stats.c: what an engine counts of its passes, what it knows of their cost, and that a prompt goes one
 * row at a time where a table says so, with the same bits. Times are fed, never measured. */
#include "step_util.h"

#include <math.h>

#include "carat_generate.h"
#include "engine/session.h"
#include "engine/stats.h"

static carat_engine_stats stats_of(const struct rig *r)
{
    carat_engine_stats s = {.size = sizeof s};

    OK(carat_engine_get_stats(r->engine, &s, err));
    return s;
}

static carat_costs costs_of(const struct rig *r)
{
    carat_costs c = {.size = sizeof c};

    OK(carat_engine_get_costs(r->engine, &c, err));
    return c;
}

/* ---- times and costs, as arithmetic ---- */

static void buckets_have_their_rows(void **state)
{
    static const int first[] = {1, 2, 3, 5, 9, 17, 33, 65, 129, 257, INT32_MAX};

    (void)state;
    for (int i = 0; i < CARAT_ROW_BUCKETS; i++) {
        assert_int_equal(ct_row_bucket(first[i]), i);
        if (i < CARAT_ROW_BUCKETS - 1)
            assert_int_equal(ct_row_bucket(first[i + 1] - 1), i);
    }
    assert_int_equal(ct_row_bucket(INT32_MAX), CARAT_ROW_BUCKETS - 1);
}

/* Every time from 2 us to a minute comes back within 4 %; shorter and longer ones have an end. */
static void percentiles_are_near(void **state)
{
    static struct ct_times t;

    (void)state;
    assert_true(ct_times_percentile(&t, 0.5) == 0);
    for (double s = 2e-6; s < 60; s *= 1.013) {
        memset(&t, 0, sizeof t);
        ct_times_add(&t, s);
        for (int i = 0; i <= 2; i++) {
            double p = ct_times_percentile(&t, (double[]){0.5, 0.95, 1}[i]);
            assert_true(fabs(p / s - 1) <= 0.04);
        }
    }
    memset(&t, 0, sizeof t);
    for (int i = 1; i <= 1000; i++)
        ct_times_add(&t, i * 1e-3);
    assert_true(fabs(ct_times_percentile(&t, 0.5) / 0.5 - 1) <= 0.04);
    assert_true(fabs(ct_times_percentile(&t, 0.95) / 0.95 - 1) <= 0.04);
    assert_true(fabs(ct_times_percentile(&t, 0.99) / 0.99 - 1) <= 0.04);
    ct_times_add(&t, 0);
    ct_times_add(&t, 1e9);
    assert_int_equal(t.n, 1002);
}

static struct ct_pass_facts pass_of(int rows, double seconds)
{
    return (struct ct_pass_facts){
        .rows = rows, .depth = rows, .seconds = seconds, .all_logits = true, .decodes = rows == 1};
}

static struct ct_stats *fresh(void)
{
    static struct ct_stats s;

    memset(&s, 0, sizeof s);
    return &s;
}

static void feed(struct ct_stats *s, struct ct_pass_facts pass, int times)
{
    for (int i = 0; i < times; i++)
        ct_stats_pass(s, &pass);
}

static void assert_near(double is, double expected)
{
    if (fabs(is - expected) > 1e-6 * expected)
        fail_msg("%.9g, expected %.9g", is, expected);
}

static void costs_are_what_was_measured(void **state)
{
    struct ct_stats *s = fresh();
    struct ct_pass_facts deep = pass_of(1, 20e-3);

    (void)state;
    assert_true(ct_cost_of(&s->costs, 1, 1, true) == 0);
    feed(s, pass_of(1, 90e-3), 1); /* memory was cold */
    feed(s, pass_of(1, 10e-3), 30);
    assert_near(ct_cost_of(&s->costs, 1, 1, true), 10e6);
    assert_true(ct_cost_of(&s->costs, 2, 1, true) == 0); /* nothing is known of two */
    assert_true(ct_cost_of(&s->costs, 1, 1, false) == 0);
    feed(s, pass_of(8, 28e-3), 30);
    assert_near(ct_cost_of(&s->costs, 8, 1, true), 28e6);
    assert_near(ct_cost_of(&s->costs, 4, 1, true), 10e6 + 18e6 * 3 / 7); /* between the two */
    assert_true(ct_cost_of(&s->costs, 9, 1, true) == 0);
    /* One pass that somebody disturbed moves it by a sixteenth at most. */
    feed(s, pass_of(8, 5), 1);
    assert_near(ct_cost_of(&s->costs, 8, 1, true), 28e6 * 17 / 16);

    /* At a depth where only one row was measured, others cost as much more. */
    deep.depth = 5000;
    feed(s, deep, 5);
    assert_near(ct_cost_of(&s->costs, 8, 5000, true), 28e6 * 17 / 16 * 2);
    assert_near(ct_cost_of(&s->costs, 1, 5000, true), 20e6);
    assert_near(ct_cost_of(&s->costs, 1, 1024, true), 10e6);
    assert_true(ct_cost_of(&s->costs, 1, 1025, true) == 0);
}

static void means_and_deviations(void **state)
{
    carat_engine_options o = options(1, 8, 64);
    struct rig r = rig_open(model, &o);

    (void)state;
    feed(&r.engine->stats, pass_of(3, 1e-3), 1);
    feed(&r.engine->stats, pass_of(4, 3e-3), 1);
    const carat_engine_stats s = stats_of(&r);
    assert_int_equal(s.passes, 2);
    assert_int_equal(s.rows, 7);
    assert_near(s.seconds, 4e-3);
    assert_int_equal(s.by_rows[2].first, 3);
    assert_int_equal(s.by_rows[2].last, 4);
    assert_int_equal(s.by_rows[2].passes, 2);
    assert_near(s.by_rows[2].mean, 2e-3);
    assert_near(s.by_rows[2].cv, 0.5);
    assert_true(fabs(s.by_rows[2].p50 / 1e-3 - 1) < 0.04 && fabs(s.by_rows[2].p99 / 3e-3 - 1) < 0.04);
    assert_int_equal(s.by_rows[0].first, 1);
    assert_int_equal(s.by_rows[CARAT_ROW_BUCKETS - 1].last, INT32_MAX);
    assert_int_equal(s.by_rows[0].passes, 0);
    assert_true(s.by_rows[0].p99 == 0 && s.by_rows[0].cv == 0);
    assert_near(ct_pass_cost(r.engine, 3), 1e6); /* of the two the cheaper one for each row */
    rig_close(&r);
}

/* ---- what an engine counts ---- */

static void tokens_by_their_path(void **state)
{
    carat_engine_options o = options(2, 64, MOST);
    struct rig r = rig_open(model, &o);
    carat_row two[2];

    (void)state;
    OK(carat_sync(r.session[0], ids, 300, NULL, err));
    carat_engine_stats s = stats_of(&r);
    assert_int_equal(s.rows, 300);
    assert_int_equal(s.prefill, 300);
    assert_int_equal(s.passes, 5); /* 4 x 64, and 44 */
    assert_int_equal(s.by_rows[6].passes + s.by_rows[7].passes, 5);
    assert_int_equal(s.cpu.all.passes, 5);
    assert_int_equal(s.cpu.all.rows, 300);
    assert_int_equal(s.gpu.all.passes + s.gpu.all.rows + s.padded_rows + s.plans_built, 0);
    assert_true(*s.cpu.reason && *s.gpu.reason);
    assert_true(s.blocks_held > 0 && s.blocks >= s.blocks_held);

    /* One row of each session decodes. */
    OK(carat_append(r.session[0], ids + 300, 1, err));
    OK(carat_append(r.session[1], ids, 1, err));
    two[0] = row_of(r.session[0], 1);
    two[1] = row_of(r.session[1], 1);
    OK(step(&r, two, 2, err));
    s = stats_of(&r);
    assert_int_equal(s.decode, 4);
    assert_int_equal(s.by_rows[1].passes, 1);

    /* Rows that are guessed decode, too, and are told apart. */
    struct ct_row guessed = {.row = row_of(r.session[0], 4), .drafts = 3};
    OK(ct_evaluate(&guessed, false, err));
    s = stats_of(&r);
    assert_int_equal(s.drafted, 3);
    assert_int_equal(s.decode, 5);
    assert_int_equal(s.prefill, 300);

    /* Behind the window nothing is held: what comes back is evaluated once more. */
    int held = carat_tokens_held(r.session[0], NULL);
    OK(carat_rewind(r.session[0], held - 200, err));
    check_goes_on(r.session[0], held - 199);
    carat_session_stats of_session = {.size = sizeof of_session};
    OK(carat_session_get_stats(r.session[0], &of_session, err));
    s = stats_of(&r);
    assert_true(of_session.reevaluated > 0);
    assert_int_equal(s.reevaluated, of_session.reevaluated);
    assert_int_equal(s.rows, s.prefill + s.decode + s.drafted + s.reevaluated);
    rig_close(&r);
}

static void snapshots_are_counted(void **state)
{
    carat_engine_options o = options(1, 64, MOST);

    (void)state;
    o.snapshot_bytes = (size_t)1 << 30;
    struct rig r = rig_open(model, &o);
    OK(carat_sync(r.session[0], ids, 200, NULL, err)); /* takes one */
    OK(carat_sync(r.session[0], ids, 500, NULL, err)); /* and another */
    OK(carat_rewind(r.session[0], 200, err));
    carat_engine_stats s = stats_of(&r);
    assert_int_equal(s.snapshots_taken, 2);
    assert_int_equal(s.snapshots_dropped, 1);
    assert_int_equal(s.snapshots_used, 1);
    assert_int_equal(s.restored, 200);
    rig_close(&r);
}

static void a_stopped_pass_is_not_counted(void **state)
{
    carat_engine_options o = options(1, 64, MOST);
    int asked = 0;
    carat_session_options watched = {.size = sizeof watched, .watch = stop_at_once, .user = &asked};

    (void)state;
    struct rig r = rig_open(model, &o);
    carat_session_close(r.session[0]);
    OK(carat_session_create(&r.session[0], r.engine, &watched, err));
    FAILS(CARAT_E_CANCELLED, carat_append(r.session[0], ids, 64, err));
    assert_int_equal(stats_of(&r).passes, 0);
    rig_close(&r);
}

/* ---- tables that come from elsewhere ---- */

/* Passes of each number of rows cost so many nanoseconds a row. */
static carat_costs planted(double one, double each_of_several)
{
    carat_costs c = {.size = sizeof c};

    for (int kind = 0; kind < CARAT_COST_KINDS; kind++)
        for (int depth = 0; depth < CARAT_COST_DEPTHS; depth++)
            for (int i = 0; i < CARAT_ROW_BUCKETS; i++)
                c.of[kind][depth][i] = (carat_cost){1 << i, (1 << i) * (i ? each_of_several : one), 64};
    return c;
}

/* What a prompt of n tokens is evaluated in, under a table. */
static carat_engine_stats under(const carat_costs *costs, int n)
{
    carat_engine_options o = options(1, 64, MOST);

    o.costs = costs;
    struct rig r = rig_open(model, &o);
    carat_row all = row_of(r.session[0], n);
    float *logits = malloc((size_t)n * VOCAB * sizeof *logits);
    all.logits = logits;
    OK(step(&r, &all, 1, err));
    for (int i = 0; i < n; i++)
        assert_true(are_of(logits + (size_t)i * VOCAB, i));
    free(logits);
    check_held(r.session[0], n);
    check_goes_on(r.session[0], n + 1);
    carat_engine_stats s = stats_of(&r);
    rig_close(&r);
    return s;
}

static void a_prompt_goes_where_it_is_cheaper(void **state)
{
    const carat_costs single = planted(1e3, 1e9), batch = planted(1e9, 1e3);

    (void)state;
    carat_engine_stats s = under(&batch, 300);
    assert_int_equal(s.one_by_one, 0);
    assert_int_equal(s.passes, 6);
    s = under(NULL, 300);
    assert_int_equal(s.one_by_one, 0);
    /* A larger pass comes from time to time, after 64 of one row; what is left in the end is one row. */
    s = under(&single, 300);
    assert_int_equal(s.one_by_one, 171);
    assert_int_equal(s.by_rows[7].passes, 0);
    assert_int_equal(s.by_rows[6].passes, 2);
    assert_int_equal(s.prefill, 299);
    assert_int_equal(s.decode, 2);
}

static void a_table_comes_back_as_it_was_given(void **state)
{
    const carat_costs given = planted(5e6, 2e6);
    carat_engine_options o = options(1, 64, MOST);

    (void)state;
    o.costs = &given;
    struct rig r = rig_open(model, &o);
    carat_costs got = costs_of(&r);
    assert_memory_equal(&got, &given, sizeof got);
    assert_near(ct_pass_cost(r.engine, 1), 5e6);
    assert_near(ct_pass_cost(r.engine, 8), 16e6);
    assert_near(ct_pass_cost(r.engine, 6), 12e6);
    rig_close(&r);
    r = rig_open(model, &(carat_engine_options){.size = sizeof o, .threads = 1});
    got = costs_of(&r);
    assert_int_equal(got.of[0][0][0].passes, 0);
    assert_true(ct_pass_cost(r.engine, 1) == 0);
    rig_close(&r);
}

static void strange_tables_are_refused(void **state)
{
    static const carat_cost strange[] = {{NAN, 1, 1}, {3, NAN, 1},      {3, INFINITY, 1}, {3, -1, 1},
                                         {3, 0, 1},   {5, 1, 1},        {2, 1, 1},        {3, 1, 0},
                                         {3, 1, 65},  {INFINITY, 1, 1}, {3, 1, -1},       {-3, 1, 1}};
    carat_engine *engine;

    (void)state;
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        carat_costs c = planted(1, 1);
        carat_engine_options o = options(1, 64, MOST);
        c.of[1][2][2] = strange[i]; /* of 3 and 4 rows */
        o.costs = &c;
        carat_error e;
        assert_int_equal(carat_engine_create(&engine, model, &o, &e), CARAT_E_ARGUMENT);
        assert_non_null(strstr(e.message, "entry 62 of carat_costs"));
    }
    carat_costs c = planted(1, 1);
    carat_engine_options o = options(1, 64, MOST);
    c.size = sizeof c + 8;
    o.costs = &c;
    FAILS(CARAT_E_ARGUMENT, carat_engine_create(&engine, model, &o, err));
    FAILS(CARAT_E_ARGUMENT, carat_engine_get_stats(NULL, &(carat_engine_stats){.size = 8}, err));
    FAILS(CARAT_E_ARGUMENT, carat_engine_get_costs(NULL, &c, err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_have_their_rows),
        cmocka_unit_test(percentiles_are_near),
        cmocka_unit_test(costs_are_what_was_measured),
        cmocka_unit_test(means_and_deviations),
        cmocka_unit_test(tokens_by_their_path),
        cmocka_unit_test(snapshots_are_counted),
        cmocka_unit_test(a_stopped_pass_is_not_counted),
        cmocka_unit_test(a_prompt_goes_where_it_is_cheaper),
        cmocka_unit_test(a_table_comes_back_as_it_was_given),
        cmocka_unit_test(strange_tables_are_refused),
    };
    return cmocka_run_group_tests_name("stats", tests, open_model, close_model);
}
