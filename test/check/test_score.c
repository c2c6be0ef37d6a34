/* SPDX-License-Identifier: Apache-2.0 */
/* test_score.c: the metrics of rows of logits (NUMERICS.md section 13) against long double and sorting, their
 * edges, and that both compilations give the same bits. exp and log in double are left to test_math_double.c,
 * numbers of numpy and scipy to test/check/test_difference.c. */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "check/score.h"

extern const struct ct_score ct_score_ref;

enum { MOST = 262144 };
static float *ref_row, *test_row; /* [MOST] */

/* ---- rows ---- */

static uint32_t seed;

static double uniform(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) * 0x1p-24;
}

/* Bell-shaped, and a test that is `apart` from it; a few are far above the rest. */
static void make_rows(int n, double width, double apart)
{
    for (int i = 0; i < n; i++) {
        double bell = uniform() + uniform() + uniform() + uniform() - 2;
        ref_row[i] = (float)(width * bell + (uniform() < 0.001 ? 3 * width : 0));
        test_row[i] = (float)(ref_row[i] + apart * (uniform() - 0.5));
    }
}

/* ---- the same in long double ---- */

static long double log_sum(const float *x, int n, long double *top)
{
    long double sum = 0;
    *top = x[0];
    for (int i = 1; i < n; i++)
        *top = fmaxl(*top, x[i]);
    for (int i = 0; i < n; i++)
        sum += expl(x[i] - *top);
    return logl(sum);
}

static long double log_softmax(const float *x, int i, long double top, long double sum)
{
    return x[i] - top - sum;
}

static const float *sorted_row;

static int by_logit(const void *a, const void *b)
{
    int i = *(const int *)a, j = *(const int *)b;
    float x = sorted_row[i], y = sorted_row[j];
    return x != y ? (x < y) - (x > y) : (i > j) - (i < j);
}

static int *sorted(const float *x, int n)
{
    int *order = malloc((size_t)n * sizeof *order);
    for (int i = 0; i < n; i++)
        order[i] = i;
    sorted_row = x;
    qsort(order, (size_t)n, sizeof *order, by_logit);
    return order;
}

static int best_of(const float *x, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

static long double pearson(const float *a, const float *b, int n, int centred)
{
    long double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < n && centred; i++) {
        ma += a[i];
        mb += b[i];
    }
    ma /= n, mb /= n;
    for (int i = 0; i < n; i++) {
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
        ab += (a[i] - ma) * (b[i] - mb);
    }
    return ab / sqrtl(aa) / sqrtl(bb);
}

static void near(double got, long double right, const char *what)
{
    if (!(fabsl(got - right) <= 1e-13L + 1e-12L * fabsl(right)))
        fail_msg("%s is %.17g, expected %.17Lg", what, got, right);
}

