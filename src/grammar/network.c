/* SPDX-License-Identifier: Apache-2.0 */
/* network.c: see network.h. */
#include "grammar/network.h"

#include <stdlib.h>

#include "base/array.h"

void ct_network_free(struct ct_network *net)
{
    free(net->arc);
    *net = (struct ct_network){0};
}

int32_t ct_network_node(struct ct_network *net)
{
    if (net->status == CARAT_OK && net->n_nodes == CT_NETWORK_NODES)
        net->status = CARAT_E_ARGUMENT;
    return net->status == CARAT_OK ? net->n_nodes++ : -1;
}

void ct_network_arc(struct ct_network *net, int32_t from, uint32_t low, uint32_t high, int32_t to)
{
    if (net->status != CARAT_OK || from < 0 || to < 0)
        return;
    if (ct_watch_ended(net->watch, 1))
        net->status = CARAT_E_CANCELLED;
    else if (net->n_arcs == CT_NETWORK_ARCS)
        net->status = CARAT_E_ARGUMENT;
    else if (!ct_array_grow(&net->arc, &net->arc_room, (size_t)net->n_arcs + 1, sizeof *net->arc))
        net->status = CARAT_E_MEMORY;
    else
        net->arc[net->n_arcs++] = (struct ct_arc){from, to, low, high};
}

void ct_network_skip(struct ct_network *net, int32_t from, int32_t to)
{
    if (from != to)
        ct_network_arc(net, from, CT_ARC_SKIP, 0, to);
}

/* n nodes of a piece, and its arcs up to last_arc, once more, behind all that is there. */
static void copy_piece(struct ct_network *net, const struct ct_piece *p, int32_t n, int32_t last_arc)
{
    const int32_t by = net->n_nodes - p->first_node;

    if (n > CT_NETWORK_NODES - net->n_nodes)
        net->status = CARAT_E_ARGUMENT;
    else
        net->n_nodes += n;
    for (int32_t i = p->first_arc; i < last_arc && net->status == CARAT_OK; i++) {
        const struct ct_arc a = net->arc[i];
        ct_network_arc(net, a.from + by, a.low, a.high, a.to + by);
    }
}

int32_t ct_network_repeat(struct ct_network *net, const struct ct_piece *p, int32_t min, int32_t most)
{
    const int32_t copies = most == CT_NO_BOUND ? CT_MAX(min, 1) : most;
    const int32_t n = net->n_nodes - p->first_node, last_arc = net->n_arcs, out = ct_network_node(net);
    int32_t start = p->start, end = p->end;

    if (copies == 0)
        ct_network_skip(net, p->before, out);
    for (int32_t i = 0; i < copies && net->status == CARAT_OK; i++) {
        if (i > 0) {
            const int32_t by = net->n_nodes - p->first_node, last = end;
            copy_piece(net, p, n, last_arc);
            start = p->start + by;
            end = p->end + by;
            ct_network_skip(net, last, start);
        }
        if (i >= min)
            ct_network_skip(net, start, out);
    }
    if (most == CT_NO_BOUND)
        ct_network_skip(net, end, start);
    if (copies > 0)
        ct_network_skip(net, end, out);
    return net->status == CARAT_OK ? out : -1;
}

/* ---- anchors ---- */

/* What is known of a place in a text, in bits. */
enum { TAKEN = 1, ENDED = 2, PLACES = 4 };

/* Nodes with what is known there, in the order in which they are met. */
struct anchored {
    const struct ct_network *net;
    int32_t *first, *arc; /* arcs of a node, by their indices */
    int32_t *state;       /* [n_nodes * PLACES] of the language, -1: not met */
    int32_t *queue;
    int32_t n;
    bool begins; /* there are arcs that ask for the beginning */
};

static bool anchored_open(struct anchored *a)
{
    const struct ct_network *net = a->net;
    const size_t nodes = (size_t)net->n_nodes, pairs = nodes * PLACES;

    a->first = calloc(nodes + 2, sizeof *a->first);
    a->arc = malloc(((size_t)net->n_arcs + 1) * sizeof *a->arc);
    a->state = malloc(pairs * sizeof *a->state);
    a->queue = malloc(pairs * sizeof *a->queue);
    if (!a->first || !a->arc || !a->state || !a->queue)
        return false;
    for (size_t i = 0; i < pairs; i++)
        a->state[i] = -1;
    for (int32_t i = 0; i < net->n_arcs; i++) {
        const struct ct_arc *arc = &net->arc[i];
        a->first[arc->from + 2]++;
        a->begins |= arc->high == 0 && arc->low == CT_ARC_BEGIN;
    }
    for (int32_t i = 0; i < net->n_nodes; i++)
        a->first[i + 2] += a->first[i + 1];
    for (int32_t i = 0; i < net->n_arcs; i++)
        a->arc[a->first[net->arc[i].from + 1]++] = i;
    return true;
}

/* A node from which one arc leads away, and takes nothing, is the node behind it. */
static int32_t node_behind(const struct anchored *a, int32_t node, int32_t end)
{
    for (int hops = 0; hops < 64 && node != end && a->first[node + 1] - a->first[node] == 1; hops++) {
        const struct ct_arc *arc = &a->net->arc[a->arc[a->first[node]]];
        if (arc->high != 0 || arc->low != CT_ARC_SKIP)
            break;
        node = arc->to;
    }
    return node;
}

static int32_t anchored_state(struct anchored *a, int32_t node, int place, int32_t end,
                              struct ct_language *out)
{
    node = node_behind(a, node, end);
    const int32_t pair = node * PLACES + place;

    if (a->state[pair] < 0) {
        a->state[pair] = ct_language_state(out, node == end);
        if (a->state[pair] >= 0)
            a->queue[a->n++] = pair;
    }
    return a->state[pair];
}

/* Follows the arcs from start on: characters only before the end of a text, ^ only while none was taken. */
static void anchored_run(struct anchored *a, int32_t start, int32_t end, struct ct_language *out)
{
    anchored_state(a, start, 0, end, out);
    for (int32_t next = 0; next < a->n && !ct_language_failed(out); next++) {
        const int32_t node = a->queue[next] / PLACES, from = a->state[a->queue[next]];
        const int place = a->queue[next] % PLACES;
        for (int32_t i = a->first[node]; i < a->first[node + 1]; i++) {
            const struct ct_arc *arc = &a->net->arc[a->arc[i]];
            const bool takes = arc->low <= arc->high;
            if ((takes && (place & ENDED)) || (!takes && arc->low == CT_ARC_BEGIN && (place & TAKEN)))
                continue;
            const int then =
                place | (takes && a->begins ? TAKEN : 0) | (!takes && arc->low == CT_ARC_END ? ENDED : 0);
            const int32_t to = anchored_state(a, arc->to, then, end, out);
            if (takes)
                ct_language_arc(out, from, arc->low, arc->high, to);
            else
                ct_language_skip(out, from, to);
        }
    }
}

carat_status ct_network_language(const struct ct_network *net, int32_t start, int32_t end,
                                 struct ct_language *out, carat_error *err)
{
    struct anchored a = {.net = net};
    const bool open = anchored_open(&a);

    if (open)
        anchored_run(&a, start, end, out);
    free(a.first);
    free(a.arc);
    free(a.state);
    free(a.queue);
    if (!open)
        return ct_no_memory(err, "a pattern");
    return ct_language_failed(out) ? ct_fail(err, out->error.code, "%s", out->error.message) : CARAT_OK;
}
