/* SPDX-License-Identifier: Apache-2.0 */
/* config_unread.c: keys of config.json that nobody has looked at: those that do not count in the class of the
 * model, and those that no release of transformers has that carat knows. What says nothing about logits is
 * not told, nor what says only what the model does anyway. */
#include "model/config_hf.h"
#include "model/config_keys.h"

#include <stdlib.h>

struct walk {
    const struct ct_json_value *root;
    const uint8_t *seen;
    enum ct_hf_class around, layers;
    ct_unread_visit visit;
    void *user;
    int stopped;
};

/* That a class takes beside what it declares, or once took. */
static bool knows_key(struct ct_str key)
{
    static const char *const beside[] = {
        "global_head_dim",  "num_global_key_value_heads", "partial_rotary_factor",
        "per_layer_config", "rope_local_base_freq",       "rope_scaling",
        "rope_theta",       "sliding_window_pattern",     "quantization_config",
        "model_type"};

    for (size_t i = 0; i < CT_COUNT(beside); i++)
        if (ct_str_is(key, beside[i]))
            return true;
    for (int i = 0; i < CT_HF_CLASSES; i++)
        if (ct_hf_standard((enum ct_hf_class)i, key))
            return true;
    return false;
}

/* True when the key, if nobody reads it, is nothing to tell of. */
static bool is_silent(enum ct_hf_class class, struct ct_str key, const struct ct_json_value *v)
{
    const char *standard = ct_hf_standard(class, key);

    if (ct_json_is(v, CT_JSON_NULL) || (class != CT_HF_NO_CLASS && ct_hf_no_effect(key)))
        return true;
    if (standard)
        return ct_hf_is_standard(v, standard);
    return class != CT_HF_NO_CLASS && knows_key(key) &&
           (ct_json_is(v, CT_JSON_FALSE) || ct_json_is_text(v, "gelu_pytorch_tanh"));
}

/* True when the reader goes on inside, if it has looked at the key. */
static bool goes_inside(struct ct_str key)
{
    static const char *const objects[] = {"text_config", "rope_parameters", "rope_scaling", "full_attention",
                                          "sliding_attention"};

    for (size_t i = 0; i < CT_COUNT(objects); i++)
        if (ct_str_is(key, objects[i]))
            return true;
    return false;
}

/* Objects of angles lie two deep in that of the layers, and that in one around it. */
static void walk_object(struct walk *w, const struct ct_json_value *o, const char *within,
                        enum ct_hf_class class)
{
    char whole[160];

    CT_JSON_EACH(key, o)
    {
        const struct ct_str name = ct_json_str(key);
        const struct ct_json_value *v = ct_json_of_key(key);
        size_t n = (size_t)snprintf(whole, sizeof whole, "%s", within);
        for (size_t i = 0; i < name.n && n + 2 < sizeof whole; i++)
            whole[n++] = ct_json_shown(name.s[i]);
        whole[n] = 0;
        if (!w->seen[v - w->root] && !is_silent(class, name, v) && !w->stopped)
            w->stopped =
                w->visit(w->user, whole, ct_hf_class_name(class == CT_HF_NO_CLASS ? w->layers : class),
                         class == CT_HF_NO_CLASS || knows_key(name));
        if (!w->seen[v - w->root] || !ct_json_is(v, CT_JSON_OBJECT) || !goes_inside(name) || n + 2 > 96)
            continue;
        whole[n++] = '.';
        whole[n] = 0;
        walk_object(w, v, whole, class == w->around && class != w->layers ? w->layers : CT_HF_NO_CLASS);
    }
}

carat_status ct_config_unread(const struct ct_file *f, ct_unread_visit visit, void *user, carat_error *err)
{
    struct ct_config *c = NULL;
    struct walk w = {.visit = visit, .user = user};
    uint8_t *seen = NULL;

    if (ct_file_kind(f) != CT_FILE_HF || !ct_file_side(f, "config.json").data)
        return CARAT_OK;
    CT_TRY(ct_file_json(f, "config.json", ct_file_path(f), &w.root, err));
    c = calloc(1, sizeof *c);
    seen = calloc(w.root->span + 1, 1);
    const carat_status status = !c || !seen ? ct_no_memory(err, ct_file_path(f))
                                            : ct_config_see_hf(c, f, seen, &w.around, &w.layers, err);
    w.seen = seen;
    if (!status)
        walk_object(&w, w.root, "", w.around);
    free(seen);
    free(c);
    return status;
}
