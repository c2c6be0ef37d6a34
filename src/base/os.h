/* os.h: everything that is tied to the operating system; the only place that knows mmap, files, clocks
 * and CPU quotas. Errors name the path. */
#ifndef CT_OS_H
#define CT_OS_H

#include "base/base.h"

/* A read-only mapping of a whole file. An empty file maps to data != NULL, size 0. */
struct ct_map {
    struct ct_bytes bytes;
    void *base;
    size_t length;
};
carat_status ct_os_map(struct ct_map *m, const char *path, carat_error *err);
void ct_os_unmap(struct ct_map *m);

/* 0 = nothing there, 1 = regular file (or something that reads like one), 2 = directory. */
int ct_os_kind(const char *path);

/* Zeroed address space of size bytes, page-aligned, backed by memory only where it is touched; NULL when
 * the system refuses. */
void *ct_os_reserve(size_t size);
void ct_os_release(void *p, size_t size);
/* Gives the pages that lie wholly inside [p, p+size) back; they read as zeros afterwards. */
void ct_os_discard(void *p, size_t size);

/* Monotonic seconds. */
double ct_os_seconds(void);
/* 64 bits from the system's random source. */
uint64_t ct_os_random(void);
/* CPUs this process may use: affinity mask, then the cgroup v1/v2 quota rounded up; at least 1. */
int ct_os_cpus(void);
/* The second half of ct_os_cpus: cpus, or the cgroup limit where that is smaller, at least 1. root goes before
 * /proc and /sys: "" for this machine, a directory in tests. */
int ct_os_quota(const char *root, int cpus);
/* Bytes of physical memory of the machine. */
size_t ct_os_memory(void);

/* ---- floating-point environment (NUMERICS.md section 2): round to nearest even, FTZ and DAZ off ---- */
typedef uint64_t ct_fpenv;
ct_fpenv ct_os_fp_enter(void);
void ct_os_fp_leave(ct_fpenv saved);

/* ---- threads: thin names for what the pool needs ---- */
typedef struct ct_thread *ct_thread;
carat_status ct_os_thread_start(ct_thread *t, void (*fn)(void *), void *arg, carat_error *err);
void ct_os_thread_join(ct_thread t);
/* Sleeps while *word == expected (spurious returns allowed); wakes every sleeper. */
void ct_os_wait(const uint32_t *word, uint32_t expected);
void ct_os_wake_all(const uint32_t *word);
void ct_os_pause(void);

#endif
