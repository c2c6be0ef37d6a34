/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h: options that variables give. */
#ifndef OPTIONS_ENVIRONMENT_H
#define OPTIONS_ENVIRONMENT_H

#include "options/options.h"

/* The variable that gives this option, as CARAT_ARG_TEMP; false when there is none. */
bool option_variable(char *out, size_t capacity, const struct option *option);
/* What those variables say, to be overwritten by the command line. An exit code. */
int options_environment(struct options *o);

#endif
