/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: time and random bits. */
#ifndef CT_CLOCK_H
#define CT_CLOCK_H

#include "base/base.h"

/* Monotonic seconds. */
double ct_os_seconds(void);
/* 64 bits from the system's random source. */
uint64_t ct_os_random(void);
void ct_os_sleep(double seconds);

#endif
