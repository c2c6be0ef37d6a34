/* SPDX-License-Identifier: Apache-2.0 */
/* host.c: carat_get_host gathers what cpu.c, cgroup.c and level.c find out, the same code by which an engine
 * decides. It judges nothing: the command says what makes a machine slow. */
#include <stdio.h>

#include "kernel/kernel.h"
#include "base/arguments.h"
#include "machine/machine.h"
#include "os/cgroup.h"

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define COMPILER "gcc " __VERSION__
#else
#define COMPILER "unknown"
#endif

/* clang has __has_feature, gcc macros. */
#if defined(__has_feature)
#define HAS(feature) __has_feature(feature)
#else
#define HAS(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS(address_sanitizer)
#define ADDRESS ", address sanitizer"
#else
#define ADDRESS ""
#endif
#if defined(__SANITIZE_THREAD__) || HAS(thread_sanitizer)
#define THREAD ", thread sanitizer"
#else
#define THREAD ""
#endif
#if defined(NDEBUG) && defined(__OPTIMIZE__)
#define BUILD "release"
#else
#define BUILD "debug"
#endif

/* Copies what fits; what is empty is unknown. */
#define TEXT(to, from) copy(to, sizeof(to), from)
static void copy(char *to, size_t capacity, const char *from)
{
    snprintf(to, capacity, "%s", *from ? from : "unknown");
}

static void tell_cpu(carat_host_info *info)
{
    struct ct_cpu cpu;

    ct_cpu_detect(&cpu);
    TEXT(info->cpu, cpu.name);
    TEXT(info->vendor, cpu.vendor);
    info->family = cpu.family;
    info->model = cpu.model;
    info->stepping = cpu.stepping;
    for (int i = 0; i < cpu.n_level && i < (int)CT_COUNT(info->level) - 1; i++) {
        TEXT(info->level[i].name, cpu.level[i].name);
        info->level[i].present = cpu.level[i].present;
        info->level[i].usable = cpu.level[i].usable;
    }
    struct ct_kernel kernel;
    ct_kernel_choose(&kernel, &cpu, NULL);
    TEXT(info->isa, kernel.isa);
}

static void tell_cpus(carat_host_info *info)
{
    struct ct_cpus c;

    ct_os_count_cpus(&c, "", NULL);
    info->threads = c.use;
    TEXT(info->threads_by, c.by);
    info->online = c.online;
    info->allowed = c.allowed;
    ct_os_list(&c.mask, info->allowed_list, sizeof info->allowed_list);
    info->cores = c.cores;
    info->cpuset = c.cpuset;
    info->quota = c.quota;
}

static void tell_memory(carat_host_info *info)
{
    struct ct_os_memory m;

    ct_os_memory(&m, "");
    info->memory_total = m.total;
    info->memory_available = m.available;
    info->memory_limit = m.limit;
    TEXT(info->huge_pages, m.huge_pages);
    info->page = m.page;
}

static void look_at_host(carat_host_info *info)
{
    *info = (carat_host_info){.size = sizeof *info, .numerics = CARAT_NUMERICS_VERSION};
    TEXT(info->version, CARAT_VERSION);
    TEXT(info->compiler, COMPILER);
    TEXT(info->build, BUILD ADDRESS THREAD);
    ct_os_names(info->system, sizeof info->system, info->libc, sizeof info->libc);
    tell_cpu(info);
    tell_cpus(info);
    tell_memory(info);
}

carat_status carat_get_host(carat_host_info *info, carat_error *err)
{
    carat_host_info full;

    look_at_host(&full);
    return ct_give_struct(info, &full, sizeof full, "carat_host_info", err);
}
