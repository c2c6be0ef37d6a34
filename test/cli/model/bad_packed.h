/* SPDX-License-Identifier: Apache-2.0 */
/* bad_packed.h: packed files that lie under right hashes: a small model, packed, in which a row of a table
 * changes a field of the index or some bytes. What is behind the lie is left to the tables; judging is in
 * bad.h. */
#ifndef BAD_PACKED_H
#define BAD_PACKED_H

#include "cli/model/bad_gguf.h"
#include "file/packed_build.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- the file that is damaged ---- */

enum base { OF_GGUF, OF_HF, OF_SBS };

/* The small GGUF file, packed; or one of the others. */
static inline struct packed made(enum base base)
{
    static const char *const other[] = {
        [OF_HF] = CT_TEST_DATA "/file/gemma3", [OF_SBS] = CT_TEST_DATA "/sbs/v1/g2-bf16.sbs"};
    if (base != OF_GGUF)
        return packed_from(other[base]);
    char *dir = temp_dir();
    struct gguf g;
    gguf_init(&g);
    struct buf b = gguf_bytes(&g, NULL);
    write_file(dir, "small.gguf", b.p, b.n);
    struct packed k = packed_from(path_in(dir, "small.gguf"));
    remove_dir(dir, (const char *const[]){"small.gguf", NULL});
    buf_free(&b);
    gguf_done(&g);
    return k;
}

static inline void done(struct bad_place *p, struct packed *k)
{
    bad_file(p, "x.carat", k->file.p, k->file.n);
    packed_free(k);
}

/* ---- makers ---- */

/* Something of the index has another value. */
struct kinds { /* kind and version of the origin, as struct ct_packed begins */
    uint32_t both[2];
};
enum where { INDEX, SOURCE, META, TENSOR, WEIGHT };
struct set {
    enum base base;
    enum where where;
    const char *name; /* of the entry; the first source has none */
    size_t at, n;     /* in the struct of the entry */
    const void *value;
};
static inline void set(struct bad_place *p, const void *with)
{
    const struct set *s = with;
    struct packed k = made(s->base);
    void *entry = s->where == INDEX    ? (void *)&k.p
                  : s->where == SOURCE ? (void *)&k.p.source[0]
                  : s->where == META   ? (void *)packed_meta(&k, s->name)
                  : s->where == TENSOR ? (void *)packed_tensor(&k, s->name)
                                       : (void *)packed_weight(&k, s->name);
    memcpy((char *)entry + s->at, s->value, s->n);
    packed_rewrite(&k);
    done(p, &k);
}
#define SET_OF(base, where, name, type, member, ...)                                                         \
    set, &(const struct set)                                                                                 \
    {                                                                                                        \
        base, where, name, offsetof(type, member), sizeof(((type *)0)->member), __VA_ARGS__                  \
    }
#define SET_INDEX(member, ...)      SET_OF(OF_GGUF, INDEX, "", struct ct_packed, member, __VA_ARGS__)
#define SET_SOURCE(member, ...)     SET_OF(OF_GGUF, SOURCE, "", struct ct_source, member, __VA_ARGS__)
#define SET_META(name, member, ...) SET_OF(OF_GGUF, META, name, struct ct_meta, member, __VA_ARGS__)
#define SET_TENSOR(member, ...)     SET_OF(OF_GGUF, TENSOR, Q_PROJ, struct ct_tensor, member, __VA_ARGS__)
#define SET_WEIGHT(name, member, ...)                                                                        \
    SET_OF(OF_GGUF, WEIGHT, name, struct ct_packed_weight, member, __VA_ARGS__)
#define U32_(v)    (&(const uint32_t){v})
#define U64_(v)    (&(const uint64_t){v})
#define I64_(v)    (&(const int64_t){v})
#define F32_(v)    (&(const float){v})
#define TEXT(s)    (&(const struct ct_str){s, sizeof(s) - 1})
#define NO_SECTION (&(const struct ct_section){0, 0, 0})
#define Q_PROJ     "blk.0.attn_q.weight"
#define NORM       "blk.0.attn_norm.weight"

/* Bytes of the file have other values: from the header on, the index, the count of a list, the tables; hashes
 * are made right unless `raw`. */
enum from { HEADER, FIRST, SOURCES, METAS, TENSORS, WEIGHTS, MADE, TABLES, END };
struct patch {
    enum from from;
    int64_t at;
    uint64_t value;
    size_t n;
    bool raw;
};
static inline void patch(struct bad_place *p, const void *with)
{
    const struct patch *c = with;
    struct packed k = made(OF_GGUF);
    struct ct_packed_header h = packed_header(&k.file);
    size_t from = c->from == HEADER   ? 0
                  : c->from == FIRST  ? (size_t)h.index_at
                  : c->from == TABLES ? (size_t)k.p.tables.at
                  : c->from == END    ? k.file.n
                                      : packed_count_at(&k, (enum packed_list)(c->from - SOURCES));
    memcpy(k.file.p + (int64_t)from + c->at, &c->value, c->n);
    if (!c->raw && c->from != HEADER)
        packed_mend(&k.file);
    if (!c->raw && c->from == HEADER) {
        uint64_t hash = XXH3_64bits(k.file.p, offsetof(struct ct_packed_header, header_hash));
        memcpy(k.file.p + offsetof(struct ct_packed_header, header_hash), &hash, sizeof hash);
    }
    done(p, &k);
}
#define PATCH(from, at, value, n, ...)                                                                       \
    patch, &(const struct patch)                                                                             \
    {                                                                                                        \
        from, at, value, n, __VA_ARGS__                                                                      \
    }
#define HEAD(member, value)                                                                                  \
    PATCH(HEADER, offsetof(struct ct_packed_header, member), value,                                          \
          sizeof(((struct ct_packed_header *)0)->member), false)

/* ---- for rows ---- */

#define IN_IT "x.carat", "in the index of the packed file"

#endif
