/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_json.c: what `carat doctor` found out, for programs: one object on one line. What is not known is
 * null. */
#include <string.h>

#include "show/doctor/doctor.h"
#include "term/out_json.h"

static json_t *limit_json(const carat_host_limit *l)
{
    return l->value > 0
               ? json_pack("{s:f, s:o, s:o}", "value", l->value, "file", json_text(l->file, strlen(l->file)),
                           "text", json_text(l->text, strlen(l->text)))
               : json_null();
}

static json_t *known(double value)
{
    return value > 0 ? json_integer((json_int_t)value) : json_null();
}

static json_t *positive(double value)
{
    return value > 0 ? json_number(value) : json_null();
}

/* A share_json, of which 0 is one and -1 is not known. */
static json_t *share_json(double value)
{
    return value >= 0 ? json_number(value) : json_null();
}

static json_t *text_json(const char *text)
{
    return *text ? json_text(text, strlen(text)) : json_null();
}

static json_t *processor_json(const struct report *r)
{
    const carat_host_info *h = &r->host;
    json_t *levels = json_array();

    for (int i = 0; *h->level[i].name; i++)
        json_array_append_new(levels, json_pack("{s:s, s:b, s:b}", "name", h->level[i].name, "present",
                                                h->level[i].present, "usable", h->level[i].usable));
    return json_pack("{s:o, s:o, s:i, s:i, s:i, s:o, s:s, s:s}", "name", text_json(h->cpu), "vendor",
                     text_json(h->vendor), "family", h->family, "model", h->model, "stepping", h->stepping,
                     "levels", levels, "isa", h->isa, "isa_why", r->kernels_why);
}

static json_t *threads_json(const carat_host_info *h)
{
    return json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "threads", h->threads, "decided_by",
                     h->threads_by, "online", known(h->online), "allowed", known(h->allowed), "allowed_list",
                     text_json(h->allowed_list), "cpuset", limit_json(&h->cpuset), "cores", known(h->cores),
                     "quota", limit_json(&h->quota));
}

static json_t *memory_json(const struct report *r)
{
    const carat_host_info *h = &r->host;

    return json_pack("{s:o, s:o, s:o, s:s, s:o, s:I, s:I}", "total", known((double)h->memory_total),
                     "available", known((double)h->memory_available), "limit", limit_json(&h->memory_limit),
                     "huge_pages", h->huge_pages, "page", known((double)h->page), "swap",
                     (json_int_t)r->now.swap, "swap_used", (json_int_t)r->now.swap_used);
}

static json_t *now_json(const struct conditions *c)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "cpu_waiting",
                     share_json(c->cpu_waiting), "memory_waiting", share_json(c->memory_waiting), "stolen",
                     share_json(c->stolen), "load", share_json(c->load), "governor", text_json(c->governor),
                     "frequency_driver", text_json(c->driver), "hz_most", known(c->hz_most), "hz_limit",
                     known(c->hz_limit), "boost_off", c->no_boost);
}

static json_t *limits_json(const struct machine *m)
{
    json_t *rates = json_object();

    if (m->limits.read <= 0) {
        json_decref(rates);
        return json_null();
    }
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        json_object_set_new(rates, arithmetic_names[a], positive(m->limits.operations[a] / 1e9));
    return json_pack("{s:s, s:b, s:o, s:o, s:i, s:f, s:f, s:o, s:o}", "measured_at", m->measured_at,
                     "remembered", m->remembered, "file", text_json(m->file), "not_kept",
                     text_json(m->why_not), "threads", m->limits.threads, "read_gb_s", m->limits.read / 1e9,
                     "read_one_gb_s", m->read_one / 1e9, "gop_s", rates, "others", share_json(m->others));
}

static json_t *speed_json(const carat_limits *limits)
{
    json_t *list = json_array();
    struct speed s;

    for (int i = 0; limits->read > 0 && doctor_speed(&s, i, limits); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:I, s:o, s:o}", "model", s.model, "type", s.type,
                                              "bytes", (json_int_t)s.bytes, "prompt_ts", positive(s.prompt),
                                              "generation_ts", positive(s.generation)));
    return list;
}

static json_t *cache_json(const struct report *r)
{
    const struct cache_place *c = &r->cache;
    const struct cache_content *in = &r->content;
    double bytes;
    int n = doctor_cache_count(in, CARAT_CACHE_CURRENT, &bytes);

    return json_pack(
        "{s:o, s:b, s:b, s:o, s:o, s:I, s:i, s:I, s:i, s:i, s:i, s:i, s:I}", "directory", text_json(c->path),
        "exists", c->in.exists, "writable", c->in.writable, "disk", known((double)c->in.disk), "disk_free",
        known((double)c->in.disk_free), "cap", (json_int_t)r->cap, "models", n, "bytes", (json_int_t)bytes,
        "stale", in->n[CARAT_CACHE_STALE], "gone", in->n[CARAT_CACHE_GONE], "useless",
        in->n[CARAT_CACHE_USELESS], "unfinished", in->n_part, "unfinished_bytes", (json_int_t)in->part_bytes);
}

int doctor_print_json(const struct report *r)
{
    const carat_host_info *h = &r->host;
    json_t *advice = json_array();

    for (int i = 0; i < r->n_advice; i++)
        json_array_append_new(
            advice, json_pack("{s:s, s:o}", "id", r->advice[i].id, "text", text_json(r->advice[i].text)));
    json_t *object =
        json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version",
                  h->version, "numerics", h->numerics, "compiler", h->compiler, "build", h->build, "system",
                  text_json(h->system), "libc", text_json(h->libc), "processor", processor_json(r), "threads",
                  threads_json(h), "memory", memory_json(r), "now", now_json(&r->now), "limits",
                  limits_json(&r->machine), "speed_at_most", speed_json(&r->machine.limits), "gpu",
                  doctor_devices_json(&r->devices), "cache", cache_json(r), "advice", advice);

    if (object && r->model) {
        json_object_set_new(object, "costs", doctor_costs_json(r));
        json_object_set_new(object, "config_unread", doctor_unread_json(&r->unread));
    }
    return out_json(object);
}
