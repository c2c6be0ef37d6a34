/* SPDX-License-Identifier: Apache-2.0 */
/* verbs.c: which verb is meant: by its name, by what other programs call it, or, without any, by their
 * options. Calling it is main.c's business. */
#include "options/verbs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "term/exit.h"
#include "term/message.h"

static const char *verb_name(void *user, int i)
{
    (void)user;
    return i < N_VERB ? verb_texts[i].name : NULL;
}

enum verb find_verb(const char *name)
{
    int verb = 0;

    while (verb < N_VERB && strcmp(name, verb_texts[verb].name) != 0)
        verb++;
    return (enum verb)verb;
}

/* What other programs call what they do. */
static const struct {
    const char *names, *instead; /* names between spaces, one at each end */
} foreign_verbs[] = {
    {" talk interactive conversation ", "carat chat MODEL is a conversation"},
    {" generate complete prompt cli ", "carat run MODEL PROMPT generates text"},
    {" serve server start stop ps ", "carat has no server; carat run answers, and programs use the library"},
    {" pull download fetch push login ", "carat downloads nothing yet; 'hf download OWNER/NAME --local-dir "
                                         "DIR' gets a model, then carat run DIR"},
    {" list ls models ", "a model is named by its path; carat cache list shows the packed ones"},
    {" rm remove delete prune ", "carat cache removes packed models; a model's own files are left alone"},
    {" info inspect config ", "carat show MODEL describes a model"},
    {" encode ", "carat tokenize MODEL TEXT gives ids"},
    {" benchmark ", "carat bench MODEL measures speed"},
    {" convert quantize quantise create ", "carat runs a model as its file is, and converts none"},
    {" embed embedding embeddings ", "carat makes no embeddings"},
};

int unknown_verb(const char *name)
{
    const char *meant = nearest(name, verb_name, NULL);
    size_t n = strlen(name);

    for (size_t i = 0; i < sizeof foreign_verbs / sizeof foreign_verbs[0] && !strchr(name, ' '); i++) {
        const char *at = strstr(foreign_verbs[i].names, name);
        if (n && at && at[-1] == ' ' && at[n] == ' ')
            return fail(USAGE, "there is no verb '%s': %s", name, foreign_verbs[i].instead);
    }
    if (strcmp(name, "tiny") == 0 || (n && access(name, F_OK) == 0))
        return fail(USAGE, "'%.200s' is a model or a file, not a verb; carat run %.200s PROMPT runs a model",
                    name, name);
    if (meant)
        return fail(USAGE, "unknown verb '%.80s'; did you mean %s?", name, meant);
    return fail(USAGE, "unknown verb '%.80s'; 'carat help' lists them", name);
}

/* ---- a command line without a verb ---- */

/* The options of runners that have no verbs: those that choose one, in the order in which they win, and the
 * others. What the verb that is meant has no use for is left out. */
enum { WEIGHTS = 5, FIRST_SAMPLING = 14 };
static const struct {
    const char *name;
    enum verb verb;                /* N_VERB: it chooses none */
    bool takes_value, is_argument; /* its value is the verb's second argument */
} flags[] = {
    {"--encode", TOKENIZE, true, true},
    {"--decode", DETOKENIZE, true, true},
    {"--bench", BENCH, false, false},
    {"--print-config", SHOW, false, false},
    {"--print-backend", SHOW, false, false},
    [WEIGHTS] = {"--weights", RUN, true, false},
    {"--model", RUN, true, false},
    {"-m", RUN, true, false},
    {"--prompt", N_VERB, true, false},
    {"--max-tokens", N_VERB, true, false},
    {"--seed", N_VERB, true, false},
    {"--bench-iters", N_VERB, true, false},
    {"--bench-warmup", N_VERB, true, false},
    {"--bench-json", N_VERB, true, false},
    [FIRST_SAMPLING] = {"--temperature", N_VERB, true, false},
    {"--temp", N_VERB, true, false},
    {"--top-k", N_VERB, true, false},
    {"--top-p", N_VERB, true, false},
    {"--min-p", N_VERB, true, false},
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
        if (flag < best && flags[flag].verb != N_VERB)
            best = flag;
    }
    return best;
}

int find_verb_by_options(struct command_line *c, int argc, char **argv)
{
    const int chosen = choose_flag(argc, argv);
    char *argument = NULL, *value;
    bool weights = false, sampling = false;

    *c = (struct command_line){.verb = N_VERB};
    if (chosen == N_FLAGS)
        return DONE;
    if (!(c->argv = calloc((size_t)argc + 2, sizeof *c->argv)))
        return fail_memory();
    c->verb = flags[chosen].verb;
    for (int i = 0, words; i < argc; i += words) {
        int flag = find_flag(argv[i], &value);
        words = 1 + (flag < N_FLAGS && flags[flag].takes_value && !value && i + 1 < argc);
        weights = weights || flag == WEIGHTS;
        sampling = sampling || (flag >= FIRST_SAMPLING && flag < N_FLAGS);
        if (flag == chosen && flags[flag].is_argument) {
            argument = value ? value : words == 2 ? argv[i + 1] : NULL;
        } else if (flag == N_FLAGS || (!(flags[chosen].is_argument && flags[flag].verb == N_VERB) &&
                                       option_is_known(c->verb, flags[flag].name))) {
            memcpy(c->argv + c->argc, argv + i, (size_t)words * sizeof *argv);
            c->argc += words;
        }
    }
    if (flags[chosen].is_argument) {
        if (!argument)
            return fail(USAGE, "option %s needs a value", flags[chosen].name);
        c->argv[c->argc++] = dashes;
        c->argv[c->argc++] = argument;
    }
    if (c->verb == RUN && weights && !sampling)
        c->remark =
            "sampling is the model's own; --top-k 1 takes the most likely token, as runners with these "
            "options do";
    return DONE;
}
