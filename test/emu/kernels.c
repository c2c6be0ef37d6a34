/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c: the kernels for GPUs as host C on fibres, by name; those that are wrong, where the environment
 * asks for them: EMU_PLANTED=barriers or unfused, or one of them alone, as in barriers:norm. */
#define _POSIX_C_SOURCE 200809L
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

#include "fibre.h"

#include "kernel/gpu/gpu.cu"

#define PLANTED(name, arguments) void name##_planted(const void *args), name##_unfused(const void *args);
CT_GPU_KERNELS(PLANTED)

static const struct {
    const char *name;
    void (*thread)(const void *args), (*no_barriers)(const void *args), (*unfused)(const void *args);
} kernels[] = {
#define KERNEL_ROW(name, arguments) {#name, name##_thread, name##_planted, name##_unfused},
    CT_GPU_KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
};

void (*emu_kernel(const char *name))(const void *args)
{
    const char *planted = getenv("EMU_PLANTED"), *one = planted ? strchr(planted, ':') : NULL;

    if (one && strcmp(one + 1, name) != 0)
        planted = NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return !planted            ? kernels[i].thread
                   : planted[0] == 'u' ? kernels[i].unfused
                                       : kernels[i].no_barriers;
    return NULL;
}
