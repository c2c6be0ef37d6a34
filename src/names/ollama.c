/* SPDX-License-Identifier: Apache-2.0 */
/* ollama.c: ollama's store: manifests (base/ollama_manifest.h) name the layers of a model by their digests,
 * and these lie in blobs/. There are two trees of manifests: manifests/, and since lists of manifests exist
 * manifests-v2/, which is asked first, as ollama does. Files on their way are called -partial, and no
 * manifest names them. */
#include "names/stores.h"

#include "base/path.h"
#include "file/reader.h"
#include "os/files.h"

enum { MOST_TEXT = 1 << 20 };

/* ---- names ---- */

static bool is_part(struct ct_str s, const char *more)
{
    for (size_t i = 0; i < s.n; i++) {
        const char c = s.s[i], low = (char)(c | 0x20);
        if (!((low >= 'a' && low <= 'z') || (c >= '0' && c <= '9') || (c && strchr(more, c))))
            return false;
    }
    return s.n >= 1 && s.n <= 100 && *s.s != '.' && *s.s != '-';
}

static bool is_name(const struct ct_ollama_name *n)
{
    return is_part(n->host, "._-:") && is_part(n->owner, "_-") && is_part(n->model, "._-") &&
           is_part(n->tag, "._-");
}

/* The last byte of that kind; n: there is none. */
static size_t last_of(struct ct_str s, char c)
{
    size_t i = s.n;

    while (i > 0 && s.s[i - 1] != c)
        i--;
    return i ? i - 1 : s.n;
}

bool ct_ollama_read_name(struct ct_ollama_name *name, struct ct_str s)
{
    struct ct_str part[3];
    int n = 0;

    *name = (struct ct_ollama_name){
        ct_str_of(CT_OLLAMA_HOST), ct_str_of("library"), {NULL, 0}, ct_str_of("latest")};
    const size_t slash = last_of(s, '/'), colon = last_of(s, ':');
    if (colon < s.n && (slash == s.n || colon > slash)) {
        name->tag = (struct ct_str){s.s + colon + 1, s.n - colon - 1};
        s.n = colon;
    }
    if (s.n && s.s[s.n - 1] == '/')
        return false;
    for (; n < 3 && s.n; n++) {
        const char *end = memchr(s.s, '/', s.n);
        part[n] = (struct ct_str){s.s, end ? (size_t)(end - s.s) : s.n};
        s = end ? (struct ct_str){end + 1, s.n - part[n].n - 1} : (struct ct_str){"", 0};
    }
    if (n == 0 || s.n)
        return false;
    name->model = part[n - 1];
    if (n > 1)
        name->owner = part[n - 2];
    if (n > 2)
        name->host = part[0];
    if (ct_str_is(name->host, "ollama.com"))
        name->host = ct_str_of(CT_OLLAMA_HOST);
    return is_name(name);
}

/* ---- looking ---- */

static carat_status read_file(struct ct_ollama_manifest *m, const char *path, carat_error *err)
{
    struct ct_map map;

    CT_TRY(ct_os_map(&map, path, err));
    carat_status status = ct_ollama_read_manifest(m, path, map.bytes, err);
    ct_os_unmap(&map);
    return status;
}

static const char *blob_path(const char *dir, const char *blob, struct ct_arena *arena)
{
    struct ct_store_names names = {.root = dir, .hash = blob + strlen("sha256-")};

    return ct_store_place(arena, CT_AT_OLLAMA_BLOB, &names);
}

/* True when it is there with all its bytes. */
static bool is_whole(const char *path, int64_t size)
{
    struct ct_os_id id;

    return ct_os_kind(path) == 1 && ct_os_identify(&id, path) && (size < 0 || id.size == (uint64_t)size);
}

/* The text of a small layer; NULL: it is none that can be shown. */
static carat_status read_text(const char **text, const char *path, struct ct_arena *arena, carat_error *err)
{
    struct ct_map map;

    CT_TRY(ct_os_map(&map, path, err));
    const struct ct_str s = {(const char *)map.bytes.data, map.bytes.size};
    const bool good = s.n <= MOST_TEXT && !memchr(s.s, 0, s.n);
    if (good)
        *text = ct_arena_str(arena, s.s, s.n);
    ct_os_unmap(&map);
    return !good   ? ct_bad_file(err, path, "%zu bytes that are no text of at most %d", s.n, MOST_TEXT)
           : *text ? CARAT_OK
                   : ct_no_memory(err, path);
}

/* The model of a manifest, whose file is there. */
static carat_status follow(struct ct_ollama_model *found, const char *dir, const char *path,
                           struct ct_arena *arena, carat_error *err)
{
    struct ct_ollama_manifest m;
    const char **const texts[CT_OLLAMA_ROLES] = {
        [CT_OLLAMA_PARAMS] = &found->params,
        [CT_OLLAMA_SYSTEM] = &found->system,
        [CT_OLLAMA_TEMPLATE] = &found->template_text,
    };

    CT_TRY(read_file(&m, path, err));
    if (*m.list.blob) {
        const char *child = blob_path(dir, m.list.blob, arena);
        if (!child)
            return ct_no_memory(err, path);
        if (ct_os_kind(child) != 1) {
            found->model.missing = strrchr(child, '/') + 1;
            return CARAT_OK;
        }
        CT_TRY(read_file(&m, child, err));
        if (*m.list.blob)
            return ct_bad_file(err, child, "a list of manifests in a list of manifests");
    }
    if (*m.refused)
        return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: the model has %s", path, m.refused);
    for (int i = 0; i < CT_OLLAMA_ROLES; i++) {
        if (!*m.layer[i].blob)
            continue;
        const char *blob = blob_path(dir, m.layer[i].blob, arena);
        if (!blob)
            return ct_no_memory(err, path);
        if (!is_whole(blob, m.layer[i].size)) {
            found->model.path = NULL;
            found->model.missing = strrchr(blob, '/') + 1;
            return CARAT_OK;
        }
        if (texts[i])
            CT_TRY(read_text(texts[i], blob, arena, err));
        else
            found->model.path = blob;
    }
    return CARAT_OK;
}

