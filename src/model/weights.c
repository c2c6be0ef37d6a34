/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c: names and shapes of the tensors, as one table. Shapes follow from the config; a tensor that contradicts it
 * is refused here, so that kernels can trust every size. Names and fused forms of gemma.cpp are weights_sbs.c's. */
#include "file/packed.h"
#include "model/weights_sbs.h"

#include <stdio.h>

enum {
    MOST_NAMED = 5, /* missing tensors in one message */
    MOST_BYTES = 8, /* that any type takes for a value */
};

enum slot_kind { MATRIX, NORM };

/* Extents that a shape is made of, and the keys of config.json and GGUF that say them. */
enum extent { ONE, HIDDEN, Q, KV, FFN, HEAD, VOCAB };
static const struct {
    const char *hf, *gguf;
} keys[] = {
    [ONE] = {"1", "1"},
    [HIDDEN] = {"hidden_size", "embedding_length"},
    [Q] = {"num_attention_heads * head_dim", "attention.head_count * attention.key_length"},
    [KV] = {"num_key_value_heads * head_dim", "attention.head_count_kv * attention.key_length"},
    [FFN] = {"intermediate_size", "feed_forward_length"},
    [HEAD] = {"head_dim", "attention.key_length"},
    [VOCAB] = {"vocab_size", "the rows of token_embd.weight"},
};

struct slot {
    const char *hf, *gguf; /* below the layer's prefix */
    size_t at;             /* of the ct_weight in ct_layer */
    enum slot_kind kind;
    enum extent rows, cols;
    bool (*used)(const struct ct_config *c);
};

static bool always(const struct ct_config *c)
{
    (void)c;
    return true;
}
static bool with_post_norms(const struct ct_config *c)
{
    return c->post_norms;
}
static bool without_post_norms(const struct ct_config *c)
{
    return !c->post_norms;
}
static bool with_qk_norms(const struct ct_config *c)
{
    return c->qk_norms;
}

#define AT(field) offsetof(struct ct_layer, field)
static const struct slot slots[] = {
    {"input_layernorm", "attn_norm", AT(attn_norm), NORM, ONE, HIDDEN, always},
    {"self_attn.q_proj", "attn_q", AT(q), MATRIX, Q, HIDDEN, always},
    {"self_attn.k_proj", "attn_k", AT(k), MATRIX, KV, HIDDEN, always},
    {"self_attn.v_proj", "attn_v", AT(v), MATRIX, KV, HIDDEN, always},
    {"self_attn.o_proj", "attn_output", AT(o), MATRIX, HIDDEN, Q, always},
    {"self_attn.q_norm", "attn_q_norm", AT(q_norm), NORM, ONE, HEAD, with_qk_norms},
    {"self_attn.k_norm", "attn_k_norm", AT(k_norm), NORM, ONE, HEAD, with_qk_norms},
    {"post_attention_layernorm", "post_attention_norm", AT(attn_post_norm), NORM, ONE, HIDDEN,
     with_post_norms},
    /* Gemma 1 calls the norm before its feed-forward post_attention_layernorm in safetensors */
    {"post_attention_layernorm", "ffn_norm", AT(ffn_norm), NORM, ONE, HIDDEN, without_post_norms},
    {"pre_feedforward_layernorm", "ffn_norm", AT(ffn_norm), NORM, ONE, HIDDEN, with_post_norms},
    {"mlp.gate_proj", "ffn_gate", AT(gate), MATRIX, FFN, HIDDEN, always},
    {"mlp.up_proj", "ffn_up", AT(up), MATRIX, FFN, HIDDEN, always},
    {"mlp.down_proj", "ffn_down", AT(down), MATRIX, HIDDEN, FFN, always},
    {"post_feedforward_layernorm", "post_ffw_norm", AT(ffn_post_norm), NORM, ONE, HIDDEN, with_post_norms},
};

/* Where the text tower's tensors are in safetensors (MODEL.md, names). */
static const char *const prefixes[] = {"model.", "language_model.model.", "model.language_model."};

