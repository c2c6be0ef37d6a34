/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c: blocks taken from the C allocator, filled from the front; see arena.h for the contract. */
#include "base/arena.h"

#include <stdlib.h>

#include "base/redzone.h"

enum { ALIGN = 64, BLOCK = 64 * 1024 };

struct ct_arena_block {
    struct ct_arena_block *older;
    size_t used, size; /* of the whole block, this header included */
};

static struct ct_arena_block *arena_block(size_t size, size_t used)
{
    struct ct_arena_block *b = aligned_alloc(ALIGN, size);
    if (b)
        *b = (struct ct_arena_block){.used = used, .size = size};
    return b;
}

/* A request that would waste much of a fresh block gets a block of its own behind the newest one, so that
 * small pushes go on filling where they were. */
static void *push_alone(struct ct_arena *a, size_t size)
{
    struct ct_arena_block *b = arena_block(size, size), **place = a->block ? &a->block->older : &a->block;
    if (!b)
        return NULL;
    b->older = *place;
    *place = b;
    return memset((char *)b + ALIGN, 0, size - ALIGN);
}

void *ct_arena_push(struct ct_arena *a, size_t count, size_t size)
{
    static_assert(sizeof(struct ct_arena_block) <= ALIGN, "the header fits before the first push");
    size_t asked, need;
    if (!ct_mul(count, size, &asked) || asked > PTRDIFF_MAX - 2 * ALIGN) /* no object is larger */
        return NULL;
    need = ct_round_up(CT_MAX(asked, 1), ALIGN);

    if (need > BLOCK / 4) {
        char *alone = push_alone(a, ALIGN + need); /* what follows it the C allocator forbids */
        if (alone)
            CT_FORBID(alone + asked, need - asked);
        return alone;
    }
    need += CT_REDZONE;
    if (!a->block || a->block->size - a->block->used < need) {
        struct ct_arena_block *b = arena_block(BLOCK, ALIGN);
        if (!b)
            return NULL;
        b->older = a->block;
        a->block = b;
    }
    char *p = (char *)a->block + a->block->used;
    a->block->used += need;
    memset(p, 0, need);
    CT_FORBID(p + asked, need - asked);
    return p;
}

char *ct_arena_str(struct ct_arena *a, const char *s, size_t n)
{
    size_t size;
    if (!ct_add(n, 1, &size))
        return NULL;
    char *copy = ct_arena_push(a, size, 1);
    if (copy && n)
        memcpy(copy, s, n);
    return copy;
}

void ct_arena_free(struct ct_arena *a)
{
    for (struct ct_arena_block *b = a->block, *older; b; b = older) {
        older = b->older;
        free(b);
    }
    a->block = NULL;
}
