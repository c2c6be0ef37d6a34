/* SPDX-License-Identifier: Apache-2.0 */
/* help.h: prints what the tables say, for people and as man pages. */
#ifndef OPTIONS_HELP_H
#define OPTIONS_HELP_H

#include <stdbool.h>

#include "options/options.h"

/* verb N_VERB: the command as a whole; all: also the options that are seldom used */
void print_help(enum verb verb, bool all);
void print_man(enum verb verb);

int verb_version(const struct options *o);
int verb_help(const struct options *o);

#endif
