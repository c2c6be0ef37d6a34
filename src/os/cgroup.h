/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.h: what this machine is and what this process may have of it. root goes before /proc and /sys: ""
 * for this machine, a directory in tests. */
#ifndef CT_CGROUP_H
#define CT_CGROUP_H

#include "base/base.h"
#include "carat_tools.h"

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
    carat_host_limit cpuset, quota; /* files are named without root */
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
    carat_host_limit limit;
    size_t page;
    char huge_pages[16]; /* "always", "madvise", "never"; "" when not known */
};
void ct_os_memory(struct ct_os_memory *m, const char *root);

/* Kernel with release and machine type, and the C library. */
void ct_os_names(char *kernel, size_t n_kernel, char *libc, size_t n_libc);

#endif
