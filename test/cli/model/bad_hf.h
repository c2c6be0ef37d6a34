/* SPDX-License-Identifier: Apache-2.0 */
/* bad_hf.h: the base that test_bad_hf.c and test_bad_config.c damage: a small random Gemma 3 with the
 * tokenizer of models/tiny, as a Hugging Face directory, whole or in two shards; a case replaces words in one
 * of its files. Include it first. */
#ifndef BAD_HF_H
#define BAD_HF_H

#include "cli/bad.h"

/* ---- the base ---- */

#define CONFIG                                                                                               \
    "{\"architectures\":[\"Gemma3ForCausalLM\"],\"model_type\":\"gemma3_text\",\"vocab_size\":1024,"         \
    "\"hidden_size\":16,\"intermediate_size\":32,\"num_hidden_layers\":2,\"num_attention_heads\":2,"         \
    "\"num_key_value_heads\":1,\"head_dim\":8,\"query_pre_attn_scalar\":8,"                                  \
    "\"max_position_embeddings\":256,\"sliding_window\":32,\"sliding_window_pattern\":2,"                    \
    "\"rms_norm_eps\":1e-06,\"rope_theta\":1000000.0,\"rope_local_base_freq\":10000.0,"                      \
    "\"tie_word_embeddings\":true,\"bos_token_id\":2,\"eos_token_id\":1}"
#define WHOLE  "model.safetensors"
#define FIRST  "model-00001-of-00002.safetensors"
#define SECOND "model-00002-of-00002.safetensors"
#define INDEX  "model.safetensors.index.json"
enum { VOCAB = 1024, HIDDEN = 16, FFN = 32, Q = 16, KV = 8, HEAD = 8, LAYERS = 2 };

static const struct tensor {
    const char *name;
    int rows, cols; /* rows 0: a vector */
} ends[] = {{"model.norm.weight", 0, HIDDEN}, {"model.embed_tokens.weight", VOCAB, HIDDEN}},
  of_layer[] = {{"input_layernorm", 0, HIDDEN},
                {"self_attn.q_proj", Q, HIDDEN},
                {"self_attn.k_proj", KV, HIDDEN},
                {"self_attn.v_proj", KV, HIDDEN},
                {"self_attn.o_proj", HIDDEN, Q},
                {"self_attn.q_norm", 0, HEAD},
                {"self_attn.k_norm", 0, HEAD},
                {"post_attention_layernorm", 0, HIDDEN},
                {"pre_feedforward_layernorm", 0, HIDDEN},
                {"mlp.gate_proj", FFN, HIDDEN},
                {"mlp.up_proj", FFN, HIDDEN},
                {"mlp.down_proj", HIDDEN, FFN},
                {"post_feedforward_layernorm", 0, HIDDEN}};

/* One safetensors file in the making. */
struct parts {
    struct buf header, data;
};

/* Of n values in a shape, "64,16". */
static inline void add_shaped(struct parts *p, const char *name, const char *shape, size_t n, bool is_norm)
{
    char entry[256];
    size_t begin = p->data.n;
    static uint32_t state = 1;
    for (size_t i = 0; i < n; i++) { /* norms are zero, matrices lie between -1/8 and 1/8 */
        state = state * 1664525u + 1013904223u;
        uint16_t bits = is_norm ? 0 : ct_f32_to_bf16((float)(state >> 16 & 255) / 1024 - 0.125f);
        put(&p->data, &bits, 2);
    }
    snprintf(entry, sizeof entry, "%c\"%s\":{\"dtype\":\"BF16\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}",
             p->header.n ? ',' : '{', name, shape, begin, p->data.n);
    put_text(&p->header, entry);
}

static inline void add(struct parts *p, const char *name, const struct tensor *t)
{
    char shape[32];
    snprintf(shape, sizeof shape, t->rows ? "%d,%d" : "%.0d%d", t->rows, t->cols);
    add_shaped(p, name, shape, (size_t)CT_MAX(t->rows, 1) * (size_t)t->cols, t->rows == 0);
}

static inline void add_layer(struct parts *p, int layer)
{
    for (size_t i = 0; i < CT_COUNT(of_layer); i++) {
        char name[128];
        snprintf(name, sizeof name, "model.layers.%d.%s.weight", layer, of_layer[i].name);
        add(p, name, &of_layer[i]);
    }
}

/* ---- damage ---- */

/* `find`, which must be there, becomes `put` in a file; of a safetensors file, in its header, whose length
 * stays true. Without `find` the whole file becomes `put`; without `put` it goes. */
struct edit {
    const char *file, *find, *put;
};
struct damage {
    struct edit edit[3];
};

static inline struct buf replaced(const struct edit *e, const void *text, size_t n)
{
    struct buf b = {0};
    char *whole = malloc(n + 1);
    assert_non_null(whole);
    memcpy(whole, text, n);
    whole[n] = 0;
    char *at = strstr(whole, e->find);
    if (!at)
        fail_msg("%s does not hold %s", e->file, e->find);
    put(&b, whole, (size_t)(at - whole));
    put_text(&b, e->put);
    put_text(&b, at + strlen(e->find));
    free(whole);
    return b;
}

