/* SPDX-License-Identifier: Apache-2.0 */
/* bpe.h: the merge engine: a run of symbols in, token ids out. Where runs begin and end, and which pieces
 * are cut out before, is decided in tokenizer.c. */
#ifndef CT_BPE_H
#define CT_BPE_H

#include "text/tokenizer/tokenizer_parts.h"

/* Scratch of one encode call; every array grows to the longest run and is used again. */
struct ct_bpe {
    const struct ct_tokenizer *t;
    carat_tokens *out;

    struct ct_listener *listener; /* may be NULL */
    size_t taken;                 /* bytes of the text that were looked at */
    uint32_t looks;

    uint32_t n; /* symbols waiting */
    size_t capacity;
    int32_t *id;    /* [capacity] -1: not in the vocabulary (model, GGUF) */
    uint32_t *rank; /* [capacity] of the merge with the right neighbour, or CT_NO_RANK */
    uint32_t *at;   /* [capacity] begin of the symbol in text; model, GGUF */
    char *text;     /* the run; model, GGUF */
    uint32_t n_text;
    size_t text_capacity;
    /* Ranks that were looked up last, tokenizer.json: text repeats itself. */
#define CT_BPE_MEMO_BITS 8
    struct ct_bpe_memo {
        uint64_t pair; /* plus one */
        uint32_t rank;
    } memo[1 << CT_BPE_MEMO_BITS];
    bool unknown_open; /* the last id produced stands for an unknown character */

    /* Long runs only. */
    uint32_t *span; /* [span_capacity] positions that a symbol takes, at its first one and at its last */
    size_t span_capacity;
    struct ct_bpe_lane {
        uint32_t head, tail; /* places: of the first position, and behind that of the last; 0: empty */
    } * lane;                /* [n_rank] positions whose candidate has, or had, this rank, ascending */
    uint32_t *place;         /* [place_capacity] of lanes, handed out in chunks */
    uint32_t n_place, free_chunk;
    size_t place_capacity;
    uint8_t *ready_set; /* [n_rank] the rank is in ready */
    struct ct_bpe_heap {
        uint64_t *key; /* the least one first */
        size_t n, capacity;
    } ready,   /* ranks whose lanes may hold something */
        spill; /* rank << 32 | position, of what came out of order */
};

void ct_bpe_init(struct ct_bpe *b, const struct ct_tokenizer *t, struct ct_listener *listener,
                 carat_tokens *out);
void ct_bpe_free(struct ct_bpe *b);
/* Memory for runs of CT_BPE_SHORT bytes: encoding such texts allocates nothing then. False: there is none. */
#define CT_BPE_SHORT 64
bool ct_bpe_reserve(struct ct_bpe *b);
/* Encodes a text that goes on behind another one, no control tokens in it (tokenizer.c). */
carat_status ct_bpe_text(struct ct_bpe *b, const char *text, size_t n, carat_error *err);
/* Calls the listener; E_CANCELLED. */
carat_status ct_bpe_ask(struct ct_bpe *b, carat_error *err);
/* Called at every step of some ten nanoseconds: calls the listener about every millisecond. */
static inline carat_status ct_bpe_look(struct ct_bpe *b, carat_error *err)
{
    return ++b->looks % 16384 ? CARAT_OK : ct_bpe_ask(b, err);
}
/* Adds one symbol: its id, and for model and GGUF its text. */
carat_status ct_bpe_add(struct ct_bpe *b, int32_t id, const char *text, size_t n, carat_error *err);
/* Merges what waits and appends the ids. */
carat_status ct_bpe_run(struct ct_bpe *b, carat_error *err);

#endif
