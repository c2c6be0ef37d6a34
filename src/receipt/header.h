/* SPDX-License-Identifier: Apache-2.0 */
/* header.h: the header of a receipt: all that decides which ids are drawn, and nothing that does not
 * (threads, level, chunk, drafts, which exact head). It is filled from a generation, written as canonical
 * JSON and read again by one table of its fields. What settings mean is the engine's. */
#ifndef CT_RECEIPT_HEADER_H
#define CT_RECEIPT_HEADER_H

#include "base/arena.h"
#include "base/canonical.h"
#include "base/json_tree.h"
#include "carat_constrain.h"

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

#endif
