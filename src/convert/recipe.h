/* SPDX-License-Identifier: Apache-2.0 */
/* recipe.h: which type a tensor of the new file has. */
#ifndef CT_RECIPE_H
#define CT_RECIPE_H

#include "base/base.h"
#include "quant/weight.h"

struct ct_recipe {
    bool any_type; /* none is asked for */
    enum ct_type type;
};

/* type: as in struct carat_convert_options. E_ARGUMENT: carat does not write it. */
carat_status ct_recipe_read(struct ct_recipe *r, const char *type, carat_error *err);
/* The type of the tensor of a slot of ct_weights_walk, of the size of w. */
enum ct_type ct_recipe_type(const struct ct_recipe *r, const char *slot, const struct ct_weight *w);

#endif
