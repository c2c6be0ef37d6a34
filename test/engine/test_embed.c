/* SPDX-License-Identifier: Apache-2.0 */
/* test_embed.c: vectors of texts against the reference implementation, whole and cut, in exact arithmetic;
 * and against themselves: a text has the bits that it has alone, with whatever others, threads, kernels and
 * chunks. What a call refuses, and what becomes of the others when one text fails. */
#include "vector_util.h"

#include <math.h>

#include <carat_embed.h>
#include <carat_generate.h>

#define TOLERANCE 1e-4

static double worst;

static void close_enough(const float *a, const struct array *expected, const char *what)
{
    double difference = 0, largest = 0;

    for (size_t i = 0; i < expected->cols; i++) {
        difference = fmax(difference, fabs((double)a[i] - (double)expected->v[i]));
        largest = fmax(largest, fabs((double)expected->v[i]));
    }
    if (!(difference <= TOLERANCE * largest))
        fail_msg("%s: error %.3g of the largest value", what, difference / largest);
    worst = fmax(worst, difference / largest);
}

static carat_embedder about(const carat_model *model)
{
    carat_embedder e;
    carat_embedder_default(&e);
    OK(carat_get_embedder(model, &e, err));
    return e;
}

static void embed_one(carat_engine *engine, const struct ids *ids, float *vector, int dim)
{
    carat_embed_input input = {.tokens = ids->id, .n = ids->n, .vector = vector};
    carat_embed_options options;
    carat_embed_options_default(&options);
    options.dim = dim;
    OK(carat_embed(engine, &input, sizeof input, 1, &options, err));
    assert_int_equal(input.status, CARAT_OK);
}

/* Every prompt of a folder of expectations by one model: the vector, and its first half. */
static void check_vectors(const char *root, const char *source, const char *folder, const json_t *info)
{
    char path[PATH_SIZE], name[256];
    carat_model *model;
    carat_engine *engine;
    carat_engine_options options = small_engine();
    size_t i;
    json_t *prompt;

    OK(carat_model_open(&model, path_join(path, root, source), NULL, err));
    const int width = about(model).width;
    options.exact = 1;
    options.context = 256;
    OK(carat_engine_create(&engine, model, &options, err));
    float *vector = malloc((size_t)width * sizeof *vector);
    json_array_foreach(json_object_get(info, "prompts"), i, prompt)
    {
        const char *p = json_string_value(prompt);
        snprintf(name, sizeof name, "%s.json", p);
        json_t *j = read_json(folder, name);
        struct ids ids = json_ids(json_object_get(j, "ids"));
        for (int dim = width; dim >= width / 2; dim -= width / 2) {
            if (dim == width)
                snprintf(name, sizeof name, "%s.npy", p);
            else
                snprintf(name, sizeof name, "%s.%d.npy", p, dim);
            struct array expected = read_npy(folder, name);
            assert_int_equal(expected.cols, dim);
            embed_one(engine, &ids, vector, dim);
            close_enough(vector, &expected, path);
            free(expected.v);
        }
        free(ids.id);
        json_decref(j);
    }
    free(vector);
    carat_engine_close(engine);
    carat_model_close(model);
}

static void check_folder(const char *root, const char *name)
{
    char expect[PATH_SIZE], folder[PATH_SIZE];
    json_t *info = read_json(path_join(folder, path_join(expect, root, "expect"), name), "info.json"), *twin;
    size_t k;

    assert_non_null(info);
    check_vectors(root, json_string_value(json_object_get(info, "source")), folder, info);
    json_array_foreach(json_object_get(info, "twins"), k, twin)
    {
        check_vectors(root, json_string_value(twin), folder, info);
    }
    json_decref(info);
}

static void shared_embedders_agree_with_the_reference(void **state)
{
    char vectors[PATH_SIZE], root[PATH_SIZE];

    (void)state;
    if (!shared_vectors(vectors))
        skip();
    path_join(root, vectors, "../family");
    check_folder(root, "embed1");
    check_folder(root, "embed2");
    print_message("%s: worst %.2g\n", root, worst);
}

static void own_embedders_agree_with_the_reference(void **state)
{
    (void)state;
    check_folder(CT_TEST_DATA "/embed", "embed1");
    check_folder(CT_TEST_DATA "/embed", "embed2");
}

/* ---- the same bits ---- */

enum { TEXTS = 9 };
static const int lengths[TEXTS] = {3, 20, 1, 6, 7, 13, 258, 14, 30}; /* 256: a block of keys */

