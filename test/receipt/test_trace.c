/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace.c: hashes of operations of a replay are the same whatever computes them, and a bit that one
 * operation gets wrong, once, is named: its operation, layer and position, or that it lies before those which
 * are traced. */
#include "receipt/trace_util.h"

#include <pthread.h>
#include <stdatomic.h>

enum { LAYERS = 6 };

static int make_right(void **state)
{
    struct settings s;
    const carat_engine_options o = tiny_options(1, NULL, 0);
    carat_replay t;

    open_tiny(state);
    choose_settings(&s, 7);
    OK(carat_engine_create(&engine, tiny, &o, err));
    carat_free(receipt_of(engine, &s, NULL, &receipt));
    carat_engine_close(engine);
    engine = engine_for(receipt, tiny_options(1, NULL, 0));
    right = traced(engine, FIRST, TRACED, &t);
    assert_true(t.confirmed && t.drawn == 0);
    return 0;
}

static int free_right(void **state)
{
    free(right.of);
    carat_engine_close(engine);
    carat_receipt_close(receipt);
    return close_tiny(state);
}

/* ---- which there are ---- */

static void all_are_told(void **state)
{
    static const char *const of_layer[] = {"attn_norm",      "q",        "k",      "v",      "q_norm",
                                           "k_norm",         "q_rope",   "k_rope", "attend", "o",
                                           "attn_post_norm", "ffn_norm", "geglu",  "down",   "ffn_post_norm"};
    const int n = (int)(sizeof of_layer / sizeof *of_layer), prompt = receipt->n_prompt;
    int at = 0;

    (void)state;
    for (int p = FIRST; p < FIRST + TRACED; p++) {
        assert_string_equal(right.of[at].operation, "embed");
        assert_int_equal(right.of[at++].layer, -1);
        for (int i = 0; i < LAYERS * n; i++, at++) {
            assert_string_equal(right.of[at].operation, of_layer[i % n]);
            assert_int_equal(right.of[at].layer, i / n);
            assert_int_equal(right.of[at].position, p);
        }
        assert_string_equal(right.of[at].operation, "final_norm");
        assert_int_equal(right.of[at++].position, p);
        assert_string_equal(right.of[at].operation, "head");
        assert_int_equal(right.of[at++].layer, -1);
        if (p < prompt - 1) /* no logits yet */
            assert_string_equal(right.of[at - 1].hash, "00000000000000000000000000000000");
        else
            assert_string_not_equal(right.of[at - 1].hash, "00000000000000000000000000000000");
    }
    assert_int_equal(at, right.n);
    assert_true(FIRST < prompt - 1 && prompt - 1 < FIRST + TRACED);
}

static void the_same_in_every_way(void **state)
{
    (void)state;
    expect_the_same_in_every_way();
}

struct other {
    carat_session *session;
    atomic_bool over;
};

/* Evaluates other ids in the same engine until it is told to end. */
static void *evaluate_others(void *user)
{
    struct other *o = user;
    int32_t ids[40];

    for (int round = 0; !atomic_load(&o->over); round++) {
        for (int i = 0; i < 40; i++)
            ids[i] = 20 + (i * 7 + round) % 500;
        assert_int_equal(carat_sync(o->session, ids, 40, NULL, NULL), CARAT_OK);
    }
    return NULL;
}

static void the_same_beside_other_sessions(void **state)
{
    carat_engine *e = engine_for(receipt, tiny_options(1, NULL, 3));
    struct other other = {.over = false};
    pthread_t thread;
    carat_replay result;

    (void)state;
    OK(carat_session_create(&other.session, e, NULL, err));
    assert_int_equal(pthread_create(&thread, NULL, evaluate_others, &other), 0);
    for (int i = 0; i < 3; i++) {
        struct told t = traced(e, FIRST, TRACED, &result);
        assert_int_equal(first_difference(&t), -1);
        free(t.of);
    }
    atomic_store(&other.over, true);
    pthread_join(thread, NULL);
    carat_session_close(other.session);
    carat_engine_close(e);
}

/* ---- faults ---- */

static void plant_in_head(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct fault *f = user;

    (void)b;
    for (int i = 0; i < event->n_logits && !f->done; i++)
        if (--f->position == 0) {
            flip(&event->logits[i][engine->config.n_vocab - 1]);
            f->done = true;
        }
}

