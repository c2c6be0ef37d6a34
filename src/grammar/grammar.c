/* SPDX-License-Identifier: Apache-2.0 */
/* grammar.c: see grammar.h. Building; how characters are spelled is spelling.c's, what follows from a whole
 * grammar is finish.c's. */
#include "grammar/grammar.h"

#include <stdlib.h>

#include "base/array.h"

void ct_grammar_init(struct ct_grammar *g)
{
    *g = (struct ct_grammar){.root = -1};
}

void ct_grammar_free(struct ct_grammar *g)
{
    free(g->rule);
    free(g->edge);
    free(g->member);
    free(g->claim);
    free(g->first);
    free(g->owner);
    free(g->least);
    free(g->deep);
    free(g->token);
    ct_grammar_init(g);
}

int32_t ct_grammar_fail(struct ct_grammar *g, carat_status code, const char *format, ...)
{
    char text[sizeof g->error.message];

    if (!ct_grammar_failed(g)) {
        CT_FORMAT(text, format);
        (void)ct_fail(&g->error, code, "%s", text);
    }
    return -1;
}

/* Room for one more of an array that holds n; false after a failure. */
static bool grammar_room(struct ct_grammar *g, void *array, size_t *room, int32_t n, int32_t most,
                         size_t size, const char *what)
{
    if (ct_grammar_failed(g))
        return false;
    if (ct_watch_ended(g->watch, 1)) {
        ct_grammar_fail(g, CARAT_E_CANCELLED, CT_WATCH_SAYS);
        return false;
    }
    if (n >= most) {
        ct_grammar_fail(g, CARAT_E_ARGUMENT, "more than %d %s are needed", most, what);
        return false;
    }
    if (ct_array_grow(array, room, (size_t)n + 1, size))
        return true;
    ct_grammar_fail(g, CARAT_E_MEMORY, "out of memory for %s of a grammar", what);
    return false;
}

int32_t ct_grammar_node(struct ct_grammar *g, int32_t rule)
{
    if (!grammar_room(g, &g->owner, &g->node_room, g->n_nodes, CT_NODES_MAX, sizeof *g->owner, "states"))
        return -1;
    g->owner[g->n_nodes] = rule;
    return g->n_nodes++;
}

int32_t ct_grammar_rule(struct ct_grammar *g, const char *name)
{
    if (!grammar_room(g, &g->rule, &g->rule_room, g->n_rules, CT_RULES_MAX, sizeof *g->rule, "rules"))
        return -1;
    const int32_t rule = g->n_rules++;
    struct ct_rule *r = &g->rule[rule];
    *r = (struct ct_rule){.after = -1, .again = -1, .separator = -1, .n_members = -1, .order = -1};
    snprintf(r->name, sizeof r->name, "%s", name);
    r->start = ct_grammar_node(g, rule);
    r->end = ct_grammar_node(g, rule);
    return ct_grammar_failed(g) ? -1 : rule;
}

/* ---- edges ---- */

static void grammar_edge(struct ct_grammar *g, const struct ct_edge *e)
{
    if (ct_grammar_failed(g) || e->from < 0 || e->to < 0)
        return;
    assert(g->owner[e->from] == g->owner[e->to]);
    if (grammar_room(g, &g->edge, &g->edge_room, g->n_edges, CT_EDGES_MAX, sizeof *g->edge, "edges"))
        g->edge[g->n_edges++] = *e;
}

void ct_grammar_bytes(struct ct_grammar *g, int32_t from, int low, int high, int32_t to)
{
    grammar_edge(
        g, &(struct ct_edge){
               .from = from, .to = to, .kind = CT_EDGE_BYTES, .low = (uint8_t)low, .high = (uint8_t)high});
}

void ct_grammar_bracket(struct ct_grammar *g, int32_t from, int byte, int step, int32_t to)
{
    grammar_edge(g, &(struct ct_edge){.from = from,
                                      .to = to,
                                      .kind = CT_EDGE_BYTES,
                                      .what = step,
                                      .low = (uint8_t)byte,
                                      .high = (uint8_t)byte});
}

void ct_grammar_token(struct ct_grammar *g, int32_t from, int32_t id, int32_t to)
{
    grammar_edge(g, &(struct ct_edge){.from = from, .to = to, .kind = CT_EDGE_TOKEN, .what = id});
}

void ct_grammar_call(struct ct_grammar *g, int32_t from, int32_t rule, int32_t to)
{
    if (rule >= 0)
        grammar_edge(g, &(struct ct_edge){.from = from, .to = to, .kind = CT_EDGE_RULE, .what = rule});
}

void ct_grammar_skip(struct ct_grammar *g, int32_t from, int32_t to)
{
    grammar_edge(g, &(struct ct_edge){.from = from, .to = to, .kind = CT_EDGE_SKIP});
}

void ct_grammar_text(struct ct_grammar *g, int32_t from, struct ct_str text, int32_t to)
{
    if (text.n == 0)
        ct_grammar_skip(g, from, to);
    for (size_t i = 0; i < text.n && from >= 0; i++) {
        const int32_t next = i + 1 == text.n ? to : ct_grammar_node(g, g->owner[from]);
        const uint8_t byte = (uint8_t)text.s[i];
        ct_grammar_bytes(g, from, byte, byte, next);
        from = next;
    }
}

/* ---- bags ---- */

int32_t ct_grammar_bag(struct ct_grammar *g, const char *name, int32_t separator, int32_t at_least,
                       int32_t at_most)
{
    const int32_t bag = ct_grammar_rule(g, name), after = ct_grammar_node(g, bag),
                  again = ct_grammar_node(g, bag);

    if (ct_grammar_failed(g))
        return -1;
    struct ct_rule *r = &g->rule[bag];
    r->after = after;
    r->again = again;
    r->separator = separator;
    r->at_least = at_least;
    r->at_most = at_most;
    r->first_member = g->n_members;
    r->n_members = 0;
    return bag;
}

void ct_grammar_member(struct ct_grammar *g, int32_t bag, int32_t rule, bool required)
{
    if (!grammar_room(g, &g->member, &g->member_room, g->n_members, CT_EDGES_MAX, sizeof *g->member, "keys"))
        return;
    assert(g->rule[bag].first_member + g->rule[bag].n_members == g->n_members);
    g->member[g->n_members++] = (struct ct_member){rule, required};
    g->rule[bag].n_members++;
}

/* ---- claims ---- */

void ct_grammar_claim(struct ct_grammar *g, int32_t rule, const char *otherwise)
{
    if (!grammar_room(g, &g->claim, &g->claim_room, g->n_claims, CT_RULES_MAX, sizeof *g->claim, "claims"))
        return;
    struct ct_claim *c = &g->claim[g->n_claims++];
    c->rule = rule;
    snprintf(c->otherwise, sizeof c->otherwise, "%s", otherwise);
}
