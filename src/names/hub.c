/* SPDX-License-Identifier: Apache-2.0 */
/* hub.c: see hub.h. What a model's own files hold is looked at only in the index of shards, for the names of
 * files. */
#include "names/hub.h"

#include "base/array.h"
#include "base/json_tree.h"
#include "base/path.h"
#include "file/reader.h"
#include "os/files.h"

#include <errno.h>
#include <stdlib.h>

/* ---- names ---- */

static bool is_in(char c, const char *more)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || strchr(more, c);
}

bool ct_hub_is_repository(struct ct_str s)
{
    const char *slash = memchr(s.s, '/', s.n);
    size_t owner = slash ? (size_t)(slash - s.s) : 0;

    if (owner == 0 || owner + 1 == s.n || s.n > CT_HUB_REPOSITORY || *s.s == '.' || slash[1] == '.')
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (i != owner && !(s.s[i] && is_in(s.s[i], "._-")))
            return false;
    return true;
}

bool ct_hub_is_revision(struct ct_str s)
{
    return ct_name_ok(s, CT_HUB_REVISION) && ct_path_stays_inside(s);
}

/* ---- refs and snapshots ---- */

carat_status ct_hub_snapshot(const char **snapshot, const char *folder, const char *revision,
                             struct ct_arena *arena, carat_error *err)
{
    char commit[CT_HUB_REVISION + 1];
    struct ct_store_names names = {.root = folder, .version = ct_str_of(revision)};
    const char *ref = ct_store_place(arena, CT_AT_HUB_REF, &names);
    int kind;

    *snapshot = NULL;
    if (!ref)
        return ct_no_memory(err, folder);
    CT_TRY(ct_os_look(&kind, ref, err));
    if (kind == 1)
        CT_TRY(ct_hub_read_ref(commit, ref, err));
    else if (strchr(revision, '/'))
        return CARAT_OK;
    else
        snprintf(commit, sizeof commit, "%s", revision);
    names.version = ct_str_of(commit);
    const char *path = ct_store_place(arena, CT_AT_HUB_SNAPSHOT, &names);
    if (!path)
        return ct_no_memory(err, folder);
    *snapshot = ct_os_kind(path) == 2 ? path : NULL;
    return CARAT_OK;
}

/* ---- links ---- */

/* The path that a link leads to, both below the cache; false: out of it. */
static bool follow_link(char out[CT_HUB_LINK], const char *link, const char *target)
{
    size_t n = 0;
    const char *slash = *target == '/' ? NULL : strrchr(link, '/');

    if (slash && (n = (size_t)(slash - link)) >= CT_HUB_LINK)
        return false;
    memcpy(out, link, n);
    for (const char *at = target; *at;) {
        const size_t part = strcspn(at, "/");
        if (part == 2 && memcmp(at, "..", 2) == 0) {
            if (n == 0)
                return false;
            while (n > 0 && out[--n] != '/')
                ;
        } else if (part > 0 && !(part == 1 && *at == '.')) {
            if (n + part + 2 > CT_HUB_LINK)
                return false;
            if (n)
                out[n++] = '/';
            memcpy(out + n, at, part);
            n += part;
        }
        at += part + (at[part] == '/');
    }
    out[n] = 0;
    return true;
}

bool ct_hub_follows(char out[CT_HUB_LINK], const char *hub, const char *link, const char *target)
{
    const size_t n = strlen(hub), folder = strcspn(link, "/");

    out[0] = 0;
    if (*target == '/') {
        if (strncmp(target, hub, n) != 0 || target[n] != '/')
            return false;
        target += n;
    }
    if (!follow_link(out, link, target))
        return false;
    const char *rest = out;
    if (strncmp(link + folder, "/snapshots/", strlen("/snapshots/")) == 0) { /* into its own blobs */
        if (strncmp(out, link, folder + 1) != 0 || strncmp(out + folder, "/blobs/", strlen("/blobs/")) != 0)
            return false;
        rest = out + folder + strlen("/blobs/");
    } else { /* from there into what all repositories share */
        if (strncmp(out, "blobs/", strlen("blobs/")) != 0 || strcspn(out + 6, "/") != 2 || !out[9] ||
            memcmp(out + 6, out + 9, 2) != 0)
            return false;
        rest = out + 9;
    }
    return *rest && !strchr(rest, '/');
}

