/* SPDX-License-Identifier: Apache-2.0 */
/* evict.c: the directory of packed models as a whole: its rules, which copies are removed so that another one
 * fits, and what is told of it. Whether one copy may be used is decided in packed_cache.c. */
#include "base/array.h"
#include "base/arguments.h"
#include "checkpoint/packed_cache.h"
#include "os/files.h"
#include "os/new_file.h"

#include <stdlib.h>

/* The rules: at most so many bytes unless the caller says otherwise; this share of the disk stays free. */
#define DEFAULT_LIMIT ((uint64_t)4 << 30)
#define DISK_RESERVE  0.2

const char *const ct_cache_suffix[CT_CACHE_PARTS] = {
    [CT_CACHE_WHOLE] = ".carat", [CT_CACHE_UNFINISHED] = ".part", [CT_CACHE_STAMP] = ".used"};

/* ---- what lies there ---- */

struct listed {
    char name[CT_CACHE_NAME];
    enum ct_cache_part part;
    uint64_t bytes;
    int64_t used; /* nanoseconds since 1970 */
};
struct listing {
    const char *dir;
    struct listed *entry;
    size_t n, capacity;
    bool failed;
};

static bool join_path(char out[4096], const char *dir, const char *name)
{
    return snprintf(out, 4096, "%s/%s", dir, name) < 4096;
}

/* Gives the file name another ending. */
static void set_ending(char *path, enum ct_cache_part part)
{
    char *dot = strrchr(path, '.');
    assert(dot && part < CT_CACHE_PARTS);
    strcpy(dot, ct_cache_suffix[part]);
}

static enum ct_cache_part part_of(const char *name)
{
    int part = 0;

    if (strspn(name, "0123456789abcdef") != CT_CACHE_DIGITS)
        return CT_CACHE_PARTS;
    while (part < CT_CACHE_PARTS && strcmp(name + CT_CACHE_DIGITS, ct_cache_suffix[part]) != 0)
        part++;
    return (enum ct_cache_part)part;
}

/* A stamp belongs to its file and is listed only where that is missing. */
static void list_name(void *user, const char *name)
{
    struct listing *l = user;
    struct ct_os_id id, other;
    struct listed e = {.part = part_of(name)};
    char path[4096];

    if (e.part == CT_CACHE_PARTS || !join_path(path, l->dir, name) || ct_os_kind(path) != 1 ||
        !ct_os_identify(&id, path))
        return;
    memcpy(e.name, name, strlen(name) + 1);
    e.bytes = id.size;
    e.used = id.modified;
    set_ending(path, e.part == CT_CACHE_STAMP ? CT_CACHE_WHOLE : CT_CACHE_STAMP);
    bool has_other = ct_os_identify(&other, path);
    if (e.part == CT_CACHE_STAMP && has_other)
        return;
    if (e.part == CT_CACHE_WHOLE && has_other)
        e.used = other.modified;
    if (!ct_array_grow(&l->entry, &l->capacity, l->n + 1, sizeof *l->entry)) {
        l->failed = true;
        return;
    }
    l->entry[l->n++] = e;
}

static int compare_use(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    return (x->used < y->used) - (x->used > y->used);
}

/* Everything, the one used last first. */
static struct listing list_directory(const char *dir)
{
    struct listing l = {.dir = dir};

    ct_os_names_in(dir, list_name, &l);
    if (l.n)
        qsort(l.entry, l.n, sizeof *l.entry, compare_use);
    return l;
}

/* An unfinished file stays while a process makes it. */
static bool remove_entry(const char *dir, const struct listed *e)
{
    struct ct_os_new held;
    char path[4096];

    if (!join_path(path, dir, e->name))
        return false;
    if (e->part == CT_CACHE_UNFINISHED) {
        if (ct_os_new_begin(&held, path, 0600, NULL) != CARAT_OK)
            return false;
        ct_os_new_abandon(&held);
        return true;
    }
    set_ending(path, CT_CACHE_STAMP);
    ct_os_remove(path);
    set_ending(path, e->part);
    return e->part == CT_CACHE_STAMP || ct_os_remove(path);
}

