/* SPDX-License-Identifier: Apache-2.0 */
/* summary.c: makes the summary of a file of results, a function of its lines alone. The numbers of each
 * metric go to an unlinked temporary file and are mapped when all are there, so that a thousand prompts
 * take no more memory than one. What is judged, and how, is the library's. */
#define _POSIX_C_SOURCE 200809L
#include "quality/compare/summary.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/out_json.h"

/* ---- numbers of one metric, one after the other ---- */

struct spill {
    FILE *file;
    int64_t n;
};

static int spill_failed(void)
{
    return fail(FAILED, "a temporary file in %s cannot be written: %s",
                getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp", strerror(errno));
}

int spill_file(FILE **file)
{
    const char *place = getenv("TMPDIR");
    char path[4096];
    int fd;

    snprintf(path, sizeof path, "%s/carat-XXXXXX", place && *place ? place : "/tmp");
    fd = mkstemp(path);
    if (fd < 0)
        return spill_failed();
    unlink(path);
    *file = fdopen(fd, "w+b");
    if (*file)
        return DONE;
    close(fd);
    return fail_memory();
}

static int spill_add(struct spill *s, double value)
{
    s->n++;
    return fwrite(&value, sizeof value, 1, s->file) == 1 ? DONE : spill_failed();
}

/* counts[n_prompts]: how many of each prompt. */
static int spill_summarise(struct spill *s, const int64_t *counts, int n_prompts, carat_summary *summary)
{
    size_t length = (size_t)s->n * sizeof(double);
    void *values = NULL;
    carat_error err;
    carat_status status;

    carat_summary_default(summary);
    if (fflush(s->file) != 0)
        return spill_failed();
    if (length) {
        values = mmap(NULL, length, PROT_READ, MAP_SHARED, fileno(s->file), 0);
        if (values == MAP_FAILED)
            return fail_memory();
    }
    status = carat_summarise(values, counts, n_prompts, summary, &err);
    if (length)
        munmap(values, length);
    return status == CARAT_OK ? DONE : fail_status(&err);
}

/* ---- what is gathered ---- */

/* Metrics: those that the summary shows by name, then those behind single numbers of it. */
enum {
    MATCH_CLEAR = 7,
    OUTSIDE = 12,
    N_SHOWN,
    DELTA_P_SQUARE = N_SHOWN,
    LOGPROB_REF,
    LOGPROB_TEST,
    N_METRIC,
};
static const struct {
    const char *name, *from; /* in the summary, and in a line */
} metrics[N_METRIC] = {
    {"kl", "kl"},
    {"kl_reverse", "kl_reverse"},
    {"correlation", "correlation"},
    {"cosine", "cosine"},
    {"entropy_ref", "entropy_ref"},
    {"entropy_test", "entropy_test"},
    {"match_rate", "match"},
    {"match_rate_clear", "match"},
    {"overlap", "overlap"},
    {"largest", "largest"},
    {"margin_ref", "margin_ref"},
    {"margin_test", "margin_test"},
    {"outside", "outside"},
    {NULL, "delta_p"},
    {NULL, "logprob_ref"},
    {NULL, "logprob_test"},
};
enum { KL = 0, CORRELATION = 2, ENTROPY_REF = 4, ENTROPY_TEST = 5 };

/* Sums of some positions, in their order. */
struct part {
    double kl, correlation, match;
    int64_t n;
    int64_t until;      /* positions below it take part */
    int64_t divergence; /* the first at which the highest ids differ; -1: none */
};

enum { MOST_AT = 64, MOST_FAILURES = 16 };

struct gathering {
    struct spill spill[N_METRIC];
    int64_t *counts; /* [capacity] positions of each prompt */
    int n_prompts, capacity;
    json_int_t failed, context, numeric, near_ties, left_out, answers, equal, diverged, loops_ref, loops_test,
        loops_new, grams_ref, grams_test;
    json_t *run, *divergence, *failures;
    json_int_t divergence_at;
    struct part after_stop, at[MOST_AT];
    int n_at;
};

static double number_at(const json_t *list, size_t i)
{
    const json_t *value = json_array_get(list, i);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void part_add(struct part *p, const json_t *line, size_t i)
{
    double kl = number_at(json_object_get(line, "kl"), i);
    double match = number_at(json_object_get(line, "match"), i);

    if (isnan(kl))
        return;
    p->kl += kl;
    p->correlation += number_at(json_object_get(line, "correlation"), i);
    p->match += match;
    p->n++;
    if (match == 0 && (p->divergence < 0 || (int64_t)i < p->divergence))
        p->divergence = (int64_t)i;
}

/* Element i of a metric, as it is summarised. */
static double metric_at(int m, const json_t *values, const json_t *line, size_t i)
{
    double value = number_at(values, i);

    if (m == MATCH_CLEAR && number_at(json_object_get(line, "near_tie"), i) != 0)
        return NAN;
    if (m >= DELTA_P_SQUARE && !(number_at(json_object_get(line, "ids"), i) >= 0))
        return NAN; /* nothing follows that could be likely */
    if (m == LOGPROB_TEST && isnan(value))
        return -INFINITY; /* the test leaves out what follows */
    if (m == OUTSIDE && !values)
        return 0; /* nothing is left out */
    return m == DELTA_P_SQUARE ? value * value : value;
}

/* The positions of a line, up to that which gave a stop id; those behind it apart. */
static int gather_positions(struct gathering *g, const json_t *line)
{
    const json_t *kl = json_object_get(line, "kl"), *stop = json_object_get(line, "stop");
    size_t n = json_array_size(kl);
    size_t end =
        json_is_integer(stop) && json_integer_value(stop) >= 0 && (size_t)json_integer_value(stop) < n
            ? (size_t)json_integer_value(stop) + 1
            : n;
    int code = DONE;

    for (int m = 0; m < N_METRIC; m++) {
        const json_t *values = json_object_get(line, metrics[m].from);
        for (size_t i = 0; i < end && code == DONE; i++)
            code = spill_add(&g->spill[m], metric_at(m, values, line, i));
    }
    for (size_t i = 0; i < n; i++) {
        if (i >= end)
            part_add(&g->after_stop, line, i);
        for (int a = 0; a < g->n_at; a++) {
            if ((int64_t)i < g->at[a].until)
                part_add(&g->at[a], line, i);
        }
    }
    for (size_t i = 0; i < end; i++) {
        g->near_ties += number_at(json_object_get(line, "near_tie"), i) == 1;
        g->left_out += json_integer_value(json_array_get(json_object_get(line, "left_out"), i));
    }
    g->counts[g->n_prompts++] = (int64_t)end;
    return code;
}

static void gather_answers(struct gathering *g, const json_t *line)
{
    const json_t *ref = json_object_get(line, "loop_ref"), *test = json_object_get(line, "loop_test");
    json_t *divergence = json_object_get(line, "first_divergence");
    bool cycle_ref = json_integer_value(json_object_get(ref, "cycle")) > 0;
    bool cycle_test = json_integer_value(json_object_get(test, "cycle")) > 0;

    g->answers++;
    g->equal += json_is_true(json_object_get(line, "equal"));
    g->loops_ref += cycle_ref;
    g->loops_test += cycle_test;
    g->loops_new += cycle_test && !cycle_ref;
    g->grams_ref += json_integer_value(json_object_get(ref, "repeated_4grams"));
    g->grams_test += json_integer_value(json_object_get(test, "repeated_4grams"));
    if (!json_is_object(divergence))
        return;
    json_int_t index = json_integer_value(json_object_get(divergence, "index"));
    g->diverged++;
    if (!g->divergence || index < g->divergence_at) {
        json_decref(g->divergence);
        g->divergence = json_pack("{s:O}", "prompt", json_object_get(line, "id"));
        json_object_update(g->divergence, divergence);
        g->divergence_at = index;
    }
}

static void gather_status(struct gathering *g, const json_t *line, const char *status)
{
    g->failed++;
    g->context += strcmp(status, "context") == 0;
    g->numeric += strcmp(status, "numeric") == 0;
    if (json_array_size(g->failures) < MOST_FAILURES)
        json_array_append_new(g->failures,
                              json_pack("{s:O, s:s, s:O?}", "id", json_object_get(line, "id"), "status",
                                        status, "message", json_object_get(line, "message")));
}

static void gather_run(struct gathering *g, json_t *run)
{
    const json_t *at = json_object_get(json_object_get(run, "options"), "at");

    g->run = json_incref(run);
    for (size_t i = 0; i < json_array_size(at) && g->n_at < MOST_AT; i++)
        g->at[g->n_at++] =
            (struct part){.until = json_integer_value(json_array_get(at, i)), .divergence = -1};
}

/* One line of the file, which has that number. */
static int gather_line(struct gathering *g, const char *text, size_t n, int64_t number)
{
    json_error_t error;
    json_t *line = json_loadb(text, n, JSON_ALLOW_NUL, &error);
    const char *status = json_string_value(json_object_get(line, "status"));
    int code = DONE;

    if (!status || !json_object_get(line, "id")) {
        code = fail_as(FAILED, CARAT_E_FORMAT, "line %lld of the results is not a line of results: %s",
                       (long long)number, line ? "it has no \"id\" or no \"status\"" : error.text);
        json_decref(line);
        return code;
    }
    if (g->n_prompts == g->capacity) {
        int capacity = g->capacity ? g->capacity * 2 : 64;
        int64_t *counts = realloc(g->counts, (size_t)capacity * sizeof *counts);
        if (!counts)
            code = fail_memory();
        else
            g->counts = counts;
        g->capacity = counts ? capacity : g->capacity;
    }
    if (number == 1 && json_object_get(line, "run"))
        gather_run(g, json_object_get(line, "run"));
    if (code == DONE)
        code = gather_positions(g, line);
    if (strcmp(status, "ok") == 0)
        gather_answers(g, line);
    else
        gather_status(g, line, status);
    json_decref(line);
    return code;
}

static int gather(struct gathering *g, FILE *results)
{
    char *text = NULL;
    size_t capacity = 0;
    ssize_t n;
    int64_t number = 0;
    int code = DONE;

    rewind(results);
    for (int m = 0; m < N_METRIC && code == DONE; m++)
        code = spill_file(&g->spill[m].file);
    while (code == DONE && (n = getline(&text, &capacity, results)) > 0)
        code = interrupted() ? INTERRUPTED : gather_line(g, text, (size_t)n, ++number);
    if (code == DONE && ferror(results))
        code = fail(FAILED, "the results cannot be read: %s", strerror(errno));
    free(text);
    return code;
}

static void gathering_close(struct gathering *g)
{
    for (int m = 0; m < N_METRIC; m++) {
        if (g->spill[m].file)
            fclose(g->spill[m].file);
    }
    free(g->counts);
    json_decref(g->run);
    json_decref(g->divergence);
    json_decref(g->failures);
}

/* ---- what it says ---- */

/* e^x, the same on every machine, to two units of the last place: libraries differ. */
static double exponential(double x)
{
    double n = floor(x * 0x1.71547652b82fep+0 + 0.5), sum = 1;
    double r = (x - n * 0x1.62e42fefa3800p-1) - n * 0x1.ef35793c76730p-45; /* log 2 in two parts */

    if (!(x > -700 && x < 700))
        return x < 0 ? 0 : x > 0 ? INFINITY : NAN;
    for (int i = 16; i > 0; i--)
        sum = 1 + sum * r / i;
    return ldexp(sum, (int)n);
}

static json_t *summary_of(const carat_summary *s)
{
    json_t *interval = s->has_interval ? json_pack("[f, f]", s->low, s->high) : json_null();

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "mean", json_number(s->mean), "median",
                     json_number(s->median), "p90", json_number(s->p90), "p99", json_number(s->p99), "max",
                     json_number(s->max), "interval", interval);
}

static json_t *part_of(const struct part *p)
{
    double n = (double)p->n;

    return json_pack("{s:I, s:o, s:o}", "positions", (json_int_t)p->n, "kl", json_number(p->kl / n),
                     "correlation", json_number(p->correlation / n));
}

static json_t *at_of(const struct gathering *g)
{
    json_t *list = json_array();

    for (int i = 0; i < g->n_at; i++) {
        const struct part *p = &g->at[i];
        json_t *one = json_pack("{s:I}", "tokens", (json_int_t)p->until);
        json_object_update_new(one, part_of(p));
        json_object_set_new(one, "match", json_number(p->match / (double)p->n));
        json_object_set_new(one, "first_divergence",
                            p->divergence < 0 ? json_null() : json_integer((json_int_t)p->divergence));
        json_array_append_new(list, one);
    }
    return list;
}

/* Without one both are NaN. */
static void take_interval(double interval[2], const carat_summary *s, double scale)
{
    interval[0] = s->low * scale;
    interval[1] = s->high * scale;
}

static int verdict_of(const struct gathering *g, const carat_summary *s, const carat_quality_limits *limits,
                      json_t **verdict)
{
    carat_quality q;
    carat_judgement j;
    carat_error err;

    carat_quality_default(&q);
    carat_judgement_default(&j);
    q.kl = s[KL].mean;
    q.correlation = s[CORRELATION].mean;
    q.match = s[MATCH_CLEAR].n ? s[MATCH_CLEAR].mean * 100 : 100; /* near-ties alone say nothing */
    q.entropy_ref = s[ENTROPY_REF].mean;
    q.entropy_test = s[ENTROPY_TEST].mean;
    q.loops = (int)g->loops_new;
    q.broken = (int)g->numeric;
    q.outside = s[OUTSIDE].n ? s[OUTSIDE].mean : 0;
    take_interval(q.kl_interval, &s[KL], 1);
    take_interval(q.correlation_interval, &s[CORRELATION], 1);
    take_interval(q.match_interval, &s[MATCH_CLEAR], 100);
    take_interval(q.entropy_interval, &s[ENTROPY_TEST], 1);
    take_interval(q.outside_interval, &s[OUTSIDE], 1);
    if (carat_judge(&q, limits, &j, &err) != CARAT_OK)
        return fail_status(&err);
    *verdict =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s}", "whole", carat_health_name(j.whole), "reason",
                  j.reason, "kl", carat_health_name(j.kl), "correlation", carat_health_name(j.correlation),
                  "match", carat_health_name(j.match), "entropy", carat_health_name(j.entropy), "loop",
                  carat_health_name(j.loop), "outside", carat_health_name(j.outside));
    return DONE;
}

