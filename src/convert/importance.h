/* SPDX-License-Identifier: Apache-2.0 */
/* importance.h: how much the columns of each matrix matter, as llama.cpp's imatrix files say it, in both of
 * their forms. They come from anywhere: nothing in them is believed before it is checked. */
#ifndef CT_IMPORTANCE_H
#define CT_IMPORTANCE_H

#include "base/arena.h"

/* The importance of a tensor: the mean square of what each column is multiplied by, of one matrix after the
 * other. */
struct ct_importance_of {
    const char *name;
    const float *value; /* [n] */
    size_t n, counts;   /* counts of rows: of all matrices together, or of each */
};
struct ct_importance {
    struct ct_importance_of *of; /* [n] */
    int n;
    const char *dataset; /* what it was measured on, as the file says; or NULL */
    uint32_t chunks;
};

/* Everything that is kept lies in the arena. E_FORMAT: the message names the place; E_MEMORY. */
carat_status ct_importance_parse(struct ct_importance *i, const char *path, struct ct_bytes bytes,
                                 struct ct_arena *arena, carat_error *err);
/* Reads importance from a file. E_NOT_FOUND, E_IO too. */
carat_status ct_importance_read(struct ct_importance *i, const char *path, struct ct_arena *arena,
                                carat_error *err);
/* NULL: the file does not have it. */
const struct ct_importance_of *ct_importance_find(const struct ct_importance *i, const char *name);

#endif
