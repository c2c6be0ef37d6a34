/* SPDX-License-Identifier: Apache-2.0 */
/* engine_weights.c: the weights of an engine: counted for a backend, and brought into it. */
#include "engine/engine.h"

#include <stdio.h>

#include "os/clock.h"

struct planning {
    struct ct_backend *backend;
    const struct ct_weight *aside; /* the head brings it in itself; NULL: it does not */
    bool resident;                 /* so is the table of layer inputs */
    bool tied, drafts;             /* the embedding is the head, too; they are a drafter's */
    carat_error *err;
};

/* As ct_weights_pack tells of it. */
static int part_at(const struct planning *p, const char *place)
{
    int layer;

    if (p->drafts || strncmp(place, "output", 6) == 0)
        return CT_PART_BEHIND;
    if (strcmp(place, "token_embd") == 0)
        return p->tied ? CT_PART_TIED : CT_PART_EMBEDDING;
    return sscanf(place, "blk.%d.", &layer) == 1 ? layer : CT_PART_BEFORE;
}

static carat_status plan_weight(void *user, const char *place, const char *tensor, const struct ct_weight *w)
{
    const struct planning *p = user;

    (void)tensor;
    p->backend->part = part_at(p, place);
    /* norms are the model's, and a table mostly stays on the disk */
    const bool left = w->layout == CT_LAYOUT_TABLE ? !p->resident : w->rows == 1 && !p->backend->apart;
    return left || w == p->aside ? CARAT_OK : ct_weight_plan(p->backend, w, p->err);
}

/* Plans vectors without a place in a file. */
static carat_status plan_made(struct planning *p, const struct ct_weights *w, int n_layer)
{
    char place[32] = "";

    for (int i = -1; i < n_layer; i++) {
        const struct ct_weight *const made[] = {i < 0 ? &w->ple_scale : &w->layer[i].v_norm,
                                                i < 0 ? &w->quarter : &w->layer[i].halves};
        for (int k = 0; k < 2; k++) {
            snprintf(place, sizeof place, i >= 0 ? "blk.%d." : k ? "output" : "inputs", i);
            if (made[k]->data)
                CT_TRY(plan_weight(p, place, NULL, made[k]));
        }
    }
    return CARAT_OK;
}

struct ct_weights ct_engine_weights(const carat_engine *e)
{
    struct ct_weights w = e->model->weights;

    w.layer += e->first_layer;
    return w;
}

carat_status ct_engine_plan_weights(carat_engine *e, struct ct_backend *b, carat_error *err)
{
    const struct ct_weights weights = ct_engine_weights(e);
    const struct ct_weight *head = weights.tied ? &weights.embed : &weights.head;
    struct planning planning = {b, e->head.aside ? head : NULL, e->resident, weights.tied, false, err};

    CT_TRY(ct_weights_walk(&weights, &e->config, e->model->file, plan_weight, &planning));
    CT_TRY(plan_made(&planning, &weights, e->config.n_layer));
    planning.aside = NULL;
    planning.drafts = true;
    if (!e->drafts.model)
        return CARAT_OK;
    CT_TRY(plan_made(&planning, &e->drafts.model->weights, e->drafts.model->config.n_layer));
    return ct_weights_walk(&e->drafts.model->weights, &e->drafts.model->config, e->drafts.model->file,
                           plan_weight, &planning);
}

carat_status ct_engine_load_weights(carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    struct ct_backend *b = e->backend;
    const struct ct_weights stored = ct_engine_weights(e);

    b->verb.load_begin(b, o->progress, o->user);
    ct_weights_pack(&e->weights, &stored, &e->config, e->weights.layer, e->expert, b, e->head.aside);
    if (e->resident && stored.ple.data)
        b->verb.pack_weight(b, stored.ple); /* stays where it is mapped, and is read */
    for (int i = 0; i < e->config.n_layer; i++)
        e->weights.layer[i].kv = &e->cache.layer[e->cache.place[i]];
    if (e->drafts.model)
        ct_drafter_load(&e->drafts.reader, &e->drafts.model->weights, &e->cache);
    const double start = ct_os_seconds();
    carat_status status = ct_head_load(&e->head, &e->weights.head, err);
    *(e->head.stats.sketch_bytes ? &e->head.stats.sketch_s : &e->head.stats.tiles_s) =
        ct_os_seconds() - start;
    if (!b->verb.load_end(b))
        status = b->failure.code ? ct_fail(err, b->failure.code, "%s", b->failure.message)
                                 : ct_fail(err, CARAT_E_CANCELLED,
                                           "creating the engine was cancelled while its weights were read");
    return status;
}

int ct_weight_place(const carat_engine *e, const struct ct_weight *weight)
{
    const struct ct_weights *w = &e->weights;
    uintptr_t at = (uintptr_t)weight - (uintptr_t)w->layer;

    return at < (size_t)e->config.n_layer * sizeof *w->layer ? (int)(at % sizeof *w->layer) : CT_NO_LAYER;
}

int ct_widest_output(const carat_engine *e)
{
    const struct ct_pass *p = &e->pass;

    return CT_MAX(CT_MAX(CT_MAX(p->x.cols, p->q.cols), CT_MAX(p->k.cols, p->ffn.cols)),
                  CT_MAX(p->fit.cols, p->inputs.cols));
}
