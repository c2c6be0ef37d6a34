/* SPDX-License-Identifier: Apache-2.0 */
/* show_found.h: the part of `carat show` about a name: which rule it goes by, what that found and where it
 * lies, or what there is to fetch. */
#ifndef SHOW_SHOW_FOUND_H
#define SHOW_SHOW_FOUND_H

#include <jansson.h>

#include "model/remote.h"

/* heads: of a model that is not on this machine; else n is 0. */
void show_found(const struct options *o, const carat_location *at, const struct heads *heads);
/* NULL: out of memory. */
json_t *show_found_json(const struct options *o, const carat_location *at, const struct heads *heads);

#endif
