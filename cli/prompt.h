/* prompt.h: the ids that `carat run` starts from. */
#ifndef PROMPT_H
#define PROMPT_H

#include "cli.h"

/* Options that contradict each other; an exit code. Needs no model, so mistakes show before a long load. */
int check_prompt_options(const struct options *o);
/* Ids as given, a rendered conversation, or raw text: whichever the options and the model ask for. An exit code. */
int make_prompt(const carat_model *model, const carat_model_info *info, const struct options *o,
                carat_tokens *ids);

#endif
