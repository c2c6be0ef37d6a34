/* SPDX-License-Identifier: Apache-2.0 */
/* backend.h: what the model and the engine ask of a backend. A backend is a table of functions over its own
 * memory: nobody else sees its instructions, threads or devices. The model calls the verbs of a pass by
 * their plain names below; they are traced there. So a new verb is an entry of the table, a function below
 * it, and one in each backend.
 *
 * What the engine needs beside a pass (memory, loading, clearing K and V, drawing, costs) is an entry alone.
 * Absence is data: a weight that is absent leaves values as they are, a matrix that is absent is not written,
 * a layer without K stores nothing and names the K and V that it reads.
 *
 * A pass decodes when it has one row of each sequence, drafts aside (ct_rows.decodes): a backend has kernels
 * and a number of threads for such passes and for the others; the pool lets the rest sleep. */
#ifndef CT_BACKEND_H
#define CT_BACKEND_H

#include "carat_device.h"
#include "carat_generate.h"
#include "carat_tools.h"
#include "quant/kv_type.h"
#include "quant/logits.h"
#include "quant/weight.h"

/* A matrix [rows][cols] of f32 in the backend's memory; the handle is the backend's own, and so is how far
 * one row lies from the next. {0}: absent, what an absent weight would have made. */
typedef struct ct_mat {
    void *handle;
    int cols, stride; /* stride: floats */
} ct_mat;

/* An attention type: what rows see and how positions turn. There is one for global layers, one for local
 * ones. */
struct ct_attn {
    int window; /* keys seen, the row's own included; 0: all before it; of a model whose rows see those behind
                     them, as many there. What a row sees is in its ct_seen */
    int head_dim; /* of the rope table */
    int rotated;  /* pairs that turn; the rest is copied */
    double rope_base, rope_factor;
};
#define CT_ATTN_TYPES 2

/* The positions that a row sees: [first, last]. */
struct ct_seen {
    int32_t first, last;
};

/* The first position that a position sees through a window; 0: it sees all before it. */
static inline int ct_first_seen(int window, int position)
{
    return window ? CT_MAX(0, position - window + 1) : 0;
}

/* The last one of n that it sees in a model whose rows see those behind them, too. */
static inline int ct_last_seen(int window, int position, int n)
{
    return window ? CT_MIN(n - 1, position + window - 1) : n - 1;
}

/* The rows of one pass: one token each, of one or several sequences, every sequence's positions ascending. */
struct ct_rows {
    int n;
    const int32_t *token;                      /* [n] */
    const int32_t *position;                   /* [n] */
    const int32_t *sequence;                   /* [n] its row of the tables of ct_kv_pool */
    const struct ct_seen *seen[CT_ATTN_TYPES]; /* [n] */
    const bool *wanted;                        /* [n] whether its logits are */
    bool decodes; /* one row of each sequence, drafts aside; may have its own threads and kernels */
};

/* Blocks of CT_KEY_BLOCK positions, each with K and V of all layers that are kept in the pool. Who holds
 * which of them is decided by model/kv_cache.c. */
struct ct_kv_pool {
    int n_blocks;
    int length;             /* entries of a sequence's table */
    int32_t *table;         /* [sequence][length] blocks: position p is in entry p / CT_KEY_BLOCK % length */
    const int32_t *kept;    /* [sequence] positions that are stored and stay as they are; NULL: none */
    size_t at, block_bytes; /* the backend's own */
};

/* K and V of one layer for all sequences. */
struct ct_kv {
    enum ct_kv_type type;
    int n_kv_head, head_dim;
    const struct ct_kv_pool *pool;
    size_t k, v;     /* where they begin in a block; the backend's own */
    int first, last; /* layers that write them */
};

/* Feed-forwards of which each row goes through a few. */
struct ct_expert {
    struct ct_weight gate, up, down;
};
struct ct_experts {
    int n, used;                    /* how many there are, and those of a row; 0: there are none */
    const struct ct_expert *expert; /* [n] of one shape */
    struct ct_weight scale;         /* [n] what each counts */
};

