/* SPDX-License-Identifier: Apache-2.0 */
/* stored.c: the types that a model's matrices are stored in, in one word for tables. */
#include <string.h>

#include "cli.h"

const char *stored_type(const carat_model *model, bool *only)
{
    struct {
        const char *name;
        int n;
    } type[64];
    int n_type = 0, best = 0;

    for (int i = 0, n = carat_model_tensor_count(model); i < n; i++) {
        carat_tensor_info info = {.size = sizeof info};
        int k = 0;
        if (carat_model_get_tensor(model, i, &info, NULL) != CARAT_OK || info.n_dim < 2)
            continue;
        while (k < n_type && strcmp(type[k].name, info.type) != 0)
            k++;
        if (k == n_type && n_type < 64) {
            type[n_type].name = info.type;
            type[n_type++].n = 0;
        }
        if (k < n_type && ++type[k].n > type[best].n)
            best = k;
    }
    *only = n_type <= 1;
    return n_type ? type[best].name : "";
}
