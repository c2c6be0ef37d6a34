/* SPDX-License-Identifier: Apache-2.0 */
/* rm_ollama.c: see rm_ollama.h. The manifests are those that carat has written. */
#define _XOPEN_SOURCE 700
#include "store/rm_ollama.h"

#include <ftw.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/places.h"
#include "store/remove.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/output.h"
#include "term/size.h"

enum { MOST_PATH = 3 * PLACE_PATH, BLOB = 72 };

bool is_own_ollama(const carat_location *at)
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
        snprintf(path, sizeof path, "%s/blobs/%s", store, blob);
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
        snprintf(file, sizeof file, "%s/blobs/%s", store, blob);
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

int remove_from_ollama(const carat_location *at, const char *typed, bool yes)
{
    enum { MOST_OPEN = 16 };
    char store[PLACE_PATH], manifest[MOST_PATH], folder[MOST_PATH], size[SIZE_TEXT];
    uint64_t shared = 0;
    json_t *blobs = json_object();

    needed = json_object();
    if (!blobs || !needed || !find_own_ollama(store, sizeof store))
        return fail_memory();
    snprintf(folder, sizeof folder, "%s/manifests", store);
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
        note("%s stay: other models need them", size_text(size, (double)shared));
    json_decref(blobs);
    json_decref(needed);
    return code;
}
