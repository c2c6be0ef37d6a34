/* SPDX-License-Identifier: Apache-2.0 */
/* logits_tap.h: `carat logits --tap`: other values of a pass than logits. */
#ifndef LOGITS_TAP_H
#define LOGITS_TAP_H

#include "carat.h"
#include "io/npy.h"

/* Evaluates ids in a session that holds nothing, and writes the values of that name to path, a row for each
 * id. Exit codes. */
int write_tap(const char *name, const char *path, carat_engine *engine, carat_session *session,
              const carat_tokens *ids, struct save *npy);

#endif
