/* SPDX-License-Identifier: Apache-2.0 */
/* weights_q8.c: weights on their way into a backend, as they are stored or, where it is asked for, with
 * matrices of floats as Q8_0 (NUMERICS.md section 4), which makes another model of them. Which weights there
 * are: weights.c.
 *
 * Nothing of it is written anywhere: each start makes it again. */
#include "model/weights.h"

#include "quant/encode.h"

static bool becomes_q8(const struct ct_backend *b, const struct ct_weight *w)
{
    const struct ct_type_info *info = ct_type_info(w->type);

    return b->floats_as_q8 && w->data && w->rows > 1 && info->block == 1 && info->bytes > 1 &&
           w->layout != CT_LAYOUT_TABLE && w->layout != CT_LAYOUT_PALETTE && w->layout != CT_LAYOUT_NIBBLES &&
           !w->f32_input && w->cols % CT_GROUP == 0;
}

struct ct_weight ct_weight_form(const struct ct_backend *b, struct ct_weight w)
{
    if (becomes_q8(b, &w)) {
        w.type = CT_Q8_0;
        w.layout = CT_LAYOUT_ROWS;
        w.scale = 1;
        (void)ct_type_row_bytes(CT_Q8_0, (size_t)w.cols, &w.row_bytes);
    }
    return w;
}

carat_status ct_weight_plan(struct ct_backend *b, const struct ct_weight *w, carat_error *err)
{
    if (!becomes_q8(b, w))
        return b->verb.plan_weight(b, w, err);
    b->verb.plan_made(b, CT_Q8_0, w->rows, w->cols);
    return CARAT_OK;
}

static void q8_row(void *user, int row, const float *values, void *blocks)
{
    const int *cols = user;

    (void)row;
    ct_encode(CT_Q8_0, blocks, values, (size_t)*cols);
}

struct ct_weight ct_weight_bring(struct ct_backend *b, struct ct_weight w)
{
    if (!becomes_q8(b, &w))
        return b->verb.pack_weight(b, w);
    const struct ct_weight made = b->verb.take_made(b, CT_Q8_0, w.rows, w.cols);
    b->verb.make(b, &made, &w, 0, &(struct ct_maker){q8_row, &w.cols}); /* load_end says if it stopped */
    b->verb.give_back(b, &w);
    return made;
}
