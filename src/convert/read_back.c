/* SPDX-License-Identifier: Apache-2.0 */
/* read_back.c: see read_back.h. */
#include "convert/read_back.h"

enum { SHAPES = 2 }; /* facts that tensors depend on, the first ones */

/* That it is a model, with its vocabulary and all of its tensors. */
static carat_status open_whole(const struct ct_conversion *v, const char *part, carat_error *err)
{
    const carat_model_options o = {.size = sizeof o, .drafter_alone = v->m->drafts};
    struct carat_model *m = NULL;

    CT_TRY(ct_model_open(&m, part, &o, err));
    carat_model_close(m);
    return CARAT_OK;
}

carat_status ct_read_back(struct ct_conversion *v, const char *part, carat_error *err)
{
    const struct ct_config *c = &v->m->config;
    struct ct_config *got = ct_arena_push(&v->arena, 1, sizeof *got);
    struct ct_file *f = NULL;

    /* who sets keys wants other facts, but those that shape tensors */
    const bool all = v->o->n_set == 0;

    if (!got)
        return ct_no_memory(err, v->path);
    carat_status status = ct_file_open(&f, part, false, err);
    if (!status)
        status = ct_config_read(got, f, err);
    ct_file_close(f);
    CT_TRY(status);
    const struct {
        const char *what;
        double is, read;
    } facts[] = {
        {"layers", c->n_layer, got->n_layer},
        {"values of a row", c->hidden, got->hidden},
        {"tokens of context", c->max_context, got->max_context},
        {"an eps of norms", (double)c->norm_eps, (double)got->norm_eps},
        {"a cap of logits", (double)c->logit_cap, (double)got->logit_cap},
        {"a window", c->attn[CT_LOCAL].window, got->attn[CT_LOCAL].window},
        {"a base of local angles", c->attn[CT_LOCAL].rope_base, got->attn[CT_LOCAL].rope_base},
        {"a base of global angles", c->attn[CT_GLOBAL].rope_base, got->attn[CT_GLOBAL].rope_base},
        {"a factor of global angles", c->attn[CT_GLOBAL].rope_factor, got->attn[CT_GLOBAL].rope_factor},
        {"a factor of local angles", c->attn[CT_LOCAL].rope_factor, got->attn[CT_LOCAL].rope_factor},
        {"a number of global pairs that turn", c->attn[CT_GLOBAL].rotated, got->attn[CT_GLOBAL].rotated},
        {"a number of local pairs that turn", c->attn[CT_LOCAL].rotated, got->attn[CT_LOCAL].rotated},
    };
    for (size_t i = 0; i < (all ? CT_COUNT(facts) : SHAPES); i++)
        if (facts[i].is != facts[i].read)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: the model has %s of %.9g, but %s would say %.9g",
                           v->path, facts[i].what, facts[i].is, v->container->name, facts[i].read);
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *a = &c->layer[i], *b = &got->layer[i];
        if (all && (a->attn_scale != b->attn_scale || a->attn_cap != b->attn_cap))
            return ct_fail(err, CARAT_E_UNSUPPORTED,
                           "%s: layer %d scales scores by %.9g and caps them at %.9g, but %s would say %.9g "
                           "and %.9g",
                           v->path, i, (double)a->attn_scale, (double)a->attn_cap, v->container->name,
                           (double)b->attn_scale, (double)b->attn_cap);
        if (a->attn_type != b->attn_type || a->n_head != b->n_head || a->n_kv_head != b->n_kv_head ||
            a->head_dim != b->head_dim || a->ffn != b->ffn)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: %s would say another shape of layer %d", v->path,
                           v->container->name, i);
    }
    return all && !v->kept && !v->kept_dir ? CARAT_OK : open_whole(v, part, err);
}
