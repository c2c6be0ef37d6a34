/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h: calls of the emulated driver: how many there were of each, and which of them is to fail. */
#ifndef EMU_CALLS_H
#define EMU_CALLS_H

#include <stdbool.h>

void emu_note(const char *call);
/* How often it was called, for who loads the driver. */
int emu_count(const char *call);
/* Whether this is the call that a variable NAME:N tells of; count is the variable's. */
bool emu_is_told(const char *variable, const char *call, int *count);

#endif
