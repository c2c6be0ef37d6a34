/* SPDX-License-Identifier: Apache-2.0 */
/* test_wants.c: each row of a step gets the logits that it wants, where it wants them, however many are
 * computed together; wishes that cannot be are refused and change nothing; rows of older programs are served.
 * What becomes of rows that fail is test_step.c. */
#include "step_util.h"

enum { ROW = 21, HELD = 250 };
static const int some[] = {0, 1, 5, 6, 7, 8, 13, 18}, other[] = {3, 20};

static void each_want(const carat_engine_options *o, int delivered)
{
    static const struct {
        carat_wants wants;
        const int *wanted;
        int n;
        bool last;
    } want[] = {
        {CARAT_WANTS_NONE, NULL, 0, false}, {CARAT_WANTS_LAST, NULL, 1, true},
        {CARAT_WANTS_ALL, NULL, ROW, true}, {CARAT_WANTS_SOME, some, 8, false},
        {CARAT_WANTS_SOME, other, 2, true}, {CARAT_WANTS_DEFAULT, NULL, ROW, true},
    };
    enum { N = sizeof want / sizeof *want };
    static float logits[2][(ROW + 1) * VOCAB];
    struct rig r = rig_open(model, o);

    OK(carat_sync(r.session[2], ids, HELD, NULL, err));
    for (size_t i = 0; i < N * N; i++) {
        struct heard heard[2];
        carat_row row[2];
        size_t at[2] = {i % N, i / N};
        for (int k = 0; k < 2; k++) {
            carat_session_close(r.session[k]);
            OK(carat_fork(r.session[2], HELD, &r.session[k], err));
            heard[k] = (struct heard){.stop_at = -1, .first = HELD};
            for (size_t v = 0; v < CT_COUNT(logits[k]); v++)
                logits[k][v] = 77;
            row[k] = row_of(r.session[k], ROW);
            row[k].wants = want[at[k]].wants;
            row[k].wanted = want[at[k]].wanted;
            row[k].n_wanted = want[at[k]].n;
            if (!(delivered & 1 << k) || row[k].wants == CARAT_WANTS_DEFAULT)
                row[k].logits = logits[k];
            if (delivered & 1 << k) {
                row[k].deliver = hear;
                row[k].user = &heard[k];
            }
        }
        OK(step(&r, row, 2, err));
        for (int k = 0; k < 2; k++) {
            int n = want[at[k]].n, wrote = row[k].deliver ? 0 : n;
            assert_int_equal(row[k].status, CARAT_OK);
            assert_int_equal(carat_tokens_held(r.session[k], NULL), HELD + ROW);
            if (want[at[k]].last)
                check_held(r.session[k], HELD + ROW);
            else
                assert_null(carat_logits(r.session[k]));
            assert_false(heard[k].wrong);
            assert_int_equal(heard[k].count, n - wrote);
            for (int j = 0; j < n; j++) {
                int token = want[at[k]].wanted ? want[at[k]].wanted[j] : n == 1 ? ROW - 1 : j;
                if (row[k].deliver)
                    assert_int_equal(heard[k].token[j], token);
                else if (!are_of(logits[k] + (size_t)j * VOCAB, HELD + token))
                    fail_msg("want %zu beside %zu, chunk %d: logits %d of token %d differ", at[k], at[!k],
                             o->chunk, j, token);
            }
            for (size_t v = (size_t)wrote * VOCAB; v < CT_COUNT(logits[k]); v++)
                assert_true(logits[k][v] == 77); /* nothing behind them */
        }
    }
    rig_close(&r);
}

static void a_row_gets_what_it_wants(void **state)
{
    (void)state;
    static const int slices[] = {0, 2, 7, 64}, chunks[] = {5, 16, 64};
    for (size_t i = 0; i < CT_COUNT(slices) * CT_COUNT(chunks); i++) {
        if (SANITIZED ? i % 5 != 0 : !tier_takes((unsigned)i, 12)) /* slow, and looks for other mistakes */
            continue;
        carat_engine_options o = options(3, chunks[i % CT_COUNT(chunks)], 512);
        o.logits_rows = slices[i / CT_COUNT(chunks)];
        o.threads = 1 + 2 * (i % 2);
        for (int delivered = 0; delivered < 4; delivered++)
            each_want(&o, delivered);
    }
}

/* ---- arguments ---- */

static int never_called(void *user, int token, const float *logits)
{
    (void)user;
    (void)token;
    (void)logits;
    fail_msg("deliver of a refused row is called");
    return 0;
}

