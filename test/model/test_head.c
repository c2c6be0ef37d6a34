/* SPDX-License-Identifier: Apache-2.0 */
/* test_head.c: a pruned head gives what the full head gives: among the ids that it lists are the k best, and
 * every listed logit has dense's bits; whatever the type, the rows, ties, caps and ids that stand apart.
 * Values that are no numbers are found where dense finds them. The bounds themselves: test_head_bound.c. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/head.h"
#include "quant/encode.h"

enum { COLS = 128, MOST_ROWS = 3000, ROWS = 9 };

static uint32_t state_of_random = 1;

static float random_value(void)
{
    state_of_random = state_of_random * 1664525u + 1013904223u;
    return (float)(int32_t)(state_of_random >> 8 & 0xffff) / 32768 - 1;
}

/* A head, dense and pruned, over hidden states of some rows. */
struct rig {
    struct ct_backend *b;
    struct ct_config config;
    struct ct_pass pass;
    struct ct_head dense, pruned;
    struct ct_weights weights;
    struct ct_weight packed;
    uint8_t *stored;
    float *values; /* [rows][COLS] as they were before they were stored */
};

static void store_row(struct rig *r, int row)
{
    const struct ct_weight *w = &r->weights.head;
    uint8_t *to = r->stored + (size_t)row * w->row_bytes;
    const float *from = r->values + (size_t)row * COLS;

    if (w->type == CT_F32)
        memcpy(to, from, w->row_bytes);
    else if (ct_encodes(w->type))
        ct_encode(w->type, to, from, COLS);
    else
        for (int i = 0; i < COLS; i++) {
            uint32_t u;
            memcpy(&u, from + i, sizeof u);
            uint16_t v = w->type == CT_BF16 ? (uint16_t)(u >> 16) : ct_f32_to_f16(from[i]);
            memcpy(to + 2 * i, &v, sizeof v);
        }
}

/* Packs what is stored, and makes the sketch. */
static void rig_load(struct rig *r)
{
    carat_error err;

    for (int i = 0; i < r->weights.head.rows; i++)
        store_row(r, i);
    r->b->verb.load_begin(r->b, NULL, NULL);
    r->packed = r->b->verb.pack_weight(r->b, r->weights.head);
    assert_int_equal(ct_head_load(&r->dense, &r->packed, &err), CARAT_OK);
    assert_int_equal(ct_head_load(&r->pruned, &r->packed, &err), CARAT_OK);
    assert_true(r->b->verb.load_end(r->b));
}

static void drop(void *user, const void *p, size_t bytes)
{
    (void)user, (void)p, (void)bytes;
}

static void rig_open(struct rig *r, enum ct_type type, int rows, float cap, int threads, const char *isa)
{
    const struct ct_attn attn = {.head_dim = COLS, .rotated = COLS / 2, .rope_base = 10000, .rope_factor = 1};
    const struct ct_backend_options o = {.isa = isa,
                                         .threads = threads,
                                         .norm_eps = 1e-6f,
                                         .max_input = COLS,
                                         .max_ffn = 2048,
                                         .max_heads = 1,
                                         .max_head_dim = COLS,
                                         .n_vocab = rows,
                                         .attn = {attn, attn},
                                         .done_with = drop};
    carat_head_options prunes = {.size = sizeof prunes, .strategy = CARAT_HEAD_EXACT_PRUNED};
    carat_error err;

    *r = (struct rig){.config = {.hidden = COLS, .n_vocab = rows, .logit_cap = cap}};
    r->weights.head = (struct ct_weight){.type = type, .rows = rows, .cols = COLS, .scale = 1};
    assert_true(ct_type_row_bytes(type, COLS, &r->weights.head.row_bytes));
    r->stored = aligned_alloc(64, ct_round_up((size_t)rows * r->weights.head.row_bytes, 64));
    r->values = malloc((size_t)rows * COLS * sizeof *r->values);
    assert_true(r->stored && r->values);
    r->weights.head.data = r->stored;
    for (int i = 0; i < rows * COLS; i++)
        r->values[i] = random_value();
    assert_int_equal(ct_backend_create_cpu(&r->b, &o, &err), CARAT_OK);
    assert_int_equal(r->b->verb.plan_weight(r->b, &r->weights.head, &err), CARAT_OK);
    assert_int_equal(ct_head_plan(&r->dense, NULL, r->b, &r->weights, NULL, false, &err), CARAT_OK);
    assert_int_equal(ct_head_plan(&r->pruned, &prunes, r->b, &r->weights, NULL, false, &err), CARAT_OK);
    for (int reserved = 0; reserved <= 1; reserved++) {
        r->b->verb.lay_out(r->b, &(struct ct_extent){ROWS, 256, 1});
        r->pass.h = r->b->verb.alloc(r->b, ROWS, COLS);
        ct_head_lay_out(&r->dense, ROWS);
        ct_head_lay_out(&r->pruned, ROWS);
        if (!reserved)
            assert_int_equal(r->b->verb.reserve(r->b, &err), CARAT_OK);
    }
    r->pass.backend = r->b;
    r->pass.config = &r->config;
    r->pass.weights = &r->weights;
}

