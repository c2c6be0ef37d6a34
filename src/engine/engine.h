/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h: what an engine holds, how it is planned and made. Sessions: session.h. */
#ifndef CT_ENGINE_H
#define CT_ENGINE_H

#include "base/arguments.h"
#include "base/base.h"
#include "carat_embed.h"
#include "carat_generate.h"
#include "checkpoint/checkpoint.h"
#include "engine/constraint.h"
#include "engine/prefix.h"
#include "engine/chain.h"
#include "engine/stats.h"
#include "model/drafter.h"
#include "model/head.h"
#include "model/vector.h"
#include "os/lock.h"
#include "quant/arithmetic.h"

#define CT_CALLER_BANNED 1024 /* ids that a caller may ban besides the model's own */
#define CT_MOST_APART    (CT_MAX_BANNED + CT_CALLER_BANNED + CARAT_MOST_BIASES + 512)

/* Who hears of each operation of passes (listen/listener.h). */
struct ct_pass_listener {
    carat_engine *engine; /* NULL: it does not listen */
    struct ct_trace trace;
    void (*select)(struct ct_backend *b, int n, const ct_mat *m); /* the backend's own; NULL: in its place */
};

/* The sides that compute passes. */
struct ct_sides {
    struct ct_backend *gone; /* a device that failed, whose memory of the host is the engine's; NULL: none */
    carat_error no_device;   /* why "auto" is the CPU; CARAT_OK: it is not */
    struct ct_backend_options of_backend; /* of a device: what a CPU in its place would be made with */
    int host_layers;                      /* with a GPU: the first so many are the CPU's */
    bool chooses;      /* the CPU and a GPU have all: what passes cost says where each is computed */
    enum ct_turn turn; /* which of them is measured; the lock is held */
};

/* The rows of the pass under way, [chunk] of each. */
struct ct_pass_rows {
    int32_t *token, *position, *sequence;
    struct ct_seen *seen[CT_ATTN_TYPES];
    bool *wanted;
    struct ct_row_of *from;
};

/* Who drafts by a model. */
struct ct_draft_models {
    const struct carat_model *model; /* the drafter that reads K and V; NULL: there is none */
    struct ct_drafter reader;        /* its step; backend NULL: there is none */
    carat_engine *beside;            /* of a drafter with K and V of its own; NULL: there is none */
    size_t beside_bytes;             /* what that takes */
    double step_ns;                  /* nanoseconds of an id of a draft, measured when the engine was made */
};

/* Logits that stay of passes (row_logits.h): of sessions now and after the pass, and of a slice of the
 * head. */
struct ct_kept_logits {
    int slice;                 /* rows of a slice whose logits are handed over */
    struct ct_row_logits *row; /* [ct_row_logits_count] */
    float *logits, *hidden;    /* [ct_row_logits_count][n_vocab], [...][hidden] */
};

struct carat_engine {
    const struct carat_model *model; /* down to cache nothing changes after creation */
    struct ct_backend *backend;
    struct ct_sides sides;
    carat_plan plan;
    enum ct_kv_type kv_type;
    bool exact;
    bool fast8;                /* matrices of floats are Q8_0 */
    bool tensor;               /* units of a GPU sum prompts: what computes again need not have these bits */
    bool resident, on_disk;    /* the table of layer inputs, where there is one; neither: in buffers */
    int decode_chunk;          /* rows of a pass that decodes, at most */
    char content[33];          /* hash of the model, once it is known; else "" */
    int first_layer;           /* of the model, that runs */
    struct ct_config config;   /* the model's, with the layers that run */
    struct ct_weights weights; /* theirs, as the backend packs them */
    struct ct_expert *expert;  /* of all their layers */
    struct ct_kv_cache cache;
    struct ct_snapshots snapshots;
    struct ct_prefixes prefixes; /* of owners, what their sessions hold no more */
    size_t kv_bytes;             /* of the pool; 0: full contexts */
    size_t snapshot_bytes;