/* A file of a snapshot: itself, or what links lead to, one into blobs/ and one on. */
static carat_status check_link(const char *hub, const char *link, struct ct_arena *arena, carat_error *err)
{
    char target[CT_HUB_LINK], next[CT_HUB_LINK], at[CT_HUB_LINK];

    if (snprintf(at, sizeof at, "%s", link) >= (int)sizeof at)
        return ct_bad_file(err, link, "a name that is too long");
    for (int i = 0; i < 3; i++) {
        const char *path = ct_path_join(arena, hub, at);
        if (!path)
            return ct_no_memory(err, hub);
        if (!ct_os_read_link(target, sizeof target, path))
            return CARAT_OK;
        if (i == 2 || !ct_hub_follows(next, hub, at, target))
            return ct_bad_file(err, path, "a link to %.200s, expected one into blobs of its repository",
                               target);
        memcpy(at, next, sizeof at);
    }
    return CARAT_OK;
}

static carat_status check_folder(const char *hub, const char *below, int depth, struct ct_arena *arena,
                                 carat_error *err);

struct entries {
    const char *hub, *below;
    struct ct_arena *arena;
    carat_error *err;
    int depth;
    carat_status status;
};

static void check_entry(void *user, const char *name)
{
    struct entries *e = user;
    char target[CT_HUB_LINK];
    const char *below = ct_path_join(e->arena, e->below, name),
               *path = below ? ct_path_join(e->arena, e->hub, below) : NULL;

    if (e->status)
        return;
    if (!path)
        e->status = ct_no_memory(e->err, e->hub);
    else if (ct_os_read_link(target, sizeof target, path))
        e->status = check_link(e->hub, below, e->arena, e->err);
    else if (e->depth > 0 && ct_os_kind(path) == 2)
        e->status = check_folder(e->hub, below, e->depth - 1, e->arena, e->err);
}

static carat_status check_folder(const char *hub, const char *below, int depth, struct ct_arena *arena,
                                 carat_error *err)
{
    struct entries e = {hub, below, arena, err, depth, CARAT_OK};
    const char *path = ct_path_join(arena, hub, below);

    if (!path)
        return ct_no_memory(err, hub);
    ct_os_names_in(path, check_entry, &e);
    return e.status;
}

carat_status ct_hub_check_links(const char *hub, const char *snapshot, struct ct_arena *arena,
                                carat_error *err)
{
    return check_folder(hub, snapshot + strlen(hub) + 1, 2, arena, err);
}

/* ---- GGUF files of a snapshot ---- */

struct list {
    const char *dir;
    struct ct_arena *arena;
    const char **name; /* below dir, malloc'd list of strings in the arena */
    size_t n, capacity;
    const char *folder; /* that is being read; NULL: dir itself */
    bool failed;
};

static void add_name(void *user, const char *name)
{
    struct list *l = user;
    const char *whole =
        l->folder ? ct_path_join(l->arena, l->folder, name) : ct_arena_str(l->arena, name, strlen(name));
    const char *path = whole ? ct_path_join(l->arena, l->dir, whole) : NULL;

    if (!path || !ct_array_grow(&l->name, &l->capacity, l->n + 1, sizeof *l->name)) {
        l->failed = true;
        return;
    }
    const int kind = ct_os_kind(path);
    if (kind == 2 && !l->folder) {
        l->folder = whole;
        ct_os_names_in(path, add_name, l);
        l->folder = NULL;
    } else if (kind == 1 && ct_gguf_is_model(name)) {
        l->name[l->n++] = whole;
    }
}

carat_status ct_hub_list_ggufs(const char ***names, size_t *n, const char *snapshot, struct ct_arena *arena,
                               carat_error *err)
{
    struct list l = {.dir = snapshot, .arena = arena};

    ct_os_names_in(snapshot, add_name, &l);
    if (l.failed) {
        free(l.name);
        return ct_no_memory(err, snapshot);
    }
    *names = l.name;
    *n = l.n;
    return CARAT_OK;
}

carat_status ct_hub_look_for_parts(const char **missing, const char *snapshot, const char *name,
                                   struct ct_arena *arena, carat_error *err)
{
    const unsigned parts = ct_gguf_parts(name);
    const size_t stem = parts ? strlen(name) - strlen("-00001-of-00002.gguf") : 0;

    *missing = NULL;
    for (unsigned i = 2; i <= parts; i++) {
        const size_t size = strlen(name) + 1;
        char *part = ct_arena_push(arena, 1, size);
        const char *path = NULL;
        if (part) {
            snprintf(part, size, "%.*s-%05u-of-%05u.gguf", (int)stem, name, i, parts);
            path = ct_path_join(arena, snapshot, part);
        }
        if (!path)
            return ct_no_memory(err, snapshot);
        if (ct_os_kind(path) != 1) {
            *missing = part;
            break;
        }
    }
    return CARAT_OK;
}

