/* SPDX-License-Identifier: Apache-2.0 */
/* packed.h: a packed file: a checkpoint as carat computes with it. Weights lie in panels
 * (layout/panel.h), the vocabulary as the tokenizer's tables, everything else as the origin had it,
 * so that what reads a checkpoint reads this. Reading is packed.c's; writing, which needs kernels and
 * threads, checkpoint/pack_model.c's.
 *
 *   header    struct ct_packed_header, at byte 0
 *   sections  in the order of the index, without overlap, each on a boundary of 64 bytes, large ones
 *             on a page
 *   index     to the end of the file: the fields of struct ct_packed in the order below, without holes
 * Integers are little-endian, floats IEEE; u32 is an unsigned integer of 32 bits, and so on. A text is its
 * length (u32), as many bytes, and a 0; a section is place, size, hash (u64 each), all 0 where it is
 * absent.
 *
 *   u32 kind, version              enum ct_file_kind; 2 or 3 of GGUF, 1 or 2 of SBS, else 0
 *   text origin, note
 *   section[9] side files          config.json, generation_config.json, tokenizer.json, tokenizer.model,
 *                                  tokenizer_config.json, chat_template.jinja, chat_template.json,
 *                                  special_tokens_map.json, added_tokens.json; the third and fourth
 *                                  never, the tables stand for them
 *   section sbs, tables            blob "config" of gemma.cpp; what text/tokenizer/tables.c says
 *   u64 weight_bytes; u32 n_unused; text unused
 *   u32 n_source, each             text name; u32 present; u64 device, inode, size; i64 modified, changed
 *                                  (nanoseconds since 1970); u64 head, hash
 *   u32 n_meta, each               text key; u32 type (enum ct_meta_type); u64 u; i64 i; f64 f; u32 elem,
 *                                  elem_bytes; u64 count, offset; for a string its text, for an array
 *                                  u32 bytes, then the elements
 *   u32 n_tensor, each             text name, type_name, file; u32 type (enum ct_type; CT_TYPE_COUNT: not
 *                                  read), n_dim; i64 dim[4]; u64 size, offset; f32 scale
 *   u32 n_weight, each             text name; u32 type, interleaved (1: panels; 2: of indices; 0: rows),
 *                                  rows, cols; f32 scale; u32 source (0: data are a section of this file; n:
 *                                  they stay in the n-th source, row after row), section data, or place and
 *                                  size there
 *   u32 n_made, each               text name; u64 key; u32 type, interleaved, rows, cols; section data
 * Norm vectors are float32 with Gemma's 1 added; every matrix whose type can lies in panels.
 *
 * The metadata are the origin's, the content hash as "carat.content" (checkpoint/content.h), and for GGUF
 * files of Gemma 3n and 4 counts as "carat.rope_pairs" and "carat.ple_rows" (model/config.h).
 *
 * What is made is what engines make of weights for themselves, as the sketch of a head; the key says of which
 * bytes and by which rule. A file is packed without; a copy in the cache gets it when it is first asked for
 * (checkpoint/keep_made.c).
 *
 * Only a copy in the cache leaves a weight in its origin, the table of layer inputs (CT_LAYOUT_TABLE), of
 * which a run reads next to nothing; a file that stands alone has all of them.
 *
 * A file of another layout or numerics version is refused. Hashes show damage, not malice: a file from
 * elsewhere is checked field by field whatever its hashes say. Only of a file in the user's own cache the
 * tables are trusted, and what is made is used at all.
 *
 * Opening one fills the same struct ct_file, whose kind stays that of the origin: so configuration, templates
 * and sampling are read by the same code on every start, which takes less than a millisecond.
 *
 * Opening a copy that leaves a weight in its origin maps that source, if it is still the same file; to
 * everybody else the table is then a weight that is mapped from a file, as without a cache. The origin has to
 * be there anyway for the copy to count as true. */
#ifndef CT_PACKED_H
#define CT_PACKED_H

#include "base/arena.h"
#include "os/files.h"
#include "file/file.h"

#define CT_PACKED_MAGIC "caratpak"
enum {
    CT_PACKED_LAYOUT = 8,     /* of this file, panels and the tokenizer's tables (text/tokenizer/tables.c) */
    CT_PACKED_ALIGN = 64,     /* of a section */
    CT_PACKED_PAGE = 4096,    /* of one that is larger */
    CT_PACKED_HEAD = 1 << 20, /* bytes of a source that are its header where its format does not say */

    /* at most */
    CT_PACKED_INDEX = 16 << 20, /* bytes of the index */
    CT_PACKED_TEXT = 1 << 20,   /* of one text in it */
    CT_PACKED_SIDE = 16 << 20,  /* of a side file */
    CT_PACKED_TABLES = 1 << 29, /* of the tokenizer's */
    CT_PACKED_TENSORS = 65536,  /* tensors, and weights */
    CT_PACKED_MADE = 64,        /* of what is made */
    CT_OWN_METAS = 3,           /* metadata entries that who packs adds to those of the origin */
};
#define CT_PACKED_BLOCK ((size_t)1 << 20) /* bytes that are hashed at a time */

