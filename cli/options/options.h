/* SPDX-License-Identifier: Apache-2.0 */
/* options.h: the options of every verb, as one table of data (option_table.c). It is read by options_parse
 * and by the environment, printed as help and man pages and completed by shells, and is the only place where
 * a spelling, a range or a default is written down. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verb {
    RUN,
    CHAT,
    LOGITS,
    DECODE,
    TOKENIZE,
    DETOKENIZE,
    RENDER,
    BENCH,
    SHOW,
    COMPARE,
    PERPLEXITY,
    EVAL,
    VERIFY,
    PACK,
    CACHE,
    DOCTOR,
    COMPLETION,
    VERSION,
    HELP,
    N_VERB
};
#define ON(verb)      (UINT64_C(1) << (verb))
#define SELDOM(verbs) ((verbs) | (verbs) << 32) /* there, and shown by --help-all only */
/* Verbs that need no model. */
#define NO_MODEL (ON(CACHE) | ON(DOCTOR) | ON(COMPLETION) | ON(VERSION) | ON(HELP))

struct verb_text {
    const char *name, *args, *summary;
    int min_args, max_args; /* arguments that are not options; -m counts as the first */
    const char *details;    /* paragraphs for help and man page, each ended by a newline; may be "" */
    /* Commands, each ended by a newline, which a test runs as they stand. MODEL is any model; tools.json,
     * messages.json, items.jsonl and notes.txt are files as their names say, and what one command writes the
     * next one may read. */
    const char *examples;
};
extern const struct verb_text verb_texts[N_VERB];
/* What bench measures when one of these words, separated by |, stands before its model. */
extern const char bench_words[];

#define NO_SIZE   UINT64_MAX
#define NOT_GIVEN INT32_MIN /* of numbers that may be negative */

/* A number of things, or their bytes; n 0: not given. */
struct amount {
    uint64_t n;
    bool bytes;
};

/* What one option said, time after time. */
enum { MOST_TEXTS = 64 };
struct texts {
    const char *text[MOST_TEXTS];
    int n;
};

/* Parsed options; negative numbers and NULL mean "not given" where there is no default. */
struct options {
    enum verb verb;
    const char *model; /* first argument, or -m: a model, for help a verb, for completion a shell */
    const char *text;  /* second argument: prompt, text or ids */
    const char *prompt, *file, *system, *system_file, *ids, *tools, *messages, *chat_template, *tokenizer,
        *jsonl, *out, *kv, *isa, *color, *cache_k, *cache_v, *n_prompt, *n_gen, *n_depth, *n_parallel,
        *measure;
    const char *n_pair, *output, *compare, *plot, *bench_json, *flash; /* of bench */
    const char *thread_list, *chunk_list; /* of bench: threads and chunk as lists */
    bool explain_plan, stats, no_profile;
    int threads_batch;    /* of prompts; 0: threads */
    const char *stop_ids; /* "": none */
    struct texts stop;
    const char *ban;
    int loop_guard, logprobs; /* below 0: not given; loop_guard 0: off */
    const char *log_jsonl, *tool_command;
    int tool_rounds;
    double draft_right;             /* of bench; below 0: not given */
    const char *lookup, *spec_type; /* drafts from the text itself: on, off, auto; llama.cpp's kinds */
    int draft_max, draft_min;       /* ids of a draft; below 0: not given; draft_max 0: none */
    int warmup, iterations;         /* of bench --prompt */
    const char *spectrum;           /* of bench lm-head */
    const char *bench_of;           /* of bench: the word that stands before MODEL, or NULL */
    const char *prompt_cache;       /* of run: a timeline file */
    bool prompt_cache_all, prompt_cache_ro;
    bool context_shift;                            /* of run */
    int keep;                                      /* tokens of the prompt that it keeps; -1: all */
    bool talks, single_turn;                       /* -cnv of run, -st */
    const char *tap;                               /* of logits: the values that it writes */
    int max_layers;                                /* 0: all */
    const char *lm_head, *lm_quant, *weight_quant; /* settled by head.c */
    struct amount lm_capacity;
    int lm_tile, lm_shortlist, audit; /* lm_shortlist -1: not given */
    double min_recall;                /* below 0: not given */
    int steps, rounds;                /* of decode, 0: not given */
    const char *ref_mode, *test_mode, *hf_reference, *driver, *ref_logits, *limits, *at, *dataset,
        *out_dir; /* of compare */
    int parallel;
    bool restart, bisect;
    int bisect_rows;     /* 0: not given */
    double near_tie;     /* below 0: not given */
    bool prefill_logits; /* of decode */
    bool lines;          /* JSON line by line */
    int stride;          /* of perplexity; 0: windows follow each other */
    bool in_chat;        /* of eval */
    double least;        /* of eval: accuracy; below 0: not given */
    int predict, context, threads, top_k, chunk, top, repetitions;
    double temp, top_p, min_p;
    /* of the chain of samplers; NAN and NOT_GIVEN: not given */
    double repeat_penalty, frequency_penalty, presence_penalty, dry_multiplier, dry_base, typical,
        xtc_probability, xtc_threshold;
    int repeat_last_n, dry_allowed_length, dry_penalty_last_n;
    const char *samplers, *sampling_seq;
    struct texts logit_bias, dry_breaker;
    int64_t seed;
    bool raw, json, exact, ignore_eos, verbose, all, naive, special, no_bos, no_generation_prompt, as_ids,
        tensors, lossy, no_perf, man, profile, no_cache, raw_calls, pieces;
    uint64_t cache_size;
    uint64_t snapshots; /* bytes of them */
    uint64_t memory;    /* bytes for weights, cache and work; NO_SIZE: not given, 0: given without a size */
    bool help, help_all;
    bool appends_stdin; /* standard input continues PROMPT, which is an argument beside MODEL */
};

