/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.c: `carat doctor`: what this machine is, how carat would use it, what it can do at most and what
 * makes it slow, for people, bug reports and programs. The facts are the library's (carat_get_host,
 * carat_measure_limits) and those of conditions.c; the judgement is doctor_advice.c's. */
#define _GNU_SOURCE /* environ */
#include "show/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/model.h"
#include "model/self_check.h"
#include "show/show_options.h"
#include "term/exit.h"
#include "term/interrupt.h"
#include "term/message.h"
#include "term/output.h"
#include "term/size.h"

/* Vendor, family, model and stepping in the terms of the architecture. */
#if defined(__aarch64__)
#define IDENTITY " (%s, implementer %#x, part %#x, revision %#x)"
#else
#define IDENTITY " (%s, family %d, model %d, stepping %d)"
#endif

/* Text from the machine and the environment: no byte of it may end the block or move the cursor. */
static void line(const char *name, const char *format, ...) PRINTF(2, 3);
static void line(const char *name, const char *format, ...)
{
    char text[2 * MOST_CACHE_PATH + 512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *p = text; *p; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f || *p == '`')
            *p = '?';
    }
    out_print("%-20s%s\n", name, text);
}

static const char *number(char buffer[16], int value)
{
    if (value > 0)
        snprintf(buffer, 16, "%d", value);
    else
        snprintf(buffer, 16, "unknown");
    return buffer;
}

static const char *known_size(char buffer[SIZE_TEXT], double bytes)
{
    return bytes > 0 ? size_text(buffer, bytes) : strcpy(buffer, "unknown");
}

/* Says in words what decided. */
static const char *reason(const char *by)
{
    static const struct {
        const char *by, *words;
    } table[] = {
        {"online", "one for each processor"},
        {"affinity", "one for each processor in the affinity mask"},
        {"cpuset", "one for each processor in the cpuset"},
        {"cores", "one for each physical core; SMT siblings share one"},
        {"quota", "the CPU quota, rounded up"},
    };

    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(by, table[i].by) == 0)
            return table[i].words;
    }
    return by;
}

static void print_processor(const struct report *r)
{
    const carat_host_info *h = &r->host;
    char identity[96] = ""; /* what the brand does not say */
    if (h->family)
        snprintf(identity, sizeof identity, IDENTITY, h->vendor, h->family, h->model, h->stepping);
    line("processor", "%s%s", h->cpu, identity);
    for (int i = 0; *h->level[i].name; i++) {
        const carat_host_level *l = &h->level[i];
        line(i ? "" : "  levels", "%-20s%s", l->name,
             l->usable    ? "has"
             : l->present ? "has, but the system does not permit it"
                          : "-");
    }
    line("  carat uses", "%s", h->isa);
    line("  why not more", "%s", r->kernels_why);
}

static void print_threads(const carat_host_info *h)
{
    char buffer[16];

    line("threads", "%d: %s", h->threads, reason(h->threads_by));
    line("  online", "%s", number(buffer, h->online));
    line("  affinity mask", "%s%s%s%s", number(buffer, h->allowed), *h->allowed_list ? " (" : "",
         h->allowed_list, *h->allowed_list ? ")" : "");
    if (h->cpuset.value > 0)
        line("  cpuset", "%g (%s: %s)", h->cpuset.value, h->cpuset.file, h->cpuset.text);
    else
        line("  cpuset", "none");
    line("  physical cores", "%s", number(buffer, h->cores));
    if (h->quota.value > 0)
        line("  quota", "%g (%s: %s)", h->quota.value, h->quota.file, h->quota.text);
    else
        line("  quota", "none");
}

static void print_memory(const struct report *r)
{
    const carat_host_info *h = &r->host;
    char total[SIZE_TEXT], part[SIZE_TEXT];

    line("memory", "%s, available %s", known_size(total, (double)h->memory_total),
         known_size(part, (double)h->memory_available));
    if (h->memory_limit.value > 0)
        line("  limit", "%s (%s: %s)", size_text(total, h->memory_limit.value), h->memory_limit.file,
             h->memory_limit.text);
    else
        line("  limit", "none");
    if (r->now.swap > 0)
        line("  swap", "%s of %s used", size_text(part, r->now.swap_used), size_text(total, r->now.swap));
    else
        line("  swap", "none");
    line("  huge pages", "%s", h->huge_pages);
    line("  page size", "%zu", h->page);
}

