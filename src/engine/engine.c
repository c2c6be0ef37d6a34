/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: creation and end of an engine: what plan.c has counted is reserved, laid out and filled with
 * weights. */
#include "engine/engine.h"

#include <stdlib.h>

#include "os/clock.h"

static carat_status load(struct carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    struct ct_backend *b = e->backend;
    carat_status status;

    const struct ct_weights stored = ct_engine_weights(e);

    b->verb.load_begin(b, o->progress, o->user);
    ct_weights_pack(&e->weights, &stored, &e->config, e->weights.layer, b, e->head.aside);
    for (int i = 0; i < e->config.n_layer; i++)
        e->weights.layer[i].kv = &e->cache.layer[e->config.layer[i].kv_layer];
    const double start = ct_os_seconds();
    status = ct_head_load(&e->head, &e->weights.head, err);
    *(e->head.stats.sketch_bytes ? &e->head.stats.sketch_s : &e->head.stats.tiles_s) =
        ct_os_seconds() - start;
    if (!b->verb.load_end(b))
        status =
            ct_fail(err, CARAT_E_CANCELLED, "creating the engine was cancelled while its weights were read");
    return status;
}

/* What the head made is kept for those who come later. */
static carat_status keep_made(struct carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    const struct ct_listening l = {o->progress, o->user};
    char note[CT_KEEP_NOTE];

    CT_TRY(ct_cache_keep(e->model, e->head.keep, e->head.n_keep, &l, note, err));
    if (*note)
        ct_head_log(&e->head, "%s", note);
    return CARAT_OK;
}

carat_status ct_engine_create(carat_engine **engine, const carat_model *model, const carat_engine_options *o,
                              carat_error *err)
{
    struct carat_engine *e = calloc(1, sizeof *e);
    if (!e)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory");
    carat_status status = ct_plan(e, model, o, err);
    if (!status)
        status = ct_plan_fits_machine(e, o, err);
    if (!status && o->costs)
        status = ct_stats_take_costs(&e->stats, o->costs, err);
    if (!status)
        status = e->backend->verb.reserve(e->backend, err);
    if (!status) {
        ct_lay_out(e);
        ct_kv_cache_begin(&e->cache);
        status = load(e, o, err);
    }
    if (!status)
        status = keep_made(e, o, err);
    if (status)
        ct_engine_close(e);
    else
        *engine = e;
    return status;
}

void ct_engine_head(carat_engine *engine, carat_head_stats *stats)
{
    ct_lock_enter(&engine->lock);
    *stats = engine->head.stats;
    ct_lock_leave(&engine->lock);
}

void ct_engine_use(carat_engine *engine, carat_use *use)
{
    ct_lock_enter(&engine->lock);
    struct ct_kv_use u = ct_kv_cache_use(&engine->cache);
    ct_lock_leave(&engine->lock);
    use->blocks = u.blocks;
    use->held = u.held;
    use->shared = u.shared;
    use->free = u.free;
    use->held_bytes = u.bytes;
}
