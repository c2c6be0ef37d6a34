/* SPDX-License-Identifier: Apache-2.0 */
/* schema_string.c: strings and keys: what lengths, patterns, formats and lists of values say becomes one
 * language; without any of these, a string is a chain of characters. */
#include "base/utf8.h"
#include "grammar/regex.h"
#include "grammar/schema_parts.h"
#include "text/chat/call.h"

static enum ct_spelling spelling_of(const struct schema *s)
{
    return s->o->calls ? CT_SPELL_PLAIN : CT_SPELL_JSON;
}

/* ---- languages ---- */

bool ct_schema_spend(struct schema *s, const struct ct_language *l, const struct ct_json_value *schema)
{
    s->spent += l->n_states;
    if (s->spent > CT_NODES_MAX)
        ct_schema_fail(s, schema, NULL, "all patterns and lengths together need more than %d states",
                       CT_NODES_MAX);
    return s->spent <= CT_NODES_MAX;
}

bool ct_schema_narrow(struct schema *s, struct ct_language *l, bool *any, struct ct_language *more,
                      const struct ct_json_value *schema)
{
    struct ct_language both;
    carat_error err = {CARAT_OK, ""};

    if (!*any) {
        *l = *more;
        l->watch = s->g->watch;
        *any = true;
        return true;
    }
    l->watch = s->g->watch;
    const carat_status status = ct_language_intersect(l, more, &both, &err);
    ct_language_free(l);
    ct_language_free(more);
    *l = both;
    if (status == CARAT_E_ARGUMENT)
        ct_schema_fail(s, schema, NULL, "what it says about one value together: %s", err.message);
    else if (status)
        ct_grammar_fail(s->g, status, "%s", err.message);
    return !status && ct_schema_spend(s, l, schema);
}

bool ct_schema_pattern(struct schema *s, struct ct_str pattern, const struct ct_json_value *schema,
                       const char *key, struct ct_language *out)
{
    carat_error err = {CARAT_OK, ""};
    struct ct_language raw;

    ct_language_init(out);
    ct_language_init(&raw);
    raw.watch = s->g->watch;
    carat_status status = ct_regex_language(pattern, false, &raw, NULL, &err);
    if (status == CARAT_E_ARGUMENT)
        ct_schema_fail(s, schema, key, "%s", err.message);
    else if (!status && (status = ct_language_minimise(&raw, out, &err)) == CARAT_E_ARGUMENT)
        ct_schema_fail(s, schema, key, "%s", err.message);
    if (status)
        ct_grammar_fail(s->g, status, "%s", err.message);
    ct_language_free(&raw);
    if (!status && ct_schema_spend(s, out, schema))
        return true;
    ct_language_free(out);
    return false;
}

/* The texts among the values that an item allows. */
static void language_of_values(struct ct_language *l, const struct item *item, uint8_t but)
{
    struct item one = *item;
    size_t n = 0;

    one.done |= but;
    ct_language_init(l);
    const struct ct_json_value *v = ct_schema_values(&one, &n);
    for (size_t i = 0; i < n; i++, v += v->span)
        if (ct_json_is(v, CT_JSON_STRING))
            ct_language_text(l, ct_json_str(v));
}

static bool narrow_by_values(struct schema *s, const struct items *all, struct ct_language *l, bool *any)
{
    /* an item may have a const, or an enum, or both */
    static const uint8_t but[] = {0, ITEM_CONST};

    for (int i = 0; i < all->n; i++)
        for (size_t k = 0; k < CT_COUNT(but); k++) {
            struct ct_language values;
            const bool has_const = all->item[i].done & ITEM_VALUE || (!(all->item[i].done & ITEM_CONST) &&
                                                                      ct_schema_get(&all->item[i], "const"));
            size_t n = 0;
            struct item one = all->item[i];
            one.done |= but[k];
            if ((k > 0 && (!has_const || all->item[i].done & ITEM_VALUE)) || !ct_schema_values(&one, &n))
                continue;
            language_of_values(&values, &all->item[i], but[k]);
            if (!ct_schema_narrow(s, l, any, &values, all->item[i].schema))
                return false;
        }
    return true;
}

