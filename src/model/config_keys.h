/* SPDX-License-Identifier: Apache-2.0 */
/* config_keys.h: the keys that config.json may have in each class of transformers, with what the class says
 * where a file does not. Which of them carat obeys is nothing that is listed: the reader (config_hf.h) notes
 * what it has looked at. */
#ifndef CT_CONFIG_KEYS_H
#define CT_CONFIG_KEYS_H

#include "base/json_tree.h"
#include "model/family.h"

/* Of objects that say what layers are, then of those around them. */
enum ct_hf_class {
    CT_HF_GEMMA,
    CT_HF_GEMMA2,
    CT_HF_GEMMA3,
    CT_HF_GEMMA3N,
    CT_HF_GEMMA4,
    CT_HF_UNIFIED,
    CT_HF_EMBED2,
    CT_HF_AROUND_GEMMA3,
    CT_HF_AROUND_GEMMA3N,
    CT_HF_AROUND_GEMMA4,
    CT_HF_AROUND_UNIFIED,
    CT_HF_AROUND_EMBED2,
    CT_HF_ASSISTANT,
    CT_HF_UNIFIED_ASSISTANT,
    CT_HF_CLASSES,
    CT_HF_NO_CLASS = CT_HF_CLASSES, /* of objects within those */
};
enum { CT_HF_TEXT_CLASSES = CT_HF_AROUND_GEMMA3 };

/* The class of the layers of an architecture, and of what model_type names around them. */
enum ct_hf_class ct_hf_class_of(const struct ct_architecture *a);
enum ct_hf_class ct_hf_class_around(struct ct_str model_type);
/* As transformers calls it: "Gemma3TextConfig". */
const char *ct_hf_class_name(enum ct_hf_class class);

/* What the class says where a file does not, as JSON; NULL: the class declares no such key. */
const char *ct_hf_standard(enum ct_hf_class class, struct ct_str key);
/* True when null may stand there. False where the class declares no such key. */
bool ct_hf_takes_null(enum ct_hf_class class, struct ct_str key);
/* True when a value is what the JSON of ct_hf_standard says; numbers are equal as such. */
bool ct_hf_is_standard(const struct ct_json_value *v, const char *standard);
/* True when two values are equal, whatever their spelling. */
bool ct_hf_same(const struct ct_json_value *a, const struct ct_json_value *b);
/* True when the key says nothing about logits: it is for training, for programs or for what carat does not
 * run, or older releases wrote it. */
bool ct_hf_no_effect(struct ct_str key);

#endif
