/* SPDX-License-Identifier: Apache-2.0 */
/* guard.c: see guard.h. For each length of a cycle it counts how many of the last ids are those that stood
 * one cycle before; nothing else has to be remembered but 64 ids and the entropies of a window. */
#include "generate/guard.h"

#include <stdlib.h>

#include "base/arguments.h"

/* Ids that must have gone round for a cycle of c. */
static int cycle_ids(const struct ct_guard *g, int c)
{
    return CT_MAX(4 * c, g->least);
}

/* So many of the last ids have the period c. Before there are c ids it is too many, but never enough. */
static int periodic_ids(const struct ct_guard *g, int c)
{
    return g->same[c - 1] + c;
}

carat_status ct_guard_open(struct ct_guard *g, int least, carat_error *err)
{
    *g = (struct ct_guard){0};
    CT_TRY(ct_check_range("loop_guard", least, 0, CARAT_MOST_LOOP, err));
    if (least == 0)
        return CARAT_OK;
    g->least = least;
    g->window = cycle_ids(g, CT_GUARD_CYCLE) / 2;
    g->entropy = malloc((size_t)g->window * sizeof *g->entropy);
    return g->entropy ? CARAT_OK : ct_no_memory(err, "the loop guard");
}

void ct_guard_close(struct ct_guard *g)
{
    free(g->entropy);
}

void ct_guard_begin(struct ct_guard *g)
{
    g->n = 0;
    memset(g->same, 0, sizeof g->same);
}

bool ct_guard_wants(const struct ct_guard *g, int more)
{
    if (g->least == 0)
        return false;
    for (int c = 1; c <= CT_GUARD_CYCLE; c++)
        if (periodic_ids(g, c) + more > (cycle_ids(g, c) + 1) / 2)
            return true;
    return false;
}

static bool is_sure(const struct ct_guard *g, int ids)
{
    double sum = 0;

    for (int i = g->n - ids; i < g->n; i++)
        sum += (double)g->entropy[i % g->window];
    return sum < 0.1 * ids;
}

int ct_guard_push(struct ct_guard *g, int32_t id, float entropy)
{
    int c = 1;

    if (g->least == 0)
        return 0;
    for (int back = 1; back <= CT_MIN(g->n, CT_GUARD_CYCLE); back++)
        g->same[back - 1] = g->id[(g->n - back) % CT_GUARD_CYCLE] == id ? g->same[back - 1] + 1 : 0;
    g->id[g->n % CT_GUARD_CYCLE] = id;
    g->entropy[g->n % g->window] = entropy;
    g->n++;
    while (c <= CT_GUARD_CYCLE && periodic_ids(g, c) < cycle_ids(g, c))
        c++;
    return c <= CT_GUARD_CYCLE && is_sure(g, cycle_ids(g, c) / 2) ? c : 0;
}