/* ---- safetensors of a snapshot ---- */

/* The first file of the index that is not there. */
static carat_status look_for_shards(const char **missing, const char *path, const char *snapshot,
                                    struct ct_arena *arena, carat_error *err)
{
    struct ct_json_tree tree = {0};
    struct ct_map m;

    *missing = NULL;
    CT_TRY(ct_os_map(&m, path, err));
    carat_status status = ct_json_tree_read(&tree, CARAT_E_FORMAT, path, m.bytes, err);
    const struct ct_json_value *map = status ? NULL : ct_json_get(tree.value, "weight_map");
    struct ct_str last = {"", 0};
    CT_JSON_EACH(key, map)
    {
        const struct ct_str name = ct_json_str(ct_json_of_key(key));
        if (status || *missing || ct_str_same(name, last))
            continue;
        last = name;
        const char *file =
            ct_name_ok(name, 255) && ct_path_stays_inside(name) ? ct_arena_str(arena, name.s, name.n) : "";
        const char *whole = file ? ct_path_join(arena, snapshot, file) : NULL;
        if (!whole)
            status = ct_no_memory(err, path);
        else if (!*file)
            status = ct_bad_file(err, path, "a shard has no name of a file beside it");
        else if (ct_os_kind(whole) != 1)
            *missing = file;
    }
    ct_json_tree_free(&tree);
    ct_os_unmap(&m);
    return status;
}

carat_status ct_hub_find_directory(struct ct_hub_model *model, const char *snapshot, struct ct_arena *arena,
                                   carat_error *err)
{
    static const char one[] = "model.safetensors", many[] = "model.safetensors.index.json";
    const char *index = ct_path_join(arena, snapshot, many);

    *model = (struct ct_hub_model){NULL, NULL};
    if (!index)
        return ct_no_memory(err, snapshot);
    if (!ct_exists_in(snapshot, "config.json"))
        model->missing = "config.json";
    else if (ct_os_kind(index) == 1)
        CT_TRY(look_for_shards(&model->missing, index, snapshot, arena, err));
    else if (!ct_exists_in(snapshot, one))
        model->missing = one;
    const char *listed = ct_hub_look_in_tree(snapshot, arena);
    if (listed)
        model->missing = listed;
    model->path = model->missing ? NULL : snapshot;
    return CARAT_OK;
}

/* ---- both ---- */

static carat_status find_file(struct ct_hub_model *model, const char *snapshot, const char *name,
                              struct ct_arena *arena, carat_error *err)
{
    const char *path = ct_path_join(arena, snapshot, name);

    if (!path)
        return ct_no_memory(err, snapshot);
    if (ct_os_kind(path) == 1)
        CT_TRY(ct_hub_look_for_parts(&model->missing, snapshot, name, arena, err));
    else
        model->missing = ct_arena_str(arena, name, strlen(name));
    model->path = model->missing ? NULL : path;
    return CARAT_OK;
}

carat_status ct_hub_find_model(struct ct_hub_model *model, const char *snapshot, const char *called,
                               const char *part, struct ct_arena *arena, carat_error *err)
{
    const char *name = NULL, **names;
    size_t n;

    *model = (struct ct_hub_model){NULL, NULL};
    if (ct_hub_is_gguf(part) && ct_path_stays_inside(ct_str_of(part)))
        return find_file(model, snapshot, part, arena, err);
    if (!*part && ct_has_safetensors(snapshot))
        return ct_hub_find_directory(model, snapshot, arena, err);
    CT_TRY(ct_hub_list_ggufs(&names, &n, snapshot, arena, err));
    carat_status status = n > 0 ? ct_hub_choose_gguf(&name, names, n, called, part, err) : CARAT_OK;
    free(names);
    if (status)
        return status;
    if (name)
        return find_file(model, snapshot, name, arena, err);
    if (!*part)
        return ct_hub_find_directory(model, snapshot, arena, err);
    char *wanted = ct_arena_push(arena, 1, strlen(part) + sizeof "*.gguf");
    if (!wanted)
        return ct_no_memory(err, snapshot);
    sprintf(wanted, "*%s.gguf", part);
    model->missing = wanted;
    return CARAT_OK;
}
