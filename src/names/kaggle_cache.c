/* SPDX-License-Identifier: Apache-2.0 */
/* kaggle_cache.c: kagglehub's cache: models/OWNER/MODEL/FRAMEWORK/VARIATION/VERSION is a model, a file
 * VERSION.complete beside it says that all of it is there, .complete/VERSION/FILE.complete that one file
 * is. */
#include "names/stores.h"

#include "base/path.h"
#include "file/reader.h"
#include "os/files.h"

enum { PARTS = 4, VERSION_DIGITS = 9 };

static bool is_slug(struct ct_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.s[i], low = (char)(c | 0x20);
        if (!((low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.'))
            return false;
    }
    return s.n >= 1 && s.n <= 100 && *s.s != '.';
}

/* 0: it is no version. */
static long version_of(struct ct_str s)
{
    long v = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] < '0' || s.s[i] > '9' || s.n > VERSION_DIGITS)
            return 0;
        v = v * 10 + (s.s[i] - '0');
    }
    return v;
}

/* How many parts the handle has; 0: it is none. */
static int count_parts(struct ct_str s)
{
    int n = 0;

    while (n <= PARTS) {
        const char *slash = s.n ? memchr(s.s, '/', s.n) : NULL;
        const struct ct_str part = {s.s, slash ? (size_t)(slash - s.s) : s.n};
        if (n == PARTS ? version_of(part) < 1 : !is_slug(part))
            return 0;
        n++;
        if (!slash)
            return n >= PARTS ? n : 0;
        s = (struct ct_str){slash + 1, s.n - part.n - 1};
    }
    return 0;
}

bool ct_kaggle_is_handle(struct ct_str s)
{
    return count_parts(s) >= PARTS;
}

/* ---- what is complete ---- */

static bool is_marked(struct ct_arena *arena, enum ct_store_path mark, const struct ct_store_names *names)
{
    const char *path = ct_store_place(arena, mark, names);

    return path && ct_os_kind(path) == 1;
}

/* A file of the version without its own mark, where the whole has none; NULL: there is none. */
static const char *find_unmarked(struct ct_arena *arena, const char *dir, struct ct_store_names names)
{
    struct ct_dir d;

    if (ct_dir_read(&d, dir, arena, NULL) != CARAT_OK)
        return NULL;
    for (size_t i = 0; i < d.n; i++) {
        const char *path = ct_path_join(arena, dir, d.name[i]);
        names.file = ct_str_of(d.name[i]);
        if (path && ct_os_kind(path) == 1 && !is_marked(arena, CT_AT_KAGGLE_MARK, &names))
            return d.name[i];
    }
    return NULL;
}

/* A directory of safetensors, a GGUF file, or gemma.cpp's one file. */
static carat_status find_in_version(struct ct_hub_model *m, const char *dir, const char *handle,
                                    struct ct_arena *arena, carat_error *err)
{
    struct ct_dir d;
    const char *sbs = NULL;
    int n = 0;

    CT_TRY(ct_hub_find_model(m, dir, handle, "", arena, err));
    if (m->path)
        return CARAT_OK;
    CT_TRY(ct_dir_read(&d, dir, arena, err));
    for (size_t i = 0; i < d.n; i++) {
        const char *dot = strrchr(d.name[i], '.');
        if (dot && strcmp(dot, ".sbs") == 0) {
            sbs = d.name[i];
            n++;
        }
    }
    if (n != 1)
        return CARAT_OK;
    *m = (struct ct_hub_model){ct_path_join(arena, dir, sbs), NULL};
    return m->path ? CARAT_OK : ct_no_memory(err, dir);
}

static carat_status look_at_version(struct ct_hub_model *m, const char *variation, const char *version,
                                    const char *handle, struct ct_arena *arena, carat_error *err)
{
    const struct ct_store_names names = {.root = variation, .version = ct_str_of(version)};
    const char *dir = ct_store_place(arena, CT_AT_KAGGLE_VERSION, &names);

    *m = (struct ct_hub_model){NULL, NULL};
    if (!dir)
        return ct_no_memory(err, variation);
    if (ct_os_kind(dir) != 2)
        return CARAT_OK;
    CT_TRY(find_in_version(m, dir, handle, arena, err));
    if (m->path && !is_marked(arena, CT_AT_KAGGLE_ALL, &names)) {
        m->missing = find_unmarked(arena, dir, names);
        if (m->missing)
            m->path = NULL;
    }
    return CARAT_OK;
}

