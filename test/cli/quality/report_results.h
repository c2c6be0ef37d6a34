/* SPDX-License-Identifier: Apache-2.0 */
/* report_results.h: lines of results and a summary as `carat compare` writes them, small and the same every
 * time, for tests of what reads them. Only what a report reads is there. */
#ifndef REPORT_RESULTS_H
#define REPORT_RESULTS_H

#include "cli/quality/report_page.h"

#include <jansson.h>
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

static const char run[] =
    "\"run\":{\"version\":\"0.9\",\"numerics\":1,\"driver\":\"ref\",\"options\":{\"max_tokens\":32,\"near_"
    "tie\":0.05},"
    "\"ref\":{\"name\":\"one.gguf\",\"path\":\"/m/"
    "one.gguf\",\"architecture\":\"gemma3\",\"container\":\"GGUF\","
    "\"types\":\"BF16 (9 tensors)\",\"weight_bytes\":1000000,\"n_parameter\":500000,\"content\":\"00aa11bb\","
    "\"mode\":\"exact\"},\"test\":{\"name\":\"two.gguf\",\"types\":\"Q4_0 (9 "
    "tensors)\",\"weight_bytes\":300000,"
    "\"n_parameter\":500000,\"content\":\"22cc33dd\",\"mode\":\"fast\"},"
    "\"data\":{\"name\":\"talk.jsonl\",\"prompts\":1,\"hash\":\"77\"},\"command\":\"carat compare one two\"}";

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

#define S(mean, interval)                                                                                    \
    "{\"mean\":" mean ",\"median\":0.5,\"p90\":0.75,\"p99\":1.5,\"max\":2.5,\"interval\":" interval "}"

/* more ends with a comma, and may be empty. */
static json_t *make_summary(const char *whole, const char *interval, const char *more)
{
    char *text = NULL;
    json_error_t error;

    assert_true(
        asprintf(&text,
                 "{%s\"verdict\":{\"whole\":\"%s\",\"reason\":\"the reason & more\",\"kl\":\"watch\","
                 "\"correlation\":\"healthy\",\"match\":\"concerning\",\"entropy\":\"not judged\","
                 "\"loop\":\"healthy\"},\"limits\":{\"kl\":[0.01,0.1],\"correlation\":[0.99,0.95],"
                 "\"match\":[98,90],\"entropy\":[0.5,0.1]},\"prompts\":1,\"failed\":0,\"positions\":32,"
                 "\"kl\":{\"mean\":0.0213,\"median\":1e-7,\"p90\":0.75,\"p99\":1.5,\"max\":2.5,\"interval\":%"
                 "s},"
                 "\"kl_reverse\":" S("0.02", "null") ",\"correlation\":" S(
                     "0.99999997", "null") ","
                                           "\"cosine\":" S("1", "null") ",\"entropy_ref\":" S("1.5", "null") ",\"entropy_test\":" S(
                                               "1.6",
                                               "null") ",\"match_rate\":" S("0.999996",
                                                                            "null") ",\"match_rate_"
                                                                                    "clear\":" S("1",
                                                                                                 "null") ",\""
                                                                                                         "per"
                                                                                                         "ple"
                                                                                                         "xit"
                                                                                                         "y_"
                                                                                                         "ref"
                                                                                                         "\":"
                                                                                                         "3."
                                                                                                         "5,"
                                                                                                         "\"p"
                                                                                                         "erp"
                                                                                                         "lex"
                                                                                                         "ity"
                                                                                                         "_te"
                                                                                                         "st"
                                                                                                         "\":"
                                                                                                         "3."
                                                                                                         "75,"
                                                                                                         "\"d"
                                                                                                         "elt"
                                                                                                         "a_"
                                                                                                         "p_"
                                                                                                         "rms"
                                                                                                         "\":"
                                                                                                         "0."
                                                                                                         "01,"
                                                                                                         "\"e"
                                                                                                         "qua"
                                                                                                         "l_"
                                                                                                         "ans"
                                                                                                         "wer"
                                                                                                         "s\""
                                                                                                         ":0,"
                                                                                                         "\"f"
                                                                                                         "irs"
                                                                                                         "t_"
                                                                                                         "div"
                                                                                                         "erg"
                                                                                                         "enc"
                                                                                                         "e\""
                                                                                                         ":nu"
                                                                                                         "ll,"
                                                                                                         "\"d"
                                                                                                         "ive"
                                                                                                         "rge"
                                                                                                         "d\""
                                                                                                         ":1,"
                                                                                                         "\"t"
                                                                                                         "imi"
                                                                                                         "ngs"
                                                                                                         "\":"
                                                                                                         "{\""
                                                                                                         "sec"
                                                                                                         "ond"
                                                                                                         "s\""
                                                                                                         ":98"
                                                                                                         "765"
                                                                                                         ".43"
                                                                                                         "21}"
                                                                                                         ",%"
                                                                                                         "s}",
                 more, whole, interval, run) > 0);
    json_t *summary = json_loads(text, JSON_ALLOW_NUL, &error);
    if (!summary)
        fail_msg("%s: %s", error.text, text);
    free(text);
    return summary;
}

#endif
