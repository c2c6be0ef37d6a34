/* SPDX-License-Identifier: Apache-2.0 */
/* leave_device.c: an engine whose device failed goes on with the CPU: weights come out of the model's files
 * once more, unless the CPU has all, too; and K and V of the tokens that sessions hold are evaluated once
 * more, by the passes to come. So all that follows has the bits that the device would have given. Which pass
 * is made again: step.c.
 *
 * The first call that fails is noted (ct_backend.failure), and nothing is asked of the device any more.
 * Memory of the host that the device's backend gave stays the engine's. */
#include "engine/engine.h"

/* Lays out again what was the device's; memory of the host stays where it is. */
static void lay_out_again(carat_engine *e, struct ct_backend *b)
{
    const struct ct_ple ple = e->pass.ple;

    b->verb.lay_out(b, &(struct ct_extent){e->plan.chunk, e->plan.context, e->plan.sessions});
    for (int i = 0; i < CT_ATTN_TYPES; i++)
        b->verb.alloc_kv(b, &e->cache.group[i].pool, e->config.n_layer, e->cache.layer);
    ct_pass_init(&e->pass, b, &e->config, &e->weights, e->plan.chunk);
    ct_vectors_lay_out(&e->vectors, b, &e->config, e->plan.sessions);
    e->pass.ple = ple;
    if (e->drafts.model)
        ct_drafter_lay_out(&e->drafts.reader, b, &e->drafts.model->config, &e->config, &e->weights);
}

/* Forgets all blocks, whose content is lost. Whoever holds some without a session gives them back. */
static void forget_blocks(carat_engine *e)
{
    for (int missing = 0; missing < CT_ATTN_TYPES && e->cache.release; missing++)
        while (e->cache.release(e->cache.user, (enum ct_attn_type)missing))
            ;
    ct_kv_lose(&e->cache);
}

/* The CPU as a backend of its own, in the device's place. */
static bool take_cpu(carat_engine *e)
{
    struct ct_backend *device = e->backend, *b = NULL;
    carat_error err;

    if (e->sides.gone || ct_backend_create_cpu(&b, &e->sides.of_backend, &err))
        return false;
    b->floats_as_q8 = device->floats_as_q8;
    carat_status status = ct_engine_plan_weights(e, b, &err);
    if (!status) {
        lay_out_again(e, b);
        status = b->verb.reserve(b, &err);
    }
    if (status) {
        b->verb.destroy(b);
        return false;
    }
    lay_out_again(e, b);
    b->trace = device->trace;
    e->sides.gone = device;
    e->backend = e->cache.backend = e->head.backend = b;
    return ct_engine_load_weights(e, &(carat_engine_options){0}, &err) == CARAT_OK;
}

bool ct_engine_leave_device(carat_engine *e)
{
    const carat_error why = e->backend->failure;

    if (e->backend->verb.leave_device && e->backend->verb.leave_device(e->backend))
        e->sides.no_device = why;
    else if (!take_cpu(e))
        return false;
    e->sides.chooses = false;
    forget_blocks(e);
    e->plan.threads = e->backend->threads;
    e->plan.isa = e->backend->isa;
    ct_head_log(&e->head, "%s; the CPU goes on", why.message);
    return true;
}
