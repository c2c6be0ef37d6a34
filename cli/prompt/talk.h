/* SPDX-License-Identifier: Apache-2.0 */
/* talk.h: a conversation that grows: messages in OpenAI's form, the last of which can be taken back. */
#ifndef TALK_H
#define TALK_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "carat.h"

struct talk {
    json_t *list; /* an array; never NULL after talk_open */
};

int talk_open(struct talk *t); /* an exit code */
void talk_close(struct talk *t);
/* NULL or "": without one. */
int talk_set_system(struct talk *t, const char *text);
const char *talk_system(const struct talk *t); /* NULL: there is none */
int talk_add_user(struct talk *t, const char *text);
/* Adds the model's answer: its text, at most so many bytes of it, and with `calls` the calls of functions in
 * it, by which its template writes the same tokens again, as it does its thoughts as long as the turn goes
 * on. in_thought: it began within one. An exit code. */
int talk_add_answer(struct talk *t, const carat_model *model, const carat_tokens *ids, bool in_thought,
                    size_t most, bool calls, const char *tools);
/* The name of the first function that was called last and has no result yet; NULL: there is none. */
const char *talk_awaits(const struct talk *t);
/* That call, {"name": ..., "arguments": ...}, for free; NULL when memory is out. */
char *talk_awaited_call(const struct talk *t);
int talk_add_result(struct talk *t, const char *text);
/* True: the last message is a result. */
bool talk_ends_with_result(const struct talk *t);
/* Messages beside the system message. */
size_t talk_count(const struct talk *t);
/* The text of the user's last message; NULL: there is none. */
const char *talk_last_user(const struct talk *t);
/* Takes away what follows the user's last message, and with_it that message, too. False: there is none. */
bool talk_back(struct talk *t, bool with_it);
/* Takes away what waits for an answer: the user's message, or the results of functions, at the end. */
void talk_drop_unanswered(struct talk *t);
/* The messages as JSON, for free; NULL when memory is out. */
char *talk_json(const struct talk *t);
/* Takes the place of all messages. False, and nothing has changed, when the text is no such list. */
bool talk_read(struct talk *t, const char *text, size_t n);

#endif
