/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h: the verbs the model is written in, and what a backend must provide. A backend is a table of functions over
 * its own memory; cpu_backend.c fills a complete table, others copy it and overwrite what they do better, trace.c wraps any
 * table. The model sees no ISA, thread or device through it. */
#ifndef CT_BACKEND_H
#define CT_BACKEND_H

#include "base/base.h"
#include "os/pool.h"
#include "kernel/kernel.h"

/* A matrix [current rows][cols] in the backend's memory; opaque to the model. */
typedef struct ct_mat {
    void *handle;
    int cols;
} ct_mat;

/* The rows of one pass: one token each, of one or several sequences, every sequence's positions ascending. */
struct ct_rows {
    int n;
    const int32_t *token;    /* [n] */
    const int32_t *position; /* [n] */
    const int32_t *sequence; /* [n] slot of the KV cache */
    const uint8_t *want;     /* [n] 1: logits of this row are asked for */
};

/* What rows see and how positions turn: one for global layers, one for local ones. */
struct ct_kind {
    int window;   /* keys seen, the row's own included; 0: all before it */
    int head_dim; /* of the rope table */
    int rotated;  /* pairs that turn; the rest is copied */
    double rope_base, rope_factor;
};
#define CT_KINDS 2

/* K and V of one layer for all sequences: [sequence][kv head]; heads are head_bytes apart in k and in v. */
struct ct_kv {
    enum ct_kv_type type;
    int capacity, n_kv_head, head_dim;
    size_t head_bytes, sequence_bytes;
    uint8_t *k, *v;
};

struct ct_backend;
struct ct_verbs {
    const char *name;
    /* memory, decided at creation; alloc returns zeroed memory that lives as long as the backend */
    ct_mat (*alloc)(struct ct_backend *b, int rows, int cols);
    /* the weight as the backend wants it: w itself, or a copy in its memory */
    struct ct_weight (*place)(struct ct_backend *b, struct ct_weight w);
    void (*copy_out)(struct ct_backend *b, float *to, ct_mat m, int row);
    /* the pass */
    void (*begin)(struct ct_backend *b, const struct ct_rows *rows);
    void (*embed)(struct ct_backend *b, ct_mat x, const struct ct_weight *table, float scale);
    void (*norm)(struct ct_backend *b, ct_mat y, ct_mat x, const struct ct_weight *w);
    void (*head_norm)(struct ct_backend *b, ct_mat x, const struct ct_weight *w);
    void (*project)(struct ct_backend *b, ct_mat in, int n, const ct_mat *out,
                    const struct ct_weight *const *w);
    void (*project_geglu)(struct ct_backend *b, ct_mat out, ct_mat in, const struct ct_weight *gate,
                          const struct ct_weight *up);
    void (*rope)(struct ct_backend *b, ct_mat x, int kind);
    void (*store)(struct ct_backend *b, const struct ct_kv *kv, ct_mat k, ct_mat v);
    void (*pick)(struct ct_backend *b, int n, const ct_mat *m);
    void (*attend)(struct ct_backend *b, ct_mat out, ct_mat q, const struct ct_kv *kv, int kind, float scale,
                   float cap);
    void (*add_norm)(struct ct_backend *b, ct_mat x, ct_mat y, const struct ct_weight *w);
    void (*softcap)(struct ct_backend *b, ct_mat x, float cap);
};
struct ct_backend {
    struct ct_verbs verb; /* a copy, so that a derived backend overwrites single entries */
};

/* x = table[token] * scale, for every row of the pass */
static inline void embed(struct ct_backend *b, ct_mat x, const struct ct_weight *table, float scale)
{
    b->verb.embed(b, x, table, scale);
}
/* Sets the rows of the pass; later verbs act on all current rows. */
static inline void begin(struct ct_backend *b, const struct ct_rows *rows)
{
    b->verb.begin(b, rows);
}
/* y = rmsnorm(x) * w */
static inline void norm(struct ct_backend *b, ct_mat y, ct_mat x, const struct ct_weight *w)
{
    b->verb.norm(b, y, x, w);
}
/* The same over each head of w->cols, in place; nothing when w is absent. */
static inline void head_norm(struct ct_backend *b, ct_mat x, const struct ct_weight *w)
{
    if (w->data)
        b->verb.head_norm(b, x, w);
}
/* out[i] = in * w[i]^T: several outputs of one input, which is prepared once. */
static inline void project(struct ct_backend *b, ct_mat in, int n, const ct_mat *out,
                           const struct ct_weight *const *w)
{
    b->verb.project(b, in, n, out, w);
}
/* out = gelu(in * gate^T) * (in * up^T) */
static inline void project_geglu(struct ct_backend *b, ct_mat out, ct_mat in, const struct ct_weight *gate,
                                 const struct ct_weight *up)
{
    b->verb.project_geglu(b, out, in, gate, up);
}
/* Turns every head of x by its row's position. */
static inline void rope(struct ct_backend *b, ct_mat x, int kind)
{
    b->verb.rope(b, x, kind);
}
/* Writes the rows' K and V into the cache. */
static inline void store(struct ct_backend *b, const struct ct_kv *kv, ct_mat k, ct_mat v)
{
    b->verb.store(b, kv, k, v);
}
/* From here on only the rows that want logits are current; the n matrices are compacted to them. */
static inline void pick(struct ct_backend *b, int n, const ct_mat *m)
{
    b->verb.pick(b, n, m);
}
/* out = softmax(q K^T * scale, capped when cap > 0) V over what each row sees */
static inline void attend(struct ct_backend *b, ct_mat out, ct_mat q, const struct ct_kv *kv, int kind,
                          float scale, float cap)
{
    b->verb.attend(b, out, q, kv, kind, scale, cap);
}
/* x += rmsnorm(y) * w, or x += y when w is absent; y is overwritten. */
static inline void add_norm(struct ct_backend *b, ct_mat x, ct_mat y, const struct ct_weight *w)
{
    b->verb.add_norm(b, x, y, w);
}
/* x = cap * tanh(x / cap); nothing when cap is 0. */
static inline void softcap(struct ct_backend *b, ct_mat x, float cap)
{
    if (cap > 0)
        b->verb.softcap(b, x, cap);
}

