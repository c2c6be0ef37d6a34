/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_write.h: a tokenizer as containers store it. */
#ifndef CT_VOCAB_WRITE_H
#define CT_VOCAB_WRITE_H

#include "file/write.h"
#include "text/tokenizer/tokenizer.h"

/* The keys tokenizer.ggml.* of a GGUF file: pieces, kinds and scores as SentencePiece has them; of Gemma 4
 * merges instead. Scores are ranks of merges, so that the ids of a text stay the same. E_MEMORY. */
carat_status ct_tokenizer_put_gguf(const struct ct_tokenizer *t, struct ct_new_head *h, carat_error *err);
/* True when the merge rule is a list of pairs, as in tokenizer.json; else it is a score for each piece. */
bool ct_tokenizer_merges_pairs(const struct ct_tokenizer *t);
/* A piece as tokenizer.model and tokenizer.json spell it: user-defined ones of GGUF with scores hold spaces,
 * which become U+2581 in text. */
#define CT_SPELLED_PIECE 720
struct ct_str ct_tokenizer_spelled(const struct ct_tokenizer *t, int32_t id, char text[CT_SPELLED_PIECE]);
/* True when tokenizer.json can hold scores as merges with the ids of every text: no piece means something
 * else there, as two of one text would. */
bool ct_tokenizer_fits_json(const struct ct_tokenizer *t);
/* vocab_write_model.c: tokenizer.model, for a tokenizer that has scores; vocab_write_json.c: tokenizer.json,
 * where scores become merges; ends: <eos> stands behind each text. path, of the tokenizer's file, is for
 * messages. E_UNSUPPORTED: the form cannot hold it; E_MEMORY. */
carat_status ct_tokenizer_put_model(const struct ct_tokenizer *t, struct ct_new_head *h, const char *path,
                                    carat_error *err);
carat_status ct_tokenizer_put_json(const struct ct_tokenizer *t, struct ct_new_head *h, bool ends,
                                   const char *path, carat_error *err);
/* The members of added_tokens_decoder in a tokenizer_config.json: what is cut out of a text before merging. A
 * tokenizer that transformers makes out of tokenizer.json has no others. */
void ct_tokenizer_put_added(const struct ct_tokenizer *t, struct ct_new_head *h);
/* score [t->n] of each piece, counted down from 0; level: room for t->n_rank + 1. */
void ct_tokenizer_stored_scores(const struct ct_tokenizer *t, float *score, uint64_t *level);
/* Fills by_rank, of t->n_rank, with the pair of ids that each rank joins, or CT_NO_MERGE; their number. */
size_t ct_tokenizer_stored_merges(const struct ct_tokenizer *t, uint64_t *by_rank);

#endif
