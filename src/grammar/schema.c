/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c: see schema.h. The list of rules to be filled, and a value of any type; what the types have is
 * the other files'. */
#include "grammar/schema.h"

#include <stdlib.h>

#include "grammar/schema_parts.h"

/* ---- what all rules share ---- */

/* Up to 20 blanks, and one line break among them. */
static void fill_space(struct ct_grammar *g, int32_t rule)
{
    enum { BLANKS = 20 };
    int32_t line[2] = {ct_rule_start(g, rule), ct_grammar_node(g, rule)};

    for (int n = 0; n <= BLANKS; n++) {
        int32_t next[2];
        const int32_t feed = ct_grammar_node(g, rule);
        ct_grammar_bytes(g, line[0], '\n', '\n', line[1]);
        ct_grammar_bytes(g, line[0], '\r', '\r', feed);
        ct_grammar_bytes(g, feed, '\n', '\n', line[1]);
        for (int i = 0; i < 2; i++) {
            ct_grammar_skip(g, line[i], ct_rule_end(g, rule));
            if (n == BLANKS)
                continue;
            next[i] = ct_grammar_node(g, rule);
            ct_grammar_bytes(g, line[i], ' ', ' ', next[i]);
            ct_grammar_bytes(g, line[i], '\t', '\t', next[i]);
        }
        line[0] = next[0];
        line[1] = next[1];
    }
}

/* ---- a value ---- */

/* Writes a rule for each value where an array or object must be one of some values. False: nothing says
 * so. */
static bool emit_listed(struct schema *s, const struct items *all, int types, int32_t from, int32_t to)
{
    for (int i = 0; i < all->n; i++) {
        const struct item *item = &all->item[i];
        size_t n = 0;
        const struct ct_json_value *v = item->done & ITEM_VALUE ? NULL : ct_schema_values(item, &n);
        if (!v)
            continue;
        const uint8_t done = n == 1 && v == ct_schema_get(item, "const") ? ITEM_CONST : ITEM_ENUM;
        for (size_t k = 0; k < n && !ct_schema_cancelled(s, 1); k++, v += v->span) {
            struct item list[SCHEMA_ITEMS];
            int n_list = 0;
            if (!(ct_schema_type_of(v) & types & (TYPE_ARRAY | TYPE_OBJECT)))
                continue;
            for (int j = 0; j < all->n; j++)
                list[n_list++] = all->item[j];
            list[i].done |= done;
            ct_schema_add(s, list, &n_list, v, ITEM_VALUE);
            ct_grammar_call(s->g, from, ct_schema_rule_of(s, list, n_list), to);
        }
        return true;
    }
    return false;
}

/* null, true and false. */
static void emit_words(struct schema *s, const struct items *all, int types, int32_t from, int32_t to)
{
    static const struct {
        const char *word;
        enum ct_json_token kind;
        int type;
    } words[] = {{"null", CT_JSON_NULL, TYPE_NULL},
                 {"true", CT_JSON_TRUE, TYPE_BOOLEAN},
                 {"false", CT_JSON_FALSE, TYPE_BOOLEAN}};

    for (size_t i = 0; i < CT_COUNT(words); i++) {
        const struct ct_json_value v = {.kind = (uint32_t)words[i].kind & 15u, .span = 1};
        if (types & words[i].type && ct_schema_allows(all, &v))
            ct_grammar_text(s->g, from, ct_str_of(words[i].word), to);
    }
}

/* Notes that of the values which are listed none is left. */
static void note_values(struct schema *s, const struct items *all)
{
    for (int i = 0; i < all->n; i++) {
        size_t n = 0;
        const struct ct_json_value *v = ct_schema_values(&all->item[i], &n);
        bool left = v == NULL;
        for (size_t k = 0; k < n && !left && !ct_schema_cancelled(s, CT_WATCH_STEPS); k++, v += v->span)
            left = ct_json_is(v, CT_JSON_ARRAY) || ct_json_is(v, CT_JSON_OBJECT) || ct_schema_allows(all, v);
        if (!left)
            ct_schema_note(s, all->item[i].schema, NULL, "no value that is listed fits all");
    }
}

