/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.h: finds the verb of a command line. */
#ifndef VERBS_H
#define VERBS_H

#include "options/options.h"

/* N_VERB when no verb has that name. */
enum verb find_verb(const char *name);
/* Says that no verb has that name, and what may have been meant. Returns an exit code. */
int unknown_verb(const char *name);

struct command_line {
    enum verb verb;
    int argc;
    char **argv;        /* what follows the verb: words of the original, for free */
    const char *remark; /* a note to make when all of it is understood, or NULL */
};
/* For words that begin with an option: the verb that those of other runners stand for, and what is left for
 * it. verb is N_VERB when they stand for none. An exit code. */
int find_verb_by_options(struct command_line *c, int argc, char **argv);

#endif
