/* SPDX-License-Identifier: Apache-2.0 */
/* bench_older.c: an older result of a benchmark, which comes from anywhere: nothing in it is believed before
 * it is checked. And what the noise of two results explains. Which parts of it belong to what is measured now
 * is for those who measure it. */
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "io/input.h"

enum {
    MOST_BYTES = 4 << 20,  /* of the file: 64 tests of 1000 runs take less than three quarters of it */
    MOST_VALUES = 1 << 18, /* in it; each takes up to 130 bytes when it is parsed */
    MOST_SAMPLES = 10000,  /* of a test */
};

/* A difference counts when it is larger than three standard deviations of single runs, the larger one of both
 * sides. If runs were independent, medians of five would differ by 0.76 of one, and with estimates out of
 * five runs each a test that has not changed fails once in 200 times (simulated: 200,000 pairs, normal noise
 * of 5 %; with ten runs each, once in 9,000). They are not: a neighbour or a clock that changes between two
 * runs moves all samples of one of them. With such a drift as large as the noise itself it is once in 23
 * times. That is why the median's own, smaller error is not used. */
static const double deviations = 3;
/* Two processes differ by about 1 % in where their pages lie, however steady each one is. */
static const double least_noise = 0.01;
/* A single run says nothing about its noise; machines that are not idle have this. */
static const double assumed_noise = 0.05;
/* More than this hides what one would like to know. */
static const double too_noisy = 0.2;

int older_refuse(const char *name, const char *why, size_t i)
{
    return fail_as(
        USAGE, CARAT_E_FORMAT,
        "%s: element %zu %s; expected is what 'carat bench -o json' or 'llama-bench -o json' wrote", name, i,
        why);
}

/* The parser makes many bytes out of few: its values are counted first. */
static bool few_values(const char *text, size_t n)
{
    size_t values = 0;

    for (size_t i = 0; i < n; i++)
        values += text[i] == ',' || text[i] == '[' || text[i] == '{';
    return values <= MOST_VALUES;
}

int older_read(const char *option, json_t **list)
{
    const char *path = input_name(option);
    json_error_t why;
    char *text;
    size_t n;

    TRY(read_input(option, &text, &n));
    if (n > MOST_BYTES || !few_values(text, n)) {
        free(text);
        return fail_as(USAGE, CARAT_E_FORMAT,
                       "%s: is larger than any result of a benchmark (%d MiB, %d values)", path,
                       MOST_BYTES >> 20, MOST_VALUES);
    }
    *list = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    free(text);
    if (json_is_array(*list) && json_array_size(*list) > 0)
        return DONE;
    return fail_as(
        USAGE, CARAT_E_FORMAT,
        "%s: %s%s; expected is an array of tests, as 'carat bench -o json' or 'llama-bench -o json' "
        "writes it",
        path, *list ? "is JSON, but not that" : "is not JSON: ", *list ? "" : why.text);
}

bool older_number(const json_t *object, const char *key, int *value)
{
    const json_t *number = json_object_get(object, key);
    json_int_t n = json_integer_value(number);

    *value = (int)n;
    return json_is_integer(number) && n >= 0 && n <= INT32_MAX;
}

bool older_samples(const json_t *object, struct spread *spread, bool *memory)
{
    const json_t *list = json_object_get(object, "samples_ts");
    size_t n = json_array_size(list);
    double *sample;
    bool good = n > 0 && n <= MOST_SAMPLES;

    if (!good)
        return false;
    sample = calloc(n, sizeof *sample);
    *memory = sample != NULL;
    for (size_t i = 0; i < n && sample && good; i++) {
        sample[i] = json_number_value(json_array_get(list, i)); /* 0 for what is not a number */
        good = sample[i] > 0 && isfinite(sample[i]);
    }
    if (sample && good)
        *memory = spread_of(spread, sample, (int)n, 1);
    free(sample);
    return good;
}

void older_allow(struct verdict *v, const struct spread *now)
{
    double noise = fmax(v->ts.noise, now->noise); /* of one, when the other has a single run */

    if (isnan(noise))
        noise = assumed_noise;
    v->allowed = deviations * fmax(noise, least_noise);
    v->ratio = now->median / v->ts.median;
}

const char *older_word(const struct verdict *v, double explained)
{
    return v->ratio * (1 + v->allowed) < 1 - explained ? "slower"
           : v->ratio * (1 + v->allowed) < 1           ? "slower, as the machine"
           : v->ratio > 1 + v->allowed                 ? "faster"
           : v->allowed > too_noisy                    ? "unclear: noise"
                                                       : "same";
}
