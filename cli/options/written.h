/* SPDX-License-Identifier: Apache-2.0 */
/* written.h: no file that is written may be one that is read; exit codes. */
#ifndef OPTIONS_WRITTEN_H
#define OPTIONS_WRITTEN_H

#include "carat.h"
#include "options/options.h"

/* Against what the options of the verb read, before anything is opened. */
int check_written(const struct options *o, enum verb verb);
/* Against all files of an open model. */
int check_spares_model(const struct options *o, const carat_model *model);

#endif
