/* SPDX-License-Identifier: Apache-2.0 */
/* write_model.h: writing a model with settled options: the bar, the report, the table of a dry run. */
#ifndef MODEL_WRITE_MODEL_H
#define MODEL_WRITE_MODEL_H

#include "write/writing.h"

/* how: types and threads; the rest is filled. sums: say at the end what the file consists of. An exit
 * code. */
int write_model(const carat_model *model, const char *path, carat_convert_options *how,
                const struct options *o, bool sums);
/* Checks that a file may be made there: it is none that the model is read from, and one that is there already
 * may be replaced, by --force or by who is asked. An exit code. */
int write_over(const carat_model *model, const char *path, const struct options *o);

#endif