/* A share of time in words, or that it is not known. */
static void print_share(const char *name, double share, const char *of)
{
    if (share >= 0)
        line(name, "%.1f %% of %s", 100 * share, of);
    else
        line(name, "unknown");
}

static void print_now(const struct conditions *c)
{
    char limit[48] = "";

    print_share("load", c->cpu_waiting, "the last ten seconds, processes waited for a processor");
    print_share("  stolen", c->stolen, "the processors' time went to other guests, since the start");
    if (c->hz_most > 0)
        snprintf(limit, sizeof limit, ", up to %.2f of %.2f GHz", c->hz_limit / 1e9, c->hz_most / 1e9);
    line("  frequency", "%s%s%s%s%s%s", *c->governor ? c->governor : "unknown", *c->driver ? " (" : "",
         c->driver, *c->driver ? ")" : "", limit, c->no_boost ? ", no boost" : "");
}

/* Settings that change what carat does; each is named, none is hidden in a bug report. */
static void print_variables(void)
{
    char text[512];
    size_t used = 0;

    for (char **p = environ; *p && used < sizeof text; p++)
        if (strncmp(*p, "CARAT_ARG_", 10) == 0 || strncmp(*p, "OMP_NUM_THREADS=", 16) == 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used ? " " : "", *p);
    line("variables", "%s", used ? text : "none");
}

static void print_speed(const carat_limits *limits)
{
    struct speed s;

    for (int i = 0; doctor_speed(&s, i, limits); i++) {
        char name[32], prompt[48] = "", size[SIZE_TEXT];
        snprintf(name, sizeof name, "%s %s", s.model, s.type);
        if (s.prompt > 0)
            snprintf(prompt, sizeof prompt, "prompt %6.0f tok/s, ", s.prompt);
        line(i ? "" : "  so at most", "%-18s%8s  %sgeneration %6.1f tok/s", name, size_text(size, s.bytes),
             prompt, s.generation);
    }
}

static void print_limits(const struct machine *m)
{
    char text[128] = "";
    size_t used = 0;

    if (m->limits.read <= 0) {
        line("limits", "not measured: %s", m->why_not);
        return;
    }
    if (m->others >= 0)
        snprintf(text, sizeof text, "; others kept %.1f processors busy", m->others);
    /* "2026-11-21T22:11:25Z" as people read it */
    line("limits", "measured %.10s %.5s UTC, %s%s", m->measured_at, m->measured_at + 11,
         m->remembered ? "remembered" : "just now", text);
    line("  kept in", "%s%s%s", m->file, *m->file ? "" : "nothing: ", *m->file ? "" : m->why_not);
    if (m->limits.threads > 1)
        line("  memory", "%.1f GB/s read by %d threads, %.1f by one", m->limits.read / 1e9, m->limits.threads,
             m->read_one / 1e9);
    else
        line("  memory", "%.1f GB/s read by one thread", m->limits.read / 1e9);
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        if (m->limits.operations[a] > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%.0f %s", used ? ", " : "",
                                     m->limits.operations[a] / 1e9, arithmetic_names[a]);
    line("  arithmetic", "%s%s", used ? text : "unknown for these kernels", used ? " GOP/s" : "");
    print_speed(&m->limits);
}

static void print_devices(const struct devices *d)
{
    const char *name;
    char text[DEVICE_TEXT];

    for (int i = 0; doctor_device(d, i, &name, text); i++)
        line(name, "%s", text);
}

