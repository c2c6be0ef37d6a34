/* SPDX-License-Identifier: Apache-2.0 */
/* schema_object.c: objects as productions. Declared keys stand in the order of the schema, or are a bag; keys
 * that are not declared come behind them. What keys there are is schema_keys.c's. */
#include <stdlib.h>

#include "grammar/schema_parts.h"

/* ---- one member ---- */

/* From behind a key to behind its value. */
static void emit_colon_value(struct schema *s, int32_t from, int32_t value, int32_t to)
{
    if (from < 0)
        return;
    const int32_t before = ct_grammar_node(s->g, s->g->owner[from]);
    ct_schema_mark(s, ct_schema_spaces(s, from), ":", before);
    ct_grammar_call(s->g, before, value, to);
}

static void emit_declared(struct schema *s, const struct declared *d, int32_t from, int32_t to)
{
    if (from < 0)
        return;
    const int32_t behind = ct_grammar_node(s->g, s->g->owner[from]);
    ct_schema_emit_key(s, d->key, from, behind);
    emit_colon_value(s, behind, d->rule, to);
}

static int32_t declared_rule(struct schema *s, const struct declared *d)
{
    char name[80];

    snprintf(name, sizeof name, "key %.*s", (int)CT_MIN(d->key.n, 40), d->key.s);
    const int32_t rule = ct_grammar_rule(s->g, name);
    emit_declared(s, d, ct_rule_start(s->g, rule), ct_rule_end(s->g, rule));
    return rule;
}

/* The rule of a member whose key is not declared. */
static int32_t other_rule(struct schema *s, const struct others *o)
{
    const int32_t rule = ct_grammar_rule(s->g, "other key"), behind = ct_grammar_node(s->g, rule);

    if (o->all)
        ct_grammar_call(s->g, ct_rule_start(s->g, rule), ct_schema_common_rule(s, CT_COMMON_KEY), behind);
    else
        ct_schema_emit_keys(s, &o->keys, ct_rule_start(s->g, rule), behind);
    emit_colon_value(s, behind, o->rule, ct_rule_end(s->g, rule));
    return rule;
}

/* ---- in the order of the schema ---- */

/* The states where a text of n keys so far may go on. */
struct layer {
    int32_t write; /* before the key i or a later one */
    int32_t wrote; /* behind a member, the keys before i are decided */
};

static void fresh_layers(struct schema *s, int32_t owner, struct layer *layer, int64_t n)
{
    for (int64_t c = 0; c < n; c++)
        layer[c] = (struct layer){ct_grammar_node(s->g, owner), ct_grammar_node(s->g, owner)};
}

/* A comma leads from what was written to what may be written; or the object ends. */
static void join_layer(struct schema *s, const struct layer *l, bool may_end, bool more, int32_t close)
{
    if (may_end)
        ct_grammar_skip(s->g, l->wrote, close);
    if (more)
        ct_schema_mark(s, l->wrote, ",", l->write);
}

/* Objects with at most so many keys that counts are few; where nothing is counted there is one layer. Layer
 * c: c keys are written, or at least as many where it is the last one and there is no end. */
static void emit_in_order(struct schema *s, const struct keys *k, struct layer *layer, struct layer *next,
                          int32_t begin, int32_t close)
{
    const int32_t owner = s->g->owner[begin];
    const int64_t last = k->layers - 1;
    int required = k->n_required;

    fresh_layers(s, owner, layer, k->layers);
    ct_grammar_skip(s->g, begin, layer[0].write);
    if (required == 0 && k->min == 0)
        ct_grammar_skip(s->g, begin, close);
    for (int i = 0; i < k->n && !ct_grammar_failed(s->g); i++) {
        const struct declared *d = &k->declared[i];
        const bool counts = k->layers > 1 && d->rule >= 0;
        const int32_t member = counts ? declared_rule(s, d) : -1;
        fresh_layers(s, owner, next, k->layers);
        for (int64_t c = 0; c < k->layers; c++) {
            const int64_t to = c < last ? c + 1 : k->counts_to_end ? -1 : last;
            join_layer(s, &layer[c], required == 0 && c >= k->min_layer, true, close);
            if (!d->required)
                ct_grammar_skip(s->g, layer[c].write, next[c].write);
            if (d->rule < 0 || to < 0)
                continue;
            const int32_t behind = ct_grammar_node(s->g, owner);
            if (counts)
                ct_grammar_call(s->g, layer[c].write, member, behind);
            else
                emit_declared(s, d, layer[c].write, behind);
            ct_grammar_skip(s->g, ct_schema_spaces(s, behind), next[to].wrote);
        }
        required -= d->required;
        memcpy(layer, next, (size_t)k->layers * sizeof *layer);
    }
    for (int64_t c = 0; c < k->layers; c++)
        join_layer(s, &layer[c], c >= k->min_layer, k->n_others > 0, close);
    for (int o = 0; o < k->n_others; o++) {
        const int32_t member = other_rule(s, &k->others[o]);
        for (int64_t c = 0; c < k->layers; c++) {
            const int64_t to = c < last ? c + 1 : k->counts_to_end ? -1 : last;
            if (to < 0)
                continue;
            const int32_t behind = ct_grammar_node(s->g, owner);
            ct_grammar_call(s->g, layer[c].write, member, behind);
            ct_grammar_skip(s->g, ct_schema_spaces(s, behind), layer[to].wrote);
        }
    }
}

