/* SPDX-License-Identifier: Apache-2.0 */
/* test_importance.c: importance is read from both of llama.cpp's forms to the bit, and every lie in a file is
 * refused by name. What it changes in a model is test_mixes.c's. */
#include "file/file_build.h"

#include <math.h>

#include "carat_convert.h"
#include "convert/importance.h"
#include "quant/encode.h"

static const char *const both[] = {CT_TEST_DATA "/convert/tiny-imatrix.gguf",
                                   CT_TEST_DATA "/convert/tiny-imatrix.dat"};

static void both_forms_say_the_same(void **state)
{
    struct ct_arena arena = {0};
    struct ct_importance i[2];
    carat_error err;

    (void)state;
    for (int k = 0; k < 2; k++) {
        if (ct_importance_read(&i[k], both[k], &arena, &err) != CARAT_OK)
            fail_msg("%s", err.message);
        assert_int_equal(i[k].n, 42);
        assert_int_equal(i[k].chunks, 3);
        assert_string_equal(i[k].dataset, "words.txt");
    }
    for (int k = 0; k < i[0].n; k++) {
        const struct ct_importance_of *a = &i[0].of[k], *b = ct_importance_find(&i[1], a->name);
        assert_non_null(b);
        assert_int_equal(a->n, 256);
        assert_int_equal(b->n, 256);
        assert_memory_equal(a->value, b->value, a->n * sizeof *a->value);
    }
    assert_null(ct_importance_find(&i[0], "blk.9.attn_q.weight"));
    ct_arena_free(&arena);
}

static void refuse(const void *data, size_t n, const char *text)
{
    struct ct_arena arena = {0};
    struct ct_importance i;
    carat_error err = {CARAT_OK, ""};
    uint8_t *copy = malloc(n ? n : 1); /* so that sanitizers see its end */

    assert_non_null(copy);
    memcpy(copy, data, n);
    const carat_status status = ct_importance_parse(&i, "x.dat", (struct ct_bytes){copy, n}, &arena, &err);
    if (status != CARAT_E_FORMAT || !strstr(err.message, text))
        fail_msg("status %d, \"%s\"; expected \"%s\"", status, err.message, text);
    assert_non_null(strstr(err.message, "x.dat"));
    free(copy);
    ct_arena_free(&arena);
}

/* One entry of two values: [0] n, [4] length, [8] "w", [9] calls, [13] n, [17] values, [25] chunks, [29]
 * length, [33] "d". */
static void older_form_lies(void **state)
{
    static const struct {
        size_t at;
        int32_t v;
        const char *text;
    } lies[] = {
        {0, 0, "a number of entries at byte 0 is 0"},
        {0, -1, "a number of entries at byte 0 is -1"},
        {0, 3, "a number of entries at byte 0 is 3; expected 1 to 2"},
        {0, INT32_MAX, "a number of entries"},
        {4, 0, "the length of a name at byte 4 is 0"},
        {4, -5, "the length of a name at byte 4 is -5"},
        {4, 255, "has 255 bytes, but the file ends"},
        {9, 0, "a number of calls at byte 9 is 0; expected 1"},
        {9, -1, "a number of calls at byte 9 is -1"},
        {13, 0, "a number of values at byte 13 is 0"},
        {13, INT32_MAX, "w has 2147483647 values at byte 17, but the file ends before"},
        {17, 0x7fc00000, "column 0 of w is nan"},
        {17, 0x7f800000, "column 0 of w is inf"},
        {21, (int32_t)0xbf800000, "column 1 of w is -0.5"},
        {25, -1, "a number of chunks"},
        {29, 9, "has 9 bytes, but the file ends"},
    };
    struct buf b = {0};
    struct ct_arena arena = {0};
    struct ct_importance i;
    carat_error err;

    (void)state;
    put_u32(&b, 1);
    put_u32(&b, 1);
    put(&b, "w", 1);
    put_u32(&b, 2); /* calls */
    put_u32(&b, 2);
    put(&b, (const float[]){3, 5}, 8);
    put_u32(&b, 7);
    put_u32(&b, 1);
    put(&b, "d", 1);
    assert_int_equal(ct_importance_parse(&i, "x", (struct ct_bytes){b.p, b.n}, &arena, &err), CARAT_OK);
    assert_true(i.n == 1 && i.of[0].value[0] == 1.5f && i.of[0].value[1] == 2.5f && i.chunks == 7);
    assert_string_equal(i.dataset, "d");
    ct_arena_free(&arena);
    for (size_t k = 0; k < CT_COUNT(lies); k++) {
        uint8_t copy[64];
        memcpy(copy, b.p, b.n);
        memcpy(copy + lies[k].at, &lies[k].v, 4);
        refuse(copy, b.n, lies[k].text);
    }
    for (size_t n = 0; n < b.n; n++)
        if (n != 25 && n != 29) /* where the oldest form ends, and one without a path */
            refuse(b.p, n, "x.dat");
    buf_free(&b);
}

