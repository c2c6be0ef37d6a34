/* SPDX-License-Identifier: Apache-2.0 */
/* sync.c: makes a session hold a prompt: what it has of it by now stays, the rest is evaluated. Passes are
 * step.c's; prompts that go into passes piece by piece are generate/prompt.c's.
 *
 * A finished turn is rendered without its thoughts, so the next turn goes back to where the model's turn
 * began. The snapshot at the end of a prompt serves for that; one more is taken, in a pass of its own, when
 * the prompt ends with an empty thought and a local block is left within that. */
#include "engine/row.h"
#include "engine/session.h"
#include "text/chat/thought.h"

carat_status ct_keep_prefix(carat_session *s, const int32_t *tokens, int n, int *held, carat_error *err)
{
    int common = 0;

    s->branch = 0;
    if (n > s->engine->plan.context)
        return ct_fail(err, CARAT_E_CONTEXT, "%d tokens do not fit in a context of %d", n,
                       s->engine->plan.context);
    CT_TRY(ct_check_ids(s, tokens, n, err));
    while (common < CT_MIN(n, s->n) && ct_held_tokens(s)[common] == tokens[common])
        common++;
    if (common < n || s->n > n || s->logits < 0) {
        common = CT_MIN(common, n - 1); /* the last token is evaluated for its logits */
        if (s->owner)
            common = ct_reuse(s, tokens, n - 1, common);
        CT_TRY(ct_rewind(s, common, err));
    }
    ct_session_kept(s);
    ct_detokenizer_init(&s->detokenizer, s->engine->model->tokenizer, 0);
    *held = common;
    return CARAT_OK;
}

/* Evaluates the tokens behind those that are held. The answer's turn will begin where the last ones may be
 * left out again: a snapshot at the end serves for going back there too, unless a block of local layers has
 * been left in between. */
static carat_status sync_rest(carat_session *s, const int32_t *tokens, int held, int n, carat_error *err)
{
    struct ct_thought_marks marks = ct_thought_marks(s->engine->model->tokenizer);
    int turn = ct_thought_turn(&marks, tokens, n);

    if (turn > held && turn < n && !ct_kv_sees_alike(&s->engine->cache, turn, n - 1)) {
        struct ct_row begin = {
            .row = {.session = s, .tokens = tokens + held, .n = turn - held, .wants = CARAT_WANTS_NONE}};
        CT_TRY(ct_evaluate(&begin, true, err));
        ct_mark(s);
        held = turn;
    }
    struct ct_row rest = {.row = {.session = s, .tokens = tokens + held, .n = n - held}};
    return ct_evaluate(&rest, true, err);
}

carat_status ct_sync(carat_session *s, const int32_t *tokens, int n, int *reused, carat_error *err)
{
    int held;

    CT_TRY(ct_keep_prefix(s, tokens, n, &held, err));
    if (held < n)
        CT_TRY(sync_rest(s, tokens, held, n, err));
    ct_mark(s);
    if (reused)
        *reused = s->stats.restored_from;
    return CARAT_OK;
}

carat_status carat_sync(carat_session *session, const int32_t *tokens, int n, int *reused, carat_error *err)
{
    if (!tokens || n < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "tokens is NULL, or n = %d is below 1", n);
    CT_TRY(ct_session_claim(session, err));
    return ct_session_release(session, ct_sync(session, tokens, n, reused, err));
}
