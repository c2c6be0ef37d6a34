/* SPDX-License-Identifier: Apache-2.0 */
/* pocl.c: what fibre.c does, by a compiler of somebody else: kernels as OpenCL C on a device whose memory is
 * the host's, as pocl's is. So test/kernel/test_gpu.c compares what that makes of the same source. Races it
 * hides: threads of a block go from barrier to barrier one after another, in whatever order they are asked
 * for. Without such a device the program ends with 77, which counts as skipped. Nothing of OpenCL is needed
 * to build: names and numbers are those of its interface. It has no units for matrices. */
#define _POSIX_C_SOURCE 200809L
#include "fibre.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLOBAL
#include "kernel/gpu/gpu.h"

typedef struct cl_object *cl_object; /* a platform, device, context, queue, program or kernel */
enum {
    DEVICE_TYPE_CPU = 1 << 1,
    DEVICE_NAME = 0x102b,
    DEVICE_SVM_CAPABILITIES = 0x1053,
    PROGRAM_BUILD_LOG = 0x1183
};

#ifdef RELAXED /* wrong, to see that it is seen */
#define OPTIONS "-cl-fast-relaxed-math "
#else /* without it quotients and roots may be off by 2.5 units in the last place */
#define OPTIONS "-cl-fp32-correctly-rounded-divide-sqrt "
#endif

#define FUNCTIONS(F)                                                                                         \
    F(int, clGetPlatformIDs, (unsigned most, cl_object *of, unsigned *n))                                    \
    F(int, clGetDeviceIDs, (cl_object platform, uint64_t type, unsigned most, cl_object *of, unsigned *n))   \
    F(int, clGetDeviceInfo, (cl_object device, unsigned what, size_t size, void *value, size_t *used))       \
    F(cl_object, clCreateContext,                                                                            \
      (const void *with, unsigned n, const cl_object *devices, void *notify, void *user, int *err))          \
    F(cl_object, clCreateCommandQueue, (cl_object context, cl_object device, uint64_t with, int *err))       \
    F(cl_object, clCreateProgramWithSource,                                                                  \
      (cl_object context, unsigned n, const char **text, const size_t *length, int *err))                    \
    F(int, clBuildProgram,                                                                                   \
      (cl_object program, unsigned n, const cl_object *devices, const char *options, void *notify,           \
       void *user))                                                                                          \
    F(int, clGetProgramBuildInfo,                                                                            \
      (cl_object program, cl_object device, unsigned what, size_t size, void *value, size_t *used))          \
    F(cl_object, clCreateKernel, (cl_object program, const char *name, int *err))                            \
    F(int, clSetKernelArgSVMPointer, (cl_object kernel, unsigned i, const void *pointer))                    \
    F(int, clEnqueueNDRangeKernel,                                                                           \
      (cl_object queue, cl_object kernel, unsigned dimensions, const size_t *offset, const size_t *global,   \
       const size_t *local, unsigned n, const void *events, void *event))                                    \
    F(int, clFinish, (cl_object queue))

static struct {
#define MEMBER(type, name, parameters) type(*name) parameters;
    FUNCTIONS(MEMBER)
#undef MEMBER
} cl;

/* Threads stand for kernels here, and are never called. */
#define THREAD(name, arguments)                                                                              \
    void name##_thread(const void *all);                                                                     \
    void name##_planted(const void *all);                                                                    \
    void name##_thread(const void *all)                                                                      \
    {                                                                                                        \
        (void)all;                                                                                           \
        abort();                                                                                             \
    }                                                                                                        \
    void name##_planted(const void *all)                                                                     \
    {                                                                                                        \
        (void)all, (void)#name;                                                                              \
        abort();                                                                                             \
    }
CT_GPU_KERNELS(THREAD)
const bool fibre_multiplies = false;

