/* SPDX-License-Identifier: Apache-2.0 */
/* sbs_build.h: writers for files of gemma.cpp as small as they can be: words of a serialised struct, a
 * container of either version, and a Gemma 2 of one layer that carat opens and that tests then damage. */
#ifndef SBS_BUILD_H
#define SBS_BUILD_H

#include "file/file_build.h"

enum {
    SBS_MAX_BLOB = 32,
    SBS_HIDDEN = 8,
    SBS_HEAD = 4,
    SBS_HEADS = 4,
    SBS_KV = 2,
    SBS_FFN = 6,
    SBS_VOCAB = 16
};
enum { SBS_F32 = 1, SBS_BF16, SBS_SFP, SBS_NUQ, SBS_I8 = 8 };

/* ---- words ---- */

static inline void put_word_string(struct buf *b, const char *s)
{
    size_t n = strlen(s);
    put_u32(b, (uint32_t)((n + 3) / 4));
    put_text(b, s);
    put_pad(b, 4);
}
static inline void put_float(struct buf *b, float v)
{
    put(b, &v, 4);
}
/* A place for the length of a struct; end_struct fills it in. */
static inline size_t begin_struct(struct buf *b)
{
    put_u32(b, 0);
    return b->n;
}
static inline void end_struct(struct buf *b, size_t begin)
{
    uint32_t words = (uint32_t)((b->n - begin) / 4);
    memcpy(b->p + begin - 4, &words, 4);
}
static inline void set_word(struct buf *b, size_t word, uint32_t v)
{
    assert_true(4 * word + 4 <= b->n);
    memcpy(b->p + 4 * word, &v, 4);
}

static inline void put_entry(struct buf *b, const char *name, uint32_t type, uint32_t rows, uint32_t cols)
{
    uint64_t n = (uint64_t)rows * cols;
    uint32_t unit = type == SBS_F32 ? 4 : type == SBS_BF16 ? 2 : 1;
    uint64_t count = type == SBS_NUQ  ? (n + 255) / 256 * 16 + (n + 1) / 2
                     : type == SBS_I8 ? n + (n + 127) / 128 * 4
                                      : n;
    size_t at = begin_struct(b);
    put_word_string(b, name);
    put_u32(b, type);
    put_u32(b, unit);
    put_u32(b, (uint32_t)count);
    put_u32(b, rows);
    put_u32(b, cols);
    put_float(b, 1);
    put_u32(b, cols);
    end_struct(b, at);
}

/* What tests change in the configuration. Words count from the beginning of the blob. */
enum {
    WORD_SIZE,
    WORD_FAMILY,
    WORD_NAME, /* length, then "test" */
    WORD_MODEL = 4,
    WORD_WRAPPING,
    WORD_WEIGHT,
    WORD_LAYERS,
    WORD_DIM,
    WORD_VOCAB,
    WORD_SEQ,
    WORD_ATT_CAP = 12,
    WORD_FINAL_CAP,
    WORD_ABSOLUTE_PE,
    WORD_QUERY_SCALE = 16,
    WORD_LAYER_COUNT,
    WORD_LAYER, /* its size, then its 15 fields */
    WORD_WINDOW_COUNT = WORD_LAYER + 16,
    WORD_WINDOW,
    WORD_GROUPS,
    WORD_VIT,
    WORD_EOS = WORD_VIT + 9
};
static inline void put_config(struct buf *b, uint32_t weight)
{
    size_t at = begin_struct(b);
    put_u32(b, 2);
    put_word_string(b, "test");
    for (const uint32_t *v = (uint32_t[]){7, 0, weight, 1, SBS_HIDDEN, SBS_VOCAB, 64, 0}, *e = v + 8; v < e;
         v++)
        put_u32(b, *v);
    put_float(b, 50);
    put_float(b, 30);
    put_zero(b, 4 * 3); /* absolute_pe, unused, query_scale */
    put_u32(b, 1);
    size_t layer = begin_struct(b);
    for (const uint32_t *
             v = (uint32_t[]){SBS_HIDDEN, 0, SBS_FFN, SBS_HEADS, SBS_KV, SBS_HEAD, 0, 0, 0, 1, 1, 0, 0, 0, 0},
            *e = v + 15;
         v < e; v++)
        put_u32(b, *v);
    end_struct(b, layer);
    put_u32(b, 1); /* windows */
    put_u32(b, 64);
    put_u32(b, 1); /* groups of a norm */
    size_t vit = begin_struct(b);
    put_zero(b, 4 * 7);
    end_struct(b, vit);
    put_u32(b, 1); /* pool_dim */
    put_u32(b, 1); /* eos */
    put_u32(b, 107);
    put_u32(b, 0); /* scale_base_names */
    end_struct(b, at);
}

/* ---- container ---- */

struct sbs_blob {
    char name[17];
    struct buf bytes;
};
struct sbs {
    struct sbs_blob blob[SBS_MAX_BLOB];
    int n;
};

