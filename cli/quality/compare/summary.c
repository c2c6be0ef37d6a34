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

/* ---- numbers of one metric, one after the other ---- */

struct spill {
    FILE *file;
    int64_t n;
};

static int spill_failed(void)
{
    return term_fail(FAILED, "a temporary file in %s cannot be written: %s",
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

/* Behind those that the summary shows, those behind single numbers of it. */
enum { DELTA_P_SQUARE = N_SHOWN, LOGPROB_REF, LOGPROB_TEST, N_METRIC };
#define COLUMN_OF(which, name, column) [which] = column,
static const enum column metrics[N_METRIC] = {SUMMARY_METRICS(COLUMN_OF) OF_DELTA_P, OF_LOGPROB_REF,
                                              OF_LOGPROB_TEST};

enum { MOST_AT = 64, MOST_FAILURES = 16 };

struct gathering {
    struct summary *s;
    struct spill spill[N_METRIC];
    int64_t *counts; /* [capacity] positions of each prompt */
    int capacity;
    int64_t answers, equal, loops_new;
};

static void part_add(struct part *p, const struct result *line, size_t i)
{
    const double kl = result_number(line, OF_KL, i), match = result_number(line, OF_MATCH, i);

    if (isnan(kl))
        return;
    p->there = true;
    p->kl += kl;
    p->correlation += result_number(line, OF_CORRELATION, i);
    p->match += match;
    p->positions++;
    if (match == 0 && (p->first_divergence < 0 || (int64_t)i < p->first_divergence))
        p->first_divergence = (int64_t)i;
}

/* From sums to means. */
static void part_end(struct part *p)
{
    p->kl /= (double)p->positions;
    p->correlation /= (double)p->positions;
    p->match /= (double)p->positions;
}

/* Element i of a metric, as it is summarised. */
static double metric_at(int m, const struct result *line, size_t i)
{
    const double value = result_number(line, metrics[m], i);

    if (m == MATCH_CLEAR && result_number(line, OF_NEAR_TIE, i) != 0)
        return NAN;
    if (m >= DELTA_P_SQUARE && !(result_number(line, OF_IDS, i) >= 0))
        return NAN; /* nothing follows that could be likely */
    if (m == LOGPROB_TEST && isnan(value))
        return -INFINITY; /* the test leaves out what follows */
    if (m == OUTSIDE && !line->column[OF_OUTSIDE])
        return 0; /* nothing is left out */
    return m == DELTA_P_SQUARE ? value * value : value;
}

/* The positions of a line, up to that which gave a stop id; those behind it apart. */
static int gather_positions(struct gathering *g, const struct result *line)
{
    struct summary *s = g->s;
    const size_t n = json_array_size(line->column[OF_KL]), end = result_end(line);
    int code = DONE;

    for (int m = 0; m < N_METRIC; m++)
        for (size_t i = 0; i < end && code == DONE; i++)
            code = spill_add(&g->spill[m], metric_at(m, line, i));
    for (size_t i = 0; i < n; i++) {
        if (i >= end)
            part_add(&s->after_stop, line, i);
        for (int a = 0; a < s->n_at; a++)
            if ((int64_t)i < s->at[a].tokens)
                part_add(&s->at[a], line, i);
    }
    for (size_t i = 0; i < end; i++) {
        const double left_out = result_number(line, OF_LEFT_OUT, i);
        s->near_ties += result_number(line, OF_NEAR_TIE, i) == 1;
        s->left_out += isnan(left_out) ? 0 : (int64_t)left_out;
    }
    g->counts[s->prompts++] = (int64_t)end;
    s->positions += (int64_t)end;
    return code;
}

/* Keeps the JSON that texts of a line belong to; its lists are dropped. */
static void keep_line(struct summary *s, const struct result *line)
{
    json_array_append(s->kept, line->value);
}

static void gather_answers(struct gathering *g, const struct result *line)
{
    struct summary *s = g->s;
    const struct loop *loop = line->loop;

    g->answers++;
    g->equal += line->equal;
    g->loops_new += loop[1].cycle > 0 && loop[0].cycle <= 0;
    for (int i = 0; i < 2; i++) {
        s->loops[i] += loop[i].cycle > 0;
        s->repeated_4grams[i] += loop[i].repeated_4grams;
    }
    if (!line->first.there)
        return;
    s->diverged++;
    if (!s->first.there || line->first.index < s->first.index) {
        s->first = line->first;
        s->first.prompt = line->id;
        keep_line(s, line);
    }
}

static void gather_status(struct summary *s, const struct result *line)
{
    s->failed++;
    s->context += words_are(line->status, "context");
    s->numeric += words_are(line->status, "numeric");
    if (s->n_failures < MOST_FAILURES) {
        s->failure[s->n_failures++] = *line;
        keep_line(s, line);
    }
}

static int gather_run(struct summary *s, const struct result *line)
{
    const size_t n = json_array_size(line->run.options.at);

    s->run = line->run;
    json_array_append(s->kept, field_find(line->value, "run")); /* the lists are needed yet */
    if (n == 0)
        return DONE;
    s->at = calloc(n < MOST_AT ? n : MOST_AT, sizeof *s->at);
    if (!s->at)
        return fail_memory();
    for (; s->n_at < MOST_AT && (size_t)s->n_at < n; s->n_at++)
        s->at[s->n_at] =
            (struct part){.tokens = json_integer_value(json_array_get(s->run.options.at, (size_t)s->n_at)),
                          .first_divergence = -1};
    return DONE;
}

static int counts_grow(struct gathering *g)
{
    const int capacity = g->capacity ? g->capacity * 2 : 64;
    int64_t *counts =
        g->s->prompts < g->capacity ? g->counts : realloc(g->counts, (size_t)capacity * sizeof *counts);

    if (!counts)
        return fail_memory();
    g->capacity = g->s->prompts < g->capacity ? g->capacity : capacity;
    g->counts = counts;
    return DONE;
}

/* One line of the file, which has that number. */
static int gather_line(struct gathering *g, const char *text, size_t n, int64_t number)
{
    struct result line;
    int code = result_read(&line, text, n, number);

    if (code == DONE)
        code = counts_grow(g);
    if (code == DONE && number == 1 && line.run.there)
        code = gather_run(g->s, &line);
    if (code == DONE)
        code = gather_positions(g, &line);
    if (code == DONE) {
        result_drop_lists(&line);
        if (words_are(line.status, "ok"))
            gather_answers(g, &line);
        else
            gather_status(g->s, &line);
    }
    result_free(&line);
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
        code = term_interrupted() ? INTERRUPTED : gather_line(g, text, (size_t)n, ++number);
    if (code == DONE && ferror(results))
        code = term_fail(FAILED, "the results cannot be read: %s", strerror(errno));
    free(text);
    return code;
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

/* Without one both are NaN. */
static void take_interval(double interval[2], const carat_summary *s, double scale)
{
    interval[0] = s->low * scale;
    interval[1] = s->high * scale;
}

static int summary_judge(const struct gathering *g)
{
    struct summary *s = g->s;
    const carat_summary *of = s->metric;
    carat_quality q;
    carat_error err;

    carat_quality_default(&q);
    carat_judgement_default(&s->verdict);
    q.kl = of[KL].mean;
    q.correlation = of[CORRELATION].mean;
    q.match = of[MATCH_CLEAR].n ? of[MATCH_CLEAR].mean * 100 : 100; /* near-ties alone say nothing */
    q.entropy_ref = of[ENTROPY_REF].mean;
    q.entropy_test = of[ENTROPY_TEST].mean;
    q.loops = (int)g->loops_new;
    q.broken = (int)s->numeric;
    q.outside = of[OUTSIDE].n ? of[OUTSIDE].mean : 0;
    take_interval(q.kl_interval, &of[KL], 1);
    take_interval(q.correlation_interval, &of[CORRELATION], 1);
    take_interval(q.match_interval, &of[MATCH_CLEAR], 100);
    take_interval(q.entropy_interval, &of[ENTROPY_TEST], 1);
    take_interval(q.outside_interval, &of[OUTSIDE], 1);
    return carat_judge(&q, &s->limits, &s->verdict, &err) == CARAT_OK ? DONE : fail_status(&err);
}

/* All that follows from what was gathered. */
static int summarise(struct gathering *g)
{
    struct summary *s = g->s;
    carat_summary all[N_METRIC];
    int code = DONE;

    for (int m = 0; m < N_METRIC && code == DONE; m++)
        code = term_interrupted() ? INTERRUPTED
                                  : spill_summarise(&g->spill[m], g->counts, (int)s->prompts, &all[m]);
    if (code != DONE)
        return code;
    memcpy(s->metric, all, sizeof s->metric);
    s->delta_p_rms = sqrt(all[DELTA_P_SQUARE].mean);
    s->perplexity[0] = exponential(-all[LOGPROB_REF].mean);
    s->perplexity[1] = exponential(-all[LOGPROB_TEST].mean);
    s->equal_answers = (double)g->equal / (double)g->answers;
    part_end(&s->after_stop);
    for (int i = 0; i < s->n_at; i++)
        part_end(&s->at[i]);
    return summary_judge(g);
}

int summary_make(FILE *results, const carat_quality_limits *limits, struct summary *s)
{
    struct gathering g = {.s = s};

    *s = (struct summary){.limits = *limits,
                          .kept = json_array(),
                          .failure = calloc(MOST_FAILURES, sizeof *s->failure),
                          .after_stop.first_divergence = -1};
    int code = s->kept && s->failure ? gather(&g, results) : fail_memory();
    if (code == DONE)
        code = summarise(&g);
    for (int m = 0; m < N_METRIC; m++)
        if (g.spill[m].file)
            fclose(g.spill[m].file);
    free(g.counts);
    return code;
}

void summary_free(struct summary *s)
{
    json_decref(s->kept);
    free(s->failure);
    free(s->at);
    *s = (struct summary){0};
}

char *summary_text(const struct summary *s)
{
    return fields_text(summary_fields, s, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
}
