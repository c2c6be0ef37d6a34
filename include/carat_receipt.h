/* SPDX-License-Identifier: Apache-2.0 */
/* carat_receipt.h: libcarat, receipts: what an answer was computed from, in a kilobyte that anybody can
 * check. carat.h runs a model and has the rules on threads, errors and sizes, which hold here too.
 *
 * The same model, prompt, settings and seed give the same ids on every machine, and the same bits of every
 * number before them. A receipt keeps a digest of these numbers for each id that was drawn (NUMERICS.md
 * section 15), with everything that decides them. Who replays it evaluates prompt and answer in the passes of
 * a prompt, draws each id anew, and gets the same digest, or the first id at which something else came out.
 *
 * Usage: carat_generation_create, carat_receipt_begin, carat_generate, carat_receipt_finish,
 * carat_receipt_write. On the other side: carat_receipt_read, carat_receipt_engine for an engine of the
 * receipt's settings, carat_receipt_replay.
 *
 * Which other sessions there are does not matter, nor how a session came to the text that it holds: answers
 * that are drawn in one pass (carat_generation_step) have a receipt each, forks, sessions out of files and
 * conversations that go back have those of fresh sessions. A text that loses its beginning under way (a
 * context that is shifted) is another text, and the record begins anew with it.
 *
 * A receipt is an in-toto Statement in the canonical form of JSON (RFC 8785), so that it can be signed as it
 * stands. It never names a machine, a path or a time. */
#ifndef CARAT_RECEIPT_H
#define CARAT_RECEIPT_H

#include "carat_constrain.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct carat_receipt carat_receipt;

enum { CARAT_RECEIPT_STEP = 64 }; /* tokens after each of which the digest is kept */

typedef struct carat_receipt_options {
    size_t size;
    const char *previous; /* digest of the answer before in the conversation; NULL: there is none */
    int is_private;       /* 1: of prompt and answer only salted SHA-256 are written */
    const void *salt;     /* [16] random bytes; with is_private */
    /* the form of the answer, where it has one: what its constraint was created from */
    const carat_constraint_options *form;
} carat_receipt_options;
CARAT_DEFAULT(carat_receipt_options)

/* Begins to keep a record of what the generation will draw. It must not have given an id yet, and draws the
 * same ids as without. Its matcher must be at the beginning of the form, and its head none that audits may
 * give up. What is not kept costs nothing: a step allocates nothing. When the session is changed
 * before the answer has ended, the record begins anew, as the generation does. One call a session.
 * CARAT_E_ARGUMENT, CARAT_E_MEMORY, CARAT_E_NUMERIC, CARAT_E_IO, CARAT_E_CANCELLED, CARAT_E_BUSY. */
CARAT_API carat_status carat_receipt_begin(carat_receipt **receipt, carat_generation *generation,
                                           const carat_receipt_options *options, carat_error *err);
/* Ends the record, before the generation is closed. An answer that was cancelled has a receipt too. One call
 * a session. CARAT_E_ARGUMENT (also an answer without an id), CARAT_E_MEMORY, CARAT_E_BUSY. */
CARAT_API carat_status carat_receipt_finish(carat_receipt *receipt, carat_error *err);
/* The receipt as a text, without a newline, for carat_free; *n (may be NULL) gets its bytes. Any thread.
 * CARAT_E_ARGUMENT (also one that is not finished), CARAT_E_MEMORY. */
CARAT_API carat_status carat_receipt_write(const carat_receipt *receipt, char **text, size_t *n,
                                           carat_error *err);
/* A receipt out of a text; name is what messages call it. Everything that can be checked without a model is.
 * Any thread. CARAT_E_ARGUMENT, CARAT_E_FORMAT, CARAT_E_UNSUPPORTED (of another version), CARAT_E_MEMORY. */
CARAT_API carat_status carat_receipt_read(carat_receipt **receipt, const char *name, const char *text,
                                          size_t n, carat_error *err);
/* NULL is allowed. Last call. */
CARAT_API void carat_receipt_close(carat_receipt *receipt);

