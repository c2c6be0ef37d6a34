/* api.h: what the public handles hold. Shared by the files of this folder only. */
#ifndef CT_API_H
#define CT_API_H

#include "base/arena.h"
#include "os/lock.h"
#include "model/forward.h"
#include "text/chat/chat.h"
#include "text/tokenizer/detokenizer.h"
#include "text/generation_config.h"

#define CT_MAX_STOP      64
#define CT_MAX_BANNED    256  /* of the model itself */
#define CT_CALLER_BANNED 1024 /* that a caller may add */

struct carat_model {
    struct ct_file *file;
    struct ct_arena arena;
    struct ct_tokenizer *tokenizer; /* NULL: by ids only */
    struct ct_file *tokenizer_file; /* where it is from, when the caller named one apart; else NULL */
    enum ct_chat chat;
    bool chat_altered;       /* the checkpoint's own template is another one */
    const char *chat_origin; /* who published it and when, or "" */
    const char *name; /* from the file's metadata, or NULL */
    bool has_weights;
    struct ct_config config;
    struct ct_weights weights;
    carat_sampling sampling; /* the model's defaults */
    uint64_t file_bytes;     /* of all its files */
    carat_setup setup;       /* seconds */
    struct ct_store *store;  /* a packed form on its way to the disk; NULL: none */
    int32_t stop[CT_MAX_STOP], banned[CT_MAX_BANNED];
    int n_stop, n_banned;
};

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

/* Checks the size field that begins every options struct. */
/* A size in a message, to the page where that is short; plan.c. */
struct ct_size {
    char text[32];
};
struct ct_size ct_size(uint64_t bytes);
carat_status ct_check_size(size_t found, size_t expected, const char *what, carat_error *err);

#endif
