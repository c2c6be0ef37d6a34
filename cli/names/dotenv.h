/* SPDX-License-Identifier: Apache-2.0 */
/* dotenv.h: secrets that come from the environment or from the user's own .env in the working directory, and
 * those that Kaggle asks for (kaggle.c). */
#ifndef MODEL_DOTENV_H
#define MODEL_DOTENV_H

#include <stdbool.h>

enum { MOST_SETTING = 1000 };

/* The value of a variable of the environment; where it is not set or empty, that of the last line NAME=VALUE
 * of .env, if this is a regular file that belongs to the user, for HF_TOKEN and those of Kaggle alone.
 * False, and "": neither has it. */
bool find_setting(char value[MOST_SETTING], const char *name);

/* ---- kaggle.c ---- */

enum { KAGGLE_USER = 250, KAGGLE_KEY = 1000 };

struct kaggle_credentials {
    char user[KAGGLE_USER]; /* "": the key is a token of its own */
    char key[KAGGLE_KEY];   /* "": there are none */
};
/* As Kaggle's own programs look for them. An exit code. */
int kaggle_find_credentials(struct kaggle_credentials *c);
/* "https://api.kaggle.com"; of any other host what lies below /api. For one thread. */
const char *kaggle_endpoint(void);

#endif
