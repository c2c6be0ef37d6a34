/* options.h: the options of every verb, as one table of data (option_table.c). It is read by options_parse and by the
 * environment, printed as help and man pages and completed by shells, and is the only place where a spelling, a range or
 * a default is written down. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verb {
    RUN,
    LOGITS,
    TOKENIZE,
    DETOKENIZE,
    RENDER,
    BENCH,
    SHOW,
    VERIFY,
    PACK,
    CACHE,
    DOCTOR,
    COMPLETION,
    VERSION,
    HELP,
    N_VERB
};
#define ON(verb) (1u << (verb))
#define NO_MODEL (ON(CACHE) | ON(DOCTOR) | ON(COMPLETION) | ON(VERSION) | ON(HELP)) /* verbs without one */

struct verb_text {
    const char *name, *args, *summary;
    int min_args, max_args; /* arguments that are not options; -m counts as the first */
    const char *details;    /* paragraphs for help and man page, each ended by a newline; may be "" */
};
extern const struct verb_text verb_texts[N_VERB];

#define NO_SIZE UINT64_MAX

/* Parsed options; negative numbers and NULL mean "not given" where there is no default. */
struct options {
    const char *model; /* first argument, or -m: a model, for help a verb, for completion a shell */
    const char *text;  /* second argument: prompt, text or ids */
    const char *prompt, *file, *system, *system_file, *ids, *tools, *messages, *chat_template, *tokenizer,
        *jsonl, *out, *kv, *isa, *color, *cache_k, *cache_v, *n_prompt, *n_gen, *n_depth, *n_parallel,
        *measure;
    const char *n_pair, *output, *compare, *plot; /* of bench */
    int predict, context, threads, top_k, chunk, top, repetitions;
    double temp, top_p, min_p;
    int64_t seed;
    bool raw, json, exact, ignore_eos, verbose, all, naive, special, no_bos, no_generation_prompt, as_ids,
        tensors, lossy, no_perf, man, profile, no_cache;
    uint64_t cache_size;
    uint64_t memory; /* bytes for weights, cache and work; NO_SIZE: not given, 0: given without a size */
    bool help;
    bool stdin_taken; /* an option or argument reads standard input */
};

enum option_kind {
    FLAG,
    TEXT,
    MODEL,  /* a path to read, "tiny", or - */
    PATH,   /* a file to read that the library opens by its name */
    READS,  /* a file to read, - is standard input */
    WRITES, /* a file to write, - is standard output */
    CHOICE,
    SWITCH, /* a CHOICE that may be left out, which means on */
    INT,
    INT64,
    REAL,
    SIZE,      /* bytes, with K, M, G or T for powers of 1024 */
    MAYBE_SIZE /* a SIZE that may be left out, which means 0 */
};

enum { MOST_NAMES = 4 };

struct option {
    const char *names[MOST_NAMES]; /* as typed, dashes included; NULL ends a shorter list */
    enum option_kind kind;
    size_t field;      /* offset in struct options */
    unsigned verbs;    /* bit set of enum verb */
    const char *value; /* placeholder in help; for CHOICE and SWITCH the words, separated by | */
    const char *help;
    double low, high; /* INT, REAL, SIZE: accepted range, both ends included */
};
extern const struct option option_table[];
extern const int option_count;

/* The exit codes with their meaning, ended by text NULL; and the variables that are obeyed, ended by name NULL. */
struct exit_text {
    int code;
    const char *text;
};
extern const struct exit_text exit_texts[];
struct variable_text {
    const char *name, *text;
};
extern const struct variable_text variable_texts[];
extern const char model_text[],
    llama_text[]; /* paragraphs for the command's own help: what MODEL may be; compatibility */
/* Its value may be left out. */
bool may_stand_alone(const struct option *option);
/* "-n, --predict N" as help and man pages head it. */
void option_heading(char *out, size_t capacity, const struct option *option);

/* argv holds what follows the verb. Returns 0, or an exit code after saying why. */
int options_parse(struct options *o, enum verb verb, int argc, char **argv);
/* Is the word one of the choices "a|b|c"? */
bool is_choice(const char *choices, const char *word);
/* Puts a value into its field; what names the origin in messages ("option --temp", "CARAT_ARG_TEMP"). */
int option_store(struct options *o, const struct option *option, const char *what, const char *text);

/* environment.c: what CARAT_ARG_<OPTION> says, to be overwritten by the command line. An exit code. */
int options_environment(struct options *o, enum verb verb);

/* compat.c: llama.cpp's options that are none here. */
struct foreign;
/* NULL when the word of n bytes is not one of them. */
const struct foreign *foreign_find(const char *word, size_t n);
/* Accepts it, or says why not. name is the spelling, attached what followed a = or NULL, next the word after it or NULL;
 * *took_next is set when that was its value. An exit code. */
int foreign_take(const struct foreign *f, const char *verb, const char *name, const char *attached,
                 const char *next, bool *took_next);
/* -ctk and -ctv together say what --kv says. An exit code. */
int settle_cache_types(struct options *o, const char *verb);

#endif