static void emit_value(struct schema *s, const struct items *all, int32_t rule)
{
    const int32_t from = ct_rule_start(s->g, rule), to = ct_rule_end(s->g, rule);
    int types = TYPE_ALL;

    for (int i = 0; i < all->n; i++) {
        size_t n = 0;
        const int before = types;
        const struct ct_json_value *v = ct_schema_values(&all->item[i], &n);
        int of_values = v ? 0 : TYPE_ALL;
        for (size_t k = 0; k < n; k++, v += v->span)
            of_values |= ct_schema_type_of(v);
        types &= ct_schema_types(ct_schema_get(&all->item[i], "type")) & of_values;
        if (before && !types)
            ct_schema_note(s, all->item[i].schema, NULL, "no type is left that fits all");
    }
    note_values(s, all);
    if (ct_grammar_failed(s->g))
        return;
    emit_words(s, all, types, from, to);
    if (types & TYPE_NUMBER)
        ct_schema_emit_number(s, all, types & TYPE_NUMBER, from, to);
    if (types & TYPE_STRING && all->n == 0)
        ct_grammar_call(s->g, from, ct_schema_common_rule(s, CT_COMMON_STRING), to);
    else if (types & TYPE_STRING)
        ct_schema_emit_string(s, all, from, to);
    if (types & (TYPE_ARRAY | TYPE_OBJECT) && !emit_listed(s, all, types, from, to)) {
        if (types & TYPE_ARRAY)
            ct_schema_emit_array(s, all, from, to);
        if (types & TYPE_OBJECT && all->n == 0)
            ct_grammar_call(s->g, from, ct_schema_common_rule(s, CT_COMMON_OBJECT), to);
        else if (types & TYPE_OBJECT)
            ct_schema_emit_object(s, all, from, to);
    }
}

static void fill_common(struct schema *s, enum ct_schema_common which, int32_t rule)
{
    const int32_t from = ct_rule_start(s->g, rule), to = ct_rule_end(s->g, rule);
    const struct items none = {NULL, 0};

    switch (which) {
    case CT_COMMON_SPACE:
        fill_space(s->g, rule);
        break;
    case CT_COMMON_STRING:
        ct_schema_emit_string(s, &none, from, to);
        break;
    case CT_COMMON_KEY:
        ct_schema_emit_keys(s, NULL, from, to);
        break;
    case CT_COMMON_NUMBER:
        ct_schema_fill_number(s, rule, true);
        break;
    case CT_COMMON_INTEGER:
        ct_schema_fill_number(s, rule, false);
        break;
    case CT_COMMON_COMMA:
        ct_schema_mark(s, ct_schema_spaces(s, from), ",", to);
        break;
    case CT_COMMON_VALUE:
        emit_value(s, &none, rule);
        break;
    case CT_COMMON_OBJECT:
        ct_schema_emit_object(s, &none, from, to);
        break;
    case CT_COMMONS:
        break;
    }
}

/* ---- the whole ---- */

enum { A_TASK = 64 }; /* steps, before it makes any */

static int32_t run_tasks(struct schema *s, const struct item *item, int n)
{
    const int32_t root = ct_schema_rule_of(s, item, n);

    for (int32_t i = 0; i < s->n_tasks && !ct_grammar_failed(s->g); i++) {
        struct item list[SCHEMA_ITEMS]; /* the array grows while it is filled */
        if (ct_schema_cancelled(s, A_TASK))
            break;
        const struct task t = s->task[i];
        if (t.common >= 0) {
            fill_common(s, (enum ct_schema_common)t.common, t.rule);
            continue;
        }
        for (int k = 0; k < t.n; k++)
            list[k] = s->item[t.first + (uint32_t)k];
        ct_schema_split(s, &(struct items){list, t.n}, emit_value, t.rule);
    }
    return root;
}

static bool is_old_draft(const struct ct_json_value *root)
{
    static const char *const draft[] = {"draft-03", "draft-04", "draft-06", "draft-07"};
    const struct ct_str name = ct_json_str(ct_json_get(root, "$schema"));

    for (size_t i = 0; i < CT_COUNT(draft); i++)
        for (size_t k = 0; k + 8 <= name.n; k++)
            if (memcmp(name.s + k, draft[i], 8) == 0)
                return true;
    return false;
}

