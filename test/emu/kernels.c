/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c: the kernels for GPUs as host C on fibres, by name; those that are wrong, where the environment
 * asks for them: EMU_PLANTED=barriers or unfused, or one of them alone, as in barriers:norm; or codes:N, by
 * which products lose a bit of the codes of form N (enum ct_gpu_form). */
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

static int wrong_form;

/* The same product, by codes that lack a bit. */
static void project_wrong(const void *args, void (*thread)(const void *args))
{
    struct ct_gpu_project a = *(const struct ct_gpu_project *)args;

    if ((int)a.type.form == wrong_form)
        a.type.mask &= a.type.mask << 1;
    thread(&a);
}

static void project_q8_wrong(const void *args)
{
    project_wrong(args, project_q8_thread);
}

static void project_eight_wrong(const void *args)
{
    project_wrong(args, project_eight_thread);
}

void (*emu_kernel(const char *name))(const void *args)
{
    const char *planted = getenv("EMU_PLANTED"), *one = planted ? strchr(planted, ':') : NULL;

    if (one && planted[0] == 'c') {
        wrong_form = atoi(one + 1);
        if (strcmp(name, "project_q8") == 0)
            return project_q8_wrong;
        if (strcmp(name, "project_eight") == 0)
            return project_eight_wrong;
        planted = NULL;
    } else if (one && strcmp(one + 1, name) != 0) {
        planted = NULL;
    }
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (strcmp(kernels[i].name, name) == 0)
            return !planted            ? kernels[i].thread
                   : planted[0] == 'u' ? kernels[i].unfused
                                       : kernels[i].no_barriers;
    return NULL;
}
