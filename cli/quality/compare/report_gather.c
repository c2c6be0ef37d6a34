/* SPDX-License-Identifier: Apache-2.0 */
/* report_gather.c: walks over the lines of results.jsonl once and keeps what the pictures show: counts in
 * bins and columns, and the few lines that are shown themselves. What is pooled over all prompts is the
 * summary's. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "quality/compare/report_parts.h"
#include "term/exit.h"
#include "term/message.h"

/* ---- scales ---- */

static int kl_bin(double kl)
{
    double place = kl > 0 ? (log10(kl) - KL_LEAST) * KL_PER_DECADE : -1;

    return place < 0 ? 0 : place >= KL_BINS - 1 ? KL_BINS - 1 : 1 + (int)place;
}

double report_quantile(const struct report_column *c, double q)
{
    int64_t rank = (int64_t)(q * (double)(c->n_kl - 1)), before = 0;
    int bin = 0;

    if (c->n_kl == 0)
        return NAN;
    while (bin < KL_BINS - 1 && before + c->bins[bin] <= rank)
        before += c->bins[bin++];
    double value = bin == 0 ? 0 : pow(10, KL_LEAST + (bin - 0.5) / KL_PER_DECADE);
    return fmin(fmax(value, c->low), c->high);
}

double report_place(const struct report_scale *s, double value)
{
    double place = s->logarithmic ? log(fmax(value, s->least) / s->least) / log(s->most / s->least)
                                  : (value - s->least) / (s->most - s->least);

    return fmin(fmax(place, 0), 1);
}

/* Linear, unless half of the positions of one would lie at its beginning. */
static struct report_scale entropy_scale(const struct summary *summary)
{
    const carat_summary *ref = &summary->metric[ENTROPY_REF], *test = &summary->metric[ENTROPY_TEST];
    double most = fmax(ref->max, test->max); /* both pass over a NAN */
    double median = fmin(ref->median, test->median);
    struct report_scale s = {.most = 1};

    if (most > 0) {
        double step = svg_step(most, 5);
        s.most = ceil(most / step) * step;
    }
    if (median < 0.02 * s.most && most > 0) {
        double beginning = floor(log10(fmax(median, 1e-12))) - 3;
        s = (struct report_scale){true, pow(10, fmax(beginning, -15)), pow(10, ceil(log10(most)))};
    }
    return s;
}

static int cell_of(const struct report_scale *s, double value)
{
    int cell = (int)(report_place(s, value) * REPORT_CELLS);

    return cell < REPORT_CELLS ? cell : REPORT_CELLS - 1;
}

static int margin_bin(double margin)
{
    double place = margin > 0 ? (log10(margin) - MARGIN_LEAST) * MARGIN_PER_DECADE : 0;

    return place < 0 ? 0 : place >= MARGIN_BINS ? MARGIN_BINS - 1 : (int)place;
}

/* ---- columns ---- */

static void add_column(struct report_column *to, const struct report_column *from)
{
    if (to->n_kl == 0 || (from->n_kl && from->low < to->low))
        to->low = from->low;
    if (to->n_kl == 0 || (from->n_kl && from->high > to->high))
        to->high = from->high;
    to->n += from->n;
    to->n_kl += from->n_kl;
    to->matches += from->matches;
    to->parted += from->parted;
    to->sum += from->sum;
    for (int i = 0; i < KL_BINS; i++)
        to->bins[i] += from->bins[i];
}

/* The column of a position; when there is none two and two of them become one. */
static struct report_column *column_at(struct report_figures *g, int64_t position)
{
    while (position / g->group >= REPORT_COLUMNS) {
        for (int i = 0; i < REPORT_COLUMNS / 2; i++) {
            g->column[i] = g->column[2 * i];
            add_column(&g->column[i], &g->column[2 * i + 1]);
        }
        memset(g->column + REPORT_COLUMNS / 2, 0, sizeof g->column / 2);
        g->columns = (g->columns + 1) / 2;
        g->group *= 2;
    }
    int at = (int)(position / g->group);
    g->columns = at >= g->columns ? at + 1 : g->columns;
    return &g->column[at];
}