static void rig_close(struct rig *r)
{
    ct_head_end(&r->dense);
    ct_head_end(&r->pruned);
    r->b->verb.destroy(r->b);
    free(r->stored);
    free(r->values);
}

static const struct ct_logits *sorted_by;
static int compare_places(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    float u = sorted_by->value[x], v = sorted_by->value[y];
    return u != v ? u > v ? -1 : 1 : (x > y) - (x < y);
}

static bool stands_apart(const struct ct_reading *r, int32_t id)
{
    for (int i = 0; i < r->n_apart; i++)
        if (r->apart[i] == id)
            return true;
    return false;
}

static int place_of(const struct ct_logits *l, int32_t id)
{
    for (int i = 0; i < l->n; i++)
        if (ct_logits_id(l, i) == id)
            return i;
    return -1;
}

/* What is listed has dense's bits, and it has all that is read. */
static void check_row(const struct ct_logits *all, const struct ct_logits *some, const struct ct_reading *r)
{
    int32_t order[MOST_ROWS];
    int kept = 0;

    for (int i = 0; i < some->n; i++) {
        assert_true(i == 0 || ct_logits_id(some, i) > ct_logits_id(some, i - 1));
        assert_memory_equal(&some->value[i], &all->value[ct_logits_id(some, i)], sizeof(float));
    }
    for (int i = 0; i < r->n_apart; i++)
        assert_true(place_of(some, r->apart[i]) >= 0);
    for (int i = 0; i < all->n; i++)
        order[i] = i;
    sorted_by = all;
    qsort(order, (size_t)all->n, sizeof *order, compare_places);
    for (int i = 0; i < all->n && kept < r->k; i++) {
        if (order[i] >= r->n || stands_apart(r, order[i]))
            continue;
        assert_true(place_of(some, order[i]) >= 0);
        kept++;
    }
}

struct both {
    float all[ROWS][MOST_ROWS], some[ROWS][MOST_ROWS];
};

/* Rows of hidden states by dense and by pruned; returns whether every row was finite, which both must say. */
static bool run_both(struct rig *r, float (*hidden)[COLS], int n, const struct ct_reading *reading)
{
    static const int32_t zero[ROWS];
    static const struct ct_seen seen[ROWS];
    static struct both to;
    bool wanted[ROWS], finite[ROWS];
    struct ct_head_row all[ROWS], some[ROWS];
    const struct ct_rows rows = {n, zero, zero, zero, {seen, seen}, wanted, true};
    bool good = true;

    for (int i = 0; i < n; i++) {
        wanted[i] = true;
        all[i] = (struct ct_head_row){.memory = to.all[i]};
        some[i] = (struct ct_head_row){.reading = &reading[i], .memory = to.some[i]};
    }
    for (int pruned = 0; pruned <= 1; pruned++) {
        begin_pass(r->b, &rows, &(struct ct_watch){0});
        for (int i = 0; i < n; i++)
            r->b->verb.copy_in(r->b, r->pass.h, i, hidden[i]);
        ct_head_rows(pruned ? &r->pruned : &r->dense, &r->pass, 0, n, pruned ? some : all);
        for (int i = 0; i < n; i++) {
            if (pruned)
                assert_int_equal(r->b->verb.is_finite(r->b, i), finite[i]);
            finite[i] = r->b->verb.is_finite(r->b, i);
            good &= finite[i];
        }
        assert_true(end_pass(r->b));
    }
    for (int i = 0; i < n; i++)
        if (finite[i])
            check_row(&all[i].logits, &some[i].logits, &reading[i]);
    return good;
}

