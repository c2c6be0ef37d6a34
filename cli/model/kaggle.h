/* SPDX-License-Identifier: Apache-2.0 */
/* kaggle.h: where Kaggle is asked, and as whom. */
#ifndef MODEL_KAGGLE_H
#define MODEL_KAGGLE_H

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
