/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c: what the passes of an engine spend their time on: a listener, to whom verbs are
 * charged to operations, products by the name of their weight. What counts as read or computed the backend
 * says; shares of a limit are the caller's business (carat_measure_limits). */
#include "listen/listener.h"

/* In the order of a pass, which is also that of a profile. */
enum operation {
    TABLES,
    EMBEDDING,
    INPUTS,
    STREAMS,
    NORMS,
    QKV,
    LAUREL,
    HEAD_NORM,
    ROPE,
    STORE,
    PICK,
    ATTENTION,
    ATTENTION_OUTPUT,
    ADD_AND_NORM,
    GATE_UP,
    DOWN,
    ROUTER,
    EXPERTS,
    SCALE,
    HEAD,
    HEAD_ROWS,
    OPERATIONS
};
static_assert((int)OPERATIONS <= CARAT_MOST_OPERATIONS, "a carat_profile holds them all");
static const char *const names[OPERATIONS] = {
    [TABLES] = "rope tables",
    [EMBEDDING] = "embedding",
    [INPUTS] = "inputs of layers",
    [STREAMS] = "streams",
    [NORMS] = "norm",
    [QKV] = "qkv",
    [LAUREL] = "beside attention",
    [HEAD_NORM] = "head norm",
    [ROPE] = "rope",
    [STORE] = "store K and V",
    [PICK] = "pick rows",
    [ATTENTION] = "attention",
    [ATTENTION_OUTPUT] = "attention output",
    [ADD_AND_NORM] = "add and norm",
    [GATE_UP] = "gate+up",
    [DOWN] = "down",
    [ROUTER] = "router",
    [EXPERTS] = "experts",
    [SCALE] = "scale",
    [HEAD] = "head",
    [HEAD_ROWS] = "head, some rows",
};

/* Whom a verb is charged to, by its first weight's place in its layer; the first row that fits counts. A verb
 * without one fits ANY. */
enum { ANY = -1 };
#define PLACE(weight) (int)offsetof(struct ct_layer, weight)
static const struct {
    const char *verb;
    int place;
    enum operation operation;
} charges[] = {
    {"begin_pass", ANY, TABLES},
    {"embed", ANY, EMBEDDING},
    {"embed_add", ANY, INPUTS},
    {"altup_match", ANY, STREAMS},
    {"altup_predict", ANY, STREAMS},
    {"norm", ANY, NORMS},
    {"project", PLACE(q), QKV},
    {"project", PLACE(laurel_left), LAUREL},
    {"project", PLACE(laurel_right), LAUREL},
    {"qk_norm", ANY, HEAD_NORM},
    {"rope", ANY, ROPE},
    {"kv_write", ANY, STORE},
    {"select_rows", ANY, PICK},
    {"attend", ANY, ATTENTION},
    {"project", PLACE(o), ATTENTION_OUTPUT},
    {"residual_norm", ANY, ADD_AND_NORM},
    {"project_geglu", ANY, GATE_UP},
    {"project", PLACE(gate), GATE_UP},
    {"cutoff", ANY, GATE_UP},
    {"project", PLACE(up), GATE_UP},
    {"project", PLACE(down), DOWN},
    {"project", PLACE(router), ROUTER},
    {"experts", ANY, EXPERTS},
    {"altup_correct", ANY, STREAMS},
    {"project", PLACE(input_gate), INPUTS},
    {"project", PLACE(input_proj), INPUTS},
    {"scale", ANY, SCALE},
    {"project_logits", ANY, HEAD},
    {"project_some", ANY, HEAD_ROWS},
};

/* The products beside the layers, and what has no weight, are told apart by themselves. */
static carat_operation *operation_of(struct carat_engine *e, const struct ct_event *event)
{
    const int place = event->n ? ct_weight_place(e, event->w[0]) : ANY;
    const bool product = strcmp(event->verb, "project") == 0;
    size_t i = 0;

    if (product && place == CT_NO_LAYER)
        return &e->profile.operation[event->w[0] == &e->weights.ple_proj ? INPUTS : STREAMS];
    if (strcmp(event->verb, "gelu_times") == 0)
        return &e->profile.operation[event->out->handle == e->pass.ffn.handle ? GATE_UP : INPUTS];
    while (strcmp(charges[i].verb, event->verb) != 0 ||
           (charges[i].place != ANY && charges[i].place != place))
        if (++i == CT_COUNT(charges))
            return NULL;
    return &e->profile.operation[charges[i].operation];
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

void carat_profile_begin(carat_engine *engine)
{
    if (!engine)
        return;
    ct_lock_enter(&engine->lock);
    engine->profile = (carat_profile){.n = OPERATIONS};
    for (int i = 0; i < OPERATIONS; i++)
        engine->profile.operation[i].name = names[i];
    ct_listen_end_locked(&engine->profiler);
    ct_listen_locked(&engine->profiler, engine, (struct ct_trace){.hook = note, .user = engine}, false);
    ct_lock_leave(&engine->lock);
}

carat_status carat_profile_end(carat_engine *engine, carat_profile *profile, carat_error *err)
{
    CT_GIVEN(engine, err);
    CT_TRY(ct_check_struct(profile, sizeof *profile, "carat_profile", err));
    ct_lock_enter(&engine->lock);
    const bool begun = ct_listen_end_locked(&engine->profiler);
    const carat_profile full = engine->profile;
    ct_lock_leave(&engine->lock);
    if (!begun)
        return ct_fail(err, CARAT_E_ARGUMENT, "no profile has begun");
    return ct_give_struct(profile, &full, sizeof full, "carat_profile", err);
}