/* A backend must know this of the model and of the engine when it is made. */
struct ct_backend_options {
    const char *isa;        /* the most that it may use, or NULL */
    int threads;            /* 0: as many as are worth having */
    const char *decode_isa; /* the same for passes that decode, where they differ; NULL and 0: they do not */
    int decode_threads;
    bool exact;  /* exact arithmetic (NUMERICS.md section 3) */
    bool tensor; /* of a GPU: units for matrices may sum floats (section 16) */
    float norm_eps;
    int max_input; /* widest input of a product, in values */
    int max_ffn;
    int max_row;                 /* of a table whose rows are added; 0: there is none */
    int max_heads, max_head_dim; /* query heads of a layer; values of a head */
    struct {
        int n, used, cols, ffn; /* cols: what they read */
    } max_experts;              /* of a layer; n 0: none has any */
    int n_vocab;
    int n_layer;     /* that run */
    int host_layers; /* of a backend of two: the first so many are the CPU's; -1: each of the two has all */
    struct ct_attn attn[CT_ATTN_TYPES];
    /* Called when stored bytes were packed and will not be read again, from any thread. */
    void (*done_with)(void *user, const void *p, size_t bytes);
    void *user;
};

/* The part of the model that a weight belongs to: a layer, counted from the first that runs, or one of these.
 * An embedding may be the head, too. */
enum { CT_PART_EMBEDDING = -3, CT_PART_TIED, CT_PART_BEFORE = -1, CT_PART_BEHIND = INT32_MAX };

/* The most that the passes of an engine can need. */
struct ct_extent {
    int rows; /* of a pass */
    int context, sequences;
};

/* Rows [first, end) of a weight, whole panels (CT_PANEL_ROWS) but for the last one of the weight; `at`:
 * where their results begin, behind those of the range before. */
struct ct_range {
    int32_t first, end, at;
};

/* Makes a row of a weight out of the same row of another, for any thread. */
struct ct_maker {
    void (*row)(void *user, int row, const float *values, void *blocks);
    void *user;
};

/* Asked some hundred times a second during a pass; not 0 stops it at once. stop may be NULL. */
struct ct_watch {
    int (*stop)(void *user);
    void *user;
};

/* A verb that has run; what it does not take is 0. Weights and outputs may be absent. */
struct ct_event {
    const char *verb;
    double seconds;
    int n_out;
    const ct_mat *out;
    int n; /* weights that it takes */
    const struct ct_weight *const *w;
    int n_rows;          /* of a weight that only some rows are computed of; 0: all */
    int first, n_logits; /* of the head: rows among the current ones */
    float *const *logits;
    const struct ct_kv *kv;
    int attn_type;
    const struct ct_experts *experts;
};

/* The least that a verb must read and compute. */
struct ct_cost {
    int rows;       /* of the pass that it ran on */
    uint64_t bytes; /* of weights, K and V */
    uint64_t operations[CARAT_N_ARITHMETIC];
};

/* A backend says this of itself, for passes that decode and for the others. */
struct ct_backend_facts {
    const char *name, *asked, *found, *used; /* levels; asked: NULL without a limit; found: without it */
    char why[160];
    int threads;
    int rows_few, rows_many, few; /* outputs of a block: for up to `few` tokens, and for more */
    int queries, keys;            /* of a tile, of a block of keys */
};
/* The kernel and the forms that serve an operation; texts live as long as the backend. */
struct ct_serving {
    const char *layout;   /* in which a weight is read; "" without one */
    const char *input;    /* the form that its input is brought into; "": f32 as it is */
    const char *entry;    /* of the backend's kernels */
    const char *level;    /* whose table wrote it */
    const char *why_form; /* it does not read the form that is read fastest; "": it does */
    char why_level[64];   /* the level is not the processor's best; "": it is */
};

/* The part of a row's logits that is read: the k best of the ids below n, without those in `apart`; and all
 * of those in `apart`. */
struct ct_reading {
    int k;                /* 0: all logits, or those that are allowed */
    int n;                /* at most the vocabulary */
    const int32_t *apart; /* [n_apart] ascending: edited or never drawn */
    int n_apart;
    const uint64_t *allowed; /* bits of the ids of which alone something is read; NULL: of any */
    /* With k > 0: an id is drawn from the k best as this says, by the usual chain without edits, so that a
     * device may guess it, and go on. NULL: nobody knows. */
    const carat_sampling *draws;
};

