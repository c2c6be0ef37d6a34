/* SPDX-License-Identifier: Apache-2.0 */
/* machine.c: measures the limits of the machine and remembers them in DIR/machine.json of the cache. The file
 * is trusted as little as one from elsewhere: it has to be well-formed, to describe this very machine, and to
 * have numbers that a machine can have; else it is as if it were not there, and the next one takes its place
 * (cache_file.c). */
#define _POSIX_C_SOURCE 200809L
#include "show/doctor/doctor.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/conditions.h"
#include "term/clock.h"
#include "term/interrupt.h"
#include "term/out_json.h"
#include "term/progress.h"
#include "term/size.h"

#define NAME "machine.json"
/* Seconds of measuring: all threads, then one alone, which is asked once. */
#define PATIENCE     2.0
#define PATIENCE_ALL 1.6
#define NEEDS_MEMORY ((double)(1 << 30)) /* bytes */
/* A file has some 700 bytes. */
enum { MOST_FILE = 16 << 10 };

/* ---- measuring ---- */

static void keep_best(carat_limits *best, const carat_limits *l)
{
    best->threads = l->threads;
    best->read = fmax(best->read, l->read);
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        best->operations[a] = fmax(best->operations[a], l->operations[a]);
}

static void now_text(char out[24])
{
    time_t now = time(NULL);
    struct tm utc;

    out[0] = 0;
    if (gmtime_r(&now, &utc))
        strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* Memory beyond every cache is filled: where there is too little, the system would end this process. */
static bool has_memory(const carat_host_info *h)
{
    double memory = (double)h->memory_available;

    if (h->memory_limit.value > 0 && (memory <= 0 || h->memory_limit.value < memory))
        memory = h->memory_limit.value;
    return memory <= 0 || memory >= NEEDS_MEMORY;
}

bool machine_measure(struct machine *m, const carat_host_info *host)
{
    struct cpu_time before = cpu_time_now(), after;
    struct progress bar;
    carat_error err;
    carat_status status;
    double start = term_seconds();
    bool stop = false;

    *m = (struct machine){.limits = {.size = sizeof m->limits, .isa = host->isa}};
    if (!has_memory(host)) {
        char size[SIZE_TEXT];
        snprintf(m->why_not, sizeof m->why_not, "it takes up to %s of memory", size_text(size, NEEDS_MEMORY));
        return true;
    }
    progress_begin(&bar, "measuring this machine", NULL);
    do {
        carat_limits l = {.size = sizeof l};
        status = carat_measure_limits(0, NULL, stop_when_interrupted, NULL, &l, &err);
        if (status == CARAT_OK)
            keep_best(&m->limits, &l);
        stop = progress_update(&bar, (size_t)(1e3 * (term_seconds() - start)), (size_t)(1e3 * PATIENCE));
    } while (status == CARAT_OK && !stop && term_seconds() - start < PATIENCE_ALL);
    m->read_one = m->limits.read;
    if (status == CARAT_OK && !stop && m->limits.threads > 1) {
        carat_limits one = {.size = sizeof one};
        status = carat_measure_limits(1, NULL, stop_when_interrupted, NULL, &one, &err);
        m->read_one = one.read;
    }
    progress_end(&bar);
    if (status != CARAT_OK) {
        m->limits.read = 0;
        snprintf(m->why_not, sizeof m->why_not, "%s", err.message);
    }
    after = cpu_time_now();
    m->others = cpu_time_others(&before, &after);
    now_text(m->measured_at);
    return !stop && !term_interrupted();
}

/* ---- what is remembered ---- */

/* All that has to be the same for the figures to count: another processor, share of it, kernel, setting or
 * build measures anew. Memory is rounded, since its size differs by a few pages from boot to boot. */
static json_t *identity(const carat_host_info *h)
{
    return json_pack("{s:o, s:o, s:i, s:i, s:i, s:s, s:i, s:i, s:i, s:s, s:o, s:s, s:s, s:i}", "cpu",
                     json_text(h->cpu, strlen(h->cpu)), "vendor", json_text(h->vendor, strlen(h->vendor)),
                     "family", h->family, "model", h->model, "stepping", h->stepping, "isa", h->isa,
                     "threads", h->threads, "online", h->online, "memory_gib",
                     (int)((double)h->memory_total / (1 << 30) + 0.5), "huge_pages", h->huge_pages, "system",
                     json_text(h->system, strlen(h->system)), "build", h->build, "version", h->version,
                     "numerics", h->numerics);
}

static json_t *to_json(const struct machine *m, const carat_host_info *host)
{
    json_t *operations = json_object();

    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        json_object_set_new(operations, arithmetic_names[a], json_real(m->limits.operations[a]));
    return json_pack("{s:o, s:s, s:f, s:f, s:f, s:o}", "machine", identity(host), "measured_at",
                     m->measured_at, "read", m->limits.read, "read_one", m->read_one, "others", m->others,
                     "operations", operations);
}

/* A number of the object, in a range that every machine is in; `or` counts as well. */
static bool machine_number(const json_t *object, const char *key, double low, double high, double or,
                           double *value)
{
    const json_t *n = json_object_get(object, key);

    *value = json_number_value(n);
    return json_is_number(n) && ((*value >= low && *value <= high) || *value == or);
}

/* A date as now_text writes them that is not to come. */
static bool is_past(const char *date)
{
    static const char form[] = "dddd-dd-ddTdd:dd:ddZ";
    char now[24];
    size_t i = 0;

    for (; date[i] && form[i]; i++)
        if (form[i] == 'd' ? date[i] < '0' || date[i] > '9' : date[i] != form[i])
            return false;
    now_text(now);
    return date[i] == form[i] && strcmp(date, now) <= 0;
}

static bool from_json(struct machine *m, const carat_host_info *host, const json_t *file)
{
    json_t *machine = identity(host);
    const char *date = json_string_value(json_object_get(file, "measured_at"));
    const json_t *operations = json_object_get(file, "operations");
    bool good = machine && json_equal(machine, json_object_get(file, "machine")) && date && is_past(date) &&
                machine_number(file, "read", 1e7, 1e14, 1e7, &m->limits.read) &&
                machine_number(file, "read_one", 1e7, 1e14, 1e7, &m->read_one) &&
                machine_number(file, "others", 0, 1e5, -1, &m->others);

    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        good =
            good && machine_number(operations, arithmetic_names[a], 1e7, 1e17, 0, &m->limits.operations[a]);
    if (good)
        snprintf(m->measured_at, sizeof m->measured_at, "%s", date);
    json_decref(machine);
    return good;
}

/* ---- the file ---- */

bool machine_recall(struct machine *m, const carat_host_info *host, const struct cache_place *cache)
{
    struct machine found = {
        .limits = {.size = sizeof found.limits, .threads = host->threads, .isa = host->isa},
        .remembered = true};
    size_t n;
    char *text = cache_file_read(cache, NAME, MOST_FILE, &n);
    json_t *file = text ? json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL) : NULL;
    bool good = file && from_json(&found, host, file);

    json_decref(file);
    free(text);
    if (!good)
        return false;
    snprintf(found.file, sizeof found.file, "%s/" NAME, cache->path);
    *m = found;
    return true;
}

void machine_keep(struct machine *m, const carat_host_info *host, const struct cache_place *cache)
{
    json_t *value = to_json(m, host);
    char *text = value ? json_dumps(value, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) : NULL;

    json_decref(value);
    m->file[0] = m->why_not[0] = 0;
    if (!text)
        snprintf(m->why_not, sizeof m->why_not, "%s", strerror(ENOMEM));
    else if (cache_file_write(cache, NAME, text, strlen(text), true, m->why_not))
        snprintf(m->file, sizeof m->file, "%s/" NAME, cache->path);
    free(text);
}
