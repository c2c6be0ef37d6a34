/* SPDX-License-Identifier: Apache-2.0 */
/* schema_rules.c: rules for lists of schemas, each made once and filled later; what all syntaxes share: white
 * space, marks, repetitions. */
#include <stdlib.h>

#include "base/array.h"
#include "grammar/schema_parts.h"

void ct_schema_shared_free(struct ct_schema_shared *s)
{
    ct_charsets_free(&s->charsets);
    for (size_t i = 0; i < CT_COUNT(s->formats.of); i++)
        ct_language_free(&s->formats.of[i]);
    *s = (struct ct_schema_shared){0};
}

void *ct_schema_memory(struct schema *s, size_t bytes)
{
    void *p = calloc(1, bytes);

    if (!p)
        ct_grammar_fail(s->g, CARAT_E_MEMORY, "out of memory for a schema");
    return p;
}

bool ct_schema_add(struct schema *s, struct item *list, int *n, const struct ct_json_value *schema,
                   uint8_t done)
{
    if (!(done & ITEM_VALUE)) {
        if (ct_json_is(schema, CT_JSON_FALSE))
            return false;
        if (ct_json_is(schema, CT_JSON_TRUE))
            return true;
    }
    for (int i = 0; i < *n; i++)
        if (list[i].schema == schema && (list[i].done & ITEM_VALUE) == (done & ITEM_VALUE))
            return true;
    if (*n == SCHEMA_ITEMS)
        ct_schema_fail(s, schema, NULL, "more than %d schemas must fit at once", SCHEMA_ITEMS);
    else
        list[(*n)++] = (struct item){schema, done, -1};
    return true;
}

/* ---- rules to be filled ---- */

static uint32_t hash_list(const struct item *item, int n)
{
    uint32_t h = 2166136261u;

    for (int i = 0; i < n; i++)
        h = (h ^ (uint32_t)(uintptr_t)item[i].schema ^ item[i].done) * 16777619u ^ h >> 15;
    return h;
}

static bool same_list(const struct schema *s, const struct task *t, const struct item *item, int n)
{
    for (int i = 0; i < n && t->n == n; i++)
        if (s->item[t->first + (uint32_t)i].schema != item[i].schema ||
            s->item[t->first + (uint32_t)i].done != item[i].done)
            return false;
    return t->n == n;
}

static bool tasks_rehash(struct schema *s)
{
    const size_t slots = s->slots ? 2 * s->slots : 64;
    int32_t *slot = calloc(slots, sizeof *slot);

    if (!slot)
        return false;
    for (int32_t i = 0; i < s->n_tasks; i++) {
        if (s->task[i].common >= 0)
            continue;
        size_t at = hash_list(s->item + s->task[i].first, s->task[i].n) & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = i + 1;
    }
    free(s->slot);
    s->slot = slot;
    s->slots = slots;
    return true;
}

/* A name for messages: where the first schema is found. */
static void name_rule(const struct schema *s, const struct item *item, int n, char *name, size_t size)
{
    snprintf(name, size, "value %d%s%s", s->n_tasks + 1, s->o->prefix ? " of " : "",
             s->o->prefix ? s->o->prefix : "");
    if (n > 0)
        ct_schema_path(s, item[0].schema, name, size);
}

static int32_t add_task(struct schema *s, const struct item *item, int n)
{
    char name[160];

    if (!ct_array_grow(&s->item, &s->item_room, (size_t)s->n_items + (size_t)n + 1, sizeof *s->item) ||
        !ct_array_grow(&s->task, &s->task_room, (size_t)s->n_tasks + 1, sizeof *s->task) ||
        ((size_t)s->n_tasks * 2 >= s->slots && !tasks_rehash(s)))
        return ct_grammar_fail(s->g, CARAT_E_MEMORY, "out of memory for a schema");
    name_rule(s, item, n, name, sizeof name);
    const int32_t rule = ct_grammar_rule(s->g, name);
    size_t at = hash_list(item, n) & (s->slots - 1);
    while (s->slot[at])
        at = (at + 1) & (s->slots - 1);
    s->slot[at] = s->n_tasks + 1;
    s->task[s->n_tasks++] = (struct task){s->n_items, n, rule, -1};
    for (int i = 0; i < n; i++)
        s->item[s->n_items++] = (struct item){item[i].schema, item[i].done, -1};
    return rule;
}

/* True when a schema says one scalar type and nothing else; *which: the rule that all such share. */
static bool is_plain(const struct item *item, int n, enum ct_schema_common *which)
{
    const struct ct_json_value *type = n == 1 ? ct_schema_get(item, "type") : NULL;

    if (!type || !ct_schema_says_type_only(item->schema))
        return false;
    *which = ct_json_is_text(type, "string")    ? CT_COMMON_STRING
             : ct_json_is_text(type, "number")  ? CT_COMMON_NUMBER
             : ct_json_is_text(type, "integer") ? CT_COMMON_INTEGER
                                                : CT_COMMONS;
    return *which != CT_COMMONS;
}

int32_t ct_schema_rule_of(struct schema *s, const struct item *item, int n)
{
    enum ct_schema_common which;

    if (ct_grammar_failed(s->g))
        return -1;
    if (n == 0)
        return ct_schema_common_rule(s, CT_COMMON_VALUE);
    if (is_plain(item, n, &which))
        return ct_schema_common_rule(s, which);
    if (s->slots)
        for (size_t at = hash_list(item, n) & (s->slots - 1); s->slot[at]; at = (at + 1) & (s->slots - 1))
            if (same_list(s, &s->task[s->slot[at] - 1], item, n))
                return s->task[s->slot[at] - 1].rule;
    return add_task(s, item, n);
}

