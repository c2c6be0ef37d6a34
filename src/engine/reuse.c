/* SPDX-License-Identifier: Apache-2.0 */
/* reuse.c: what somebody else of a session's owner has evaluated of a prompt: other sessions, also while they
 * are in a call, since blocks are only written on; and the tree of prefixes, which has what was left behind.
 * Keeping that is session.c's business, evaluating the rest prompt.c's. */
#include "engine/engine.h"

/* The best that there is for a prompt. */
struct found {
    int held, ready; /* positions that blocks of global layers are there for; so far local ones are */
    int from, row;   /* the session with the former, -1: the tree; the row of the cache with the latter */
    int node;        /* of the tree, with most in common; 0: none */
};

/* Ids of an owner's prompt that what led to a snapshot has in common with it. */
static int common_of_snapshot(const carat_engine *e, uint64_t owner, int snapshot)
{
    const struct ct_snapshots *snapshots = &e->snapshots;
    const struct ct_prefixes *p = &e->prefixes;
    const int node = snapshots->node[snapshot], sequences = p->cache->sequences;
    int common = node && p->node[node].owner == owner ? p->common[node] : 0;

    for (int i = 0; i < sequences; i++)
        if (snapshots->of[(size_t)snapshot * (size_t)sequences + (size_t)i])
            common = CT_MAX(common, p->held[i]);
    return common;
}

static void offer(const struct ct_kv_cache *cache, struct found *f, int row, int common)
{
    int ready = ct_kv_ready_at(cache, row, common);

    if (ready > f->ready) {
        f->ready = ready;
        f->row = row;
    }
}

static struct found look(carat_engine *e, uint64_t owner, const int32_t *tokens, int n)
{
    struct ct_prefixes *p = &e->prefixes;
    struct found f = {.from = -1, .row = -1, .node = ct_prefixes_match(p, owner, tokens, n)};

    f.held = p->common[f.node];
    for (int i = 0; i < e->cache.sequences; i++) {
        const carat_session *other = e->session[i];
        p->held[i] = -1;
        if (!other || other->owner != owner || other->unsound)
            continue;
        const int32_t *held = ct_held_tokens(other);
        for (p->held[i] = 0; p->held[i] < CT_MIN(n, other->n) && held[p->held[i]] == tokens[p->held[i]];)
            p->held[i]++;
        offer(&e->cache, &f, i, p->held[i]);
        if (p->held[i] > f.held) {
            f.held = p->held[i];
            f.from = i;
        }
    }
    for (int i = 0; i < e->cache.snapshots; i++)
        if (e->snapshots.position[i])
            offer(&e->cache, &f, ct_kv_snapshot(&e->cache, i), common_of_snapshot(e, owner, i));
    if (!e->cache.snapshot) /* there are no local layers */
        f.ready = f.held;
    return f;
}

/* Where it goes on after `common` tokens, which it holds, with what it has itself. */
static int own_ready(const carat_session *s, int common)
{
    const carat_engine *e = s->engine;

    return ct_kv_ready_at(&e->cache, ct_snapshot_nearest(&e->snapshots, s->slot, common), common);
}

/* A session holds what was found, and the snapshots that lie on the way there. */
static void take_over(carat_session *s, const struct found *f, const int32_t *tokens, int common)
{
    carat_engine *e = s->engine;
    const struct ct_prefixes *p = &e->prefixes;

    ct_snapshots_cut(&e->snapshots, s->slot, common, false);
    ct_prefixes_use(&e->prefixes, f->node);
    for (int i = 0; f->from >= 0 && i * CT_KEY_BLOCK < f->held; i++)
        p->path[i] = ct_kv_block(&e->cache, f->from, i);
    for (int i = 0; i < e->cache.snapshots; i++) {
        const int position = e->snapshots.position[i];
        if (position && position <= f->held && position <= common_of_snapshot(e, s->owner, i))
            ct_snapshot_give(&e->snapshots, i, s->slot);
    }
    ct_snapshot_use(&e->snapshots, f->row);
    e->stats.snapshots_used += f->row >= e->cache.sequences;
    e->stats.restored += (uint64_t)f->ready;
    ct_outcome_drop(e, &s->outcome);
    memcpy(ct_held_tokens(s), tokens, (size_t)f->held * sizeof *tokens);
    s->n = f->held;
    s->changes++;
    if (!ct_kv_adopt(&e->cache, s->slot, p->path, f->held, f->ready, f->row))
        ct_session_empty(s, false); /* two may write into the last block now, and somebody reserved it */
}

int ct_reuse(carat_session *s, const int32_t *tokens, int n, int common)
{
    carat_engine *e = s->engine;

    ct_lock_enter(&e->lock);
    struct found f = look(e, s->owner, tokens, n);
    bool better = f.ready > own_ready(s, common);
    if (better && common < s->n) {
        ct_session_leave(s); /* for which a snapshot may have to go */
        f = look(e, s->owner, tokens, n);
        better = f.ready > own_ready(s, common);
    }
    if (better) {
        take_over(s, &f, tokens, common);
        common = s->n;
    }
    ct_lock_leave(&e->lock);
    return common;
}

/* Puts up to `most` ids into next that a session holds behind the first n. Returns their number. */
static int held_behind(const carat_session *s, int n, int32_t *next, int most)
{
    const int behind = CT_MIN(s->n - n, most);

    if (behind > 0)
        memcpy(next, ct_held_tokens(s) + n, (size_t)behind * sizeof *next);
    return behind;
}

void ct_find_prefix(carat_engine *e, uint64_t owner, const int32_t *ids, int n, carat_prefix *prefix,
                    int32_t *next, int most)
{
    ct_lock_enter(&e->lock);
    const struct found f = look(e, owner, ids, n);
    prefix->common = f.held;
    prefix->n_next = f.from >= 0 ? held_behind(e->session[f.from], f.held, next, most)
                                 : ct_prefixes_behind(&e->prefixes, f.node, f.held, next, most);
    prefix->reused = look(e, owner, ids, n - 1).ready; /* the last one is evaluated for its logits */
    ct_lock_leave(&e->lock);
}
