/* SPDX-License-Identifier: Apache-2.0 */
/* converting.h: from the options of `carat convert` to what the library is told. */
#ifndef PROMPT_CONVERTING_H
#define PROMPT_CONVERTING_H

#include "carat_convert.h"
#include "options/options.h"

/* All that needs no model. *recipe is malloc'd, also after a failure, and stays while how is used. An exit
 * code. */
int convert_options(carat_convert_options *how, char **recipe, const struct options *o);
/* --residual-scale: a number, or auto, for which the model is measured; without one it is only read. An exit
 * code. */
int convert_scale(float *scale, const carat_model *model, const carat_convert_options *how,
                  const struct options *o);

#endif
