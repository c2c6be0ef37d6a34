/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_config.c: any bytes as the config.json of a directory in memory: refused with a message, or a
 * configuration whose every number lies where the rooms above rely on it. */
#include <stdlib.h>

#include "model/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check(const struct ct_config *c)
{
    require(c->architecture && c->n_layer >= 1 && c->n_layer <= CT_MAX_LAYERS);
    require(c->hidden >= 1 && c->hidden <= 1 << 17 && c->n_vocab >= 1 && c->n_vocab <= 1 << 24);
    require(c->max_context >= 1 && c->n_text_vocab >= 0);
    require(c->backbone >= 0 && c->backbone <= 1 << 17 && c->n_near >= 0 && c->n_near <= c->n_centroid);
    require(c->norm_eps >= 0 && c->norm_eps <= 1 && c->logit_cap >= 0 && c->logit_cap <= 1e6f);
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        require(l->attn_type >= 0 && l->attn_type < CT_ATTN_TYPES);
        require(l->n_kv_head >= 1 && l->n_head <= 1024 && l->n_head % l->n_kv_head == 0);
        require(l->head_dim >= 2 && l->head_dim <= CT_MAX_HEAD_DIM && l->head_dim % 2 == 0);
        require(l->head_dim == c->attn[l->attn_type].head_dim);
        require(l->ffn >= 1 && l->ffn <= 2 << 20); /* where K and V are shared, twice what is said */
        require(l->attn_scale > 0 && l->attn_scale <= 1e6f && l->attn_cap >= 0 && l->attn_cap <= 1e6f);
        require(l->n_expert >= 0 && l->n_expert <= CT_MOST_EXPERTS && l->n_used <= l->n_expert);
        require(l->n_expert == 0 || (l->n_used >= 1 && l->expert_ffn >= 1 && l->expert_ffn <= 1 << 20));
        require(c->backbone ? l->kv_layer == -1 : l->kv_layer >= 0 && l->kv_layer <= i);
        require(l->attn_type != CT_LOCAL || c->attn[CT_LOCAL].window >= 1);
    }
    for (int i = 0; i < CT_ATTN_TYPES; i++) {
        const struct ct_attn *k = &c->attn[i];
        require(k->rotated >= 0 && k->rotated <= k->head_dim / 2);
        require(k->rope_base > 1 && k->rope_base <= 1e12 && k->rope_factor > 0 && k->rope_factor <= 1e6);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t weights[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
    const struct ct_part part[] = {
        {"config.json", {data, size}},
        {"model.safetensors", {weights, sizeof weights}},
    };
    struct ct_file *f;
    struct ct_config c;
    carat_error err;
    if (ct_file_open_memory(&f, part, 2, &err) != CARAT_OK)
        return 0;
    if (ct_config_read(&c, f, &err) == CARAT_OK)
        check(&c);
    else
        require(err.message[0]);
    ct_file_close(f);
    return 0;
}
