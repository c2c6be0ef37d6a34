/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h: what the lines of results say together: counted once, here, and read by whoever tells it. As
 * JSON it is what the tables of summary_fields.c say. QUALITY.md has the formats. */
#ifndef SUMMARY_H
#define SUMMARY_H

#include <stdio.h>

#include "carat_quality.h"
#include "io/members.h"

/* ---- result.c: a line of results, one prompt that was compared; compare_line.c makes them ---- */

/* Arrays of a line, with a value for each position: their names, and what of a carat_position they are. The
 * last two are of prompts in which ids are left out. */
#define RESULT_COLUMNS(X)                                                                                    \
    X(OF_IDS, "ids", next, IS_INT)                                                                           \
    X(OF_TOP_REF, "top_ref", difference.top_ref, IS_INT)                                                     \
    X(OF_TOP_TEST, "top_test", difference.top_test, IS_INT)                                                  \
    X(OF_MATCH, "match", difference.match, IS_INT)                                                           \
    X(OF_NEAR_TIE, "near_tie", difference.near_tie, IS_INT)                                                  \
    X(OF_KL, "kl", difference.kl, IS_REAL)                                                                   \
    X(OF_KL_REVERSE, "kl_reverse", difference.kl_reverse, IS_REAL)                                           \
    X(OF_CORRELATION, "correlation", difference.correlation, IS_REAL)                                        \
    X(OF_COSINE, "cosine", difference.cosine, IS_REAL)                                                       \
    X(OF_ENTROPY_REF, "entropy_ref", difference.entropy_ref, IS_REAL)                                        \
    X(OF_ENTROPY_TEST, "entropy_test", difference.entropy_test, IS_REAL)                                     \
    X(OF_MARGIN_REF, "margin_ref", difference.margin_ref, IS_REAL)                                           \
    X(OF_MARGIN_TEST, "margin_test", difference.margin_test, IS_REAL)                                        \
    X(OF_OVERLAP, "overlap", difference.overlap, IS_INT)                                                     \
    X(OF_LARGEST, "largest", difference.largest, IS_REAL)                                                    \
    X(OF_LOGPROB_REF, "logprob_ref", difference.logprob_ref, IS_OF_NEXT)                                     \
    X(OF_LOGPROB_TEST, "logprob_test", difference.logprob_test, IS_OF_NEXT)                                  \
    X(OF_DELTA_P, "delta_p", difference.delta_p, IS_OF_NEXT)                                                 \
    X(OF_LEFT_OUT, "left_out", difference.left_out, IS_INT)                                                  \
    X(OF_OUTSIDE, "outside", difference.outside, IS_REAL)

#define FIRST(which, ...) which,
enum column { RESULT_COLUMNS(FIRST) N_COLUMNS };

/* The place where two answers part. */
struct divergence {
    bool there;
    json_t *prompt; /* its id, where it is not the line's own */
    int64_t index;
    int id_ref, id_test;
    struct words piece_ref, piece_test;
    double margin_ref, margin_test;
    bool near_tie;
};

struct loop {
    bool there;
    int repeated_4grams, cycle, cycle_start;
};

/* A model, or recorded logits, which have a name alone. */
struct run_side {
    struct words name;
    bool recorded;
    struct words architecture, container, types;
    int64_t weight_bytes, n_parameter;
    struct words content, mode;
};

/* The run as the first line tells it for all: who is compared, and how. */
struct run {
    bool there;
    struct words version;
    int numerics;
    struct words driver;
    struct {
        int max_tokens;
        bool ignore_eos;
        int top;
        double near_tie;
        json_t *at; /* a list of lengths */
    } options;
    struct run_side side[2]; /* the reference, the test */
    struct run_data {
        bool there;
        struct words name;
        int64_t prompts;
        struct words hash;
        bool raw;
        struct words chat_template;
    } data;
    struct words command;
};

struct result {
    json_t *value; /* what its texts and lists belong to */
    json_t *id, *column[N_COLUMNS], *answer_ids[2];
    struct words status, driver, prompt, message;
    int n_prompt;
    bool prompt_cut, equal;
    int64_t stop;           /* position that gave a stop id; -1: none */
    struct words answer[2]; /* of the reference, of the test */
    struct divergence first;
    struct loop loop[2];
    struct run run; /* of the first line */
};

