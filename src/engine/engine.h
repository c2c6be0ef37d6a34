/* SPDX-License-Identifier: Apache-2.0 */
/* engine.h: what engines and sessions hold, and what the files of this room give each other. */
#ifndef CT_ENGINE_H
#define CT_ENGINE_H

#include "base/arguments.h"
#include "base/base.h"
#include "carat_embed.h"
#include "carat_generate.h"
#include "checkpoint/checkpoint.h"
#include "engine/constraint.h"
#include "engine/sample/chain.h"
#include "model/drafter.h"
#include "model/head.h"
#include "model/kv_cache.h"
#include "model/vector.h"
#include "os/lock.h"
#include "quant/arithmetic.h"
#include "text/tokenizer/detokenizer.h"

/* ---- stats.c ---- */

/* What the passes of an engine did, how long they took, and what a pass of so many rows costs. All of it
 * is arithmetic on what step.c and session.c tell; the engine's lock is held, unless said otherwise. */

/* Times by their logarithm: sixteen equal parts of each octave from a microsecond on, so that the middle of a
 * part is at most 3.2 % from every time in it. */
enum { CT_TIME_OCTAVES = 28, CT_TIME_PARTS = 16 };
struct ct_times {
    uint64_t n;
    double sum, squares; /* of seconds */
    uint32_t part[CT_TIME_OCTAVES * CT_TIME_PARTS];
};
void ct_times_add(struct ct_times *t, double seconds);
/* The time below which a share of all times lies; 0 when there is none. */
double ct_times_percentile(const struct ct_times *t, double share);

/* A whole pass. */
struct ct_pass_facts {
    int rows, depth; /* depth: positions that its furthest row sees */
    double seconds;
    bool all_logits;     /* every row wants them */
    bool on_gpu, chosen; /* chosen: by what passes cost there and on the CPU */
    carat_dispatch_reason why;
    bool decodes, one_by_one; /* one_by_one: a prompt's, cut to one row */
    int drafted, reevaluated; /* of its rows */
};

/* What one kind of processor computed. */
struct ct_dispatched {
    struct ct_times times;
    uint64_t rows, by_reason[CARAT_DISPATCH_REASONS];
};

struct ct_stats {
    struct ct_times times[CARAT_ROW_BUCKETS];
    uint64_t rows[CARAT_ROW_BUCKETS];
    struct ct_dispatched by[2]; /* of the same passes: the CPU, a GPU */
    uint64_t prefill, decode, drafted, reevaluated, restored, one_by_one, snapshots_used;
    carat_costs costs;
    int depth;  /* of the latest pass */
    int single; /* passes of one row since the latest larger one, where these were cheaper */
};

/* The bucket of a number of rows. */
int ct_row_bucket(int rows);
void ct_stats_pass(struct ct_stats *s, const struct ct_pass_facts *pass);
/* E_ARGUMENT: a number of the table is not finite, or below 0. */
carat_status ct_stats_take_costs(struct ct_stats *s, const carat_costs *costs, carat_error *err);
/* Nanoseconds of a pass whose furthest row sees so many positions, as measured, or between what was measured;
 * 0: not known. */
double ct_cost_of(const carat_costs *costs, int rows, int depth, bool all_logits);
/* Which of two takes less time for such a pass; OPEN: not both are known. */
enum ct_turn { CT_TURN_OPEN, CT_TURN_HOST, CT_TURN_DEVICE };
enum ct_turn ct_faster_side(const carat_costs *costs, int rows, int depth, bool all_logits);
/* Whether a pass over n rows of a prompt would take longer than n passes of one row; says no from time to
 * time all the same, so that what was measured stays true. */
bool ct_one_by_one(struct ct_stats *s, int n, int depth);

/* The same for an engine as it stands, every row with logits. Takes the engine's lock. */
double ct_pass_cost(carat_engine *e, int rows);

/* Why passes are computed where they are: one sentence that lives as long as the engine. */
const char *ct_engine_device_why(const carat_engine *e);

/* ---- prefix.c ---- */

/* What sessions with an owner have evaluated and do not hold any more, as a tree over ids: a node has
 * those of one block of K and V of the global layers, which it holds, behind those of its parent. Only a
 * leaf may have fewer ids than a block has positions, and no node's ids are the beginning of a sibling's.
 * Snapshots of local layers belong to the node with the token before them. Nodes are as many as there are
 * blocks; when blocks are short, the leaf that was used least recently goes, with its ids. What sessions
 * hold is not here: whoever looks for a prefix asks them, too (reuse.c). The engine's lock is held. */

