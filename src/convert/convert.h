/* SPDX-License-Identifier: Apache-2.0 */
/* convert.h: a model written into another container, or with other types. */
#ifndef CT_CONVERT_H
#define CT_CONVERT_H

#include "carat_convert.h"
#include "checkpoint/checkpoint.h"

/* What carat_convert.h says of carat_convert; options are complete. */
carat_status ct_convert(const struct carat_model *m, const char *path, const carat_convert_options *o,
                        carat_error *err);
/* As carat_model_mix has it. */
const char *ct_model_mix(const struct carat_model *m);

#endif
