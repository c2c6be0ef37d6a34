/* SPDX-License-Identifier: Apache-2.0 */
/* os.h: everything that is tied to the operating system; the only place that knows mmap, files, clocks
 * and CPU quotas. Errors name the path. */
#ifndef CT_OS_H
#define CT_OS_H

#include "base/base.h"

/* What tells one state of a file from another; nanoseconds since 1970. */
struct ct_os_id {
    uint64_t device, inode, size;
    int64_t modified, changed;
};

/* A read-only mapping of a whole file. An empty file maps to data != NULL, size 0. */
struct ct_map {
    struct ct_bytes bytes;
    void *base;
    size_t length;
    struct ct_os_id id;
};
carat_status ct_os_map(struct ct_map *m, const char *path, carat_error *err);
void ct_os_unmap(struct ct_map *m);

/* 0 = nothing there, 1 = regular file (or something that reads like one), 2 = directory. */
int ct_os_kind(const char *path);
/* The same for a file that may be absent without a word. Nothing is there only when nothing has the name: a
 * link that leads nowhere or in a circle is an error, so that a file which somebody put there is never passed
 * over. E_NOT_FOUND, E_IO. */
carat_status ct_os_look(int *kind, const char *path, carat_error *err);
/* Nothing has this name, not even a link that leads nowhere. */
bool ct_os_absent(const char *path);
/* False when there is nothing at path. */
bool ct_os_identify(struct ct_os_id *id, const char *path);
/* The path as it reads from every directory, into out[n]; as it is where that is not known or too long. */
void ct_os_absolute(char *out, size_t n, const char *path);
/* E_IO when the names in a directory cannot be looked up, so that all files in it would seem to be missing. */
carat_status ct_os_enter(const char *dir, carat_error *err);

/* Gives the first n bytes of a file to feed, a piece at a time; false when they cannot be read. */
bool ct_os_read_head(const char *path, uint64_t n, void (*feed)(void *user, const void *p, size_t n),
                     void *user);

/* ---- files that carat writes; all of it is in new_file.c ---- */

/* Nothing is there, or a file or link that may give way to another. */
bool ct_os_replaceable(const char *path);
/* A regular file, not a link to one, that belongs to this user and that nobody else may write. */
bool ct_os_own_file(const char *path);
/* A directory of this user alone; with make it is made when absent, with its parents. *why, when false: what is wrong, the
 * end of a sentence. */
bool ct_os_own_directory(const char *dir, bool make, bool *writable, const char **why);
/* Bytes of the disk that dir is on, and those of them that this user may still take; false when not known. */
bool ct_os_disk(const char *dir, uint64_t *total, uint64_t *left);

/* A new file, which comes to its name only when it is whole. While it is made nobody else makes it. */
struct ct_os_new {
    int fd;
    const char *path; /* borrowed */
    uint8_t *base;    /* [size] to be filled */
    size_t size;
};
/* Empties what a process left there that was killed. mode: of the new file, as open takes it. E_BUSY: another process makes
 * the file; E_IO. */
carat_status ct_os_new_begin(struct ct_os_new *n, const char *path, unsigned mode, carat_error *err);
/* Whether somebody makes the file at this moment. */
bool ct_os_new_held(const char *path);
/* Takes size bytes of the disk and maps them, zeroed; E_IO when the disk has no room or the process may not write so much,
 * E_MEMORY. */
carat_status ct_os_new_size(struct ct_os_new *n, size_t size, carat_error *err);
/* Unmaps what was written; the file still has the name it was begun with. */
void ct_os_new_written(struct ct_os_new *n);
/* Brings it to the disk and gives it its name. The time of its last change is then a second ago, so that whoever writes to it
 * later, even at once, gives it another one. *id: what it is under its name; zeroes
 * when somebody has taken that again. */
carat_status ct_os_new_finish(struct ct_os_new *n, const char *name, struct ct_os_id *id, carat_error *err);
/* Takes it back, in every state. */
void ct_os_new_abandon(struct ct_os_new *n);

/* The names in a directory, in no order; nothing when there is none. */
void ct_os_names_in(const char *dir, void (*visit)(void *user, const char *name), void *user);
/* A small file, made anew; false when that fails. One that a kill cut short lacks its end. */
bool ct_os_put(const char *path, const void *data, size_t n);
/* At most n bytes of a small file; the count. */
size_t ct_os_get(const char *path, void *data, size_t n);
bool ct_os_remove(const char *path);
/* Sets its times to now. */
void ct_os_touch(const char *path);
/* Sleeps. */
void ct_os_sleep(double seconds);

/* Zeroed address space of size bytes, page-aligned, backed by memory only where it is touched; NULL when
 * the system refuses. */
void *ct_os_reserve(size_t size);
void ct_os_release(void *p, size_t size);
/* Bytes of a page. */
size_t ct_os_page(void);
/* Asks for huge pages behind the pages of [p, p + size), of a reservation or a mapped file that will be filled or read whole;
 * nothing happens where there are none. */
void ct_os_huge(const void *p, size_t size);
/* Brings the page of a mapped file at p into memory, and its neighbours as the system likes, if it can. */
void ct_os_fetch(const void *p);
/* Bytes of the largest cache; 0: not known. */
size_t ct_os_cache(void);
/* Gives the pages that lie wholly inside [p, p+size) back; they read as zeros afterwards. */
void ct_os_discard(void *p, size_t size);

/* Asks the system to read [p, p+size) of a ct_os_map in advance; may wait for the disk. */
void ct_os_read_ahead(const void *p, size_t size);
/* Drops the pages of a ct_os_map that lie wholly inside [p, p+size); they come back from the file when touched. */
void ct_os_forget(const void *p, size_t size);

/* Monotonic seconds. */
double ct_os_seconds(void);
/* 64 bits from the system's random source. */
uint64_t ct_os_random(void);
/* ---- what this machine lets us use; root goes before /proc and /sys: "" for this machine, a directory in tests.
 * All of it is in cgroup.c. ---- */

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

/* ---- threads: thin names for what the pool needs ---- */
typedef struct ct_thread *ct_thread;
/* Bytes of a thread's stack, of which pages become memory as they are touched; kernels take up to 40 KiB of it. */
#define CT_OS_STACK ((size_t)512 << 10)
carat_status ct_os_thread_start(ct_thread *t, void (*fn)(void *), void *arg, carat_error *err);
void ct_os_thread_join(ct_thread t);
/* Sleeps while *word == expected (spurious returns allowed); wakes every sleeper. */
void ct_os_wait(const uint32_t *word, uint32_t expected);
/* The same for so many seconds at most; below one. */
void ct_os_wait_for(const uint32_t *word, uint32_t expected, double seconds);
void ct_os_wake_all(const uint32_t *word);
void ct_os_pause(void);

#endif
