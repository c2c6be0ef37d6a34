/* SPDX-License-Identifier: Apache-2.0 */
/* completion.h: `carat completion`. */
#ifndef OPTIONS_COMPLETION_H
#define OPTIONS_COMPLETION_H

#include "options/options.h"

int verb_completion(const struct options *o);

#endif
