/* SPDX-License-Identifier: Apache-2.0 */
/* stored.h: responses that are remembered for a while: as many as there is room for, and those that were used
 * least recently go first. Any thread may call. */
#ifndef STORED_H
#define STORED_H

#include <stddef.h>
#include <uv.h>

#include "buffer.h"

enum { MOST_STORED = 1024, MOST_STORED_BYTES = 64 << 20, MOST_STORED_ONE = 8 << 20 };

/* A response, with what came before it: items are JSON between commas. */
struct stored {
    char id[40];
    struct buffer before, input; /* items of the responses before it, and of its own request */
    struct buffer reply;         /* the object that the client got */
    size_t output, n_output;     /* where its items stand in the reply */
    struct stored *next, **link; /* the store's */
};

struct store {
    uv_mutex_t lock;
    struct stored *first; /* the one that was used last */
    int n;
    size_t bytes;
};

int store_open(struct store *s); /* nonzero: it could not */
void store_close(struct store *s);
/* Remembers a response, and takes it over; one of more than MOST_STORED_ONE bytes is forgotten at
 * once. */
void store_put(struct store *s, struct stored *one);
/* Calls `read` with a response, while nobody changes it. False: it is not there. */
bool store_read(struct store *s, const char *id, void (*read)(void *user, const struct stored *one),
                void *user);
bool store_forget(struct store *s, const char *id); /* false: it was not there */
void stored_free(struct stored *one);               /* one that is in no store; may be NULL */

#endif
