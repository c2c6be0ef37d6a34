/* SPDX-License-Identifier: Apache-2.0 */
/* plant.c: see plant.h. */
#include "plant.h"

#include "listen/operations.h"

static struct ct_trace trace;
static carat_engine *engine;

static void flip_a_bit(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct plant *p = user;
    const int op = ct_operation_of(engine, event);
    float row[4096];
    uint32_t bits;

    if (!p->asks(p->user) || op < 0 || strcmp(ct_operations[op].name, p->operation) != 0 ||
        ct_operation_layer(engine, op) != p->layer || event->out[0].cols > (int)CT_COUNT(row))
        return;
    b->verb.copy_out(b, row, event->out[0], 0);
    memcpy(&bits, &row[5], sizeof bits);
    bits ^= 1u << 20;
    memcpy(&row[5], &bits, sizeof bits);
    b->verb.copy_in(b, event->out[0], 0, row);
    p->done++;
}

void plant_begin(struct plant *p, carat_engine *e)
{
    engine = e;
    trace = (struct ct_trace){.hook = flip_a_bit, .user = p, .reads = true, .first = true};
    ct_trace_begin(e->backend, &trace);
}