/* The logits that a reading of a row has found, where a backend computes all logits. */
struct ct_few {
    const struct ct_reading *reading; /* with k > 0; NULL: all */
    float *memory;                    /* [n_vocab] of the host */
    struct ct_logits logits;          /* result, in the memory: all, or at least what is read */
};
enum { CT_FEW_BEST = 256, CT_FEW_APART = 768 }; /* the most k, and the most ids apart */

enum { CT_MOST_TOLD = 64 }; /* ids that are reported beside the one that is drawn */

struct ct_backend;
struct ct_verbs {
    void (*destroy)(struct ct_backend *b);
    /* Goes on without its device, which failed: K and V and matrices are lost, weights are not. NULL or
     * false: it cannot. */
    bool (*leave_device)(struct ct_backend *b);

    /* ---- memory: counted first, then reserved, then never allocated again ---- */

    /* Tells of a weight that pack_weight will get, before anything is laid out. E_MEMORY. */
    carat_status (*plan_weight)(struct ct_backend *b, const struct ct_weight *w, carat_error *err);
    /* True when products read the weight where it is stored, and not a copy of it. plan_part tells of such a
     * weight that is only read in parts, so many bytes at a time: loading leaves it alone. */
    bool (*stays)(const struct ct_backend *b, const struct ct_weight *w);
    void (*plan_part)(struct ct_backend *b, const struct ct_weight *w, size_t bytes);
    /* Begins a layout: what the next three gave before is forgotten. Before `reserve` nothing has an
     * address and all is only counted; the same calls afterwards lay it out. */
    void (*lay_out)(struct ct_backend *b, const struct ct_extent *e);
    ct_mat (*alloc)(struct ct_backend *b, int rows, int cols);
    /* Memory of the host beside it, aligned to 64. */
    void *(*alloc_host)(struct ct_backend *b, size_t bytes);
    /* The n_blocks blocks of a pool, with K and V of those of the n layers that are kept in it. Sets what is
     * the backend's own. */
    void (*alloc_kv)(struct ct_backend *b, struct ct_kv_pool *pool, int n, struct ct_kv *layer);
    /* Fills the bytes of plan: those of the weights, and those of what was laid out. */
    void (*count)(const struct ct_backend *b, carat_plan *plan);
    /* Takes what is counted, zeroed. E_MEMORY. */
    carat_status (*reserve)(struct ct_backend *b, carat_error *err);

    /* ---- weights ---- */

    /* Weights are brought in between these two; progress (may be NULL) hears of KiB. load_end returns false
     * when it stopped that. */
    void (*load_begin)(struct ct_backend *b, carat_progress progress, void *user);
    bool (*load_end)(struct ct_backend *b);
    /* The weight as the products read it: itself, or a copy in the backend's memory. */
    struct ct_weight (*pack_weight)(struct ct_backend *b, struct ct_weight w);
    /* Memory for a matrix that no file has: plan_made counts it, take_made takes it between load_begin and
     * load_end, in the same order. make fills such a matrix, or some of its rows, at any time from rows
     * [first, first + w->rows) of another weight as it is packed; maker NULL: rows of the same type are
     * copied. False: it was stopped, and rows are missing. */
    void (*plan_made)(struct ct_backend *b, enum ct_type type, int rows, int cols);
    struct ct_weight (*take_made)(struct ct_backend *b, enum ct_type type, int rows, int cols);
    bool (*make)(struct ct_backend *b, const struct ct_weight *w, const struct ct_weight *from, int first,
                 const struct ct_maker *maker);
    /* Says that a stored weight is not read soon: the system may drop what it keeps of it in memory. */
    void (*give_back)(struct ct_backend *b, const struct ct_weight *w);

    /* ---- blocks of K and V ---- */

