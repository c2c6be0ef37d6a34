/* SPDX-License-Identifier: Apache-2.0 */
/* libcuda.c: an emulated libcuda.so.1 with what the backend asks of NVIDIA's driver: memory of the device is
 * memory of the host that copies and sets alone may name; kernels run on fibres, and only those that the
 * module has an entry of. Whoever loads it says by the environment what is wrong with it:
 *   EMU_DRIVER=11020        the version of the driver
 *   EMU_DEVICES=5.2,9.0     compute capabilities of the devices; "" for none
 *   CUDA_VISIBLE_DEVICES=1  those of them that are shown, in this order, as the real one obeys it
 *   EMU_MEMORY=BYTES        of each device
 *   EMU_ORDER=0..2          in which order threads take turns (fibre.h)
 *   EMU_UNIT=whole          how units for matrices sum floats (unit.c)
 *   EMU_FAIL=NAME:N         the N-th call of a function fails
 *   EMU_PLANTED=WHAT        kernels are wrong (kernels.c)
 *   EMU_LOST=NAME:N         from that call on every call fails, as after a lost context
 * emu_copied counts the bytes that came to the host, emu_launches and emu_graphs what was launched, for who
 * asks what a token costs.
 * What the real one checks and a test would miss is checked: a context is current, addresses are of
 * allocations that live and wide enough, streams and modules are there, and gone with the context. A breach
 * ends the program.
 *
 * Each kernel is compared with ref (test/kernel/test_gpu*.c), those of tensor.cu with exact sums, whole
 * models with the committed hashes (test/engine/test_cuda.c), answers with the CPU's (test_cuda_draws.c),
 * also while passes run ahead (test_cuda_ahead.c). tools/gpu_check.sh is for a machine with a real device:
 * its compiler, its memory between warps and its speed are not seen here. */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "copies.h"
#include "fibre.h"
#include "kernels.h"
#include "unit.h"

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct object *CUobject;
enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_INITIALIZED = 3,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    NOT_FOUND = 500,
    ILLEGAL_ADDRESS = 700,
    LAUNCH_FAILED = 719
};

enum { MOST_DEVICES = 4, MOST_ALLOCATIONS = 64, MOST_OBJECTS = 64, MOST_KERNELS = 256, ALIGNMENT = 512 };

/* What handles point to. */
struct object {
    enum { NOTHING, CONTEXT, STREAM, EVENT, MODULE, FUNCTION, GRAPH, LAUNCHES } kind;
    int device;
    char *image;                      /* of a module: its own */
    void (*thread)(const void *args); /* of a function */
    size_t bytes;                     /* of its arguments, as the module says */
    struct node *first;               /* of a graph, and of one that a stream is captured into */
    bool captures;                    /* a stream: what it is asked for is kept, not done */
};
/* A launch in a graph, with its arguments as they were when it was captured. */
struct node {
    struct node *next;
    void (*thread)(const void *args);
    unsigned blocks, rows;
    uint8_t arguments[];
};

static struct {
    pthread_mutex_t lock;
    bool started, lost;
    int devices, capability[MOST_DEVICES];
    struct object context[MOST_DEVICES], object[MOST_OBJECTS], function[MOST_KERNELS];
    int retained[MOST_DEVICES], functions;
    struct allocation {
        uint8_t *at;
        size_t bytes;
        bool pinned; /* memory of the host, in which copies arrive when the stream is waited for */
    } allocation[MOST_ALLOCATIONS];
    size_t used, memory;
} emu = {.lock = PTHREAD_MUTEX_INITIALIZER};

extern size_t emu_copied, emu_launches, emu_graphs;
size_t emu_copied, emu_launches, emu_graphs;

static _Thread_local CUobject current[8];
static _Thread_local int depth;

static void breach(const char *call, const char *what)
{
    fprintf(stderr, "libcuda: %s: %s\n", call, what);
    abort();
}

/* The result of a call before it does anything. */
static CUresult begin(const char *call, bool needs_context)
{
    static int failing, losing;

    emu_note(call);
    if (emu_is_told("EMU_LOST", call, &losing))
        emu.lost = true;
    if (emu.lost)
        return ILLEGAL_ADDRESS;
    if (emu_is_told("EMU_FAIL", call, &failing))
        return LAUNCH_FAILED;
    if (!emu.started)
        return NOT_INITIALIZED;
    if (needs_context && depth == 0)
        breach(call, "no context is current");
    return SUCCESS;
}
#define BEGIN(needs_context)                                                                                 \
    do {                                                                                                     \
        CUresult result_ = begin(__func__, needs_context);                                                   \
        if (result_ != SUCCESS)                                                                              \
            return result_;                                                                                  \
    } while (0)

