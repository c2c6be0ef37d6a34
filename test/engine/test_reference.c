/* SPDX-License-Identifier: Apache-2.0 */
/* test_reference.c: carat in exact arithmetic against the reference implementation: logits within 1e-4 of the
 * largest one, greedy continuations equal id by id. Cases are the committed vectors and, where CARAT_SHARED
 * names them, the larger set. Equality of carat with itself is left to test_invariance.c. */
#include "vector_util.h"

#include <math.h>

#define TOLERANCE 1e-4

/* What ran, so that a run that finds nothing fails. */
struct tally {
    int models; /* paths opened and compared */
    int prompts, continuations;
    int unsupported; /* files of a type that is not run */
    double worst;
    char worst_at[PATH_SIZE];
};

static double relative_error(const float *a, const float *b, size_t n)
{
    double difference = 0, largest = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(a[i]))
            return INFINITY;
        difference = fmax(difference, fabs((double)a[i] - (double)b[i]));
        largest = fmax(largest, fabs((double)b[i]));
    }
    return difference / largest;
}

static void check_prompt(struct rig *r, const char *folder, const char *prompt, const char *label,
                         struct tally *t)
{
    char name[256];
    snprintf(name, sizeof name, "%s.json", prompt);
    json_t *j = read_json(folder, name);
    assert_non_null(j);
    snprintf(name, sizeof name, "%s.npy", prompt);
    struct array expected = read_npy(folder, name);
    struct ids ids = json_ids(json_object_get(j, "ids"));
    bool all = strcmp(json_string_value(json_object_get(j, "positions")), "all") == 0;
    assert_int_equal(expected.cols, r->n_vocab);
    assert_int_equal(expected.rows, all ? ids.n : 1);
    if (carat_tokens_held(r->session[0], NULL) > 0)
        OK(carat_rewind(r->session[0], 0, err));
    double error;
    if (all) {
        float *logits = malloc(expected.rows * expected.cols * sizeof *logits);
        carat_row row = {.session = r->session[0], .tokens = ids.id, .n = ids.n, .logits = logits};
        OK(carat_step(r->engine, &row, sizeof(carat_row), 1, err));
        error = relative_error(logits, expected.v, expected.rows * expected.cols);
        assert_memory_equal(carat_logits(r->session[0]), logits + (expected.rows - 1) * expected.cols,
                            expected.cols * sizeof *logits);
        free(logits);
    } else {
        OK(carat_sync(r->session[0], ids.id, ids.n, NULL, err));
        error = relative_error(carat_logits(r->session[0]), expected.v, expected.cols);
    }
    if (!(error <= TOLERANCE))
        fail_msg("%s, prompt %s: error %.3g of the largest logit", label, prompt, error);
    if (error > t->worst) {
        t->worst = error;
        snprintf(t->worst_at, sizeof t->worst_at, "%s, prompt %s", label, prompt);
    }
    t->prompts++;
    free(ids.id);
    free(expected.v);
    json_decref(j);
}

static void check_continuation(struct rig *r, const char *folder, const char *greedy, const char *label,
                               struct tally *t)
{
    char name[256];
    snprintf(name, sizeof name, "%s.json", greedy);
    json_t *j = read_json(folder, name);
    assert_non_null(j);
    struct ids prompt = json_ids(json_object_get(j, "prompt_ids"));
    struct ids expected = json_ids(json_object_get(j, "continuation"));
    carat_sampling sampling;
    carat_sampling_default(NULL, &sampling);
    sampling.temperature = 0;
    OK(carat_sync(r->session[0], prompt.id, prompt.n, NULL, err));
    assert_true(expected.n > 0);
    for (int i = 0; i < expected.n; i++) {
        int32_t id = -1;
        OK(carat_sample(r->session[0], &sampling, &id, err));
        if (id != expected.id[i])
            fail_msg("%s, %s: id %d at step %d, expected %d", label, greedy, id, i, expected.id[i]);
        OK(carat_append(r->session[0], &id, 1, err));
    }
    t->continuations++;
    free(prompt.id);
    free(expected.id);
    json_decref(j);
}

static void check_info(const carat_model *model, const json_t *expected, const char *label)
{
    carat_model_info info = model_info(model);
    double scale =
        json_number_value(json_object_get(expected, "embed_scale")); /* newer members: not stated */
    if (scale > 0 && fabs(info.embedding_scale - scale) > 1e-6 * scale)
        fail_msg("%s: embedding scale %.9g, expected %.9g", label, info.embedding_scale, scale);
    assert_int_equal(info.n_text_vocab, json_integer_value(json_object_get(expected, "text_vocab")));
    assert_int_equal(info.kind, CARAT_GENERATOR);
}

