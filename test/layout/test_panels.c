/* SPDX-License-Identifier: Apache-2.0 */
/* test_panels.c: packing loses no bit of any type, writes nothing outside its panel and zeros what a
 * matrix does not have; and single weights lie where panel.h says. Products over panels are compared with
 * ref in kcheck. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "layout/panel.h"

static uint64_t state = 88172645463325252u;
static uint8_t random_byte(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint8_t)(state >> 32);
}

/* What a stored row is after packing: bf16 below 2^-50 has become 0. */
static void flush(enum ct_type type, uint8_t *row, size_t bytes)
{
    for (size_t i = 0; type == CT_BF16 && i < bytes; i += 2)
        if ((ct_le16(row + i) & 0x7fff) < 0x2680)
            memset(row + i, 0, 2);
}

enum { CANARY = 64 };

static void check_shape(enum ct_type type, int rows, int cols)
{
    const struct ct_panel *form = ct_panel_of(type);
    struct ct_weight w = {type, CT_LAYOUT_ROWS, rows, cols, 0, NULL, 1, false, NULL}, packed = w;
    int panels = (rows + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS;

    assert_true(ct_type_row_bytes(type, (size_t)cols, &w.row_bytes));
    packed.layout = CT_LAYOUT_PANELS;
    packed.row_bytes = ct_panel_bytes(form, cols);
    size_t stored_bytes = (size_t)rows * w.row_bytes, bytes = (size_t)panels * packed.row_bytes;
    uint8_t *stored = malloc(stored_bytes + 1), *lines = malloc(bytes + CANARY),
            *row = malloc(w.row_bytes + CANARY);
    assert_true(stored && lines && row);
    for (size_t i = 0; i < stored_bytes; i++)
        stored[1 + i] = random_byte();
    w.data = stored + 1; /* tensors lie anywhere */
    packed.data = lines;
    memset(lines, 0xa5, bytes + CANARY);

    /* last panel first: one that writes into its neighbour is seen */
    for (int p = panels - 1; p >= 0; p--)
        ct_pack(lines + (size_t)p * packed.row_bytes, &w, p * CT_PANEL_ROWS);
    for (int i = 0; i < CANARY; i++)
        assert_int_equal(lines[bytes + (size_t)i], 0xa5);
    for (int r = 0; r < rows; r++) {
        memset(row, 0x5a, w.row_bytes + CANARY);
        ct_unpack(row, &packed, r);
        for (int i = 0; i < CANARY; i++)
            assert_int_equal(row[w.row_bytes + (size_t)i], 0x5a);
        uint8_t *want = stored + 1 + (size_t)r * w.row_bytes;
        flush(type, want, w.row_bytes);
        if (memcmp(row, want, w.row_bytes) != 0)
            fail_msg("%s %dx%d: row %d is not what was stored", ct_type_info(type)->name, rows, cols, r);
    }
    /* A row of zeros in place of the last one leaves the panel as if that row did not exist. */
    if (rows % CT_PANEL_ROWS != 1 && form->lines != CT_LINES_NONE) {
        uint8_t *fewer = calloc(1, packed.row_bytes), *all = lines + (size_t)(panels - 1) * packed.row_bytes;
        struct ct_weight less = w;
        assert_non_null(fewer);
        less.rows = rows - 1;
        ct_pack(fewer, &less, (panels - 1) * CT_PANEL_ROWS);
        size_t differ = 0;
        for (size_t i = 0; i < packed.row_bytes; i++)
            if (fewer[i] != all[i]) {
                assert_int_equal(fewer[i], 0);
                differ++;
            }
        assert_true(differ > 0 && differ <= packed.row_bytes / CT_PANEL_ROWS);
        free(fewer);
    }
    free(stored);
    free(lines);
    free(row);
}

static void packing_loses_nothing(void **unused)
{
    static const int rows[] = {1, 2, 16, 17, 33, 48}, pieces[] = {1, 2, 3, 5};

    (void)unused;
    for (int type = 0; type < CT_TYPE_COUNT; type++) {
        int block = ct_type_info((enum ct_type)type)->block;
        if (ct_panel_of((enum ct_type)type)->lines == CT_LINES_NONE) {
            assert_true(type == CT_NUQ); /* never a weight */
            continue;
        }
        for (size_t r = 0; r < CT_COUNT(rows); r++)
            for (size_t p = 0; p < CT_COUNT(pieces); p++) {
                check_shape((enum ct_type)type, rows[r], block * pieces[p]);
                if (block == 1)
                    check_shape((enum ct_type)type, rows[r], 64 + pieces[p]);
            }
    }
}

/* Panels cost at most 6 % more than the rows of a matrix whose tails fill its chunks. */
static void panels_are_small(void **unused)
{
    (void)unused;
    for (int type = 0; type < CT_TYPE_COUNT; type++) {
        const struct ct_panel *form = ct_panel_of((enum ct_type)type);
        size_t row;
        if (form->lines == CT_LINES_NONE)
            continue;
        assert_true(ct_type_row_bytes((enum ct_type)type, 1024, &row));
        size_t panel = ct_panel_bytes(form, 1024);
        assert_true(panel >= CT_PANEL_ROWS * row);
        assert_true(panel * 100 <= CT_PANEL_ROWS * row * 106);
    }
}

/* Packs one row of zeros but for one byte, and says which bytes of the panel are not 0 (at most 2). */
static int where(enum ct_type type, int cols, size_t at, uint8_t value, size_t found[2], uint8_t is[2])
{
    static uint8_t panel[65536];
    uint8_t *row;
    struct ct_weight w = {type, CT_LAYOUT_ROWS, 3, cols, 0, NULL, 1, false, NULL};
    int n = 0;

    assert_true(ct_type_row_bytes(type, (size_t)cols, &w.row_bytes));
    assert_true(ct_panel_bytes(ct_panel_of(type), cols) <= sizeof panel);
    row = calloc(3, w.row_bytes);
    assert_non_null(row);
    row[2 * w.row_bytes + at] = value; /* row 2 */
    w.data = row;
    ct_pack(panel, &w, 0);
    for (size_t i = 0; i < ct_panel_bytes(ct_panel_of(type), cols); i++)
        if (panel[i]) {
            assert_true(n < 2);
            found[n] = i;
            is[n++] = panel[i];
        }
    free(row);
    return n;
}

static void weights_lie_where_the_layout_says(void **unused)
{
    /* row 2: bytes 8 to 11 of a line. Q4_K: byte 16 + 32 + 5 has k 64 + 5 low and k 96 + 5 high */
    static const struct {
        enum ct_type type;
        int cols;
        size_t at;
        uint8_t value;
        size_t to[2];
        uint8_t is[2];
    } cases[] = {
        /* groups 2 and 3, word 1: the high nibbles of their first lines */
        {CT_Q4_K, 256, 16 + 32 + 5, 0x93, {320 + 64 * 8 + 9, 320 + 64 * 12 + 9}, {0x30, 0x90}},
        /* the second chunk: the fifth bit of k 64 + 32 + 21, byte 1 of word 5, in the last line of its
         * second group */
        {CT_Q5_0, 128, 22 * 3 + 2 + 2, 0x20, {704 + 64 + 64 * 9 + 9}, {0x20}},
        /* the minimum of the second chunk */
        {CT_Q5_1, 64, 24 + 3, 0x3c, {384 + 32 + 5}, {0x3c}},
        /* fifth bits of k 224 + 31 in the last line of group 7 */
        {CT_Q5_K, 256, 16 + 31, 0x80, {320 + 64 * 39 + 11}, {0x80}},
        /* the second block; two high bits of k 128 + 96 + 16: word 4 of group 7 */
        {CT_Q6_K, 512, 210 + 128 + 32 + 16, 0xc0, {3392 + 320 + 64 * (42 + 5) + 8}, {0x03}},
        /* scale 15 of 16: group 7, second half */
        {CT_Q6_K, 256, 192 + 15, 0xfe, {64 + 32 * 7 + 5}, {0xfe}},
        {CT_Q2_K, 256, 80, 0x3c, {4}, {0x3c}},
        {CT_Q2_K, 256, 83, 0x3c, {32 + 5}, {0x3c}},
        /* third group of the second chunk of four */
        {CT_MXFP4, 256, 17 * 6, 0x7f, {1088 + 16 * 2 + 2}, {0x7f}},
        /* the second block: k 64 + 32 + 4 * 5 + 1 and 2, in word 5 of its second group */
        {CT_Q2_0,
         128,
         18 + 2 + 8 + 5,
         0x2c,
         {288 + 32 + 128 + 64 + 9, 288 + 32 + 128 + 64 + 10},
         {0x0c, 0x08}},
        /* words 4 and 5 of the second group, a bit each */
        {CT_Q1_0, 128, 2 + 4 + 2, 0x21, {32 + 64 + 8, 32 + 64 + 9}, {0x10, 0x20}},
        /* the second half of the second group: words 4 and 6 */
        {CT_NVFP4, 64, 4 + 16 + 8 + 3, 0x93, {64 + 256 + 128 + 11, 64 + 256 + 192 + 11}, {0x03, 0x09}},
        /* ninth bits of group 3 of the second block; upper bits of d; the last bytes of digits */
        {CT_IQ3_S, 512, 110 + 66 + 3, 0x81, {1792 + 320 + 208 * 3 + 2}, {0x81}},
        {CT_IQ1_M, 256, 48 + 7, 0xa0, {32 * 3 + 2 * 2 + 1}, {0xa0}},
        {CT_TQ1_0, 256, 48 + 1, 0x05, {64 + 64 * 12 + 8 + 1}, {0x05}},
        {CT_SFP, 64, 37, 0x81, {512 + 64 + 9}, {0x81}},
        {CT_F32, 64, 4 * 33 + 3, 0x3f, {64 * 33 + 11}, {0x3f}},
    };

    (void)unused;
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        size_t found[2] = {0};
        uint8_t is[2] = {0};
        where(cases[i].type, cases[i].cols, cases[i].at, cases[i].value, found, is);
        assert_memory_equal(found, cases[i].to, sizeof found);
        assert_memory_equal(is, cases[i].is, sizeof is);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_loses_nothing),
        cmocka_unit_test(panels_are_small),
        cmocka_unit_test(weights_lie_where_the_layout_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
