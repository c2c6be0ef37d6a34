/* SPDX-License-Identifier: Apache-2.0 */
/* timeline.h: a timeline as a file: the tokens that a session held, with their K and V, so that another one
 * goes on from there. Reading is timeline.c's, which knows no engine; what an engine makes of it, and
 * writing, are engine/timeline_write.c's.
 *
 *   header    struct ct_timeline_header, at byte 0
 *   tokens    n ids (i32)
 *   kv        layer after layer that keeps K and V: those of all K heads of each position, then those of V,
 *             as ct_kv_rows says; of global layers all n positions, of local ones those from `lowest` on
 *   logits    n_logits of the last token (f32)
 *   note      bytes of whoever had it written
 * without holes, to the end of the file. Integers are little-endian, floats IEEE. Everything follows from the
 * model, its arithmetic, the tokens and the note: whoever writes them writes the same bytes.
 *
 * Nothing tells how K and V lay in blocks, so equal bytes are the test. All of it is checked, hashes, facts
 * and that numbers are finite, before a session is touched. */
#ifndef CT_TIMELINE_H
#define CT_TIMELINE_H

#include "base/base.h"
#include "quant/arithmetic.h"

#define CT_TIMELINE_MAGIC "carattim"
enum {
    CT_TIMELINE_LAYOUT = 1,

    /* at most */
    CT_TIMELINE_TOKENS = 1 << 24, /* tokens, and ids of a vocabulary */
    CT_TIMELINE_LAYERS = 1 << 10,
    CT_TIMELINE_NOTE = 16 << 20,
};

/* Facts that the file has, by which it is refused where something else is wanted. */
struct ct_timeline_facts {
    char content[32];             /* hash of the model, in hexadecimal */
    uint32_t arithmetic;          /* enum ct_arithmetic */
    uint32_t kv;                  /* carat_kv */
    uint32_t first_layer, layers; /* that run */
    uint32_t n_vocab;
    uint32_t n;        /* tokens */
    uint32_t lowest;   /* position that local layers have */
    uint32_t n_logits; /* n_vocab, or 0: there are none */
    uint64_t kv_size, note_size;
};

enum { CT_TIMELINE_IDS, CT_TIMELINE_KV, CT_TIMELINE_LOGITS, CT_TIMELINE_TEXT, CT_TIMELINE_PARTS };
struct ct_timeline_header {
    char magic[8];
    uint32_t layout, numerics;
    uint64_t file_size;
    struct ct_timeline_facts facts;
    uint64_t hash[CT_TIMELINE_PARTS]; /* XXH3-64 of each part */
    uint64_t header_hash;             /* of the bytes before */
};

struct ct_timeline {
    uint32_t numerics; /* version of the rules that K, V and logits were computed by */
    struct ct_timeline_facts facts;
    struct ct_bytes part[CT_TIMELINE_PARTS]; /* not aligned */
};

/* Finds where the parts of such a file are, and what they take; false when that is more than the file has.
 * data is NULL and the size SIZE_MAX while there is none. */
bool ct_timeline_divide(struct ct_timeline *t, struct ct_bytes file, size_t *size);
/* The header of a file whose parts are there, complete. */
struct ct_timeline_header ct_timeline_head(const struct ct_timeline *t);
/* Reads and checks everything but the numbers in kv and logits; the parts lie in the bytes. E_FORMAT,
 * E_UNSUPPORTED (another layout). */
carat_status ct_timeline_read(struct ct_timeline *t, const char *path, struct ct_bytes bytes,
                              carat_error *err);

#endif
