/* SPDX-License-Identifier: Apache-2.0 */
/* packed_build.h: a packed file in the hands of a test: made from another container by carat itself, its
 * index as the struct that it was read into, to be changed and written again under right hashes, so that the
 * checks behind them are reached. Include it behind file_build.h. */
#ifndef PACKED_BUILD_H
#define PACKED_BUILD_H

#include "file/file_build.h"
#include "file/packed.h"

#include <carat_tools.h>

/* ---- what is packed ---- */

#define VECTORS CT_TEST_DATA "/vectors/"
#define SBS     CT_TEST_DATA "/sbs/"
#define FUZZ    CT_TEST_DATA "/../../fuzz/corpus/"

/* One of each kind, with and without tokenizer, notes, unused tensors, further files. */
static const struct origin {
    const char *path;
    enum ct_file_kind kind;
    int version;
    bool tokenizer;
} origins[] = {
    {VECTORS "gguf/mixed.gguf", CT_FILE_GGUF, 3, false}, {FUZZ "gguf/gemma3", CT_FILE_GGUF, 3, true},
    {FUZZ "gguf/quantised", CT_FILE_GGUF, 3, true},      {CT_TEST_DATA "/file/gemma3", CT_FILE_HF, 0, true},
    {VECTORS "models/gemma3-mm", CT_FILE_HF, 0, false},  {FUZZ "sbs/gemma1-sfp-v1", CT_FILE_SBS, 1, false},
    {SBS "v1/g2-bf16.sbs", CT_FILE_SBS, 1, true},        {SBS "g3-sfp.sbs", CT_FILE_SBS, 2, true},
};

/* ---- a packed file ---- */

struct packed {
    struct buf file;
    struct ct_arena arena;
    struct ct_packed p; /* its texts are in the file as it was read */
    struct buf index;   /* what they are in; kept while p is used */
};

static inline struct ct_packed_header packed_header(const struct buf *file)
{
    struct ct_packed_header h;
    memcpy(&h, file->p, sizeof h);
    return h;
}

/* Header and index get the hashes, and the file the size, that belong to what is there. */
static inline void packed_mend(struct buf *file)
{
    struct ct_packed_header h = packed_header(file);
    size_t n = file->n - (size_t)h.index_at;
    h = ct_packed_header(h.index_at, n, ct_packed_hash_block(file->p + h.index_at, n));
    memcpy(file->p, &h, sizeof h);
}

static inline void packed_free(struct packed *k)
{
    buf_free(&k->file);
    buf_free(&k->index);
    ct_arena_free(&k->arena);
}

/* Reads the index of k->file. */
static inline void packed_index(struct packed *k)
{
    carat_error err;
    ct_arena_free(&k->arena);
    buf_free(&k->index);
    put(&k->index, k->file.p, k->file.n);
    if (ct_packed_read(&k->p, "made", (struct ct_bytes){k->index.p, k->index.n}, &k->arena, &err) != CARAT_OK)
        fail_msg("%s", err.message);
}

/* The file at path, from a directory of this test. */
static inline struct packed packed_load(const char *path)
{
    struct packed k = {.file = {NULL, 0, 0}};
    char part[65536];
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s cannot be read", path);
    for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
        put(&k.file, part, n);
    fclose(f);
    packed_index(&k);
    return k;
}

/* The model at `origin`, packed into the file `to`. */
static inline void packed_write(const char *origin, const char *to)
{
    carat_model *model = NULL;
    carat_error err;
    if (carat_model_open(&model, origin, NULL, &err) != CARAT_OK ||
        carat_model_pack(model, to, NULL, NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    carat_model_close(model);
}

static inline struct packed packed_from(const char *origin)
{
    char *dir = temp_dir();
    packed_write(origin, path_in(dir, "x.carat"));
    struct packed k = packed_load(path_in(dir, "x.carat"));
    remove_dir(dir, (const char *const[]){"x.carat", NULL});
    return k;
}

/* Puts the index, as k->p now says it, behind what lies before it. */
static inline void packed_rewrite(struct packed *k)
{
    struct ct_packed_header h = packed_header(&k->file);
    struct buf index = {0};
    put_zero(&index, ct_packed_write_index(&k->p, NULL));
    ct_packed_write_index(&k->p, index.p);
    k->file.n = (size_t)h.index_at;
    put(&k->file, index.p, index.n);
    buf_free(&index);
    packed_mend(&k->file);
}

/* Where in the index the count of a list is: lists stand at its end, one behind the other. */
enum packed_list { PACKED_SOURCES, PACKED_METAS, PACKED_TENSORS, PACKED_WEIGHTS, PACKED_MADE };
static inline size_t packed_count_at(const struct packed *k, enum packed_list list)
{
    struct ct_packed p = k->p;
    uint32_t *const n[] = {&p.n_source, &p.n_meta, &p.n_tensor, &p.n_weight, &p.n_made};
    for (size_t i = list; i < CT_COUNT(n); i++)
        *n[i] = 0;
    return (size_t)packed_header(&k->file).index_at + ct_packed_write_index(&p, NULL) -
           4 * (CT_COUNT(n) - (size_t)list);
}

static inline struct ct_packed_weight *packed_weight(struct packed *k, const char *name)
{
    for (uint32_t i = 0; i < k->p.n_weight; i++)
        if (ct_str_is(k->p.weight[i].name, name))
            return &k->p.weight[i];
    fail_msg("no weight %s", name);
    return NULL;
}
static inline struct ct_meta *packed_meta(struct packed *k, const char *key)
{
    for (uint32_t i = 0; i < k->p.n_meta; i++)
        if (ct_str_is(k->p.meta[i].key, key))
            return &k->p.meta[i];
    fail_msg("no metadata %s", key);
    return NULL;
}
static inline struct ct_tensor *packed_tensor(struct packed *k, const char *name)
{
    for (uint32_t i = 0; i < k->p.n_tensor; i++)
        if (strcmp(k->p.tensor[i].name, name) == 0)
            return &k->p.tensor[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

#endif
