/* SPDX-License-Identifier: Apache-2.0 */
/* written.h: the files that options name; exit codes. */
#ifndef OPTIONS_WRITTEN_H
#define OPTIONS_WRITTEN_H

#include "carat.h"
#include "options/options.h"

/* Are the files there that options name, and can those be made that they want written? Before a model is
 * opened. */
int check_named_files(const struct options *o);
/* No file that is written may be one that is read. Against what the options of the verb read, before anything
 * is opened. */
int check_written(const struct options *o);
/* Against all files of an open model. */
int check_spares_model(const struct options *o, const carat_model *model);

#endif
