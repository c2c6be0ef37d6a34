/* SPDX-License-Identifier: Apache-2.0 */
/* bad_gguf.h: a small Gemma 3 as a GGUF file that really runs, as data: metadata entries and tensors in
 * lists, so that a test can replace one, drop one or lie about one before the file is written. Judging is in
 * bad.h, a Gemma 3n and a Gemma 4 in newer_gguf.h. */
#ifndef BAD_GGUF_H
#define BAD_GGUF_H

#include "cli/bad.h"

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 };
enum {
    T_F32 = 0,
    T_F16 = 1,
    T_Q4_0 = 2,
    T_Q8_0 = 8,
    T_Q4_K = 12,
    T_Q6_K = 14,
    T_IQ2_XXS = 16,
    T_IQ2_XS,
    T_IQ3_XXS,
    T_IQ1_S,
    T_IQ4_NL,
    T_IQ3_S,
    T_IQ2_S,
    T_IQ1_M = 29,
    T_BF16 = 30,
    T_TQ1_0 = 34,
    T_TQ2_0,
    T_NVFP4 = 40,
    T_Q1_0,
    T_Q2_0,
};
#ifndef GGUF_WIDTH
#define GGUF_WIDTH 64 /* a test of types with blocks of 256 takes that */
#endif
enum { HIDDEN = GGUF_WIDTH, HEADS = 2, HEAD = HIDDEN / 2, FFN = 96, LAYERS = 2, PIECES = 6 + 256 + 40 };

struct gguf_meta {
    char key[64];
    struct buf value; /* the number of the type, then the value */
};

struct gguf_tensor {
    const char *name;
    uint32_t n_dim, type;
    uint64_t dim[8]; /* contiguous one first */
    struct buf data;
    int64_t shift; /* added to the true offset in the file's words */
};

struct gguf {
    uint32_t version;
    size_t alignment;
    struct gguf_meta meta[56];
    int n_meta;
    struct gguf_tensor tensor[192];
    int n_tensor;
};

/* ---- metadata ---- */

static inline struct gguf_meta *gguf_key(struct gguf *g, const char *key)
{
    for (int i = 0; i < g->n_meta; i++)
        if (strcmp(g->meta[i].key, key) == 0)
            return &g->meta[i];
    return NULL;
}
/* The entry of that key, empty; a new one when there is none. */
static inline struct buf *gguf_entry(struct gguf *g, const char *key)
{
    struct gguf_meta *m = gguf_key(g, key);
    if (!m) {
        assert_true(g->n_meta < (int)CT_COUNT(g->meta));
        m = &g->meta[g->n_meta++];
        snprintf(m->key, sizeof m->key, "%s", key);
    }
    buf_free(&m->value);
    return &m->value;
}
static inline void gguf_set(struct gguf *g, const char *key, uint32_t type, const void *value, size_t n)
{
    struct buf *b = gguf_entry(g, key);
    put_u32(b, type);
    if (type == STRING)
        put_u64(b, n);
    put(b, value, n);
}
static inline void gguf_set_u32(struct gguf *g, const char *key, uint32_t v)
{
    gguf_set(g, key, U32, &v, 4);
}
static inline void gguf_set_f32(struct gguf *g, const char *key, float v)
{
    gguf_set(g, key, F32, &v, 4);
}
static inline void gguf_set_text(struct gguf *g, const char *key, const char *s)
{
    gguf_set(g, key, STRING, s, strlen(s));
}
static inline void gguf_drop(struct gguf *g, const char *key)
{
    struct gguf_meta *m = gguf_key(g, key);
    assert_non_null(m);
    buf_free(&m->value);
    *m = g->meta[--g->n_meta];
    g->meta[g->n_meta] = (struct gguf_meta){{0}, {0}}; /* its value has moved */
}

/* ---- tensors ---- */

