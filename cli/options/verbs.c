/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.c: which verb is meant: by its name, by what other programs call it, or, without any, by their
 * options. Calling it is command.c's business. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options/table.h"
#include "term/message.h"

static const char *verb_name(void *user, int i)
{
    (void)user;
    return verb_table[i].name;
}

const struct verb *find_verb(const char *name)
{
    const struct verb *verb = verb_table;

    while (verb->name && strcmp(name, verb->name) != 0 && !(verb->other && strcmp(name, verb->other) == 0))
        verb++;
    return verb->name ? verb : NULL;
}

/* Names of other programs for what these verbs do. */
static const struct {
    const char *names, *instead; /* names between spaces, one at each end */
} foreign_verbs[] = {
    {" talk interactive conversation ", "carat chat MODEL is a conversation"},
    {" generate complete prompt cli ", "carat run MODEL PROMPT generates text"},
    {" server start ", "carat serve MODEL answers programs over HTTP"},
    {" stop ps ", "carat serve MODEL serves one model, until its process ends"},
    {" download ", "carat pull NAME fetches a model"},
    {" push login ", "carat sends nothing; 'hf auth login' leaves a token that carat pull uses"},
    {" models tags ", "carat ls lists the models of this machine"},
    {" remove delete prune ", "carat rm NAME removes a model, carat cache prune packed copies of no use"},
    {" copy mv rename ", "carat cp NAME NEW gives a model another name"},
    {" info inspect config ", "carat show MODEL describes a model"},
    {" encode ", "carat tokenize MODEL TEXT gives ids"},
    {" benchmark ", "carat bench MODEL measures speed"},
    {" quantise ", "carat quantize IN OUT.gguf TYPE writes a model with other types"},
    {" create ", "carat convert MODEL OUT.gguf and carat quantize IN OUT.gguf TYPE write models"},
    {" embedding embeddings ", "carat embed MODEL TEXT gives vectors of texts"},
};

int unknown_verb(const char *name)
{
    const char *meant = term_nearest(name, verb_name, NULL);
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof foreign_verbs / sizeof foreign_verbs[0] && !strchr(name, ' '); i++) {
        const char *at = strstr(foreign_verbs[i].names, name);
        if (n && at && at[-1] == ' ' && at[n] == ' ')
            return term_fail(USAGE, "there is no verb '%s': %s", name, foreign_verbs[i].instead);
    }
    if (strcmp(name, "tiny") == 0 || (n && access(name, F_OK) == 0))
        return term_fail(USAGE,
                         "'%.200s' is a model or a file, not a verb; carat run %.200s PROMPT runs a model",
                         name, name);
    if (meant)
        return term_fail(USAGE, "unknown verb '%.80s'; did you mean %s?", name, meant);
    return term_fail(USAGE, "unknown verb '%.80s'; 'carat help' lists them", name);
}

/* ---- a command line without a verb ---- */

/* The options of runners that have no verbs: those that choose one, in the order in which they win, and the
 * others. What the verb that is meant has no use for is left out. */
enum { WEIGHTS = 5, FIRST_SAMPLING = 14 };
static const struct {
    const char *name;
    const char *verb;              /* NULL: it chooses none */
    bool takes_value, is_argument; /* its value is the verb's second argument */
} flags[] = {
    {"--encode", "tokenize", true, true},
    {"--decode", "detokenize", true, true},
    {"--bench", "bench", false, false},
    {"--print-config", "show", false, false},
    {"--print-backend", "show", false, false},
    [WEIGHTS] = {"--weights", "run", true, false},
    {"--model", "run", true, false},
    {"-m", "run", true, false},
    {"--prompt", NULL, true, false},
    {"--max-tokens", NULL, true, false},
    {"--seed", NULL, true, false},
    {"--bench-iters", NULL, true, false},
    {"--bench-warmup", NULL, true, false},
    {"--bench-json", NULL, true, false},
    [FIRST_SAMPLING] = {"--temperature", NULL, true, false},
    {"--temp", NULL, true, false},
    {"--top-k", NULL, true, false},
    {"--top-p", NULL, true, false},
    {"--min-p", NULL, true, false},
};
static char dashes[] = "--";
enum { N_FLAGS = sizeof flags / sizeof flags[0] };

/* The flag that the word is, with what follows its = in *value; N_FLAGS when it is not a flag. */
static int find_flag(char *word, char **value)
{
    size_t n = strcspn(word, "=");
    int i = 0;

    while (i < N_FLAGS && (strlen(flags[i].name) != n || strncmp(word, flags[i].name, n) != 0))
        i++;
    *value = word[n] ? word + n + 1 : NULL;
    return i;
}

/* The first of the table that is among the words. */
static int choose_flag(int argc, char **argv)
{
    int best = N_FLAGS;
    char *value;

    for (int i = 0; i < argc; i++) {
        int flag = find_flag(argv[i], &value);
        if (flag < best && flags[flag].verb)
            best = flag;
    }
    return best;
}

int find_verb_by_options(struct command_line *c, int argc, char **argv)
{
    const int chosen = choose_flag(argc, argv);
    char *argument = NULL, *value;
    bool weights = false, sampling = false;

    *c = (struct command_line){0};
    if (chosen == N_FLAGS)
        return DONE;
    if (!(c->argv = calloc((size_t)argc + 2, sizeof *c->argv)))
        return fail_memory();
    c->verb = find_verb(flags[chosen].verb);
    for (int i = 0, words; i < argc; i += words) {
        int flag = find_flag(argv[i], &value);
        words = 1 + (flag < N_FLAGS && flags[flag].takes_value && !value && i + 1 < argc);
        weights = weights || flag == WEIGHTS;
        sampling = sampling || (flag >= FIRST_SAMPLING && flag < N_FLAGS);
        if (flag == chosen && flags[flag].is_argument) {
            argument = value ? value : words == 2 ? argv[i + 1] : NULL;
        } else if (flag == N_FLAGS || (!(flags[chosen].is_argument && !flags[flag].verb) &&
                                       option_named(c->verb, flags[flag].name))) {
            memcpy(c->argv + c->argc, argv + i, (size_t)words * sizeof *argv);
            c->argc += words;
        }
    }
    if (flags[chosen].is_argument) {
        if (!argument)
            return term_fail(USAGE, "option %s needs a value", flags[chosen].name);
        c->argv[c->argc++] = dashes;
        c->argv[c->argc++] = argument;
    }
    if (strcmp(flags[chosen].verb, "run") == 0 && weights && !sampling)
        c->remark =
            "sampling is the model's own; --top-k 1 takes the most likely token, as runners with these "
            "options do";
    return DONE;
}
