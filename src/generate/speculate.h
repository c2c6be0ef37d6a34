/* SPDX-License-Identifier: Apache-2.0 */
/* speculate.h: drafts for a generation: where they come from, how long they are, and what became of them. A
 * pass verifies them (generate.c), so that nothing here can change an id. */
#ifndef CT_SPECULATE_H
#define CT_SPECULATE_H

#include "base/base.h"
#include "carat_generate.h"
#include "generate/draft.h"

/* ---- account.c ---- */

/* The account finds whether drafts pay, and whose. It is arithmetic on what it is told of passes: how many
 * rows they had, how long they took, what their drafts had cost, how many of them were right. No clock, no
 * token and no logit is known here. */

enum {
    CT_ACCOUNT_ROWS = 64,   /* of a pass that is measured; with more, nothing is drafted */
    CT_ACCOUNT_SAMPLES = 5, /* of a cost, which is a low one of them */
    CT_ACCOUNT_WAIT = 64,   /* tokens until a draft is tried again, the first time */
};

/* Places of a draft: the first id, and those that follow a right one. */
enum { CT_DRAFT_FIRST, CT_DRAFT_NEXT, CT_DRAFT_PLACES };

/* The costs that were measured lately. */
struct ct_account_cost {
    float sample[CT_ACCOUNT_SAMPLES]; /* nanoseconds of the last ones */
    unsigned n;                       /* that were measured */
};

enum { CT_DRAFT_SOURCES = CARAT_FROM_FORM + 1 };

/* A source of drafts. */
struct ct_account_source {
    struct ct_account_cost step; /* what an id of a draft costs; n 0: nothing */
    double first;                /* and what comes before the first of the next one */
    double right[CT_DRAFT_PLACES], tried[CT_DRAFT_PLACES]; /* ids; the older, the less they count */
    enum ct_drafting { CT_DRAFTS, CT_WAITS, CT_STAYS_OFF, CT_ALWAYS_DRAFTS } state;
    int wait, until; /* tokens of a pause; CT_WAITS: given when a draft is tried again */
    double before;   /* gained when drafting last began */
    int drafted, accepted;
    double gained; /* nanoseconds, its part */
};

struct ct_account {
    struct ct_account_cost pass[CT_ACCOUNT_ROWS + 1]; /* what passes of so many rows cost */
    struct ct_account_source source[CT_DRAFT_SOURCES];
    double gained, spent; /* nanoseconds */
    int passes;           /* that may be lost, if that is more than the share of the time */
    int given;            /* ids */
    int switched;         /* times that drafting began or ended, of which the first are kept */
    carat_draft_switch switches[CARAT_MOST_SWITCHES];
    carat_draft_source switched_source[CARAT_MOST_SWITCHES];
};

/* A generation begins; costs that are known stay. always: drafts whatever it costs. */
void ct_account_begin(struct ct_account *a, bool always);
/* Drafts of this source take whatever they cost, or not. */
void ct_account_always(struct ct_account *a, carat_draft_source source, bool always);
/* One more id of a draft costs so much, and so much comes before the first. */
void ct_account_step(struct ct_account *a, carat_draft_source source, double nanoseconds);
/* A pass of so many rows takes so long. */
void ct_account_cost(struct ct_account *a, int rows, double nanoseconds);
/* Guesses that a pass of so many rows takes so long; nothing changes where that was measured. */
void ct_account_guess(struct ct_account *a, int rows, double nanoseconds);
/* The number of drafts, at least `least` and at most `most`, that are worth a pass that already has so many
 * rows, from which so many tokens are expected: the number that gives most tokens a second; 0: none are.
 * Switches. */
int ct_account_choose(struct ct_account *a, carat_draft_source source, int rows, double tokens, int least,
                      int most);
/* The best number once more, where fewer drafts can be had than were chosen. */
int ct_account_best(const struct ct_account *a, carat_draft_source source, int rows, double tokens, int least,
                    int most);
/* Tokens that a pass gives beside the drawn one, when so many are drafted. */
double ct_account_expects(const struct ct_account *a, carat_draft_source source, int drafts);
/* Tokens a nanosecond, then. */
double ct_account_speed(const struct ct_account *a, carat_draft_source source, int rows, double tokens,
                        int drafts);

/* One generation in a pass of several. */
struct ct_draft_facts {
    int generations, drafts;   /* of the pass: its rows are both */
    int drafted, accepted;     /* of the generation */
    double pass, proposing;    /* nanoseconds of the pass; of making the generation's draft */
    carat_draft_source source; /* of that */
};
void ct_account_book(struct ct_account *a, const struct ct_draft_facts *facts);

/* ---- what followed the last tokens of the text when they stood there before ---- */

enum { CT_NGRAM_LEAST = 2, CT_NGRAM_MOST = 4, CT_NGRAM_LENGTHS = CT_NGRAM_MOST - CT_NGRAM_LEAST + 1 };

/* The place where each run of 2, 3 and 4 tokens of a history last ended. A table has open addresses, and its
 * entries are compared with the history itself: whatever stands there can be useless, never wrong. */
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
/* Says how many of these ids go into the pass, when the first k of them are possible. */
int ct_speculate_settle(struct ct_speculation *s, struct ct_draft_pass *pass, int k);
/* Say how many ids of `room` a form may propose; and of k possible ones of it, how many go into the pass. */
int ct_speculate_room(const struct ct_speculation *s, int room);
int ct_speculate_given(struct ct_speculation *s, struct ct_draft_pass *pass, int k);
/* The pass took so long, and so many of the draft were right. */
void ct_speculate_verified(struct ct_speculation *s, const struct ct_draft_pass *pass, int accepted,
                           double seconds);

#endif
