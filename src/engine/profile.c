/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: what the passes of an engine spend their time on: a trace around the backend, whose verbs are charged to
 * operations, products by the name of their weight. What counts as read or computed is decided here; shares of a limit
 * are the caller's business (carat_measure_limits). */
#include "engine/engine.h"
#include "machine/roofline.h"

/* In the order of a pass. A verb whose weight has several places in the model is several operations. */
enum { ANY = -1, OUTSIDE = -2 }; /* places: any, or not in a layer */
#define PLACE(weight) (int)offsetof(struct ct_layer, weight)
static const struct {
    const char *name, *verb;
    int place; /* of the first weight in its layer */
} operations[] = {
    {"rope tables", "begin", ANY},
    {"embedding", "embed", ANY},
    {"norm", "norm", ANY},
    {"qkv", "project", PLACE(q)},
    {"head norm", "head_norm", ANY},
    {"rope", "rope", ANY},
    {"store K and V", "store", ANY},
    {"pick rows", "pick", ANY},
    {"attention", "attend", ANY},
    {"attention output", "project", PLACE(o)},
    {"add and norm", "add_norm", ANY},
    {"gate+up", "project_geglu", ANY},
    {"down", "project", PLACE(down)},
    {"head", "project", OUTSIDE},
    {"soft-cap", "softcap", ANY},
};
static_assert(CT_COUNT(operations) <= CARAT_MOST_OPERATIONS, "a carat_profile holds them all");

static int place_of(const struct ct_weights *w, int n_layer, const struct ct_weight *weight)
{
    uintptr_t at = (uintptr_t)weight - (uintptr_t)w->layer;

    return at < (size_t)n_layer * sizeof *w->layer ? (int)(at % sizeof *w->layer) : OUTSIDE;
}

static carat_operation *operation_of(struct carat_engine *e, const struct ct_event *event)
{
    int place = event->n ? place_of(&e->weights, e->model->config.n_layer, event->w[0]) : ANY;
    size_t i = 0;

    while (strcmp(operations[i].verb, event->verb) != 0 ||
           (operations[i].place != ANY && operations[i].place != place))
        if (++i == CT_COUNT(operations))
            return NULL;
    return &e->profile.operation[i];
}

/* Weights once, and two operations for each weight and row. */
static void count_products(carat_operation *o, const struct ct_event *event, bool exact)
{
    for (int i = 0; i < event->n && event->n_left > 0; i++) {
        const struct ct_weight *w = event->w[i];
        o->bytes += ct_weight_bytes(w);
        o->operations[ct_roofline_of(w->type, exact)] +=
            2 * (uint64_t)w->rows * (uint64_t)w->cols * (uint64_t)event->n_left;
    }
}

/* Keys that several rows of a sequence see are read once; a query head takes two operations for each key and value. */
static void count_attention(carat_operation *o, const struct ct_event *event, int window)
{
    const struct ct_rows *rows = event->rows;
    const struct ct_kv *kv = event->kv;
    uint64_t heads = (uint64_t)(event->out.cols / kv->head_dim);
    int sequence = -1, read = 0; /* keys below `read` of the sequence are counted */

    for (int r = 0; r < rows->n; r++) {
        if (event->picked && !rows->want[r])
            continue;
        int end = rows->position[r] + 1, begin = window ? CT_MAX(0, end - window) : 0;
        read = rows->sequence[r] == sequence ? CT_MAX(read, begin) : begin;
        sequence = rows->sequence[r];
        o->bytes += 2 * (uint64_t)kv->n_kv_head * ct_kv_bytes(kv->type, end - read, kv->head_dim);
        o->operations[kv->type == CT_KV_BF16 ? CARAT_BY_BF16 : CARAT_BY_F32] +=
            4 * heads * (uint64_t)kv->head_dim * (uint64_t)(end - begin);
        read = end;
    }
}

static void note(void *user, struct ct_backend *inner, const struct ct_event *event)
{
    struct carat_engine *e = user;
    carat_operation *o = operation_of(e, event);

    (void)inner;
    if (!o)
        return;
    o->calls++;
    o->seconds += event->seconds;
    if (strcmp(event->verb, "begin") == 0) {
        e->profile.passes++;
        e->profile.rows += (uint64_t)event->rows->n;
    } else if (strncmp(event->verb, "project", 7) == 0) {
        count_products(o, event, e->exact);
    } else if (strcmp(event->verb, "attend") == 0) {
        count_attention(o, event, e->model->config.kind[event->kind].window);
    }
}

void carat_profile_begin(carat_engine *engine)
{
    if (!engine)
        return;
    ct_lock_enter(&engine->lock);
    engine->profile = (carat_profile){.size = sizeof engine->profile, .n = (int)CT_COUNT(operations)};
    for (size_t i = 0; i < CT_COUNT(operations); i++)
        engine->profile.operation[i].name = operations[i].name;
    ct_trace_init(&engine->trace, &engine->backend.base, note, engine);
    engine->pass.backend = &engine->trace.base;
    ct_lock_leave(&engine->lock);
}

carat_status carat_profile_end(carat_engine *engine, carat_profile *profile, carat_error *err)
{
    if (!engine || !profile)
        return ct_fail(err, CARAT_E_ARGUMENT, "engine or profile is NULL");
    CT_TRY(ct_check_size(profile->size, sizeof *profile, "carat_profile", err));
    ct_lock_enter(&engine->lock);
    bool begun = engine->pass.backend == &engine->trace.base;
    if (begun)
        *profile = engine->profile;
    engine->pass.backend = &engine->backend.base;
    ct_lock_leave(&engine->lock);
    if (!begun)
        return ct_fail(err, CARAT_E_ARGUMENT, "no profile has begun");
    return CARAT_OK;
}
