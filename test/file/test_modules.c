/* SPDX-License-Identifier: Apache-2.0 */
/* test_modules.c: a directory of sentence-transformers: which modules follow the model, where their tensors
 * are, and that odd ones are called by their name, but only to those who ask for them. What their
 * configurations mean is in test/model/test_config_embed.c. */
#include "file/file_build.h"

#define CLASS(name)   "\"type\":\"sentence_transformers.models." name "\""
#define TRANSFORMER   "{\"path\":\"\"," CLASS("Transformer") "}"
#define POOLING       "{\"path\":\"1_Pooling\"," CLASS("Pooling") "}"
#define DENSE(folder) "{\"path\":\"" folder "\"," CLASS("Dense") "}"
#define NORMALIZE     "{\"path\":\"4_Normalize\"," CLASS("Normalize") "}"
#define WHOLE         "[" TRANSFORMER "," POOLING "," DENSE("2_Dense") "," DENSE("heads") "," NORMALIZE "]"
#define TENSOR(name)  "{\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}"

static struct ct_file *open_with(const char *modules, bool with_heads)
{
    static struct buf model, dense;
    struct ct_file *f = NULL;
    carat_error err;

    buf_free(&model);
    buf_free(&dense);
    put_safetensors(&model, TENSOR("norm.weight"), 4);
    put_safetensors(&dense, TENSOR("linear.weight"), 4);
    const struct ct_part part[] = {
        {"config.json", {(const uint8_t *)"{}", 2}},
        {"model.safetensors", {model.p, model.n}},
        {"modules.json", {(const uint8_t *)modules, strlen(modules)}},
        {"1_Pooling/config.json", {(const uint8_t *)"{\"a\":1}", 7}},
        {"2_Dense/config.json", {(const uint8_t *)"{}", 2}},
        {"2_Dense/model.safetensors", {dense.p, dense.n}},
        {"heads/config.json", {(const uint8_t *)"{}", 2}},
        {"heads/model.safetensors", {dense.p, dense.n}},
    };
    if (ct_file_open_memory(&f, part, (int)CT_COUNT(part) - !with_heads, &err))
        fail_msg("%s", err.message);
    return f;
}

static void modules_are_told(void **state)
{
    struct ct_file *f = open_with(WHOLE, true);
    const struct ct_modules *m;
    carat_error err;

    (void)state;
    assert_int_equal(ct_file_modules(f, &m, &err), CARAT_OK);
    assert_true(m && m->n_dense == 2 && m->normalizes);
    assert_string_equal(m->pooling.folder, "1_Pooling");
    assert_true(ct_json_is(ct_json_get(m->pooling.config, "a"), CT_JSON_NUMBER));
    assert_string_equal(m->dense[1].folder, "heads");
    assert_int_equal(ct_file_tensor_count(f), 3);
    assert_string_equal(ct_file_find(f, "2_Dense/linear.weight")->file, "2_Dense/model.safetensors");
    assert_string_equal(ct_file_find(f, "3_Dense/linear.weight")->file, "heads/model.safetensors");
    ct_file_close(f);
}

static void odd_modules_concern_who_asks(void **state)
{
    static const struct {
        const char *modules;
        carat_status status;
        const char *message;
    } rows[] = {
        {"{\"a\":1}", CARAT_E_FORMAT, "modules.json: expected a list of modules"},
        {"[" TRANSFORMER "]", CARAT_E_FORMAT, "modules.json: expected a list of modules"},
        {"[" TRANSFORMER ",{", CARAT_E_FORMAT, "modules.json"},
        {"[" POOLING "," TRANSFORMER "]", CARAT_E_UNSUPPORTED, "[0].type"},
        {"[" TRANSFORMER "," DENSE("2_Dense") "," POOLING "]", CARAT_E_UNSUPPORTED, "[1].type"},
        {"[" TRANSFORMER "," POOLING "," POOLING "]", CARAT_E_UNSUPPORTED, "[2].type"},
        {"[" TRANSFORMER "," POOLING "," NORMALIZE "," DENSE("2_Dense") "]", CARAT_E_UNSUPPORTED, "[3].type"},
        {"[" TRANSFORMER ",{" CLASS("WordWeights") "}]", CARAT_E_UNSUPPORTED,
         "[1].type at byte 71 is \"sentence_transformers.models.WordWeights\", but carat knows"},
        {"[" TRANSFORMER "," POOLING "," DENSE("2_Dense") "," DENSE("heads") "," DENSE("2_Dense") "]",
         CARAT_E_UNSUPPORTED, "2 dense modules at most"},
        {"[" TRANSFORMER "," DENSE("../2_Dense") "]", CARAT_E_UNSUPPORTED, "[1].type"},
        {"[" TRANSFORMER "," POOLING "," DENSE("../2_Dense") "]", CARAT_E_FORMAT,
         "[2].path at byte 138 is \"../2_Dense\", expected the name of a folder"},
        {"[" TRANSFORMER "," POOLING "," DENSE("..") "]", CARAT_E_FORMAT, "[2].path"},
        {"[" TRANSFORMER "," POOLING "," DENSE("") "]", CARAT_E_FORMAT, "[2].path"},
        {"[" TRANSFORMER "," POOLING ",{" CLASS("Dense") "}]", CARAT_E_FORMAT, "[2].path"},
        {"[" TRANSFORMER "," POOLING "," DENSE("other") "]", CARAT_E_FORMAT,
         "other/config.json is missing: modules.json names its folder"},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        struct ct_file *f = open_with(rows[i].modules, true); /* a generator's directory may have it too */
        const struct ct_modules *m;
        carat_error err;
        expect_error(ct_file_modules(f, &m, &err), &err, rows[i].status, rows[i].message);
        assert_int_equal(ct_file_tensor_count(f), 1);
        ct_file_close(f);
    }
    struct ct_file *f = open_with(WHOLE, false);
    const struct ct_modules *m;
    carat_error err;
    expect_error(ct_file_modules(f, &m, &err), &err, CARAT_E_FORMAT, "heads/model.safetensors is missing");
    assert_int_equal(ct_file_tensor_count(f), 1);
    ct_file_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(modules_are_told),
        cmocka_unit_test(odd_modules_concern_who_asks),
    };
    return cmocka_run_group_tests_name("file: modules", tests, NULL, NULL);
}
