/* SPDX-License-Identifier: Apache-2.0 */
/* test_books.c: chunks looked up are what the decoder of quant/ makes of the same blocks, for every entry of
 * every codebook and by every way to look up. Products of them are compared with ref in kcheck. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kernel/books.h"

enum { CHUNKS = 200, ENTRIES = CHUNKS * CT_BOOK_K / 4 * CT_PANEL_ROWS };

static uint64_t state = 88172645463325252u;
static uint8_t random_byte(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint8_t)(state >> 32);
}

static const struct book {
    enum ct_type type;
    int size, entries; /* with an eighth more and less, where a type has them */
} books[] = {
    {CT_IQ2_XXS, 8, 256}, {CT_IQ2_XS, 8, 512}, {CT_IQ2_S, 8, 1024}, {CT_IQ3_XXS, 4, 256},
    {CT_IQ3_S, 4, 512},   {CT_IQ1_S, 8, 4096}, {CT_IQ1_M, 8, 4096}, {CT_TQ1_0, 4, 81},
};

static int compare(const void *a, const void *b)
{
    return memcmp(a, b, 8);
}

/* How many entries that are different there were; those of IQ2 and IQ3 without signs. */
static int count_different(int8_t (*entry)[8], int n)
{
    int different = n > 0;

    qsort(entry, (size_t)n, sizeof *entry, compare);
    for (int i = 1; i < n; i++)
        different += memcmp(entry[i - 1], entry[i], sizeof *entry) != 0;
    return different;
}

/* Compares row r of a chunk, and notes its entries. */
static void check_row(const struct ct_looked_up *looked, int r, const struct book *b, const uint8_t *block,
                      int8_t (*entry)[8])
{
    const struct ct_type_info *info = ct_type_info(b->type);
    const bool has_signs = b->size != 8 || b->entries != 4096;
    struct ct_group g[CT_BOOK_GROUPS];

    info->expand(g, block, CT_BOOK_K);
    for (int k = 0; k < CT_BOOK_K; k++) {
        const struct ct_group *of = &g[k / CT_GROUP];
        const int8_t q = of->q[k % CT_GROUP];
        assert_int_equal(looked->word[k / CT_GROUP][k % CT_GROUP / 4][r][k % 4] - 128, q);
        assert_int_equal(looked->scale[k / CT_GROUP][r][k % CT_GROUP / CT_HALF],
                         info->halves ? of->sc[k % CT_GROUP / CT_HALF] : 1);
        if (of->ws == of->ws || looked->ws[r] == looked->ws[r])
            assert_int_equal(ct_f32_bits(looked->ws[r]), ct_f32_bits(of->ws));
        entry[k / b->size][k % b->size] = b->type != CT_TQ1_0 && has_signs ? (int8_t)abs(q) : q;
    }
}

static void every_entry_is_that_of_the_decoder(void **unused)
{
    (void)unused;
    int8_t(*entry)[8] = malloc(ENTRIES * sizeof *entry);

    assert_non_null(entry);
    for (const struct book *b = books; b < books + CT_COUNT(books); b++) {
        const size_t bytes = (size_t)ct_type_info(b->type)->bytes, size = ct_panel_size(b->type, CT_BOOK_K);
        uint8_t *rows = malloc(CT_PANEL_ROWS * bytes), *chunk = malloc(size);
        int n = 0;

        assert_true(rows && chunk && ct_is_book(b->type));
        memset(entry, 0, ENTRIES * sizeof *entry);
        for (int c = 0; c < CHUNKS; c++) {
            const struct ct_weight w = {b->type, CT_LAYOUT_ROWS, CT_PANEL_ROWS, CT_BOOK_K, bytes, rows,
                                        1,       false,          NULL};
            for (size_t i = 0; i < CT_PANEL_ROWS * bytes; i++)
                rows[i] = random_byte();
            ct_pack(chunk, &w, 0);
            for (int way = 0; way < CT_BOOK_WAYS; way++) {
                struct ct_looked_up looked;
                memset(&looked, 0xa5, sizeof looked);
                ct_book_reader((enum ct_book_way)way)(&looked, b->type, chunk);
                for (int r = 0; r < CT_PANEL_ROWS; r++)
                    check_row(&looked, r, b, rows + (size_t)r * bytes, entry + n + r * CT_BOOK_K / b->size);
            }
            n += CT_PANEL_ROWS * CT_BOOK_K / b->size;
        }
        assert_int_equal(count_different(entry, n), b->entries);
        free(rows);
        free(chunk);
    }
    free(entry);
}

static void other_types_are_no_books(void **unused)
{
    (void)unused;
    for (int type = 0, n = 0; type < CT_TYPE_COUNT; type++) {
        n += ct_is_book((enum ct_type)type);
        if (type == CT_TYPE_COUNT - 1)
            assert_int_equal(n, CT_COUNT(books));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_entry_is_that_of_the_decoder),
        cmocka_unit_test(other_types_are_no_books),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