enum option_kind {
    FLAG,
    TEXT,
    TEXTS,  /* a TEXT that may be given again */
    MODEL,  /* a path to read, "tiny", or - */
    PATH,   /* a file to read that the library opens by its name */
    READS,  /* a file to read, - is standard input */
    WRITES, /* a file to write, - is standard output */
    CHOICE,
    SWITCH, /* a CHOICE that may be left out, which means on */
    INT,
    INTS, /* INT, or several separated by commas; kept as it is written */
    INT64,
    OFF_OR_INT, /* the word off, which is 0, or an INT */
    REAL,
    REAL_OR_0,
    SIZE,       /* bytes, with K, M, G or T for powers of 1024 */
    MAYBE_SIZE, /* a SIZE that may be left out, which means 0 */
    AMOUNT,     /* a whole number; with K, M, G or T bytes */
};

enum { MOST_NAMES = 4 };

/* A row without a name is the title, in help, of the group of rows after it. */
struct option {
    const char *names[MOST_NAMES]; /* as typed, dashes included; NULL ends a shorter list */
    enum option_kind kind;
    size_t field;      /* offset in struct options */
    uint64_t verbs;    /* those it belongs to: ON, or SELDOM */
    const char *value; /* placeholder in help; for CHOICE and SWITCH the words, separated by | */
    const char *help;
    double low, high; /* INT, REAL, REAL_OR_0, SIZE, AMOUNT, OFF_OR_INT: accepted range, both ends
                         included; TEXTS: high is how many */
};
extern const struct option option_table[];
extern const int option_count;

/* The exit codes with their meaning, ended by text NULL; the variables that are obeyed and the files that are
 * read or written unasked, each ended by name NULL. verbs: those whose man page has it; carat(1) has all. */
struct exit_text {
    int code;
    uint64_t verbs;
    const char *text;
};
extern const struct exit_text exit_texts[];
struct named_text {
    const char *name;
    uint64_t verbs;
    const char *text;
};
extern const struct named_text variable_texts[], file_texts[];
/* For the command's own help: paragraphs about what MODEL may be and about compatibility; commands as in
 * verb_text. */
extern const char model_text[], llama_text[], command_examples[];
/* Its value may be left out. */
bool may_stand_alone(const struct option *option);
/* "-n, --predict N" as help and man pages head it. */
void option_heading(char *out, size_t capacity, const struct option *option);

/* Obeys --color wherever it stands, so that it counts for what is said about the other words too. */
void options_color(int argc, char **argv);
/* Asks the library for the words that options name: levels of kernels, KV types. Before anything reads the
 * table. */
void options_words(void);
/* argv holds what follows the verb. Returns 0, or an exit code after saying why. */
int options_parse(struct options *o, enum verb verb, int argc, char **argv);
/* Does the verb have an option of that spelling? */
bool option_is_known(enum verb verb, const char *name);
/* Is the word one of the choices "a|b|c"? */
bool is_choice(const char *choices, const char *word);
/* "a, b, c" for messages; returns out. */
enum { CHOICES_TEXT = 96 };
const char *choices_text(char out[CHOICES_TEXT], const char *choices);
/* Puts a value into its field; what names the origin in messages ("option --temp", "CARAT_ARG_TEMP"). */
int option_store(struct options *o, const struct option *option, const char *what, const char *text);

/* Are the files there that options name, and can those be made that they want written? Before a model is
 * opened. An exit code. */
int check_named_files(const struct options *o);

/* environment.c: the variable that gives this option, as CARAT_ARG_TEMP; false when there is none. */
bool option_variable(char *out, size_t capacity, const struct option *option);
/* What those variables say, to be overwritten by the command line. An exit code. */
int options_environment(struct options *o, enum verb verb);

/* compat.c: options of other programs that are none here. */
struct foreign;
/* NULL when the word of n bytes is not one of them. */
const struct foreign *foreign_find(const char *word, size_t n);
/* Accepts it, or says why not. name is the spelling, attached what followed a = or NULL, next the word after
 * it or NULL; *took_next is set when that was its value. An exit code. */
int foreign_take(const struct foreign *f, const char *verb, const char *name, const char *attached,
                 const char *next, bool *took_next);
/* -ctk and -ctv together say what --kv says. An exit code. */
int settle_cache_types(struct options *o, const char *verb);

#endif
