/* SPDX-License-Identifier: Apache-2.0 */
/* listener.h: who hears of each operation of an engine's passes. The forward pass knows
 * nothing of them (backend/trace.c). */
#ifndef CT_LISTENER_H
#define CT_LISTENER_H

#include "engine/engine.h"

/* Begins to hear, or ends: these take the engine's lock. trace: the hook; it says itself whether it reads
 * matrices. every_row: every row of a pass goes through every layer, so that what is measured does not depend
 * on which logits somebody wants; one such listener at a time. One that does not listen may end. */
void ct_listen(struct ct_pass_listener *l, carat_engine *e, struct ct_trace trace, bool every_row);
/* False: it did not listen. */
bool ct_listen_end(struct ct_pass_listener *l);
/* The same, for who holds the lock. */
void ct_listen_locked(struct ct_pass_listener *l, carat_engine *e, struct ct_trace trace, bool every_row);
bool ct_listen_end_locked(struct ct_pass_listener *l);
/* For the hook of one that hears every row, once it has looked at the event: behind the final norm rows that
 * want no logits are left out. True: they are now. */
bool ct_listen_selects(const struct ct_pass_listener *l, struct ct_backend *b, const struct ct_event *event);

#endif