/* ---- looking and walking ---- */

carat_status ct_kaggle_find(struct ct_hub_model *model, const char **version, const char *dir,
                            const char *handle, struct ct_arena *arena, carat_error *err)
{
    const bool named = count_parts(ct_str_of(handle)) > PARTS;
    const char *slash = strrchr(handle, '/');
    const struct ct_store_names names = {.root = dir,
                                         .name = {handle, named ? (size_t)(slash - handle) : strlen(handle)}};
    const char *variation = ct_store_place(arena, CT_AT_KAGGLE_FOLDER, &names);
    struct ct_dir d;
    long newest = 0;

    *version = NULL;
    *model = (struct ct_hub_model){NULL, NULL};
    if (!variation)
        return ct_no_memory(err, dir);
    if (named) {
        CT_TRY(look_at_version(model, variation, slash + 1, handle, arena, err));
        *version = model->path || model->missing ? slash + 1 : NULL;
        return CARAT_OK;
    }
    CT_TRY(ct_dir_read(&d, variation, arena, err));
    for (size_t i = 0; i < d.n; i++) {
        const long v = version_of(ct_str_of(d.name[i]));
        struct ct_hub_model m;
        if (v < 1)
            continue;
        CT_TRY(look_at_version(&m, variation, d.name[i], handle, arena, err));
        if ((m.path && !model->path) || (!m.path == !model->path && v > newest)) {
            *model = m;
            *version = d.name[i];
            newest = v;
        }
    }
    return CARAT_OK;
}

static void walk_variation(struct ct_walk *w, const char *path, const char *handle)
{
    struct ct_dir d;
    carat_error err;

    if (ct_dir_read(&d, path, &w->arena, NULL) != CARAT_OK)
        w->failed = true;
    for (size_t i = 0; i < d.n && !w->ended; i++) {
        const char *whole = ct_path_join(&w->arena, handle, d.name[i]),
                   *dir = ct_path_join(&w->arena, path, d.name[i]);
        struct ct_hub_model m;
        if (version_of(ct_str_of(d.name[i])) < 1)
            continue;
        const char *name = whole ? ct_path_join(&w->arena, "kaggle://", whole) : NULL;
        if (!name || !dir)
            w->failed = true;
        else if (look_at_version(&m, path, d.name[i], whole, &w->arena, &err) != CARAT_OK)
            ct_walk_tell(w, name, dir, NULL, err.message);
        else
            ct_walk_tell(w, name, m.path ? m.path : dir, m.missing, NULL);
    }
}

/* Below, the parts of a handle are folders. */
static void walk_folders(struct ct_walk *w, const char *path, const char *handle, int left)
{
    struct ct_arena names = {NULL};
    struct ct_dir d;

    if (left == 0) {
        walk_variation(w, path, handle);
        ct_arena_free(&w->arena);
        w->arena = names;
        return;
    }
    if (ct_dir_read(&d, path, &names, NULL) != CARAT_OK)
        w->failed = true;
    for (size_t i = 0; i < d.n && !w->ended; i++) {
        const char *below = ct_path_join(&names, path, d.name[i]),
                   *more = *handle ? ct_path_join(&names, handle, d.name[i]) : d.name[i];
        if (!below || !more)
            w->failed = true;
        else if (is_slug(ct_str_of(d.name[i])) && ct_os_kind(below) == 2)
            walk_folders(w, below, more, left - 1);
    }
    ct_arena_free(&names);
}

void ct_kaggle_walk(struct ct_walk *w, const char *dir)
{
    struct ct_arena names = {NULL};
    const char *models = ct_store_place(&names, CT_AT_KAGGLE_FOLDERS, &(struct ct_store_names){.root = dir});

    if (models)
        walk_folders(w, models, "", PARTS);
    else
        w->failed = true;
    ct_arena_free(&names);
}