struct binder {
    struct ct_weights *w;
    struct ct_config *c;
    const struct ct_file *f;
    struct ct_arena *arena;
    bool *used;        /* by number of the tensor */
    uint32_t n_packed; /* weights of a packed file that have a place */
    char missing[512]; /* the first names, for the message */
    int n_missing;
    enum extent rows, cols; /* what the next shape is made of, for messages */
    bool gguf;              /* names are GGUF's: of such a file, and of every packed one */
    bool sbs;               /* unpacked */
    struct ct_tensor made;  /* of an SBS file: the tensor that is being bound */
    carat_error *err;
};

static const struct ct_tensor *use(struct binder *b, const char *name)
{
    const struct ct_tensor *t =
        ct_file_is_packed(b->f) ? ct_file_weight(b->f, name) : ct_file_find(b->f, name);
    if (t && !ct_file_is_packed(b->f))
        b->used[t - ct_file_tensor(b->f, 0)] = true;
    b->n_packed += t && ct_file_is_packed(b->f);
    return t;
}

/* What the tensor of a place is called in the file; prefix is that of safetensors. */
static void name_tensor(char name[256], const struct ct_file *f, const char *prefix, const char *hf,
                        const char *gguf)
{
    if (ct_file_kind(f) == CT_FILE_GGUF || ct_file_is_packed(f))
        snprintf(name, 256, "%s.weight", gguf);
    else
        snprintf(name, 256, "%s%s.weight", prefix, hf);
}

static void name_slot(char hf[128], char gguf[128], int layer, const struct slot *s)
{
    snprintf(hf, 128, "layers.%d.%s", layer, s->hf);
    snprintf(gguf, 128, "blk.%d.%s", layer, s->gguf);
}

static const struct ct_tensor *find(struct binder *b, const char *hf, const char *gguf, char name[256])
{
    name_tensor(name, b->f, b->w->prefix, hf, gguf);
    return use(b, name);
}

/* Every missing tensor is looked for before the model is refused: one name alone does not tell whether a tensor was lost or
 * half of the file. */
static void note_missing(struct binder *b, const char *name)
{
    size_t n = strlen(b->missing);
    if (b->n_missing++ < MOST_NAMED)
        snprintf(b->missing + n, sizeof b->missing - n, "%s%s", n ? ", " : "", name);
}

static carat_status check_missing(struct binder *b)
{
    if (b->n_missing == 0)
        return CARAT_OK;
    return ct_fail(b->err, CARAT_E_FORMAT,
                   "%s: %d tensor%s missing: %s%s; the configuration says %d layers (%s) of architecture %s",
                   ct_file_path(b->f), b->n_missing, b->n_missing == 1 ? " is" : "s are", b->missing,
                   b->n_missing > MOST_NAMED ? ", ..." : "", b->c->n_layer,
                   ct_file_kind(b->f) == CT_FILE_GGUF ? "block_count" : "num_hidden_layers",
                   b->c->architecture);
}

/* Tensors of the file that have no place in the model. */
static void count_unused(const struct binder *b)
{
    for (int i = 0; i < ct_file_tensor_count(b->f) && !b->sbs && !ct_file_is_packed(b->f); i++)
        if (!b->used[i] && b->w->n_unused++ == 0)
            b->w->unused = ct_file_tensor(b->f, i)->name;
}

static const char *key_of(const struct binder *b, enum extent e)
{
    return ct_file_kind(b->f) == CT_FILE_GGUF ? keys[e].gguf : keys[e].hf;
}

/* Bytes of a row, or of a panel; false for a type that has no such rows. */
static bool piece_bytes(const struct ct_tensor *t, int cols, size_t *bytes)
{
    if (!ct_type_row_bytes(t->type, (size_t)cols, bytes))
        return false;
    if (t->panels)
        *bytes = ct_panel_size(t->type, cols);
    return *bytes > 0;
}

static size_t pieces(const struct ct_tensor *t, int rows)
{
    return t->panels ? ((size_t)rows + CT_PANEL_ROWS - 1) / CT_PANEL_ROWS : (size_t)rows;
}

