/* SPDX-License-Identifier: Apache-2.0 */
/* test_step.c: what becomes of each row of a step: one that is sick, cancelled, beyond the context or without
 * a block ends alone, and the others keep their tokens and their bits. Which logits a row gets is
 * test_wants.c; that bits are the same however tokens are cut into passes, test_invariance.c. */
#include "step_util.h"

#include <pthread.h>

/* ---- a sick row ---- */

static void beside_a_sick_row(const carat_engine_options *o, carat_wants wants, int sick_at)
{
    struct rig r = rig_open(model, o);
    carat_session *well = r.session[0], *ill = r.session[1];
    float *logits = malloc(N_SICK * VOCAB * sizeof *logits);
    carat_row rows[2];
    carat_error e = {CARAT_OK, ""};

    OK(carat_sync(ill, ids, 3, NULL, err));
    rows[!sick_at] = row_of(well, 10);
    rows[sick_at] = (carat_row){.session = ill, .tokens = sick, .n = N_SICK, .wants = wants};
    if (wants == CARAT_WANTS_ALL)
        rows[sick_at].logits = logits;
    assert_int_equal(step(&r, rows, 2, &e), CARAT_E_NUMERIC);
    check_sentence(e.message);
    assert_int_equal(rows[sick_at].status, CARAT_E_NUMERIC);
    assert_int_equal(rows[!sick_at].status, CARAT_OK);
    check_held(well, 10);
    assert_int_equal(carat_tokens_held(ill, NULL), 0);
    assert_null(carat_logits(ill));
    check_goes_on(ill, 20);
    check_goes_on(well, 30);
    free(logits);
    rig_close(&r);
}

static void a_sick_row_ends_alone(void **state)
{
    (void)state;
    static const carat_wants wants[] = {CARAT_WANTS_LAST, CARAT_WANTS_NONE, CARAT_WANTS_ALL};
    for (int threads = 1; threads <= 3; threads += 2)
        for (int chunk = 4; chunk <= 64; chunk *= 4)
            for (int i = 0; i < 6; i++) {
                carat_engine_options o = options(2, chunk, 64);
                o.threads = threads;
                beside_a_sick_row(&o, wants[i / 2], i % 2);
            }
}

/* K and V that are not finite are not stored: whoever shares the block, and stands before them, would read
 * them. */
static void a_sick_row_in_a_shared_block(void **state)
{
    (void)state;
    for (int kv = CARAT_KV_BF16; kv <= CARAT_KV_Q8; kv++)
        for (int at = 5; at <= 20; at += 5)
            for (int together = 0; together <= 2; together++) {
                carat_engine_options o = options(2, 32, 64), alone = options(1, 32, 64);
                carat_session *ill = NULL;
                o.kv = alone.kv = (carat_kv)kv;
                struct rig fresh = rig_open(model, &alone), r = rig_open(model, &o);
                carat_session *well = r.session[0];
                carat_session_close(r.session[1]);
                OK(carat_sync(well, ids, at, NULL, err));
                OK(carat_fork(well, at, &ill, err));
                r.session[1] = ill;
                /* it writes on in place: when it comes first, or when it is alone */
                carat_row rows[2] = {
                    {.session = ill, .tokens = sick, .n = N_SICK, .wants = CARAT_WANTS_NONE},
                    row_of(well, 4),
                };
                if (together == 2) {
                    const carat_row first = rows[0];
                    rows[0] = rows[1];
                    rows[1] = first;
                }
                assert_int_equal(step(&r, rows, together ? 2 : 1, NULL), CARAT_E_NUMERIC);
                for (int n = together ? at + 4 : at + 1; n < at + 12; n++) {
                    OK(carat_sync(well, ids, n, NULL, err));
                    OK(carat_sync(fresh.session[0], ids, n, NULL, err));
                    assert_memory_equal(carat_logits(well), carat_logits(fresh.session[0]),
                                        VOCAB * sizeof(float));
                }
                assert_int_equal(carat_tokens_held(ill, NULL), 0);
                rig_close(&fresh);
                rig_close(&r);
            }
}

