/* SPDX-License-Identifier: Apache-2.0 */
/* write_model.h: writing a model with settled options: the bar, the report, the table of a dry run. */
#ifndef MODEL_WRITE_MODEL_H
#define MODEL_WRITE_MODEL_H

#include "model/writing.h"

/* how: types and threads; the rest is filled. An exit code. */
int write_model(const carat_model *model, const char *path, carat_convert_options *how,
                const struct options *o);

#endif
