/* SPDX-License-Identifier: Apache-2.0 */
/* scores.h: how likely the ids of a prompt were, for those who ask that it be told with them. */
#ifndef SCORES_H
#define SCORES_H

#include "ask.h"

/* How likely an id was, as it is kept until it is written. */
struct told_logprob {
    carat_logprob of; /* NAN: it is the first id, which nothing stands before */
    bool is_thought;  /* it is in no text */
    int n_top;
    carat_logprob top[MOST_TOP];
};

/* The log-probabilities of an id as they are kept. */
void keep_given(struct buffer *out, const carat_given *given);

/* Those of the stop id behind an answer, which its generation does not give. */
void keep_end(const struct ask *ask, struct choice *choice, int32_t id);

/* Whether a prompt is scored, or nothing drawn behind it: then it has no generation at first. */
bool ask_waits_for_scores(const struct ask *ask);
/* Scores up to `most` ids of the prompt, in the session of the first answer. */
carat_status ask_score(struct ask *ask, int most, carat_error *err);
/* There is no more to be scored. */
bool ask_is_scored(const struct ask *ask);

#endif