static void check_pair(const struct ct_score *score, int n, int next, int top)
{
    const float *a = ref_row, *b = test_row;
    struct ct_score_pair p;
    long double top_a, top_b, sum_a = log_sum(a, n, &top_a), sum_b = log_sum(b, n, &top_b);
    long double kl = 0, kl_reverse = 0, entropy_a = 0, entropy_b = 0, largest = 0;
    int *order_a = sorted(a, n), *order_b = sorted(b, n), overlap = 0;

    score->pair(&p, a, b, n, next, top);
    for (int i = 0; i < n; i++) {
        long double la = log_softmax(a, i, top_a, sum_a), lb = log_softmax(b, i, top_b, sum_b);
        kl += expl(la) * (la - lb);
        kl_reverse += expl(lb) * (lb - la);
        entropy_a -= expl(la) * la;
        entropy_b -= expl(lb) * lb;
    }
    for (int i = 0; i < top && i < n; i++)
        for (int j = 0; j < top && j < n; j++)
            overlap += order_a[i] == order_b[j];
    for (int i = 0; i < 100 && i < n; i++)
        largest = fmaxl(largest, fabsl((long double)a[order_a[i]] - b[order_a[i]]));
    assert_int_equal(p.wrong, CT_SCORE_BOTH_FINITE);
    assert_int_equal(p.best_ref, order_a[0]);
    assert_int_equal(p.best_test, order_b[0]);
    assert_int_equal(p.overlap, overlap);
    near(p.margin_ref, (long double)a[order_a[0]] - a[order_a[1]], "margin of ref");
    near(p.margin_test, (long double)b[order_b[0]] - b[order_b[1]], "margin of test");
    near(p.largest, largest, "largest");
    near(p.kl, kl, "kl");
    near(p.kl_reverse, kl_reverse, "kl_reverse");
    near(p.entropy_ref, entropy_a, "entropy of ref");
    near(p.entropy_test, entropy_b, "entropy of test");
    near(p.correlation, pearson(a, b, n, 1), "correlation");
    near(p.cosine, pearson(a, b, n, 0), "cosine");
    near(p.logprob_ref, next < 0 ? 0 : log_softmax(a, next, top_a, sum_a), "logprob of ref");
    near(p.logprob_test, next < 0 ? 0 : log_softmax(b, next, top_b, sum_b), "logprob of test");
    near(p.delta_p,
         next < 0 ? 0 : expl(log_softmax(b, next, top_b, sum_b)) - expl(log_softmax(a, next, top_a, sum_a)),
         "delta_p");

    struct ct_score_row row, again;
    score->row(&row, a, n);
    assert_int_equal(row.wrong_column, -1);
    assert_true(row.top == (double)top_a);
    near(row.log_sum, sum_a, "log_sum");
    near(row.entropy, entropy_a, "entropy of a row");
    if (next >= 0)
        near(ct_score_logprob(&row, a[next]), log_softmax(a, next, top_a, sum_a), "logprob of a row");

    struct ct_score_pair same;
    ct_score_ref.pair(&same, a, b, n, next, top);
    assert_memory_equal(&same, &p, sizeof p);
    ct_score_ref.row(&again, a, n);
    assert_memory_equal(&again, &row, sizeof row);
    free(order_a);
    free(order_b);
}

static void test_pairs(void **unused)
{
    static const int n[] = {2, 3, 31, 32, 33, 64, 100, 101, 133, 1000, 2048, 5003};
    static const double width[] = {0.01, 1, 8, 300}, apart[] = {0.001, 0.3, 5, 900};
    const struct ct_score *score = ct_score();

    (void)unused;
    seed = 1;
    for (size_t i = 0; i < CT_COUNT(n); i++)
        for (size_t w = 0; w < CT_COUNT(width); w++)
            for (size_t d = 0; d < CT_COUNT(apart); d++) {
                make_rows(n[i], width[w], apart[d]);
                check_pair(score, n[i], (int)(i + w + d) % 3 == 2 ? -1 : (int)(uniform() * n[i]),
                           d == 0   ? 1
                           : d == 1 ? 10
                           : d == 2 ? 100
                                    : 1024);
            }
    make_rows(MOST, 3, 0.5);
    check_pair(score, MOST, MOST - 1, 10);
}

/* ---- a test that has some columns ---- */

static int32_t *some_id;                         /* [MOST] columns that the test has, ascending; */
static float *some_value, *common, *ref_of_some; /* its logits; what is put beside them; what should be */

/* Every column with this share, in runs of so many. Returns their number, at least 2. */
static int make_some(int n, double share, int run)
{
    int have = 0;
    for (int i = 0; i < n; i += run)
        if (uniform() < share || n - i <= run + 1)
            for (int k = i; k < n && k < i + run; k++) {
                ref_of_some[have] = ref_row[k];
                some_value[have] = test_row[k];
                some_id[have++] = k;
            }
    return have;
}

static int place_of(int32_t id, int n)
{
    for (int i = 0; i < n; i++)
        if (some_id[i] == id)
            return i;
    return -1;
}

/* The reference's own numbers are those of its whole row, the others those of a pair of the columns that both
 * have. */
