/* SPDX-License-Identifier: Apache-2.0 */
/* automaton_parts.h: what the files of the automaton share: places, and the sets of them that states and
 * frames are. */
#ifndef CT_AUTOMATON_PARTS_H
#define CT_AUTOMATON_PARTS_H

#include "grammar/automaton.h"

struct ct_set {
    uint32_t at, n; /* of its places */
    uint32_t hash;
    uint32_t least; /* cost to the end of the text */
    int32_t row;    /* + 1; 0: it has none yet, as frames never have */
    int32_t level;  /* of nesting; frames lie as deep as what calls their rules */
};

/* Nodes of places are below LAST, but for the end of the text and for marks: MARK + a member of a bag. */
enum { LAST = 1 << 29, MARK = 1 << 30 };

static inline uint64_t place_in(int32_t node, int32_t frame)
{
    return (uint64_t)(uint32_t)node << 32 | (uint32_t)frame;
}

static inline int32_t place_node(uint64_t place)
{
    return (int32_t)(place >> 32);
}

static inline int32_t place_frame(uint64_t place)
{
    return (int32_t)(uint32_t)place;
}

static inline bool is_member_mark(uint64_t place)
{
    return place_node(place) >= MARK;
}

static inline const uint64_t *set_places(const struct ct_automaton *a, int32_t set)
{
    return a->place + a->set[set].at;
}

/* True when the shortest way from a node stays within the levels that there may be. A way that does not is
 * left out of every state, so that every state has an end. */
static inline bool is_shallow(const struct ct_grammar *g, int32_t node, int32_t level)
{
    return !g->deep || node == LAST || level + g->deep[node] <= g->most_levels;
}

/* ---- unordered.c ---- */

/* True when a member was written in a frame of its bag. */
bool ct_unordered_has(const struct ct_automaton *a, int32_t frame, int32_t member);
uint64_t ct_member_least(const struct ct_grammar *g, const struct ct_member *m);
/* The cost of what is to come of a bag from a place in it at a level of nesting: the required members that
 * are missing, others where there are too few, and another one where a separator has promised one. CT_NEVER:
 * there are too many, or not enough. */
uint64_t ct_unordered_cost(const struct ct_automaton *a, const struct ct_rule *r, int32_t node, int32_t frame,
                           int32_t level);

#endif
