/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c: see convert.h. What the new file consists of: plan.c, who fills it: fill.c. Here it becomes a
 * file, under its name only when readers take from it what the model is. */
#include "convert/convert.h"

#include <stdlib.h>

#include "convert/fill.h"
#include "os/files.h"
#include "os/new_file.h"

/* What readers take from the new file must be what the model is, also where a family's own rule stands for a
 * key that GGUF does not have. */
static carat_status read_back(struct ct_conversion *v, const char *part, carat_error *err)
{
    const struct ct_config *c = &v->m->config;
    struct ct_config *got = ct_arena_push(&v->arena, 1, sizeof *got);
    struct ct_file *f = NULL;

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
    };
    for (size_t i = 0; i < CT_COUNT(facts); i++)
        if (facts[i].is != facts[i].read)
            return ct_fail(err, CARAT_E_UNSUPPORTED, "%s: the model has %s of %.9g, but %s would say %.9g",
                           v->path, facts[i].what, facts[i].is, v->container->name, facts[i].read);
    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *a = &c->layer[i], *b = &got->layer[i];
        if (a->attn_scale != b->attn_scale || a->attn_cap != b->attn_cap)
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
    return CARAT_OK;
}

/* The ending of a file while it is written. */
#define PART ".carat-part"

static carat_status write_file(struct ct_conversion *v, struct ct_os_new *file,
                               const carat_convert_options *o, carat_error *err)
{
    CT_TRY(ct_os_new_size(file, (size_t)v->size, err));
    memcpy(file->base, v->head.data, v->head.n);
    carat_status status = ct_fill(v, file->base, o, err);
    ct_os_new_written(file);
    return status;
}

static carat_status make_file(struct ct_conversion *v, const carat_convert_options *o, carat_error *err)
{
    struct ct_os_new file = {.fd = -1};
    struct ct_os_id id;
    const size_t length = strlen(v->path);
    char *part = ct_arena_push(&v->arena, length + sizeof PART, 1);

    if (!part)
        return ct_no_memory(err, v->path);
    strcat(strcpy(part, v->path), PART);
    if (!ct_os_replaceable(v->path))
        return ct_fail(err, CARAT_E_IO, "%s is not a regular file, so it cannot be replaced", v->path);
    if (ct_model_reads(v->m, v->path))
        return ct_fail(err, CARAT_E_ARGUMENT, "%s is what the model is read from: name another file",
                       v->path);
    carat_status status = ct_os_new_begin(&file, part, 0666, err);
    if (!status)
        status = write_file(v, &file, o, err);
    if (!status)
        status = read_back(v, part, err);
    if (!status)
        status = ct_os_new_finish(&file, v->path, &id, err);
    if (status)
        ct_os_new_abandon(&file);
    return status;
}

carat_status ct_convert(const struct carat_model *m, const char *path, const carat_convert_options *o,
                        carat_error *err)
{
    struct ct_conversion v = {.m = m, .container = &ct_new_gguf, .path = path, .err = err};

    v.recipe = (struct ct_recipe){.words = o->recipe, .pure = o->pure, .again = o->allow_requantize};
    if (!m->has_weights)
        return ct_fail(err, CARAT_E_ARGUMENT, "the model has no weights");
    CT_TRY(ct_recipe_read(&v.recipe, o->type, err));
    carat_status status = ct_plan_file(&v, err);
    if (!status)
        status = make_file(&v, o, err);
    ct_new_head_free(&v.head);
    ct_arena_free(&v.arena);
    return status;
}
