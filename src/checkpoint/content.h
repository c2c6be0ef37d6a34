/* SPDX-License-Identifier: Apache-2.0 */
/* content.h: the content hash of a model: "these are the same weights", whatever the container. What it is
 * over: content.c. Whoever reads all weights for another reason makes it on the way: packing and verifying.
 * */
#ifndef CT_CONTENT_H
#define CT_CONTENT_H

#include "checkpoint/checkpoint.h"

enum {
    CT_CONTENT_HASH = 16,                     /* bytes */
    CT_CONTENT_HEX = 2 * CT_CONTENT_HASH + 1, /* as text, terminated */
};
#define CT_CONTENT_KEY "carat.content" /* of the metadata of a packed file, which keeps the hash as a text */

/* A weight, in the order of a pass. */
struct ct_content_slot {
    char name[64];
    const char *tensor; /* in the file */
    const struct ct_weight *w;
    size_t row_bytes; /* as stored */
    int rows;         /* of a chunk */
    int chunk, n;     /* its first one; how many */
};

/* Rows [r0, r1) of a weight, which are hashed apart. */
struct ct_content_chunk {
    uint8_t hash[CT_CONTENT_HASH];
    int slot, r0, r1;
};

struct ct_content {
    const struct carat_model *model;
    struct ct_arena arena;
    int n_slot, n_chunk;
    struct ct_content_slot *slot;   /* [n_slot] */
    struct ct_content_chunk *chunk; /* [n_chunk] */
    size_t row_bytes;               /* the largest */
    int cols;                       /* the most */
    uint8_t **spare;                /* [threads] 16 stored rows */
};

/* Lists the slots. E_MEMORY; freed in any case. */
carat_status ct_content_begin(struct ct_content *c, const struct carat_model *m, carat_error *err);
/* Lists the chunks to read, of which a model that is too large to be read has too many. E_MEMORY. */
carat_status ct_content_list(struct ct_content *c, int threads, carat_error *err);
void ct_content_free(struct ct_content *c);
/* Hashes one chunk; several threads may be at it. visit (may be NULL) sees its rows as files store them, up
 * to 16 of them from row r0 on. */
typedef void ct_content_visit(void *user, int chunk, int r0, const struct ct_weight *rows, int thread);
void ct_content_read(const struct ct_content *c, int chunk, int thread, ct_content_visit *visit, void *user);
/* When every chunk is hashed: the hash of the model. */
void ct_content_end(const struct ct_content *c, char hex[CT_CONTENT_HEX]);
/* The content hash that a packed file keeps; NULL: the model is not from one, or that is older. */
const char *ct_content_kept(const struct carat_model *m);

#endif
