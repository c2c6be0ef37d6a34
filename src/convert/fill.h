/* SPDX-License-Identifier: Apache-2.0 */
/* fill.h: the tensors of a new file, filled by threads. */
#ifndef CT_FILL_H
#define CT_FILL_H

#include "carat_convert.h"
#include "convert/plan.h"

/* Fills the mapped files, number i at base[i], with every tensor of the plan. o: threads and progress.
 * E_NUMERIC (a value is not finite: the first of the file is named), E_CANCELLED, E_MEMORY. */
carat_status ct_fill(struct ct_conversion *plan, uint8_t *const *base, const carat_convert_options *o,
                     carat_error *err);

#endif
