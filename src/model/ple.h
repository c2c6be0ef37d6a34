/* SPDX-License-Identifier: Apache-2.0 */
/* ple.h: the rows of the table of layer inputs (PLE, MODEL.md) that the tokens of a pass ask for. It computes
 * nothing: forward.c says what is done with them. */
#ifndef CT_PLE_H
#define CT_PLE_H

#include "model/weights.h"

struct ct_ple {
    struct ct_weight table; /* in whose rows they are found; absent: the model has none */
    int32_t *row;           /* [max_rows] which of them, for each row of the pass */
};

/* Takes the memory of passes with max_rows rows from the backend. */
void ct_ple_init(struct ct_ple *p, struct ct_backend *b, const struct ct_config *c, int max_rows);
/* Finds the row of each token. An id beyond the table has row 0. */
void ct_ple_find(struct ct_ple *p, const struct ct_weights *w, const struct ct_rows *rows);

#endif
