/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c: the kernels for GPUs as host C on fibres, by name. */
#include "kernels.h"

#include <string.h>

#include "fibre.h"

#include "kernel/gpu/gpu.cu"

static const struct {
    const char *name;
    void (*thread)(const void *args);
} kernels[] = {
#define KERNEL_ROW(name, arguments) {#name, name##_thread},
    CT_GPU_KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
};

void (*emu_kernel(const char *name))(const void *args)
{
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return kernels[i].thread;
    return NULL;
}