/* ---- the context, the memory ---- */

static void beyond_the_context(void **state)
{
    (void)state;
    carat_engine_options o = options(3, 16, 32);
    struct rig r = rig_open(model, &o);
    carat_error e = {CARAT_OK, ""};
    OK(carat_sync(r.session[1], ids, 30, NULL, err));
    carat_row rows[3] = {row_of(r.session[0], 20), row_of(r.session[1], 3), row_of(r.session[2], 32)};
    assert_int_equal(step(&r, rows, 3, &e), CARAT_E_CONTEXT);
    check_sentence(e.message);
    assert_int_equal(rows[0].status, CARAT_OK);
    assert_int_equal(rows[1].status, CARAT_E_CONTEXT);
    assert_int_equal(rows[2].status, CARAT_OK);
    check_held(r.session[0], 20);
    check_held(r.session[1], 30);
    check_held(r.session[2], 32);
    rows[0] = row_of(r.session[0], 13); /* alone, too */
    assert_int_equal(step(&r, rows, 1, NULL), CARAT_E_CONTEXT);
    check_held(r.session[0], 20);
    rig_close(&r);
}

/* The bytes of the first block of a session, by what the library says of fewer. */
static size_t least_bytes(carat_engine_options o)
{
    carat_error e = {CARAT_OK, ""};
    carat_engine *engine = NULL;
    o.kv_bytes = 1;
    assert_int_equal(carat_engine_create(&engine, model, &o, &e), CARAT_E_ARGUMENT);
    const char *says = strstr(e.message, "at least ");
    assert_non_null(says);
    return (size_t)strtoull(says + strlen("at least "), NULL, 10);
}

/* Three blocks of each group for two sessions that want two each. */
static void without_a_block(void **state)
{
    (void)state;
    for (int first = 0; first <= 1; first++) {
        carat_engine_options o = options(2, 64, 512);
        o.kv_bytes = 3 * least_bytes(o);
        struct rig r = rig_open(model, &o);
        carat_error e = {CARAT_OK, ""};
        check_use(&r, 6, 6);
        OK(carat_sync(r.session[first], ids, 40, NULL, err)); /* it is there first */
        carat_row rows[2] = {row_of(r.session[0], 400), row_of(r.session[1], 400)};
        assert_int_equal(step(&r, rows, 2, &e), CARAT_E_MEMORY);
        check_sentence(e.message);
        assert_non_null(strstr(e.message, "position 256"));
        assert_non_null(strstr(e.message, "kv_bytes"));
        int failed = rows[0].status == CARAT_E_MEMORY ? 0 : 1;
        assert_int_equal(rows[failed].status, CARAT_E_MEMORY);
        assert_int_equal(rows[!failed].status, CARAT_OK);
        check_held(r.session[!failed], failed == first ? 400 : 440);
        assert_int_equal(carat_tokens_held(r.session[failed], NULL), BLOCK);
        assert_null(carat_logits(r.session[failed]));
        check_use(&r, 6, 1); /* the window of the longer one has left a block */
        rows[failed] = row_of(r.session[failed], 1);
        assert_int_equal(step(&r, &rows[failed], 1, NULL), CARAT_E_MEMORY); /* and again */
        assert_int_equal(carat_tokens_held(r.session[failed], NULL), BLOCK);
        OK(carat_rewind(r.session[!failed], 0, err));
        check_goes_on(r.session[failed], 500);
        rig_close(&r);
    }
}

/* A step that has no block for anybody ends, too. */
static void without_any_block(void **state)
{
    (void)state;
    carat_engine_options o = options(2, 64, 512);
    o.kv_bytes = least_bytes(o);
    struct rig r = rig_open(model, &o);
    OK(carat_sync(r.session[0], ids, 256, NULL, err));
    carat_row rows[2] = {row_of(r.session[0], 2), row_of(r.session[1], 2)};
    assert_int_equal(step(&r, rows, 2, NULL), CARAT_E_MEMORY);
    assert_int_equal(rows[0].status, CARAT_E_MEMORY);
    assert_int_equal(rows[1].status, CARAT_E_MEMORY);
    check_held(r.session[0], 256);
    assert_int_equal(carat_tokens_held(r.session[1], NULL), 0);
    rig_close(&r);
}

