/* SPDX-License-Identifier: Apache-2.0 */
/* command.h: from the words of a command line to the call of a verb. */
#ifndef OPTIONS_COMMAND_H
#define OPTIONS_COMMAND_H

#include "options/options.h"

struct verb_call {
    const char *name;
    int (*call)(const struct options *o); /* returns an exit code */
};
struct command {
    const struct verb_call *calls; /* ended by one without a name */
    /* What the options mean together, before a verb sees them; an exit code. */
    int (*settle)(struct options *o);
};
/* argv holds what follows the command's name. An exit code. */
int command_run(const struct command *c, int argc, char **argv);

#endif
