/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h: the calls of functions in what `carat run` generates: held back while they are written, then
 * JSON. */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "carat.h"

/* The state of an answer in a vocabulary without tokens for calls: calls are JSON there, and the answer is
 * none, may be calls, or is calls. */
enum json_calls { NO_JSON, MAY_BE_JSON, IS_JSON };

struct calls {
    const carat_model *model;
    const char *tools;    /* borrowed; NULL: any name and key is good */
    int32_t start, end;   /* the tokens around a call; start -1: there are none */
    size_t start_text;    /* bytes of the first one's text */
    bool as_json;         /* an answer may be calls as JSON */
    enum json_calls json; /* the answer under way */
    carat_tokens held;    /* ids of the call that is being written, or of an answer that may be JSON */
    char *text;           /* [n_text] theirs, as long as it is not known whether they are calls */
    size_t n_text;
    int first;  /* the place of held.ids[0] among all that was generated */
    int n_good; /* calls without an error in the answer */
    char *list; /* for --json: the calls so far, commas between; NULL: none */
};

/* Looks for the tokens in the model's vocabulary; without them, answers to a prompt with tools may be calls
 * as JSON. */
void calls_start(struct calls *c, const carat_model *model, const char *tools);
/* Are there calls to look for? */
bool calls_any(const struct calls *c);
/* An answer begins. */
void calls_begin(struct calls *c);
/* Is the id part of a call? Of what may become one it is. */
bool calls_take(const struct calls *c, int32_t id);
/* The text that came with an id that is held. Where it is no beginning of calls, *text[*n] is all that was
 * held, which is not held any more; it lives until the next call. An exit code. */
int calls_watch(struct calls *c, const char *piece, size_t n_piece, const char **text, size_t *n);
/* Keeps it; place is its own among what was generated. An exit code. */
int calls_hold(struct calls *c, int32_t id, int place);
/* The call that ends here: emit gets text, and with `lines` each call as a line; without, it goes to the
 * list. What is wrong with a call is also noted. Nothing is held then. An exit code. */
int calls_finish(struct calls *c, bool lines, int (*emit)(void *user, const char *text, size_t n),
                 void *user);
void calls_free(struct calls *c);

#endif
