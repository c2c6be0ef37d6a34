/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_gguf.c: reads the vocabulary in the metadata of a GGUF file (tokenizer model "llama": pieces,
 * scores and types as SentencePiece has them). User-defined pieces hold literal spaces there, and are
 * matched in the raw text. Reading the metadata itself is left to src/file. */
#include <stdlib.h>

#include "text/tokenizer/tokenizer_parts.h"

__attribute__((format(printf, 4, 5))) static carat_status
gguf_bad_key(const struct ct_file *f, const struct ct_meta *m, carat_error *err, const char *format, ...)
{
    char sentence[256];
    CT_FORMAT(sentence, format);
    return ct_bad_file(err, ct_file_path(f), "metadata key \"%.*s\" at byte %llu: %s", (int)m->key.n,
                       m->key.s, (unsigned long long)m->offset, sentence);
}

/* An array of n numbers, or NULL in *m when absent. */
static carat_status gguf_array(const struct ct_file *f, const char *key, uint64_t n, const struct ct_meta **m,
                               carat_error *err)
{
    *m = ct_file_meta(f, key);
    if (!*m)
        return CARAT_OK;
    if ((*m)->type != CT_META_ARRAY || (*m)->elem == CT_META_STRING || (*m)->elem == CT_META_ARRAY)
        return gguf_bad_key(f, *m, err, "expected an array of numbers");
    if ((*m)->count != n)
        return gguf_bad_key(f, *m, err, "%llu numbers found, expected %llu, one for each token",
                            (unsigned long long)(*m)->count, (unsigned long long)n);
    return CARAT_OK;
}

static carat_status gguf_pieces(struct ct_tokenizer *t, const struct ct_file *f, const struct ct_meta *tokens,
                                const struct ct_meta *types, carat_error *err)
{
    struct ct_str s;
    size_t at = 0;
    for (int id = 0; ct_meta_next_string(tokens, &at, &s); id++) {
        double kind = types                   ? ct_meta_number(types, (uint64_t)id)
                      : ct_piece_byte(s) >= 0 ? CT_PIECE_BYTE
                                              : CT_PIECE_NORMAL;
        if (kind == 0) /* a type left undefined */
            kind = CT_PIECE_UNUSED;
        if (!(kind >= CT_PIECE_NORMAL && kind <= CT_PIECE_BYTE) || kind != (int)kind)
            return gguf_bad_key(f, types, err, "the type of token %d is %g, expected 0 to 6", id, kind);
        if (kind == CT_PIECE_BYTE && ct_piece_byte(s) < 0) {
            char q[CT_QUOTE];
            return ct_bad_file(err, ct_file_path(f),
                               "token %d is a byte, but is spelled %s instead of <0x00> to <0xFF>", id,
                               ct_quote(q, s));
        }
        CT_TRY(ct_tokenizer_add(t, ct_file_path(f), id, s, (int)kind, true, err));
    }
    if ((uint64_t)t->n != tokens->count)
        return gguf_bad_key(f, tokens, err, "the array of tokens is cut off");
    return CARAT_OK;
}

static carat_status gguf_scores(struct ct_tokenizer *t, const struct ct_file *f, carat_error *err)
{
    const struct ct_meta *m;
    CT_TRY(gguf_array(f, "tokenizer.ggml.scores", (uint64_t)t->n, &m, err));
    if (!m)
        return ct_bad_file(err, ct_file_path(f), "metadata key \"tokenizer.ggml.scores\" is missing");
    float *score = malloc((size_t)t->n * sizeof *score);
    if (!score)
        return ct_no_memory(err, ct_file_path(f));
    for (int id = 0; id < t->n; id++)
        score[id] = (float)ct_meta_number(m, (uint64_t)id);
    carat_status status = ct_tokenizer_scores(t, ct_file_path(f), score, err);
    free(score);
    return status;
}

/* An id in the metadata; an absent one is -1. */
static carat_status gguf_id(const struct ct_tokenizer *t, const struct ct_file *f, const char *key,
                            int32_t *id, carat_error *err)
{
    int64_t v = -1;
    CT_TRY(ct_file_meta_int(f, key, 0, t->n - 1, &v, err));
    *id = (int32_t)v;
    return CARAT_OK;
}

static carat_status gguf_tokenizer(struct ct_tokenizer *t, const struct ct_file *f, carat_error *err)
{
    const struct ct_meta *tokens = ct_file_meta(f, "tokenizer.ggml.tokens"), *types, *prefix;
    const struct ct_meta *model = ct_file_meta(f, "tokenizer.ggml.model");
    int32_t eos, eot;
    if (!tokens || !model)
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s: holds no tokenizer", ct_file_path(f));
    if (model->type != CT_META_STRING || !ct_str_is(model->s, "llama"))
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: metadata key \"tokenizer.ggml.model\" at byte %llu is not \"llama\", the kind "
                       "that Gemma has",
                       ct_file_path(f), (unsigned long long)model->offset);
    if (tokens->type != CT_META_ARRAY || tokens->elem != CT_META_STRING)
        return gguf_bad_key(f, tokens, err, "expected an array of strings");
    if (tokens->count == 0 || tokens->count > CT_VOCAB_MAX)
        return gguf_bad_key(f, tokens, err, "expected 1 to 2097152 tokens");
    CT_TRY(gguf_array(f, "tokenizer.ggml.token_type", tokens->count, &types, err));
    CT_TRY(gguf_pieces(t, f, tokens, types, err));
    ct_tokenizer_name_controls(t);
    CT_TRY(gguf_scores(t, f, err));

    CT_TRY(gguf_id(t, f, "tokenizer.ggml.bos_token_id", &t->bos, err));
    CT_TRY(gguf_id(t, f, "tokenizer.ggml.unknown_token_id", &t->unknown, err));
    CT_TRY(gguf_id(t, f, "tokenizer.ggml.eos_token_id", &eos, err));
    CT_TRY(gguf_id(t, f, "tokenizer.ggml.eot_token_id", &eot, err));
    ct_tokenizer_add_end(t, eos);
    ct_tokenizer_add_end(t, eot);
    prefix = ct_file_meta(f, "tokenizer.ggml.add_space_prefix");
    if (prefix && prefix->type != CT_META_BOOL)
        return gguf_bad_key(f, prefix, err, "expected a bool");
    t->space_prefix = prefix && prefix->u; /* absent: no prefix, the rule of every Gemma */
    t->fuse_unknown = false;
    CT_TRY(ct_tokenizer_finish(t, ct_file_path(f), err));
    t->byte_fallback = true;
    for (int b = 0; b < 256; b++)
        t->byte_fallback = t->byte_fallback && t->byte_id[b] >= 0;
    return CARAT_OK;
}

carat_status ct_tokenizer_from_gguf(struct ct_tokenizer **out, const struct ct_file *f,
                                    struct ct_listener *listener, carat_error *err)
{
    struct ct_tokenizer *t = NULL;
    carat_status status = ct_tokenizer_create(&t, CT_SOURCE_GGUF, listener, err);
    if (status == CARAT_OK)
        status = gguf_tokenizer(t, f, err);
    return ct_tokenizer_give(out, t, status);
}
