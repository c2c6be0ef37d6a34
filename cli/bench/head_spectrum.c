/* SPDX-License-Identifier: Apache-2.0 */
/* head_spectrum.c: a random model for `carat bench lm-head --spectrum`, of the shape and types of a given
 * one, as a GGUF file in memory. What a sketch of a head is worth depends on how the energy of rows and
 * hidden states lies: a trained head's falls along directions that all rows share, and rows come in families;
 * a random one is flat, which is the worst case. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/heads.h"
#include "model/stored.h"
#include "term/interrupt.h"

enum {
    FAMILY = 16,  /* rows that are alike; they do not begin where panels do */
    ALIGNED = 32, /* a GGUF file's data */
    TOGETHER = 16 /* rows that are made at once */
};
static const float sigma = 2.5F;       /* of the logits of a token */
static const float family_part = 0.7F; /* of the variance of a row */

enum stored { STORED_F32 = 0, STORED_Q4_0 = 2, STORED_Q8_0 = 8, STORED_BF16 = 30 }; /* GGUF's numbers */

struct spectrum {
    const carat_model_info *info;
    bool falling;
    enum stored head, layers;
    uint64_t state;
    uint8_t *bytes; /* [size] the file; NULL: it is being counted */
    size_t size, data;
    int n_tensor;
};

/* ---- numbers ---- */

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    return *state ^= *state << 17;
}

/* Variance 1, and close to normal: a sum of four uniform numbers. */
static float next_normal(uint64_t *state)
{
    const uint64_t r = next_random(state);
    const int sum = (int)(r & 0xffff) + (int)(r >> 16 & 0xffff) + (int)(r >> 32 & 0xffff) + (int)(r >> 48);

    return (float)(sum - 2 * 0xffff) * (1.7320508F / 65536);
}

/* The strength of direction i in the spectrum. */
static float strength(const struct spectrum *s, int i)
{
    return s->falling ? 1 / sqrtf((float)i + 1) : 1;
}

/* A rotation of n values that every direction takes part in, of m vectors side by side: signs, and Hadamard's
 * matrix over as many as fit, from the front and from the back. */
static void rotate(float *x, int n, int m)
{
    int most = 1;

    while (2 * most <= n)
        most *= 2;
    for (int pass = 0; pass < 3; pass++) {
        float *from = x + (size_t)(pass == 1 ? n - most : 0) * (size_t)m;
        const float scale = 1 / sqrtf((float)most);
        uint64_t state = 0x9e3779b97f4a7c15u + (uint64_t)pass;
        for (int i = 0; i < most; i++) {
            const float sign = next_random(&state) >> 40 & 1 ? scale : -scale;
            for (int j = 0; j < m; j++)
                from[(size_t)i * (size_t)m + (size_t)j] *= sign;
        }
        for (int half = 1; half < most; half *= 2)
            for (int i = 0; i < most; i++) {
                float *a = from + (size_t)i * (size_t)m, *b = a + (size_t)half * (size_t)m;
                for (int j = 0; j < m && !(i & half); j++) {
                    const float sum = a[j] + b[j], difference = a[j] - b[j];
                    a[j] = sum;
                    b[j] = difference;
                }
            }
    }
}

/* ---- stored values ---- */

/* To nearest even; what is no normal f16 becomes 0, which no scale here is. */
static uint16_t f16_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, rounded = (bits & INT32_MAX) + 0xfff + (bits >> 13 & 1);
    return rounded >> 23 > 112 ? (uint16_t)(sign | (rounded - (112U << 23)) >> 13) : (uint16_t)sign;
}

static size_t row_bytes(enum stored type, int n)
{
    return type == STORED_Q8_0   ? (size_t)n / 32 * 34
           : type == STORED_Q4_0 ? (size_t)n / 32 * 18
           : type == STORED_BF16 ? (size_t)n * 2
                                 : (size_t)n * 4;
}

