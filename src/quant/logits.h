/* SPDX-License-Identifier: Apache-2.0 */
/* logits.h: what a head gives for a token: the logits of all ids, or of those that somebody reads. */
#ifndef CT_LOGITS_H
#define CT_LOGITS_H

#include <stdint.h>

/* n logits: value[i] is that of id[i], ids ascending; id NULL: of id i. */
struct ct_logits {
    const float *value;
    const int32_t *id;
    int n;
};

static inline int32_t ct_logits_id(const struct ct_logits *l, int i)
{
    return l->id ? l->id[i] : i;
}

/* The place of an id; -1: it has none. */
static inline int ct_logits_place(const struct ct_logits *l, int32_t id)
{
    int low = 0, high = l->n;

    if (!l->id)
        return id >= 0 && id < l->n ? id : -1;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (l->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < l->n && l->id[low] == id ? low : -1;
}

/* How many of them are of ids below n. */
static inline int ct_logits_below(const struct ct_logits *l, int n)
{
    int below = l->n;

    while (below > 0 && ct_logits_id(l, below - 1) >= n)
        below--;
    return below;
}

#endif
