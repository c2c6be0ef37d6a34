/* SPDX-License-Identifier: Apache-2.0 */
/* scores.c: prompts that are scored, a piece at a time. */
#include "scores.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "called.h"
#include "carat_quality.h"

static void keep(struct buffer *out, int32_t id, float logprob, const carat_logprob *top, int n_top)
{
    struct told_logprob told = {.of = {id, logprob}, .n_top = n_top};

    if (n_top > 0)
        memcpy(told.top, top, (size_t)n_top * sizeof *top);
    buffer_put(out, &told, sizeof told);
}

/* ---- of an answer ---- */

struct late {
    struct told_logprob told;
    size_t n; /* bytes of the id's text */
    int call;
};

/* Bytes that an id adds to a text; 0: it stands for none. */
static size_t bytes_of(const carat_model *model, int32_t id)
{
    char piece[CARAT_PIECE_BYTES], *text = NULL;
    size_t n = 0;

    if (carat_detokenize(model, &id, 1, 0, &text, &n, NULL) == CARAT_OK && n > 0)
        n = carat_piece_bytes(model, id, piece); /* and not those of U+FFFD */
    carat_free(text);
    return n;
}

void logprobs_wait(const carat_model *model, struct choice *c, const carat_given *given, int call)
{
    struct late late = {.told = {.of = {given->id, given->logprob}, .n_top = given->n_top},
                        .n = bytes_of(model, given->id),
                        .call = call};

    if (late.n == 0)
        return;
    if (given->n_top > 0)
        memcpy(late.told.top, given->top, (size_t)given->n_top * sizeof *given->top);
    buffer_put(&c->late, &late, sizeof late);
}

static const struct late *first_late(const struct choice *c)
{
    return c->late_from < c->late.n ? (const struct late *)(const void *)(c->late.data + c->late_from) : NULL;
}

void logprobs_tell(struct choice *c, size_t n)
{
    const struct late *late;

    for (c->ahead += n; (late = first_late(c)) != NULL && late->n <= c->ahead;) {
        c->ahead -= late->n;
        buffer_put(&c->logprobs, &late->told, sizeof late->told);
        c->late_from += sizeof *late;
    }
    if (c->late_from == c->late.n)
        c->late_from = c->late.n = 0;
}

void logprobs_end(const struct request *request, struct choice *c, bool is_stopped)
{
    const struct late *late;
    size_t left = c->ahead + c->text.n - c->told;

    for (; (late = first_late(c)) != NULL; c->late_from += sizeof *late) {
        if ((request->call_start < 0 && c->n_calls > 0) || called_told(c, late->call))
            continue;
        if (is_stopped && left == 0)
            break;
        left -= CT_MIN(late->n, left);
        buffer_put(&c->logprobs, &late->told, sizeof late->told);
    }
    c->late_from = c->late.n = 0;
}

/* ---- of a prompt ---- */

void keep_end(const struct request *request, struct choice *c, int32_t id)
{
    float given;
    carat_logprob top[MOST_TOP];
    carat_score_options options;

    carat_score_options_default(&options);
    options.given = &given;
    options.n_top = request->top_logprobs;
    options.top = request->top_logprobs > 0 ? top : NULL;
    if (carat_score_with(c->session, &id, 1, NULL, &options, NULL) == CARAT_OK)
        keep(&c->logprobs, id, given, top, request->top_logprobs);
}

bool request_waits_for_scores(const struct request *request)
{
    return !request->evaluates && (request->scores || request->max_tokens == 0);
}

bool request_is_scored(const struct request *request)
{
    return !request->scores || request->course.scored == request->prompt.n;
}

carat_status request_score(struct request *request, int most, carat_error *err)
{
    enum { PIECE = 256 };
    carat_session *session = request->choice[0].session;
    const int32_t *ids = request->prompt.ids + request->course.scored;
    const int left = request->prompt.n - request->course.scored, piece = most < PIECE ? most : PIECE;
    const int n = left < piece ? left : piece;
    float given[PIECE];
    carat_logprob top[PIECE * MOST_TOP];
    carat_score_options options;

    if (request->course.scored == 0) {
        keep(&request->course.scores_told, ids[0], NAN, NULL, 0);
        request->course.scored = 1;
        return carat_sync(session, ids, 1, NULL, err);
    }
    carat_score_options_default(&options);
    options.given = given;
    options.n_top = request->top_logprobs;
    options.top = request->top_logprobs > 0 ? top : NULL;
    carat_status status = carat_score_with(session, ids, n, NULL, &options, err);
    if (status == CARAT_OK && n < left) /* the last one, which nobody needed so far */
        status = carat_append(session, &ids[n - 1], 1, err);
    for (int i = 0; i < n && status == CARAT_OK; i++)
        keep(&request->course.scores_told, ids[i], given[i], top + i * request->top_logprobs,
             request->top_logprobs);
    request->course.scored += n;
    return status;
}
