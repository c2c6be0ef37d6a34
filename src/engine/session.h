/* SPDX-License-Identifier: Apache-2.0 */
/* session.h: what a session holds, and how that changes. Nobody outside this room writes a field of one. */
#ifndef CT_SESSION_H
#define CT_SESSION_H

#include "engine/engine.h"
#include "engine/row.h"
#include "text/tokenizer/detokenizer.h"

struct carat_session {
    struct carat_engine *engine;
    atomic_bool busy;   /* a call is inside */
    atomic_bool cancel; /* it should end, or the next one */
    int slot;
    uint64_t owner; /* whose sessions share what they evaluate; 0: nobody's */
    bool unsound;   /* logits behind tokens that it holds were not finite */
    carat_progress progress, watch;
    void *user;
    int n;            /* tokens held */
    unsigned changes; /* how often these tokens have changed */
    int logits;       /* row logits of the last token; -1: none */
    int branch;       /* a pass ends here, since others go on differently, and a snapshot is taken; 0: none */
    carat_session_stats stats;
    struct ct_detokenizer detokenizer;
    carat_session *beside;        /* of the drafter's engine, which has seen some of its tokens; NULL: none */
    struct ct_reading declared;   /* what draws read of logits, as its options say; k 0: all */
    int32_t apart[CT_MOST_APART]; /* declared.apart */
    struct ct_row row;            /* of a carat_step under way */
};

/* Lets a call into a session until it releases it; a reader, too. E_ARGUMENT: it is NULL; E_BUSY: another
 * call is inside. */
carat_status ct_session_claim(const carat_session *session, carat_error *err);
carat_status ct_session_release(const carat_session *s, carat_status status); /* returns the status */

/* The inner forms of public functions, for who has claimed the session. Pointers are not NULL. */
carat_status ct_sync(carat_session *s, const int32_t *tokens, int n, int *reused, carat_error *err);
carat_status ct_rewind(carat_session *s, int n, carat_error *err);
void ct_mark(carat_session *session);
carat_status ct_top(carat_session *session, int k, carat_candidate *out, carat_error *err);

static inline int32_t *ct_held_tokens(const carat_session *s) /* [context] */
{
    return s->engine->held + (size_t)s->slot * (size_t)s->engine->plan.context;
}

/* The engine's lock is held for these. */

/* So many tokens will come: memory of long sessions is asked for in huge pages. */
void ct_session_grows(const carat_session *s, int more);
/* Begins the statistics of a call: what the session keeps. */
void ct_session_kept(carat_session *s);
/* Makes it hold its first n tokens only. Logits and text stay as they are. */
void ct_session_cut(carat_session *s, int n);
/* Leaves what the session holds to others of its owner, who may come, when it is about to forget it. */
void ct_session_leave(carat_session *s);
/* Makes it hold nothing; discard: its memory goes back to the system. */
void ct_session_empty(carat_session *s, bool discard);

/* sync.c: makes the session hold what it has of tokens[n] and nothing else: tokens[*held ... n) are to be
 * evaluated, at least the last one unless the session has its logits. Errors as carat_sync. */
carat_status ct_keep_prefix(carat_session *s, const int32_t *tokens, int n, int *held, carat_error *err);
/* reuse.c: makes a claimed session with an owner, which has the first `common` of tokens[n], hold more of
 * them where others of its owner have them and one can go on further on; returns how many it has then. */
int ct_reuse(carat_session *s, const int32_t *tokens, int n, int common);

#endif
