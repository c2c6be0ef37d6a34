/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer.h: text to ids and back for the stored forms of Gemma's vocabulary: tokenizer.json (BPE with
 * merges), tokenizer.model (SentencePiece) and GGUF arrays (either), each with its own exact policy. Chat
 * templates are in chat.h. */
#ifndef CT_TOKENIZER_H
#define CT_TOKENIZER_H

#include "base/base.h"
#include "file/file.h"
#include "text/tokenizer/control.h"

struct ct_tokenizer; /* immutable, shared by threads */

#define CT_TEXT_MAX ((size_t)1 << 29) /* bytes: positions are 32 bits, and a byte may become three */

/* A callback that is told the progress of a call some hundred times a second and may cancel it. */
struct ct_listener {
    carat_progress progress; /* may be NULL */
    void *user;
    size_t done, total; /* encoding: bytes before the text that is encoded, of all texts */
};

/* Chooses the source by what the file holds: GGUF vocabulary, else tokenizer.json, else tokenizer.model.
 * E_NOT_FOUND when there is none. The listener, here and below, may be NULL; its callback gets done and
 * total, and can end the call with E_CANCELLED. */
carat_status ct_tokenizer_open(struct ct_tokenizer **t, const struct ct_file *f, struct ct_listener *listener,
                               carat_error *err);
carat_status ct_tokenizer_from_json(struct ct_tokenizer **t, const char *name, struct ct_bytes json,
                                    struct ct_listener *listener, carat_error *err);
carat_status ct_tokenizer_from_model(struct ct_tokenizer **t, const char *name, struct ct_bytes proto,
                                     struct ct_listener *listener, carat_error *err);
carat_status ct_tokenizer_from_gguf(struct ct_tokenizer **t, const struct ct_file *f,
                                    struct ct_listener *listener, carat_error *err);
/* The tokenizer as bytes (tables.c), from which it opens without being parsed; the same on every machine
 * that carat runs on. out takes ct_tokenizer_tables_size(t) bytes. The trie is part of it where somebody has
 * asked for it (trie.h). */
size_t ct_tokenizer_tables_size(const struct ct_tokenizer *t);
void ct_tokenizer_tables_write(const struct ct_tokenizer *t, uint8_t *out);
/* Borrows the bytes, at a multiple of 8, and the name until ct_tokenizer_free. trusted: they are as they were
 * written; only their sizes are checked. Otherwise all are, so that nothing that is asked of the tokenizer
 * can go wrong but in its answer; the trie once somebody asks for it. E_FORMAT names array, index and byte;
 * E_MEMORY. */
carat_status ct_tokenizer_from_tables(struct ct_tokenizer **t, const char *name, struct ct_bytes tables,
                                      bool trusted, carat_error *err);
void ct_tokenizer_free(struct ct_tokenizer *t); /* NULL is fine */

/* For a model whose table has that many rows: leaves out the ids behind them, and says how many, if all of
 * those are added tokens, as that for pictures is in a model without any. Otherwise, and in tables, all ids
 * stay: a text would get others without them. Before anybody else sees the tokenizer. E_MEMORY. */
carat_status ct_tokenizer_leave_out(struct ct_tokenizer *t, int32_t rows, int *n, carat_error *err);

/* "tokenizer.json", "tokenizer.model", "gguf" */
const char *ct_tokenizer_source(const struct ct_tokenizer *t);
int ct_tokenizer_size(const struct ct_tokenizer *t); /* ids are [0, size) */
/* The id of a piece as stored ("<start_of_turn>", "▁the"), -1 when absent. */
int32_t ct_tokenizer_id(const struct ct_tokenizer *t, const char *piece);
int32_t ct_tokenizer_find(const struct ct_tokenizer *t, struct ct_str piece);
/* -1: not in this vocabulary. */
int32_t ct_tokenizer_control(const struct ct_tokenizer *t, enum ct_control c);
/* The token that ends a call of a function, in the syntax of this vocabulary; -1: it has none. */
int32_t ct_tokenizer_call_end(const struct ct_tokenizer *t);
/* As stored; {"",0} outside. */
struct ct_str ct_tokenizer_piece(const struct ct_tokenizer *t, int32_t id);
/* Control: matched in text only with CARAT_SPECIAL; not printed without it, except FunctionGemma's seven
 * tokens. */
bool ct_tokenizer_is_control(const struct ct_tokenizer *t, int32_t id);
int32_t ct_tokenizer_bos(const struct ct_tokenizer *t); /* -1: none */
/* End ids the tokenizer itself declares (GGUF eos/eot keys, <eos>, <end_of_turn>); returns the count, at
 * most cap. */
int ct_tokenizer_end_ids(const struct ct_tokenizer *t, int32_t *ids, int cap);

/* Appends ids to *out; flags as in carat.h (CARAT_BOS, CARAT_SPECIAL). */
carat_status ct_tokenizer_encode(const struct ct_tokenizer *t, const char *text, size_t n, int flags,
                                 struct ct_listener *listener, carat_tokens *out, carat_error *err);
/* The bytes of text[n], UTF-8 whose encoding goes on with id, that id stands for. */
size_t ct_tokenizer_covers(const struct ct_tokenizer *t, int32_t id, const char *text, size_t n);
carat_status ct_tokens_push(carat_tokens *t, int32_t id, carat_error *err);
/* Whole decode by the source's own rule; malloc'd and terminated. */
carat_status ct_tokenizer_decode(const struct ct_tokenizer *t, const int32_t *ids, int n_ids, int flags,
                                 char **text, size_t *n, carat_error *err);

#endif
