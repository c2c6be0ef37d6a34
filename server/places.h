/* SPDX-License-Identifier: Apache-2.0 */
/* places.h: the sessions of an engine, of which each answer has one while it is drawn. Used by the drawing
 * thread alone. */
#ifndef PLACES_H
#define PLACES_H

#include "carat.h"

struct place {
    carat_session *session; /* NULL: none was made yet */
    int taken;
};

struct places {
    carat_engine *engine;
    struct place *place; /* [n] */
    int n, free;
};

/* Nonzero: there is no memory. */
int places_open(struct places *p, carat_engine *engine, int n);
void places_close(struct places *p);
/* A session for a prompt, the free one that holds most of its beginning, with room for so many positions.
 * CARAT_E_MEMORY: not so many are free. */
carat_status places_take(struct places *p, const carat_tokens *prompt, int positions, carat_session **session,
                         carat_error *err);
/* A further session that holds the first n tokens of `from`. */
carat_status places_fork(struct places *p, carat_session *from, int n, int positions, carat_session **session,
                         carat_error *err);
void places_give(struct places *p, carat_session *session);

#endif
