/* SPDX-License-Identifier: Apache-2.0 */
/* operations.c: see operations.h. */
#include "listen/operations.h"

#include <stddef.h>

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

int ct_operation_of(const carat_engine *e, const struct ct_event *event)
{
    const struct ct_weights *w = &e->weights;
    int place = event->n ? ct_weight_place(e, event->w[0]) : CT_NO_LAYER;

    if (strcmp(event->verb, "rope") == 0)
        return event->out[0].handle == e->pass.q.handle ? CT_OP_Q_ROPE : CT_OP_K_ROPE;
    if (strcmp(event->verb, "gelu_times") ==
        0) /* of the feed-forward, where gates were cut off, or its input */
        return event->out[0].handle == e->pass.ffn.handle ? CT_OP_GEGLU : CT_OP_INPUT_GEGLU;
    if (event->n && event->w[0] == &w->ple_proj)
        return CT_OP_INPUTS_PROJ;
    for (int i = 0; i < CT_STREAMS - 1 && event->n; i++)
        if (event->w[0] == &w->stream_proj[i] || event->w[0] == &w->stream_unproj[i])
            return event->w[0] == &w->stream_proj[i] ? CT_OP_STREAMS : CT_OP_STREAMS_BACK;
    for (int op = 0; op <= CT_OP_HEAD; op++) {
        const struct ct_operation_info *o = &ct_operations[op];
        if (o->verb && strcmp(o->verb, event->verb) == 0 && o->place == place)
            return op;
    }
    return -1;
}