static inline struct gguf_tensor *gguf_find(struct gguf *g, const char *name)
{
    for (int i = 0; i < g->n_tensor; i++)
        if (strcmp(g->tensor[i].name, name) == 0)
            return &g->tensor[i];
    fail_msg("no tensor %s", name);
    return NULL;
}
static inline uint32_t gguf_random(uint32_t *state)
{
    return *state = *state * 1664525u + 1013904223u;
}
/* Blocks of types that have them: weights, bytes, where the factor of all is, and a small one in f16. */
struct gguf_form {
    uint32_t type, block, bytes, at;
    uint16_t scale;
};
static inline struct gguf_form gguf_form(uint32_t type)
{
    static const struct gguf_form forms[] = {
        {T_Q4_0, 32, 18, 0, 0x2400},     {T_Q8_0, 32, 34, 0, 0x1400},     {T_Q4_K, 256, 144, 0, 0x0c00},
        {T_Q6_K, 256, 210, 208, 0x1400}, {T_IQ2_XXS, 256, 66, 0, 0x1000}, {T_IQ2_XS, 256, 74, 0, 0x1000},
        {T_IQ2_S, 256, 82, 0, 0x1000},   {T_IQ3_XXS, 256, 98, 0, 0x0c00}, {T_IQ3_S, 256, 110, 0, 0x0c00},
        {T_IQ1_S, 256, 50, 0, 0x1c00},   {T_IQ1_M, 256, 56, 48, 0x1c00},  {T_IQ4_NL, 32, 18, 0, 0x1000},
        {T_TQ1_0, 256, 54, 52, 0x2800},  {T_TQ2_0, 256, 66, 64, 0x2800},  {T_Q1_0, 128, 18, 0, 0x2800},
        {T_Q2_0, 64, 18, 0, 0x2800},     {T_NVFP4, 64, 36, 0, 0x0808},
    };
    for (size_t i = 0; i < CT_COUNT(forms); i++)
        if (forms[i].type == type)
            return forms[i];
    return (struct gguf_form){type, 1, type == T_F32 ? 4 : 2, 0, 0};
}
/* All but factors is random. */
static inline void gguf_block(struct buf *b, const struct gguf_form *f, uint32_t *state)
{
    uint8_t block[256];
    for (uint32_t i = 0; i < f->bytes; i++)
        if (i < f->at || i > f->at + 1 || f->type == T_IQ1_M)
            block[i] = (uint8_t)(gguf_random(state) >> 24);
    memcpy(block + f->at, &f->scale, f->type == T_IQ1_M ? 0 : 2);
    for (int i = 0; i < 4 && f->type == T_IQ1_M; i++) /* four bits of it on top of each scale */
        block[49 + 2 * i] = (uint8_t)((block[49 + 2 * i] & 15) | (f->scale >> 4 * i & 15) << 4);
    for (int i = 0; i < 16 && f->type == T_Q6_K; i++)
        block[192 + i] = (uint8_t)(1 + i % 4);
    for (int i = 0; i < 52 && f->type == T_TQ1_0; i++) { /* digits of base 3: five, of the last bytes four */
        const int digits = block[i] * 243 / 256;
        block[i] = (uint8_t)(((i < 48 ? digits : digits / 3 * 3) * 256 + 242) / 243);
    }
    if (f->type == T_Q4_K || f->type == T_NVFP4)
        memcpy(block + 2, &f->scale, 2);
    put(b, block, f->bytes);
}
/* Fills a tensor. */
static inline void gguf_fill(struct gguf_tensor *t, uint32_t type, uint32_t random)
{
    const struct gguf_form form = gguf_form(type);
    uint64_t n = 1;
    t->type = type;
    t->data.n = 0;
    for (uint32_t i = 0; i < t->n_dim; i++)
        n *= t->dim[i];
    assert_int_equal(t->dim[0] % form.block, 0);
    for (uint64_t i = 0; i < n; i += form.block) {
        if (form.block > 1) {
            gguf_block(&t->data, &form, &random);
            continue;
        }
        float v = (t->n_dim > 1 ? 0 : 1) + (float)((int)(gguf_random(&random) >> 24) - 128) * 0x1p-10f;
        uint16_t half = type == T_F16 ? ct_f32_to_f16(v) : ct_f32_to_bf16(v);
        put(&t->data, type == T_F32 ? (const void *)&v : &half, form.bytes);
    }
}
/* Small values of both signs that differ from tensor to tensor; norm vectors are near 1. */
static inline void gguf_add(struct gguf *g, const char *name, uint32_t type, uint64_t cols, uint64_t rows)
{
    assert_true(g->n_tensor < (int)CT_COUNT(g->tensor));
    struct gguf_tensor *t = &g->tensor[g->n_tensor++];
    *t = (struct gguf_tensor){
        .name = name, .n_dim = rows ? 2 : 1, .type = type, .dim = {cols, rows, 1, 1, 1, 1, 1, 1}};
    gguf_fill(t, type, (uint32_t)g->n_tensor * 2654435761u);
}
static inline void gguf_remove(struct gguf *g, const char *name)
{
    struct gguf_tensor *t = gguf_find(g, name);
    buf_free(&t->data);
    memmove(t, t + 1, (size_t)(&g->tensor[g->n_tensor] - (t + 1)) * sizeof *t);
    g->n_tensor--;
}

