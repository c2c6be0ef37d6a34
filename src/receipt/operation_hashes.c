/* SPDX-License-Identifier: Apache-2.0 */
/* operation_hashes.c: hashes of what each operation of a replay gives, as a chain over positions, so that two
 * machines which compute the same receipt find the first operation in which they differ. What operations
 * there are is listen/operations.h's.
 *
 * A trace of few positions tells of all before them, and two traces, by position and then by operation,
 * differ first where the fault is. */
#include <stdlib.h>

#include "listen/operations.h"
#include "receipt/receipt.h"

/* Streams of Gemma 3n are made one after another, each for all rows of a pass: each has a chain of its own,
 * for the same hashes whatever rows a pass has. The first one's is that of the operation. */
enum { STREAMS = CT_STREAMS - 1, FURTHER = STREAMS - 1 };

struct ct_hashes {
    const carat_engine *engine;
    int first, n;        /* positions that are kept */
    int n_ops, n_chains; /* the further streams' behind those of operations */
    ct_digest *chain;    /* [n_chains] over all rows so far */
    ct_digest *kept;     /* [n][n_chains] */
    bool *heard;         /* [n_ops] the model has such an operation */
    float *row;          /* [widest] */
};

carat_status ct_hashes_open(struct ct_hashes **hashes, const carat_engine *e, int first, int n,
                            carat_error *err)
{
    struct ct_hashes *h = calloc(1, sizeof *h);
    const int n_ops = ct_operations_of(e->config.n_layer), n_chains = n_ops + 2 * FURTHER;

    *hashes = h;
    if (!h)
        return ct_no_memory(err, "a trace");
    *h = (struct ct_hashes){.engine = e, .first = first, .n = n, .n_ops = n_ops, .n_chains = n_chains};
    h->chain = calloc((size_t)n_chains, sizeof *h->chain);
    h->kept = calloc((size_t)n * (size_t)n_chains, sizeof *h->kept);
    h->heard = calloc((size_t)n_ops, sizeof *h->heard);
    h->row = malloc((size_t)ct_widest_output(e) * sizeof *h->row);
    return h->chain && h->kept && h->heard && h->row ? CARAT_OK : ct_no_memory(err, "a trace");
}

void ct_hashes_close(struct ct_hashes *h)
{
    if (!h)
        return;
    free(h->chain);
    free(h->kept);
    free(h->heard);
    free(h->row);
    free(h);
}

bool ct_hashes_keep(const struct ct_hashes *h, int position)
{
    return position >= h->first && position < h->first + h->n;
}

/* Those of an operation that is made stream by stream; NULL: it is not. */
static const struct ct_weight *stream_weights(const carat_engine *e, int op)
{
    return op == CT_OP_STREAMS        ? e->weights.stream_proj
           : op == CT_OP_STREAMS_BACK ? e->weights.stream_unproj
                                      : NULL;
}

static int chain_of(const struct ct_hashes *h, int op, int at, int stream)
{
    return stream ? h->n_ops + (op == CT_OP_STREAMS_BACK) * FURTHER + stream - 1 : at;
}

/* One more row of an operation, whose number is at. */
static void add_values(struct ct_hashes *h, int chain, int at, int position, const float *values, int n)
{
    ct_digest_token(h->chain[chain], (uint32_t)position, at, values, n);
    h->heard[at] = true;
    if (ct_hashes_keep(h, position))
        memcpy(h->kept[(position - h->first) * h->n_chains + chain], h->chain[chain], CT_DIGEST);
}

void ct_hashes_hear(struct ct_hashes *h, int slot, struct ct_backend *b, const struct ct_event *event)
{
    const carat_engine *e = h->engine;
    const int op = ct_operation_of(e, event);

    if (op < 0)
        return;
    const struct ct_weight *streams = stream_weights(e, op);
    const int rows = b->verb.cost(b, event).rows, next = !ct_operations[op].several;
    const int stream = streams ? (int)(event->w[0] - streams) : 0;
    for (int row = 0; row < rows; row++)
        for (int i = 0; i < event->n_out && e->rows.sequence[row] == slot; i++) {
            if (!event->out[i].handle)
                continue;
            b->verb.copy_out(b, h->row, event->out[i], row);
            const int at = ct_operation_at(op + i * next, ct_operation_layer(e, op), e->config.n_layer);
            add_values(h, chain_of(h, op, at, stream), at, e->rows.position[row], h->row, event->out[i].cols);
        }
}

void ct_hashes_logits(struct ct_hashes *h, int position, const float *logits)
{
    add_values(h, h->n_ops - 1, h->n_ops - 1, position, logits, h->engine->config.n_vocab);
}

/* What is kept of an operation at a position: a hash, or that of the hashes of all its streams. */
static void kept_of(const struct ct_hashes *h, int position, int op, int at, ct_digest out)
{
    ct_digest *kept = h->kept + (size_t)position * (size_t)h->n_chains;
    struct ct_hash of;

    if (!stream_weights(h->engine, op)) {
        memcpy(out, kept[at], CT_DIGEST);
        return;
    }
    ct_hash_begin(&of);
    for (int i = 0; i < STREAMS; i++)
        ct_hash_add(&of, kept[chain_of(h, op, at, i)], CT_DIGEST);
    ct_hash_end128(&of, out);
}

carat_status ct_hashes_tell(const struct ct_hashes *h, const carat_replay_options *o, carat_error *err)
{
    const int behind = h->n_ops - CT_OPS_BEHIND; /* the layers */
    carat_operation_hash told = {.size = sizeof told};
    ct_digest hash;

    for (int i = 0; i < h->n * h->n_ops; i++) {
        const int at = i % h->n_ops, layer = (at - CT_OP_PREDICT) / CT_OPS_OF_LAYER;
        const bool of_layer = at >= CT_OP_PREDICT && at < behind;
        const int op = of_layer       ? at - layer * CT_OPS_OF_LAYER
                       : at >= behind ? at - behind + CT_OP_STREAMS_BACK
                                      : at;
        if (!h->heard[at])
            continue;
        kept_of(h, i / h->n_ops, op, at, hash);
        told.position = h->first + i / h->n_ops;
        told.layer = of_layer ? h->engine->first_layer + layer : -1;
        told.operation = ct_operations[op].name;
        ct_hex(told.hash, hash, CT_DIGEST);
        if (o->on_operation(o->user, &told))
            return ct_fail(err, CARAT_E_CANCELLED, "the callback ended the trace");
    }
    return CARAT_OK;
}
