/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: the clock of the command. */
#ifndef TERM_CLOCK_H
#define TERM_CLOCK_H

double term_seconds(void); /* monotonic */

#endif
