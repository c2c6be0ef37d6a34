/* SPDX-License-Identifier: Apache-2.0 */
/* test_safetensors_write.c: heads of new safetensors files: in which order tensors lie, how they are spread
 * over files, the index of these, and what is refused. */
#include "file/file_build.h"

#include "file/write.h"

static void spread(void **unused)
{
    (void)unused;
    struct ct_new_tensor t[] = {{.size = 6},  {.size = 4}, {.size = 1},
                                {.size = 30}, {.size = 9}, {.size = 0}};
    static const int expected[] = {0, 0, 1, 2, 3, 3};
    assert_int_equal(ct_safetensors_spread(t, 6, 10), 4);
    for (int i = 0; i < 6; i++)
        assert_int_equal(t[i].file, expected[i]);
    assert_int_equal(ct_safetensors_spread(t, 6, UINT64_MAX), 1);
    assert_int_equal(t[5].file, 0);
}

static void heads(void **unused)
{
    (void)unused;
    struct ct_new_tensor t[] = {
        {.name = "c", .type = CT_F16, .n_dim = 1, .dim = {3}, .size = 6},
        {.name = "b", .type = CT_F32, .n_dim = 2, .dim = {2, 1}, .size = 8},
        {.name = "other", .type = CT_F32, .n_dim = 1, .dim = {1}, .size = 4, .file = 1},
        {.name = "a\"\n\xff", .type = CT_F32, .n_dim = 1, .dim = {1}, .size = 4},
        {.name = "d", .type = CT_BF16, .n_dim = 3, .dim = {1, 1, 1}, .size = 2},
    };
    static const char expected[] =
        "{\"__metadata__\":{\"format\":\"pt\"},"
        "\"a\\\"\\u000a\xef\xbf\xbd\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
        "\"b\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[4,12]},"
        "\"d\":{\"dtype\":\"BF16\",\"shape\":[1,1,1],\"data_offsets\":[12,14]},"
        "\"c\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[14,20]}}";
    struct ct_new_head h = {.data = NULL};
    carat_error err;
    uint64_t size, length;
    assert_int_equal(ct_safetensors_head(&h, t, 5, 0, &size, "x", &err), CARAT_OK);
    memcpy(&length, h.data, sizeof length);
    assert_int_equal(length, h.n - 8);
    assert_int_equal(h.n % 8, 0);
    assert_memory_equal(h.data + 8, expected, sizeof expected - 1);
    for (size_t i = 8 + sizeof expected - 1; i < h.n; i++)
        assert_int_equal(h.data[i], ' ');
    assert_int_equal(size, h.n + 20);
    assert_int_equal(t[3].at, h.n);
    assert_int_equal(t[0].at, h.n + 14);
    ct_new_head_free(&h);
    t[1].type = CT_Q8_0;
    assert_int_equal(ct_safetensors_head(&h, t, 5, 0, &size, "x", &err), CARAT_E_UNSUPPORTED);
    assert_string_equal(err.message,
                        "x: tensor b of type Q8_0 and 8 bytes cannot be written: safetensors hold "
                        "F32, F16 and BF16, and 62 bits count their bytes");
    ct_new_head_free(&h);
    t[1].type = CT_F32;
    t[1].size = SIZE_MAX / 2;
    assert_int_equal(ct_safetensors_head(&h, t, 5, 0, &size, "x", &err), CARAT_E_UNSUPPORTED);
    ct_new_head_free(&h);
}

static void names(void **unused)
{
    (void)unused;
    char name[CT_SHARD_NAME];
    ct_safetensors_name(name, 0, 1);
    assert_string_equal(name, "model.safetensors");
    ct_safetensors_name(name, 1, 12);
    assert_string_equal(name, "model-00002-of-00012.safetensors");
    const struct ct_new_tensor t[] = {{.name = "a", .size = 5}, {.name = "b", .size = 2, .file = 1}};
    struct ct_new_head h = {.data = NULL};
    ct_safetensors_index(&h, t, 2, 2);
    ct_new_head_put(&h, "", 1);
    assert_string_equal((char *)h.data,
                        "{\n  \"metadata\": {\n    \"total_size\": 7\n  },\n  \"weight_map\": {\n"
                        "    \"a\": \"model-00001-of-00002.safetensors\",\n"
                        "    \"b\": \"model-00002-of-00002.safetensors\"\n  }\n}\n");
    ct_new_head_free(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(spread), cmocka_unit_test(heads),
                                       cmocka_unit_test(names)};
    return cmocka_run_group_tests_name("file: safetensors are written", tests, NULL, NULL);
}
