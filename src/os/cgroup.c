/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup.c: what Linux tells about the machine and what this process may have of it: processors, physical
 * cores, control groups, memory, names. What a missing /proc or /sys would have said is taken as "no limit"
 * and "not known". Everything read is small, read once and trusted no further than its syntax. */
#define _GNU_SOURCE
#include "os/cgroup.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- control groups ---- */

/* The first bytes of a small system file as a string, without the newline at its end. The path is printed.
 * False when the file cannot be read. */
__attribute__((format(printf, 3, 4))) static bool read_small(char *text, size_t capacity, const char *format,
                                                             ...)
{
    char path[1400];
    CT_FORMAT(path, format);
    int fd = strlen(path) + 1 < sizeof path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, capacity - 1);
    close(fd);
    if (n > 0 && text[n - 1] == '\n')
        n--;
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Digits at *text, which moves behind them; -1 when there are none, or more than 18, which would overflow. */
static long long digits(const char **text)
{
    long long value = 0;
    int n = 0;
    for (; **text >= '0' && **text <= '9'; n++, ++*text)
        value = n < 18 ? value * 10 + (**text - '0') : -1;
    return n > 0 ? value : -1;
}

static bool bit_of(const struct ct_cpu_mask *m, int i)
{
    return m->bits[i / 64] >> i % 64 & 1;
}

/* The last bit of i's word if that is empty, else i: of thousands of bits hardly any is set. */
static int skip_empty(const struct ct_cpu_mask *m, int i)
{
    return m->bits[i / 64] ? i : i | 63;
}

static int count(const struct ct_cpu_mask *m)
{
    int n = 0;
    for (size_t i = 0; i < CT_COUNT(m->bits); i++)
        n += __builtin_popcountll(m->bits[i]);
    return n;
}

enum { MOST_CPUS = sizeof(struct ct_cpu_mask) * 8 };

/* A list as in "0-3,8"; false when the text is none. */
static bool parse_list(const char *text, struct ct_cpu_mask *m)
{
    *m = (struct ct_cpu_mask){{0}};
    for (const char *p = text;; p++) {
        long long from = digits(&p), to = from;
        if (*p == '-') {
            p++;
            to = digits(&p);
        }
        if (from < 0 || to < from || to >= MOST_CPUS || (*p && *p != ','))
            return false;
        for (long long i = from; i <= to; i++)
            m->bits[i / 64] |= (uint64_t)1 << i % 64;
        if (!*p)
            return true;
    }
}

/* What the texts of control groups say; 0 for no limit and for what is not understood. */

static double parse_quota(const char *text) /* "max 100000", "150000 100000"; version 1 writes -1 for none */
{
    long long quota = digits(&text), period = *text == ' ' ? (text++, digits(&text)) : -1;
    return quota > 0 && period > 0 && quota / period < 1 << 20 ? (double)quota / (double)period : 0;
}

static double parse_bytes(const char *text) /* "max"; version 1 writes a number near 2^63 for none */
{
    long long bytes = digits(&text);
    return bytes > 0 && bytes < 1ll << 60 ? (double)bytes : 0;
}

static double parse_cpuset(const char *text)
{
    struct ct_cpu_mask mask;
    return parse_list(text, &mask) ? count(&mask) : 0;
}

static const struct controller {
    const char *name, *v2, *v1[2]; /* files; of two the texts are joined with a space */
    double (*parse)(const char *text);
} quota_controller = {"cpu", "cpu.max", {"cpu.cfs_quota_us", "cpu.cfs_period_us"}, parse_quota},
  memory_controller = {"memory", "memory.max", {"memory.limit_in_bytes"}, parse_bytes},
  cpuset_controller = {"cpuset", "cpuset.cpus.effective", {"cpuset.cpus"}, parse_cpuset};

