/* SPDX-License-Identifier: Apache-2.0 */
/* slots.h: the sessions of an engine that answers get, with memory for what they may come to hold. What a
 * session held stays in the engine's tree of prefixes when its place is given back. Used by the drawing
 * thread alone. */
#ifndef SLOTS_H
#define SLOTS_H

#include "request.h"

/* A session for an answer, with memory for so many positions; 0: promised later. CARAT_E_MEMORY: there is no
 * place, or not so much memory. */
carat_status slot_take(carat_engine *engine, int positions, carat_session **session, carat_error *err);
/* Instead of one that was taken, *session becomes what `from` holds, with memory for so many positions.
 * CARAT_E_MEMORY: *session is NULL. */
carat_status slot_fork(carat_session *from, int positions, carat_session **session, carat_error *err);
void slot_give(carat_session **session); /* leaves NULL */

/* What a further answer has to be promised, of so many positions, as long as the prompt of n tokens is under
 * way: the blocks that it fills will be shared, one is for what is written behind them. */
int slot_behind(int n, int positions);

/* What others have of a prompt, as carat_find_prefix. */
carat_status slot_find(carat_engine *engine, const carat_tokens *prompt, carat_prefix *prefix, int32_t *next,
                       int most);

/* Blocks of K and V that the answers to a request may need at once, to one prompt after another, and those
 * that an engine without sessions has for so many of them. */
enum { SLOT_BLOCK = 256 }; /* positions */
int slots_blocks(const struct request *request);
int slots_count(carat_engine *engine, int sessions);

#endif