/* True when an item before this one says the same. */
static bool is_repeated(const struct items *all, int i, const char *key)
{
    const struct ct_str own = ct_json_str(ct_schema_get(&all->item[i], key));

    for (int k = 0; k < i; k++) {
        const struct ct_json_value *other = ct_schema_get(&all->item[k], key);
        if (other && ct_str_same(ct_json_str(other), own))
            return true;
    }
    return false;
}

static bool narrow_by_keywords(struct schema *s, const struct items *all, struct ct_language *l, bool *any)
{
    for (int i = 0; i < all->n; i++) {
        const struct ct_json_value *schema = all->item[i].schema,
                                   *pattern = ct_schema_get(&all->item[i], "pattern"),
                                   *format = ct_schema_get(&all->item[i], "format");
        struct ct_language more;
        carat_error err = {CARAT_OK, ""};
        if (pattern && !is_repeated(all, i, "pattern") &&
            (!ct_schema_pattern(s, ct_json_str(pattern), schema, "pattern", &more) ||
             !ct_schema_narrow(s, l, any, &more, schema)))
            return false;
        if (!format || is_repeated(all, i, "format"))
            continue;
        if (!ct_schema_format(s->formats, ct_json_str(format), ct_schema_most(all, "maxLength") >= 0, &more,
                              &err)) {
            if (err.code == CARAT_E_UNSUPPORTED)
                ct_schema_unsupported(s, schema, "format", "\"%.*s\" %s", CT_BRIEF(ct_json_str(format)),
                                      err.message);
            else
                ct_grammar_fail(s->g, err.code, "%s", err.message);
            return false;
        }
        if (!ct_schema_narrow(s, l, any, &more, schema))
            return false;
    }
    return true;
}

/* ---- a string ---- */

/* NUL is in no string of an argument: nobody could read it back. */
static void leave_out_nul(struct ct_language *l)
{
    int32_t kept = 0;

    for (int32_t i = 0; i < l->n_arcs; i++) {
        struct ct_arc arc = l->arc[i];
        const bool skip = arc.low > arc.high;
        arc.low = skip ? arc.low : CT_MAX(arc.low, 1);
        if (skip || arc.low <= arc.high)
            l->arc[kept++] = arc;
    }
    l->n_arcs = kept;
}

static void emit_language(struct schema *s, struct ct_language *l, int32_t from, int32_t to)
{
    if (s->o->argument)
        leave_out_nul(l);
    ct_language_emit(s->g, &s->shared->charsets, l, from, spelling_of(s), to);
}

static void any_char(struct schema *s, int32_t rule, int32_t from, int32_t to)
{
    const uint32_t all[] = {s->o->argument, CT_LAST_CHAR};

    (void)rule;
    ct_charset_emit(s->g, &s->shared->charsets, all, 2, from, spelling_of(s), to);
}

static void string_end(struct schema *s, int32_t from, int32_t to)
{
    if (s->o->calls)
        ct_grammar_token(s->g, from, s->o->quote, to);
    else
        ct_grammar_bytes(s->g, from, '"', '"', to);
}

/* Notes where the fault lies when strings are asked for that there are not. */
static void note_empty(struct schema *s, const struct items *all, const struct ct_language *l)
{
    const struct ct_json_value *at = all->item[0].schema;
    const char *key = NULL;
    carat_error err = {CARAT_OK, ""};
    bool empty = false;

    for (int i = 0; i < all->n && !key; i++)
        if (ct_schema_get(&all->item[i], "pattern")) {
            at = all->item[i].schema;
            key = "pattern";
        }
    if (ct_language_empty(l, &empty, &err))
        ct_grammar_fail(s->g, err.code, "%s", err.message);
    else if (empty)
        ct_schema_note(s, at, key, "no string fits");
}

