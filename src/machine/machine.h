/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h: what this machine is and what it can do at most. carat_tools.h says more. */
#ifndef CT_MACHINE_H
#define CT_MACHINE_H

#include "base/base.h"
#include "carat_tools.h"

void ct_get_host(carat_host_info *info);
/* CARAT_E_ARGUMENT, CARAT_E_MEMORY, CARAT_E_CANCELLED. */
carat_status ct_measure_limits(int threads, const char *isa, carat_progress progress, void *user,
                               carat_limits *limits, carat_error *err);

#endif
