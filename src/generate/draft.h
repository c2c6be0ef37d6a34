/* SPDX-License-Identifier: Apache-2.0 */
/* draft.h: drafts that a model makes for another one: a drafter that reads its K and V, or a smaller model in
 * an engine beside it. What becomes of them: speculate.h. */
#ifndef CT_DRAFT_H
#define CT_DRAFT_H

#include "engine/session.h"

/* True when the engine has a drafter. */
bool ct_draft_exists(const carat_engine *e);
/* Nanoseconds that a draft takes before its first id, since its drafter has yet to see tokens of ids[n]. */
double ct_draft_lag(const carat_session *s, int n);
/* Puts at most k ids that may follow ids[n] into draft and returns their number. The session is claimed and
 * holds all of ids but the last one. A drafter that reads K and V has none before a pass has left a state
 * behind the last token: a session that comes out of a file. Locks are taken here. */
int ct_draft_propose(carat_session *s, const int32_t *ids, int n, int32_t *draft, int k);

#endif
