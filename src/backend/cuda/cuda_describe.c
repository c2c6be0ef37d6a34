/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_describe.c: a device as people and programs are told of it: its name among those of options, its
 * memory, and how fast that is. */
#include "backend/cuda/cuda_backend.h"
#include "base/arguments.h"

#include <stdio.h>

#include "os/clock.h"

carat_status ct_cuda_number(const char *name, int *number, carat_error *err)
{
    int end = 0;

    *number = -1;
    if (strcmp(name, "cuda") == 0 ||
        (sscanf(name, "cuda:%3d%n", number, &end) == 1 && !name[end] && *number >= 0))
        return CARAT_OK;
    return ct_fail(err, CARAT_E_ARGUMENT, "device is \"%s\", expected cpu, cuda, cuda:N or auto", name);
}

const char *carat_gpu_kernels(void)
{
    static _Thread_local char text[32];

    if (!*ct_cuda_target)
        return NULL;
    snprintf(text, sizeof text, "PTX for %s", ct_cuda_target);
    return text;
}

/* Bytes a second that the device reads and writes while it copies: of the fastest round, since whatever else
 * runs there only takes away. More bytes than a cache holds. 0: not known. */
static double copy_rate(const struct ct_cuda_driver *d, size_t free_bytes)
{
    const size_t most = (size_t)256 << 20, bytes = CT_MIN(most, free_bytes / 4);
    const double enough = 0.1; /* seconds */
    const int round = 4;       /* copies */
    ct_cu_object stream;
    ct_cu_address at;
    double best = 0;
    bool good = true;

    if (bytes == 0 || d->cuStreamCreate(&stream, 1) != 0)
        return 0;
    if (d->cuMemAlloc(&at, 2 * bytes) == 0) {
        for (const double begun = ct_os_seconds(); good && ct_os_seconds() - begun < enough;) {
            const double start = ct_os_seconds();
            for (int i = 0; i < round; i++)
                good = good && d->cuMemcpyDtoDAsync(at + bytes, at, bytes, stream) == 0;
            good = good && d->cuStreamSynchronize(stream) == 0;
            best = CT_MAX(best, 2.0 * round * (double)bytes / CT_MAX(ct_os_seconds() - start, 1e-9));
        }
        d->cuMemFree(at);
    }
    d->cuStreamDestroy(stream);
    return good ? best : 0;
}

/* Figures stay unknown where asking for them fails. */
static void look_at_memory(carat_device *to, const struct ct_cuda_driver *d, ct_cu_device device,
                           bool measure)
{
    ct_cu_object context, mine;

    if (d->cuDevicePrimaryCtxRetain(&context, device) != 0)
        return;
    if (d->cuCtxPushCurrent(context) == 0) {
        if (d->cuMemGetInfo(&to->free_bytes, &to->total_bytes) != 0)
            to->free_bytes = to->total_bytes = 0;
        if (measure)
            to->copied = copy_rate(d, to->free_bytes);
        d->cuCtxPopCurrent(&mine);
    }
    d->cuDevicePrimaryCtxRelease(device);
}

carat_status ct_cuda_describe(const char *name, bool measure, carat_device *device, carat_error *err)
{
    struct ct_cuda_driver d;
    struct ct_cuda_device found = {.name = ""};
    carat_error why = {CARAT_OK, ""};
    int number;

    CT_TRY(ct_cuda_number(name, &number, err));
    carat_status status = ct_cuda_open(&d, err);
    const bool chosen = !status && ct_cuda_choose(&found, &d, number, &why) == CARAT_OK;
    if (!status && !chosen && (number < 0 || !*found.name))
        status = ct_fail(err, why.code, "%s", why.message);
    if (!status) {
        *device = (carat_device){.number = found.number,
                                 .compute_major = found.major,
                                 .compute_minor = found.minor,
                                 .usable = chosen};
        snprintf(device->name, sizeof device->name, "%s", found.name);
        snprintf(device->why, sizeof device->why, "%.*s", (int)sizeof device->why - 1, why.message);
        if (d.cuDriverGetVersion(&device->driver) != 0)
            device->driver = 0;
        look_at_memory(device, &d, found.device, measure && chosen);
    }
    ct_cuda_close(&d);
    return status;
}

carat_status carat_get_device(const char *name, int measure, carat_device *device, carat_error *err)
{
    carat_device full;

    CT_GIVEN(name, err);
    CT_TRY(ct_check_struct(device, sizeof full, "carat_device", err));
    CT_TRY(ct_cuda_describe(name, measure != 0, &full, err));
    return ct_give_struct(device, &full, sizeof full, "carat_device", err);
}
