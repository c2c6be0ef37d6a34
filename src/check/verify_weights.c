/* SPDX-License-Identifier: Apache-2.0 */
/* verify_weights.c: reads every weight of a model once: its values must be finite, and its bytes make the
 * content hash.
 *
 * The hash says "these are the same weights" across containers: it is over weights as the forward pass has
 * them, so that a Hugging Face folder, the GGUF file made from it, a split one and a packed one have one
 * hash when they have the same types and values. In full: XXH3-128 (seed 0, canonical byte order) of a
 * text of one line each, ended by a newline, for
 *   1. the configuration (describe below),
 *   2. each layer: its shapes, kind, scale and cap,
 *   3. each weight in the order of a pass, a tied head once: name of the slot as in GGUF, type, rows,
 *      columns, factor and hash, which is the XXH3-128 of the canonical hashes of its chunks: of runs of
 *      CHUNK bytes' worth of rows, a multiple of 16 rows, as they are stored in files. Norms are float32
 *      with Gemma's 1 added, and BF16 values below 2^-50 are 0 (NUMERICS.md section 5). */
#include "check/verify.h"

#include <stdio.h>

#include "base/hash.h"
#include "kernel/layout/panel.h"

struct digest {
    uint8_t byte[16];
};

enum {
    CHUNK = 1 << 20, /* bytes of stored rows that are hashed apart */
    BATCH = 64,      /* chunks between two reports of progress */
    MOST_NAMED = 3,  /* tensors with values that are not finite, in one message */
    HEX = 2 * sizeof(struct digest) + 1,
};

struct slot {
    char name[64];
    const char *tensor; /* in the file */
    const struct ct_weight *w;
    size_t row_bytes; /* as stored */
    int rows;         /* of a chunk */
    int chunk, n;     /* its first one; how many */
};

struct chunk {
    struct digest hash;
    int slot, r0, r1;
    int row, col; /* of the first value that is not finite */
    size_t bad;   /* how many there are */
};

struct scan {
    struct ct_verify *v;
    struct ct_arena arena;
    int n_slot, n_chunk;
    struct slot *slot;
    struct chunk *chunk;
    size_t row_bytes; /* the largest */
    int cols;
    int first; /* chunk of the batch */
    uint8_t **spare;
};

/* ---- what there is to read ---- */

static carat_status count_slot(void *user, const char *name, const char *tensor, const struct ct_weight *w)
{
    (void)name, (void)tensor, (void)w;
    ((struct scan *)user)->n_slot++;
    return CARAT_OK;
}

static carat_status add_slot(void *user, const char *name, const char *tensor, const struct ct_weight *w)
{
    struct scan *s = user;
    struct slot *p = &s->slot[s->n_slot++];

    snprintf(p->name, sizeof p->name, "%s", name);
    p->tensor = ct_arena_str(&s->arena, tensor, strlen(tensor));
    p->w = w;
    ct_type_row_bytes(w->type, (size_t)w->cols, &p->row_bytes); /* cannot fail: opening has checked it */
    size_t rows = CHUNK / p->row_bytes / CT_PANEL_ROWS * CT_PANEL_ROWS;
    p->rows = (int)CT_MAX(rows, (size_t)CT_PANEL_ROWS);
    p->chunk = s->n_chunk;
    p->n = (w->rows + p->rows - 1) / p->rows;
    s->n_chunk += p->n;
    s->row_bytes = CT_MAX(s->row_bytes, p->row_bytes);
    s->cols = CT_MAX(s->cols, w->cols);
    return p->tensor ? CARAT_OK : CARAT_E_MEMORY;
}

/* Bytes that a thread works in: 16 stored rows, one of floats, and what a kernel asks for. */
static size_t spare_bytes(const struct scan *s)
{
    size_t cols = (size_t)s->cols;
    return ct_round_up(CT_PANEL_ROWS * s->row_bytes, 64) +
           (CT_SCRATCH(cols) + ct_round_up(cols, 16)) * sizeof(float);
}

static carat_status list_slots(struct scan *s, carat_error *err)
{
    const struct carat_model *m = s->v->model;
    int threads = ct_pool_threads(s->v->pool);

    ct_weights_walk(&m->weights, &m->config, m->file, count_slot, s);
    s->slot = ct_arena_push(&s->arena, (size_t)s->n_slot, sizeof *s->slot);
    s->n_slot = 0;
    if (!s->slot || ct_weights_walk(&m->weights, &m->config, m->file, add_slot, s) != CARAT_OK)
        return ct_no_memory(err, "the list of weights");
    s->chunk = ct_arena_push(&s->arena, (size_t)s->n_chunk, sizeof *s->chunk);
    s->spare = ct_arena_push(&s->arena, (size_t)threads, sizeof *s->spare);
    for (int i = 0; s->spare && i < threads; i++)
        if (!(s->spare[i] = ct_arena_push(&s->arena, spare_bytes(s), 1)))
            return ct_no_memory(err, "the list of weights");
    if (!s->chunk || !s->spare)
        return ct_no_memory(err, "the list of weights");
    for (int i = 0, c = 0; i < s->n_slot; i++)
        for (int k = 0; k < s->slot[i].n; k++, c++) {
            int r0 = k * s->slot[i].rows;
            s->chunk[c].slot = i;
            s->chunk[c].r0 = r0;
            s->chunk[c].r1 = CT_MIN(r0 + s->slot[i].rows, s->slot[i].w->rows);
        }
    return CARAT_OK;
}

