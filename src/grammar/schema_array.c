/* SPDX-License-Identifier: Apache-2.0 */
/* schema_array.c: lists: elements that have a schema of their own, then any number of others, counted. */
#include "grammar/schema_parts.h"

/* Finds what an item says about elements: a list of schemas for the first ones, a schema for the rest. */
static const struct ct_json_value *first_schemas(const struct item *item)
{
    const struct ct_json_value *prefix = ct_schema_get(item, "prefixItems"),
                               *items = ct_schema_get(item, "items");

    return prefix ? prefix : ct_json_is(items, CT_JSON_ARRAY) ? items : NULL;
}

static const struct ct_json_value *rest_schema(const struct item *item)
{
    const struct ct_json_value *items = ct_schema_get(item, "items");

    return ct_json_is(items, CT_JSON_ARRAY) ? ct_schema_get(item, "additionalItems") : items;
}

struct elements {
    struct schema *s;
    const struct items *all;
    int64_t min, max; /* elements; max < 0: no end */
    int64_t own;      /* the first ones, whose schemas are their own */
    /* of each item: its next element of the first ones, or of its value; NULL behind them */
    const struct ct_json_value *next[SCHEMA_ITEMS];
};

static void read_elements(struct elements *e)
{
    const struct items *all = e->all;

    e->min = ct_schema_least(all, "minItems");
    e->max = ct_schema_most(all, "maxItems");
    for (int i = 0; i < all->n; i++) {
        const bool value = all->item[i].done & ITEM_VALUE;
        const struct ct_json_value *list = value ? all->item[i].schema : first_schemas(&all->item[i]);
        const int64_t n = (int64_t)ct_json_count(list);
        e->next[i] = ct_json_first(list);
        if (value)
            e->min = CT_MAX(e->min, n);
        if (value && (e->max < 0 || n < e->max))
            e->max = n;
        e->own = CT_MAX(e->own, n);
    }
}

/* The rule of the next element, of the first ones or (rest) of all others; -1: nothing fits it. */
static int32_t next_element(struct elements *e, bool rest)
{
    struct item list[SCHEMA_ITEMS];
    int n = 0;

    for (int i = 0; i < e->all->n; i++) {
        const struct item *item = &e->all->item[i];
        const struct ct_json_value *schema = rest ? NULL : e->next[i];
        if (schema)
            e->next[i] = ct_json_after(schema);
        else
            schema = rest_schema(item);
        if (schema && !ct_schema_add(e->s, list, &n, schema, item->done & ITEM_VALUE))
            return -1;
    }
    return ct_schema_rule_of(e->s, list, n);
}

static void one_more(struct schema *s, int32_t rule, int32_t from, int32_t to)
{
    if (from < 0)
        return;
    const int32_t owner = s->g->owner[from], element = ct_grammar_node(s->g, owner),
                  behind = ct_grammar_node(s->g, owner);
    ct_schema_mark(s, from, ",", element);
    ct_grammar_call(s->g, element, rule, behind);
    ct_grammar_skip(s->g, ct_schema_spaces(s, behind), to);
}

/* Elements from the node before the first one to the bracket that closes. */
static void emit_elements(struct elements *e, int32_t at, int32_t close)
{
    struct schema *s = e->s;
    struct ct_grammar *g = s->g;
    int64_t n = 0;
    int32_t rule = 0;

    if (e->min == 0)
        ct_grammar_skip(g, at, close);
    while ((e->max < 0 || n < e->max) && (n < e->own || n == 0) && !ct_grammar_failed(g)) {
        const int32_t owner = g->owner[at];
        int32_t element = at;
        if (n > 0) {
            element = ct_grammar_node(g, owner);
            ct_schema_mark(s, at, ",", element);
        }
        rule = next_element(e, n >= e->own);
        if (rule < 0)
            return;
        const int32_t behind = ct_grammar_node(g, owner);
        ct_grammar_call(g, element, rule, behind);
        at = ct_schema_spaces(s, behind);
        n++;
        if (n >= e->min && n < e->own)
            ct_grammar_skip(g, at, close);
    }
    if (e->max >= 0 && n >= e->max) {
        if (n > 0 && n >= e->own)
            ct_grammar_skip(g, at, close);
        return;
    }
    rule = next_element(e, true);
    if (rule >= 0)
        ct_schema_repeat(s, one_more, rule, at, CT_MAX(e->min - n, 0), e->max < 0 ? -1 : e->max - n, close);
    else if (n >= e->min)
        ct_grammar_skip(g, at, close);
}

void ct_schema_emit_array(struct schema *s, const struct items *all, int32_t from, int32_t to)
{
    struct elements e = {.s = s, .all = all};

    read_elements(&e);
    if (from < 0)
        return;
    if (e.max >= 0 && e.min > e.max) {
        ct_schema_note(s, all->item[0].schema, NULL, "at least %lld and at most %lld elements",
                       (long long)e.min, (long long)e.max);
        return;
    }
    if (e.min > SCHEMA_MOST) {
        ct_schema_fail(s, all->item[0].schema, "minItems", "%lld, expected at most %d", (long long)e.min,
                       SCHEMA_MOST);
        return;
    }
    const int32_t owner = s->g->owner[from], open = ct_grammar_node(s->g, owner),
                  close = ct_grammar_node(s->g, owner);
    ct_grammar_bracket(s->g, from, '[', 1, open);
    ct_grammar_bracket(s->g, close, ']', -1, to);
    emit_elements(&e, ct_schema_spaces(s, open), close);
}
