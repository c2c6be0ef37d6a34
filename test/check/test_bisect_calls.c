/* SPDX-License-Identifier: Apache-2.0 */
/* test_bisect_calls.c: what carat_bisect refuses and how it ends, which rows it compares, and that its
 * numbers depend on no thread, chunk or head; other containers and members of the family. What it finds in
 * models/tiny is test_bisect.c's. */
#include "file/file_build.h"

#include "bisect_util.h"

static carat_model *open_data(const char *name)
{
    carat_model *m = NULL;
    char path[PATH_SIZE];

    OK(carat_model_open(&m, path_join(path, CT_TEST_DATA, name), NULL, err));
    return m;
}

/* ---- what is refused ---- */

static carat_error error;
static carat_operation_error first;

static carat_status bisect(carat_engine *ref, carat_engine *test, int n, const carat_bisect_options *o)
{
    int32_t id[TOKENS];

    some_ids(id, tiny);
    error = (carat_error){CARAT_OK, ""};
    carat_operation_error_default(&first);
    return carat_bisect(ref, test, id, n, o, &first, &error);
}

static void refused(carat_status status, carat_status expected, const char *part)
{
    if (status != expected || !strstr(error.message, part))
        fail_msg("%s: %s, expected %s: %s", carat_status_name(status), error.message,
                 carat_status_name(expected), part);
}

static void wrong_arguments(void **state)
{
    (void)state;
    carat_engine *a = engine_of(tiny, (struct mode){0}), *b = engine_of(tiny, (struct mode){.context = 64});
    carat_bisect_options o;
    carat_bisect_options_default(&o);
    refused(bisect(NULL, b, 9, NULL), CARAT_E_ARGUMENT, "ref is NULL");
    refused(bisect(a, NULL, 9, NULL), CARAT_E_ARGUMENT, "test is NULL");
    refused(bisect(a, a, 9, NULL), CARAT_E_ARGUMENT, "the same engine");
    refused(bisect(a, b, 1, NULL), CARAT_E_ARGUMENT, "n is 1, expected at least 2");
    refused(bisect(a, b, 65, NULL), CARAT_E_CONTEXT, "65 tokens do not fit in a context of 64");
    o.rows = 65;
    refused(bisect(a, b, 9, &o), CARAT_E_ARGUMENT, "rows is 65, expected 0 to 64");
    o.rows = -1;
    refused(bisect(a, b, 9, &o), CARAT_E_ARGUMENT, "rows is -1");
    assert_int_equal(carat_bisect(a, b, NULL, 2, NULL, &first, &error), CARAT_E_ARGUMENT);
    assert_int_equal(carat_bisect(a, b, (int32_t[]){2, 5000}, 2, NULL, &first, &error), CARAT_E_ARGUMENT);
    refused(error.code, CARAT_E_ARGUMENT, "id 5000 at index 1");
    assert_int_equal(carat_bisect(a, b, (int32_t[]){2, 5}, 2, NULL, NULL, &error), CARAT_E_ARGUMENT);
    int32_t row[CARAT_MOST_BISECT_ROWS];
    assert_int_equal(carat_bisect_rows(NULL, b, 9, 0, row), 0);
    assert_int_equal(carat_bisect_rows(a, b, 1, 0, row), 0);
    assert_int_equal(carat_bisect_rows(a, b, 9, 65, row), 0);
    assert_int_equal(carat_bisect_rows(a, b, 9, 0, NULL), 0);

    carat_session *taken = NULL;
    OK(carat_session_create(&taken, b, NULL, err));
    refused(bisect(a, b, 9, NULL), CARAT_E_MEMORY, "all 1 sessions of the engine are taken");
    carat_session_close(taken);
    assert_int_equal(bisect(a, b, 2, NULL), CARAT_OK); /* two tokens are enough, and nothing is left behind */
    assert_null(first.operation);
    carat_engine_close(a);
    carat_engine_close(b);
}

