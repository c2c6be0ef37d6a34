/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: what the passes of an engine spend their time on: a trace around the backend, whose verbs are
 * charged to operations, products by the name of their weight. What counts as read or computed the backend
 * says; shares of a limit are the caller's business (carat_measure_limits). */
#include "engine/engine.h"

/* In the order of a pass. A verb whose weight has several places in the model is several operations. */
enum { ANY = -1 }; /* place */
#define PLACE(weight) (int)offsetof(struct ct_layer, weight)
static const struct {
    const char *name, *verb;
    int place; /* of the first weight in its layer */
} operations[] = {
    {"rope tables", "begin_pass", ANY},
    {"embedding", "embed", ANY},
    {"norm", "norm", ANY},
    {"qkv", "project", PLACE(q)},
    {"head norm", "qk_norm", ANY},
    {"rope", "rope", ANY},
    {"store K and V", "kv_write", ANY},
    {"pick rows", "select_rows", ANY},
    {"attention", "attend", ANY},
    {"attention output", "project", PLACE(o)},
    {"add and norm", "residual_norm", ANY},
    {"gate+up", "project_geglu", ANY},
    {"down", "project", PLACE(down)},
    {"head", "project_logits", ANY},
    {"head, some rows", "project_some", ANY},
};
static_assert(CT_COUNT(operations) <= CARAT_MOST_OPERATIONS, "a carat_profile holds them all");

int ct_weight_place(const carat_engine *e, const struct ct_weight *weight)
{
    const struct ct_weights *w = &e->weights;
    uintptr_t at = (uintptr_t)weight - (uintptr_t)w->layer;

    return at < (size_t)e->config.n_layer * sizeof *w->layer ? (int)(at % sizeof *w->layer) : CT_NO_LAYER;
}

static carat_operation *operation_of(struct carat_engine *e, const struct ct_event *event)
{
    int place = event->n ? ct_weight_place(e, event->w[0]) : ANY;
    size_t i = 0;

    while (strcmp(operations[i].verb, event->verb) != 0 ||
           (operations[i].place != ANY && operations[i].place != place))
        if (++i == CT_COUNT(operations))
            return NULL;
    return &e->profile.operation[i];
}

static void note(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct carat_engine *e = user;
    carat_operation *o = operation_of(e, event);
    struct ct_cost cost = b->verb.cost(b, event);

    if (!o)
        return;
    o->calls++;
    o->seconds += event->seconds;
    o->bytes += cost.bytes;
    for (int a = 0; a < CARAT_N_ARITHMETIC; a++)
        o->operations[a] += cost.operations[a];
    if (strcmp(event->verb, "begin_pass") == 0) {
        e->profile.passes++;
        e->profile.rows += (uint64_t)cost.rows;
    }
}

void ct_profile_begin(carat_engine *engine)
{
    ct_lock_enter(&engine->lock);
    engine->profile = (carat_profile){.n = (int)CT_COUNT(operations)};
    for (size_t i = 0; i < CT_COUNT(operations); i++)
        engine->profile.operation[i].name = operations[i].name;
    ct_trace_end(engine->backend, &engine->profiler);
    engine->profiler = (struct ct_trace){note, engine, NULL, false};
    ct_trace_begin(engine->backend, &engine->profiler);
    ct_lock_leave(&engine->lock);
}

carat_status ct_profile_end(carat_engine *engine, carat_profile *profile, carat_error *err)
{
    CT_TRY(ct_check_struct(profile, sizeof *profile, "carat_profile", err));
    ct_lock_enter(&engine->lock);
    const bool begun = ct_trace_end(engine->backend, &engine->profiler);
    const carat_profile full = engine->profile;
    ct_lock_leave(&engine->lock);
    if (!begun)
        return ct_fail(err, CARAT_E_ARGUMENT, "no profile has begun");
    return ct_give_struct(profile, &full, sizeof full, "carat_profile", err);
}
