/* SPDX-License-Identifier: Apache-2.0 */
/* stored.c: the types that a model's tensors are stored in. */
#include "model/stored.h"

#include <string.h>

#include "carat_tools.h"

static bool ends_in(const char *name, const char *ending)
{
    const size_t n = strlen(name), k = strlen(ending);
    return n >= k && strcmp(name + n - k, ending) == 0;
}

/* As GGUF calls it. compressed-tensors has two tensors of numbers for one, of which the first counts as what
 * both are; NULL: none. */
static const char *type_of(const carat_tensor_info *t)
{
    return ends_in(t->name, ".weight_packed") ? "Q4_0" : ends_in(t->name, ".weight_scale") ? NULL : t->type;
}

void count_types(struct type_counts *c, const carat_model *model, int least_dims)
{
    c->n = 0;
    for (int i = 0, n = carat_model_tensor_count(model); i < n; i++) {
        carat_tensor_info info = {.size = sizeof info};
        int k = 0;
        if (carat_model_get_tensor(model, i, &info, NULL) != CARAT_OK || info.n_dim < least_dims)
            continue;
        const char *type = type_of(&info);
        if (!type)
            continue;
        while (k < c->n && strcmp(c->type[k].name, type) != 0)
            k++;
        if (k == MOST_TYPES)
            continue;
        if (k == c->n)
            c->type[c->n++] = (struct type_count){.name = type};
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
