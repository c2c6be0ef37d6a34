/* SPDX-License-Identifier: Apache-2.0 */
/* weights_sbs.h: tensors of gemma.cpp files in the shape that the other containers have: one for each place of a layer,
 * rows one after another. Private to src/model. */
#ifndef CT_WEIGHTS_SBS_H
#define CT_WEIGHTS_SBS_H

#include "model/weights.h"

/* A tensor of its own. *t points into the mapping, or into the arena where the type has no rows (weights_sbs.c).
 * E_FORMAT: absent; E_MEMORY. */
carat_status ct_sbs_whole(struct ct_tensor *t, const struct ct_file *f, const char *name,
                          struct ct_arena *arena, carat_error *err);
/* What belongs to ct_layer at offset `place` of a layer with configuration l. E_FORMAT: both or neither of the fused and
 * the split form are there, or the shape is not what the configuration says. */
carat_status ct_sbs_place(struct ct_tensor *t, const struct ct_file *f, const struct ct_layer_config *l,
                          int hidden, int layer, size_t place, struct ct_arena *arena, carat_error *err);

#endif
