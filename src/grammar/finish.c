/* SPDX-License-Identifier: Apache-2.0 */
/* finish.c: what follows from a whole grammar: edges in the order of their nodes, what it costs at least to
 * come to an end from each, which rule begins with which, which bytes are alike. */
#include <stdlib.h>

#include "grammar/grammar.h"

/* ---- lists of lists ---- */

/* item[first[i]] to item[first[i + 1]] belong to i. */
struct lists {
    int32_t *first, *item;
};

static bool lists_open(struct lists *l, int32_t n, size_t items)
{
    l->first = calloc((size_t)n + 2, sizeof *l->first);
    l->item = malloc((items + 1) * sizeof *l->item);
    return l->first && l->item;
}

static void lists_close(struct lists *l)
{
    free(l->first);
    free(l->item);
}

/* Items are counted at first[i + 2], then put: first[i + 1] is where the next one goes. */
static void lists_begin(struct lists *l, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        l->first[i + 2] += l->first[i + 1];
}

static void lists_put(struct lists *l, int32_t i, int32_t item)
{
    l->item[l->first[i + 1]++] = item;
}

/* ---- edges in the order of their nodes ---- */

static carat_status sort_edges(struct ct_grammar *g, carat_error *err)
{
    struct ct_edge *sorted = malloc(((size_t)g->n_edges + 1) * sizeof *sorted);

    g->first = calloc((size_t)g->n_nodes + 2, sizeof *g->first);
    if (!sorted || !g->first) {
        free(sorted);
        return ct_no_memory(err, "a grammar");
    }
    for (int32_t i = 0; i < g->n_edges; i++)
        g->first[g->edge[i].from + 2]++;
    for (int32_t i = 0; i < g->n_nodes; i++)
        g->first[i + 2] += g->first[i + 1];
    for (int32_t i = 0; i < g->n_edges; i++)
        sorted[g->first[g->edge[i].from + 1]++] = g->edge[i];
    free(g->edge);
    g->edge = sorted;
    g->edge_room = (size_t)g->n_edges + 1;
    return CARAT_OK;
}

/* ---- what it costs to come to an end: Knuth's generalisation of Dijkstra's algorithm. Costs become known in
 * ascending order. ---- */

struct cost {
    uint32_t cost;
    int32_t node;
    int32_t edge; /* with which this way begins; NONE: the node is an end, or the start of a bag */
};

enum { NONE = -1, DEEPEST = UINT8_MAX };

struct costs {
    struct ct_grammar *g;
    struct lists into;    /* edges by the node they lead to */
    struct lists callers; /* edges by the rule they call */
    struct lists bags;    /* bags by the rules that their texts have: 2 * bag, + 1 where not each has it */
    int32_t *waits;       /* [n_rules] of a bag: costs of such rules that are not known, and must be */
    int32_t *spare;       /* [n_rules] of a bag: how many of these need not be in each text */
    uint64_t *chosen;     /* [n_rules] costs of the cheapest ones of those */
    struct cost *heap;
    size_t n;
};

static void costs_push(struct costs *c, uint64_t cost, int32_t node, int32_t edge)
{
    size_t i = c->n++;

    if (cost >= CT_NEVER || c->g->least[node] != CT_NEVER) {
        c->n--;
        return;
    }
    for (; i > 0 && c->heap[(i - 1) / 2].cost > cost; i = (i - 1) / 2)
        c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = (struct cost){(uint32_t)cost, node, edge};
}

static struct cost costs_pop(struct costs *c)
{
    const struct cost least = c->heap[0], last = c->heap[--c->n];
    size_t i = 0, next;

    while ((next = 2 * i + 1) < c->n) {
        next += next + 1 < c->n && c->heap[next + 1].cost < c->heap[next].cost;
        if (c->heap[next].cost >= last.cost)
            break;
        c->heap[i] = c->heap[next];
        i = next;
    }
    c->heap[i] = last;
    return least;
}

static uint64_t rule_least(const struct ct_grammar *g, int32_t rule)
{
    return g->least[g->rule[rule].start];
}

