/* options.c: the table of options and verbs, and the parser that reads argv by it. Numbers are taken strictly: the
 * whole word, in range, or exit 2 with the option's name. What options mean is the verbs' business. */
#include "options.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

const struct verb_text verb_texts[N_VERB] = {
    [RUN] = {"run", "MODEL [PROMPT]", "generate text from a prompt", 1, 2,
             "The prompt is PROMPT, -p, -f or --ids; without any of them it is read from standard input, "
             "byte for byte.\n"
             "It becomes the user's turn of the model's chat template; --raw runs it as it is, control "
             "tokens recognised.\n"
             "Generated text alone goes to standard output; speed, and the seed if it was random, to "
             "standard error.\n"},
    [LOGITS] = {"logits", "MODEL --ids IDS", "next-token logits of given ids", 1, 1,
                "Without --out, --top or --json the ten highest logits are printed.\n"},
    [TOKENIZE] =
        {"tokenize", "MODEL [TEXT]", "text to token ids", 1, 2,
         "MODEL may be a tokenizer file, or a directory that holds only one. Without TEXT, standard input is "
         "read.\n"},
    [DETOKENIZE] =
        {"detokenize", "MODEL [IDS]", "token ids to text", 1, 2,
         "MODEL is as for tokenize. IDS are separated by commas or white space; without them, standard input "
         "is read.\n"},
    [RENDER] =
        {"render", "MODEL --messages FILE", "the exact prompt that a conversation becomes", 1, 1,
         "MODEL is as for tokenize. FILE holds a JSON array of messages as the OpenAI API has them.\n"},
    [BENCH] = {"bench", "MODEL", "measure prompt and generation speed", 1, 1,
               "Random ids, one warm-up; tokenising and sampling are not in the time.\n"},
    [SHOW] = {"show", "MODEL", "describe a model and the memory it needs", 1, 1, ""},
    [DOCTOR] =
        {"doctor", "", "describe this machine and how carat would use it", 0, 0,
         "The report between the lines of ``` is meant to be pasted into a bug report. Under it, a line for "
         "each thing\nthat makes this machine slow.\n"},
    [VERSION] = {"version", "", "print the version", 0, 0, ""},
    [HELP] = {"help", "[VERB]", "describe a verb and its options", 0, 1, ""},
};

#define AT(field) offsetof(struct options, field)
#define ON(verb)  (1u << (verb))
#define EVALUATES (ON(RUN) | ON(LOGITS) | ON(BENCH))
#define TOKENS    (ON(TOKENIZE) | ON(DETOKENIZE))
#define ANY       (ON(N_VERB) - 1)

