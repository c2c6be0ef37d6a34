/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c: `carat cache`: lists the packed models of the cache, and removes some. The cache's rules are the
 * library's; where it lies, cache_place.c's. */
#define _DEFAULT_SOURCE /* realpath */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "carat.h"
#include "carat_tools.h"
#include "model/cache_place.h"
#include "model/model.h"
#include "options/options.h"
#include "options/table.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/out_json.h"
#include "term/output.h"
#include "term/size.h"

struct walk {
    bool json, prune, clear, full;
    const char *name;    /* of the one to remove, or NULL */
    char real[PATH_MAX]; /* the same as a path without links, or "" */
    uint64_t cap, kept, removed;
    int n_kept, n_removed, n_named;
    json_t *list;
};

static const char *const state_names[] = {[CARAT_CACHE_CURRENT] = "current",
                                          [CARAT_CACHE_STALE] = "stale",
                                          [CARAT_CACHE_GONE] = "gone",
                                          [CARAT_CACHE_USELESS] = "useless"};

static const char *last(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* The model's name or path, or those of the packed file. */
static bool is_named(const struct walk *w, const carat_cache_entry *e)
{
    return w->name && (strcmp(w->name, e->origin) == 0 || strcmp(w->name, last(e->origin)) == 0 ||
                       strcmp(w->name, e->file) == 0 || strcmp(w->name, last(e->file)) == 0 ||
                       (*w->real && strcmp(w->real, e->origin) == 0));
}

static int count_named(void *user, const carat_cache_entry *e)
{
    struct walk *w = user;

    w->n_named += is_named(w, e);
    return 0;
}

static void print_entry(const struct walk *w, const carat_cache_entry *e, bool removed)
{
    char when[32] = "", size[SIZE_TEXT];
    time_t used = (time_t)e->used;
    struct tm *t = localtime(&used);

    if (t)
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", t);
    if (w->json) {
        json_array_append_new(w->list, json_pack("{s:o, s:o, s:I, s:I, s:s, s:b}", "file",
                                                 json_text(e->file, strlen(e->file)), "origin",
                                                 json_text(e->origin, strlen(e->origin)), "bytes",
                                                 (json_int_t)e->bytes, "used", (json_int_t)e->used, "state",
                                                 state_names[e->state], "removed", removed));
        return;
    }
    out_print("%s%9s  %-16s  %-8s  %-22s  ", removed ? "removed " : "", size_text(size, (double)e->bytes),
              when, state_names[e->state], last(e->file));
    out_name(*e->origin ? e->origin : "?", 4096);
    out_print("\n");
}

static int visit(void *user, const carat_cache_entry *e)
{
    struct walk *w = user;
    bool useless = e->state != CARAT_CACHE_CURRENT;

    w->full = w->full || (!useless && e->sum > w->cap);
    bool remove = w->clear || is_named(w, e) || (w->prune && (useless || w->full));

    *(remove ? &w->removed : &w->kept) += e->bytes;
    *(remove ? &w->n_removed : &w->n_kept) += 1;
    print_entry(w, e, remove);
    return remove;
}

int verb_cache(const struct options *o)
{
    struct walk w = {.json = o->json,
                     .prune = strcmp(o->model, "prune") == 0,
                     .clear = strcmp(o->model, "clear") == 0,
                     .name = strcmp(o->model, "remove") == 0 ? o->text : NULL,
                     .cap = o->open->cache_size};
    char size[SIZE_TEXT], most[SIZE_TEXT];
    struct cache_place place;
    carat_error err;

    if (!is_choice("list|prune|clear|remove", o->model))
        return term_fail(USAGE, "cache: '%.80s' must be one of list, prune, clear and remove", o->model);
    if ((strcmp(o->model, "remove") == 0) != (o->text != NULL))
        return term_fail(USAGE,
                         o->text ? "cache: %s takes no name" : "cache: %s needs the name of a packed model",
                         o->model);
    cache_find(&place);
    w.cap = w.cap ? w.cap : place.in.limit;
    if (!*place.path)
        return term_fail(FAILED, "cache: %s", place.in.note);
    if (w.name && !realpath(w.name, w.real))
        w.real[0] = 0;
    if (w.name && carat_cache_walk(place.path, count_named, &w, &err) == CARAT_OK && w.n_named != 1)
        return term_fail(NOT_FOUND,
                         "cache: %d packed models are called '%.200s'; 'carat cache list' shows their paths",
                         w.n_named, w.name);
    if (o->json && !(w.list = json_array()))
        return fail_memory();
    if (carat_cache_walk(place.path, visit, &w, &err) != CARAT_OK)
        return fail_status(&err);
    if (o->json)
        return out_json(json_pack("{s:o, s:I, s:o}", "directory", json_text(place.path, strlen(place.path)),
                                  "cap", (json_int_t)w.cap, "models", w.list));
    if (w.n_removed)
        out_print("%d removed, %s\n", w.n_removed, size_text(size, (double)w.removed));
    out_print("%d packed model%s, %s of %s, in ", w.n_kept, w.n_kept == 1 ? "" : "s",
              size_text(size, (double)w.kept), size_text(most, (double)w.cap));
    out_name(place.path, 4096);
    out_print("\n");
    return DONE;
}
