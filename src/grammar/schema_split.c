/* SPDX-License-Identifier: Apache-2.0 */
/* schema_split.c: a list of schemas that hold at once becomes alternatives without anyOf, oneOf, allOf and
 * $ref: each a list of schemas of which only their other keywords count. */
#include <stdlib.h>

#include "base/array.h"
#include "grammar/schema_parts.h"

enum { ALTERNATIVES_MAX = 1024, TRIALS_MAX = 256 };

struct list {
    struct item item[SCHEMA_ITEMS];
    int n;
};

struct splitting {
    struct schema *s;
    struct list *list; /* [n] to be split, the next one last */
    size_t room;
    int n, alternatives;
};

/* Adds a schema that item `via` brings with it. False: nothing fits any more, or a failure. */
static bool list_add(struct splitting *p, struct list *l, const struct ct_json_value *schema, int via)
{
    const int before = l->n;

    for (int i = via; i >= 0; i = l->item[i].via)
        if (l->item[i].schema == schema) {
            ct_schema_fail(p->s, schema, NULL, "it refers to itself before it says anything");
            return false;
        }
    if (!ct_schema_add(p->s, l->item, &l->n, schema, 0)) {
        ct_schema_note(p->s, schema, NULL, "nothing fits false");
        return false;
    }
    if (l->n > before)
        l->item[before].via = (int8_t)via;
    return !ct_grammar_failed(p->s->g);
}

/* Brings in what $ref and allOf of an item say. */
static bool open_item(struct splitting *p, struct list *l, int i)
{
    const struct ct_json_value *schema = l->item[i].schema, *ref = ct_json_get(schema, "$ref");

    if (!ct_schema_checked(p->s, schema))
        return false;
    l->item[i].done |= ITEM_OPENED;
    if (ref) {
        const struct ct_json_value *target = ct_schema_reference(p->s, schema);
        if (p->s->old_references)
            l->item[i].done |= ITEM_DROPPED;
        return target && list_add(p, l, target, i);
    }
    CT_JSON_EACH(part, ct_json_get(schema, "allOf"))
    if (!list_add(p, l, part, i))
        return false;
    return true;
}

static bool push_list(struct splitting *p, const struct list *l)
{
    if (p->n + p->alternatives >= ALTERNATIVES_MAX) {
        ct_schema_fail(p->s, l->item[0].schema, NULL,
                       "more than %d combinations of anyOf and oneOf are needed", ALTERNATIVES_MAX);
        return false;
    }
    if (!ct_array_grow(&p->list, &p->room, (size_t)p->n + 1, sizeof *p->list)) {
        ct_grammar_fail(p->s->g, CARAT_E_MEMORY, "out of memory for a schema");
        return false;
    }
    p->list[p->n++] = *l;
    return true;
}

/* A list for each branch, the first one last. */
static void split_item(struct splitting *p, const struct list *l, int i, const char *key, uint8_t done)
{
    const struct ct_json_value *choice = ct_json_get(l->item[i].schema, key);
    const int before = p->n;

    CT_JSON_EACH(branch, choice)
    {
        struct list one = *l;
        one.item[i].done |= done;
        if (list_add(p, &one, branch, i) && !push_list(p, &one))
            return;
        if (ct_grammar_failed(p->s->g))
            return;
    }
    for (int a = before, b = p->n - 1; a < b; a++, b--) {
        const struct list other = p->list[a];
        p->list[a] = p->list[b];
        p->list[b] = other;
    }
}

/* ---- oneOf: branches that exclude each other are the same as anyOf ---- */

/* True when both say which values there are, and none is the same. */
static bool values_exclude(struct schema *s, const struct ct_json_value *a, const struct ct_json_value *b)
{
    const struct item of_a = {a, 0, -1}, of_b = {b, 0, -1};
    size_t n_a = 0, n_b = 0;
    const struct ct_json_value *va = a ? ct_schema_values(&of_a, &n_a) : NULL;

    for (size_t i = 0; i < n_a; i++, va += va->span) {
        const struct ct_json_value *vb = b ? ct_schema_values(&of_b, &n_b) : NULL;
        if (!vb || ct_schema_cancelled(s, 1 + n_b))
            return false;
        for (size_t k = 0; k < n_b; k++, vb += vb->span)
            if (ct_json_count(va) || ct_json_count(vb) || ct_schema_same(va, vb))
                return false;
    }
    return n_a > 0;
}

/* True when a key that one of two branches requires has different values in them. */
static bool tags_exclude(struct schema *s, const struct ct_json_value *a, const struct ct_json_value *b)
{
    CT_JSON_EACH(name, ct_json_get(a, "required"))
    if (values_exclude(s, ct_json_find(ct_json_get(a, "properties"), ct_json_str(name)),
                       ct_json_find(ct_json_get(b, "properties"), ct_json_str(name))))
        return true;
    return false;
}

/* True when types and values of keys alone show that two schemas exclude each other: a quick answer that may
 * be a wrong no. */
