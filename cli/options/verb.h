/* SPDX-License-Identifier: Apache-2.0 */
/* verb.h: the verbs of the command: what they say of themselves, as data, and the function that each is.
 * Their options are rows of their owners. And how a verb is found and called. */
#ifndef OPTIONS_VERB_H
#define OPTIONS_VERB_H

#include <stdbool.h>

#include "options/lists.h"
#include "options/option.h"

/* Which verbs need a tokenizer of the model that they open. */
enum verb_tokenizer { NO_TOKENIZER, TOKENIZER, TOKENIZER_UNLESS_IDS };

/* Under which heading `carat help` lists a verb. */
enum verb_group { TO_BEGIN, TO_ASK, TO_JUDGE, FOR_FILES, TO_SERVE, FOR_MORE, N_VERB_GROUPS };

/* Defaults that the details of bench name: of ways to measure that have no rows of their own. */
#define TIMELINE_DEPTH "4096"
#define DRAFT_PROMPT   "64"
#define DRAFT_ANSWER   "256"

enum { MOST_ARGS = 2 + MOST_TEXTS };

struct verb {
    const char *name;
    const char *other; /* what it may also be called, or NULL */
    enum verb_group group;
    const char *brief; /* the summary for a terminal of 40 columns: at most 24 bytes */
    const char *args, *summary;
    int min_args, max_args; /* arguments that are not options, at most MOST_ARGS; -m counts as the first */
    const char *needs;      /* what is missing when there are fewer; NULL: a model */
    const char *words;      /* those that may stand before the first argument, separated by |, or NULL */
    bool model_last;        /* the last argument is the model, not the first */
    bool opens;             /* a model */
    bool embeds;            /* of those that give vectors; other verbs that compute take the others */
    enum verb_tokenizer tokenizer;
    const char *reads;   /* what standard input is where no option says otherwise, or NULL */
    const char *details; /* paragraphs for help and man page, each ended by a newline; may be "" */
    /* Commands, each ended by a newline, which a test runs as they stand. MODEL is any model, EMBEDDER one
     * that gives vectors; tools.json, messages.json, items.jsonl, prompts.jsonl, recipes.txt, notes.txt
     * and answer.gbnf are files as their names say, and what one command writes the next one may read. */
    const char *examples;
};
extern const struct verb verb_table[]; /* ended by one without a name */

/* The function of each verb, in the verb's own file; an exit code. main.c alone calls it. */
struct options;
#define VERB(name) int verb_##name(const struct options *o);
VERBS(VERB)
#undef VERB

/* NULL when no verb has that name. */
const struct verb *find_verb(const char *name);
/* Says that no verb has that name, and what may have been meant. Returns an exit code. */
int unknown_verb(const char *name);

struct command_line {
    const struct verb *verb;
    int argc;
    char **argv;        /* what follows the verb: words of the original, for free */
    const char *remark; /* a note to make when all of it is understood, or NULL */
};
/* For words that begin with an option: the verb that those of other runners stand for, and what is left for
 * it. verb is NULL when they stand for none. An exit code. */
int find_verb_by_options(struct command_line *c, int argc, char **argv);

/* ---- command.c ---- */

/* From the words of a command line to the call of a verb. */
struct verb_call {
    const char *name;
    int (*call)(const struct options *o); /* returns an exit code */
};
struct verb_calls {
    const struct verb_call *calls; /* ended by one without a name */
    /* Settles what the options mean together, before a verb sees them; an exit code. */
    int (*settle)(struct options *o);
};
/* argv holds what follows the command's name. An exit code. */
int command_run(const struct verb_calls *c, int argc, char **argv);

#endif