void ct_schema_emit_string(struct schema *s, const struct items *all, int32_t from, int32_t to)
{
    const int64_t min = ct_schema_least(all, "minLength"), max = ct_schema_most(all, "maxLength");
    struct ct_language l, lengths;
    bool any = false;

    if (from < 0)
        return;
    ct_language_init(&l);
    if (max >= 0 && min > max) {
        ct_schema_note(s, all->item[0].schema, "minLength", "%lld is above maxLength, %lld", (long long)min,
                       (long long)max);
        return;
    }
    if (min > SCHEMA_MOST) {
        ct_schema_fail(s, all->item[0].schema, "minLength", "%lld, expected at most %d", (long long)min,
                       SCHEMA_MOST);
        return;
    }
    const int32_t owner = s->g->owner[from], open = ct_grammar_node(s->g, owner),
                  close = ct_grammar_node(s->g, owner);
    string_end(s, from, open);
    string_end(s, close, to);
    bool good = narrow_by_values(s, all, &l, &any) && narrow_by_keywords(s, all, &l, &any);
    if (good && any && (min > 0 || (max >= 0 && max <= SCHEMA_MOST))) {
        ct_language_init(&lengths);
        lengths.watch = s->g->watch;
        ct_language_lengths(&lengths, (int32_t)min, max > SCHEMA_MOST ? -1 : (int32_t)max);
        good = ct_schema_narrow(s, &l, &any, &lengths, all->item[0].schema);
    }
    if (good && any)
        note_empty(s, all, &l);
    if (good && any)
        emit_language(s, &l, open, close);
    else if (good)
        ct_schema_repeat(s, any_char, -1, open, min, max, close);
    ct_language_free(&l);
}

/* ---- keys ---- */

void ct_schema_emit_key(struct schema *s, struct ct_str key, int32_t from, int32_t to)
{
    if (from < 0)
        return;
    if (s->o->calls) {
        ct_grammar_text(s->g, from, key, to);
        return;
    }
    const int32_t owner = s->g->owner[from], open = ct_grammar_node(s->g, owner),
                  close = ct_grammar_node(s->g, owner);
    ct_grammar_bytes(s->g, from, '"', '"', open);
    ct_grammar_spelled(s->g, open, key, CT_SPELL_JSON, close);
    ct_grammar_bytes(s->g, close, '"', '"', to);
}

bool ct_schema_good_key(const struct schema *s, struct ct_str key)
{
    if (s->o->calls)
        for (size_t i = 0; i < key.n; i++)
            if (key.s[i] == 0 || strchr(CT_CALL_SYNTAX, key.s[i]))
                return false;
    return true;
}

/* All keys that the syntax can write. */
static void all_keys(const struct schema *s, struct ct_language *l)
{
    const int32_t at = ct_language_state(l, true);
    uint32_t low = s->o->argument; /* NUL is in no key, too */

    for (uint32_t c = 1; c < 0x80 && s->o->calls; c++)
        if (strchr(CT_CALL_SYNTAX, (int)c)) {
            if (low < c)
                ct_language_arc(l, at, low, c - 1, at);
            low = c + 1;
        }
    ct_language_arc(l, at, low, CT_LAST_CHAR, at);
}

void ct_schema_emit_keys(struct schema *s, const struct ct_language *keys, int32_t from, int32_t to)
{
    struct ct_language all, both;
    carat_error err = {CARAT_OK, ""};
    int32_t open = from, close = to;

    if (from < 0)
        return;
    if (!s->o->calls) {
        open = ct_grammar_node(s->g, s->g->owner[from]);
        close = ct_grammar_node(s->g, s->g->owner[from]);
        ct_grammar_bytes(s->g, from, '"', '"', open);
        ct_grammar_bytes(s->g, close, '"', '"', to);
    }
    ct_language_init(&all);
    ct_language_init(&both);
    all_keys(s, &all);
    all.watch = s->g->watch;
    const carat_status status = keys ? ct_language_intersect(&all, keys, &both, &err) : CARAT_OK;
    if (status)
        ct_grammar_fail(s->g, status, "%s", err.message);
    else
        ct_language_emit(s->g, &s->shared->charsets, keys ? &both : &all, open, spelling_of(s), close);
    ct_language_free(&all);
    ct_language_free(&both);
}
