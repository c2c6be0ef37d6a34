/* SPDX-License-Identifier: Apache-2.0 */
/* prompt.h: the ids that `carat run` and `carat logits` start from. */
#ifndef PROMPT_H
#define PROMPT_H

#include "prompt/conversation.h"

struct prompt_options {
    const char *prompt, *file, *system, *system_file, *ids, *tools, *messages, *chat_template, *tool_command;
    int tool_rounds;
    bool raw, lossy, special, no_generation_prompt;
    bool talks, single_turn; /* -cnv of run, -st */
};

/* Refuses options that contradict each other, and reads what they name: the conversation, and the ids of
 * --ids. Needs no model, so that mistakes show before a long load. An exit code. */
int read_prompt_files(struct conversation *talk, const struct options *o, carat_tokens *ids);
/* Ids as given, a rendered conversation, or raw text: whichever the options and the model ask for. An exit
 * code. */
int make_prompt(const carat_model *model, const carat_model_info *info, struct conversation *talk,
                carat_tokens *ids);
/* Does a text become the user's turn in a template? */
bool becomes_turn(const struct options *o, const carat_model_info *info);
/* Checks options for texts that do not become turns: refuses what only a template has, and notes that texts
 * are run raw. An exit code. */
int check_template(const struct options *o, const carat_model_info *info);
/* A text as that turn, or raw. An exit code. */
int encode_prompt(const carat_model *model, const struct conversation *talk, bool turn, const char *text,
                  size_t n, carat_tokens *ids);
/* Refuses ids that the model does not have, where the library is not asked at once. An exit code. */
int check_prompt_ids(const carat_tokens *ids, const carat_model_info *info);

#endif
