/* SPDX-License-Identifier: Apache-2.0 */
/* perplexity.h: what the files of `carat perplexity` share. perplexity.c is the verb and scores windows of a
 * text, perplexity_score.c has the engine, perplexity_talk.c the model's turns in conversations,
 * perplexity_print.c says what came out. */
#ifndef PERPLEXITY_H
#define PERPLEXITY_H

#include <jansson.h>

#include "carat_quality.h"
#include "options/options.h"
#include "term/progress.h"

/* Sums over ids that were scored: minus their log-probabilities, and the squares of these. */
struct losses {
    int64_t n;
    double sum, squares;
};

/* A conversation. */
struct talk_of {
    int64_t line;
    int turns, tokens; /* tokens: of its longest turn, with what stands before it */
    const char *status;
    json_t *id;   /* the line's own, or NULL */
    size_t first; /* of its turns */
};

struct perplexity {
    const struct options *o;
    const char *path, *name; /* of the file, and as messages call it */
    carat_model *model;
    carat_model_info info;
    carat_engine *engine;
    carat_session *session;
    struct progress bar;
    size_t before, total; /* ids that earlier windows evaluated, and all will */
    double *logprob;      /* [most] of a window */
    int context;          /* ids of a window, or positions */
    carat_tokens ids;     /* of the text */
    struct losses all;
    int windows;    /* or conversations, that were scored */
    int left;       /* ids of the text, or conversations, that were not */
    long long_line; /* the first of those, and */
    int long_ids;   /* its ids */
    double seconds;
};

void losses_add(struct losses *to, const struct losses *l);
double losses_mean(const struct losses *l);
/* Standard error of the mean, as llama-perplexity has it; NaN: there is none. */
double losses_error(const struct losses *l);

/* An engine with a session for the longest window; checks -c. An exit code. */
int perplexity_begin(struct perplexity *p, int context, int longest);
/* Adds ids[from] to ids[n - 1], each behind all before it, to *l. `what` and number name them in messages. An
 * exit code. */
int perplexity_score(struct perplexity *p, const int32_t *ids, int from, int n, const char *what, long number,
                     struct losses *l);
/* perplexity_talk.c */
int perplexity_of_talks(struct perplexity *p);
/* perplexity_print.c: a line for a window, whose first id that counts is `first` of the text, and for a
 * conversation; without losses it did not fit. Exit codes. */
int perplexity_print_window(const struct perplexity *p, int number, int first, const struct losses *l);
int perplexity_print_talk(const struct perplexity *p, struct talk_of *t, const struct losses *l);
int perplexity_print_result(const struct perplexity *p);

#endif