const struct option option_table[] = {
    {{"-m", "--model"},
     TEXT,
     AT(model),
     ANY & ~(ON(DOCTOR) | ON(VERSION) | ON(HELP)),
     "MODEL",
     "the model, instead of the first argument",
     0,
     0},
    /* what goes in */
    {{"-p", "--prompt"},
     TEXT,
     AT(prompt),
     ON(RUN),
     "TEXT",
     "the prompt, instead of the second argument",
     0,
     0},
    {{"-f", "--file"},
     TEXT,
     AT(file),
     ON(RUN),
     "FILE",
     "read the prompt from FILE (- is standard input)",
     0,
     0},
    {{"-sys", "--system-prompt"},
     TEXT,
     AT(system),
     ON(RUN),
     "TEXT",
     "a system message before the prompt",
     0,
     0},
    {{"--ids"}, TEXT, AT(ids), ON(RUN) | ON(LOGITS), "IDS", "token ids instead of text, as in 2,5,9", 0, 0},
    {{"--raw"}, FLAG, AT(raw), ON(RUN), NULL, "no chat template", 0, 0},
    {{"--messages"},
     TEXT,
     AT(messages),
     ON(RENDER),
     "FILE",
     "the conversation, JSON (- is standard input)",
     0,
     0},
    {{"--tools"},
     TEXT,
     AT(tools),
     ON(RUN) | ON(RENDER),
     "FILE",
     "function tools, a JSON array in OpenAI's form",
     0,
     0},
    {{"--chat-template"},
     CHOICE,
     AT(chat_template),
     ON(RUN) | ON(RENDER),
     "gemma|gemma3|functiongemma",
     "instead of the model's own",
     0,
     0},
    {{"--no-generation-prompt"},
     FLAG,
     AT(no_generation_prompt),
     ON(RENDER),
     NULL,
     "do not open the model's turn",
     0,
     0},
    {{"--no-bos"}, FLAG, AT(no_bos), ON(TOKENIZE), NULL, "do not begin with <bos>", 0, 0},
    {{"--special"},
     FLAG,
     AT(special),
     ON(TOKENIZE) | ON(RENDER),
     NULL,
     "recognise control tokens in the text",
     0,
     0},
    {{"--special"}, FLAG, AT(special), ON(DETOKENIZE), NULL, "print control tokens", 0, 0},
    {{"--jsonl"},
     TEXT,
     AT(jsonl),
     ON(TOKENIZE),
     "FILE",
     "one {\"text\": ...} in, one {\"ids\": ...} out per line",
     0,
     0},
    {{"--jsonl"},
     TEXT,
     AT(jsonl),
     ON(DETOKENIZE),
     "FILE",
     "one {\"ids\": ...} in, one {\"text\": ...} out per line",
     0,
     0},
    /* generation */
    {{"-n", "--predict", "--n-predict"},
     INT,
     AT(predict),
     ON(RUN),
     "N",
     "most tokens to generate (default -1: to the end of the context)",
     -1,
     INT_MAX},
    {{"--temp"},
     REAL,
     AT(temp),
     ON(RUN),
     "X",
     "temperature; 0 takes the highest logit (default: the model's)",
     0,
     1000},
    {{"--top-k"},
     INT,
     AT(top_k),
     ON(RUN),
     "N",
     "draw from the N most likely; 0 is all (default: the model's)",
     0,
     INT_MAX},
    {{"--top-p"},
     REAL,
     AT(top_p),
     ON(RUN),
     "X",
     "draw from the most likely that sum up to X (default: the model's)",
     0,
     1},
    {{"--min-p"},
     REAL,
     AT(min_p),
     ON(RUN),
     "X",
     "drop what is less likely than X times the first (default: the model's)",
     0,
     1},
    {{"-s", "--seed"}, INT64, AT(seed), ON(RUN), "N", "seed of the draws; -1 is random (default -1)", 0, 0},
    {{"--ignore-eos"},
     FLAG,
     AT(ignore_eos),
     ON(RUN),
     NULL,
     "never generate the ids that end generation",
     0,
     0},
    /* what comes out */
    {{"--all"}, FLAG, AT(all), ON(LOGITS), NULL, "logits after every id, not only the last", 0, 0},
    {{"-o", "--out"},
     TEXT,
     AT(out),
     ON(LOGITS),
     "FILE",
     "write float32 NPY, [vocab] or with --all [n][vocab]",
     0,
     0},
    {{"--top"}, INT, AT(top), ON(LOGITS), "K", "print the K highest logits", 1, 1000},
    {{"--ids"}, FLAG, AT(as_ids), ON(RENDER), NULL, "print token ids instead of text", 0, 0},
    {{"--tensors"}, FLAG, AT(tensors), ON(SHOW), NULL, "list every tensor", 0, 0},
    {{"--json"}, FLAG, AT(json), ANY & ~(ON(RENDER) | ON(HELP)), NULL, "print JSON", 0, 0},
    /* computing */
    {{"-p", "--n-prompt"},
     INT,
     AT(n_prompt),
     ON(BENCH),
     "N",
     "tokens of the prompt test; 0 skips it (default 512)",
     0,
     1 << 20},
    {{"-n", "--n-gen"},
     INT,
     AT(n_gen),
     ON(BENCH),
     "N",
     "tokens of the generation test; 0 skips it (default 64)",
     0,
     1 << 20},
    {{"-r", "--repetitions"}, INT, AT(repetitions), ON(BENCH), "N", "runs of each test (default 5)", 1, 1000},
    {{"-c", "--ctx-size"},
     INT,
     AT(context),
     ON(RUN) | ON(SHOW),
     "N",
     "positions of the context; 0 is the default: 8192 or the model's maximum, if less",
     0,
     INT_MAX},
    {{"-t", "--threads"},
     INT,
     AT(threads),
     EVALUATES,
     "N",
     "threads (default 0: the CPUs this process may use)",
     0,
     256},
    {{"--chunk"},
     INT,
     AT(chunk),
     EVALUATES,
     "N",
     "most prompt tokens in one pass (default 0: the library's choice)",
     0,
     1 << 20},
    {{"--naive"},
     FLAG,
     AT(naive),
     ON(LOGITS),
     NULL,
     "recompute everything for every position: an oracle for the cache",
     0,
     0},
    {{"--exact"}, FLAG, AT(exact), EVALUATES | ON(SHOW), NULL, "float32 arithmetic, for comparisons", 0, 0},
    {{"--kv"},
     CHOICE,
     AT(kv),
     EVALUATES | ON(SHOW),
     "bf16|f16|f32",
     "type of the KV cache (default bf16, with --exact f32)",
     0,
     0},
    {{"--isa"},
     TEXT,
     AT(isa),
     EVALUATES | ON(SHOW),
     "NAME",
     "use kernels of at most this level: ref, avx2",
     0,
     0},
    {{"-v", "--verbose"},
     FLAG,
     AT(verbose),
     ON(RUN),
     NULL,
     "also say how the model is run and why it stopped",
     0,
     0},
    {{"-h", "--help"}, FLAG, AT(help), ANY, NULL, "print this", 0, 0},
};
const int option_count = sizeof option_table / sizeof option_table[0];