static int32_t required_members(const struct ct_grammar *g, const struct ct_rule *r)
{
    int32_t n = 0;

    for (int32_t i = 0; i < r->n_members; i++)
        n += g->member[r->first_member + i].required;
    return n;
}

/* Finds what the cheapest text of the bag costs; each member but the first has a separator. */
static void bag_known(struct costs *c, int32_t bag)
{
    struct ct_grammar *g = c->g;
    struct ct_rule *r = &g->rule[bag];
    const int32_t n = CT_MAX(required_members(g, r), r->at_least);
    uint64_t sum = c->chosen[bag];

    if (r->at_most >= 0 && n > r->at_most)
        return;
    for (int32_t i = 0; i < r->n_members; i++)
        if (g->member[r->first_member + i].required)
            sum += rule_least(g, g->member[r->first_member + i].rule);
    const uint64_t separators = n > 1 ? (uint64_t)(n - 1) * rule_least(g, r->separator) : 0;
    costs_push(c, sum + separators, r->start, NONE);
}

/* Takes a member that need not be there: the first ones to become known are the cheapest. */
static bool bag_takes(struct costs *c, int32_t bag, int32_t rule, uint32_t cost)
{
    struct ct_grammar *g = c->g;
    const int32_t start = g->rule[bag].start;

    if (c->spare[bag] == 0)
        return false;
    c->spare[bag]--;
    c->chosen[bag] += cost;
    if (g->deep)
        g->deep[start] = CT_MAX(g->deep[start], g->deep[g->rule[rule].start]);
    return true;
}

static void costs_of_rule(struct costs *c, int32_t rule, uint32_t cost)
{
    const struct ct_grammar *g = c->g;

    for (int32_t i = c->callers.first[rule]; i < c->callers.first[rule + 1]; i++) {
        const struct ct_edge *e = &g->edge[c->callers.item[i]];
        costs_push(c, (uint64_t)cost + g->least[e->to], e->from, c->callers.item[i]);
    }
    for (int32_t i = c->bags.first[rule]; i < c->bags.first[rule + 1]; i++) {
        const int32_t bag = c->bags.item[i] / 2;
        if ((c->bags.item[i] % 2 == 0 || bag_takes(c, bag, rule, cost)) && --c->waits[bag] == 0)
            bag_known(c, bag);
    }
}

/* The levels that the shortest way from a node opens. What comes behind its first edge is known. */
static void note_levels(struct ct_grammar *g, const struct cost *known)
{
    const struct ct_rule *r = &g->rule[g->owner[known->node]];
    int deep = g->deep[known->node]; /* of a bag: what it has chosen */

    if (known->edge != NONE) {
        const struct ct_edge *e = &g->edge[known->edge];
        deep = g->deep[e->to];
        if (e->kind == CT_EDGE_BYTES)
            deep = CT_MAX(deep + e->what, 0);
        else if (e->kind == CT_EDGE_RULE)
            deep = CT_MAX(deep, g->deep[g->rule[e->what].start]);
    } else if (known->node == r->start) {
        for (int32_t i = 0; i < r->n_members; i++)
            if (g->member[r->first_member + i].required)
                deep = CT_MAX(deep, g->deep[g->rule[g->member[r->first_member + i].rule].start]);
    }
    g->deep[known->node] = (uint8_t)CT_MIN(deep, DEEPEST);
}

/* False: nobody waits any more. */
static bool costs_run(struct costs *c)
{
    struct ct_grammar *g = c->g;

    for (int32_t i = 0; i < g->n_nodes; i++)
        g->least[i] = CT_NEVER;
    for (int32_t i = 0; i < g->n_rules; i++) {
        costs_push(c, 0, g->rule[i].end, NONE);
        if (g->rule[i].n_members >= 0 && c->waits[i] == 0)
            costs_push(c, 0, g->rule[i].start, NONE);
    }
    while (c->n) {
        const struct cost known = costs_pop(c);
        if (ct_watch_ended(g->watch, 1))
            return false;
        if (g->least[known.node] != CT_NEVER)
            continue;
        g->least[known.node] = known.cost;
        if (g->deep)
            note_levels(g, &known);
        for (int32_t i = c->into.first[known.node]; i < c->into.first[known.node + 1]; i++) {
            const struct ct_edge *e = &g->edge[c->into.item[i]];
            const uint64_t own = e->kind == CT_EDGE_SKIP   ? 0
                                 : e->kind == CT_EDGE_RULE ? rule_least(g, e->what)
                                                           : 1;
            costs_push(c, known.cost + own, e->from, c->into.item[i]);
        }
        if (known.node == g->rule[g->owner[known.node]].start)
            costs_of_rule(c, g->owner[known.node], known.cost);
    }
    return true;
}

