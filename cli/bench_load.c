/* bench_load.c: what else a machine did while a test ran, as the system tells it: time of other processes, time that the
 * hypervisor or a quota took away, the frequency of the processors. What it does not tell is NAN or 0. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"

/* The first line of a small file of the system; false when there is none. */
static bool first_line(const char *path, char *line, size_t capacity)
{
    FILE *f = fopen(path, "r");
    bool good = f && fgets(line, (int)capacity, f);

    if (f)
        fclose(f);
    if (good)
        line[strcspn(line, "\n")] = 0;
    return good;
}

static double time_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

size_t peak_rss(void)
{
    struct rusage use;

    return getrusage(RUSAGE_SELF, &use) == 0 ? (size_t)use.ru_maxrss << 10 : 0; /* Linux counts KiB */
}

/* Time that a quota kept the control group waiting, out of the cpu.stat beside the file that states the quota: version 2
 * counts microseconds, version 1 nanoseconds. */
static double throttled(const carat_host_info *host)
{
    const char *slash = strrchr(host->quota.file, '/');
    char path[sizeof host->quota.file + 16], line[128];
    double value = NAN;
    unsigned long long ticks;

    if (host->quota.value <= 0 || !slash)
        return NAN;
    snprintf(path, sizeof path, "%.*s/cpu.stat", (int)(slash - host->quota.file), host->quota.file);
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "throttled_usec %llu", &ticks) == 1)
            value = (double)ticks * 1e-6;
        else if (sscanf(line, "throttled_time %llu", &ticks) == 1)
            value = (double)ticks * 1e-9;
    }
    if (f)
        fclose(f);
    return value;
}

void load_begin(const carat_host_info *host, struct load_mark *m)
{
    unsigned long long user, nice, system, idle, wait, irq, softirq, steal;
    double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    struct rusage use;
    char line[256];

    *m = (struct load_mark){seconds(), NAN, NAN, NAN, throttled(host)};
    if (getrusage(RUSAGE_SELF, &use) == 0)
        m->own = time_of(use.ru_utime) + time_of(use.ru_stime);
    if (first_line("/proc/stat", line, sizeof line) &&
        sscanf(line, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &user, &nice, &system, &idle, &wait, &irq,
               &softirq, &steal) == 8) {
        m->busy = (double)(user + nice + system + irq + softirq) * tick;
        m->steal = (double)steal * tick;
    }
}

void load_end(const carat_host_info *host, const struct load_mark *m, struct load *load)
{
    static const double enough = 0.25; /* seconds: the system counts in hundredths */
    struct load_mark now;

    load_begin(host, &now);
    double wall = now.wall - m->wall, all = wall * host->online;
    bool known = wall >= enough && host->online > 0;
    load->foreign = known ? ((now.busy - m->busy) - (now.own - m->own)) / all : NAN;
    if (load->foreign < 0) /* the system books some time to the wrong hundredth */
        load->foreign = 0;
    load->steal = known ? (now.steal - m->steal) / all : NAN;
    load->throttled = known ? (now.throttled - m->throttled) / wall : NAN;
}

static double number_in(const char *directory, int i, const char *name, char *text, size_t capacity)
{
    char path[128];

    snprintf(path, sizeof path, "%s%d/cpufreq/%s", directory, i, name);
    return first_line(path, text, capacity) ? strtod(text, NULL) : 0;
}

void load_frequency(struct load *load)
{
    static const char directory[] = "/sys/devices/system/cpu/cpu";
    long n = sysconf(_SC_NPROCESSORS_CONF);
    double mhz, most;
    char text[32];

    for (int i = 0; i < n && i < 4096; i++) {
        most = number_in(directory, i, "cpuinfo_max_freq", text, sizeof text) / 1e3; /* files count kHz */
        if (most <= 0)
            return; /* a machine that does not tell tells it for no processor */
        mhz = number_in(directory, i, "scaling_cur_freq", text, sizeof text) / 1e3;
        if (mhz > load->mhz) {
            load->mhz = mhz;
            load->mhz_most = most;
            number_in(directory, i, "scaling_governor", load->governor, sizeof load->governor);
        }
    }
}