/* That something fits the rule; else why not. */
static void claim_fits(struct schema *s, int32_t rule)
{
    char otherwise[sizeof s->note + 32];

    if (!*s->note)
        ct_schema_note(s, s->root, NULL, "every value would have to hold others without end");
    snprintf(otherwise, sizeof otherwise, "%s: no JSON fits", s->note);
    ct_grammar_claim(s->g, rule, otherwise);
}

carat_status ct_schema_rule(struct ct_grammar *g, const struct ct_json_value *schema,
                            const struct ct_schema_options *o, int32_t *rule, carat_error *err)
{
    struct ct_schema_shared own = {0}, *shared = o->shared ? o->shared : &own;
    struct schema s = {.g = g,
                       .o = o,
                       .shared = shared,
                       .formats = &shared->formats,
                       .root = schema,
                       .run = run_tasks,
                       .old_references = is_old_draft(schema),
                       .checked = calloc(schema->span, 1)};
    struct item root;
    int n = 0;

    if (!s.checked)
        return ct_no_memory(err, "a schema");
    *rule = -1;
    if (!ct_schema_checked(&s, schema))
        ;
    else if (!ct_schema_add(&s, &root, &n, schema, 0))
        ct_schema_fail(&s, schema, NULL, "no JSON fits false");
    else
        *rule = run_tasks(&s, &root, n);
    if (!ct_grammar_failed(g))
        claim_fits(&s, *rule);
    ct_schema_free_tasks(&s);
    free(s.checked);
    ct_schema_shared_free(&own);
    return ct_grammar_failed(g) ? ct_fail(err, g->error.code, "%s", g->error.message) : CARAT_OK;
}

/* true and false are schemas, but no documents to the reader of trees. */
static const struct ct_json_value *bare_schema(struct ct_str text)
{
    static const struct ct_json_value always = {.span = 1, .kind = CT_JSON_TRUE},
                                      never = {.span = 1, .kind = CT_JSON_FALSE};
    static const char blanks[] = " \t\r\n";

    while (text.n && strchr(blanks, *text.s))
        text = (struct ct_str){text.s + 1, text.n - 1};
    while (text.n && strchr(blanks, text.s[text.n - 1]))
        text.n--;
    return ct_str_is(text, "true") ? &always : ct_str_is(text, "false") ? &never : NULL;
}

int32_t ct_schema_space(struct ct_grammar *g)
{
    const int32_t space = ct_grammar_rule(g, "white space");

    if (space >= 0)
        fill_space(g, space);
    return space;
}

/* White space around a value. */
static int32_t whole_text(struct ct_grammar *g, int32_t value)
{
    const int32_t space = ct_schema_space(g), whole = ct_grammar_rule(g, "the whole text"),
                  before = ct_grammar_node(g, whole), behind = ct_grammar_node(g, whole);

    ct_grammar_call(g, ct_rule_start(g, whole), space, before);
    ct_grammar_call(g, before, value, behind);
    ct_grammar_call(g, behind, space, ct_rule_end(g, whole));
    return whole;
}

carat_status ct_schema_text(struct ct_grammar *g, struct ct_str schema, const struct ct_schema_options *o,
                            int32_t *rule, carat_error *err)
{
    struct ct_json_tree tree = {0};
    const struct ct_json_value *bare = bare_schema(schema);
    carat_status status = CARAT_OK;

    if (schema.n > CT_SCHEMA_BYTES)
        return ct_fail(err, CARAT_E_ARGUMENT, "the schema has %zu bytes, expected at most %d", schema.n,
                       CT_SCHEMA_BYTES);
    if (!bare)
        status = ct_json_tree_read(&tree, CARAT_E_ARGUMENT, o->prefix ? o->prefix : "the schema",
                                   ct_str_bytes(schema), err);
    if (!status)
        status = ct_schema_rule(g, bare ? bare : tree.value, o, rule, err);
    ct_json_tree_free(&tree);
    CT_TRY(status);
    if (o->space == CT_SPACE_JSON && !o->calls)
        *rule = whole_text(g, *rule);
    return ct_grammar_failed(g) ? ct_fail(err, g->error.code, "%s", g->error.message) : CARAT_OK;
}
