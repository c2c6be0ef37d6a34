/* SPDX-License-Identifier: Apache-2.0 */
/* test_expert_palettes.c: palettes of experts, as MODEL.md has them, stand for the values that --expand
 * writes, read here without the library's help; what contradicts itself in such a file is refused by name.
 * That logits are the same: test/cli/convert/test_schemes.sh. */
#include "file/file_build.h"

#include "carat_convert.h"

enum { EXPERTS = 10, FFN = 24, HIDDEN = 48, MOST = 1 << 22 };

static void convert(const char *dir, const char *name, const char *type, int expand)
{
    const carat_convert_options o = {.size = sizeof o, .type = type, .threads = 2, .expand = expand};
    carat_model *m = NULL;
    carat_error err;

    assert_int_equal(carat_model_open(&m, CT_TEST_DATA "/vectors/models/gemma4-moe", NULL, &err), CARAT_OK);
    if (carat_convert(m, path_in(dir, name), &o, &err) != CARAT_OK)
        fail_msg("%s: %s", type, err.message);
    carat_model_close(m);
}

static const struct ct_tensor *find(const struct ct_file *f, const char *name)
{
    const struct ct_tensor *t = ct_file_find(f, name);

    if (!t)
        fail_msg("%s is missing", name);
    return t;
}

/* One tensor of experts: halves matrices of each expert, rows of each. */
static void check_tensor(const struct ct_file *indices, const struct ct_file *values, const char *stem,
                         int halves, int rows, int cols, int bits, int shared)
{
    char name[64];

    snprintf(name, sizeof name, "%s.palette", stem);
    const struct ct_tensor *e = find(indices, name);
    snprintf(name, sizeof name, "%s.index", stem);
    const struct ct_tensor *x = find(indices, name);
    snprintf(name, sizeof name, "%s.weight", stem);
    const struct ct_tensor *w = find(values, name);
    const int groups = (rows + shared - 1) / shared, evenly = (rows + groups - 1) / groups;
    const int64_t entries[] = {EXPERTS, halves * groups, 1 << bits};
    const int64_t index[] = {EXPERTS, halves * rows, cols * bits / 8};

    assert_true(e->n_dim == 3 && x->n_dim == 3 && w->type == CT_F16);
    assert_memory_equal(e->dim, entries, sizeof entries);
    assert_memory_equal(x->dim, index, sizeof index);
    for (int r = 0; r < EXPERTS * halves * rows; r++)
        for (int c = 0; c < cols; c++) {
            int code = 0;
            for (int b = 0; b < bits; b++)
                code |= (x->data[(r * cols * bits / 8) + (c * bits + b) / 8] >> (c * bits + b) % 8 & 1) << b;
            const int group = r / rows * groups + r % rows / evenly;
            assert_memory_equal(w->data + 2 * (r * cols + c), e->data + 2 * ((group << bits) + code), 2);
        }
}

static void indices_stand_for_the_values(void **state)
{
    static const struct {
        const char *type;
        int bits, shared;
    } rows[] = {{"lut4g8", 4, 8}, {"lut3g7", 3, 7}, {"lut2", 2, 48}, {"lut6g4", 6, 4}, {"lut8g1", 8, 1}};
    char *dir = temp_dir();

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        convert(dir, "indices.gguf", rows[i].type, 0);
        convert(dir, "values.gguf", rows[i].type, 1);
        struct ct_file *indices = accept_path(path_in(dir, "indices.gguf"), false);
        struct ct_file *values = accept_path(path_in(dir, "values.gguf"), false);
        for (int layer = 0; layer < 3; layer++) {
            char stem[64];
            snprintf(stem, sizeof stem, "blk.%d.ffn_gate_up_exps", layer);
            check_tensor(indices, values, stem, 2, FFN, HIDDEN, rows[i].bits, rows[i].shared);
            snprintf(stem, sizeof stem, "blk.%d.ffn_down_exps", layer);
            check_tensor(indices, values, stem, 1, HIDDEN, FFN, rows[i].bits, rows[i].shared);
        }
        ct_file_close(indices);
        ct_file_close(values);
    }
    remove_dir(dir, (const char *const[]){"indices.gguf", "values.gguf", NULL});
}

/* ---- lies ---- */

/* Where a tensor is told of: its name. */
static uint8_t *told(uint8_t *file, size_t n, const char *name)
{
    for (size_t i = 0; i + strlen(name) < n; i++)
        if (memcmp(file + i, name, strlen(name)) == 0)
            return file + i;
    fail_msg("%s is not told of", name);
    return NULL;
}

