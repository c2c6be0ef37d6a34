/* SPDX-License-Identifier: Apache-2.0 */
/* trace_util.h: what the tests of traces share: a receipt, the hashes that are right, and a replay in which
 * one bit of one operation is wrong. */
#ifndef CT_TEST_TRACE_UTIL_H
#define CT_TEST_TRACE_UTIL_H

#include "receipt/receipt_util.h"

#include <stdlib.h>

#include "listen/operations.h"
#include "receipt/receipt.h"

enum { FIRST = 12, TRACED = 20 };

static carat_receipt *receipt;
static carat_engine *engine;

struct told {
    int n, capacity;
    carat_operation_hash *of;
};
static struct told right;

UNUSED static int hear(void *user, const carat_operation_hash *hash)
{
    struct told *t = user;

    if (t->n == t->capacity) {
        t->capacity = 2 * t->capacity + 100;
        t->of = realloc(t->of, (size_t)t->capacity * sizeof *t->of);
        assert_non_null(t->of);
    }
    t->of[t->n++] = *hash;
    return 0;
}

UNUSED static carat_replay_options tracing(struct told *t, int first, int n)
{
    carat_replay_options how;
    carat_replay_options_default(&how);

    *t = (struct told){0};
    how.on_operation = hear;
    how.user = t;
    how.trace_first = first;
    how.n_traced = n;
    return how;
}

UNUSED static struct told traced(carat_engine *e, int first, int n, carat_replay *result)
{
    struct told t;
    const carat_replay_options how = tracing(&t, first, n);
    carat_replay_default(result);

    OK(carat_receipt_replay(receipt, e, &how, result, err));
    return t;
}

/* The first that differs; -1: none does. */
UNUSED static int first_difference(const struct told *t)
{
    assert_int_equal(t->n, right.n);
    for (int i = 0; i < t->n; i++) {
        assert_true(t->of[i].position == right.of[i].position && t->of[i].layer == right.of[i].layer);
        assert_string_equal(t->of[i].operation, right.of[i].operation);
        if (strcmp(t->of[i].hash, right.of[i].hash) != 0)
            return i;
    }
    return -1;
}

/* Whatever computes it. */
UNUSED static void expect_the_same_in_every_way(void)
{
    static const struct {
        const char *isa;
        int threads, chunk;
    } ways[] = {{"ref", 1, 1}, {NULL, 2, 256}, {NULL, 2, 7}};

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        carat_engine *e = engine_for(receipt, tiny_options(ways[i].threads, ways[i].isa, ways[i].chunk));
        carat_replay result;
        struct told t = traced(e, FIRST, TRACED, &result);
        assert_int_equal(first_difference(&t), -1);
        assert_true(result.confirmed);
        free(t.of);
        carat_engine_close(e);
    }
}

/* ---- faults ---- */

struct fault {
    int op, layer, position; /* op: also one that is told of with another */
    bool done;
    float row[4096];
};

UNUSED static void flip(float *value)
{
    uint32_t bits;

    memcpy(&bits, value, sizeof bits);
    bits ^= 1u;
    memcpy(value, &bits, sizeof bits);
}

/* Before all others hear: what the operation wrote is wrong. */
UNUSED static void plant(void *user, struct ct_backend *b, const struct ct_event *event)
{
    struct fault *f = user;
    const int op = ct_operation_of(engine, event), out = f->op - op;

    if (f->done || op < 0 || out < 0 || (out > 0 && ct_operations[op].several) || out >= event->n_out ||
        !event->out[out].handle || ct_operation_layer(engine, op) != f->layer)
        return;
    for (int row = 0; row < b->verb.cost(b, event).rows; row++)
        if (engine->rows.position[row] == f->position) {
            b->verb.copy_out(b, f->row, event->out[out], row);
            flip(&f->row[f->position % 2 ? 3 : event->out[out].cols - 1]);
            b->verb.copy_in(b, event->out[out], row, f->row);
            f->done = true;
        }
}

UNUSED static struct told with_fault(struct fault *f,
                                     void (*hook)(void *, struct ct_backend *, const struct ct_event *))
{
    struct ct_trace trace = {.hook = hook, .user = f, .reads = true, .first = true};
    carat_replay result;

    ct_trace_begin(engine->backend, &trace);
    struct told t = traced(engine, FIRST, TRACED, &result);
    ct_trace_end(engine->backend, &trace);
    assert_true(f->done);
    return t;
}

#endif
