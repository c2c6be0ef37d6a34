/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_backend.h: what the files of the CPU backend share.
 *
 * Rows of activations lie whole lines apart, and never a multiple of 4 KiB (ct_stride): columns of results
 * would fall into one set of the first cache. */
#ifndef CT_CPU_BACKEND_H
#define CT_CPU_BACKEND_H

#include <stdatomic.h>

#include "backend/backend.h"
#include "kernel/kernel.h"
#include "os/fp_environment.h"
#include "os/pool.h"

/* A reservation from which memory is taken front to back. base == NULL: it is only counted. */
struct ct_cpu_memory {
    uint8_t *base;
    size_t used, size; /* size: of the reservation */
};

/* Whole pages of a mapped file. */
struct ct_pages {
    const uint8_t *begin, *end;
};

/* Memory of attention; cpu_attend.c says what for. */
struct ct_cpu_attention {
    struct ct_tile *tile;
    _Atomic int *left; /* [tile][KV head] parts to come of one that is split */
    float *part;       /* what they gave */
    size_t part_floats;
    float *scratch; /* [thread] */
};

/* Memory of experts; cpu_experts.c says what for. */
struct ct_cpu_experts {
    int32_t *id, *at, *first;   /* [row][used], the same by expert, [expert + 1] where it begins there */
    float *weight;              /* [row][used] */
    struct ct_cpu_group *group; /* [expert] */
    void *in, *wide;            /* inputs that are prepared */
    int capacity;               /* rows that they have room for */
    int n_used, n_rows;         /* experts that the rows of the last call took, and rows of all of them */
};

struct ct_cpu_backend {
    struct ct_backend base; /* what the others see: the first member */
    struct ct_backend_options o;
    struct ct_extent extent;
    struct ct_kernel kernel;     /* of the pass under way */
    struct ct_kernel kernels[2]; /* of passes that prefill, and that decode */
    int threads, thread_counts[2];
    int processors;       /* 0: not asked for, since the caller said how many threads */
    struct ct_pool *pool; /* NULL: nothing is reserved yet */
    ct_fpenv fp;          /* of the caller of the pass under way */

    struct ct_cpu_memory kv, work, packed;

    /* weights */
    struct ct_pages *mapped;    /* [n_mapped] with matrices that stay in the file, ascending and apart */
    int n_mapped, max_mapped;   /* max_mapped: room in the array */
    size_t planned;             /* bytes of packed weights */
    size_t parts;               /* bytes of mapped ones that are read a part at a time */
    int widest[CT_INPUT_COUNT]; /* values of the widest input in each form that weights ask for */
    int widest_made;            /* of the widest row of a weight that is made; 0: none is */
    uint8_t *made;              /* [thread][ct_cpu_made_work] */
    carat_progress progress;    /* of loading */
    void *progress_user;
    atomic_size_t loaded; /* bytes of weights that were packed or asked from the disk */

    struct ct_rows rows;                   /* current ones of the pass; the arrays below */
    int32_t *position, *sequence, *origin; /* origin: its number in the pass */
    struct ct_seen *seen[CT_ATTN_TYPES];
    atomic_bool *not_finite;                            /* [row of the pass] */
    double *inverse[CT_ATTN_TYPES];                     /* [head_dim / 2] rope frequencies */
    float *cosine[CT_ATTN_TYPES], *sine[CT_ATTN_TYPES]; /* [row][rotated] */
    struct ct_prepared prepared[CT_INPUT_COUNT];
    struct ct_prepared ahead;       /* what project_geglu prepared, in the memory of its output */
    const struct ct_weight *reader; /* the weight that reads it next; NULL: there is nothing ahead */
    struct ct_cpu_attention attention;
    struct ct_cpu_experts experts;
    float *beside;    /* [thread]: a product that is worked on before it goes where it belongs */
    float *scratch;   /* [thread][CT_SCRATCH(widest input)] */
    float *table_row; /* [thread][widest row of a table] */
    struct ct_draw_room draw;
};

