/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_words.h: the words of a recipe, "ffn_down[0-2,25]=q5_k,blk.7.*=bf16": which tensors an entry means,
 * and what they become. */
#ifndef CT_RECIPE_WORDS_H
#define CT_RECIPE_WORDS_H

#include "base/arena.h"
#include "convert/scheme.h"
#include "quant/quant.h"

/* An entry: "attn[0-2,5]=q8_0". */
struct ct_word {
    struct ct_str who, layers; /* layers.s NULL: of all */
    enum ct_type type;         /* CT_TYPE_COUNT: keep */
    struct ct_scheme scheme;
    bool used; /* it meant a tensor */
};
struct ct_words {
    const char *text; /* borrowed */
    struct ct_word *word;
    int n;
};

/* text may be NULL. Layers are numbers below n_layer. E_ARGUMENT: the message says at which character;
 * E_MEMORY. */
carat_status ct_words_read(struct ct_words *w, const char *text, int n_layer, struct ct_arena *arena,
                           carat_error *err);
/* The last entry that means the tensor of a name; NULL: none does. layer: -1: it is none's. by_name: an entry
 * for all, or for all of a pattern, does not count. */
const struct ct_word *ct_words_last(struct ct_words *w, const char *name, int layer, bool by_name);
/* E_ARGUMENT: an entry meant nothing. */
carat_status ct_words_used(const struct ct_words *w, carat_error *err);

#endif
