/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_graph.c: passes that decode as one launch. What the verbs of such a pass launch waits until something
 * else is asked for. The first pass of a bucket of rows captures that as a graph of the driver, and the next
 * ones launch the graph with their first kernel, or once the inputs of layers are there; what they launch
 * meanwhile is compared with it. Launches that differ run as they are, and put right what the graph has
 * written: all of it is made of the rows, which lie on the device, and nothing adds to what was there before.
 * Without graphs kernels run one by one.
 *
 * No argument of its kernels depends on the step: ids, positions and spans lie on the device, at places that
 * a bucket of 1, 2, 4, ... 32 rows has; rows that lack to it are copies of the first. The head comes behind,
 * kernel by kernel. Where a graph fails, or a listener reads matrices, a line says so (ct_backend.remark). */
#include "backend/cuda/cuda_backend.h"

#include "base/hash.h"

enum {
    ROOM = 512 << 10, /* for launches that wait; those of 62 layers are 250 KiB */
    MOST_STRIKES = 4,
    THREAD_LOCAL = 1, /* a mode of capture: what other threads ask for is their own */
};

/* A launch that waits; its arguments lie behind it. */
struct waiting {
    int32_t kernel, blocks, rows, bytes;
};

static size_t whole_bytes(int32_t arguments)
{
    return sizeof(struct waiting) + ct_round_up((size_t)arguments, sizeof(struct waiting));
}

int ct_cuda_bucket(const struct ct_cuda_backend *b, const struct ct_rows *rows)
{
    int bucket = 0;

    while (1 << bucket < rows->n)
        bucket++;
    if (bucket >= CT_CUDA_BUCKETS || 1 << bucket > b->extent.rows || !rows->decodes || b->graphs.refused ||
        ct_trace_reads(&b->base))
        return -1;
    return bucket;
}

/* ---- graphs ---- */

ct_cu_result ct_cuda_launch_now(struct ct_cuda_backend *b, enum ct_cuda_kernel kernel, const void *arguments,
                                int blocks, int rows)
{
    void *all[] = {(void *)(uintptr_t)arguments};

    return b->driver.cuLaunchKernel(b->function[kernel], (unsigned)blocks, (unsigned)rows, 1, CT_GPU_THREADS,
                                    1, 1, 0, b->stream, all, NULL);
}

/* Says once why there are none. */
static void give_up(struct ct_cuda_backend *b, const char *why)
{
    b->graphs.refused = true;
    (void)ct_fail(&b->base.remark, CARAT_E_IO, "the GPU %s runs kernels one by one, since %s", b->device.name,
                  why);
}

static ct_cu_result run_one_by_one(struct ct_cuda_backend *b)
{
    const struct ct_cuda_graphs *g = &b->graphs;
    ct_cu_result result = 0;

    for (size_t at = 0; at < g->used && result == 0;) {
        const struct waiting *w = (const struct waiting *)(const void *)(g->waiting + at);
        result = ct_cuda_launch_now(b, (enum ct_cuda_kernel)w->kernel, w + 1, w->blocks, w->rows);
        at += whole_bytes(w->bytes);
    }
    return result;
}

static bool is_launched(struct ct_cuda_backend *b, const struct ct_cuda_graph *graph)
{
    const bool launched = b->driver.cuGraphLaunch(graph->made, b->stream) == 0;

    if (!launched)
        give_up(b, "it launches no graph of them");
    return launched;
}

/* Makes a graph of those that wait. */
static bool is_captured(struct ct_cuda_backend *b, struct ct_cuda_graph *graph)
{
    const struct ct_cuda_driver *d = &b->driver;
    ct_cu_object captured = NULL;
    bool good = d->cuStreamBeginCapture(b->stream, THREAD_LOCAL) == 0;

    if (good) {
        good = run_one_by_one(b) == 0;
        good &= d->cuStreamEndCapture(b->stream, &captured) == 0; /* ends one that failed, too */
    }
    good = good && d->cuGraphInstantiate(&graph->made, captured, NULL, NULL, 0) == 0;
    if (captured)
        d->cuGraphDestroy(captured);
    if (!good) {
        graph->made = NULL;
        give_up(b, "it captures no graph of them");
    }
    return good;
}