static carat_status check_shape(const struct binder *b, const struct ct_tensor *t, int rows, int cols)
{
    size_t row_bytes;

    char types[CT_TYPE_LIST];
    if (t->type == CT_TYPE_COUNT)
        return ct_fail(
            b->err, CARAT_E_UNSUPPORTED,
            "%s: tensor %s at byte %llu is stored as %s, which carat does not read; it reads %s%s", t->file,
            t->name, (unsigned long long)t->offset, t->type_name,
            ct_file_kind(b->f) == CT_FILE_HF ? "F32, F16 and BF16" : ct_file_types(types),
            ct_file_kind(b->f) == CT_FILE_HF ? "" : "; the same model as a Q4_0, Q4_K_M or Q8_0 file works");
    bool vector = rows == 1 && t->n_dim == 1 && t->dim[0] == cols;
    bool matrix = t->n_dim == 2 && t->dim[0] == rows && t->dim[1] == cols;
    if (!vector && !matrix) {
        char found[96], expected[32];
        size_t n = 0;
        for (int i = 0; i < t->n_dim; i++)
            n +=
                (size_t)snprintf(found + n, sizeof found - n, "%s%lld", i ? " x " : "", (long long)t->dim[i]);
        snprintf(expected, sizeof expected, rows == 1 ? "%d" : "%d x %d", rows == 1 ? cols : rows, cols);
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensor %s at byte %llu has shape [%s], expected [%s] from the configuration "
                       "(%s%s%s)",
                       t->file, t->name, (unsigned long long)t->offset, found, expected,
                       rows == 1 ? "" : key_of(b, b->rows), rows == 1 ? "" : " x ", key_of(b, b->cols));
    }
    bool panels = ct_file_is_packed(b->f) && rows > 1 && ct_panel_size(t->type, cols) > 0;
    if (t->panels != panels)
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: tensor %s at byte %llu lies in %s, expected %s", t->file,
                       t->name, (unsigned long long)t->offset, t->panels ? "panels" : "rows",
                       panels ? "panels" : "rows");
    if (!piece_bytes(t, cols, &row_bytes) || row_bytes * pieces(t, rows) != t->size)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensor %s at byte %llu has %zu bytes, which is not %d rows of %d %s values",
                       t->file, t->name, (unsigned long long)t->offset, t->size, rows, cols, t->type_name);
    return CARAT_OK;
}

static carat_status matrix(struct binder *b, struct ct_weight *w, const struct ct_tensor *t, int rows,
                           int cols)
{
    size_t row_bytes = 0;

    CT_TRY(check_shape(b, t, rows, cols));
    piece_bytes(t, cols, &row_bytes);
    *w = (struct ct_weight){
        t->type, t->panels ? CT_LAYOUT_PANELS : CT_LAYOUT_ROWS, rows, cols, row_bytes, t->data, t->scale};
    b->w->bytes += t->size;
    b->w->n_parameter += (uint64_t)rows * (uint64_t)cols;
    return CARAT_OK;
}

static carat_status norm_vector(struct binder *b, struct ct_weight *w, const struct ct_tensor *t, int cols)
{
    CT_TRY(check_shape(b, t, 1, cols));
    float *v = ct_arena_push(b->arena, (size_t)cols, sizeof *v);
    if (!v)
        return ct_fail(b->err, CARAT_E_MEMORY, "%s: out of memory for tensor %s", t->file, t->name);
    ct_dequantize(t->type, v, t->data, (size_t)cols);
    for (int i = 0; i < cols; i++) {
        v[i] = v[i] * t->scale;
        if (b->c->norm_plus_one && !ct_file_is_packed(b->f)) /* there it was added before */
            v[i] = v[i] + 1.0f;
    }
    *w = (struct ct_weight){CT_F32, CT_LAYOUT_ROWS, 1, cols, (size_t)cols * sizeof *v, v, 1};
    b->w->bytes += t->size;
    b->w->n_parameter += (uint64_t)cols;
    return CARAT_OK;
}

static int extent(const struct binder *b, const struct ct_layer_config *l, enum extent e)
{
    const int value[] = {[ONE] = 1,
                         [HIDDEN] = b->c->hidden,
                         [Q] = l->n_head * l->head_dim,
                         [KV] = l->n_kv_head * l->head_dim,
                         [FFN] = l->ffn,
                         [HEAD] = l->head_dim};
    return value[e];
}

