/* SPDX-License-Identifier: Apache-2.0 */
/* receipt.h: receipts: what carat_receipt.h says of them. record.c keeps one while an answer is drawn,
 * statement.c writes and reads it, replay.c computes it once more, receipt.c has what they share. */
#ifndef CT_RECEIPT_H
#define CT_RECEIPT_H

#include "base/hash.h"
#include "base/sha256.h"
#include "carat_receipt.h"
#include "engine/generate.h"
#include "receipt/header.h"

enum { CT_DIGEST = 16, CT_SALT = 16 };
typedef uint8_t ct_digest[CT_DIGEST];

/* A chain of digests: of the token that came last, and of each CARAT_RECEIPT_STEP'th. */
struct ct_digests {
    ct_digest last;
    ct_digest *kept; /* [n_kept] */
    int n, n_kept;   /* n: tokens */
};

struct carat_receipt {
    struct ct_witness face; /* first */
    struct ct_arena arena;  /* what header points to, where it was read */
    struct ct_receipt_header header;
    const char *name;                 /* in messages */
    bool is_private, finished, blind; /* blind: a state was not known */
    uint8_t salt[CT_SALT];
    ct_digest start;        /* of the header alone */
    int32_t *ids;           /* [n_prompt + n_answer] */
    int n_prompt, n_answer; /* n_answer: without the id that ended it */
    int32_t end_id;         /* -1: none was drawn */
    carat_reason reason;
    struct ct_digests digests;
    char digest[CT_RECEIPT_HEX + 1]; /* the last, of a receipt that is finished */
    uint8_t prompt_sha[CT_SHA256], answer_sha[CT_SHA256], text_sha[CT_SHA256];

    /* while it is kept */
    carat_generation *generation;          /* NULL: gone */
    int hidden;                            /* values of a state */
    int capacity;                          /* of ids */
    ct_digest ahead[1 + CARAT_MOST_DRAFT]; /* of what the step under way has drawn */
};

/* digest.c: NUMERICS.md section 15. */
void ct_digest_start(ct_digest d, const struct ct_canonical *header);
void ct_digest_prompt(ct_digest d, const int32_t *ids, int n);
void ct_digest_token(ct_digest d, uint32_t position, int32_t id, const float *hidden, int n);
/* The next token's is d. */
void ct_digests_add(struct ct_digests *s, const ct_digest d);
static inline int ct_digests_kept(int tokens)
{
    return tokens / CARAT_RECEIPT_STEP;
}

/* operation_hashes.c: hashes of what operations give, each in a chain over all positions so far, of which
 * those behind positions [first, first + n) are kept. ct_hashes_close takes what ct_hashes_open left, also if
 * it failed: E_MEMORY. */
struct ct_hashes;
carat_status ct_hashes_open(struct ct_hashes **h, const carat_engine *e, int first, int n, carat_error *err);
void ct_hashes_close(struct ct_hashes *h);
bool ct_hashes_keep(const struct ct_hashes *h, int position);
/* The rows of the session in the slot that an event of the forward pass has written. */
void ct_hashes_hear(struct ct_hashes *h, int slot, struct ct_backend *b, const struct ct_event *event);
void ct_hashes_logits(struct ct_hashes *h, int position, const float *logits);
/* Tells o->on_operation of all that is kept. E_CANCELLED. */
carat_status ct_hashes_tell(const struct ct_hashes *h, const carat_replay_options *o, carat_error *err);

/* settings.c: a hash of all pieces; "" without a tokenizer. */
void ct_vocabulary_hash(const carat_model *m, char hex[CT_RECEIPT_HEX + 1]);
/* The header of what a generation will draw, which it points into, with texts in the arena, and
 * back. */
carat_status ct_header_of(struct ct_receipt_header *h, struct ct_arena *arena, carat_generation *g,
                          const carat_receipt_options *o, carat_error *err);
/* Sets what a header says of a form; tool_choice stays the caller's. E_ARGUMENT. */
carat_status ct_header_form(struct ct_receipt_header *h, const carat_constraint_options *given,
                            carat_error *err);
/* What a header says as options; they point into it and each other. */
struct ct_header_options {
    carat_chain chain;
    carat_link links[CARAT_LINKS];
    carat_sampling sampling;
    carat_generation_options generation;
};
void ct_header_options(struct ct_header_options *to, const struct ct_receipt_header *h);

/* receipt.c: the first digest, of the header alone. E_MEMORY. */
carat_status ct_receipt_chain(ct_digest start, const struct ct_receipt_header *h, carat_error *err);

/* SHA-256 of ids as a canonical list, behind a salt if there is one. E_MEMORY. */
carat_status ct_ids_sha(uint8_t sha[CT_SHA256], const uint8_t *salt, const int32_t *ids, int n,
                        carat_error *err);
/* The same of the text that ids stand for; without a tokenizer there is none. E_MEMORY. */
carat_status ct_text_sha(uint8_t sha[CT_SHA256], const uint8_t *salt, const struct ct_tokenizer *tokenizer,
                         const int32_t *ids, int n, carat_error *err);

carat_status ct_receipt_begin(carat_receipt **receipt, carat_generation *g,
                              const carat_receipt_options *options, carat_error *err);
carat_status ct_receipt_finish(carat_receipt *r, carat_error *err);
carat_status ct_receipt_write(const carat_receipt *r, char **text, size_t *n, carat_error *err);
carat_status ct_receipt_read(carat_receipt **receipt, const char *name, struct ct_str text, carat_error *err);
void ct_receipt_close(carat_receipt *r);
carat_status ct_receipt_info(const carat_receipt *r, carat_receipt_info *info, carat_error *err);
carat_status ct_receipt_engine(const carat_receipt *r, carat_engine_options *o, carat_head_options *head,
                               carat_error *err);
carat_status ct_receipt_replay(const carat_receipt *r, carat_engine *e, const carat_replay_options *options,
                               carat_replay *result, carat_error *err);

#endif