    /* Copies the first n positions of a block. */
    void (*kv_copy)(struct ct_backend *b, const struct ct_kv *kv, int to, int from, int n);
    /* Positions [first, first + n) of a block in the layout of files: of each position all heads, ct_kv_bytes
     * of one position each; and back. */
    void (*kv_get)(struct ct_backend *b, const struct ct_kv *kv, int block, int first, int n, void *k,
                   void *v);
    void (*kv_put)(struct ct_backend *b, const struct ct_kv *kv, int block, int first, int n, const void *k,
                   const void *v);
    /* Nobody holds the block: its memory may go back to the system. */
    void (*kv_discard)(struct ct_backend *b, const struct ct_kv_pool *pool, int block);
    /* A sequence grows long: every token will read many blocks. */
    void (*kv_long)(struct ct_backend *b, const struct ct_kv_pool *pool);

    /* ---- a pass: what each verb does is said below ---- */

    void (*begin_pass)(struct ct_backend *b, const struct ct_rows *rows, const struct ct_watch *watch);
    bool (*end_pass)(struct ct_backend *b);
    /* False: the pass under way is stopped, and what it computed is not whole. */
    bool (*goes_on)(struct ct_backend *b);
    /* True when every K, V and logit of a row of the pass is finite, as far as it has come. */
    bool (*is_finite)(struct ct_backend *b, int row);
    void (*embed)(struct ct_backend *b, ct_mat x, const struct ct_weight *table, float scale);
    void (*embed_add)(struct ct_backend *b, ct_mat x, const struct ct_weight *table, const int32_t *row,
                      float scale, float times);
    void (*norm)(struct ct_backend *b, ct_mat y, ct_mat x, const struct ct_weight *w);
    void (*qk_norm)(struct ct_backend *b, ct_mat x, const struct ct_weight *w);
    void (*project)(struct ct_backend *b, ct_mat in, int n, const ct_mat *out,
                    const struct ct_weight *const *w);
    void (*project_geglu)(struct ct_backend *b, ct_mat out, ct_mat in, const struct ct_weight *gate,
                          const struct ct_weight *up, const struct ct_weight *reader);
    void (*experts)(struct ct_backend *b, ct_mat out, ct_mat in, ct_mat route, const struct ct_experts *e);
    void (*project_logits)(struct ct_backend *b, ct_mat in, int first, int n, float *const *to,
                           const struct ct_weight *head, float cap);
    void (*project_few)(struct ct_backend *b, ct_mat in, int first, int n, struct ct_few *few,
                        const struct ct_weight *head, float cap);
    void (*project_some)(struct ct_backend *b, ct_mat in, int first, int n, float *const *to,
                         const struct ct_weight *w, int n_ranges, const struct ct_range *range);
    void (*rope)(struct ct_backend *b, ct_mat x, int attn_type);
    void (*kv_write)(struct ct_backend *b, const struct ct_kv *kv, ct_mat k, ct_mat v);
    void (*select_rows)(struct ct_backend *b, int n, const ct_mat *m);
    void (*attend)(struct ct_backend *b, ct_mat out, ct_mat q, const struct ct_kv *kv, int attn_type,
                   float scale, float cap);
    void (*residual_norm)(struct ct_backend *b, ct_mat x, ct_mat y, const struct ct_weight *w);
    void (*scale)(struct ct_backend *b, ct_mat x, const struct ct_weight *w);
    void (*altup_predict)(struct ct_backend *b, ct_mat y, const ct_mat stream[CT_STREAMS],
                          const struct ct_weight *const w[3]);
    void (*altup_correct)(struct ct_backend *b, ct_mat y, const ct_mat stream[CT_STREAMS],
                          const struct ct_weight *const w[4]);
    void (*altup_match)(struct ct_backend *b, ct_mat y, ct_mat x);
    void (*cutoff)(struct ct_backend *b, ct_mat x, float deviations);
    void (*gelu_times)(struct ct_backend *b, ct_mat x, ct_mat up, int at);

    /* ---- beside it ---- */

