/* SPDX-License-Identifier: Apache-2.0 */
/* carat_generate.h: libcarat, between a prompt and a sentence: what a session kept and what it had to evaluate
 * once more. carat.h runs a model and has the rules on threads, errors and sizes, which hold here too. */
#ifndef CARAT_GENERATE_H
#define CARAT_GENERATE_H

#include "carat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------ timelines ----
 * Local layers keep K and V of the last positions only. A session that goes back to position n goes on at once
 * where they still have what n sees, else from the nearest snapshot before, else from 0; the tokens in between
 * are evaluated once more with the next ones. A snapshot keeps what local layers have at a position, by
 * reference: it costs nothing to take. One is taken after each carat_sync, every 1024 tokens of what a call
 * evaluates, and by carat_mark, as long as there are snapshot_bytes for them; then the one whose loss costs
 * fewest tokens to evaluate makes room. A fork has those of its origin; going back to before one drops it. */

/* Takes a snapshot where the session stands. Nothing happens without snapshot_bytes. One call a session.
 * CARAT_E_ARGUMENT, CARAT_E_BUSY. */
CARAT_API carat_status carat_mark(carat_session *session, carat_error *err);

/* What the last carat_sync, carat_rewind or carat_fork that made or changed the session kept. */
typedef struct carat_session_stats {
    size_t size;
    int kept;          /* tokens that it left held */
    int restored_from; /* of these, from here on K and V of local layers were gone; kept: nothing was */
    int reevaluated;   /* tokens that were evaluated once more since, of the kept - restored_from */
    int snapshots;     /* it has */
} carat_session_stats;
CARAT_DEFAULT(carat_session_stats)
/* One call a session. CARAT_E_ARGUMENT, CARAT_E_BUSY. */
CARAT_API carat_status carat_session_get_stats(const carat_session *session, carat_session_stats *stats,
                                               carat_error *err);

#ifdef __cplusplus
}
#endif
#endif
