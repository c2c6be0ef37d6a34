/* SPDX-License-Identifier: Apache-2.0 */
/* speculate.h: drafts for a generation: where they come from, how long they are, and what became of them. A
 * pass verifies them (generate.c), so that nothing here can change an id. */
#ifndef CT_SPECULATE_H
#define CT_SPECULATE_H

#include "engine/account.h"
#include "engine/ngram.h"

struct ct_speculation {
    bool off, always; /* always: whatever the account says */
    int least, most;  /* ids of a draft */
    carat_propose callers;
    void *user;              /* of it */
    struct ct_ngrams ngrams; /* where the caller proposes nothing */
    struct ct_account account;

    /* of the step under way */
    int asked, drafted;
    double proposing; /* nanoseconds */
};

/* The pass that several generations fill, one after another. */
struct ct_draft_pass {
    int generations, drafts; /* its rows are both */
    double tokens;           /* that are expected of it */
};

/* A history has at most so many tokens. False: no memory. */
bool ct_speculate_open(struct ct_speculation *s, const carat_generation_options *o, int tokens);
void ct_speculate_close(struct ct_speculation *s);
/* The session holds another text. */
void ct_speculate_begin(struct ct_speculation *s);

struct ct_draft_pass ct_draft_pass(int generations);
/* Puts at most `room` ids that may follow ids[n] into draft and returns their number. */
int ct_speculate_propose(struct ct_speculation *s, const struct ct_draft_pass *pass, const int32_t *ids,
                         int n, int32_t *draft, int room);
/* Of these the first k are possible: how many go into the pass. */
int ct_speculate_settle(struct ct_speculation *s, struct ct_draft_pass *pass, int k);
/* The pass took so long, and so many of the draft were right. */
void ct_speculate_verified(struct ct_speculation *s, const struct ct_draft_pass *pass, int accepted,
                           double seconds);

#endif
