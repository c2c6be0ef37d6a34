/* SPDX-License-Identifier: Apache-2.0 */
/* device.h: what is asked about a device before an engine is on it. What an engine does when its device fails
 * is engine/leave_device.c's. */
#ifndef CT_DEVICE_H
#define CT_DEVICE_H

#include "engine/engine.h"

/* E_IO: the device of e does not give the CPU's bits; whatever else an engine on it ends with. */
carat_status ct_check_device(const carat_engine *e, const carat_engine_options *o, carat_error *err);
/* Times some passes on the CPU and on a GPU, in at most two seconds, where nothing is known; e has no
 * sessions. */
void ct_measure_sides(carat_engine *e);

#endif