    /* The next id (NUMERICS.md section 8); -1 when every id is banned. A draw with top-k gives the same id
     * for all logits as for a list with the k best that are not banned. */
    int32_t (*draw)(struct ct_backend *b, const struct ct_logits *logits, const struct ct_draw *d);
    /* The k best of at least so many, best first. */
    void (*top)(struct ct_backend *b, const struct ct_logits *logits, int k, carat_candidate *out);
    /* The places of the k best, as the kernels' select has it; place[k]. */
    int (*select)(struct ct_backend *b, int32_t *place, const struct ct_logits *logits, int k,
                  const int32_t *excluded, int n_excluded);
    /* As in kernel/kernel.h: norms of a row of a matrix that w multiplies; the test of scores, whose bar is
     * a logit that is capped when cap > 0. */
    void (*input_norms)(struct ct_backend *b, struct ct_input_norms *norms, ct_mat in, int row,
                        const struct ct_weight *w);
    int (*prune)(struct ct_backend *b, int32_t *panels, int *rows, const struct ct_prune *p, float cap);
    /* Makes logits[n] of a current row out of what project_some gave: caps them when cap > 0, and notes
     * whether they are finite. */
    void (*cap_logits)(struct ct_backend *b, int row, float *logits, int n, float cap);
    /* The entropy of the k best ids that are not excluded, k at most CT_MOST_TOLD (NUMERICS.md section 8). */
    float (*entropy)(struct ct_backend *b, const struct ct_logits *logits, int k, const int32_t *excluded,
                     int n_excluded);
    /* The logarithm of the probability of an id, and those of the k most likely ones, by all logits; k
     * likewise. */
    float (*logprob)(struct ct_backend *b, const struct ct_logits *logits, int32_t id, carat_logprob *top,
                     int k);
    /* A row of a matrix; and back. */
    void (*copy_out)(struct ct_backend *b, float *to, ct_mat m, int row);
    void (*copy_in)(struct ct_backend *b, ct_mat m, int row, const float *from);
    /* Tells what passes that decode, or the others, are made with. */
    void (*facts)(const struct ct_backend *b, bool decodes, struct ct_backend_facts *facts);
    /* Which kernel serves a verb, or "draw", with a weight as it is packed or with K and V of a type.
     * False: nothing is computed. */
    bool (*serving)(const struct ct_backend *b, bool decodes, const char *verb, const struct ct_weight *w,
                    enum ct_kv_type kv, struct ct_serving *s);
    /* The cost of a verb that has just run. */
    struct ct_cost (*cost)(const struct ct_backend *b, const struct ct_event *event);
    /* The numbers of the experts that a current row took, once the verb `experts` has just run. */
    const int32_t *(*chosen)(const struct ct_backend *b, int row);
};

/* The input of an expert's down: some columns of the rows that take it, in their order. */
struct ct_inner {
    int expert, rows, first, cols; /* columns [first, first + cols) */
    const float *x;                /* in memory of the host, stride floats a row */
    int stride;
};

/* A listener, called after every verb of a pass: taps, profiles and checks. The forward pass does not know
 * of it. */
struct ct_trace {
    void (*hook)(void *user, struct ct_backend *b, const struct ct_event *event);
    void *user;
    struct ct_trace *next;
    bool reads; /* it reads or changes the matrices that verbs made */
    bool first; /* it is called before all others */
    /* NULL, or hears inside experts what is nobody's output: from any thread, of a column from one alone. */
    void (*inner)(void *user, const struct ct_inner *inner);
};

struct ct_backend {
    struct ct_verbs verb;
    const char *isa;        /* instructions in use, in passes that do not decode */
    int threads;            /* the most of a pass */
    struct ct_trace *trace; /* the first; NULL: none */
    /* Its memory is a device's: vectors go through pack_weight, too, and logits come from project_logits and
     * project_few alone. Asking it something waits for it. */
    bool apart;
    int part;            /* of the model: what the next weights are of that are planned or packed */
    bool on_host;        /* of two that each have all: the CPU runs the next passes, else the GPU */
    bool floats_as_q8;   /* matrices of floats become Q8_0 on their way into it (model/weights_q8.c) */
    carat_error failure; /* code 0: none. The device failed: from here on no pass is whole */
    carat_error remark;  /* code 0: none. A line about passes, which are whole, for who listens */
};

/* The CPU. E_ARGUMENT (no such isa), E_MEMORY. */
carat_status ct_backend_create_cpu(struct ct_backend **b, const struct ct_backend_options *o,
                                   carat_error *err);
