/* SPDX-License-Identifier: Apache-2.0 */
/* metrics.c: the metrics of a row of logits and of a pair of them (NUMERICS.md section 13), in double. The
 * loops over 32 columns are written so that compilers make vectors of them. Compiled for the baseline and for
 * AVX2+FMA; score.c chooses.
 *
 * They are not a step of a pass and not in a level's table, so that a program which only runs models does not
 * link them. */
#include "check/score.h"
#include "kernel/ref/ref.h"

enum { N = 32, BLOCKS = 4 }; /* partial sums; and columns for each of them at a time */

/* ---- before anything else: is all of it finite, and what is the mean? ---- */

struct row_facts {
    int wrong_column; /* -1: none */
    double mean;
};

static inline bool row_finite(float x)
{
    return (ct_f32_bits(x) & 0x7f800000u) != 0x7f800000u;
}

/* In double no sum of floats overflows: it is finite when all of them are. */
static struct row_facts row_look(const float *x, int n)
{
    struct row_facts facts = {.wrong_column = -1};
    double sum[N] = {0};
    int i = 0;

    for (; i + N <= n; i += N)
        for (int j = 0; j < N; j++)
            sum[j] += x[i + j];
    for (int j = 0; i + j < n; j++)
        sum[j] += x[i + j];
    facts.mean = ct_fold_double(sum) / n;
    if (facts.mean - facts.mean != 0)
        for (facts.wrong_column = 0; row_finite(x[facts.wrong_column]); facts.wrong_column++)
            continue;
    return facts;
}

/* ---- the highest columns ---- */

/* Columns of the `keep` highest of x[n], best first; of two alike the lower one comes first. keep <= n. */
static void highest_of(int32_t *column, int keep, const float *x, int n)
{
    CT_NAME(ct_select)(column, &(struct ct_logits){.value = x, .n = n}, keep, NULL, 0, NULL);
}

/* The number of columns that are among both a[n] and b[m]. */
static int highest_common(const int32_t *a, int n, const int32_t *b, int m)
{
    int common = 0;

    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            common += a[i] == b[j];
    return common;
}

/* ---- a row ---- */

struct row_sums {
    double e[N], ed[N]; /* of exp(d) and exp(d) d, with d = x - top */
};

static inline void row_add(struct row_sums *s, const float *x, int have, double top)
{
    for (int j = 0; j < have; j++) {
        double d = x[j] - top, e = ct_exp_weight(d);
        s->e[j] += e;
        s->ed[j] = __builtin_fma(e, d, s->ed[j]);
    }
}

/* Returns the sum of exp(x - top); 0 where a column is wrong. */
static double row_score(struct ct_score_row *out, const float *x, int n)
{
    struct row_facts facts = row_look(x, n);
    struct row_sums s;
    int i = 0;

    memset(&s, 0, sizeof s);
    *out = (struct ct_score_row){.wrong_column = facts.wrong_column};
    if (facts.wrong_column >= 0)
        return 0;
    out->top = ct_top_of(x, n);
    for (; i + N <= n; i += N)
        row_add(&s, x + i, N, out->top);
    row_add(&s, x + i, n - i, out->top);
    double sum = ct_fold_double(s.e);
    out->log_sum = ct_log_double(sum);
    out->entropy = out->log_sum - ct_fold_double(s.ed) / sum;
    return sum;
}

static void score_row(struct ct_score_row *out, const float *x, int n)
{
    row_score(out, x, n);
}

/* ---- a pair ---- */

struct pair_sums {
    double e_ref[N], e_test[N], ed_ref[N], ed_test[N]; /* exp(d), exp(d) d, with d = x - top */
    double apart_ref[N], apart_test[N];                /* exp(d) times the difference of both d */
    double var_ref[N], var_test[N], covar[N];          /* products of x - mean */
};

struct pair_side {
    double top, above; /* the largest logit, and by how much it exceeds the mean */
};

/* `blocks` runs of `have` columns, N apart. The exponentials have loops of their own, so that more of them
 * are under way, and of several blocks each partial sum is fetched once. */
static inline void pair_add(struct pair_sums *s, const float *ref, const float *test, int blocks, int have,
                            struct pair_side r, struct pair_side t)
{
    double da[BLOCKS * N], db[BLOCKS * N], ea[BLOCKS * N], eb[BLOCKS * N];
    const int n = (blocks - 1) * N + have;