struct texts {
    struct ids ids[TEXTS];
    carat_embed_input input[TEXTS];
    float *vector; /* [TEXTS][width] */
    int width;
};

static struct texts make_texts(const carat_model *model)
{
    struct texts t = {.width = about(model).width};

    t.vector = calloc(TEXTS * (size_t)t.width, sizeof *t.vector);
    for (int i = 0; i < TEXTS; i++) {
        t.ids[i] = scattered_ids(lengths[i], model_info(model).n_vocab, 7u + (uint32_t)i);
        t.input[i] = (carat_embed_input){
            .tokens = t.ids[i].id, .n = t.ids[i].n, .vector = t.vector + (size_t)i * (size_t)t.width};
    }
    return t;
}

static void free_texts(struct texts *t)
{
    for (int i = 0; i < TEXTS; i++)
        free(t->ids[i].id);
    free(t->vector);
}

/* All texts, n together in a call. */
static void embed_texts(carat_engine *engine, struct texts *t, int n)
{
    memset(t->vector, 0, TEXTS * (size_t)t->width * sizeof *t->vector);
    for (int i = 0; i < TEXTS; i += n)
        OK(carat_embed(engine, &t->input[i], sizeof *t->input, TEXTS - i < n ? TEXTS - i : n, NULL, err));
    for (int i = 0; i < TEXTS; i++)
        assert_int_equal(t->input[i].status, CARAT_OK);
}

static carat_engine_options engine_for_texts(void)
{
    carat_engine_options o = small_engine();
    o.context = 258;
    return o;
}

static void check_bits(carat_model *model, const carat_engine_options *o, struct texts *t, const float *alone,
                       const char *what)
{
    carat_engine *engine;

    OK(carat_engine_create(&engine, model, o, err));
    for (int n = 2; n <= TEXTS; n += 7) {
        embed_texts(engine, t, n);
        if (memcmp(t->vector, alone, TEXTS * (size_t)t->width * sizeof *alone) != 0)
            fail_msg("%s, %d texts in a call: other bits than alone", what, n);
    }
    carat_engine_close(engine);
}

static void a_text_has_the_bits_that_it_has_alone(void **state)
{
    static const char *const models[] = {"models/embed1", "models/embed2", "gguf/embed1.gguf"};
    static const char *const levels[] = {"ref", "avx2", "avxvnni", "avx512", "vnni", "amx"};
    char path[PATH_SIZE];

    (void)state;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        carat_model *model;
        carat_engine *engine;
        carat_engine_options o = engine_for_texts();
        OK(carat_model_open(&model, path_join(path, CT_TEST_DATA "/embed", models[m]), NULL, err));
        struct texts t = make_texts(model);
        const size_t bytes = TEXTS * (size_t)t.width * sizeof(float);
        float *alone = malloc(bytes);
        o.sessions = 1;
        o.isa = "ref";
        OK(carat_engine_create(&engine, model, &o, err));
        embed_texts(engine, &t, 1);
        memcpy(alone, t.vector, bytes);
        carat_engine_close(engine);
        o = engine_for_texts();
        o.threads = 3;
        for (o.sessions = 2; o.sessions <= 64; o.sessions *= 32)
            for (o.chunk = 260; o.chunk <= 520; o.chunk += 260)
                check_bits(model, &o, &t, alone, "threads and chunks");
        o = engine_for_texts();
        for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
            o.isa = levels[i];
            if (has_isa(model, levels[i]))
                check_bits(model, &o, &t, alone, levels[i]);
        }
        free(alone);
        free_texts(&t);
        carat_model_close(model);
    }
}

/* ---- what goes wrong ---- */

static carat_model *own_model(const char *name)
{
    char path[PATH_SIZE];
    carat_model *model;

    OK(carat_model_open(&model, path_join(path, CT_TEST_DATA "/embed", name), NULL, err));
    return model;
}

