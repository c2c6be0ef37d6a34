/* SPDX-License-Identifier: Apache-2.0 */
/* stored.c: the types that a model's tensors are stored in. */
#include "model/stored.h"

#include <string.h>

#include "carat_tools.h"

void count_types(struct type_counts *c, const carat_model *model, int least_dims)
{
    c->n = 0;
    for (int i = 0, n = carat_model_tensor_count(model); i < n; i++) {
        carat_tensor_info info = {.size = sizeof info};
        int k = 0;
        if (carat_model_get_tensor(model, i, &info, NULL) != CARAT_OK || info.n_dim < least_dims)
            continue;
        while (k < c->n && strcmp(c->type[k].name, info.type) != 0)
            k++;
        if (k == MOST_TYPES)
            continue;
        if (k == c->n)
            c->type[c->n++] = (struct type_count){.name = info.type};
        struct type_count one = c->type[k];
        one.n++;
        for (; k > 0 && c->type[k - 1].n < one.n; k--)
            c->type[k] = c->type[k - 1];
        c->type[k] = one;
    }
}

const char *stored_type(const carat_model *model, bool *only)
{
    struct type_counts types;

    count_types(&types, model, 2);
    *only = types.n <= 1;
    return types.n ? types.type[0].name : "";
}
