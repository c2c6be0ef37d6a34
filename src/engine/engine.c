/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c: creation and end of an engine: what plan.c has counted is reserved and laid out. */
#include "engine/engine.h"

#include <stdlib.h>

#include "os/fp_environment.h"
#include "os/memory.h"

/* Takes what the plan of e says, into e; a failure leaves there what it got. */
static carat_status reserve(struct carat_engine *e, carat_error *err)
{
    const carat_plan *p = &e->plan;

    e->kv = ct_os_reserve(p->kv_bytes);
    e->work = ct_os_reserve(p->work_bytes);
    e->packed = p->packed_bytes ? ct_os_reserve(p->packed_bytes) : NULL;
    if (!e->kv || !e->work || (p->packed_bytes && !e->packed))
        return ct_fail(err, CARAT_E_MEMORY,
                       "the system refuses %zu bytes for KV, %zu for work and %zu for weights; a smaller "
                       "context needs less",
                       p->kv_bytes, p->work_bytes, p->packed_bytes);
    if (e->packed)
        ct_os_huge(e->packed, p->packed_bytes); /* read whole for every token */
    return ct_pool_create(&e->pool, p->threads, err);
}

/* ---- weights that stay in the file ---- */

#define HUGE_PAGE ((size_t)2 << 20) /* where it is another, more or fewer pages are touched than needed */

struct fetching {
    struct carat_engine *e;
    const struct ct_pages *pages;
};

static void fetch_piece(void *arg, int item, int thread)
{
    const struct fetching *f = arg;
    const uint8_t *p = f->pages->begin + (size_t)item * HUGE_PAGE;

    (void)thread;
    ct_os_fetch(p);
    atomic_fetch_add_explicit(&f->e->fetched, CT_MIN(HUGE_PAGE, (size_t)(f->pages->end - p)),
                              memory_order_relaxed);
}

/* They are read whole for every token, so they are wanted at once and in order, which no disk likes better. */
static void fetch(struct carat_engine *e)
{
    for (int i = 0; i < e->n_mapped; i++) {
        struct fetching f = {e, &e->mapped[i]};
        size_t size = (size_t)(f.pages->end - f.pages->begin);
        ct_pool_run(e->pool, (int)((size + HUGE_PAGE - 1) / HUGE_PAGE), fetch_piece, &f);
    }
}

/* ---- filling it ---- */

struct filling {
    struct carat_engine *e;
    const carat_engine_options *o;
};

static int ask(void *user)
{
    const struct filling *f = user;
    size_t total = f->e->plan.weight_bytes, done = atomic_load_explicit(&f->e->fetched, memory_order_relaxed);

    return f->o->progress(f->o->user, CT_MIN(done, total) >> 10, total >> 10);
}

/* Lays everything out over the reservations. */
static carat_status fill(struct carat_engine *e, const carat_engine_options *o, carat_error *err)
{
    struct filling f = {e, o};

    ct_pool_watch(e->pool, o->progress ? ask : NULL, &f);
    ct_fpenv fp = ct_os_fp_enter();
    ct_lay_out(e);
    ct_os_fp_leave(fp);
    fetch(e);
    return ct_pool_unwatch(e->pool)
               ? CARAT_OK
               : ct_fail(err, CARAT_E_CANCELLED,
                         "creating the engine was cancelled while its weights were read");
}

carat_status carat_engine_create(carat_engine **engine, const carat_model *model,
                                 const carat_engine_options *options, carat_error *err)
{
    const carat_engine_options defaults = CARAT_ENGINE_OPTIONS, *o = options ? options : &defaults;

    if (!engine)
        return ct_fail(err, CARAT_E_ARGUMENT, "engine is NULL");
    struct carat_engine *e = calloc(1, sizeof *e);
    if (!e)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory");
    carat_status status = ct_plan(e, model, o, err);
    if (!status)
        status = ct_plan_fits_machine(e, o, err);
    if (!status)
        status = reserve(e, err);
    if (!status)
        status = fill(e, o, err);
    if (status)
        carat_engine_close(e);
    else
        *engine = e;
    return status;
}

void carat_engine_close(carat_engine *e)
{
    if (!e)
        return;
    ct_pool_destroy(e->pool);
    ct_os_release(e->kv, e->plan.kv_bytes);
    ct_os_release(e->work, e->plan.work_bytes);
    ct_os_release(e->packed, e->plan.packed_bytes);
    free(e->mapped);
    free(e);
}

int carat_engine_context(const carat_engine *engine)
{
    return engine ? engine->plan.context : 0;
}
