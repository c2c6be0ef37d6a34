/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.h: what the emulation runs. */
#ifndef EMU_KERNELS_H
#define EMU_KERNELS_H

/* The thread of a kernel, whose arguments are those of kernel/gpu/gpu.h; NULL: there is none of that name. */
void (*emu_kernel(const char *name))(const void *args);

#endif