static void calls_are_checked(void **state)
{
    carat_model *model = own_model("models/embed1");
    const int width = about(model).width;
    carat_engine_options o = small_engine();
    carat_embed_options e;
    carat_engine *engine;
    carat_session *session = NULL;
    float vector[3][64];
    int32_t ids[65] = {2, 5, 1}, outside[] = {2, 1024, 1};
    carat_embed_input input[] = {{.tokens = ids, .n = 3, .vector = vector[0]}};

    (void)state;
    assert_true(width <= 64);
    OK(carat_engine_create(&engine, model, &o, err));
    assert_int_equal(carat_engine_context(engine), 64);
    FAILS(CARAT_E_ARGUMENT, carat_session_create(&session, engine, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_embed(NULL, input, sizeof *input, 1, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_embed(engine, NULL, sizeof *input, 1, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_embed(engine, input, sizeof *input, 0, NULL, err));
    carat_embed_options_default(&e);
    e.dim = width + 1;
    FAILS(CARAT_E_ARGUMENT, carat_embed(engine, input, sizeof *input, 1, &e, err));
    input[0].n = 0;
    FAILS_WITH(carat_embed(engine, input, sizeof *input, 1, NULL, err), CARAT_E_ARGUMENT, "no tokens");
    input[0] = (carat_embed_input){.tokens = outside, .n = 3, .vector = vector[0]};
    FAILS_WITH(carat_embed(engine, input, sizeof *input, 1, NULL, err), CARAT_E_ARGUMENT,
               "id 1024 at index 1");
    input[0] = (carat_embed_input){.tokens = ids, .n = 65, .vector = vector[0]};
    FAILS_WITH(carat_embed(engine, input, sizeof *input, 1, NULL, err), CARAT_E_CONTEXT,
               "65 tokens, expected at most 64");
    input[0] = (carat_embed_input){.tokens = ids, .n = 3};
    FAILS_WITH(carat_embed(engine, input, sizeof *input, 1, NULL, err), CARAT_E_ARGUMENT, "no place");
    carat_engine_close(engine);
    carat_model_close(model);
}

/* Of three texts the one in the middle is too long; the others have what they have without it. */
static void the_others_go_on(void **state)
{
    carat_model *model = own_model("models/embed2");
    carat_engine_options o = small_engine();
    carat_engine *engine;
    float vector[4][64];
    int32_t ids[65] = {2, 5, 1}, other[] = {2, 9, 9, 1};
    carat_embed_input input[] = {{.tokens = ids, .n = 3, .vector = vector[0]},
                                 {.tokens = ids, .n = 65, .vector = vector[1]},
                                 {.tokens = other, .n = 4, .vector = vector[2]},
                                 {.tokens = other, .n = 4, .vector = vector[3]}};

    (void)state;
    assert_int_equal(about(model).width, 64);
    OK(carat_engine_create(&engine, model, &o, err));
    FAILS_WITH(carat_embed(engine, input, sizeof *input, 3, NULL, err), CARAT_E_CONTEXT,
               "text 1 has 65 tokens");
    assert_int_equal(input[0].status, CARAT_OK);
    assert_int_equal(input[1].status, CARAT_E_CONTEXT);
    assert_int_equal(input[2].status, CARAT_OK);
    OK(carat_embed(engine, &input[3], sizeof *input, 1, NULL, err));
    assert_memory_equal(vector[2], vector[3], sizeof vector[2]);
    carat_engine_close(engine);
    carat_model_close(model);
}

/* What a stopped pass has left is nobody's vector, and no pass of the statistics. */
static void a_stopped_pass_gives_nothing(carat_engine *engine, carat_embed_input *input, int n,
                                         const carat_embed_options *e)
{
    enum { SIZE = 64 * sizeof(float) };
    uint8_t before[SIZE];
    carat_engine_stats stats;

    carat_engine_stats_default(&stats);
    OK(carat_engine_get_stats(engine, &stats, err));
    const uint64_t passes = stats.passes;
    memset(before, 0xa5, SIZE);
    for (int i = 0; i < n; i++)
        memset(input[i].vector, 0xa5, SIZE);
    FAILS_WITH(carat_embed(engine, input, sizeof *input, n, e, err), CARAT_E_CANCELLED, "0 of 120 tokens");
    for (int i = 0; i < n; i++) {
        assert_int_equal(input[i].status, CARAT_E_CANCELLED);
        assert_memory_equal(input[i].vector, before, SIZE);
    }
    OK(carat_engine_get_stats(engine, &stats, err));
    assert_int_equal(stats.passes, passes);
}

static void a_call_can_be_stopped(void **state)
{
    carat_model *model = own_model("models/embed1");
    carat_engine_options o = small_engine();
    carat_embed_options e;
    carat_engine *engine;
    float vector[2][64];
    int32_t ids[60] = {2, 5, 1};
    carat_embed_input input[] = {{.tokens = ids, .n = 60, .vector = vector[0]},
                                 {.tokens = ids, .n = 60, .vector = vector[1]}};
    int asked = 0;

    (void)state;
    o.chunk = 64; /* a pass for each */
    OK(carat_engine_create(&engine, model, &o, err));
    carat_embed_options_default(&e);
    e.progress = stop_at_once;
    e.user = &asked;
    FAILS_WITH(carat_embed(engine, input, sizeof *input, 2, &e, err), CARAT_E_CANCELLED, "60 of 120 tokens");
    assert_int_equal(asked, 1);
    assert_int_equal(input[0].status, CARAT_OK);
    assert_int_equal(input[1].status, CARAT_E_CANCELLED);
    e.progress = NULL;
    e.watch = stop_at_once;
    a_stopped_pass_gives_nothing(engine, input, 2, &e);
    OK(carat_embed(engine, input, sizeof *input, 2, NULL, err));
    assert_memory_equal(vector[0], vector[1], (size_t)about(model).width * sizeof(float));
    carat_engine_close(engine);
    carat_model_close(model);
}

/* A directory in memory, with token 5's row of the embedding NaN. */
static const char *const files[] = {
    "config.json",         "model.safetensors",         "modules.json",        "1_Pooling/config.json",
    "2_Dense/config.json", "2_Dense/model.safetensors", "3_Dense/config.json", "3_Dense/model.safetensors"};
enum { FILES = sizeof files / sizeof *files };

/* Where the values of a tensor begin in the bytes of a safetensors file. */
static size_t tensor_at(const uint8_t *file, const char *name)
{
    uint64_t header;
    memcpy(&header, file, sizeof header);
    char *text = calloc(1, (size_t)header + 1);
    memcpy(text, file + sizeof header, (size_t)header);
    const char *entry = strstr(text, name), *offsets = entry ? strstr(entry, "offsets\":[") : NULL;
    assert_non_null(offsets);
    const size_t at = sizeof header + (size_t)header + strtoul(offsets + strlen("offsets\":["), NULL, 10);
    free(text);
    return at;
}

/* The directory in memory, with n values of a tensor NaN from number `first` on. */
static carat_model *damaged_model(carat_buffer buffer[FILES], const char *name, size_t first, int n)
{
    char path[PATH_SIZE];
    carat_model *model;

    for (int i = 0; i < FILES; i++) {
        buffer[i].name = files[i];
        buffer[i].data =
            read_whole(path_join(path, CT_TEST_DATA "/embed/models/embed1", files[i]), &buffer[i].size);
    }
    uint8_t *weights = (uint8_t *)(uintptr_t)buffer[1].data;
    for (int i = 0; i < n; i++)
        memcpy(weights + tensor_at(weights, name) + 2 * (first + (size_t)i), "\xc0\x7f", 2);
    OK(carat_model_open_memory(&model, buffer, sizeof *buffer, FILES, NULL, err));
    return model;
}

static void close_damaged(carat_model *model, carat_buffer buffer[FILES])
{
    carat_model_close(model);
    for (int i = 0; i < FILES; i++)
        free((void *)(uintptr_t)buffer[i].data);
}

static void a_vector_that_is_not_finite_is_refused(void **state)
{
    enum { HIDDEN = 36 };
    carat_buffer buffer[FILES];
    carat_model *model = damaged_model(buffer, "\"embed_tokens.weight\"", 5 * HIDDEN, HIDDEN);
    carat_engine *engine;
    const carat_engine_options o = small_engine();
    float vector[3][HIDDEN];
    int32_t ids[] = {2, 9, 1}, damaged[] = {2, 5, 1};
    carat_embed_input input[] = {{.tokens = damaged, .n = 3, .vector = vector[0]},
                                 {.tokens = ids, .n = 3, .vector = vector[1]},
                                 {.tokens = ids, .n = 3, .vector = vector[2]}};

    (void)state;
    assert_int_equal(about(model).width, HIDDEN);
    OK(carat_engine_create(&engine, model, &o, err));
    FAILS_WITH(carat_embed(engine, input, sizeof *input, 2, NULL, err), CARAT_E_NUMERIC,
               "embed_tokens.weight");
    assert_int_equal(input[0].status, CARAT_E_NUMERIC);
    assert_int_equal(input[1].status, CARAT_OK);
    OK(carat_embed(engine, &input[2], sizeof *input, 1, NULL, err));
    assert_memory_equal(vector[1], vector[2], sizeof vector[1]);
    carat_engine_close(engine);
    close_damaged(model, buffer);

    /* zeros stand for a K that is not finite: the vector would be, and wrong */
    model = damaged_model(buffer, "\"layers.0.self_attn.k_proj.weight\"", 0, 1);
    OK(carat_engine_create(&engine, model, &o, err));
    FAILS_WITH(carat_embed(engine, &input[2], sizeof *input, 1, NULL, err), CARAT_E_NUMERIC,
               "k_proj.weight has NaN");
    carat_engine_close(engine);
    close_damaged(model, buffer);
}

static int count_line(void *user, const char *key, const char *value)
{
    (void)key;
    (void)value;
    ++*(int *)user;
    return 0;
}

static void count_tap(void *user, const carat_tap *tap)
{
    (void)tap;
    ++*(int *)user;
}

/* What can be asked of an engine has an answer where there is no head, and no session. */
static void an_engine_without_a_head_answers(void **state)
{
    carat_model *model = own_model("models/embed2");
    carat_engine_options o = small_engine();
    carat_head_options head;
    carat_engine *engine;
    float vector[64];
    int32_t ids[] = {2, 5, 1};
    carat_embed_input input = {.tokens = ids, .n = 3, .vector = vector};
    carat_use use;
    carat_engine_stats stats;
    carat_costs costs;
    carat_head_stats of_head;
    carat_profile profile;
    carat_session *session;
    int lines = 0, taps = 0;

    (void)state;
    carat_head_options_default(&head);
    head.strategy = CARAT_HEAD_EXACT_PRUNED;
    o.head = &head;
    FAILS_WITH(carat_engine_create(&engine, model, &o, err), CARAT_E_ARGUMENT, "an embedder has none");
    o.head = NULL;
    OK(carat_engine_create(&engine, model, &o, err));
    carat_profile_begin(engine);
    OK(carat_tap_begin(engine, count_tap, &taps, err));
    OK(carat_embed(engine, &input, sizeof input, 1, NULL, err));
    carat_profile_default(&profile);
    OK(carat_profile_end(engine, &profile, err));
    carat_tap_end(engine);
    assert_true(taps > 6 * 8);
    carat_use_default(&use);
    OK(carat_engine_use(engine, &use, err));
    assert_int_equal(use.held, 0); /* nothing outlives its pass */
    carat_engine_stats_default(&stats);
    OK(carat_engine_get_stats(engine, &stats, err));
    carat_costs_default(&costs);
    OK(carat_engine_get_costs(engine, &costs, err));
    carat_head_stats_default(&of_head);
    OK(carat_engine_get_head(engine, &of_head, err));
    OK(carat_explain(engine, count_line, &lines, err));
    assert_true(lines > 5);
    FAILS(CARAT_E_ARGUMENT, carat_session_create(&session, engine, NULL, err));
    carat_engine_close(engine);
    carat_model_close(model);
}

static void a_generator_gives_no_vectors(void **state)
{
    char path[PATH_SIZE];
    carat_model *model;
    carat_engine *engine;
    carat_engine_options o = small_engine();
    carat_embedder e;
    float vector[1];
    int32_t id = 2;
    carat_embed_input input = {.tokens = &id, .n = 1, .vector = vector};

    (void)state;
    OK(carat_model_open(&model, path_join(path, own_vectors(), "models/gemma3-bf16"), NULL, err));
    carat_embedder_default(&e);
    FAILS(CARAT_E_UNSUPPORTED, carat_get_embedder(model, &e, err));
    OK(carat_engine_create(&engine, model, &o, err));
    FAILS(CARAT_E_UNSUPPORTED, carat_embed(engine, &input, sizeof input, 1, NULL, err));
    carat_engine_close(engine);
    carat_model_close(model);
    carat_model_options with; /* nor does a model that does draft for it */
    carat_model_options_default(&with);
    with.drafter = CT_TEST_DATA "/embed/models/embed1";
    FAILS_WITH(carat_model_open(&model, path, &with, err), CARAT_E_UNSUPPORTED,
               "the drafter gives vectors of texts, expected models that generate");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_embedders_agree_with_the_reference),
        cmocka_unit_test(a_text_has_the_bits_that_it_has_alone),
        cmocka_unit_test(calls_are_checked),
        cmocka_unit_test(the_others_go_on),
        cmocka_unit_test(a_call_can_be_stopped),
        cmocka_unit_test(a_vector_that_is_not_finite_is_refused),
        cmocka_unit_test(an_engine_without_a_head_answers),
        cmocka_unit_test(a_generator_gives_no_vectors),
        cmocka_unit_test(shared_embedders_agree_with_the_reference),
    };
    return cmocka_run_group_tests_name("engine: vectors of texts", tests, NULL, NULL);
}
