/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_advice.c: what would make this machine faster. Each sentence follows from one fact that was read or
 * measured; what cannot be told gives none. Thresholds are where an effect exceeds what one run differs from
 * the next. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/doctor/doctor.h"
#include "term/message.h"
#include "term/size.h"

#define LITTLE_MEMORY 2e9   /* bytes: a Gemma of 1B in bf16 fills them */
#define BUSY          0.10  /* share of time in which processes wait */
#define STOLEN        0.03  /* share of time taken by other guests */
#define SWAPPED       256e6 /* bytes: less is what every system puts away */
#define WAITING       0.01  /* share of time in which processes wait for memory */
#define NEARLY_FULL                                                                                          \
    0.10               /* of the memory is available; with more, a process that waits has met its own limit */
#define DISTURBED 0.05 /* share of the processors */
#define HELD      0.95 /* of the highest frequency */
#define SCALES    1.15 /* times one thread: less is no gain */
#define SLOW_READ 9.6e9 /* bytes a second */

static void advise(struct report *r, const char *id, const char *format, ...) PRINTF(3, 4);
static void advise(struct report *r, const char *id, const char *format, ...)
{
    va_list args;

    if (r->n_advice == MOST_ADVICE)
        return;
    struct advice *a = &r->advice[r->n_advice++];
    a->id = id;
    va_start(args, format);
    vsnprintf(a->text, sizeof a->text, format, args);
    va_end(args);
}

/* ---- kernels ---- */

/* The level that kernels of a name stand on. The plain ones stand on none: for them it is the last one before
 * something is missing, since not every level has kernels. */
static int level_of(const carat_host_info *h)
{
    const char *name = "";

    for (int i = 0; carat_isa_name(i); i++)
        if (strcmp(h->isa, carat_isa_name(i)) == 0)
            name = carat_isa_needs(i);
    for (int i = 0; *h->level[i].name; i++)
        if (strcmp(h->level[i].name, name) == 0)
            return i;
    int i = 0;
    while (h->level[i].usable)
        i++;
    return i - 1;
}

/* "a, b and c" of the levels above the used one that are kept from use in the same way. */
static int list_levels(const carat_host_info *h, bool present, char *out, size_t capacity)
{
    int n = 0, last = -1;
    size_t used = 0;

    out[0] = 0;
    for (int i = level_of(h) + 1; *h->level[i].name; i++)
        if (h->level[i].present == present)
            last = i;
    for (int i = level_of(h) + 1; i <= last; i++)
        if (h->level[i].present == present && used < capacity)
            used += (size_t)snprintf(out + used, capacity - used, "%s%s",
                                     n++ == 0    ? ""
                                     : i == last ? " and "
                                                 : ", ",
                                     h->level[i].name);
    return n;
}

static void judge_kernels(struct report *r)
{
    const carat_host_info *h = &r->host;
    char lacks[128], denied[128];
    bool some_lack = list_levels(h, false, lacks, sizeof lacks) > 0;
    bool some_denied = list_levels(h, true, denied, sizeof denied) > 0;

    if (!some_lack && !some_denied)
        snprintf(r->kernels_why, sizeof r->kernels_why, "there is no higher level");
    else
        snprintf(r->kernels_why, sizeof r->kernels_why, "%s%s%s%s%s", some_lack ? "the processor lacks " : "",
                 lacks, some_lack && some_denied ? "; " : "",
                 some_denied ? "the system does not permit " : "", denied);
    if (some_denied)
        advise(r, "kernels_denied",
               "the processor has %s, which the system does not let programs use: its kernel, hypervisor or "
               "a filter of system calls decides that",
               denied);
#if defined(__x86_64__)
    if (strcmp(h->isa, carat_isa_name(0)) == 0)
        advise(r, "kernels_plain",
               "the processor or the system lacks AVX2, FMA or F16C: the plain kernels are used, which are "
               "several times slower");
#endif
    if (strcmp(h->build, "release") != 0)
        advise(r, "build", "this is not a plain release build but: %s", h->build);
}

/* ---- processors ---- */

static void judge_threads(struct report *r)
{
    const carat_host_info *h = &r->host;
    int cores = h->cores ? h->cores : h->allowed;

    if (h->quota.value > 0 && h->quota.value < cores)
        advise(r, "quota", "the CPU quota grants %g of %d cores: %s", h->quota.value, cores, h->quota.file);
    if (h->online > 0 && h->allowed > 0 && h->allowed < h->online) {
        bool set = h->cpuset.value > 0 && h->cpuset.value <= h->allowed;
        advise(r, "affinity", "the process may use %d of %d processors: %s%s", h->allowed, h->online,
               set ? "the cpuset says so, " : "its affinity mask says so, as taskset sets it",
               set ? h->cpuset.file : "");
    }
}

static void judge_frequency(struct report *r)
{
    const struct conditions *c = &r->now;
    /* These drivers choose the frequency themselves under the name of this governor. */
    bool chooses =
        strncmp(c->driver, "intel_pstate", 12) == 0 || strncmp(c->driver, "amd-pstate-epp", 14) == 0;

    if (strcmp(c->governor, "powersave") == 0 && !chooses)
        advise(r, "governor",
               "the frequency governor is powersave, which holds the lowest frequency: cpupower "
               "frequency-set -g performance");
    if (c->hz_limit > 0 && c->hz_limit < HELD * c->hz_most)
        advise(r, "frequency",
               "the processor is held to %.2f of %.2f GHz: scaling_max_freq below "
               "/sys/devices/system/cpu",
               c->hz_limit / 1e9, c->hz_most / 1e9);
    if (c->no_boost)
        advise(r, "boost", "frequencies above the nominal one (boost, turbo) are switched off");
}

