/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_types.h: weights for the kernels of gpu.h: what those are told of a type, and the panels that they
 * read. */
#ifndef CT_GPU_TYPES_H
#define CT_GPU_TYPES_H

#include "kernel/gpu/gpu.h"
#include "quant/weight.h"

struct ct_gpu_type ct_gpu_type_of(enum ct_type type);
/* True when project_matrix reads it. */
static inline bool ct_gpu_has_matrix(const struct ct_gpu_type *t)
{
    return t->form == CT_GPU_F16_SCALE && !t->more && !t->high && !t->tabled && t->low >= 4;
}
/* True when project_eight reads it: all types of integers, but those whose halves have scales or minima of
 * their own. */
static inline bool ct_gpu_has_eight(const struct ct_gpu_type *t)
{
    return t->form > CT_GPU_SFP && t->form != CT_GPU_NIBBLES && t->form != CT_GPU_E4M3;
}
/* Bytes of a panel of CT_PANEL_ROWS rows. */
size_t ct_gpu_panel_bytes(enum ct_type type, int cols);
/* Rows [r0, r0 + CT_PANEL_ROWS) of a weight as such a panel; spare has CT_GPU_SPARE bytes. */
void ct_gpu_pack(uint8_t *panel, const struct ct_weight *w, int r0, uint8_t *spare);
#define CT_GPU_SPARE(cols) ((size_t)CT_PANEL_ROWS * 4 * (size_t)(cols))

#endif