/* ---- snapshot.c ---- */

/* The snapshots of an engine: which there are, whose they are, which goes first. A snapshot keeps by
 * reference what the local layers have at a position, so that one can go on there without evaluating what
 * led there. It belongs to sessions that hold the tokens before it, or to a node of the tree of prefixes
 * (prefix.h) that has the last of them, or to both. Blocks are model/kv_cache.c's; tokens and positions
 * are the session's. The engine's lock is held. */

/* Tokens of a long prompt after which one is taken, and those where others of its owner may leave it
 * anywhere: with two that are so near, local layers of 512 tokens lack nothing between them. */
enum { CT_SNAPSHOT_STEP = 1024, CT_OWNED_STEP = 512 };

struct ct_snapshots {
    struct ct_kv_cache *cache;
    int32_t *position; /* [cache->snapshots] 0: there is none */
    int32_t *node;     /* [cache->snapshots] of the tree; 0: none has it */
    uint64_t *used;    /* [cache->snapshots] when an owner last used it; 0: its sessions have no owner */
    uint64_t clock;    /* uses so far */
    uint64_t taken, dropped;
    bool *of; /* [cache->snapshots][cache->sequences] whose it is: all of them held the same tokens */
};

/* Takes its memory from the cache's backend. */
void ct_snapshots_lay_out(struct ct_snapshots *s, struct ct_kv_cache *cache);
/* Keeps the position where a sequence is ready, if there is room or others may go for it. */
void ct_snapshot_take(struct ct_snapshots *s, int sequence, bool owned);
/* Drops one: of those of owners that which was not used for the longest time; where there are none, the one
 * whose loss costs its sessions fewest tokens to evaluate. False: there is none. */
bool ct_snapshots_release(struct ct_snapshots *s);
/* The row of the cache with which a sequence is ready nearest to n: its own, or that of a snapshot. */
int ct_snapshot_nearest(const struct ct_snapshots *s, int sequence, int n);
/* Somebody goes on with the one in this row of the cache, if there is one. */
void ct_snapshot_use(struct ct_snapshots *s, int row);
/* A sequence holds the tokens before one, too. */
void ct_snapshot_give(struct ct_snapshots *s, int snapshot, int sequence);
/* Sequence `to` has become the first n positions of `from`, and has its snapshots up to there. */
void ct_snapshots_share(struct ct_snapshots *s, int to, int from, int n);
/* A sequence holds n positions only, and no snapshot beyond. */
void ct_snapshots_cut(struct ct_snapshots *s, int sequence, int n, bool discard);
int ct_snapshots_of(const struct ct_snapshots *s, int sequence);
/* The position of the last one of a sequence; 0: it has none. */
int ct_snapshots_last(const struct ct_snapshots *s, int sequence);
/* A node has what a sequence holds from after `from` to `to`, and the snapshots there. */
void ct_snapshots_keep(struct ct_snapshots *s, int node, int sequence, int from, int to);
/* A node ends. */
void ct_snapshots_leave(struct ct_snapshots *s, int node);

struct ct_prefix_node {
    uint64_t owner;
    uint64_t used;               /* when somebody last came through here */
    int32_t parent, child, next; /* the first child, the next sibling; 0: none */
    int32_t block;               /* of global layers; -1: there are no such layers */
    int32_t number;              /* of that block: nodes above it */
    int32_t n;                   /* ids */
};

struct ct_prefixes {
    struct ct_kv_cache *cache;
    struct ct_snapshots *snapshots;
    int n_nodes;                 /* there may be */
    int begun, free;             /* nodes that were in use once; the first of those that are not now, or 0 */
    struct ct_prefix_node *node; /* [n_nodes + 1] the first is the parent of all beginnings */
    int32_t *ids;                /* [n_nodes + 1][CT_KEY_BLOCK] */
    uint64_t clock;              /* uses so far */
    /* what the last look-up found */
    int32_t *common; /* [n_nodes + 1] ids that a node and those above it have in common with it */
    int32_t *held;   /* [sequences] the same of sessions; -1: of another owner */
    int32_t *path;   /* [blocks of a context] of a sequence or a node, from the beginning on */
};

/* Takes its memory from the cache's backend: contexts of so many positions. */
void ct_prefixes_lay_out(struct ct_prefixes *p, struct ct_snapshots *snapshots, struct ct_kv_cache *cache,
                         int context);
