/* SPDX-License-Identifier: Apache-2.0 */
/* reader.h: what the readers of this room share: the open file itself, taking further files from beside it, a
 * sorted list of names, and safe printing of names that come from files. For src/file and src/names. */
#ifndef CT_READER_H
#define CT_READER_H

#include "base/arena.h"
#include "base/base.h"
#include "base/json.h"
#include "os/files.h"
#include "file/file.h"
#include "file/packed.h"

/* Limits on what a hostile file may ask for; far above every real checkpoint. */
enum {
    CT_MAX_META = 65536,      /* GGUF metadata entries */
    CT_MAX_GGUF = 65536,      /* tensors in one GGUF file */
    CT_MAX_TENSOR = 262144,   /* tensors in a checkpoint */
    CT_MAX_SHARD = 1024,      /* files in a checkpoint */
    CT_MAX_HEADER = 100000000 /* bytes of a safetensors header: the limit of the format */
};

struct ct_file;

/* ---- names: sorted once, found by bisection; no input makes this slower than n log n ---- */

struct ct_name {
    struct ct_str s;
    int at;           /* position in the list that the index is of */
    const char *file; /* where what it names lies, for messages */
    uint64_t offset;
};
struct ct_index {
    struct ct_name *name;
    int n;
};
/* Room for n names in an empty index. */
carat_status ct_index_reserve(struct ct_file *f, struct ct_index *ix, size_t n, carat_error *err);
/* The name of the next thing in the list. */
static inline void ct_index_add(struct ct_index *ix, struct ct_str s, const char *file, uint64_t offset)
{
    ix->name[ix->n] = (struct ct_name){s, ix->n, file, offset};
    ix->n++;
}
/* Sorts the names that were added. E_FORMAT when one is there twice; what they name is for the message. */
carat_status ct_index_sort(struct ct_index *ix, const char *what, carat_error *err);
int ct_index_find(const struct ct_index *ix, struct ct_str s); /* -1: absent */

struct ct_metas {
    struct ct_meta *meta; /* [index.n] */
    struct ct_index index;
};

/* The side files of a Hugging Face directory. */
enum { CT_SIDES = 9 };
extern const char *const ct_side_name[CT_SIDES];
/* Position of a side file in ct_side_name and in ct_file.side; -1 for other names. */
int ct_side_at(const char *name);

struct ct_file {
    enum ct_file_kind kind;
    int version; /* of GGUF: 2 or 3; of SBS: 1 or 2; 0 for other kinds */
    bool tokenizer_only;
    const char *path;
    struct ct_arena arena; /* names, metadata, indexes */

    struct ct_tensor *tensor;
    int n_tensor;
    size_t capacity;
    struct ct_index index;
    struct ct_metas metas;
    struct ct_bytes side[CT_SIDES];
    struct ct_json_tree json[CT_SIDES];                 /* of those that were asked for */
    const char *note;                                   /* for ct_file_note */
    struct ct_modules *modules;                         /* in the arena; NULL: there are none */
    struct ct_json_tree module_json[1 + CT_MOST_DENSE]; /* their configurations */
    carat_error modules_error;                          /* why they are not known */
    const struct ct_sbs_config *sbs;                    /* in the arena; NULL for other kinds */
    struct ct_bytes sbs_blob;                           /* that it was read from */
    struct ct_source *source;                           /* [n_source] what opening asked for, in order */
    int n_source;
    size_t source_capacity;

    /* of a packed file */
    const struct ct_packed *packed; /* in the arena; NULL for other files */
    const char *packed_path;
    struct ct_map packed_map;
    int copy; /* of one in the cache, which gets its name later: a descriptor of it; -1: none */
    bool trusted;
    struct ct_bytes tables;
    struct ct_tensor *weight; /* [n_weight] */
    int n_weight;
    struct ct_index weight_index;

    /* where ct_file_take looks: a directory, or when dir is NULL the caller's buffers */
    const char *dir;
    const struct ct_part *part;
    int n_part;
    struct ct_map *map; /* every mapping that was made */
    int n_map;
    size_t map_capacity;
};

/* The file `name` beside the opened one: its bytes and its path for messages. bytes->data is NULL when there
 * is none; that is no error. */
carat_status ct_file_take(struct ct_file *f, const char *name, struct ct_bytes *bytes, const char **path,
                          carat_error *err);
