/* SPDX-License-Identifier: Apache-2.0 */
/* statistics.c: mean, quantiles and an interval of many values (NUMERICS.md section 13), and repetition in an
 * answer. Values may be a mapped file of any size: they are read several times and copied nowhere. What they
 * measure is the caller's. */
#include "check/quality.h"

#include <math.h>
#include <stdlib.h>

#include "kernel/philox.h"
#include "kernel/ref/ref_math.h"

/* ---- sums: 32 partial sums, folded (NUMERICS.md section 3) ---- */

enum { PARTIALS = 32 };

struct total {
    double partial[PARTIALS];
    int64_t n; /* values that were no NaN */
};

static void total_add(struct total *t, double value)
{
    t->partial[t->n++ % PARTIALS] += value;
}

/* ---- quantiles: numpy.quantile's default, linear between two values in order ---- */

/* A value as a number that is in the same order. */
static uint64_t key_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits ^ (bits >> 63 ? UINT64_MAX : (uint64_t)1 << 63);
}

static double value_of_key(uint64_t key)
{
    uint64_t bits = key ^ (key >> 63 ? (uint64_t)1 << 63 : UINT64_MAX);
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

enum {
    RESAMPLES = 2000,
    MOST_QUANTILES = 3,
    MOST_RANKS = 2 * MOST_QUANTILES,
    BIN_BITS = 8,
    BINS = 1 << BIN_BITS
};

/* A value that is searched for by its rank. Its key is found from the highest byte down, a byte with every
 * walk over all values. */
struct rank {
    uint64_t key;
    int64_t below; /* its rank among the values whose keys begin with the bytes found */
    int table;     /* of counts that it reads: ranks whose keys begin alike share one */
};

/* Finds the next byte of every key. */
static void ranks_narrow(struct rank *rank, int n_ranks, const double *values, int64_t n, int shift)
{
    int64_t count[MOST_RANKS][BINS];
    uint64_t begins[MOST_RANKS];
    int tables = 0, above = shift + BIN_BITS;

    for (int r = 0; r < n_ranks; r++) {
        uint64_t begin = above < 64 ? rank[r].key >> above : 0;
        if (tables == 0 || begins[tables - 1] != begin)
            begins[tables++] = begin;
        rank[r].table = tables - 1;
    }
    memset(count, 0, (size_t)tables * sizeof *count);
    for (int64_t i = 0; i < n; i++) {
        uint64_t key = key_of(values[i]), begin = above < 64 ? key >> above : 0;
        for (int t = 0; t < tables; t++) {
            if (begin == begins[t] && !isnan(values[i]))
                count[t][key >> shift & (BINS - 1)]++;
        }
    }
    for (int r = 0; r < n_ranks; r++) {
        const int64_t *in = count[rank[r].table];
        uint64_t bin = 0;
        while (rank[r].below >= in[bin])
            rank[r].below -= in[bin++];
        rank[r].key |= bin << shift;
    }
}

/* Quantiles q[n_q], ascending, of the `valid` > 0 values that are no NaN. */
static void quantiles_of(const double *values, int64_t n, int64_t valid, const double *q, int n_q,
                         double *out)
{
    struct rank rank[MOST_RANKS] = {{0}};
    double share[MOST_QUANTILES];

    for (int i = 0; i < n_q; i++) {
        double place = q[i] * (double)(valid - 1);
        int64_t lower = (int64_t)place;
        share[i] = place - (double)lower;
        rank[2 * i].below = lower;
        rank[2 * i + 1].below = CT_MIN(lower + 1, valid - 1);
    }
    for (int shift = 64 - BIN_BITS; shift >= 0; shift -= BIN_BITS)
        ranks_narrow(rank, 2 * n_q, values, n, shift);
    for (int i = 0; i < n_q; i++) {
        double a = value_of_key(rank[2 * i].key), b = value_of_key(rank[2 * i + 1].key), step = b - a;
        if (a == b)
            out[i] = a;
        else
            out[i] = share[i] < 0.5 ? a + step * share[i] : b - step * (1 - share[i]);
    }
}

/* ---- the interval: prompts are drawn anew, since the tokens of one depend on each other ---- */

struct prompt_sum {
    double sum;
    int64_t n;
};

static void bootstrap(const struct prompt_sum *prompt, uint32_t n, carat_summary *s)
{
    static const double ends[2] = {0.025, 0.975};
    double mean[RESAMPLES], interval[2];

    for (uint32_t r = 0; r < RESAMPLES; r++) {
        double sum = 0;
        int64_t count = 0;
        for (uint32_t i = 0; i < n; i++) {
            uint32_t drawn =
                (uint32_t)((uint64_t)ct_philox(0, r, i, 0, 0) * n >> 24); /* floor(u n), exactly */
            sum += prompt[drawn].sum;
            count += prompt[drawn].n;
        }
        mean[r] = sum / (double)count;
    }
    quantiles_of(mean, RESAMPLES, RESAMPLES, ends, 2, interval);
    s->has_interval = 1;
    s->low = interval[0];
    s->high = interval[1];
}

/* That there are as many values as are counted. */
static carat_status check_counts(const double *values, const int64_t *counts, int n_prompts, carat_error *err)
{
    int64_t n = 0;

    if (n_prompts < 0 || (n_prompts && !counts))
        return ct_fail(err, CARAT_E_ARGUMENT, "counts is NULL, or n_prompts = %d is negative", n_prompts);
    for (int i = 0; i < n_prompts; i++) {
        if (counts[i] < 0 || counts[i] > INT64_MAX / (int64_t)sizeof *values - n)
            return ct_fail(err, CARAT_E_ARGUMENT, "counts[%d] = %lld is negative or too large", i,
                           (long long)counts[i]);
        n += counts[i];
    }
    if (n && !values)
        return ct_fail(err, CARAT_E_ARGUMENT, "values is NULL, with %lld of them counted", (long long)n);
    return CARAT_OK;
}

carat_status carat_summarise(const double *values, const int64_t *counts, int n_prompts,
                             carat_summary *summary, carat_error *err)
{
    static const double q[MOST_QUANTILES] = {0.5, 0.9, 0.99};
    double out[MOST_QUANTILES] = {NAN, NAN, NAN};
    carat_summary s = {.max = NAN, .low = NAN, .high = NAN};
    struct total all = {{0}, 0};
    int64_t n = 0;
    uint32_t filled = 0;

    CT_TRY(check_counts(values, counts, n_prompts, err));
    struct prompt_sum *prompt = malloc((size_t)n_prompts * sizeof *prompt + 1);
    if (!prompt)
        return ct_no_memory(err, "the sums of the prompts");
    for (int p = 0; p < n_prompts; p++) {
        struct total one = {{0}, 0};
        for (int64_t end = n + counts[p]; n < end; n++) {
            double value = values[n];
            if (isnan(value))
                continue;
            total_add(&one, value);
            total_add(&all, value);
            s.max = s.max >= value ? s.max : value;
        }
        if (one.n > 0)
            prompt[filled++] = (struct prompt_sum){.n = one.n, .sum = ct_fold_double(one.partial)};
    }
    s.n = all.n;
    s.mean = all.n ? ct_fold_double(all.partial) / (double)all.n : NAN;
    if (all.n)
        quantiles_of(values, n, all.n, q, MOST_QUANTILES, out);
    s.median = out[0];
    s.p90 = out[1];
    s.p99 = out[2];
    if (filled > 1)
        bootstrap(prompt, filled, &s);
    free(prompt);
    return ct_give_struct(summary, &s, sizeof s, "carat_summary", err);
}

/* ---- repetition ---- */

enum { GRAM = 4, MOST_PERIOD = 64, LEAST_TIMES = 3, LEAST_CYCLE = 32 };

static uint32_t gram_hash(const int32_t *ids)
{
    uint64_t h = 0;

    for (int i = 0; i < GRAM; i++)
        h = (h ^ (uint32_t)ids[i]) * 0x9E3779B97F4A7C15u;
    return (uint32_t)(h >> 32);
}

/* Places whose four ids stood before; table[mask + 1] is filled with 0: a place + 1, or nothing. */
static int grams_repeated(const int32_t *ids, int n, int *table, size_t mask)
{
    int repeated = 0;

    for (int i = 0; i + GRAM <= n; i++) {
        size_t at = gram_hash(ids + i) & mask;
        while (table[at] && memcmp(ids + table[at] - 1, ids + i, GRAM * sizeof *ids) != 0)
            at = (at + 1) & mask;
        repeated += table[at] != 0;
        if (!table[at])
            table[at] = i + 1;
    }
    return repeated;
}

carat_status carat_repetition_of(const int32_t *ids, int n, carat_repetition *repetition, carat_error *err)
{
    carat_repetition r = {0};
    size_t size = 8;

    if (n < 0 || (n && !ids))
        return ct_fail(err, CARAT_E_ARGUMENT, "ids is NULL, or n = %d is negative", n);
    while (size / 2 < (size_t)n)
        size *= 2;
    int *table = calloc(size, sizeof *table);
    if (!table)
        return ct_no_memory(err, "the places of an answer");
    r.repeated_4grams = grams_repeated(ids, n, table, size - 1);
    free(table);
    for (int period = 1; period <= MOST_PERIOD && period < n && !r.cycle; period++) {
        int start = n - period;
        while (start > 0 && ids[start - 1] == ids[start - 1 + period])
            start--;
        if (n - start >= CT_MAX(LEAST_TIMES * period, LEAST_CYCLE)) {
            r.cycle = period;
            r.cycle_start = start;
        }
    }
    return ct_give_struct(repetition, &r, sizeof r, "carat_repetition", err);
}
