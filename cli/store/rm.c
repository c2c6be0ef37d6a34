/* SPDX-License-Identifier: Apache-2.0 */
/* rm.c: `carat rm`: removes models from the hub's cache, and from carat's own store of what it fetched as
 * ollama does, with the blobs that nothing else needs and their packed copies. What other programs keep is
 * left to them. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <ftw.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/store_paths.h"
#include "carat_tools.h"
#include "model/cache_place.h"
#include "names/aliases.h"
#include "names/fetcher.h"
#include "names/hub_links.h"
#include "names/located.h"
#include "names/places.h"
#include "options/options.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/output.h"
#include "term/question.h"
#include "term/size.h"

/* ---- wherever it lies ---- */

/* Removing a model means a question, a file, and its packed copy. */

struct packed {
    struct stat model;
    uint64_t bytes;
    bool removes;
};

static int visit_packed(void *user, const carat_cache_entry *e)
{
    struct packed *p = user;
    struct stat st;
    const bool same = *e->origin && stat(e->origin, &st) == 0 && st.st_dev == p->model.st_dev &&
                      st.st_ino == p->model.st_ino;

    p->bytes += same ? e->bytes : 0;
    return same && p->removes;
}

/* Bytes of the packed copy of what lies at the path; where `removes`, it goes. */
static uint64_t packed_copy(const char *path, bool removes)
{
    struct packed p = {.removes = removes};
    struct cache_place place;

    cache_find(&place);
    if (*place.path && stat(path, &p.model) == 0)
        (void)carat_cache_walk(place.path, visit_packed, &p, NULL);
    return p.bytes;
}

/* An exit code; what is not there is no mistake. */
static int remove_file(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return DONE;
    return term_fail(FAILED, "%s: cannot be removed: %s", path, strerror(errno));
}

/* Asks, unless `yes`. called: what is removed, for the question. An exit code: DONE means yes. */
static int agree_to_remove(const char *called, uint64_t freed, bool yes)
{
    char size[SIZE_TEXT];

    if (yes)
        return DONE;
    size_text(size, (double)freed);
    if (!somebody_is_there())
        return term_fail(USAGE, "rm: %s: %s would be free, and nobody is there to be asked: --yes removes it",
                         called, size);
    return term_agrees("Remove %s, which frees %s?", called, size)
               ? DONE
               : term_fail(FAILED, "rm: %s was not removed", called);
}

/* ---- other programs' ---- */

/* Commands by which the programs that own a store remove a model; a path follows where a path is needed. */
static const struct {
    const char *store, *command;
    bool by_path;
} owners[] = {
    {"ollama", "ollama rm", false}, {"llama.cpp", "rm", true}, {"LM Studio", "rm", true},
    {"Kaggle", "rm -r", true},      {"carat", "rm", true},
};

static int leave_to_owner(const carat_location *at, const char *typed)
{
    const char *name = at->handle && at->named != CARAT_NAMED_KAGGLE ? at->handle : typed;

    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++)
        if (strcmp(owners[i].store, at->store) == 0)
            return term_fail(USAGE,
                             "rm: %.200s is in the store of %s, which carat only reads; '%s %s' removes it",
                             typed, at->store, owners[i].command, owners[i].by_path ? at->path : name);
    return term_fail(USAGE, "rm: %.200s is in the store of %s, which carat only reads", typed, at->store);
}

/* ---- carat's own store of ollama's models ---- */

/* Models that carat has fetched from ollama's registry: the manifests are those that it has written. */

enum { MOST_PATH = 3 * PLACE_PATH, BLOB = 72 };

/* True: the model was found in that store. */
static bool is_own_ollama(const carat_location *at)
{
    return at->path && at->handle && strcmp(at->store, "carat") == 0 && strstr(at->path, "/blobs/sha256-");
}

/* "sha256-HASH" of an object's digest; false: it has none of that form. */
static bool blob_of(char blob[BLOB], const json_t *layer)
{
    const char *digest = json_string_value(json_object_get(layer, "digest"));

    if (!digest || strlen(digest) != BLOB - 1 || strncmp(digest, "sha256:", 7) != 0 ||
        strspn(digest + 7, "0123456789abcdef") != 64)
        return false;
    snprintf(blob, BLOB, "sha256-%s", digest + 7);
    return true;
}

static void blob_path(char path[MOST_PATH], const char *store, const char *blob)
{
    const struct ct_store_names names = {.root = store, .hash = blob + strlen("sha256-")};

    ct_store_path(path, MOST_PATH, CT_AT_OLLAMA_BLOB, &names);
}

/* Adds the blobs that a manifest names to a set of names; a file that is none names none. */
static void add_blobs(json_t *set, const char *path)
{
    json_t *manifest = json_load_file(path, 0, NULL), *layer;
    char blob[BLOB];
    size_t i;

    json_array_foreach(json_object_get(manifest, "layers"), i, layer)
    {
        if (blob_of(blob, layer))
            json_object_set_new(set, blob, json_true());
    }
    if (blob_of(blob, json_object_get(manifest, "config")))
        json_object_set_new(set, blob, json_true());
    json_decref(manifest);
}