static void list_bag(struct costs *c, int32_t rule, int32_t item, bool puts)
{
    if (puts)
        lists_put(&c->bags, rule, item);
    else
        c->bags.first[rule + 2]++;
}

/* The members that each text of a bag has, those of which it must have some, and its separator where they are
 * several. */
static void list_bags(struct costs *c, bool puts)
{
    const struct ct_grammar *g = c->g;

    for (int32_t bag = 0; bag < g->n_rules; bag++) {
        const struct ct_rule *r = &g->rule[bag];
        const int32_t required = required_members(g, r), n = CT_MAX(required, r->at_least);
        for (int32_t i = 0; i < r->n_members; i++) {
            const struct ct_member *m = &g->member[r->first_member + i];
            if (m->required || n > required)
                list_bag(c, m->rule, 2 * bag + !m->required, puts);
        }
        if (n > 1)
            list_bag(c, r->separator, 2 * bag, puts);
        c->spare[bag] = n - required;
        c->waits[bag] = n + (n > 1);
    }
}

static bool costs_open(struct costs *c)
{
    struct ct_grammar *g = c->g;
    const size_t edges = (size_t)g->n_edges, rules = (size_t)g->n_rules;

    free(g->least);
    free(g->deep);
    g->least = malloc(((size_t)g->n_nodes + 1) * sizeof *g->least);
    g->deep = g->most_levels ? calloc((size_t)g->n_nodes + 1, sizeof *g->deep) : NULL;
    c->waits = calloc(rules + 1, sizeof *c->waits);
    c->spare = calloc(rules + 1, sizeof *c->spare);
    c->chosen = calloc(rules + 1, sizeof *c->chosen);
    c->heap = malloc((2 * edges + 2 * rules + 1) * sizeof *c->heap);
    if (!lists_open(&c->into, g->n_nodes, edges) || !lists_open(&c->callers, g->n_rules, edges) ||
        !lists_open(&c->bags, g->n_rules, (size_t)g->n_members + rules) || !g->least || !c->waits ||
        !c->spare || !c->chosen || !c->heap || (g->most_levels && !g->deep))
        return false;
    for (int32_t i = 0; i < g->n_edges; i++) {
        c->into.first[g->edge[i].to + 2]++;
        if (g->edge[i].kind == CT_EDGE_RULE)
            c->callers.first[g->edge[i].what + 2]++;
    }
    list_bags(c, false);
    lists_begin(&c->into, g->n_nodes);
    lists_begin(&c->callers, g->n_rules);
    lists_begin(&c->bags, g->n_rules);
    for (int32_t i = 0; i < g->n_edges; i++) {
        lists_put(&c->into, g->edge[i].to, i);
        if (g->edge[i].kind == CT_EDGE_RULE)
            lists_put(&c->callers, g->edge[i].what, i);
    }
    list_bags(c, true);
    return true;
}

carat_status ct_grammar_costs(struct ct_grammar *g, carat_error *err)
{
    struct costs c = {.g = g};

    if (ct_grammar_failed(g))
        return ct_fail(err, g->error.code, "%s", g->error.message);
    const bool open = costs_open(&c);

    const bool known = open && costs_run(&c);
    lists_close(&c.into);
    lists_close(&c.callers);
    lists_close(&c.bags);
    free(c.waits);
    free(c.spare);
    free(c.chosen);
    free(c.heap);
    return !open ? ct_no_memory(err, "a grammar") : known ? CARAT_OK : ct_watch_fail(err);
}

