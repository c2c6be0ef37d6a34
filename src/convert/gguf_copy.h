/* SPDX-License-Identifier: Apache-2.0 */
/* gguf_copy.h: a GGUF file out of another one. */
#ifndef CT_GGUF_COPY_H
#define CT_GGUF_COPY_H

#include "convert/plan.h"

/* Whether the source is such a file, and its tensors and keys go into the new one as they are, but for the
 * types that a recipe changes. */
bool ct_gguf_copies(const struct ct_conversion *v);
/* Plans all of its tensors, also those that no model uses. E_UNSUPPORTED, E_MEMORY. */
carat_status ct_gguf_copy_tensors(struct ct_conversion *v);
/* In place of what keys say about tensors, in a head that has all, what the file says whose tensors are kept.
 * E_FORMAT. */
carat_status ct_gguf_keep_keys(struct ct_conversion *v, carat_error *err);
/* Its keys in their order, but for those of parts, and those about types where these change. E_MEMORY. */
carat_status ct_gguf_copy_keys(struct ct_conversion *v, carat_error *err);

#endif
