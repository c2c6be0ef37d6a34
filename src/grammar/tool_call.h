/* SPDX-License-Identifier: Apache-2.0 */
/* tool_call.h: calls of declared tools as productions, in the syntax that the vocabulary has tokens for, or
 * as JSON. What is written so is what text/chat/call.h reads. */
#ifndef CT_TOOL_CALL_H
#define CT_TOOL_CALL_H

#include "grammar/grammar.h"
#include "text/tokenizer/tokenizer.h"

struct ct_call_options {
    const char *choice; /* "auto", "none", "required" or a name; NULL: auto */
    bool one;           /* not several calls */
};

/* Adds the rule of an answer that calls tools[], a JSON array in OpenAI's form. Where text alone is an
 * answer too (auto, none), *opens becomes the id with which a call begins, and before it anything is free;
 * else it is -1: as JSON, text is part of the rule. E_ARGUMENT, E_MEMORY. */
carat_status ct_calls_rule(struct ct_grammar *g, const struct ct_tokenizer *t, struct ct_str tools,
                           const struct ct_call_options *o, int32_t *rule, int32_t *opens, carat_error *err);

#endif