static json_t *limits_of(const carat_quality_limits *l)
{
    return json_pack("{s:[f,f], s:[f,f], s:[f,f], s:[f,f], s:[f,f]}", "kl", l->kl[0], l->kl[1], "correlation",
                     l->correlation[0], l->correlation[1], "match", l->match[0], l->match[1], "entropy",
                     l->entropy[0], l->entropy[1], "outside", l->outside[0], l->outside[1]);
}

static json_t *summary_json(const struct gathering *g, const carat_summary *s, json_t *verdict,
                            const carat_quality_limits *limits)
{
    int64_t positions = 0;

    for (int i = 0; i < g->n_prompts; i++)
        positions += g->counts[i];
    json_t *all =
        json_pack("{s:o, s:o, s:i, s:I, s:I, s:I, s:O, s:I, s:I, s:I}", "verdict", verdict, "limits",
                  limits_of(limits), "prompts", g->n_prompts, "failed", g->failed, "context", g->context,
                  "numeric", g->numeric, "failures", g->failures, "positions", (json_int_t)positions,
                  "near_ties", g->near_ties, "left_out", g->left_out);
    for (int m = 0; m < N_SHOWN; m++)
        json_object_set_new(all, metrics[m].name, summary_of(&s[m]));
    json_object_set_new(all, "delta_p_rms", json_number(sqrt(s[DELTA_P_SQUARE].mean)));
    json_object_set_new(all, "perplexity_ref", json_number(exponential(-s[LOGPROB_REF].mean)));
    json_object_set_new(all, "perplexity_test", json_number(exponential(-s[LOGPROB_TEST].mean)));
    json_object_set_new(all, "equal_answers", json_number((double)g->equal / (double)g->answers));
    json_object_set(all, "first_divergence", g->divergence);
    if (!g->divergence)
        json_object_set_new(all, "first_divergence", json_null());
    json_object_update_new(all, json_pack("{s:I, s:I, s:I, s:I, s:I}", "diverged", g->diverged, "loops_ref",
                                          g->loops_ref, "loops_test", g->loops_test, "repeated_4grams_ref",
                                          g->grams_ref, "repeated_4grams_test", g->grams_test));
    json_t *after = json_null();
    if (g->after_stop.n) {
        after = part_of(&g->after_stop);
        json_object_set_new(after, "match_rate", json_number(g->after_stop.match / (double)g->after_stop.n));
    }
    json_object_set_new(all, "after_stop", after);
    if (g->n_at)
        json_object_set_new(all, "at", at_of(g));
    if (g->run)
        json_object_set(all, "run", g->run);
    return all;
}

int summary_make(FILE *results, const carat_quality_limits *limits, json_t **summary)
{
    struct gathering g = {.failures = json_array(), .after_stop.divergence = -1};
    carat_summary s[N_METRIC];
    json_t *verdict = NULL;
    int code = gather(&g, results);

    for (int m = 0; m < N_METRIC && code == DONE; m++)
        code = interrupted() ? INTERRUPTED : spill_summarise(&g.spill[m], g.counts, g.n_prompts, &s[m]);
    if (code == DONE)
        code = verdict_of(&g, s, limits, &verdict);
    if (code == DONE)
        *summary = summary_json(&g, s, verdict, limits);
    gathering_close(&g);
    return code;
}

char *summary_text(const json_t *summary)
{
    return json_dumps(summary, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
}
