/* SPDX-License-Identifier: Apache-2.0 */
/* bisect.h: what the files of carat_bisect share: bisect.c decides what is run, bisect_operations.c names
 * what a pass computes, bisect_pass.c runs two engines in step and adds errors up, bisect_judge.c says which
 * of them stand out. */
#ifndef CT_BISECT_H
#define CT_BISECT_H

#include "check/quality.h"
#include "engine/engine.h"

/* What a pass computes, in its order. */
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
    CT_OPS_BEHIND = CT_OP_HEAD - CT_OP_STREAMS_BACK + 1, /* all layers */
    CT_BISECT_ROWS = 16
};
#define CT_BISECT_BYTES ((size_t)56 << 20) /* of sums; the rows beside them are a few MiB */

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

/* An operation of one layer, or of none, in both engines. */
struct ct_judged {
    enum ct_operation op;
    int layer;            /* counted from the first that runs; -1: none */
    int width;            /* channels; 0: the models have no such operation */
    bool residual;        /* adds to what was there: its error is measured against what it adds */
    bool has_weight;      /* of the types below */
    enum ct_type type[2]; /* stored, of the reference and of the test */
    int attn_type;        /* of its layer */
    double *error, *size; /* [width] sums of squares while it is judged; else NULL */
    double carried[2];    /* the same over all channels, of an ordinary pass */
    carat_operation_error result;
};

/* How both engines computed what is judged. */
struct ct_bisect_modes {
    bool exact[2];
    enum ct_kv_type kv[2];
    int n_rows; /* that were compared */
};

struct ct_bisect {
    carat_engine *engine[2];
    const carat_bisect_options *o;
    const int32_t *tokens;
    int n, n_rows;
    int32_t row[CARAT_MOST_BISECT_ROWS]; /* [n_rows] positions that are compared, ascending */
    struct ct_judged *judged;            /* [n_judged] in the order of a pass */
    int n_judged;
    bool replaces;      /* the test goes on with the reference's values */
    size_t done, total; /* tokens, for who watches */
};

/* The operation of a layer, or of none. */
static inline struct ct_judged *ct_bisect_at(const struct ct_bisect *b, enum ct_operation op, int layer)
{
    if (op < CT_OP_PREDICT)
        return &b->judged[op];
    if (op >= CT_OP_STREAMS_BACK)
        return &b->judged[b->n_judged - CT_OPS_BEHIND + (op - CT_OP_STREAMS_BACK)];
    return &b->judged[layer * CT_OPS_OF_LAYER + (int)op];
}

/* bisect_operations.c: makes judged[n_judged]. E_MEMORY. */
carat_status ct_bisect_operations(struct ct_bisect *b, carat_error *err);

/* bisect_pass.c: both engines evaluate the tokens, and sums are added up. E_MEMORY, E_CONTEXT, E_NUMERIC,
 * E_CANCELLED, E_BUSY. */
carat_status ct_bisect_pass(struct ct_bisect *b, carat_error *err);

/* bisect_judge.c: the largest error of a channel, and the own error, from the sums of an operation; room
 * has as many numbers as it has channels. */
void ct_bisect_channels(struct ct_judged *j, double *room);
/* Which of n operations are flagged, from their numbers alone. E_MEMORY. */
carat_status ct_bisect_judge(struct ct_judged *judged, int n, const struct ct_bisect_modes *modes,
                             carat_error *err);

/* What carat_quality.h says of carat_bisect and carat_bisect_rows; pointers are not NULL. */
carat_status ct_bisect(carat_engine *ref, carat_engine *test, const int32_t *tokens, int n,
                       const carat_bisect_options *options, carat_operation_error *first, carat_error *err);
int ct_bisect_rows(const carat_engine *ref, const carat_engine *test, int n, int rows,
                   int32_t row[CARAT_MOST_BISECT_ROWS]);

#endif
