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

static double number_of(const json_t *object, const char *member)
{
    const json_t *value = json_object_get(object, member);

    return json_is_number(value) ? json_number_value(value) : NAN;
}

static long long count_of(const json_t *object, const char *member)
{
    return (long long)json_integer_value(json_object_get(object, member));
}

static const char *word_of(const json_t *object, const char *member)
{
    const char *word = json_string_value(json_object_get(object, member));

    return word ? word : "";
}

/* At most NUMBER - 1 characters: zero as 0, what is near 0 or large in powers of ten, numbers below ten
 * with so many digits behind the point, as many as 6. */
static const char *number_text(char out[32], double value, int digits)
{
    double size = fabs(value);

    if (isnan(value))
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

static const struct {
    const char *head, *member;
    int place; /* in "interval", else -1 */
} columns_of_table[] = {{"mean", "mean", -1},    {"p99", "p99", -1},       {"low", "interval", 0},
                        {"high", "interval", 1}, {"median", "median", -1}, {"p90", "p90", -1},
                        {"max", "max", -1}};

static const struct {
    const char *name, *member, *judged; /* judged: the member of the verdict */
    double scale;
    int digits;
} rows_of_table[] = {
    {"KL(ref||test)", "kl", "kl", 1, 4},
    {"KL(test||ref)", "kl_reverse", "", 1, 4},
    {"correlation", "correlation", "correlation", 1, 6},
    {"cosine", "cosine", "", 1, 6},
    {"match %", "match_rate", "", 100, 2},
    {"  no near-tie", "match_rate_clear", "match", 100, 2},
    {"entropy ref", "entropy_ref", "", 1, 4},
    {"entropy test", "entropy_test", "entropy", 1, 4},
    {"margin ref", "margin_ref", "", 1, 4},
    {"margin test", "margin_test", "", 1, 4},
    {"overlap of top", "overlap", "", 1, 4},
    {"largest diff.", "largest", "", 1, 4},
    {"p of left out", "outside", "outside", 1, 4}, /* where any is */
};

static void print_metrics(const json_t *summary, int columns)
{
    const json_t *verdict = json_object_get(summary, "verdict");
    int n = (columns - NAME - 2) / NUMBER, most = (int)(sizeof columns_of_table / sizeof *columns_of_table);
    const size_t rows = sizeof rows_of_table / sizeof *rows_of_table - !count_of(summary, "left_out");
    bool marked = false;
    char text[32];

    n = n < 1 ? 1 : n > most ? most : n;
    out_print("  %-*s", NAME, "");
    for (int c = 0; c < n; c++)
        out_print("%*s", NUMBER, columns_of_table[c].head);
    out_print("\n");
    for (size_t r = 0; r < rows; r++) {
        const json_t *s = json_object_get(summary, rows_of_table[r].member);
        const char *health = word_of(verdict, rows_of_table[r].judged);
        const char mark = strcmp(health, "watch") == 0 ? '?' : strcmp(health, "concerning") == 0 ? '!' : ' ';
        marked |= mark != ' ';
        out_print("%c %-*s", mark, NAME, rows_of_table[r].name);
        for (int c = 0; c < n; c++) {
            const json_t *value = json_object_get(s, columns_of_table[c].member);
            if (columns_of_table[c].place >= 0)
                value = json_array_get(value, (size_t)columns_of_table[c].place);
            out_print(
                "%*s", NUMBER,
                number_text(text,
                            json_is_number(value) ? json_number_value(value) * rows_of_table[r].scale : NAN,
                            rows_of_table[r].digits));
        }
        out_print("\n");
    }
    if (marked)
        out_print("! concerning, ? to be watched\n");
}

/* A line for each length of --at, from the one run. */
static void print_lengths(const json_t *list, int columns)
{
    static const char *const heads[] = {"tokens", "KL", "corr.", "match %", "parts"};
    int width = columns < 5 * (NUMBER + 1) ? columns / 5 : NUMBER + 1;
    char text[32];

    if (json_array_size(list) == 0)
        return;
    out_print("\n");
    for (int i = 0; i < 5; i++)
        out_print(" %*s", width - 1, heads[i]);
    out_print("\n");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        out_print("%*lld", width, count_of(one, "tokens"));
        out_print(" %*s", width - 1, number_text(text, number_of(one, "kl"), 4));
        out_print(" %*s", width - 1, number_text(text, number_of(one, "correlation"), width < 10 ? 4 : 6));
        out_print(" %*s", width - 1, number_text(text, number_of(one, "match") * 100, 2));
        out_print(" %*s\n", width - 1, number_text(text, number_of(one, "first_divergence"), 4));
    }
}

/* ---- what else there is to say ---- */

static void print_sides(const json_t *run, int columns)
{
    static const char *const sides[] = {"ref", "test"};

    for (int i = 0; i < 2; i++) {
        const json_t *side = json_object_get(run, sides[i]);
        const char *name = word_of(side, "name"), *mode = word_of(side, "mode"),
                   *types = word_of(side, "types");
        if (json_is_true(json_object_get(side, "recorded")))
            say_folded(columns, i ? "test  " : "ref   ", "%.80s, recorded logits", name);
        else if (*name)
            say_folded(columns, i ? "test  " : "ref   ", "%.80s, %.80s, %.200s", name, mode, types);
    }
}