/* ---- reading ---- */

/* Up to 16 rows from r0 on, as files store them: where they lie, or a copy in spare. */
static const uint8_t *stored_rows(const struct slot *p, int r0, int n, uint8_t *spare)
{
    const struct ct_weight *w = p->w;
    const uint8_t *from = (const uint8_t *)w->data + (size_t)r0 * w->row_bytes;

    if (w->layout == CT_LAYOUT_PANELS) {
        for (int r = 0; r < n; r++)
            ct_unpack(spare + (size_t)r * p->row_bytes, w, r0 + r);
        return spare;
    }
    if (w->type != CT_BF16)
        return from;
    for (size_t i = 0; i < (size_t)n * p->row_bytes; i += 2) {
        uint16_t value = ct_le16(from + i);
        value = (value & 0x7fff) < 0x2680 ? 0 : value; /* 2^-50 */
        memcpy(spare + i, &value, 2);
    }
    return spare;
}

static void note_bad(struct chunk *c, int row, const float *x, int n)
{
    for (int i = 0; i < n; i++) {
        if ((ct_f32_bits(x[i]) & 0x7f800000u) != 0x7f800000u)
            continue;
        if (c->bad++ == 0) {
            c->row = row;
            c->col = i;
        }
    }
}

static void read_chunk(void *arg, int item, int thread)
{
    struct scan *s = arg;
    struct chunk *c = &s->chunk[s->first + item];
    const struct slot *p = &s->slot[c->slot];
    const struct ct_kernel *k = &s->v->kernel;
    uint8_t *spare = s->spare[thread];
    float *values = (float *)(void *)(spare + ct_round_up(CT_PANEL_ROWS * s->row_bytes, 64)),
          *scratch = values + ct_round_up((size_t)s->cols, 16);
    struct ct_hash state;

    ct_hash_begin(&state);
    for (int r0 = c->r0; r0 < c->r1; r0 += CT_PANEL_ROWS) {
        int n = CT_MIN(CT_PANEL_ROWS, c->r1 - r0);
        struct ct_weight rows = *p->w;
        rows.layout = CT_LAYOUT_ROWS;
        rows.row_bytes = p->row_bytes;
        rows.rows = n;
        rows.data = stored_rows(p, r0, n, spare);
        ct_hash_add(&state, rows.data, (size_t)n * p->row_bytes);
        for (int r = 0; r < n; r++) {
            k->dequantize_row(values, &rows, r, scratch);
            if (!k->finite(values, (size_t)rows.cols))
                note_bad(c, r0 + r, values, rows.cols);
        }
    }
    ct_hash_end128(&state, c->hash.byte);
    int unit = p->w->layout == CT_LAYOUT_PANELS ? CT_PANEL_ROWS : 1;
    ct_file_forget(s->v->model->file, (const uint8_t *)p->w->data + (size_t)(c->r0 / unit) * p->w->row_bytes,
                   (size_t)((c->r1 - c->r0 + unit - 1) / unit) * p->w->row_bytes);
}

/* ---- what was found ---- */

static bool lies_in(const void *p, const struct ct_tensor *t)
{
    const uint8_t *at = p;
    return t->data && at >= t->data && at < t->data + t->size;
}

/* The tensor of the origin that a slot was made from: the one it lies in, else the one of its name. Weights
 * of a packed file have GGUF's names, whatever the origin. */
static const struct ct_tensor *tensor_of(const struct scan *s, const struct slot *p)
{
    const struct ct_file *f = s->v->model->file;

    for (int i = 0; i < ct_file_tensor_count(f); i++)
        if (lies_in(p->w->data, ct_file_tensor(f, i)))
            return ct_file_tensor(f, i);
    return ct_file_find(f, p->tensor);
}

