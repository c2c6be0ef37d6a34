/* SPDX-License-Identifier: Apache-2.0 */
/* test_profile.c: a profile has every step of a pass with what it must read and compute, changes no bit,
 * begins and ends where it is told; and the limits of the machine are measured or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/engine.h"

#define OK(call)                                                                                             \
    do {                                                                                                     \
        carat_error error_, *err = &error_;                                                                  \
        if (call)                                                                                            \
            fail_msg("%s", error_.message);                                                                  \
    } while (0)

static struct {
    carat_model *model;
    carat_engine *engine;
    carat_session *session;
} it;

static int open_tiny(void **unused)
{
    carat_engine_options o;
    carat_engine_options_default(&o);

    (void)unused;
    o.chunk = 100;
    o.context = 400;
    OK(carat_model_open(&it.model, CT_TEST_DATA "/../../models/tiny", NULL, err));
    OK(carat_engine_create(&it.engine, it.model, &o, err));
    OK(carat_session_create(&it.session, it.engine, NULL, err));
    return 0;
}

static int close_tiny(void **unused)
{
    (void)unused;
    carat_session_close(it.session);
    carat_engine_close(it.engine);
    carat_model_close(it.model);
    return 0;
}

static const carat_operation *find(const carat_profile *p, const char *name)
{
    for (int i = 0; i < p->n; i++)
        if (strcmp(p->operation[i].name, name) == 0)
            return &p->operation[i];
    fail_msg("no operation %s", name);
    return NULL;
}

static uint64_t operations(const carat_operation *o)
{
    uint64_t sum = 0;
    for (int i = 0; i < CARAT_N_ARITHMETIC; i++)
        sum += o->operations[i];
    return sum;
}

/* Appends n tokens under a profile. */
static carat_profile profile_of(int n)
{
    static carat_profile p;
    int32_t ids[400];

    for (int i = 0; i < n; i++)
        ids[i] = 2 + i % 900;
    p = (carat_profile){.size = sizeof p};
    carat_profile_begin(it.engine);
    OK(carat_append(it.session, ids, n, err));
    OK(carat_profile_end(it.engine, &p, err));
    return p;
}

static void check_products(const carat_profile *p, const char *name, size_t first, int n_weight, int passes,
                           uint64_t rows, uint64_t rows_of_last)
{
    const struct ct_config *c = &it.model->config;
    uint64_t bytes = 0, count = 0;

    for (int i = 0; i < c->n_layer; i++)
        for (int k = 0; k < n_weight; k++) {
            const struct ct_weight *w =
                (const void *)((const char *)&it.engine->weights.layer[i] + first + (size_t)k * sizeof *w);
            bool last = i == c->n_layer - 1;
            /* of a prompt in several passes only the last one goes through the end of the last layer */
            bytes += ct_weight_bytes(w) * (uint64_t)(last && rows_of_last == 1 ? 1 : passes);
            count += 2 * (uint64_t)w->rows * (uint64_t)w->cols * (last ? rows_of_last : rows);
        }
    const carat_operation *o = find(p, name);
    assert_int_equal(o->calls, c->n_layer * passes);
    assert_int_equal(o->bytes, bytes);
    assert_int_equal(operations(o), count);
    assert_true(o->seconds > 0);
}

/* Keys that the rows [first, first + n) of a layer see, each for itself and together. */
static void count_keys(int window, int first, int n, uint64_t *seen, uint64_t *different)
{
    for (int i = 0; i < n; i++) {
        int end = first + i + 1, begin = window ? CT_MAX(0, end - window) : 0;
        *seen += (uint64_t)(end - begin);
        *different += i == 0 ? (uint64_t)(end - begin) : 1;
    }
}

static void check_attention(const carat_profile *p, int first, int n, int chunk)
{
    const struct ct_config *c = &it.model->config;
    uint64_t bytes = 0, count = 0;

    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        uint64_t seen = 0, different = 0;
        int window = c->attn[l->attn_type].window, to = first + n;
        for (int at = first; at < to; at += chunk)
            if (i < c->n_layer - 1)
                count_keys(window, at, CT_MIN(chunk, to - at), &seen, &different);
        if (i == c->n_layer - 1)
            count_keys(window, to - 1, 1, &seen, &different);
        bytes += different * 2 * (uint64_t)l->n_kv_head * (uint64_t)l->head_dim * 2; /* bf16 */
        count += seen * 4 * (uint64_t)l->n_head * (uint64_t)l->head_dim;
    }
    const carat_operation *o = find(p, "attention");
    assert_int_equal(o->bytes, bytes);
    assert_int_equal(o->operations[CARAT_BY_BF16], count);
    assert_int_equal(operations(o), count);
}

