/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c: the weights of a model as one table of slots. Shapes follow from the config; a tensor that
 * contradicts it is refused (weights_tensor.c). How a container names and holds tensors is told by its struct
 * ct_container (weights_container.h), which is chosen once, in ct_weights_bind. */
#include "model/weights_container.h"

#include <stdlib.h>

#include "quant/palette.h"

/* A slot of a layer. */
struct slot {
    const char *name; /* as GGUF spells it */
    size_t at;        /* of the ct_weight in ct_layer */
    bool matrix;      /* else a norm, or as small: f32 in the arena, as one vector */
    enum ct_dim rows, cols;
    enum {
        ALWAYS,
        POST_NORMS,
        QK_NORMS,
        OWN_K,
        OWN_V,
        OWN_K_NORM,
        INPUTS,
        INPUT_TABLE,
        DENSE,
        SECOND_DENSE,
        OUT_SCALES,
        ALTUP,
        ALTUP_SCALES,
        EXPERTS,
        ROUTER,
        DRAFTER,
        CENTROIDS
    } when; /* the layer has it */
};

#define AT(field) offsetof(struct ct_layer, field)
static const struct slot slots[] = {
    {"attn_norm", AT(attn_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, ALWAYS},
    {"attn_q", AT(q), true, CT_DIM_Q, CT_DIM_HIDDEN, ALWAYS},
    {"attn_k", AT(k), true, CT_DIM_KV, CT_DIM_HIDDEN, OWN_K},
    {"attn_v", AT(v), true, CT_DIM_KV, CT_DIM_HIDDEN, OWN_V},
    {"attn_output", AT(o), true, CT_DIM_HIDDEN, CT_DIM_Q, ALWAYS},
    {"attn_q_norm", AT(q_norm), false, CT_DIM_ONE, CT_DIM_HEAD, QK_NORMS},
    {"attn_k_norm", AT(k_norm), false, CT_DIM_ONE, CT_DIM_HEAD, OWN_K_NORM},
    {"post_attention_norm", AT(attn_post_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, POST_NORMS},
    {"ffn_norm", AT(ffn_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, ALWAYS},
    {"ffn_gate", AT(gate), true, CT_DIM_FFN, CT_DIM_HIDDEN, ALWAYS},
    {"ffn_up", AT(up), true, CT_DIM_FFN, CT_DIM_HIDDEN, ALWAYS},
    {"ffn_down", AT(down), true, CT_DIM_HIDDEN, CT_DIM_FFN, ALWAYS},
    {"post_ffw_norm", AT(ffn_post_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, POST_NORMS},
    {"post_ffw_norm_1", AT(mlp_post_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, EXPERTS},
    {"ffn_gate_inp_scale", AT(router_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, ROUTER},
    {"ffn_gate_inp", AT(router), true, CT_DIM_EXPERTS, CT_DIM_HIDDEN, ROUTER},
    {"pre_ffw_norm_2", AT(experts_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, EXPERTS},
    {"ffn_down_exps_scale", AT(experts.scale), false, CT_DIM_ONE, CT_DIM_EXPERTS, EXPERTS},
    {"post_ffw_norm_2", AT(experts_post_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, EXPERTS},
    {"inp_gate", AT(input_gate), true, CT_DIM_PLE, CT_DIM_HIDDEN, INPUTS},
    {"proj", AT(input_proj), true, CT_DIM_HIDDEN, CT_DIM_PLE, INPUTS},
    {"post_norm", AT(input_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, INPUTS},
    {"layer_output_scale", AT(out_scale), false, CT_DIM_ONE, CT_DIM_ONE, OUT_SCALES},
    {"altup_router_norm", AT(altup_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, ALTUP},
    {"altup_router", AT(altup_router), false, CT_DIM_STREAMS, CT_DIM_HIDDEN, ALTUP},
    {"altup_predict_coef", AT(altup_predict), false, CT_DIM_COEFS, CT_DIM_STREAMS, ALTUP},
    {"altup_correct_coef", AT(altup_correct), false, CT_DIM_STREAMS, CT_DIM_STREAMS, ALTUP},
    {"altup_correct_scale", AT(altup_scale), false, CT_DIM_ONE, CT_DIM_HIDDEN, ALTUP_SCALES},
    {"laurel_l", AT(laurel_left), true, CT_DIM_LAUREL, CT_DIM_HIDDEN, ALTUP},
    {"laurel_r", AT(laurel_right), true, CT_DIM_HIDDEN, CT_DIM_LAUREL, ALTUP},
    {"laurel_post_norm", AT(laurel_norm), false, CT_DIM_ONE, CT_DIM_HIDDEN, ALTUP},
};

/* Of the whole model: three that are bound by themselves, and those between embedding and layers. */
#define AT_MODEL(field) offsetof(struct ct_weights, field)
static const struct slot embedding = {"token_embd", AT_MODEL(embed), true,
                                      CT_DIM_VOCAB, CT_DIM_HIDDEN,   ALWAYS};
static const struct slot head = {"output", AT_MODEL(head), true, CT_DIM_VOCAB, CT_DIM_HIDDEN, ALWAYS};
static const struct slot final_norm = {"output_norm", AT_MODEL(final_norm), false,
                                       CT_DIM_ONE,    CT_DIM_HIDDEN,        ALWAYS};
static const struct slot model_slots[] = {
    {"per_layer_token_embd", AT_MODEL(ple), true, CT_DIM_PLE_ROWS, CT_DIM_PLE_ALL, INPUT_TABLE},
    {"per_layer_model_proj", AT_MODEL(ple_proj), true, CT_DIM_PLE_ALL, CT_DIM_HIDDEN, INPUTS},
    {"per_layer_proj_norm", AT_MODEL(ple_norm), false, CT_DIM_ONE, CT_DIM_PLE, INPUTS},
    {"altup_proj.0", AT_MODEL(stream_proj[0]), true, CT_DIM_HIDDEN, CT_DIM_HIDDEN, ALTUP},
    {"altup_proj.1", AT_MODEL(stream_proj[1]), true, CT_DIM_HIDDEN, CT_DIM_HIDDEN, ALTUP},
    {"altup_proj.2", AT_MODEL(stream_proj[2]), true, CT_DIM_HIDDEN, CT_DIM_HIDDEN, ALTUP},
    {"altup_unembd_proj.0", AT_MODEL(stream_unproj[0]), true, CT_DIM_HIDDEN, CT_DIM_HIDDEN, ALTUP},
    {"altup_unembd_proj.1", AT_MODEL(stream_unproj[1]), true, CT_DIM_HIDDEN, CT_DIM_HIDDEN, ALTUP},
    {"altup_unembd_proj.2", AT_MODEL(stream_unproj[2]), true, CT_DIM_HIDDEN, CT_DIM_HIDDEN, ALTUP},
    {"nextn.pre_projection", AT_MODEL(draft_pre), true, CT_DIM_HIDDEN, CT_DIM_TWO_BACKBONES, DRAFTER},
    {"nextn.post_projection", AT_MODEL(draft_post), true, CT_DIM_BACKBONE, CT_DIM_HIDDEN, DRAFTER},
    {"masked_embd_centroids", AT_MODEL(centroids), true, CT_DIM_CENTROIDS, CT_DIM_HIDDEN, CENTROIDS},
    {CT_ORDERING, AT_MODEL(ordering), false, CT_DIM_ONE, CT_DIM_VOCAB, CENTROIDS},
    {"dense_2", AT_MODEL(dense[0]), true, CT_DIM_DENSE, CT_DIM_HIDDEN, DENSE},
    {"dense_3", AT_MODEL(dense[1]), true, CT_DIM_SECOND_DENSE, CT_DIM_DENSE, SECOND_DENSE},
};

/* Of each expert: parts of tensors that hold them all, one behind the other, each with so many parts. */
#define IN(field) offsetof(struct ct_expert, field)
static const struct part {
    struct slot slot;
    const char *whole;
    int at, of;
} parts[] = {
    {{"ffn_gate_exps", IN(gate), true, CT_DIM_EXPERT_FFN, CT_DIM_HIDDEN, EXPERTS}, "ffn_gate_up_exps", 0, 2},
    {{"ffn_up_exps", IN(up), true, CT_DIM_EXPERT_FFN, CT_DIM_HIDDEN, EXPERTS}, "ffn_gate_up_exps", 1, 2},
    {{"ffn_down_exps", IN(down), true, CT_DIM_HIDDEN, CT_DIM_EXPERT_FFN, EXPERTS}, "ffn_down_exps", 0, 1},
};
enum { PART_NAME = 32 };

/* The part as the file has it: in one tensor with others, or, where such is not there, in one of its own. */
static struct part part_in(const struct ct_file *f, const struct ct_container *origin,
                           const struct ct_weights *w, const struct ct_config *c, int layer,
                           const struct part *p)
{
    struct part alone = *p;
    char name[CT_TENSOR_NAME];

    origin->name(name, w, c, p->whole, layer);
    if (!origin->parts_apart || p->of == 1 || ct_file_find(f, name))
        return *p;
    alone.whole = p->slot.name;
    alone.at = 0;
    alone.of = 1;
    for (const struct part *q = parts; q < parts + CT_COUNT(parts); q++) {
        origin->name(name, w, c, q->slot.name, layer);
        if (strcmp(q->whole, p->whole) == 0 && ct_file_find(f, name))
            return alone;
    }
    return *p;
}

/* What the part of an expert is called where each lies by itself. */
static const char *part_name(const struct part *p, int expert, char name[PART_NAME])
{
    snprintf(name, PART_NAME, "%s.%d", p->slot.name, expert);
    return name;
}

/* True when the layer has the slot; for a slot of the whole model: when any layer has it. */
static bool has_slot(const struct slot *s, const struct ct_config *c, int layer)
{
    const struct ct_layer_config *l = &c->layer[CT_MAX(layer, 0)];
    const bool owns = l->kv_layer == layer, has[] = {[ALWAYS] = true,
                                                     [POST_NORMS] = c->post_norms,
                                                     [QK_NORMS] = c->qk_norms,
                                                     [OWN_K] = owns,
                                                     [OWN_V] = owns && !l->v_is_k,
                                                     [OWN_K_NORM] = owns && c->qk_norms,
                                                     [INPUTS] = c->ple_width > 0,
                                                     [INPUT_TABLE] = c->ple_width > 0 && c->ple_rows > 0,
                                                     [DENSE] = c->n_dense > 0,
                                                     [SECOND_DENSE] = c->n_dense > 1,
                                                     [OUT_SCALES] = c->out_scales,
                                                     [ALTUP] = c->altup,
                                                     [ALTUP_SCALES] = c->altup_scales,
                                                     [EXPERTS] = l->n_expert > 0,
                                                     [ROUTER] = l->n_expert > 0,
                                                     [DRAFTER] = c->backbone > 0,
                                                     [CENTROIDS] = c->n_centroid > 0};
    return has[s->when];
}

/* The slot behind s (NULL: the first) of a layer, or for -1 of the model itself; NULL: there is none. */
static const struct slot *next_slot(const struct slot *s, const struct ct_config *c, int layer)
{
    const struct slot *const first = layer < 0 ? model_slots : slots;
    const struct slot *const end = first + (layer < 0 ? CT_COUNT(model_slots) : CT_COUNT(slots));

    for (s = s ? s + 1 : first; s < end; s++)
        if (has_slot(s, c, layer))
            return s;
    return NULL;
}

/* of: a struct ct_layer; for slots of the whole model struct ct_weights, for parts struct ct_expert. */
static struct ct_weight *slot_weight(const void *of, const struct slot *s)
{
    return (struct ct_weight *)((uintptr_t)of + s->at);
}

/* ---- tensors ---- */

static const struct ct_tensor *find_named(struct ct_binding *b, const char *name)
{
    const struct ct_tensor *t = b->container->find ? b->container->find(b->f, name) : NULL;

    if (t && b->container->counts_unused)
        b->used[t - ct_file_tensor(b->f, 0)] = true;
    b->n_found += t != NULL;
    return t;
}

/* The tensor of a slot, perhaps in *made, and its name. *t is NULL when it is absent. */
static carat_status find_tensor(struct ct_binding *b, const struct slot *s, int layer,
                                char name[CT_TENSOR_NAME], struct ct_tensor *made, const struct ct_tensor **t)
{
    b->rows = s->rows;
    b->cols = s->cols;
    b->container->name(name, b->w, b->c, s->name, layer);
    made->name = NULL;
    if (b->container->make)
        CT_TRY(b->container->make(made, b, s->name, layer));
    *t = made->name ? made : find_named(b, name);
    return CARAT_OK;
}

/* Tensors of the file that have no slot in the model. */
static void count_unused(const struct ct_binding *b)
{
    for (int i = 0; i < ct_file_tensor_count(b->f) && b->container->counts_unused; i++)
        if (!b->used[i] && !ct_drafter_owns(b, ct_file_tensor(b->f, i)) && b->w->n_unused++ == 0)
            b->w->unused = ct_file_tensor(b->f, i)->name;
}

static int dim_of(const struct ct_config *c, const struct ct_layer_config *l, enum ct_dim dim)
{
    const int value[CT_DIMS] = {[CT_DIM_ONE] = 1,
                                [CT_DIM_HIDDEN] = c->hidden,
                                [CT_DIM_Q] = l->n_head * l->head_dim,
                                [CT_DIM_KV] = l->n_kv_head * l->head_dim,
                                [CT_DIM_FFN] = l->ffn,
                                [CT_DIM_HEAD] = l->head_dim,
                                [CT_DIM_VOCAB] = c->n_vocab,
                                [CT_DIM_PLE] = c->ple_width,
                                [CT_DIM_PLE_ALL] = c->ple_width * c->ple_layers,
                                [CT_DIM_PLE_ROWS] = c->ple_rows,
                                [CT_DIM_STREAMS] = CT_STREAMS,
                                [CT_DIM_COEFS] = CT_STREAMS * CT_STREAMS,
                                [CT_DIM_LAUREL] = c->laurel_rank,
                                [CT_DIM_DENSE] = c->dense[0],
                                [CT_DIM_SECOND_DENSE] = c->dense[1],
                                [CT_DIM_EXPERTS] = l->n_expert,
                                [CT_DIM_EXPERT_FFN] = l->expert_ffn,
                                [CT_DIM_BACKBONE] = c->backbone,
                                [CT_DIM_TWO_BACKBONES] = 2 * c->backbone,
                                [CT_DIM_CENTROIDS] = c->n_centroid};
    return value[dim];
}

/* ---- slots ---- */

static carat_status bind_slot(struct ct_binding *b, struct ct_weight *w, const struct ct_layer_config *l,
                              int layer, const struct slot *s)
{
    struct ct_tensor made;
    const struct ct_tensor *t;
    char name[CT_TENSOR_NAME];

    CT_TRY(find_tensor(b, s, layer, name, &made, &t));
    if (!t) {
        ct_note_missing(b, name);
        return CARAT_OK;
    }
    if (s->matrix)
        return ct_bind_matrix(b, w, t, dim_of(b->c, l, s->rows), dim_of(b->c, l, s->cols));
    return ct_bind_small(b, w, t, dim_of(b->c, l, s->rows), dim_of(b->c, l, s->cols),
                         s->when == ROUTER ? ct_root_of_width(b->c) : 1);
}

static carat_status bind_slots(struct ct_binding *b, const void *of, const struct ct_layer_config *l,
                               int layer)
{
    for (const struct slot *s = NULL; (s = next_slot(s, b->c, layer));)
        CT_TRY(bind_slot(b, slot_weight(of, s), l, layer, s));
    return CARAT_OK;
}

/* A tensor that has no slot and is not to be told of, nor a factor beside it. E_FORMAT: that is none. */
static carat_status pass_over(struct ct_binding *b, const char *name)
{
    const struct ct_tensor *t = b->container->counts_unused ? b->container->find(b->f, name) : NULL;
    float unused;

    if (!t)
        return CARAT_OK;
    b->used[t - ct_file_tensor(b->f, 0)] = true;
    return b->container->factor ? b->container->factor(&unused, b, t) : CARAT_OK;
}

/* The tensor with a part of all experts of a layer, in its shape, maybe in *made; *t NULL: there is none. */
static carat_status find_whole(struct ct_binding *b, int layer, const struct part *p, struct ct_tensor *made,
                               const struct ct_tensor **t)
{
    const char *const *key = b->origin->key;
    const struct ct_layer_config *l = &b->c->layer[layer];
    const int n = l->n_expert, rows = p->of * dim_of(b->c, l, p->slot.rows),
              cols = dim_of(b->c, l, p->slot.cols);
    char name[CT_TENSOR_NAME], found[96];

    b->container->name(name, b->w, b->c, p->whole, layer);
    b->rows = p->slot.rows;
    b->stack = n * p->of;
    made->name = NULL;
    if (b->container->make)
        CT_TRY(b->container->make(made, b, p->whole, layer));
    b->stack = 0;
    *t = made->name ? made : find_named(b, name);
    if (!*t)
        ct_note_missing(b, name);
    if (!*t || ((*t)->n_dim == 3 && (*t)->dim[0] == n && (*t)->dim[1] == rows && (*t)->dim[2] == cols))
        return CARAT_OK;
    return ct_fail(
        b->err, CARAT_E_FORMAT,
        "%s: tensor %s at byte %llu has shape [%s], expected [%d x %d x %d] from the configuration "
        "(%s x %s%s x %s)",
        (*t)->file, (*t)->name, (unsigned long long)(*t)->offset, ct_shape_text(*t, found), n, rows, cols,
        key[CT_DIM_EXPERTS], p->of == 2 ? "2 * " : "", key[p->slot.rows], key[p->slot.cols]);
}

/* Its rows that are one expert's. */
static carat_status bind_part(struct ct_binding *b, struct ct_weight *w, const struct ct_layer_config *l,
                              int expert, const struct part *p, const struct ct_tensor *whole)
{
    const size_t n = (size_t)(l->n_expert * p->of),
                 before = whole->size / n * (size_t)(expert * p->of + p->at);
    struct ct_tensor one = *whole;

    one.size = whole->size % n ? whole->size : whole->size / n; /* no whole number of parts is refused */
    one.data += before;
    one.offset += before;
    if (one.palettes)
        one.palettes += expert * p->of + p->at;
    one.n_dim = 2;
    one.dim[0] = dim_of(b->c, l, b->rows = p->slot.rows);
    one.dim[1] = dim_of(b->c, l, b->cols = p->slot.cols);
    b->part = expert;
    b->parts = l->n_expert;
    CT_TRY(ct_bind_matrix(b, w, &one, (int)one.dim[0], (int)one.dim[1]));
    b->part = b->parts = 0;
    return CARAT_OK;
}

/* One tensor has a part of all experts; where they are packed, each part of each is one. */
static carat_status bind_experts(struct ct_binding *b, struct ct_layer *l, int layer)
{
    const size_t n = (size_t)l->c.n_expert * CT_COUNT(parts);
    const struct ct_tensor *whole[CT_COUNT(parts)];
    struct ct_tensor made[CT_COUNT(parts)];
    struct part found[CT_COUNT(parts)];
    char name[PART_NAME];
    bool all = true;

    for (size_t i = 0; n > 0 && i < CT_COUNT(parts) && !b->container->prepared; i++) {
        found[i] = part_in(b->f, b->origin, b->w, b->c, layer, &parts[i]);
        if (found[i].at > 0) /* beside the one before, in the same tensor */
            whole[i] = whole[i - 1];
        else
            CT_TRY(find_whole(b, layer, &found[i], &made[i], &whole[i]));
        all = all && whole[i];
    }
    if (n == 0 || !all)
        return CARAT_OK;
    struct ct_expert *expert = ct_arena_push(b->arena, (size_t)l->c.n_expert, sizeof *expert);
    if (!expert)
        return ct_no_memory(b->err, ct_file_path(b->f));
    l->experts.n = l->c.n_expert;
    l->experts.used = l->c.n_used;
    l->experts.expert = expert;
    for (size_t i = 0; i < n; i++) {
        const size_t at = i % CT_COUNT(parts);
        const struct part *p = &parts[at];
        const int e = (int)(i / CT_COUNT(parts));
        struct ct_weight *w = slot_weight(&expert[e], &p->slot);
        struct slot one = p->slot;
        one.name = part_name(p, e, name);
        CT_TRY(b->container->prepared ? bind_slot(b, w, &l->c, layer, &one)
                                      : bind_part(b, w, &l->c, e, &found[at], whole[at]));
    }
    return CARAT_OK;
}

/* K and V of a layer that reads another's are in many files all the same: they are dead. */
static carat_status pass_over_dead(struct ct_binding *b, int layer)
{
    char name[CT_TENSOR_NAME];

    if (b->c->layer[layer].kv_layer == layer)
        return CARAT_OK;
    for (const struct slot *s = slots; s < slots + CT_COUNT(slots); s++) {
        const bool of_kv = s->when == OWN_K || s->when == OWN_V || s->when == OWN_K_NORM;
        b->container->name(name, b->w, b->c, s->name, layer);
        if (of_kv)
            CT_TRY(pass_over(b, name));
        const size_t n = strlen(name);
        for (const char *const *part = b->container->parts; of_kv && part && *part; part++) {
            snprintf(name + n, sizeof name - n, "%s", *part);
            CT_TRY(pass_over(b, name));
        }
    }
    return CARAT_OK;
}

static carat_status bind_embedding(struct ct_binding *b)
{
    struct ct_config *c = b->c;
    struct ct_tensor made;
    const struct ct_tensor *t;
    char name[CT_TENSOR_NAME];

    CT_TRY(find_tensor(b, &embedding, -1, name, &made, &t));
    if (!t)
        return ct_fail(b->err, CARAT_E_FORMAT, "%s: no token embedding: tensor %s is missing",
                       ct_file_path(b->f), name);
    if (t->n_dim == 2 && c->n_vocab == 0 && t->dim[0] > 0 && t->dim[0] <= 1 << 24)
        c->n_vocab = (int)t->dim[0]; /* GGUF does not state it apart */
    CT_TRY(ct_bind_matrix(b, &b->w->embed, t, c->n_vocab, c->hidden));
    c->n_text_vocab = CT_MIN(c->n_text_vocab ? c->n_text_vocab : c->n_vocab, c->n_vocab);
    c->embed_scale = c->embed_scale_override > 0
                         ? (float)c->embed_scale_override
                         : b->origin->embed_scale(__builtin_sqrtf((float)c->hidden), t->type);
    return CARAT_OK;
}

/* True when the tensor of the head is the embedding once more, as checkpoints had it that were saved without
 * sharing memory. Its first bytes tell of nearly any other. */
static bool is_embedding(const struct ct_binding *b, const struct ct_tensor *of_head)
{
    char name[CT_TENSOR_NAME];

    b->container->name(name, b->w, b->c, embedding.name, -1);
    const struct ct_tensor *t = ct_file_find(b->f, name);
    return t && t->type == of_head->type && t->size == of_head->size && t->n_dim == of_head->n_dim &&
           memcmp(t->dim, of_head->dim, sizeof t->dim) == 0 && memcmp(t->data, of_head->data, t->size) == 0;
}

static carat_status bind_head(struct ct_binding *b)
{
    struct ct_config *c = b->c;
    struct ct_tensor made = {.name = NULL};
    char name[CT_TENSOR_NAME];
    b->w->tied = c->tied || c->embeds;
    b->w->head = b->w->embed;
    if (c->embeds) /* it has none */
        return CARAT_OK;
    b->container->name(name, b->w, c, "output", -1);
    const struct ct_tensor *t = find_named(b, name);
    if (!t && b->container->other_head)
        t = find_named(b, b->container->other_head);
    CT_TRY(ct_make_palette(&made, b, name));
    t = made.name ? &made : t;
    if (t && !(c->tied && b->container->says_tied && is_embedding(b, t))) {
        b->w->tied = false;
        return ct_bind_matrix(b, &b->w->head, t, c->n_vocab, c->hidden);
    }
    if (c->tied || !b->origin->says_tied)
        return CARAT_OK;
    return ct_fail(b->err, CARAT_E_FORMAT,
                   "%s: tensor lm_head.weight is missing, but tie_word_embeddings is false",
                   ct_file_path(b->f));
}

/* A layer more than the configuration counts would be left out in silence. */
static carat_status check_last_layer(struct ct_binding *b)
{
    char name[CT_TENSOR_NAME];

    b->container->name(name, b->w, b->c, slots[0].name, b->c->n_layer);
    const struct ct_tensor *t = find_named(b, name);
    if (!t)
        return CARAT_OK;
    return ct_fail(b->err, CARAT_E_FORMAT,
                   "%s: tensor %s at byte %llu belongs to a layer beyond the %d that %s says", t->file,
                   t->name, (unsigned long long)t->offset, b->c->n_layer, b->origin->layers);
}

/* Where K's weight makes V too, V has no slot of its own. */
static void share_weights(struct ct_layer *l)
{
    if (l->c.v_is_k)
        l->v = l->k;
}

static const struct ct_container *const containers[] = {
    [CT_FILE_HF] = &ct_container_hf, [CT_FILE_GGUF] = &ct_container_gguf, [CT_FILE_SBS] = &ct_container_sbs};

carat_status ct_weights_bind(struct ct_weights *w, struct ct_config *c, const struct ct_file *f,
                             struct ct_arena *arena, carat_error *err)
{
    struct ct_binding b = {.w = w, .c = c, .f = f, .arena = arena, .err = err};

    assert(ct_file_kind(f) != CT_FILE_TOKENIZER);
    *w = (struct ct_weights){0};
    b.origin = containers[ct_file_kind(f)];
    b.container = ct_file_is_packed(f) ? &ct_container_packed : b.origin;
    w->layer = ct_arena_push(arena, (size_t)c->n_layer, sizeof *w->layer);
    b.used = ct_arena_push(arena, (size_t)ct_file_tensor_count(f), sizeof *b.used);
    if (!w->layer || !b.used)
        return ct_no_memory(err, ct_file_path(f));
    if (b.origin->begin)
        b.origin->begin(&b);
    CT_TRY(bind_embedding(&b));
    CT_TRY(bind_head(&b));
    CT_TRY(bind_slots(&b, w, &c->layer[0], -1));
    CT_TRY(bind_slot(&b, &w->final_norm, &c->layer[0], -1, &final_norm));
    for (int i = 0; i < c->n_layer; i++) {
        w->layer[i].c = c->layer[i];
        CT_TRY(bind_slots(&b, &w->layer[i], &c->layer[i], i));
        CT_TRY(bind_experts(&b, &w->layer[i], i));
        CT_TRY(pass_over_dead(&b, i));
        share_weights(&w->layer[i]);
    }
    CT_TRY(ct_bind_made(&b));
    CT_TRY(ct_check_missing(&b));
    CT_TRY(ct_check_ordering(&b));
    CT_TRY(check_last_layer(&b));
    CT_TRY(pass_over(&b, CT_ROPE_FREQS));
    count_unused(&b);
    return b.container->finish ? b.container->finish(&b) : CARAT_OK;
}

/* ---- all of them ---- */

static carat_status move_matrix(struct ct_binding *b, struct ct_weight *w, const struct slot *s, int layer)
{
    char name[CT_TENSOR_NAME];

    b->rows = s->rows;
    ct_container_packed.name(name, b->w, b->c, s->name, layer);
    const struct ct_tensor *t = ct_file_weight(b->f, name);
    return t ? ct_point_at(b, w, t, w->rows, w->cols)
             : ct_fail(b->err, CARAT_E_FORMAT, "%s: weight %s is missing", ct_file_path(b->f), name);
}

static carat_status move_slots(struct ct_binding *b, const void *of, int layer)
{
    for (const struct slot *s = NULL; (s = next_slot(s, b->c, layer));)
        if (s->matrix)
            CT_TRY(move_matrix(b, slot_weight(of, s), s, layer));
    return CARAT_OK;
}

/* The experts of a layer, in memory of their own. */
static carat_status move_experts(struct ct_binding *b, struct ct_layer *l, int layer, struct ct_arena *arena)
{
    const size_t n = (size_t)l->experts.n;
    char name[PART_NAME];

    if (n == 0)
        return CARAT_OK;
    struct ct_expert *expert = ct_arena_push(arena, n, sizeof *expert);
    if (!expert)
        return ct_no_memory(b->err, ct_file_path(b->f));
    memcpy(expert, l->experts.expert, n * sizeof *expert);
    l->experts.expert = expert;
    for (size_t i = 0; i < n * CT_COUNT(parts); i++) {
        const struct part *p = &parts[i % CT_COUNT(parts)];
        struct ct_expert *e = &expert[i / CT_COUNT(parts)];
        struct slot one = p->slot;
        one.name = part_name(p, (int)(e - expert), name);
        CT_TRY(move_matrix(b, slot_weight(e, &p->slot), &one, layer));
    }
    return CARAT_OK;
}

carat_status ct_weights_move(struct ct_weights *w, struct ct_config *c, const struct ct_file *copy,
                             struct ct_arena *arena, carat_error *err)
{
    struct ct_weights moved = *w;
    struct ct_binding b = {.w = w,
                           .c = c,
                           .f = copy,
                           .container = &ct_container_packed,
                           .origin = containers[ct_file_kind(copy)],
                           .err = err};

    moved.layer = ct_arena_push(arena, (size_t)c->n_layer, sizeof *moved.layer);
    if (!moved.layer)
        return ct_no_memory(err, ct_file_path(copy));
    memcpy(moved.layer, w->layer, (size_t)c->n_layer * sizeof *moved.layer);
    CT_TRY(move_matrix(&b, &moved.embed, &embedding, -1));
    moved.head = moved.embed;
    if (!w->tied)
        CT_TRY(move_matrix(&b, &moved.head, &head, -1));
    CT_TRY(move_slots(&b, &moved, -1));
    for (int i = 0; i < c->n_layer; i++) {
        CT_TRY(move_slots(&b, &moved.layer[i], i));
        CT_TRY(move_experts(&b, &moved.layer[i], i, arena));
        share_weights(&moved.layer[i]);
    }
    moved.unused = ct_file_packed(copy)->unused.s;
    *w = moved;
    return CARAT_OK;
}

static void pack_slots(void *of, const struct ct_config *c, struct ct_backend *b, int layer)
{
    b->part = c->backbone ? CT_PART_BEHIND : layer; /* all of a drafter works where the model ends */
    for (const struct slot *s = NULL; (s = next_slot(s, c, layer));) {
        struct ct_weight *w = slot_weight(of, s);
        if ((s->matrix || b->apart) && w->layout != CT_LAYOUT_TABLE)
            *w = ct_weight_bring(b, *w);
    }
}

static void pack_experts(struct ct_experts *e, struct ct_expert *to, struct ct_backend *b)
{
    const struct ct_expert *from = e->expert;

    e->expert = to;
    for (const struct ct_expert *x = from; x < from + e->n; x++, to++)
        *to = (struct ct_expert){ct_weight_bring(b, x->gate), ct_weight_bring(b, x->up),
                                 ct_weight_bring(b, x->down)};
}

void ct_weights_pack(struct ct_weights *to, const struct ct_weights *from, const struct ct_config *c,
                     struct ct_layer *layer, struct ct_expert *expert, struct ct_backend *b, bool head_aside)
{
    *to = *from;
    b->part = c->backbone ? CT_PART_BEHIND : from->tied ? CT_PART_TIED : CT_PART_EMBEDDING;
    if (!head_aside || !from->tied)
        to->embed = ct_weight_bring(b, from->embed);
    pack_slots(to, c, b, -1);
    if (b->apart) {
        to->ple_scale = ct_weight_bring(b, from->ple_scale); /* what is made has no slot */
        b->part = CT_PART_BEHIND;
        to->final_norm = ct_weight_bring(b, from->final_norm);
        to->quarter = ct_weight_bring(b, from->quarter);
    }
    if (!head_aside)
        to->head = from->tied ? to->embed : ct_weight_bring(b, from->head);
    to->layer = layer;
    for (int i = 0; i < c->n_layer; expert += layer[i++].experts.n) {
        layer[i] = from->layer[i];
        pack_slots(&layer[i], c, b, i);
        if (b->apart) {
            layer[i].v_norm = ct_weight_bring(b, layer[i].v_norm);
            layer[i].halves = ct_weight_bring(b, layer[i].halves);
        }
        pack_experts(&layer[i].experts, expert, b);
        share_weights(&layer[i]);
    }
}

static carat_status walk_experts(const struct ct_weights *w, const struct ct_config *c, int layer,
                                 const struct ct_file *f, ct_weight_visit *visit, void *user)
{
    const struct ct_experts *experts = &w->layer[layer].experts;
    const struct ct_container *origin = containers[ct_file_kind(f)];
    char slot[64], part[PART_NAME], name[CT_COUNT(parts)][CT_TENSOR_NAME];

    for (size_t i = 0; experts->n > 0 && i < CT_COUNT(parts); i++)
        origin->name(name[i], w, c, part_in(f, origin, w, c, layer, &parts[i]).whole, layer);
    for (int e = 0; e < experts->n; e++)
        for (size_t i = 0; i < CT_COUNT(parts); i++) {
            snprintf(slot, sizeof slot, "blk.%d.%s", layer, part_name(&parts[i], e, part));
            CT_TRY(visit(user, slot, name[i], slot_weight(&experts->expert[e], &parts[i].slot)));
        }
    return CARAT_OK;
}

carat_status ct_weights_walk(const struct ct_weights *w, const struct ct_config *c, const struct ct_file *f,
                             ct_weight_visit *visit, void *user)
{
    const struct ct_container *origin = containers[ct_file_kind(f)];
    char slot[64], name[CT_TENSOR_NAME];

    origin->name(name, w, c, "token_embd", -1);
    CT_TRY(visit(user, "token_embd", name, &w->embed));
    for (const struct slot *s = NULL; (s = next_slot(s, c, -1));) {
        origin->name(name, w, c, s->name, -1);
        CT_TRY(visit(user, s->name, name, slot_weight(w, s)));
    }
    for (int i = 0; i < c->n_layer; i++) {
        for (const struct slot *s = NULL; (s = next_slot(s, c, i));) {
            snprintf(slot, sizeof slot, "blk.%d.%s", i, s->name);
            origin->name(name, w, c, s->name, i);
            CT_TRY(visit(user, slot, name, slot_weight(&w->layer[i], s)));
        }
        CT_TRY(walk_experts(w, c, i, f, visit, user));
    }
    origin->name(name, w, c, "output_norm", -1);
    CT_TRY(visit(user, "output_norm", name, &w->final_norm));
    origin->name(name, w, c, "output", -1);
    return w->tied ? CARAT_OK : visit(user, "output", name, &w->head);
}

/* ---- where containers have them ---- */

/* A number at the end of a slot says which matrix of a tensor it is, unless a directory has those apart. */
static void find_place(struct ct_gguf_place *p, enum ct_file_kind kind, const struct ct_weights *w,
                       const struct ct_config *c, const char *slot)
{
    const int layer = strncmp(slot, "blk.", 4) == 0 ? atoi(slot + 4) : -1;
    char own[64];

    snprintf(own, sizeof own, "%s", layer < 0 ? slot : strchr(slot + 4, '.') + 1);
    char *const end = strrchr(own, '.');
    const bool numbered =
        end && end[1] >= '0' && end[1] <= '9' && (kind == CT_FILE_GGUF || strstr(own, "_exps."));
    *p = (struct ct_gguf_place){.at = numbered ? atoi(end + 1) : -1, .rows = 1};
    if (numbered)
        *end = 0;
    for (size_t i = 0; numbered && i < CT_COUNT(parts); i++)
        if (strcmp(own, parts[i].slot.name) == 0)
            snprintf(own, sizeof own, "%s", parts[i].whole);
    for (const struct slot *s = NULL; (s = next_slot(s, c, layer));)
        if (!s->matrix && strcmp(own, s->name) == 0)
            p->rows = dim_of(c, &c->layer[CT_MAX(layer, 0)], s->rows);
    containers[kind]->name(p->name, w, c, own, layer);
}

void ct_gguf_place(struct ct_gguf_place *p, const struct ct_config *c, const char *slot)
{
    find_place(p, CT_FILE_GGUF, &(struct ct_weights){0}, c, slot);
}

void ct_hf_place(struct ct_gguf_place *p, const struct ct_weights *w, const struct ct_config *c,
                 const char *slot)
{
    find_place(p, CT_FILE_HF, w, c, slot);
}
