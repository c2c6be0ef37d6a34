/* SPDX-License-Identifier: Apache-2.0 */
/* every_row.h: a listener of an engine for whom every row of a pass goes through every layer, so that what it
 * measures does not depend on which logits somebody wants. */
#ifndef CT_EVERY_ROW_H
#define CT_EVERY_ROW_H

#include "engine/engine.h"

struct ct_every_row {
    carat_engine *engine; /* NULL: it is not listening */
    struct ct_trace trace;
    void (*select)(struct ct_backend *b, int n, const ct_mat *m); /* the backend's own */
};

/* These take the engine's lock. One listener of this kind at a time; trace: what hears; it
 * says itself whether it reads matrices beside the final norm's. */
void ct_every_row_begin(struct ct_every_row *r, carat_engine *e, struct ct_trace trace);
void ct_every_row_end(struct ct_every_row *r);
/* For the hook, once it has looked at the event: behind the final norm rows that want no logits are left out.
 * True: they are now. */
bool ct_every_row_heard(const struct ct_every_row *r, struct ct_backend *b, const struct ct_event *event);

#endif
