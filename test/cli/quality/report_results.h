/* SPDX-License-Identifier: Apache-2.0 */
/* report_results.h: lines of results and a summary as `carat compare` writes them, small and the same every
 * time, for tests of what reads them. Only what a report reads is there. */
#ifndef REPORT_RESULTS_H
#define REPORT_RESULTS_H

#include "cli/quality/report_page.h"
#include "quality/compare/summary.h"

#include <math.h>

static void put_list(FILE *f, const char *name, int n, double (*value)(int i, unsigned seed), unsigned seed)
{
    fprintf(f, ",\"%s\":[", name);
    for (int i = 0; i < n; i++)
        fprintf(f, "%s%.6g", i ? "," : "", value(i, seed));
    fputs("]", f);
}

/* From 0 to 1, the same everywhere. */
static double draw(int i, unsigned seed)
{
    uint32_t x = (uint32_t)i * 2654435761u + seed * 40503u + 12345u;

    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return (double)(x & 0xffffff) / 0x1000000;
}

static double some_kl(int i, unsigned seed)
{
    return pow(10, -6 + 3 * draw(i, seed)) * (1 + i / 50.0);
}

static double some_match(int i, unsigned seed)
{
    return draw(i, seed + 1) < 0.97;
}

static double some_margin(int i, unsigned seed)
{
    return some_match(i, seed) != 0 ? 8 * draw(i, seed + 2) + 0.2 : 0.2 * draw(i, seed + 2);
}

static double some_entropy(int i, unsigned seed)
{
    return 3 * draw(i, seed + 3);
}

static double other_entropy(int i, unsigned seed)
{
    return some_entropy(i, seed) + 0.3 * draw(i, seed + 4);
}

/* A line with positions; members is the rest of it, with a comma before. */
static void put_line(FILE *f, const char *id, int n, unsigned seed, double kl, const char *members)
{
    fprintf(f, "{\"id\":%s,\"status\":\"ok\",\"driver\":\"ref\"", id);
    if (kl >= 0) {
        fprintf(f, ",\"kl\":[");
        for (int i = 0; i < n; i++)
            fprintf(f, "%s%.17g", i ? "," : "", kl);
        fputs("]", f);
    } else {
        put_list(f, "kl", n, some_kl, seed);
    }
    put_list(f, "match", n, some_match, seed);
    put_list(f, "margin_ref", n, some_margin, seed);
    put_list(f, "entropy_ref", n, some_entropy, seed);
    put_list(f, "entropy_test", n, other_entropy, seed);
    fprintf(f, "%s}\n", members);
}

#define TALK                                                                                                 \
    ",\"prompt\":\"Where is the bed?\",\"answer_ref\":\"It is in the room.\",\"answer_test\":\"It is on "    \
    "the roof.\","                                                                                           \
    "\"stop\":null,\"first_divergence\":{\"index\":2,\"id_ref\":5,\"id_test\":6,\"piece_ref\":"              \
    "\"\\u2581in\","                                                                                         \
    "\"piece_test\":\" on\",\"margin_ref\":0.01,\"margin_test\":0.25,\"near_tie\":true}"

static carat_summary spread(double mean)
{
    return (carat_summary){
        .mean = mean, .median = 0.5, .p90 = 0.75, .p99 = 1.5, .max = 2.5, .low = NAN, .high = NAN};
}

/* Free it. NAN: it has no interval. */
static struct summary *make_summary(carat_health whole, double low, double high)
{
    static const struct timings timings = {98765.4321, 1, -1, -1};
    struct summary *s = calloc(1, sizeof *s);

    assert_non_null(s);
    *s = (struct summary){
        .verdict = {.whole = whole,
                    .reason = "the reason & more",
                    .kl = CARAT_WATCH,
                    .match = CARAT_CONCERNING,
                    .entropy = CARAT_NOT_JUDGED},
        .limits = {.kl = {0.01, 0.1}, .correlation = {0.99, 0.95}, .match = {98, 90}, .entropy = {0.5, 0.1}},
        .prompts = 1,
        .positions = 32,
        .delta_p_rms = 0.01,
        .perplexity = {3.5, 3.75},
        .diverged = 1,
        .run = {.there = true,
                .version = words_of("0.9"),
                .numerics = 1,
                .driver = words_of("ref"),
                .options = {32, false, 10, 0.05, NULL},
                .side = {{words_of("one.gguf"), false, words_of("gemma3"), words_of("GGUF"),
                          words_of("BF16 (9 tensors)"), 1000000, 500000, words_of("00aa11bb"),
                          words_of("exact")},
                         {.name = words_of("two.gguf"),
                          .types = words_of("Q4_0 (9 tensors)"),
                          .weight_bytes = 300000,
                          .n_parameter = 500000,
                          .content = words_of("22cc33dd"),
                          .mode = words_of("fast")}},
                .data = {true, words_of("talk.jsonl"), 1, words_of("77"), false, {NULL, 0}},
                .command = words_of("carat compare one two")},
        .timings = &timings};
    carat_quality_limits usual;
    carat_quality_limits_default(&usual);
    memcpy(s->limits.outside, usual.outside, sizeof usual.outside);
    for (int m = 0; m < N_SHOWN; m++)
        s->metric[m] = spread(NAN);
    s->metric[KL] = (carat_summary){.mean = 0.0213,
                                    .median = 1e-7,
                                    .p90 = 0.75,
                                    .p99 = 1.5,
                                    .max = 2.5,
                                    .has_interval = !isnan(low),
                                    .low = low,
                                    .high = high};
    s->metric[KL_REVERSE] = spread(0.02);
    s->metric[CORRELATION] = spread(0.99999997);
    s->metric[COSINE] = spread(1);
    s->metric[ENTROPY_REF] = spread(1.5);
    s->metric[ENTROPY_TEST] = spread(1.6);
    s->metric[MATCH] = spread(0.999996);
    s->metric[MATCH_CLEAR] = spread(1);
    return s;
}

#endif
