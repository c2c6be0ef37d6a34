/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.c: what a session holds: tokens, K and V, logits, the text so far. session.c and step.c change it.
 * */
#include "engine/engine.h"

void ct_session_grows(const carat_session *s, int more)
{
    enum { LONG = 1024 };
    struct ct_backend *b = s->engine->backend;

    for (int i = 0; i < CT_ATTN_TYPES && s->n < LONG && s->n + more >= LONG; i++)
        b->verb.kv_long(b, &s->engine->cache.group[i].pool);
}

void ct_session_kept(carat_session *s)
{
    s->stats = (carat_session_stats){
        .size = sizeof s->stats, .kept = s->n, .restored_from = ct_kv_ready(&s->engine->cache, s->slot)};
}

void ct_session_new_text(carat_session *s)
{
    ct_outcome_drop(s->engine, &s->outcome);
    ct_detokenizer_init(&s->detokenizer, s->engine->model->tokenizer, 0);
}

int ct_session_nearest(const carat_session *s, int n)
{
    carat_engine *e = s->engine;
    int row = ct_snapshot_nearest(&e->snapshots, s->slot, n);

    if (row != s->slot) {
        e->stats.snapshots_used++;
        e->stats.restored += (uint64_t)ct_kv_ready_at(&e->cache, row, n);
    }
    return row;
}

void ct_session_cut(carat_session *s, int n)
{
    carat_engine *e = s->engine;

    ct_kv_rewind(&e->cache, s->slot, n, ct_session_nearest(s, n), n == 0);
    ct_snapshots_cut(&e->snapshots, s->slot, n, n == 0);
    s->n = n;
    s->changes++;
}

void ct_session_empty(carat_session *s, bool discard)
{
    ct_kv_cut(&s->engine->cache, s->slot, 0, 0, discard);
    ct_snapshots_cut(&s->engine->snapshots, s->slot, 0, discard);
    ct_outcome_drop(s->engine, &s->next);
    ct_session_new_text(s);
    s->n = 0;
    s->changes++;
}
