/* SPDX-License-Identifier: Apache-2.0 */
/* drafter_memory.c: what a drafter works in, and its weights there. What happens in it: drafter.c. */
#include "model/config_drafter.h"
#include "model/drafter.h"

/* Rows of panels that hold the groups of a step, at most. */
static size_t most_covered(const struct ct_config *c)
{
    const size_t size = (size_t)(c->n_vocab / c->n_centroid);
    return (size_t)c->n_near * (ct_round_up(size, CT_PANEL_ROWS) + CT_PANEL_ROWS);
}

void ct_drafter_lay_out(struct ct_drafter *d, struct ct_backend *b, const struct ct_config *c,
                        const struct ct_config *model, const struct ct_weights *reads)
{
    const size_t vocab = (size_t)c->n_vocab, near = (size_t)c->n_near;
    int q = 0, ffn = 0;

    for (int i = 0; i < c->n_layer; i++) {
        q = CT_MAX(q, c->layer[i].n_head * c->layer[i].head_dim);
        ffn = CT_MAX(ffn, c->layer[i].ffn);
    }
    *d = (struct ct_drafter){.backend = b,
                             .config = c,
                             .model = model,
                             .reads = reads,
                             .e = b->verb.alloc(b, 1, c->backbone),
                             .pair = b->verb.alloc(b, 1, 2 * c->backbone),
                             .x = b->verb.alloc(b, 1, c->hidden),
                             .h = b->verb.alloc(b, 1, c->hidden),
                             .q = b->verb.alloc(b, 1, q),
                             .a = b->verb.alloc(b, 1, q),
                             .ffn = b->verb.alloc(b, 1, ffn),
                             .state = b->verb.alloc(b, 1, c->backbone)};
    d->joined = b->verb.alloc_host(b, 2 * (size_t)c->backbone * sizeof *d->joined);
    d->weights.layer = b->verb.alloc_host(b, (size_t)c->n_layer * sizeof *d->weights.layer);
    d->value = b->verb.alloc_host(b, (near ? most_covered(c) : vocab) * sizeof *d->value);
    if (!near)
        return;
    d->near = b->verb.alloc(b, 1, c->n_centroid);
    d->score = b->verb.alloc_host(b, (size_t)c->n_centroid * sizeof *d->score);
    d->group = b->verb.alloc_host(b, near * sizeof *d->group);
    d->range = b->verb.alloc_host(b, near * sizeof *d->range);
    d->id = b->verb.alloc_host(b, near * (vocab / (size_t)c->n_centroid) * sizeof *d->id);
    d->ordered = b->verb.alloc_host(b, vocab * sizeof *d->ordered);
}

void ct_drafter_load(struct ct_drafter *d, const struct ct_weights *stored, const struct ct_kv_cache *cache)
{
    const struct ct_config *c = d->config;
    const float *id = stored->ordering.data;

    ct_weights_pack(&d->weights, stored, c, d->weights.layer, NULL, d->backend, false);
    for (int i = 0; i < c->n_layer; i++)
        d->weights.layer[i].kv = &cache->layer[ct_drafter_owner(d->model, c->layer[i].attn_type)];
    for (int i = 0; i < c->n_vocab && c->n_centroid; i++)
        d->ordered[i] = (int32_t)id[i];
}
