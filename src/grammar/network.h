/* SPDX-License-Identifier: Apache-2.0 */
/* network.h: what a regular expression becomes while it is read (regex.c): nodes, and arcs that take a
 * character, nothing, or the place that an anchor asks for. What is repeated lies together, so that a bounded
 * repeat copies it. At the end each text is followed with what is known of its place, and a language is left.
 *
 * The first thing that goes wrong sticks, and everything after it does nothing. */
#ifndef CT_NETWORK_H
#define CT_NETWORK_H

#include "grammar/language.h"

/* On the way, before what nothing leads to is left out. */
enum { CT_NETWORK_NODES = 200000, CT_NETWORK_ARCS = 4 * CT_NETWORK_NODES, CT_NO_BOUND = -1 };

/* Arcs that take no character have one of these as low, and 0 as high. */
enum { CT_ARC_SKIP = 1, CT_ARC_BEGIN, CT_ARC_END };

struct ct_network {
    struct ct_arc *arc; /* [n_arcs] */
    size_t arc_room;
    int32_t n_arcs, n_nodes;
    struct ct_grammar_watch *watch; /* borrowed; or NULL */
    carat_status status;            /* CARAT_E_ARGUMENT: more nodes or arcs than there may be */
};

/* What a quantifier repeats: all nodes and arcs from the first ones on. No other arc leads to start, but one
 * from before, or away from end. */
struct ct_piece {
    int32_t before, start, end;
    int32_t first_node, first_arc;
};

void ct_network_free(struct ct_network *net);
int32_t ct_network_node(struct ct_network *net); /* -1 after a failure, which all others take */
void ct_network_arc(struct ct_network *net, int32_t from, uint32_t low, uint32_t high, int32_t to);
void ct_network_skip(struct ct_network *net, int32_t from, int32_t to);
/* The piece min times at least, most times at most (CT_NO_BOUND: without end). Returns the node where it
 * ends. */
int32_t ct_network_repeat(struct ct_network *net, const struct ct_piece *p, int32_t min, int32_t most);
/* The texts from node start to node end. */
carat_status ct_network_language(const struct ct_network *net, int32_t start, int32_t end,
                                 struct ct_language *out, carat_error *err);

#endif