/* A pool of exactly what is reserved serves it, with one block less nothing begins; and a session that is
 * closed reserves nothing more. */
static void what_is_reserved_is_served(void **state)
{
    (void)state;
    carat_engine_options o = options(3, 64, 600);
    o.kv_bytes = 3 * least_bytes(o);
    struct rig r = rig_open(model, &o);
    OK(carat_reserve(r.session[0], 512, err));
    OK(carat_reserve(r.session[1], 256, err));
    FAILS(CARAT_E_MEMORY, carat_reserve(r.session[2], 1, err));
    FAILS(CARAT_E_MEMORY, carat_reserve(r.session[1], 257, err));
    FAILS(CARAT_E_MEMORY, carat_sync(r.session[2], ids, 1, NULL, err));
    assert_int_equal(carat_tokens_held(r.session[2], NULL), 0);
    check_use(&r, 6, 6);
    check_goes_on(r.session[1], 256);
    check_goes_on(r.session[0], 512);
    FAILS(CARAT_E_MEMORY, carat_append(r.session[1], ids + 256, 1, err));
    check_held(r.session[1], 256);
    carat_session_close(r.session[1]);
    carat_session_close(r.session[0]);
    check_use(&r, 6, 6);
    check_goes_on(r.session[2], 600);
    OK(carat_rewind(r.session[2], 0, err));
    for (int i = 0; i < 2; i++) { /* promised, not used, given up */
        OK(carat_session_create(&r.session[i], r.engine, NULL, err));
        OK(carat_reserve(r.session[i], 300, err));
        carat_session_close(r.session[i]);
    }
    r.session[0] = r.session[1] = NULL;
    check_goes_on(r.session[2], 600);
    rig_close(&r);
}

/* ---- cancelling ---- */

enum { ROW = 21 };

/* A row ends where its callback wants it to; what the passes so far had of it is held. */
static void deliver_ends_a_row(void **state)
{
    (void)state;
    for (int slice = 1; slice <= 64; slice *= 8)
        for (int stop = 0; stop < ROW; stop++) {
            enum { CHUNK = 16 };
            carat_engine_options o = options(2, CHUNK, 64);
            o.logits_rows = slice;
            struct rig r = rig_open(model, &o);
            struct heard h = {.stop_at = stop};
            carat_row rows[2] = {row_of(r.session[0], ROW), row_of(r.session[1], ROW)};
            carat_error e = {CARAT_OK, ""};
            rows[0].wants = CARAT_WANTS_ALL;
            rows[0].deliver = hear;
            rows[0].user = &h;
            assert_int_equal(step(&r, rows, stop % 2 ? 2 : 1, &e), CARAT_E_CANCELLED);
            check_sentence(e.message);
            assert_int_equal(rows[0].status, CARAT_E_CANCELLED);
            assert_false(h.wrong);
            assert_int_equal(h.count, stop + 1);
            assert_int_equal(carat_tokens_held(r.session[0], NULL), stop < CHUNK ? CHUNK : ROW);
            if (stop == ROW - 1)
                check_held(r.session[0], ROW);
            else
                assert_null(carat_logits(r.session[0]));
            if (stop % 2)
                check_held(r.session[1], ROW);
            check_goes_on(r.session[0], ROW + 3);
            check_goes_on(r.session[1], ROW + 3);
            rig_close(&r);
        }
}

struct patience {
    int left;
};

static int ask(void *user, size_t done, size_t total)
{
    (void)done;
    (void)total;
    return ((struct patience *)user)->left-- <= 0;
}

/* Wherever one of two passes is stopped, what was delivered before is right, and a block that the second one
 * began is free again. */
