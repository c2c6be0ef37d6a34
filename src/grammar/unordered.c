/* SPDX-License-Identifier: Apache-2.0 */
/* unordered.c: what is written of a bag, and what is to come of it. Its frame has a mark of each member
 * that was written. */
#include "grammar/automaton_parts.h"

bool ct_unordered_has(const struct ct_automaton *a, int32_t frame, int32_t member)
{
    const uint64_t *place = set_places(a, frame), mark = place_in(MARK + member, 0);
    uint32_t n = a->set[frame].n;

    while (n > 0 && place[n - 1] > mark) /* marks are at the end */
        n--;
    return n > 0 && place[n - 1] == mark;
}

uint64_t ct_member_least(const struct ct_grammar *g, const struct ct_member *m)
{
    return g->least[g->rule[m->rule].start];
}

static int32_t bag_written(const struct ct_automaton *a, int32_t frame)
{
    const uint64_t *place = set_places(a, frame);
    const int32_t n = (int32_t)a->set[frame].n;
    int32_t at = n;

    while (at > 0 && is_member_mark(place[at - 1]))
        at--;
    return n - at;
}

/* The cheapest n members that are not written and need not be, at a level; CT_NEVER: there are fewer. */
static uint64_t cheapest_members(const struct ct_automaton *a, const struct ct_rule *r, int32_t frame,
                                 int32_t level, int32_t n)
{
    const struct ct_grammar *g = a->grammar;
    uint64_t sum = 0, last = 0, next = 0;

    for (; n > 0 && next != CT_NEVER; last = next) {
        int32_t alike = 0;
        next = CT_NEVER;
        for (int32_t i = 0; i < r->n_members; i++) {
            const struct ct_member *m = &g->member[r->first_member + i];
            const uint64_t cost = ct_member_least(g, m);
            if (m->required || cost <= last || cost > next || !is_shallow(g, g->rule[m->rule].start, level) ||
                ct_unordered_has(a, frame, i))
                continue;
            alike = cost == next ? alike + 1 : 1;
            next = cost;
        }
        sum += next * (uint64_t)CT_MIN(n, alike);
        n -= alike;
    }
    return next == CT_NEVER ? CT_NEVER : sum;
}

uint64_t ct_unordered_cost(const struct ct_automaton *a, const struct ct_rule *r, int32_t node, int32_t frame,
                           int32_t level)
{
    const struct ct_grammar *g = a->grammar;
    const uint64_t separator = g->least[g->rule[r->separator].start];
    const int32_t written = bag_written(a, frame);
    uint64_t sum = 0;
    int32_t n = 0;

    if (node == r->end)
        return 0;
    for (int32_t i = 0; i < r->n_members; i++) {
        const struct ct_member *m = &g->member[r->first_member + i];
        if (m->required && !ct_unordered_has(a, frame, i)) {
            sum += ct_member_least(g, m);
            n++;
        }
    }
    const int32_t others = CT_MAX(r->at_least - written - n, node == r->again && n == 0);
    if (others > 0)
        sum += cheapest_members(a, r, frame, level, others);
    n += CT_MAX(others, 0);
    if (r->at_most >= 0 && n > r->at_most - written)
        return CT_NEVER;
    return CT_MIN(sum + separator * (uint64_t)(node == r->after || n == 0 ? n : n - 1), CT_NEVER);
}
