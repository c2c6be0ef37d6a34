/* SPDX-License-Identifier: Apache-2.0 */
/* chat_source.c: the text of a checkpoint's chat template, for those who write it into another container.
 * Which built-in template stands for it is chat_detect.c's question. */
#include <stdlib.h>

#include "base/json_tree.h"
#include "text/chat/chat.h"

static carat_status copy_text(char **text, struct ct_str s, carat_error *err)
{
    *text = malloc(s.n + 1);
    if (!*text)
        return ct_no_memory(err, "the chat template");
    memcpy(*text, s.s, s.n);
    (*text)[s.n] = 0;
    return CARAT_OK;
}

/* Of a list of named ones "default" counts, or the only one. */
static const struct ct_json_value *chosen(const struct ct_json_value *v)
{
    const struct ct_json_value *first = ct_json_first(v);

    if (!ct_json_is(v, CT_JSON_ARRAY))
        return v;
    CT_JSON_EACH(entry, v)
    if (ct_json_is_text(ct_json_get(entry, "name"), "default"))
        return ct_json_get(entry, "template");
    return ct_json_count(v) == 1 ? ct_json_get(first, "template") : NULL;
}

static carat_status source_in_json(char **text, const struct ct_file *f, const char *side, carat_error *err)
{
    const struct ct_bytes bytes = ct_file_side(f, side);
    struct ct_json_tree tree = {0};

    if (!bytes.data)
        return CARAT_OK;
    carat_status status = ct_json_tree_read(&tree, CARAT_E_FORMAT, side, bytes, err);
    if (!status) {
        const struct ct_json_value *v = chosen(ct_json_get(&tree.value[0], "chat_template"));
        if (ct_json_is(v, CT_JSON_STRING))
            status = copy_text(text, ct_json_str(v), err);
    }
    ct_json_tree_free(&tree);
    return status;
}

carat_status ct_chat_source(char **text, const struct ct_file *f, carat_error *err)
{
    static const char *const sides[] = {"chat_template.json", "tokenizer_config.json"};
    const struct ct_bytes jinja = ct_file_side(f, "chat_template.jinja");
    const struct ct_meta *key = ct_file_meta(f, "tokenizer.chat_template");

    *text = NULL;
    if (key)
        return key->type == CT_META_STRING ? copy_text(text, key->s, err) : CARAT_OK;
    if (jinja.data)
        return copy_text(text, (struct ct_str){(const char *)jinja.data, jinja.size}, err);
    for (size_t i = 0; i < CT_COUNT(sides) && !*text; i++)
        CT_TRY(source_in_json(text, f, sides[i], err));
    return CARAT_OK;
}