/* Keeps ids[n], which a sequence holds, with its blocks, and its snapshots up to there. */
void ct_prefixes_keep(struct ct_prefixes *p, uint64_t owner, int sequence, const int32_t *ids, int n);
/* Compares all nodes of an owner with ids[n]: sets p->common. Returns the one with most in common; 0: none
 * has anything. */
int ct_prefixes_match(struct ct_prefixes *p, uint64_t owner, const int32_t *ids, int n);
/* Puts up to `most` ids into next, which stand behind n that lead to a node or through it; where there are
 * several ways, those that were used last. Returns their number. */
int ct_prefixes_behind(const struct ct_prefixes *p, int node, int n, int32_t *next, int most);
/* Somebody uses a node and those above it, whose blocks are p->path from now on. */
void ct_prefixes_use(struct ct_prefixes *p, int node);

#define CT_CALLER_BANNED 1024 /* ids that a caller may ban besides the model's own */
#define CT_MOST_APART    (CT_MAX_BANNED + CT_CALLER_BANNED + CARAT_MOST_BIASES + 512)

struct carat_engine {
    const struct carat_model *model; /* down to cache nothing changes after creation */
    struct ct_backend *backend;
    struct ct_backend *gone; /* a device that failed, whose memory of the host is the engine's; NULL: none */
    carat_error no_device;   /* why "auto" is the CPU; CARAT_OK: it is not */
    struct ct_backend_options of_backend; /* of a device: what a CPU in its place would be made with */
    carat_plan plan;
    enum ct_kv_type kv_type;
    bool exact;
    bool fast8;             /* matrices of floats are Q8_0 */
    bool tensor;            /* units of a GPU sum prompts: what computes again need not have these bits */
    bool resident, on_disk; /* the table of layer inputs, where there is one; neither: in buffers */
    int decode_chunk;       /* rows of a pass that decodes, at most */
    int host_layers;        /* with a GPU: the first so many are the CPU's */
    bool chooses;           /* the CPU and a GPU have all: what passes cost says where each is computed */
    enum ct_turn turn;      /* which of them is measured; the lock is held */
    char content[33];       /* hash of the model, once it is known; else "" */
    int first_layer;        /* of the model, that runs */
    const struct carat_model *drafting; /* the drafter that reads K and V; NULL: there is none */
    struct ct_config config;            /* the model's, with the layers that run */
    struct ct_weights weights;          /* theirs, as the backend packs them */
    struct ct_expert *expert;           /* of all their layers */
    struct ct_kv_cache cache;
    struct ct_snapshots snapshots;
    struct ct_prefixes prefixes; /* of owners, what their sessions hold no more */
    size_t kv_bytes;             /* of the pool; 0: full contexts */
    size_t snapshot_bytes;

    struct ct_lock lock; /* for what is below, but not the slots of sessions */
    struct ct_pass pass;
    struct ct_drafter drafter; /* backend NULL: there is none that reads K and V */
    carat_engine *beside;      /* of a drafter with K and V of its own; NULL: there is none */
    size_t beside_bytes;       /* what that takes */
    double draft_step;         /* nanoseconds of an id of a draft, as measured when the engine was made */
    struct ct_stats stats;
    struct ct_trace profiler, tapper; /* of the backend while the engine is profiled, or tapped */
    carat_profile profile;
    struct ct_tap *tap;                   /* NULL: none */
    struct ct_f16 *f16;                   /* NULL: results stay as they are */
    int32_t *token, *position, *sequence; /* [chunk] rows of the pass under way */
    struct ct_seen *seen[CT_ATTN_TYPES];
    bool *wanted;
    struct ct_row_of *row;
    /* of an embedder, which has nothing of what follows but `session`: no logits, no tokens that it holds */
    struct ct_vectors vectors;
    int32_t *text; /* [sessions] which input a slot of the pass is */
    struct ct_head head;
    struct ct_head_row *head_row;   /* [chunk] of a slice */
    int logits_rows;                /* rows of a slice whose logits are handed over */
    struct ct_outcome *outcome;     /* [ct_outcomes] of sessions now and after the pass, and of a slice */
    float *logits, *hidden;         /* [ct_outcomes][n_vocab], [ct_outcomes][hidden] of them */
    int32_t *held;                  /* [sessions][context] tokens; who claimed the session */
    int32_t *banned;                /* [n_banned + caller's] ids of a draw */
    struct ct_penalty penalty;      /* and those that it edits */
    struct carat_session **session; /* [sessions], NULL: free */
    carat_error not_finite;         /* why logits are not finite; CARAT_OK: nobody has asked yet */
};