/* The file after the edits that concern it. */
static inline void finish(struct bad_place *p, const struct damage *d, const char *name, const void *text,
                          size_t n, const struct buf *data)
{
    struct buf b = {0}, file = {0};
    bool bare = false, gone = false; /* no header; no file */
    put(&b, text, n);
    for (size_t i = 0; d && i < CT_COUNT(d->edit); i++) {
        const struct edit *e = &d->edit[i];
        if (!e->file || strcmp(e->file, name) != 0)
            continue;
        struct buf next = {0};
        if (e->find)
            next = replaced(e, b.p, b.n);
        else if (e->put)
            put_text(&next, e->put);
        bare = !e->find;
        gone = !e->find && !e->put;
        buf_free(&b);
        b = next;
    }
    if (data && !bare) {
        put_u64(&file, b.n);
        put(&file, b.p, b.n);
        put(&file, data->p, data->n);
        bad_write(p, name, file.p, file.n);
    } else if (!gone) {
        bad_write(p, name, b.p ? (const void *)b.p : "", b.n);
    }
    buf_free(&b);
    buf_free(&file);
}

static inline void finish_parts(struct bad_place *p, const struct damage *d, const char *name,
                                struct parts *parts)
{
    put_text(&parts->header, "}");
    finish(p, d, name, parts->header.p, parts->header.n, &parts->data);
    buf_free(&parts->header);
    buf_free(&parts->data);
}

static inline void sides(struct bad_place *p, const struct damage *d)
{
    bad_model(p, "");
    finish(p, d, "config.json", CONFIG, strlen(CONFIG), NULL);
    struct buf b = bad_read(CT_TEST_DATA "/../../models/tiny/tokenizer.json");
    bad_write(p, "tokenizer.json", b.p, b.n);
    buf_free(&b);
}

static inline void whole(struct bad_place *p, const void *with)
{
    struct parts parts = {{0}, {0}};
    sides(p, with);
    for (size_t i = 0; i < CT_COUNT(ends); i++)
        add(&parts, ends[i].name, &ends[i]);
    for (int i = 0; i < LAYERS; i++)
        add_layer(&parts, i);
    /* tensors that nobody uses may be of any type, of rank 0 or empty */
    char unused[256];
    snprintf(unused, sizeof unused,
             ",\"scalar\":{\"dtype\":\"BOOL\",\"shape\":[],\"data_offsets\":[%zu,%zu]},"
             "\"empty\":{\"dtype\":\"F8_E4M3\",\"shape\":[0,7],\"data_offsets\":[%zu,%zu]}",
             parts.data.n, parts.data.n + 1, parts.data.n + 1, parts.data.n + 1);
    put_text(&parts.header, unused);
    put_zero(&parts.data, 1);
    finish_parts(p, with, WHOLE, &parts);
}

static inline void sharded(struct bad_place *p, const void *with)
{
    struct parts first = {{0}, {0}}, second = {{0}, {0}};
    struct buf map = {0};
    sides(p, with);
    for (size_t i = 0; i < CT_COUNT(ends); i++)
        add(&first, ends[i].name, &ends[i]);
    add_layer(&first, 0);
    add_layer(&second, 1);
    finish_parts(p, with, FIRST, &first);
    finish_parts(p, with, SECOND, &second);
    put_text(&map, "{\"metadata\":{\"total_size\":1},\"weight_map\":{\"model.norm.weight\":\"" FIRST "\","
                   "\"model.embed_tokens.weight\":\"" FIRST "\"");
    for (int layer = 0; layer < LAYERS; layer++)
        for (size_t i = 0; i < CT_COUNT(of_layer); i++) {
            char entry[192];
            snprintf(entry, sizeof entry, ",\"model.layers.%d.%s.weight\":\"%s\"", layer, of_layer[i].name,
                     layer ? SECOND : FIRST);
            put_text(&map, entry);
        }
    put_text(&map, "}}");
    finish(p, with, INDEX, map.p, map.n, NULL);
    buf_free(&map);
}

#define D(...)                                                                                               \
    &(const struct damage)                                                                                   \
    {                                                                                                        \
        {                                                                                                    \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }
#define IN(file, from, to) whole, D({file, from, to}), 4
#define HEAD_(from, to)    IN(WHOLE, from, to)
#define SET(key, from, to) IN("config.json", "\"" key "\":" from, "\"" key "\":" to)
#define MAP(from, to)      sharded, D({INDEX, from, to}), 4
#define LOGITS                                                                                               \
    {                                                                                                        \
        "logits", "@", "--ids", "2,3"                                                                        \
    }
#define RUN                                                                                                  \
    {                                                                                                        \
        "run", "@", "hi", "-n", "2", "--temp", "0"                                                           \
    }

static inline void repeat(struct buf *b, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        put_text(b, s);
}
#endif
