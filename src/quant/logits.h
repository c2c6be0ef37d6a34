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

/* How many of them are of ids below n. */
static inline int ct_logits_below(const struct ct_logits *l, int n)
{
    int below = l->n;

    while (below > 0 && ct_logits_id(l, below - 1) >= n)
        below--;
    return below;
}

#endif
