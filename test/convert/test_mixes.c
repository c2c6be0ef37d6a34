/* SPDX-License-Identifier: Apache-2.0 */
/* test_mixes.c: files of llama-quantize's names have its types in every layer, and its bytes, also with
 * importance (test/data/convert/mixes.txt, made by tools/make_mixes.py). What the words of a recipe change is
 * test/cli/convert/test_recipe.sh's. */
#include "file/file_build.h"

#include "carat_convert.h"
#include "convert/mixes.h"

static uint32_t crc_of(uint32_t crc, const uint8_t *p, size_t n)
{
    crc = ~crc;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++)
            crc = (crc >> 1) ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const struct ct_tensor *const *)a)->name, (*(const struct ct_tensor *const *)b)->name);
}

/* Of all tensors, in the order of their names. */
static uint32_t crc_of_file(const char *path)
{
    struct ct_file *f = accept_path(path, false);
    const int n = ct_file_tensor_count(f);
    const struct ct_tensor **t = calloc((size_t)n, sizeof *t);
    uint32_t crc = 0;

    assert_non_null(t);
    for (int i = 0; i < n; i++)
        t[i] = ct_file_tensor(f, i);
    qsort(t, (size_t)n, sizeof *t, by_name);
    for (int i = 0; i < n; i++)
        crc = crc_of(crc, t[i]->data, t[i]->size);
    free(t);
    ct_file_close(f);
    return crc;
}

static void check_bytes(const char *model, const char *mix, const char *importance, uint32_t want)
{
    char *dir = temp_dir(), path[512];
    carat_convert_options o = {.size = sizeof o, .type = mix, .threads = 2, .importance = importance};
    carat_error err = {CARAT_OK, ""};
    carat_model *m = NULL;

    snprintf(path, sizeof path, "%s/../../%s", CT_TEST_DATA, model);
    assert_int_equal(carat_model_open(&m, path, NULL, &err), CARAT_OK);
    snprintf(path, sizeof path, "%s", path_in(dir, "new.gguf"));
    if (carat_convert(m, path, &o, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    carat_model_close(m);
    const uint32_t got = crc_of_file(path);
    if (got != want)
        fail_msg("%s as %s, %s: CRC %08x, expected %08x", model, mix, importance ? importance : "plain", got,
                 want);
    remove(path);
    rmdir(dir);
    free(dir);
}

/* The letter of layer `layer` in "2m14k". */
static char letter_at(const char *counted, int layer)
{
    char *end;

    for (long n = 0;;) {
        n += strtol(counted, &end, 10);
        assert_true(end > counted && *end >= 'a');
        if (layer < n)
            return *end;
        counted = end + 1;
    }
}

enum { MOST_PARTS = 9 };

/* A pass takes one layer after another, and of a layer one part after another. */
static void check_types(const int shape[5], const char *mix, char *part[MOST_PARTS], int n)
{
    struct ct_mixing m = {.mix = ct_mix_named(ct_str_of(mix)),
                          .n_layer = shape[0],
                          .n_expert = shape[3],
                          .gqa = shape[1] / shape[2],
                          .n_v = shape[0],
                          .weighted = shape[4],
                          .tied = true};
    char name[64];

    assert_non_null(m.mix);
    assert_int_equal('a' + (int)ct_mix_type(&m, "token_embd.weight", 256, false), strchr(part[0], '=')[1]);
    for (int layer = 0; layer < shape[0]; layer++)
        for (int i = 1; i < n; i++) {
            const int length = (int)strcspn(part[i], "=");
            snprintf(name, sizeof name, "blk.%d.%.*s.weight", layer, length, part[i]);
            const char got = (char)('a' + ct_mix_type(&m, name, 256, strstr(name, "exps") != NULL));
            const char want = letter_at(part[i] + length + 1, layer);
            if (got != want)
                fail_msg("%s of %d layers, %d experts, %d: %s is %c, expected %c", mix, shape[0], shape[3],
                         shape[4], name, got, want);
        }
}

static void mixes_are_those_of_llama_cpp(void **state)
{
    char line[4096], model[64], mix[32], *part[MOST_PARTS];
    FILE *f = fopen(CT_TEST_DATA "/convert/mixes.txt", "r");
    int shape[5], at, types = 0, bytes = 0, weighted = 0;
    uint32_t crc;

    (void)state;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "bytes %63s %31s %x", model, mix, &crc) == 3) {
            check_bytes(model, mix, NULL, crc);
            bytes++;
            continue;
        }
        if (sscanf(line, "weighted %63s %31s %x", model, mix, &crc) == 3) {
            check_bytes(model, mix, CT_TEST_DATA "/convert/tiny-imatrix.gguf", crc);
            if (strcmp(mix, "q4_k_m") == 0)
                check_bytes(model, mix, CT_TEST_DATA "/convert/tiny-imatrix.dat", crc);
            weighted++;
            continue;
        }
        assert_int_equal(sscanf(line, "types %d %d %d %d %d %31s %n", &shape[0], &shape[1], &shape[2],
                                &shape[3], &shape[4], mix, &at),
                         6);
        int n = 0;
        for (char *word = strtok(line + at, " \n"); word; word = strtok(NULL, " \n")) {
            assert_true(n < MOST_PARTS);
            part[n++] = word;
        }
        check_types(shape, mix, part, n);
        types++;
    }
    fclose(f);
    assert_true(types > 200 && bytes > 30 && weighted > 15);
}

/* Rows that are no multiple of a block. */
static void rows_that_do_not_fit_fall_back(void **state)
{
    (void)state;
    assert_int_equal(ct_fitting_type(CT_Q4_K, 640), CT_Q5_0);
    assert_int_equal(ct_fitting_type(CT_Q5_K, 640), CT_Q5_1);
    assert_int_equal(ct_fitting_type(CT_Q6_K, 640), CT_Q8_0);
    assert_int_equal(ct_fitting_type(CT_Q3_K, 640), CT_Q4_0);
    assert_int_equal(ct_fitting_type(CT_Q2_K, 640), CT_Q4_0);
    assert_int_equal(ct_fitting_type(CT_IQ4_XS, 640), CT_IQ4_NL);
    assert_int_equal(ct_fitting_type(CT_Q4_K, 48), CT_F16);
    assert_int_equal(ct_fitting_type(CT_Q8_0, 48), CT_F16);
    assert_int_equal(ct_fitting_type(CT_Q8_0, 64), CT_Q8_0);
    assert_int_equal(ct_fitting_type(CT_BF16, 3), CT_BF16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixes_are_those_of_llama_cpp),
        cmocka_unit_test(rows_that_do_not_fit_fall_back),
    };
    return cmocka_run_group_tests_name("convert: mixes", tests, NULL, NULL);
}