/* ---- the CPU ---- */

struct ct_cpu_options {
    const struct ct_kernel *kernel;
    struct ct_pool *pool; /* borrowed; NULL while planning */
    int threads;          /* of the pool */
    bool exact;
    float norm_eps;
    int max_rows;   /* of a pass */
    int max_inputs; /* widest input of a product, in values */
    int max_ffn;
    int max_heads, max_head_dim; /* query heads of a layer; values of a head */
    int context;                 /* positions of a sequence, at most */
    struct ct_kind kind[CT_KINDS];
    /* Called when stored bytes were packed and will not be read again, from any thread; may be NULL. */
    void (*done_with)(void *user, const void *p, size_t bytes);
    void *user;
};
/* Where a CPU backend takes its memory from. base == NULL: nothing is written, taking only counts, so that the same
 * code plans and allocates. */
struct ct_memory {
    uint8_t *base; /* zeroed, 64-byte aligned */
    size_t used;
};
void *ct_memory_take(struct ct_memory *m, size_t bytes);

/* Memory of attention; cpu_attend.c says what for. */
struct ct_cpu_attention {
    struct ct_tile *tile;
    _Atomic int *left; /* [tile][KV head] parts to come of one that is split */
    float *part;       /* what they gave */
    size_t part_floats;
    float *scratch; /* [thread] */
};

struct ct_cpu_backend {
    struct ct_backend base; /* what the model gets */
    struct ct_cpu_options o;
    /* borrowed; used until creation is over */
    struct ct_memory *memory, *weights;
    struct ct_rows rows; /* current ones; the arrays below */
    int32_t *position, *sequence;
    uint8_t *want;
    double *inverse[CT_KINDS];                /* [head_dim / 2] rope frequencies */
    float *cosine[CT_KINDS], *sine[CT_KINDS]; /* [row][rotated] */
    int widest[CT_INPUT_COUNT]; /* values of the widest input in each form that placed weights ask for */
    struct ct_prepared prepared[CT_INPUT_COUNT];
    struct ct_cpu_attention attention;
    float *up;      /* [thread]: the second product of project_geglu, as far as a thread is */
    float *scratch; /* [thread][CT_SCRATCH(widest input)] */
};
/* Takes its buffers from memory and what place packs from weights; with base == NULL the backend may only be asked to alloc
 * and to place. */
void ct_cpu_backend_init(struct ct_cpu_backend *b, const struct ct_cpu_options *o, struct ct_memory *memory,
                         struct ct_memory *weights);
/* Whether place packs this weight; else it stays where it lies. */
bool ct_cpu_packs(const struct ct_cpu_options *o, const struct ct_weight *w);
/* Takes the buffers that depend on the weights. To be called once they are placed, before the first product. */
void ct_cpu_backend_finish(struct ct_cpu_backend *b);

/* ---- tracing: any backend, each verb followed by a call of the hook ---- */

/* A verb that has run; what it does not take is 0. */
struct ct_event {
    const char *verb;
    double seconds;
    const struct ct_rows *rows; /* of the pass */
    bool picked;                /* only those that want logits are left */
    int n_left;                 /* rows that the verb ran on */
    ct_mat out;                 /* the first output */
    int n;                      /* weights that it takes */
    const struct ct_weight *const *w;
    const struct ct_kv *kv;
    int kind;
};
typedef void ct_hook(void *user, struct ct_backend *inner, const struct ct_event *event);

struct ct_trace {
    struct ct_backend base; /* what the model gets */
    struct ct_backend *inner;
    ct_hook *hook;
    void *user;
    struct ct_rows rows; /* of the pass under way: the caller's arrays */
    bool picked;
    int n_left;
};
void ct_trace_init(struct ct_trace *t, struct ct_backend *inner, ct_hook *hook, void *user);

#endif