/* Takes over the limit of one group where it is tighter. */
static void group_limit(carat_host_limit *limit, const struct controller *c, const char *root,
                        const char *dir, bool v2)
{
    char text[64];
    const char *file = v2 ? c->v2 : c->v1[0];

    if (!read_small(text, sizeof text, "%s%s/%s", root, dir, file))
        return;
    if (!v2 && c->v1[1]) {
        size_t n = strlen(text);
        if (n + 2 >= sizeof text ||
            !read_small(text + n + 1, sizeof text - n - 1, "%s%s/%s", root, dir, c->v1[1]))
            return;
        text[n] = ' ';
    }
    double value = c->parse(text);
    if (value <= 0 || (limit->value > 0 && limit->value <= value))
        return;
    limit->value = value;
    snprintf(limit->file, sizeof limit->file, "%s/%s", dir, file);
    memcpy(limit->text, text, sizeof text);
}

/* Looks at every group from `group` up to the root of the hierarchy mounted at `mount`. The group's path as
 * /proc tells it may lie outside what a container sees; then only the root is there to look at. */
static void hierarchy_limit(carat_host_limit *limit, const struct controller *c, const char *root,
                            const char *mount, const char *group, bool v2)
{
    char dir[480]; /* longer ones are left out: then the root alone is looked at */
    int n = snprintf(dir, sizeof dir, "%s%s", mount, group);
    if (n < 0 || n >= (int)sizeof dir)
        n = snprintf(dir, sizeof dir, "%s", mount);
    size_t top = strlen(mount);
    for (;;) {
        group_limit(limit, c, root, dir, v2);
        char *slash = strrchr(dir, '/');
        if (!slash || (size_t)(slash - dir) < top)
            return;
        *slash = 0;
    }
}

/* Lines of /proc/self/cgroup are "number:controllers:path"; number 0 without controllers is version 2, which
 * may stand beside version 1. Mounts have the name of one controller or of all that share the hierarchy. */
static carat_host_limit find_limit(const struct controller *c, const char *root)
{
    carat_host_limit limit = {0};
    char text[4096], mount[256], *next;

    if (!read_small(text, sizeof text, "%s/proc/self/cgroup", root))
        return limit;
    for (char *line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *controllers++ = 0;
        *group++ = 0;
        if (strcmp(group, "/") == 0)
            group = "";
        char list[128], name[32];
        if (!*controllers) {
            hierarchy_limit(&limit, c, root, "/sys/fs/cgroup", group, true);
            hierarchy_limit(&limit, c, root, "/sys/fs/cgroup/unified", group, true);
        } else if (snprintf(list, sizeof list, ",%s,", controllers) < (int)sizeof list &&
                   snprintf(name, sizeof name, ",%s,", c->name) < (int)sizeof name && strstr(list, name)) {
            snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", c->name);
            hierarchy_limit(&limit, c, root, mount, group, false);
            snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", controllers);
            hierarchy_limit(&limit, c, root, mount, group, false);
        }
    }
    return limit;
}

/* ---- processors ---- */

static bool read_list(const char *root, const char *name, struct ct_cpu_mask *m)
{
    char text[4096];
    return read_small(text, sizeof text, "%s/sys/devices/system/cpu/%s", root, name) && parse_list(text, m);
}

/* The lowest processor that is in both, -1 for none. */
static int first_common(const struct ct_cpu_mask *a, const struct ct_cpu_mask *b)
{
    for (size_t i = 0; i < CT_COUNT(a->bits); i++)
        if (a->bits[i] & b->bits[i])
            return (int)i * 64 + __builtin_ctzll(a->bits[i] & b->bits[i]);
    return -1;
}

/* Processors of the mask that are the first of the mask in their core; 0 when the machine does not tell. One
 * that tells nothing counts as a core of its own. */
static int count_cores(const struct ct_cpu_mask *mask, const char *root)
{
    int cores = 0, told = 0;
    for (int i = 0; i < MOST_CPUS; i++) {
        struct ct_cpu_mask siblings;
        char name[64];
        if (!bit_of(mask, i)) {
            i = skip_empty(mask, i);
            continue;
        }
        snprintf(name, sizeof name, "cpu%d/topology/thread_siblings_list", i);
        int first = i;
        if (read_list(root, name, &siblings) && bit_of(&siblings, i)) {
            told++;
            first = first_common(mask, &siblings);
        }
        cores += first == i;
    }
    return told ? cores : 0;
}

