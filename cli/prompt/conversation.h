/* SPDX-License-Identifier: Apache-2.0 */
/* conversation.h: a conversation as options name it, for the verbs that render one. */
#ifndef CONVERSATION_H
#define CONVERSATION_H

#include "options/options.h"
#include "prompt/talk.h"

struct conversation {
    const struct options *o;
    char *messages, *tools, *system; /* texts of --messages, --tools and --system-prompt; NULL: not given */
    char *user;                      /* the prompt, if it is a message; NULL: there is none */
};

/* Reads what the options name; needs no model, so that mistakes show before a long load. Start from {0}. An
 * exit code. */
int conversation_read(struct conversation *c, const struct options *o);
/* Renders the messages with the model's template, or without messages the system message and the user's text;
 * ids and text as for carat_render. An exit code. */
int conversation_render(const struct conversation *c, const carat_model *model, const char *user,
                        carat_tokens *ids, char **text);
/* Says what the library says of a rendering. What it finds in messages or tools begins with that word, and
 * the file goes before it. An exit code. */
int conversation_fail(const struct options *o, const carat_error *err);
/* Refuses thoughts that are asked for where the template has none, before a conversation begins. An exit
 * code. */
int conversation_check(const struct options *o, const carat_model *model);
/* All of it as messages that grow. An exit code. */
int conversation_talk(const struct conversation *c, struct talk *t);
void conversation_free(struct conversation *c);

#endif