static void random_hidden(float (*hidden)[COLS], int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < COLS; j++)
            hidden[i][j] = random_value() * 4;
}

static void every_type_level_and_batch(void **state)
{
    static const enum ct_type types[] = {CT_F32, CT_F16, CT_BF16, CT_Q8_0};
    static const char *const levels[] = {NULL, "ref", "avx2"};
    static const int ks[] = {1, 4, 16, 64}, sizes[] = {1000, MOST_ROWS, 40, 17};
    float hidden[ROWS][COLS];
    struct ct_reading reading[ROWS];
    static const int32_t apart[] = {0, 3, 500, 501, 502, 999};

    (void)state;
    for (size_t t = 0; t < CT_COUNT(types); t++)
        for (size_t l = 0; l < CT_COUNT(levels); l++)
            for (size_t s = 0; s < CT_COUNT(sizes); s++) {
                struct rig r;
                struct ct_backend *known = NULL;
                if (levels[l] && ct_backend_create_cpu(&known, &(struct ct_backend_options){.isa = levels[l]},
                                                       NULL) != CARAT_OK)
                    continue; /* another architecture */
                if (known)
                    known->verb.destroy(known);
                rig_open(&r, types[t], sizes[s], s % 2 ? 30 : 0, 1 + (int)(t % 3), levels[l]);
                rig_load(&r);
                for (int n = 1; n <= ROWS; n += n > 2 ? 3 : 1) {
                    random_hidden(hidden, n);
                    for (int i = 0; i < n; i++)
                        reading[i] = (struct ct_reading){.k = CT_MIN(ks[(i + n) % 4], sizes[s]),
                                                         .n = sizes[s] - i % 2 * 7,
                                                         .apart = apart,
                                                         .n_apart = sizes[s] < 1000 ? i % 2 : i % 7};
                    if (n == 6)
                        reading[3] = (struct ct_reading){.n = sizes[s]}; /* all logits, between the others */
                    assert_true(run_both(&r, hidden, n, reading));
                }
                rig_close(&r);
            }
}

/* Rows that are equal, or nearly, stay together: ties go to the lowest id, also at the bar. */
static void ties_stay(void **state)
{
    float hidden[1][COLS];
    struct rig r;

    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        rig_open(&r, kind % 2 ? CT_BF16 : CT_Q8_0, 1024, kind == 3 ? 1e-3f : 0, 2, NULL);
        for (int i = 0; i < 1024; i++) {
            float *row = r.values + (size_t)i * COLS;
            if (kind == 0 || (kind == 1 && i % 5 == 0))
                memcpy(row, r.values, COLS * sizeof *row); /* all the same; a fifth of them */
            if (kind == 2) {
                memcpy(row, r.values, COLS * sizeof *row);
                row[i % COLS] += i % 3 ? 0 : 0.01f; /* but for a code */
            }
        }
        rig_load(&r);
        for (int k = 1; k <= 300; k += 13) {
            random_hidden(hidden, 1);
            assert_true(run_both(&r, hidden, 1, &(struct ct_reading){.k = k, .n = 1024}));
        }
        rig_close(&r);
    }
}

/* The ids that would make the bar are banned: then others do. */
static void what_stands_apart_makes_no_bar(void **state)
{
    float hidden[1][COLS];
    int32_t apart[64];
    struct rig r;

    (void)state;
    rig_open(&r, CT_Q8_0, 2048, 0, 2, NULL);
    for (int i = 0; i < 64; i++) {
        apart[i] = 16 * i + 3;
        for (int j = 0; j < COLS; j++)
            r.values[(size_t)apart[i] * COLS + (size_t)j] *= 8; /* by far the best and the worst */
    }
    rig_load(&r);
    for (int i = 0; i < 20; i++) {
        random_hidden(hidden, 1);
        assert_true(run_both(&r, hidden, 1,
                             &(struct ct_reading){.k = 1 + i * 3, .n = 2048, .apart = apart, .n_apart = 64}));
    }
    rig_close(&r);
}

