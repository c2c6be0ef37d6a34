/* SPDX-License-Identifier: Apache-2.0 */
/* called.h: the calls of an answer: which of its ids and which of its text they are, and what they say. What
 * surfaces make of them is theirs. */
#ifndef CALLED_H
#define CALLED_H

#include "request.h"

/* A call that is told. */
struct called {
    char *name;
    char *arguments; /* a JSON object; of one that was cut off, how it begins */
    char *object;    /* for those who tell objects alone: of a cut one the members that are whole */
    bool is_cut;     /* the answer broke off in it */
};

/* The control token before a call; -1: the vocabulary has none. */
int32_t call_start_id(const carat_model *model);
/* The ids of the tokens that FunctionGemma's vocabulary spells in its texts; -1: it has none of these. */
void marks_find(const carat_model *model, int32_t marks[MOST_MARKS]);
/* Bytes of the text of an id, in a conversation without the spelling of such a token. */
size_t marks_hide(const struct choice *choice, const carat_given *given);

/* Notes that an id is of a call or not, before its text, of which n bytes are told, is added. */
void called_follow(const struct request *request, struct choice *choice, const carat_given *given, size_t n);
/* The number of the call that is under way; -1: none is. */
int called_under_way(const struct choice *choice);
/* Whether that one is told as a call, and has no text. */
bool called_told(const struct choice *choice, int call);
/* The answer has ended: takes its calls out of its text. A call that is none stays there. */
void called_read(const carat_model *model, const struct request *request, struct choice *choice);
void called_free(struct choice *choice);

#endif
