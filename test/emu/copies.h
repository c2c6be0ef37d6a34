/* SPDX-License-Identifier: Apache-2.0 */
/* copies.h: copies of the emulated driver that are on their way, to and from pinned memory of the host. */
#ifndef EMU_COPIES_H
#define EMU_COPIES_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the device come to memory of the host when the copies are waited for. */
void emu_arrive(void *to, const void *bytes, size_t n);
/* Bytes of the host that have to stay as they are until then. */
void emu_depart(const void *from, size_t n);
/* Waits for all, or forgets them. False: some of the host were changed before. */
bool emu_end_copies(bool wait);
/* Marks those that there are; waits for these alone, if any are left. */
void emu_mark_copies(void);
bool emu_end_marked(void);

#endif
