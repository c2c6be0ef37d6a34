/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c: the threads of pool.h. Items are handed out by one counter that runs down to zero; a job is over
 * when every item has been done, not when every worker has looked, so a worker that still sleeps delays
 * nobody. The caller is thread 0 and works too. Workers wait on the generation number, which is raised once
 * per job. After a stop the remaining items are handed out and skipped. */
#include "os/pool.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "os/cgroup.h"
#include "os/clock.h"
#include "os/fp_environment.h"
#include "os/threads.h"

/* How long a thread watches a word before it sleeps. A pass is hundreds of jobs a few microseconds apart;
 * sleeping between them would cost more than the jobs. Measured in time, not in rounds, because the length of
 * a pause instruction differs tenfold between processors. */
#define SPIN_SECONDS 40e-6
/* Between two tokens the caller draws one and shows it. */
#define SPIN_SECONDS_LATE 400e-6
/* With more threads than processors a spinning thread keeps a working one from running. */
#define SPIN_SECONDS_CROWDED 2e-6

/* Between two questions whether to go on, and the longest sleep of a caller that has to ask. */
#define ASK_SECONDS 5e-3

enum { LINE = 64, PAUSES = 16 }; /* bytes in a cache line; pauses between two looks at the clock */

struct worker {
    struct ct_pool *pool;
    ct_thread thread;
    int index;
};

struct ct_pool {
    int threads;
    int started;      /* workers that must be joined */
    int limit;        /* threads that work; the caller's own copy of `working` */
    bool crowded;     /* more threads than processors */
    atomic_bool late; /* the next job may be */

    /* The job. Read only by a thread that has claimed an item, and such an item keeps the job from ending, so
     * the caller never writes these while somebody reads them. */
    void (*fn)(void *arg, int item, int thread);
    void *arg;
    int items;

    int (*stop)(void *user); /* asked by the caller's thread alone; NULL: not watched */
    void *user;
    double ask_at;
    atomic_bool stopped;

    /* Words that different threads write stand on different cache lines. */
    _Alignas(LINE) atomic_int unclaimed;        /* items not yet claimed; none at or below 0 */
    _Alignas(LINE) _Atomic uint32_t unfinished; /* items not yet done; the caller may sleep on it */
    atomic_bool caller_sleeps;
    _Alignas(LINE) _Atomic uint32_t generation; /* raised for every job and to quit; workers sleep on it */
    atomic_int sleepers;                        /* workers that are, or are about to be, asleep */
    atomic_bool quit;
    _Alignas(LINE) _Atomic uint32_t working; /* threads that work; the workers beyond sleep on it */

    struct worker worker[]; /* [threads - 1] */
};

/* Watches the word for a while; true when it left the value. */
static bool spin_while(const struct ct_pool *p, _Atomic uint32_t *word, uint32_t value, bool until_zero)
{
    const bool late = !until_zero && atomic_load_explicit(&p->late, memory_order_relaxed);
    const double spin = p->crowded ? SPIN_SECONDS_CROWDED : late ? SPIN_SECONDS_LATE : SPIN_SECONDS;
    double end = 0;
    for (int round = 0;; round++) {
        uint32_t now = atomic_load_explicit(word, memory_order_acquire);
        if (until_zero ? now == 0 : now != value)
            return true;
        if (round % PAUSES == PAUSES - 1) {
            double t = ct_os_seconds();
            if (end == 0)
                end = t + spin;
            else if (t >= end)
                return false;
        }
        ct_os_pause();
    }
}

bool ct_pool_goes_on(struct ct_pool *p, int thread)
{
    if (thread == 0 && p->stop && !atomic_load_explicit(&p->stopped, memory_order_relaxed) &&
        ct_os_seconds() >= p->ask_at) {
        if (p->stop(p->user))
            atomic_store_explicit(&p->stopped, true, memory_order_relaxed);
        p->ask_at = ct_os_seconds() + ASK_SECONDS;
    }
    return !atomic_load_explicit(&p->stopped, memory_order_relaxed);
}

void ct_pool_wait_awake(struct ct_pool *p, bool late)
{
    atomic_store_explicit(&p->late, late, memory_order_relaxed);
}

void ct_pool_watch(struct ct_pool *p, int (*stop)(void *user), void *user)
{
    p->stop = stop;
    p->user = user;
}

bool ct_pool_unwatch(struct ct_pool *p)
{
    p->stop = NULL;
    return !atomic_exchange(&p->stopped, false);
}

/* Claims and does items until there are none. Also right for a worker that comes late: whatever it claims
 * belongs to the job that is running now. */
