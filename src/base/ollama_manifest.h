/* SPDX-License-Identifier: Apache-2.0 */
/* ollama_manifest.h: what a manifest of ollama's says: which blobs a model is, and which of them carat reads.
 * It is read where one lies in a store, and before a model is fetched. */
#ifndef CT_OLLAMA_MANIFEST_H
#define CT_OLLAMA_MANIFEST_H

#include "base/base.h"

enum {
    CT_OLLAMA_BLOB = 72,     /* bytes of a blob's name: "sha256-" and 64 digits */
    CT_OLLAMA_REFUSED = 160, /* and of a reason */
    CT_OLLAMA_BLOBS = 64,    /* of a model */
};

/* A layer's file in blobs/; "": there is no such layer. */
struct ct_ollama_layer {
    char blob[CT_OLLAMA_BLOB];
    int64_t size;     /* -1: it is not said */
    const char *kind; /* "model", "params", "config" and so on; static */
};
enum ct_ollama_role {
    CT_OLLAMA_WEIGHTS,
    CT_OLLAMA_PARAMS,
    CT_OLLAMA_SYSTEM,
    CT_OLLAMA_TEMPLATE,
    CT_OLLAMA_ROLES
};
struct ct_ollama_manifest {
    struct ct_ollama_layer layer[CT_OLLAMA_ROLES];
    struct ct_ollama_layer all[CT_OLLAMA_BLOBS]; /* [n], those that are not read and the config included */
    int n;
    struct ct_ollama_layer list;     /* it is a list, and this is the manifest of it that is a GGUF file's */
    char refused[CT_OLLAMA_REFUSED]; /* why carat does not run the model, or "" */
};
/* Reads one; path is for messages. E_FORMAT, E_MEMORY. */
carat_status ct_ollama_read_manifest(struct ct_ollama_manifest *m, const char *path, struct ct_bytes text,
                                     carat_error *err);

#endif
