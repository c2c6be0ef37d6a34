/* SPDX-License-Identifier: Apache-2.0 */
/* tap.c: hands the values of each operation of a pass to a callback, which may change them. Names of values
 * are those of the modules of the reference implementation that give them. */
#include "listen/listener.h"

#include <stdio.h>
#include <stdlib.h>

struct ct_tap {
    struct ct_pass_listener listener; /* the first member: what the engine frees */
    carat_tap_callback callback;
    void *user;
    int n;             /* current rows */
    int32_t *position; /* [chunk] */
    float *values;     /* [chunk][widest output] */
};

/* Values that have a name: those of every layer, then those beside the layers. */
#define PLACE(weight) (int)offsetof(struct ct_layer, weight)
#define BUFFER(mat)   offsetof(struct ct_pass, mat)
enum { OF_LAYER = 5 };
static const struct {
    const char *name, *verb;
    int place, out; /* of the first weight in its layer; which output */
    size_t buffer;
} named[] = {
    {"layer.%d.q", "project", PLACE(q), 0, BUFFER(q)},
    {"layer.%d.k", "project", PLACE(q), 1, BUFFER(k)},
    {"layer.%d.v", "project", PLACE(q), 2, BUFFER(v)},
    {"layer.%d.attn", "project", PLACE(o), 0, BUFFER(h)},
    {"layer.%d", "residual_norm", PLACE(ffn_post_norm), 0, BUFFER(x)},
    {"embed", "embed", CT_NO_LAYER, 0, BUFFER(x)},
    {"final_norm", "norm", CT_NO_LAYER, 0, BUFFER(h)},
};

/* Columns of a value; 0: its layer makes none. */
static int tap_width(const carat_engine *e, size_t k, int layer)
{
    ct_mat m;

    if (named[k].place == PLACE(q)) { /* as wide as the layer has it */
        const struct ct_layer *l = &e->weights.layer[layer];
        const struct ct_weight *const made[] = {&l->q, &l->k, &l->v};
        return made[named[k].out]->rows;
    }
    memcpy(&m, (const char *)&e->pass + named[k].buffer, sizeof m);
    return m.cols;
}

int carat_tap_name(const carat_engine *e, int i, char name[32])
{
    if (!e || !name)
        return 0;
    const int of_layers = OF_LAYER * e->config.n_layer;

    for (int at = 0; i >= 0; at++) {
        const size_t k = (size_t)(at < of_layers ? at % OF_LAYER : at - of_layers + OF_LAYER);
        if (k >= CT_COUNT(named))
            return 0;
        const int width = tap_width(e, k, at / OF_LAYER);
        if (width == 0 || i-- > 0)
            continue;
        snprintf(name, 32, named[k].name, e->first_layer + at / OF_LAYER);
        return width;
    }
    return 0;
}

/* True when a value has that name. What leaves a layer of Gemma 4 is scaled after the last sum; of Gemma 3n
 * it is the first stream, which is corrected behind the layer. */
static bool tap_has_name(const carat_engine *e, size_t name, const char *verb, int place, int out)
{
    const bool leaves = named[name].place == PLACE(ffn_post_norm);

    if (leaves && e->config.altup)
        return strcmp(verb, "altup_correct") == 0 && out == 1;
    if (leaves && e->config.out_scales)
        return strcmp(verb, "scale") == 0 && place == PLACE(out_scale) && out == named[name].out;
    return strcmp(named[name].verb, verb) == 0 && named[name].place == place && named[name].out == out;
}

/* Hands over `rows` rows of one output, with the name that it may have. */
static void tell(struct ct_tap *t, const struct ct_event *event, int out, int first, int rows, int width,
                 float *values)
{
    const carat_engine *e = t->listener.engine;
    const int place = event->n ? ct_weight_place(e, event->w[0]) : CT_NO_LAYER;
    char name[32] = "";
    carat_tap tap = {.size = sizeof tap,
                     .operation = event->verb,
                     .name = name,
                     .layer = event->n && place == CT_NO_LAYER ? -1 : e->first_layer + e->pass.layer,
                     .rows = rows,
                     .width = width,
                     .positions = t->position + first,
                     .values = values};

    for (size_t i = 0; i < CT_COUNT(named); i++)
        if (tap_has_name(e, i, event->verb, place, out))
            snprintf(name, sizeof name, named[i].name, tap.layer);
    t->callback(t->user, &tap);
}

static void tell_matrix(struct ct_tap *t, struct ct_backend *b, const struct ct_event *event, int out)
{
    const ct_mat m = event->out[out];
    size_t width = (size_t)m.cols;

    if (!m.handle)
        return;
    for (int row = 0; row < t->n; row++)
        b->verb.copy_out(b, t->values + (size_t)row * width, m, row);
    tell(t, event, out, 0, t->n, m.cols, t->values);
    for (int row = 0; row < t->n; row++)
        b->verb.copy_in(b, m, row, t->values + (size_t)row * width);
}

static void hear(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct ct_tap *t = user;
    const carat_engine *e = t->listener.engine;
    bool selected = strcmp(event->verb, "select_rows") == 0;

    if (strcmp(event->verb, "begin_pass") == 0 || selected) {
        int all = selected ? t->n : b->verb.cost(b, event).rows;
        t->n = 0;
        for (int row = 0; row < all; row++)
            if (!selected || e->rows.wanted[row])
                t->position[t->n++] = e->rows.position[row];
    }
    for (int i = 0; i < event->n_out; i++)
        tell_matrix(t, b, event, i);
    for (int i = 0; i < event->n_logits; i++)
        tell(t, event, 0, event->first + i, 1, e->config.n_vocab, event->logits[i]);
}

/* The engine's lock is held: of two threads that begin one, the second drops the first one's. */
static void drop_tap(carat_engine *e)
{
    if (e->tap)
        ct_listen_end_locked(e->tap);
    free(e->tap);
    e->tap = NULL;
}

carat_status carat_tap_begin(carat_engine *engine, carat_tap_callback callback, void *user, carat_error *err)
{
    CT_GIVEN(engine, err);
    CT_GIVEN(callback, err);
    const size_t chunk = (size_t)engine->plan.chunk, widest = (size_t)ct_widest_output(engine);
    struct ct_tap *t = calloc(1, sizeof *t + chunk * (widest * sizeof *t->values + sizeof *t->position));

    if (!t)
        return ct_fail(err, CARAT_E_MEMORY, "out of memory for the values of %zu rows", chunk);
    *t = (struct ct_tap){.callback = callback, .user = user, .values = (float *)(t + 1)};
    t->position = (int32_t *)(t->values + chunk * widest);
    ct_lock_enter(&engine->lock);
    drop_tap(engine);
    engine->tap = &t->listener;
    ct_listen_locked(engine->tap, engine, (struct ct_trace){.hook = hear, .user = t, .reads = true}, false);
    ct_lock_leave(&engine->lock);
    return CARAT_OK;
}

void carat_tap_end(carat_engine *engine)
{
    if (!engine)
        return;
    ct_lock_enter(&engine->lock);
    drop_tap(engine);
    ct_lock_leave(&engine->lock);
}