struct ct_packed_header {
    char magic[8];
    uint32_t layout, numerics;
    uint64_t file_size, index_at, index_size;
    uint64_t index_hash;
    uint64_t header_hash; /* of the bytes before */
};

/* Bytes of the file; size 0: absent. The hash is XXH3-64 over those of its blocks of CT_PACKED_BLOCK
 * bytes. */
struct ct_section {
    uint64_t at, size, hash;
};

/* A file that opening the origin asked for, by its name beside the first; the first has an empty name. */
struct ct_source {
    struct ct_str name;
    uint32_t present; /* 0: it was not there, which may change */
    struct ct_os_id id;
    uint64_t head, hash; /* bytes of its header, and their XXH3-64 */
    /* not stored: where it was just found, and mapped */
    const char *path;
    const uint8_t *data;
};

/* A weight as kernels read it, under GGUF's name for it, whatever the origin; or a matrix that was made of
 * weights, whose name and key are its maker's. */
struct ct_packed_weight {
    struct ct_str name;
    uint64_t key; /* of what is made only */
    uint32_t type, interleaved, rows, cols;
    float scale;     /* of weights only, as the next */
    uint32_t source; /* 1 + the source that data is a part of, without a hash; 0: this file */
    struct ct_section data;
};

struct ct_packed {
    uint32_t kind, version; /* of the origin: enum ct_file_kind */
    struct ct_str origin;   /* its path when it was packed, from the root */
    struct ct_str note;
    struct ct_source *source; /* [n_source] */
    uint32_t n_source;
    struct ct_section side[9]; /* CT_SIDES; without those that the tables stand for */
    struct ct_section sbs;     /* blob "config" of a gemma.cpp file */
    struct ct_section tables;
    struct ct_meta *meta; /* [n_meta], without the arrays of the vocabulary */
    uint32_t n_meta;
    struct ct_tensor *tensor; /* [n_tensor] of the origin, without their data */
    uint32_t n_tensor;
    uint64_t weight_bytes; /* of the tensors used, as the origin stores them */
    uint32_t n_unused;
    struct ct_str unused;
    struct ct_packed_weight *weight; /* [n_weight] */
    uint32_t n_weight;
    struct ct_packed_weight *made; /* [n_made] */
    uint32_t n_made;
};

/* Hash of `size` bytes as struct ct_section has it. */
uint64_t ct_packed_hash(const uint8_t *p, uint64_t size);
/* Hash of one block, and hash over those of all blocks. */
uint64_t ct_packed_hash_block(const uint8_t *p, size_t size);
uint64_t ct_packed_hash_blocks(const uint64_t *hash, size_t n);

/* Writes the index to `to` (NULL: only counts) and returns its bytes. */
size_t ct_packed_write_index(const struct ct_packed *p, uint8_t *to);
/* Reads and checks header and index of bytes; lists are in the arena, strings in the bytes. E_FORMAT,
 * E_UNSUPPORTED (another version), E_MEMORY. */
carat_status ct_packed_read(struct ct_packed *p, const char *path, struct ct_bytes bytes,
                            struct ct_arena *arena, carat_error *err);
/* The header of such a file, complete. */
struct ct_packed_header ct_packed_header(uint64_t index_at, uint64_t index_size, uint64_t index_hash);

/* ---- an open checkpoint (file.h) ---- */

/* Opens the packed form of what is at origin, and calls it by that path in messages. Trusts that the file is
 * as it was written; the caller checks that. tokenizer_only as in ct_file_open. E_NOT_FOUND, else as
 * ct_packed_read. */
carat_status ct_packed_open(struct ct_file **f, const char *packed, const char *origin, bool tokenizer_only,
                            carat_error *err);
/* Maps the sources that weights of a copy stay in; before that these have no data. E_IO (one is not what it
 * was when the model was packed), E_MEMORY. */
carat_status ct_packed_map_origin(struct ct_file *f, carat_error *err);
/* True when p is in a file of the disk that f was read from; tells which source, and where in it. */
bool ct_file_in_source(const struct ct_file *f, const void *p, uint32_t *source, uint64_t *at);
/* The packed file that f was read from; NULL when that is no packed file. */
const struct ct_packed *ct_file_packed(const struct ct_file *f);
/* Its path, which for one out of a cache is not that of the checkpoint. */
const char *ct_file_packed_path(const struct ct_file *f);
/* Its bytes, and what the file was when it was mapped. */
const struct ct_map *ct_file_packed_map(const struct ct_file *f);
/* Fills what a packed file says of f: sources, metadata, tensors, kind; lists are borrowed. sides and sbs get
 * the bytes to be stored. E_MEMORY. */
carat_status ct_file_describe(const struct ct_file *f, struct ct_packed *p, struct ct_bytes side[9],
                              struct ct_bytes *sbs, struct ct_arena *arena, carat_error *err);
/* XXH3-64 of the first `head` bytes; false when they cannot be read. */
bool ct_packed_hash_head(const char *path, uint64_t head, uint64_t *hash);
/* True when the sources of p are what they were, looked for beside `path` or in it. */
bool ct_packed_current(const struct ct_packed *p, const char *path);

#endif
