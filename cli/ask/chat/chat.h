/* SPDX-License-Identifier: Apache-2.0 */
/* chat.h: a conversation at the terminal or through a pipe, and who does what for it: chat.c reads and
 * decides, chat_command.c does what /words ask for, turn.c has the model answer. */
#ifndef CHAT_H
#define CHAT_H

#include "ask/chat/line.h"
#include "ask/converse.h"
#include "prompt/talk.h"
#include "term/message.h"

struct chat {
    struct options o; /* /set changes them */
    struct converse *with;
    const char *tools; /* a text; NULL: none */
    struct talk talk;
    struct lines lines;
    char *before;  /* what /read puts before the next message; NULL: nothing */
    bool by_hand;  /* a person types: a mistake does not end it */
    int rounds;    /* of calls that --tool-command answered since the last message */
    bool turn_due; /* the model is to answer */
    bool leaves;
    bool begun; /* a prompt was evaluated */
    bool noted; /* what the template cannot say of the tools */
};

/* chat.c: the whole of it, with what converse_open has opened. An exit code. */
int chat_begin(struct converse *with);
/* For people, not for programs: on the terminal, else among the messages. */
void chat_tell(const struct chat *c, const char *format, ...) PRINTF(2, 3);

/* chat_command.c */
/* Is the line a command? A path such as /etc/hosts is not. */
bool command_is(const char *line);
/* Does it. An exit code. */
int command_do(struct chat *c, const char *line);
const char *command_word(int i); /* for Tab */

/* turn.c */
/* The model answers the conversation, and the answer becomes part of it. When it cannot, the conversation is
 * as before. Returns an exit code; Ctrl-C ends an answer and is not an error. */
int turn_answer(struct chat *c);
/* The ids of the whole conversation, with or without the beginning of an answer. An exit code. */
int turn_render(struct chat *c, bool answers, carat_tokens *ids);

#endif
