/* SPDX-License-Identifier: Apache-2.0 */
/* cache_place.h: where the cache of packed models is. */
#ifndef MODEL_CACHE_PLACE_H
#define MODEL_CACHE_PLACE_H

#include "carat_tools.h"

enum { MOST_CACHE_PATH = 1024 };
struct cache_place {
    char path[MOST_CACHE_PATH]; /* "" when no place is known */
    carat_cache_info in;
};
void cache_find(struct cache_place *c);

#endif
