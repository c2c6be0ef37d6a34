/* SPDX-License-Identifier: Apache-2.0 */
/* read_back.h: what was written, read once more before it gets its name. */
#ifndef CT_READ_BACK_H
#define CT_READ_BACK_H

#include "convert/plan.h"

/* That readers take from what was written at part what the model is, also where a family's own rule stands
 * for a key that the container does not have. E_UNSUPPORTED, and what opening fails with. */
carat_status ct_read_back(struct ct_conversion *v, const char *part, carat_error *err);

#endif