/* A file of one matrix of two experts and three columns. type: of the sums; counts: how many there are. */
static void newer(struct buf *b, uint32_t type, const float *count, size_t counts, const float sums[6])
{
    put_header(b, 3, 2, 0);
    put_info(b, "w.in_sum2", 2, (const uint64_t[]){3, 2}, type, 0);
    put_info(b, counts ? "w.counts" : "w.count", 1, (const uint64_t[]){counts ? counts : 1}, 0, 32);
    put_pad(b, 32);
    put(b, sums, 24);
    put_pad(b, 32);
    put(b, count, 4 * (counts ? counts : 1));
    put_pad(b, 32);
}

static void newer_form_lies(void **state)
{
    static const float good[6] = {1, 2, 3, 4, 5, 6}, bad[6] = {1, 2, 3, 4, (float)NAN, 6};
    static const struct {
        float count[3];
        size_t n;
        const float *sums;
        const char *text;
    } lies[] = {
        {{0, 0}, 2, good, "w has a count of 0"},  {{1, (float)NAN}, 2, good, "count 1 of w is nan"},
        {{-1, 1}, 2, good, "count 0 of w is -1"}, {{1, (float)INFINITY}, 2, good, "count 1 of w is inf"},
        {{1, 1}, 2, bad, "column 4 of w is nan"}, {{1, 1}, 0, good, "w has 6 sums and 0 counts"},
    };
    static const float values[6] = {0.5f, 1, 1.5f, 1, 1, 1};
    struct ct_arena arena = {0};
    struct ct_importance i;
    struct buf b = {0};
    carat_error err = {CARAT_OK, ""};

    (void)state;
    newer(&b, 0, (const float[]){2, 0}, 2, good); /* an expert that no row took */
    if (ct_importance_parse(&i, "x", (struct ct_bytes){b.p, b.n}, &arena, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    assert_true(i.n == 1 && i.of[0].n == 6);
    assert_string_equal(i.of[0].name, "w");
    assert_memory_equal(i.of[0].value, values, sizeof values);
    ct_arena_free(&arena);
    for (size_t n = 0; n < b.n - 32; n++)
        refuse(b.p, n, "x.dat");
    buf_free(&b);
    for (size_t k = 0; k < CT_COUNT(lies); k++) {
        newer(&b, 0, lies[k].count, lies[k].n, lies[k].sums);
        refuse(b.p, b.n, lies[k].text);
        buf_free(&b);
    }
    put_header(&b, 3, 0, 0);
    put_pad(&b, 32);
    refuse(b.p, b.n, "x.dat");
    buf_free(&b);
}

/* The file of a model of experts as Q4_0, with an importance of gate and up of layer 0 whose value `odd` is
 * larger than the others. */
static void convert_experts(const carat_model *m, const char *dir, const char *out, size_t n, int odd)
{
    static const char name[] = "blk.0.ffn_gate_up_exps.weight";
    carat_convert_options o = {.size = sizeof o, .type = "q4_0", .threads = 2};
    struct buf b = {0};
    carat_error err;
    char path[1024];

    put_u32(&b, 1);
    put_u32(&b, sizeof name - 1);
    put(&b, name, sizeof name - 1);
    put_u32(&b, 1);
    put_u32(&b, (uint32_t)n);
    for (size_t i = 0; i < n; i++)
        put(&b, &(float){(int)i == odd ? 1000.0f : 1.0f}, 4);
    write_file(dir, "x.dat", b.p, b.n);
    buf_free(&b);
    snprintf(path, sizeof path, "%s", path_in(dir, "x.dat"));
    o.importance = path;
    if (carat_convert(m, path_in(dir, out), &o, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    remove(path);
}

/* Each of several matrices has an importance of its own. */
static void experts_are_weighed_apart(void **state)
{
    const char *shared = getenv("CARAT_SHARED");
    char model[1024], *dir;
    carat_model *m = NULL;
    carat_error err;

    (void)state;
    if (!shared || !*shared)
        skip();
    const char *up = access(path_in(shared, "family"), F_OK) == 0 ? "" : "/..";
    snprintf(model, sizeof model, "%s%s/family/models/g4-moe", shared, up);
    if (carat_model_open(&m, model, NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    dir = temp_dir();
    const carat_convert_options plain = {.size = sizeof plain, .type = "q4_0", .threads = 2};
    assert_int_equal(carat_convert(m, path_in(dir, "plain.gguf"), &plain, &err), CARAT_OK);
    struct ct_file *f = accept_path(path_in(dir, "plain.gguf"), false);
    const struct ct_tensor *t = ct_file_find(f, "blk.0.ffn_gate_up_exps.weight");
    assert_true(t && t->n_dim == 3 && t->type == CT_Q4_0);
    const size_t n = (size_t)(t->dim[0] * t->dim[2]), each = t->size / (size_t)t->dim[0];
    const int cols = (int)t->dim[2];
    ct_file_close(f);
    convert_experts(m, dir, "even.gguf", n, -1);
    convert_experts(m, dir, "odd.gguf", n, cols + 3); /* column 3 of the second */
    struct ct_file *a = accept_path(path_in(dir, "even.gguf"), false);
    struct ct_file *b = accept_path(path_in(dir, "odd.gguf"), false);
    const uint8_t *x = ct_file_find(a, "blk.0.ffn_gate_up_exps.weight")->data;
    const uint8_t *y = ct_file_find(b, "blk.0.ffn_gate_up_exps.weight")->data;
    for (size_t i = 0; i < n / (size_t)cols; i++)
        assert_int_equal(memcmp(x + i * each, y + i * each, each) != 0, i == 1);
    ct_file_close(a);
    ct_file_close(b);
    carat_model_close(m);
    remove_dir(dir, (const char *const[]){"plain.gguf", "even.gguf", "odd.gguf", NULL});
}

/* A tensor of ten experts is told of with ten counts, or with one for all. */
static void counts_are_those_of_experts(void **state)
{
    static const char name[] = "blk.1.ffn_down_exps.weight";
    static const struct {
        uint64_t n;
        carat_status status;
    } rows[] = {
        {1, CARAT_OK}, {2, CARAT_E_FORMAT}, {5, CARAT_E_FORMAT}, {10, CARAT_OK}, {240, CARAT_E_FORMAT}};
    const uint64_t sums[] = {24, 10};
    char *dir = temp_dir(), path[1024];
    carat_model *m = NULL;
    carat_error err;

    (void)state;
    assert_int_equal(carat_model_open(&m, CT_TEST_DATA "/vectors/models/gemma4-moe", NULL, &err), CARAT_OK);
    snprintf(path, sizeof path, "%s", path_in(dir, "x.gguf"));
    for (size_t k = 0; k < CT_COUNT(rows); k++) {
        const carat_convert_options o = {
            .size = sizeof o, .type = "bf16", .threads = 1, .importance = path, .dry_run = 1};
        struct buf b = {0};
        char full[64];
        put_header(&b, 3, 2, 0);
        snprintf(full, sizeof full, "%s.in_sum2", name);
        put_info(&b, full, 2, sums, 0, 0);
        snprintf(full, sizeof full, "%s.counts", name);
        put_info(&b, full, 2, (const uint64_t[]){1, rows[k].n}, 0, 960);
        put_pad(&b, 32);
        for (uint64_t i = 0; i < 240 + rows[k].n; i++)
            put(&b, &(float){1}, 4);
        put_pad(&b, 32);
        write_file(dir, "x.gguf", b.p, b.n);
        buf_free(&b);
        err.message[0] = 0;
        const carat_status status = carat_convert(m, NULL, &o, &err);
        if (status != rows[k].status)
            fail_msg("%d counts: %d, %s", (int)rows[k].n, status, err.message);
        snprintf(full, sizeof full, "has %d counts of %s", (int)rows[k].n, name);
        assert_true(!status || strstr(err.message, full));
    }
    carat_model_close(m);
    remove_dir(dir, (const char *const[]){"x.gguf", NULL});
}

/* The largest value of a matrix in a file; what is no number there fails. */
static float largest_of(const char *path, const char *name)
{
    struct ct_file *f = accept_path(path, false);
    const struct ct_tensor *t = ct_file_find(f, name);
    const size_t n = (size_t)(t->dim[0] * t->dim[1]);
    float *x = malloc(n * sizeof *x);

    assert_non_null(x);
    ct_dequantize(t->type, x, t->data, n);
    const float largest = ct_largest(x, n);
    assert_true(largest < INFINITY);
    free(x);
    ct_file_close(f);
    return largest;
}

/* Finite values near the largest float overflow while blocks are weighed: no file then has weights that are
 * no numbers, or none at all, and the message says where. */
static void large_importance(void **state)
{
    static const char name[] = "blk.1.attn_k.weight", *const types[] = {"q4_0", "q4_1",   "q5_0",   "q5_1",
                                                                        "q2_k", "q3_k",   "q4_k",   "q5_k",
                                                                        "q6_k", "iq4_nl", "iq4_xs", "q8_0",
                                                                        "mxfp4"};
    static const float values[] = {1, 1e30f, 1e36f, 1e38f, 3e38f};
    enum { COLS = 256, USUAL = 2 };
    char *dir = temp_dir(), path[1024];
    carat_model *m = NULL;
    carat_error err;
    int refused = 0;

    (void)state;
    assert_int_equal(carat_model_open(&m, CT_TEST_DATA "/../../models/tiny", NULL, &err), CARAT_OK);
    snprintf(path, sizeof path, "%s", path_in(dir, "x.dat"));
    for (size_t k = 0; k < CT_COUNT(values); k++) {
        struct buf b = {0};
        put_u32(&b, 1);
        put_u32(&b, sizeof name - 1);
        put(&b, name, sizeof name - 1);
        put_u32(&b, 1);
        put_u32(&b, COLS);
        for (int i = 0; i < COLS; i++)
            put(&b, &(float){i % 3 ? values[k] : values[k] / 7}, 4);
        write_file(dir, "x.dat", b.p, b.n);
        buf_free(&b);
        for (size_t i = 0; i < CT_COUNT(types); i++) {
            const carat_convert_options o = {
                .size = sizeof o, .type = types[i], .pure = 1, .threads = 2, .importance = path};
            const carat_status status = carat_convert(m, path_in(dir, "x.gguf"), &o, &err);
            if (status == CARAT_OK) {
                assert_true(largest_of(path_in(dir, "x.gguf"), name) > 0);
                remove(path_in(dir, "x.gguf"));
                continue;
            }
            if (k < USUAL || status != CARAT_E_NUMERIC ||
                !(strstr(err.message, "blk.1.attn_k") || strstr(err.message, "layers.1.self_attn.k_proj")) ||
                !strstr(err.message, ", column ") || access(path_in(dir, "x.gguf"), F_OK) == 0)
                fail_msg("%s, %g: %d, %s", types[i], (double)values[k], status, err.message);
            refused++;
        }
    }
    assert_true(refused > 10);
    carat_model_close(m);
    remove_dir(dir, (const char *const[]){"x.dat", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_forms_say_the_same),
        cmocka_unit_test(older_form_lies),
        cmocka_unit_test(newer_form_lies),
        cmocka_unit_test(experts_are_weighed_apart),
        cmocka_unit_test(counts_are_those_of_experts),
        cmocka_unit_test(large_importance),
    };
    return cmocka_run_group_tests_name("convert: importance", tests, NULL, NULL);
}