/* An NVIDIA GPU: device `number` of those that the driver shows, or for -1 the first that is new enough.
 * E_IO (there is no driver or no device, or it is too old), E_ARGUMENT (there are fewer devices),
 * E_UNSUPPORTED (no kernels for such a model), E_MEMORY. */
carat_status ct_backend_create_cuda(struct ct_backend **b, const struct ct_backend_options *o, int number,
                                    carat_error *err);
/* The CPU and such a GPU as one backend (backend/pair). Errors likewise. */
carat_status ct_backend_create_pair(struct ct_backend **b, const struct ct_backend_options *o, int number,
                                    carat_error *err);
/* Bytes that the CPU of such a one needs, as counted. */
size_t ct_pair_host_bytes(const struct ct_backend *b);
/* The number in "cuda:N", or -1 of "cuda". E_ARGUMENT: it is neither. */
carat_status ct_cuda_number(const char *name, int *number, carat_error *err);
/* Fills in what carat_get_device and carat_gpu_kernels say. */
carat_status ct_cuda_describe(const char *name, bool measure, carat_device *device, carat_error *err);
/* Bytes of a panel of a type in a packed file; 0: it is not packed. */
size_t ct_backend_panel_size(enum ct_type type, int cols);

/* Adds a listener, or takes it away. False: it was not there. */
void ct_trace_begin(struct ct_backend *b, struct ct_trace *trace);
bool ct_trace_end(struct ct_backend *b, struct ct_trace *trace);
/* True when somebody listens who reads matrices. */
bool ct_trace_reads(const struct ct_backend *b);

/* ---- the verbs of a pass; an absent weight or matrix leaves values as they are ---- */

double ct_trace_start(const struct ct_backend *b);
void ct_trace_stop(struct ct_backend *b, double start, struct ct_event event);

/* The matrix that an output of w is written to: as many columns of m as w has rows, or none where w is
 * absent. */
static inline ct_mat made_by(const struct ct_weight *w, ct_mat m)
{
    return w->data ? (ct_mat){m.handle, w->rows, m.stride} : (ct_mat){0};
}