static void check_some(const struct ct_score *score, int n, int have, int asked, int top)
{
    const struct ct_logits test = {some_value, some_id, have};
    int *order_ref = sorted(ref_row, n), *order_test = sorted(some_value, have), overlap = 0;
    const int next = asked == CT_SCORE_NEXT_REF    ? order_ref[0]
                     : asked == CT_SCORE_NEXT_TEST ? some_id[order_test[0]]
                                                   : asked;
    long double largest, sum = log_sum(ref_row, n, &largest), outside = 0, entropy = 0;
    struct ct_score_pair p, both, again;

    score->some(&p, common, ref_row, n, &test, asked, top);
    assert_memory_equal(common, ref_of_some, (size_t)have * sizeof *common);
    score->pair(&both, ref_of_some, some_value, have, place_of(next, have), top);
    for (int i = 0, k = 0; i < n; i++) {
        const long double l = log_softmax(ref_row, i, largest, sum);
        entropy -= expl(l) * l;
        if (k < have && some_id[k] == i)
            k++;
        else
            outside += expl(l);
    }
    for (int i = 0; i < top && i < n; i++)
        for (int j = 0; j < top && j < have; j++)
            overlap += order_ref[i] == some_id[order_test[j]];
    assert_int_equal(p.wrong, CT_SCORE_BOTH_FINITE);
    assert_int_equal(p.best_ref, order_ref[0]);
    assert_int_equal(p.best_test, some_id[order_test[0]]);
    assert_int_equal(p.overlap, overlap);
    near(p.margin_ref, (long double)ref_row[order_ref[0]] - ref_row[order_ref[1]], "margin of ref");
    near(p.entropy_ref, entropy, "entropy of ref");
    near(p.outside, outside, "outside");
    assert_true(p.outside <= 1 && (have < n || p.outside == 0));
    long double largest_test, sum_test = log_sum(some_value, have, &largest_test), all = 0;
    for (int i = 0; i < have; i++) { /* KL(test||ref) over all columns, as QUALITY.md says */
        const long double l = log_softmax(some_value, i, largest_test, sum_test);
        all += expl(l) * (l - log_softmax(ref_row, some_id[i], largest, sum));
    }
    if (p.outside < 0.999)
        assert_true(fabsl(p.kl_reverse - log1pl(-outside) - all) < 1e-12L);
    assert_true(p.kl == both.kl && p.kl_reverse == both.kl_reverse && p.largest == both.largest);
    assert_true(p.correlation == both.correlation && p.cosine == both.cosine);
    assert_true(p.entropy_test == both.entropy_test && p.margin_test == both.margin_test);
    if (next >= 0) {
        const long double ref = log_softmax(ref_row, next, largest, sum);
        const bool lacks = place_of(next, have) < 0;
        near(p.logprob_ref, ref, "logprob of ref");
        assert_true(p.logprob_test == (lacks ? -INFINITY : both.logprob_test));
        near(p.delta_p, expl(p.logprob_test) - expl(ref), "delta_p");
    } else {
        assert_true(p.logprob_ref == 0 && p.logprob_test == 0 && p.delta_p == 0);
    }
    ct_score_ref.some(&again, common, ref_row, n, &test, asked, top);
    assert_memory_equal(&again, &p, sizeof p);
    memcpy(common, ref_row, (size_t)n * sizeof *common); /* in the row's own place */
    score->some(&again, common, common, n, &test, asked, top);
    assert_memory_equal(&again, &p, sizeof p);
    free(order_ref);
    free(order_test);
}

static void test_some(void **unused)
{
    static const int n[] = {3, 31, 33, 64, 257, 1024, 5003}, run[] = {1, 64}, tops[] = {1, 10, 1024};
    static const double share[] = {0, 0.02, 0.3, 1};
    const struct ct_score *score = ct_score();
    int lacking = 0, without_best = 0;

    (void)unused;
    seed = 21;
    for (size_t i = 0; i < CT_COUNT(n); i++)
        for (size_t k = 0; k < CT_COUNT(run) * CT_COUNT(share); k++) {
            make_rows(n[i], k % 3 ? 8 : 0.5, 0.3);
            const int have = make_some(n[i], share[k / 2], run[k % 2]);
            const int at = (int)(uniform() * n[i]);
            for (int next = CT_SCORE_NEXT_TEST; next <= 0; next++)
                check_some(score, n[i], have, next ? next : at, tops[(i + k) % CT_COUNT(tops)]);
            lacking += place_of(at, have) < 0;
            without_best += place_of(best_of(ref_row, n[i]), have) < 0;
        }
    assert_true(lacking > 5 && without_best > 5);
    for (int round = 0; round < 50; round++) { /* nearly all: sums in another order are not above it */
        struct ct_score_pair p;
        make_rows(1000 + round, 0.5, 0.3);
        ref_row[0] = ref_row[500] = -1000;
        const int32_t unlikely[] = {0, 500};
        score->some(&p, common, ref_row, 1000 + round, &(struct ct_logits){test_row, unlikely, 2}, -1, 10);
        assert_true(p.outside <= 1 && p.outside > 1 - 1e-15);
    }
}

