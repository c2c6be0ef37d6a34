/* SPDX-License-Identifier: Apache-2.0 */
/* language_emit.c: languages as productions. Printable ASCII stands in the path of a language itself; what
 * takes many bytes to spell is a rule, one for each set of characters, which all languages share. */
#include <stdlib.h>

#include "base/array.h"
#include "grammar/language.h"

void ct_charsets_free(struct ct_charsets *c)
{
    free(c->set);
    free(c->bound);
    *c = (struct ct_charsets){0};
}

/* ---- sets of characters ---- */

/* The rule for the ranges that were added behind all sets; they stay only where it is new. */
static int32_t charset_rule(struct ct_grammar *g, struct ct_charsets *c, uint32_t first,
                            enum ct_spelling spelling)
{
    const uint32_t n = (uint32_t)c->n_bounds - first;

    for (int32_t i = 0; i < c->n; i++)
        if (c->set[i].n == n && c->set[i].spelling == spelling &&
            memcmp(c->bound + c->set[i].first, c->bound + first, n * sizeof *c->bound) == 0) {
            c->n_bounds = (int32_t)first;
            return c->set[i].rule;
        }
    if (!ct_array_grow(&c->set, &c->set_room, (size_t)c->n + 1, sizeof *c->set))
        return ct_grammar_fail(g, CARAT_E_MEMORY, "out of memory for characters of a grammar");
    const int32_t rule = ct_grammar_rule(g, "characters");
    for (uint32_t i = 0; i < n; i += 2)
        ct_grammar_chars(g, ct_rule_start(g, rule), c->bound[first + i], c->bound[first + i + 1], spelling,
                         ct_rule_end(g, rule));
    c->set[c->n++] = (struct ct_charset){first, n, rule, (uint8_t)spelling};
    return rule;
}

static bool charset_add(struct ct_grammar *g, struct ct_charsets *c, uint32_t low, uint32_t high)
{
    if (low > high)
        return true;
    if (!ct_array_grow(&c->bound, &c->bound_room, (size_t)c->n_bounds + 2, sizeof *c->bound)) {
        ct_grammar_fail(g, CARAT_E_MEMORY, "out of memory for characters of a grammar");
        return false;
    }
    c->bound[c->n_bounds++] = low;
    c->bound[c->n_bounds++] = high;
    return true;
}

/* Characters that are one byte in a spelling, and nothing else. */
static const struct {
    uint8_t n;
    uint8_t bound[4][2];
} one_byte[] = {
    [CT_SPELL_PLAIN] = {1, {{0, 0x7f}}},
    [CT_SPELL_JSON] = {4, {{0x20, 0x21}, {0x23, 0x2e}, {0x30, 0x5b}, {0x5d, 0x7e}}},
};

/* Makes edges of the part of a range that is one byte; the part between joins the set. */
static bool charset_range(struct ct_grammar *g, struct ct_charsets *c, uint32_t low, uint32_t high,
                          int32_t from, enum ct_spelling spelling, int32_t to)
{
    bool good = true;

    for (int i = 0; i < one_byte[spelling].n; i++) {
        const uint32_t first = one_byte[spelling].bound[i][0], last = one_byte[spelling].bound[i][1];
        if (low > last || high < first)
            continue;
        if (low < first)
            good = good && charset_add(g, c, low, first - 1);
        ct_grammar_bytes(g, from, (int)CT_MAX(low, first), (int)CT_MIN(high, last), to);
        low = last + 1;
    }
    return good && charset_add(g, c, low, high);
}

/* most_edges: sets of more ranges are a rule altogether; 0: there is no such limit. */
static void charset_emit(struct ct_grammar *g, struct ct_charsets *shared, const uint32_t *bound,
                         size_t n_bounds, int32_t from, enum ct_spelling spelling, int most_edges, int32_t to)
{
    const int32_t first = shared->n_bounds;
    const bool compact = most_edges > 0 && n_bounds > 2 * (size_t)most_edges;

    for (size_t i = 0; i < n_bounds; i += 2)
        if (!(compact ? charset_add(g, shared, bound[i], bound[i + 1])
                      : charset_range(g, shared, bound[i], bound[i + 1], from, spelling, to)))
            return;
    const int32_t n = shared->n_bounds - first;
    if (n > 2 || (n == 2 && shared->bound[first] < shared->bound[first + 1])) {
        ct_grammar_call(g, from, charset_rule(g, shared, (uint32_t)first, spelling), to);
    } else {
        if (n == 2)
            ct_grammar_chars(g, from, shared->bound[first], shared->bound[first], spelling, to);
        shared->n_bounds = first;
    }
}

void ct_charset_emit(struct ct_grammar *g, struct ct_charsets *shared, const uint32_t *bound, size_t n_bounds,
                     int32_t from, enum ct_spelling spelling, int32_t to)
{
    charset_emit(g, shared, bound, n_bounds, from, spelling, 0, to);
}

/* ---- a language ---- */

enum { MANY_ARCS = 4000, FEW_EDGES = 2 };

