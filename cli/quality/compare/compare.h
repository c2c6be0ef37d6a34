/* SPDX-License-Identifier: Apache-2.0 */
/* compare.h: what `carat compare` is made of: who is compared (sides.c, modes.c, compare_command.c), one
 * prompt and its line of JSON (compare.c, compare_line.c), many of them (dataset*.c, results.c), what they
 * say together (summary.c, compare_table.c, report*.c). The verb is compare.c's. Lines and summaries are
 * described in QUALITY.md. */
#ifndef COMPARE_H
#define COMPARE_H

#include "carat_quality.h"
#include "model/phases.h"
#include "options/options.h"
#include "quality/compare/summary.h"
#include "term/progress.h"

enum { REF, TEST, SIDES };

/* One of the two that are compared: a model in a mode, or recorded logits. */
struct side {
    const char *path; /* of the model, or of the logits */
    struct options o; /* the command's, and what its mode says */
    char mode[256];   /* the words of it that can change a number, as --ref and --test take them */
    char word[8][64]; /* what options point to */
    int n_words;
    struct phases phases; /* carat.json beside its model */
    carat_model *model;   /* of the reference's logits: that of the test */
    bool borrowed;        /* the other side closes the model */
    carat_model_info info;
    char content[33], types[256];
    carat_engine *engine; /* NULL: recorded */
};

struct compared;
struct compare {
    const struct options *o;
    struct side side[SIDES];
    carat_compare_options options; /* the same for all prompts, but for max_tokens of text */
    carat_quality_limits limits;
    bool recorded; /* the reference is logits in files, that of --ref-logits or those of a data set's lines */
    bool quiet;    /* nothing is printed: who asks reads what DIR has */
    struct run run;
    char *command; /* that gives the same numbers */
    struct progress bar;
    size_t told, expected; /* positions of one prompt */
};

/* One prompt: what it is, and what was found. Start from {0}. */
struct compared {
    json_t *id;
    char *text;                  /* of the prompt; NULL: what its ids say */
    carat_tokens prompt, answer; /* answer: what follows, with the driver text */
    const float *recorded;       /* logits behind each id */
    int n_recorded;
    carat_position *position; /* [n] */
    size_t n, capacity;
    carat_compared end; /* its pointers are copies */
    char message[256];
    bool lost;  /* memory was out for its positions */
    bool whole; /* the text is what the prompt was: ids that end an answer end nothing */
};

/* ---- sides.c; exit codes ---- */

/* Which models and modes the options name. Opens nothing. */
int sides_name(struct compare *c);
int sides_open(struct compare *c);
/* Engines for so many sessions of so many positions. */
int sides_start(struct compare *c, int sessions, int context);
void sides_close(struct compare *c);
/* Fills run with all but the data: what QUALITY.md calls a run, who is compared and how. */
int sides_run(struct compare *c);
/* The next of the lengths of --at, "10,100", which then begin behind it; 0: there is none. */
int next_length(const char **lengths);
/* compare_command.c: the command that gives the same numbers; malloc'd. NULL: memory is out. */
char *compare_command(const struct compare *c);
/* modes.c: --ref or --test into the options of a side. `what` names the option. */
int mode_read(struct side *s, const char *what, const char *words);

/* ---- compare.c; exit codes ---- */

/* Does what the options of `carat compare` say. */
int compare_models(const struct options *o, bool quiet);
/* --limits */
int compare_limits(carat_quality_limits *l, const char *text);
/* Positions that a prompt needs, or that --ctx-size gives. */
int compare_context(const struct compare *c, const struct compared *p);
/* Prints a summary; CHECK_FAILED when it is concerning. */
int compare_tell(const struct compare *c, const struct summary *summary);

/* ---- compare_line.c ---- */

/* Callbacks of carat_compare; the prompt's user is a struct compared. */
int compared_position(void *user, void *prompt, const carat_position *position);
void compared_end(void *user, void *prompt, const carat_compared *end);
/* The prompt for the library. */
carat_compare_prompt compared_prompt(struct compared *p);
/* A finished prompt as its line of JSON, the first with the run, without the newline; malloc'd. NULL: memory
 * is out. */
char *compared_text(const struct compare *c, const struct compared *p, bool first);
void compared_free(struct compared *p);

/* ---- bisect.c; exit codes ---- */

/* Refuses two engines that cannot be bisected. */
int bisect_check(const struct compare *c);
/* Bisects the longest prompt of the data; makes engines where there are none. bisect_free frees b in any
 * case, as after the other. */
struct dataset;
int bisect_dataset(struct compare *c, struct dataset *d, int context, struct bisection *b);
/* Bisects a finished prompt and what followed it. */
int bisect_compared(struct compare *c, const struct compared *p, struct bisection *b);
void bisect_free(struct bisection *b);
int bisect_print(const struct bisection *b);

#endif