static void other_shapes(void **state)
{
    static const struct {
        const char *name, *part;
    } other[] = {
        {"vectors/models/gemma3-bf16", "the reference has a number of layers of 6 and the test 7"},
        {"vectors/gguf/gemma1-f32.gguf", "the reference has a number of layers of 6 and the test 2"},
    };
    (void)state;
    carat_engine *a = engine_of(tiny, (struct mode){0}), *b;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        carat_model *m = open_data(other[i].name);
        b = engine_of(m, (struct mode){0});
        refused(bisect(a, b, 9, NULL), CARAT_E_UNSUPPORTED, other[i].part);
        carat_engine_close(b);
        carat_model_close(m);
    }
    carat_model *m = open_data("vectors/gguf/q4_0.gguf"), *k = open_data("vectors/gguf/mixed.gguf");
    carat_engine *c = engine_of(m, (struct mode){0}), *d = engine_of(k, (struct mode){0});
    if (m->config.hidden != k->config.hidden || m->config.layer[0].n_head != k->config.layer[0].n_head)
        assert_int_equal(bisect(c, d, 9, NULL), CARAT_E_UNSUPPORTED);
    carat_engine_close(c);
    carat_engine_close(d);
    carat_model_close(m);
    carat_model_close(k);
    for (int layers = 1; layers < 3; layers++) { /* the same model, other layers of it */
        carat_engine_options o;
        carat_engine_options_default(&o);
        o.context = 64;
        o.first_layer = layers - 1;
        o.layers = 5;
        b = NULL;
        OK(carat_engine_create(&b, tiny, &o, err));
        refused(bisect(a, b, 9, NULL), CARAT_E_UNSUPPORTED, "a number of layers of 6 and the test 5");
        o.first_layer = 2 - layers;
        carat_engine *e = NULL;
        OK(carat_engine_create(&e, tiny, &o, err));
        refused(bisect(e, b, 9, NULL), CARAT_E_UNSUPPORTED, "a first layer of");
        carat_engine_close(b);
        carat_engine_close(e);
    }
    carat_engine_close(a);
}

static void a_value_that_is_not_finite(void **state)
{
    static const char *const tensor[] = {"model.layers.2.mlp.up_proj.weight",
                                         "model.layers.1.self_attn.k_proj.weight",
                                         "model.layers.4.input_layernorm.weight"};
    static const char *const part[] = {"layer 2, up, channel 3 at position",
                                       "layer 1, k, channel 3 at position",
                                       "layer 4, attn_norm, channel 3 at position"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct copy c = copy_tiny();
        copy_tensor(&c, tensor[i])[i < 2 ? 3 * HIDDEN : 3] = 0x7fc0;
        copy_open(&c);
        carat_engine *a = engine_of(tiny, (struct mode){0}), *b = engine_of(c.model, (struct mode){0});
        char text[128];
        snprintf(text, sizeof text, "NaN or infinity in the test: %s", part[i]);
        refused(bisect(a, b, 9, NULL), CARAT_E_NUMERIC, text);
        snprintf(text, sizeof text, "; model.safetensors: tensor %s has NaN in row %d, column %d, ",
                 tensor[i], i < 2 ? 3 : 0, i < 2 ? 0 : 3);
        refused(bisect(a, b, 9, NULL), CARAT_E_NUMERIC, text);
        snprintf(text, sizeof text, "NaN or infinity in the reference: %s", part[i]);
        refused(bisect(b, a, 9, NULL), CARAT_E_NUMERIC, text);
        carat_engine_close(a);
        carat_engine_close(b);
        copy_close(&c);
    }
}

/* A first token that nobody compares is not finite: the reference's pass fails all the same. */
static void a_row_that_is_not_compared(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    copy_tensor(&c, "model.embed_tokens.weight")[2 * HIDDEN] = 0x7fc0;
    copy_open(&c);
    carat_engine *a = engine_of(c.model, (struct mode){0}), *b = engine_of(tiny, (struct mode){0});
    refused(bisect(a, b, TOKENS, NULL), CARAT_E_NUMERIC, "the reference");
    carat_engine_close(a);
    carat_engine_close(b);
    copy_close(&c);
}

/* ---- stopping ---- */

struct stop {
    carat_engine *ref, *test;
    int calls, at;
    size_t done, total;
    carat_status inner;
};

static int count_to(void *user, size_t done, size_t total)
{
    struct stop *s = user;

    assert_true(done >= s->done && done <= total);
    s->done = done;
    s->total = total;
    return ++s->calls == s->at;
}

