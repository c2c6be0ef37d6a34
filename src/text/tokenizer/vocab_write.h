/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_write.h: a tokenizer as containers store it. */
#ifndef CT_VOCAB_WRITE_H
#define CT_VOCAB_WRITE_H

#include "file/write.h"
#include "text/tokenizer/tokenizer.h"

/* The keys tokenizer.ggml.* of a GGUF file: pieces, kinds and scores as SentencePiece has them; of Gemma 4
 * merges instead. Scores are ranks of merges, so that the ids of a text stay the same. E_MEMORY. */
carat_status ct_tokenizer_put_gguf(const struct ct_tokenizer *t, struct ct_new_head *h, carat_error *err);

#endif
