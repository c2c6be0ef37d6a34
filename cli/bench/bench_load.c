/* SPDX-License-Identifier: Apache-2.0 */
/* bench_load.c: what else a machine did while a test ran, as the system tells it: time of other processes,
 * time that the hypervisor or a quota took away, the frequency of the processors. What it does not tell is
 * NAN or 0. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench/bench.h"

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

size_t peak_rss(void)
{
    struct rusage use;

    return getrusage(RUSAGE_SELF, &use) == 0 ? (size_t)use.ru_maxrss << 10 : 0; /* Linux counts KiB */
}

/* Time that a quota kept the control group waiting, out of the cpu.stat beside the file that states the
 * quota: version 2 counts microseconds, version 1 nanoseconds. */
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
    *m = (struct load_mark){cpu_time_now(), throttled(host)};
}

void load_end(const carat_host_info *host, const struct load_mark *m, struct load *load)
{
    static const double enough = 0.25; /* seconds: the system counts in hundredths */
    const struct cpu_time *then = &m->time, now = cpu_time_now();
    double wall = now.at - then->at, all = wall * host->online;
    bool known = wall >= enough && all > 0;
    bool counted = known && then->known && now.known;

    load->foreign = counted ? ((now.busy - then->busy) - (now.own - then->own)) / all : NAN;
    if (load->foreign < 0) /* some time is booked to the wrong hundredth */
        load->foreign = 0;
    load->steal = counted ? (now.stolen - then->stolen) / all : NAN;
    load->throttled = known ? (throttled(host) - m->throttled) / wall : NAN;
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