static void print_amounts(const json_t *summary, int columns)
{
    char text[256];
    int n = 0;

    if (count_of(summary, "context"))
        n += snprintf(text + n, sizeof text - (size_t)n, ", %lld longer than the context",
                      count_of(summary, "context"));
    if (count_of(summary, "numeric"))
        n += snprintf(text + n, sizeof text - (size_t)n, ", %lld with NaN or infinity",
                      count_of(summary, "numeric"));
    if (count_of(summary, "failed") > count_of(summary, "context") + count_of(summary, "numeric"))
        n += snprintf(text + n, sizeof text - (size_t)n, ", %lld failed in all", count_of(summary, "failed"));
    if (count_of(summary, "left_out"))
        n += snprintf(text + n, sizeof text - (size_t)n, ", %lld logits left out",
                      count_of(summary, "left_out"));
    text[n] = 0;
    say_folded(columns, "over  ", "%lld prompt%s, %lld positions, %lld of them near-ties%s",
               count_of(summary, "prompts"),
               count_of(summary, "prompts") == 1 ? " (which gives no interval)" : "s",
               count_of(summary, "positions"), count_of(summary, "near_ties"), text);
}

/* Those that failed, by name. */
static void print_failures(const json_t *list, int columns)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        char *id = json_dumps(json_object_get(one, "id"), JSON_ENCODE_ANY);
        say_folded(columns, "      ", "prompt %.80s: %.400s", id ? id : "", word_of(one, "message"));
        free(id);
    }
}

static void print_divergence(const json_t *summary, int columns)
{
    const json_t *d = json_object_get(summary, "first_divergence");
    json_int_t n = count_of(summary, "diverged");
    char ref[32], test[32];

    if (!json_is_object(d)) {
        say_folded(columns, "parts ", "nowhere");
        return;
    }
    /* as JSON, in which a piece keeps to its line */
    char *id = json_dumps(json_object_get(d, "prompt"), JSON_ENCODE_ANY);
    char *of_ref = json_dumps(json_object_get(d, "piece_ref"), JSON_ENCODE_ANY);
    char *of_test = json_dumps(json_object_get(d, "piece_test"), JSON_ENCODE_ANY);
    say_folded(columns, "parts ",
               "%lld prompt%s, first at %lld of prompt %.80s: %.80s and %.80s, margins %s and %s%s",
               (long long)n, n == 1 ? "" : "s", count_of(d, "index"), id ? id : "", of_ref ? of_ref : "",
               of_test ? of_test : "", number_text(ref, number_of(d, "margin_ref"), 4),
               number_text(test, number_of(d, "margin_test"), 4),
               json_is_true(json_object_get(d, "near_tie")) ? " (a near-tie)" : "");
    free(id);
    free(of_ref);
    free(of_test);
}

static void print_answers(const json_t *summary, int columns)
{
    char a[32], b[32], c[32], d[32];

    say_folded(columns, "text  ", "perplexity %s and %s, RMS of dp %s, %s %% of the answers equal",
               number_text(a, number_of(summary, "perplexity_ref"), 4),
               number_text(b, number_of(summary, "perplexity_test"), 4),
               number_text(c, number_of(summary, "delta_p_rms"), 4),
               number_text(d, number_of(summary, "equal_answers") * 100, 2));
    if (count_of(summary, "loops_ref") + count_of(summary, "loops_test"))
        say_folded(columns, "loops ", "%lld and %lld answers end in a cycle", count_of(summary, "loops_ref"),
                   count_of(summary, "loops_test"));
    const json_t *after = json_object_get(summary, "after_stop");
    if (json_is_object(after))
        say_folded(columns, "after ", "the stop: %lld positions, KL %s, correlation %s, match %s %%",
                   count_of(after, "positions"), number_text(a, number_of(after, "kl"), 4),
                   number_text(b, number_of(after, "correlation"), 4),
                   number_text(c, number_of(after, "match_rate") * 100, 2));
}

int summary_print(const json_t *summary)
{
    const json_t *verdict = json_object_get(summary, "verdict");
    int columns = columns_of(STDOUT_FILENO, USUAL_COLUMNS);

    columns = columns < WIDEST ? columns : WIDEST;
    say_folded(columns, "", "%s: %.512s", word_of(verdict, "whole"), word_of(verdict, "reason"));
    print_sides(json_object_get(summary, "run"), columns);
    print_amounts(summary, columns);
    print_failures(json_object_get(summary, "failures"), columns);
    out_print("\n");
    print_metrics(summary, columns);
    print_lengths(json_object_get(summary, "at"), columns);
    out_print("\n");
    print_divergence(summary, columns);
    print_answers(summary, columns);
    return DONE;
}
