/* SPDX-License-Identifier: Apache-2.0 */
/* scores.h: how likely the ids of a prompt were, for those who ask that it be told with them. */
#ifndef SCORES_H
#define SCORES_H

#include "request.h"

/* How likely an id was, as it is kept until it is written. */
struct told_logprob {
    carat_logprob of; /* NAN: it is the first id, which nothing stands before */
    int n_top;
    carat_logprob top[MOST_TOP];
};

/* They belong to the text that is told: those of an id wait until its text is, and those of thoughts, of
 * calls, and of what a stop string cuts off are dropped. call: the number of the one that the id is of, or
 * -1. */
void logprobs_wait(const carat_model *model, struct choice *choice, const carat_given *given, int call);
void logprobs_tell(struct choice *choice, size_t n);
void logprobs_end(const struct request *request, struct choice *choice, bool is_stopped);

/* Those of the stop id behind an answer, which its generation does not give. */
void keep_end(const struct request *request, struct choice *choice, int32_t id);

/* Whether a prompt is scored, or nothing drawn behind it: then it has no generation at first. */
bool request_waits_for_scores(const struct request *request);
/* Scores up to `most` ids of the prompt, in the session of the first answer. */
carat_status request_score(struct request *request, int most, carat_error *err);
/* There is no more to be scored. */
bool request_is_scored(const struct request *request);

#endif
