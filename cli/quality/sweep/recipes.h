/* SPDX-License-Identifier: Apache-2.0 */
/* recipes.h: the file of recipes: a name and options of `carat convert` in each line. */
#ifndef QUALITY_SWEEP_RECIPES_H
#define QUALITY_SWEEP_RECIPES_H

#include "options/options.h"

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

#endif
