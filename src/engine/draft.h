/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h: drafts that a model makes for another one: a drafter that reads its K and V, or a smaller model in
 * an engine beside it. What becomes of them: speculate.h. */
#ifndef CT_DRAFT_H
#define CT_DRAFT_H

#include "engine/engine.h"

/* Whether the engine has a drafter. */
bool ct_draft_exists(const carat_engine *e);
/* The engine of a drafter with K and V of its own, by the options of the engine that it serves: how many bytes
 * it takes, and the engine, when that has a context; 0 and none where there is no such drafter. */
carat_status ct_draft_plan(carat_engine *e, const carat_engine_options *o, carat_error *err);
carat_status ct_draft_create(carat_engine *e, const carat_engine_options *o, carat_error *err);
/* A session of it beside a new session, or one that was forked at n tokens; without memory it has no drafts. */
void ct_draft_begin(carat_session *s, carat_session *from, int n);
/* Measures what an id of a draft costs, before the first one is wanted: it is read and woken up then. */
void ct_draft_measure(carat_engine *e);
/* Puts at most k ids that may follow ids[n] into draft and returns their number. The session is claimed and
 * holds all of ids but the last one. A drafter that reads K and V has none before a pass has left a state
 * behind the last token: a session that comes out of a file. Locks are taken here. */
/* Nanoseconds that a draft takes before its first id, since its drafter has yet to see tokens of ids[n]. */
double ct_draft_lag(const carat_session *s, int n);
int ct_draft_propose(carat_session *s, const int32_t *ids, int n, int32_t *draft, int k);

#endif