/* Edges that lead to no end are taken out; what is behind them keeps its nodes. */
static void drop_dead_edges(struct ct_grammar *g)
{
    int32_t kept = 0;

    for (int32_t node = 0; node < g->n_nodes; node++) {
        const int32_t from = g->first[node], to = g->first[node + 1], begin = kept;
        for (int32_t i = from; i < to; i++) {
            const struct ct_edge *e = &g->edge[i];
            if (g->least[e->to] < CT_NEVER && (e->kind != CT_EDGE_RULE || rule_least(g, e->what) < CT_NEVER))
                g->edge[kept++] = *e;
        }
        g->first[node] = begin;
    }
    g->first[g->n_nodes] = kept;
    g->n_edges = kept;
}

/* ---- which rule begins with which ---- */

struct order {
    struct ct_grammar *g;
    struct lists begins; /* rules by the rule that may begin with them */
    int32_t *node, *stack, *at;
    uint8_t *seen; /* of nodes; then of rules: 1 under way, 2 done */
};

/* Visits what a rule begins with: puts it, or counts it. */
static void order_visit(struct order *o, int32_t rule, int32_t begun, bool puts)
{
    if (puts)
        lists_put(&o->begins, rule, begun);
    else
        o->begins.first[rule + 2]++;
}

/* The rules that stand at the beginning of a rule, behind nothing but what may be empty. */
static void order_beginnings(struct order *o, int32_t rule, bool puts)
{
    const struct ct_grammar *g = o->g;
    const struct ct_rule *r = &g->rule[rule];
    int32_t n = 0;

    for (int32_t i = 0; i < r->n_members; i++)
        order_visit(o, rule, g->member[r->first_member + i].rule, puts);
    o->node[n++] = r->start;
    o->seen[r->start] = 1;
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = g->first[o->node[k]]; i < g->first[o->node[k] + 1]; i++) {
            const struct ct_edge *e = &g->edge[i];
            const bool call = e->kind == CT_EDGE_RULE;
            if (call)
                order_visit(o, rule, e->what, puts);
            if ((e->kind == CT_EDGE_SKIP || (call && rule_least(g, e->what) == 0)) && !o->seen[e->to]) {
                o->seen[e->to] = 1;
                o->node[n++] = e->to;
            }
        }
    (void)ct_watch_ended(g->watch, (size_t)n);
    while (n > 0)
        o->seen[o->node[--n]] = 0;
}

/* Depth first, on a stack of its own; a rule that is met while it is under way begins with itself. */
static carat_status order_from(struct order *o, int32_t rule, int32_t *next, carat_error *err)
{
    struct ct_grammar *g = o->g;
    int32_t depth = 0;

    o->stack[0] = rule;
    o->at[rule] = o->begins.first[rule];
    o->seen[rule] = 1;
    while (depth >= 0) {
        const int32_t now = o->stack[depth];
        if (o->at[now] == o->begins.first[now + 1]) {
            o->seen[now] = 2;
            g->rule[now].order = --*next;
            depth--;
            continue;
        }
        const int32_t begun = o->begins.item[o->at[now]++];
        if (o->seen[begun] == 1)
            return ct_fail(err, CARAT_E_ARGUMENT,
                           "the rule %s begins with itself (left recursion), expected something before it",
                           g->rule[begun].name);
        if (o->seen[begun] == 2)
            continue;
        o->seen[begun] = 1;
        o->at[begun] = o->begins.first[begun];
        o->stack[++depth] = begun;
    }
    return CARAT_OK;
}

static carat_status order_rules(struct order *o, carat_error *err)
{
    struct ct_grammar *g = o->g;
    int32_t next = g->n_rules;

    for (int32_t i = 0; i < g->n_rules && !ct_watch_ended(g->watch, 1); i++)
        order_beginnings(o, i, false);
    lists_begin(&o->begins, g->n_rules);
    for (int32_t i = 0; i < g->n_rules && !ct_watch_ended(g->watch, 1); i++)
        order_beginnings(o, i, true);
    if (ct_watch_ended(g->watch, 1))
        return ct_watch_fail(err);
    for (int32_t i = 0; i < g->n_rules; i++)
        if (!o->seen[i])
            CT_TRY(order_from(o, i, &next, err));
    return CARAT_OK;
}

