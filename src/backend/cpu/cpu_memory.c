/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_memory.c: takes memory of a reservation in a row, or counts what is taken while there is none. */
#include "backend/cpu/cpu_backend.h"

#include "base/redzone.h"

void *ct_cpu_take(struct ct_cpu_memory *m, size_t bytes)
{
    uint8_t *p = m->base ? m->base + m->used : NULL;

    m->used += ct_round_up(bytes, 64) + CT_REDZONE;
    assert(!p || m->used <= m->size);
    if (p)
        CT_FORBID(p + bytes, m->base + m->used - (p + bytes));
    return p;
}
