/* SPDX-License-Identifier: Apache-2.0 */
/* arena.h: one growing block store with one lifetime; nothing is freed alone. Used while a model is
 * built; never during a pass. */
#ifndef CT_ARENA_H
#define CT_ARENA_H

#include "base/base.h"

struct ct_arena_block;
struct ct_arena {
    struct ct_arena_block *block; /* newest first; zero-initialise to start empty */
};

/* count * size zeroed bytes aligned to 64, or NULL when memory runs out or the product overflows. */
void *ct_arena_push(struct ct_arena *a, size_t count, size_t size);
/* A terminated copy of n bytes, or NULL. */
char *ct_arena_str(struct ct_arena *a, const char *s, size_t n);
void ct_arena_free(struct ct_arena *a);

#endif
