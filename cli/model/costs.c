/* SPDX-License-Identifier: Apache-2.0 */
/* costs.c: see costs.h. The file is costs.json in the cache directory, a list with the tables of a few
 * models, the one kept last first. A table is taken only if it is of this very processor, build, model and
 * settings, and if every number of it is one that a pass can have; else it is as if it were not there.
 *
 * It is checked like a file of other origin, and no bit of a result depends on it. */
#include "model/costs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "model/model.h"

#define NAME "costs.json"
enum { MOST_FILE = 128 << 10, MOST_TABLES = 12, MOST_PASSES = 64 };

/* ---- whose they are ---- */

static void name_machine(struct costs *c, const carat_host_info *h)
{
    snprintf(c->machine, sizeof c->machine, "%s, %s %d/%d/%d, %s, %d of %d threads, %s, carat %s/%d, %s",
             h->cpu, h->vendor, h->family, h->model, h->stepping, h->isa, h->threads, h->online, h->system,
             h->version, h->numerics, h->build);
    for (char *p = c->machine; *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
            *p = '?';
}

/* A device, with what its speed comes from. */
static int name_device(char *text, size_t size, const carat_engine_options *e)
{
    const bool open = strcmp(e->device, "auto") == 0;
    carat_device d;
    carat_device_default(&d);

    if (carat_get_device(open ? "cuda" : e->device, 0, &d, NULL) != CARAT_OK)
        return snprintf(text, size, ", on %.8s", e->device);
    for (char *p = d.name; *p; p++)
        if ((unsigned char)*p < 0x20 || (unsigned char)*p > 0x7e)
            *p = '?';
    int n = snprintf(text, size, ", on %.8s: %.64s, capability %d.%d, driver %d", e->device, d.name,
                     d.compute_major, d.compute_minor, d.driver);
    if (e->gpu_layers)
        n += snprintf(text + n, size - (size_t)n, ", %d layers there", e->gpu_layers);
    return n;
}

static void name_settings(struct costs *c, const carat_engine_options *e, const carat_host_info *h)
{
    const char *kv = e->kv != CARAT_KV_DEFAULT ? carat_kv_name(e->kv) : e->exact ? "f32" : "bf16";
    const int threads = e->threads ? e->threads : h->threads;
    const char *arith = e->exact ? "exact, " : e->fast8 ? "fast8, " : e->tensor ? "tensor, " : "";
    int n = snprintf(c->settings, sizeof c->settings, "%s%s cache, %d threads", arith, kv, threads);

    if (e->isa)
        n += snprintf(c->settings + n, sizeof c->settings - (size_t)n, ", at most %s", e->isa);
    if (e->decode_isa || (e->decode_threads && e->decode_threads != threads))
        n += snprintf(c->settings + n, sizeof c->settings - (size_t)n, ", decode %d threads%s%s",
                      e->decode_threads ? e->decode_threads : threads, e->decode_isa ? " at most " : "",
                      e->decode_isa ? e->decode_isa : "");
    if (e->device)
        n += name_device(c->settings + n, sizeof c->settings - (size_t)n, e);
    if (e->layers)
        snprintf(c->settings + n, sizeof c->settings - (size_t)n, ", %d layers", e->layers);
}

bool costs_place(struct costs *c, const carat_model *model, const carat_engine_options *e,
                 const struct options *o)
{
    carat_model_info info;
    carat_model_info_default(&info);
    carat_host_info host;
    carat_host_info_default(&host);

    *c = (struct costs){.settings = ""};
    cache_find(&c->cache);
    /* where no packed file says the hash, every weight would be read for it */
    if (o->open->no_cache || !*c->cache.path || carat_model_get_info(model, &info, NULL) != CARAT_OK ||
        !*info.content || carat_get_host(&host, NULL) != CARAT_OK)
        return false;
    snprintf(c->content, sizeof c->content, "%s", info.content);
    name_machine(c, &host);
    if (e)
        name_settings(c, e, &host);
    return true;
}

/* ---- tables as JSON: a list of [kind, depth, bucket, passes, rows, nanoseconds] ---- */

static json_t *table_json(carat_costs *table)
{
    json_t *list = json_array();

    for (int k = 0; k < COST_KINDS; k++)
        for (int d = 0; d < CARAT_COST_DEPTHS; d++)
            for (int b = 0; b < CARAT_ROW_BUCKETS; b++) {
                const carat_cost *c = cost_at(table, k, d, b);
                if (c->passes > 0)
                    json_array_append_new(list, json_pack("[i, i, i, i, f, f]", k, d, b, (int)c->passes,
                                                          c->rows, c->nanoseconds));
            }
    return list;
}

/* True: a pass of the bucket can have such rows and such a time. */
static bool is_cost(int bucket, const carat_cost *c)
{
    double first = bucket ? (double)(1 << (bucket - 1)) + 1 : 1;
    double last = bucket < CARAT_ROW_BUCKETS - 1 ? (double)(1 << bucket) : 1 << 20;

    return c->passes >= 1 && c->passes <= MOST_PASSES && c->rows >= first && c->rows <= last &&
           c->nanoseconds >= 1e2 && c->nanoseconds <= 1e13;
}

static bool table_of(carat_costs *table, const json_t *list)
{
    carat_costs_default(table);
    if (!json_is_array(list) || json_array_size(list) == 0)
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        int k, d, b, passes;
        carat_cost c;
        json_t *entry = json_array_get(list, i);
        if (json_unpack(entry, "[i, i, i, i, F, F!]", &k, &d, &b, &passes, &c.rows, &c.nanoseconds) != 0 ||
            k < 0 || k >= COST_KINDS || d < 0 || d >= CARAT_COST_DEPTHS || b < 0 || b >= CARAT_ROW_BUCKETS)
            return false;
        c.passes = passes;
        if (!is_cost(b, &c))
            return false;
        *cost_at(table, k, d, b) = c;
    }
    return true;
}

