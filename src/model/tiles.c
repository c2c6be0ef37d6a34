/* SPDX-License-Identifier: Apache-2.0 */
/* tiles.c: slots of tiles, and shortlists, over numbers; nothing here knows a weight. */
#include "model/tiles.h"

size_t ct_tiles_bytes(int n, int capacity)
{
    return (2 * (size_t)n + (size_t)capacity) * sizeof(int32_t);
}

void ct_tiles_begin(struct ct_tiles *t, int n, int capacity, void *memory)
{
    assert(capacity >= 1 && capacity <= n);
    *t = (struct ct_tiles){.n = n, .capacity = capacity};
    if (!memory)
        return;
    t->slot_of = memory;
    t->tile_in = t->slot_of + n;
    t->seen = (uint32_t *)(t->tile_in + capacity);
    memset(t->slot_of, 0xff, ((size_t)n + (size_t)capacity) * sizeof *t->slot_of);
    memset(t->seen, 0, (size_t)n * sizeof *t->seen);
}

struct ct_tile_place ct_tiles_take(struct ct_tiles *t, int tile)
{
    struct ct_tile_place p = {t->slot_of[tile], true, -1};

    assert(tile >= 0 && tile < t->n);
    if (p.slot >= 0) {
        t->hits++;
        return p;
    }
    t->misses++;
    p.hit = false;
    if (t->taken < t->capacity) {
        p.slot = t->taken++;
    } else {
        p.slot = t->capacity - 1;
        p.evicted = t->tile_in[p.slot];
        t->slot_of[p.evicted] = -1;
        t->evictions++;
    }
    t->slot_of[tile] = p.slot;
    t->tile_in[p.slot] = tile;
    return p;
}

void ct_tiles_drop(struct ct_tiles *t, int tile)
{
    const int slot = t->slot_of[tile];

    assert(slot == t->taken - 1 || slot == t->capacity - 1);
    t->slot_of[tile] = t->tile_in[slot] = -1;
    t->taken = slot;
}

/* ---- shortlists ---- */

/* Returns how many tiles that adds. */
static int shortlist_add(struct ct_tiles *t, int tile)
{
    const bool known = t->seen[tile] == t->lists;

    t->seen[tile] = t->lists;
    return !known;
}

static int32_t text_at(const struct ct_tile_text *t, int i)
{
    return i < t->n_held ? t->held[i] : t->more[i - t->n_held];
}

int ct_tiles_shortlist(struct ct_tiles *t, int rows, int most, const struct ct_tile_text *text,
                       int32_t *chosen)
{
    const int round = CT_MIN(most - 1, (most + 7) / 8); /* at least so many of them */
    const int length = text->n_held + text->n_more, last = CT_MAX(0, length - CT_SHORTLIST_LOOKS_BACK);
    int n = 0;

    assert(most >= 1 && most <= t->n && length >= 1);
    if (++t->lists == 0) { /* after 2^32 lists */
        memset(t->seen, 0, (size_t)t->n * sizeof *t->seen);
        t->lists = 1;
    }
    for (int i = length - 1; i >= last && n < most - round; i--)
        n += shortlist_add(t, text_at(text, i) / rows);
    for (int i = (int)((int64_t)(length - 1) * round % t->n); n < most; i = (i + 1) % t->n)
        n += shortlist_add(t, i);
    n = 0;
    for (int i = 0; i < t->n; i++)
        if (t->seen[i] == t->lists)
            chosen[n++] = i;
    return n;
}