bool ct_file_has(struct ct_file *f, const char *name);
/* True when a directory has something of that name. A path too long to ask about is not there. */
bool ct_exists_in(const char *dir, const char *name);
/* True when a directory has weights in safetensors. */
bool ct_has_safetensors(const char *dir);
enum { CT_HUB_REVISION = 128 }; /* most bytes of a revision's name */
/* In the folder that a hub cache has for a repository: the commit that the text of a file below refs/ names;
 * false: it is none. */
bool ct_hub_parse_ref(char commit[CT_HUB_REVISION + 1], struct ct_bytes text);
/* The commit that such a file names. E_FORMAT (none), E_NOT_FOUND, E_IO. */
carat_status ct_hub_read_ref(char commit[CT_HUB_REVISION + 1], const char *path, carat_error *err);
/* Maps the file at path and remembers it as a source called name; path lives as long as f. */
carat_status ct_file_map(struct ct_file *f, const char *name, const char *path, struct ct_bytes *bytes,
                         carat_error *err);
/* The caller's buffer of that name; NULL: there is none. */
const struct ct_part *ct_file_part(const struct ct_file *f, const char *name);
/* Its bytes, never with a null pointer, which would read as "absent". */
struct ct_bytes ct_part_bytes(const struct ct_part *p);
/* One more tensor at the end of the list: zeroed but for its scale of 1. */
carat_status ct_file_add(struct ct_file *f, struct ct_tensor **t, carat_error *err);
/* An index of n tensors; E_FORMAT when a name is there twice. */
carat_status ct_file_index(struct ct_file *f, const struct ct_tensor *tensor, int n, struct ct_index *ix,
                           carat_error *err);
/* Says how many bytes at the front of the mapped file at p are its header. */
void ct_file_header(struct ct_file *f, const uint8_t *p, size_t head);
/* Keeps one sentence for ct_file_note, unless there is one already. */
carat_status ct_file_set_note(struct ct_file *f, carat_error *err, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* ---- the readers ---- */

carat_status ct_gguf_open(struct ct_file *f, const char *name, const char *path, struct ct_bytes bytes,
                          carat_error *err);
/* True for bytes that begin or end as a file of gemma.cpp does. */
bool ct_sbs_is(struct ct_bytes bytes);
/* The packed file in map; path is its own. */
carat_status ct_packed_file(struct ct_file *f, const char *path, const struct ct_map *map, carat_error *err);
carat_status ct_sbs_open(struct ct_file *f, const char *path, struct ct_bytes bytes, carat_error *err);
/* A descriptor of the file that m maps; -1 and errno, which is 0 when another one has its name. */
int ct_place_mapped(const char *path, const struct ct_map *m);
/* Appends the tensors of one safetensors file, in the order of their data. */
carat_status ct_safetensors_read(struct ct_file *f, const char *path, struct ct_bytes bytes,
                                 carat_error *err);
carat_status ct_hf_open(struct ct_file *f, carat_error *err);
/* modules.json and the folders that it names; what is odd about them is kept for ct_file_modules.
 * E_MEMORY. */
carat_status ct_modules_open(struct ct_file *f, carat_error *err);
/* Always fails, saying what the bytes look like and what to give instead. */
carat_status ct_identify(const char *path, struct ct_bytes bytes, carat_error *err);

carat_status ct_metas_int(const struct ct_metas *m, const char *path, const char *key, int64_t lo, int64_t hi,
                          int64_t *out, carat_error *err);
const struct ct_meta *ct_metas_find(const struct ct_metas *m, const char *key);
/* Fills the value of a scalar, whose type is set, from its n bytes. */
void ct_meta_decode(struct ct_meta *m, const uint8_t *p, int n);

/* ---- names of GGUF files ---- */

/* One that can be opened: no image encoder, and of the parts of one model the first. */
bool ct_gguf_is_model(const char *name);
/* The number of parts of the model whose first part has this name; 0: the name says of none. */
unsigned ct_gguf_parts(const char *name);
/* E_NOT_FOUND, with those of the n names for which a message has room; the first ones are sorted for that. */
enum { CT_SHOWN_NAMES = 64 };
carat_status ct_gguf_fail_several(const char *dir, const char **name, int n, carat_error *err);

/* ---- text from files ---- */

/* The number of bytes of white space that a text begins with. */
size_t ct_leading_space(struct ct_bytes b);
/* Valid UTF-8 without control characters, 1 to max bytes. */
bool ct_name_ok(struct ct_str s, size_t max);

#endif