/* Where a row of a pass comes from: a token of a carat_row, the number of its logits among those that are
 * wanted, and the outcome that was taken for it, or -1. */
struct ct_row_of {
    int row, token, nth, outcome;
};

/* What a pass leaves behind a token. Sessions that hold the same token share it. */
struct ct_outcome {
    int32_t holders;
    bool has_hidden;         /* what the head reads is kept; not so when it comes out of a file */
    struct ct_logits logits; /* of all ids, or of some */
    /* of some: the reading that they serve */
    int k, n, n_apart;
    int32_t apart[64];
};

/* Logits as a draw reads them, and where more of them come from. */
struct ct_draw_logits {
    struct ct_logits have;
    int outcome;                   /* that keeps them; -1: none does */
    const carat_session *session;  /* behind its last token; NULL: in the pass under way */
    const struct ct_head_row *row; /* there, number nth of the rows that want logits */
    int nth;
};

struct carat_session {
    struct carat_engine *engine;
    atomic_bool busy;   /* a call is inside */
    atomic_bool cancel; /* it should end, or the next one */
    int slot;
    uint64_t owner; /* whose sessions share what they evaluate; 0: nobody's */
    bool unsound;   /* logits behind tokens that it holds were not finite */
    carat_progress progress, watch;
    void *user;
    int n;            /* tokens held */
    unsigned changes; /* how often these tokens have changed */
    int outcome;      /* of the last token; -1: none */
    carat_session_stats stats;
    struct ct_detokenizer detokenizer;
    carat_session *beside; /* of the drafter's engine, which has seen some of its tokens; NULL: none */

    /* of its row in the step under way */
    int done;        /* tokens that are evaluated; below 0: held ones are evaluated again first */
    int again;       /* held ones that are evaluated again in this step */
    int until;       /* `done` where the step ends: the row's tokens, or fewer */
    int taking;      /* tokens of the pass under way */
    int next;        /* outcome that the pass computes for it; -1: none */
    int branch;      /* a pass ends here, since others go on differently, and a snapshot is taken; 0: none */
    int next_wanted; /* index into carat_row.wanted */
    int asked;       /* rows of logits that passes so far were asked for */
    int drafts;      /* so many of its last tokens are guessed: set and cleared by the caller */
    int most;        /* tokens that a step evaluates, held ones too; 0: all: set and cleared by the caller */
    bool stopped;    /* the call is to end */
    bool ended;      /* the row ended at token `last`, as its callback said */
    bool not_finite; /* a K, V or logit is not */
    bool cuts;       /* a row that ended forgets the tokens behind `last` */
    int last;
    int delivered;                    /* tokens whose logits were handed over */
    struct ct_reading declared;       /* what draws read of logits, as the session's options say */
    int32_t apart[CT_MOST_APART];     /* declared.apart */
    const struct ct_reading *reading; /* declared, or a generation's; NULL: all logits */
    /* In place of the row's deliver: gets what is read. The same rules. */
    int (*take)(void *user, int token, struct ct_draw_logits *logits);
};

/* The options of a caller, complete, with what they point to. */
struct ct_whole_options {
    carat_engine_options o;
    carat_head_options head;
    carat_costs costs;
};
carat_status ct_take_engine_options(struct ct_whole_options *full, const carat_engine_options *given,
                                    carat_error *err);
/* Whether they leave the device open. */
static inline bool ct_device_is_open(const carat_engine_options *o)
{
    return o->device && strcmp(o->device, "auto") == 0;
}
/* What the number of layers on a GPU is, where the CPU has all of them, too: of nobody's options. */
enum { CT_ALL_ON_BOTH = -1 };
/* Whether there is memory for that with options that leave the device open, or something else is missing. */
bool ct_both_fit(const carat_model *model, const carat_engine_options *o);
/* An engine on the device that complete options name, which is not checked. */
carat_status ct_engine_create_on(carat_engine **engine, const carat_model *model, const carat_costs *costs,
                                 const carat_engine_options *o, carat_error *err);
