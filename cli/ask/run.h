/* SPDX-License-Identifier: Apache-2.0 */
/* run.h: `carat run`. */
#ifndef ASK_RUN_H
#define ASK_RUN_H

#include "options/options.h"

int verb_run(const struct options *o);

#endif
