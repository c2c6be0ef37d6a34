/* SPDX-License-Identifier: Apache-2.0 */
/* lines.h: lines of memory that products with tiles have brought nearer before they need them: weights that
 * come next, a few at each tile, since a tile load that misses waits for sixteen lines at once; and lines of
 * results, owned before they are written. No number depends on it. simd_avx512.h comes before. */
#ifndef CT_AMX_LINES_H
#define CT_AMX_LINES_H

#include "kernel/compiler.h"
#include "kernel/kernel.h"

enum { LINE_BYTES = 64 };

/* Weights that come next. */
struct ahead {
    const uint8_t *at; /* NULL: nobody knows */
    size_t bytes;
    size_t beside; /* to as many bytes of another panel, 0: there is none */
};

/* The first panel of a call that follows, and the one beside it. */
INLINE struct ahead ahead_of_call(const struct ct_panels_next *next)
{
    if (!next)
        return (struct ahead){0};
    const struct ct_weight *w = next->w;
    return (struct ahead){(const uint8_t *)w->data + (size_t)(next->r0 / CT_PANEL_ROWS) * w->row_bytes,
                          w->row_bytes, next->r1 - next->r0 > CT_PANEL_ROWS ? w->row_bytes : 0};
}

/* What is asked for while tiles are multiplied: up to so many lines at each, as long as there are some. */
struct asking {
    const uint8_t *at, *end;
    size_t beside;
    size_t step; /* bytes at each tile */
};

/* Part i of n equal parts of what comes next, for so many tiles. */
INLINE struct asking ask_part(const struct ahead *a, int i, int n, int tiles)
{
    const size_t lines = (a->bytes + LINE_BYTES - 1) / LINE_BYTES;
    const size_t from = lines * (size_t)i / (size_t)n, to = lines * (size_t)(i + 1) / (size_t)n;

    if (!a->at)
        return (struct asking){0};
    return (struct asking){a->at + LINE_BYTES * from, a->at + LINE_BYTES * to, a->beside,
                           (to - from + (size_t)tiles - 1) / (size_t)tiles * LINE_BYTES};
}

/* The lines of one tile. */
INLINE void ask(struct asking *a, const bool beside)
{
    for (const uint8_t *end = CT_MIN(a->at + a->step, a->end); a->at < end; a->at += LINE_BYTES) {
        fetch(a->at);
        if (beside && a->beside)
            fetch(a->at + a->beside);
    }
}

/* Own assembly: compilers take another prefetch without an option for the whole file. */
INLINE void own_line(const float *p)
{
    __asm__ volatile("prefetchw %0" ::"m"(*p));
}

#endif
