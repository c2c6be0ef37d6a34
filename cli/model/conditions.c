/* SPDX-License-Identifier: Apache-2.0 */
/* conditions.c: reads the few files of /proc and /sys that conditions.h speaks of. All are small; what is
 * missing or not understood is not known. */
#define _POSIX_C_SOURCE 200809L
#include "model/conditions.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "term/clock.h"

const char *const arithmetic_names[CARAT_N_ARITHMETIC] = {"f32", "bf16", "int8", "int4"};

/* The first bytes of a file as a string, without the newline at its end. */
static bool read_text(const char *path, char *text, size_t capacity)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return false;
    ssize_t n = read(fd, text, capacity - 1);
    close(fd);
    if (n > 0 && text[n - 1] == '\n')
        n--;
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* The number behind a word; -1 without it. */
static double number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    double value;

    return at && sscanf(at + strlen(word), "%lf", &value) == 1 && value >= 0 ? value : -1;
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=0", in per cent, of which the first line counts; its file is
 * missing in kernels without the feature. */
static double pressure(const char *path, const char *average)
{
    char text[256];
    double percent = read_text(path, text, sizeof text) ? number_after(text, average) : -1;

    return percent >= 0 && percent <= 100 ? percent / 100 : -1;
}

static void frequency_text(int processor, const char *name, char *text, size_t capacity)
{
    char path[128];

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/%s", processor, name);
    if (!read_text(path, text, capacity))
        text[0] = 0;
}

/* The files have kHz. */
static double frequency(int processor, const char *name)
{
    char text[32];
    double khz;

    frequency_text(processor, name, text, sizeof text);
    return sscanf(text, "%lf", &khz) == 1 && khz > 0 ? khz * 1e3 : 0;
}

/* Each driver has its own switch. */
static bool boost_is_off(void)
{
    static const char *const off[][2] = {
        {"/sys/devices/system/cpu/cpufreq/boost", "0"},
        {"/sys/devices/system/cpu/intel_pstate/no_turbo", "1"},
    };
    char text[8];

    for (size_t i = 0; i < sizeof off / sizeof *off; i++)
        if (read_text(off[i][0], text, sizeof text) && strcmp(text, off[i][1]) == 0)
            return true;
    return false;
}

void conditions_read(struct conditions *c, int processor)
{
    struct cpu_time t = cpu_time_now();
    char text[4096];

    *c = (struct conditions){.stolen = -1, .load = -1};
    c->cpu_waiting = pressure("/proc/pressure/cpu", "avg10=");
    c->memory_waiting = pressure("/proc/pressure/memory", "avg60=");
    if (t.known && t.busy + t.stolen > 0)
        c->stolen = t.stolen / (t.busy + t.stolen);
    if (read_text("/proc/loadavg", text, sizeof text))
        c->load = number_after(text, "");
    if (read_text("/proc/meminfo", text, sizeof text)) {
        double total = number_after(text, "\nSwapTotal:"), left = number_after(text, "\nSwapFree:");
        if (total > 0 && left >= 0 && left <= total) {
            c->swap = total * 1024;
            c->swap_used = (total - left) * 1024;
        }
    }
    frequency_text(processor, "scaling_governor", c->governor, sizeof c->governor);
    frequency_text(processor, "scaling_driver", c->driver, sizeof c->driver);
    c->hz_most = frequency(processor, "cpuinfo_max_freq");
    c->hz_limit = frequency(processor, "scaling_max_freq");
    c->no_boost = boost_is_off();
}

/* "cpu user nice system idle iowait irq softirq steal ..." in ticks of all processors. */
struct cpu_time cpu_time_now(void)
{
    struct cpu_time t = {.at = term_seconds()};
    struct timespec own;
    char text[512];
    double n[8], tick = (double)sysconf(_SC_CLK_TCK);

    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own) == 0)
        t.own = (double)own.tv_sec + (double)own.tv_nsec * 1e-9;
    t.known = tick > 0 && read_text("/proc/stat", text, sizeof text) &&
              sscanf(text, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &n[0], &n[1], &n[2], &n[3], &n[4], &n[5],
                     &n[6], &n[7]) == 8;
    if (t.known) {
        t.busy = (n[0] + n[1] + n[2] + n[5] + n[6]) / tick;
        t.stolen = n[7] / tick;
    }
    return t;
}

double cpu_time_others(const struct cpu_time *before, const struct cpu_time *after)
{
    double spent = after->at - before->at;

    if (!before->known || !after->known || spent <= 0)
        return -1;
    double others = after->busy + after->stolen - before->busy - before->stolen - (after->own - before->own);
    return others > 0 ? others / spent : 0;
}
