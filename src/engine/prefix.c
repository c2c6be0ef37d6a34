/* SPDX-License-Identifier: Apache-2.0 */
/* prefix.c: see prefix.h. A tree over ids. A node has the ids of one block of the global layers and holds
 * that block, which the cache counts as any holder's; local layers have the snapshots, which belong to
 * sessions, to nodes or to both. All memory is in the plan: as many nodes as blocks. Whoever lacks a block,
 * or a promise of one, ends the leaf that was used least recently (ct_kv_cache.release), whose ids are
 * forgotten with it. One whose logits were not finite is never in it. */
#include "engine/prefix.h"

static int32_t *ids_of(const struct ct_prefixes *p, int node)
{
    return p->ids + (size_t)node * CT_KEY_BLOCK;
}

static int in_common(const int32_t *a, const int32_t *b, int n)
{
    int i = 0;

    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* ---- nodes come and go ---- */

static void unlink_node(struct ct_prefixes *p, int node)
{
    int32_t *at = &p->node[p->node[node].parent].child;

    while (*at != node)
        at = &p->node[*at].next;
    *at = p->node[node].next;
}

/* Ends the leaf that was used least recently, but for those of the use under way: `spared`. One whose block
 * sessions hold, too, goes when there is no other: it may stand before others. */
static bool drop_leaf(struct ct_prefixes *p, uint64_t spared)
{
    const int32_t *holders = p->cache->group[CT_GLOBAL].holders;
    int least = 0;
    bool least_shared = false;

    for (int i = 1; i <= p->begun; i++) {
        const struct ct_prefix_node *n = &p->node[i];
        if (n->n == 0 || n->child || n->used == spared)
            continue;
        bool shared = n->block >= 0 && holders[n->block] > 1;
        if (!least || shared < least_shared || (shared == least_shared && n->used < p->node[least].used)) {
            least = i;
            least_shared = shared;
        }
    }
    if (!least)
        return false;
    ct_snapshots_leave(p->snapshots, least);
    ct_kv_let_go(p->cache, p->node[least].block);
    unlink_node(p, least);
    p->node[least] = (struct ct_prefix_node){.next = p->free};
    p->free = least;
    return true;
}

static bool make_room(void *user, enum ct_attn_type missing)
{
    struct ct_prefixes *p = user;

    return missing == CT_GLOBAL ? drop_leaf(p, 0) : ct_snapshots_release(p->snapshots);
}

/* 0: all are in use just now. */
static int new_node(struct ct_prefixes *p, int parent)
{
    if (!p->free && p->begun < p->n_nodes)
        p->node[p->free = ++p->begun] = (struct ct_prefix_node){0};
    if (!p->free && !drop_leaf(p, p->clock))
        return 0;
    int node = p->free;
    p->free = p->node[node].next;
    p->node[node] = (struct ct_prefix_node){.parent = parent, .next = p->node[parent].child};
    p->node[parent].child = node;
    return node;
}

void ct_prefixes_lay_out(struct ct_prefixes *p, struct ct_snapshots *snapshots, struct ct_kv_cache *cache,
                         int context)
{
    struct ct_backend *b = cache->backend;
    const size_t blocks = (size_t)(context + CT_KEY_BLOCK - 1) / CT_KEY_BLOCK;
    const int global = cache->group[CT_GLOBAL].pool.n_blocks;

    *p = (struct ct_prefixes){
        .cache = cache, .snapshots = snapshots, .n_nodes = global ? global : cache->sequences * (int)blocks};
    const size_t nodes = (size_t)p->n_nodes + 1;
    p->node = b->verb.alloc_host(b, nodes * sizeof *p->node);
    p->ids = b->verb.alloc_host(b, nodes * CT_KEY_BLOCK * sizeof *p->ids);
    p->common = b->verb.alloc_host(b, nodes * sizeof *p->common);
    p->held = b->verb.alloc_host(b, (size_t)cache->sequences * sizeof *p->held);
    p->path = b->verb.alloc_host(b, blocks * sizeof *p->path);
    cache->release = make_room;
    cache->user = p;
}

/* ---- keeping ---- */

/* The child with most of ids[n] at its beginning. Beginnings are of their owner alone. */
static int nearest_child(const struct ct_prefixes *p, int parent, uint64_t owner, const int32_t *ids, int n,
                         int *most)
{
    int nearest = 0;

    *most = 0;
    for (int i = p->node[parent].child; i; i = p->node[i].next) {
        int common = p->node[i].owner == owner ? in_common(ids_of(p, i), ids, CT_MIN(n, p->node[i].n)) : 0;
        if (common > *most) {
            *most = common;
            nearest = i;
        }
    }
    return nearest;
}

/* The child of a node that has ids[n], which may get them now, with their block; 0: there is no room. */
static int child_with(struct ct_prefixes *p, int parent, uint64_t owner, const int32_t *ids, int n,
                      int number, int32_t block)
{
    int common, node = nearest_child(p, parent, owner, ids, n, &common);

    if (node && common == n)
        return node;
    if (node && common == p->node[node].n) /* the block goes further than that which it has */
        ct_kv_let_go(p->cache, p->node[node].block);
    else
        node = new_node(p, parent);
    if (!node)
        return 0;
    ct_kv_hold(p->cache, block);
    p->node[node].owner = owner;
    p->node[node].block = block;
    p->node[node].number = number;
    p->node[node].n = n;
    memcpy(ids_of(p, node), ids, (size_t)n * sizeof *ids);
    return node;
}

void ct_prefixes_keep(struct ct_prefixes *p, uint64_t owner, int sequence, const int32_t *ids, int n)
{
    int node = 0;

    p->clock++;
    for (int from = 0, to; from < n; from = to) {
        to = CT_MIN(n, from + CT_KEY_BLOCK);
        node = child_with(p, node, owner, ids + from, to - from, from / CT_KEY_BLOCK,
                          ct_kv_block(p->cache, sequence, from / CT_KEY_BLOCK));
        if (!node)
            return;
        p->node[node].used = p->clock;
        ct_snapshots_keep(p->snapshots, node, sequence, from, to);
    }
}

/* ---- looking up ---- */

/* The node after this one, its children first if they are wanted; 0: it was the last. */
static int node_after(const struct ct_prefixes *p, int node, bool children)
{
    if (children && p->node[node].child)
        return p->node[node].child;
    while (node && !p->node[node].next)
        node = p->node[node].parent;
    return node ? p->node[node].next : 0;
}

int ct_prefixes_match(struct ct_prefixes *p, uint64_t owner, const int32_t *ids, int n)
{
    int nearest = 0;
    bool own;

    p->common[0] = 0;
    for (int i = p->node[0].child; i; i = node_after(p, i, own)) {
        const struct ct_prefix_node *node = &p->node[i];
        const int from = node->number * CT_KEY_BLOCK;
        own = node->owner == owner;
        p->common[i] = own ? p->common[node->parent] : 0;
        if (own && p->common[i] == from)
            p->common[i] += in_common(ids_of(p, i), ids + from, CT_MIN(node->n, n - from));
        if (p->common[i] > p->common[nearest])
            nearest = i;
    }
    return nearest;
}

void ct_prefixes_use(struct ct_prefixes *p, int node)
{
    p->clock++;
    for (; node; node = p->node[node].parent) {
        p->node[node].used = p->clock;
        p->path[p->node[node].number] = p->node[node].block;
    }
}

static int last_used_child(const struct ct_prefixes *p, int node)
{
    int last = p->node[node].child;

    for (int i = last; i; i = p->node[i].next)
        if (p->node[i].used > p->node[last].used)
            last = i;
    return last;
}

int ct_prefixes_behind(const struct ct_prefixes *p, int node, int n, int32_t *next, int most)
{
    int told = 0;

    for (; node && told < most; node = last_used_child(p, node)) {
        const int from = CT_MAX(n - p->node[node].number * CT_KEY_BLOCK, 0);
        const int here = CT_MIN(p->node[node].n - from, most - told);
        memcpy(next + told, ids_of(p, node) + from, (size_t)here * sizeof *next);
        told += here;
    }
    return told;
}