static inline struct ct_cpu_backend *ct_cpu(struct ct_backend *b)
{
    return (struct ct_cpu_backend *)b; /* base is the first member */
}
static inline const struct ct_cpu_backend *ct_cpu_const(const struct ct_backend *b)
{
    return (const struct ct_cpu_backend *)b;
}

/* Row of a matrix in this backend's memory. */
static inline float *ct_row(ct_mat m, int row)
{
    return (float *)m.handle + (size_t)row * (size_t)m.stride;
}

/* Floats from one row of cols values to the next: whole lines of the cache, and never a multiple of 4 KiB, at
 * which a column of a matrix would lie in one set of the first cache. */
static inline int ct_stride(int cols)
{
    const int line = 16, page = 1024;
    int stride = (int)ct_round_up((size_t)cols, (size_t)line);

    return stride % page ? stride : stride + line;
}

void *ct_cpu_take(struct ct_cpu_memory *m, size_t bytes);

/* cpu_weights.c: which weights are packed, and where they come to lie */
void ct_cpu_weight_verbs(struct ct_verbs *v);
/* Bytes that a thread works in while weights are made. */
size_t ct_cpu_made_work(const struct ct_cpu_backend *b);
size_t ct_cpu_mapped_bytes(const struct ct_cpu_backend *b);
/* True when kernels read the panels of a weight as such; others unpack them row by row. */
bool ct_cpu_reads_panels(const struct ct_cpu_backend *b, const struct ct_weight *w);

/* cpu_project.c: products */
void ct_cpu_product_verbs(struct ct_verbs *v);
void ct_cpu_project_init(struct ct_cpu_backend *b);
/* The first of a verb's weights that is the same matrix as its i-th: only that one is multiplied. */
int ct_cpu_first_alike(const struct ct_weight *const *w, int i);

/* cpu_experts.c */
void ct_cpu_experts_init(struct ct_cpu_backend *b);
void ct_cpu_experts(struct ct_backend *b, ct_mat out, ct_mat in, ct_mat route, const struct ct_experts *e);
const int32_t *ct_cpu_chosen(const struct ct_backend *b, int row);

/* cpu_kv.c: where K and V lie */
void ct_cpu_kv_verbs(struct ct_verbs *v);
/* A head of the block of positions [number, number + 1) * CT_KEY_BLOCK of a sequence. */
struct ct_kv_head ct_cpu_kv_head(const struct ct_cpu_backend *b, const struct ct_kv *kv, int sequence,
                                 int number, int head);

/* cpu_attend.c */
void ct_cpu_attention_init(struct ct_cpu_backend *b);
void ct_cpu_attend(struct ct_backend *b, ct_mat out, ct_mat q, const struct ct_kv *kv, int attn_type,
                   float scale, float cap);

/* cpu_told.c: the verbs beside a pass */
void ct_cpu_told_verbs(struct ct_verbs *v);

/* cpu_altup.c: the streams of Gemma 3n */
void ct_cpu_altup_verbs(struct ct_verbs *v);

/* cpu_cost.c */
/* The cost of products and attention over these rows, on any backend. */
struct ct_cost ct_cost_of_rows(const struct ct_rows *rows, const struct ct_event *event, bool exact);
struct ct_cost ct_cpu_cost(const struct ct_backend *b, const struct ct_event *event);
/* The arithmetic of products with weights of a type. */
carat_arithmetic ct_cpu_arithmetic(enum ct_type type, bool exact);

/* cpu_explain.c */
void ct_cpu_facts(const struct ct_backend *b, bool decodes, struct ct_backend_facts *facts);
bool ct_cpu_serving(const struct ct_backend *b, bool decodes, const char *verb, const struct ct_weight *w,
                    enum ct_kv_type kv, struct ct_serving *s);

#endif
