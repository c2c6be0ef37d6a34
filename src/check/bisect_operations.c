/* SPDX-License-Identifier: Apache-2.0 */
/* bisect_operations.c: the operations of a pass: their names, their weights and channels, and the events that
 * tell of them. */
#include "check/bisect.h"

#include <stdlib.h>

#define NONE          CT_NO_LAYER
#define PLACE(weight) (int)offsetof(struct ct_layer, weight)
const struct ct_operation_info ct_operations[] = {
    [CT_OP_EMBED] = {"embed", NONE, NONE, "embed", .stream = true},
    [CT_OP_INPUTS_PROJ] = {"inputs_proj", NONE, NONE, NULL, true, .stream = false},
    [CT_OP_INPUTS] = {"inputs", NONE, NONE, "embed_add", .product = false},
    [CT_OP_STREAMS] = {"altup_proj", NONE, NONE, NULL, true, .stream = false},
    [CT_OP_PREDICT] = {"altup_predict", PLACE(altup_predict), PLACE(down), "altup_predict", .stream = true,
                       .several = true},
    [CT_OP_ATTN_NORM] = {"attn_norm", PLACE(attn_norm), NONE, "norm", .product = false},
    [CT_OP_Q] = {"q", PLACE(q), PLACE(q), "project", true, .stream = false},
    [CT_OP_K] = {"k", PLACE(k), PLACE(k), NULL, true, .stream = false},
    [CT_OP_V] = {"v", PLACE(v), PLACE(v), NULL, true, .stream = false},
    [CT_OP_LAUREL_LEFT] = {"laurel_left", PLACE(laurel_left), PLACE(laurel_left), "project", true,
                           .stream = false},
    [CT_OP_LAUREL_RIGHT] = {"laurel_right", PLACE(laurel_right), PLACE(laurel_right), "project", true,
                            .stream = false},
    [CT_OP_LAUREL_NORM] = {"laurel_norm", PLACE(laurel_norm), PLACE(laurel_right), "residual_norm",
                           .product = false},
    [CT_OP_Q_NORM] = {"q_norm", PLACE(q_norm), PLACE(q), "qk_norm", .product = false},
    [CT_OP_K_NORM] = {"k_norm", PLACE(k_norm), PLACE(k), "qk_norm", .product = false},
    [CT_OP_V_NORM] = {"v_norm", PLACE(v_norm), PLACE(v), "qk_norm", .product = false},
    [CT_OP_Q_ROPE] = {"q_rope", NONE, PLACE(q), "rope", .product = false},
    [CT_OP_K_ROPE] = {"k_rope", NONE, PLACE(k), NULL, .product = false},
    [CT_OP_ATTEND] = {"attend", NONE, PLACE(q), "attend", .product = false},
    [CT_OP_O] = {"o", PLACE(o), NONE, "project", true, .stream = false},
    [CT_OP_ATTN_POST_NORM] = {"attn_post_norm", PLACE(attn_post_norm), NONE, "residual_norm", .stream = true,
                              .adds = true},
    [CT_OP_LAUREL_SUM] = {"laurel_sum", PLACE(halves), PLACE(laurel_right), "scale", .stream = true},
    [CT_OP_FFN_NORM] = {"ffn_norm", PLACE(ffn_norm), NONE, "norm", .product = false},
    [CT_OP_GATE] = {"gate", PLACE(gate), PLACE(gate), "project", true, .stream = false},
    [CT_OP_UP] = {"up", PLACE(up), PLACE(up), "project", true, .stream = false},
    [CT_OP_GEGLU] = {"geglu", PLACE(gate), PLACE(gate), "project_geglu", true, .stream = false},
    [CT_OP_DOWN] = {"down", PLACE(down), NONE, "project", true, .stream = false},
    [CT_OP_MLP_POST_NORM] = {"mlp_post_norm", PLACE(mlp_post_norm), PLACE(down), "qk_norm", .product = false},
    [CT_OP_ROUTER_NORM] = {"router_norm", PLACE(router_norm), PLACE(down), "norm", .product = false},
    [CT_OP_ROUTER] = {"router", PLACE(router), PLACE(router), "project", true, .stream = false},
    [CT_OP_EXPERTS_NORM] = {"experts_norm", PLACE(experts_norm), PLACE(down), "norm", .product = false},
    [CT_OP_EXPERTS] = {"experts", PLACE(experts.scale), PLACE(down), "experts", true, .stream = false},
    [CT_OP_EXPERTS_POST_NORM] = {"experts_post_norm", PLACE(experts_post_norm), PLACE(down), "residual_norm",
                                 .product = false},
    [CT_OP_FFN_POST_NORM] = {"ffn_post_norm", PLACE(ffn_post_norm), NONE, "residual_norm", .stream = true,
                             .adds = true},
    [CT_OP_CORRECT] = {"altup_correct", PLACE(altup_correct), PLACE(down), "altup_correct", .several = true},
    [CT_OP_INPUT_GATE] = {"input_gate", PLACE(input_gate), PLACE(input_gate), "project", true,
                          .stream = false},
    [CT_OP_INPUT_GEGLU] = {"input_geglu", NONE, PLACE(input_gate), "gelu_times", .product = false},
    [CT_OP_INPUT_PROJ] = {"input_proj", PLACE(input_proj), PLACE(input_proj), "project", true,
                          .stream = false},
    [CT_OP_INPUT_NORM] = {"input_norm", PLACE(input_norm), PLACE(input_proj), "residual_norm", .stream = true,
                          .adds = true},
    [CT_OP_OUT_SCALE] = {"out_scale", PLACE(out_scale), PLACE(down), "scale", .stream = true},
    [CT_OP_STREAMS_BACK] = {"altup_unproj", NONE, NONE, NULL, true, .stream = false},
    [CT_OP_FINAL_NORM] = {"final_norm", NONE, NONE, "norm", .product = false},
    [CT_OP_HEAD] = {"head", NONE, NONE, NULL, true, .stream = false},
};

