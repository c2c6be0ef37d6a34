/* SPDX-License-Identifier: Apache-2.0 */
/* weights_gguf.c: the tensors of a model in GGUF, named as weights.c names their slots; and the weights of
 * a packed file, which have these names and lie as kernels read them. Its counts were made when it was
 * written, and its configuration is that of its origin. */
#include "model/weights_container.h"

#include <float.h>
#include <stdlib.h>

static void packed_weight_name(char name[CT_TENSOR_NAME], const struct ct_weights *w,
                               const struct ct_config *c, const char *slot, int layer)
{
    (void)w;
    (void)c;
    if (layer < 0)
        snprintf(name, CT_TENSOR_NAME, "%s.weight", slot);
    else
        snprintf(name, CT_TENSOR_NAME, "blk.%d.%s.weight", layer, slot);
}

/* Vectors that are called by the matrix that they go with: of the slot, of the tensor. */
static const char *const named_beside[][2] = {{"ffn_gate_inp_scale", "ffn_gate_inp.scale"},
                                              {"ffn_down_exps_scale", "ffn_down_exps.scale"}};

/* The same, but for those, and for a matrix that takes the place of a head. */
static void gguf_tensor_name(char name[CT_TENSOR_NAME], const struct ct_weights *w, const struct ct_config *c,
                             const char *slot, int layer)
{
    packed_weight_name(name, w, c, c->vector_inside && strcmp(slot, "dense_2") == 0 ? "output" : slot, layer);
    for (size_t i = 0; i < CT_COUNT(named_beside); i++)
        if (strcmp(slot, named_beside[i][0]) == 0)
            snprintf(name, CT_TENSOR_NAME, "blk.%d.%s", layer, named_beside[i][1]);
    if (c->backbone)
        ct_drafter_tensor_name(name, w, slot);
}

/* The tensor beside t of that ending; NULL: there is none, or it has a slot. */
static const struct ct_tensor *take_beside(struct ct_binding *b, const struct ct_tensor *t,
                                           const char *ending)
{
    char name[CT_TENSOR_NAME];

    snprintf(name, sizeof name, "%.*s%s", (int)(strlen(t->name) - strlen(".weight")), t->name, ending);
    for (size_t i = 0; i < CT_COUNT(named_beside); i++)
        if (strstr(name, named_beside[i][1]))
            return NULL;
    return ct_binding_take(b, name);
}

/* Files of NVFP4 have one for each matrix. What its activations would be divided by is for those who
 * quantise them so. */
static carat_status take_factor(float *factor, struct ct_binding *b, const struct ct_tensor *t)
{
    const struct ct_tensor *s = take_beside(b, t, ".scale");
    const int n = CT_MAX(b->parts, 1);
    char shape[96];

    take_beside(b, t, ".input_scale");
    if (!s)
        return CARAT_OK;
    if (s->type != CT_F32 || s->n_dim != 1 || s->dim[0] != n)
        return ct_fail(
            b->err, CARAT_E_FORMAT,
            "%s: tensor %s at byte %llu has shape [%s] and type %s, expected [%d] of F32, the factor%s "
            "of %s",
            s->file, s->name, (unsigned long long)s->offset, ct_shape_text(s, shape), s->type_name, n,
            n > 1 ? "s" : "", t->name);
    memcpy(factor, s->data + (size_t)b->part * sizeof *factor, sizeof *factor);
    if (!(*factor > 0 && *factor <= FLT_MAX))
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: tensor %s has %g at byte %llu, expected a positive number, the factor of %s",
                       s->file, s->name, (double)*factor,
                       (unsigned long long)s->offset + (unsigned long long)b->part * sizeof *factor, t->name);
    return CARAT_OK;
}

float ct_embed_scale_bf16(float root, enum ct_type stored)
{
    (void)stored;
    return ct_bf16_to_f32(ct_f32_to_bf16(root));
}

