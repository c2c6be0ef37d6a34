/* SPDX-License-Identifier: Apache-2.0 */
/* f16.c: an experiment: what every operation of a pass makes is rounded to f16, as on hardware that keeps
 * nothing wider between operations; what is too large becomes infinite. It listens to the backend before all
 * others, so that these hear rounded values. NUMERICS.md section 14 has the rule. */
#include "engine/engine.h"

#include <stdlib.h>

struct ct_f16 {
    carat_engine *engine;
    struct ct_trace trace;
    int n; /* current rows */
    /* The first value of this pass that became infinite; verb NULL: none did. */
    const char *verb;
    int layer; /* of the model; -1: before or behind the layers */
    float value;
    float row[];
};

/* Returns the first value that became infinite; 0: none did. */
static float round_row(float *x, int n)
{
    float first = 0;

    for (int i = 0; i < n; i++) {
        const float v = x[i];
        x[i] = ct_f16_to_f32(ct_f32_to_f16(v));
        if (x[i] - x[i] != 0 && v - v == 0 && first == 0)
            first = v;
    }
    return first;
}

static void note_overflow(struct ct_f16 *f, const struct ct_event *event, float value)
{
    const carat_engine *e = f->engine;
    const bool beside = event->n && ct_weight_place(e, event->w[0]) == CT_NO_LAYER;

    if (value == 0 || f->verb)
        return;
    f->verb = event->verb;
    f->layer = beside ? -1 : e->first_layer + e->pass.layer;
    f->value = value;
}

static void round_all(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct ct_f16 *f = user;
    const carat_engine *e = f->engine;

    if (strcmp(event->verb, "begin_pass") == 0) {
        f->n = b->verb.cost(b, event).rows;
        f->verb = NULL;
    }
    if (strcmp(event->verb, "select_rows") == 0) {
        const int all = f->n;
        f->n = 0;
        for (int row = 0; row < all; row++)
            f->n += e->rows.wanted[row];
    }
    for (int i = 0; i < event->n_out; i++)
        for (int row = 0; row < f->n && event->out[i].handle; row++) {
            b->verb.copy_out(b, f->row, event->out[i], row);
            note_overflow(f, event, round_row(f->row, event->out[i].cols));
            b->verb.copy_in(b, event->out[i], row, f->row);
        }
    for (int i = 0; i < event->n_logits; i++)
        note_overflow(f, event, round_row(event->logits[i], e->config.n_vocab));
}

carat_status ct_f16_begin(carat_engine *e, carat_error *err)
{
    e->f16 = malloc(sizeof *e->f16 + (size_t)ct_widest_output(e) * sizeof *e->f16->row);
    if (!e->f16)
        return ct_no_memory(err, "the values of a row");
    *e->f16 = (struct ct_f16){.engine = e};
    e->f16->trace = (struct ct_trace){.hook = round_all, .user = e->f16, .reads = true, .first = true};
    ct_trace_begin(e->backend, &e->f16->trace);
    return CARAT_OK;
}

void ct_f16_end(carat_engine *e)
{
    if (e->f16)
        ct_trace_end(e->backend, &e->f16->trace);
    free(e->f16);
    e->f16 = NULL;
}

bool ct_f16_explains(const carat_engine *e, carat_error *why)
{
    const struct ct_f16 *f = e->f16;
    char layer[32] = "";

    if (!f || !f->verb)
        return false;
    if (f->layer >= 0)
        snprintf(layer, sizeof layer, " in layer %d", f->layer);
    (void)ct_fail(why, CARAT_E_NUMERIC,
                  "%s%s made %g, and the largest number of f16 is 65504: with activations in f16 the %s NaN "
                  "or infinity",
                  f->verb, layer, (double)f->value, e->config.embeds ? "vector holds" : "logits hold");
    return true;
}
