/* SPDX-License-Identifier: Apache-2.0 */
/* help.h: prints what the tables say, for people and as man pages; `carat help` and `carat version`. */
#ifndef OPTIONS_HELP_H
#define OPTIONS_HELP_H

#include "options/options.h"

/* verb NULL: the command as a whole; all: also the options that are seldom used */
void print_help(const struct verb *verb, bool all);
void print_man(const struct verb *verb);

#endif
