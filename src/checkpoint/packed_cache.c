/* SPDX-License-Identifier: Apache-2.0 */
/* packed_cache.c: the packed copy of one model in the cache: whether it is still true, and who may make it.
 * The file is named after device and inode of its origin, and says itself what it was made from. A stamp
 * beside it says what the file was when it was complete: only one that was touched since is read and checked
 * before it is trusted. The time of the stamp is that of the last use. Packing is pack_model.c's; what has to
 * leave the directory is decided in evict.c.
 *
 * The stamp has device, inode, size and times of the copy. The origin is compared by the same facts for every
 * file that opening asked for, absent ones included, and by a hash of its headers. A file is made under
 * another name, which is locked; gets its room before a byte is written, since a write into a mapping cannot
 * fail, only kill; is synced by a thread while the model already runs on it; and is then renamed. */
#include "checkpoint/packed_cache.h"

#include <stdlib.h>

#include "base/hash.h"
#include "os/clock.h"

#define PATIENCE 60.0 /* seconds that another process may take */
#define TICK     0.02 /* seconds between two looks whether it is ready */

struct stamp {
    char magic[8];
    struct ct_os_id id; /* of the packed file */
    uint64_t hash;
};

/* ---- the log gets one line for each opening, after those about the model itself ---- */

__attribute__((format(printf, 2, 3))) static void cache_note(struct ct_packed_copy *c, const char *format,
                                                             ...)
{
    CT_FORMAT(c->line, format);
}

void ct_cache_log(struct ct_packed_copy *c)
{
    if (*c->line && c->o->log && !c->o->cache_read_only)
        c->o->log(c->o->user, c->line);
}

/* ---- one copy ---- */

static char *cache_path(const char *dir, uint64_t key, enum ct_cache_part part)
{
    size_t n = strlen(dir) + 1 + CT_CACHE_NAME;
    char *path = malloc(n);

    if (path)
        snprintf(path, n, "%s/%0*llx%s", dir, CT_CACHE_DIGITS, (unsigned long long)key,
                 ct_cache_suffix[part]);
    return path;
}

bool ct_cache_begin(struct ct_packed_copy *c, const char *path, const carat_model_options *o)
{
    struct ct_os_id id;
    const char *why;

    *c = (struct ct_packed_copy){.o = o, .made.fd = -1};
    if (!o->cache || !ct_os_identify(&id, path))
        return false;
    const bool is_new = !o->cache_read_only && !ct_os_identify(&(struct ct_os_id){0}, o->cache);
    if (!ct_os_own_directory(o->cache, !o->cache_read_only, &c->writable, &why)) {
        cache_note(c, "the cache is not used, because %s: %s", why, o->cache);
        return false;
    }
    uint64_t name[2] = {id.device, id.inode}, key = ct_hash64(name, sizeof name);
    c->dir = malloc(strlen(o->cache) + 1);
    c->packed = cache_path(o->cache, key, CT_CACHE_WHOLE);
    c->part = cache_path(o->cache, key, CT_CACHE_UNFINISHED);
    c->stamp = cache_path(o->cache, key, CT_CACHE_STAMP);
    if (c->dir)
        strcpy(c->dir, o->cache);
    c->made_dir = is_new && c->dir;
    return c->dir && c->packed && c->part && c->stamp;
}

static struct stamp stamp_of(const struct ct_os_id *id)
{
    struct stamp s = {"caratuse", *id, 0};
    s.hash = ct_hash64(&s, offsetof(struct stamp, hash));
    return s;
}

/* True when the file is as it was when it was stamped. */
static bool is_untouched(const struct ct_packed_copy *c, const struct ct_map *map)
{
    struct stamp found, expected = stamp_of(&map->id);

    return ct_os_get(c->stamp, &found, sizeof found) == sizeof found &&
           memcmp(&found, &expected, sizeof found) == 0;
}

/* Records what the file was when it was complete. */
static void put_stamp(const struct ct_packed_copy *c, const struct ct_os_id *id)
{
    struct stamp s = stamp_of(id);
    ct_os_put(c->stamp, &s, sizeof s);
}

static const char *fault_of_status(carat_status status)
{
    return status == CARAT_E_FORMAT        ? "damaged"
           : status == CARAT_E_UNSUPPORTED ? "of another version"
                                           : "unreadable";
}

