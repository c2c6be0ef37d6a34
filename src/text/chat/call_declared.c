/* SPDX-License-Identifier: Apache-2.0 */
/* call_declared.c: see call_parts.h. */
#include "text/chat/call_parts.h"

#include "base/json_reference.h"

/* Adds a schema of the value that comes next, unless it is there. */
static void declared_add(struct call_declared *j, int first, const struct ct_json_value *schema, bool branch,
                         bool closed)
{
    for (int i = first; i < j->n; i++)
        if (j->said[i].schema == schema)
            return;
    if (j->n == CT_DECLARED_SCHEMAS || j->n - first == CT_DECLARED_OF_ONE) {
        j->next_is_any = true; /* too much to look at: nothing is judged */
        return;
    }
    j->said[j->n++] = (struct call_said){schema, branch, closed};
}

/* What belongs to the value that comes next begins here. */
static int declared_base(const struct call_declared *j)
{
    return j->depth ? j->level[j->depth - 1].end : 0;
}

void ct_declared_begin(struct call_declared *j, const struct ct_json_value *parameters, bool declared)
{
    static const struct ct_json_value none = {.span = 1, .kind = CT_JSON_FALSE};

    j->root = parameters;
    j->n = j->depth = 0;
    j->next_is_any = !declared;
    if (declared)
        declared_add(j, 0, ct_json_count(parameters) ? parameters : &none, false, false);
}

/* ---- what a list or an object may be ---- */

static bool has_type(const struct ct_json_value *schema, const char *name)
{
    const struct ct_json_value *type = ct_json_get(schema, "type");
    bool found = !type || ct_json_is_text(type, name);

    CT_JSON_EACH(one, type)
    found = found || ct_json_is_text(one, name);
    return found;
}

/* True when a value is listed that holds others. */
static bool lists_structure(const struct ct_json_value *schema)
{
    const struct ct_json_value *one = ct_json_get(schema, "const");
    bool found = ct_json_is(one, CT_JSON_OBJECT) || ct_json_is(one, CT_JSON_ARRAY);

    CT_JSON_EACH(value, ct_json_get(schema, "enum"))
    found = found || ct_json_is(value, CT_JSON_OBJECT) || ct_json_is(value, CT_JSON_ARRAY);
    return found;
}

/* Adds what a schema is made of behind those from `first` on. */
static void declared_parts(struct call_declared *j, int first, const struct call_said *s)
{
    static const struct {
        const char *key;
        bool branch;
    } lists[] = {{"allOf", false}, {"anyOf", true}, {"oneOf", true}};
    const bool declares = ct_json_get(s->schema, "properties") != NULL;
    bool outside, leaf = true;

    if (ct_json_get(s->schema, "$ref")) {
        const struct ct_json_value *to = ct_json_reference(j->root, s->schema, &outside);
        if (!to || declares) /* of some drafts nothing beside $ref counts */
            j->next_is_any = true;
        else
            declared_add(j, first, to, s->branch, s->closed);
        leaf = false;
    }
    for (size_t k = 0; k < CT_COUNT(lists); k++)
        CT_JSON_EACH(part, ct_json_get(s->schema, lists[k].key))
        {
            declared_add(j, first, part, s->branch || lists[k].branch, s->closed || declares);
            leaf = false;
        }
    if (leaf && s->branch && !s->closed && !declares)
        j->next_is_any = true; /* this branch lets any key be */
}

/* Replaces the schemas of the value that comes next by all that say something about it. */
static void declared_expand(struct call_declared *j, bool object)
{
    const int first = declared_base(j);
    int kept = first;

    for (int i = first; i < j->n; i++) {
        const struct call_said s = j->said[i];
        if (ct_json_is(s.schema, CT_JSON_TRUE))
            j->next_is_any = true;
        if (ct_json_is(s.schema, CT_JSON_OBJECT) && has_type(s.schema, object ? "object" : "array")) {
            const bool listed = ct_json_get(s.schema, "const") || ct_json_get(s.schema, "enum");
            if (listed && lists_structure(s.schema))
                j->next_is_any = true;
            else if (!listed)
                declared_parts(j, first, &s);
        }
    }
    for (int i = first; i < j->n; i++)
        if (ct_json_is(j->said[i].schema, CT_JSON_OBJECT))
            j->said[kept++] = j->said[i];
    j->n = kept;
}

