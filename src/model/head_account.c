/* SPDX-License-Identifier: Apache-2.0 */
/* head_account.c: see head_account.h. After the first two pruned steps two dense ones are measured. When
 * pruned steps do not pay, 64, 128, 256 ... dense ones follow before the next is tried. */
#include "model/head_account.h"

enum {
    SURE = 2,   /* steps of a kind before they say anything */
    DOUBTS = 8, /* steps in a row that do not pay, before it rests */
    REST = 64,
    MOST_REST = 1 << 14,
};
#define PAYS     0.95 /* of what dense takes */
#define HOPELESS 1.4  /* of that: no doubt */

static struct ct_head_times *times_of(struct ct_head_account *a, int n)
{
    return &a->of[n > 4 ? 3 : n > 2 ? 2 : n - 1];
}

bool ct_head_account_prunes(struct ct_head_account *a, int n)
{
    struct ct_head_times *t = times_of(a, n);

    if (t->left > 0) {
        t->left--;
        return false;
    }
    return t->n_pruned < SURE || t->n_dense >= SURE;
}

/* The fastest of the first steps counts, since they bring memory in; a later one counts as 1.5 times the
 * mean at most, so that a disturbance does little. */
static void learn(double *mean, int *n, double seconds)
{
    double later = *mean + (CT_MIN(seconds, 1.5 * *mean) - *mean) / 8;

    *mean = *mean == 0 ? seconds : *n < SURE ? CT_MIN(seconds, *mean) : later;
    ++*n;
}

/* Pruned steps pay, or dense ones come for a while. */
static void judge(struct ct_head_times *t)
{
    const bool pays = t->pruned <= PAYS * t->dense;

    t->doubts = pays ? 0 : t->pruned > HOPELESS * t->dense ? DOUBTS : t->doubts + 1;
    if (!pays && t->doubts < DOUBTS)
        return;
    t->known = true;
    t->pays = pays;
    if (pays) {
        t->rest = 0;
        return;
    }
    t->rest = t->rest ? CT_MIN(2 * t->rest, MOST_REST) : REST;
    t->left = t->rest;
    t->probes = true; /* the text may be another then, and one step shows that */
}

const char *ct_head_account_reason(struct ct_head_account *a, int n)
{
    return times_of(a, n)->known ? "a pruned head was measured to take longer" : "dense was measured, too";
}

const struct ct_head_times *ct_head_account_took(struct ct_head_account *a, int n, bool pruned,
                                                 double seconds)
{
    struct ct_head_times *t = times_of(a, n);

    if (pruned && t->probes)
        t->pruned = 0;
    t->probes &= !pruned;
    learn(pruned ? &t->pruned : &t->dense, pruned ? &t->n_pruned : &t->n_dense, seconds);
    if (t->n_pruned >= SURE && t->n_dense >= SURE && (pruned || !t->known))
        judge(t);
    return t;
}