/* For the walk, which takes no argument. */
static const char *removed_manifest;
static json_t *needed;

static int visit(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)at;
    if (kind == FTW_F && strcmp(path, removed_manifest) != 0)
        add_blobs(needed, path);
    return 0;
}

/* Leaves those of the model's blobs that nothing else needs; their bytes. */
static uint64_t keep_unneeded(json_t *blobs, const char *store, uint64_t *shared)
{
    uint64_t freed = 0;
    const char *blob;
    json_t *is;
    void *next;

    json_object_foreach_safe(blobs, next, blob, is)
    {
        char path[MOST_PATH];
        struct stat st = {.st_size = 0};
        blob_path(path, store, blob);
        if (stat(path, &st) != 0)
            st.st_size = 0;
        if (json_object_get(needed, blob)) {
            *shared += (uint64_t)st.st_size;
            json_object_del(blobs, blob);
        } else {
            freed += (uint64_t)st.st_size;
        }
    }
    return freed;
}

/* The manifest first: none ever leads nowhere. Then folders that are empty. */
static int remove_all(char *manifest, json_t *blobs, const char *store)
{
    const char *blob;
    json_t *is;
    int code = remove_file(manifest);

    json_object_foreach(blobs, blob, is)
    {
        char file[MOST_PATH];
        blob_path(file, store, blob);
        if (code == DONE)
            code = remove_file(file);
    }
    for (char *slash; code == DONE && (slash = strrchr(manifest, '/')) && strlen(manifest) > strlen(store);) {
        *slash = 0;
        if (rmdir(manifest) != 0)
            break;
    }
    return code;
}

/* Removes its manifest, then the blobs that no other manifest names, and the packed copy. An exit code. */
static int remove_from_ollama(const carat_location *at, const char *typed, bool yes)
{
    enum { MOST_OPEN = 16 };
    char store[PLACE_PATH], manifest[MOST_PATH], folder[MOST_PATH], size[SIZE_TEXT];
    uint64_t shared = 0;
    json_t *blobs = json_object();

    needed = json_object();
    if (!blobs || !needed || !find_own_ollama(store, sizeof store))
        return fail_memory();
    ct_store_path(folder, sizeof folder, CT_AT_OLLAMA_MANIFESTS, &(struct ct_store_names){.root = store});
    if (snprintf(manifest, sizeof manifest, "%s/%s", folder, at->handle) >= (int)sizeof manifest)
        return fail_memory();
    *strrchr(manifest, ':') = '/';
    removed_manifest = manifest;
    add_blobs(blobs, manifest);
    nftw(folder, visit, MOST_OPEN, FTW_PHYS);
    uint64_t freed = keep_unneeded(blobs, store, &shared);
    const bool weights = json_object_get(blobs, strrchr(at->path, '/') + 1) != NULL;
    freed += weights ? packed_copy(at->path, false) : 0;
    int code = agree_to_remove(typed, freed, yes);
    if (code == DONE && weights)
        (void)packed_copy(at->path, true);
    if (code == DONE)
        code = remove_all(manifest, blobs, store);
    if (code == DONE)
        out_print("removed %.200s, %s are free\n", typed, size_text(size, (double)freed));
    if (code == DONE && shared)
        term_note("%s stay: other models need them", size_text(size, (double)shared));
    json_decref(blobs);
    json_decref(needed);
    return code;
}

/* ---- the hub's cache ---- */

