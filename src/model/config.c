/* SPDX-License-Identifier: Apache-2.0 */
/* config.c: what all dialects share: the dispatch, and the checks that hold for every member of the
 * family. */
#include "model/family.h"

static carat_status check_config(const struct ct_config *c, const struct ct_file *f, carat_error *err)
{
    const char *path = ct_file_path(f);

    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        if (l->head_dim % 2 || l->head_dim > CT_MAX_HEAD_DIM)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: head_dim is %d; carat runs even ones up to %d",
                           path, l->head_dim, CT_MAX_HEAD_DIM);
        if (l->n_head % l->n_kv_head)
            return ct_fail(err, CARAT_E_FORMAT, "%s: %d query heads cannot share %d KV heads evenly", path,
                           l->n_head, l->n_kv_head);
        const struct ct_layer_config *owner = &c->layer[l->kv_layer < 0 ? i : l->kv_layer];
        if (l->n_kv_head != owner->n_kv_head || l->head_dim != owner->head_dim)
            return ct_fail(err, CARAT_E_FORMAT,
                           "%s: layer %d is said to have %d KV heads of %d, but it reads those of layer %d, "
                           "which has %d of %d",
                           path, i, l->n_kv_head, l->head_dim, l->kv_layer, owner->n_kv_head,
                           owner->head_dim);
        if (l->attn_type == CT_LOCAL && c->attn[CT_LOCAL].window < 1)
            return ct_fail(err, CARAT_E_FORMAT,
                           "%s: layer %d is said to be local, but a model of architecture \"%s\" has no "
                           "sliding window",
                           path, i, c->architecture);
    }
    for (int i = 0; i < CT_ATTN_TYPES; i++)
        if (!(c->attn[i].rope_base > 1 && c->attn[i].rope_base < 1e12 && c->attn[i].rope_factor > 0 &&
              c->attn[i].rope_factor < 1e6))
            return ct_fail(err, CARAT_E_FORMAT, "%s: rope base %g with factor %g is out of range", path,
                           c->attn[i].rope_base, c->attn[i].rope_factor);
    return CARAT_OK;
}

carat_status ct_config_read(struct ct_config *c, const struct ct_file *f, carat_error *err)
{
    *c = (struct ct_config){.residual_scale = 1};
    if (ct_file_kind(f) == CT_FILE_GGUF)
        CT_TRY(ct_config_read_gguf(c, f, err));
    else if (ct_file_kind(f) == CT_FILE_SBS)
        CT_TRY(ct_config_read_sbs(c, f, err));
    else
        CT_TRY(ct_config_read_hf(c, f, err));
    if (c->embeds)
        c->max_context =
            CT_MIN(c->max_context, ct_architecture_named(ct_str_of(c->architecture))->most_tokens);
    return check_config(c, f, err);
}

void ct_config_cut(struct ct_config *c, int first, int n)
{
    assert(first >= 0 && n > 0 && first + n <= c->n_layer);
    for (int i = 0; i < n; i++) {
        c->layer[i] = c->layer[first + i];
        c->layer[i].kv_layer -= first;
    }
    c->n_layer = n;
    c->first_layer += first;
}