    for (int j = 0; j < n; j++)
        ea[j] = ct_exp_weight(da[j] = ref[j] - r.top);
    for (int j = 0; j < n; j++)
        eb[j] = ct_exp_weight(db[j] = test[j] - t.top);
    for (int j = 0; j < have; j++)
        for (int i = j; i < j + blocks * N; i += N) {
            double ca = da[i] + r.above, cb = db[i] + t.above;
            s->e_ref[j] += ea[i];
            s->e_test[j] += eb[i];
            s->ed_ref[j] = __builtin_fma(ea[i], da[i], s->ed_ref[j]);
            s->ed_test[j] = __builtin_fma(eb[i], db[i], s->ed_test[j]);
            s->apart_ref[j] = __builtin_fma(ea[i], da[i] - db[i], s->apart_ref[j]);
            s->apart_test[j] = __builtin_fma(eb[i], db[i] - da[i], s->apart_test[j]);
            s->var_ref[j] = __builtin_fma(ca, ca, s->var_ref[j]);
            s->var_test[j] = __builtin_fma(cb, cb, s->var_test[j]);
            s->covar[j] = __builtin_fma(ca, cb, s->covar[j]);
        }
}

/* Cosine of the angle between two vectors by their products. One of length 0 has none: 1 when both are, else
 * 0. */
static double pair_cosine(double ab, double aa, double bb)
{
    double cosine = ab / __builtin_sqrt(aa * bb);

    if (aa == 0 || bb == 0)
        return aa == bb ? 1 : 0;
    return CT_MAX(-1.0, CT_MIN(1.0, cosine));
}

/* Compares the highest columns; fills in nothing that needs the sums. */
static void pair_tops(struct ct_score_pair *out, const float *ref, const float *test, int n, int top)
{
    int32_t of_ref[CT_SCORE_TOP], of_test[CT_SCORE_TOP];
    const int overlap = CT_MIN(top, n), highest = CT_MIN(CT_SCORE_HIGHEST, n);

    highest_of(of_ref, CT_MAX(overlap, highest), ref, n);
    highest_of(of_test, CT_MAX(overlap, 2), test, n);
    out->best_ref = of_ref[0];
    out->best_test = of_test[0];
    out->margin_ref = (double)ref[of_ref[0]] - ref[of_ref[1]];
    out->margin_test = (double)test[of_test[0]] - test[of_test[1]];
    for (int i = 0; i < highest; i++) {
        int column = of_ref[i];
        out->largest = CT_MAX(out->largest, __builtin_fabs((double)ref[column] - test[column]));
    }
    out->overlap = highest_common(of_ref, overlap, of_test, overlap);
}

static void score_pair(struct ct_score_pair *out, const float *ref, const float *test, int n, int next,
                       int top)
{
    const struct row_facts facts[2] = {row_look(ref, n), row_look(test, n)};
    struct pair_sums s;
    int i = 0;

    assert(n >= 2 && next < n && top >= 1 && top <= CT_SCORE_TOP);
    memset(&s, 0, sizeof s);
    *out = (struct ct_score_pair){.wrong = CT_SCORE_BOTH_FINITE};
    for (int side = 0; side < 2; side++)
        if (facts[side].wrong_column >= 0) {
            out->wrong = side ? CT_SCORE_TEST : CT_SCORE_REF;
            out->wrong_column = facts[side].wrong_column;
            return;
        }
    pair_tops(out, ref, test, n, top);
    const struct pair_side r = {ref[out->best_ref], ref[out->best_ref] - facts[0].mean},
                           t = {test[out->best_test], test[out->best_test] - facts[1].mean};
    for (; i + BLOCKS * N <= n; i += BLOCKS * N)
        pair_add(&s, ref + i, test + i, BLOCKS, N, r, t);
    for (; i + N <= n; i += N)
        pair_add(&s, ref + i, test + i, 1, N, r, t);
    pair_add(&s, ref + i, test + i, 1, n - i, r, t);

    double sum_ref = ct_fold_double(s.e_ref), sum_test = ct_fold_double(s.e_test);
    double log_ref = ct_log_double(sum_ref), log_test = ct_log_double(sum_test);
    out->entropy_ref = log_ref - ct_fold_double(s.ed_ref) / sum_ref;
    out->entropy_test = log_test - ct_fold_double(s.ed_test) / sum_test;
    double kl = ct_fold_double(s.apart_ref) / sum_ref - (log_ref - log_test);
    double kl_reverse = ct_fold_double(s.apart_test) / sum_test - (log_test - log_ref);
    out->kl = CT_MAX(kl, 0.0);
    out->kl_reverse = CT_MAX(kl_reverse, 0.0);
    double covar = ct_fold_double(s.covar), mean_ref = facts[0].mean, mean_test = facts[1].mean;
    double var_ref = ct_fold_double(s.var_ref), var_test = ct_fold_double(s.var_test);
    out->correlation = pair_cosine(covar, var_ref, var_test);
    out->cosine = pair_cosine(__builtin_fma(n * mean_ref, mean_test, covar),
                              __builtin_fma(n * mean_ref, mean_ref, var_ref),
                              __builtin_fma(n * mean_test, mean_test, var_test));
    next = next == CT_SCORE_NEXT_REF ? out->best_ref : next == CT_SCORE_NEXT_TEST ? out->best_test : next;
    if (next >= 0) {
        out->logprob_ref = (ref[next] - r.top) - log_ref;
        out->logprob_test = (test[next] - t.top) - log_test;
        out->delta_p = ct_exp_weight(out->logprob_test) - ct_exp_weight(out->logprob_ref);
    }
}

