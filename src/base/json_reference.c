/* SPDX-License-Identifier: Apache-2.0 */
/* json_reference.c: see json_reference.h. */
#include "base/json_reference.h"

const struct ct_json_value *ct_json_part(const struct ct_json_value *in, const struct ct_json_value *v,
                                         const struct ct_json_value **key, size_t *number)
{
    *number = 0;
    CT_JSON_EACH(k, in)
    {
        const struct ct_json_value *part = ct_json_is(in, CT_JSON_OBJECT) ? ct_json_of_key(k) : k;
        if (v < part + part->span) {
            *key = part == k ? NULL : k;
            return part;
        }
        ++*number;
    }
    return NULL;
}

/* A character of a pointer: %XX is one, ~1 a slash, ~0 a tilde. Returns its bytes there. */
static size_t pointer_char(struct ct_str p, char *c, bool *bad)
{
    const bool percent = *p.s == '%' && p.n >= 3;
    const int high = percent ? ct_hex_digit(p.s[1]) : -1, low = percent ? ct_hex_digit(p.s[2]) : -1;

    *c = *p.s;
    if (*p.s == '%' && (high < 0 || low < 0))
        *bad = true;
    if (high >= 0 && low >= 0)
        *c = (char)(high * 16 + low);
    if (*p.s != '~')
        return percent ? 3 : 1;
    *bad = *bad || p.n < 2 || (p.s[1] != '0' && p.s[1] != '1');
    *c = p.n >= 2 && p.s[1] == '1' ? '/' : '~';
    return 2;
}

/* The part of a list or an object that a step of a pointer names. */
static const struct ct_json_value *pointer_step(const struct ct_json_value *at, struct ct_str name)
{
    const struct ct_json_value *part = ct_json_find(at, name);
    size_t number = 0;

    if (!ct_json_is(at, CT_JSON_ARRAY))
        return part;
    for (size_t i = 0; i < name.n; i++) {
        if (name.s[i] < '0' || name.s[i] > '9' || name.n > 6)
            return NULL;
        number = 10 * number + (size_t)(name.s[i] - '0');
    }
    for (part = name.n ? ct_json_first(at) : NULL; part && number > 0; number--)
        part = ct_json_after(part);
    return part;
}

/* A JSON pointer from a schema on: what stands behind the '#'. */
static const struct ct_json_value *follow_pointer(const struct ct_json_value *at, struct ct_str p)
{
    char name[512];
    bool bad = false;

    while (at && p.n && !bad) {
        size_t n = 0;
        if (*p.s != '/')
            return NULL;
        p = (struct ct_str){p.s + 1, p.n - 1};
        while (p.n && *p.s != '/' && n < sizeof name && !bad) {
            const size_t taken = pointer_char(p, &name[n++], &bad);
            if (!bad)
                p = (struct ct_str){p.s + taken, p.n - taken};
        }
        if (n == sizeof name)
            return NULL;
        at = bad ? NULL : pointer_step(at, (struct ct_str){name, n});
    }
    return at;
}

/* The schema that gives itself a name, with $anchor, or with $id in drafts 6 and 7. */
static const struct ct_json_value *find_anchor(const struct ct_json_value *root, struct ct_str name)
{
    const struct ct_json_value *object = NULL;

    for (uint32_t i = 0; i < root->span; i++) {
        const struct ct_json_value *v = root + i;
        if (!ct_json_is(v, CT_JSON_OBJECT))
            continue;
        const struct ct_str anchor = ct_json_str(ct_json_get(v, "$anchor")),
                            id = ct_json_str(ct_json_get(v, "$id"));
        if ((anchor.n && ct_str_same(anchor, name)) ||
            (id.n == name.n + 1 && *id.s == '#' && memcmp(id.s + 1, name.s, name.n) == 0)) {
            object = v;
            break;
        }
    }
    return object;
}

/* The schema around this one to which its references belong: the nearest with an $id of its own. */
static const struct ct_json_value *resource_of(const struct ct_json_value *root,
                                               const struct ct_json_value *v)
{
    const struct ct_json_value *key = NULL, *at = root, *resource = root;
    size_t number;

    while (at && at != v) {
        at = ct_json_part(at, v, &key, &number);
        const struct ct_str id = ct_json_str(ct_json_get(at, "$id"));
        if (id.n && *id.s != '#')
            resource = at;
    }
    return resource;
}

const struct ct_json_value *ct_json_reference(const struct ct_json_value *root,
                                              const struct ct_json_value *schema, bool *outside)
{
    struct ct_str ref = ct_json_str(ct_json_get(schema, "$ref")), id = ct_json_str(ct_json_get(root, "$id"));
    const struct ct_json_value *from = resource_of(root, schema);

    if (id.n && *id.s != '#' && ref.n > id.n && memcmp(ref.s, id.s, id.n) == 0 &&
        (ref.s[id.n] == '#' || id.s[id.n - 1] == '#')) {
        ref = (struct ct_str){ref.s + id.n, ref.n - id.n};
        from = root;
        if (*ref.s == '/') /* the $id ends in '#' itself */
            ref = (struct ct_str){ref.s - 1, ref.n + 1};
    }
    *outside = ref.n == 0 || *ref.s != '#';
    if (*outside)
        return NULL;
    ref = (struct ct_str){ref.s + 1, ref.n - 1};
    return ref.n && *ref.s != '/' ? find_anchor(root, ref) : follow_pointer(from, ref);
}