/* One path that must give the numbers in folder. */
static void check_model(const char *root, const char *source, const char *folder, const json_t *info,
                        struct tally *t)
{
    char path[PATH_SIZE], at[128];
    carat_model *model = NULL;
    carat_error e = {CARAT_OK, ""};
    carat_status status = carat_model_open(&model, path_join(path, root, source), NULL, &e);
    if (status == CARAT_E_UNSUPPORTED) {
        print_message("not run: %s\n", e.message);
        t->unsupported++;
        return;
    }
    if (status != CARAT_OK)
        fail_msg("%s: %s", carat_status_name(status), e.message);
    check_info(model, info, source);
    carat_engine_options options;
    carat_engine_options_default(&options);
    options.exact = 1;
    options.context = 1200;
    options.threads = 1;
    struct rig r = rig_open(model, &options);
    size_t i;
    json_t *name;
    json_array_foreach(json_object_get(info, "prompts"), i, name)
    {
        check_prompt(&r, folder, json_string_value(name), source, t);
    }
    json_array_foreach(json_object_get(info, "greedy"), i, name)
    {
        snprintf(at, sizeof at, "%s", json_string_value(name));
        check_continuation(&r, folder, at, source, t);
    }
    rig_close(&r);
    carat_model_close(model);
    t->models++;
}

/* The model of a folder of expectations, its twins, and one in a GGUF file, unless NULL. */
static void check_folder(const char *root, const char *name, const char *gguf, struct tally *t)
{
    char expect[PATH_SIZE], folder[PATH_SIZE];
    json_t *info = read_json(path_join(folder, path_join(expect, root, "expect"), name), "info.json");
    if (!info)
        fail_msg("%s: no info.json", folder);
    json_t *files = json_object_get(info, "files"), *twin;
    const char *source = json_string_value(json_object_get(info, "source"));
    size_t k;
    check_model(root, files ? json_string_value(json_array_get(files, 0)) : source, folder, info, t);
    json_array_foreach(json_object_get(info, "twins"), k, twin)
    {
        check_model(root, json_string_value(twin), folder, info, t);
    }
    if (gguf)
        check_model(root, gguf, folder, info, t);
    json_decref(info);
}

static struct tally check_root(const char *root)
{
    struct tally t = {.worst = 0};
    char expect[PATH_SIZE], **names;
    int n = list_folder(path_join(expect, root, "expect"), &names);
    for (int i = 0; i < n; i++)
        check_folder(root, names[i], NULL, &t);
    free_names(names, n);
    print_message("%s: %d models, %d prompts, %d continuations; worst %.2g (%s); %d of other types\n", root,
                  t.models, t.prompts, t.continuations, t.worst, t.worst_at, t.unsupported);
    return t;
}

static void own_models_agree_with_the_reference(void **state)
{
    (void)state;
    struct tally t = check_root(own_vectors());
    assert_int_equal(t.models, 28);
    assert_int_equal(t.prompts, 139);
    assert_int_equal(t.continuations, 28);
    assert_int_equal(t.unsupported, 0);
}

static void gemma_cpp_files_agree_with_the_reference(void **state)
{
    (void)state;
    struct tally t = check_root(CT_TEST_DATA "/sbs");
    assert_int_equal(t.models, 7);
    assert_int_equal(t.prompts, 7);
    assert_int_equal(t.continuations, 7);
    assert_int_equal(t.unsupported, 0);
}

static void shared_models_agree_with_the_reference(void **state)
{
    (void)state;
    char root[PATH_SIZE];
    if (!shared_vectors(root))
        skip();
    struct tally t = check_root(root);
    assert_int_equal(t.models,
                     35); /* nine folders, a twin, and 25 GGUF files: every block type, mixed, old, split */
    assert_int_equal(t.unsupported, 0);
}

/* Of the folder beside that of the vectors: those that carat runs. */
static void newer_members_agree_with_the_reference(void **state)
{
    (void)state;
    static const struct {
        const char *name, *gguf;
    } members[] = {
        {"g4-dense", "gguf/g4-dense-f32.gguf"}, {"g4-e", "gguf/g4-e-f32.gguf"}, {"g4-e-f32", NULL},
        {"g4-moe", "gguf/g4-moe-f32.gguf"},     {"g4-unified", NULL},           {"g3n", "gguf/g3n-f32.gguf"}};
    char vectors[PATH_SIZE], root[PATH_SIZE];
    struct tally t = {.worst = 0};
    if (!shared_vectors(vectors))
        skip();
    path_join(root, vectors, "../family");
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        check_folder(root, members[i].name, members[i].gguf, &t);
    print_message("%s: %d models, %d prompts, worst %.2g (%s)\n", root, t.models, t.prompts, t.worst,
                  t.worst_at);
    assert_int_equal(t.models, 21); /* each in three folders, but g3n in two; and four files */
    assert_int_equal(t.unsupported, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_models_agree_with_the_reference),
        cmocka_unit_test(gemma_cpp_files_agree_with_the_reference),
        cmocka_unit_test(shared_models_agree_with_the_reference),
        cmocka_unit_test(newer_members_agree_with_the_reference),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