static void a_stopped_pass_leaves_nothing(void **state)
{
    (void)state;
    carat_status status = CARAT_E_CANCELLED;
    const int places = SANITIZED || !tier_is_deep() ? 7 : 1; /* of so many one */
    for (int k = (int)(tier_turn() % (unsigned)places); status == CARAT_E_CANCELLED; k += places) {
        enum { FIRST = BLOCK - 6, ALL = BLOCK + 6 };
        carat_engine_options o = options(1, 8, 2 * BLOCK);
        o.logits_rows = 3;
        struct rig r = rig_open(model, &o);
        struct patience p = {INT32_MAX};
        struct heard h = {.stop_at = -1, .first = FIRST};
        carat_use use = {.size = sizeof use};
        carat_session_options so;
        carat_session_options_default(&so);
        so.watch = ask;
        so.user = &p;
        carat_session_close(r.session[0]);
        OK(carat_session_create(&r.session[0], r.engine, &so, err));
        OK(carat_sync(r.session[0], ids, FIRST, NULL, err));
        carat_row row = row_of(r.session[0], ALL - FIRST);
        row.wants = CARAT_WANTS_ALL;
        row.deliver = hear;
        row.user = &h;
        p.left = k;
        status = step(&r, &row, 1, NULL);
        assert_int_equal(row.status, status);
        assert_false(h.wrong);
        int held = carat_tokens_held(r.session[0], NULL);
        assert_true(held == (status ? held < BLOCK ? FIRST : BLOCK : ALL));
        assert_true(h.count >= held - FIRST);
        OK(carat_engine_use(r.engine, &use, err));
        assert_int_equal(use.held, status ? 2 : 4);
        p.left = INT32_MAX;
        check_goes_on(r.session[0], ALL + 8);
        rig_close(&r);
    }
}

static void *cancel_it(void *session)
{
    carat_cancel(session);
    return NULL;
}

struct canceller {
    carat_session *target;
    int calls, at;
};

/* From another thread, while a pass of the call runs. */
static int cancel_from_a_thread(void *user, size_t done, size_t total)
{
    struct canceller *c = user;
    pthread_t t;
    (void)done;
    (void)total;
    if (c->calls++ == c->at && pthread_create(&t, NULL, cancel_it, c->target) == 0)
        pthread_join(t, NULL);
    return 0;
}

static void another_thread_cancels(void **state)
{
    (void)state;
    for (int at = 0; at < 100; at += SANITIZED ? 27 : 9) {
        carat_engine_options o = options(2, 8, 256);
        struct rig r = rig_open(model, &o);
        struct canceller c = {.at = at};
        carat_session_options so;
        carat_session_options_default(&so);
        so.watch = cancel_from_a_thread;
        so.user = &c;
        carat_session_close(r.session[0]);
        OK(carat_session_create(&r.session[0], r.engine, &so, err));
        c.target = r.session[0];
        assert_int_equal(carat_sync(c.target, ids, 200, NULL, NULL), CARAT_E_CANCELLED);
        int held = carat_tokens_held(c.target, NULL);
        assert_true(held < 200 && held % 8 == 0);
        check_goes_on(c.target, 200); /* the wish was heard once */
        /* the neighbour is cancelled out of the callback of the first one, which goes on */
        c = (struct canceller){.target = r.session[1], .at = at / 9};
        OK(carat_rewind(r.session[0], 0, err));
        carat_row rows[2] = {row_of(r.session[0], 30), row_of(r.session[1], 200)};
        assert_int_equal(step(&r, rows, 2, NULL), CARAT_E_CANCELLED);
        assert_int_equal(rows[0].status, CARAT_OK);
        assert_int_equal(rows[1].status, CARAT_E_CANCELLED);
        check_held(r.session[0], 30);
        check_goes_on(r.session[1], 200);
        rig_close(&r);
    }
    carat_cancel(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sick_row_ends_alone),  cmocka_unit_test(a_sick_row_in_a_shared_block),
        cmocka_unit_test(beyond_the_context),     cmocka_unit_test(without_a_block),
        cmocka_unit_test(without_any_block),      cmocka_unit_test(what_is_reserved_is_served),
        cmocka_unit_test(deliver_ends_a_row),     cmocka_unit_test(a_stopped_pass_leaves_nothing),
        cmocka_unit_test(another_thread_cancels),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