/* The fault of the packed file that is there, in words. NULL: none, and *f is open. */
static const char *find_fault(struct ct_packed_copy *c, const char *path, struct ct_file **f, bool *cancelled)
{
    if (!ct_os_own_file(c->packed))
        return "open to other users";
    carat_status status = ct_packed_open(f, c->packed, path, c->o->tokenizer_only != 0, NULL);
    if (status)
        return fault_of_status(status);
    const struct ct_map *map = ct_file_packed_map(*f);
    if (!ct_packed_current(ct_file_packed(*f), path))
        return "of a model that has changed since";
    status = c->o->tokenizer_only ? CARAT_OK : ct_packed_map_origin(*f, NULL);
    if (status)
        return fault_of_status(status);
    if (is_untouched(c, map)) {
        if (!c->o->cache_read_only)
            ct_os_touch(c->stamp);
        return NULL;
    }
    status = ct_pack_check(*f, &(struct ct_listening){c->o->progress, c->o->user}, NULL);
    *cancelled = status == CARAT_E_CANCELLED;
    if (status)
        return fault_of_status(status);
    if (!c->o->cache_read_only)
        put_stamp(c, &map->id);
    return NULL;
}

static void note_fault(struct ct_packed_copy *c)
{
    cache_note(c, "the packed copy of the model is not used, because it is %s: %s", c->why, c->packed);
}

carat_status ct_cache_find(struct ct_packed_copy *c, const char *path, struct ct_file **f, carat_error *err)
{
    struct ct_file *found = NULL;
    bool cancelled = false;

    c->why = NULL;
    *c->line = 0;
    if (!ct_os_identify(&c->seen, c->packed))
        return CARAT_OK;
    c->why = find_fault(c, path, &found, &cancelled);
    if (!c->why) {
        *f = found;
        return CARAT_OK;
    }
    ct_file_close(found);
    if (cancelled)
        return ct_fail(err, CARAT_E_CANCELLED, "%s: cancelled while its packed copy was checked", path);
    note_fault(c);
    return CARAT_OK;
}

/* Waits until what was made is on the disk. */
static void join_finisher(struct ct_packed_copy *c)
{
    if (c->finishing)
        ct_os_thread_join(c->finisher);
    c->finishing = false;
}

void ct_cache_reject(struct ct_packed_copy *c)
{
    join_finisher(c);
    c->why = "damaged";
    note_fault(c);
    if (!c->o->cache_read_only) {
        ct_os_remove(c->stamp);
        ct_os_remove(c->packed);
        c->seen = (struct ct_os_id){0};
    }
}

/* ---- making one ---- */

carat_status ct_cache_claim(struct ct_packed_copy *c, const char *path, struct ct_file **f, bool *claimed,
                            carat_error *err)
{
    double began = ct_os_seconds();
    struct ct_os_id now;
    carat_status status;
    carat_error busy;

    *claimed = false;
    if (c->o->cache_read_only)
        return CARAT_OK;
    if (!c->writable) {
        cache_note(c, "the model is not kept packed, because the cache cannot be written: %s", c->o->cache);
        return CARAT_OK;
    }
    while ((status = ct_os_new_begin(&c->made, c->part, 0600, &busy)) == CARAT_E_BUSY &&
           ct_os_seconds() - began < PATIENCE) {
        if (c->o->progress && c->o->progress(c->o->user, 0, 1))
            return ct_fail(err, CARAT_E_CANCELLED, "%s: cancelled while another process packs the model",
                           path);
        ct_os_sleep(TICK);
    }
    if (status) {
        cache_note(c, "the model is not kept packed: %s", busy.message);
        return CARAT_OK;
    }
    /* another process may have made it meanwhile */
    ct_os_identify(&now, c->packed);
    if (memcmp(&now, &c->seen, sizeof now) != 0)
        CT_TRY(ct_cache_find(c, path, f, err));
    *claimed = !*f;
    if (*f)
        ct_os_new_abandon(&c->made);
    return CARAT_OK;
}

static void finish_copy(void *arg)
{
    struct ct_packed_copy *c = arg;
    struct ct_os_id id;

    if (ct_os_new_finish(&c->made, c->packed, &id, NULL) == CARAT_OK && id.size)
        put_stamp(c, &id);
}

/* Brings it to the disk while the model is already used. */
static void begin_to_finish(struct ct_packed_copy *c)
{
    if (ct_os_thread_start(&c->finisher, finish_copy, c, NULL) == CARAT_OK)
        c->finishing = true;
    else
        finish_copy(c);
}

static void read_origin(void *arg)
{
    struct ct_packed_copy *c = arg;
    ct_file_read_ahead(c->origin, &c->stop);
}

void ct_cache_read_ahead(struct ct_packed_copy *c, const struct ct_file *origin)
{
    if (c->made.fd < 0 || c->reading)
        return;
    c->origin = origin;
    c->stop = false;
    c->reading = ct_os_thread_start(&c->reader, read_origin, c, NULL) == CARAT_OK;
}

void ct_cache_stop_reading(struct ct_packed_copy *c)
{
    c->stop = true;
    if (c->reading)
        ct_os_thread_join(c->reader);
    c->reading = false;
}

