/* SPDX-License-Identifier: Apache-2.0 */
/* residual.h: a model whose residual stream is a number times as large, and whose logits stay: for hardware
 * that computes in f16, where a stream beyond 65504 is infinite. */
#ifndef CT_RESIDUAL_H
#define CT_RESIDUAL_H

#include "model/config.h"

/* The factor of the weight of a slot of ct_weights_walk. */
float ct_residual_factor(const struct ct_config *c, const char *slot, float scale);
/* E_ARGUMENT: it is no such number; E_UNSUPPORTED: the model cannot have one. */
carat_status ct_residual_check(const struct ct_config *c, float scale, const char *path, carat_error *err);

#endif