/* With which launch of a pass its graph may begin: all that comes from the host is there by then. */
static int32_t beginning(const struct ct_cuda_graphs *g)
{
    const struct waiting *first = (const struct waiting *)(const void *)g->waiting, *w;

    for (size_t at = 0; at < g->used; at += whole_bytes(w->bytes)) {
        w = (const struct waiting *)(const void *)(g->waiting + at);
        if (w->kernel == CT_CUDA_add_rows)
            return w->kernel;
    }
    return first->kernel;
}

/* True when the launches that wait have run, as a graph of the bucket. */
static bool run_as_graph(struct ct_cuda_backend *b, struct ct_cuda_graph *graph)
{
    struct ct_cuda_graphs *g = &b->graphs;
    const uint64_t hash = ct_hash64(g->waiting, g->used);

    if (g->running) {
        const bool same = hash == graph->hash;
        g->strikes = same ? 0 : g->strikes + 1;
        if (g->strikes == MOST_STRIKES)
            give_up(b, "passes ask for others each time");
        return same;
    }
    if (graph->made || g->refused || !is_captured(b, graph))
        return false;
    graph->hash = hash;
    graph->begins = beginning(g);
    return is_launched(b, graph);
}

/* ---- launches that wait ---- */

void ct_cuda_hold_back(struct ct_cuda_backend *b, int bucket, bool runs)
{
    b->graphs.bucket = bucket;
    b->graphs.used = 0;
    b->graphs.running = runs;
}

bool ct_cuda_run_graph(struct ct_cuda_backend *b, int bucket)
{
    struct ct_cuda_graph *graph = &b->graphs.of[bucket];

    return graph->made && graph->begins == CT_CUDA_embed && !b->graphs.refused && is_launched(b, graph);
}

ct_cu_result ct_cuda_run_waiting(struct ct_cuda_backend *b)
{
    struct ct_cuda_graphs *g = &b->graphs;
    const int bucket = g->bucket;

    g->bucket = -1;
    if (bucket < 0 || g->used == 0 || b->stopped || b->base.failure.code || run_as_graph(b, &g->of[bucket]))
        return 0;
    return run_one_by_one(b);
}

bool ct_cuda_waits(struct ct_cuda_backend *b, enum ct_cuda_kernel kernel, const void *arguments, int blocks,
                   int rows)
{
    static const int32_t sizes[] = {
#define SIZE(name, arguments) sizeof(struct ct_gpu_##arguments),
        CT_GPU_KERNELS(SIZE)
#undef SIZE
    };
    struct ct_cuda_graphs *g = &b->graphs;
    const struct waiting w = {(int32_t)kernel, blocks, rows, sizes[kernel]};

    if (g->bucket < 0 || g->used + whole_bytes(w.bytes) > ROOM)
        return false;
    const struct ct_cuda_graph *graph = &g->of[g->bucket];
    if (!g->running && !g->refused && graph->made && graph->begins == w.kernel)
        g->running = is_launched(b, graph);
    memset(g->waiting + g->used, 0, whole_bytes(w.bytes)); /* they are compared as bytes */
    memcpy(g->waiting + g->used, &w, sizeof w);
    memcpy(g->waiting + g->used + sizeof w, arguments, (size_t)w.bytes);
    g->used += whole_bytes(w.bytes);
    return true;
}

/* ---- memory ---- */

void ct_cuda_lay_out_graphs(struct ct_cuda_backend *b)
{
    b->graphs.waiting = b->host->verb.alloc_host(b->host, ROOM);
    b->graphs.bucket = -1;
}

void ct_cuda_end_graphs(struct ct_cuda_backend *b)
{
    for (int i = 0; i < CT_CUDA_BUCKETS; i++)
        if (b->graphs.of[i].made)
            b->driver.cuGraphExecDestroy(b->graphs.of[i].made);
}
