/* store.c: the directory of packed models: what is in it and still true, who may make a file, what has to leave. A file is
 * called after device and inode of its origin and says itself what it was made from; beside it a stamp says what it was
 * when it was whole, so that only one that was touched since is read again before it is trusted. The stamp's own time is that
 * of the last use. Packing is pack.c's. */
#include "api/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define DEFAULT_BYTES ((uint64_t)4 << 30)
#define FREE_SHARE    0.2  /* of the disk stays free */
#define PATIENCE      60.0 /* seconds that another process may take */
#define TICK          0.02 /* seconds in which a file's times may not move though it is written */
#define SUFFIX        ".carat"

struct stamp {
    char magic[8];
    struct ct_os_id id; /* of the packed file */
    uint64_t hash;
};

/* ---- what the log says: one line a start, and none before the model's own troubles ---- */

static void note(struct ct_store *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct ct_store *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(c->line, sizeof c->line, format, args);
    va_end(args);
}

void ct_store_say(struct ct_store *c)
{
    if (*c->line && c->o->log && !c->o->cache_read_only)
        c->o->log(c->o->user, c->line);
}

/* ---- one place ---- */

static char *path_of(const char *dir, uint64_t key, const char *suffix)
{
    size_t n = strlen(dir) + 1 + 16 + strlen(suffix) + 1;
    char *path = malloc(n);

    if (path)
        snprintf(path, n, "%s/%016llx%s", dir, (unsigned long long)key, suffix);
    return path;
}

bool ct_store_begin(struct ct_store *c, const char *path, const carat_model_options *o)
{
    struct ct_os_id id;
    const char *why;

    *c = (struct ct_store){.o = o, .made.fd = -1};
    if (!o->cache || !ct_os_identify(&id, path))
        return false;
    if (!ct_os_own_directory(o->cache, !o->cache_read_only, &c->writable, &why)) {
        note(c, "the cache %s is left out: %s", o->cache, why);
        return false;
    }
    uint64_t name[2] = {id.device, id.inode}, key = XXH3_64bits(name, sizeof name);
    c->packed = path_of(o->cache, key, SUFFIX);
    c->part = path_of(o->cache, key, ".part");
    c->stamp = path_of(o->cache, key, ".used");
    return c->packed && c->part && c->stamp;
}

static struct stamp stamp_of(const struct ct_os_id *id)
{
    struct stamp s = {"caratuse", *id, 0};
    s.hash = XXH3_64bits(&s, offsetof(struct stamp, hash));
    return s;
}

/* Nobody has written to the file since it was stamped. */
static bool untouched(const struct ct_store *c, const struct ct_map *map)
{
    struct stamp found, expected = stamp_of(&map->id);

    return map->ours && ct_os_get(c->stamp, &found, sizeof found) == sizeof found &&
           memcmp(&found, &expected, sizeof found) == 0;
}

static void put_stamp(const char *stamp, const char *packed)
{
    struct ct_os_id id;

    ct_os_sleep(TICK); /* a later write has a later time */
    if (ct_os_identify(&id, packed)) {
        struct stamp s = stamp_of(&id);
        ct_os_put(stamp, &s, sizeof s);
    }
}

bool ct_store_find(struct ct_store *c, const char *path, struct ct_file **f)
{
    struct ct_file *found = NULL;
    struct ct_os_id id;
    carat_error err;
    carat_status status;

    c->why = NULL;
    if (!ct_os_identify(&id, c->packed))
        return false;
    status = ct_packed_open(&found, c->packed, path, true, &err);
    if (status) {
        c->why = status == CARAT_E_UNSUPPORTED ? "of another version" : "damaged";
        return false;
    }
    if (!ct_packed_current(ct_file_packed(found), path))
        c->why = "of a model that has changed";
    else if (untouched(c, ct_file_packed_map(found)))
        ct_os_touch(c->stamp);
    else if (!ct_file_packed_map(found)->ours)
        c->why = "not of this user alone";
    else if (ct_pack_check(found, NULL, 0))
        put_stamp(c->stamp, c->packed);
    else
        c->why = "damaged";
    if (c->why) {
        ct_file_close(found);
        return false;
    }
    *f = found;
    return true;
}

