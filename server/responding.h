/* SPDX-License-Identifier: Apache-2.0 */
/* responding.h: what a request has beside its answer when OpenAI's responses asked for it. */
#ifndef RESPONDING_H
#define RESPONDING_H

#include "buffer.h"

struct stored;

/* A run of the answer that is one item. */
struct run {
    bool thought;
    size_t from, until;           /* bytes of the thought, or of the text; the last run has the rest */
    size_t logs_from, logs_until; /* bytes of its log-probabilities, if it is text */
};

/* What a request has of its response. */
struct responding {
    struct buffer repeated; /* members of the reply that repeat the request, each behind a comma */
    struct stored *stored;  /* NULL: nothing is kept of it */
    struct buffer runs;     /* struct run of each item that has begun */
    bool is_open;           /* the last of them goes on */
    size_t logs_told;       /* bytes of log-probabilities that a stream's client may have */
    int n_events;           /* of a stream, which numbers them */
};

void responding_free(struct responding *responding); /* may be NULL */

#endif
