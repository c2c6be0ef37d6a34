/* SPDX-License-Identifier: Apache-2.0 */
/* weights_made.c: small weights that no file has: factors that follow from widths, and ones. */
#include "model/weights_container.h"

/* What projects the stream to the inputs of layers is divided by the root of its width. */
static carat_status bind_ple_scales(struct ct_binding *b)
{
    const struct ct_config *c = b->c;
    float *scale = ct_arena_push(b->arena, 1, sizeof *scale);

    if (!scale)
        return ct_no_memory(b->err, ct_file_path(b->f));
    *scale = ct_root_of_width(c);
    b->c->ple_scale = b->origin->embed_scale(__builtin_sqrtf((float)c->ple_width), b->w->ple.type);
    b->w->ple_scale = ct_made_vector(scale, 1);
    return CARAT_OK;
}

/* What two and four streams are joined by. */
static carat_status bind_shares(struct ct_binding *b)
{
    float *share = ct_arena_push(b->arena, 2, sizeof *share);

    if (!share)
        return ct_no_memory(b->err, ct_file_path(b->f));
    share[0] = 0.70710678f;
    share[1] = 0.25f;
    for (int i = 0; i < b->c->n_layer; i++)
        b->w->layer[i].halves = ct_made_vector(&share[0], 1);
    b->w->quarter = ct_made_vector(&share[1], 1);
    return CARAT_OK;
}

/* The norm of V has no weight: it gets ones, since times 1 is exact. */
static carat_status bind_ones(struct ct_binding *b)
{
    int widest = 0;

    for (int i = 0; i < b->c->n_layer; i++)
        widest = CT_MAX(widest, b->c->layer[i].head_dim);
    float *ones = ct_arena_push(b->arena, (size_t)widest, sizeof *ones);
    if (!ones)
        return ct_no_memory(b->err, ct_file_path(b->f));
    for (int i = 0; i < widest; i++)
        ones[i] = 1;
    for (int i = 0; i < b->c->n_layer; i++)
        if (b->c->layer[i].kv_layer == i)
            b->w->layer[i].v_norm = ct_made_vector(ones, b->c->layer[i].head_dim);
    return CARAT_OK;
}

carat_status ct_bind_made(struct ct_binding *b)
{
    if (b->c->v_norms)
        CT_TRY(bind_ones(b));
    if (b->c->ple_width)
        CT_TRY(bind_ple_scales(b));
    return b->c->altup ? bind_shares(b) : CARAT_OK;
}
