/* SPDX-License-Identifier: Apache-2.0 */
/* compare_table.c: the summary of a comparison for a terminal: the verdict in a sentence, a table of
 * metrics with as many columns as there is room for, and lines about answers. Every number comes from the
 * summary. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quality/compare/summary.h"
#include "term/columns.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/output.h"

enum { WIDEST = 80, NAME = 15, NUMBER = 9 };

/* ---- words, in lines that are no wider than the terminal ---- */

/* Prints a paragraph whose first line follows `label`; others are indented as far. */
static void print_folded(const char *label, const char *text, int columns)
{
    int indent = columns < 60 ? 2 : (int)strlen(label), at = (int)strlen(label);
    bool begins = true;

    out_text(label, strlen(label));
    while (*(text += strspn(text, " "))) {
        size_t n = strcspn(text, " ");
        int width = !begins;
        for (size_t i = 0; i < n; i++)
            width += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (!begins && at + width > columns) {
            out_print("\n%*s", indent, "");
            at = indent - 1;
        } else if (!begins) {
            out_print(" ");
        }
        out_text(text, n);
        at += width;
        text += n;
        begins = false;
    }
    out_print("\n");
}

static void say_folded(int columns, const char *label, const char *format, ...) PRINTF(3, 4);
static void say_folded(int columns, const char *label, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_folded(label, text, columns);
}

/* ---- numbers ---- */

/* At most NUMBER - 1 characters: zero as 0, what is near 0 or large in powers of ten, numbers below ten
 * with so many digits behind the point, as many as 6. */
static const char *number_text(char out[32], double value, int digits)
{
    double size = fabs(value);

    if (!isfinite(value))
        snprintf(out, 32, "-");
    else if (value == 0 || (size >= 1 && size == floor(size) && size < 1e6))
        snprintf(out, 32, "%.0f", value + 0.0);
    else if (size < 1e-3 || size >= 1e5)
        snprintf(out, 32, "%.1e", value);
    else
        snprintf(out, 32, "%.*f", size < 10 ? digits : size < 1000 ? 2 : 0, value);
    return out;
}

/* ---- the table ---- */

#define OF(member) offsetof(carat_summary, member)
static const struct {
    const char *head;
    size_t at;
} columns_of_table[] = {{"mean", OF(mean)},     {"p99", OF(p99)}, {"low", OF(low)}, {"high", OF(high)},
                        {"median", OF(median)}, {"p90", OF(p90)}, {"max", OF(max)}};

#define JUDGED(member) offsetof(carat_judgement, member)
#define NOT_JUDGED     0 /* where its size is */
static const struct {
    const char *name;
    enum metric metric;
    size_t judged; /* the member of the verdict */
    double scale;
    int digits;
} rows_of_table[] = {
    {"KL(ref||test)", KL, JUDGED(kl), 1, 4},
    {"KL(test||ref)", KL_REVERSE, NOT_JUDGED, 1, 4},
    {"correlation", CORRELATION, JUDGED(correlation), 1, 6},
    {"cosine", COSINE, NOT_JUDGED, 1, 6},
    {"match %", MATCH, NOT_JUDGED, 100, 2},
    {"  no near-tie", MATCH_CLEAR, JUDGED(match), 100, 2},
    {"entropy ref", ENTROPY_REF, NOT_JUDGED, 1, 4},
    {"entropy test", ENTROPY_TEST, JUDGED(entropy), 1, 4},
    {"margin ref", MARGIN_REF, NOT_JUDGED, 1, 4},
    {"margin test", MARGIN_TEST, NOT_JUDGED, 1, 4},
    {"overlap of top", OVERLAP, NOT_JUDGED, 1, 4},
    {"largest diff.", LARGEST, NOT_JUDGED, 1, 4},
    {"p of left out", OUTSIDE, JUDGED(outside), 1, 4}, /* where any is */
};

static void print_metrics(const struct summary *s, int columns)
{
    int n = (columns - NAME - 2) / NUMBER, most = (int)(sizeof columns_of_table / sizeof *columns_of_table);
    const size_t rows = sizeof rows_of_table / sizeof *rows_of_table - !s->left_out;
    bool marked = false;
    char text[32];

    n = n < 1 ? 1 : n > most ? most : n;
    out_print("  %-*s", NAME, "");
    for (int c = 0; c < n; c++)
        out_print("%*s", NUMBER, columns_of_table[c].head);
    out_print("\n");
    for (size_t r = 0; r < rows; r++) {
        const char *of = (const char *)&s->metric[rows_of_table[r].metric];
        const size_t judged = rows_of_table[r].judged;
        const carat_health health =
            judged ? *(const carat_health *)(const void *)((const char *)&s->verdict + judged)
                   : CARAT_NOT_JUDGED;
        const char mark = health == CARAT_WATCH ? '?' : health == CARAT_CONCERNING ? '!' : ' ';
        marked |= mark != ' ';
        out_print("%c %-*s", mark, NAME, rows_of_table[r].name);
        for (int c = 0; c < n; c++) {
            const double value = *(const double *)(const void *)(of + columns_of_table[c].at);
            out_print("%*s", NUMBER,
                      number_text(text, value * rows_of_table[r].scale, rows_of_table[r].digits));
        }
        out_print("\n");
    }
    if (marked)
        out_print("! concerning, ? to be watched\n");
}

