/* SPDX-License-Identifier: Apache-2.0 */
/* carat_generate.h: libcarat, between a prompt and a sentence: what a session kept and what it had to
 * evaluate once more, and the loop that draws an answer. carat.h runs a model and has the rules on threads,
 * errors and sizes, which hold here too. */
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

/* ----------------------------------------------------------- generation ----
 * A generation draws ids one after another from what its session holds: the logits are there after
 * carat_sync, carat_append or carat_load. Each id that was given is evaluated when the next one is wanted, so
 * that between steps a session holds the prompt and all given ids but the last. A generation whose session was
 * changed in between begins anew from what it holds then. Sessions, sampling and seed decide the ids; other
 * generations of a step, drafts and cancelling do not. */
typedef struct carat_generation carat_generation;

/* Why a generation ended. */
typedef enum carat_reason {
    CARAT_REASON_NONE = 0,   /* it has not */
    CARAT_REASON_STOP,       /* a stop id was drawn, which is neither given nor held */
    CARAT_REASON_LENGTH,     /* max_tokens were given, or the context is full */
    CARAT_REASON_CANCELLED,  /* carat_cancel, or the session's watch. The next step goes on */
    CARAT_REASON_CALLBACK,   /* on_token wanted no more. The next step goes on after the id that it got */
    CARAT_REASON_TOOL_CALLS, /* a stop id was drawn behind a call of a function */
    CARAT_REASON_NUMERIC,    /* the logits hold NaN or infinity; the session is empty */
} carat_reason;
/* "stop" for CARAT_REASON_STOP, "" for none; never NULL. Any thread. */
CARAT_API const char *carat_reason_name(carat_reason reason);

/* An id that a step gives, until on_token returns. */
typedef struct carat_given {
    int32_t id;
    int position; /* of the id among those of the session */
    const char
        *text; /* [n_text] in UTF-8, terminated: what the id completes, as carat_stream_text says; "" if
                         nothing. At the end carat_stream_text gives what an unfinished character left */
    size_t n_text;
    double ms;   /* milliseconds since carat_generation_create */
    int drafted; /* 1: it was proposed, and accepted */
} carat_given;
/* Nonzero ends the generation after this id. The sessions of the step are in a call meanwhile. */
typedef int (*carat_on_token)(void *user, const carat_given *given);
/* Proposes what follows ids[n]: puts up to k ids into draft and returns their number. Wrong ones cost time and
 * change no result. The sessions of the step are in a call meanwhile. */
typedef int (*carat_propose)(void *user, const int32_t *ids, int n, int32_t *draft, int k);

typedef enum { CARAT_LOOKUP_AUTO, CARAT_LOOKUP_ON, CARAT_LOOKUP_OFF } carat_lookup;
enum { CARAT_MOST_STOP_IDS = 64, CARAT_MOST_DRAFT = 7 };

typedef struct carat_generation_options {
    size_t size;
    const carat_sampling *sampling; /* copied; NULL: the model's */
    int max_tokens;                 /* ids to give; 0: until the context is full */
    const int32_t *stop_ids;        /* [n_stop_ids] copied; NULL: the model's own. At most 64, also none */
    int n_stop_ids;
    int naive;               /* 1: each step evaluates everything anew: the slow way, with the same bits */
    carat_on_token on_token; /* may be NULL */
    void *user;              /* passed to both callbacks */
    carat_lookup lookup;     /* drafts from the text itself: when they pay, always, never */
    int draft_max;           /* ids in a draft, at most CARAT_MOST_DRAFT; 0: that */
    int draft_min;           /* shorter drafts are not tried; 0: 1 */
    carat_propose propose;   /* proposes in place of the text itself; may be NULL */
} carat_generation_options;
CARAT_DEFAULT(carat_generation_options)

/* Any thread. The session must outlive the generation; one session may have several, of which one steps at a
 * time. CARAT_E_ARGUMENT (also lookup or propose with naive), CARAT_E_MEMORY. */
CARAT_API carat_status carat_generation_create(carat_generation **generation, carat_session *session,
                                               const carat_generation_options *options, carat_error *err);
/* Last call. */
CARAT_API void carat_generation_close(carat_generation *generation);

/* Advances n generations of one engine together, in one pass if its chunk has room: each gives the next id,
 * or several when a draft was right. Those that have ended by stop, length, tool calls or NaN are left alone.
 * A generation that fails ends alone, and the result is that of the first that failed: CARAT_E_CANCELLED,
 * CARAT_E_NUMERIC, CARAT_E_MEMORY (no block of K and V is free; with one the next step goes on). After
 * CARAT_E_ARGUMENT (also a session that holds no logits, or one that two generations name) and CARAT_E_BUSY
 * nothing has changed. One call a session; allocates nothing. */
CARAT_API carat_status carat_generation_step(carat_engine *engine, carat_generation *const *generations,
                                             int n, carat_error *err);
/* Steps until the generation ends. Errors as carat_generation_step. */
CARAT_API carat_status carat_generate(carat_generation *generation, carat_error *err);

/* How far a generation is. */
typedef struct carat_generation_info {
    size_t size;
    carat_reason reason;
    int given;             /* ids */
    int passes;            /* with ids of this generation */
    int drafted, accepted; /* ids */
    int context_full;      /* 1: it is the context that ended it by length */
    int32_t last;          /* the last id, which the session does not hold yet; -1: none */
} carat_generation_info;
CARAT_DEFAULT(carat_generation_info)
/* One call a session. CARAT_E_ARGUMENT, CARAT_E_BUSY. */
CARAT_API carat_status carat_generation_get_info(const carat_generation *generation,
                                                 carat_generation_info *info, carat_error *err);

#ifdef __cplusplus
}
#endif
#endif