static void refuse(const char *dir, carat_status wanted, const char *text)
{
    carat_model *m = NULL;
    carat_error err = {CARAT_OK, ""};
    const carat_status status = carat_model_open(&m, path_in(dir, "x.gguf"), NULL, &err);

    if (status != wanted || !strstr(err.message, text))
        fail_msg("status %d, \"%s\"; expected \"%s\"", status, err.message, text);
}

/* Of the same number of bytes, so that nothing lies elsewhere. */
static void what_contradicts_itself_is_refused(void **state)
{
#define PALETTE "blk.1.ffn_gate_up_exps.palette"
#define INDEX   "blk.1.ffn_gate_up_exps.index"
    static const struct {
        const char *tensor;
        uint64_t dim[3]; /* the last is the number of experts; 0: as they are */
        const char *name, *text;
    } lies[] = {
        {PALETTE,
         {16, 4, 15},
         NULL,
         "has 60 palettes, which cannot be shared evenly by the 480 rows of " INDEX},
        {PALETTE, {64, 15, 1}, NULL, "has 15 palettes, which cannot be shared evenly"},
        {PALETTE, {64, 1, 15}, NULL, "has 15 palettes, which cannot be shared evenly"},
        {PALETTE, {4, 24, 10}, NULL, INDEX},
        {PALETTE, {8, 12, 10}, NULL, "[10 x 48 x 64], expected [10 x 48 x 48] from the configuration"},
        {PALETTE, {32, 3, 10}, NULL, "expected palettes of 4, 8, 16, 64 or 256 F16 entries"},
        {INDEX, {24, 24, 20}, NULL, "has 60 palettes, which cannot be shared evenly"},
        {INDEX, {1152, 1, 10}, NULL, "cannot be shared evenly by the 10 rows"},
        {INDEX, {48, 24, 10}, NULL, "[10 x 24 x 96], expected [10 x 48 x 48] from the configuration"},
        {INDEX, {0}, "blk.1.ffn_gate_up_exps.indey", INDEX " is missing beside " PALETTE},
        {PALETTE, {0}, "blk.1.ffn_gate_up_exps.palettf", PALETTE " is missing beside " INDEX},
        {"blk.1.ffn_down_exps.index",
         {0},
         "blk.1.ffn_down_exps.indey",
         "blk.1.ffn_down_exps.index is missing"},
    };
    char *dir = temp_dir();
    uint8_t *file = malloc(MOST), *copy = malloc(MOST);

    (void)state;
    assert_non_null(file);
    assert_non_null(copy);
    convert(dir, "x.gguf", "lut4g8", 0);
    FILE *f = fopen(path_in(dir, "x.gguf"), "rb");
    assert_non_null(f);
    const size_t n = fread(file, 1, MOST, f);
    fclose(f);
    for (size_t i = 0; i < CT_COUNT(lies); i++) {
        memcpy(copy, file, n);
        uint8_t *at = told(copy, n, lies[i].tensor);
        if (lies[i].name)
            memcpy(at, lies[i].name, strlen(lies[i].name));
        if (lies[i].dim[0])
            memcpy(at + strlen(lies[i].tensor) + 4, lies[i].dim, sizeof lies[i].dim);
        write_file(dir, "x.gguf", copy, n);
        refuse(dir, CARAT_E_FORMAT, lies[i].text);
    }
    write_file(dir, "x.gguf", file, n);
    struct ct_file *good = accept_path(path_in(dir, "x.gguf"), false);
    const struct ct_tensor *t = find(good, PALETTE);
    memcpy(copy, file, n);
    memcpy(copy + t->offset + t->size - 2, &(uint16_t){0x7c00}, 2); /* the last entry of the last up */
    ct_file_close(good);
    write_file(dir, "x.gguf", copy, n);
    refuse(dir, CARAT_E_FORMAT, "expected a finite entry of palette 59");
    /* ten palettes of eight entries in place of twenty of four: less than one for each gate and up */
    convert(dir, "x.gguf", "lut2", 0);
    f = fopen(path_in(dir, "x.gguf"), "rb");
    assert_non_null(f);
    const size_t fewer = fread(copy, 1, MOST, f);
    fclose(f);
    memcpy(told(copy, fewer, PALETTE) + strlen(PALETTE) + 4, (const uint64_t[]){8, 1, 10}, 24);
    write_file(dir, "x.gguf", copy, fewer);
    refuse(dir, CARAT_E_FORMAT, "has 10 palettes, which cannot be shared evenly");
    free(file);
    free(copy);
    remove_dir(dir, (const char *const[]){"x.gguf", NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_stand_for_the_values),
        cmocka_unit_test(what_contradicts_itself_is_refused),
    };
    return cmocka_run_group_tests_name("convert: palettes of experts", tests, NULL, NULL);
}