static inline enum ct_arithmetic ct_engine_arithmetic(const carat_engine *e)
{
    return e->exact ? CT_EXACT : e->fast8 ? CT_FAST8 : e->tensor ? CT_TENSOR : CT_FAST;
}
/* engine_weights.c: the model's weights from the first layer on that runs, as they are stored; counts them
 * for a backend; brings them into the engine's. */
struct ct_weights ct_engine_weights(const carat_engine *e);
carat_status ct_engine_plan_weights(carat_engine *e, struct ct_backend *b, carat_error *err);
carat_status ct_engine_load_weights(carat_engine *e, const carat_engine_options *o, carat_error *err);
/* stats.c: says where the next pass is computed, and why, and has it computed there. measure_sides.c: times
 * some on each, in at most two seconds, where nothing is known; e has no sessions. */
void ct_choose_side(carat_engine *e, struct ct_pass_facts *pass);
void ct_measure_sides(carat_engine *e);
/* check_device.c: E_IO: the device of e does not give the CPU's bits; whatever else an engine on it ends
 * with. */
carat_status ct_check_device(const carat_engine *e, const carat_engine_options *o, carat_error *err);
/* The engine's device failed: it goes on with the CPU, where sessions hold tokens and no K and V. False: it
 * has none, or there is no memory for it. The lock is held. */
bool ct_engine_leave_device(carat_engine *e);
void ct_tap_end(carat_engine *engine);
/* Columns of the widest matrix that a verb makes. */
int ct_widest_output(const carat_engine *engine);
/* From now on, and until the engine is closed, results of verbs are rounded to f16. E_MEMORY. */
carat_status ct_f16_begin(carat_engine *engine, carat_error *err);
void ct_f16_end(carat_engine *engine);
/* Whether that made the last pass infinite; then *why says where. */
bool ct_f16_explains(const carat_engine *engine, carat_error *why);

/* embed_pass.c */
carat_status ct_embed(carat_engine *engine, carat_embed_input *inputs, int n,
                      const carat_embed_options *options, carat_error *err);

/* The inner forms of public functions, for who has claimed the session; ct_step claims its rows' sessions
 * itself. Pointers are not NULL. */
carat_status ct_step(carat_engine *engine, carat_row *rows, int n, carat_error *err);
carat_status ct_sync(carat_session *s, const int32_t *tokens, int n, int *reused, carat_error *err);
carat_status ct_rewind(carat_session *s, int n, carat_error *err);
void ct_mark(carat_session *session);
carat_status ct_top(carat_session *session, int k, carat_candidate *out, carat_error *err);

/* engine.c: decides everything that o leaves open and counts; reserves nothing. E_ARGUMENT, E_MEMORY (over
 * o->max_bytes). e is closed after a failure, too. */
carat_status ct_plan(struct carat_engine *e, const carat_model *model, const carat_engine_options *o,
                     carat_error *err);
/* E_MEMORY: the plan of e needs more than the memory that this process may use. */
carat_status ct_plan_fits_machine(struct carat_engine *e, const carat_engine_options *o, carat_error *err);

/* profile.c: where in its layer a weight of the engine is, in bytes; CT_NO_LAYER: beside the layers. */
enum { CT_NO_LAYER = -2 };
int ct_weight_place(const carat_engine *e, const struct ct_weight *weight);

/* session.c; the engine's lock is held for all but the first. */
static inline int32_t *ct_held_tokens(const carat_session *s) /* [context] */
{
    return s->engine->held + (size_t)s->slot * (size_t)s->engine->plan.context;
}
/* So many tokens will come: memory of long sessions is asked for in huge pages. */
void ct_session_grows(const carat_session *s, int more);
/* Begins the statistics of a call: what the session keeps. */
void ct_session_kept(carat_session *s);
/* Makes it hold its first n tokens only. Logits and text stay as they are. */
void ct_session_cut(carat_session *s, int n);
/* What it holds stays for others of its owner, who may come, when it is about to forget it. */
void ct_session_leave(carat_session *s);
/* Makes it hold nothing; discard: its memory goes back to the system. */
void ct_session_empty(carat_session *s, bool discard);