static void emit_ordered(struct schema *s, const struct items *all, struct keys *k, int32_t begin,
                         int32_t close)
{
    /* a count that nothing depends on is not kept */
    const bool counts_max = k->max >= 0 && (k->n_others > 0 || k->max < k->n_allowed),
               counts_min = k->min > k->n_required;

    k->counts_to_end = counts_max;
    k->layers = 1 + (counts_max ? k->max : counts_min ? k->min : 0);
    k->min_layer = k->layers > 1 ? k->min : 0;
    if (k->layers * (k->n + 1) > LAYERS_MAX) {
        ct_schema_fail(s, all->item[0].schema, counts_max ? "maxProperties" : "minProperties",
                       "%lld with %d keys, expected a product up to %d", (long long)(k->layers - 1), k->n,
                       LAYERS_MAX);
        return;
    }
    struct layer *layer = ct_schema_memory(s, 2 * (size_t)k->layers * sizeof *layer);
    if (layer)
        emit_in_order(s, k, layer, layer + k->layers, begin, close);
    free(layer);
}

/* ---- in any order ---- */

/* No key is there twice. A bag knows this of its members; keys that are not declared are many, so they are
 * divided into kinds, and there is one of each: by the first letter, and where the schema declares no keys
 * by the length too. */
enum { LETTERS = 27, LENGTHS = 9, KINDS = LETTERS * LENGTHS };

struct members {
    int32_t *rule; /* [n]; -1: no text fits it */
    bool *required;
    int n;
};

/* Keys that begin with a letter (of 26; else with anything but these) and have a length (LENGTHS: or are
 * longer; 0: of any length). */
static void kind_of_keys(struct ct_language *l, int letter, int length)
{
    const int32_t start = ct_language_state(l, false);
    int32_t at = ct_language_state(l, length <= 1);

    if (letter < LETTERS - 1) {
        ct_language_arc(l, start, (uint32_t)('a' + letter), (uint32_t)('a' + letter), at);
    } else {
        ct_language_arc(l, start, 0, 'a' - 1, at);
        ct_language_arc(l, start, 'z' + 1, CT_LAST_CHAR, at);
    }
    for (int i = 2; i <= length; i++) {
        const int32_t next = ct_language_state(l, i == length);
        ct_language_arc(l, at, 0, CT_LAST_CHAR, next);
        at = next;
    }
    if (length == 0 || length == LENGTHS)
        ct_language_arc(l, at, 0, CT_LAST_CHAR, at);
}

static void add_kinds(struct schema *s, struct members *m, const struct others *o)
{
    for (int letter = 0; letter < LETTERS; letter++)
        for (int length = o->all; length <= (o->all ? LENGTHS : 0) && !ct_grammar_failed(s->g); length++) {
            struct others one = {.rule = o->rule};
            struct ct_language kind;
            carat_error err = {CARAT_OK, ""};
            bool empty = false;
            ct_language_init(&kind);
            ct_language_init(&one.keys);
            kind_of_keys(&kind, letter, length);
            carat_status status = CARAT_OK;
            if (o->all) {
                one.keys = kind;
                ct_language_init(&kind);
            } else {
                status = ct_language_intersect(&kind, &o->keys, &one.keys, &err);
            }
            if (!status)
                status = ct_language_empty(&one.keys, &empty, &err);
            if (status)
                ct_grammar_fail(s->g, status, "%s", err.message);
            else if (!empty)
                m->rule[m->n++] = other_rule(s, &one);
            ct_language_free(&kind);
            ct_language_free(&one.keys);
        }
}

