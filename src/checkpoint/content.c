/* SPDX-License-Identifier: Apache-2.0 */
/* content.c: the content hash.
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
#include "checkpoint/content.h"

#include "base/hash.h"
#include "layout/panel.h"

enum { CHUNK = 1 << 20 }; /* bytes of stored rows that are hashed apart */

/* ---- what there is to read ---- */

static carat_status count_slot(void *user, const char *name, const char *tensor, const struct ct_weight *w)
{
    (void)name, (void)tensor, (void)w;
    ((struct ct_content *)user)->n_slot++;
    return CARAT_OK;
}

static carat_status add_slot(void *user, const char *name, const char *tensor, const struct ct_weight *w)
{
    struct ct_content *s = user;
    struct ct_content_slot *p = &s->slot[s->n_slot++];

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

carat_status ct_content_begin(struct ct_content *s, const struct carat_model *m, carat_error *err)
{
    *s = (struct ct_content){.model = m};
    ct_weights_walk(&m->weights, &m->config, m->file, count_slot, s);
    s->slot = ct_arena_push(&s->arena, (size_t)s->n_slot, sizeof *s->slot);
    s->n_slot = 0;
    if (!s->slot || ct_weights_walk(&m->weights, &m->config, m->file, add_slot, s) != CARAT_OK)
        return ct_no_memory(err, "the list of weights");
    return CARAT_OK;
}

carat_status ct_content_list(struct ct_content *s, int threads, carat_error *err)
{
    s->chunk = ct_arena_push(&s->arena, (size_t)s->n_chunk, sizeof *s->chunk);
    s->spare = ct_arena_push(&s->arena, (size_t)threads, sizeof *s->spare);
    for (int i = 0; s->spare && i < threads; i++)
        if (!(s->spare[i] = ct_arena_push(&s->arena, CT_PANEL_ROWS * s->row_bytes, 1)))
            return ct_no_memory(err, "the list of weights");
    if (!s->chunk || !s->spare)
        return ct_no_memory(err, "the list of weights");
    for (int i = 0, c = 0; i < s->n_slot; i++)
        for (int k = 0; k < s->slot[i].n; k++, c++) {
            int r0 = k * s->slot[i].rows;
            s->chunk[c] = (struct ct_content_chunk){
                .slot = i, .r0 = r0, .r1 = CT_MIN(r0 + s->slot[i].rows, s->slot[i].w->rows)};
        }
    return CARAT_OK;
}

void ct_content_free(struct ct_content *c)
{
    ct_arena_free(&c->arena);
}

/* ---- reading ---- */

/* Copies n values of BF16, those below 2^-50 as 0; many at a time, as compilers make vectors of. */
static void flush_tiny(uint8_t *to, const uint8_t *from, size_t n)
{
    enum { AT_ONCE = 64 };
    uint16_t value[AT_ONCE] = {0};

    for (size_t i = 0; i < n; i += AT_ONCE) {
        bool whole = n - i >= AT_ONCE;
        if (whole)
            memcpy(value, from + 2 * i, sizeof value);
        else
            memcpy(value, from + 2 * i, (n - i) * sizeof *value);
        for (size_t k = 0; k < AT_ONCE; k++)
            value[k] &= (uint16_t) - ((value[k] & 0x7fff) >= 0x2680);
        if (whole)
            memcpy(to + 2 * i, value, sizeof value);
        else
            memcpy(to + 2 * i, value, (n - i) * sizeof *value);
    }
}

/* Up to 16 rows from r0 on, as files store them: where they lie, or a copy in spare. */
static const uint8_t *stored_rows(const struct ct_content_slot *p, int r0, int n, uint8_t *spare)
{
    const struct ct_weight *w = p->w;
    const uint8_t *from = (const uint8_t *)w->data + (size_t)r0 * w->row_bytes;

    if (!ct_lies_in_rows(w)) {
        for (int r = 0; r < n; r++)
            ct_unpack(spare + (size_t)r * p->row_bytes, w, r0 + r);
        return spare;
    }
    if (w->type != CT_BF16)
        return from;
    flush_tiny(spare, from, (size_t)n * p->row_bytes / 2);
    return spare;
}

void ct_content_read(const struct ct_content *s, int chunk, int thread, ct_content_visit *visit, void *user)
{
    struct ct_content_chunk *c = &s->chunk[chunk];
    const struct ct_content_slot *p = &s->slot[c->slot];
    struct ct_hash state;

    ct_hash_begin(&state);
    for (int r0 = c->r0; r0 < c->r1; r0 += CT_PANEL_ROWS) {
        struct ct_weight rows = *p->w;
        rows.layout = CT_LAYOUT_ROWS;
        rows.row_bytes = p->row_bytes;
        rows.rows = CT_MIN(CT_PANEL_ROWS, c->r1 - r0);
        rows.data = stored_rows(p, r0, rows.rows, s->spare[thread]);
        ct_hash_add(&state, rows.data, (size_t)rows.rows * p->row_bytes);
        if (visit)
            visit(user, chunk, r0, &rows, thread);
    }
    ct_hash_end128(&state, c->hash);
}

/* ---- the hash ---- */

static void to_hex(char hex[CT_CONTENT_HEX], const struct ct_hash *hash)
{
    uint8_t d[CT_CONTENT_HASH];

    ct_hash_end128(hash, d);
    ct_hex(hex, d, sizeof d);
}

#define LINE(state, ...)                                                                                     \
    do {                                                                                                     \
        char line_[512];                                                                                     \
        int n_ = snprintf(line_, sizeof line_, __VA_ARGS__);                                                 \
        ct_hash_add(state, line_, (size_t)n_);                                                               \
    } while (0)

/* Hashes what decides logits besides the weights. Numbers are float32 or double in as many digits as tell
 * them apart. */
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
        if (l->n_expert) /* of Gemma 4 26B-A4B alone, likewise */
            LINE(state, "experts %d %d %d\n", l->n_expert, l->n_used, l->expert_ffn);
        if (l->cutoff > 0) /* Gemma 3n; others are told as before there was one */
            LINE(state, "%.9g\n", (double)l->cutoff);
    }
}

void ct_content_end(const struct ct_content *s, char hex[CT_CONTENT_HEX])
{
    struct ct_hash state;

    ct_hash_begin(&state);
    describe(&state, &s->model->config);
    for (int i = 0; i < s->n_slot; i++) {
        const struct ct_content_slot *p = &s->slot[i];
        struct ct_hash chunks;
        ct_hash_begin(&chunks);
        for (int c = p->chunk; c < p->chunk + p->n; c++)
            ct_hash_add(&chunks, s->chunk[c].hash, sizeof s->chunk[c].hash);
        to_hex(hex, &chunks);
        LINE(&state, "%s %s %d %d %.9g %s\n", p->name, ct_type_info(p->w->type)->name, p->w->rows, p->w->cols,
             (double)p->w->scale, hex);
    }
    to_hex(hex, &state);
}

const char *ct_content_kept(const struct carat_model *m)
{
    const struct ct_meta *meta = ct_file_is_packed(m->file) ? ct_file_meta(m->file, CT_CONTENT_KEY) : NULL;

    return meta && meta->type == CT_META_STRING && meta->s.n == CT_CONTENT_HEX - 1 ? meta->s.s : NULL;
}