static void print_cache(const struct report *r)
{
    static const char *const words[CACHE_STATES] = {
        [CARAT_CACHE_STALE] = "of changed models",
        [CARAT_CACHE_GONE] = "whose models are gone",
        [CARAT_CACHE_USELESS] = "damaged or of another version",
    };
    const struct cache_place *c = &r->cache;
    const struct cache_content *in = &r->content;
    char models[96] = "", disk[96] = "", useless[256] = "", part[SIZE_TEXT], whole[SIZE_TEXT];
    size_t used = 0;
    double bytes;
    int n = doctor_cache_count(in, CARAT_CACHE_CURRENT, &bytes);

    if (c->in.usable)
        snprintf(models, sizeof models, "%s%d model%s, %s of %s", c->in.writable ? "" : ", ", n,
                 n == 1 ? "" : "s", size_text(part, bytes), size_text(whole, r->cap));
    if (c->in.disk > 0)
        snprintf(disk, sizeof disk, ", %s (%.0f %%) of its disk free",
                 size_text(part, (double)c->in.disk_free),
                 100 * (double)c->in.disk_free / (double)c->in.disk);
    line("cache", "%s%s%s%s%s", c->path, *c->path ? ": " : "",
         c->in.usable && c->in.writable ? "" : c->in.note, models, disk);
    for (int i = CARAT_CACHE_CURRENT + 1; i < CACHE_STATES; i++)
        if (in->n[i])
            used += (size_t)snprintf(useless + used, sizeof useless - used, "%s%d %s", used ? ", " : "",
                                     in->n[i], words[i]);
    if (in->n_part)
        used += (size_t)snprintf(useless + used, sizeof useless - used, "%s%d unfinished", used ? ", " : "",
                                 in->n_part);
    if (used)
        line("  of no use", "%s", useless);
}

static void print_costs(const struct report *r)
{
    char name[32], text[COSTS_TEXT];
    int i = 0;

    for (; doctor_costs(r, i, name, text); i++)
        line(name, "%s", text);
    if (i == 0 && r->embeds)
        line("costs", "none are kept of an embedding model: carat bench %s times its vectors", r->model);
    else if (i == 0)
        line("costs", "none are known: %s",
             r->has_costs ? "no run has measured any" : "the model is not in the cache");
}

static int doctor_print_text(const struct report *r)
{
    const carat_host_info *h = &r->host;
    char unread[UNREAD_TEXT];

    out_print("```\n");
    line("carat", "%s, numerics %d", h->version, h->numerics);
    line("build", "%s, %s", h->build, h->compiler);
    line("system", "%s, %s", h->system, h->libc);
    print_processor(r);
    print_threads(h);
    print_memory(r);
    print_now(&r->now);
    print_variables();
    print_limits(&r->machine);
    print_devices(&r->devices);
    print_cache(r);
    if (r->model)
        print_costs(r);
    for (int i = 0; doctor_unread(&r->unread, i, unread); i++)
        line(i ? "" : "config.json", "%s", unread);
    for (int i = 0; i < r->n_advice; i++)
        line("advice", "%s", r->advice[i].text);
    if (r->n_advice == 0)
        line("advice", "none: nothing was found that makes this machine slower than it is");
    out_print("```\n");
    return DONE;
}

/* Finds the limits that are remembered, unless they shall be measured anew. An exit code. */
static int find_limits(struct report *r, const char *when)
{
    bool on = strcmp(when, "on") == 0, off = strcmp(when, "off") == 0;

    if (!on && machine_recall(&r->machine, &r->host, &r->cache))
        return DONE;
    if (off) {
        snprintf(r->machine.why_not, sizeof r->machine.why_not, "carat doctor --measure does");
        return DONE;
    }
    interrupt_install();
    if (!machine_measure(&r->machine, &r->host))
        return INTERRUPTED;
    if (r->machine.limits.read > 0) {
        machine_keep(&r->machine, &r->host, &r->cache);
        cache_find(&r->cache); /* it may be there only now */
    }
    return DONE;
}

/* Without a model the one inside the command will do: it needs every processor, and no file. */
static int soak(const struct options *o)
{
    struct options with = *o;

    if (options_given(o, &o->show->measure))
        return term_fail(USAGE, "doctor: --soak goes without --measure");
    with.model = o->model ? o->model : "tiny";
    return self_check(&with, 0, o->show->soak, o->json);
}

int verb_doctor(const struct options *o)
{
    struct report r = {.host.size = sizeof r.host};
    carat_error err;
    int code;

    if (o->show->soak > 0)
        return soak(o);
    if (carat_get_host(&r.host, &err) != CARAT_OK)
        return fail_status(&err);
    cache_find(&r.cache);
    conditions_read(&r.now, atoi(r.host.allowed_list)); /* before measuring is part of them */
    if (o->model && (code = doctor_find_costs(&r, o)) != DONE)
        return code;
    if ((code = find_limits(&r, o->show->measure)) != DONE)
        return code;
    doctor_find_devices(&r.devices);
    r.cap = (double)o->open->cache_size;
    if (r.cache.in.usable)
        doctor_look_into(&r.content, r.cache.path);
    doctor_judge(&r);
    return o->json ? doctor_print_json(&r) : doctor_print_text(&r);
}