static carat_status bind_slot(struct binder *b, struct ct_layer *l, int layer, const struct slot *s)
{
    struct ct_weight *w = (struct ct_weight *)(void *)((char *)l + s->at);
    char hf[128], gguf[128], name[256];

    name_slot(hf, gguf, layer, s);
    const struct ct_tensor *t = b->sbs ? &b->made : find(b, hf, gguf, name);
    if (b->sbs)
        CT_TRY(ct_sbs_place(&b->made, b->f, &l->c, b->c->hidden, layer, s->at, b->arena, b->err));
    if (!t) {
        note_missing(b, name);
        return CARAT_OK;
    }
    b->rows = s->rows;
    b->cols = s->cols;
    if (s->kind == NORM)
        return norm_vector(b, w, t, extent(b, &l->c, s->cols));
    return matrix(b, w, t, extent(b, &l->c, s->rows), extent(b, &l->c, s->cols));
}

/* sqrt(hidden), rounded to what the trained model saw (NUMERICS.md section 6). */
static float embed_scale(const struct binder *b, enum ct_type stored)
{
    float root = __builtin_sqrtf((float)b->c->hidden);

    if (b->c->embed_scale_override > 0)
        return (float)b->c->embed_scale_override;
    if (ct_file_kind(b->f) != CT_FILE_HF || stored == CT_BF16)
        return ct_bf16_to_f32(ct_f32_to_bf16(root));
    return stored == CT_F16 ? ct_f16_to_f32(ct_f32_to_f16(root)) : root;
}

static carat_status bind_ends(struct binder *b)
{
    struct ct_config *c = b->c;
    char name[256];

    const struct ct_tensor *t = b->sbs ? &b->made : NULL;
    if (b->sbs)
        CT_TRY(ct_sbs_whole(&b->made, b->f, "c_embedding", b->arena, b->err));
    for (size_t i = 0; i < CT_COUNT(prefixes) && !t; i++) {
        b->w->prefix = prefixes[i];
        t = find(b, "embed_tokens", "token_embd", name);
    }
    if (!t)
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: no token embedding: tensor %s is missing",
                       ct_file_path(b->f), b->gguf ? "token_embd.weight" : "model.embed_tokens.weight");
    if (t->n_dim == 2 && c->n_vocab == 0 && t->dim[0] > 0 && t->dim[0] <= 1 << 24)
        c->n_vocab = (int)t->dim[0]; /* GGUF does not state it apart */
    b->rows = VOCAB;
    b->cols = HIDDEN;
    CT_TRY(matrix(b, &b->w->embed, t, c->n_vocab, c->hidden));
    c->n_text_vocab = CT_MIN(c->n_text_vocab ? c->n_text_vocab : c->n_vocab, c->n_vocab);
    c->embed_scale = embed_scale(b, t->type);

    b->w->tied = c->tied;
    b->w->head = b->w->embed;
    const struct ct_tensor *head = use(b, b->gguf ? "output.weight" : "lm_head.weight");
    if (!head && !b->gguf)
        head = use(b, "language_model.lm_head.weight");
    if (head && (!c->tied || b->gguf)) { /* beside a tied embedding it is a copy of it */
        b->w->tied = false;
        CT_TRY(matrix(b, &b->w->head, head, c->n_vocab, c->hidden));
    } else if (!c->tied && ct_file_kind(b->f) == CT_FILE_HF) {
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensor lm_head.weight is missing, but tie_word_embeddings is false",
                       ct_file_path(b->f));
    }
    t = b->sbs ? &b->made : find(b, "norm", "output_norm", name);
    if (b->sbs)
        CT_TRY(ct_sbs_whole(&b->made, b->f, "c_final_norm", b->arena, b->err));
    if (t)
        return norm_vector(b, &b->w->final_norm, t, c->hidden);
    note_missing(b, name);
    return CARAT_OK;
}

/* A layer more than the configuration counts would be left out in silence. */
static carat_status check_last_layer(struct binder *b)
{
    bool gguf = ct_file_kind(b->f) == CT_FILE_GGUF;
    char hf[128], block[128], name[256];

    name_slot(hf, block, b->c->n_layer, &slots[0]);
    const struct ct_tensor *t = b->sbs ? NULL : find(b, hf, block, name);
    if (!t)
        return CARAT_OK;
    return ct_fail(b->err, CARAT_E_FORMAT,
                   "%s: tensor %s at byte %llu belongs to a layer beyond the %d that %s says", t->file,
                   t->name, (unsigned long long)t->offset, b->c->n_layer,
                   gguf ? "block_count" : "num_hidden_layers");
}

