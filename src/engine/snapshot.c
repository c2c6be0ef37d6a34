/* SPDX-License-Identifier: Apache-2.0 */
/* snapshot.c: see prefix.h. A snapshot keeps by reference what the position before it sees in local
 * layers, so that a session goes on from there, or from a little before, and writes on in place. Snapshots
 * have blocks of their own in the plan, so that a session never waits for one; where blocks are short all the
 * same, the one whose loss costs fewest tokens goes. Forks have those of their origin. */
#include "engine/prefix.h"

static bool *of_snapshot(const struct ct_snapshots *s, int snapshot)
{
    return s->of + (size_t)snapshot * (size_t)s->cache->sequences;
}

/* Tokens that a sequence would have to evaluate once more to come to the position of one of its snapshots. */
static int cost_for(const struct ct_snapshots *s, int snapshot, int sequence)
{
    int below = 0;

    for (int i = 0; i < s->cache->snapshots; i++)
        if (of_snapshot(s, i)[sequence] && s->position[i] < s->position[snapshot])
            below = CT_MAX(below, s->position[i]);
    return s->position[snapshot] - below;
}

/* The loss of a snapshot: what it costs the one of its sequences that has least without it. */
static int snapshot_cost(const struct ct_snapshots *s, int snapshot)
{
    int cost = 0;

    for (int q = 0; q < s->cache->sequences; q++)
        if (of_snapshot(s, snapshot)[q])
            cost = CT_MAX(cost, cost_for(s, snapshot, q));
    return cost;
}

/* True when a sequence or a node has it. */
static bool is_held(const struct ct_snapshots *s, int snapshot)
{
    bool held = s->node[snapshot] > 0;

    for (int q = 0; q < s->cache->sequences && !held; q++)
        held = of_snapshot(s, snapshot)[q];
    return held;
}

static void drop_snapshot(struct ct_snapshots *s, int snapshot, bool discard)
{
    memset(of_snapshot(s, snapshot), 0, (size_t)s->cache->sequences * sizeof *s->of);
    s->position[snapshot] = s->node[snapshot] = 0;
    s->used[snapshot] = 0;
    s->dropped++;
    ct_kv_drop_snapshot(s->cache, snapshot, discard);
}

/* That of an owner which was not used for the longest time; -1: there is none. */
static int least_used(const struct ct_snapshots *s)
{
    int least = -1;

    for (int i = 0; i < s->cache->snapshots; i++)
        if (s->position[i] && s->used[i] && (least < 0 || s->used[i] < s->used[least]))
            least = i;
    return least;
}

/* The one whose loss costs least, of several the one that is farthest back; -1: there is none. */
static int cheapest(const struct ct_snapshots *s)
{
    int least = -1, cost = 0;

    for (int i = 0; i < s->cache->snapshots; i++) {
        int of_this = s->position[i] ? snapshot_cost(s, i) : 0;
        if (of_this &&
            (least < 0 || of_this < cost || (of_this == cost && s->position[i] < s->position[least]))) {
            least = i;
            cost = of_this;
        }
    }
    return least;
}

bool ct_snapshots_release(struct ct_snapshots *s)
{
    int least = least_used(s);

    if (least < 0)
        least = cheapest(s);
    if (least >= 0)
        drop_snapshot(s, least, false);
    return least >= 0;
}

void ct_snapshots_lay_out(struct ct_snapshots *s, struct ct_kv_cache *cache)
{
    struct ct_backend *b = cache->backend;
    size_t n = (size_t)cache->snapshots;

    *s = (struct ct_snapshots){.cache = cache};
    s->position = b->verb.alloc_host(b, n * sizeof *s->position);
    s->node = b->verb.alloc_host(b, n * sizeof *s->node);
    s->used = b->verb.alloc_host(b, n * sizeof *s->used);
    s->of = b->verb.alloc_host(b, n * (size_t)cache->sequences * sizeof *s->of);
}

/* A free place for a snapshot; the number of all places when none is free. */
static int free_snapshot(const struct ct_snapshots *s)
{
    int i = 0;

    while (i < s->cache->snapshots && s->position[i])
        i++;
    return i;
}

