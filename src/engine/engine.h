/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h: what engines and sessions hold, and what the files of this room give each other. */
#ifndef CT_ENGINE_H
#define CT_ENGINE_H

#include "checkpoint/checkpoint.h"
#include "model/forward.h"
#include "os/lock.h"
#include "text/tokenizer/detokenizer.h"

#define CT_CALLER_BANNED 1024 /* ids that a caller may ban besides the model's own */

struct carat_engine {
    const struct carat_model *model; /* down to cache nothing changes after creation */
    struct ct_backend *backend;
    carat_plan plan;
    enum ct_kv_type kv_type;
    struct ct_weights weights; /* the model's, as the backend packs them */
    struct ct_kv_cache cache;

    struct ct_lock lock; /* for whatever is below, the slots of sessions excepted */
    struct ct_pass pass;
    struct ct_trace trace; /* of the backend while the engine is profiled */
    carat_profile profile;
    int32_t *token, *position, *sequence; /* [chunk] rows of the pass under way */
    float **to;                           /* [chunk] where their logits go */
    float *logits;                  /* [sessions][2][n_vocab] of each session's last token, and of its next */
    int32_t *held;                  /* [sessions][context] tokens; who claimed the session */
    int32_t *banned;                /* [n_banned + caller's] ids of a draw */
    struct carat_session **session; /* [sessions], NULL: free */
};

struct carat_session {
    struct carat_engine *engine;
    atomic_bool busy; /* a call is inside */
    int slot;
    uint32_t number;
    carat_progress progress, watch;
    void *user;
    int n;     /* tokens held */
    int floor; /* lowest position whose local K and V are still in the rings */
    bool has_logits;
    int side; /* which of its two logits are those of the last token */
    struct ct_detokenizer detokenizer;
};

/* What carat.h and carat_tools.h say of carat_engine_create and so on; options are complete. */
carat_status ct_plan_engine(const carat_model *model, const carat_engine_options *o, carat_plan *result,
                            carat_error *err);
carat_status ct_fit_engine(const carat_model *model, carat_engine_options *options, size_t bytes,
                           carat_error *err);
carat_status ct_engine_create(carat_engine **engine, const carat_model *model, const carat_engine_options *o,
                              carat_error *err);
void ct_engine_close(carat_engine *e);
carat_status ct_session_create(carat_session **session, carat_engine *engine, const carat_session_options *o,
                               carat_error *err);
void ct_session_close(carat_session *session);
int ct_session_tokens(const carat_session *session, const int32_t **tokens);
const float *ct_session_logits(const carat_session *session);
carat_status ct_sync(carat_session *session, const int32_t *tokens, int n, int *reused, carat_error *err);
carat_status ct_step(carat_engine *engine, const carat_row *rows, int n, carat_error *err);
carat_status ct_rewind(carat_session *session, int n, carat_error *err);
carat_status ct_sample(carat_session *session, const carat_sampling *o, int32_t *id, carat_error *err);
size_t ct_stream_text(carat_session *session, int32_t id, char *out, size_t capacity);
void ct_profile_begin(carat_engine *engine);
carat_status ct_profile_end(carat_engine *engine, carat_profile *profile, carat_error *err);

/* plan.c: decides everything that o leaves open and counts; reserves nothing. E_ARGUMENT, E_MEMORY (over
 * o->max_bytes). e is closed after a failure, too. */
carat_status ct_plan(struct carat_engine *e, const carat_model *model, const carat_engine_options *o,
                     carat_error *err);
/* E_MEMORY: the plan of e needs more than the memory that this process may use. */
carat_status ct_plan_fits_machine(struct carat_engine *e, const carat_engine_options *o, carat_error *err);
/* Lays out what passes and sessions need, by the plan of e. Before the backend has reserved memory that
 * only counts. */
void ct_lay_out(struct carat_engine *e);

#endif