static void test_some_not_finite(void **unused)
{
    const struct ct_score *score = ct_score();
    struct ct_score_pair p;

    (void)unused;
    for (int at = 0; at < 77; at++) {
        make_rows(77, 2, 1);
        ref_row[at] = at % 2 ? NAN : INFINITY;
        const int have = make_some(77, 0.3, 1);
        const struct ct_logits test = {some_value, some_id, have};
        some_value[1] = NAN;
        score->some(&p, common, ref_row, 77, &test, CT_SCORE_NEXT_REF, 10);
        assert_int_equal(p.wrong, CT_SCORE_REF);
        assert_int_equal(p.wrong_column, at);
        ref_row[at] = 0;
        score->some(&p, common, ref_row, 77, &test, CT_SCORE_NEXT_REF, 10);
        assert_int_equal(p.wrong, CT_SCORE_TEST);
        assert_int_equal(p.wrong_column, some_id[1]);
    }
}

static void test_of_itself(void **unused)
{
    const struct ct_score *score = ct_score();
    struct ct_score_pair p;

    (void)unused;
    seed = 7;
    for (int n = 2; n < 700; n += 1 + n / 3) {
        make_rows(n, 4, 0);
        score->pair(&p, ref_row, ref_row, n, n / 2, 10);
        assert_true(p.kl == 0 && p.kl_reverse == 0 && p.correlation == 1 && p.cosine == 1);
        assert_true(p.entropy_ref == p.entropy_test && p.delta_p == 0 && p.largest == 0);
        assert_true(p.best_ref == p.best_test && p.overlap == CT_MIN(10, n));
    }
}

/* Multiples have the same direction, or the opposite one: rounding takes neither number beyond 1. */
static void test_of_multiples(void **unused)
{
    static const int factor[] = {3, 5, 7, -3};
    const struct ct_score *score = ct_score();
    struct ct_score_pair p;

    (void)unused;
    seed = 8;
    for (int round = 0; round < 2000; round++) {
        int n = 2 + round % 60, times = factor[round % 4];
        for (int i = 0; i < n; i++) {
            ref_row[i] = (float)(int)(uniform() * 65536) * 0x1p-10f;
            test_row[i] = ref_row[i] * (float)times;
        }
        score->pair(&p, ref_row, test_row, n, -1, 1);
        assert_true(fabs(p.correlation) <= 1 && fabs(p.cosine) <= 1);
        near(p.correlation, times > 0 ? 1 : -1, "correlation");
        near(p.cosine, times > 0 ? 1 : -1, "cosine");
    }
}

/* Logits many of which are alike: the lower column is the higher one. */
static void test_ties(void **unused)
{
    const struct ct_score *score = ct_score();

    (void)unused;
    seed = 3;
    for (int round = 0; round < 40; round++) {
        int n = 2 + (int)(uniform() * 400);
        for (int i = 0; i < n; i++) {
            ref_row[i] = (float)((int)(uniform() * 5) - 2);
            test_row[i] = (float)((int)(uniform() * 5) - 2);
            if (ref_row[i] == 0 && i % 2) /* -0 is 0 */
                ref_row[i] = -0.0f;
        }
        ref_row[0] = 1; /* no row is constant */
        ref_row[1] = test_row[1] = -1;
        test_row[0] = 2;
        check_pair(score, n, 0, 1 + (int)(uniform() * 50));
    }
    /* descending and ascending logits: the heap never and always changes */
    for (int up = -1; up <= 1; up += 2) {
        for (int i = 0; i < 3000; i++) {
            ref_row[i] = (float)(up * i) * 0.01f;
            test_row[i] = (float)(up * i) * 0.011f;
        }
        check_pair(score, 3000, 17, 1024);
    }
}