/* ---- the good one ---- */

static inline void gguf_vocabulary(struct gguf *g)
{
    static const char *const specials[] = {"<pad>", "<eos>",           "<bos>",
                                           "<unk>", "<start_of_turn>", "<end_of_turn>"};
    struct buf *tokens = gguf_entry(g, "tokenizer.ggml.tokens");
    put_u32(tokens, ARRAY), put_u32(tokens, STRING), put_u64(tokens, PIECES);
    for (int i = 0; i < PIECES; i++) {
        char s[16];
        if (i < 6)
            snprintf(s, sizeof s, "%s", specials[i]);
        else if (i < 262)
            snprintf(s, sizeof s, "<0x%02X>", (unsigned)(i - 6));
        else
            snprintf(s, sizeof s, "%c", i < 288 ? 'a' + (i - 262) : '!' + (i - 288));
        put_str(tokens, s);
    }
    struct buf *scores = gguf_entry(g, "tokenizer.ggml.scores");
    put_u32(scores, ARRAY), put_u32(scores, F32), put_u64(scores, PIECES);
    for (int i = 0; i < PIECES; i++)
        put(scores, &(float){(float)-i}, 4);
    struct buf *types = gguf_entry(g, "tokenizer.ggml.token_type");
    put_u32(types, ARRAY), put_u32(types, I32), put_u64(types, PIECES);
    for (int i = 0; i < PIECES; i++)
        put(types, &(int32_t){i == 3 ? 2 : i < 6 ? 3 : i < 262 ? 6 : 1}, 4);
    gguf_set_text(g, "tokenizer.ggml.model", "llama");
    gguf_set_u32(g, "tokenizer.ggml.bos_token_id", 2);
    gguf_set_u32(g, "tokenizer.ggml.eos_token_id", 1);
    gguf_set_u32(g, "tokenizer.ggml.unknown_token_id", 3);
    gguf_set_text(g, "tokenizer.chat_template", "{{ bos_token }}{{ '<start_of_turn>' + role }}<end_of_turn>");
}

