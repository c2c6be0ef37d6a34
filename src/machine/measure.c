/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c: carat_measure_limits: times the loops of machine/roofline.c on the threads an engine would have.
 */
#include <math.h>

#include "kernel/kernel.h"
#include "base/arguments.h"
#include "kernel/level.h"
#include "machine/machine.h"
#include "os/cgroup.h"
#include "os/clock.h"
#include "os/memory.h"
#include "os/pool.h"

#define MOST_THREADS   256
#define PIECE          ((size_t)1 << 20)   /* bytes that a thread reads at a time */
#define LEAST_BYTES    ((size_t)256 << 20) /* of memory to read */
#define LEAST_A_THREAD ((size_t)8 << 20)
#define ITEMS_A_THREAD 8 /* of multiplying, so that a thread that comes late costs little */

/* Many short rounds: one of them passes without a neighbour. A round of reading is a part of the memory, so
 * that the others have left the caches when it comes again. */
#define ROUNDS        48
#define PARTS         8
#define ROUND_SECONDS 0.001 /* of multiplying */

/* The loop that is measured: rounds of `items` calls of fn. */
struct loop {
    void (*fn)(void *loop, int item, int thread);
    int items;
    uint8_t *data; /* reading: [PARTS][items][PIECE] */
    int part;
    struct ct_roofline peak; /* multiplying */
    long turns;
    double amount; /* bytes or operations of a round */
    double best;   /* seconds */
};

static void fill_piece(void *arg, int item, int thread)
{
    struct loop *l = arg;

    (void)thread;
    memset(l->data + (size_t)item * PIECE, 1, PIECE);
}

/* What is read ends in the bytes themselves, so that no compiler leaves the reading out. */
static void read_piece(void *arg, int item, int thread)
{
    struct loop *l = arg;
    uint8_t *piece = l->data + ((size_t)l->part * (size_t)l->items + (size_t)item) * PIECE;
    uint64_t sum = ct_roofline_read(piece, PIECE);

    (void)thread;
    memcpy(piece, &sum, sizeof sum);
}

static void multiply(void *arg, int item, int thread)
{
    struct loop *l = arg;

    (void)item;
    (void)thread;
    l->peak.run(l->turns);
}

static double time_round(struct ct_pool *pool, struct loop *l)
{
    double start = ct_os_seconds();

    ct_pool_run(pool, l->items, l->fn, l);
    return fmax(ct_os_seconds() - start, 1e-9);
}

static struct loop reading(struct ct_pool *pool, uint8_t *data, size_t bytes)
{
    struct loop l = {.data = data, .items = (int)(bytes / PIECE), .fn = fill_piece};

    time_round(pool, &l);
    l.fn = read_piece;
    l.items /= PARTS;
    l.amount = (double)(bytes / PARTS);
    return l;
}

static struct loop multiplying(struct ct_pool *pool, struct ct_roofline peak)
{
    struct loop l = {.fn = multiply, .items = ct_pool_threads(pool) * ITEMS_A_THREAD, .peak = peak};

    l.turns = 1000;
    time_round(pool, &l); /* wakes the units up */
    l.turns = (long)(ROUND_SECONDS / time_round(pool, &l) * (double)l.turns) + 1;
    l.amount = (double)l.turns * l.items * peak.operations;
    return l;
}

/* The loops take turns, so that each sees all of the time that this takes. */
static bool measure(struct ct_pool *pool, struct loop *loop, int n)
{
    for (int i = 0; i < n; i++)
        loop[i].best = INFINITY;
    for (int round = 0; round < ROUNDS && ct_pool_goes_on(pool, 0); round++)
        for (int i = 0; i < n; i++) {
            loop[i].part = round % PARTS;
            loop[i].best = fmin(loop[i].best, time_round(pool, &loop[i]));
        }
    return ct_pool_unwatch(pool);
}

struct watch {
    carat_progress progress;
    void *user;
};

static int ask(void *user)
{
    const struct watch *w = user;
    return w->progress(w->user, 0, 1);
}

static carat_status measure_limits(int threads, const char *isa, carat_progress progress, void *user,
                                   carat_limits *limits, carat_error *err)
{
    struct watch watch = {progress, user};
    struct ct_kernel kernel;
    struct ct_pool *pool;
    struct ct_cpu cpu;

    if (threads < 0 || threads > MOST_THREADS)
        return ct_fail(err, CARAT_E_ARGUMENT, "threads is %d, expected 0 to %d", threads, MOST_THREADS);
    ct_cpu_detect(&cpu);
    if (!ct_kernel_choose(&kernel, &cpu, isa))
        return ct_fail(err, CARAT_E_ARGUMENT, "isa is \"%s\"; there are %s", isa, ct_level_names().text);
    carat_limits l = {.size = sizeof l, .threads = threads ? threads : ct_os_cpus(), .isa = kernel.isa};
    CT_TRY(ct_pool_create(&pool, l.threads, err));
    size_t least = CT_MAX(LEAST_BYTES, (size_t)l.threads * LEAST_A_THREAD);
    size_t bytes = ct_round_up(CT_MAX(least, 2 * ct_os_cache()), PARTS * PIECE);
    uint8_t *data = ct_os_reserve(bytes);
    if (!data) {
        ct_pool_destroy(pool);
        return ct_fail(err, CARAT_E_MEMORY, "the system refuses %zu bytes of memory to measure with", bytes);
    }
    ct_os_huge(data, bytes);
    ct_pool_watch(pool, progress ? ask : NULL, &watch);
    struct loop loop[1 + CARAT_N_ARITHMETIC] = {reading(pool, data, bytes)};
    int n = 1, loop_of[CARAT_N_ARITHMETIC];
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++) {
        struct ct_roofline peak = ct_roofline_loop(kernel.isa, (carat_arithmetic)a);
        if (peak.run && peak.run != loop[n - 1].peak.run) /* a level may do two with one instruction */
            loop[n++] = multiplying(pool, peak);
        loop_of[a] = peak.run ? n - 1 : 0;
    }
    bool whole = measure(pool, loop, n);
    l.read = loop[0].amount / loop[0].best;
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        if (loop_of[a] > 0)
            l.operations[a] = loop[loop_of[a]].amount / loop[loop_of[a]].best;
    ct_os_release(data, bytes);
    ct_pool_destroy(pool);
    if (!whole)
        return ct_fail(err, CARAT_E_CANCELLED, "measuring this machine was cancelled");
    *limits = l;
    return CARAT_OK;
}

carat_status carat_measure_limits(int threads, const char *isa, carat_progress progress, void *user,
                                  carat_limits *limits, carat_error *err)
{
    carat_limits full;

    CT_TRY(ct_check_struct(limits, sizeof full, "carat_limits", err));
    CT_TRY(measure_limits(threads, isa, progress, user, &full, err));
    return ct_give_struct(limits, &full, sizeof full, "carat_limits", err);
}
