/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_driver.h: what is used of NVIDIA's driver, which is a library that may be there or not. Names and
 * numbers are those of its interface; nothing of its headers is needed. */
#ifndef CT_CUDA_DRIVER_H
#define CT_CUDA_DRIVER_H

#include "base/base.h"

typedef int ct_cu_result; /* 0: it went well */
typedef int ct_cu_device;
typedef uint64_t ct_cu_address;
typedef struct ct_cu_object *ct_cu_object; /* a context, module, function, stream, event or graph */

enum { CT_CU_OUT_OF_MEMORY = 2, CT_CU_NO_DEVICE = 100 };
enum { CT_CU_MAJOR = 75, CT_CU_MINOR = 76 }; /* attributes: the compute capability */
enum { CT_CU_UNTIMED = 2 };                  /* an event that is waited for alone */

#define CT_CUDA_FUNCTIONS(F)                                                                                 \
    F(cuInit, (unsigned flags))                                                                              \
    F(cuDriverGetVersion, (int *version))                                                                    \
    F(cuGetErrorName, (ct_cu_result result, const char **name))                                              \
    F(cuDeviceGetCount, (int *n))                                                                            \
    F(cuDeviceGet, (ct_cu_device * device, int number))                                                      \
    F(cuDeviceGetName, (char *name, int size, ct_cu_device device))                                          \
    F(cuDeviceGetAttribute, (int *value, int attribute, ct_cu_device device))                                \
    F(cuDevicePrimaryCtxRetain, (ct_cu_object * context, ct_cu_device device))                               \
    F(cuDevicePrimaryCtxRelease, (ct_cu_device device))                                                      \
    F(cuCtxPushCurrent, (ct_cu_object context))                                                              \
    F(cuCtxPopCurrent, (ct_cu_object * context))                                                             \
    F(cuMemGetInfo, (size_t * free, size_t * total))                                                         \
    F(cuMemAlloc, (ct_cu_address * address, size_t bytes))                                                   \
    F(cuMemFree, (ct_cu_address address))                                                                    \
    F(cuMemHostAlloc, (void **p, size_t bytes, unsigned flags))                                              \
    F(cuMemFreeHost, (void *p))                                                                              \
    F(cuMemsetD8Async, (ct_cu_address to, unsigned char value, size_t bytes, ct_cu_object stream))           \
    F(cuMemcpyHtoDAsync, (ct_cu_address to, const void *from, size_t bytes, ct_cu_object stream))            \
    F(cuMemcpyDtoHAsync, (void *to, ct_cu_address from, size_t bytes, ct_cu_object stream))                  \
    F(cuMemcpyDtoDAsync, (ct_cu_address to, ct_cu_address from, size_t bytes, ct_cu_object stream))          \
    F(cuStreamCreate, (ct_cu_object * stream, unsigned flags))                                               \
    F(cuStreamDestroy, (ct_cu_object stream))                                                                \
    F(cuStreamSynchronize, (ct_cu_object stream))                                                            \
    F(cuEventCreate, (ct_cu_object * event, unsigned flags))                                                 \
    F(cuEventRecord, (ct_cu_object event, ct_cu_object stream))                                              \
    F(cuEventSynchronize, (ct_cu_object event))                                                              \
    F(cuEventDestroy, (ct_cu_object event))                                                                  \
    F(cuModuleLoadData, (ct_cu_object * module, const void *image))                                          \
    F(cuModuleUnload, (ct_cu_object module))                                                                 \
    F(cuModuleGetFunction, (ct_cu_object * function, ct_cu_object module, const char *name))                 \
    F(cuLaunchKernel, (ct_cu_object function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,       \
                       unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,          \
                       ct_cu_object stream, void **arguments, void **extra))                                 \
    F(cuStreamBeginCapture, (ct_cu_object stream, int mode))                                                 \
    F(cuStreamEndCapture, (ct_cu_object stream, ct_cu_object * graph))                                       \
    F(cuGraphInstantiate,                                                                                    \
      (ct_cu_object * launches, ct_cu_object graph, ct_cu_object * failed, char *log, size_t size))          \
    F(cuGraphDestroy, (ct_cu_object graph))                                                                  \
    F(cuGraphLaunch, (ct_cu_object launches, ct_cu_object stream))                                           \
    F(cuGraphExecDestroy, (ct_cu_object launches))

struct ct_cuda_driver {
#define CT_CUDA_MEMBER(name, parameters) ct_cu_result(*name) parameters;
    CT_CUDA_FUNCTIONS(CT_CUDA_MEMBER)
#undef CT_CUDA_MEMBER
    void *library;
};

/* A device that kernels run on. */
struct ct_cuda_device {
    ct_cu_device device;
    int number; /* among those that the driver shows */
    int major, minor;
    char name[96];
};

/* Opens the driver. E_IO: there is none, or it is too old, or not a usable one. */
carat_status ct_cuda_open(struct ct_cuda_driver *d, carat_error *err);
void ct_cuda_close(struct ct_cuda_driver *d);
/* Chooses device `number`, or for -1 the first that is new enough. E_IO, E_ARGUMENT (there are fewer). */
carat_status ct_cuda_choose(struct ct_cuda_device *device, const struct ct_cuda_driver *d, int number,
                            carat_error *err);
/* The name that the driver has for a result. */
const char *ct_cuda_result(const struct ct_cuda_driver *d, ct_cu_result result);

#endif