static int refuse_operation(void *user, const carat_operation_error *e)
{
    struct stop *s = user;

    (void)e;
    return ++s->calls == s->at;
}

static int bisect_again(void *user, size_t done, size_t total)
{
    struct stop *s = user;
    int32_t id[TOKENS];
    carat_operation_error other;

    (void)done;
    (void)total;
    some_ids(id, tiny);
    carat_operation_error_default(&other);
    if (s->calls++ == 0)
        s->inner = carat_bisect(s->ref, s->test, id, 9, NULL, &other, NULL);
    return 0;
}

static void whoever_watches_ends_it(void **state)
{
    (void)state;
    carat_engine *a = engine_of(tiny, (struct mode){.chunk = 16, .threads = 1});
    carat_engine *b = engine_of(tiny, (struct mode){.chunk = 40, .threads = 2});
    carat_bisect_options o;
    struct stop s = {.at = -1};
    carat_bisect_options_default(&o);
    o.user = &s;
    o.progress = count_to;
    assert_int_equal(bisect(a, b, TOKENS, &o), CARAT_OK);
    assert_int_equal(s.calls, 2 * 7); /* 100 tokens, 16 at a time, twice */
    assert_int_equal(s.done, s.total);
    for (int at = 1; at <= 14; at += 4) {
        s = (struct stop){.at = at};
        refused(bisect(a, b, TOKENS, &o), CARAT_E_CANCELLED, "was cancelled after");
        assert_int_equal(s.calls, at);
    }
    o.progress = NULL;
    o.watch = count_to;
    for (int at = 1; at < 10000; at = at * 3 + 1) {
        s = (struct stop){.at = at};
        carat_status status = bisect(a, b, TOKENS, &o);
        if (!status) /* it was not asked so often */
            break;
        refused(status, CARAT_E_CANCELLED, "bisecting was cancelled");
        assert_int_equal(s.calls, at); /* and not once more */
    }
    assert_true(s.calls > 1);
    o.watch = NULL;
    o.on_operation = refuse_operation;
    s = (struct stop){.at = 5};
    refused(bisect(a, b, TOKENS, &o), CARAT_E_CANCELLED, "the callback ended");
    assert_int_equal(s.calls, 5);
    o.on_operation = NULL;

    o.progress = bisect_again; /* between two passes the reference's engine is free to be asked */
    s = (struct stop){.ref = a, .test = b};
    assert_int_equal(bisect(a, b, TOKENS, &o), CARAT_OK);
    assert_int_equal(s.inner, CARAT_E_BUSY);
    assert_int_equal(bisect(a, b, TOKENS, NULL), CARAT_OK);
    assert_null(first.operation);
    carat_engine_close(a);
    carat_engine_close(b);
}

/* ---- rows ---- */

static void rows_are_spread(void **state)
{
    (void)state;
    int32_t row[CARAT_MOST_BISECT_ROWS];
    carat_engine *a = engine_of(tiny, (struct mode){0}), *b = engine_of(tiny, (struct mode){0});
    for (int n = 2; n <= 128; n++)
        for (int rows = 0; rows <= CARAT_MOST_BISECT_ROWS; rows++) {
            int most = rows ? rows : 16, k = carat_bisect_rows(a, b, n, rows, row), beyond = 0;
            assert_int_equal(k, most < n - 1 ? most : n - 1);
            for (int i = 0; i < k; i++) {
                assert_true(row[i] >= 1 && row[i] < n && (i == 0 || row[i] > row[i - 1]));
                beyond += row[i] >= WINDOW;
            }
            assert_int_equal(row[k - 1], n - 1);
            int there = n > WINDOW ? n - WINDOW : 0;
            assert_true(beyond >= (there < k / 2 ? there : k / 2));
        }
    carat_engine_close(a);
    carat_engine_close(b);
}

/* ---- numbers ---- */

static void same_told(struct told *a, struct told *b)
{
    assert_int_equal(a->n, b->n);
    for (int i = 0; i < a->n; i++) {
        assert_memory_equal(&a->of[i].own, &b->of[i].own, sizeof a->of[i].own);
        assert_memory_equal(&a->of[i].carried, &b->of[i].carried, sizeof a->of[i].carried);
        assert_memory_equal(&a->of[i].channel_error, &b->of[i].channel_error, sizeof a->of[i].channel_error);
        assert_int_equal(a->of[i].channel, b->of[i].channel);
        assert_int_equal(a->of[i].flagged, b->of[i].flagged);
    }
    free(b);
}

