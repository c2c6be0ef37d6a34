/* SPDX-License-Identifier: Apache-2.0 */
/* readout.h: what a generation tells of an id that was drawn: its text, of a thought or of the answer, as far
 * as stop strings let it out, how likely it was, and whether ids go round. Which ids are drawn is
 * generate.c's. */
#ifndef CT_READOUT_H
#define CT_READOUT_H

#include "engine/row_logits.h"
#include "generate/guard.h"
#include "generate/stop.h"
#include "engine/session.h"
#include "text/chat/call.h"
#include "text/chat/thought.h"

/* Tells how likely an id was. */
struct ct_likely {
    float entropy; /* of the choice; infinite: nobody asked for it */
    float logprob;
    carat_logprob top[CARAT_MOST_LOGPROBS];
};

struct ct_readout {
    bool logprobs; /* down to ignored nothing changes after creation */
    int n_top;
    int32_t *never; /* [n_never] ids that are never drawn */
    int n_never;
    struct ct_thought_marks marks;
    bool goes_on; /* with a thought that began before what is held */
    struct ct_call_span call;
    size_t n_call_begin; /* bytes that the text of a call's first token has */
    struct ct_stops stops;
    struct ct_guard guard;
    struct ct_thought thought; /* where the ids that were given have come to */
    struct ct_thought_text thought_text;
    int thought_ids;
    bool in_call;                                  /* its first token was given, and not the last */
    bool asks_entropy;                             /* of the ids of the step under way */
    struct ct_likely likely[1 + CARAT_MOST_DRAFT]; /* of the same ids */
    char text[CT_STOP_HELD + 2 * (CT_STREAM_MAX + CT_THOUGHT_HELD)];
};

/* E_ARGUMENT, E_MEMORY; what was opened is closed by ct_readout_close in any case. options are complete. */
carat_status ct_readout_open(struct ct_readout *t, const carat_session *s, const carat_generation_options *o,
                             carat_error *err);
void ct_readout_close(struct ct_readout *t);
/* Other ids and another text begin, behind tokens[n]. */
void ct_readout_begin(struct ct_readout *t, const int32_t *tokens, int n);
/* Adds what is told of the next n ids to what their draws read. */
void ct_readout_reads(struct ct_readout *t, int n, struct ct_reading *r);
/* Number i of these is drawn from such logits; the draw may put others in their place. The engine's lock is
 * held, as in the next one. */
void ct_readout_sees(struct ct_readout *t, carat_engine *e, int i, const struct ct_logits *l);
/* The log-probability of an id by the logits of all ids, and the n_top most likely ids, as carat_logprob has
 * them. Takes no lock: any number of threads at once. */
float ct_likelihood(carat_engine *e, const struct ct_logits *l, int32_t id, carat_logprob *top, int n_top);
/* It was drawn; -1: none could be. Where likelihoods are told, the logits are all. */
void ct_readout_drawn(struct ct_readout *t, carat_engine *e, int i, const struct ct_logits *l, int32_t id);
/* It is given now: fills in what is told of it. Returns the reason to end with it, for which *which is the
 * stop string or the length of the cycle, or NONE. */
carat_reason ct_readout_give(struct ct_readout *t, carat_session *s, int i, carat_given *given, int *which);
/* As carat_generation_rest, out being "" already; flushes: an unfinished character of the session is part of
 * it. */
size_t ct_readout_rest(struct ct_readout *t, carat_session *s, bool flushes, char *out, size_t capacity);

#endif
