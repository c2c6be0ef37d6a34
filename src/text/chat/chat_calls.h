/* SPDX-License-Identifier: Apache-2.0 */
/* chat_calls.h: calls of functions and their results, as FunctionGemma's and Gemma 4's templates write them.
 * Which tokens stand around them is the writer's syntax; where they stand in a turn is the template's. */
#ifndef CT_CHAT_CALLS_H
#define CT_CHAT_CALLS_H

#include "text/chat/chat_parts.h"

/* The calls of one message, for the results that follow. Starts from {0}. */
struct ct_chat_calls {
    const struct ct_json_value *calls; /* tool_calls */
    const struct ct_json_value *next;  /* the first of them without a result */
    struct ct_known_call *known;       /* owned: those with an id, sorted; results may be as many as calls */
    size_t n_known;
};
void ct_chat_calls_free(struct ct_chat_calls *c);

/* tool_calls of message i are a list, null or absent. */
carat_status ct_chat_calls_check(const struct ct_json_value *calls, size_t i, carat_error *err);
/* Writes the calls of message i; *c is about them from here on. */
carat_status ct_chat_write_calls(struct ct_chat_writer *w, struct ct_chat_calls *c,
                                 const struct ct_json_value *calls, size_t i, carat_error *err);
/* Writes message i, of role tool: the result of the next call, or several. */
carat_status ct_chat_write_result(struct ct_chat_writer *w, struct ct_chat_calls *c,
                                  const struct ct_json_value *message, size_t i, carat_error *err);
/* {"name": ..., "response": ...}: a result that names its function itself. */
bool ct_chat_names_itself(const struct ct_json_value *result);
/* Writes one result. value NULL: the text is it. */
void ct_chat_write_response(struct ct_chat_writer *w, struct ct_str name, const struct ct_json_value *value,
                            struct ct_str text);

#endif