static void judge_load(struct report *r)
{
    const struct conditions *c = &r->now;

    if (c->cpu_waiting >= BUSY)
        advise(r, "busy",
               "in %.0f %% of the last ten seconds a process waited for a processor: other work runs on this "
               "machine",
               100 * c->cpu_waiting);
    else if (c->cpu_waiting < 0 && r->host.online > 0 && c->load > r->host.online)
        advise(r, "busy", "in the last minute %.1f processes wanted %d processors: other work runs here",
               c->load, r->host.online);
    if (c->stolen >= STOLEN)
        advise(r, "stolen",
               "since the start the hypervisor gave %.0f %% of the processors' time to other guests",
               100 * c->stolen);
}

/* ---- memory ---- */

static void judge_memory(struct report *r)
{
    const carat_host_info *h = &r->host;
    double memory = (double)h->memory_available;
    bool limited = h->memory_limit.value > 0 && (memory <= 0 || h->memory_limit.value < memory);
    char size[SIZE_TEXT];

    if (limited)
        memory = h->memory_limit.value;
    if (memory > 0 && memory < LITTLE_MEMORY)
        advise(r, "memory", "%s %s of memory: larger models do not fit or are read from disk again and again",
               limited ? "control groups allow only" : "there are only", size_text(size, memory));
    if (strcmp(h->huge_pages, "never") == 0)
        advise(r, "huge_pages",
               "transparent huge pages are switched off: echo madvise "
               ">/sys/kernel/mm/transparent_hugepage/enabled");
    if (r->now.swap_used >= SWAPPED)
        advise(r, "swap", "%s are swapped out: memory has been short", size_text(size, r->now.swap_used));
    if (r->now.memory_waiting >= WAITING && memory > 0 &&
        (memory < LITTLE_MEMORY || memory < NEARLY_FULL * (double)h->memory_total))
        advise(r, "memory_waiting",
               "in %.0f %% of the last minute a process waited for memory, of which %s are left: it is short "
               "now",
               100 * r->now.memory_waiting, size_text(size, memory));
}

/* ---- what was measured ---- */

/* Neighbours only ever take away: what was measured beside them proves nothing about memory. */
static void judge_limits(struct report *r)
{
    const struct machine *m = &r->machine;
    double read = m->limits.read;

    if (read <= 0)
        return;
    if (r->host.online > 0 && m->others > DISTURBED * r->host.online) {
        advise(r, "disturbed",
               "others kept %.1f of %d processors busy while this was measured, so that it may be too low: "
               "carat doctor --measure, when they are done",
               m->others, r->host.online);
        return;
    }
    if (m->limits.threads > 1 && read < SCALES * m->read_one)
        advise(r, "scaling",
               "%d threads read no faster than one alone, %.1f against %.1f GB/s: memory is what limits "
               "generation here, not processors",
               m->limits.threads, read / 1e9, m->read_one / 1e9);
    if (read < SLOW_READ)
        advise(r, "slow_memory",
               "memory gives %.1f GB/s, less than half of what one channel of DDR4-2400 carries (19.2): "
               "generation cannot be faster than that",
               read / 1e9);
}

/* ---- variables ---- */

static void judge_variables(struct report *r)
{
    const char *threads = getenv("CARAT_ARG_THREADS"), *omp = getenv("OMP_NUM_THREADS");

    if (threads && atoi(threads) > 0 && atoi(threads) != r->host.threads)
        advise(r, "threads_variable", "CARAT_ARG_THREADS is %d where %d threads are right", atoi(threads),
               r->host.threads);
    if (omp && *omp)
        advise(r, "omp_variable", "OMP_NUM_THREADS is set and not obeyed: -t, or CARAT_ARG_THREADS, is");
}

/* ---- the cache ---- */

static void judge_cache(struct report *r)
{
    char size[SIZE_TEXT];
    double bytes;

    if (!r->cache.in.writable)
        advise(r, "cache", "nothing can be kept from one start to the next: %s%s",
               *r->cache.path ? "the cache " : "there is ", r->cache.in.note);
    else if (r->cache.in.disk > 0 &&
             (double)r->cache.in.disk_free < r->cache.in.disk_reserve * (double)r->cache.in.disk)
        advise(r, "disk", "%.0f %% of the cache's disk are free: below %.0f %% nothing is added to the cache",
               100 * (double)r->cache.in.disk_free / (double)r->cache.in.disk,
               100 * r->cache.in.disk_reserve);
    if (r->content.n_part)
        advise(r, "cache_unfinished", "processes that were stopped left %s in %s/*.part",
               size_text(size, r->content.part_bytes), r->cache.path);
    if (doctor_cache_count(&r->content, CARAT_CACHE_STALE, &bytes) > 0)
        advise(r, "cache_useless", "%s of the cache are of no use: carat cache prune",
               size_text(size, bytes));
}

void doctor_judge(struct report *r)
{
    judge_kernels(r);
    judge_threads(r);
    judge_frequency(r);
    judge_load(r);
    judge_memory(r);
    judge_limits(r);
    judge_variables(r);
    judge_cache(r);
}
