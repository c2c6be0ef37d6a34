/* SPDX-License-Identifier: Apache-2.0 */
/* eval.h: what the files of `carat eval` share. eval.c is the verb and scores items, eval_prompt.c makes
 * ids of them, eval_print.c counts and says what came out, eval_item.c reads a line. */
#ifndef EVAL_H
#define EVAL_H

#include "carat_quality.h"
#include "options/options.h"
#include "quality/eval_item.h"
#include "term/progress.h"

/* The ways in which a choice is scored. */
enum eval_way { BY_LETTER, BY_LIKELIHOOD, BY_BYTE, N_WAYS };

struct question {
    json_t *value, *id; /* of the line, which has the texts of; its id, or NULL */
    struct eval_item item;
    long line;
};

struct score {
    double logprob[2][MOST_CHOICES]; /* of the letters, of the texts */
    int chosen[N_WAYS];
};

/* Counts of items, and of those that were right in each way. */
struct tally {
    int items, right[N_WAYS];
};

struct subject {
    const char *name; /* of an item */
    struct tally tally;
};

struct eval {
    const struct options *o;
    const char *path, *name;
    carat_model *model;
    carat_model_info info;
    carat_engine *engine;
    carat_session *session;
    struct progress bar;
    struct question *question; /* [n] */
    int n, at;                 /* at: the one under way */
    int context, longest;      /* longest: ids of the longest item with one of its choices */
    long longest_line;         /* where that is */
    struct tally all;
    struct subject *subject; /* [n_subjects] */
    int n_subjects;
    int too_long; /* items */
    double seconds;
};

/* eval_prompt.c: what stands before the choices of a way, BY_LETTER or BY_LIKELIHOOD, and the whole with
 * choice i, of which ids from *from on are the choice. Exit codes; ids begin anew. */
int eval_prompt(const struct eval *e, const struct eval_item *item, enum eval_way way, carat_tokens *ids);
int eval_continue(const struct eval *e, const struct eval_item *item, enum eval_way way, int i,
                  const carat_tokens *prompt, carat_tokens *ids, int *from);
/* eval_print.c. Exit codes. */
int eval_count(struct eval *e, const struct question *q, struct score *s);
int eval_print_too_long(const struct eval *e, const struct question *q, int tokens);
int eval_print_result(const struct eval *e);

#endif