/* 32 values with a scale: by the largest, the sign of which counts for Q4_0. */
static void store_block(enum stored type, uint8_t *to, const float *x)
{
    float largest = 0;

    for (int i = 0; i < 32; i++)
        largest = fabsf(x[i]) > fabsf(largest) ? x[i] : largest;
    const float d = type == STORED_Q8_0 ? fabsf(largest) / 127 : largest / -8, r = d != 0 ? 1 / d : 0;
    const uint16_t scale = f16_of(d);
    memcpy(to, &scale, sizeof scale);
    for (int i = 0; i < 32 && type == STORED_Q8_0; i++)
        to[2 + i] = (uint8_t)(int8_t)lrintf(x[i] * r);
    for (int i = 0; i < 16 && type == STORED_Q4_0; i++) {
        const int low = (int)(x[i] * r + 8.5F), high = (int)(x[i + 16] * r + 8.5F);
        to[2 + i] = (uint8_t)((low < 15 ? low : 15) | (high < 15 ? high : 15) << 4);
    }
}

static void store_row(enum stored type, uint8_t *to, const float *x, int n)
{
    for (int i = 0; i < n && type == STORED_BF16; i++) {
        uint32_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        bits += 0x7fff + (bits >> 16 & 1);
        to[2 * i] = (uint8_t)(bits >> 16);
        to[2 * i + 1] = (uint8_t)(bits >> 24);
    }
    if (type == STORED_F32)
        memcpy(to, x, (size_t)n * sizeof *x);
    for (int i = 0; i < n / 32 && (type == STORED_Q8_0 || type == STORED_Q4_0); i++)
        store_block(type, to + (size_t)i * row_bytes(type, 32), x + (size_t)i * 32);
}

/* ---- matrices ---- */

/* Rows of the head, some at once: side by side while they are rotated. */
static bool fill_head(struct spectrum *s, uint8_t *to)
{
    const int n = s->info->hidden, vocab = s->info->n_vocab;
    float *side = calloc((size_t)n * (TOGETHER + 3), sizeof *side),
          *row = side ? side + (size_t)n * TOGETHER : NULL;
    float *centre = row ? row + n : NULL;
    double energy = 0, both = 0;

    if (!side)
        return false;
    for (int i = 0; i < n; i++) { /* hidden states, whose norm is the root of n, have the same spectrum */
        const double e = (double)strength(s, i) * (double)strength(s, i);
        energy += e;
        both += e * e;
    }
    const float scale = sigma / (float)sqrt(both * n / energy);
    const float own = s->falling ? sqrtf(1 - family_part) : 1, common = s->falling ? sqrtf(family_part) : 0;
    for (int first = 0; first < vocab; first += TOGETHER) {
        for (int r = 0; r < TOGETHER; r++) {
            if (first + r == 0 || (first + r + FAMILY / 3) % FAMILY == 0)
                for (int i = 0; i < n; i++)
                    centre[i] = next_normal(&s->state);
            const float length = s->falling ? expf(0.15F * next_normal(&s->state)) : 1;
            for (int i = 0; i < n; i++)
                side[(size_t)i * TOGETHER + (size_t)r] =
                    (common * centre[i] + own * next_normal(&s->state)) * strength(s, i) * scale * length;
        }
        if (s->falling)
            rotate(side, n, TOGETHER);
        for (int r = 0; r < TOGETHER && first + r < vocab; r++) {
            for (int i = 0; i < n; i++)
                row[i] = side[(size_t)i * TOGETHER + (size_t)r];
            store_row(s->head, to + (size_t)(first + r) * row_bytes(s->head, n), row, n);
        }
    }
    free(side);
    return true;
}

/* Fills a matrix of a layer with random values. to_hidden: its results are added to hidden states; its rows
 * are then their directions, which get the head's spectrum. */
static bool fill_matrix(struct spectrum *s, uint8_t *to, int rows, int cols, bool to_hidden)
{
    float *x = calloc((size_t)rows * (size_t)cols, sizeof *x);
    const float scale = 1 / sqrtf((float)cols);

    if (!x)
        return false;
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < cols; c++)
            x[(size_t)r * (size_t)cols + (size_t)c] =
                next_normal(&s->state) * scale * (to_hidden ? strength(s, r) : 1);
    if (to_hidden && s->falling)
        rotate(x, rows, cols);
    for (int r = 0; r < rows; r++)
        store_row(s->layers, to + (size_t)r * row_bytes(s->layers, cols), x + (size_t)r * (size_t)cols, cols);
    free(x);
    return true;
}

/* ---- the file ---- */