static void numbers_depend_on_nothing_else(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    copy_open(&c);
    copy_encode(&c, CT_Q4_0);
    struct told *told = bisect_models(tiny, c.model, (struct mode){0}, (struct mode){0});
    for (int chunk = SANITIZED ? 4 : 1; chunk <= (SANITIZED ? 13 : 64); chunk = chunk * 3 + 1) {
        struct mode a = {.chunk = chunk, .threads = 1 + chunk % 3}, b = {.chunk = 7, .threads = 2};
        same_told(told, bisect_models(tiny, c.model, a, b));
        same_told(told, bisect_models(tiny, c.model, b, a));
    }
    free(told);
    copy_close(&c);
}

struct counted {
    struct told told; /* first: keep_told() gets the same pointer */
    size_t total;
};

static int count_progress(void *user, size_t done, size_t total)
{
    struct counted *c = user;

    assert_true(done <= total);
    c->total = total;
    return 0;
}

/* In as many passes as there is memory for. */
static void sums_in_slices(void **state)
{
    (void)state;
    struct copy c = copy_tiny();
    copy_open(&c);
    copy_encode(&c, CT_Q8_0);
    struct told *told = bisect_models(tiny, c.model, (struct mode){0}, (struct mode){0});
    carat_engine *a = engine_of(tiny, (struct mode){0}), *b = engine_of(c.model, (struct mode){0});
    const size_t most = SANITIZED ? 1 << 16 : 1 << 20, least = SANITIZED ? 1 << 16 : 1 << 12;
    for (size_t bytes = most; bytes >= least; bytes >>= 4) {
        struct counted *t = calloc(1, sizeof *t);
        int32_t id[TOKENS];
        carat_bisect_options o;
        carat_bisect_options_default(&o);
        assert_non_null(t);
        some_ids(id, tiny);
        o.bytes = bytes;
        o.on_operation = keep_told;
        o.progress = count_progress;
        o.user = t;
        carat_operation_error_default(&t->told.first);
        OK(carat_bisect(a, b, id, TOKENS, &o, &t->told.first, err));
        /* 20,000 channels of 16 bytes and a vocabulary of 1024; one operation at least is in a slice */
        assert_in_range(t->total / TOKENS, bytes >= 1 << 20 ? 2 : 6, bytes >= 1 << 20 ? 2 : 1 + 103);
        same_told(told, &t->told);
    }
    free(told);
    carat_engine_close(a);
    carat_engine_close(b);
    copy_close(&c);
}

/* Strategies of the head, whose logits of a row that wants all are the same, and engines that are in use. */
static void heads_and_sessions_beside_it(void **state)
{
    static const carat_head heads[] = {CARAT_HEAD_EXACT_PRUNED, CARAT_HEAD_LAZY, CARAT_HEAD_SHORTLIST};
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        carat_engine *a = engine_of(tiny, (struct mode){0}), *b = NULL;
        carat_engine_options o;
        carat_head_options h;
        carat_session *beside = NULL;
        carat_engine_options_default(&o);
        carat_head_options_default(&h);
        h.strategy = heads[i];
        o.head = &h;
        o.context = 128;
        o.sessions = 2;
        o.logits_rows = 2 + (int)i;
        OK(carat_engine_create(&b, tiny, &o, err));
        OK(carat_session_create(&beside, b, NULL, err));
        int32_t id[TOKENS];
        some_ids(id, tiny);
        OK(carat_sync(beside, id, 9, NULL, err));
        found_nothing(bisect_engines(a, b, TOKENS), carat_head_name(heads[i]));
        assert_int_equal(carat_tokens_held(beside, NULL), 9);
        OK(carat_sync(beside, id, 20, NULL, err));
        carat_session_close(beside);
        carat_engine_close(a);
        carat_engine_close(b);
    }
}

