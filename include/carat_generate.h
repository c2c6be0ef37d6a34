/* SPDX-License-Identifier: Apache-2.0 */
/* carat_generate.h: libcarat, between a prompt and a sentence: what a session kept and what it had to
 * evaluate once more. carat.h runs a model and has the rules on threads, errors and sizes, which hold here
 * too. */
#ifndef CARAT_GENERATE_H
#define CARAT_GENERATE_H

#include "carat.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------ timelines ----
 * Local layers keep K and V of the last positions only. A session that goes back to position n goes on at
 * once where they still have what n sees, else from the nearest snapshot before, else from 0; the tokens in
 * between are evaluated once more with the next ones. A snapshot keeps what local layers have at a position,
 * by reference: it costs nothing to take. One is taken after each carat_sync, every 1024 tokens of what a
 * call evaluates, and by carat_mark, as long as there are snapshot_bytes for them; then the one whose loss
 * costs fewest tokens to evaluate makes room. A fork has those of its origin; going back to before one drops
 * it. */

/* Takes a snapshot where the session stands. Nothing happens without snapshot_bytes. One call a session.
 * CARAT_E_ARGUMENT, CARAT_E_BUSY. */
CARAT_API carat_status carat_mark(carat_session *session, carat_error *err);

/* Writes the tokens of a session, their K and V, and its logits if it has them, to a file, with n_note bytes
 * of the caller's own, at most 16 MiB; note may be NULL. What the local layers lack is evaluated first. The
 * same model, arithmetic, KV type, layers, tokens and note give the same bytes, whatever made them. The file
 * appears under its name when it is complete, and replaces an older one. One call a session. CARAT_E_ARGUMENT
 * (also when there are no tokens, or the model was read from path), CARAT_E_IO, CARAT_E_MEMORY,
 * CARAT_E_NUMERIC, CARAT_E_CANCELLED, CARAT_E_BUSY (also when another process writes the file). */
CARAT_API carat_status carat_save(carat_session *session, const char *path, const void *note, size_t n_note,
                                  carat_error *err);
/* Makes the session hold what was saved, in place of what it holds; *note (may be NULL) gets the caller's
 * own, terminated, for carat_free, and *n_note (may be NULL) its bytes. Everything is checked before: a file
 * that is refused leaves the session as it was. One call a session. CARAT_E_ARGUMENT, CARAT_E_NOT_FOUND,
 * CARAT_E_IO, CARAT_E_FORMAT (damaged), CARAT_E_UNSUPPORTED (of another model, arithmetic, KV type, layers or
 * version), CARAT_E_CONTEXT (more tokens than the context), CARAT_E_NUMERIC (NaN or infinity among its
 * numbers), CARAT_E_MEMORY (then the session is empty if no block of K and V was free), CARAT_E_BUSY. */
CARAT_API carat_status carat_load(carat_session *session, const char *path, char **note, size_t *n_note,
                                  carat_error *err);

/* What the last carat_sync, carat_rewind, carat_fork or carat_load that made or changed the session kept. */
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
