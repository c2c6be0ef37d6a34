/* SPDX-License-Identifier: Apache-2.0 */
/* command.c: finds the verb of a command line, has its options parsed and settled, and calls it; or prints
 * its help. Which function a verb is stands in main.c. */
#include "options/verb.h"

#include <stdlib.h>
#include <string.h>

#include "options/help.h"
#include "term/message.h"

static int call(const struct verb_calls *c, const struct options *o, const char *remark)
{
    const struct verb_call *v = c->calls;

    while (strcmp(v->name, o->verb->name) != 0)
        v++;
    if (*o->ignored)
        term_note("ignored, because they change nothing here: %s", o->ignored);
    if (remark)
        term_note("%s", remark);
    return v->call(o);
}

static int parse_and_call(const struct verb_calls *c, const struct verb *verb, int argc, char **argv,
                          const char *remark)
{
    struct options o;
    int code = options_parse(&o, verb, argc, argv);

    if (code == DONE && options_ask_for_help(&o))
        print_help(verb, o.help_all);
    else if (code == DONE && (code = c->settle(&o)) == DONE)
        code = call(c, &o, remark);
    options_free(&o);
    return code;
}

static int run_by_options(const struct verb_calls *c, int argc, char **argv)
{
    struct command_line line;
    int code = find_verb_by_options(&line, argc, argv);

    if (code == DONE)
        code = line.verb ? parse_and_call(c, line.verb, line.argc, line.argv, line.remark)
                         : unknown_verb(argv[0]);
    free(line.argv);
    return code;
}

/* Other runners fetch and search with one verb. */
static const struct verb *verb_of(const char *word, int argc, char **argv)
{
    static const char *const searches[] = {"--search-hf", "--search-kaggle"};

    for (int i = 0; i < argc && strcmp(word, "fetch") == 0; i++)
        for (size_t k = 0; k < sizeof searches / sizeof searches[0]; k++)
            if (strncmp(argv[i], searches[k], strlen(searches[k])) == 0)
                return find_verb("search");
    return find_verb(word);
}

int command_run(const struct verb_calls *c, int argc, char **argv)
{
    const char *word = argc > 0 ? argv[0] : NULL;

    if (!word)
        return term_fail(USAGE, "no verb; 'carat help' lists them");
    if (strcmp(word, "--help-all") == 0) /* an option of help, too */
        return parse_and_call(c, find_verb("help"), argc, argv, NULL);
    if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0)
        word = "help";
    else if (strcmp(word, "--version") == 0)
        word = "version";
    else if (*word == '-')
        return run_by_options(c, argc, argv);
    const struct verb *verb = verb_of(word, argc - 1, argv + 1);
    return verb ? parse_and_call(c, verb, argc - 1, argv + 1, NULL) : unknown_verb(word);
}
