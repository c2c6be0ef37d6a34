/* SPDX-License-Identifier: Apache-2.0 */
/* row.h: rows of a step: which tokens go into passes, what is read of their logits, what became of them.
 * Passes are step.c's. */
#ifndef CT_ROW_H
#define CT_ROW_H

#include "base/base.h"
#include "carat_tools.h"

struct ct_draw_logits;
struct ct_reading;

/* A row is what a session appends in a step. The caller sets the fields above `again`, zeros included. */
struct ct_row {
    carat_row row;       /* as carat_step takes it; n: fewer once the row was cut */
    struct ct_row *next; /* of the same step; NULL: this is the last one */
    /* The reading of its logits where `take` gets them, or nobody does; NULL: the reading that its session
     * declares. */
    const struct ct_reading *reading;
    /* Gets what is read, in place of row.deliver, with row.user and by the same rules; may be NULL. */
    int (*take)(void *user, int token, struct ct_draw_logits *logits);
    carat_progress watch; /* in place of its session's; NULL: that one */
    void *watcher;        /* passed to it */
    int drafts;           /* so many of its last tokens are guessed */
    int most;             /* tokens that a step evaluates, held ones too; 0: all */
    bool cuts;            /* where it ends before its last token, the session forgets those behind */

    /* of the step under way: step.c's */
    int again;       /* held tokens that are evaluated again in this step */
    int done;        /* tokens that are evaluated; below 0: held ones are evaluated again first */
    int until;       /* `done` where the step ends: the row's tokens, or fewer */
    int taking;      /* tokens of the pass under way */
    int logits;      /* row logits that the pass computes for its last token; -1: none */
    int next_wanted; /* index into row.wanted */
    int asked;       /* rows of logits that passes so far were asked for */
    int delivered;   /* tokens whose logits were handed over */
    int last;        /* the token at which it ended */
    bool ended;      /* as its callback said */
    bool stopped;    /* the call is to end */
    bool not_finite; /* a K, V or logit is not */
};

/* The origin of a row of a pass: a token of a row of the step, the number of its logits among those that are
 * wanted, and the row logits that were taken for it, or -1. */
struct ct_row_of {
    struct ct_row *row;
    int token, nth, logits;
};

/* E_ARGUMENT: the row of a claimed session has no tokens, an id outside the vocabulary, or wants what cannot
 * be. */
carat_status ct_row_check(const carat_row *row, carat_error *err);
carat_status ct_check_ids(const carat_session *s, const int32_t *tokens, int n, carat_error *err);

/* Evaluates rows of one engine, whose sessions are claimed or nobody else's, and which are checked. Sets
 * their statuses and returns that of the first that failed. reports: the progress of the first one's
 * session hears of each pass. Errors as carat_step, but for E_ARGUMENT and E_BUSY. */
carat_status ct_evaluate(struct ct_row *rows, bool reports, carat_error *err);

#endif
