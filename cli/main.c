/* main.c: chooses the verb and calls it. Everything else is in the verb's own file. */
#include <string.h>

#include "cli.h"

static int (*const verbs[N_VERB])(const struct options *o) = {
    [RUN] = verb_run,           [LOGITS] = verb_logits,
    [TOKENIZE] = verb_tokenize, [RENDER] = verb_render,
    [BENCH] = verb_bench,       [DETOKENIZE] = verb_detokenize,
    [SHOW] = verb_show,         [VERIFY] = verb_verify,
    [DOCTOR] = verb_doctor,     [COMPLETION] = verb_completion,
    [HELP] = verb_help,         [VERSION] = verb_version,
    [PACK] = verb_pack,         [CACHE] = verb_cache,
};

static const char *verb_name(void *user, int i)
{
    (void)user;
    return i < N_VERB ? verb_texts[i].name : NULL;
}

/* N_VERB when there is none of that name. */
static enum verb find_verb(const char *name)
{
    int verb = 0;

    while (verb < N_VERB && strcmp(name, verb_texts[verb].name) != 0)
        verb++;
    return (enum verb)verb;
}

static int unknown_verb(const char *name)
{
    const char *meant = nearest(name, verb_name, NULL);

    if (meant)
        return fail(USAGE, "unknown verb '%.80s'; did you mean %s?", name, meant);
    return fail(USAGE, "unknown verb '%.80s'; 'carat help' lists them", name);
}

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
        print_help(verb);
    return DONE;
}

static int dispatch(int argc, char **argv)
{
    struct options o;
    enum verb verb;
    int code;

    if (argc < 2)
        return fail(USAGE, "no verb; 'carat help' lists them");
    if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)
        verb = HELP;
    else if (strcmp(argv[1], "--version") == 0)
        verb = VERSION;
    else
        verb = find_verb(argv[1]);
    if (verb == N_VERB)
        return unknown_verb(argv[1]);
    code = options_parse(&o, verb, argc - 2, argv + 2);
    if (code != DONE)
        return code;
    if (o.help) {
        print_help(verb);
        return DONE;
    }
    return verbs[verb](&o);
}

int main(int argc, char **argv)
{
    output_start();
    return out_finish(dispatch(argc, argv));
}
