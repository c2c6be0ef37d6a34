/* SPDX-License-Identifier: Apache-2.0 */
/* carat_device.h: libcarat, devices: which GPUs there are, and whether an engine takes them. carat.h runs a
 * model on the one that carat_engine_options.device names, and has the rules on threads, errors and sizes,
 * which hold here too.
 *
 * An engine whose device is "auto" has all on the CPU and on "cuda", and computes each pass where that takes
 * less time (carat_costs). Where there is no memory for both it has all on the GPU; where this fails, for
 * what reason ever, on the CPU. The log of its head (carat_head_options) gets the reason as a line. No number
 * that it computes depends on it. */
#ifndef CARAT_DEVICE_H
#define CARAT_DEVICE_H

#include "carat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names the kernels for GPUs in this build, as "PTX for sm_61"; NULL: it was built without clang, and has
 * none. */
CARAT_API const char *carat_gpu_kernels(void);

/* A GPU that NVIDIA's driver shows. CUDA_VISIBLE_DEVICES, which the driver obeys, hides and reorders them. */
typedef struct carat_device {
    size_t size;
    int number; /* as in "cuda:0" */
    int compute_major, compute_minor;
    size_t free_bytes, total_bytes; /* of its memory; 0: not known */
    double copied; /* bytes a second, read and written, while it copies its memory; 0: not measured */
    int usable;    /* 1: an engine takes it */
    char name[96];
    char why[192]; /* it is not usable; else "" */
    int driver;    /* version of the driver: 12040 is that of CUDA 12.4 */
} carat_device;
CARAT_DEFAULT(carat_device)
/* Describes a device as carat_engine_options names it: "cuda" is the first that is usable, "cuda:N" that one.
 * measure != 0: times copies in its memory, too, for about a tenth of a second. Any thread. CARAT_E_IO (there
 * is no driver, it is too old, or shows no GPU), CARAT_E_ARGUMENT (no such device). */
CARAT_API carat_status carat_get_device(const char *name, int measure, carat_device *device,
                                        carat_error *err);

#ifdef __cplusplus
}
#endif
#endif
