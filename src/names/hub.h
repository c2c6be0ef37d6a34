/* SPDX-License-Identifier: Apache-2.0 */
/* hub.h: the cache that huggingface_hub and its kin share: for each repository a folder
 * models--OWNER--NAME, in it refs/ (branches and tags, each a file with a commit's hash), snapshots/ (a
 * directory for each commit, of links) and blobs/ (what they lead to). It is read here, never written. */
#ifndef CT_HUB_H
#define CT_HUB_H

#include "base/arena.h"
#include "base/base.h"
#include "base/store_paths.h"
#include "file/reader.h"

enum { CT_HUB_REPOSITORY = 200 }; /* most bytes of its name */

/* True when s is OWNER/NAME as the hub allows it. */
bool ct_hub_is_repository(struct ct_str s);
/* True when s can be a branch, a tag or a commit: parts between slashes, none of them "." or "..". */
bool ct_hub_is_revision(struct ct_str s);

/* The snapshot that refs/REVISION of this folder names, or the one that is called so; NULL: it has none.
 * Paths are in the arena. E_FORMAT (the ref names no commit), E_IO, E_MEMORY. */
carat_status ct_hub_snapshot(const char **snapshot, const char *folder, const char *revision,
                             struct ct_arena *arena, carat_error *err);

enum { CT_HUB_LINK = 1024 }; /* most bytes of a link and of a path below the cache */
/* Where a link of the cache leads to, both paths below the cache. False: there it may not: from a snapshot
 * only into blobs/ of its repository, from there only into blobs/ of the cache, whose folders are named by
 * the first two digits. hub: the cache as the paths of links begin that do not depend on their place. */
bool ct_hub_follows(char out[CT_HUB_LINK], const char *hub, const char *link, const char *target);
/* That all links of a snapshot, which is a path below hub, lead there. E_FORMAT, E_MEMORY. */
carat_status ct_hub_check_links(const char *hub, const char *snapshot, struct ct_arena *arena,
                                carat_error *err);

/* True when it is the name of a GGUF file. */
bool ct_hub_is_gguf(const char *name);
/* The one of n names, which are sorted for that, that such a quantisation means; "" as below. NULL: none.
 * E_NOT_FOUND (several). */
carat_status ct_hub_choose_gguf(const char **chosen, const char **name, size_t n, const char *called,
                                const char *quant, carat_error *err);
/* Its GGUF files, of split ones the first parts, in *names[*n], which is for free; the names are in the
 * arena. E_MEMORY. */
carat_status ct_hub_list_ggufs(const char ***names, size_t *n, const char *snapshot, struct ct_arena *arena,
                               carat_error *err);
/* Of a file in several parts, the first that is not in the directory; NULL: all are. E_MEMORY. */
carat_status ct_hub_look_for_parts(const char **missing, const char *snapshot, const char *name,
                                   struct ct_arena *arena, carat_error *err);

/* The names of a commit's files, as trees/COMMIT.json has them. */
struct ct_hub_tree {
    const char **name; /* [n], for free; the strings are in the arena */
    size_t n, capacity;
};
/* False: it is no such list, or of another version, or memory ran out. */
bool ct_hub_read_tree(struct ct_hub_tree *t, struct ct_bytes text, struct ct_arena *arena);
/* Of the files that are read of this snapshot's model, the first that its commit has and it has not; NULL:
 * there is none, or nobody knows. Where a commit has several models, the one that is preferred. */
const char *ct_hub_look_in_tree(const char *snapshot, struct ct_arena *arena);

/* A model in a snapshot. */
struct ct_hub_model {
    const char *path;    /* for ct_file_open; NULL: a file is missing */
    const char *missing; /* that file, or the ending of its name; NULL: nothing */
};
/* The model of a snapshot, which messages call so. part: a file's name, or the quantisation that a GGUF
 * file's name ends in, in any case; "": safetensors where it has any, else of its GGUF files Q4_K_M, then
 * Q4_0, the one trained for it first, then the first by name. Image encoders are no models, drafters only
 * where there is nothing else. Strings are in the arena. E_NOT_FOUND (several files are meant, which are
 * listed), E_FORMAT (an index of shards is damaged), E_IO, E_MEMORY. */
carat_status ct_hub_find_model(struct ct_hub_model *model, const char *snapshot, const char *called,
                               const char *part, struct ct_arena *arena, carat_error *err);
/* The one of safetensors. E_FORMAT, E_IO, E_MEMORY. */
carat_status ct_hub_find_directory(struct ct_hub_model *model, const char *snapshot, struct ct_arena *arena,
                                   carat_error *err);

#endif
