/* SPDX-License-Identifier: Apache-2.0 */
/* scores.c: prompts that are scored, a piece at a time. */
#include "scores.h"

#include <math.h>
#include <string.h>

#include "carat_quality.h"

static void keep(struct buffer *out, int32_t id, float logprob, const carat_logprob *top, int n_top,
                 bool is_thought)
{
    struct told_logprob told = {.of = {id, logprob}, .is_thought = is_thought, .n_top = n_top};

    if (n_top > 0)
        memcpy(told.top, top, (size_t)n_top * sizeof *top);
    buffer_put(out, &told, sizeof told);
}

void keep_given(struct buffer *out, const carat_given *given)
{
    keep(out, given->id, given->logprob, given->top, given->n_top, given->thought);
}

void keep_end(const struct ask *ask, struct choice *c, int32_t id)
{
    float given;
    carat_logprob top[MOST_TOP];
    carat_score_options options;

    carat_score_options_default(&options);
    options.given = &given;
    options.n_top = ask->top_logprobs;
    options.top = ask->top_logprobs > 0 ? top : NULL;
    if (carat_score_with(c->session, &id, 1, NULL, &options, NULL) == CARAT_OK)
        keep(&c->logprobs, id, given, top, ask->top_logprobs, false);
}

bool ask_waits_for_scores(const struct ask *ask)
{
    return !ask->evaluates && (ask->scores || ask->max_tokens == 0);
}

bool ask_is_scored(const struct ask *ask)
{
    return !ask->scores || ask->scored == ask->prompt.n;
}

carat_status ask_score(struct ask *ask, int most, carat_error *err)
{
    enum { PIECE = 256 };
    carat_session *session = ask->choice[0].session;
    const int32_t *ids = ask->prompt.ids + ask->scored;
    const int left = ask->prompt.n - ask->scored, piece = most < PIECE ? most : PIECE;
    const int n = left < piece ? left : piece;
    float given[PIECE];
    carat_logprob top[PIECE * MOST_TOP];
    carat_score_options options;

    if (ask->scored == 0) {
        keep(&ask->scores_told, ids[0], NAN, NULL, 0, false);
        ask->scored = 1;
        return carat_sync(session, ids, 1, NULL, err);
    }
    carat_score_options_default(&options);
    options.given = given;
    options.n_top = ask->top_logprobs;
    options.top = ask->top_logprobs > 0 ? top : NULL;
    carat_status status = carat_score_with(session, ids, n, NULL, &options, err);
    if (status == CARAT_OK && n < left) /* the last one, which nobody needed so far */
        status = carat_append(session, &ids[n - 1], 1, err);
    for (int i = 0; i < n && status == CARAT_OK; i++)
        keep(&ask->scores_told, ids[i], given[i], top + i * ask->top_logprobs, ask->top_logprobs, false);
    ask->scored += n;
    return status;
}
