/* SPDX-License-Identifier: Apache-2.0 */
/* store_paths.h: where each store of models keeps what, as one table of paths. Who finds models there
 * (src/names), who fetches them there (fetch) and who removes them (cli) fill in the same rows. */
#ifndef CT_STORE_PATHS_H
#define CT_STORE_PATHS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/base.h"

enum ct_store_path {
    /* the hub's cache, which huggingface_hub and its kin share; root of the first two: the cache */
    CT_AT_HUB_FOLDER,
    CT_AT_HUB_LOCK,
    CT_AT_HUB_REFS, /* root of the rest: the folder of a repository */
    CT_AT_HUB_REF,
    CT_AT_HUB_SNAPSHOTS,
    CT_AT_HUB_SNAPSHOT,
    CT_AT_HUB_FILE,
    CT_AT_HUB_BLOBS,
    CT_AT_HUB_BLOB,
    CT_AT_HUB_TREE,
    /* ollama's store */
    CT_AT_OLLAMA_MANIFESTS,
    CT_AT_OLLAMA_MANIFEST,
    CT_AT_OLLAMA_NEWER_MANIFESTS,
    CT_AT_OLLAMA_NEWER_MANIFEST,
    CT_AT_OLLAMA_BLOB,
    /* kagglehub's cache; root of all but the first two: the folder */
    CT_AT_KAGGLE_FOLDERS,
    CT_AT_KAGGLE_FOLDER, /* name: OWNER/MODEL/FRAMEWORK/VARIATION */
    CT_AT_KAGGLE_VERSION,
    CT_AT_KAGGLE_FILE,
    CT_AT_KAGGLE_MARKS,
    CT_AT_KAGGLE_MARK, /* the file is whole */
    CT_AT_KAGGLE_ALL,  /* all are */
    /* files of llama.cpp, a folder of LM Studio */
    CT_AT_LLAMA_CPP_FILE,
    CT_AT_LM_STUDIO_FOLDER,
    CT_STORE_PATHS
};

/* The names that make a path; a name that the path has no place for is not looked at. version: a branch, a
 * tag or a commit; a tag of ollama's; a version of Kaggle's. */
struct ct_store_names {
    const char *root;
    struct ct_str host, owner, name, version, file;
    const char *hash; /* the digits alone */
};

/* Writes the path, terminated, as far as it has room. Returns its bytes; capacity or more: it has none. */
size_t ct_store_path(char *out, size_t capacity, enum ct_store_path path, const struct ct_store_names *n);
/* Makes that path in the arena; NULL: memory is out. */
const char *ct_store_place(struct ct_arena *arena, enum ct_store_path path, const struct ct_store_names *n);
/* Sets the names of a path below the root. False: it is none of that form. */
bool ct_store_names(struct ct_store_names *n, enum ct_store_path path, struct ct_str below);
/* OWNER/NAME in two; without a slash owner is "". */
void ct_store_split(struct ct_store_names *n, const char *repository);

#endif
