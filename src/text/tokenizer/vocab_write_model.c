/* SPDX-License-Identifier: Apache-2.0 */
/* vocab_write_model.c: a vocabulary with scores as tokenizer.model, a SentencePiece ModelProto in protobuf
 * wire format (vocab_write.h). tokenizer_model.c reads it back and names the fields. */
#include "text/tokenizer/vocab_write.h"

#include <stdlib.h>

#include "text/tokenizer/tokenizer_parts.h"

enum { VARINT = 0, BYTES = 2, FIXED32 = 5 };

static size_t varint(uint8_t out[10], uint64_t v)
{
    size_t n = 0;

    do {
        out[n++] = (uint8_t)((v & 127) | (v > 127 ? 128 : 0));
        v >>= 7;
    } while (v);
    return n;
}

static void put_varint(struct ct_new_head *h, uint64_t v)
{
    uint8_t bytes[10];

    ct_new_head_put(h, bytes, varint(bytes, v));
}

static void put_field(struct ct_new_head *h, unsigned number, uint64_t v)
{
    put_varint(h, number << 3 | VARINT);
    put_varint(h, v);
}

static void put_bytes(struct ct_new_head *h, unsigned number, const void *data, size_t n)
{
    put_varint(h, number << 3 | BYTES);
    put_varint(h, n);
    ct_new_head_put(h, data, n);
}

static void put_piece(const struct ct_tokenizer *t, struct ct_new_head *h, int32_t id, float score)
{
    char text[CT_SPELLED_PIECE];
    uint8_t length[10];
    const struct ct_str s = ct_tokenizer_spelled(t, id, text);
    const unsigned own = t->piece[id].kind, kind = id == t->unknown ? CT_PIECE_UNKNOWN
                                                   : own == CT_PIECE_UNUSED || own == CT_PIECE_UNKNOWN
                                                       ? CT_PIECE_CONTROL
                                                       : own;
    const size_t n = 1 + varint(length, s.n) + s.n + 5 + (kind == CT_PIECE_NORMAL ? 0 : 2);

    put_varint(h, 1 << 3 | BYTES);
    put_varint(h, n);
    put_bytes(h, 1, s.s, s.n);
    put_varint(h, 2 << 3 | FIXED32);
    ct_new_head_put(h, &score, sizeof score);
    if (kind != CT_PIECE_NORMAL)
        put_field(h, 3, kind);
}

static void put_id(struct ct_new_head *h, unsigned number, int32_t id)
{
    put_field(h, number, (uint64_t)(int64_t)id);
}

static void put_trainer(const struct ct_tokenizer *t, struct ct_new_head *h, int32_t n)
{
    struct ct_new_head inner = {.data = NULL};

    put_field(&inner, 3, 2); /* BPE */
    put_field(&inner, 4, (uint64_t)n);
    put_field(&inner, 35, t->byte_fallback);
    put_id(&inner, 40, t->unknown);
    put_id(&inner, 41, ct_tokenizer_bos(t));
    put_id(&inner, 42, ct_tokenizer_control(t, CT_CONTROL_EOS));
    put_id(&inner, 43, ct_tokenizer_id(t, "<pad>"));
    const char *const names[] = {ct_controls[CT_CONTROL_UNK].text, ct_controls[CT_CONTROL_BOS].text,
                                 ct_controls[CT_CONTROL_EOS].text, "<pad>"};
    for (unsigned i = 0; i < CT_COUNT(names); i++)
        put_bytes(&inner, 45 + i, names[i], strlen(names[i]));
    put_bytes(h, 2, inner.data, inner.n);
    h->failed = h->failed || inner.failed;
    ct_new_head_free(&inner);
}

static void put_normalizer(struct ct_new_head *h)
{
    struct ct_new_head inner = {.data = NULL};

    put_bytes(&inner, 1, "identity", strlen("identity"));
    put_field(&inner, 3, 0); /* no space in front */
    put_field(&inner, 4, 0); /* and all of them are kept */
    put_field(&inner, 5, 1); /* as U+2581 */
    put_bytes(h, 3, inner.data, inner.n);
    h->failed = h->failed || inner.failed;
    ct_new_head_free(&inner);
}

carat_status ct_tokenizer_put_model(const struct ct_tokenizer *t, struct ct_new_head *h, const char *path,
                                    carat_error *err)
{
    float *score = malloc((size_t)t->n * sizeof *score);
    uint64_t *level = malloc((t->n_rank + (size_t)1) * sizeof *level);
    int32_t n = t->n;

    while (n > 0 && t->piece[n - 1].kind == CT_PIECE_UNUSED) /* rows that fill the embedding up */
        n--;
    if (score && level) {
        ct_tokenizer_stored_scores(t, score, level);
        for (int32_t id = 0; id < n; id++)
            put_piece(t, h, id, score[id]);
        put_trainer(t, h, n);
        put_normalizer(h);
    }
    free(score);
    free(level);
    if (!score || !level)
        return ct_no_memory(err, "the vocabulary");
    if (t->space_prefix)
        return ct_fail(err, CARAT_E_UNSUPPORTED,
                       "%s: texts begin with a space there, which no tokenizer.model of Gemma says", path);
    return CARAT_OK;
}
