/* SPDX-License-Identifier: Apache-2.0 */
/* receipt.h: receipts: what carat_receipt.h says of them. record.c keeps one while an answer is drawn,
 * statement.c writes and reads it, replay.c computes it once more, receipt.c has what they share. */
#ifndef CT_RECEIPT_H
#define CT_RECEIPT_H

#include "base/arena.h"
#include "base/canonical.h"
#include "base/hash.h"
#include "base/json_tree.h"
#include "base/sha256.h"
#include "carat_constrain.h"
#include "carat_receipt.h"
#include "generate/generate.h"

/* ---- header.c ---- */

/* The header of a receipt: all that decides which ids are drawn, and nothing that does not (threads,
 * level, chunk, drafts, which exact head). It is filled from a generation, written as canonical JSON and
 * read again by one table of its fields. What settings mean is the engine's. */

enum {
    CT_RECEIPT_VERSION = 1,
    CT_RECEIPT_HEX = 32, /* digits of a digest */
    CT_RECEIPT_SHA = 64, /* and of a SHA-256 */
};

/* Lists of a receipt that was read lie in its arena, others where they were. */
struct ct_id_list {
    const int32_t *ids;
    int n;
};

/* Members are as those of carat_sampling, carat_chain, carat_generation_options, carat_engine_options and
 * carat_constraint_options of the same name, unless said otherwise. A group whose flag is 0 is not there. */
struct ct_receipt_header {
    int version, numerics, drawing;
    char content[CT_RECEIPT_HEX + 1], vocabulary[CT_RECEIPT_HEX + 1];
    char previous[CT_RECEIPT_HEX + 1]; /* the digest of the answer before; "": there is none */
    int arithmetic;                    /* enum ct_arithmetic */
    int kv, activations_f16;           /* kv: carat_kv less 1 */
    int first_layer, layers, context;
    int has_head; /* an approximate one, or of other weights */
    int strategy, quant, tile, tiles;

    int max_tokens, loop_guard, thought_budget, in_thought; /* thought_budget -1: any number */
    struct ct_id_list stop_ids, banned;
    const char *stops[CARAT_MOST_STOPS];
    int n_stops;
    uint64_t seed;
    float temperature, top_p, min_p, typical_p;
    int top_k;
    uint32_t number;
    int links[CARAT_LINKS], n_links;
    const carat_bias *biases;
    int n_biases;
    int has_penalties;
    float repeat_penalty, frequency_penalty, presence_penalty;
    int repeat_last_n;
    int has_dry;
    float dry_multiplier, dry_base;
    int dry_allowed_length, dry_penalty_last_n;
    struct ct_id_list dry_breakers;
    int has_xtc;
    float xtc_probability, xtc_threshold;

    int has_form;
    int form, one_call, json_dumps;
    const char *tool_choice;
    char form_sha256[CT_RECEIPT_SHA + 1]; /* of its text */
};

/* Writes it as an object. */
void ct_header_write(struct ct_canonical *c, const struct ct_receipt_header *h);

/* A document that is read, and what it is called in messages. */
struct ct_receipt_source {
    const char *name;
    struct ct_bytes text;
    struct ct_arena *arena;
};
/* E_FORMAT, E_MEMORY: nothing is missing, unknown, of another kind or out of range. */
carat_status ct_header_read(struct ct_receipt_header *h, const struct ct_receipt_source *s,
                            const struct ct_json_value *object, carat_error *err);

/* Single values, for what stands beside the header. key names them in messages. */
carat_status ct_receipt_ids_read(const struct ct_receipt_source *s, const struct ct_json_value *v,
                                 const char *key, int most, struct ct_id_list *out, carat_error *err);
carat_status ct_receipt_hex_read(const struct ct_receipt_source *s, const struct ct_json_value *v,
                                 const char *key, int digits, char *out, carat_error *err);
/* Refuses members of an object that are not among the n names. */
carat_status ct_receipt_names(const struct ct_receipt_source *s, const struct ct_json_value *object,
                              const char *key, const char *const *names, int n, carat_error *err);

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

carat_status ct_receipt_read(carat_receipt **receipt, const char *name, struct ct_str text, carat_error *err);

#endif
