/* SPDX-License-Identifier: Apache-2.0 */
/* tokenizer_gguf.c: reads the vocabulary in the metadata of a GGUF file. Reading the metadata itself is left
 * to src/file.
 *
 * Tokenizer model "llama": pieces, scores and types as SentencePiece has them. User-defined pieces hold
 * literal spaces there, and are matched in the raw text. Model "gemma4", which ollama calls "llama" with the
 * pre-tokenizer "gemma4": pieces and merges of Gemma 4's tokenizer.json, whose rules it follows; scores mean
 * nothing. llama.cpp puts <bos> before every text of it whatever add_bos_token says, as CARAT_BOS does. */
#include <stdlib.h>

#include "text/tokenizer/merges.h"

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

/* The kind of a piece in tokenizer.json, which has fewer of them; ollama gives bytes no type of their own. */
static double kind_with_merges(double type, struct ct_str s)
{
    if (type == CT_PIECE_UNKNOWN)
        return CT_PIECE_CONTROL;
    if (type == CT_PIECE_NORMAL && ct_piece_byte(s) >= 0)
        return CT_PIECE_BYTE;
    return type == CT_PIECE_UNUSED ? CT_PIECE_NORMAL : type;
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
        if (!ct_tokenizer_by_text(t))
            kind = kind_with_merges(kind, s);
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

static carat_status missing_merge(const struct ct_file *f, const struct ct_meta *m,
                                  const struct ct_merge_missing *missing, carat_error *err)
{
    char q[CT_QUOTE];
    return gguf_bad_key(f, m, err, "%s of merge %zu, %s, is not in the vocabulary", missing->part,
                        missing->index, ct_quote(q, missing->text));
}

static carat_status gguf_read_merges(struct ct_tokenizer *t, const struct ct_file *f, const struct ct_meta *m,
                                     struct ct_merge_list *list, carat_error *err)
{
    struct ct_merge_missing missing;
    struct ct_str both;
    carat_status status;
    size_t at = 0, n = 0;
    for (; ct_meta_next_string(m, &at, &both); n++) {
        struct ct_merge *merge = &list->batch[list->n_batch];
        struct ct_str left, right;
        char q[CT_QUOTE];
        if (!ct_merge_split(both, &left, &right))
            return gguf_bad_key(f, m, err, "merge %zu is %s, expected two parts with one space between", n,
                                ct_quote(q, both));
        *merge = (struct ct_merge){.left = left.n};
        if (!ct_merge_add(merge, left) || !ct_merge_add(merge, right))
            return gguf_bad_key(f, m, err, "merge %zu is longer than %d bytes", n, CT_PIECE_MAX);
        if ((status = ct_merges_push(list, t, ct_file_path(f), 1, &missing, err)) == CARAT_E_FORMAT)
            return missing_merge(f, m, &missing, err);
        CT_TRY(status);
    }
    if (n != m->count)
        return gguf_bad_key(f, m, err, "the array of merges is cut off");
    if ((status = ct_merges_push(list, t, ct_file_path(f), 0, &missing, err)) == CARAT_E_FORMAT)
        return missing_merge(f, m, &missing, err);
    return status;
}

static carat_status gguf_merges(struct ct_tokenizer *t, const struct ct_file *f, carat_error *err)
{
    const struct ct_meta *m = ct_file_meta(f, "tokenizer.ggml.merges");
    if (!m)
        return ct_bad_file(err, ct_file_path(f), "metadata key \"tokenizer.ggml.merges\" is missing");
    if (m->type != CT_META_ARRAY || m->elem != CT_META_STRING)
        return gguf_bad_key(f, m, err, "expected an array of strings");
    if (m->count > ct_merges_most(t))
        return gguf_bad_key(f, m, err, "%llu merges found, expected at most %zu for this vocabulary",
                            (unsigned long long)m->count, ct_merges_most(t));
    struct ct_merge_list *list = calloc(1, sizeof *list);
    if (!list)
        return ct_no_memory(err, ct_file_path(f));
    carat_status status = gguf_read_merges(t, f, m, list, err);
    if (status == CARAT_OK)
        status = ct_tokenizer_merges(t, list->triple, list->n, err);
    free(list->triple);
    free(list);
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

static bool is_text(const struct ct_meta *m, const char *text)
{
    return m && m->type == CT_META_STRING && ct_str_is(m->s, text);
}

/* What the file says it holds. */
static carat_status gguf_form(const struct ct_file *f, enum ct_tokenizer_form *form, carat_error *err)
{
    const struct ct_meta *model = ct_file_meta(f, "tokenizer.ggml.model");
    if (!model || !ct_file_meta(f, "tokenizer.ggml.tokens"))
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s: holds no tokenizer", ct_file_path(f));
    bool merges = is_text(model, "gemma4") || is_text(ct_file_meta(f, "tokenizer.ggml.pre"), "gemma4");
    *form = merges ? CT_SOURCE_GGUF_MERGES : CT_SOURCE_GGUF;
    if (is_text(model, "llama") || is_text(model, "gemma4"))
        return CARAT_OK;
    return ct_fail(
        err, CARAT_E_UNSUPPORTED,
        "%s: metadata key \"tokenizer.ggml.model\" at byte %llu is not \"llama\" or \"gemma4\", the "
        "kinds that Gemma has",
        ct_file_path(f), (unsigned long long)model->offset);
}

static carat_status gguf_tokenizer(struct ct_tokenizer *t, const struct ct_file *f, carat_error *err)
{
    const struct ct_meta *tokens = ct_file_meta(f, "tokenizer.ggml.tokens"), *types, *prefix;
    int32_t eos, eot;
    if (tokens->type != CT_META_ARRAY || tokens->elem != CT_META_STRING)
        return gguf_bad_key(f, tokens, err, "expected an array of strings");
    if (tokens->count == 0 || tokens->count > CT_VOCAB_MAX)
        return gguf_bad_key(f, tokens, err, "expected 1 to 2097152 tokens");
    CT_TRY(gguf_array(f, "tokenizer.ggml.token_type", tokens->count, &types, err));
    CT_TRY(gguf_pieces(t, f, tokens, types, err));
    ct_tokenizer_name_controls(t);
    CT_TRY(ct_tokenizer_by_text(t) ? gguf_scores(t, f, err) : gguf_merges(t, f, err));

    CT_TRY(gguf_id(t, f, "tokenizer.ggml.bos_token_id", &t->bos, err));
    CT_TRY(gguf_id(t, f, "tokenizer.ggml.unknown_token_id", &t->unknown, err));
    CT_TRY(gguf_id(t, f, "tokenizer.ggml.eos_token_id", &eos, err));
    CT_TRY(gguf_id(t, f, "tokenizer.ggml.eot_token_id", &eot, err));
    ct_tokenizer_add_end(t, eos);
    ct_tokenizer_add_end(t, eot);
    prefix = ct_file_meta(f, "tokenizer.ggml.add_space_prefix");
    if (prefix && prefix->type != CT_META_BOOL)
        return gguf_bad_key(f, prefix, err, "expected a bool");
    /* absent: no prefix, the rule of every Gemma; with merges there never is one */
    t->space_prefix = ct_tokenizer_by_text(t) && prefix && prefix->u;
    t->fuse_unknown = false;
    CT_TRY(ct_tokenizer_finish(t, ct_file_path(f), err));
    t->byte_fallback = ct_tokenizer_missing_byte(t) < 0;
    return CARAT_OK;
}

carat_status ct_tokenizer_from_gguf(struct ct_tokenizer **out, const struct ct_file *f,
                                    struct ct_listener *listener, carat_error *err)
{
    struct ct_tokenizer *t = NULL;
    enum ct_tokenizer_form form = CT_SOURCE_GGUF;
    CT_TRY(gguf_form(f, &form, err));
    carat_status status = ct_tokenizer_create(&t, form, listener, err);
    if (status == CARAT_OK)
        status = gguf_tokenizer(t, f, err);
    return ct_tokenizer_give(out, t, status);
}