enum { MOST_NAMES = sizeof option_table[0].names / sizeof option_table[0].names[0] };

/* Does the word of n bytes name this option? */
static bool names(const struct option *option, const char *word, size_t n)
{
    for (int i = 0; i < MOST_NAMES && option->names[i]; i++) {
        if (strlen(option->names[i]) == n && memcmp(option->names[i], word, n) == 0)
            return true;
    }
    return false;
}

static const struct option *find(enum verb verb, const char *word, size_t n)
{
    for (int i = 0; i < option_count; i++) {
        if (option_table[i].verbs & ON(verb) && names(&option_table[i], word, n))
            return &option_table[i];
    }
    return NULL;
}

/* Spelling i of the verb that user points at. */
static const char *spelling(void *user, int i)
{
    enum verb verb = *(enum verb *)user;

    for (int k = 0; k < option_count; k++) {
        for (int j = 0; option_table[k].verbs & ON(verb) && j < MOST_NAMES && option_table[k].names[j]; j++) {
            if (i-- == 0)
                return option_table[k].names[j];
        }
    }
    return NULL;
}

static int unknown(enum verb verb, const char *word, size_t n)
{
    char name[64];
    const char *meant = NULL;

    if (n < sizeof name) {
        memcpy(name, word, n);
        name[n] = 0;
        meant = nearest(name, spelling, &verb);
    }
    if (meant)
        return fail(USAGE, "%s: unknown option '%.*s'; did you mean %s?", verb_texts[verb].name,
                    (int)(n < 80 ? n : 80), word, meant);
    return fail(USAGE, "%s: unknown option '%.*s'; 'carat help %s' lists them", verb_texts[verb].name,
                (int)(n < 80 ? n : 80), word, verb_texts[verb].name);
}

/* Decimal digits with an optional minus: strtoll alone would take leading space, a plus and hexadecimal. */
static bool parse_int64(const char *text, int64_t *value)
{
    const char *digits = text + (*text == '-');
    char *end;

    if (!*digits || strspn(digits, "0123456789") != strlen(digits))
        return false;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    *value = parsed;
    return errno == 0 && *end == 0;
}