static void add_kl(struct report_column *c, double kl)
{
    c->low = c->n_kl == 0 || kl < c->low ? kl : c->low;
    c->high = c->n_kl == 0 || kl > c->high ? kl : c->high;
    c->sum += kl;
    c->bins[kl_bin(kl)]++;
    c->n_kl++;
}

/* ---- lines ---- */

/* Returns the mean KL, NAN when there is none. */
static double add_positions(struct report_figures *g, const struct result *line, size_t n, int64_t *matches)
{
    bool parted = false;
    double sum = 0;
    int64_t n_kl = 0;

    *matches = 0;
    for (size_t i = 0; i < n; i++) {
        struct report_column *c = column_at(g, (int64_t)i);
        bool same = result_number(line, OF_MATCH, i) > 0;
        double d = result_number(line, OF_KL, i), m = result_number(line, OF_MARGIN_REF, i),
               x = result_number(line, OF_ENTROPY_REF, i), y = result_number(line, OF_ENTROPY_TEST, i);
        c->n++;
        c->matches += same;
        c->parted += !same && !parted;
        parted = parted || !same;
        *matches += same;
        if (!isnan(d)) {
            add_kl(c, d);
            sum += d;
            n_kl++;
        }
        if (!isnan(m)) {
            g->margins[same][margin_bin(m)]++;
            g->n_margin[same]++;
        }
        if (!isnan(x) && !isnan(y))
            g->cells[cell_of(&g->entropy, y)][cell_of(&g->entropy, x)]++;
    }
    return n_kl ? sum / (double)n_kl : NAN;
}

/* The line goes where its mean puts it, behind those that are alike; the last one falls out. */
static void keep_worst(struct report_figures *g, struct report_case *c)
{
    int at = g->n_worst;

    while (at > 0 && g->worst[at - 1].mean < c->mean)
        at--;
    if (at == REPORT_WORST)
        return;
    if (g->n_worst == REPORT_WORST)
        result_free(&g->worst[--g->n_worst].line);
    memmove(&g->worst[at + 1], &g->worst[at], (size_t)(g->n_worst - at) * sizeof *g->worst);
    g->worst[at] = *c;
    c->line.value = NULL;
    g->n_worst++;
}

/* Adds c's line to the figures. A line that they keep no longer belongs to c. */
static void add_line(struct report_figures *g, struct report_case *c)
{
    const size_t n = result_end(&c->line);

    if (!words_are(c->line.status, "ok")) {
        result_drop_lists(&c->line);
        if (g->n_failed < REPORT_WORST) {
            g->failed[g->n_failed++] = c->line;
            c->line.value = NULL;
        }
        return;
    }
    if (n == 0)
        return;
    c->positions = (int64_t)n;
    c->mean = add_positions(g, &c->line, n, &c->matches);
    g->prompts++;
    g->longest = c->positions > g->longest ? c->positions : g->longest;
    result_drop_lists(&c->line);
    if (!isnan(c->mean))
        keep_worst(g, c);
}

int report_gather(struct report_figures *g, FILE *results, const struct summary *summary)
{
    char *text = NULL;
    size_t capacity = 0;
    int code = DONE;
    ssize_t n = 0;

    memset(g, 0, sizeof *g);
    g->group = 1;
    g->entropy = entropy_scale(summary);
    rewind(results);
    errno = 0;
    for (long number = 1; code == DONE && (n = getline(&text, &capacity, results)) >= 0; number++) {
        struct report_case c = {0};
        code = result_read(&c.line, text, (size_t)n, number);
        if (code == DONE)
            add_line(g, &c);
        result_free(&c.line);
    }
    if (code == DONE && !feof(results))
        code = errno == ENOMEM ? fail_memory()
                               : term_fail(FAILED, "cannot read results.jsonl: %s", strerror(errno));
    free(text);
    return code;
}

void report_forget(struct report_figures *g)
{
    while (g->n_worst > 0)
        result_free(&g->worst[--g->n_worst].line);
    while (g->n_failed > 0)
        result_free(&g->failed[--g->n_failed]);
}