/* Matrices of Gemma 3n that lie one behind the other in a tensor; the names of their slots end in numbers. */
static carat_status take_slice(struct ct_tensor *t, struct ct_binding *b, const char *slot)
{
    const size_t stem = strcspn(slot, ".");
    const int n = CT_STREAMS - 1, at = atoi(slot + stem + 1);
    char name[CT_TENSOR_NAME];

    snprintf(name, sizeof name, "%.*s.weight", (int)stem, slot);
    const struct ct_tensor *whole = ct_binding_take(b, name);
    if (!whole)
        return CARAT_OK;
    if (whole->n_dim != 3 || whole->dim[0] != n)
        return ct_fail(
            b->err, CARAT_E_FORMAT,
            "%s: tensor %s at byte %llu has %d dimensions, the first of %lld, expected 3, the first "
            "of %d",
            whole->file, whole->name, (unsigned long long)whole->offset, whole->n_dim,
            (long long)whole->dim[0], n);
    *t = *whole;
    t->n_dim = 2;
    t->dim[0] = whole->dim[1];
    t->dim[1] = whole->dim[2];
    t->size = whole->size / (size_t)n;
    t->data += (size_t)at * t->size;
    t->offset += (size_t)at * t->size;
    return CARAT_OK;
}

/* The table of inputs without rows that no id takes. */
static void take_table(struct ct_tensor *t, struct ct_binding *b, const char *slot)
{
    char name[CT_TENSOR_NAME];

    gguf_tensor_name(name, b->w, b->c, slot, -1);
    const struct ct_tensor *whole = ct_file_find(b->f, name);
    if (!whole || whole->n_dim != 2 || whole->dim[0] <= b->c->ple_rows || whole->dim[0] < 1)
        return;
    ct_binding_take(b, name);
    *t = *whole;
    t->dim[0] = b->c->ple_rows;
    t->size = whole->size / (size_t)whole->dim[0] * (size_t)t->dim[0];
}

static carat_status make_tensor(struct ct_tensor *t, struct ct_binding *b, const char *slot, int layer)
{
    char name[CT_TENSOR_NAME];

    CT_TRY(ct_make_ordered(t, b, slot));
    if (t->name || b->c->backbone)
        return CARAT_OK;
    gguf_tensor_name(name, b->w, b->c, slot, layer);
    CT_TRY(ct_make_palette(t, b, name));
    if (t->name)
        return CARAT_OK;
    if (strchr(slot, '.'))
        return take_slice(t, b, slot);
    if (layer < 0 && strcmp(slot, "per_layer_token_embd") == 0)
        take_table(t, b, slot);
    return CARAT_OK;
}

const struct ct_container ct_container_gguf = {
    .begin = ct_drafter_find_names,
    .name = gguf_tensor_name,
    .find = ct_file_find,
    .make = make_tensor,
    .factor = take_factor,
    .parts_apart = true,
    .counts_unused = true,
    .key = {[CT_DIM_ONE] = "1",
            [CT_DIM_HIDDEN] = "embedding_length",
            [CT_DIM_Q] = "attention.head_count * attention.key_length",
            [CT_DIM_KV] = "attention.head_count_kv * attention.key_length",
            [CT_DIM_FFN] = "feed_forward_length",
            [CT_DIM_HEAD] = "attention.key_length",
            [CT_DIM_VOCAB] = "the rows of token_embd.weight",
            [CT_DIM_PLE] = "embedding_length_per_layer_input",
            [CT_DIM_PLE_ALL] = "block_count * embedding_length_per_layer_input",
            [CT_DIM_PLE_ROWS] = "its own rows",
            [CT_DIM_STREAMS] = "altup.num_inputs",
            [CT_DIM_COEFS] = "altup.num_inputs * altup.num_inputs",
            [CT_DIM_LAUREL] = "the rows of blk.0.laurel_l.weight",
            [CT_DIM_EXPERTS] = "expert_count",
            [CT_DIM_EXPERT_FFN] = "expert_feed_forward_length",
            [CT_DIM_BACKBONE] = "the width of the model's states",
            [CT_DIM_TWO_BACKBONES] = "twice the width of the model's states",
            [CT_DIM_CENTROIDS] = "the number of centroids",
            [CT_DIM_DENSE] = "dense_2_feat_out, or embedding_length_out",
            [CT_DIM_SECOND_DENSE] = "dense_3_feat_out"},
    .layers = "block_count",
    .embed_scale = ct_embed_scale_bf16,
};

enum { MOST_BYTES = 8 }; /* that any type takes for a value */

static carat_status take_counts(struct ct_binding *b)
{
    const struct ct_packed *p = ct_file_packed(b->f);

    if (b->n_found != p->n_weight)
        return ct_fail(b->err, CARAT_E_FORMAT,
                       "%s: the packed file has %u weights, expected %u from the configuration",
                       ct_file_path(b->f), p->n_weight, b->n_found);
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

const struct ct_container ct_container_packed = {
    .name = packed_weight_name,
    .find = ct_file_weight,
    .prepared = true,
    .finish = take_counts,
};