/* Rows whose sketch lacks a little, and hidden states that int8 has: bounds are narrow, so that few rows are
 * finished beside those that must be, but the best by score are not the best. In pairs two rows have the same
 * sketch, and little is between them. */
static void make_sharp(struct rig *r, bool pairs)
{
    const int n = r->weights.head.rows * COLS;

    for (int i = 0; i < n; i++)
        r->values[i] = pairs && i >= n / 2 ? floorf(r->values[i - n / 2] + 0.5f)
                       : i % 32            ? floorf(random_value() * 8)
                                           : -8;
    for (int i = 0; i < n; i++)
        r->values[i] += i % 32 ? random_value() * (pairs ? 0.02f : 0.3f) : 0;
}

static void sharp_hidden(float (*hidden)[COLS], int n)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < COLS; j++)
            hidden[i][j] = (j % 32 ? floorf(random_value() * 127) : 127) * 0x1p-10f;
}

static int compare_ids(const void *a, const void *b)
{
    return (*(const int32_t *)a > *(const int32_t *)b) - (*(const int32_t *)a < *(const int32_t *)b);
}

/* Bans and the end of the text decide which ids count; each row of a batch has a bar of its own. */
static void only_what_counts_makes_the_bar(void **state)
{
    enum { IDS = 2048, BEST = 40 };
    static const enum ct_type types[] = {CT_F32, CT_BF16, CT_F16};
    float hidden[ROWS][COLS];
    struct rig r;

    (void)state;
    for (size_t t = 0; t < CT_COUNT(types); t++)
        for (int trial = 0; trial < 24; trial++) {
            int32_t apart[ROWS][BEST];
            struct ct_reading reading[ROWS];
            static float dense[MOST_ROWS];
            rig_open(&r, types[t], IDS, trial % 3 ? 0 : 30, 1, NULL);
            make_sharp(&r, trial % 2);
            rig_load(&r);
            sharp_hidden(hidden, ROWS);
            for (int i = 0; i < ROWS; i++) {
                int32_t order[IDS];
                struct ct_logits l = {dense, NULL, IDS};
                for (int row = 0; row < IDS; row++) { /* near enough to know which are best */
                    dense[row] = 0;
                    for (int j = 0; j < COLS; j++)
                        dense[row] += hidden[i][j] * r.values[(size_t)row * COLS + (size_t)j];
                    order[row] = row;
                }
                sorted_by = &l;
                qsort(order, IDS, sizeof *order, compare_places);
                memcpy(apart[i], order, sizeof apart[i]);
                qsort(apart[i], BEST, sizeof **apart, compare_ids);
                reading[i] = (struct ct_reading){.k = 1 + i * 2, .n = IDS, .apart = apart[i]};
                reading[i].n_apart = trial / 2 % 2 ? BEST : 0;
                if (trial / 4 % 2) { /* the best id is just beyond, beside one that is computed in any case */
                    reading[i].n = CT_MAX(order[0], 1);
                    apart[i][0] = reading[i].n - 1;
                    reading[i].n_apart = 1;
                }
                if (trial % 4 == 0 && i == 4)
                    reading[i].n = 5; /* fewer ids than are read */
            }
            assert_true(run_both(&r, hidden, 1 + trial * 5 % ROWS, reading));
            rig_close(&r);
        }
}

/* Below 0 a soft-cap raises logits: who takes the bar for a logit without a cap leaves out what is better. */
static void the_bar_is_taken_below_the_cap(void **state)
{
    float hidden[1][COLS], base[COLS];
    struct rig r;

    (void)state;
    for (int trial = 0; trial < 20; trial++) {
        rig_open(&r, CT_BF16, 1024, 30, 1, NULL);
        for (int j = 0; j < COLS; j++)
            base[j] = 1 + random_value() / 2;
        for (int i = 0; i < 1024; i++)
            for (int j = 0; j < COLS; j++)
                r.values[(size_t)i * COLS + (size_t)j] = base[j] + random_value() * 0.02f;
        rig_load(&r);
        for (int j = 0; j < COLS; j++)
            hidden[0][j] = -0.17f * base[j]; /* logits of about -20 */
        assert_true(run_both(&r, hidden, 1, &(struct ct_reading){.k = 1 + trial % 3, .n = 1024}));
        rig_close(&r);
    }
}

