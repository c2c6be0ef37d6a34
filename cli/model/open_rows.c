/* SPDX-License-Identifier: Apache-2.0 */
/* open_rows.c: the options about opening a model. */
#include "model/model.h"

#define AT(field) offsetof(struct open_options, field)

/* clang-format off */
static const struct option rows[] = {
    {ABOUT_MODEL + 20, {"--tokenizer"}, PATH, AT(tokenizer), "/ opens", "FILE", NULL,
     "a tokenizer file, instead of the model's own", 0, 0},
    {ABOUT_MODEL + 30, {"--no-cache"}, FLAG, AT(no_cache), "/ opens", NULL, NULL,
     "neither read nor write the cache of packed models", 0, 0},
    {ABOUT_MODEL + 25, {"--model-draft", "-md", "--spec-draft-model"}, MODEL, AT(drafter), DRAWS " bench", "MODEL", NULL,
     "a drafter that guesses next tokens: faster, and the same tokens; Gemma 4's assistants, or a smaller "
     "model with the same vocabulary; self: the one in MODEL's own GGUF file", 0, 0},
    {ABOUT_MODEL + 40, {"--cache-size"}, SIZE, AT(cache_size), "pack cache doctor / " EVALUATES " embed compare replay", "SIZE", "4G",
     "the most that all packed models together may take (default {default})", 1, 1e18},
};
/* clang-format on */

const struct option_group open_group = OPTION_GROUP(rows, struct open_options, NULL);