static struct kernel {
    const char *name;
    void (*thread)(const void *args), (*planted)(const void *args);
    cl_object whole, wrong; /* the same, and without its barriers */
} kernels[] = {
#define ROW(name, arguments) {#name, name##_thread, name##_planted, NULL, NULL},
    CT_GPU_PLAIN_KERNELS(ROW)
#undef ROW
};

struct fibre fibre;
enum fibre_order fibre_order;
static cl_object queue;

static void skip(const char *why)
{
    printf("skipped: %s\n", why);
    exit(77);
}

static void need(bool good, const char *what)
{
    if (!good) {
        fprintf(stderr, "OpenCL: %s failed\n", what);
        exit(1);
    }
}

static bool find_functions(void)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    void *found;

    if (!library)
        return false;
#define TAKE(type, name, parameters)                                                                         \
    found = dlsym(library, #name);                                                                           \
    need(found, #name);                                                                                      \
    memcpy(&cl.name, &found, sizeof found);
    FUNCTIONS(TAKE)
#undef TAKE
    return true;
}

static cl_object build(cl_object context, cl_object device, const char *text)
{
    static char log[16384];
    int err = 0;
    cl_object program = cl.clCreateProgramWithSource(context, 1, &text, NULL, &err);

    need(program, "the source");
    err = cl.clBuildProgram(program, 1, &device, OPTIONS "-cl-std=CL3.0 -I " CT_KERNELS, NULL, NULL);
    if (err != 0 && cl.clGetProgramBuildInfo(program, device, PROGRAM_BUILD_LOG, sizeof log, log, NULL) == 0)
        fprintf(stderr, "%s\n", log);
    need(err == 0, "the compiler");
    return program;
}

__attribute__((constructor)) static void begin(void)
{
    cl_object platform[4], device = NULL;
    unsigned n = 0;
    int err = 0;
    char name[128] = "";

    if (!find_functions())
        skip("there is no libOpenCL.so.1 (Debian: pocl-opencl-icd)");
    if (cl.clGetPlatformIDs(4, platform, &n) != 0)
        n = 0;
    for (unsigned i = 0; i < n && i < 4 && !device; i++)
        if (cl.clGetDeviceIDs(platform[i], DEVICE_TYPE_CPU, 1, &device, NULL) != 0)
            device = NULL;
    if (!device)
        skip("OpenCL shows no processor (Debian: pocl-opencl-icd)");
    cl.clGetDeviceInfo(device, DEVICE_NAME, sizeof name, name, NULL);
    printf("OpenCL: %s\n", name);
    cl_object context = cl.clCreateContext(NULL, 1, &device, NULL, NULL, &err);
    need(context, "a context");
    queue = cl.clCreateCommandQueue(context, device, 0, &err);
    need(queue, "a queue");
    cl_object whole = build(context, device, "#include \"gpu.cu\"\n"),
              wrong =
                  build(context, device,
                        "#include \"dialect.h\"\n#undef BARRIER\n#define BARRIER()\n#include \"gpu.cu\"\n");
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        kernels[i].whole = cl.clCreateKernel(whole, kernels[i].name, &err);
        kernels[i].wrong = cl.clCreateKernel(wrong, kernels[i].name, &err);
        need(kernels[i].whole && kernels[i].wrong, kernels[i].name);
    }
}

void fibre_run(void (*thread)(const void *args), const void *args, int blocks, int rows)
{
    const size_t global[] = {(size_t)blocks * CT_GPU_THREADS, (size_t)rows}, local[] = {CT_GPU_THREADS, 1};

    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        cl_object kernel = thread == kernels[i].thread    ? kernels[i].whole
                           : thread == kernels[i].planted ? kernels[i].wrong
                                                          : NULL;
        if (!kernel)
            continue;
        need(cl.clSetKernelArgSVMPointer(kernel, 0, args) == 0, "an argument");
        need(cl.clEnqueueNDRangeKernel(queue, kernel, 2, NULL, global, local, 0, NULL, NULL) == 0 &&
                 cl.clFinish(queue) == 0,
             kernels[i].name);
        return;
    }
    need(false, "a kernel");
}