void ct_snapshot_take(struct ct_snapshots *s, int sequence, bool owned)
{
    struct ct_kv_cache *cache = s->cache;
    int position = ct_kv_ready(cache, sequence);

    for (int i = 0; i < cache->snapshots; i++)
        if (of_snapshot(s, i)[sequence] && s->position[i] == position)
            return;
    if (cache->snapshots == 0 || position == 0)
        return;
    if (free_snapshot(s) == cache->snapshots)
        ct_snapshots_release(s);
    int taken = free_snapshot(s);
    bool kept = ct_kv_take_snapshot(cache, taken, sequence);
    while (kept && cache->n_in_snapshots > cache->most_in_snapshots)
        kept = ct_snapshots_release(s);
    if (!kept) {
        ct_kv_drop_snapshot(cache, taken, false);
        return;
    }
    s->position[taken] = position;
    s->used[taken] = owned ? ++s->clock : 0;
    s->taken++;
    of_snapshot(s, taken)[sequence] = true;
}

int ct_snapshot_nearest(const struct ct_snapshots *s, int sequence, int n)
{
    int row = sequence, nearest = ct_kv_ready_at(s->cache, sequence, n);

    for (int i = 0; i < s->cache->snapshots; i++) {
        int at = of_snapshot(s, i)[sequence] ? ct_kv_ready_at(s->cache, ct_kv_snapshot(s->cache, i), n) : 0;
        if (at > nearest) {
            nearest = at;
            row = ct_kv_snapshot(s->cache, i);
        }
    }
    return row;
}

void ct_snapshot_use(struct ct_snapshots *s, int row)
{
    int i = row - s->cache->sequences;

    if (i >= 0 && s->used[i])
        s->used[i] = ++s->clock;
}

void ct_snapshot_give(struct ct_snapshots *s, int snapshot, int sequence)
{
    of_snapshot(s, snapshot)[sequence] = true;
}

void ct_snapshots_share(struct ct_snapshots *s, int to, int from, int n)
{
    for (int i = 0; i < s->cache->snapshots; i++)
        of_snapshot(s, i)[to] = of_snapshot(s, i)[from] && s->position[i] <= n;
}

void ct_snapshots_cut(struct ct_snapshots *s, int sequence, int n, bool discard)
{
    for (int i = 0; i < s->cache->snapshots; i++) {
        if (!of_snapshot(s, i)[sequence] || s->position[i] <= n)
            continue;
        of_snapshot(s, i)[sequence] = false;
        if (!is_held(s, i))
            drop_snapshot(s, i, discard);
    }
}

int ct_snapshots_of(const struct ct_snapshots *s, int sequence)
{
    int n = 0;

    for (int i = 0; i < s->cache->snapshots; i++)
        n += of_snapshot(s, i)[sequence];
    return n;
}

int ct_snapshots_last(const struct ct_snapshots *s, int sequence)
{
    int last = 0;

    for (int i = 0; i < s->cache->snapshots; i++)
        if (of_snapshot(s, i)[sequence])
            last = CT_MAX(last, s->position[i]);
    return last;
}

/* One that a node has at a position; -1: none. */
static int at_node(const struct ct_snapshots *s, int node, int position)
{
    for (int i = 0; i < s->cache->snapshots; i++)
        if (s->node[i] == node && s->position[i] == position)
            return i;
    return -1;
}

void ct_snapshots_keep(struct ct_snapshots *s, int node, int sequence, int from, int to)
{
    for (int i = 0; i < s->cache->snapshots; i++) {
        if (!of_snapshot(s, i)[sequence] || s->position[i] <= from || s->position[i] > to)
            continue;
        if (at_node(s, node, s->position[i]) < 0)
            s->node[i] = node;
    }
}

void ct_snapshots_leave(struct ct_snapshots *s, int node)
{
    for (int i = 0; i < s->cache->snapshots; i++) {
        if (s->node[i] != node)
            continue;
        s->node[i] = 0;
        if (!is_held(s, i))
            drop_snapshot(s, i, false);
    }
}