static const struct ct_weight *weight_at(const struct ct_layer *l, int place)
{
    return (const struct ct_weight *)(const void *)((const char *)l + place);
}

/* Channels of an operation; 0: the models have none such. */
static int width_of(const carat_engine *e, const struct ct_layer *l, enum ct_operation op)
{
    const struct ct_operation_info *o = &ct_operations[op];

    if (op == CT_OP_HEAD)
        return e->config.n_vocab;
    if (op == CT_OP_INPUTS || op == CT_OP_INPUTS_PROJ)
        return e->pass.inputs.cols;
    if (op == CT_OP_STREAMS || op == CT_OP_STREAMS_BACK)
        return e->pass.stream[0].cols;
    if (o->channels == CT_NO_LAYER)
        return e->config.hidden;
    const struct ct_weight *w = weight_at(l, o->channels);
    bool absent = !w->data || (o->place != CT_NO_LAYER && !weight_at(l, o->place)->data);
    return absent ? 0 : w->rows;
}

/* The weight of an operation; NULL: it has none. GELU times up is told by gate's type, and experts by that of
 * the first one's. */
static const struct ct_weight *operation_weight(const carat_engine *e, enum ct_operation op, int layer)
{
    const struct ct_weights *w = &e->model->weights;

    const struct ct_weight *const of_model[CT_OP_HEAD + 1] = {
        [CT_OP_EMBED] = &w->embed,
        [CT_OP_INPUTS_PROJ] = &w->ple_proj,
        [CT_OP_INPUTS] = &w->ple,
        [CT_OP_STREAMS] = &w->stream_proj[0],
        [CT_OP_STREAMS_BACK] = &w->stream_unproj[0],
        [CT_OP_FINAL_NORM] = &w->final_norm,
        [CT_OP_HEAD] = w->tied ? &w->embed : &w->head,
    };

    if (of_model[op])
        return of_model[op];
    const int place = ct_operations[op].place;
    const struct ct_layer *l = &w->layer[e->first_layer + layer];
    if (op == CT_OP_EXPERTS)
        return l->experts.n ? &l->experts.expert->gate : NULL;
    return place == CT_NO_LAYER ? NULL : weight_at(l, place);
}

static void name_operation(struct ct_bisect *b, enum ct_operation op, int layer)
{
    const carat_engine *e = b->engine[CT_REF];
    const struct ct_layer *l = layer >= 0 ? &e->weights.layer[layer] : NULL;
    struct ct_judged *j = ct_bisect_at(b, op, layer);

    *j =
        (struct ct_judged){.op = op,
                           .layer = layer,
                           .width = width_of(e, l, op),
                           /* of Gemma 3n the other streams are told of the input */
                           .residual = ct_operations[op].adds && !(op == CT_OP_INPUT_NORM && e->config.altup),
                           .attn_type = l ? l->c.attn_type : 0};
    for (int i = 0; i < 2; i++) {
        const struct ct_weight *w = operation_weight(b->engine[i], op, layer);
        j->has_weight = w && w->data;
        j->type[i] = j->has_weight ? w->type : CT_F32;
    }
    j->result = (carat_operation_error){.size = sizeof j->result,
                                        .layer = layer < 0 ? -1 : e->first_layer + layer,
                                        .operation = ct_operations[op].name,
                                        .width = j->width,
                                        .reason = ""};
}

/* Names the tensor of an operation of the test. */
static carat_status name_tensor(void *user, const char *slot, const char *tensor, const struct ct_weight *w)
{
    struct ct_bisect *b = user;

    for (int i = 0; i < b->n_judged; i++) {
        struct ct_judged *j = &b->judged[i];
        const bool several = j->op == CT_OP_GEGLU || j->op == CT_OP_EXPERTS; /* no tensor tells which */
        if (w->data && !several && operation_weight(b->engine[CT_TEST], j->op, j->layer) == w)
            snprintf(j->result.tensor, sizeof j->result.tensor, "%s", *tensor ? tensor : slot);
    }
    return CARAT_OK;
}

carat_status ct_bisect_operations(struct ct_bisect *b, carat_error *err)
{
    const carat_model *model = b->engine[CT_TEST]->model;
    const int n_layer = b->engine[CT_REF]->config.n_layer;

    b->n_judged = CT_OP_PREDICT + n_layer * CT_OPS_OF_LAYER + CT_OPS_BEHIND;
    b->judged = calloc((size_t)b->n_judged, sizeof *b->judged);
    if (!b->judged)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for the errors of %d operations", b->n_judged);
    for (int op = 0; op < CT_OP_PREDICT; op++)
        name_operation(b, (enum ct_operation)op, -1);
    for (int i = 0; i < n_layer; i++)
        for (int op = CT_OP_PREDICT; op <= CT_OP_OUT_SCALE; op++)
            name_operation(b, (enum ct_operation)op, i);
    for (int op = CT_OP_STREAMS_BACK; op <= CT_OP_HEAD; op++)
        name_operation(b, (enum ct_operation)op, -1);
    return ct_weights_walk(&model->weights, &model->config, model->file, name_tensor, b);
}