static void refused_arguments_change_nothing(void **state)
{
    (void)state;
    static const int twice[] = {1, 1}, down[] = {2, 1}, beyond[] = {0, 3}, negative[] = {-1, 2};
    static const int32_t no_id[] = {2, VOCAB, 3};
    float *logits = calloc(3 * VOCAB, sizeof *logits), *zeros = calloc(3 * VOCAB, sizeof *zeros);
    carat_engine_options o = options(2, 8, 64);
    struct rig r = rig_open(model, &o);
    for (int i = 0; i < 2; i++)
        OK(carat_sync(r.session[i], ids, 5, NULL, err));
    const carat_row bad[] = {
        {.wants = (carat_wants)-1},
        {.wants = (carat_wants)(CARAT_WANTS_SOME + 1), .logits = logits},
        {.wants = CARAT_WANTS_ALL},
        {.wants = CARAT_WANTS_SOME, .wanted = twice, .n_wanted = 1},
        {.wants = CARAT_WANTS_SOME, .logits = logits},
        {.wants = CARAT_WANTS_SOME, .logits = logits, .n_wanted = 2},
        {.wants = CARAT_WANTS_SOME, .logits = logits, .wanted = down},
        {.wants = CARAT_WANTS_SOME, .logits = logits, .wanted = down, .n_wanted = -1},
        {.wants = CARAT_WANTS_SOME, .logits = logits, .wanted = twice, .n_wanted = 2},
        {.wants = CARAT_WANTS_SOME, .logits = logits, .wanted = down, .n_wanted = 2},
        {.wants = CARAT_WANTS_SOME, .deliver = never_called, .wanted = beyond, .n_wanted = 2},
        {.wants = CARAT_WANTS_SOME, .deliver = never_called, .wanted = negative, .n_wanted = 2},
        {.tokens = no_id, .deliver = never_called},
        {.n = -1, .logits = logits},
    };
    for (size_t i = 0; i < CT_COUNT(bad); i++)
        for (int at = 0; at < 2; at++) {
            carat_row rows[2] = {row_of(r.session[0], 3), row_of(r.session[1], 3)};
            rows[at] = bad[i];
            rows[at].session = r.session[at];
            if (!rows[at].tokens)
                rows[at].tokens = ids;
            rows[at].n += 3 * (rows[at].n == 0);
            rows[!at].deliver = never_called;
            for (int k = 0; k < 2; k++)
                rows[k].status = (carat_status)55;
            FAILS(CARAT_E_ARGUMENT, step(&r, rows, 2, err));
            for (int k = 0; k < 2; k++) {
                assert_int_equal(rows[k].status, 55);
                check_held(r.session[k], 5);
            }
            assert_memory_equal(logits, zeros, 3 * VOCAB * sizeof *logits);
        }
    rig_close(&r);
    free(logits);
    free(zeros);
}

/* A program of before rows had wishes: it gets all logits where it asks for any, and nothing is written
 * beyond what it knows. */
static void older_rows_are_served(void **state)
{
    (void)state;
    struct old_row {
        carat_session *session;
        const int32_t *tokens;
        int n;
        float *logits;
    };
    carat_engine_options o = options(2, 8, 64);
    struct rig r = rig_open(model, &o);
    float *logits = malloc(12 * VOCAB * sizeof *logits);
    struct old_row rows[3] = {{r.session[0], ids, 12, logits}, {r.session[1], ids, 9, NULL}};
    memset(&rows[2], 0x5a, sizeof rows[2]);
    const struct old_row before[3] = {rows[0], rows[1], rows[2]};
    OK(carat_step(r.engine, (carat_row *)rows, sizeof *rows, 2, err));
    for (int i = 0; i < 12; i++)
        assert_true(are_of(logits + (size_t)i * VOCAB, i));
    check_held(r.session[0], 12);
    check_held(r.session[1], 9);
    rows[0].logits = NULL;
    rows[1].tokens = sick;
    rows[1].n = N_SICK;
    assert_int_equal(carat_step(r.engine, (carat_row *)rows, sizeof *rows, 2, NULL), CARAT_E_NUMERIC);
    assert_int_equal(carat_tokens_held(r.session[0], NULL), 24);
    assert_int_equal(carat_tokens_held(r.session[1], NULL), 0);
    assert_memory_equal(&rows[2], &before[2], sizeof rows[2]);
    FAILS(CARAT_E_ARGUMENT, carat_step(r.engine, (carat_row *)rows, sizeof(carat_row) + 8, 1, err));
    free(logits);
    rig_close(&r);
}

/* ---- callbacks ---- */

struct intruder {
    carat_session *own;
    int calls;
    carat_status status[8];
    int held;
    const float *logits;
};

static int call_own_session(void *user, int token, const float *logits)
{
    struct intruder *m = user;
    carat_session *more = NULL;
    int32_t id = 5;
    (void)token;
    (void)logits;
    m->calls++;
    m->status[0] = carat_append(m->own, &id, 1, NULL);
    m->status[1] = carat_sync(m->own, &id, 1, NULL, NULL);
    m->status[2] = carat_rewind(m->own, 0, NULL);
    m->status[3] = carat_fork(m->own, 0, &more, NULL);
    m->status[4] = carat_reserve(m->own, 10, NULL);
    m->status[5] = carat_sample(m->own, NULL, &id, NULL);
    m->held = carat_tokens_held(m->own, NULL);
    m->logits = carat_logits(m->own);
    return 0;
}

static void deliver_finds_its_session_busy(void **state)
{
    (void)state;
    carat_engine_options o = options(2, 8, 64);
    struct rig r = rig_open(model, &o);
    struct intruder m = {.own = r.session[0], .held = 77};
    carat_row row = row_of(r.session[0], 10);
    row.deliver = call_own_session;
    row.user = &m;
    OK(step(&r, &row, 1, err));
    assert_int_equal(m.calls, 1);
    for (int i = 0; i < 6; i++)
        assert_int_equal(m.status[i], CARAT_E_BUSY);
    assert_int_equal(m.held, 0);
    assert_null(m.logits);
    check_held(r.session[0], 10);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_row_gets_what_it_wants),
        cmocka_unit_test(refused_arguments_change_nothing),
        cmocka_unit_test(older_rows_are_served),
        cmocka_unit_test(deliver_finds_its_session_busy),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
