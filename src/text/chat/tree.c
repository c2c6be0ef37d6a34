/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c: guards the tree: the text is checked first, in a walk that knows its place, so that messages say which element
 * and key is meant. The tree itself is built in base/json_tree.c. */
#include "text/chat/tree.h"

#include "base/json.h"
#include "base/json_tree.h"

/* Where the reader is, for messages: an element of the outermost list and a key of it. */
struct place {
    size_t index;
    char key[32];
};

static void follow(struct place *p, const struct ct_json *j, enum ct_json_token token)
{
    if (j->depth == 1 && token != CT_JSON_KEY) {
        p->index++; /* an element has ended */
        p->key[0] = 0;
    } else if (j->depth == 2 && token == CT_JSON_KEY) {
        size_t n = CT_MIN(j->string.n, sizeof p->key - 1);
        memcpy(p->key, j->string.s, n);
        p->key[n] = 0;
        for (size_t i = 0; i < n; i++) /* only what may stand in a message */
            if (p->key[i] < 0x21 || p->key[i] > 0x7e)
                p->key[i] = '?';
    }
}

/* Passes the reader's message on, with the place between the name and the rest. */
static carat_status complain(const struct ct_json *j, const struct place *p, carat_status code,
                             carat_error *err)
{
    const char *rest = j->error.message + CT_MIN(strlen(j->name), strlen(j->error.message));
    carat_status given = j->error.code == CARAT_E_MEMORY ? CARAT_E_MEMORY : code;
    if (j->depth < 2 || j->stack[0] != '[')
        return ct_fail(err, given, "%s", j->error.message);
    return ct_fail(err, given, "%s[%zu]%s%s%s", j->name, p->index, *p->key ? "." : "", p->key, rest);
}

/* A JSON object or array, sound and not too deep, without NUL characters. */
static carat_status check(carat_status code, const char *name, const char *text, size_t n, carat_error *err)
{
    struct ct_json j;
    struct place p = {0, ""};
    enum ct_json_token token;
    _Static_assert(CT_TREE_DEPTH == CT_JSON_DEPTH, "the pull reader's limit guards the tree");
    ct_json_init(&j, name, (struct ct_bytes){(const uint8_t *)text, n});
    token = ct_json_next(&j);
    if (token != CT_JSON_OBJECT && token != CT_JSON_ARRAY)
        ct_json_fail(&j, "expected an object or a list");
    while (j.error.code == CARAT_OK && (token = ct_json_next(&j)) != CT_JSON_END) {
        follow(&p, &j, token);
        if ((token == CT_JSON_STRING || token == CT_JSON_KEY) && j.string.n &&
            memchr(j.string.s, 0, j.string.n))
            ct_json_fail(&j, "a string holds a NUL character");
    }
    carat_status status = j.error.code == CARAT_OK ? CARAT_OK : complain(&j, &p, code, err);
    ct_json_free(&j);
    return status;
}

carat_status ct_tree_parse(json_t **root, carat_status code, const char *name, const char *text, size_t n,
                           carat_error *err)
{
    CT_TRY(check(code, name, text, n, err));
    return ct_json_tree(root, code, name, (struct ct_bytes){(const uint8_t *)text, n}, err);
}