/* NaN and infinity in a row, a scale or the hidden state, in whatever row, are seen as dense sees them. */
static void what_is_no_number_is_found(void **state)
{
    static const float bad[] = {NAN, INFINITY, -INFINITY};
    static const enum ct_type types[] = {CT_F32, CT_BF16, CT_Q8_0};
    float hidden[1][COLS];
    const struct ct_reading reading = {.k = 1, .n = 512};

    (void)state;
    for (size_t t = 0; t < CT_COUNT(types); t++)
        for (size_t i = 0; i < CT_COUNT(bad); i++) {
            struct rig r;
            rig_open(&r, types[t], 512, 0, 1, NULL);
            r.values[(size_t)(i * 150 + 7) * COLS + 5] = bad[i];
            rig_load(&r);
            random_hidden(hidden, 1);
            assert_false(run_both(&r, hidden, 1, &reading));
            rig_close(&r);
            rig_open(&r, types[t], 512, 0, 1, NULL);
            rig_load(&r);
            hidden[0][9] = bad[i];
            assert_false(run_both(&r, hidden, 1, &reading));
            hidden[0][9] = 0;
            assert_true(run_both(&r, hidden, 1, &reading));
            rig_close(&r);
        }
}

/* With rows that differ in length, as trained ones do, hardly any is finished. */
static void few_rows_are_finished(void **state)
{
    float hidden[1][COLS];
    struct rig r;

    (void)state;
    rig_open(&r, CT_BF16, MOST_ROWS, 0, 2, NULL);
    for (int i = 0; i < MOST_ROWS; i++)
        for (int j = 0; j < COLS; j++)
            r.values[(size_t)i * COLS + (size_t)j] *= i % 100 ? 0.05f : 2;
    rig_load(&r);
    for (int i = 0; i < 50; i++) {
        random_hidden(hidden, 1);
        assert_true(run_both(&r, hidden, 1, &(struct ct_reading){.k = 1, .n = MOST_ROWS}));
    }
    assert_true(r.pruned.stats.panels_finished < 50 * 40);
    assert_true(r.pruned.stats.bytes < r.pruned.stats.dense_bytes / 2);
    assert_int_equal(r.pruned.stats.fallbacks, 0);
    rig_close(&r);
}

static void what_cannot_be_pruned_is_refused(void **state)
{
    static const enum ct_type types[] = {CT_Q4_0,    CT_Q5_0,   CT_Q2_K,   CT_MXFP4, CT_I8,
                                         CT_IQ2_XXS, CT_IQ2_XS, CT_IQ2_S,  CT_IQ3_S, CT_IQ3_XXS,
                                         CT_IQ1_S,   CT_IQ1_M,  CT_TQ1_0,  CT_TQ2_0, CT_Q1_0,
                                         CT_Q2_0,    CT_NVFP4,  CT_IQ4_NL, CT_IQ4_XS};

    (void)state;
    for (size_t i = 0; i < CT_COUNT(types); i++) {
        struct ct_weights w = {.head = {.type = types[i], .rows = 512, .cols = 256, .scale = 1}};
        const carat_head_options o = {.size = sizeof o, .strategy = CARAT_HEAD_EXACT_PRUNED};
        struct ct_head h;
        carat_error err = {0};
        assert_int_equal(ct_head_plan(&h, &o, NULL, &w, NULL, false, &err), CARAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, ct_type_info(types[i])->name));
        assert_true(types[i] == CT_I8 || strstr(err.message, ": a head of so few bits has nothing to save"));
        ct_head_end(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_level_and_batch),     cmocka_unit_test(ties_stay),
        cmocka_unit_test(only_what_counts_makes_the_bar), cmocka_unit_test(the_bar_is_taken_below_the_cap),
        cmocka_unit_test(what_stands_apart_makes_no_bar), cmocka_unit_test(what_is_no_number_is_found),
        cmocka_unit_test(few_rows_are_finished),          cmocka_unit_test(what_cannot_be_pruned_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
