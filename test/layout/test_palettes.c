/* SPDX-License-Identifier: Apache-2.0 */
/* test_palettes.c: a matrix of indices is packed, and unpacked, as the same values in rows of F16 are, for
 * all numbers of bits, groups and widths, and for parts of it; or lies in panels of indices. Files with such:
 * test/model/test_palette.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "layout/pack_weight.h"
#include "quant/palette.h"

static uint64_t state = 88172645463325252u;
static uint32_t below(uint32_t n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % n;
}

struct matrix {
    struct ct_palettes p;
    struct ct_weight plain, indices;
    uint16_t *entry, *value;
    uint8_t *index;
};

static struct matrix build(int rows, int cols, int bits, int shared)
{
    const size_t row = ct_palette_row_bytes(bits, cols), n = (size_t)rows * (size_t)cols;
    const int entries = (rows + shared - 1) / shared << bits;
    struct matrix m = {.entry = malloc((size_t)entries * sizeof *m.entry),
                       .value = malloc(n * sizeof *m.value),
                       .index = calloc((size_t)rows, row)};

    assert_true(m.entry && m.value && m.index);
    for (int i = 0; i < entries; i++)
        m.entry[i] = (uint16_t)below(0x10000);
    for (size_t i = 0; i < n; i++) {
        const size_t r = i / (size_t)cols, at = i % (size_t)cols * (size_t)bits;
        const uint32_t code = below(1u << bits);
        m.value[i] = m.entry[(r / (size_t)shared << bits) + code];
        for (size_t b = 0; b < (size_t)bits; b++)
            m.index[r * row + (at + b) / 8] |= (uint8_t)((code >> b & 1) << (at + b) % 8);
    }
    m.p = (struct ct_palettes){m.entry, m.index, bits, shared};
    m.plain = (struct ct_weight){.type = CT_F16,
                                 .layout = CT_LAYOUT_ROWS,
                                 .rows = rows,
                                 .cols = cols,
                                 .row_bytes = (size_t)cols * sizeof *m.value,
                                 .data = m.value,
                                 .scale = 1};
    m.indices = m.plain;
    m.indices.layout = CT_LAYOUT_PALETTE;
    m.indices.row_bytes = row;
    m.indices.data = m.index;
    return m;
}

/* Rows one after another, as they are packed into `form`. */
static uint8_t *packed(const struct ct_weight *w, struct ct_weight form)
{
    uint8_t *to = malloc(ct_weight_bytes(&form));
    struct ct_packing p = {.from = w, .form = form, .to = to};

    assert_non_null(to);
    for (int i = 0; i < ct_packing_items(&p); i++)
        ct_pack_item(&p, i, 0);
    return to;
}

static int n_indices;

static void check_part(struct matrix *m, int r0, int r1)
{
    struct ct_weight plain = ct_weight_rows(&m->plain, r0, r1), w = ct_weight_rows(&m->indices, r0, r1);
    uint8_t *row = malloc(plain.row_bytes + 1), *rows = packed(&w, plain);
    struct ct_weight panels = ct_packed_form(&plain), form = ct_packed_form(&w);

    panels.layout = CT_LAYOUT_PANELS; /* also of a single row */
    panels.row_bytes = ct_panel_size(CT_F16, w.cols);
    uint8_t *wanted = malloc(ct_weight_bytes(&panels)), *made = packed(&w, form);
    assert_true(row && wanted && form.type == CT_F16 && !form.data && !form.palettes);
    for (int i = 0; i < ct_weight_pieces(&panels); i++)
        ct_pack(wanted + (size_t)i * panels.row_bytes, &plain, i * CT_PANEL_ROWS);
    const int shared = m->p.shared;
    bool fits = m->p.bits <= 4;
    for (int r = 0; r < w.rows; r++) /* with the first of its four */
        fits = fits && (r0 + r) / shared == (r0 + r / 4 * 4) / shared;
    if (form.layout == CT_LAYOUT_NIBBLES) {
        assert_true(m->p.bits <= 4 && form.row_bytes == ct_palette_panel_bytes(w.cols));
        form.data = made;
        for (int r = 0; r < w.rows && fits; r++) {
            ct_unpack(row, &form, r);
            assert_memory_equal(row, (const uint8_t *)plain.data + (size_t)r * plain.row_bytes,
                                plain.row_bytes);
        }
        n_indices++;
        assert_true(fits);
    } else {
        assert_true(form.layout == CT_LAYOUT_PANELS && form.row_bytes == panels.row_bytes);
        assert_memory_equal(made, wanted, ct_weight_bytes(&panels));
        assert_false(fits && shared % 4 == 0 && r0 % 4 == 0);
    }
    assert_memory_equal(rows, plain.data, ct_weight_bytes(&plain));
    for (int r = 0; r < w.rows; r++) {
        row[plain.row_bytes] = 0x5a;
        ct_unpack(row, &w, r);
        assert_memory_equal(row, (const uint8_t *)plain.data + (size_t)r * plain.row_bytes, plain.row_bytes);
        assert_int_equal(row[plain.row_bytes], 0x5a);
    }
    free(row);
    free(rows);
    free(wanted);
    free(made);
}

static void packed_as_values(void **unused)
{
    static const int bits[] = {2, 3, 4, 6, 8}, cols[] = {1, 33, 96, 256, 257, 600}, rows[] = {1, 16, 37};
    static const int shared[] = {1, 3, 4, 8, 16, 24, 64};

    (void)unused;
    for (size_t i = 0; i < CT_COUNT(bits) * CT_COUNT(cols) * CT_COUNT(rows) * CT_COUNT(shared); i++) {
        const size_t c = i / CT_COUNT(bits), r = c / CT_COUNT(cols), s = r / CT_COUNT(rows);
        const int n = rows[r % CT_COUNT(rows)];
        struct matrix m =
            build(n, cols[c % CT_COUNT(cols)], bits[i % CT_COUNT(bits)], shared[s % CT_COUNT(shared)]);
        m.indices.palettes = &m.p;
        check_part(&m, 0, n);
        check_part(&m, n / 3, n);
        check_part(&m, n / 2, n / 2 + 1);
        free(m.entry);
        free(m.value);
        free(m.index);
    }
    assert_true(n_indices > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_as_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
