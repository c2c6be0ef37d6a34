/* options.h: the options of every verb, as one table of data. The table is parsed by options_parse, printed by
 * help.c, and is the only place where a spelling, a range or a default is written down. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verb { RUN, LOGITS, TOKENIZE, DETOKENIZE, RENDER, BENCH, SHOW, DOCTOR, VERSION, HELP, N_VERB };

struct verb_text {
    const char *name, *args, *summary;
    int min_args, max_args; /* arguments that are not options; -m counts as the first */
    const char *details;    /* paragraphs under the options in help; may be "" */
};
extern const struct verb_text verb_texts[N_VERB];

/* Parsed options; negative numbers and NULL mean "not given" where there is no default. */
struct options {
    const char *model; /* first argument, or -m */
    const char *text;  /* second argument: prompt, text, ids or a verb's name */
    const char *prompt, *file, *system, *ids, *tools, *messages, *chat_template, *jsonl, *out, *kv, *isa;
    int predict, context, threads, top_k, chunk, top, n_prompt, n_gen, repetitions;
    double temp, top_p, min_p;
    int64_t seed;
    bool raw, json, exact, ignore_eos, verbose, all, naive, special, no_bos, no_generation_prompt, as_ids,
        tensors;
    bool help;
};

enum option_kind { FLAG, TEXT, CHOICE, INT, INT64, REAL };

struct option {
    const char *names[4]; /* as typed, dashes included; NULL ends a shorter list */
    enum option_kind kind;
    size_t field;      /* offset in struct options */
    unsigned verbs;    /* bit set of enum verb */
    const char *value; /* placeholder in help; for CHOICE the words, separated by | */
    const char *help;
    double low, high; /* INT, REAL: accepted range, both ends included */
};
extern const struct option option_table[];
extern const int option_count;

/* argv holds what follows the verb. Returns 0, or an exit code after saying why. */
int options_parse(struct options *o, enum verb verb, int argc, char **argv);

#endif
