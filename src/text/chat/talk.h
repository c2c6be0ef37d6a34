/* SPDX-License-Identifier: Apache-2.0 */
/* talk.h: a conversation that is built member by member (carat_talk in carat.h), for who has members as
 * values of JSON that was read: their characters stay where they are, as long as the talk. */
#ifndef CT_TALK_H
#define CT_TALK_H

#include "base/json_tree.h"
#include "carat.h"

/* Begins a message in OpenAI's form, an object whose members the caller writes before he closes it. */
struct ct_json_tree *ct_talk_open(carat_talk *talk);
/* The part of a content that is a text, in a list of them which the caller writes. */
void ct_talk_put_text(struct ct_json_tree *parts, struct ct_str text);
/* A whole message in OpenAI's form. E_MEMORY. */
carat_status ct_talk_message(carat_talk *talk, const struct ct_json_value *message, carat_error *err);
/* A text as a part of a content, and a call of the message under way. arguments: an object, or a string with
 * the text of one; NULL: none are given. id: empty where it has none. E_MEMORY. */
carat_status ct_talk_text(carat_talk *talk, struct ct_str text, carat_error *err);
carat_status ct_talk_call(carat_talk *talk, struct ct_str id, struct ct_str name,
                          const struct ct_json_value *arguments, carat_error *err);
/* Begins a result: of the call of this id, or of the function of this name; empty: it has none. E_MEMORY. */
carat_status ct_talk_result(carat_talk *talk, struct ct_str call, struct ct_str name, carat_error *err);
/* All messages, a list in OpenAI's form, until the next one is added. NULL: memory ran out. */
const struct ct_json_value *ct_talk_list(carat_talk *talk);

#endif
