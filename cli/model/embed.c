/* SPDX-License-Identifier: Apache-2.0 */
/* embed.c: names the spans that embed.S assembles out of models/tiny. The two lists must agree; the linker
 * says so when they do not. */
#include "model/embed.h"

#define FILES(X)                                                                                             \
    X(config, "config.json")                                                                                 \
    X(chat_template, "chat_template.jinja")                                                                  \
    X(generation_config, "generation_config.json")                                                           \
    X(model, "model.safetensors")                                                                            \
    X(tokenizer_json, "tokenizer.json")                                                                      \
    X(tokenizer_model, "tokenizer.model")                                                                    \
    X(tokenizer_config, "tokenizer_config.json")

#define DECLARE(id, name) extern const unsigned char tiny_##id[], tiny_##id##_end[];
#define ENTRY(id, name)   {name, tiny_##id, tiny_##id##_end},

FILES(DECLARE)

const struct embedded embedded_tiny[] = {FILES(ENTRY)};
const int embedded_tiny_count = sizeof embedded_tiny / sizeof embedded_tiny[0];
