/* SPDX-License-Identifier: Apache-2.0 */
/* file.h: one interface over the containers a checkpoint comes in: a Hugging Face directory, a GGUF file or a
 * file of gemma.cpp, from a path or from memory. Gives named tensors (pointers into the mapping), metadata
 * and the side files. Trusts nothing in them; knows nothing about Gemma. */
#ifndef CT_FILE_H
#define CT_FILE_H

#include "base/base.h"
#include "base/json_tree.h"
#include "quant/weight.h"

enum ct_file_kind {
    CT_FILE_HF,        /* directory: config.json, *.safetensors, tokenizer files */
    CT_FILE_GGUF,      /* one GGUF v2/v3 file, or part 1 of a split one, whose other parts lie beside it */
    CT_FILE_SBS,       /* one file of gemma.cpp, V1 or V2; its configuration: file/sbs.h */
    CT_FILE_TOKENIZER, /* only a tokenizer: tokenizer.json or tokenizer.model, or a directory with one */
};

struct ct_tensor {
    const char *name;
    enum ct_type type;     /* CT_TYPE_COUNT: a type carat does not read; legal unless the model needs it */
    const char *type_name; /* as the file spells it, for messages */
    int n_dim;             /* 1 or 2 or more; scalars are n_dim 1, dim 1 */
    int64_t
        dim[4]; /* row-major, outermost first: a matrix is [rows = outputs][cols = inputs] for both kinds */
    const uint8_t *data; /* NULL: its place in a packed file has another form (ct_file_weight) */
    size_t size;
    bool interleaved; /* groups of rows lie side by side (packed files only); else row after row */
    bool nibbles;     /* these are indices and palettes */
    float scale;      /* factor on all values: 1 but in SBS files */
    const char *file; /* path of the file it lies in, for messages */
    uint64_t offset;  /* of data in that file, for messages */
    const struct ct_palettes *palettes; /* data is indices into these; NULL: it is values. No file says so */
};

/* A GGUF metadata value. Scalars are widened; arrays stay raw. */
enum ct_meta_type { CT_META_UINT, CT_META_INT, CT_META_FLOAT, CT_META_BOOL, CT_META_STRING, CT_META_ARRAY };
struct ct_meta {
    struct ct_str key;
    enum ct_meta_type type;
    uint64_t u; /* UINT, BOOL; INT as two's complement in i */
    int64_t i;
    double f;
    struct ct_str s;
    /* ARRAY: element type as above, ggml element width in bytes (0 for strings), raw bytes */
    enum ct_meta_type elem;
    int elem_bytes;
    uint64_t count;
    struct ct_bytes raw;
    uint64_t offset;      /* of the value in the file */
    struct ct_bytes pair; /* key, type and value as a GGUF file has them; data NULL: read from no such file */
};

struct ct_file;

/* One named buffer: "model.gguf", or "config.json", "model.safetensors", "tokenizer.json", ... */
struct ct_part {
    const char *name;
    struct ct_bytes bytes;
};

/* Maps what is there; header parsing only, tensor data is not touched. The kind is decided by magic bytes.
 * E_NOT_FOUND (nothing at path), E_IO, E_FORMAT, E_UNSUPPORTED, E_MEMORY. tokenizer_only: accept a
 * directory or file without weights. */
carat_status ct_file_open(struct ct_file **f, const char *path, bool tokenizer_only, carat_error *err);
/* The model that path stands for, malloc'd: path itself, but for the folder of a hub cache the snapshot that
 * refs/main names, and for a directory without safetensors its only GGUF file. E_NOT_FOUND (no such snapshot,
 * several GGUF files, which are listed), E_FORMAT, E_IO, E_MEMORY. */
carat_status ct_file_resolve(char **resolved, const char *path, bool tokenizer_only, carat_error *err);
/* Borrows the buffers until ct_file_close. One buffer: a GGUF, SBS or packed file or a tokenizer, by content;
 * several: the files of an HF directory, the parts of a split GGUF with the first one first, or an SBS file
 * and its "tokenizer.spm". Buffers without weights but with a tokenizer open as CT_FILE_TOKENIZER; a caller
 * that wants a model must look at the kind. */
carat_status ct_file_open_memory(struct ct_file **f, const struct ct_part *part, int n, carat_error *err);
void ct_file_close(struct ct_file *f); /* NULL is fine */

/* Gives the memory behind bytes of a mapped file back to the system; they are read again when they are
 * touched. Does nothing when p is not in a mapping of f. Any thread. */
void ct_file_forget(const struct ct_file *f, const void *p, size_t bytes);

/* Bytes of a mapped file that are read by place, for those who read a little of much. */
struct ct_place {
    int fd;           /* -1: closed */
    uint64_t at;      /* where they begin in the file */
    const char *path; /* its name, which lives as long as the ct_file */
};
/* Opens the file that bytes of f at p are mapped from; it is read wherever its name leads later. fd stays -1
 * for bytes that lie in memory alone, as a caller's buffer. E_IO (it is gone, or another file has its
 * name). */
carat_status ct_place_open(struct ct_place *place, const struct ct_file *f, const void *p, carat_error *err);
void ct_place_close(struct ct_place *place);
/* Reads n bytes that lie `from` bytes behind the place. NULL, or why that failed. */
const char *ct_place_read(const struct ct_place *place, void *to, size_t n, uint64_t from);
/* Tells the system that they will be read soon. Does not wait. */
void ct_place_ask(const struct ct_place *place, size_t n, uint64_t from);
/* True when those bytes are mapped from a regular file. */
bool ct_file_on_disk(const struct ct_file *f, const void *p);