/* Where in its file a value of stored rows is. */
static void say_offset(const struct scan *s, const struct slot *p, int row, int col)
{
    const struct ct_tensor *t = tensor_of(s, p);

    if (!t || t->type == CT_TYPE_COUNT)
        return;
    const struct ct_type_info *type = ct_type_info(t->type);
    size_t at = (size_t)(col / type->block) * (size_t)type->bytes;
    if (lies_in(p->w->data, t))
        at += (size_t)((const uint8_t *)p->w->data - t->data) + (size_t)row * p->row_bytes;
    else if (p->w->rows > 1) /* packed: the tensor it was made from has its name */
        at += (size_t)row * p->row_bytes;
    if (at >= t->size)
        return;
    ct_verify_say(s->v, " (%s of %s, byte %llu of %s)", type->block == 1 ? "value" : "block", t->name,
                  (unsigned long long)(t->offset + at), t->file);
}

static void judge(struct scan *s, int *verdict)
{
    size_t bad = 0, tensors = 0;

    for (int i = 0; i < s->n_slot; i++) {
        const struct slot *p = &s->slot[i];
        const struct chunk *first = NULL;
        size_t here = 0;
        for (int c = p->chunk; c < p->chunk + p->n; c++) {
            first = !first && s->chunk[c].bad ? &s->chunk[c] : first;
            here += s->chunk[c].bad;
        }
        bad += here;
        tensors += here > 0;
        if (here == 0 || tensors > MOST_NAMED)
            continue;
        ct_verify_say(s->v, "%s%s has %zu that %s NaN or infinite, the first in row %d, column %d",
                      tensors > 1 ? "; " : "", p->name, here, here == 1 ? "is" : "are", first->row,
                      first->col);
        say_offset(s, p, first->row, first->col);
    }
    if (tensors > MOST_NAMED)
        ct_verify_say(s->v, "; and %zu more weights have such values", tensors - MOST_NAMED);
    if (bad == 0)
        ct_verify_say(s->v, "all of %.2f M values in %d weights are finite",
                      (double)s->v->model->weights.n_parameter / 1e6, s->n_slot);
    *verdict = bad == 0 ? CT_PASSED : CT_FAILED;
}

/* ---- the content hash ---- */

static void to_hex(char hex[HEX], const struct ct_hash *hash)
{
    struct digest d;

    ct_hash_end128(hash, d.byte);
    for (size_t i = 0; i < sizeof d.byte; i++)
        snprintf(hex + 2 * i, 3, "%02x", d.byte[i]);
}

#define LINE(state, ...)                                                                                     \
    do {                                                                                                     \
        char line_[512];                                                                                     \
        int n_ = snprintf(line_, sizeof line_, __VA_ARGS__);                                                 \
        ct_hash_add(state, line_, (size_t)n_);                                                               \
    } while (0)

/* What decides logits besides the weights. Numbers are float32 or double in as many digits as tell them
 * apart. */
static void describe(struct ct_hash *state, const struct ct_config *c)
{
    LINE(state, "%s %d %d %d %.9g %.9g %.9g\n", c->architecture, c->n_layer, c->hidden, c->n_vocab,
         (double)c->norm_eps, (double)c->embed_scale, (double)c->logit_cap);
    for (int i = 0; i < CT_ATTN_TYPES; i++)
        LINE(state, "%d %d %d %.17g %.17g\n", c->attn[i].window, c->attn[i].head_dim, c->attn[i].rotated,
             c->attn[i].rope_base, c->attn[i].rope_factor);
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        LINE(state, "%d %d %d %d %d %.9g %.9g\n", l->n_head, l->n_kv_head, l->head_dim, l->ffn, l->attn_type,
             (double)l->attn_scale, (double)l->attn_cap);
    }
}

static void hash_slots(struct scan *s)
{
    struct ct_hash state;
    char hex[HEX];

    ct_hash_begin(&state);
    describe(&state, &s->v->model->config);
    for (int i = 0; i < s->n_slot; i++) {
        const struct slot *p = &s->slot[i];
        struct ct_hash chunks;
        ct_hash_begin(&chunks);
        for (int c = p->chunk; c < p->chunk + p->n; c++)
            ct_hash_add(&chunks, &s->chunk[c].hash, sizeof s->chunk[c].hash);
        to_hex(hex, &chunks);
        LINE(&state, "%s %s %d %d %.9g %s\n", p->name, ct_type_info(p->w->type)->name, p->w->rows, p->w->cols,
             (double)p->w->scale, hex);
    }
    to_hex(hex, &state);
    memcpy(s->v->content, hex, sizeof hex);
}

carat_status ct_verify_values(struct ct_verify *v, int *verdict, carat_error *err)
{
    struct scan s = {.v = v};
    carat_status status = list_slots(&s, err);

    for (; !status && s.first < s.n_chunk; s.first += BATCH) {
        ct_verify_run(v, CT_MIN(BATCH, s.n_chunk - s.first), read_chunk, &s);
        status = ct_verify_step(v, (size_t)CT_MIN(s.first + BATCH, s.n_chunk), (size_t)s.n_chunk, err);
    }
    if (!status) {
        judge(&s, verdict);
        hash_slots(&s);
    }
    ct_arena_free(&s.arena);
    return status;
}