/* Floats of every size: nothing overflows, weights that vanish are 0, denormal logits count. */
static void test_extremes(void **unused)
{
    const struct ct_score *score = ct_score();
    struct ct_score_pair p;

    (void)unused;
    const float hard[] = {3.4e38f, -3.4e38f, 0, 1e-45f, -1e-45f, -1e9f, -708, -709, -745, -746, 1};
    for (int i = 0; i < (int)CT_COUNT(hard); i++) {
        ref_row[i] = hard[i];
        test_row[i] = hard[(i + 4) % (int)CT_COUNT(hard)];
    }
    score->pair(&p, ref_row, test_row, (int)CT_COUNT(hard), 3, 10);
    assert_true(isfinite(p.kl) && isfinite(p.kl_reverse) && p.kl > 1e38 && p.kl_reverse > 1e38);
    assert_true(p.entropy_ref == 0 && p.entropy_test == 0);
    assert_true(p.correlation > -1 && p.correlation < 1 && p.cosine > -1 && p.cosine < 1);
    assert_true(p.logprob_ref < -3e38 && p.delta_p == 0);
    for (int i = 2; i < (int)CT_COUNT(hard); i++) {
        ref_row[i - 2] = hard[i];
        test_row[i - 2] = hard[i] * 0.5f;
    }
    check_pair(score, (int)CT_COUNT(hard) - 2, 4, 3);
}

/* A row without a direction: 1 beside another of that kind, else 0. */
static void test_constant(void **unused)
{
    const struct ct_score *score = ct_score();
    struct ct_score_pair p;

    (void)unused;
    for (int i = 0; i < 1000; i++) {
        ref_row[i] = 0.1f;
        test_row[i] = -7.7f;
    }
    score->pair(&p, ref_row, test_row, 1000, 5, 10);
    assert_true(p.correlation == 1 && fabs(p.cosine + 1) < 1e-15 && p.kl == 0 && p.overlap == 10);
    assert_true(p.best_ref == 0 && p.best_test == 0 && p.margin_ref == 0);
    near(p.entropy_ref, logl(1000), "entropy");
    test_row[999] = 0;
    score->pair(&p, ref_row, test_row, 1000, 5, 10);
    assert_true(p.correlation == 0 && p.cosine < -0.99);
    memset(ref_row, 0, 1000 * sizeof *ref_row);
    score->pair(&p, ref_row, test_row, 1000, 5, 10);
    assert_true(p.correlation == 0 && p.cosine == 0);
    score->pair(&p, ref_row, ref_row, 1000, 5, 10);
    assert_true(p.correlation == 1 && p.cosine == 1);
}

static void test_not_finite(void **unused)
{
    static const float wrong[] = {NAN, INFINITY, -INFINITY, -NAN};
    const struct ct_score *score = ct_score();
    struct ct_score_pair p;
    struct ct_score_row row;

    (void)unused;
    for (int at = 0; at < 77; at++) {
        make_rows(77, 2, 1);
        test_row[at] = wrong[at % 4];
        test_row[76] = NAN;
        score->pair(&p, ref_row, test_row, 77, 0, 10);
        assert_int_equal(p.wrong, CT_SCORE_TEST);
        assert_int_equal(p.wrong_column, at);
        score->row(&row, test_row, 77);
        assert_int_equal(row.wrong_column, at);
        ref_row[5] = wrong[at % 4];
        score->pair(&p, ref_row, test_row, 77, 0, 10);
        assert_int_equal(p.wrong, CT_SCORE_REF);
        assert_int_equal(p.wrong_column, 5);
    }
}