typedef struct carat_receipt_info {
    size_t size;
    const char *content;  /* hash of the model: carat_model_content; strings live as long as the receipt */
    const char *digest;   /* of the last token, 32 digits */
    const char *previous; /* of the answer before, or "" */
    const int32_t *prompt, *answer; /* NULL: private, or unfinished */
    int n_prompt, n_answer;         /* ids */
    carat_reason reason;            /* why the answer ended */
    int is_private;
    int has_form; /* 1: replaying it takes carat_replay_options.form */
    int tokens;   /* that were drawn: n_answer, and one that ended the answer */
} carat_receipt_info;
CARAT_DEFAULT(carat_receipt_info)
/* Any thread. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_receipt_get_info(const carat_receipt *receipt, carat_receipt_info *info,
                                              carat_error *err);

/* Sets in options what an engine must have to replay the receipt: arithmetic, KV type, layers, head, room for
 * its tokens, and slices of logits for passes of a prompt; nothing else. Any thread. CARAT_E_ARGUMENT. */
CARAT_API carat_status carat_receipt_engine(const carat_receipt *receipt, carat_engine_options *options,
                                            carat_head_options *head, carat_error *err);

/* The hash of what an operation has given, in a chain over positions: of the hash before and its row of
 * float32. */
typedef struct carat_operation_hash {
    size_t size;
    int position;          /* of the last row in it */
    int layer;             /* -1: none */
    const char *operation; /* as carat_operation_error has it; static */
    char hash[33];
} carat_operation_hash;
CARAT_DEFAULT(carat_operation_hash)

enum { CARAT_MOST_TRACED = 256 };

typedef struct carat_replay_options {
    size_t size;
    int states_only; /* 1: no id is drawn, only the digest is compared: faster */
    double sample;   /* share of positions that are drawn, by sample_seed; 0: all */
    uint64_t sample_seed;
    carat_progress progress; /* of tokens; may be NULL */
    void *user;
    const int32_t *prompt, *answer; /* [n_prompt], [n_answer] of a private receipt */
    int n_prompt, n_answer;
    const carat_constraint_options *form; /* of an answer that has one */
    /* Hears behind all, with user, of every operation at positions [trace_first, trace_first + n_traced), in
     * the order in which they depend on each other. Of two machines with the same receipt and positions the
     * first hash that differs is of the operation that does; at the first position, there or before. Not 0:
     * ends. With it no id is drawn. Logits count from the first position on */
    int (*on_operation)(void *user, const carat_operation_hash *hash);
    int trace_first, n_traced; /* n_traced: 1 to CARAT_MOST_TRACED */
} carat_replay_options;
CARAT_DEFAULT(carat_replay_options)

/* The result of a replay. */
typedef struct carat_replay {
    size_t size;
    int confirmed; /* 1: every digest is the same, and every id that was drawn */
    int tokens;    /* of the answer, one that ended it too */
    int drawn;     /* of these were drawn anew */
    /* the first id that came out otherwise, as its place in the answer from 0; -1: none did */
    int differs;
    int32_t expected, computed;           /* ids; -1: none, the answer had ended */
    float logit_expected, logit_computed; /* before any link of the chain */
    /* States are the same up to here at least, and differ from the next token on or later, but before
     * states_differ; -1: they do not */
    int states_same, states_differ;
    /* why the answer ended here; NONE: it has not, or nothing was drawn. Where the receipt says that it was
     * cut off (NONE, CANCELLED, CALLBACK, NUMERIC), nothing that was drawn may have ended it. */
    carat_reason reason;
    char digest[33]; /* computed; "": not all was evaluated */
    double seconds;
} carat_replay;
CARAT_DEFAULT(carat_replay)
/* Evaluates prompt and answer of a receipt in a session of its own and compares. Nothing is evaluated before
 * all is checked: content hash, numerics and drawing versions, settings, ids, lengths. A result that differs
 * is CARAT_OK, too: result->confirmed says so. Any thread; the engine needs a free session, and its memory is
 * all that it takes besides a few hundred kilobytes, and 16 bytes for each hash of an operation.
 * CARAT_E_ARGUMENT, CARAT_E_UNSUPPORTED (another model, version, or engine than the receipt's),
 * CARAT_E_FORMAT (an id outside the vocabulary, a setting that nobody can have), CARAT_E_NOT_FOUND (a form,
 * and no tokenizer), CARAT_E_MEMORY, CARAT_E_NUMERIC, CARAT_E_IO, CARAT_E_CANCELLED. */
CARAT_API carat_status carat_receipt_replay(const carat_receipt *receipt, carat_engine *engine,
                                            const carat_replay_options *options, carat_replay *result,
                                            carat_error *err);

#ifdef __cplusplus
}
#endif
#endif