static void a_fault_is_named(void **state)
{
    static const int ops[] = {CT_OP_EMBED,
                              CT_OP_ATTN_NORM,
                              CT_OP_Q,
                              CT_OP_K,
                              CT_OP_V,
                              CT_OP_Q_NORM,
                              CT_OP_K_NORM,
                              CT_OP_Q_ROPE,
                              CT_OP_K_ROPE,
                              CT_OP_ATTEND,
                              CT_OP_O,
                              CT_OP_FFN_NORM,
                              CT_OP_GEGLU,
                              CT_OP_DOWN,
                              CT_OP_ATTN_POST_NORM,
                              CT_OP_FFN_POST_NORM,
                              CT_OP_FINAL_NORM};

    (void)state;
    for (int i = 0; i < (int)(sizeof ops / sizeof *ops); i++)
        for (int k = 0; k < 4; k++) {
            const bool beside = ops[i] < CT_OP_PREDICT || ops[i] >= CT_OP_STREAMS_BACK;
            struct fault f = {.op = ops[i],
                              .layer = beside ? -1 : (i + 2 * k) % LAYERS,
                              .position =
                                  k == 3 ? 5 : FIRST + (k == 2 ? TRACED - 1 : (3 * i + 8 * k) % TRACED)};
            struct told t = with_fault(&f, plant);
            const int at = first_difference(&t);
            if (at < 0 || strcmp(t.of[at].operation, ct_operations[f.op].name) != 0 ||
                t.of[at].layer != f.layer || t.of[at].position != (k == 3 ? FIRST : f.position))
                fail_msg("%s of layer %d at position %d: found %s of layer %d at position %d",
                         ct_operations[f.op].name, f.layer, f.position, at < 0 ? "none" : t.of[at].operation,
                         at < 0 ? 0 : t.of[at].layer, at < 0 ? 0 : t.of[at].position);
            free(t.of);
        }
}

static void a_fault_of_the_head_is_named(void **state)
{
    struct fault f = {.position = 4}; /* rows of logits from then on */
    struct told t = with_fault(&f, plant_in_head);
    const int at = first_difference(&t);

    (void)state;
    assert_true(at >= 0);
    assert_string_equal(t.of[at].operation, "head");
    assert_int_equal(t.of[at].position, receipt->n_prompt + 2);
    free(t.of);
}

/* ---- what is refused ---- */

static int stop(void *user, const carat_operation_hash *hash)
{
    (void)hash;
    return ++*(int *)user == 3;
}

static void refused(void **state)
{
    const int evaluated = receipt->n_prompt + receipt->n_answer + (receipt->end_id >= 0) - 1;
    const struct {
        int first, n;
        const char *says;
    } wrong[] = {{0, 0, "n_traced is 0"},
                 {0, -1, "n_traced is -1"},
                 {0, CARAT_MOST_TRACED + 1, "expected 1 to 256"},
                 {-1, 1, "positions to trace are 1 from -1 on"},
                 {1, 0x7fffffff, "n_traced is"},
                 {0x7fffffff, 5, "positions to trace"},
                 {evaluated, 1, "positions to trace"},
                 {evaluated - 4, 5, "positions to trace"}};
    struct told t;
    carat_replay result;
    int n = 0;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        carat_replay_options how = tracing(&t, wrong[i].first, wrong[i].n);
        carat_replay_default(&result);
        FAILS_WITH(carat_receipt_replay(receipt, engine, &how, &result, err), CARAT_E_ARGUMENT,
                   wrong[i].says);
        assert_int_equal(t.n, 0);
    }
    t = traced(engine, evaluated - 5, 5, &result);
    assert_int_equal(t.of[t.n - 1].position, evaluated - 1);
    free(t.of);
    carat_replay_options how = tracing(&t, 0, 1);
    how.on_operation = stop;
    how.user = &n;
    carat_replay_default(&result);
    FAILS_WITH(carat_receipt_replay(receipt, engine, &how, &result, err), CARAT_E_CANCELLED,
               "the callback ended");
    assert_int_equal(n, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_told),
        cmocka_unit_test(the_same_in_every_way),
        cmocka_unit_test(the_same_beside_other_sessions),
        cmocka_unit_test(a_fault_is_named),
        cmocka_unit_test(a_fault_of_the_head_is_named),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests(tests, make_right, free_right);
}