/* What was measured inside its passes says nothing of their speed. */
static void no_statistics_are_kept(void **state)
{
    (void)state;
    carat_engine *a = engine_of(tiny, (struct mode){0}), *b = engine_of(tiny, (struct mode){0});
    carat_engine_stats stats;
    carat_engine_stats_default(&stats);
    found_nothing(bisect_engines(a, b, TOKENS), "tiny");
    OK(carat_engine_get_stats(a, &stats, err));
    assert_int_equal(stats.passes, 0);
    carat_engine_close(a);
    carat_engine_close(b);
}

/* ---- other containers and members ---- */

/* config.json and safetensors against GGUF, Gemma 1 (no norms behind blocks), 2 (caps) and 3. */
static void containers_are_no_damage(void **state)
{
    static const char *const pair[][2] = {{"vectors/models/gemma1-f32", "vectors/gguf/gemma1-f32.gguf"},
                                          {"sbs/hf", "sbs/g2-f32.sbs"}};
    (void)state;
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++) {
        carat_model *a = open_data(pair[i][0]), *b = open_data(pair[i][1]);
        struct told *t = bisect_models(a, b, (struct mode){0}, (struct mode){0});
        for (int k = 0; k < t->n; k++)
            if (strcmp(t->of[k].operation, "down") == 0 || strcmp(t->of[k].operation, "head") == 0)
                assert_true(*t->of[k].tensor);
            else if (strcmp(t->of[k].operation, "geglu") == 0)
                assert_string_equal(t->of[k].tensor, "");
        found_nothing(t, pair[i][1]);
        carat_model_close(a);
        carat_model_close(b);
    }
}

/* GGUF has no query_pre_attn_scalar, and that of this model is not the size of a head. */
static void a_scale_that_a_container_lacks(void **state)
{
    (void)state;
    carat_model *a = open_data("vectors/models/gemma2-bf16"), *b = open_data("vectors/gguf/gemma2-bf16.gguf");
    found(bisect_models(a, b, (struct mode){0}, (struct mode){0}), 0, "attend", -1);
    carat_model_close(a);
    carat_model_close(b);
}

/* A GGUF with one more key: carat.embedding_scale. What is added fills 64 bytes, so that the data stays
 * aligned. */
static void another_embedding_scale(void **state)
{
    (void)state;
    size_t n;
    uint8_t *gguf = read_whole(CT_TEST_DATA "/vectors/gguf/q8_0.gguf", &n);
    struct buf b = {0};
    carat_model *a = open_data("vectors/gguf/q8_0.gguf"), *m = NULL;
    float scale = model_info(a).embedding_scale * 1.02F;
    uint64_t n_meta;
    memcpy(&n_meta, gguf + 16, sizeof n_meta);
    put(&b, gguf, 16);
    put_u64(&b, n_meta + 2);
    put_meta(&b, "carat.embedding_scale", 6, &scale, 4);
    put_str(&b, "x");
    put_u32(&b, 8); /* a string */
    put_str(&b, "padded");
    assert_int_equal(b.n - 24, 64);
    put(&b, gguf + 24, n - 24);
    carat_buffer file = {.name = "m.gguf", .data = b.p, .size = b.n};
    OK(carat_model_open_memory(&m, &file, sizeof file, 1, NULL, err));
    struct told *t = bisect_models(a, m, (struct mode){0}, (struct mode){0});
    assert_float_equal(t->first.own, 0.02, 1e-4);
    assert_int_equal(t->flagged, 1);
    found(t, -1, "embed", -1);
    carat_model_close(a);
    carat_model_close(m);
    buf_free(&b);
    free(gguf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_arguments),
        cmocka_unit_test(other_shapes),
        cmocka_unit_test(a_value_that_is_not_finite),
        cmocka_unit_test(a_row_that_is_not_compared),
        cmocka_unit_test(whoever_watches_ends_it),
        cmocka_unit_test(rows_are_spread),
        cmocka_unit_test(numbers_depend_on_nothing_else),
        cmocka_unit_test(sums_in_slices),
        cmocka_unit_test(heads_and_sessions_beside_it),
        cmocka_unit_test(no_statistics_are_kept),
        cmocka_unit_test(containers_are_no_damage),
        cmocka_unit_test(a_scale_that_a_container_lacks),
        cmocka_unit_test(another_embedding_scale),
    };
    return cmocka_run_group_tests_name("check: calls of bisecting", tests, open_tiny, close_tiny);
}