/* Writes a packed file into the claimed one; others may have to go. *why: it cannot be written, in words. */
static carat_status write_claimed(struct ct_packed_copy *c, struct ct_pack *pack, bool stays,
                                  const struct ct_listening *l, const char **why, carat_error *err)
{
    *why = ct_cache_evict(c, ct_pack_size(pack), stays);
    if (*why)
        return CARAT_OK;
    CT_TRY(ct_pack_write(pack, &c->made, l, err));
    if (!ct_cache_fits(c, ct_pack_size(pack)))
        *why = "other models were packed meanwhile, and there is no room for all";
    return CARAT_OK;
}

carat_status ct_cache_write(struct ct_packed_copy *c, const struct carat_model *m, const char *path,
                            struct ct_file **f, carat_error *err)
{
    assert(c->made.fd >= 0); /* claimed */
    const struct ct_listening l = {c->o->progress, c->o->user};
    struct ct_pack *pack;
    const char *why = NULL;
    carat_error found;
    carat_status status = ct_pack_begin(&pack, m, CT_PACK_COPY, &found);
    struct ct_size size = ct_size(pack ? ct_pack_size(pack) : 0);

    if (!status)
        status = write_claimed(c, pack, false, &l, &why, &found);
    if (!status && !why)
        status = ct_packed_open(f, c->part, path, false, &found);
    if (!status && !why)
        status = ct_packed_map_origin(*f, &found);
    ct_pack_end(pack);
    if (status || why) {
        ct_file_close(*f);
        *f = NULL;
        ct_os_new_abandon(&c->made);
        if (status == CARAT_E_CANCELLED)
            return ct_fail(err, status, "%s", found.message);
        cache_note(c, "the model is not kept packed: %s", status ? found.message : why);
        return CARAT_OK;
    }
    cache_note(c, "packed into the cache, %s%s%s: %s", size.text, c->why ? "; the copy there was " : "",
               c->why ? c->why : "", c->packed);
    begin_to_finish(c);
    return CARAT_OK;
}

/* ---- what engines make ---- */

void ct_cache_opened(struct ct_packed_copy *c)
{
    c->kept = (carat_model_options){.size = sizeof c->kept,
                                    .cache = c->dir,
                                    .cache_bytes = c->o->cache_bytes,
                                    .cache_read_only = c->o->cache_read_only};
    c->o = &c->kept;
}

/* True when the copy under its name is the file that the model is mapped from. */
static bool is_mapped(const struct ct_packed_copy *c, const struct ct_file *f)
{
    const struct ct_os_id *mapped = &ct_file_packed_map(f)->id;
    struct ct_os_id now;

    return ct_os_own_file(c->packed) && ct_os_identify(&now, c->packed) && now.device == mapped->device &&
           now.inode == mapped->inode && now.size == mapped->size;
}

static carat_status keep_in_copy(struct ct_packed_copy *c, const struct ct_file *f,
                                 const struct ct_made *made, int n, const struct ct_listening *l, char *note,
                                 carat_error *err)
{
    struct ct_pack *pack = NULL;
    const char *why = NULL;
    carat_error found;

    join_finisher(c);
    if (!is_mapped(c, f))
        return CARAT_OK; /* another process has written it since; the next opening sees what is in it */
    carat_status status = ct_os_new_begin(&c->made, c->part, 0600, &found);
    if (status == CARAT_E_BUSY)
        return CARAT_OK;
    if (!status && !is_mapped(c, f)) {
        ct_os_new_abandon(&c->made);
        return CARAT_OK;
    }
    if (!status)
        status = ct_pack_again(&pack, f, made, n, &found);
    if (!status)
        status = write_claimed(c, pack, true, l, &why, &found);
    ct_pack_end(pack);
    if (!status && !why) {
        begin_to_finish(c);
        return CARAT_OK;
    }
    ct_os_new_abandon(&c->made);
    if (status == CARAT_E_CANCELLED)
        return ct_fail(err, status, "%s", found.message);
    snprintf(note, CT_KEEP_NOTE, "what the head made is not kept in the cache: %s",
             status ? found.message : why);
    return CARAT_OK;
}

carat_status ct_cache_keep(const struct carat_model *m, const struct ct_made *made, int n,
                           const struct ct_listening *l, char note[CT_KEEP_NOTE], carat_error *err)
{
    struct ct_packed_copy *c = m->cache;

    *note = 0;
    if (n == 0 || !c || !c->packed || !c->writable || c->o->cache_read_only || !m->times.packed)
        return CARAT_OK;
    ct_lock_enter(&c->lock);
    carat_status status = keep_in_copy(c, m->file, made, n, l, note, err);
    ct_lock_leave(&c->lock);
    return status;
}

void ct_cache_end(struct ct_packed_copy *c)
{
    join_finisher(c);
    ct_os_new_abandon(&c->made);
    if (c->made_dir && c->unused)
        ct_os_remove_empty(c->dir);
    free(c->packed);
    free(c->part);
    free(c->stamp);
    free(c->dir);
    *c = (struct ct_packed_copy){.made.fd = -1};
}
