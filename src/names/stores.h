/* SPDX-License-Identifier: Apache-2.0 */
/* stores.h: models that other programs have downloaded, where these programs keep them. They are read here,
 * never written. The hub's cache is hub.h's, but for the walk over it. */
#ifndef CT_STORES_H
#define CT_STORES_H

#include "base/arena.h"
#include "base/base.h"
#include "base/ollama_manifest.h"
#include "carat_tools.h" /* carat_stored only */
#include "names/hub.h"

/* ---- looking for a model: its path, or what it lacks; neither: nothing of it is there ---- */

/* llama.cpp keeps OWNER_NAME_FILE beside each other, LM Studio OWNER/NAME/FILE. As ct_hub_find_model. */
carat_status ct_llama_cpp_find(struct ct_hub_model *model, const char *dir, const char *repository,
                               const char *part, struct ct_arena *arena, carat_error *err);
carat_status ct_lm_studio_find(struct ct_hub_model *model, const char *dir, const char *repository,
                               const char *part, struct ct_arena *arena, carat_error *err);

/* True when s is OWNER/MODEL/FRAMEWORK/VARIATION, perhaps with /VERSION, a number. */
bool ct_kaggle_is_handle(struct ct_str s);
/* In kagglehub's cache, which marks what is complete. *version: the one that was found, the newest where the
 * handle names none; NULL: none was. As ct_hub_find_model. */
carat_status ct_kaggle_find(struct ct_hub_model *model, const char **version, const char *dir,
                            const char *handle, struct ct_arena *arena, carat_error *err);

/* Where the file of an address is kept below dir: HOST/PATH, without what follows a ? or #. NULL: it is the
 * address of no file, or memory ran out. */
const char *ct_address_path(const char *dir, const char *address, struct ct_arena *arena);

/* ---- ollama: manifests/HOST/OWNER/MODEL/TAG name layers by digest, blobs/ holds these ---- */

#define CT_OLLAMA_HOST "registry.ollama.ai" /* that names mean without one */

struct ct_ollama_name {
    struct ct_str host, owner, model, tag;
};
/* [[HOST/]OWNER/]MODEL[:TAG]; what is left out is ollama's own library and "latest". False: no such name. */
bool ct_ollama_read_name(struct ct_ollama_name *name, struct ct_str s);

struct ct_ollama_model {
    struct ct_hub_model model;
    const char *params, *system, *template_text; /* texts of its layers, or NULL */
};
/* In the store at dir. E_UNSUPPORTED (layers that carat does not read), E_FORMAT, E_IO, E_MEMORY. */
carat_status ct_ollama_find(struct ct_ollama_model *model, const char *dir, const struct ct_ollama_name *name,
                            struct ct_arena *arena, carat_error *err);

/* ---- walks ---- */

struct ct_walk {
    const char *store; /* its name, for who visits */
    carat_stored_visit visit;
    void *user;
    struct ct_arena arena; /* of the model that is looked at */
    bool ended, failed;    /* by the visitor; for want of memory */
};
/* Visits all models of a store of this layout. */
typedef void ct_store_walk(struct ct_walk *w, const char *dir);
ct_store_walk ct_hub_walk, ct_ollama_walk, ct_llama_cpp_walk, ct_lm_studio_walk, ct_kaggle_walk,
    ct_litert_walk, ct_address_walk;

/* ---- for the files of these stores ---- */

/* Names in a directory that is read at once, in the arena. */
struct ct_dir {
    const char **name; /* [n], sorted */
    size_t n;
};
carat_status ct_dir_read(struct ct_dir *d, const char *dir, struct ct_arena *arena, carat_error *err);
/* Bytes of a model: a file and its further parts, or a directory and the folders in it. */
uint64_t ct_store_bytes(const char *path, struct ct_arena *arena);
/* Tells the visitor of one. trouble: why it cannot be used, or NULL. */
void ct_walk_tell(struct ct_walk *w, const char *name, const char *path, const char *missing,
                  const char *trouble);

#endif