/* ---- the driver and its devices ---- */

CUresult cuInit(unsigned flags)
{
    const char *devices = getenv("EMU_DEVICES"), *memory = getenv("EMU_MEMORY");
    const char *visible = getenv("CUDA_VISIBLE_DEVICES");
    int all[MOST_DEVICES], n = 0;
    char *end;

    if (flags != 0)
        breach(__func__, "flags");
    emu.started = true;
    BEGIN(false);
    emu.memory = memory ? strtoull(memory, NULL, 10) : (size_t)1 << 30;
    emu.devices = 0;
    for (const char *at = devices ? devices : "9.0"; *at && n < MOST_DEVICES; at = end + (*end == ',')) {
        int major = (int)strtol(at, &end, 10);
        all[n++] = major * 10 + (int)strtol(end + 1, &end, 10);
    }
    for (int i = 0; i < n && !visible; i++)
        emu.capability[emu.devices++] = all[i];
    for (const char *at = visible; at && *at && emu.devices < n; at = end + (*end == ',')) {
        long i = strtol(at, &end, 10);
        if (end == at || i < 0 || i >= n) /* the first that there is not ends the list */
            break;
        emu.capability[emu.devices++] = all[i];
    }
    return emu.devices ? SUCCESS : NO_DEVICE;
}

CUresult cuDriverGetVersion(int *version)
{
    const char *told = getenv("EMU_DRIVER");

    *version = told ? atoi(told) : 12040;
    return SUCCESS;
}

