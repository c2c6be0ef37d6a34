/* SPDX-License-Identifier: Apache-2.0 */
/* sweep.h: what `carat sweep` is made of: the recipes (recipes.c), what is made of one and kept of it
 * (sweep_made.c), which are recommended (sweep_judge.c), and how all of it is told: sweep_tell.c in words,
 * sweep_page.c as a page. The verb is sweep.c's. QUALITY.md has the formats and the rules. */
#ifndef SWEEP_H
#define SWEEP_H

#include <stdio.h>

#include "carat.h"
#include "options/options.h"
#include "quality/compare/summary.h"

/* ---- recipes.c: the file of recipes: a name and options of `carat convert` in each line ---- */

struct recipe {
    char *name;   /* of letters, digits, dots, lines and dashes */
    char *text;   /* the options as the file has them */
    int line;     /* from 1 */
    char *path;   /* of what is made */
    char *memory; /* of the words that are options */
    char **word;
    int n_words;
    struct options options; /* of convert */
};

struct recipes {
    struct recipe *of; /* [n] */
    int n;
};

/* Reads the whole file before anything is made; "-" is standard input. What is wrong is named with file and
 * line. dir: where what is made of model goes. An exit code. */
int recipes_read(struct recipes *r, const char *file, const char *model, const char *dir);
void recipes_free(struct recipes *r);
/* From here on messages begin with the recipe's place; NULL: no more. */
void recipe_speaks(const char *file, const struct recipe *r);

/* The options of `carat sweep`. */
struct sweep_options {
    const char *recipes;
    bool keep;
    double max_kl; /* NAN: not given */
    int n_prompt, n_gen, repetitions;
};

enum advice { RECOMMENDED, BEST_OF_SIZE, ACCEPTABLE, NOT_RECOMMENDED, N_ADVICE };

/* The model that a recipe made, or the model itself. */
struct made {
    const char *name, *text;                         /* text NULL: the model itself */
    uint64_t bytes;                                  /* of all tensors */
    double bits;                                     /* of a weight */
    double prompt, prompt_noise, steps, steps_noise; /* tokens a second, deviation; NAN: not timed */
    double others;           /* processors that other work kept busy while it was timed; NAN: not known */
    double seconds;          /* that writing took */
    struct summary *summary; /* of the comparison; NULL: the model itself */
    enum advice advice;
    bool best; /* of its size: none that is as small, the model itself included, is as near */
};

struct sweep {
    const struct options *o;
    const char *dir;
    struct recipes recipes;
    carat_model *model;
    char content[33];
    char data[17];             /* a hash of the data set's file */
    struct made source, *made; /* [recipes.n] */
    int chosen;                /* the smallest within --max-kl; -1: none */
    struct {
        bool there;
        double limit;
        const char *smallest;
    } max_kl;                        /* the same for programs */
    const struct run_data *compared; /* on what */
    int code;                        /* of prompts that failed */
};

/* ---- sweep_made.c; exit codes ---- */

/* Times the model itself, or takes what DIR has of it. */
int made_of_model(struct sweep *s);
/* Makes, times and compares recipe i, or takes what DIR has of it. */
int made_by_recipe(struct sweep *s, int i);

/* ---- sweep_judge.c ---- */

void sweep_judge(struct sweep *s);
/* Why no recipe is recommended. */
const char *sweep_why_none(const struct sweep *s);
extern const char *const advice_words[N_ADVICE];
/* The mean KL of what a recipe made; NAN: nothing was compared. */
double kl_of(const struct made *m);

/* ---- sweep_tell.c ---- */

extern const struct field sweep_fields[];
void sweep_print(const struct sweep *s);
/* Were its speeds measured beside other work? */
bool was_loaded(const struct made *m);

/* ---- sweep_page.c ---- */

int sweep_page(const struct sweep *s, const char *path);
/* sweep_tensors.c: its last part. */
void sweep_tensors(FILE *f, const struct sweep *s);

#endif
