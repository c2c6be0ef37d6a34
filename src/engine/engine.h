/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h: what engines and sessions hold, and what the files of this room give each other. */
#ifndef CT_ENGINE_H
#define CT_ENGINE_H

#include "checkpoint/checkpoint.h"
#include "model/forward.h"
#include "os/lock.h"
#include "text/tokenizer/detokenizer.h"

#define CT_CALLER_BANNED 1024 /* ids that a caller may ban besides the model's own */

/* Whole pages in memory that is not the engine's own. */
struct ct_pages {
    const uint8_t *begin, *end;
};

struct carat_engine {
    const struct carat_model *model; /* down to max_logits nothing changes after creation */
    struct ct_kernel kernel;
    struct ct_pool *pool;
    carat_plan plan;
    enum ct_kv_type kv_type;
    bool exact;
    int max_logits;          /* rows of one pass that may want logits */
    atomic_size_t fetched;   /* bytes of weights that creation has packed or asked from the disk */
    struct ct_pages *mapped; /* [n_mapped] with matrices that are not packed, ascending and apart */
    int n_mapped;

    struct ct_lock lock; /* for whatever below is written after creation, the slots of sessions excepted */
    uint8_t *kv, *work, *packed; /* three reservations: caches, activations and tables, weights in panels */
    struct ct_weights weights;   /* the model's, where the backend wants them */
    struct ct_cpu_backend backend;
    struct ct_cache cache;
    struct ct_pass pass;
    struct ct_trace trace; /* around the backend while the engine is profiled */
    carat_profile profile;
    int32_t *token, *position, *sequence; /* [chunk] rows of the pass under way */
    uint8_t *want;
    int32_t *order; /* [n_vocab] scratch of a draw */
    float *weight;
    float *logits;                  /* [sessions][n_vocab] after each session's last token; who claimed it */
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
    struct ct_detokenizer detokenizer;
};

/* plan.c: decides everything that o leaves open and counts; reserves nothing. E_ARGUMENT, E_MEMORY (over o->max_bytes). e is
 * closed after a failure, too. */
carat_status ct_plan(struct carat_engine *e, const carat_model *model, const carat_engine_options *o,
                     carat_error *err);
/* E_MEMORY: the plan of e needs more than the memory that this process may use. */
carat_status ct_plan_fits_machine(struct carat_engine *e, const carat_engine_options *o, carat_error *err);
/* Fills e by its plan: sizes into the plan, and every address relative to e->kv, e->work and e->packed (NULL: only
 * sizes). */
void ct_lay_out(struct carat_engine *e);

#endif