/* Folders of the snapshot that are empty now, the deepest first, and the names of its commit. */
static void remove_empty(const struct hub_links *l)
{
    for (size_t i = 0; i < l->n; i++) {
        char path[HUB_PATH];
        if (!l->link[i].wanted)
            continue;
        snprintf(path, sizeof path, "%s", l->link[i].path);
        for (char *slash; (slash = strrchr(path, '/')) != NULL && strlen(path) > strlen(l->snapshot);) {
            *slash = 0;
            if (rmdir(path) != 0)
                break;
        }
    }
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* A repository without a snapshot has nothing that anybody can use. */
static int remove_repository(const struct hub_links *l)
{
    enum { MOST_OPEN = 16 };
    char snapshots[HUB_PATH + 16];

    ct_store_path(snapshots, sizeof snapshots, CT_AT_HUB_SNAPSHOTS,
                  &(struct ct_store_names){.root = l->folder});
    if (access(l->snapshot, F_OK) == 0 || (rmdir(snapshots) != 0 && errno != ENOENT))
        return DONE; /* another snapshot is there */
    if (nftw(l->folder, remove_entry, MOST_OPEN, FTW_DEPTH | FTW_PHYS) != 0)
        return term_fail(FAILED, "%s: cannot be removed: %s", l->folder, strerror(errno));
    return DONE;
}

static int remove_links(const struct hub_links *l, const char *path)
{
    int code = DONE;

    (void)packed_copy(path, true);
    for (size_t i = 0; i < l->n && code == DONE; i++)
        if (l->link[i].wanted)
            code = remove_file(l->link[i].path);
    /* links first: none ever leads nowhere */
    for (size_t i = 0; i < l->n && code == DONE; i++)
        if (l->link[i].frees && l->link[i].blob)
            code = remove_file(l->link[i].blob);
    if (code == DONE) {
        remove_empty(l);
        code = remove_repository(l);
    }
    return code;
}

enum { CALLED = 512 };

/* "u/g", or of one of several files "u/g (g-Q4_0.gguf)". */
static void write_called(char called[CALLED], const struct hub_links *l, const char *path, const char *typed)
{
    const size_t n = strlen(l->snapshot);
    const bool file = strlen(path) > n; /* than the snapshot */

    snprintf(called, CALLED, "%.200s%s%.200s%s", typed, file ? " (" : "", file ? path + n + 1 : "",
             file ? ")" : "");
}

/* rest: it is not complete, and what has come of blobs goes with it. */
static int remove_from_hub(const char *path, const char *typed, bool rest, bool yes)
{
    char called[CALLED];
    struct hub_links l;
    char size[SIZE_TEXT];
    bool elsewhere = false;
    int code = DONE;

    if (!hub_links_read(&l, path))
        code = l.failed ? fail_memory()
                        : term_fail(FAILED, "rm: %s: it is no snapshot of the hub's cache", path);
    uint64_t freed = l.freed + (code == DONE ? packed_copy(path, false) : 0);
    if (code == DONE && rest)
        freed += hub_incomplete(l.folder, false);
    for (size_t i = 0; i < l.n; i++)
        elsewhere |= l.link[i].frees && l.link[i].elsewhere;
    if (code == DONE) {
        write_called(called, &l, path, typed);
        code = agree_to_remove(called, freed, yes);
    }
    if (code == DONE && rest)
        (void)hub_incomplete(l.folder, true);
    if (code == DONE)
        code = remove_links(&l, path);
    if (code == DONE)
        out_print("removed %s, %s are free\n", called, size_text(size, (double)freed));
    if (code == DONE && elsewhere)
        term_note("%s stay in the store that repositories share; 'hf cache prune' removes what none needs",
                  size_text(size, (double)l.shared));
    else if (code == DONE && l.shared)
        term_note("%s stay: other snapshots need them", size_text(size, (double)l.shared));
    hub_links_free(&l);
    return code;
}

/* Finds where a part of a model lies that is not complete. */
static bool find_rest(char path[HUB_PATH], const carat_location *at)
{
    char hub[HUB_PATH], folder[HUB_PATH];
    struct ct_store_names names = {.root = hub};

    if (!at->repository || !find_hub(hub, sizeof hub))
        return false;
    ct_store_split(&names, at->repository);
    if (ct_store_path(folder, sizeof folder, CT_AT_HUB_FOLDER, &names) >= sizeof folder ||
        access(folder, F_OK) != 0)
        return false;
    if (!at->commit)
        return hub_begun(path, folder);
    names = (struct ct_store_names){.root = folder, .version = ct_str_of(at->commit)};
    return ct_store_path(path, HUB_PATH, CT_AT_HUB_SNAPSHOT, &names) < HUB_PATH;
}

static int forget_alias(const char *typed)
{
    json_t *all = aliases_read();
    int code = all ? DONE : fail_memory();

    if (code == DONE && json_object_del(all, typed) == 0 && (code = aliases_write(all)) == DONE)
        out_print("removed the name %s; what it stood for is still there\n", typed);
    json_decref(all);
    return code;
}

static int remove_one(const char *typed, const struct options *o)
{
    char target[MOST_TARGET], path[HUB_PATH];
    carat_location at;

    if (strcmp(typed, "tiny") == 0 || strcmp(typed, "-") == 0)
        return term_fail(USAGE, "rm: %s is no model that could be removed", typed);
    if (access(typed, F_OK) != 0 && alias_target(target, typed))
        return forget_alias(typed);
    TRY(look_for_model(&at, typed));
    int code;
    if (at.named == CARAT_NAMED_PATH && at.path && !at.word)
        code =
            term_fail(USAGE, "rm: %.200s is a path; carat removes by name what was fetched by name", typed);
    else if (at.path && is_own_ollama(&at))
        code = remove_from_ollama(&at, typed, o->fetch->yes);
    else if (at.path && at.store && strcmp(at.store, "Hugging Face") != 0)
        code = leave_to_owner(&at, typed);
    else if (at.path && at.repository)
        code = remove_from_hub(at.path, typed, false, o->fetch->yes);
    else if (find_rest(path, &at))
        code = remove_from_hub(path, typed, true, o->fetch->yes);
    else
        code = term_fail(NOT_FOUND, "rm: %.200s is not on this machine; 'carat ls' lists what is", typed);
    carat_location_free(&at);
    return code;
}

int verb_rm(const struct options *o)
{
    out_fold(1);
    TRY(remove_one(o->model, o));
    if (o->text)
        TRY(remove_one(o->text, o));
    for (int i = 0; i < o->more.n; i++)
        TRY(remove_one(o->more.text[i], o));
    return DONE;
}
