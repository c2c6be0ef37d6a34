/* SPDX-License-Identifier: Apache-2.0 */
/* test_few.c: what is read of logits is found among them by every number of threads: the best, equal ones by
 * their ids, those apart with their values, and nothing else; where memory is short, all logits come. Which
 * thread computes what: test_project.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cpu/cpu_backend.h"

enum { COLS = 32, MOST_ROWS = 2501, TOKENS = 11, MOST_APART = 90 };

static uint32_t state_of_random = 7;

static int below(int n)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return (int)((state_of_random >> 8) % (uint32_t)n);
}

static struct ct_backend *open_backend(int threads)
{
    const struct ct_attn attn = {.head_dim = COLS, .rotated = COLS / 2, .rope_base = 10000, .rope_factor = 1};
    const struct ct_backend_options o = {.threads = threads,
                                         .norm_eps = 1e-6f,
                                         .max_input = COLS,
                                         .max_ffn = COLS,
                                         .max_heads = 1,
                                         .max_head_dim = COLS,
                                         .n_vocab = MOST_ROWS,
                                         .attn = {attn, attn}};
    struct ct_backend *b = NULL;

    assert_int_equal(ct_backend_create_cpu(&b, &o, NULL), CARAT_OK);
    ct_cpu(b)->widest[CT_INPUT_F32] = COLS; /* as planned weights say */
    return b;
}

/* Rows that repeat, so that many logits are equal, and some of zeros. */
static struct ct_weight head_of(int rows)
{
    float *data = malloc((size_t)rows * COLS * sizeof *data);

    assert_non_null(data);
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < COLS; c++)
            data[r * COLS + c] = r % 17 == 3  ? 0
                                 : r % 3 == 0 ? data[below(r + 1) * COLS + c] * (float)(r > 0)
                                              : (float)(below(65536) - 32768) / 32768;
    for (int r = 30; r < rows; r += 30)
        memcpy(data + r * COLS, data + (r - 29) * COLS, COLS * sizeof *data);
    return (struct ct_weight){.type = CT_F32,
                              .layout = CT_LAYOUT_ROWS,
                              .rows = rows,
                              .cols = COLS,
                              .row_bytes = COLS * sizeof *data,
                              .scale = 1,
                              .data = data};
}

static bool is_apart(const struct ct_reading *r, int id)
{
    for (int i = 0; i < r->n_apart; i++)
        if (r->apart[i] == id)
            return true;
    return false;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

static void check_found(const struct ct_few *few, const float *x, int rows)
{
    const struct ct_reading *r = few->reading;
    float sorted[MOST_ROWS];
    int n = 0, found = 0,
        equal = r->k; /* of those as good as the last of the best, how many are among them */

    for (int id = 0; id < r->n; id++)
        if (!is_apart(r, id))
            sorted[n++] = x[id];
    qsort(sorted, (size_t)n, sizeof *sorted, by_value);
    const float last = sorted[r->k - 1];
    for (int i = 0; i < n && sorted[i] > last; i++)
        equal--;
    for (int id = 0; id < rows; id++) {
        const bool best = id < r->n && (x[id] > last || (x[id] == last && equal > 0));
        if (!is_apart(r, id) && !best)
            continue;
        equal -= !is_apart(r, id) && x[id] == last;
        assert_true(found < few->logits.n);
        assert_int_equal(few->logits.id[found], id);
        assert_memory_equal(&few->logits.value[found], &x[id], sizeof *x);
        found++;
    }
    assert_int_equal(few->logits.n, found);
}

static void check(struct ct_backend *b, ct_mat in, int rows, int tokens, float cap)
{
    static const int32_t zero[TOKENS];
    static const struct ct_seen seen[TOKENS];
    static bool wanted[TOKENS];
    static float all[TOKENS][MOST_ROWS], found[TOKENS][MOST_ROWS];
    static int32_t apart[TOKENS][MOST_APART];
    struct ct_reading reading[TOKENS];
    struct ct_few few[TOKENS];
    float *to[TOKENS];
    struct ct_weight head = head_of(rows);
    int fit = 0, asked = 0;

    for (int t = 0; t < TOKENS; t++) {
        static const int ks[] = {1, 64, 5};
        wanted[t] = true;
        reading[t] = (struct ct_reading){
            .k = CT_MIN(ks[t % 3], rows / 4), .n = rows - (t % 2 ? 0 : rows / 8), .apart = apart[t]};
        for (int id = below(40); id < rows && reading[t].n_apart < rows / 30; id += 1 + below(40))
            apart[t][reading[t].n_apart++] = id;
        few[t] = (struct ct_few){.reading = t % 4 == 3 ? NULL : &reading[t], .memory = found[t]};
        to[t] = all[t];
        for (int c = 0; c < COLS; c++)
            ct_row(in, t)[c] = t % 5 == 4 ? 0 : (float)(below(65536) - 32768) / 4096; /* all are equal */
    }
    begin_pass(b, &(struct ct_rows){tokens, zero, zero, zero, {seen, seen}, wanted, false},
               &(struct ct_watch){0});
    project_logits(b, in, 0, tokens, to, &head, cap);
    project_few(b, in, 0, tokens, few, &head, cap);
    for (int t = 0; t < tokens; t++) {
        assert_true(b->verb.is_finite(b, t));
        fit += few[t].logits.id != NULL;
        asked += few[t].reading != NULL;
        if (few[t].logits.id)
            check_found(&few[t], all[t], rows);
        else
            assert_memory_equal(few[t].logits.value, all[t], (size_t)rows * sizeof(float));
    }
    assert_true(end_pass(b));
    if (rows > 100 || b->threads > 3)
        assert_int_equal(fit, rows > 100 ? asked : 0);
    free((void *)(uintptr_t)head.data);
}

static void found_by_any_number_of_threads(void **state)
{
    static const int threads[] = {1, 2, 3, 7}, tokens[] = {1, 2, TOKENS}, rows[] = {20, 2000, MOST_ROWS};

    (void)state;
    for (size_t t = 0; t < CT_COUNT(threads); t++) {
        struct ct_backend *b = open_backend(threads[t]);
        ct_mat in = {0};
        for (int turn = 0; turn < 2; turn++) {
            b->verb.lay_out(b, &(struct ct_extent){TOKENS, 256, 1});
            in = b->verb.alloc(b, TOKENS, COLS);
            if (turn == 0)
                assert_int_equal(b->verb.reserve(b, NULL), CARAT_OK);
        }
        for (size_t n = 0; n < CT_COUNT(tokens); n++)
            for (size_t r = 0; r < CT_COUNT(rows); r++)
                check(b, in, rows[r], tokens[n], r == 1 ? 5 : 0);
        b->verb.destroy(b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_by_any_number_of_threads),
    };
    return cmocka_run_group_tests_name("backend: few", tests, NULL, NULL);
}