static void test_counts(void **unused)
{
    const struct ct_weight *head = &it.engine->weights.head;
    carat_profile p = profile_of(250); /* passes of 100, 100 and 50 */

    (void)unused;
    assert_int_equal(p.passes, 3);
    assert_int_equal(p.rows, 250);
    check_products(&p, "qkv", offsetof(struct ct_layer, q), 3, 3, 250, 250);
    check_products(&p, "attention output", offsetof(struct ct_layer, o), 1, 3, 250, 1);
    check_products(&p, "gate+up", offsetof(struct ct_layer, gate), 2, 3, 250, 1);
    check_products(&p, "down", offsetof(struct ct_layer, down), 1, 3, 250, 1);
    check_attention(&p, 0, 250, 100);
    assert_int_equal(find(&p, "head")->bytes, ct_weight_bytes(head));
    assert_int_equal(operations(find(&p, "head")), 2 * head->rows * head->cols);
    for (int i = 0; i < p.n; i++) { /* a dense head computes every row; the rest others have */
        static const char *const none[] = {
            "head, some rows", "inputs of layers", "streams", "beside attention",
            "scale",           "router",           "experts"};
        bool has = true;
        for (size_t k = 0; k < CT_COUNT(none); k++)
            has = has && strcmp(p.operation[i].name, none[k]) != 0;
        assert_int_equal(p.operation[i].calls > 0, has);
    }

    p = profile_of(1); /* a token at depth 250 */
    assert_int_equal(p.passes, 1);
    check_products(&p, "qkv", offsetof(struct ct_layer, q), 3, 1, 1, 1);
    check_products(&p, "down", offsetof(struct ct_layer, down), 1, 1, 1, 1);
    check_attention(&p, 250, 1, 100);
}

static void test_changes_nothing(void **unused)
{
    size_t bytes = (size_t)it.model->config.n_vocab * sizeof(float);
    float *plain = malloc(bytes);
    const int32_t ids[] = {2, 105, 300, 301, 302, 107};

    (void)unused;
    assert_non_null(plain);
    OK(carat_rewind(it.session, 0, err));
    OK(carat_append(it.session, ids, 6, err));
    memcpy(plain, carat_logits(it.session), bytes);
    OK(carat_rewind(it.session, 0, err));
    carat_profile_begin(it.engine);
    OK(carat_append(it.session, ids, 6, err));
    assert_memory_equal(plain, carat_logits(it.session), bytes);
    carat_profile_begin(it.engine); /* forgets */
    carat_profile p = {.size = sizeof p};
    OK(carat_profile_end(it.engine, &p, err));
    assert_int_equal(p.passes, 0);
    assert_int_equal(find(&p, "qkv")->calls, 0);
    free(plain);
}

static void test_misuse(void **unused)
{
    carat_profile p = {.size = sizeof p, .n = 7};
    carat_error bad;

    (void)unused;
    assert_int_equal(carat_profile_end(it.engine, &p, &bad), CARAT_E_ARGUMENT); /* not begun */
    carat_profile_begin(NULL);
    carat_profile_begin(it.engine);
    assert_int_equal(carat_profile_end(NULL, &p, &bad), CARAT_E_ARGUMENT);
    assert_int_equal(carat_profile_end(it.engine, NULL, &bad), CARAT_E_ARGUMENT);
    p.size++;
    assert_int_equal(carat_profile_end(it.engine, &p, &bad), CARAT_E_ARGUMENT);
    assert_int_equal(p.n, 7);
    p.size--;
    assert_int_equal(carat_profile_end(it.engine, &p, &bad), CARAT_OK);
}

static void test_limits(void **unused)
{
    carat_limits l = {.size = sizeof l};
    carat_plan plan = {.size = sizeof plan};
    carat_error bad;

    (void)unused;
    assert_int_equal(carat_measure_limits(0, NULL, NULL, NULL, NULL, &bad), CARAT_E_ARGUMENT);
    assert_int_equal(carat_measure_limits(-1, NULL, NULL, NULL, &l, &bad), CARAT_E_ARGUMENT);
    assert_int_equal(carat_measure_limits(0, "sse9", NULL, NULL, &l, &bad), CARAT_E_ARGUMENT);
    l.size++;
    assert_int_equal(carat_measure_limits(0, NULL, NULL, NULL, &l, &bad), CARAT_E_ARGUMENT);
    l.size--;
    assert_int_equal(l.threads, 0);
    OK(carat_measure_limits(0, NULL, NULL, NULL, &l, err));
    OK(carat_plan_engine(it.model, NULL, &plan, err));
    assert_int_equal(l.threads, plan.threads);
    assert_string_equal(l.isa, plan.isa);
    assert_true(l.read > 0);
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++) /* only loops of named instructions are known */
        assert_int_equal(l.operations[a] > 0, strcmp(l.isa, "ref") != 0);
    OK(carat_measure_limits(1, "ref", NULL, NULL, &l, err));
    assert_string_equal(l.isa, "ref");
    assert_true(l.operations[CARAT_BY_F32] == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_changes_nothing),
        cmocka_unit_test(test_misuse),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests_name("api: profile", tests, open_tiny, close_tiny);
}
