/* SPDX-License-Identifier: Apache-2.0 */
/* panel_amx.h: what the files of products with AMX tiles share: sizes, which memory is asked for ahead, and
 * how results leave. panel_amx.c says which tokens are theirs. */
#ifndef CT_PANEL_AMX_H
#define CT_PANEL_AMX_H

#include "kernel/contract.h"
#include "kernel/sizes.h"
#include "kernel/x86/avx512/simd_avx512.h"

#include "kernel/x86/amx/tile.h"

enum {
    TOKENS = 16,            /* of a tile */
    MANY = CT_SIZE(tokens), /* at once */
};

/* Tokens whose inputs, of so many k, stay in the cache while panels go by. */
INLINE int tokens_at_once(int k)
{
    return k <= 2048 ? MANY : k <= 4096 ? MANY * 3 / 4 : MANY / 2;
}

/* ---- memory: weights that come next are asked for, a few lines at each tile, since a tile load that misses
 * waits for sixteen lines at once; lines of results are owned before they are written. No number depends on
 * it. ---- */

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

/* Lines that are asked for while tiles are multiplied: up to so many at each, as long as there are some. */
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

/* ---- results ---- */

/* The place of the results of a panel and of some tokens. */
struct results {
    float *at;
    size_t ldo;
    int n, rows; /* rows of a panel at most CT_PANEL_ROWS */
    float scale;
};

INLINE bool aligned_results(const float *out, size_t ldo)
{
    return (uintptr_t)out % LINE_BYTES == 0 && ldo % CT_PANEL_ROWS == 0;
}

/* Has the lines of results at hand, of so many panels, which are written soon. */
INLINE void own_results(const struct results *to, int panels)
{
    for (int t = 0; t < to->n; t++)
        for (int j = 0; j < panels; j++)
            own_line(to->at + (size_t)t * to->ldo + (size_t)(j * CT_PANEL_ROWS));
}

/* Stores sums[16]. */
INLINE void store_results(const struct results *to, const __m512 *sums)
{
    const __m512 scale = _mm512_set1_ps(to->scale);
    const unsigned mask = (1u << to->rows) - 1;

    if (to->n < TOKENS || to->rows < CT_PANEL_ROWS)
        UNROLL for (int t = 0; t < TOKENS; t++) _mm512_mask_storeu_ps(
            to->at + (size_t)t * to->ldo, (__mmask16)(t < to->n ? mask : 0), _mm512_mul_ps(sums[t], scale));
    else
        UNROLL for (int t = 0; t < TOKENS; t++)
            _mm512_storeu_ps(to->at + (size_t)t * to->ldo, _mm512_mul_ps(sums[t], scale));
}

/* ---- between the files: rows [r0, r1) times all tokens of x, as panel_amx.c prepared them ---- */

void CT_NAME(ct_project_bytes)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                               const struct ct_prepared *x, const struct ct_panels_next *next);
void CT_NAME(ct_project_bf16)(float *out, size_t ldo, const struct ct_weight *w, int r0, int r1,
                              const struct ct_prepared *x, const struct ct_panels_next *next);

#endif
