/* SPDX-License-Identifier: Apache-2.0 */
/* request.c: an answer on its way: which of its text may be told, and which is a call. */
#include "prompt_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "called.h"
#include "forms.h"
#include "receipts.h"
#include "responding.h"
#include "scores.h"
#include "vectors.h"

static void free_choices(struct request *request)
{
    for (int i = 0; i < MOST_CHOICES; i++) {
        struct choice *c = &request->choice[i];
        carat_generation_close(c->generation);
        buffer_free(&c->text);
        buffer_free(&c->thought);
        buffer_free(&c->logprobs);
        buffer_free(&c->late);
        buffer_free(&c->ids);
        buffer_free(&c->told_ids);
        called_free(c);
        carat_receipt_close(c->receipt);
        carat_free(c->receipt_text);
    }
}

void request_free(struct request *request)
{
    if (!request)
        return;
    free_choices(request);
    for (int i = 0; i < request->prompts.n_list; i++) {
        carat_tokens_free(&request->prompts.list[i].ids);
        free(request->prompts.list[i].text);
    }
    free(request->prompts.list);
    buffer_free(&request->course.scores_told);
    receipt_free(request);
    responding_free(request->responding);
    vectors_free(request->vectors);
    for (int i = 0; i < request->n_stops; i++)
        free(request->stops[i]);
    forms_give(request->own_form.kept);
    carat_matcher_close(request->sampling.matcher);
    carat_tokens_free(&request->prompt);
    carat_tokens_free(&request->begins);
    free(request->biases);
    free(request->tools);
    free(request->text);
    free(request->explained);
    buffer_free(&request->said.sent);
    buffer_free(&request->said.idle);
    buffer_free(&request->said.ignored);
    buffer_free(&request->extra.warned);
    free(request);
}

void request_evaluate(struct request *request)
{
    request->evaluates = true;
    request->max_tokens = 1; /* the pass with the end of a prompt draws one, which nobody gets */
    for (int i = 0; i < request->prompts.n_list; i++)
        request->prompts.list[i].max_tokens = 1;
}

/* ---- several prompts ---- */

bool request_begin_list(struct request *request)
{
    if (request->prompts.at >= request->prompts.n_list)
        return false;
    carat_tokens_free(&request->prompt);
    request->prompt = request->prompts.list[request->prompts.at].ids;
    request->prompts.list[request->prompts.at].ids = (carat_tokens){0};
    request->max_tokens = request->prompts.list[request->prompts.at].max_tokens;
    return true;
}

bool request_next(struct request *request)
{
    if (request_is_last(request))
        return false;
    request->course.past.prompt += request->prompt.n;
    request->course.past.cached += request->course.cached;
    for (int i = 0; i < request->n; i++)
        request->course.past.given += request->choice[i].given;
    free_choices(request);
    for (int i = 0; i < request->n; i++)
        request->choice[i] = (struct choice){.job = request->choice[i].job, .number = i};
    request->course.prompt_ms = 0;
    request->course.scored = request->course.progressed = 0;
    request->course.scores_told.n = 0;
    request->prompts.at++;
    return request_begin_list(request);
}

/* ---- text ---- */

/* Whether an answer becomes calls: by its control token, or, where the vocabulary has none, by its text. */
static void watch_for_calls(const carat_model *model, const struct request *request, struct choice *c)
{
    if (c->calling == UNDECIDED && request->call_start < 0) {
        const int begins = carat_begins_calls(model, c->text.data ? c->text.data : "", c->text.n);
        c->calling = begins < 0 ? UNDECIDED : begins ? HOLDS_CALLS : TEXT_ONLY;
    } else if (c->calling == UNDECIDED || c->calling == TEXT_ONLY)
        c->calling = request->call_start >= 0 && c->in_call ? HOLDS_CALLS : TEXT_ONLY;
}

const char *choice_take(const carat_model *model, const struct request *request, struct choice *c,
                        const carat_given *given, size_t *n)
{
    *n = 0;
    c->given++;
    if (request->extra.tells_ids)
        buffer_put(&c->told_ids, &given->id, sizeof given->id);
    c->thoughts += given->of_thought != 0;
    if (given->thought) {
        buffer_put(&c->thought, given->text, given->n_text);
        return "";
    }
    const size_t n_text = marks_hide(c, given);
    if (c->calling != NO_CALLS && !given->of_thought) {
        buffer_put(&c->ids, &given->id, sizeof given->id);
        called_follow(request, c, given, n_text);
    }
    c->text.failed |= c->ids.failed || c->spans.failed;
    buffer_put(&c->text, given->text, n_text);
    if (request->logprobs && !given->of_thought && n_text == given->n_text)
        logprobs_wait(model, c, given, called_under_way(c));
    if (!given->of_thought)
        watch_for_calls(model, request, c);
    return c->calling == NO_CALLS || c->calling == TEXT_ONLY ? choice_rest(c, n) : "";
}

const char *choice_rest(struct choice *c, size_t *n)
{
    const char *text = c->text.data ? c->text.data + c->told : "";

    *n = c->text.n - c->told;
    c->told = c->text.n;
    logprobs_tell(c, *n);
    return text;
}

/* Whether an answer that came to its last id is whole: its form leaves nothing to come, or it is a call. */
static bool is_whole(const struct request *request, const struct choice *c, const carat_generation_info *info)
{
    const bool fits = request->constraint && (info->closed || (info->complete && c->n_calls > 0));

    return c->reason == CARAT_REASON_LENGTH && !c->is_cut && (fits || c->ends_with_call);
}

void choice_end(const carat_model *model, struct request *request, struct choice *c)
{
    char rest[CARAT_REST_BYTES];
    carat_generation_info info;
    carat_generation_info_default(&info);

    c->ended = true;
    c->stop = -1;
    c->reason = CARAT_REASON_LENGTH;
    if (!c->generation || request->evaluates)
        return;
    size_t n = carat_generation_rest(c->generation, rest, sizeof rest);
    if (carat_generation_get_info(c->generation, &info, NULL) == CARAT_OK) {
        c->reason = info.reason;
        c->stop = info.stop;
    }
    const bool is_stopped = c->reason == CARAT_REASON_STOP_STRING;
    buffer_put(info.in_thought ? &c->thought : &c->text, rest, n);
    receipt_end(c);
    if (c->calling != NO_CALLS)
        called_read(model, request, c);
    if (is_whole(request, c, &info))
        c->reason = c->n_calls > 0 ? CARAT_REASON_TOOL_CALLS : CARAT_REASON_STOP;
    logprobs_end(request, c, is_stopped);
    if (request->tells_end && info.end >= 0)
        keep_end(request, c, info.end);
}
