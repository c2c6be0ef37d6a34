/* SPDX-License-Identifier: Apache-2.0 */
/* merges.h: a list of merges as files spell them, on its way to ct_tokenizer_merges: two parts with a space
 * between them, looked up in the vocabulary. What is wrong with one is told to the reader of the file, who
 * knows how to say where. */
#ifndef CT_MERGES_H
#define CT_MERGES_H

#include "text/tokenizer/tokenizer_parts.h"

struct ct_merge {
    char text[CT_PIECE_MAX]; /* both parts, side by side */
    size_t left, n;          /* bytes of the left part and of both */
    size_t at;               /* in the file */
};

#define CT_MERGE_BATCH (CT_WARM_MAX / 3)

struct ct_merge_list {
    int32_t *triple; /* [n][3], as ct_tokenizer_merges wants them; freed by the caller */
    size_t n, capacity;
    struct ct_merge batch[CT_MERGE_BATCH]; /* [n_batch] not looked up yet: many are faster at once */
    size_t n_batch;
};

/* A part of a merge that is not in the vocabulary. */
struct ct_merge_missing {
    size_t index; /* of the merge */
    size_t at;    /* of it, in the file */
    const char *part;
    struct ct_str text; /* until the list is used again */
};

/* More merges than a vocabulary can have: no token divides in more places than it has bytes. */
size_t ct_merges_most(const struct ct_tokenizer *t);
/* False: part does not fit. */
bool ct_merge_add(struct ct_merge *m, struct ct_str part);
/* The parts of "left right". False: there is not one space. */
bool ct_merge_split(struct ct_str both, struct ct_str *left, struct ct_str *right);
/* Takes n = 1 merge, list->batch[n_batch], which the caller has filled in, and looks up what has gathered
 * when that is enough; n = 0: at once. E_FORMAT, for which *missing is filled in and err is not; E_MEMORY,
 * E_CANCELLED. */
carat_status ct_merges_push(struct ct_merge_list *list, struct ct_tokenizer *t, const char *name, size_t n,
                            struct ct_merge_missing *missing, carat_error *err);

#endif
