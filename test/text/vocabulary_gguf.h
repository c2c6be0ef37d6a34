/* SPDX-License-Identifier: Apache-2.0 */
/* vocabulary_gguf.h: writes GGUF files that hold a vocabulary with merges and nothing else: of a tokenizer
 * that was read from tokenizer.json, or of a few pieces. It comes first in a test, as file_build.h does. */
#ifndef VOCABULARY_GGUF_H
#define VOCABULARY_GGUF_H

#include "file/file_build.h"

#include "vocabulary.h"

enum { GGUF_U32 = 4, GGUF_I32 = 5, GGUF_F32 = 6, GGUF_BOOL = 7, GGUF_STRING = 8, GGUF_ARRAY = 9 };

/* A file that is being written. */
struct gguf_written {
    struct buf metas;
    uint64_t n_meta;
};

static inline void gguf_key(struct gguf_written *w, const char *key, uint32_t type)
{
    put_str(&w->metas, key);
    put_u32(&w->metas, type);
    w->n_meta++;
}

static inline void gguf_text(struct gguf_written *w, const char *key, const char *text)
{
    gguf_key(w, key, GGUF_STRING);
    put_str(&w->metas, text);
}

static inline void gguf_u32(struct gguf_written *w, const char *key, uint32_t value)
{
    gguf_key(w, key, GGUF_U32);
    put_u32(&w->metas, value);
}

static inline void gguf_bool(struct gguf_written *w, const char *key, bool value)
{
    gguf_key(w, key, GGUF_BOOL);
    put(&w->metas, &value, 1);
}

/* The n elements follow. */
static inline void gguf_list(struct gguf_written *w, const char *key, uint32_t type, uint64_t n)
{
    gguf_key(w, key, GGUF_ARRAY);
    put_u32(&w->metas, type);
    put_u64(&w->metas, n);
}

static inline void gguf_string(struct gguf_written *w, struct ct_str s)
{
    put_u64(&w->metas, s.n);
    put(&w->metas, s.s, s.n);
}

/* The whole file; w is empty then. */
static inline struct buf gguf_end(struct gguf_written *w)
{
    struct buf file = {0};
    put_header(&file, 3, 0, w->n_meta);
    put(&file, w->metas.p, w->metas.n);
    put_pad(&file, 32);
    buf_free(&w->metas);
    return file;
}

/* model and pre may be NULL: no such key. typed: bytes have their own type, as llama.cpp's converter says,
 * not as ollama's does. */
static inline struct buf gguf_of(const struct ct_tokenizer *t, const char *model, const char *pre, bool typed)
{
    struct gguf_written w = {0};
    gguf_text(&w, "general.architecture", "gemma4");
    if (model)
        gguf_text(&w, "tokenizer.ggml.model", model);
    if (pre)
        gguf_text(&w, "tokenizer.ggml.pre", pre);
    gguf_list(&w, "tokenizer.ggml.tokens", GGUF_STRING, (uint64_t)t->n);
    for (int32_t id = 0; id < t->n; id++)
        gguf_string(&w, ct_piece_text(t, id));
    gguf_list(&w, "tokenizer.ggml.scores", GGUF_F32, (uint64_t)t->n); /* which mean nothing */
    for (int32_t id = 0; id < t->n; id++)
        put(&w.metas, &(float){typed ? -1000.0f : (float)id}, 4);
    gguf_list(&w, "tokenizer.ggml.token_type", GGUF_I32, (uint64_t)t->n);
    for (int32_t id = 0; id < t->n; id++) {
        int kind = t->piece[id].kind;
        put_u32(&w.metas, (uint32_t)(kind == CT_PIECE_BYTE && !typed ? CT_PIECE_NORMAL : kind));
    }
    uint64_t *by_rank = calloc(t->n_rank, sizeof *by_rank), merges = 0;
    assert_non_null(by_rank);
    for (uint32_t i = 0; i < t->n_merge; i++)
        if (t->merge[i] != CT_NO_MERGE) {
            by_rank[t->merge[i] & (CT_NO_RANK - 1)] = (t->merge[i] >> CT_RANK_BITS) + 1;
            merges++;
        }
    gguf_list(&w, "tokenizer.ggml.merges", GGUF_STRING, merges);
    for (uint32_t rank = 0; rank < t->n_rank; rank++) {
        if (!by_rank[rank])
            continue;
        uint64_t pair = by_rank[rank] - 1;
        struct ct_str left = ct_piece_text(t, (int32_t)(pair >> CT_ID_BITS)),
                      right = ct_piece_text(t, (int32_t)(pair & (CT_VOCAB_MAX - 1)));
        put_u64(&w.metas, left.n + 1 + right.n);
        put(&w.metas, left.s, left.n);
        put(&w.metas, " ", 1);
        put(&w.metas, right.s, right.n);
    }
    free(by_rank);
    gguf_u32(&w, "tokenizer.ggml.bos_token_id", 2);
    gguf_u32(&w, "tokenizer.ggml.eos_token_id", 1);
    gguf_u32(&w, "tokenizer.ggml.unknown_token_id", 3);
    gguf_bool(&w, "tokenizer.ggml.add_bos_token", typed); /* either way <bos> is put when it is asked for */
    gguf_bool(&w, "tokenizer.ggml.add_space_prefix", !typed); /* which is not how BPE works */
    return gguf_end(&w);
}

/* The status of opening it; *t is set on success, err on failure. */
static inline carat_status open_written(struct buf *file, struct ct_tokenizer **t, carat_error *err)
{
    struct ct_file *f = NULL;
    struct ct_part part = {"model.gguf", {file->p, file->n}};
    carat_status status = ct_file_open_memory(&f, &part, 1, err);
    if (status == CARAT_OK)
        status = ct_tokenizer_open(t, f, NULL, err);
    ct_file_close(f);
    return status;
}

static inline struct ct_tokenizer *tokenizer_of(struct buf file)
{
    struct ct_tokenizer *t = NULL;
    carat_error err;
    if (open_written(&file, &t, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    buf_free(&file);
    return t;
}

#endif
