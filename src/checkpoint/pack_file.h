/* SPDX-License-Identifier: Apache-2.0 */
/* pack_file.h: a packed file while it is written or checked: sections, in blocks that are hashed apart. For
 * src/checkpoint and src/check. */
#ifndef CT_PACK_FILE_H
#define CT_PACK_FILE_H

#include <stdatomic.h>

#include "checkpoint/content.h"
#include "file/packed.h"
#include "os/new_file.h"
#include "os/pool.h"

/* A section, and where its bytes are. */
struct ct_pack_section {
    const char *name; /* for messages */
    struct ct_section *s;
    const uint8_t *from; /* NULL: they are made where they belong */
    bool hashed;         /* its hash is known; else it is to be what is found */
    int first;           /* of its blocks */
};

/* At most CT_PACKED_BLOCK bytes of one. */
struct ct_pack_block {
    int section;
    uint64_t at; /* in the file */
    size_t size;
};

struct ct_pack {
    const struct ct_file *file; /* that is read */
    const char *called;         /* it, in messages */
    struct ct_arena arena;
    struct ct_packed p; /* of the file that is written, or of the one that is checked */
    struct ct_pack_section *section;
    int n_section;
    struct ct_pack_block *block; /* [n_block] in the order of the file */
    uint64_t *hash;              /* [n_block] */
    int n_block;                 /* of all sections; listed once the file is written or checked */
    uint64_t end;                /* of the sections */
    uint64_t aside;              /* bytes of weights that are read, but stay in the origin */
    size_t index_size;
    int threads;
    uint8_t *base; /* of the file that is written; NULL: it is only read */
    const struct ct_listening *listening;
    atomic_size_t done; /* bytes, of end + aside */
    /* Brings everything into the file, and hashes each block. */
    carat_status (*fill)(struct ct_pack *k, struct ct_pool *pool, carat_error *err);

    /* of a model that is packed */
    const struct carat_model *model;
    struct ct_content content;
    char content_hash[CT_CONTENT_HEX];
    uint64_t head; /* where the sections before the weights end */
};

/* Decides where everything will lie when a model is packed (pack_model.c). It is borrowed until ct_pack_end.
 * A copy leaves in the origin what only some rows of are read; a file that is to stand alone has all of it.
 * E_MEMORY, E_IO (the origin cannot be read again), E_UNSUPPORTED (too large). */
enum ct_pack_as { CT_PACK_ALONE, CT_PACK_COPY };
carat_status ct_pack_begin(struct ct_pack **k, const struct carat_model *m, enum ct_pack_as as,
                           carat_error *err);
/* Begins a packed file that is written once more with made[n], which is borrowed, too (keep_made.c). Sections
 * of f with these names are left out. E_MEMORY, E_UNSUPPORTED (too many). */
carat_status ct_pack_again(struct ct_pack **k, const struct ct_file *f, const struct ct_made *made, int n,
                           carat_error *err);
/* Bytes of the file. */
size_t ct_pack_size(const struct ct_pack *k);
/* Takes the room and fills it; the file is still to be finished or abandoned. Progress counts KiB. E_IO,
 * E_MEMORY, E_CANCELLED; E_FORMAT: what is written once more is damaged. */
carat_status ct_pack_write(struct ct_pack *k, struct ct_os_new *file, const struct ct_listening *l,
                           carat_error *err);
void ct_pack_end(struct ct_pack *k); /* NULL is fine */

/* Reads the whole packed file f, with a thread for each processor. E_FORMAT names the first section that
 * differs from its hash. Progress counts KiB. E_MEMORY, E_CANCELLED. */
carat_status ct_pack_check(const struct ct_file *f, const struct ct_listening *l, carat_error *err);

/* ---- for pack_model.c and keep_made.c ---- */

struct ct_pack *ct_pack_new(const struct ct_file *f, const char *called, carat_error *err); /* E_MEMORY */
/* Lists the sections of k->p. data: a file that has them all, with their hashes; NULL:
 * none has them yet. E_MEMORY. */
carat_status ct_pack_list(struct ct_pack *k, const uint8_t *data, carat_error *err);
/* Hashes a block, which first is copied from where its section is; the memory behind it is given back. */
void ct_pack_block(struct ct_pack *k, int block);
/* Hashes all blocks like that. False: it was stopped. */
bool ct_pack_blocks(struct ct_pack *k, struct ct_pool *pool);

#endif
