/* SPDX-License-Identifier: Apache-2.0 */
/* show_embedder.h: what `carat show` says of a model that gives vectors. */
#ifndef SHOW_EMBEDDER_H
#define SHOW_EMBEDDER_H

#include <jansson.h>

#include "carat.h"

void show_embedder(const carat_model *model);
json_t *show_embedder_json(const carat_model *model); /* NULL: no memory */

#endif