void ct_store_reject(struct ct_store *c)
{
    c->why = "damaged";
    ct_os_remove(c->stamp);
}

/* ---- room ---- */

struct listed {
    char name[16 + sizeof SUFFIX];
    uint64_t bytes;
    int64_t used;
};
struct listing {
    const char *dir;
    struct listed *entry;
    size_t n, capacity;
    bool failed;
};

static bool joined(char out[4096], const char *dir, const char *name)
{
    return snprintf(out, 4096, "%s/%s", dir, name) < 4096;
}

static void add_name(void *user, const char *name)
{
    struct listing *l = user;
    size_t n = strlen(name), stem = n - strlen(SUFFIX);
    char path[4096];
    struct ct_os_id id, used;

    if (n != sizeof l->entry->name - 1 || strspn(name, "0123456789abcdef") != stem ||
        strcmp(name + stem, SUFFIX) != 0 || !joined(path, l->dir, name) || !ct_os_identify(&id, path))
        return;
    if (l->n == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 16;
        struct listed *grown = realloc(l->entry, capacity * sizeof *grown);
        if (!grown) {
            l->failed = true;
            return;
        }
        l->entry = grown;
        l->capacity = capacity;
    }
    struct listed *e = &l->entry[l->n++];
    *e = (struct listed){.bytes = id.size, .used = id.modified};
    memcpy(e->name, name, n + 1);
    strcpy(strrchr(path, '.'), ".used");
    if (ct_os_identify(&used, path))
        e->used = used.modified;
}

static int by_use(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    return (x->used < y->used) - (x->used > y->used);
}

/* All packed files, the one used last first. */
static struct listing list(const char *dir)
{
    struct listing l = {.dir = dir};

    ct_os_names_in(dir, add_name, &l);
    if (l.n)
        qsort(l.entry, l.n, sizeof *l.entry, by_use);
    return l;
}

static void remove_entry(const char *dir, const char *name)
{
    char path[4096];

    if (!joined(path, dir, name))
        return;
    ct_os_remove(path);
    strcpy(strrchr(path, '.'), ".used");
    ct_os_remove(path);
}

/* Whether `need` bytes more fit under the cap and leave the disk its share when those used longest ago leave; they do so
 * only if that is enough. *why: what is too small. */
static bool make_room(const struct ct_store *c, uint64_t need, const char **why)
{
    const carat_model_options *o = c->o;
    uint64_t cap = o->cache_bytes ? o->cache_bytes : DEFAULT_BYTES, kept = 0, total, left;
    const char *own = strrchr(c->packed, '/') + 1;
    struct listing l = list(o->cache);
    size_t stay = 0;

    *why = "it is larger than the cache may be";
    bool fits = need <= cap && !l.failed;
    if (fits && ct_os_disk(o->cache, &total, &left)) {
        uint64_t all = 0, floor = (uint64_t)((double)total * FREE_SHARE);
        for (size_t i = 0; i < l.n; i++)
            all += l.entry[i].bytes;
        *why = "its disk is nearly full";
        fits = left + all >= floor && left + all - floor >= need;
        if (fits)
            cap = CT_MIN(cap, left + all - floor);
    }
    for (; fits && stay < l.n; stay++) {
        bool replaced = strcmp(l.entry[stay].name, own) == 0;
        if (!replaced && l.entry[stay].bytes > cap - need - kept)
            break;
        kept += replaced ? 0 : l.entry[stay].bytes;
    }
    for (size_t i = stay; fits && i < l.n; i++)
        remove_entry(o->cache, l.entry[i].name);
    free(l.entry);
    if (fits)
        *why = NULL;
    return fits;
}

/* ---- making one ---- */

carat_status ct_store_claim(struct ct_store *c, const char *path, struct ct_file **f, bool *claimed,
                            carat_error *err)
{
    double began = ct_os_seconds();
    carat_status status;
    carat_error busy;

    *claimed = false;
    if (c->o->cache_read_only)
        return CARAT_OK;
    if (!c->writable) {
        note(c, "the model is not kept packed: the cache %s cannot be written", c->o->cache);
        return CARAT_OK;
    }
    while ((status = ct_os_new_begin(&c->made, c->part, &busy)) == CARAT_E_BUSY &&
           ct_os_seconds() - began < PATIENCE) {
        if (c->o->progress && c->o->progress(c->o->user, 0, 1))
            return ct_fail(err, CARAT_E_CANCELLED, "%s: cancelled while another process packs the model",
                           path);
        ct_os_sleep(TICK);
    }
    if (status) {
        note(c, "the model is not kept packed: %s", busy.message);
        return CARAT_OK;
    }
    /* who was waited for may have made it */
    if (ct_store_find(c, path, f))
        ct_os_new_abandon(&c->made);
    else
        *claimed = true;
    return CARAT_OK;
}