static void put_bytes(struct spectrum *s, const void *data, size_t n)
{
    if (s->bytes)
        memcpy(s->bytes + s->size, data, n);
    s->size += n;
}

static void put_number(struct spectrum *s, uint64_t value, size_t n)
{
    put_bytes(s, &value, n); /* little-endian, as every processor that carat runs on */
}

static void put_text(struct spectrum *s, const char *text)
{
    put_number(s, strlen(text), 8);
    put_bytes(s, text, strlen(text));
}

static void put_count(struct spectrum *s, const char *key, int value)
{
    char name[80];

    snprintf(name, sizeof name, "gemma3.%s", key);
    put_text(s, name);
    put_number(s, 4, 4); /* uint32 */
    put_number(s, (uint32_t)value, 4);
}

static void put_real(struct spectrum *s, const char *key, double value)
{
    const float x = (float)value;
    char name[80];

    snprintf(name, sizeof name, "gemma3.%s", key);
    put_text(s, name);
    put_number(s, 6, 4); /* float32 */
    put_bytes(s, &x, sizeof x);
}

enum content { NORM, MATRIX, TO_HIDDEN, HEAD };

static const struct {
    const char *name;
    enum content content;
} parts[] = {
    {"token_embd", HEAD},           {"output_norm", NORM},          {"blk.%d.attn_norm", NORM},
    {"blk.%d.attn_q", MATRIX},      {"blk.%d.attn_k", MATRIX},      {"blk.%d.attn_v", MATRIX},
    {"blk.%d.attn_q_norm", NORM},   {"blk.%d.attn_k_norm", NORM},   {"blk.%d.attn_output", TO_HIDDEN},
    {"blk.%d.ffn_norm", NORM},      {"blk.%d.ffn_gate", MATRIX},    {"blk.%d.ffn_up", MATRIX},
    {"blk.%d.ffn_down", TO_HIDDEN}, {"blk.%d.post_ffw_norm", NORM}, {"blk.%d.post_attention_norm", NORM},
};
enum { N_PARTS = sizeof parts / sizeof *parts, OF_MODEL = 2 };

static void shape_of(const carat_model_info *m, int part, int *rows, int *cols)
{
    const char *name = parts[part].name;
    const bool q = strstr(name, "attn_q") != NULL, kv = strstr(name, "attn_k") || strstr(name, "attn_v");
    const bool ffn = strstr(name, "gate") || strstr(name, "up");

    *rows = parts[part].content == HEAD ? m->n_vocab
            : q                         ? m->n_head * m->head_dim
            : kv                        ? m->n_kv_head * m->head_dim
            : ffn                       ? m->ffn
                                        : m->hidden;
    *cols = strstr(name, "attn_output") ? m->n_head * m->head_dim : strstr(name, "down") ? m->ffn : m->hidden;
    if (parts[part].content == NORM) {
        *cols = q || kv ? m->head_dim : m->hidden;
        *rows = 1;
    }
}

/* Every tensor of the model: its place in the file, or with fills its values. */
static bool each_tensor(struct spectrum *s, bool fills)
{
    size_t at = 0;
    bool good = true;

    for (int part = 0; part < N_PARTS; part++)
        for (int i = 0; i < (part < OF_MODEL ? 1 : s->info->n_layer) && good; i++) {
            const enum content what = parts[part].content;
            const enum stored type = what == NORM ? STORED_F32 : what == HEAD ? s->head : s->layers;
            uint8_t *to = fills ? s->bytes + s->data + at : NULL;
            char name[64];
            int rows, cols;
            shape_of(s->info, part, &rows, &cols);
            if (fills && what == NORM) {
                const float one = 1;
                for (int c = 0; c < cols; c++)
                    memcpy(to + (size_t)c * sizeof one, &one, sizeof one);
            } else if (fills) {
                good = what == HEAD ? fill_head(s, to) : fill_matrix(s, to, rows, cols, what == TO_HIDDEN);
            } else {
                size_t n = (size_t)snprintf(name, sizeof name, parts[part].name, i);
                snprintf(name + n, sizeof name - n, ".weight");
                put_text(s, name);
                put_number(s, rows > 1 ? 2 : 1, 4);
                put_number(s, (uint64_t)cols, 8);
                if (rows > 1)
                    put_number(s, (uint64_t)rows, 8);
                put_number(s, type, 4);
                put_number(s, at, 8);
                s->n_tensor++;
            }
            at += (row_bytes(type, cols) * (size_t)rows + ALIGNED - 1) / ALIGNED * ALIGNED;
            good = good && !(fills && term_interrupted());
        }
    if (!fills) {
        s->size = (s->size + ALIGNED - 1) / ALIGNED * ALIGNED;
        s->data = s->size;
        s->size += at;
    }
    return good;
}

