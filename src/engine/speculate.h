/* SPDX-License-Identifier: Apache-2.0 */
/* speculate.h: drafts for a generation: where they come from, how long they are, and what became of them. A
 * pass verifies them (generate.c), so that nothing here can change an id. */
#ifndef CT_SPECULATE_H
#define CT_SPECULATE_H

#include "engine/account.h"
#include "engine/draft.h"

/* ---- what followed the last tokens of the text when they stood there before ---- */

enum { CT_NGRAM_LEAST = 2, CT_NGRAM_MOST = 4, CT_NGRAM_LENGTHS = CT_NGRAM_MOST - CT_NGRAM_LEAST + 1 };

/* Where each run of 2, 3 and 4 tokens of a history last ended. A table has open addresses, and its entries
 * are compared with the history itself: whatever stands there can be useless, never wrong. */
struct ct_ngrams {
    size_t slots; /* of a table: a power of two, at least twice the longest history */
    int32_t *end; /* [CT_NGRAM_LENGTHS][slots] tokens up to and with the run; 0: none */
    int indexed;  /* tokens whose runs are in the tables */
};

/* A history has at most so many tokens. False: there is no memory. */
bool ct_ngrams_open(struct ct_ngrams *g, int most);
void ct_ngrams_close(struct ct_ngrams *g);
/* Another history begins. */
void ct_ngrams_begin(struct ct_ngrams *g);
/* Puts up to k ids that may follow ids[n] into draft and returns their number: of the longest run of 4, 3 or
 * 2 tokens at the end that stood there before, what followed it last; 0: there is none. ids are those of the
 * call before, and more, unless another history began. */
int ct_ngrams_propose(struct ct_ngrams *g, const int32_t *ids, int n, int32_t *draft, int k);

/* ---- a generation ---- */

struct ct_speculation {
    carat_lookup use[CT_DRAFT_SOURCES]; /* when they pay, always, never */
    int least, most;                    /* ids of a draft */
    carat_session *session;             /* whose drafter proposes; NULL: it has none */
    carat_propose callers;
    void *user;              /* passed to it */
    struct ct_ngrams ngrams; /* where no callback proposes */
    struct ct_account account;

    /* of the step under way */
    carat_draft_source source;
    int asked, drafted;
    double proposing; /* nanoseconds */
};

/* The pass that several generations fill, one after another. */
struct ct_draft_pass {
    int generations, drafts; /* its rows are both */
    int most;                /* of these rows; more go into further passes */
    double tokens;           /* that are expected of it */
};

/* A history has at most so many tokens. False: no memory. */
bool ct_speculate_open(struct ct_speculation *s, const carat_generation_options *o, int tokens);
/* The drafter of this session's engine proposes, too, if it has one. */
void ct_speculate_with(struct ct_speculation *s, carat_session *session, carat_lookup use);
void ct_speculate_close(struct ct_speculation *s);
/* The session holds another text. */
void ct_speculate_begin(struct ct_speculation *s);

struct ct_draft_pass ct_draft_pass(int generations, int most);
/* Puts at most `room` ids that may follow ids[n] into draft and returns their number. */
int ct_speculate_propose(struct ct_speculation *s, const struct ct_draft_pass *pass, const int32_t *ids,
                         int n, int32_t *draft, int room);
/* Of these the first k are possible: how many go into the pass. */
int ct_speculate_settle(struct ct_speculation *s, struct ct_draft_pass *pass, int k);
/* How many ids of `room` a form may propose; and of k possible ones of it, how many go into the pass. */
int ct_speculate_room(const struct ct_speculation *s, int room);
int ct_speculate_given(struct ct_speculation *s, struct ct_draft_pass *pass, int k);
/* The pass took so long, and so many of the draft were right. */
void ct_speculate_verified(struct ct_speculation *s, const struct ct_draft_pass *pass, int accepted,
                           double seconds);

#endif