/* Reads the mapped files ahead from front to back, until *stop is set: faster where several threads will read
 * all of them out of order. */
void ct_file_read_ahead(const struct ct_file *f, const _Atomic bool *stop);

enum ct_file_kind ct_file_kind(const struct ct_file *f);
const char *ct_file_path(const struct ct_file *f);
/* Bytes of all files that f was read from; for a packed form out of a cache, of what it was made from. */
uint64_t ct_file_bytes(const struct ct_file *f);
/* True when path leads, by whatever name, to a file that f was read from, or for a packed file to one that it
 * was made from. */
bool ct_file_reads(const struct ct_file *f, const char *path);
/* One sentence about something odd in the file that does no harm; NULL: there is nothing. */
const char *ct_file_note(const struct ct_file *f);
int ct_file_tensor_count(const struct ct_file *f);
const struct ct_tensor *ct_file_tensor(const struct ct_file *f, int i);
const struct ct_tensor *ct_file_find(const struct ct_file *f, const char *name); /* NULL when absent */
/* A weight of a packed file by GGUF's name for it, whatever the origin; NULL when absent, or f is no packed
 * file. */
const struct ct_tensor *ct_file_weight(const struct ct_file *f, const char *name);
bool ct_file_is_packed(const struct ct_file *f);
/* A section that was made of the weights of a model and is kept in its packed copy. key: of what it was made,
 * and by which rule. */
struct ct_made {
    const char *name;
    uint64_t key;
    struct ct_weight w;
};
/* Points m->w, which has no data yet, at what f keeps of that name, key and form. False: it has none, or it
 * is no copy in the user's own cache, which alone is believed. */
bool ct_file_find_made(const struct ct_file *f, struct ct_made *m);
/* The hash of a weight's bytes in such a copy; 0: it lies in none. */
uint64_t ct_file_weight_hash(const struct ct_file *f, const struct ct_weight *w);
/* The tables of the tokenizer in a packed file; data == NULL: none. *trusted: carat wrote them so. */
struct ct_bytes ct_file_tables(const struct ct_file *f, bool *trusted);
/* HF side file ("config.json", "generation_config.json", "tokenizer.json", "tokenizer.model",
 * "tokenizer_config.json", "chat_template.jinja", "chat_template.json", "special_tokens_map.json");
 * data == NULL when absent. Mapped when the file is opened. */
struct ct_bytes ct_file_side(const struct ct_file *f, const char *name);
/* Gives that file as a tree, which is read when it is first asked for, by one thread, and kept as long as the
 * file; *root is NULL when there is none. path says in messages what it is. E_FORMAT (no JSON, or a list),
 * E_MEMORY. */
carat_status ct_file_json(const struct ct_file *f, const char *name, const char *path,
                          const struct ct_json_value **root, carat_error *err);
/* A module that follows the model in a directory of sentence-transformers, as its modules.json says. */
enum { CT_MOST_DENSE = 2 };
struct ct_module {
    const char *folder; /* its files; the tensors of the dense ones are called "2_Dense/linear.weight" and
                           "3_Dense/linear.weight", wherever they lie */
    const char *path;   /* of its config.json, for messages */
    struct ct_bytes text;
    const struct ct_json_value *config; /* an object */
    struct ct_bytes weights;            /* of a dense one, all of its model.safetensors */
};
struct ct_modules {
    struct ct_module pooling, dense[CT_MOST_DENSE];
    int n_dense;
    bool normalizes;
    struct ct_bytes text; /* of modules.json */
};
/* *modules is NULL where there is no modules.json. E_FORMAT, E_UNSUPPORTED: it is not as carat knows it,
 * which concerns those alone who ask; E_MEMORY. */
carat_status ct_file_modules(const struct ct_file *f, const struct ct_modules **modules, carat_error *err);
/* GGUF metadata; NULL when absent. */
const struct ct_meta *ct_file_meta(const struct ct_file *f, const char *key);
/* Entry i in the order of the file; NULL behind the last one. */
const struct ct_meta *ct_file_meta_at(const struct ct_file *f, int i);
/* Scalars with a type check: E_FORMAT names file, key, offset, found and expected type or range; an absent
 * key leaves *out as it is. */
carat_status ct_file_meta_int(const struct ct_file *f, const char *key, int64_t lo, int64_t hi, int64_t *out,
                              carat_error *err);
carat_status ct_file_meta_float(const struct ct_file *f, const char *key, double *out, carat_error *err);
/* Element i of a numeric or bool array, as double (exact for all 32-bit types). */
double ct_meta_number(const struct ct_meta *m, uint64_t i);
/* Walks a string array: *at starts at 0 and is a byte offset into raw; false at the end. */
bool ct_meta_next_string(const struct ct_meta *m, size_t *at, struct ct_str *s);

/* ---- for messages ---- */

/* E_FORMAT: "<path>: <sentence>", the sentence as printf would write it. */
carat_status ct_bad_file(carat_error *err, const char *path, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* s in quotes: at most 128 bytes of it, everything but printable ASCII escaped. Returns out. */
enum { CT_QUOTE = 4 * 128 + 8 };
const char *ct_quote(char out[CT_QUOTE], struct ct_str s);
/* The names of the types that carat reads in GGUF files, "F32, F16, ...". Returns out. */
enum { CT_TYPE_LIST = 256 };
const char *ct_file_types(char out[CT_TYPE_LIST]);

#endif
