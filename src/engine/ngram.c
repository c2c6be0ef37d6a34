/* SPDX-License-Identifier: Apache-2.0 */
/* ngram.c: see ngram.h. A token goes into three tables once, so that a draft costs the same after any
 * history. */
#include "engine/ngram.h"

#include <stdlib.h>

/* The slot of a run that ends with ids[end - 1]: its own, or the empty one where it would be. */
static int32_t *run_slot(const struct ct_ngrams *g, int length, const int32_t *ids, int end)
{
    const int32_t *run = ids + end - length;
    int32_t *table = g->end[length - CT_NGRAM_LEAST];
    uint64_t hash = 0;

    for (int i = 0; i < length; i++)
        hash = (hash ^ (uint32_t)run[i]) * 0x9e3779b97f4a7c15u;
    size_t at = (hash >> 32) & (g->slots - 1);
    while (table[at] && memcmp(ids + table[at] - length, run, (size_t)length * sizeof *run))
        at = (at + 1) & (g->slots - 1);
    return &table[at];
}

bool ct_ngrams_open(struct ct_ngrams *g, int most)
{
    size_t slots = 64;

    while (slots < 2 * (size_t)most)
        slots *= 2;
    *g = (struct ct_ngrams){.slots = slots};
    g->end[0] = calloc(CT_NGRAM_LENGTHS * slots, sizeof *g->end[0]);
    for (int i = 1; i < CT_NGRAM_LENGTHS && g->end[0]; i++)
        g->end[i] = g->end[0] + (size_t)i * slots;
    return g->end[0] != NULL;
}

void ct_ngrams_close(struct ct_ngrams *g)
{
    free(g->end[0]);
}

void ct_ngrams_begin(struct ct_ngrams *g)
{
    if (g->indexed > 0)
        memset(g->end[0], 0, CT_NGRAM_LENGTHS * g->slots * sizeof *g->end[0]);
    g->indexed = 0;
}

/* What followed tokens that ended at `end` once, read on in the draft itself where the history ends. */
static void copy_on(const int32_t *ids, int n, int end, int32_t *draft, int k)
{
    for (int i = 0; i < k; i++)
        draft[i] = end + i < n ? ids[end + i] : draft[end + i - n];
}

int ct_ngrams_propose(struct ct_ngrams *g, const int32_t *ids, int n, int32_t *draft, int k)
{
    if (n <= g->indexed)
        ct_ngrams_begin(g);
    for (; g->indexed < n - 1; g->indexed++)
        for (int length = CT_NGRAM_LEAST; length <= CT_MIN(CT_NGRAM_MOST, g->indexed + 1); length++)
            *run_slot(g, length, ids, g->indexed + 1) = g->indexed + 1;
    for (int length = CT_MIN(CT_NGRAM_MOST, n - 1); length >= CT_NGRAM_LEAST; length--) {
        int end = *run_slot(g, length, ids, n);
        if (end) {
            copy_on(ids, n, end, draft, k);
            return k;
        }
    }
    return 0;
}
