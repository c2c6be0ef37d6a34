/* bpe.h: the merge engine: a run of symbols in, token ids out. Where runs begin and end, and which pieces
 * are cut out before, is decided in tokenizer.c. */
#ifndef CT_BPE_H
#define CT_BPE_H

#include "text/vocab.h"

/* Scratch of one encode call; every array grows to the longest run and is used again. */
struct ct_bpe {
    const struct ct_tokenizer *t;
    carat_tokens *out;

    uint32_t n, capacity; /* symbols waiting */
    int32_t *id;          /* [capacity] -1: not in the vocabulary (model, GGUF) */
    uint32_t *rank;       /* [capacity] of the merge with the right neighbour, or CT_NO_RANK */
    uint32_t *at;         /* [capacity] begin of the symbol in text; model, GGUF */
    char *text;           /* the run; model, GGUF */
    uint32_t n_text, text_capacity;
    bool unknown_open; /* the last id produced stands for an unknown character */

    /* Long runs only. Positions are stored plus one, so that zeroed memory means "none". */
    uint32_t *next, *prev;           /* [link_capacity] neighbours that are still alive */
    uint32_t *lane_next, *lane_prev; /* [link_capacity] neighbours in the lane of the position's rank */
    uint32_t link_capacity;
    struct ct_bpe_lane {
        uint32_t head, tail;
    } * lane;           /* [n_rank] positions whose candidate has this rank, ascending */
    uint8_t *ready_set; /* [n_rank] the rank is in ready */
    uint32_t *ready;    /* binary heap of ranks whose lanes may hold something */
    uint32_t n_ready, ready_capacity;
    uint64_t *spill; /* binary heap of rank << 32 | position that came out of order */
    size_t n_spill, spill_capacity;
};

void ct_bpe_init(struct ct_bpe *b, const struct ct_tokenizer *t, carat_tokens *out);
void ct_bpe_free(struct ct_bpe *b);
/* Adds one symbol: its id, and for model and GGUF its text. */
carat_status ct_bpe_add(struct ct_bpe *b, int32_t id, const char *text, size_t n, carat_error *err);
/* Merges what waits and appends the ids. */
carat_status ct_bpe_run(struct ct_bpe *b, carat_error *err);

#endif
