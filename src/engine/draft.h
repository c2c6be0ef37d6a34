/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h: drafts that a model makes for another one. What becomes of them: speculate.h. */
#ifndef CT_DRAFT_H
#define CT_DRAFT_H

#include "engine/engine.h"

/* Whether the engine has a drafter. */
bool ct_draft_exists(const carat_engine *e);
/* Measures what an id of a draft costs, before the first one is wanted: it is read and woken up then. */
void ct_draft_measure(carat_engine *e);
/* Puts at most k ids that may follow ids[n] into draft and returns their number. The session is claimed and
 * holds all of ids but the last one. It has no draft before a pass has left a state behind its last token:
 * a session that comes out of a file has none. The engine's lock is taken for each step. */
/* Nanoseconds that a draft takes before its first id, since its drafter has yet to see tokens of ids[n]. */
double ct_draft_lag(const carat_session *s, int n);
int ct_draft_propose(carat_session *s, const int32_t *ids, int n, int32_t *draft, int k);

#endif