bool costs_are_of_two(carat_costs *table)
{
    bool two = false;

    for (int k = CARAT_COST_KINDS; k < COST_KINDS; k++)
        for (int d = 0; d < CARAT_COST_DEPTHS; d++)
            for (int b = 0; b < CARAT_ROW_BUCKETS; b++)
                two |= cost_at(table, k, d, b)->passes > 0;
    return two;
}

/* ---- the file ---- */

/* The list that it holds; an empty one when it is no such file. */
static json_t *read_list(const struct costs *c)
{
    size_t n;
    char *text = cache_file_read(&c->cache, NAME, MOST_FILE, &n);
    json_t *list = text ? json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL) : NULL;

    free(text);
    if (json_is_array(list))
        return list;
    json_decref(list);
    return json_array();
}

static bool says(const json_t *entry, const char *key, const char *expected)
{
    const char *text = json_string_value(json_object_get(entry, key));

    return text && strcmp(text, expected) == 0;
}

static bool is_of_model(const struct costs *c, const json_t *entry)
{
    return says(entry, "machine", c->machine) && says(entry, "content", c->content);
}

bool costs_recall(const struct costs *c, carat_costs *table)
{
    json_t *list = read_list(c);
    bool found = false;

    for (size_t i = 0; i < json_array_size(list) && !found; i++) {
        const json_t *entry = json_array_get(list, i);
        if (is_of_model(c, entry) && says(entry, "settings", c->settings)) {
            found = table_of(table, json_object_get(entry, "passes"));
            break;
        }
    }
    json_decref(list);
    return found;
}

bool costs_of_model(const struct costs *c, int i, char settings[COSTS_SETTINGS], carat_costs *table)
{
    json_t *list = read_list(c);
    bool found = false;

    for (size_t k = 0; k < json_array_size(list) && !found; k++) {
        const json_t *entry = json_array_get(list, k);
        const char *text = json_string_value(json_object_get(entry, "settings"));
        if (text && strlen(text) < COSTS_SETTINGS && is_of_model(c, entry) &&
            table_of(table, json_object_get(entry, "passes")) && i-- == 0) {
            snprintf(settings, COSTS_SETTINGS, "%s", text);
            found = true;
        }
    }
    json_decref(list);
    return found;
}

void costs_keep(const struct costs *c, carat_costs *table)
{
    json_t *old = read_list(c), *list = json_array(), *passes = table_json(table);
    char why[CACHE_FILE_WHY];

    if (json_array_size(passes) > 0) {
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o}", "machine", c->machine, "content",
                                              c->content, "settings", c->settings, "passes", passes));
        for (size_t i = 0; i < json_array_size(old) && json_array_size(list) < MOST_TABLES; i++) {
            json_t *entry = json_array_get(old, i);
            if (!is_of_model(c, entry) || !says(entry, "settings", c->settings))
                json_array_append(list, entry);
        }
        char *text = json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(9));
        if (text && strlen(text) <= MOST_FILE)
            (void)cache_file_write(&c->cache, NAME, text, strlen(text), false, why);
        free(text);
    } else {
        json_decref(passes);
    }
    json_decref(list);
    json_decref(old);
}
