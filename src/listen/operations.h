/* SPDX-License-Identifier: Apache-2.0 */
/* operations.h: the operations of a pass by name: which there are, in which order, and which event of the
 * backend tells of which. Bisecting and traces of replays name what they find by it. */
#ifndef CT_OPERATIONS_H
#define CT_OPERATIONS_H

#include "listen/listener.h"

/* Operations that a pass computes, in its order. */
enum ct_operation {
    CT_OP_EMBED,
    CT_OP_INPUTS_PROJ, /* of all layers */
    CT_OP_INPUTS,
    CT_OP_STREAMS,
    CT_OP_PREDICT, /* the first of a layer */
    CT_OP_ATTN_NORM,
    CT_OP_Q,
    CT_OP_K,
    CT_OP_V,
    CT_OP_LAUREL_LEFT,
    CT_OP_LAUREL_RIGHT,
    CT_OP_LAUREL_NORM,
    CT_OP_Q_NORM,
    CT_OP_K_NORM,
    CT_OP_V_NORM,
    CT_OP_Q_ROPE,
    CT_OP_K_ROPE,
    CT_OP_ATTEND,
    CT_OP_O,
    CT_OP_ATTN_POST_NORM,
    CT_OP_LAUREL_SUM,
    CT_OP_FFN_NORM,
    CT_OP_GATE,
    CT_OP_UP,
    CT_OP_GEGLU,
    CT_OP_DOWN,
    CT_OP_MLP_POST_NORM,
    CT_OP_ROUTER_NORM,
    CT_OP_ROUTER,
    CT_OP_EXPERTS_NORM,
    CT_OP_EXPERTS,
    CT_OP_EXPERTS_POST_NORM,
    CT_OP_FFN_POST_NORM,
    CT_OP_CORRECT,
    CT_OP_INPUT_GATE,
    CT_OP_INPUT_GEGLU,
    CT_OP_INPUT_PROJ,
    CT_OP_INPUT_NORM,
    CT_OP_OUT_SCALE, /* the last of one */
    CT_OP_STREAMS_BACK,
    CT_OP_FINAL_NORM,
    CT_OP_HEAD,
};
enum {
    CT_OPS_OF_LAYER = CT_OP_OUT_SCALE - CT_OP_PREDICT + 1,
    CT_OPS_BEHIND = CT_OP_HEAD - CT_OP_STREAMS_BACK + 1 /* all layers */
};

struct ct_operation_info {
    const char *name;
    int place;        /* of its weight in struct ct_layer, in bytes; CT_NO_LAYER: it has none there */
    int channels;     /* of the matrix there whose rows are its channels; CT_NO_LAYER: as the hidden state */
    const char *verb; /* whose event tells of it; NULL: told of with another operation */
    bool product;     /* by a matrix */
    /* What it makes is the stream that a layer works on; by adding to that; in several outputs, which are all
     * its own, where others' following ones are those of the operations that follow. */
    bool stream, adds, several;
};
extern const struct ct_operation_info ct_operations[];

/* Its number in the order of a pass over n_layer layers; layer: counted from the first that runs. */
static inline int ct_operation_at(int op, int layer, int n_layer)
{
    return op < CT_OP_PREDICT        ? op
           : op < CT_OP_STREAMS_BACK ? layer * (int)CT_OPS_OF_LAYER + op
                                     : (n_layer - 1) * (int)CT_OPS_OF_LAYER + op;
}
/* The number of operations. */
static inline int ct_operations_of(int n_layer)
{
    return ct_operation_at(CT_OP_HEAD, 0, n_layer) + 1;
}
/* The operation whose result the event has written, the first where there are several; -1: none, or the
 * head's, which tells of itself by rows of logits. */
int ct_operation_of(const carat_engine *e, const struct ct_event *event);
/* The layer of an operation, as ct_operation_at counts; -1: it has none. */
static inline int ct_operation_layer(const carat_engine *e, int op)
{
    return op >= CT_OP_PREDICT && op <= CT_OP_OUT_SCALE ? e->pass.layer : -1;
}

#endif
