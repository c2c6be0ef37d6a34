/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: what a command line says, parsed. Whoever obeys a group of options includes the header that
 * declares its struct. */
#ifndef OPTIONS_OPTIONS_H
#define OPTIONS_OPTIONS_H

#include "options/lists.h"
#include "options/option.h"
#include "options/verb.h"

struct options {
    const struct verb *verb;
    const char *model;  /* first argument, or -m: a model, for help a verb, for completion a shell */
    const char *kaggle; /* the same, where it is Kaggle's: --kaggle, --search-kaggle */
    const char *text;   /* second argument: prompt, text or ids */
    struct texts more;  /* and those behind it, of a verb that takes many */
    const char *word;   /* one of the verb's words that stands before its first argument, or NULL */
    const char *color;
    bool json, lines; /* results as JSON, or as JSON line by line */
    bool verbose, man, help, help_all;
    bool appends_stdin; /* standard input continues the prompt, which is an argument beside MODEL */
    char ignored[512];  /* llama.cpp's options that were accepted, for a note */
#define GROUP(name) const struct name##_options *name;
    OPTION_GROUPS(GROUP)
#undef GROUP
    char *values; /* the memory of all these, and of what is given */
};

enum option_group_number {
#define GROUP(name) GROUP_OF_##name,
    OPTION_GROUPS(GROUP)
#undef GROUP
        N_GROUPS
};

/* argv holds what follows the verb. Returns 0, or an exit code after saying why; the options are freed in any
 * case by options_free. */
int options_parse(struct options *o, const struct verb *verb, int argc, char **argv);
/* --help, or --help-all. */
bool options_ask_for_help(const struct options *o);
/* With values of its own. An exit code. */
int options_copy(struct options *to, const struct options *from);
void options_free(struct options *o);
/* The values of a group, to be changed. */
void *options_group(struct options *o, enum option_group_number group);
/* Was the option given that is kept in this field, on the command line or by a variable? */
bool options_given(const struct options *o, const void *field);
/* Obeys --color wherever it stands, so that it counts for what is said about the other words too. */
void options_color(int argc, char **argv);

#endif
