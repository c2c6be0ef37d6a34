/* SPDX-License-Identifier: Apache-2.0 */
/* report_parts.h: what the report of `carat compare` is made of: report.c writes the page in its order,
 * report_gather.c reads the results into what the pictures show, the others write a part each. Numbers and
 * words are the summary's wherever it has them; nothing is judged here. */
#ifndef REPORT_PARTS_H
#define REPORT_PARTS_H

#include <stdint.h>
#include <stdio.h>

#include "io/svg.h"
#include "quality/compare/report.h"

/* ---- report_gather.c: one walk over the lines, in memory that does not grow with them ---- */

/* KL is counted in bins of a twentieth of a decade from 1e-18 to 1e2; bin 0 is all below. */
enum { REPORT_COLUMNS = 256, KL_LEAST = -18, KL_MOST = 2, KL_PER_DECADE = 20 };
enum { KL_BINS = (KL_MOST - KL_LEAST) * KL_PER_DECADE + 1 };
/* Margins in bins of a fifth of a decade from 1e-3 to 1e2; the first and the last hold what lies beyond,
 * too. */
enum { MARGIN_LEAST = -3, MARGIN_MOST = 2, MARGIN_PER_DECADE = 5 };
enum { MARGIN_BINS = (MARGIN_MOST - MARGIN_LEAST) * MARGIN_PER_DECADE };
enum { REPORT_CELLS = 44, REPORT_WORST = 10 };

/* `group` positions that follow each other, of all prompts. */
struct report_column {
    int64_t n, n_kl;
    int64_t matches, parted; /* parted: prompts whose first position without a match is here */
    double low, high, sum;   /* of KL */
    uint32_t bins[KL_BINS];
};

/* The scale that makes an entropy a place from 0 to 1. */
struct report_scale {
    bool logarithmic;
    double least, most;
};

/* A prompt, without its arrays. */
struct report_case {
    struct result line;
    double mean; /* KL */
    int64_t matches, positions;
};

struct report_figures {
    int64_t prompts, longest; /* that have positions; positions of the longest */
    int64_t group;
    int columns;
    struct report_column column[REPORT_COLUMNS];
    int64_t margins[2][MARGIN_BINS], n_margin[2]; /* of the reference; [0] where there is no match */
    struct report_scale entropy;
    int64_t cells[REPORT_CELLS][REPORT_CELLS]; /* [test][reference] */
    int n_worst, n_failed;                     /* kept of them: the highest mean KL first; the first ones */
    struct report_case worst[REPORT_WORST];
    struct result failed[REPORT_WORST];
};

/* An exit code. What is gathered is freed by report_forget, also after a failure. */
int report_gather(struct report_figures *g, FILE *results, const struct summary *summary);
void report_forget(struct report_figures *g);
/* A quantile of the values in a column: least, highest or what lies between by bins. NAN without any. */
double report_quantile(const struct report_column *c, double q);
double report_place(const struct report_scale *s, double value);

/* ---- report_text.c: text of strangers, and numbers ---- */

/* Text as XML. Characters that would not be seen, or that move others (controls, marks of direction, what
 * XML forbids), are shown by name, in a box when `boxed`. Stops when `most` bytes are written; returns how
 * many of n were taken. */
size_t report_text(FILE *f, const char *s, size_t n, size_t most, bool boxed);
/* A text, "–" for none; isolated from the directions around it. */
void report_words(FILE *f, struct words text);
/* report_words for JSON of any type. */
void report_value(FILE *f, const json_t *value);

enum { NUMBER_TEXT = 48 };
/* "0.0213", "2.1×10⁻⁷", "–" for NAN. */
const char *number_text(char out[NUMBER_TEXT], double value, int digits);
/* number_text for what is best at 1: "0.9987", "1 − 2.3×10⁻⁸". */
const char *near_one_text(char out[NUMBER_TEXT], double value);
/* "99.3 %", with a space that does not break; 100 % only where nothing is missing. */
const char *percent_text(char out[NUMBER_TEXT], double share);
/* "12 345", with narrow spaces. */
const char *count_text(char out[NUMBER_TEXT], int64_t n);
/* "10⁻³" */
const char *power_text(char out[NUMBER_TEXT], int exponent);

/* ---- the parts of the page ---- */

extern const char report_style[]; /* report_style.c */
/* All before the first word, with a title of two names; report.c. */
void report_begin(FILE *f, const char *first, const char *between, const char *second);
/* A verdict with its sign. */
void report_health(FILE *f, carat_health health);
void report_verdict(FILE *f, const struct summary *summary, const struct report_figures *g);
void report_metrics(FILE *f, const struct summary *summary);
void report_compared(FILE *f, const struct summary *summary);
void report_curves(FILE *f, const struct summary *summary, const struct report_figures *g);
void report_margins(FILE *f, const struct summary *summary, const struct report_figures *g);
void report_entropies(FILE *f, const struct report_figures *g);
void report_cases(FILE *f, const struct report_figures *g, int64_t failed);
void report_bisection(FILE *f, const struct bisection *b);

#endif
