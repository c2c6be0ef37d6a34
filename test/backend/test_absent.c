/* SPDX-License-Identifier: Apache-2.0 */
/* test_absent.c: each verb of a pass takes an absent weight or matrix: values stay as they are, nothing is
 * stored, and the trace shows the verb. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/cpu_backend.h"

enum { ROWS = 3, COLS = 32, VALUES = ROWS * COLS };

static void done_with(void *user, const void *p, size_t bytes)
{
    (void)user;
    (void)p;
    (void)bytes;
}

struct seen {
    int verbs, absent;
};

static void hook(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct seen *s = user;

    (void)b;
    s->verbs++;
    s->absent += (event->n && !event->w[0]->data) || (event->n_out && !event->out[0].handle);
}

static void absence_leaves_values_as_they_are(void **state)
{
    static const struct ct_weight none = {.type = CT_F32, .rows = COLS, .cols = COLS};
    static const struct ct_weight no_norm = {.type = CT_F32, .rows = 1, .cols = COLS};
    static const int32_t token[ROWS] = {1, 2, 3}, position[ROWS] = {0, 1, 2}, sequence[ROWS] = {0};
    static const struct ct_seen all[ROWS] = {{0, 0}, {0, 1}, {0, 2}};
    static const bool wanted[ROWS] = {true, true, true};
    const struct ct_backend_options o = {
        .threads = 1,
        .norm_eps = 1e-6f,
        .max_input = COLS,
        .max_ffn = COLS,
        .max_heads = 1,
        .max_head_dim = COLS,
        .n_vocab = COLS,
        .attn = {{.head_dim = COLS, .rotated = COLS / 2, .rope_base = 10000, .rope_factor = 1},
                 {.head_dim = COLS, .rotated = COLS / 2, .rope_base = 10000, .rope_factor = 1}},
        .done_with = done_with,
    };
    int32_t table[] = {0};
    struct ct_kv_pool pool = {.n_blocks = 1, .length = 1, .table = table};
    struct ct_kv kv = {.type = CT_KV_F32, .n_kv_head = 1, .head_dim = COLS, .pool = &pool};
    struct ct_backend *b;
    struct seen seen = {0};
    struct ct_trace trace = {.hook = hook, .user = &seen};
    float logits[COLS], before[VALUES], k[COLS], v[COLS];
    float *const to[] = {logits, logits, logits};
    ct_mat x, y;
    const ct_mat absent = {0};
    carat_error err;

    (void)state;
    assert_int_equal(ct_backend_create_cpu(&b, &o, &err), CARAT_OK);
    for (int reserved = 0; reserved <= 1; reserved++) {
        b->verb.lay_out(b, &(struct ct_extent){ROWS, 256, 1});
        x = b->verb.alloc(b, ROWS, COLS);
        y = b->verb.alloc(b, ROWS, COLS);
        b->verb.alloc_kv(b, &pool, 1, &kv);
        if (!reserved)
            assert_int_equal(b->verb.reserve(b, &err), CARAT_OK);
    }
    for (int i = 0; i < VALUES; i++) {
        before[i] = (float)(i % 7) - 3.5f;
        logits[i % COLS] = 5;
    }
    memcpy(ct_row(x, 0), before, sizeof before);
    memset(ct_row(y, 0), 0, sizeof before);

    begin_pass(b, &(struct ct_rows){ROWS, token, position, sequence, {all, all}, wanted, false},
               &(struct ct_watch){0});
    ct_trace_begin(b, &trace);
    embed(b, x, &none, 3);
    qk_norm(b, x, &no_norm);
    qk_norm(b, absent, &no_norm);
    project(b, x, y, &none);
    project_qkv(b, x, absent, absent, y, &none, &none, &none);
    project_geglu(b, x, y, &none, &none, &none);
    project_logits(b, x, 0, ROWS, to, &none, 0);
    rope(b, absent, 0);
    kv_write(b, &kv, absent, absent);
    residual_norm(b, x, y, &no_norm); /* x += y, which is 0 */
    assert_memory_equal(ct_row(x, 0), before, sizeof before);
    norm(b, y, x, &no_norm); /* a copy */
    assert_memory_equal(ct_row(y, 0), before, sizeof before);
    residual_norm(b, x, y, &no_norm);
    for (int i = 0; i < VALUES; i++)
        assert_true(ct_row(x, 0)[i] == 2 * before[i]);
    assert_true(ct_trace_end(b, &trace));
    assert_false(ct_trace_end(b, &trace));
    assert_true(end_pass(b));

    for (int i = 0; i < COLS; i++)
        assert_true(logits[i] == 5);
    b->verb.kv_get(b, &kv, 0, 0, 1, k, v); /* nothing was stored */
    for (int i = 0; i < COLS; i++)
        assert_true(k[i] == 0 && v[i] == 0);
    assert_int_equal(seen.verbs, 9);
    assert_int_equal(seen.absent, 9); /* nobody hears of project, rope and kv_write */
    b->verb.destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(absence_leaves_values_as_they_are)};
    return cmocka_run_group_tests_name("backend: absent weights", tests, NULL, NULL);
}
