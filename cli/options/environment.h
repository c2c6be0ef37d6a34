/* SPDX-License-Identifier: Apache-2.0 */
/* environment.h: options that variables give. */
#ifndef OPTIONS_ENVIRONMENT_H
#define OPTIONS_ENVIRONMENT_H

#include "options/options.h"

/* The variable that gives this option, as CARAT_ARG_TEMP; false when there is none. */
bool option_variable(char *out, size_t capacity, const struct option *option);
/* Takes what those variables say; the command line goes over it later. An exit code. */
int options_environment(struct options *o);

#endif