static inline struct buf *sbs_add(struct sbs *s, const char *name)
{
    assert_true(s->n < SBS_MAX_BLOB && strlen(name) <= 16);
    struct sbs_blob *b = &s->blob[s->n++];
    memset(b->name, 0, sizeof b->name);
    memcpy(b->name, name, strlen(name));
    b->bytes = (struct buf){0};
    return &b->bytes;
}
static inline struct buf *sbs_find(struct sbs *s, const char *name)
{
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->blob[i].name, name) == 0)
            return &s->blob[i].bytes;
    fail_msg("no blob %s", name);
    return NULL;
}
static inline void sbs_free(struct sbs *s)
{
    for (int i = 0; i < s->n; i++)
        buf_free(&s->blob[i].bytes);
    s->n = 0;
}

static inline void put_magic(struct buf *b, uint32_t n, uint64_t size)
{
    put(b, "SBS\n", 4);
    put_u32(b, n);
    put_u64(b, size);
}
/* The file; *directory is where the names begin. */
static inline struct buf sbs_file(const struct sbs *s, int version, size_t *directory)
{
    struct buf b = {0};
    size_t n = (size_t)s->n, at = version == 1 ? (16 + 32 * n + 255) / 256 * 256 : 256, end = at;
    for (size_t i = 0; i < n; i++)
        end += (s->blob[i].bytes.n + 255) / 256 * 256;
    size_t size = (end + (version == 1 ? 0 : (16 + 32 * n + 255) / 256 * 256) + 65535) / 65536 * 65536;
    *directory = version == 1 ? 16 : size - 16 - 32 * n;
    put_magic(&b, version == 1 ? (uint32_t)n : 0, version == 1 ? size : 65536);
    for (int turn = 0; turn < 2; turn++) {
        if ((version == 1) == (turn == 0)) {
            if (turn == 1)
                put_zero(&b, *directory - b.n);
            for (size_t i = 0; i < n; i++)
                put(&b, s->blob[i].name, 16);
            size_t offset = at;
            for (size_t i = 0; i < n; i++) {
                put_u64(&b, offset);
                put_u64(&b, s->blob[i].bytes.n);
                offset += (s->blob[i].bytes.n + 255) / 256 * 256;
            }
        }
        if (turn == 0) {
            put_pad(&b, 256);
            for (size_t i = 0; i < n; i++) {
                put(&b, s->blob[i].bytes.p, s->blob[i].bytes.n);
                put_pad(&b, 256);
            }
        }
    }
    if (version == 2)
        put_magic(&b, (uint32_t)n, size);
    put_zero(&b, size - b.n);
    return b;
}

/* ---- a model ---- */

static inline void sbs_tensor(struct sbs *s, struct buf *toc, const char *name, uint32_t type, uint32_t rows,
                              uint32_t cols)
{
    size_t n = (size_t)rows * cols;
    put_zero(sbs_add(s, name), type == SBS_F32    ? 4 * n
                               : type == SBS_BF16 ? 2 * n
                               : type == SBS_NUQ  ? (n + 255) / 256 * 16 + (n + 1) / 2
                               : type == SBS_I8   ? n + (n + 127) / 128 * 4
                                                  : n);
    put_entry(toc, name, type, rows, cols);
}
/* A Gemma 2 with zeros for weights; every matrix of a layer in that type, fused or split. */
static inline struct sbs sbs_model(uint32_t type, bool fused)
{
    struct sbs s = {.n = 0};
    struct buf toc = {0};
    enum { Q = SBS_HEADS * SBS_HEAD, KV = 2 * SBS_KV * SBS_HEAD };
    sbs_tensor(&s, &toc, "c_embedding", SBS_BF16, SBS_VOCAB, SBS_HIDDEN);
    sbs_tensor(&s, &toc, "c_final_norm", SBS_BF16, 1, SBS_HIDDEN);
    static const char *const norms[] = {"pre_att_ns_0", "post_att_ns_0", "pre_ff_ns_0", "post_ff_ns_0"};
    for (size_t i = 0; i < 4; i++)
        sbs_tensor(&s, &toc, norms[i], SBS_F32, 1, SBS_HIDDEN);
    if (fused) {
        sbs_tensor(&s, &toc, "qkv_ein_0", type, Q + KV, SBS_HIDDEN);
        sbs_tensor(&s, &toc, "att_ein_0", type, SBS_HEADS * SBS_HIDDEN, SBS_HEAD);
        sbs_tensor(&s, &toc, "gating_ein_0", type, 2 * SBS_FFN, SBS_HIDDEN);
    } else {
        sbs_tensor(&s, &toc, "qkv1_w_0", type, Q, SBS_HIDDEN);
        sbs_tensor(&s, &toc, "qkv2_w_0", type, KV, SBS_HIDDEN);
        sbs_tensor(&s, &toc, "att_w_0", type, SBS_HIDDEN, Q);
        sbs_tensor(&s, &toc, "gating1_w_0", type, SBS_FFN, SBS_HIDDEN);
        sbs_tensor(&s, &toc, "gating2_w_0", type, SBS_FFN, SBS_HIDDEN);
    }
    sbs_tensor(&s, &toc, "linear_w_0", type, SBS_HIDDEN, SBS_FFN);
    put_config(sbs_add(&s, "config"), type == SBS_F32 ? SBS_BF16 : type);
    struct buf *to = sbs_add(&s, "toc");
    *to = toc;
    return s;
}

#endif