static void work(struct ct_pool *p, int thread)
{
    uint32_t done = 0;
    int left;
    /* Acquire: pairs with the release that published the job. */
    while ((left = atomic_fetch_sub_explicit(&p->unclaimed, 1, memory_order_acq_rel)) > 0) {
        if (ct_pool_goes_on(p, thread))
            p->fn(p->arg, p->items - left, thread);
        done++;
    }
    if (done && atomic_fetch_sub(&p->unfinished, done) == done && atomic_load(&p->caller_sleeps))
        ct_os_wake_all(&p->unfinished);
}

static void worker_main(void *arg)
{
    struct worker *w = arg;
    struct ct_pool *p = w->pool;
    uint32_t seen = 0;

    ct_os_fp_enter(); /* for good: the thread is ours */
    for (;;) {
        uint32_t working;
        while ((working = atomic_load(&p->working)) <= (uint32_t)w->index)
            ct_os_wait(&p->working, working, 0);
        if (!spin_while(p, &p->generation, seen, false)) {
            /* Said before the last look at the generation: either this look sees the new job, or the caller
             * sees a sleeper. Both sides are sequentially consistent for that reason. */
            atomic_fetch_add(&p->sleepers, 1);
            while (atomic_load(&p->generation) == seen)
                ct_os_wait(&p->generation, seen, 0);
            atomic_fetch_sub(&p->sleepers, 1);
        }
        seen = atomic_load(&p->generation);
        if (atomic_load_explicit(&p->quit, memory_order_relaxed))
            return;
        if (atomic_load_explicit(&p->working, memory_order_relaxed) > (uint32_t)w->index)
            work(p, w->index);
    }
}

static void raise_generation(struct ct_pool *p)
{
    atomic_fetch_add(&p->generation, 1);
    if (atomic_load(&p->sleepers) > 0)
        ct_os_wake_all(&p->generation);
}

carat_status ct_pool_create_on(struct ct_pool **pool, int threads, int processors, carat_error *err)
{
    if (threads < 1)
        return ct_fail(err, CARAT_E_ARGUMENT, "%d threads requested, expected at least 1", threads);
    const size_t bytes = ct_round_up(sizeof(struct ct_pool) + (size_t)threads * sizeof(struct worker), LINE);
    struct ct_pool *p = aligned_alloc(LINE, bytes);
    if (!p)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for a pool of %d threads", threads);
    memset(p, 0, bytes);
    p->threads = p->limit = threads;
    atomic_init(&p->working, (uint32_t)threads);
    p->crowded = threads > (processors ? processors : ct_os_cpus());
    while (p->started < threads - 1) {
        struct worker *w = &p->worker[p->started];
        *w = (struct worker){.pool = p, .index = p->started + 1};
        carat_status status = ct_os_thread_start(&w->thread, worker_main, w, err);
        if (status) {
            ct_pool_destroy(p);
            return status;
        }
        p->started++;
    }
    *pool = p;
    return CARAT_OK;
}

carat_status ct_pool_create(struct ct_pool **pool, int threads, carat_error *err)
{
    return ct_pool_create_on(pool, threads, 0, err);
}

void ct_pool_destroy(struct ct_pool *p)
{
    if (!p)
        return;
    atomic_store(&p->quit, true);
    ct_pool_limit(p, p->threads);
    raise_generation(p);
    for (int i = 0; i < p->started; i++)
        ct_os_thread_join(p->worker[i].thread);
    free(p);
}

void ct_pool_limit(struct ct_pool *p, int threads)
{
    threads = CT_MAX(1, CT_MIN(threads, p->threads));
    if (threads == p->limit)
        return;
    p->limit = threads;
    atomic_store(&p->working, (uint32_t)threads);
    ct_os_wake_all(&p->working);
}

int ct_pool_threads(const struct ct_pool *p)
{
    return p->threads;
}

void ct_pool_run(struct ct_pool *p, int items, void (*fn)(void *arg, int item, int thread), void *arg)
{
    p->ask_at = 0;
    if (!ct_pool_goes_on(p, 0))
        return;
    if (p->limit == 1 || items <= 1) { /* nobody to share with */
        for (int i = 0; i < items && ct_pool_goes_on(p, 0); i++)
            fn(arg, i, 0);
        return;
    }
    p->fn = fn;
    p->arg = arg;
    p->items = items;
    atomic_store_explicit(&p->unfinished, (uint32_t)items, memory_order_relaxed);
    atomic_store_explicit(&p->unclaimed, items, memory_order_release);
    raise_generation(p);
    work(p, 0);

    if (spin_while(p, &p->unfinished, 0, true))
        return;
    /* As in worker_main: the caller says that it sleeps before it looks for the last time. */
    atomic_store(&p->caller_sleeps, true);
    uint32_t left;
    while ((left = atomic_load(&p->unfinished)) != 0)
        ct_os_wait(&p->unfinished, left, p->stop && ct_pool_goes_on(p, 0) ? ASK_SECONDS : 0);
    atomic_store(&p->caller_sleeps, false);
}