static inline void gguf_init(struct gguf *g)
{
    *g = (struct gguf){.version = 3, .alignment = 32};
    gguf_set_text(g, "general.architecture", "gemma3"); /* the first: patches of bytes count on it */
    gguf_set_text(g, "general.name", "small");
    gguf_set_u32(g, "gemma3.block_count", LAYERS);
    gguf_set_u32(g, "gemma3.context_length", 128);
    gguf_set_u32(g, "gemma3.embedding_length", HIDDEN);
    gguf_set_u32(g, "gemma3.feed_forward_length", FFN);
    gguf_set_u32(g, "gemma3.attention.head_count", HEADS);
    gguf_set_u32(g, "gemma3.attention.head_count_kv", 1);
    gguf_set_u32(g, "gemma3.attention.key_length", HEAD);
    gguf_set_u32(g, "gemma3.attention.value_length", HEAD);
    gguf_set_u32(g, "gemma3.attention.sliding_window", 16);
    gguf_set_f32(g, "gemma3.attention.layer_norm_rms_epsilon", 1e-6f);
    gguf_set_f32(g, "gemma3.rope.freq_base", 1e6f);
    gguf_vocabulary(g);

    static const struct {
        const char *name[LAYERS];
        uint32_t type;
        uint64_t cols, rows;
    } layer[] = {
#define LAYER(name) {"blk.0." name ".weight", "blk.1." name ".weight"}
        {LAYER("attn_norm"), T_F32, HIDDEN, 0},
        {LAYER("attn_q"), T_Q8_0, HIDDEN, HEADS * HEAD},
        {LAYER("attn_k"), T_Q8_0, HIDDEN, HEAD},
        {LAYER("attn_v"), T_Q8_0, HIDDEN, HEAD},
        {LAYER("attn_output"), T_Q8_0, HEADS * HEAD, HIDDEN},
        {LAYER("attn_q_norm"), T_F32, HEAD, 0},
        {LAYER("attn_k_norm"), T_F32, HEAD, 0},
        {LAYER("post_attention_norm"), T_F32, HIDDEN, 0},
        {LAYER("ffn_norm"), T_F32, HIDDEN, 0},
        {LAYER("ffn_gate"), T_F32, HIDDEN, FFN},
        {LAYER("ffn_up"), T_F32, HIDDEN, FFN},
        {LAYER("ffn_down"), T_F32, FFN, HIDDEN},
        {LAYER("post_ffw_norm"), T_F32, HIDDEN, 0},
#undef LAYER
    };
    gguf_add(g, "token_embd.weight", T_F32, HIDDEN, PIECES);
    for (int l = 0; l < LAYERS; l++)
        for (size_t i = 0; i < CT_COUNT(layer); i++)
            gguf_add(g, layer[i].name[l], layer[i].type, layer[i].cols, layer[i].rows);
    gguf_add(g, "output_norm.weight", T_F32, HIDDEN, 0);
}

static inline void gguf_done(struct gguf *g)
{
    for (int i = 0; i < g->n_meta; i++)
        buf_free(&g->meta[i].value);
    for (int i = 0; i < g->n_tensor; i++)
        buf_free(&g->tensor[i].data);
}

/* ---- writing ---- */

/* The file; *data, when wanted, is where the tensor data begin. The last tensor is not padded. */
static inline struct buf gguf_bytes(const struct gguf *g, size_t *data)
{
    struct buf b = {0};
    put_header(&b, g->version, (uint64_t)g->n_tensor, (uint64_t)g->n_meta);
    for (int i = 0; i < g->n_meta; i++) {
        put_str(&b, g->meta[i].key);
        put(&b, g->meta[i].value.p, g->meta[i].value.n);
    }
    uint64_t offset = 0;
    for (int i = 0; i < g->n_tensor; i++) {
        const struct gguf_tensor *t = &g->tensor[i];
        put_info(&b, t->name, t->n_dim, t->dim, t->type, offset + (uint64_t)t->shift);
        offset = ct_round_up(offset + t->data.n, g->alignment);
    }
    put_pad(&b, g->alignment);
    if (data)
        *data = b.n;
    for (int i = 0; i < g->n_tensor; i++) {
        put_pad(&b, g->alignment);
        put(&b, g->tensor[i].data.p, g->tensor[i].data.n);
    }
    return b;
}
/* Writes it as the model of a place and frees it. */
static inline void gguf_write(struct bad_place *p, struct gguf *g)
{
    struct buf b = gguf_bytes(g, NULL);
    bad_file(p, "model.gguf", b.p, b.n);
    buf_free(&b);
    gguf_done(g);
}

/* ---- makers that more than one table uses ---- */

#define BYTES(s) s, sizeof(s) - 1

static inline void gguf_make_good(struct bad_place *p, const void *with)
{
    struct gguf g;
    (void)with;
    gguf_init(&g);
    gguf_write(p, &g);
}

/* The good file with this metadata entry added or replaced. */
struct gguf_value {
    const char *key;
    uint32_t type;
    const void *p;
    size_t n;
};
static inline void gguf_make_set(struct bad_place *p, const void *with)
{
    const struct gguf_value *v = with;
    struct gguf g;
    gguf_init(&g);
    gguf_set(&g, v->key, v->type, v->p, v->n);
    gguf_write(p, &g);
}

#endif