/* A line for each length of --at, from the one run. */
static void print_lengths(const struct summary *s, int columns)
{
    static const char *const heads[] = {"tokens", "KL", "corr.", "match %", "parts"};
    int width = columns < 5 * (NUMBER + 1) ? columns / 5 : NUMBER + 1;
    char text[32];

    if (s->n_at == 0)
        return;
    out_print("\n");
    for (int i = 0; i < 5; i++)
        out_print(" %*s", width - 1, heads[i]);
    out_print("\n");
    for (const struct part *at = s->at; at < s->at + s->n_at; at++) {
        out_print("%*lld", width, (long long)at->tokens);
        out_print(" %*s", width - 1, number_text(text, at->kl, 4));
        out_print(" %*s", width - 1, number_text(text, at->correlation, width < 10 ? 4 : 6));
        out_print(" %*s", width - 1, number_text(text, at->match * 100, 2));
        out_print(" %*s\n", width - 1,
                  number_text(text, at->first_divergence < 0 ? NAN : (double)at->first_divergence, 4));
    }
}

/* ---- what else there is to say ---- */

static void print_sides(const struct run *run, int columns)
{
    for (int i = 0; i < 2; i++) {
        const struct run_side *side = &run->side[i];
        const char *label = i ? "test  " : "ref   ";
        if (side->recorded)
            say_folded(columns, label, "%.80s, recorded logits", words_some(side->name).s);
        else if (*words_some(side->name).s)
            say_folded(columns, label, "%.80s, %.80s, %.200s", words_some(side->name).s,
                       words_some(side->mode).s, words_some(side->types).s);
    }
}

static void print_amounts(const struct summary *s, int columns)
{
    const struct {
        int64_t n;
        const char *what;
    } amounts[] = {{s->context, "longer than the context"},
                   {s->numeric, "with NaN or infinity"},
                   {s->failed > s->context + s->numeric ? s->failed : 0, "failed in all"},
                   {s->left_out, "logits left out"}};
    char text[256] = "";
    size_t n = 0;

    for (size_t i = 0; i < sizeof amounts / sizeof *amounts; i++)
        if (amounts[i].n)
            n += (size_t)snprintf(text + n, sizeof text - n, ", %lld %s", (long long)amounts[i].n,
                                  amounts[i].what);
    say_folded(columns, "over  ", "%lld prompt%s, %lld positions, %lld of them near-ties%s",
               (long long)s->prompts, s->prompts == 1 ? " (which gives no interval)" : "s",
               (long long)s->positions, (long long)s->near_ties, text);
}

/* As JSON, in which a piece keeps to its line; for free. */
static char *quoted(struct words w)
{
    json_t *string = json_stringn(w.s, w.n);
    char *text = json_dumps(string, JSON_ENCODE_ANY);

    json_decref(string);
    return text;
}

/* Those that failed, by name. */
static void print_failures(const struct summary *s, int columns)
{
    for (int i = 0; i < s->n_failures; i++) {
        char *id = json_dumps(s->failure[i].id, JSON_ENCODE_ANY);
        say_folded(columns, "      ", "prompt %.80s: %.400s", id ? id : "",
                   words_some(s->failure[i].message).s);
        free(id);
    }
}

static void print_divergence(const struct summary *s, int columns)
{
    const struct divergence *d = &s->first;
    char ref[32], test[32];

    if (!d->there) {
        say_folded(columns, "parts ", "nowhere");
        return;
    }
    char *id = json_dumps(d->prompt, JSON_ENCODE_ANY), *of_ref = quoted(d->piece_ref),
         *of_test = quoted(d->piece_test);
    say_folded(columns, "parts ",
               "%lld prompt%s, first at %lld of prompt %.80s: %.80s and %.80s, margins %s and %s%s",
               (long long)s->diverged, s->diverged == 1 ? "" : "s", (long long)d->index, id ? id : "",
               of_ref ? of_ref : "", of_test ? of_test : "", number_text(ref, d->margin_ref, 4),
               number_text(test, d->margin_test, 4), d->near_tie ? " (a near-tie)" : "");
    free(id);
    free(of_ref);
    free(of_test);
}

static void print_answers(const struct summary *s, int columns)
{
    const struct part *after = &s->after_stop;
    char a[32], b[32], c[32], d[32];

    say_folded(columns, "text  ", "perplexity %s and %s, RMS of dp %s, %s %% of the answers equal",
               number_text(a, s->perplexity[0], 4), number_text(b, s->perplexity[1], 4),
               number_text(c, s->delta_p_rms, 4), number_text(d, s->equal_answers * 100, 2));
    if (s->loops[0] + s->loops[1])
        say_folded(columns, "loops ", "%lld and %lld answers end in a cycle", (long long)s->loops[0],
                   (long long)s->loops[1]);
    if (after->there)
        say_folded(columns, "after ", "the stop: %lld positions, KL %s, correlation %s, match %s %%",
                   (long long)after->positions, number_text(a, after->kl, 4),
                   number_text(b, after->correlation, 4), number_text(c, after->match * 100, 2));
}

int summary_print(const struct summary *s)
{
    int columns = columns_of(STDOUT_FILENO, USUAL_COLUMNS);

    columns = columns < WIDEST ? columns : WIDEST;
    say_folded(columns, "", "%s: %.512s", carat_health_name(s->verdict.whole), s->verdict.reason);
    print_sides(&s->run, columns);
    print_amounts(s, columns);
    print_failures(s, columns);
    out_print("\n");
    print_metrics(s, columns);
    print_lengths(s, columns);
    out_print("\n");
    print_divergence(s, columns);
    print_answers(s, columns);
    return DONE;
}
