/* SPDX-License-Identifier: Apache-2.0 */
/* reuse.c: what somebody else of a session's owner has evaluated of a prompt: other sessions, also while they
 * are in a call, since blocks are only written on; and the tree of prefixes, which has what was left behind.
 * Keeping that is session.c's business, evaluating the rest sync.c's.
 *
 * So a live session costs the tree nothing. A cut inside of a block that the tree holds costs a copy of the
 * part before it when the session writes on. Where two snapshots lie one behind another, a prompt goes on
 * between them with blocks of both (ct_kv_ready_with); with one every 512 tokens nothing is missing to
 * windows of 512. Where something is, a pass of the first prompt that parts ends there (carat_session.branch)
 * and leaves a snapshot. */
#include "engine/row_logits.h"
#include "engine/session.h"

#include <inttypes.h>

/* The best that there is for a prompt. */
struct found {
    int held, ready;        /* positions that blocks of global layers are there for; so far local ones are */
    int from;               /* the session with the former; -1: the tree */
    struct ct_kv_rows rows; /* of the cache, with the latter */
    int node;               /* of the tree, with most in common; 0: none */
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

static void offer(const struct ct_kv_cache *cache, struct found *f, struct ct_kv_rows rows, int common)
{
    const int ready = ct_kv_ready_with(cache, rows, common);

    if (ready > f->ready) {
        f->ready = ready;
        f->rows = rows;
    }
}

/* A row that lacks what was seen first where its text parts from this one, together with each snapshot that
 * ends before and has it. */
static void offer_pairs(carat_engine *e, uint64_t owner, struct found *f, int row, int common)
{
    const struct ct_kv_cache *cache = &e->cache;

    if (CT_MIN(common, cache->ready[row]) <= f->ready)
        return;
    for (int i = 0; i < cache->snapshots; i++) {
        const int position = e->snapshots.position[i];
        if (position && position <= common && position <= common_of_snapshot(e, owner, i))
            offer(cache, f, (struct ct_kv_rows){row, ct_kv_snapshot(cache, i)}, common);
    }
}

/* The rows of sessions and snapshots; that of `self` gives its blocks back before it gets others. */
static void offer_all(carat_engine *e, const carat_session *self, uint64_t owner, struct found *f)
{
    const struct ct_kv_cache *cache = &e->cache;
    const struct ct_prefixes *p = &e->prefixes;

    for (int i = 0; i < cache->sequences; i++)
        if (p->held[i] > 0)
            offer(cache, f, (struct ct_kv_rows){i, -1}, p->held[i]);
    for (int i = 0; i < cache->snapshots; i++)
        if (e->snapshots.position[i])
            offer(cache, f, (struct ct_kv_rows){ct_kv_snapshot(cache, i), -1},
                  common_of_snapshot(e, owner, i));
    if (f->ready == f->held || !cache->snapshot)
        return;
    for (int i = 0; i < cache->sequences; i++)
        if (p->held[i] > 0 && e->session[i] != self)
            offer_pairs(e, owner, f, i, p->held[i]);
    for (int i = 0; i < cache->snapshots; i++)
        if (e->snapshots.position[i])
            offer_pairs(e, owner, f, ct_kv_snapshot(cache, i), common_of_snapshot(e, owner, i));
}

/* For a session, or for nobody yet (NULL). */
static struct found look(carat_engine *e, const carat_session *self, uint64_t owner, const int32_t *tokens,
                         int n)
{
    struct ct_prefixes *p = &e->prefixes;
    struct found f = {.from = -1, .rows = {-1, -1}, .node = ct_prefixes_match(p, owner, tokens, n)};

    f.held = p->common[f.node];
    for (int i = 0; i < e->cache.sequences; i++) {
        const carat_session *other = e->session[i];
        p->held[i] = -1;
        if (!other || other->owner != owner || other->unsound)
            continue;
        const int32_t *held = ct_held_tokens(other);
        for (p->held[i] = 0; p->held[i] < CT_MIN(n, other->n) && held[p->held[i]] == tokens[p->held[i]];)
            p->held[i]++;
        if (p->held[i] > f.held) {
            f.held = p->held[i];
            f.from = i;
        }
    }
    offer_all(e, self, owner, &f);
    if (!e->cache.snapshot) /* there are no local layers */
        f.ready = f.held;
    return f;
}

/* The token at which the session goes on after `common` tokens, which it holds, with what it has itself. */
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
    ct_snapshot_use(&e->snapshots, f->rows.row);
    ct_snapshot_use(&e->snapshots, f->rows.below);
    e->stats.snapshots_used += f->rows.row >= e->cache.sequences || f->rows.below >= 0;
    e->stats.restored += (uint64_t)f->ready;
    ct_row_logits_drop(e, &s->logits);
    memcpy(ct_held_tokens(s), tokens, (size_t)f->held * sizeof *tokens);
    s->n = f->held;
    s->changes++;
    if (!ct_kv_adopt(&e->cache, s->slot, p->path, f->held, f->ready, f->rows))
        ct_session_empty(s, false); /* two may write into the last block now, and somebody reserved it */
}

/* The place where a prompt of n tokens and one more leaves what others have, when neither the session nor
 * they are ready near it: whoever comes there next has a snapshot then. 0: there is one, or the end of this
 * prompt serves him, or it would save him less than a pass costs. */
static int find_branch(const carat_engine *e, const struct found *f, int ready, int n)
{
    enum { LEAST = 32 };

    return e->cache.snapshot && f->held - CT_MAX(ready, f->ready) >= LEAST &&
                   !ct_kv_sees_alike(&e->cache, f->held, n)
               ? f->held
               : 0;
}

int ct_reuse(carat_session *s, const int32_t *tokens, int n, int common)
{
    carat_engine *e = s->engine;

    ct_lock_enter(&e->lock);
    struct found f = look(e, s, s->owner, tokens, n);
    bool better = f.ready > own_ready(s, common);
    if (better && common < s->n) {
        ct_session_leave(s); /* for which a snapshot may have to go */
        f = look(e, s, s->owner, tokens, n);
        better = f.ready > own_ready(s, common);
    }
    s->branch = find_branch(e, &f, own_ready(s, common), n);
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

static void find_prefix(carat_engine *e, uint64_t owner, const int32_t *ids, int n, carat_prefix *prefix,
                        int32_t *next, int most)
{
    ct_lock_enter(&e->lock);
    const struct found f = look(e, NULL, owner, ids, n);
    prefix->common = f.held;
    prefix->n_next = f.from >= 0 ? held_behind(e->session[f.from], f.held, next, most)
                                 : ct_prefixes_behind(&e->prefixes, f.node, f.held, next, most);
    prefix->reused = look(e, NULL, owner, ids, n - 1).ready; /* the last one is evaluated for its logits */
    ct_lock_leave(&e->lock);
}

carat_status carat_find_prefix(carat_engine *engine, uint64_t owner, const int32_t *ids, int n,
                               carat_prefix *prefix, int32_t *next, int most, carat_error *err)
{
    carat_prefix full = {.size = sizeof full};

    CT_GIVEN(engine, err);
    CT_GIVEN(ids, err);
    CT_TRY(ct_check_struct(prefix, sizeof full, "carat_prefix", err));
    if (owner == 0 || n < 1 || most < 0 || (most > 0 && !next))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "owner is %" PRIu64 ", n %d, most %d, expected an owner, at least one id and room for "
                       "those that follow",
                       owner, n, most);
    find_prefix(engine, owner, ids, n, &full, next, most);
    return ct_give_struct(prefix, &full, sizeof full, "carat_prefix", err);
}