/* ---- a whole row of the reference, and some columns of the test ---- */

/* Sum of exp(x - top) over the columns that `some` lacks. */
static double some_lack(const float *x, int n, const struct ct_logits *some, double top)
{
    struct row_sums s;
    float lacking[N];
    int have = 0;

    memset(&s, 0, sizeof s);
    for (int i = 0, j = 0; i < n; i++) {
        if (j < some->n && some->id[j] == i) {
            j++;
            continue;
        }
        lacking[have++] = x[i];
        if (have == N) {
            row_add(&s, lacking, N, top);
            have = 0;
        }
    }
    row_add(&s, lacking, have, top);
    return ct_fold_double(s.e);
}

static void score_some(struct ct_score_pair *out, float *common, const float *ref, int n,
                       const struct ct_logits *test, int next, int top)
{
    const int best = CT_MIN(top, test->n);
    int32_t of_ref[CT_SCORE_TOP], of_test[CT_SCORE_TOP];
    struct ct_score_row whole;
    const double sum = row_score(&whole, ref, n);

    *out = (struct ct_score_pair){.wrong = CT_SCORE_REF, .wrong_column = whole.wrong_column};
    if (whole.wrong_column >= 0)
        return;
    highest_of(of_ref, CT_MAX(CT_MIN(top, n), 2), ref, n);
    highest_of(of_test, best, test->value, test->n);
    for (int i = 0; i < best; i++)
        of_test[i] = test->id[of_test[i]];
    next = next == CT_SCORE_NEXT_REF ? of_ref[0] : next == CT_SCORE_NEXT_TEST ? of_test[0] : next;
    const int place = ct_logits_place(test, next);
    const double margin = (double)ref[of_ref[0]] - ref[of_ref[1]];
    const double logprob = next < 0 ? 0 : ct_score_logprob(&whole, ref[next]);
    const double outside = CT_MIN(some_lack(ref, n, test, whole.top) / sum, 1.0);

    for (int i = 0; i < test->n; i++)
        common[i] = ref[test->id[i]];
    score_pair(out, common, test->value, test->n, place, top);
    if (out->wrong != CT_SCORE_BOTH_FINITE) {
        out->wrong_column = test->id[out->wrong_column];
        return;
    }
    out->best_ref = of_ref[0];
    out->best_test = of_test[0];
    out->margin_ref = margin;
    out->entropy_ref = whole.entropy;
    out->overlap = highest_common(of_ref, CT_MIN(top, n), of_test, best);
    out->outside = outside;
    out->logprob_ref = logprob;
    if (next >= 0 && place < 0)
        out->logprob_test = -__builtin_inf();
    if (next >= 0)
        out->delta_p = ct_exp_weight(out->logprob_test) - ct_exp_weight(logprob);
}

const struct ct_score CT_NAME(ct_score) = {score_pair, score_row, score_some};