static bool quickly_exclude(struct schema *s, const struct ct_json_value *a, const struct ct_json_value *b)
{
    if (ct_json_is(a, CT_JSON_FALSE) || ct_json_is(b, CT_JSON_FALSE))
        return true;
    if (ct_json_get(a, "$ref") || ct_json_get(b, "$ref"))
        return false;
    const int types = ct_schema_types(ct_json_get(a, "type")) & ct_schema_types(ct_json_get(b, "type"));
    return types == 0 || values_exclude(s, a, b) ||
           (types == TYPE_OBJECT && (tags_exclude(s, a, b) || tags_exclude(s, b, a)));
}

/* Builds a grammar of what fits both branches and the other items, and looks whether it has a text. */
static bool trial_excludes(struct schema *s, const struct list *l, const struct ct_json_value *a,
                           const struct ct_json_value *b)
{
    struct ct_grammar g;
    struct ct_schema_shared shared = {0};
    struct schema trial = *s;
    struct list both = *l;
    bool empty = true;
    carat_error err = {CARAT_OK, ""};

    ct_grammar_init(&g);
    g.watch = s->g->watch;
    trial.g = &g;
    trial.shared = &shared;
    trial.trial = true;
    trial.item = NULL;
    trial.task = NULL;
    trial.slot = NULL;
    trial.item_room = trial.task_room = trial.slots = 0;
    trial.n_items = 0;
    trial.n_tasks = 0;
    if (ct_schema_add(&trial, both.item, &both.n, a, 0) && ct_schema_add(&trial, both.item, &both.n, b, 0)) {
        const int32_t rule = s->run(&trial, both.item, both.n);
        const carat_status status = ct_grammar_costs(&g, &err);
        empty = !status && g.least[ct_rule_start(&g, rule)] >= CT_NEVER;
        if (status && !ct_grammar_failed(s->g))
            ct_grammar_fail(s->g, err.code, "%s", err.message);
    }
    s->spent = trial.spent;
    ct_schema_free_tasks(&trial);
    ct_schema_shared_free(&shared);
    ct_grammar_free(&g);
    return empty;
}

/* True when no value fits two branches of the oneOf of an item. */
static bool check_one_of(struct splitting *p, const struct list *l, int i)
{
    const struct ct_json_value *choice = ct_json_get(l->item[i].schema, "oneOf");
    struct list others = *l;
    size_t at = 0;

    others.item[i].done |= ITEM_ONE_OF;
    CT_JSON_EACH(a, choice)
    {
        size_t second = at + 1;
        for (const struct ct_json_value *b = ct_json_after(a); b; b = ct_json_after(b), second++) {
            if (ct_schema_cancelled(p->s, 1))
                return false;
            if (quickly_exclude(p->s, a, b))
                continue;
            if (p->s->trials++ >= TRIALS_MAX) {
                ct_schema_unsupported(p->s, l->item[i].schema, "oneOf",
                                      "more than %d pairs of branches must be compared", TRIALS_MAX);
                return false;
            }
            const bool excludes = trial_excludes(p->s, &others, a, b);
            if (ct_grammar_failed(p->s->g))
                return false;
            if (!excludes) {
                ct_schema_unsupported(
                    p->s, l->item[i].schema, "oneOf",
                    "a value may fit both [%zu] and [%zu], expected branches that exclude each other", at,
                    second);
                return false;
            }
        }
        at++;
    }
    return true;
}

/* ---- the whole ---- */

/* Takes the next step with a list. False: it is gone, or split. */
static bool split_step(struct splitting *p, struct list *l, bool *done)
{
    for (int i = 0; i < l->n; i++) {
        struct item *item = &l->item[i];
        if (item->done & (ITEM_VALUE | ITEM_DROPPED))
            continue;
        if (!(item->done & ITEM_OPENED))
            return open_item(p, l, i);
        if (!(item->done & ITEM_ANY_OF) && ct_json_get(item->schema, "anyOf")) {
            split_item(p, l, i, "anyOf", ITEM_ANY_OF);
            return false;
        }
        if (!(item->done & ITEM_ONE_OF) && ct_json_get(item->schema, "oneOf")) {
            if (p->s->trial || check_one_of(p, l, i))
                split_item(p, l, i, "oneOf", ITEM_ONE_OF);
            return false;
        }
    }
    *done = true;
    return true;
}

enum { A_LIST = 16 }; /* steps, before it is a value */

void ct_schema_split(struct schema *s, const struct items *all,
                     void (*each)(struct schema *s, const struct items *all, int32_t rule), int32_t rule)
{
    struct splitting p = {.s = s};
    struct list l = {.n = all->n};

    for (int i = 0; i < all->n; i++)
        l.item[i] = all->item[i];
    bool more = push_list(&p, &l);
    while (more && p.n > 0 && !ct_grammar_failed(s->g)) {
        bool done = false;
        l = p.list[--p.n];
        if (ct_schema_cancelled(s, A_LIST))
            break;
        while (!done && split_step(&p, &l, &done))
            ;
        if (!done || ct_grammar_failed(s->g))
            continue;
        int kept = 0;
        for (int i = 0; i < l.n; i++)
            if (!(l.item[i].done & ITEM_DROPPED))
                l.item[kept++] = l.item[i];
        p.alternatives++;
        each(s, &(struct items){l.item, kept}, rule);
    }
    free(p.list);
}
