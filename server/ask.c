/* SPDX-License-Identifier: Apache-2.0 */
/* ask.c: an answer on its way: which of its text may be told, and which is a call. */
#include "listed.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "called.h"
#include "forms.h"
#include "receipts.h"
#include "responding.h"
#include "scores.h"
#include "vectors.h"

static void free_choices(struct ask *ask)
{
    for (int i = 0; i < MOST_CHOICES; i++) {
        struct choice *c = &ask->choice[i];
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

void ask_free(struct ask *ask)
{
    if (!ask)
        return;
    free_choices(ask);
    for (int i = 0; i < ask->prompts.n_list; i++) {
        carat_tokens_free(&ask->prompts.list[i].ids);
        free(ask->prompts.list[i].text);
    }
    free(ask->prompts.list);
    buffer_free(&ask->course.scores_told);
    receipt_free(ask);
    responding_free(ask->responding);
    vectors_free(ask->vectors);
    for (int i = 0; i < ask->n_stops; i++)
        free(ask->stops[i]);
    forms_give(ask->own_form.kept);
    carat_matcher_close(ask->sampling.matcher);
    carat_tokens_free(&ask->prompt);
    carat_tokens_free(&ask->begins);
    free(ask->biases);
    free(ask->tools);
    free(ask->text);
    free(ask->explained);
    buffer_free(&ask->said.sent);
    buffer_free(&ask->said.idle);
    buffer_free(&ask->said.ignored);
    buffer_free(&ask->extra.warned);
    free(ask);
}

void ask_evaluate(struct ask *ask)
{
    ask->evaluates = true;
    ask->max_tokens = 1; /* the pass with the end of a prompt draws one, which nobody gets */
    for (int i = 0; i < ask->prompts.n_list; i++)
        ask->prompts.list[i].max_tokens = 1;
}

/* ---- several prompts ---- */

bool ask_begin_list(struct ask *ask)
{
    if (ask->prompts.at >= ask->prompts.n_list)
        return false;
    carat_tokens_free(&ask->prompt);
    ask->prompt = ask->prompts.list[ask->prompts.at].ids;
    ask->prompts.list[ask->prompts.at].ids = (carat_tokens){0};
    ask->max_tokens = ask->prompts.list[ask->prompts.at].max_tokens;
    return true;
}

bool ask_next(struct ask *ask)
{
    if (ask_is_last(ask))
        return false;
    ask->course.past.prompt += ask->prompt.n;
    ask->course.past.cached += ask->course.cached;
    for (int i = 0; i < ask->n; i++)
        ask->course.past.given += ask->choice[i].given;
    free_choices(ask);
    for (int i = 0; i < ask->n; i++)
        ask->choice[i] = (struct choice){.job = ask->choice[i].job, .number = i};
    ask->course.prompt_ms = 0;
    ask->course.scored = ask->course.progressed = 0;
    ask->course.scores_told.n = 0;
    ask->prompts.at++;
    return ask_begin_list(ask);
}

/* ---- text ---- */

/* Whether an answer becomes calls: by its control token, or, where the vocabulary has none, by its text. */
static void watch_for_calls(const carat_model *model, const struct ask *ask, struct choice *c)
{
    if (c->calling == UNDECIDED && ask->call_start < 0) {
        const int begins = carat_begins_calls(model, c->text.data ? c->text.data : "", c->text.n);
        c->calling = begins < 0 ? UNDECIDED : begins ? HOLDS_CALLS : TEXT_ONLY;
    } else if (c->calling == UNDECIDED || c->calling == TEXT_ONLY)
        c->calling = ask->call_start >= 0 && c->in_call ? HOLDS_CALLS : TEXT_ONLY;
}

const char *choice_take(const carat_model *model, const struct ask *ask, struct choice *c,
                        const carat_given *given, size_t *n)
{
    *n = 0;
    c->given++;
    if (ask->extra.tells_ids)
        buffer_put(&c->told_ids, &given->id, sizeof given->id);
    c->thoughts += given->of_thought != 0;
    if (given->thought) {
        buffer_put(&c->thought, given->text, given->n_text);
        return "";
    }
    const size_t n_text = marks_hide(c, given);
    if (c->calling != NO_CALLS && !given->of_thought) {
        buffer_put(&c->ids, &given->id, sizeof given->id);
        called_follow(ask, c, given, n_text);
    }
    c->text.failed |= c->ids.failed || c->spans.failed;
    buffer_put(&c->text, given->text, n_text);
    if (ask->logprobs && !given->of_thought && n_text == given->n_text)
        logprobs_wait(model, c, given, called_under_way(c));
    if (!given->of_thought)
        watch_for_calls(model, ask, c);
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
static bool is_whole(const struct ask *ask, const struct choice *c, const carat_generation_info *info)
{
    const bool fits = ask->constraint && (info->closed || (info->complete && c->n_calls > 0));

    return c->reason == CARAT_REASON_LENGTH && !c->is_cut && (fits || c->ends_with_call);
}

void choice_end(const carat_model *model, struct ask *ask, struct choice *c)
{
    char rest[CARAT_REST_BYTES];
    carat_generation_info info;
    carat_generation_info_default(&info);

    c->ended = true;
    c->stop = -1;
    c->reason = CARAT_REASON_LENGTH;
    if (!c->generation || ask->evaluates)
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
        called_read(model, ask, c);
    if (is_whole(ask, c, &info))
        c->reason = c->n_calls > 0 ? CARAT_REASON_TOOL_CALLS : CARAT_REASON_STOP;
    logprobs_end(ask, c, is_stopped);
    if (ask->tells_end && info.end >= 0)
        keep_end(ask, c, info.end);
}
