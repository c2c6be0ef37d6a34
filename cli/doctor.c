/* doctor.c: `carat doctor`: what this machine is, how carat would use it and what makes it slow, for people, bug reports
 * and programs. The facts are the library's (carat_get_host); the judgement is the command's. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

enum { MOST_WARNINGS = 8 };
/* Vendor, family, model and stepping in the terms of the architecture. */
#if defined(__aarch64__)
#define IDENTITY " (%s, implementer %#x, part %#x, revision %#x)"
#else
#define IDENTITY " (%s, family %d, model %d, stepping %d)"
#endif
#define LITTLE_MEMORY 2e9 /* bytes: a Gemma of 1B in bf16 fills them */

struct report {
    carat_host_info host;
    struct cache_place cache;
    char warning[MOST_WARNINGS][320];
    int n_warning;
};

/* ---- judgement ---- */

static void warn(struct report *r, const char *format, ...) PRINTF(2, 3);
static void warn(struct report *r, const char *format, ...)
{
    va_list args;

    if (r->n_warning == MOST_WARNINGS)
        return;
    va_start(args, format);
    vsnprintf(r->warning[r->n_warning++], sizeof r->warning[0], format, args);
    va_end(args);
}

static void judge(struct report *r)
{
    const carat_host_info *h = &r->host;
    int cores = h->cores ? h->cores : h->allowed;

    if (h->quota.value > 0 && h->quota.value < cores)
        warn(r, "the CPU quota grants %g of %d cores", h->quota.value, cores);
    if (h->online > 0 && h->allowed > 0 && h->allowed < h->online)
        warn(r, "the process may use %d of %d processors", h->allowed, h->online);
#if defined(__x86_64__)
    if (strcmp(h->isa, "ref") == 0)
        warn(r, "the processor or the system lacks AVX2, FMA or F16C: the plain kernels are used, which are "
                "several "
                "times slower");
#endif
    double memory = (double)h->memory_available;
    bool limited = h->memory_limit.value > 0 && (memory <= 0 || h->memory_limit.value < memory);
    if (limited)
        memory = h->memory_limit.value;
    if (memory > 0 && memory < LITTLE_MEMORY)
        warn(r, "%s %.1f GiB of memory: larger models do not fit or are read from disk again and again",
             limited ? "control groups allow only" : "there are only", memory / (1 << 30));
    if (strcmp(h->huge_pages, "never") == 0)
        warn(r, "transparent huge pages are switched off");
    if (strcmp(h->build, "release") != 0)
        warn(r, "this is no plain release build but: %s", h->build);
}

/* ---- for people ---- */

/* Text from the machine and the environment: no byte of it may end the block or move the cursor. */
static void line(const char *name, const char *format, ...) PRINTF(2, 3);
static void line(const char *name, const char *format, ...)
{
    char text[MOST_CACHE_PATH + 256];
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

static const char *gib(char buffer[32], double bytes)
{
    if (bytes > 0)
        snprintf(buffer, 32, "%.2f GiB", bytes / (1 << 30));
    else
        snprintf(buffer, 32, "unknown");
    return buffer;
}

/* What decided, in words. */
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

static void print_processor(const carat_host_info *h)
{
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

static void print_memory(const carat_host_info *h)
{
    char total[32], available[32];

    line("memory", "%s, available %s", gib(total, (double)h->memory_total),
         gib(available, (double)h->memory_available));
    if (h->memory_limit.value > 0)
        line("  limit", "%s (%s: %s)", gib(total, h->memory_limit.value), h->memory_limit.file,
             h->memory_limit.text);
    else
        line("  limit", "none");
    line("  huge pages", "%s", h->huge_pages);
    line("  page size", "%zu", h->page);
}

static int print_text(const struct report *r)
{
    const carat_host_info *h = &r->host;

    out_print("```\n");
    line("carat", "%s, numerics %d", h->version, h->numerics);
    line("build", "%s, %s", h->build, h->compiler);
    line("system", "%s, %s", h->system, h->libc);
    print_processor(h);
    print_threads(h);
    print_memory(h);
    line("cache", "%s%s%s; not used yet", r->cache.path, *r->cache.path ? ": " : "", r->cache.note);
    for (int i = 0; i < r->n_warning; i++)
        line("warning", "%s", r->warning[i]);
    out_print("```\n");
    return DONE;
}

/* ---- for programs ---- */

static json_t *limit_json(const carat_host_limit *l)
{
    return l->value > 0
               ? json_pack("{s:f, s:o, s:o}", "value", l->value, "file", json_text(l->file, strlen(l->file)),
                           "text", json_text(l->text, strlen(l->text)))
               : json_null();
}

/* What is not known is null. */
static json_t *known(double value)
{
    return value > 0 ? json_integer((json_int_t)value) : json_null();
}

static json_t *text_json(const char *text)
{
    return *text ? json_text(text, strlen(text)) : json_null();
}

static json_t *processor_json(const carat_host_info *h)
{
    json_t *levels = json_array();

    for (int i = 0; *h->level[i].name; i++)
        json_array_append_new(levels, json_pack("{s:s, s:b, s:b}", "name", h->level[i].name, "present",
                                                h->level[i].present, "usable", h->level[i].usable));
    return json_pack("{s:o, s:o, s:i, s:i, s:i, s:o, s:s}", "name", text_json(h->cpu), "vendor",
                     text_json(h->vendor), "family", h->family, "model", h->model, "stepping", h->stepping,
                     "levels", levels, "isa", h->isa);
}

static json_t *threads_json(const carat_host_info *h)
{
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "threads", h->threads, "decided_by",
                     h->threads_by, "online", known(h->online), "allowed", known(h->allowed), "allowed_list",
                     text_json(h->allowed_list), "cpuset", limit_json(&h->cpuset), "cores", known(h->cores),
                     "quota", limit_json(&h->quota));
}

static json_t *memory_json(const carat_host_info *h)
{
    return json_pack("{s:o, s:o, s:o, s:s, s:o}", "total", known((double)h->memory_total), "available",
                     known((double)h->memory_available), "limit", limit_json(&h->memory_limit), "huge_pages",
                     h->huge_pages, "page", known((double)h->page));
}

static int print_json(const struct report *r)
{
    const carat_host_info *h = &r->host;
    json_t *warnings = json_array();

    for (int i = 0; i < r->n_warning; i++)
        json_array_append_new(warnings, text_json(r->warning[i]));
    return out_json(
        json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:{s:o, s:b, s:b, s:b}, s:o}", "version",
                  h->version, "numerics", h->numerics, "compiler", h->compiler, "build", h->build, "system",
                  text_json(h->system), "libc", text_json(h->libc), "processor", processor_json(h), "threads",
                  threads_json(h), "memory", memory_json(h), "cache", "directory", text_json(r->cache.path),
                  "exists", r->cache.exists, "writable", r->cache.writable, "used", 0, "warnings", warnings));
}

int verb_doctor(const struct options *o)
{
    struct report r = {.host.size = sizeof r.host};
    carat_error err;

    if (carat_get_host(&r.host, &err) != CARAT_OK)
        return fail_status(&err);
    cache_find(&r.cache);
    judge(&r);
    return o->json ? print_json(&r) : print_text(&r);
}