/* ---- room ---- */

static uint64_t cache_cap(const struct ct_packed_copy *c)
{
    return c->o->cache_bytes ? c->o->cache_bytes : DEFAULT_LIMIT;
}

/* Files of this model are not counted: the old copy is removed, and the new one is what needs the room. */
static bool is_own(const struct ct_packed_copy *c, const struct listed *e)
{
    return strncmp(strrchr(c->packed, '/') + 1, e->name, CT_CACHE_DIGITS) == 0;
}

/* Removes unfinished files. Returns the bytes of those that stay, since other processes make them. */
static uint64_t remove_unfinished(const struct ct_packed_copy *c, const struct listing *l)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < l->n; i++)
        if (l->entry[i].part != CT_CACHE_WHOLE && !is_own(c, &l->entry[i]) &&
            !remove_entry(l->dir, &l->entry[i]))
            bytes += l->entry[i].bytes;
    return bytes;
}

static bool may_remove(const struct ct_packed_copy *c, const struct listed *e)
{
    return e->part == CT_CACHE_WHOLE && !is_own(c, e);
}

/* Lowers *cap to what the disk lets the other copies and this one take. NULL, or why that is not enough. */
static const char *limit_by_disk(struct ct_packed_copy *c, const struct listing *l, uint64_t need,
                                 uint64_t *cap)
{
    uint64_t total, left, others = 0;

    if (!ct_os_disk(c->o->cache, &total, &left))
        return NULL;
    for (size_t i = 0; i < l->n; i++)
        others += may_remove(c, &l->entry[i]) ? l->entry[i].bytes : 0;
    uint64_t floor = (uint64_t)((double)total * DISK_RESERVE);
    if (left + others >= floor && left + others - floor >= need) {
        *cap = CT_MIN(*cap, left + others - floor);
        return NULL;
    }
    snprintf(c->full, sizeof c->full,
             "its disk is nearly full: it takes %s, of %s free a fifth of the disk, %s, is left alone",
             ct_size(need).text, ct_size(left).text, ct_size(floor).text);
    return c->full;
}

/* Removes the first copy that does not fit, and all that were used longer ago. */
static void remove_oldest(const struct ct_packed_copy *c, const struct listing *l, uint64_t cap)
{
    bool full = false;

    for (size_t i = 0; i < l->n; i++) {
        if (!may_remove(c, &l->entry[i]))
            continue;
        full = full || l->entry[i].bytes > cap;
        if (full)
            remove_entry(l->dir, &l->entry[i]);
        else
            cap -= l->entry[i].bytes;
    }
}

const char *ct_cache_evict(struct ct_packed_copy *c, uint64_t need, bool stays)
{
    uint64_t cap = cache_cap(c);
    const char *why = NULL;

    if (need > cap) {
        c->needs = need;
        snprintf(c->full, sizeof c->full, "it takes %s, and the cache may take %s", ct_size(need).text,
                 ct_size(cap).text);
        return c->full;
    }
    if (!stays) { /* it was not found to be usable */
        ct_os_remove(c->stamp);
        ct_os_remove(c->packed);
    }
    if (!stays && ct_os_kind(c->packed))
        return "the file at its place cannot be removed";
    struct listing l = list_directory(c->o->cache);
    uint64_t busy = remove_unfinished(c, &l);
    if (l.failed)
        why = "there is not enough memory";
    else if (busy > cap - need)
        why = "other models are being packed, and there is no room for all";
    cap -= CT_MIN(busy, cap);
    if (!why)
        why = limit_by_disk(c, &l, need, &cap);
    if (!why)
        remove_oldest(c, &l, cap - need);
    free(l.entry);
    return why;
}

bool ct_cache_fits(const struct ct_packed_copy *c, uint64_t bytes)
{
    struct listing l = list_directory(c->o->cache);
    uint64_t others = 0;

    for (size_t i = 0; i < l.n; i++)
        others += is_own(c, &l.entry[i]) ? 0 : l.entry[i].bytes;
    free(l.entry);
    return bytes <= cache_cap(c) && others <= cache_cap(c) - bytes;
}