/* summary_fields.c */
extern const struct field result_fields[], run_fields[], data_fields[], divergence_fields[];

/* Takes JSON that was read; false: it is no line of results. Free it in any case. */
bool result_take(struct result *l, json_t *value);
/* Line `number` of a file. An exit code. */
int result_read(struct result *l, const char *text, size_t n, int64_t number);
void result_free(struct result *l);
/* Drops its arrays, which are most of it. */
void result_drop_lists(struct result *l);
/* NAN: there is none. */
double result_number(const struct result *l, enum column column, size_t i);
/* Positions of the answer: what follows a stop id is summarised apart. */
size_t result_end(const struct result *l);

/* ---- summary.c: all of them ---- */

/* Metrics that a summary shows, and which array they are of. */
#define SUMMARY_METRICS(X)                                                                                   \
    X(KL, "kl", OF_KL)                                                                                       \
    X(KL_REVERSE, "kl_reverse", OF_KL_REVERSE)                                                               \
    X(CORRELATION, "correlation", OF_CORRELATION)                                                            \
    X(COSINE, "cosine", OF_COSINE)                                                                           \
    X(ENTROPY_REF, "entropy_ref", OF_ENTROPY_REF)                                                            \
    X(ENTROPY_TEST, "entropy_test", OF_ENTROPY_TEST)                                                         \
    X(MATCH, "match_rate", OF_MATCH)                                                                         \
    X(MATCH_CLEAR, "match_rate_clear", OF_MATCH) /* without near-ties */                                     \
    X(OVERLAP, "overlap", OF_OVERLAP)                                                                        \
    X(LARGEST, "largest", OF_LARGEST)                                                                        \
    X(MARGIN_REF, "margin_ref", OF_MARGIN_REF)                                                               \
    X(MARGIN_TEST, "margin_test", OF_MARGIN_TEST)                                                            \
    X(OUTSIDE, "outside", OF_OUTSIDE) /* where anything is left out */

enum metric { SUMMARY_METRICS(FIRST) N_SHOWN };

/* Means over some positions. */
struct part {
    bool there;
    int64_t tokens, positions;
    double kl, correlation, match;
    int64_t first_divergence; /* -1: none */
};

/* The place where two models begin to differ. */
struct bisection {
    int tokens;
    int32_t row[CARAT_MOST_BISECT_ROWS];
    int n_rows;
    const carat_operation_error *flagged; /* the first that stands out; NULL: none */
    carat_operation_error first;
    carat_operation_error *table; /* [n] */
    int n, capacity;
    char failed[1024]; /* a NaN, where it is */
};

struct timings {
    double seconds, tokens_per_second;
    int64_t prompts, positions; /* of this run; -1: one prompt is all */
};

struct summary {
    carat_judgement verdict;
    carat_quality_limits limits;
    int64_t prompts, failed, context, numeric; /* context, numeric: why some failed */
    struct result *failure;                    /* [n_failures] the first ones */
    int n_failures;
    int64_t positions, near_ties, left_out;
    carat_summary metric[N_SHOWN];
    double delta_p_rms, perplexity[2], equal_answers;
    struct divergence first;
    int64_t diverged, loops[2], repeated_4grams[2];
    struct part after_stop, *at; /* at: [n_at] of each length */
    int n_at;
    struct run run;
    /* given by those who have it; what they point to is theirs */
    const struct bisection *bisect;
    const struct timings *timings;
    json_t *kept; /* what texts belong to */
};
extern const struct field summary_fields[], limits_fields[], spread_fields[], verdict_fields[];

/* Reads the lines from the beginning; memory grows by some bytes a prompt, the rest lies in temporary files.
 * An exit code; free it in any case. */
int summary_make(FILE *results, const carat_quality_limits *limits, struct summary *s);
void summary_free(struct summary *s);
/* As JSON with numbers in 17 digits; NULL when memory is out. */
char *summary_text(const struct summary *s);

/* An unlinked file in TMPDIR. An exit code. */
int spill_file(FILE **file);

/* compare_table.c: the summary in as many columns as the terminal has, at most 80, the verdict first. */
int summary_print(const struct summary *s);

#endif