struct emission {
    struct ct_grammar *g;
    struct ct_charsets *shared;
    enum ct_spelling spelling;
    struct ct_arc *arc; /* in the order of from, to and characters */
    int32_t *node;      /* [n_states]; -1: no text ends behind it */
    uint32_t *bound;    /* [2 * n_arcs] */
};

static int compare_ways(const void *a, const void *b)
{
    const struct ct_arc *x = a, *y = b;

    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    return (x->low > y->low) - (x->low < y->low);
}

/* Arcs by the states that they lead to: which states lead to an end. */
static bool find_living(const struct ct_language *l, int32_t *node)
{
    int32_t *first = calloc((size_t)l->n_states + 2, sizeof *first),
            *arc = malloc(((size_t)l->n_arcs + 1) * sizeof *arc),
            *work = malloc(((size_t)l->n_states + 1) * sizeof *work), n = 0;

    if (first && arc && work) {
        for (int32_t i = 0; i < l->n_arcs; i++)
            first[l->arc[i].to + 2]++;
        for (int32_t i = 0; i < l->n_states; i++)
            first[i + 2] += first[i + 1];
        for (int32_t i = 0; i < l->n_arcs; i++)
            arc[first[l->arc[i].to + 1]++] = l->arc[i].from;
        for (int32_t i = 0; i < l->n_states; i++) {
            node[i] = l->accepts[i] ? 0 : -1;
            if (l->accepts[i])
                work[n++] = i;
        }
        while (n > 0) {
            const int32_t state = work[--n];
            for (int32_t i = first[state]; i < first[state + 1]; i++)
                if (node[arc[i]] < 0) {
                    node[arc[i]] = 0;
                    work[n++] = arc[i];
                }
        }
    }
    const bool good = first && arc && work;
    free(first);
    free(arc);
    free(work);
    return good;
}

/* Most languages have their arcs in the order of states, of which each has few. */
static void sort_ways(struct ct_arc *arc, int32_t n)
{
    bool by_state = true;

    for (int32_t i = 1; i < n; i++)
        by_state = by_state && arc[i - 1].from <= arc[i].from;
    for (int32_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && (!by_state || arc[end].from == arc[i].from);)
            end++;
        qsort(arc + i, (size_t)(end - i), sizeof *arc, compare_ways);
    }
}

/* The characters of one way from a state to another; returns the first arc behind it. */
static int32_t emit_way(struct emission *e, int32_t i, int32_t n)
{
    const struct ct_arc *way = &e->arc[i];
    size_t k = 0;
    bool skips = false;

    for (; i < n && e->arc[i].from == way->from && e->arc[i].to == way->to; i++) {
        const struct ct_arc *a = &e->arc[i];
        if (a->low > a->high)
            skips = true;
        else if (k && a->low <= e->bound[k - 1] + 1)
            e->bound[k - 1] = CT_MAX(e->bound[k - 1], a->high);
        else {
            e->bound[k++] = a->low;
            e->bound[k++] = a->high;
        }
    }
    if (e->node[way->from] >= 0 && e->node[way->to] >= 0) {
        if (skips)
            ct_grammar_skip(e->g, e->node[way->from], e->node[way->to]);
        charset_emit(e->g, e->shared, e->bound, k, e->node[way->from], e->spelling,
                     n > MANY_ARCS ? FEW_EDGES : 0, e->node[way->to]);
    }
    return i;
}

static void emit_all(struct emission *e, const struct ct_language *l, int32_t from, int32_t to)
{
    const int32_t owner = e->g->owner[from];

    for (int32_t i = 0; i < l->n_states; i++)
        if (e->node[i] >= 0) {
            e->node[i] = ct_grammar_node(e->g, owner);
            if (l->accepts[i])
                ct_grammar_skip(e->g, e->node[i], to);
        }
    for (int32_t i = 0; i < l->n_arcs; i++)
        e->arc[i] = l->arc[i];
    sort_ways(e->arc, l->n_arcs);
    for (int32_t i = 0; i < l->n_arcs && !ct_grammar_failed(e->g);)
        i = emit_way(e, i, l->n_arcs);
    ct_grammar_skip(e->g, from, e->node[l->start]);
}

void ct_language_emit(struct ct_grammar *g, struct ct_charsets *shared, const struct ct_language *l,
                      int32_t from, enum ct_spelling spelling, int32_t to)
{
    const size_t arcs = (size_t)l->n_arcs + 1;

    if (ct_language_failed(l))
        ct_grammar_fail(g, l->error.code, "%s", l->error.message);
    if (from < 0 || to < 0 || l->start < 0 || ct_grammar_failed(g))
        return;
    struct emission e = {.g = g,
                         .shared = shared,
                         .spelling = spelling,
                         .arc = malloc(arcs * sizeof *e.arc),
                         .node = malloc(((size_t)l->n_states + 1) * sizeof *e.node),
                         .bound = malloc(2 * arcs * sizeof *e.bound)};
    if (e.arc && e.node && e.bound && find_living(l, e.node))
        emit_all(&e, l, from, to);
    else
        ct_grammar_fail(g, CARAT_E_MEMORY, "out of memory for a pattern of a grammar");
    free(e.arc);
    free(e.node);
    free(e.bound);
}
