/* SPDX-License-Identifier: Apache-2.0 */
/* show.h: `carat show`. */
#ifndef SHOW_SHOW_H
#define SHOW_SHOW_H

#include "options/options.h"

int verb_show(const struct options *o);

#endif