static void emit_bag(struct schema *s, const struct keys *k, struct members *m, int32_t begin, int32_t close)
{
    for (int i = 0; i < k->n; i++)
        if (k->declared[i].rule >= 0) {
            m->required[m->n] = k->declared[i].required;
            m->rule[m->n++] = declared_rule(s, &k->declared[i]);
        }
    for (int i = 0; i < k->n_others; i++)
        add_kinds(s, m, &k->others[i]);
    /* counts that nothing depends on are not kept */
    const bool counts_min = k->min > k->n_required, counts_max = k->max >= 0 && k->max < m->n;
    const int32_t bag = ct_grammar_bag(s->g, "members", ct_schema_common_rule(s, CT_COMMON_COMMA),
                                       counts_min ? (int32_t)k->min : 0, counts_max ? (int32_t)k->max : -1);
    for (int i = 0; i < m->n && bag >= 0; i++)
        if (m->rule[i] >= 0)
            ct_grammar_member(s->g, bag, m->rule[i], m->required[i]);
    const int32_t behind = ct_grammar_node(s->g, s->g->owner[begin]);
    ct_grammar_call(s->g, begin, bag, behind);
    ct_grammar_skip(s->g, ct_schema_spaces(s, behind), close);
}

static void emit_any_order(struct schema *s, const struct items *all, const struct keys *k, int32_t begin,
                           int32_t close)
{
    const size_t most = (size_t)k->n + (size_t)k->n_others * KINDS + 1;
    struct members m = {.rule = ct_schema_memory(s, most * sizeof *m.rule),
                        .required = ct_schema_memory(s, most * sizeof *m.required)};

    if (k->min >= (int64_t)most)
        ct_schema_note(s, all->item[0].schema, NULL, "at least %lld keys, and there are at most %zu kinds",
                       (long long)k->min, most - 1);
    else if (m.rule && m.required)
        emit_bag(s, k, &m, begin, close);
    free(m.rule);
    free(m.required);
}

/* ---- both ---- */

static void emit_members(struct schema *s, const struct items *all, struct keys *k, int32_t from, int32_t to)
{
    const int32_t owner = s->g->owner[from], open = ct_grammar_node(s->g, owner),
                  close = ct_grammar_node(s->g, owner);

    ct_grammar_bracket(s->g, from, '{', 1, open);
    ct_grammar_bracket(s->g, close, '}', -1, to);
    const int32_t begin = ct_schema_spaces(s, open);
    if (begin < 0)
        return;
    if (k->max >= 0 && k->min > k->max)
        ct_schema_note(s, all->item[0].schema, NULL, "at least %lld and at most %lld keys", (long long)k->min,
                       (long long)k->max);
    else if (k->min > k->n_allowed && !k->n_others)
        ct_schema_note(s, all->item[0].schema, NULL, "at least %lld keys, and there are %d",
                       (long long)k->min, k->n_allowed);
    else if (s->o->any_order || s->o->argument)
        emit_any_order(s, all, k, begin, close);
    else if (k->min > k->n_required + 1 && k->n_others)
        /* a key that is not declared may come twice, and is one then */
        ct_schema_unsupported(
            s, all->item[0].schema, "minProperties",
            "%lld, expected at most one more than the %d required keys where other keys are allowed",
            (long long)k->min, k->n_required);
    else
        emit_ordered(s, all, k, begin, close);
}

/* True when an object is any at all, which is one rule for all schemas; that rule itself has no items. */
static bool is_free(struct schema *s, const struct items *all, const struct keys *k)
{
    return all->n > 0 && k->n_others == 1 && k->others[0].all && k->min == 0 && k->max < 0 &&
           k->others[0].rule == ct_schema_common_rule(s, CT_COMMON_VALUE);
}

void ct_schema_emit_object(struct schema *s, const struct items *all, int32_t from, int32_t to)
{
    struct keys *k = ct_schema_memory(s, sizeof *k);

    if (k && from >= 0 && ct_keys_read(s, all, k)) {
        if (is_free(s, all, k))
            ct_grammar_call(s->g, from, ct_schema_common_rule(s, CT_COMMON_OBJECT), to);
        else
            emit_members(s, all, k, from, to);
    }
    ct_keys_free(k);
}
