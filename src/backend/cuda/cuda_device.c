/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_device.c: the device of a backend: its context, the kernels, memory, copies and launches, in the order
 * of one stream. A call that fails is told once; whoever called goes on as if it had not, and the pass ends
 * with the failure. */
#include "backend/cuda/cuda_backend.h"

#include <stdlib.h>

#include "os/clock.h"

static bool good(struct ct_cuda_backend *b, ct_cu_result result, const char *what)
{
    if (result != 0 && !b->base.failure.code)
        (void)ct_fail(&b->base.failure, CARAT_E_IO, "the GPU %s failed: %s of %s", b->device.name, what,
                      ct_cuda_result(&b->driver, result));
    return result == 0;
}

const char *const ct_cuda_kernel_names[] = {
#define NAME(name, arguments) #name,
    CT_GPU_KERNELS(NAME)
#undef NAME
};

static bool lives(const struct ct_cuda_backend *b)
{
    return !b->base.failure.code;
}

void ct_cuda_enter(struct ct_cuda_backend *b)
{
    if (b->entered++ == 0)
        b->current = good(b, b->driver.cuCtxPushCurrent(b->context), "entering");
}

void ct_cuda_leave(struct ct_cuda_backend *b)
{
    ct_cu_object mine;

    if (--b->entered == 0 && b->current)
        b->driver.cuCtxPopCurrent(&mine);
}

/* ---- beginning and end ---- */

/* Kernels [first, end) of a module. */
static carat_status load_module(struct ct_cuda_backend *b, ct_cu_object *module, const char *ptx, int first,
                                int end, carat_error *err)
{
    ct_cu_result result = b->driver.cuModuleLoadData(module, ptx);

    for (int i = first; i < end && result == 0; i++)
        result = b->driver.cuModuleGetFunction(&b->function[i], *module, ct_cuda_kernel_names[i]);
    return result == 0 ? CARAT_OK
                       : ct_fail(err, CARAT_E_IO, "the driver of the GPU %s does not take the kernels: %s",
                                 b->device.name, ct_cuda_result(&b->driver, result));
}

static carat_status load_kernels(struct ct_cuda_backend *b, carat_error *err)
{
    const int matrix = CT_CUDA_project_matrix; /* the first of those apart, which are the last of all */

    CT_TRY(load_module(b, &b->module[0], ct_cuda_ptx, 0, matrix, err));
    return b->device.major < 8
               ? CARAT_OK
               : load_module(b, &b->module[1], ct_cuda_ptx_matrix, matrix, CT_CUDA_KERNELS, err);
}

carat_status ct_cuda_begin(struct ct_cuda_backend *b, carat_error *err)
{
    const struct ct_cuda_driver *d = &b->driver;
    ct_cu_result result = d->cuDevicePrimaryCtxRetain(&b->context, b->device.device);

    if (result != 0) {
        b->context = NULL;
        return ct_fail(err, CARAT_E_IO, "the GPU %s cannot be used: %s", b->device.name,
                       ct_cuda_result(d, result));
    }
    ct_cuda_enter(b);
    if (lives(b))
        good(b, d->cuStreamCreate(&b->stream, 1), "a stream");
    if (lives(b))
        good(b, d->cuEventCreate(&b->event, CT_CU_UNTIMED), "an event");
    carat_status status =
        lives(b) ? load_kernels(b, err) : ct_fail(err, b->base.failure.code, "%s", b->base.failure.message);
    ct_cuda_leave(b);
    return status;
}

static bool take_region(struct ct_cuda_backend *b, struct ct_cuda_memory *m, size_t bytes)
{
    m->base = 0;
    m->size = bytes;
    return bytes == 0 || b->driver.cuMemAlloc(&m->base, bytes) == 0;
}

/* Memory of the host, zeroed, that the device reaches by itself. */
static bool take_pinned(struct ct_cuda_backend *b, size_t bytes)
{
    void *p = NULL;

    b->pinned.size = bytes;
    if (!good(b, b->driver.cuMemHostAlloc(&p, bytes, 0), "memory of the host"))
        return false;
    memset(p, 0, bytes);
    b->pinned.base = (ct_cu_address)(uintptr_t)p;
    return true;
}

carat_status ct_cuda_reserve(struct ct_cuda_backend *b, carat_error *err)
{
    const size_t kv = b->kv.used, work = b->work.used;
    size_t free_bytes = 0, total = 0;

    ct_cuda_enter(b);
    if (lives(b))
        b->driver.cuMemGetInfo(&free_bytes, &total);
    const bool whole = lives(b) && take_region(b, &b->weights, b->planned) && take_region(b, &b->kv, kv) &&
                       take_region(b, &b->work, work) && take_pinned(b, b->pinned.used);
    if (whole) {
        ct_cuda_zero(b, b->kv.base, kv); /* what nobody wrote is read as finite */
        ct_cuda_zero(b, b->work.base, work);
    }
    ct_cuda_leave(b);
    if (!whole && lives(b))
        return ct_fail(err, CARAT_E_MEMORY,
                       "the GPU %s has %s of %s free, and the engine needs %s (weights %s, cache %s, work "
                       "%s); a smaller context needs less",
                       b->device.name, ct_size(free_bytes).text, ct_size(total).text,
                       ct_size(b->planned + kv + work).text, ct_size(b->planned).text, ct_size(kv).text,
                       ct_size(work).text);
    return lives(b) ? CARAT_OK : ct_fail(err, b->base.failure.code, "%s", b->base.failure.message);
}

