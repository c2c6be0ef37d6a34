/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_driver.c: finds the driver and a device that is new enough, and says in one line why there is none.
 *
 * The driver alone is asked, a library that may be there or not: libcuda.so.1 by its soname, functions
 * through cuGetProcAddress. Nothing of NVIDIA's is needed to build. */
#include "backend/cuda/cuda_backend.h"

#include <stdio.h>

#include "os/library.h"

#define SONAME "libcuda.so.1"

enum {
    OLDEST_DRIVER = 11030, /* the first with cuGetProcAddress */
    OLDEST_DEVICE = 61,    /* compute capability 6.1: the first with products of four bytes */
};

const char *ct_cuda_result(const struct ct_cuda_driver *d, ct_cu_result result)
{
    const char *name = NULL;

    return d->cuGetErrorName(result, &name) == 0 && name ? name : "an unknown error";
}

void ct_cuda_close(struct ct_cuda_driver *d)
{
    ct_os_library_close(d->library);
    d->library = NULL;
}

/* The functions as the oldest driver has them; a newer one gives the same. */
static const char *take_functions(struct ct_cuda_driver *d)
{
    typedef ct_cu_result get_address(const char *name, void **function, int version, uint64_t flags);
    get_address *get = (get_address *)ct_os_library_function(d->library, "cuGetProcAddress");

    if (!get)
        return "cuGetProcAddress";
#define TAKE(name, parameters)                                                                               \
    {                                                                                                        \
        void *found = NULL;                                                                                  \
        if (get(#name, &found, OLDEST_DRIVER, 0) != 0 || !found)                                             \
            return #name;                                                                                    \
        memcpy(&d->name, &found, sizeof found);                                                              \
    }
    CT_CUDA_FUNCTIONS(TAKE)
#undef TAKE
    return NULL;
}

carat_status ct_cuda_open(struct ct_cuda_driver *d, carat_error *err)
{
    int version = 0;

    *d = (struct ct_cuda_driver){.library = ct_os_library_open(SONAME)};
    if (!d->library)
        return ct_fail(err, CARAT_E_IO, "there is no NVIDIA driver: %s was not found", SONAME);
    const char *missing = take_functions(d);
    if (missing)
        return ct_fail(err, CARAT_E_IO, "the NVIDIA driver is too old: it has no %s; one for CUDA %d.%d has",
                       missing, OLDEST_DRIVER / 1000, OLDEST_DRIVER % 1000 / 10);
    if (d->cuDriverGetVersion(&version) == 0 && version < OLDEST_DRIVER)
        return ct_fail(err, CARAT_E_IO, "the NVIDIA driver is too old: it is for CUDA %d.%d, expected %d.%d",
                       version / 1000, version % 1000 / 10, OLDEST_DRIVER / 1000, OLDEST_DRIVER % 1000 / 10);
    ct_cu_result result = d->cuInit(0);
    if (result == CT_CU_NO_DEVICE)
        return ct_fail(err, CARAT_E_IO, "the NVIDIA driver shows no GPU");
    return result == 0
               ? CARAT_OK
               : ct_fail(err, CARAT_E_IO, "the NVIDIA driver does not start: %s", ct_cuda_result(d, result));
}

static bool look(struct ct_cuda_device *found, const struct ct_cuda_driver *d, int number)
{
    *found = (struct ct_cuda_device){.number = number};
    return d->cuDeviceGet(&found->device, number) == 0 &&
           d->cuDeviceGetName(found->name, (int)sizeof found->name, found->device) == 0 &&
           d->cuDeviceGetAttribute(&found->major, CT_CU_MAJOR, found->device) == 0 &&
           d->cuDeviceGetAttribute(&found->minor, CT_CU_MINOR, found->device) == 0;
}

carat_status ct_cuda_choose(struct ct_cuda_device *device, const struct ct_cuda_driver *d, int number,
                            carat_error *err)
{
    int n = 0;

    if (d->cuDeviceGetCount(&n) != 0 || n == 0)
        return ct_fail(err, CARAT_E_IO, "the NVIDIA driver shows no GPU");
    if (number >= n)
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "device is cuda:%d, and the driver shows %d GPU%s, from cuda:0 on", number, n,
                       n > 1 ? "s" : "");
    for (int i = CT_MAX(number, 0); i < (number < 0 ? n : number + 1); i++) {
        if (!look(device, d, i))
            return ct_fail(err, CARAT_E_IO, "the NVIDIA driver says nothing about cuda:%d", i);
        if (device->major * 10 + device->minor >= OLDEST_DEVICE)
            return CARAT_OK;
    }
    return ct_fail(
        err, CARAT_E_IO, "the GPU cuda:%d, %s, has compute capability %d.%d, expected at least %d.%d",
        device->number, device->name, device->major, device->minor, OLDEST_DEVICE / 10, OLDEST_DEVICE % 10);
}
