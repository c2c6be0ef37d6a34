/* SPDX-License-Identifier: Apache-2.0 */
/* stored.h: which types the tensors of a model are stored in. */
#ifndef MODEL_STORED_H
#define MODEL_STORED_H

#include <stdbool.h>

#include "carat.h"

/* Counts, for each type, the tensors of at least so many dimensions that have it, the most frequent type
 * first. */
enum { MOST_TYPES = 64 };
struct type_counts {
    int n;
    struct type_count {
        const char *name;
        int n;
    } type[MOST_TYPES];
};
void count_types(struct type_counts *c, const carat_model *model, int least_dims);
/* The type that most matrices are stored in, "" without any; *only: there is no other. */
const char *stored_type(const carat_model *model, bool *only);

#endif