/* FNV-1a of the bits of all numbers. */
static uint64_t mixed(uint64_t hash, const struct ct_score_pair *p, const struct ct_score_row *row)
{
    const double number[] = {p->best_ref,   p->best_test,   p->margin_ref,  p->margin_test,  p->kl,
                             p->kl_reverse, p->correlation, p->cosine,      p->entropy_ref,  p->entropy_test,
                             p->overlap,    p->largest,     p->logprob_ref, p->logprob_test, p->delta_p,
                             row->top,      row->log_sum,   row->entropy};
    unsigned char byte[sizeof number];

    memcpy(byte, number, sizeof number);
    for (size_t i = 0; i < sizeof byte; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

/* The bits that every processor gives. */
static void test_committed_bits(void **unused)
{
    static const int n[] = {2, 31, 33, 257, 1024, 5003, 262144};
    const struct ct_score *tables[] = {ct_score(), &ct_score_ref};
    struct ct_score_pair p;
    struct ct_score_row row;

    (void)unused;
    for (size_t table = 0; table < CT_COUNT(tables); table++) {
        uint64_t hash = 0xcbf29ce484222325u;
        seed = 11;
        for (size_t i = 0; i < CT_COUNT(n); i++) {
            make_rows(n[i], 0.5 * (double)(i + 1), 0.1 * (double)(i + 1));
            tables[table]->pair(&p, ref_row, test_row, n[i], n[i] / 2, 10);
            tables[table]->row(&row, test_row, n[i]);
            hash = mixed(hash, &p, &row);
        }
        if (hash != 0x8d5b9de50f30d2b8u)
            fail_msg("the bits of table %zu have the hash 0x%llx", table, (unsigned long long)hash);
    }
}

/* Nothing behind a row is read: there is no page. */
static void test_ends_of_rows(void **unused)
{
    enum { ROOM = 1 << 20 };
    const struct ct_score *tables[] = {ct_score(), &ct_score_ref};
    float *mapped[2], *row[2] = {ref_row, test_row};
    struct ct_score_pair p, same;
    struct ct_score_row alone;

    (void)unused;
    seed = 9;
    make_rows(500, 3, 1);
    for (int side = 0; side < 2; side++) {
        char *room = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        assert_true(room != MAP_FAILED);
        assert_int_equal(mprotect(room + ROOM, ROOM, PROT_NONE), 0);
        mapped[side] = (float *)(room + ROOM);
    }
    for (int n = 2; n <= 500; n++)
        for (size_t i = 0; i < CT_COUNT(tables); i++) {
            float *end[2];
            for (int side = 0; side < 2; side++)
                end[side] = memcpy(mapped[side] - n, row[side], (size_t)n * sizeof(float));
            tables[i]->pair(&p, end[0], end[1], n, n - 1, 10);
            tables[i]->row(&alone, end[1], n);
            ct_score_ref.pair(&same, row[0], row[1], n, n - 1, 10);
            assert_memory_equal(&same, &p, sizeof p);
        }
    for (int side = 0; side < 2; side++)
        munmap((char *)mapped[side] - ROOM, 2 * ROOM);
}

static int make_room(void **unused)
{
    (void)unused;
    ref_row = calloc(MOST, sizeof *ref_row);
    test_row = calloc(MOST, sizeof *test_row);
    some_id = calloc(MOST, sizeof *some_id);
    some_value = calloc(MOST, sizeof *some_value);
    common = calloc(MOST, sizeof *common);
    ref_of_some = calloc(MOST, sizeof *ref_of_some);
    return !ref_row || !test_row || !some_id || !some_value || !common || !ref_of_some;
}

static int give_room_back(void **unused)
{
    (void)unused;
    free(ref_row);
    free(test_row);
    free(some_id);
    free(some_value);
    free(common);
    free(ref_of_some);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),           cmocka_unit_test(test_of_itself),
        cmocka_unit_test(test_of_multiples),    cmocka_unit_test(test_ties),
        cmocka_unit_test(test_extremes),        cmocka_unit_test(test_constant),
        cmocka_unit_test(test_not_finite),      cmocka_unit_test(test_committed_bits),
        cmocka_unit_test(test_ends_of_rows),    cmocka_unit_test(test_some),
        cmocka_unit_test(test_some_not_finite),
    };
    return cmocka_run_group_tests_name("kernel: score", tests, make_room, give_room_back);
}
