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
/* E_IO when the names in a directory cannot be looked up, so that all files in it would seem to be missing. */
carat_status ct_os_enter(const char *dir, carat_error *err);

/* Zeroed address space of size bytes, page-aligned, backed by memory only where it is touched; NULL when
 * the system refuses. */
void *ct_os_reserve(size_t size);
void ct_os_release(void *p, size_t size);
/* Bytes of a page. */
size_t ct_os_page(void);
/* Asks for huge pages behind a reservation that will be filled whole; nothing happens where there are none. */
void ct_os_huge(void *p, size_t size);
/* Bytes of the largest cache; 0: not known. */
size_t ct_os_cache(void);
/* Gives the pages that lie wholly inside [p, p+size) back; they read as zeros afterwards. */
void ct_os_discard(void *p, size_t size);

/* Drops the pages of a ct_os_map that lie wholly inside [p, p+size); they come back from the file when touched. */
void ct_os_forget(const void *p, size_t size);

/* Monotonic seconds. */
double ct_os_seconds(void);
/* 64 bits from the system's random source. */
uint64_t ct_os_random(void);
/* ---- what this machine lets us use; root goes before /proc and /sys: "" for this machine, a directory in tests.
 * All of it is in limits.c. ---- */

/* A limit that control groups set: the tightest on the way to their root. */
struct ct_limit {
    double value;   /* 0: none */
    char file[512]; /* that says it, without root; "" without a limit */
    char text[64];  /* what stands there; of version 1 quota and period with a space between */
};

/* Processor i is bit i % 64 of word i / 64; Linux is built for 8192 at most. */
struct ct_cpu_mask {
    uint64_t bits[128];
};

/* How many threads are worth having, and the counts that this follows from; a count of 0 is not known. */
struct ct_cpus {
    int use;        /* the least of the counts below, at least 1 */
    const char *by; /* the count that decided: "online", "affinity", "cpuset", "cores", "quota" */
    int online;     /* of the machine */
    int allowed;    /* in the mask, which cpusets narrow too */
    int cores;      /* physical cores that the mask touches: SMT siblings share one */
    struct ct_limit cpuset, quota;
    struct ct_cpu_mask mask;
};
/* mask NULL: the calling thread's. */
void ct_os_count_cpus(struct ct_cpus *c, const char *root, const struct ct_cpu_mask *mask);
/* Threads for this process: `use` of the above. */
int ct_os_cpus(void);
/* As the kernel writes such lists, "0-3,8"; cut with "..." where out is too short. */
void ct_os_list(const struct ct_cpu_mask *mask, char *out, size_t capacity);

/* Bytes; 0 is not known. */
struct ct_os_memory {
    uint64_t total, available; /* of the machine; available without swapping */
    struct ct_limit limit;
    size_t page;
    char huge_pages[16]; /* "always", "madvise", "never"; "" when not known */
};
void ct_os_memory(struct ct_os_memory *m, const char *root);

/* Kernel with release and machine type, and the C library. */
void ct_os_names(char *kernel, size_t n_kernel, char *libc, size_t n_libc);

/* ---- floating-point environment (NUMERICS.md section 2): round to nearest even, FTZ and DAZ off ---- */
typedef uint64_t ct_fpenv;
ct_fpenv ct_os_fp_enter(void);
void ct_os_fp_leave(ct_fpenv saved);

/* Asks that this process may use AMX tiles, as Linux demands; once granted it stays so. False where that is not known. */
bool ct_os_allow_tiles(void);

/* ---- threads: thin names for what the pool needs ---- */
typedef struct ct_thread *ct_thread;
/* Bytes of a thread's stack, of which pages become memory as they are touched; kernels take up to 40 KiB of it. */
#define CT_OS_STACK ((size_t)512 << 10)
carat_status ct_os_thread_start(ct_thread *t, void (*fn)(void *), void *arg, carat_error *err);
void ct_os_thread_join(ct_thread t);
/* Sleeps while *word == expected (spurious returns allowed); wakes every sleeper. */
void ct_os_wait(const uint32_t *word, uint32_t expected);
void ct_os_wake_all(const uint32_t *word);
void ct_os_pause(void);

#endif
