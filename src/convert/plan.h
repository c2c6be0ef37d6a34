/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h: what a new file consists of: its tensors, and the weights that they are made from. */
#ifndef CT_CONVERT_PLAN_H
#define CT_CONVERT_PLAN_H

#include "checkpoint/checkpoint.h"
#include "convert/recipe.h"
#include "file/write.h"

/* A weight, and the rows of a tensor that it becomes. */
struct ct_converted {
    struct ct_weight w;
    const char *source; /* the tensor that it is from, for messages */
    size_t row_bytes;   /* of the new one */
    int tensor, first;  /* and the first of its rows there */
    int rows, chunks;   /* of a chunk; chunks before its first one */
};

struct ct_conversion {
    const struct carat_model *m;
    const char *path; /* of the new file */
    carat_error *err;
    struct ct_recipe recipe;
    struct ct_arena arena;
    struct ct_converted *c;       /* [n] */
    struct ct_new_tensor *tensor; /* [n_tensor] */
    int n, n_tensor, n_chunk;
    struct ct_new_head head;
    uint64_t size;
};

/* Fills the members behind arena, whose owner frees it and head. E_UNSUPPORTED, E_FORMAT, E_MEMORY. */
carat_status ct_plan_file(struct ct_conversion *v, carat_error *err);

#endif