/* ---- what carat_cache_walk and carat_cache_look say ---- */

static enum carat_cache_state origin_state(const char *path, const struct ct_packed *p)
{
    struct ct_os_id id;

    if (!ct_os_identify(&id, path))
        return CARAT_CACHE_GONE;
    return ct_packed_current(p, path) ? CARAT_CACHE_CURRENT : CARAT_CACHE_STALE;
}

/* *sum: bytes of the current entries so far. */
static carat_status visit_entry(const char *dir, const struct listed *e, uint64_t *sum,
                                carat_cache_visit visit, void *user, carat_error *err)
{
    carat_cache_entry entry = {.size = sizeof entry,
                               .bytes = e->bytes,
                               .used = e->used / 1000000000,
                               .state = CARAT_CACHE_USELESS,
                               .origin = ""};
    struct ct_arena arena = {0};
    struct ct_packed p;
    struct ct_map map = {0};
    char path[4096];
    carat_status status = CARAT_OK;

    if (!join_path(path, dir, e->name) || (e->part == CT_CACHE_UNFINISHED && ct_os_new_held(path)))
        return CARAT_OK;
    entry.file = path;
    if (e->part == CT_CACHE_WHOLE && ct_os_own_file(path)) {
        status = ct_os_map(&map, path, err);
        if (!status)
            status = ct_packed_read(&p, path, map.bytes, &arena, err);
        if (!status) {
            entry.origin = p.origin.s;
            entry.state = origin_state(p.origin.s, &p);
        }
    }
    if (entry.state == CARAT_CACHE_CURRENT)
        *sum += e->bytes;
    entry.sum = *sum;
    if (status != CARAT_E_MEMORY) {
        if (visit(user, &entry))
            remove_entry(dir, e);
        status = CARAT_OK;
    }
    ct_arena_free(&arena);
    ct_os_unmap(&map);
    return status;
}

carat_status carat_cache_walk(const char *dir, carat_cache_visit visit, void *user, carat_error *err)
{
    if (!dir || !visit)
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is NULL", dir ? "visit" : "dir");
    uint64_t sum = 0;
    struct listing l = list_directory(dir);
    carat_status status = l.failed ? ct_no_memory(err, dir) : CARAT_OK;
    for (size_t i = 0; i < l.n && !status; i++)
        status = visit_entry(dir, &l.entry[i], &sum, visit, user, err);
    free(l.entry);
    return status;
}

/* The directory, or the one above it that it could be made in; the end of the path is cut off. */
static void cut_to_existing(char *path)
{
    char *slash;

    while (ct_os_kind(path) == 0 && path[1] && (slash = strrchr(path, '/')))
        slash[slash == path] = 0;
}

static carat_status look_at_cache(const char *dir, carat_cache_info *info, carat_error *err)
{
    char nearest[4096];
    const char *why = NULL;
    bool writable = false;

    *info = (carat_cache_info){
        .size = sizeof *info, .note = "", .disk_reserve = DISK_RESERVE, .limit = DEFAULT_LIMIT};
    if (!dir)
        return CARAT_OK;
    if (!join_path(nearest, dir, ""))
        return ct_fail(err, CARAT_E_ARGUMENT, "the path of the cache is longer than %zu bytes",
                       sizeof nearest);
    strcpy(nearest, dir);
    cut_to_existing(nearest);
    info->exists = ct_os_kind(dir) != 0;
    info->usable = ct_os_own_directory(dir, false, &writable, &why);
    info->writable = info->exists ? writable : ct_os_takes_files(nearest);
    info->note = info->writable  ? (info->exists ? "exists" : "can be made")
                 : !info->exists ? "cannot be made"
                 : !why          ? "exists, not writable"
                                 : why + 3 * (strncmp(why, "it ", 3) == 0);
    ct_os_disk(nearest, &info->disk, &info->disk_free);
    return CARAT_OK;
}

carat_status carat_cache_look(const char *dir, carat_cache_info *info, carat_error *err)
{
    carat_cache_info full;

    CT_TRY(look_at_cache(dir, &full, err));
    return ct_give_struct(info, &full, sizeof full, "carat_cache_info", err);
}