    struct ct_lock lock; /* for what is below, but not the slots of sessions */
    struct ct_pass pass;
    struct ct_pass_rows rows;
    struct ct_draft_models drafts;
    struct ct_stats stats;
    struct ct_pass_listener profiler;
    carat_profile profile;
    struct ct_pass_listener *tap; /* freed with the engine; NULL: none */
    struct ct_f16 *f16;           /* NULL: results stay as they are */
    /* of an embedder, which has nothing of what follows but `session`: no logits, no tokens that it holds */
    struct ct_vectors vectors;
    int32_t *text; /* [sessions] which input a slot of the pass is */
    struct ct_head head;
    struct ct_head_row *head_row; /* [chunk] of a slice */
    struct ct_kept_logits kept;
    int32_t *held;                  /* [sessions][context] tokens; who claimed the session */
    int32_t *banned;                /* [n_banned + caller's] ids of a draw */
    struct ct_penalty penalty;      /* and those that it edits */
    struct carat_session **session; /* [sessions], NULL: free */
    carat_error not_finite;         /* why logits are not finite; CARAT_OK: nobody has asked yet */
};

/* The options of a caller, complete, with what they point to. */
struct ct_whole_options {
    carat_engine_options o;
    carat_head_options head;
    carat_costs costs;
};
carat_status ct_take_engine_options(struct ct_whole_options *full, const carat_engine_options *given,
                                    carat_error *err);
/* True when the options leave the device open. */
static inline bool ct_device_is_open(const carat_engine_options *o)
{
    return o->device && strcmp(o->device, "auto") == 0;
}
/* Stands for the number of layers on a GPU where the CPU has all of them, too; no caller's options say it. */
enum { CT_ALL_ON_BOTH = -1 };
/* True when there is memory for that with options that leave the device open, or when something else is
 * missing. */
bool ct_both_fit(const carat_model *model, const carat_engine_options *o);
/* An engine on the device that complete options name, which is not checked. */
carat_status ct_engine_create_on(carat_engine **engine, const carat_model *model, const carat_costs *costs,
                                 const carat_engine_options *o, carat_error *err);
static inline enum ct_arithmetic ct_engine_arithmetic(const carat_engine *e)
{
    return e->exact ? CT_EXACT : e->fast8 ? CT_FAST8 : e->tensor ? CT_TENSOR : CT_FAST;
}
/* Nanoseconds of a pass of so many rows as the engine stands, every row with logits; 0: not known. Takes the
 * engine's lock. */
double ct_pass_cost(carat_engine *e, int rows);
/* Why passes are computed where they are: one sentence that lives as long as the engine. */
const char *ct_engine_device_why(const carat_engine *e);
/* engine_weights.c: the model's weights from the first layer on that runs, as they are stored; counts them
 * for a backend; brings them into the engine's. */
struct ct_weights ct_engine_weights(const carat_engine *e);
carat_status ct_engine_plan_weights(carat_engine *e, struct ct_backend *b, carat_error *err);
carat_status ct_engine_load_weights(carat_engine *e, const carat_engine_options *o, carat_error *err);
/* The place of an engine's weight in its layer, in bytes; CT_NO_LAYER: beside the layers. */
enum { CT_NO_LAYER = -2 };
int ct_weight_place(const carat_engine *e, const struct ct_weight *weight);
/* Columns of the widest matrix that a verb makes. */
int ct_widest_output(const carat_engine *engine);
/* stats.c: says where the next pass is computed, and why, and has it computed there. */
void ct_choose_side(carat_engine *e, struct ct_pass_facts *pass);
/* The engine's device failed: it goes on with the CPU, where sessions hold tokens and no K and V. False: it
 * has none, or there is no memory for it. The lock is held. */
bool ct_engine_leave_device(carat_engine *e);
/* From now on, and until the engine is closed, results of verbs are rounded to f16. E_MEMORY. */
carat_status ct_f16_begin(carat_engine *engine, carat_error *err);
void ct_f16_end(carat_engine *engine);
/* True when that made the last pass infinite; then *why says where. */
bool ct_f16_explains(const carat_engine *engine, carat_error *why);

/* embed_pass.c */
carat_status ct_embed(carat_engine *engine, carat_embed_input *inputs, int n,
                      const carat_embed_options *options, carat_error *err);

/* engine.c: decides everything that o leaves open and counts; reserves nothing. E_ARGUMENT, E_MEMORY (over
 * o->max_bytes). e is closed after a failure, too. */
carat_status ct_plan(struct carat_engine *e, const carat_model *model, const carat_engine_options *o,
                     carat_error *err);
/* E_MEMORY: the plan of e needs more than the memory that this process may use. */
carat_status ct_plan_fits_machine(struct carat_engine *e, const carat_engine_options *o, carat_error *err);

/* timeline_write.c: sets e->content, the hash of the model that it runs: what a packed file keeps, else every
 * weight is read, once. The engine's lock is held. E_MEMORY. */
carat_status ct_engine_content(carat_engine *e, carat_error *err);

#endif
