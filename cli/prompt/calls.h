/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h: the calls of functions in what `carat run` generates: held back while they are written, then
 * JSON. */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "carat.h"

struct calls {
    const carat_model *model;
    const char *tools;  /* borrowed; NULL: any name and key is good */
    int32_t start, end; /* the tokens around a call; start -1: nothing is held back */
    size_t start_text;  /* bytes of the first one's text */
    carat_tokens held;  /* ids of the call that is being written */
    int first;          /* the place of held.ids[0] among all that was generated */
    char *list;         /* for --json: the calls so far, commas between; NULL: none */
};

/* Looks for the tokens in the model's vocabulary; without them there are no calls. */
void calls_start(struct calls *c, const carat_model *model, const char *tools);
/* Is the id part of a call? */
bool calls_take(const struct calls *c, int32_t id);
/* Keeps it; place is its own among what was generated. An exit code. */
int calls_hold(struct calls *c, int32_t id, int place);
/* The call that ends here: emit gets text, and with `lines` each call as a line; without, it goes to the
 * list. What is wrong with a call is also noted. Nothing is held then. An exit code. */
int calls_finish(struct calls *c, bool lines, int (*emit)(void *user, const char *text, size_t n),
                 void *user);
void calls_free(struct calls *c);

#endif
