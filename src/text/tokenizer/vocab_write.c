/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_write.c: see vocab_write.h. The keys and what llama.cpp's converter puts into them: tokenizer_gguf.c
 * reads them back. */
#include "text/tokenizer/vocab_write.h"

#include <stdlib.h>

#include "text/tokenizer/tokenizer_parts.h"

#define NO_SCORE (-1000.0f) /* of control tokens and bytes, as that converter has it */
#define SPACE    "\xe2\x96\x81"

bool ct_tokenizer_merges_pairs(const struct ct_tokenizer *t)
{
    return !ct_tokenizer_by_text(t);
}

static bool is_gemma4(const struct ct_tokenizer *t)
{
    return ct_tokenizer_control(t, CT_CONTROL_TURN) >= 0;
}

/* User-defined pieces hold spaces there, as llama.cpp's converter has it, but for lists of merges. */
static struct ct_str spelled(const struct ct_tokenizer *t, int32_t id, char text[CT_PIECE_MAX])
{
    const struct ct_str s = ct_piece_text(t, id);
    size_t n = 0;

    if (is_gemma4(t) || t->piece[id].kind != CT_PIECE_USER)
        return s;
    for (size_t i = 0; i < s.n;) {
        const bool space = s.n - i >= 3 && memcmp(s.s + i, SPACE, 3) == 0;
        text[n++] = space ? ' ' : s.s[i];
        i += space ? 3 : 1;
    }
    return (struct ct_str){text, n};
}

struct ct_str ct_tokenizer_spelled(const struct ct_tokenizer *t, int32_t id, char text[CT_SPELLED_PIECE])
{
    static_assert(CT_SPELLED_PIECE >= 3 * CT_PIECE_MAX, "a blank becomes three bytes");
    const struct ct_str s = ct_piece_text(t, id);
    size_t n = 0;

    if (t->source != CT_SOURCE_GGUF || t->piece[id].kind != CT_PIECE_USER || !memchr(s.s, ' ', s.n))
        return s;
    for (size_t i = 0; i < s.n; i++) {
        const bool space = s.s[i] == ' ';
        memcpy(text + n, space ? SPACE : &s.s[i], space ? 3 : 1);
        n += space ? 3 : 1;
    }
    return (struct ct_str){text, n};
}

static void put_pieces(const struct ct_tokenizer *t, struct ct_new_head *h, int32_t *kind)
{
    char text[CT_PIECE_MAX];

    ct_gguf_put_strings(h, "tokenizer.ggml.tokens", (size_t)t->n);
    for (int32_t id = 0; id < t->n; id++) {
        ct_gguf_add_string(h, spelled(t, id, text));
        kind[id] = t->piece[id].kind == CT_PIECE_ABSENT ? CT_PIECE_UNUSED
                   : id == t->unknown && !is_gemma4(t)
                       ? CT_PIECE_UNKNOWN /* a control token in a list of merges */
                       : (int32_t)t->piece[id].kind;
    }
    ct_gguf_put_ints(h, "tokenizer.ggml.token_type", kind, (size_t)t->n);
}

static bool can_be_made(const struct ct_tokenizer *t, int32_t id)
{
    return t->piece[id].kind == CT_PIECE_NORMAL || t->piece[id].kind == CT_PIECE_USER;
}

/* Scores count down from 0: pieces of one rank share one. Where only merges say which comes first, a piece
 * counts as its first one; behind them come ordinary pieces that no merge makes, and then the others, so that
 * the scores of a file that was written so come out as they went in. level: [n_rank] */
void ct_tokenizer_stored_scores(const struct ct_tokenizer *t, float *score, uint64_t *level)
{
    const bool by_text = ct_tokenizer_by_text(t);
    const float unset = 1;
    uint32_t n = 0;

    memset(level, 0, t->n_rank * sizeof *level);
    for (int32_t id = 0; id < t->n; id++) {
        score[id] = can_be_made(t, id) ? unset : NO_SCORE;
        if (by_text && can_be_made(t, id))
            level[t->piece[id].rank] = 1;
    }
    for (uint32_t rank = 0; rank < t->n_rank; rank++) {
        if (!by_text && score[t->product[rank]] == unset)
            score[t->product[rank]] = -(float)n++;
        if (by_text && level[rank])
            level[rank] = n++;
    }
    for (int32_t id = 0; id < t->n; id++)
        if (score[id] == unset && (by_text || t->piece[id].kind == CT_PIECE_NORMAL))
            score[id] = by_text ? -(float)level[t->piece[id].rank] : -(float)n++;
    for (int32_t id = 0; id < t->n; id++)
        if (score[id] == unset)
            score[id] = -(float)n;
}

