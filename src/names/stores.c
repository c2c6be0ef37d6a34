/* SPDX-License-Identifier: Apache-2.0 */
/* stores.c: see stores.h: stores that are files in directories, and what all walks share. ollama's is
 * ollama.c's, Kaggle's kaggle_cache.c's; what is in a file of a model is looked at by none. */
#include "names/stores.h"

#include "base/array.h"
#include "base/path.h"
#include "file/reader.h"
#include "os/files.h"

#include <stdlib.h>

/* ---- directories ---- */

struct listing {
    struct ct_dir *dir;
    struct ct_arena *arena;
    size_t capacity;
    const char **name;
    bool failed;
};

static void add_entry(void *user, const char *name)
{
    struct listing *l = user;
    const char *copy = ct_arena_str(l->arena, name, strlen(name));

    if (!copy || !ct_array_grow(&l->name, &l->capacity, l->dir->n + 1, sizeof *l->name))
        l->failed = true;
    else
        l->name[l->dir->n++] = copy;
}

static int compare_entries(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

carat_status ct_dir_read(struct ct_dir *d, const char *dir, struct ct_arena *arena, carat_error *err)
{
    struct listing l = {.dir = d, .arena = arena};

    *d = (struct ct_dir){NULL, 0};
    ct_os_names_in(dir, add_entry, &l);
    if (!l.failed && d->n) {
        qsort(l.name, d->n, sizeof *l.name, compare_entries);
        d->name = ct_arena_push(arena, d->n, sizeof *d->name);
        l.failed = d->name == NULL;
        if (d->name)
            memcpy(d->name, l.name, d->n * sizeof *d->name);
    }
    free(l.name);
    if (!l.failed)
        return CARAT_OK;
    d->n = 0;
    return ct_no_memory(err, dir);
}

/* The bytes of a file, or in folders in folders, as deep as this. Each is looked at once: with many models in
 * a cache such looks are most of the time. */
static uint64_t bytes_at(const char *path, int depth, struct ct_arena *arena)
{
    struct ct_os_id id = {0};
    const int kind = path ? ct_os_identify(&id, path) : 0;
    struct ct_dir d;
    uint64_t sum = 0;

    if (kind != 2)
        return id.size;
    if (depth == 0 || ct_dir_read(&d, path, arena, NULL) != CARAT_OK)
        return 0;
    for (size_t i = 0; i < d.n; i++)
        sum += bytes_at(ct_path_join(arena, path, d.name[i]), depth - 1, arena);
    return sum;
}

uint64_t ct_store_bytes(const char *path, struct ct_arena *arena)
{
    enum { DEEPEST = 4 }; /* as sentence-transformers and kagglehub lay them */
    const unsigned parts = ct_gguf_parts(path);
    const size_t n = strlen(path), number = strlen("00001-of-00002.gguf");
    uint64_t sum = 0;

    if (parts == 0)
        return bytes_at(path, DEEPEST, arena);
    char *part = ct_arena_str(arena, path, n);
    for (unsigned i = 1; part && i <= parts; i++) {
        char digits[16];
        snprintf(digits, sizeof digits, "%05u", i);
        memcpy(part + n - number, digits, 5);
        sum += bytes_at(part, 0, arena);
    }
    return sum;
}

/* ---- walks ---- */

void ct_walk_tell(struct ct_walk *w, const char *name, const char *path, const char *missing,
                  const char *trouble)
{
    if (!name || !path) {
        w->failed = true;
    } else if (!w->ended) {
        const carat_stored s = {
            sizeof s, w->store, name, path, missing, trouble, ct_store_bytes(path, &w->arena)};
        w->ended = w->visit(w->user, &s) != 0;
    }
}

/* Everything of one folder is told: the next one takes the memory. */
static void next_folder(struct ct_walk *w)
{
    ct_arena_free(&w->arena);
}

/* The names of dir, which outlive the folders: who asks frees them. */
static struct ct_dir names_in(struct ct_walk *w, const char *dir, struct ct_arena *names)
{
    struct ct_dir d;

    *names = (struct ct_arena){NULL};
    if (ct_dir_read(&d, dir, names, NULL) != CARAT_OK)
        w->failed = true;
    return d;
}

static const char *printed(struct ct_walk *w, const char *format, const char *a, const char *b, const char *c)
{
    const size_t size = strlen(format) + strlen(a) + strlen(b) + strlen(c);
    char *text = ct_arena_push(&w->arena, 1, size);

    if (text)
        snprintf(text, size, format, a, b, c);
    return text;
}

/* The models of a directory by the name that its files have behind one colon: one of safetensors, or each
 * GGUF file. False: it has none. */
static bool tell_models(struct ct_walk *w, const char *dir, const char *called)
{
    const char **name = NULL;
    struct ct_hub_model m;
    carat_error err;
    size_t n = 0;

    if (ct_has_safetensors(dir)) {
        const bool bad = ct_hub_find_directory(&m, dir, &w->arena, &err) != CARAT_OK;
        ct_walk_tell(w, called, dir, bad ? NULL : m.missing, bad ? err.message : NULL);
        return true;
    }
    if (ct_hub_list_ggufs(&name, &n, dir, &w->arena, NULL) != CARAT_OK) {
        w->failed = true;
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        const char *missing;
        if (ct_hub_look_for_parts(&missing, dir, name[i], &w->arena, NULL) != CARAT_OK)
            w->failed = true;
        else
            ct_walk_tell(w, n == 1 ? called : printed(w, "%s:%s%s", called, name[i], ""),
                         ct_path_join(&w->arena, dir, name[i]), missing, NULL);
    }
    free(name);
    const char *missing = n == 0 ? ct_hub_look_in_tree(dir, &w->arena) : NULL;
    if (missing)
        ct_walk_tell(w, called, dir, missing, NULL);
    return n > 0 || missing;
}

/* ---- the hub's cache ---- */

static bool is_meant_by(struct ct_walk *w, const char *refs, const char *name, const char *commit)
{
    char meant[CT_HUB_REVISION + 1];
    const char *path = ct_path_join(&w->arena, refs, name);

    return path && ct_hub_read_ref(meant, path, NULL) == CARAT_OK && strcmp(meant, commit) == 0;
}

/* "@v1", "@0123…": what a name needs behind it to mean this snapshot; "": it is the main branch's. */
static const char *revision_of(struct ct_walk *w, const char *folder, const char *commit)
{
    const char *refs = ct_store_place(&w->arena, CT_AT_HUB_REFS, &(struct ct_store_names){.root = folder});
    struct ct_dir d = {NULL, 0};
    const char *found = commit;

    if (refs && is_meant_by(w, refs, "main", commit))
        return "";
    if (!refs || ct_dir_read(&d, refs, &w->arena, NULL) != CARAT_OK)
        w->failed = true;
    for (size_t i = 0; i < d.n; i++)
        if (is_meant_by(w, refs, d.name[i], commit))
            found = d.name[i];
    return printed(w, "@%s%s%s", found, "", "");
}

/* What was begun: a blob that has not its name yet. */
static void tell_begun(struct ct_walk *w, const char *folder, const char *called)
{
    const char *blobs = ct_store_place(&w->arena, CT_AT_HUB_BLOBS, &(struct ct_store_names){.root = folder});
    struct ct_dir d = {NULL, 0};

    if (!blobs || ct_dir_read(&d, blobs, &w->arena, NULL) != CARAT_OK)
        w->failed = true;
    for (size_t i = 0; i < d.n; i++) {
        static const char ending[] = ".incomplete";
        const size_t n = strlen(d.name[i]);
        if (n > strlen(ending) && strcmp(d.name[i] + n - strlen(ending), ending) == 0) {
            ct_walk_tell(w, called, blobs, "the rest of what was begun", NULL);
            return;
        }
    }
}

static void walk_repository(struct ct_walk *w, const char *hub, const char *name)
{
    struct ct_store_names names;

    if (!ct_store_names(&names, CT_AT_HUB_FOLDER, ct_str_of(name)))
        return;
    const char *folder = ct_path_join(&w->arena, hub, name),
               *snapshots = folder ? ct_store_place(&w->arena, CT_AT_HUB_SNAPSHOTS,
                                                    &(struct ct_store_names){.root = folder})
                                   : NULL,
               *owner = ct_arena_str(&w->arena, names.owner.s, names.owner.n),
               *called = owner ? printed(w, "%s/%s%s", owner, names.name.s, "") : NULL;
    struct ct_dir d;
    bool any = false;
    if (!snapshots || !called || ct_dir_read(&d, snapshots, &w->arena, NULL) != CARAT_OK) {
        w->failed = true;
        return;
    }
    if (!ct_hub_is_repository(ct_str_of(called)))
        return;
    for (size_t i = 0; i < d.n; i++) {
        const char *revision = revision_of(w, folder, d.name[i]),
                   *snapshot = ct_path_join(&w->arena, snapshots, d.name[i]),
                   *whole = revision ? printed(w, "%s%s%s", called, revision, "") : NULL;
        if (!snapshot || !whole)
            w->failed = true;
        else if (tell_models(w, snapshot, whole))
            any = true;
    }
    if (!any)
        tell_begun(w, folder, called);
}

void ct_hub_walk(struct ct_walk *w, const char *hub)
{
    struct ct_arena names;
    const struct ct_dir d = names_in(w, hub, &names);

    for (size_t i = 0; i < d.n && !w->ended; i++) {
        walk_repository(w, hub, d.name[i]);
        next_folder(w);
    }
    ct_arena_free(&names);
}

/* ---- llama.cpp ---- */

carat_status ct_llama_cpp_find(struct ct_hub_model *model, const char *dir, const char *repository,
                               const char *part, struct ct_arena *arena, carat_error *err)
{
    char prefix[CT_HUB_REPOSITORY + 2];
    struct ct_store_names names = {.file = {"", 0}};
    ct_store_split(&names, repository);
    const size_t n = ct_store_path(prefix, sizeof prefix, CT_AT_LLAMA_CPP_FILE, &names);
    const char *chosen = NULL;
    struct ct_dir d;
    size_t fit = 0;

    *model = (struct ct_hub_model){NULL, NULL};
    if (n >= sizeof prefix)
        return CARAT_OK;
    CT_TRY(ct_dir_read(&d, dir, arena, err));
    for (size_t i = 0; i < d.n; i++)
        if (strncmp(d.name[i], prefix, n) == 0 && ct_gguf_is_model(d.name[i] + n) &&
            (!ct_hub_is_gguf(part) || strcmp(d.name[i] + n, part) == 0))
            d.name[fit++] = d.name[i] + n;
    if (fit > 0)
        CT_TRY(ct_hub_choose_gguf(&chosen, d.name, fit, repository, ct_hub_is_gguf(part) ? "" : part, err));
    if (!chosen)
        return CARAT_OK;
    const char *file = chosen - n; /* it is the end of a name in the directory */
    CT_TRY(ct_hub_look_for_parts(&model->missing, dir, file, arena, err));
    if (!model->missing && !(model->path = ct_path_join(arena, dir, file)))
        return ct_no_memory(err, dir);
    return CARAT_OK;
}

/* OWNER/NAME:FILE, of the ways to read OWNER_NAME_FILE the one that llama.cpp has most likely written: names
 * of repositories of GGUF files end in -GGUF. Whichever it is, ct_llama_cpp_find finds this file by it. */
static const char *flat_name(struct ct_walk *w, const char *file)
{
    static const char *const ends[] = {"-GGUF_", "-gguf_"};
    const char *owner_end = strchr(file, '_'), *name_end = NULL;

    if (!owner_end || owner_end == file)
        return "";
    for (size_t i = 0; i < CT_COUNT(ends) && !name_end; i++)
        if ((name_end = strstr(owner_end, ends[i])))
            name_end += strlen(ends[i]) - 1;
    if (!name_end)
        name_end = strchr(owner_end + 1, '_');
    if (!name_end || !ct_gguf_is_model(name_end + 1))
        return "";
    const char *owner = ct_arena_str(&w->arena, file, (size_t)(owner_end - file)),
               *name = ct_arena_str(&w->arena, owner_end + 1, (size_t)(name_end - owner_end - 1));
    const char *repository = owner && name ? printed(w, "%s/%s%s", owner, name, "") : NULL;
    if (!repository)
        return NULL;
    return ct_hub_is_repository(ct_str_of(repository)) ? printed(w, "%s:%s%s", repository, name_end + 1, "")
                                                       : "";
}

void ct_llama_cpp_walk(struct ct_walk *w, const char *dir)
{
    static const char begun[] = ".downloadInProgress";
    struct ct_arena names;
    const struct ct_dir d = names_in(w, dir, &names);

    for (size_t i = 0; i < d.n && !w->ended; i++) {
        const char *path = ct_path_join(&w->arena, dir, d.name[i]), *missing = NULL;
        const size_t n = strlen(d.name[i]), end = strlen(begun);
        if (!path)
            w->failed = true;
        else if (n > end && strcmp(d.name[i] + n - end, begun) == 0)
            ct_walk_tell(w, "", path, "the rest of what was begun", NULL);
        else if (ct_gguf_is_model(d.name[i]) && !strstr(d.name[i], "_mmproj") && ct_os_kind(path) == 1) {
            if (ct_hub_look_for_parts(&missing, dir, d.name[i], &w->arena, NULL) != CARAT_OK)
                w->failed = true;
            ct_walk_tell(w, flat_name(w, d.name[i]), path, missing, NULL);
        }
        next_folder(w);
    }
    ct_arena_free(&names);
}

/* ---- LM Studio ---- */

carat_status ct_lm_studio_find(struct ct_hub_model *model, const char *dir, const char *repository,
                               const char *part, struct ct_arena *arena, carat_error *err)
{
    struct ct_store_names names = {.root = dir};

    ct_store_split(&names, repository);
    const char *folder = ct_store_place(arena, CT_AT_LM_STUDIO_FOLDER, &names);
    *model = (struct ct_hub_model){NULL, NULL};
    if (!folder)
        return ct_no_memory(err, dir);
    return ct_os_kind(folder) == 2 ? ct_hub_find_model(model, folder, repository, part, arena, err)
                                   : CARAT_OK;
}

void ct_lm_studio_walk(struct ct_walk *w, const char *dir)
{
    struct ct_arena names;
    const struct ct_dir owners = names_in(w, dir, &names);

    for (size_t i = 0; i < owners.n && !w->ended; i++) {
        const char *owner = ct_path_join(&names, dir, owners.name[i]);
        struct ct_dir d = {NULL, 0};
        if (!owner || ct_dir_read(&d, owner, &names, NULL) != CARAT_OK)
            w->failed = true;
        for (size_t j = 0; j < d.n && !w->ended; j++) {
            const char *folder = ct_path_join(&w->arena, owner, d.name[j]),
                       *called = printed(w, "%s/%s%s", owners.name[i], d.name[j], "");
            if (!folder || !called)
                w->failed = true;
            else if (ct_hub_is_repository(ct_str_of(called)))
                tell_models(w, folder, called);
            next_folder(w);
        }
    }
    ct_arena_free(&names);
}

/* ---- folders of whatever depth: LiteRT-LM's, and carat's own for addresses ---- */

static void walk_tree(struct ct_walk *w, const char *dir, const char *below, const char *before,
                      const char *trouble, bool (*is_model)(const char *name), int depth)
{
    struct ct_arena names;
    const struct ct_dir d = names_in(w, dir, &names);

    for (size_t i = 0; i < d.n && !w->ended; i++) {
        const char *path = ct_path_join(&names, dir, d.name[i]),
                   *name = *below ? ct_path_join(&names, below, d.name[i]) : d.name[i];
        const int kind = path && name ? ct_os_kind(path) : 0;
        if (!path || !name)
            w->failed = true;
        else if (kind == 2 && depth > 0)
            walk_tree(w, path, name, before, trouble, is_model, depth - 1);
        else if (kind == 1 && is_model(d.name[i])) {
            ct_walk_tell(w, before ? printed(w, "%s%s%s", before, name, "") : "", path, NULL, trouble);
            next_folder(w);
        }
    }
    ct_arena_free(&names);
}

static bool is_litert(const char *name)
{
    static const char *const endings[] = {".litertlm", ".task", ".tflite"};
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < CT_COUNT(endings); i++)
        if (strcmp(dot, endings[i]) == 0)
            return true;
    return false;
}

void ct_litert_walk(struct ct_walk *w, const char *dir)
{
    walk_tree(w, dir, "", NULL, "is LiteRT-LM's, whose files are not readable by carat", is_litert, 4);
}

static bool is_fetched(const char *name)
{
    const char *dot = strrchr(name, '.');

    return !dot || strcmp(dot, ".incomplete") != 0;
}

void ct_address_walk(struct ct_walk *w, const char *dir)
{
    walk_tree(w, dir, "", "https://", NULL, is_fetched, 12);
}

const char *ct_address_path(const char *dir, const char *address, struct ct_arena *arena)
{
    const char *host = strstr(address, "://");
    char *rest = host ? ct_arena_str(arena, host + 3, strcspn(host + 3, "?#")) : NULL;
    const size_t before = rest ? strcspn(rest, "/") : 0;

    if (!before || memchr(rest, '@', before))
        return NULL;
    const struct ct_str name = {rest, ct_path_unescape(rest)};
    return memchr(name.s, '/', name.n) && ct_path_stays_inside(name) ? ct_path_join(arena, dir, rest) : NULL;
}
