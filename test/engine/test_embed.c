/* SPDX-License-Identifier: Apache-2.0 */
/* test_embed.c: vectors of texts against the reference implementation, whole and cut, in exact arithmetic. */
#include "vector_util.h"

#include <math.h>

#include <carat_embed.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(own_embedders_agree_with_the_reference),
        cmocka_unit_test(shared_embedders_agree_with_the_reference),
    };
    return cmocka_run_group_tests_name("engine: vectors of texts", tests, NULL, NULL);
}