/* Decimal notation only; inf and nan are no numbers here. */
static bool parse_real(const char *text, double *value)
{
    char *end;

    if (!*text || strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    errno = 0;
    *value = strtod(text, &end);
    return end != text && *end == 0 && *value - *value == 0;
}

static bool is_choice(const char *choices, const char *word)
{
    size_t n = strlen(word);

    for (const char *p = choices; n > 0; p++) {
        size_t length = strcspn(p, "|");
        if (length == n && memcmp(p, word, n) == 0)
            return true;
        p += length;
        if (!*p)
            break;
    }
    return false;
}

/* Puts a value into its field. name is the spelling that was typed. */
static int store(struct options *o, const struct option *option, const char *name, size_t n, const char *text)
{
    void *field = (char *)o + option->field;
    int length = (int)n;
    int64_t integer;
    double real;

    switch (option->kind) {
    case FLAG:
        *(bool *)field = true;
        return DONE;
    case TEXT:
        *(const char **)field = text;
        return DONE;
    case CHOICE:
        if (!is_choice(option->value, text))
            return fail(USAGE, "option %.*s: '%.80s' is none of %s", length, name, text, option->value);
        *(const char **)field = text;
        return DONE;
    case INT:
        if (!parse_int64(text, &integer) || integer < (int64_t)option->low || integer > (int64_t)option->high)
            return fail(USAGE, "option %.*s: '%.80s' is not a whole number from %.0f to %.0f", length, name,
                        text, option->low, option->high);
        *(int *)field = (int)integer;
        return DONE;
    case INT64:
        if (!parse_int64(text, &integer) || integer < -1)
            return fail(USAGE, "option %.*s: '%.80s' is not a whole number from -1 to %lld", length, name,
                        text, (long long)INT64_MAX);
        *(int64_t *)field = integer;
        return DONE;
    case REAL:
        if (!parse_real(text, &real) || real < option->low || real > option->high)
            return fail(USAGE, "option %.*s: '%.80s' is not a number from %g to %g", length, name, text,
                        option->low, option->high);
        *(double *)field = real;
        return DONE;
    }
    return DONE;
}

/* One option at argv[*i]; moves *i to its last word. */
static int take_option(struct options *o, enum verb verb, int argc, char **argv, int *i)
{
    const char *word = argv[*i], *value = NULL, *equals = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    const struct option *option = find(verb, word, n);

    if (!option && word[1] != '-' && word[2] >= '0' && word[2] <= '9') { /* -n64 */
        n = 2;
        option = find(verb, word, n);
        value = word + 2;
    }
    if (!option)
        return unknown(verb, word, n);
    if (equals)
        value = equals + 1;
    if (option->kind == FLAG) {
        if (value)
            return fail(USAGE, "option %.*s takes no value", (int)n, word);
    } else if (!value) {
        if (*i + 1 == argc)
            return fail(USAGE, "option %.*s needs a value: %s", (int)n, word, option->value);
        value = argv[++*i];
    }
    return store(o, option, word, n, value);
}

int options_parse(struct options *o, enum verb verb, int argc, char **argv)
{
    const struct verb_text *v = &verb_texts[verb];
    const char *args[2] = {NULL, NULL};
    int n_args = 0, code;
    bool only_args = false;

    *o = (struct options){.predict = -1,
                          .top_k = -1,
                          .n_prompt = 512,
                          .n_gen = 64,
                          .repetitions = 5,
                          .temp = -1,
                          .top_p = -1,
                          .min_p = -1,
                          .seed = -1};
    for (int i = 0; i < argc; i++) {
        if (!only_args && strcmp(argv[i], "--") == 0) {
            only_args = true;
        } else if (!only_args && argv[i][0] == '-' && argv[i][1]) {
            if ((code = take_option(o, verb, argc, argv, &i)) != DONE)
                return code;
        } else if (n_args + (o->model != NULL) == v->max_args || n_args == 2) {
            return fail(USAGE, "%s: '%.80s' is one argument too many%s", v->name, argv[i],
                        v->max_args == 2 ? " (a text of several words needs quotes)" : "");
        } else {
            args[n_args++] = argv[i];
        }
    }
    if (o->help)
        return DONE;
    if (o->model && n_args > v->max_args - 1)
        return fail(USAGE, "%s: '%.80s' is one argument too many beside -m", v->name, args[n_args - 1]);
    if (n_args + (o->model != NULL) < v->min_args)
        return fail(USAGE, "%s needs a model: carat %s %s", v->name, v->name, v->args);
    if (!o->model)
        o->model = args[0];
    else
        args[1] = args[0];
    o->text = args[1];
    return DONE;
}
