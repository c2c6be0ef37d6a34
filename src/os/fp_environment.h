/* SPDX-License-Identifier: Apache-2.0 */
/* fp_environment.h: how floating-point numbers are rounded (NUMERICS.md section 2): to nearest even, FTZ and
 * DAZ off. */
#ifndef CT_FP_ENVIRONMENT_H
#define CT_FP_ENVIRONMENT_H

#include "base/base.h"

typedef uint64_t ct_fpenv;
ct_fpenv ct_os_fp_enter(void);
void ct_os_fp_leave(ct_fpenv saved);

#endif
