/* SPDX-License-Identifier: Apache-2.0 */
/* schema_keys.c: the keys that several schemas together allow: those that they name, each with all that they
 * say about its value, and all others, divided by the patterns that they fit. */
#include "grammar/schema_parts.h"

#include <stdlib.h>

#include "base/array.h"

void ct_keys_free(struct keys *k)
{
    if (!k)
        return;
    for (int i = 0; i < k->n_others; i++)
        ct_language_free(&k->others[i].keys);
    for (int i = 0; i < k->n_patterns; i++)
        ct_language_free(&k->pattern[i]);
    free(k->declared);
    free(k->slot);
    free(k);
}

/* ---- keys that are named ---- */

static uint32_t hash_key(struct ct_str key)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < key.n; i++)
        h = (h ^ (uint8_t)key.s[i]) * 16777619u;
    return h ^ h >> 15;
}

static bool keys_rehash(struct keys *k)
{
    const size_t slots = k->slots ? 2 * k->slots : 32;
    int32_t *slot = calloc(slots, sizeof *slot);

    if (!slot)
        return false;
    for (int i = 0; i < k->n; i++) {
        size_t at = hash_key(k->declared[i].key) & (slots - 1);
        while (slot[at])
            at = (at + 1) & (slots - 1);
        slot[at] = i + 1;
    }
    free(k->slot);
    k->slot = slot;
    k->slots = slots;
    return true;
}

/* The declared key, which is made where it is new; NULL: a failure. */
static struct declared *declare(struct schema *s, struct keys *k, struct ct_str key)
{
    if (((size_t)k->n * 2 >= k->slots && !keys_rehash(k)) ||
        !ct_array_grow(&k->declared, &k->room, (size_t)k->n + 1, sizeof *k->declared)) {
        ct_grammar_fail(s->g, CARAT_E_MEMORY, "out of memory for a schema");
        return NULL;
    }
    size_t at = hash_key(key) & (k->slots - 1);
    for (; k->slot[at]; at = (at + 1) & (k->slots - 1))
        if (ct_str_same(k->declared[k->slot[at] - 1].key, key))
            return &k->declared[k->slot[at] - 1];
    k->slot[at] = k->n + 1;
    k->declared[k->n] = (struct declared){.key = key, .rule = -1};
    return &k->declared[k->n++];
}

static bool declare_all(struct schema *s, const struct items *all, struct keys *k)
{
    for (int i = 0; i < all->n; i++) {
        const struct item *item = &all->item[i];
        const bool value = item->done & ITEM_VALUE;
        const struct ct_json_value *object = value ? item->schema : ct_schema_get(item, "properties");
        CT_JSON_EACH(key, object)
        {
            struct declared *d = declare(s, k, ct_json_str(key));
            if (!d)
                return false;
            if (!d->of) {
                d->of = object;
                d->value = ct_json_of_key(key);
            }
            d->required = d->required || value;
        }
    }
    for (int i = 0; i < all->n; i++)
        CT_JSON_EACH(name, ct_schema_get(&all->item[i], "required"))
        {
            struct declared *d = declare(s, k, ct_json_str(name));
            if (!d)
                return false;
            d->required = true;
        }
    return true;
}

/* ---- patterns ---- */

static bool read_patterns(struct schema *s, const struct items *all, struct keys *k)
{
    for (int i = 0; i < all->n; i++)
        CT_JSON_EACH(key, ct_schema_get(&all->item[i], "patternProperties"))
        {
            char name[120];
            if (k->n_patterns == PATTERNS_MAX) {
                ct_schema_fail(s, all->item[i].schema, "patternProperties", "more than %d patterns",
                               PATTERNS_MAX);
                return false;
            }
            snprintf(name, sizeof name, "patternProperties.%.*s", (int)CT_MIN(key->n, 64), key->s);
            if (!ct_schema_pattern(s, ct_json_str(key), all->item[i].schema, name,
                                   &k->pattern[k->n_patterns]))
                return false;
            k->pattern_schema[k->n_patterns] = ct_json_of_key(key);
            k->pattern_item[k->n_patterns++] = i;
        }
    return true;
}

/* The bits of the patterns that a key fits. */
static uint32_t fitting_patterns(const struct keys *k, struct ct_str key)
{
    uint32_t fitting = 0;

    for (int i = 0; i < k->n_patterns; i++)
        fitting |= (uint32_t)ct_language_takes(&k->pattern[i], key) << i;
    return fitting;
}

/* ---- what the value of a key is ---- */

/* True when an object of an argument is closed where nothing is said: their reader wants it so. */
static bool closed_by_default(const struct schema *s, const struct items *all)
{
    for (int i = 0; i < all->n && s->o->argument; i++)
        if (ct_schema_get(&all->item[i], "properties"))
            return true;
    return false;
}

/* Adds what an item says about a key that fits patterns; named: the value under it, or NULL. */
static bool add_said(struct schema *s, const struct keys *k, const struct item *item, int number,
                     uint32_t fitting, const struct ct_json_value *named, struct item *list, int *n)
{
    const struct ct_json_value *more = ct_schema_get(item, "additionalProperties");
    bool said = named != NULL;

    if (item->done & ITEM_VALUE)
        return named && ct_schema_add(s, list, n, named, ITEM_VALUE);
    if (named && !ct_schema_add(s, list, n, named, 0))
        return false;
    for (int i = 0; i < k->n_patterns; i++)
        if (k->pattern_item[i] == number && fitting >> i & 1) {
            said = true;
            if (!ct_schema_add(s, list, n, k->pattern_schema[i], 0))
                return false;
        }
    return said || !more || ct_schema_add(s, list, n, more, 0);
}

