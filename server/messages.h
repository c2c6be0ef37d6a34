/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h: conversations as clients send them, and as templates take them. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "fields.h"

/* Writes a list of messages of OpenAI's form, terminated: with `joins` those of a user or of an assistant
 * that follow each other are one, an empty line between them. *sent gets an int for each that is written,
 * the index of the first that was sent of it. False: *d->r says why not. */
bool messages_join(struct document *d, const struct ct_json_value *messages, bool joins, struct buffer *out,
                   struct buffer *sent);
/* Ends a message of an assistant, whose role and content stand there, with its thought and its calls, where
 * it has some. */
void messages_end_answer(struct buffer *out, const struct buffer *thought, const struct buffer *calls);

#endif
