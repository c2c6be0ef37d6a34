/* SPDX-License-Identifier: Apache-2.0 */
/* new_tensors.h: the tensors of a new file: kept as the library tells of them, printed as a table or JSON. */
#ifndef MODEL_NEW_TENSORS_H
#define MODEL_NEW_TENSORS_H

#include <stdbool.h>

#include <jansson.h>

#include "carat_convert.h"

struct written {
    carat_converted *tensor; /* [n], with strings of its own */
    int n, capacity;
    bool failed; /* out of memory */
};

/* A carat_converted_visit; user is a struct written. */
void written_add(void *user, const carat_converted *tensor);
void written_free(struct written *w);
void written_print(const struct written *w);
/* As notes: how many got another type than was asked for, and why; then types, sizes and bits a weight. */
void written_close(const struct written *w);
/* NULL: out of memory. */
json_t *written_json(const struct written *w);

#endif