static void limit_threads(struct ct_cpus *c, int limit, const char *by)
{
    if (limit > 0 && (limit < c->use || c->use == 0)) {
        c->use = limit;
        c->by = by;
    }
}

void ct_os_count_cpus(struct ct_cpus *c, const char *root, const struct ct_cpu_mask *mask)
{
    struct ct_cpu_mask online;

    *c = (struct ct_cpus){.by = "online"};
    if (mask)
        c->mask = *mask;
    else
        sched_getaffinity(0, sizeof c->mask, (cpu_set_t *)&c->mask);
    c->allowed = count(&c->mask);
    c->online = read_list(root, "online", &online) ? count(&online) : 0;
    if (c->allowed == 0 && c->online == 0)
        c->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    c->cores = count_cores(&c->mask, root);
    c->cpuset = find_limit(&cpuset_controller, root);
    c->quota = find_limit(&quota_controller, root);

    limit_threads(c, c->online, "online");
    limit_threads(c, c->allowed,
                  c->cpuset.value > 0 && c->cpuset.value <= c->allowed ? "cpuset" : "affinity");
    limit_threads(c, c->cores, "cores");
    int whole = (int)c->quota.value;
    limit_threads(c, whole + (whole < c->quota.value), "quota");
    c->use = CT_MAX(c->use, 1);
}

int ct_os_cpus(void)
{
    struct ct_cpus c;
    ct_os_count_cpus(&c, "", NULL);
    return c.use;
}

void ct_os_list(const struct ct_cpu_mask *m, char *out, size_t capacity)
{
    size_t n = 0;

    out[0] = 0;
    for (int i = 0; i < MOST_CPUS; i++) {
        if (!bit_of(m, i)) {
            i = skip_empty(m, i);
            continue;
        }
        int last = i;
        char item[32];
        while (last + 1 < MOST_CPUS && bit_of(m, last + 1))
            last++;
        int length = snprintf(item, sizeof item, last > i ? "%s%d-%d" : "%s%d", n ? "," : "", i, last);
        if (n + (size_t)length + sizeof "..." > capacity) {
            snprintf(out + n, capacity - n, "...");
            return;
        }
        n += (size_t)snprintf(out + n, capacity - n, "%s", item);
        i = last;
    }
}

/* ---- memory and names ---- */

void ct_os_memory(struct ct_os_memory *m, const char *root)
{
    char text[8192], *line, *end;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);

    *m = (struct ct_os_memory){.page = page > 0 ? (size_t)page : 0};
    if (pages > 0 && page > 0)
        m->total = (uint64_t)pages * (uint64_t)page;
    if (read_small(text, sizeof text, "%s/proc/meminfo", root) && (line = strstr(text, "\nMemAvailable:"))) {
        const char *p = line + strlen("\nMemAvailable:");
        p += strspn(p, " ");
        long long kib = digits(&p);
        m->available = kib > 0 && kib < 1ll << 50 ? (uint64_t)kib << 10 : 0;
    }
    m->limit = find_limit(&memory_controller, root);
    /* "always [madvise] never": the word in brackets holds */
    if (read_small(text, sizeof text, "%s/sys/kernel/mm/transparent_hugepage/enabled", root) &&
        (line = strchr(text, '[')) && (end = strchr(line, ']')))
        snprintf(m->huge_pages, sizeof m->huge_pages, "%.*s", (int)(end - line - 1), line + 1);
}

void ct_os_names(char *kernel, size_t n_kernel, char *libc, size_t n_libc)
{
    struct utsname u;

    if (uname(&u) == 0)
        snprintf(kernel, n_kernel, "%s %s %s", u.sysname, u.release, u.machine);
    else
        snprintf(kernel, n_kernel, "unknown");
    if (confstr(_CS_GNU_LIBC_VERSION, libc, n_libc) == 0)
        snprintf(libc, n_libc, "unknown");
}
