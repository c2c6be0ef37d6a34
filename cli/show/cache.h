/* SPDX-License-Identifier: Apache-2.0 */
/* cache.h: `carat cache`. */
#ifndef SHOW_CACHE_H
#define SHOW_CACHE_H

#include "options/options.h"

int verb_cache(const struct options *o);

#endif