/* outcome.c: what is known of the logits behind a token; the engine's lock is held. */
static inline size_t ct_outcomes(const carat_engine *e)
{
    return 2 * (size_t)e->plan.sessions + (size_t)e->logits_rows;
}
/* One that nobody holds, with nothing known; and lets go of one, if there is one. */
int ct_outcome_take(carat_engine *e);
void ct_outcome_drop(carat_engine *e, int *outcome);
/* Memory for all its logits, and for its hidden state. */
float *ct_outcome_memory(const carat_engine *e, int outcome);
float *ct_outcome_hidden(const carat_engine *e, int outcome);
/* The hidden state that is kept for it; NULL: none is, or there is no outcome. */
const float *ct_outcome_state(const carat_engine *e, int outcome);
/* Keeps what a head gave for it. */
void ct_outcome_keep(carat_engine *e, int outcome, const struct ct_head_row *row);
/* Makes a claimed session have what is read of the logits behind its last token; reading NULL: all. The
 * engine's lock is held as long as they are looked at, unless they are all: a session that shares the token
 * may have more of them computed, in the same memory. E_ARGUMENT: there are none, E_NUMERIC. */
carat_status ct_session_read(const carat_session *s, const struct ct_reading *reading,
                             struct ct_logits *logits, carat_error *err);
/* Has more of them computed where those that there are do not serve a reading, in the same memory. The
 * engine's lock is held. False: they are not finite. */
bool ct_draw_more(carat_engine *e, struct ct_draw_logits *l, const struct ct_reading *reading);
/* E_NUMERIC: says why logits are not finite. The first who asks, with err, has all weights read. */
carat_status ct_fail_not_finite(carat_engine *e, carat_error *err);
/* The ids that are never drawn: the model's own, then those of a sampling; ids has room for CT_MOST_APART.
 * Returns their number. */
int ct_never_drawn(const carat_engine *e, const carat_sampling *o, int32_t *ids);
/* What draws behind held[first] ... held[last] read, tokens held before them; apart has room for
 * CT_MOST_APART ids. held NULL: the tokens are not known yet. */
struct ct_reading ct_reading_of(const carat_engine *e, const carat_sampling *o, const int32_t *held,
                                int first, int last, int32_t *apart);

/* session.c: lets a call into a session until it releases it; a reader, too. E_ARGUMENT: it is NULL; E_BUSY:
 * another call is inside. */
carat_status ct_session_claim(const carat_session *session, carat_error *err);
carat_status ct_session_release(const carat_session *s, carat_status status); /* returns the status */
/* The caller's sampling, complete and checked; given NULL: the model's. *chain is its chain, if it has one.
 * E_ARGUMENT: a value is out of range. */
carat_status ct_take_sampling(const carat_engine *e, carat_sampling *full, carat_chain *chain,
                              const carat_sampling *given, carat_error *err);
/* draw.c: the id that comes behind held[n], by these logits, which serve the reading of the sampling; -1:
 * every id is banned, or each that fits, or more logits were needed and are not finite. *fit: whether the id
 * that was drawn first fits. The engine's lock is held. */
int32_t ct_draw(carat_engine *e, struct ct_draw_logits *logits, const carat_sampling *o,
                const struct ct_draw_form *form, const int32_t *held, int n, enum ct_fit *fit);
/* What a device may guess of that: the sampling, if these logits alone decide and no form is asked; else
 * NULL. */
const carat_sampling *ct_draws_alone(const carat_sampling *o);
#define CT_ALL_BANNED "every id is banned"
#define CT_NONE_FITS  "every id that the form of the answer allows is banned"

/* timeline_write.c: sets e->content, the hash of the model that it runs: what a packed file keeps, else every
 * weight is read, once. The engine's lock is held. E_MEMORY. */
carat_status ct_engine_content(carat_engine *e, carat_error *err);

/* prompt.c: makes the session hold what it has of tokens[n] and nothing else: tokens[*held ... n) are to be
 * evaluated, at least the last one unless the session has its logits. Errors as carat_sync. */
carat_status ct_keep_prefix(carat_session *s, const int32_t *tokens, int n, int *held, carat_error *err);

/* step.c: E_ARGUMENT: an id is outside the vocabulary. */
carat_status ct_check_ids(const carat_session *s, const int32_t *tokens, int n, carat_error *err);
/* reuse.c: makes a claimed session with an owner, which has the first `common` of tokens[n], hold more of
 * them where others of its owner have them and one can go on further on; returns how many it has then. */
int ct_reuse(carat_session *s, const int32_t *tokens, int n, int common);

/* step.c: evaluates rows whose sessions are claimed and sets their statuses; returns that of the first that
 * failed. reports: the progress of the only row's session hears of each pass. */
carat_status ct_evaluate(carat_engine *engine, carat_row *rows, int n, bool reports, carat_error *err);

#endif