static const struct tree {
    enum ct_store_path folder, manifest;
    const char *host; /* of the library, as the tree spells it */
} trees[] = {{CT_AT_OLLAMA_NEWER_MANIFESTS, CT_AT_OLLAMA_NEWER_MANIFEST, "ollama.com"},
             {CT_AT_OLLAMA_MANIFESTS, CT_AT_OLLAMA_MANIFEST, CT_OLLAMA_HOST}};

/* NULL: memory is out. */
static const char *manifest_path(const char *dir, const struct tree *t, const struct ct_ollama_name *name,
                                 struct ct_arena *arena)
{
    const struct ct_store_names names = {.root = dir,
                                         .host = ct_str_is(name->host, CT_OLLAMA_HOST) ? ct_str_of(t->host)
                                                                                       : name->host,
                                         .owner = name->owner,
                                         .name = name->model,
                                         .version = name->tag};

    return ct_store_place(arena, t->manifest, &names);
}

carat_status ct_ollama_find(struct ct_ollama_model *found, const char *dir, const struct ct_ollama_name *name,
                            struct ct_arena *arena, carat_error *err)
{
    struct ct_ollama_model first = {.params = NULL};

    *found = first;
    for (size_t i = 0; i < CT_COUNT(trees); i++) {
        const char *path = manifest_path(dir, &trees[i], name, arena);
        if (!path)
            return ct_no_memory(err, dir);
        if (ct_os_kind(path) != 1) /* or a link whose blob is gone: the other tree still knows */
            continue;
        *found = (struct ct_ollama_model){.params = NULL};
        CT_TRY(follow(found, dir, path, arena, err));
        if (found->model.path)
            return CARAT_OK;
        if (!first.model.missing)
            first = *found;
    }
    *found = first;
    return CARAT_OK;
}

/* ---- the walk ---- */

/* "gemma3:1b", "user/gemma3:1b", "hf.co/user/gemma3:1b" */
static const char *short_name(struct ct_arena *arena, const struct ct_ollama_name *n)
{
    const bool home = ct_str_is(n->host, CT_OLLAMA_HOST), library = home && ct_str_is(n->owner, "library");
    const size_t size = n->host.n + n->owner.n + n->model.n + n->tag.n + 4;
    char *text = ct_arena_push(arena, 1, size);

    if (text)
        snprintf(text, size, "%.*s%s%.*s%s%.*s:%.*s", home ? 0 : (int)n->host.n, n->host.s, home ? "" : "/",
                 library ? 0 : (int)n->owner.n, n->owner.s, library ? "" : "/", (int)n->model.n, n->model.s,
                 (int)n->tag.n, n->tag.s);
    return text;
}

static void tell_tag(struct ct_walk *w, const char *dir, size_t tree, const char *path,
                     const struct ct_ollama_name *name)
{
    struct ct_ollama_model found;
    carat_error err;
    const char *called = short_name(&w->arena, name), *before = path;

    for (size_t i = 0; i < tree && before && called; i++) { /* an earlier tree's, which was told */
        before = manifest_path(dir, &trees[i], name, &w->arena);
        if (before && ct_os_kind(before) == 1)
            called = NULL;
    }
    if (before && called) {
        carat_status status = ct_ollama_find(&found, dir, name, &w->arena, &err);
        ct_walk_tell(w, called, !status && found.model.path ? found.model.path : path,
                     status ? NULL : found.model.missing, status ? err.message : NULL);
    }
    ct_arena_free(&w->arena);
}

/* Below, the parts of a name are folders; the last ones are manifests. */
static void walk_names(struct ct_walk *w, const char *dir, size_t tree, const char *path, struct ct_str *part,
                       int level)
{
    struct ct_arena names = {NULL};
    struct ct_dir d;

    if (ct_dir_read(&d, path, &names, NULL) != CARAT_OK)
        w->failed = true;
    for (size_t i = 0; i < d.n && !w->ended; i++) {
        const char *below = ct_path_join(&names, path, d.name[i]);
        part[level] = ct_str_of(d.name[i]);
        const int kind = below ? ct_os_kind(below) : 0;
        if (!below)
            w->failed = true;
        else if (level < 3 && kind == 2)
            walk_names(w, dir, tree, below, part, level + 1);
        else if (level == 3 && kind == 1) {
            struct ct_ollama_name n = {part[0], part[1], part[2], part[3]};
            if (ct_str_is(n.host, trees[tree].host))
                n.host = ct_str_of(CT_OLLAMA_HOST);
            if (is_name(&n))
                tell_tag(w, dir, tree, below, &n);
        }
    }
    ct_arena_free(&names);
}

void ct_ollama_walk(struct ct_walk *w, const char *dir)
{
    for (size_t i = 0; i < CT_COUNT(trees) && !w->ended; i++) {
        struct ct_arena names = {NULL};
        struct ct_str part[4];
        const char *path = ct_store_place(&names, trees[i].folder, &(struct ct_store_names){.root = dir});
        if (path)
            walk_names(w, dir, i, path, part, 0);
        else
            w->failed = true;
        ct_arena_free(&names);
    }
}
