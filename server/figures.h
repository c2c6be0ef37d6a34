/* SPDX-License-Identifier: Apache-2.0 */
/* figures.h: what several surfaces say beside an answer in the same words: log-probabilities, as OpenAI and
 * Ollama spell them, and times, as llama.cpp does. */
#ifndef FIGURES_H
#define FIGURES_H

#include "scores.h"

/* The members for one id; and objects for those that are told, with what might have come too: of struct
 * told_logprob in bytes `from` to `until` of a buffer. */
void figures_put_token(struct buffer *out, const carat_model *model, const carat_logprob *l);
void figures_put_logprobs(struct buffer *out, const carat_model *model, const struct buffer *told,
                          size_t from, size_t until);
void figures_put_timings(struct buffer *out, const struct request *request);
/* A member behind others: how much of the prompt is evaluated. */
void figures_put_progress(struct buffer *out, const struct request *request, int evaluated, int64_t ms);

#endif