/* Calls one verb of the table; the last arguments are the members of its event. */
#define CT_TRACED(b, name, arguments, ...)                                                                   \
    double start = ct_trace_start(b);                                                                        \
    (b)->verb.name arguments;                                                                                \
    ct_trace_stop(b, start, (struct ct_event){.verb = #name, __VA_ARGS__})

/* Sets the rows of the pass; later verbs act on all current rows. */
static inline void begin_pass(struct ct_backend *b, const struct ct_rows *rows, const struct ct_watch *watch)
{
    CT_TRACED(b, begin_pass, (b, rows, watch), .n = 0);
}
/* Ends the pass. False: it was stopped; then there are no logits, and K and V of its rows are not all
 * written. Not traced. */
static inline bool end_pass(struct ct_backend *b)
{
    return b->verb.end_pass(b);
}
/* x = table[token] * scale */
static inline void embed(struct ct_backend *b, ct_mat x, const struct ct_weight *table, float scale)
{
    CT_TRACED(b, embed, (b, x, table, scale), .n_out = 1, .out = &x, .n = 1, .w = &table);
}
/* x = (x + table[row[i]] * scale) * times, for row i of the pass; without a table nobody hears of it. */
static inline void embed_add(struct ct_backend *b, ct_mat x, const struct ct_weight *table,
                             const int32_t *row, float scale, float times)
{
    if (table->data) {
        CT_TRACED(b, embed_add, (b, x, table, row, scale, times), .n_out = 1, .out = &x, .n = 1, .w = &table);
    }
}
/* y = rmsnorm(x) * w; without y nobody hears of it. */
static inline void norm(struct ct_backend *b, ct_mat y, ct_mat x, const struct ct_weight *w)
{
    if (y.handle) {
        CT_TRACED(b, norm, (b, y, x, w), .n_out = 1, .out = &y, .n = 1, .w = &w);
    }
}
/* Norms each head of w->cols, in place. */
static inline void qk_norm(struct ct_backend *b, ct_mat x, const struct ct_weight *w)
{
    CT_TRACED(b, qk_norm, (b, x, w), .n_out = 1, .out = &x, .n = 1, .w = &w);
}
/* Norms each part of w->cols; without a weight nobody hears of it. */
static inline void parts_norm(struct ct_backend *b, ct_mat x, const struct ct_weight *w)
{
    if (w->data)
        qk_norm(b, x, w);
}
/* out = in * w^T; without a weight nobody hears of it. */
static inline void project(struct ct_backend *b, ct_mat out, ct_mat in, const struct ct_weight *w)
{
    if (w->data) {
        CT_TRACED(b, project, (b, in, 1, &out, &w), .n_out = 1, .out = &out, .n = 1, .w = &w);
    }
}
/* Projects one input, which is prepared once, to three outputs. */
static inline void project_qkv(struct ct_backend *b, ct_mat q, ct_mat k, ct_mat v, ct_mat in,
                               const struct ct_weight *wq, const struct ct_weight *wk,
                               const struct ct_weight *wv)
{
    const ct_mat out[] = {q, k, v};
    const struct ct_weight *const w[] = {wq, wk, wv};
    CT_TRACED(b, project, (b, in, 3, out, w), .n_out = 3, .out = out, .n = 3, .w = w);
}
/* out = gelu(in * gate^T) * (in * up^T). Unless reader is absent, its product is the next verb, and the only
 * one that reads out; so out may be kept in a form that nobody else can read but while a listener reads. */
static inline void project_geglu(struct ct_backend *b, ct_mat out, ct_mat in, const struct ct_weight *gate,
                                 const struct ct_weight *up, const struct ct_weight *reader)
{
    const struct ct_weight *const w[] = {gate, up};
    CT_TRACED(b, project_geglu, (b, out, in, gate, up, reader), .n_out = 1, .out = &out, .n = 2, .w = w);
}
/* out = the sum of what experts make of in, those that route, their logits for each row, says (NUMERICS.md
 * section 6). Without out nobody hears of it. */
static inline void experts(struct ct_backend *b, ct_mat out, ct_mat in, ct_mat route,
                           const struct ct_experts *e)
{
    const struct ct_weight *const w[] = {&e->scale};
    if (out.handle) {
        CT_TRACED(b, experts, (b, out, in, route, e), .n_out = 1, .out = &out, .n = 1, .w = w, .experts = e);
    }
}
/* to[i] = in * head^T, then cap * tanh(x / cap) when cap > 0, of current rows [first, first + n); to[n]
 * points into memory of the host, at head->rows values each. */
static inline void project_logits(struct ct_backend *b, ct_mat in, int first, int n, float *const *to,
                                  const struct ct_weight *head, float cap)
{
    CT_TRACED(b, project_logits, (b, in, first, n, to, head, cap), .n = 1, .w = &head, .first = first,
              .n_logits = n, .logits = to);
}
/* Computes the same logits as project, but writes hardly more of them to memory of the host than is read: at
 * most CT_FEW_BEST of the best, and CT_FEW_APART apart. Who listens hears of the product and gets no
 * logits. */
static inline void project_few(struct ct_backend *b, ct_mat in, int first, int n, struct ct_few *few,
                               const struct ct_weight *head, float cap)
{
    const double start = ct_trace_start(b);

    b->verb.project_few(b, in, first, n, few, head, cap);
    ct_trace_stop(b, start, (struct ct_event){.verb = "project_logits", .n = 1, .w = &head, .first = first});
}
/* Rows of the ranges alone: to[i] = in * w^T, of current rows [first, first + n), as project gives it; to[n]
 * points into memory of the host, at as many values as the ranges have rows. */
static inline void project_some(struct ct_backend *b, ct_mat in, int first, int n, float *const *to,
                                const struct ct_weight *w, int n_ranges, const struct ct_range *range)
{
    const struct ct_range *last = &range[n_ranges - 1];
    CT_TRACED(b, project_some, (b, in, first, n, to, w, n_ranges, range), .n = 1, .w = &w,
              .n_rows = last->at + last->end - last->first);
}
/* Turns every head of x by its row's position. */
static inline void rope(struct ct_backend *b, ct_mat x, int attn_type)
{
    if (x.handle) {
        CT_TRACED(b, rope, (b, x, attn_type), .n_out = 1, .out = &x, .attn_type = attn_type);
    }
}
/* Writes the rows' K and V into the cache; they are read from there. Those of positions that are kept are
 * there already. */
static inline void kv_write(struct ct_backend *b, const struct ct_kv *kv, ct_mat k, ct_mat v)
{
    if (k.handle && v.handle) {
        CT_TRACED(b, kv_write, (b, kv, k, v), .kv = kv);
    }
}
/* From here on only the rows that want logits are current; m[n] are compacted to them. */
static inline void select_rows(struct ct_backend *b, int n, const ct_mat *m)
{
    CT_TRACED(b, select_rows, (b, n, m), .n_out = 0);
}
/* out = softmax(q K^T * scale, capped when cap > 0) V over what each row sees */
static inline void attend(struct ct_backend *b, ct_mat out, ct_mat q, const struct ct_kv *kv, int attn_type,
                          float scale, float cap)
{
    CT_TRACED(b, attend, (b, out, q, kv, attn_type, scale, cap), .n_out = 1, .out = &out, .kv = kv,
              .attn_type = attn_type);
}
/* x += rmsnorm(y) * w; y is overwritten. Without y nobody hears of it. */
static inline void residual_norm(struct ct_backend *b, ct_mat x, ct_mat y, const struct ct_weight *w)
{
    if (y.handle) {
        CT_TRACED(b, residual_norm, (b, x, y, w), .n_out = 1, .out = &x, .n = 1, .w = &w);
    }
}
/* x = gelu(x) * up, of whose columns those from `at` on are taken; without x nobody hears of it. */
static inline void gelu_times(struct ct_backend *b, ct_mat x, ct_mat up, int at)
{
    if (x.handle) {
        CT_TRACED(b, gelu_times, (b, x, up, at), .n_out = 1, .out = &x);
    }
}
/* AltUp (Gemma 3n): each stream becomes what is predicted of it, by coefficients that the first one asks for,
 * and y the first of them. router and coefs are vectors of f32, row after row. */
static inline void altup_predict(struct ct_backend *b, ct_mat y, const ct_mat stream[CT_STREAMS],
                                 const struct ct_weight *norm, const struct ct_weight *router,
                                 const struct ct_weight *coefs)
{
    const struct ct_weight *const w[] = {coefs, norm, router};
    const ct_mat out[] = {y, stream[0], stream[1], stream[2], stream[3]};
    CT_TRACED(b, altup_predict, (b, y, stream, w), .n_out = 1 + CT_STREAMS, .out = out, .n = 3, .w = w);
}
/* Each stream is corrected by what y, which a layer made of the first one, has over its prediction, by
 * coefficients that y asks for; y becomes the first of them times scale, a vector. */
static inline void altup_correct(struct ct_backend *b, ct_mat y, const ct_mat stream[CT_STREAMS],
                                 const struct ct_weight *norm, const struct ct_weight *router,
                                 const struct ct_weight *coefs, const struct ct_weight *scale)
{
    const struct ct_weight *const w[] = {coefs, norm, router, scale};
    const ct_mat out[] = {y, stream[0], stream[1], stream[2], stream[3]};
    CT_TRACED(b, altup_correct, (b, y, stream, w), .n_out = 1 + CT_STREAMS, .out = out, .n = 4, .w = w);
}
/* y, in each row, gets the root mean square of x. */
static inline void altup_match(struct ct_backend *b, ct_mat y, ct_mat x)
{
    CT_TRACED(b, altup_match, (b, y, x), .n_out = 1, .out = &y);
}
/* x loses, in each row, so many deviations above its mean, and what would be negative is 0. */
static inline void cutoff(struct ct_backend *b, ct_mat x, float deviations)
{
    CT_TRACED(b, cutoff, (b, x, deviations), .n_out = 1, .out = &x);
}
/* x *= w, which is one number; without it nobody hears of it. */
static inline void scale(struct ct_backend *b, ct_mat x, const struct ct_weight *w)
{
    if (w->data) {
        CT_TRACED(b, scale, (b, x, w), .n_out = 1, .out = &x, .n = 1, .w = &w);
    }
}

#endif