/* ---- items and keys ---- */

/* The schemas under a key, one or a list of them, of which the item that comes has one. */
static bool declared_under(struct call_declared *j, const struct ct_json_value *schema, const char *key)
{
    const struct ct_json_value *v = ct_json_get(schema, key);
    const int first = declared_base(j);

    if (v && !ct_json_is(v, CT_JSON_ARRAY))
        declared_add(j, first, v, true, false);
    if (ct_json_is(v, CT_JSON_ARRAY))
        CT_JSON_EACH(one, v)
    declared_add(j, first, one, true, false);
    return v != NULL;
}

/* An item of the innermost list comes next. */
static void declared_item(struct call_declared *j)
{
    static const char *const keys[] = {"items", "prefixItems", "additionalItems"};
    const int first = j->level[j->depth - 1].first, end = declared_base(j);
    bool said = false;

    j->n = end;
    j->next_is_any = j->level[j->depth - 1].any;
    for (int i = first; i < end; i++) {
        const struct ct_json_value *schema = j->said[i].schema, *items = ct_json_get(schema, "items");
        const bool listed = ct_json_is(items, CT_JSON_ARRAY);
        /* whether nothing is said of those behind the first ones */
        if (ct_json_get(schema, "prefixItems") ? !items : listed && !ct_json_get(schema, "additionalItems"))
            j->next_is_any = true;
        for (size_t k = 0; k < CT_COUNT(keys); k++)
            said |= declared_under(j, schema, keys[k]);
    }
    j->next_is_any = j->next_is_any || !said;
}

void ct_declared_open(struct call_declared *j, bool object)
{
    bool declares = false, patterned = false;

    assert(j->depth < CT_JSON_DEPTH);
    if (j->depth && !j->level[j->depth - 1].object)
        declared_item(j);
    const int first = declared_base(j);
    const bool nothing = j->n == first + 1 && ct_json_is(j->said[first].schema, CT_JSON_FALSE);
    declared_expand(j, object);
    for (int i = first; i < j->n; i++) {
        declares |= ct_json_is(ct_json_get(j->said[i].schema, "properties"), CT_JSON_OBJECT);
        patterned |= ct_json_count(ct_json_get(j->said[i].schema, "patternProperties")) > 0;
    }
    j->level[j->depth].first = first;
    j->level[j->depth].end = j->n;
    j->level[j->depth].object = object;
    j->level[j->depth].any = j->next_is_any || (object && !declares && !nothing);
    j->level[j->depth++].patterned = patterned;
    j->next_is_any = true;
}

void ct_declared_close(struct call_declared *j)
{
    j->depth--;
    j->n = declared_base(j);
}

bool ct_declared_key(struct call_declared *j, struct ct_str key)
{
    const int first = j->level[j->depth - 1].first, end = declared_base(j);
    const bool any = j->level[j->depth - 1].any;
    bool good = any || j->level[j->depth - 1].patterned;

    j->n = end;
    j->next_is_any = any;
    for (int i = first; i < end; i++) {
        const struct ct_json_value *schema = j->said[i].schema,
                                   *named = ct_json_find(ct_json_get(schema, "properties"), key),
                                   *more = ct_json_get(schema, "additionalProperties"),
                                   *patterns = ct_json_get(schema, "patternProperties");
        if (named)
            declared_add(j, end, named, false, false);
        CT_JSON_EACH(pattern, patterns) /* which of them the key fits is not looked at */
        declared_add(j, end, ct_json_of_key(pattern), true, false);
        if (!named && more)
            declared_add(j, end, more, ct_json_count(patterns) > 0, false);
        good = good || named || ct_json_is(more, CT_JSON_TRUE) || ct_json_is(more, CT_JSON_OBJECT);
    }
    return good;
}
