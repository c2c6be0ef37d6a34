/* SPDX-License-Identifier: Apache-2.0 */
/* older.h: an older result of `carat bench`, and what it says of a new one. */
#ifndef BENCH_OLDER_H
#define BENCH_OLDER_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "bench/figures.h"

/* Beside the same test of an older result; without one NULL, 0 and NAN. */
struct verdict {
    const json_t *element; /* of the older result; NULL: it has no such test */
    struct spread ts;
    double ratio;   /* of the medians, new by old */
    double allowed; /* the share that noise explains */
    double lost;    /* the share of its speed that the machine itself has lost since; below 0: won */
    double taken;   /* the share of the processors' time that others have taken away since; below 0: given */
    const char *word; /* "same", "slower", ... */
};

/* Reads what --compare names, as a list of elements; an exit code, as of the next. */
int older_read(const char *option, json_t **list);
int older_refuse(const char *name, const char *why, size_t i); /* element i of the file called so */
/* A whole number from 0 on. */
bool older_number(const json_t *object, const char *key, int *value);
/* The speeds of all runs of a test; false when they are none. */
bool older_samples(const json_t *object, struct spread *spread, bool *memory);
/* Sets ratio and allowed beside v->ts, and then the word: explained is the share that the machine lost. */
void older_allow(struct verdict *v, const struct spread *now);
const char *older_word(const struct verdict *v, double explained);

#endif
