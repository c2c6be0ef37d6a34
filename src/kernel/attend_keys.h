/* SPDX-License-Identifier: Apache-2.0 */
/* attend_keys.h: which keys of a block the queries of a tile see, for files of attention of any
 * architecture. */
#ifndef CT_ATTEND_KEYS_H
#define CT_ATTEND_KEYS_H

#include "kernel/compiler.h"
#include "kernel/kernel.h"

enum { ROW = CT_KEY_BLOCK + 16 }; /* floats of a query's scores: rows 1 KiB apart would fall on each other */

/* Keys of a block, [first, last]; none where first > last. */
struct seen {
    int first, last;
};

INLINE struct seen seen_by(const struct ct_queries *t, int i, int block)
{
    const int base = block * CT_KEY_BLOCK;
    return (struct seen){CT_MAX(t->lo[i] - base, 0), CT_MIN(t->hi[i] - base, CT_KEY_BLOCK - 1)};
}

/* From the first that one of the queries sees to the last. Clears all sums. */
INLINE struct seen seen_by_all(struct ct_attended *a, const struct ct_queries *t, int block)
{
    struct seen all = {CT_KEY_BLOCK, -1};

    for (int i = 0; i < t->n; i++) {
        struct seen s = seen_by(t, i, block);
        a->sum[i] = 0;
        if (s.first <= s.last)
            all = (struct seen){CT_MIN(all.first, s.first), CT_MAX(all.last, s.last)};
    }
    return all;
}

/* The whole groups of 32 keys that have them all, [begin, end); of no keys, none. */
struct groups {
    int begin, end;
};

INLINE struct groups groups_of(struct seen s)
{
    if (s.first > s.last)
        return (struct groups){0, 0};
    return (struct groups){s.first / CT_GROUP * CT_GROUP, s.last / CT_GROUP * CT_GROUP + CT_GROUP};
}

#endif