/* ---- what all rules share ---- */

int32_t ct_schema_common_rule(struct schema *s, enum ct_schema_common which)
{
    static const char *const name[] = {
        [CT_COMMON_SPACE] = "white space", [CT_COMMON_STRING] = "string",   [CT_COMMON_KEY] = "key",
        [CT_COMMON_NUMBER] = "number",     [CT_COMMON_INTEGER] = "integer", [CT_COMMON_COMMA] = "comma",
        [CT_COMMON_VALUE] = "value",       [CT_COMMON_OBJECT] = "object",
    };

    if (s->shared->rule[which] == 0) {
        if (!ct_array_grow(&s->task, &s->task_room, (size_t)s->n_tasks + 1, sizeof *s->task))
            return ct_grammar_fail(s->g, CARAT_E_MEMORY, "out of memory for a schema");
        const int32_t rule = ct_grammar_rule(s->g, name[which]);
        s->shared->rule[which] = rule + 1;
        s->task[s->n_tasks++] = (struct task){0, 0, rule, (int8_t)which};
    }
    return s->shared->rule[which] - 1;
}

int32_t ct_schema_spaces(struct schema *s, int32_t from)
{
    if (s->o->space != CT_SPACE_JSON || from < 0)
        return from;
    const int32_t behind = ct_grammar_node(s->g, s->g->owner[from]);
    ct_grammar_call(s->g, from, ct_schema_common_rule(s, CT_COMMON_SPACE), behind);
    return behind;
}

void ct_schema_mark(struct schema *s, int32_t from, const char *mark, int32_t to)
{
    char text[4];

    if (from < 0)
        return;
    snprintf(text, sizeof text, "%s%s", mark, s->o->space == CT_SPACE_DUMPS ? " " : "");
    if (s->o->space != CT_SPACE_JSON) {
        ct_grammar_text(s->g, from, ct_str_of(text), to);
        return;
    }
    const int32_t behind = ct_grammar_node(s->g, s->g->owner[from]);
    ct_grammar_text(s->g, from, ct_str_of(text), behind);
    ct_grammar_call(s->g, behind, ct_schema_common_rule(s, CT_COMMON_SPACE), to);
}

/* ---- repetitions ---- */

/* n units. Many are cut into blocks, each the text of a rule of its own. */
static void repeat_exactly(struct schema *s, schema_unit *unit, int32_t rule, int32_t from, int64_t n,
                           int32_t to)
{
    for (int64_t i = 0; i < n && from >= 0; i++) {
        const int32_t next = i + 1 == n ? to : ct_grammar_node(s->g, s->g->owner[from]);
        unit(s, rule, from, next);
        from = next;
    }
    if (n == 0)
        ct_grammar_skip(s->g, from, to);
}

/* Up to n units. */
static void repeat_up_to(struct schema *s, schema_unit *unit, int32_t rule, int32_t from, int64_t n,
                         int32_t to)
{
    for (int64_t i = 0; i < n && from >= 0; i++) {
        const int32_t next = ct_grammar_node(s->g, s->g->owner[from]);
        ct_grammar_skip(s->g, from, to);
        unit(s, rule, from, next);
        from = next;
    }
    ct_grammar_skip(s->g, from, to);
}

static void unit_of_rule(struct schema *s, int32_t rule, int32_t from, int32_t to)
{
    ct_grammar_call(s->g, from, rule, to);
}

enum { CHAIN_MAX = 1024 };

/* The side of a square of n units, so that neither the block nor the chain of blocks is long. */
static int64_t block_length(int64_t n)
{
    int64_t side = 32;

    while (side * side < n)
        side *= 2;
    return side;
}

void ct_schema_repeat(struct schema *s, schema_unit *unit, int32_t rule, int32_t from, int64_t min,
                      int64_t max, int32_t to)
{
    const int64_t length = block_length(CT_MAX(min, max)), rest = max < 0 ? -1 : max - min;
    int32_t block = -1, tail = -1;

    if (from < 0 || to < 0)
        return;
    const int32_t owner = s->g->owner[from], middle = ct_grammar_node(s->g, owner);
    if (min > CHAIN_MAX || rest > CHAIN_MAX) {
        block = ct_grammar_rule(s->g, "block");
        repeat_exactly(s, unit, rule, ct_rule_start(s->g, block), length, ct_rule_end(s->g, block));
    }
    if (min > CHAIN_MAX) {
        const int32_t behind = ct_grammar_node(s->g, owner);
        repeat_exactly(s, unit_of_rule, block, from, min / length, behind);
        repeat_exactly(s, unit, rule, behind, min % length, middle);
    } else {
        repeat_exactly(s, unit, rule, from, min, middle);
    }
    if (rest < 0 || rest > SCHEMA_MOST) { /* no answer has so many */
        unit(s, rule, middle, middle);
        ct_grammar_skip(s->g, middle, to);
    } else if (rest > CHAIN_MAX) {
        int32_t at = middle;
        tail = ct_grammar_rule(s->g, "rest of a block");
        repeat_up_to(s, unit, rule, ct_rule_start(s->g, tail), length - 1, ct_rule_end(s->g, tail));
        for (int64_t i = 0; i < rest / length && at >= 0; i++) {
            const int32_t next = ct_grammar_node(s->g, owner);
            ct_grammar_call(s->g, at, tail, to);
            ct_grammar_call(s->g, at, block, next);
            at = next;
        }
        repeat_up_to(s, unit, rule, at, rest % length, to);
    } else {
        repeat_up_to(s, unit, rule, middle, rest, to);
    }
}

void ct_schema_free_tasks(struct schema *s)
{
    free(s->item);
    free(s->task);
    free(s->slot);
}