static void put_header(struct spectrum *s, int n_tensor)
{
    const carat_model_info *m = s->info;

    s->size = 0;
    s->n_tensor = 0;
    put_bytes(s, "GGUF", 4);
    put_number(s, 3, 4);
    put_number(s, (uint64_t)n_tensor, 8);
    put_number(s, 12, 8); /* of what follows */
    put_text(s, "general.architecture");
    put_number(s, 8, 4); /* text */
    put_text(s, "gemma3");
    put_count(s, "context_length", m->max_context);
    put_count(s, "embedding_length", m->hidden);
    put_count(s, "block_count", m->n_layer);
    put_count(s, "feed_forward_length", m->ffn);
    put_count(s, "attention.head_count", m->n_head);
    put_count(s, "attention.head_count_kv", m->n_kv_head);
    put_count(s, "attention.key_length", m->head_dim);
    put_count(s, "attention.value_length", m->head_dim);
    put_count(s, "attention.sliding_window", m->sliding_window ? m->sliding_window : m->max_context);
    put_real(s, "attention.layer_norm_rms_epsilon", m->norm_eps);
    put_real(s, "rope.freq_base", m->rope_base);
    each_tensor(s, false);
}

static bool stored_as(const char *type, enum stored *as)
{
    *as = strcmp(type, "Q8_0") == 0   ? STORED_Q8_0
          : strcmp(type, "Q4_0") == 0 ? STORED_Q4_0
          : strcmp(type, "BF16") == 0 ? STORED_BF16
                                      : STORED_F32;
    return *as != STORED_F32 || strcmp(type, "F32") == 0;
}

/* The type of the embedding, which is the head. */
static const char *type_of_head(const carat_model *model)
{
    for (int i = 0; i < carat_model_tensor_count(model); i++) {
        carat_tensor_info t = {.size = sizeof t};
        if (carat_model_get_tensor(model, i, &t, NULL) == CARAT_OK &&
            (strstr(t.name, "token_embd") || strstr(t.name, "embed_tokens")))
            return t.type;
    }
    return "";
}

int head_spectrum_open(carat_model **model, const uint8_t *memory, size_t n)
{
    const carat_buffer file = {"random.gguf", memory, n};
    carat_error err;

    return carat_model_open_memory(model, &file, sizeof file, 1, NULL, &err) == CARAT_OK ? DONE
                                                                                         : fail_open(&err);
}

int head_spectrum(carat_model **model, uint8_t **memory, size_t *n, const char *spectrum)
{
    carat_model_info info = {.size = sizeof info};
    carat_error err;
    bool only;

    if (carat_model_get_info(*model, &info, &err) != CARAT_OK)
        return fail_status(&err);
    if (strcmp(info.architecture, "gemma3") != 0 || !info.tied)
        return term_fail(
            USAGE, "--spectrum makes a model of the third generation with a tied head, and this one is %s%s",
            info.architecture, info.tied ? "" : " without");
    struct spectrum s = {.info = &info, .falling = strcmp(spectrum, "falling") == 0, .state = 7};
    const char *head = type_of_head(*model), *layers = stored_type(*model, &only);
    if (!stored_as(head, &s.head) || !stored_as(layers, &s.layers))
        return term_fail(USAGE, "--spectrum stores F32, BF16, Q8_0 and Q4_0, and this model has %s and %s",
                         head, layers);
    put_header(&s, 0);
    s.bytes = *memory = calloc(s.size, 1);
    if (!s.bytes)
        return fail_memory();
    put_header(&s, s.n_tensor);
    if (!each_tensor(&s, true))
        return term_interrupted() ? INTERRUPTED : fail_memory();
    carat_model_close(*model);
    *model = NULL;
    *n = s.size;
    return head_spectrum_open(model, s.bytes, s.size);
}
