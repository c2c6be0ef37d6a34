/* SPDX-License-Identifier: Apache-2.0 */
/* messages.h: lists of messages as the library renders them. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "fields.h"

/* As they are, but for parts that an assistant refused: they are text; or as turns, those that follow each
 * other in one role as one, an empty line between them, and what the system says later on as the user's;
 * or also what it says first. */
enum messages_how { MESSAGES_AS_THEY_ARE, MESSAGES_TURNS, MESSAGES_TURNS_ALONE };

/* A conversation of messages of OpenAI's form, which must outlive it. *sent gets an int for each that it has,
 * the index of the first that was sent of it; *changed one for each that was joined with what is before it,
 * or -1 - index of one that is told as the user's. NULL: *d->r says why not. */
carat_talk *messages_talk(struct document *d, const struct ct_json_value *messages, enum messages_how how,
                          struct buffer *sent, struct buffer *changed);
/* The conversation of a surface that spells messages otherwise. Members are added by talk.h and carat.h. */
struct said {
    carat_talk *talk;
    struct buffer
        sent; /* an int for each message: the index of what was sent, or one of request_values.others */
};
/* False: *d->r says why not. */
bool said_begin(struct said *c, struct document *d);
void said_message(struct said *c, const char *role, int sent);
void said_result(struct said *c, struct ct_str call, struct ct_str name, int sent);
/* That there was memory for all of it. False: *d->r says so. */
bool said_end(struct said *c, struct document *d);
void said_free(struct said *c);

#endif