/* Of a packed file: what counting gave when it was packed. */
static carat_status take_counts(struct binder *b)
{
    const struct ct_packed *p = ct_file_packed(b->f);

    if (b->n_packed != p->n_weight)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: the packed file has %u weights, expected %u from the configuration",
                       ct_file_path(b->f), p->n_weight, b->n_packed);
    if (p->weight_bytes > MOST_BYTES * b->w->n_parameter)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: the packed file says that its weights took %llu bytes, expected at most %d for "
                       "each of %llu parameters",
                       ct_file_path(b->f), (unsigned long long)p->weight_bytes, MOST_BYTES,
                       (unsigned long long)b->w->n_parameter);
    b->w->bytes = p->weight_bytes;
    b->w->n_unused = (int)p->n_unused;
    b->w->unused = p->unused.s;
    return CARAT_OK;
}

carat_status ct_weights_bind(struct ct_weights *w, struct ct_config *c, const struct ct_file *f,
                             struct ct_arena *arena, carat_error *err)
{
    struct binder b = {.w = w, .c = c, .f = f, .arena = arena, .err = err};

    *w = (struct ct_weights){.prefix = prefixes[0]};
    b.gguf = ct_file_kind(f) == CT_FILE_GGUF || ct_file_is_packed(f);
    b.sbs = ct_file_kind(f) == CT_FILE_SBS && !ct_file_is_packed(f);
    w->layer = ct_arena_push(arena, (size_t)c->n_layer, sizeof *w->layer);
    b.used = ct_arena_push(arena, (size_t)ct_file_tensor_count(f), sizeof *b.used);
    if (!w->layer || !b.used)
        return ct_fail(err, CARAT_E_MEMORY, "%s: out of memory for %d layers", ct_file_path(f), c->n_layer);
    CT_TRY(bind_ends(&b));
    for (int i = 0; i < c->n_layer; i++) {
        w->layer[i].c = c->layer[i];
        for (size_t s = 0; s < CT_COUNT(slots); s++)
            if (slots[s].used(c))
                CT_TRY(bind_slot(&b, &w->layer[i], i, &slots[s]));
    }
    CT_TRY(check_missing(&b));
    CT_TRY(check_last_layer(&b));
    count_unused(&b);
    return ct_file_is_packed(f) ? take_counts(&b) : CARAT_OK;
}

void ct_weights_place(struct ct_weights *to, const struct ct_weights *from, const struct ct_config *c,
                      struct ct_layer *layer, struct ct_backend *b)
{
    *to = *from;
    to->embed = b->verb.place(b, from->embed);
    to->head = from->tied ? to->embed : b->verb.place(b, from->head);
    to->layer = layer;
    for (int i = 0; i < c->n_layer; i++) {
        struct ct_layer l = from->layer[i];
        for (size_t s = 0; s < CT_COUNT(slots); s++) {
            struct ct_weight *w = (struct ct_weight *)(void *)((char *)&l + slots[s].at);
            if (slots[s].kind == MATRIX && slots[s].used(c))
                *w = b->verb.place(b, *w);
        }
        if (layer)
            layer[i] = l;
    }
}

carat_status ct_weights_walk(const struct ct_weights *w, const struct ct_config *c, const struct ct_file *f,
                             ct_weight_visit *visit, void *user)
{
    bool gguf_file = ct_file_kind(f) == CT_FILE_GGUF;
    char hf[128], gguf[128], name[256];

    name_tensor(name, f, w->prefix, "embed_tokens", "token_embd");
    CT_TRY(visit(user, "token_embd", name, &w->embed));
    for (int i = 0; i < c->n_layer; i++)
        for (size_t s = 0; s < CT_COUNT(slots); s++) {
            if (!slots[s].used(c))
                continue;
            name_slot(hf, gguf, i, &slots[s]);
            name_tensor(name, f, w->prefix, hf, gguf);
            CT_TRY(visit(user, gguf, name,
                         (const struct ct_weight *)(const void *)((const char *)&w->layer[i] + slots[s].at)));
        }
    name_tensor(name, f, w->prefix, "norm", "output_norm");
    CT_TRY(visit(user, "output_norm", name, &w->final_norm));
    return w->tied ? CARAT_OK
                   : visit(user, "output", gguf_file ? "output.weight" : "lm_head.weight", &w->head);
}
