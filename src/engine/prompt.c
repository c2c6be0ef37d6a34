/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.c: prompts: what a session has of one by now, and how the rest is evaluated. Passes are step.c's. */
#include "engine/engine.h"
#include "text/chat/thought.h"

carat_status ct_keep_prefix(carat_session *s, const int32_t *tokens, int n, int *held, carat_error *err)
{
    int common = 0;

    if (n > s->engine->plan.context)
        return ct_fail(err, CARAT_E_CONTEXT, "%d tokens do not fit in a context of %d", n,
                       s->engine->plan.context);
    CT_TRY(ct_check_ids(s, tokens, n, err));
    while (common < CT_MIN(n, s->n) && ct_held_tokens(s)[common] == tokens[common])
        common++;
    if (common < n || s->n > n || s->outcome < 0) {
        common = CT_MIN(common, n - 1); /* the last token is evaluated for its logits */
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
        carat_row begin = {
            .session = s, .tokens = tokens + held, .n = turn - held, .wants = CARAT_WANTS_NONE};
        CT_TRY(ct_evaluate(s->engine, &begin, 1, true, err));
        ct_mark(s);
        held = turn;
    }
    return ct_evaluate(s->engine, &(carat_row){.session = s, .tokens = tokens + held, .n = n - held}, 1, true,
                       err);
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