static carat_status find_order(struct ct_grammar *g, carat_error *err)
{
    const size_t nodes = (size_t)CT_MAX(g->n_nodes, g->n_rules) + 1;
    struct order o = {.g = g,
                      .node = malloc(nodes * sizeof *o.node),
                      .stack = malloc(nodes * sizeof *o.stack),
                      .at = malloc(nodes * sizeof *o.at),
                      .seen = calloc(nodes, 1)};
    const bool lists = lists_open(&o.begins, g->n_rules, (size_t)g->n_edges + (size_t)g->n_members);
    carat_status status =
        lists && o.node && o.stack && o.at && o.seen ? order_rules(&o, err) : ct_no_memory(err, "a grammar");
    lists_close(&o.begins);
    free(o.node);
    free(o.stack);
    free(o.at);
    free(o.seen);
    return status;
}

/* ---- bytes, tokens, tails ---- */

static void find_classes(struct ct_grammar *g)
{
    bool cut[257] = {true};

    for (int32_t i = 0; i < g->n_edges; i++)
        if (g->edge[i].kind == CT_EDGE_BYTES)
            cut[g->edge[i].low] = cut[g->edge[i].high + 1] = true;
    g->n_classes = 0;
    for (int b = 0; b < 256; b++) {
        g->n_classes += cut[b];
        g->class_of[b] = (uint8_t)(g->n_classes - 1);
    }
}

static carat_status find_tokens(struct ct_grammar *g, carat_error *err)
{
    size_t n = 0;

    for (int32_t i = 0; i < g->n_edges; i++)
        n += g->edge[i].kind == CT_EDGE_TOKEN;
    g->token = malloc((n + 1) * sizeof *g->token);
    if (!g->token)
        return ct_no_memory(err, "a grammar");
    g->n_tokens = 0;
    for (int32_t i = 0; i < g->n_edges; i++) {
        const int32_t id = g->edge[i].what;
        int32_t at = g->n_tokens;
        if (g->edge[i].kind != CT_EDGE_TOKEN)
            continue;
        while (at > 0 && g->token[at - 1] > id)
            at--;
        if (at > 0 && g->token[at - 1] == id)
            continue;
        memmove(g->token + at + 1, g->token + at, (size_t)(g->n_tokens - at) * sizeof *g->token);
        g->token[at] = id;
        g->n_tokens++;
    }
    return CARAT_OK;
}

/* True when nothing but the end of its rule comes behind a node. */
static bool is_tail(const struct ct_grammar *g, int32_t node)
{
    const int32_t end = g->rule[g->owner[node]].end;

    for (int hops = 0; hops < 16 && node != end; hops++) {
        const struct ct_edge *e = &g->edge[g->first[node]];
        if (g->first[node + 1] - g->first[node] != 1 || e->kind != CT_EDGE_SKIP)
            return false;
        node = e->to;
    }
    return node == end && g->first[end + 1] == g->first[end];
}

carat_status ct_grammar_finish(struct ct_grammar *g, int32_t root, carat_error *err)
{
    if (ct_grammar_failed(g))
        return ct_fail(err, g->error.code, "%s", g->error.message);
    g->root = root;
    CT_TRY(sort_edges(g, err));
    CT_TRY(ct_grammar_costs(g, err));
    for (int32_t i = 0; i < g->n_claims; i++)
        if (rule_least(g, g->claim[i].rule) >= CT_NEVER)
            return ct_fail(err, CARAT_E_ARGUMENT, "%s", g->claim[i].otherwise);
    if (rule_least(g, root) >= CT_NEVER)
        return ct_fail(err, CARAT_E_ARGUMENT, "no text fits");
    if (g->deep && g->deep[g->rule[root].start] > g->most_levels)
        return ct_fail(err, CARAT_E_ARGUMENT, "the shortest text is nested deeper than %d levels",
                       g->most_levels);
    drop_dead_edges(g);
    CT_TRY(find_order(g, err));
    find_classes(g);
    CT_TRY(find_tokens(g, err));
    for (int32_t i = 0; i < g->n_edges; i++)
        g->edge[i].tail = g->edge[i].kind == CT_EDGE_RULE && is_tail(g, g->edge[i].to);
    return CARAT_OK;
}