size_t ct_tokenizer_stored_merges(const struct ct_tokenizer *t, uint64_t *by_rank)
{
    size_t n = 0;

    memset(by_rank, 0xff, t->n_rank * sizeof *by_rank);
    for (uint32_t i = 0; i < t->n_merge; i++)
        if (t->merge[i] != CT_NO_MERGE)
            by_rank[t->merge[i] & (CT_NO_RANK - 1)] = t->merge[i] >> CT_RANK_BITS;
    for (uint32_t r = 0; r < t->n_rank; r++)
        n += by_rank[r] != CT_NO_MERGE;
    return n;
}

static void put_merges(const struct ct_tokenizer *t, struct ct_new_head *h, uint64_t *by_rank)
{
    const size_t n = ct_tokenizer_stored_merges(t, by_rank);

    ct_gguf_put_strings(h, "tokenizer.ggml.merges", n);
    for (uint32_t r = 0; r < t->n_rank; r++) {
        char both[2 * CT_PIECE_MAX + 1];
        if (by_rank[r] == CT_NO_MERGE) /* another rank has the same pair */
            continue;
        const struct ct_str left = ct_piece_text(t, (int32_t)(by_rank[r] >> CT_ID_BITS)),
                            right = ct_piece_text(t, (int32_t)(by_rank[r] & (CT_VOCAB_MAX - 1)));
        memcpy(both, left.s, left.n);
        both[left.n] = ' ';
        memcpy(both + left.n + 1, right.s, right.n);
        ct_gguf_add_string(h, (struct ct_str){both, left.n + 1 + right.n});
    }
}

static void put_id(struct ct_new_head *h, const char *key, int32_t id)
{
    if (id >= 0)
        ct_gguf_put_uint(h, key, (uint32_t)id);
}

carat_status ct_tokenizer_put_gguf(const struct ct_tokenizer *t, struct ct_new_head *h, carat_error *err)
{
    const bool gemma4 = is_gemma4(t);
    int32_t *kind = malloc((size_t)t->n * sizeof *kind);
    float *score = malloc((size_t)t->n * sizeof *score);
    uint64_t *by_rank = malloc((t->n_rank + (size_t)1) * sizeof *by_rank);

    if (kind && score && by_rank) {
        ct_gguf_put_string(h, "tokenizer.ggml.model", ct_str_of(gemma4 ? "gemma4" : "llama"));
        ct_gguf_put_string(h, "tokenizer.ggml.pre", ct_str_of(gemma4 ? "gemma4" : "default"));
        put_pieces(t, h, kind);
        ct_tokenizer_stored_scores(t, score, by_rank);
        ct_gguf_put_floats(h, "tokenizer.ggml.scores", score, (size_t)t->n);
        if (gemma4)
            put_merges(t, h, by_rank);
        put_id(h, "tokenizer.ggml.bos_token_id", ct_tokenizer_bos(t));
        put_id(h, "tokenizer.ggml.eos_token_id", ct_tokenizer_control(t, CT_CONTROL_EOS));
        put_id(h, "tokenizer.ggml.eot_token_id",
               ct_tokenizer_control(t, gemma4 ? CT_CONTROL_TURN_END : CT_CONTROL_END_OF_TURN));
        put_id(h, "tokenizer.ggml.unknown_token_id", ct_tokenizer_control(t, CT_CONTROL_UNK));
        put_id(h, "tokenizer.ggml.padding_token_id", ct_tokenizer_id(t, "<pad>"));
        ct_gguf_put_bool(h, "tokenizer.ggml.add_bos_token", true);
        ct_gguf_put_bool(h, "tokenizer.ggml.add_eos_token", false);
        ct_gguf_put_bool(h, "tokenizer.ggml.add_space_prefix", t->space_prefix);
    }
    free(kind);
    free(score);
    free(by_rank);
    return kind && score && by_rank ? CARAT_OK : ct_no_memory(err, "the vocabulary");
}
