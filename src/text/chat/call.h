/* SPDX-License-Identifier: Apache-2.0 */
/* call.h: reads back the calls that a model writes, in FunctionGemma's or Gemma 4's syntax or as JSON; the
 * inverse of chat_calls.c.
 *
 * As JSON, text is part of the grammar of auto: all that does not begin as calls do, which one expression
 * says (CT_CALL_OPENING). Readers judge keys by what a declaration could mean at most (call_declared.c), so
 * that all that a form lets through is read back as right. */
#ifndef CT_CALL_H
#define CT_CALL_H

#include "base/json_tree.h"
#include "carat_tools.h"
#include "text/tokenizer/tokenizer.h"

/* How calls are written in a vocabulary: the ids around a call, and on both sides of a string. */
struct ct_call_marks {
    int32_t begin, end, quote;
};
/* False: the vocabulary has no tokens for calls, which are JSON then. */
bool ct_call_marks(const struct ct_tokenizer *t, struct ct_call_marks *marks);
/* Which ids of an answer are a call: from its first token to its last, or up to an id that no call goes
 * across; begin -1: there are no such tokens. */
struct ct_call_span {
    int32_t begin, end, response, turn, turn_end;
};
struct ct_call_span ct_call_span(const struct ct_tokenizer *t);
static inline bool ct_call_stops_before(const struct ct_call_span *s, int32_t id)
{
    return id == s->begin || id == s->response || id == s->turn || id == s->turn_end;
}
/* What no name and no key of a call can hold, besides control tokens and NUL. */
#define CT_CALL_SYNTAX "{}[]:,"
/* The function of a tool. */
const struct ct_json_value *ct_call_function(const struct ct_json_value *tool);

/* The first of what an answer with calls as JSON has, as an expression for ct_regex_language: where a text
 * begins so, its beginning is calls, and nowhere else. Blanks; perhaps a fence, perhaps a list. */
#define CT_CALL_BLANK "[ \\t\\r\\n]*"
#define CT_CALL_OPENING                                                                                      \
    "^" CT_CALL_BLANK "(```(json|tool_code|tool_call)?" CT_CALL_BLANK ")?(\\[" CT_CALL_BLANK                 \
    ")?\\{" CT_CALL_BLANK "\"name\"" CT_CALL_BLANK ":"
/* Whether a text begins so: 1, it does; 0, it does not; -1, it is too short to tell. */
int ct_calls_begin(struct ct_str text);

/* As carat_parse_calls, whose declaration says what comes out. *out is written only on success. */
carat_status ct_calls_parse(const struct ct_tokenizer *t, const int32_t *ids, int n, const char *tools,
                            carat_calls *out, carat_error *err);

#endif
