/* SPDX-License-Identifier: Apache-2.0 */
/* stdin.h: a model that comes through standard input. */
#ifndef IO_STDIN_H
#define IO_STDIN_H

#include "carat.h"

/* As carat_model_open. */
carat_status open_stdin(carat_model **model, const carat_model_options *options, carat_error *err);

#endif