/* The rule of a key's value; -1: none fits. */
static int32_t value_rule(struct schema *s, const struct items *all, const struct keys *k, uint32_t fitting,
                          const struct declared *d)
{
    struct item list[SCHEMA_ITEMS];
    int n = 0;
    bool said = fitting != 0;

    for (int i = 0; i < all->n; i++) {
        const struct item *item = &all->item[i];
        const struct ct_json_value *object = item->done & ITEM_VALUE ? item->schema
                                                                     : ct_schema_get(item, "properties"),
                                   *named = NULL;
        if (d && object)
            named = object == d->of ? d->value : ct_json_find(object, d->key);
        said = said || named || ct_schema_get(item, "additionalProperties");
        if (!add_said(s, k, item, i, fitting, named, list, &n))
            return -1;
    }
    if (!said && closed_by_default(s, all))
        return -1;
    return ct_schema_rule_of(s, list, n);
}

static bool read_declared(struct schema *s, const struct items *all, struct keys *k)
{
    for (int i = 0; i < k->n && !ct_grammar_failed(s->g); i++) {
        struct declared *d = &k->declared[i];
        d->rule = value_rule(s, all, k, fitting_patterns(k, d->key), d);
        k->n_required += d->required;
        k->n_allowed += d->rule >= 0;
        if (d->rule >= 0 && !ct_schema_good_key(s, d->key)) {
            ct_schema_fail(s, all->item[0].schema, "properties",
                           "the key \"%.*s\" cannot be read back from a call: one of ,:[]{} or NUL is in it",
                           (int)CT_MIN(d->key.n, 64), d->key.s);
            return false;
        }
        if (d->required && d->rule < 0) {
            ct_schema_note(s, all->item[0].schema, NULL, "the key \"%.*s\" is required, and no value fits it",
                           (int)CT_MIN(d->key.n, 64), d->key.s);
            return false;
        }
    }
    return !ct_grammar_failed(s->g);
}

/* ---- all other keys ---- */

/* All keys that are not declared. */
static carat_status undeclared(const struct keys *k, struct ct_grammar_watch *watch, struct ct_language *out,
                               carat_error *err)
{
    struct ct_language named;

    ct_language_init(&named);
    named.watch = watch;
    for (int i = 0; i < k->n; i++)
        ct_language_text(&named, k->declared[i].key);
    const carat_status status = ct_language_complement(&named, out, err);
    ct_language_free(&named);
    return status;
}

/* Divides each part by whether a pattern fits, and drops what is empty. */
static carat_status divide(struct schema *s, struct keys *k, int pattern, const struct items *all,
                           carat_error *err)
{
    struct ct_language not_pattern;
    const int before = k->n_others;
    carat_status status = ct_language_complement(&k->pattern[pattern], &not_pattern, err);

    for (int i = 0; i < before && !status; i++) {
        struct ct_language part[2];
        bool empty[2] = {true, true};
        status = ct_language_intersect(&k->others[i].keys, &not_pattern, &part[0], err);
        if (status)
            break;
        status = ct_language_intersect(&k->others[i].keys, &k->pattern[pattern], &part[1], err);
        for (int j = 0; j < 2 && !status; j++)
            status = ct_schema_spend(s, &part[j], all->item[0].schema)
                         ? ct_language_empty(&part[j], &empty[j], err)
                         : CARAT_E_ARGUMENT;
        if (!status && !empty[0] && !empty[1] && k->n_others == OTHERS_MAX) {
            ct_schema_fail(s, all->item[0].schema, "patternProperties",
                           "they divide keys into more than %d kinds", OTHERS_MAX);
            status = CARAT_E_ARGUMENT;
        }
        for (int j = 0; j < 2; j++) {
            const bool first = j == 0 || empty[0];
            if (status || empty[j]) {
                ct_language_free(&part[j]);
                continue;
            }
            struct others *o = first ? &k->others[i] : &k->others[k->n_others++];
            if (first)
                ct_language_free(&o->keys);
            else
                *o = k->others[i];
            o->keys = part[j];
            o->fitting &= ~((uint32_t)1 << pattern);
            o->fitting |= (uint32_t)j << pattern;
        }
    }
    ct_language_free(&not_pattern);
    return status;
}

static bool read_others(struct schema *s, const struct items *all, struct keys *k)
{
    carat_error err = {CARAT_OK, ""};
    carat_status status = CARAT_OK;
    int kept = 0;

    if (k->n_patterns == 0 && value_rule(s, all, k, 0, NULL) < 0)
        return !ct_grammar_failed(s->g);
    k->n_others = 1;
    k->others[0] = (struct others){.all = k->n == 0 && k->n_patterns == 0};
    ct_language_init(&k->others[0].keys);
    k->others[0].keys.watch = s->g->watch;
    if (!k->others[0].all)
        status = undeclared(k, s->g->watch, &k->others[0].keys, &err);
    for (int i = 0; i < k->n_patterns && !status; i++)
        status = divide(s, k, i, all, &err);
    if (status)
        ct_grammar_fail(s->g, status, "%s", err.message);
    for (int i = 0; i < k->n_others && !status; i++) {
        struct others one = k->others[i];
        one.rule = value_rule(s, all, k, one.fitting, NULL);
        if (one.rule >= 0)
            k->others[kept++] = one;
        else
            ct_language_free(&one.keys);
    }
    if (!status)
        k->n_others = kept;
    return !ct_grammar_failed(s->g);
}

bool ct_keys_read(struct schema *s, const struct items *all, struct keys *k)
{
    k->min = ct_schema_least(all, "minProperties");
    k->max = ct_schema_most(all, "maxProperties");
    return declare_all(s, all, k) && read_patterns(s, all, k) && read_declared(s, all, k) &&
           read_others(s, all, k);
}