CUresult cuGetErrorName(CUresult result, const char **name)
{
    static const struct {
        CUresult result;
        const char *name;
    } names[] = {{INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
                 {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
                 {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
                 {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
                 {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
                 {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"},
                 {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
                 {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                 {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"}};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].result == result) {
            *name = names[i].name;
            return SUCCESS;
        }
    return INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *n)
{
    BEGIN(false);
    *n = emu.devices;
    return SUCCESS;
}

CUresult cuDeviceGet(CUdevice *device, int number)
{
    BEGIN(false);
    *device = number;
    return number >= 0 && number < emu.devices ? SUCCESS : INVALID_DEVICE;
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
    BEGIN(false);
    snprintf(name, (size_t)size, "emulated %d", device);
    return SUCCESS;
}

CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    BEGIN(false);
    if (attribute != 75 && attribute != 76)
        return INVALID_VALUE;
    *value = attribute == 75 ? emu.capability[device] / 10 : emu.capability[device] % 10;
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUobject *context, CUdevice device)
{
    BEGIN(false);
    emu.context[device] = (struct object){.kind = CONTEXT, .device = device};
    emu.retained[device]++;
    *context = &emu.context[device];
    return SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    BEGIN(false);
    if (--emu.retained[device] < 0)
        breach(__func__, "a context that nobody retains");
    if (emu.retained[device] > 0)
        return SUCCESS;
    if (emu.used > 0 && !getenv("EMU_FAIL"))
        breach(__func__, "memory of the context that nobody gave back");
    for (int i = 0; i < MOST_OBJECTS; i++)
        if (emu.object[i].kind != NOTHING && !getenv("EMU_FAIL"))
            breach(__func__, "a stream or a module of the context that nobody gave back");
    return SUCCESS;
}

CUresult cuCtxPushCurrent_v2(CUobject context)
{
    BEGIN(false);
    if (context->kind != CONTEXT || !emu.retained[context->device] || depth == 8)
        breach(__func__, "not a context");
    current[depth++] = context;
    return SUCCESS;
}

CUresult cuCtxPopCurrent_v2(CUobject *context)
{
    BEGIN(true);
    *context = current[--depth];
    return SUCCESS;
}

/* ---- memory ---- */

/* The allocation that an address lies in. */
static struct allocation *allocation_of(const void *p)
{
    for (struct allocation *a = emu.allocation; a < emu.allocation + MOST_ALLOCATIONS; a++)
        if (a->at && (const uint8_t *)p >= a->at && (const uint8_t *)p < a->at + a->bytes)
            return a;
    return NULL;
}

/* Bytes of the device. */
static uint8_t *place(const char *call, CUdeviceptr address, size_t bytes)
{
    uint8_t *p = (uint8_t *)(uintptr_t)address;
    const struct allocation *a = allocation_of(p);

    if (!a || a->pinned || p + bytes > a->at + a->bytes)
        breach(call, "bytes that are no allocation of the device");
    return p;
}

/* Memory of the host. */
static void not_of_device(const char *call, const void *p)
{
    const struct allocation *a = allocation_of(p);

    if (a && !a->pinned)
        breach(call, "an address of the device where one of the host belongs");
}

static void is_stream(const char *call, CUobject stream)
{
    if (!stream || stream->kind != STREAM)
        breach(call, "not a stream");
}

/* One that does what it is asked for; from memory of the host nothing can be captured. */
static void is_doing(const char *call, CUobject stream)
{
    is_stream(call, stream);
    if (stream->captures)
        breach(call, "while its stream is captured");
}

CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    BEGIN(true);
    *free_bytes = emu.memory - emu.used;
    *total = emu.memory;
    return SUCCESS;
}

static CUresult allocate(void **p, size_t bytes, bool pinned)
{
    int i = 0;

    if (bytes == 0)
        return INVALID_VALUE;
    while (i < MOST_ALLOCATIONS && emu.allocation[i].at)
        i++;
    size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *p = i < MOST_ALLOCATIONS && bytes <= emu.memory - emu.used ? aligned_alloc(ALIGNMENT, whole) : NULL;
    if (!*p)
        return OUT_OF_MEMORY;
    memset(*p, 0xa5, whole); /* nothing that a kernel could take for zeros */
    emu.allocation[i] = (struct allocation){*p, bytes, pinned};
    emu.used += bytes;
    return SUCCESS;
}

static CUresult give_back(const char *call, const void *p, bool pinned)
{
    struct allocation *a = allocation_of(p);

    if (!a || a->at != p || a->pinned != pinned)
        breach(call, "not an allocation");
    free(a->at);
    a->at = NULL;
    emu.used -= a->bytes;
    return SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
    void *p = NULL;

    BEGIN(true);
    CUresult result = allocate(&p, bytes, false);
    *address = (CUdeviceptr)(uintptr_t)p; /* fibres use it as it is */
    return result;
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
    BEGIN(true);
    return give_back(__func__, (const void *)(uintptr_t)address, false);
}

CUresult cuMemHostAlloc(void **p, size_t bytes, unsigned flags)
{
    BEGIN(true);
    return flags ? INVALID_VALUE : allocate(p, bytes, true);
}

CUresult cuMemFreeHost(void *p)
{
    BEGIN(true);
    emu_end_copies(false);
    return give_back(__func__, p, true);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUobject stream)
{
    BEGIN(true);
    is_doing(__func__, stream);
    memset(place(__func__, to, bytes), value, bytes);
    return SUCCESS;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUobject stream)
{
    BEGIN(true);
    is_doing(__func__, stream);
    not_of_device(__func__, from);
    memcpy(place(__func__, to, bytes), from, bytes);
    if (allocation_of(from))
        emu_depart(from, bytes);
    return SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUobject stream)
{
    BEGIN(true);
    is_doing(__func__, stream);
    not_of_device(__func__, to);
    const uint8_t *p = place(__func__, from, bytes);
    emu_copied += bytes;
    if (allocation_of(to))
        emu_arrive(to, p, bytes);
    else
        memcpy(to, p, bytes);
    return SUCCESS;
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUobject stream)
{
    BEGIN(true);
    is_doing(__func__, stream);
    memcpy(place(__func__, to, bytes), place(__func__, from, bytes), bytes);
    return SUCCESS;
}

/* A stream, an event, a module or a graph. */
static CUresult make(CUobject *object, struct object as)
{
    int i = 0;

    while (i < MOST_OBJECTS && emu.object[i].kind != NOTHING)
        i++;
    if (i == MOST_OBJECTS)
        return OUT_OF_MEMORY;
    emu.object[i] = as;
    *object = &emu.object[i];
    return SUCCESS;
}

/* ---- streams, which are done at once ---- */

CUresult cuStreamCreate(CUobject *stream, unsigned flags)
{
    BEGIN(true);
    (void)flags;
    return make(stream, (struct object){.kind = STREAM});
}

CUresult cuStreamDestroy_v2(CUobject stream)
{
    BEGIN(true);
    is_doing(__func__, stream);
    stream->kind = NOTHING;
    return SUCCESS;
}

CUresult cuStreamSynchronize(CUobject stream)
{
    BEGIN(true);
    is_doing(__func__, stream);
    if (!emu_end_copies(true))
        breach(__func__, "memory of the host has changed before it was copied");
    return SUCCESS;
}

static void is_kind(const char *call, CUobject object, int kind)
{
    if (!object || (int)object->kind != kind)
        breach(call, "not what it is taken for");
}

CUresult cuEventCreate(CUobject *event, unsigned flags)
{
    BEGIN(true);
    return flags == 2 ? make(event, (struct object){.kind = EVENT}) : INVALID_VALUE;
}

CUresult cuEventDestroy_v2(CUobject event)
{
    BEGIN(true);
    is_kind(__func__, event, EVENT);
    event->kind = NOTHING;
    return SUCCESS;
}

CUresult cuEventRecord(CUobject event, CUobject stream)
{
    BEGIN(true);
    is_kind(__func__, event, EVENT);
    is_doing(__func__, stream);
    emu_mark_copies();
    return SUCCESS;
}

/* Of one event there is no more than one record at a time. */
CUresult cuEventSynchronize(CUobject event)
{
    BEGIN(true);
    is_kind(__func__, event, EVENT);
    if (!emu_end_marked())
        breach(__func__, "memory of the host has changed before it was copied");
    return SUCCESS;
}

/* ---- kernels ---- */

/* Only text of the kind that the real one compiles, and not for later devices. */
CUresult cuModuleLoadData(CUobject *module, const void *image)
{
    BEGIN(true);
    const char *version = strstr(image, ".version ");
    const char *target = version ? strstr(version, ".target sm_") : NULL;
    if (!target || !strstr(target, ".address_size 64") ||
        atoi(target + strlen(".target sm_")) > emu.capability[current[depth - 1]->device])
        return INVALID_IMAGE;
    return make(module, (struct object){.kind = MODULE, .image = strdup(image)});
}

CUresult cuModuleUnload(CUobject module)
{
    BEGIN(true);
    if (module->kind != MODULE)
        breach(__func__, "not a module");
    free(module->image);
    module->kind = NOTHING;
    return SUCCESS;
}

/* Those that the text has an entry of. */
CUresult cuModuleGetFunction(CUobject *function, CUobject module, const char *name)
{
    char entry[64];

    BEGIN(true);
    snprintf(entry, sizeof entry, ".entry %s(", name);
    if (!strstr(module->image, entry) || !emu_kernel(name))
        return NOT_FOUND;
    struct object *f = &emu.function[emu.functions++ % MOST_KERNELS];
    const char *size = strchr(strstr(module->image, entry) + strlen(entry), '[');
    *f = (struct object){
        .kind = FUNCTION, .thread = emu_kernel(name), .bytes = size ? strtoul(size + 1, NULL, 10) : 0};
    *function = f;
    return SUCCESS;
}

static void run(void (*thread)(const void *args), const void *arguments, unsigned blocks, unsigned rows)
{
    const char *order = getenv("EMU_ORDER");

    pthread_mutex_lock(&emu.lock);
    fibre_order = order ? (enum fibre_order)(atoi(order) % FIBRE_ORDERS) : FIBRE_UP;
    unit = unit_named(getenv("EMU_UNIT"));
    fibre_run(thread, arguments, (int)blocks, (int)rows);
    pthread_mutex_unlock(&emu.lock);
}

static void keep(CUobject stream, CUobject function, const void *arguments, unsigned blocks, unsigned rows)
{
    struct node **last = &stream->first, *n = malloc(sizeof *n + function->bytes);

    if (!n)
        abort();
    while (*last)
        last = &(*last)->next;
    *n = (struct node){.thread = function->thread, .blocks = blocks, .rows = rows};
    memcpy(n->arguments, arguments, function->bytes);
    *last = n;
}

CUresult cuLaunchKernel(CUobject function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,
                        unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,
                        CUobject stream, void **arguments, void **extra)
{
    BEGIN(true);
    is_stream(__func__, stream);
    if (!function || function->kind != FUNCTION || threads_x != FIBRE_MOST || threads_y != 1 ||
        threads_z != 1 || blocks_x == 0 || blocks_y == 0 || blocks_y > 65535 || blocks_z != 1 || shared ||
        extra)
        return INVALID_VALUE;
    if (stream->captures) {
        keep(stream, function, arguments[0], blocks_x, blocks_y);
        return SUCCESS;
    }
    run(function->thread, arguments[0], blocks_x, blocks_y);
    emu_launches++;
    return SUCCESS;
}

/* ---- graphs ---- */

static void free_nodes(CUobject graph)
{
    for (struct node *n = graph->first, *next; n; n = next) {
        next = n->next;
        free(n);
    }
    *graph = (struct object){.kind = NOTHING};
}

/* What nobody gave back, or could, ends with the driver. */
__attribute__((destructor)) static void end(void)
{
    for (int i = 0; i < MOST_ALLOCATIONS; i++)
        free(emu.allocation[i].at);
    emu_end_copies(false);
    for (int i = 0; i < MOST_OBJECTS; i++)
        if (emu.object[i].kind != NOTHING) {
            free(emu.object[i].image);
            free_nodes(&emu.object[i]);
        }
}

CUresult cuStreamBeginCapture_v2(CUobject stream, int mode)
{
    BEGIN(true);
    is_doing(__func__, stream);
    if (mode < 0 || mode > 2)
        return INVALID_VALUE;
    stream->captures = true;
    return SUCCESS;
}

/* The capture ends, whether there is a graph or not. */
CUresult cuStreamEndCapture(CUobject stream, CUobject *graph)
{
    struct object captured = {.kind = GRAPH, .first = stream->first};

    stream->captures = false;
    stream->first = NULL;
    CUresult result = begin(__func__, true);
    if (result == SUCCESS)
        result = make(graph, captured);
    if (result != SUCCESS)
        free_nodes(&captured);
    return result;
}

/* A graph of its own: the one that it is made of may go. */
CUresult cuGraphInstantiate_v2(CUobject *launches, CUobject graph, CUobject *failed, char *log, size_t size)
{
    BEGIN(true);
    is_kind(__func__, graph, GRAPH);
    if (failed || log || size)
        return INVALID_VALUE;
    CUresult result = make(launches, (struct object){.kind = LAUNCHES, .first = graph->first});
    if (result == SUCCESS)
        graph->first = NULL;
    return result;
}

CUresult cuGraphDestroy(CUobject graph)
{
    is_kind(__func__, graph, GRAPH);
    free_nodes(graph);
    return begin(__func__, true);
}

CUresult cuGraphExecDestroy(CUobject launches)
{
    is_kind(__func__, launches, LAUNCHES);
    free_nodes(launches);
    return begin(__func__, true);
}

CUresult cuGraphLaunch(CUobject launches, CUobject stream)
{
    BEGIN(true);
    is_kind(__func__, launches, LAUNCHES);
    is_doing(__func__, stream);
    for (const struct node *n = launches->first; n; n = n->next)
        run(n->thread, n->arguments, n->blocks, n->rows);
    emu_graphs++;
    return SUCCESS;
}

/* ---- finding all these ---- */

/* Those that are asked for by name; SECOND: as their second version. */
/* clang-format off */
#define FUNCTIONS(F, SECOND)                                                                                \
    F(cuInit) F(cuDriverGetVersion) F(cuGetErrorName) F(cuDeviceGetCount) F(cuDeviceGet)                    \
    F(cuDeviceGetName) F(cuDeviceGetAttribute) F(cuDevicePrimaryCtxRetain)                                  \
    SECOND(cuDevicePrimaryCtxRelease) SECOND(cuCtxPushCurrent) SECOND(cuCtxPopCurrent)                      \
    SECOND(cuMemGetInfo) SECOND(cuMemAlloc) SECOND(cuMemFree) F(cuMemHostAlloc) F(cuMemFreeHost)            \
    F(cuMemsetD8Async) SECOND(cuMemcpyHtoDAsync) SECOND(cuMemcpyDtoHAsync) SECOND(cuMemcpyDtoDAsync)        \
    F(cuStreamCreate) SECOND(cuStreamDestroy) F(cuStreamSynchronize) F(cuEventCreate) F(cuEventRecord)      \
    F(cuEventSynchronize) SECOND(cuEventDestroy) F(cuModuleLoadData) F(cuModuleUnload)                      \
    F(cuModuleGetFunction) F(cuLaunchKernel) SECOND(cuStreamBeginCapture) F(cuStreamEndCapture)             \
    SECOND(cuGraphInstantiate) F(cuGraphDestroy) F(cuGraphLaunch) F(cuGraphExecDestroy)
/* clang-format on */

CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    static const struct {
        const char *name;
        void (*function)(void);
    } functions[] = {
#define ROW(name)   {#name, (void (*)(void))name},
#define ROW_2(name) {#name, (void (*)(void))name##_v2},
        FUNCTIONS(ROW, ROW_2)
#undef ROW
#undef ROW_2
    };

    if (version < 11030 || flags != 0)
        return INVALID_VALUE;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (strcmp(functions[i].name, name) == 0) {
            memcpy(function, &functions[i].function, sizeof *function);
            return SUCCESS;
        }
    return NOT_FOUND;
}