static void finish(void *arg)
{
    struct ct_store *c = arg;
    carat_error err;

    if (ct_os_new_finish(&c->made, c->packed, &err) == CARAT_OK)
        put_stamp(c->stamp, c->packed);
}

carat_status ct_store_keep(struct ct_store *c, const struct carat_model *m, const char *path,
                           struct ct_file **f, carat_error *err)
{
    struct ct_pack *pack = NULL;
    const char *why = NULL;
    carat_error found;
    carat_status status = ct_pack_begin(&pack, m, &found);
    double size = pack ? (double)ct_pack_size(pack) / 1e6 : 0;

    if (!status && make_room(c, ct_pack_size(pack), &why)) {
        status = ct_pack_write(pack, &c->made, c->o, &found);
        if (!status)
            status = ct_packed_open(f, c->part, path, true, &found);
    }
    ct_pack_end(pack);
    if (status || why) {
        ct_os_new_abandon(&c->made);
        if (status == CARAT_E_CANCELLED)
            return ct_fail(err, status, "%s", found.message);
        note(c, "the model is not kept packed: %s", status ? found.message : why);
        return CARAT_OK;
    }
    note(c, "packed into the cache, %.0f MB%s%s: %s", size, c->why ? "; the copy there was " : "",
         c->why ? c->why : "", c->packed);
    if (ct_os_thread_start(&c->finisher, finish, c, &found) == CARAT_OK)
        c->finishing = true;
    else
        finish(c);
    return CARAT_OK;
}

void ct_store_end(struct ct_store *c)
{
    if (c->finishing)
        ct_os_thread_join(c->finisher);
    else
        ct_os_new_abandon(&c->made);
    free(c->packed);
    free(c->part);
    free(c->stamp);
    *c = (struct ct_store){.made.fd = -1};
}

/* ---- for people ---- */

static enum carat_cache_state state_of(const char *path, const struct ct_packed *p)
{
    struct ct_os_id id;

    if (!ct_os_identify(&id, path))
        return CARAT_CACHE_GONE;
    return ct_packed_current(p, path) ? CARAT_CACHE_CURRENT : CARAT_CACHE_STALE;
}

static int visit_one(const char *dir, const struct listed *e, carat_cache_visit visit, void *user)
{
    carat_cache_entry entry = {.size = sizeof entry,
                               .bytes = e->bytes,
                               .used = e->used / 1000000000,
                               .state = CARAT_CACHE_USELESS,
                               .origin = ""};
    struct ct_arena arena = {0};
    struct ct_packed p;
    struct ct_map map;
    char path[4096];

    if (!joined(path, dir, e->name) || ct_os_map(&map, path, NULL) != CARAT_OK)
        return 0;
    entry.file = path;
    if (ct_packed_read(&p, path, map.bytes, &arena, NULL) == CARAT_OK) {
        entry.origin = p.origin.s;
        entry.state = state_of(p.origin.s, &p);
    }
    int remove = visit(user, &entry);
    ct_arena_free(&arena);
    ct_os_unmap(&map);
    return remove;
}

carat_status carat_cache_walk(const char *dir, carat_cache_visit visit, void *user, carat_error *err)
{
    if (!dir || !visit)
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_cache_walk: %s is NULL", dir ? "visit" : "dir");
    struct listing l = list(dir);
    if (l.failed) {
        free(l.entry);
        return ct_fail(err, CARAT_E_MEMORY, "%s: out of memory", dir);
    }
    for (size_t i = 0; i < l.n; i++)
        if (visit_one(dir, &l.entry[i], visit, user))
            remove_entry(dir, l.entry[i].name);
    free(l.entry);
    return CARAT_OK;
}
