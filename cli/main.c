/* SPDX-License-Identifier: Apache-2.0 */
/* main.c: calls the verb that verbs.c has found. Everything else is in the verb's own file. */
#include <stdlib.h>
#include <string.h>

#include "ask/chat/chat.h"
#include "ask/render.h"
#include "ask/run.h"
#include "ask/tokenize.h"
#include "bench/bench.h"
#include "options/completion.h"
#include "options/help.h"
#include "options/verbs.h"
#include "quality/compare/compare.h"
#include "quality/eval.h"
#include "quality/perplexity.h"
#include "show/cache.h"
#include "show/doctor/doctor.h"
#include "show/pack.h"
#include "show/show.h"
#include "show/verify.h"
#include "steps/decode.h"
#include "steps/logits.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/output.h"

static int (*const verbs[N_VERB])(const struct options *o) = {
    [RUN] = verb_run,           [CHAT] = verb_chat,
    [LOGITS] = verb_logits,     [DECODE] = verb_decode,
    [TOKENIZE] = verb_tokenize, [RENDER] = verb_render,
    [BENCH] = verb_bench,       [DETOKENIZE] = verb_detokenize,
    [SHOW] = verb_show,         [VERIFY] = verb_verify,
    [DOCTOR] = verb_doctor,     [COMPLETION] = verb_completion,
    [HELP] = verb_help,         [VERSION] = verb_version,
    [PACK] = verb_pack,         [CACHE] = verb_cache,
    [COMPARE] = verb_compare,   [PERPLEXITY] = verb_perplexity,
    [EVAL] = verb_eval,
};

int verb_help(const struct options *o)
{
    enum verb verb = N_VERB;

    if (o->model) { /* the first argument */
        verb = find_verb(o->model);
        if (verb == N_VERB)
            return unknown_verb(o->model);
    }
    if (o->man)
        print_man(verb);
    else
        print_help(verb, o->help_all);
    return DONE;
}

static int call(enum verb verb, int argc, char **argv, const char *remark)
{
    struct options o;
    int code = options_parse(&o, verb, argc, argv);

    if (code != DONE)
        return code;
    if (o.help || (o.help_all && verb != HELP)) {
        print_help(verb, o.help_all);
        return DONE;
    }
    if (remark)
        note("%s", remark);
    return verbs[verb](&o);
}

static int call_by_options(int argc, char **argv)
{
    struct command_line c;
    int code = find_verb_by_options(&c, argc, argv);

    if (code == DONE)
        code = c.verb == N_VERB ? unknown_verb(argv[0]) : call(c.verb, c.argc, c.argv, c.remark);
    free(c.argv);
    return code;
}

static int dispatch(int argc, char **argv)
{
    if (argc < 1)
        return fail(USAGE, "no verb; 'carat help' lists them");
    if (strcmp(argv[0], "-h") == 0 || strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "--help-all") == 0)
        return call(HELP, argc - 1, argv + 1, NULL);
    if (strcmp(argv[0], "--version") == 0)
        return call(VERSION, argc - 1, argv + 1, NULL);
    if (argv[0][0] == '-')
        return call_by_options(argc, argv);
    enum verb verb = find_verb(argv[0]);
    return verb == N_VERB ? unknown_verb(argv[0]) : call(verb, argc - 1, argv + 1, NULL);
}

int main(int argc, char **argv)
{
    output_start();
    options_words();
    options_color(argc - 1, argv + 1);
    return out_finish(dispatch(argc - 1, argv + 1));
}