/* The device may have failed; then its answers do not matter any more. */
void ct_cuda_end(struct ct_cuda_backend *b)
{
    const struct ct_cuda_driver *d = &b->driver;
    struct ct_cuda_memory *const memory[] = {&b->kv, &b->work, &b->weights};

    if (b->context) {
        ct_cuda_enter(b);
        for (size_t i = 0; i < CT_COUNT(memory) && b->current; i++)
            if (memory[i]->base)
                d->cuMemFree(memory[i]->base);
        if (b->pinned.base && b->current)
            d->cuMemFreeHost((void *)(uintptr_t)b->pinned.base);
        if (b->current)
            ct_cuda_end_graphs(b);
        for (size_t i = 0; i < CT_COUNT(b->module) && b->current; i++)
            if (b->module[i])
                d->cuModuleUnload(b->module[i]);
        if (b->event && b->current)
            d->cuEventDestroy(b->event);
        if (b->stream && b->current)
            d->cuStreamDestroy(b->stream);
        ct_cuda_leave(b);
        d->cuDevicePrimaryCtxRelease(b->device.device);
    }
    ct_cuda_close(&b->driver);
}

void ct_cuda_settle(struct ct_cuda_backend *b)
{
    good(b, ct_cuda_run_waiting(b), "a kernel");
}

/* ---- memory ---- */

ct_cu_address ct_cuda_take(struct ct_cuda_memory *m, size_t bytes)
{
    const ct_cu_address at = m->base ? m->base + m->used : 0;

    m->used += ct_round_up(bytes, 256);
    assert(!m->base || m->used <= m->size);
    return at;
}

void *ct_cuda_take_pinned(struct ct_cuda_backend *b, size_t bytes)
{
    return (void *)(uintptr_t)ct_cuda_take(&b->pinned, bytes);
}

/* Prepares for asking the device for something, which may be other memory than is here. False: it has
 * failed. */
static bool asks(struct ct_cuda_backend *b)
{
    b->idle = b->ahead.runs = false;
    b->here.bytes = 0;
    return lives(b);
}

void ct_cuda_put_ahead(struct ct_cuda_backend *b, ct_cu_address to, const void *from, size_t bytes)
{
    if (asks(b) && bytes)
        good(b, b->driver.cuMemcpyHtoDAsync(to, from, bytes, b->stream), "a copy to it");
}

void ct_cuda_put(struct ct_cuda_backend *b, ct_cu_address to, const void *from, size_t bytes)
{
    ct_cuda_settle(b);
    ct_cuda_put_ahead(b, to, from, bytes);
}

void ct_cuda_fetch(struct ct_cuda_backend *b, void *to, ct_cu_address from, size_t bytes)
{
    ct_cuda_settle(b);
    if (asks(b))
        good(b, b->driver.cuMemcpyDtoHAsync(to, from, bytes, b->stream), "a copy from it");
}

void ct_cuda_get(struct ct_cuda_backend *b, void *to, ct_cu_address from, size_t bytes)
{
    ct_cuda_fetch(b, to, from, bytes);
    ct_cuda_wait(b);
    if (!lives(b))
        memset(to, 0, bytes);
}

void ct_cuda_wait(struct ct_cuda_backend *b)
{
    ct_cuda_settle(b);
    if (lives(b) && !b->idle)
        b->idle = good(b, b->driver.cuStreamSynchronize(b->stream), "waiting for it");
}

void ct_cuda_mark(struct ct_cuda_backend *b)
{
    ct_cuda_settle(b);
    if (asks(b))
        good(b, b->driver.cuEventRecord(b->event, b->stream), "marking what it does");
}

void ct_cuda_wait_marked(struct ct_cuda_backend *b)
{
    if (lives(b))
        b->idle = good(b, b->driver.cuEventSynchronize(b->event), "waiting for it");
}

void ct_cuda_copy(struct ct_cuda_backend *b, ct_cu_address to, ct_cu_address from, size_t bytes)
{
    ct_cuda_settle(b);
    if (asks(b))
        good(b, b->driver.cuMemcpyDtoDAsync(to, from, bytes, b->stream), "a copy in it");
}

void ct_cuda_zero(struct ct_cuda_backend *b, ct_cu_address to, size_t bytes)
{
    ct_cuda_settle(b);
    if (asks(b) && bytes)
        good(b, b->driver.cuMemsetD8Async(to, 0, bytes, b->stream), "zeroing");
}

/* ---- kernels ---- */

void ct_cuda_launch(struct ct_cuda_backend *b, enum ct_cuda_kernel kernel, const void *arguments, int blocks,
                    int rows)
{
    if (!asks(b) || b->stopped || blocks <= 0 || rows <= 0 ||
        ct_cuda_waits(b, kernel, arguments, blocks, rows))
        return;
    ct_cuda_settle(b);
    good(b, ct_cuda_launch_now(b, kernel, arguments, blocks, rows), "a kernel");
}

bool ct_cuda_goes_on(struct ct_cuda_backend *b)
{
    const double between = 0.005;

    if (!b->stopped && b->watch.stop && ct_os_seconds() - b->asked > between) {
        b->asked = ct_os_seconds();
        b->stopped = b->watch.stop(b->watch.user) != 0;
    }
    return !b->stopped && lives(b);
}
