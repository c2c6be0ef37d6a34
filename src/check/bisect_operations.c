/* SPDX-License-Identifier: Apache-2.0 */
/* bisect_operations.c: the operations that are judged: their weights, channels and tensors. */
#include "check/bisect.h"

#include <stdlib.h>

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

    b->n_judged = ct_operations_of(n_layer);
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
