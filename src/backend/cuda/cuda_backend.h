/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_backend.h: what the files of the backend for NVIDIA's GPUs share. */
#ifndef CT_CUDA_BACKEND_H
#define CT_CUDA_BACKEND_H

#include "backend/backend.h"
#include "base/base.h"
#include "kernel/gpu/gpu.h"
#include "kernel/kernel.h"
#include "os/fp_environment.h"

/* ---- cuda_driver.c ---- */

/* The part of NVIDIA's driver that is used; the driver is a library that may be there or not. Names and
 * numbers are those of its interface; nothing of its headers is needed. */

typedef int ct_cu_result; /* 0: it went well */
typedef int ct_cu_device;
typedef uint64_t ct_cu_address;
typedef struct ct_cu_object *ct_cu_object; /* a context, module, function, stream, event or graph */

enum { CT_CU_OUT_OF_MEMORY = 2, CT_CU_NO_DEVICE = 100 };
enum { CT_CU_MAJOR = 75, CT_CU_MINOR = 76 }; /* attributes: the compute capability */
enum { CT_CU_UNTIMED = 2 };                  /* an event that is waited for alone */

#define CT_CUDA_FUNCTIONS(F)                                                                                 \
    F(cuInit, (unsigned flags))                                                                              \
    F(cuDriverGetVersion, (int *version))                                                                    \
    F(cuGetErrorName, (ct_cu_result result, const char **name))                                              \
    F(cuDeviceGetCount, (int *n))                                                                            \
    F(cuDeviceGet, (ct_cu_device * device, int number))                                                      \
    F(cuDeviceGetName, (char *name, int size, ct_cu_device device))                                          \
    F(cuDeviceGetAttribute, (int *value, int attribute, ct_cu_device device))                                \
    F(cuDevicePrimaryCtxRetain, (ct_cu_object * context, ct_cu_device device))                               \
    F(cuDevicePrimaryCtxRelease, (ct_cu_device device))                                                      \
    F(cuCtxPushCurrent, (ct_cu_object context))                                                              \
    F(cuCtxPopCurrent, (ct_cu_object * context))                                                             \
    F(cuMemGetInfo, (size_t * free, size_t * total))                                                         \
    F(cuMemAlloc, (ct_cu_address * address, size_t bytes))                                                   \
    F(cuMemFree, (ct_cu_address address))                                                                    \
    F(cuMemHostAlloc, (void **p, size_t bytes, unsigned flags))                                              \
    F(cuMemFreeHost, (void *p))                                                                              \
    F(cuMemsetD8Async, (ct_cu_address to, unsigned char value, size_t bytes, ct_cu_object stream))           \
    F(cuMemcpyHtoDAsync, (ct_cu_address to, const void *from, size_t bytes, ct_cu_object stream))            \
    F(cuMemcpyDtoHAsync, (void *to, ct_cu_address from, size_t bytes, ct_cu_object stream))                  \
    F(cuMemcpyDtoDAsync, (ct_cu_address to, ct_cu_address from, size_t bytes, ct_cu_object stream))          \
    F(cuStreamCreate, (ct_cu_object * stream, unsigned flags))                                               \
    F(cuStreamDestroy, (ct_cu_object stream))                                                                \
    F(cuStreamSynchronize, (ct_cu_object stream))                                                            \
    F(cuEventCreate, (ct_cu_object * event, unsigned flags))                                                 \
    F(cuEventRecord, (ct_cu_object event, ct_cu_object stream))                                              \
    F(cuEventSynchronize, (ct_cu_object event))                                                              \
    F(cuEventDestroy, (ct_cu_object event))                                                                  \
    F(cuModuleLoadData, (ct_cu_object * module, const void *image))                                          \
    F(cuModuleUnload, (ct_cu_object module))                                                                 \
    F(cuModuleGetFunction, (ct_cu_object * function, ct_cu_object module, const char *name))                 \
    F(cuLaunchKernel, (ct_cu_object function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z,       \
                       unsigned threads_x, unsigned threads_y, unsigned threads_z, unsigned shared,          \
                       ct_cu_object stream, void **arguments, void **extra))                                 \
    F(cuStreamBeginCapture, (ct_cu_object stream, int mode))                                                 \
    F(cuStreamEndCapture, (ct_cu_object stream, ct_cu_object * graph))                                       \
    F(cuGraphInstantiate,                                                                                    \
      (ct_cu_object * launches, ct_cu_object graph, ct_cu_object * failed, char *log, size_t size))          \
    F(cuGraphDestroy, (ct_cu_object graph))                                                                  \
    F(cuGraphLaunch, (ct_cu_object launches, ct_cu_object stream))                                           \
    F(cuGraphExecDestroy, (ct_cu_object launches))

struct ct_cuda_driver {
#define CT_CUDA_MEMBER(name, parameters) ct_cu_result(*name) parameters;
    CT_CUDA_FUNCTIONS(CT_CUDA_MEMBER)
#undef CT_CUDA_MEMBER
    void *library;
};

/* A device that kernels run on. */
struct ct_cuda_device {
    ct_cu_device device;
    int number; /* among those that the driver shows */
    int major, minor;
    char name[96];
};

/* Opens the driver. E_IO: there is none, or it is too old, or not a usable one. */
carat_status ct_cuda_open(struct ct_cuda_driver *d, carat_error *err);
void ct_cuda_close(struct ct_cuda_driver *d);
/* Chooses device `number`, or for -1 the first that is new enough. E_IO, E_ARGUMENT (there are fewer). */
carat_status ct_cuda_choose(struct ct_cuda_device *device, const struct ct_cuda_driver *d, int number,
                            carat_error *err);
/* The name that the driver has for a result. */
const char *ct_cuda_result(const struct ct_cuda_driver *d, ct_cu_result result);

/* A reservation of the device, from which memory is taken front to back. base 0: it is only counted. */
struct ct_cuda_memory {
    ct_cu_address base;
    size_t used, size;
};

enum ct_cuda_kernel {
#define CT_CUDA_KERNEL(name, arguments) CT_CUDA_##name,
    CT_GPU_KERNELS(CT_CUDA_KERNEL)
#undef CT_CUDA_KERNEL
        CT_CUDA_KERNELS
};
extern const char *const ct_cuda_kernel_names[];

/* The kernels read this of the rows of a pass; it comes from the host in one piece. */
struct ct_cuda_rows {
    ct_cu_address token, position, sequence, origin, from; /* from: the place of a row before select_rows */
    ct_cu_address seen[CT_ATTN_TYPES], cosine[CT_ATTN_TYPES], sine[CT_ATTN_TYPES];
};

/* Blocks of K and V, with places for what the host knows of them. */
struct ct_cuda_pool {
    const struct ct_kv_pool *pool;
    ct_cu_address table, kept;
    int32_t *sent_table, *sent_kept; /* of the host: what lies there */
};

/* Memory of the device for reading logits (cuda_few.c). */
struct ct_cuda_few {
    ct_cu_address id, apart; /* ids that stand apart, and their candidates */
    ct_cu_address keys[2], found;
    int32_t *asked; /* of the host: what lies at `id` */
    uint64_t *candidate;
};
/* Launches of passes that decode (cuda_graph.c): those that wait, and for each bucket of rows a graph. */
enum { CT_CUDA_BUCKETS = 6 }; /* 1, 2, 4, ... 32 rows */
struct ct_cuda_graphs {
    uint8_t *waiting; /* of the host */
    size_t used;
    int bucket;   /* of those that wait; -1: none do */
    bool running; /* its graph is */
    bool refused; /* there are none any more */
    int strikes;  /* passes one after another whose launches were not those of their graph */
    struct ct_cuda_graph {
        ct_cu_object made; /* NULL: none yet */
        uint64_t hash;     /* of the launches in it */
        int32_t begins;    /* with the launch of this kernel */
    } of[CT_CUDA_BUCKETS];
};

enum { CT_CUDA_LOGITS_ROWS = 8 }; /* whose logits lie on the device together */

/* The pass that runs ahead (cuda_ahead.c). */
struct ct_cuda_ahead {
    bool runs;       /* nothing was asked of the device since it began */
    int bucket;      /* of the pass under way; -1: none */
    int streak;      /* passes one after another that went on with the rows of the one before */
    uint8_t *staged; /* of the host: its piece of rows, and how their ids are drawn behind it */
    size_t used;     /* of the piece */
    int32_t *drawn;  /* of the host, pinned: its tokens */
    int32_t token[CT_CUDA_LOGITS_ROWS], position[CT_CUDA_LOGITS_ROWS];
    struct ct_seen seen[CT_ATTN_TYPES][CT_CUDA_LOGITS_ROWS];
};

/* Which experts rows go through, and what these make of them: [row][used] rows. */
struct ct_cuda_experts {
    ct_cu_address id, weight; /* [row][used] */
    ct_mat gate, up, made;
    ct_cu_address table;          /* [layer][gate, up, down][n] struct ct_gpu_expert, as layers came first */
    const void **known;           /* [layer] the gate of the first expert of those that are there */
    struct ct_gpu_expert *staged; /* of one layer, on their way */
    int32_t *chosen;              /* of the latest layer, for who listens */
};

struct ct_cuda_backend {
    struct ct_backend base;  /* what the others see: the first member */
    struct ct_backend *host; /* the CPU's, with memory of the host, and the verbs beside a pass */
    struct ct_kernel kernel; /* for angles */
    struct ct_backend_options o;
    struct ct_extent extent;

    struct ct_cuda_driver driver;
    struct ct_cuda_device device;
    ct_cu_object context, stream, event, module[2];
    ct_cu_object function[CT_CUDA_KERNELS]; /* NULL: the device cannot have it */
    int entered;                            /* how often it was asked that the context be current */
    bool current;                           /* and it is */

    struct ct_cuda_memory kv, work, weights;
    struct ct_cuda_memory pinned; /* of the host: where copies arrive that nobody waits for one by one */
    bool idle;                    /* the device has done all that it was asked for */
    struct {
        ct_cu_address at;
        size_t bytes; /* 0: nothing */
        uint8_t *of_host;
    } here;                  /* memory of the device that is here, too */
    size_t planned;          /* bytes of weights */
    size_t widest_panel;     /* of a weight, in bytes */
    int widest, widest_made; /* values of the widest input of a product; of a weight that is made */
    uint8_t *panels[2];      /* of the host, pinned: some of a weight, in turn */
    int half;                /* of the two: the next */
    uint8_t *stored;         /* of the host: rows as a file has them */
    float *made;             /* of the host: rows on their way into a weight that is made */
    struct ct_cuda_pool pool[CT_ATTN_TYPES]; /* [n_pools] */
    int n_pools;
    uint8_t *block; /* of the host: K and V of a head of a block */

    carat_progress progress; /* of loading */
    void *progress_user;
    size_t loaded;

    struct ct_rows rows; /* current ones of the pass; the arrays below */
    int begun;           /* how many it began with, and copies of its first one behind them */
    int copies;
    int32_t *token, *position, *sequence, *origin, *from;
    struct ct_seen *seen[CT_ATTN_TYPES];
    double *inverse[CT_ATTN_TYPES]; /* [head_dim / 2] rope frequencies */
    uint8_t *staged;                /* of the host: what lies at `piece` */
    ct_cu_address piece;
    struct ct_cuda_rows at;
    ct_cu_address prepared, scale, sum; /* the input of a product, scales and sums of int8 */
    ct_cu_address added;                /* rows of a table that are added to those of the pass */
    float *table_rows, *table_scratch;  /* of the host: the same, and to decode them */
    ct_mat up;                          /* what gate is multiplied by */
    struct ct_cuda_experts experts;
    ct_mat logits;      /* of a slice of rows */
    ct_cu_address part; /* what blocks of keys give, which attention merges: so many floats */
    size_t parts;
    struct ct_cuda_few few;
    struct ct_cuda_graphs graphs;
    struct ct_cuda_ahead ahead;
    ct_cu_address bad;  /* [row of the pass] */
    int32_t *known_bad; /* the same of the host, where it is known */
    bool bad_is_known;
    ct_fpenv fp; /* of the caller of the pass under way */
    struct ct_watch watch;
    double asked; /* when the watch was asked last */
    bool stopped;
};

static inline struct ct_cuda_backend *ct_cuda(struct ct_backend *b)
{
    return (struct ct_cuda_backend *)b; /* base is the first member */
}

/* Blocks of a thread for each of n columns. */
static inline int ct_cuda_blocks(int n)
{
    return (n + CT_GPU_THREADS - 1) / CT_GPU_THREADS;
}

/* An address of the device as kernels are told. */
#define CT_CUDA_AT(type, address) ((type *)(uintptr_t)(address))

/* A matrix is an address of the device. */
static inline ct_cu_address ct_cuda_row(ct_mat m, int row)
{
    return (ct_cu_address)(uintptr_t)m.handle + (size_t)row * (size_t)m.stride * sizeof(float);
}

/* cuda_ptx.S: kernels as PTX, those of CT_GPU_MATRIX_KERNELS apart; "" where no clang was there when the
 * library was built. */
extern const char ct_cuda_ptx[], ct_cuda_ptx_matrix[];
extern const char ct_cuda_target[]; /* the devices that they are for, and later ones; "": there are none */

/* cuda_device.c: the device itself. Its first failure is noted in base.failure; from there on nothing is
 * asked of it any more. */
void ct_cuda_enter(struct ct_cuda_backend *b);
void ct_cuda_leave(struct ct_cuda_backend *b);
/* Takes the device for the kernels of the library. E_IO. */
carat_status ct_cuda_begin(struct ct_cuda_backend *b, carat_error *err);
/* E_MEMORY. */
carat_status ct_cuda_reserve(struct ct_cuda_backend *b, carat_error *err);
void ct_cuda_end(struct ct_cuda_backend *b);
ct_cu_address ct_cuda_take(struct ct_cuda_memory *m, size_t bytes);
void *ct_cuda_take_pinned(struct ct_cuda_backend *b, size_t bytes);
void ct_cuda_put(struct ct_cuda_backend *b, ct_cu_address to, const void *from, size_t bytes);
/* Puts bytes like ct_cuda_put, but no launch that waits may read or change their place: launches go on
 * waiting. */
void ct_cuda_put_ahead(struct ct_cuda_backend *b, ct_cu_address to, const void *from, size_t bytes);
/* The bytes are there when something was waited for; of ct_cuda_get they are, and zeros after a failure. */
void ct_cuda_fetch(struct ct_cuda_backend *b, void *to, ct_cu_address from, size_t bytes);
void ct_cuda_get(struct ct_cuda_backend *b, void *to, ct_cu_address from, size_t bytes);
void ct_cuda_wait(struct ct_cuda_backend *b);
/* Marks what was asked for until now, and waits for that alone: whatever comes behind is nobody's yet. */
void ct_cuda_mark(struct ct_cuda_backend *b);
void ct_cuda_wait_marked(struct ct_cuda_backend *b);
void ct_cuda_copy(struct ct_cuda_backend *b, ct_cu_address to, ct_cu_address from, size_t bytes);
void ct_cuda_zero(struct ct_cuda_backend *b, ct_cu_address to, size_t bytes);
/* Runs a kernel over [blocks][rows] with its arguments (kernel/gpu/gpu.h). */
void ct_cuda_launch(struct ct_cuda_backend *b, enum ct_cuda_kernel kernel, const void *arguments, int blocks,
                    int rows);
/* Launches that wait (cuda_graph.c) run; whoever asks for anything else calls it first. */
void ct_cuda_settle(struct ct_cuda_backend *b);
/* True when the pass goes on; asks the watch now and then. */
bool ct_cuda_goes_on(struct ct_cuda_backend *b);

/* cuda_graph.c: which bucket the rows of a pass are brought to; -1: none. */
int ct_cuda_bucket(const struct ct_cuda_backend *b, const struct ct_rows *rows);
void ct_cuda_lay_out_graphs(struct ct_cuda_backend *b);
/* From now on launches wait, until they are run. bucket -1: they do not. runs: its graph does already. */
void ct_cuda_hold_back(struct ct_cuda_backend *b, int bucket, bool runs);
/* Launches the graph of a bucket, of which nothing but the rows on the device is its input. False: there is
 * none. */
bool ct_cuda_run_graph(struct ct_cuda_backend *b, int bucket);
ct_cu_result ct_cuda_run_waiting(struct ct_cuda_backend *b);
/* ct_cuda_waits is true when this launch waits; ct_cuda_launch_now runs it at once. */
bool ct_cuda_waits(struct ct_cuda_backend *b, enum ct_cuda_kernel kernel, const void *arguments, int blocks,
                   int rows);
ct_cu_result ct_cuda_launch_now(struct ct_cuda_backend *b, enum ct_cuda_kernel kernel, const void *arguments,
                                int blocks, int rows);
void ct_cuda_end_graphs(struct ct_cuda_backend *b);

/* cuda_weights.c: panels of weights, so many at a time */
#define CT_CUDA_PANELS 8
void ct_cuda_weight_verbs(struct ct_verbs *v);
void ct_cuda_lay_out_making(struct ct_cuda_backend *b);
/* cuda_kv.c */
void ct_cuda_kv_verbs(struct ct_verbs *v);
/* K and V of a layer as kernels are told. */
struct ct_gpu_kv ct_cuda_layer(const struct ct_cuda_backend *b, const struct ct_kv *kv);
/* Brings the tables of all pools to the device. */
void ct_cuda_bring_tables(struct ct_cuda_backend *b);
/* cuda_attend.c */
void ct_cuda_attend_verbs(struct ct_verbs *v);
void ct_cuda_lay_out_attend(struct ct_cuda_backend *b);
/* cuda_pass.c: the verbs of a pass */
void ct_cuda_pass_verbs(struct ct_verbs *v);
void ct_cuda_lay_out_pass(struct ct_cuda_backend *b);
/* The logits of the current row `row` and the n - 1 next ones, at most CT_CUDA_LOGITS_ROWS, on the device. */
void ct_cuda_logits(struct ct_cuda_backend *b, ct_mat in, int row, int n, const struct ct_weight *head,
                    float cap);
/* cuda_few.c: few of them */
void ct_cuda_few_verbs(struct ct_verbs *v);
void ct_cuda_lay_out_few(struct ct_cuda_backend *b);
/* cuda_rows.c: the piece of rows, staged in memory of the host; returns its bytes, of at most so many. */
size_t ct_cuda_stage_rows(struct ct_cuda_backend *b, uint8_t *staged, const struct ct_rows *rows);
size_t ct_cuda_piece_bytes(const struct ct_cuda_backend *b);
/* cuda_ahead.c: the rows of a pass are these; those of the one before are still known. */
void ct_cuda_note_rows(struct ct_cuda_backend *b, const struct ct_rows *rows, int bucket);
/* True when the pass that begins, whose piece is staged, has run ahead. */
bool ct_cuda_ran_ahead(struct ct_cuda_backend *b, size_t used);
/* True when the pass behind the one under way may run ahead, where these are all its rows; then its rows are
 * on the device but for their ids, and *a tells `best` to draw them. */
bool ct_cuda_may_run_ahead(struct ct_cuda_backend *b, const struct ct_few *few, int first, int n,
                           struct ct_gpu_best *a);
/* Runs it, behind all that the pass under way wants, and waits for that. */
void ct_cuda_run_ahead(struct ct_cuda_backend *b);
void ct_cuda_lay_out_ahead(struct ct_cuda_backend *b);
/* The form in which a weight reads its input: f32, bf16 or int8. */
enum ct_input ct_cuda_input(const struct ct_cuda_backend *b, const struct ct_weight *w);
/* Brings rows into that form, for ct_cuda_multiply_chosen. */
void ct_cuda_prepare_chosen(struct ct_cuda_backend *b, ct_mat in, int rows, const struct ct_weight *w);
/* A product with the input that was prepared last: row i by what the table has of the expert that was chosen
 * for it, and by row i / share of the input. w: any of them. */
void ct_cuda_multiply_chosen(struct ct_cuda_backend *b, ct_mat out, int rows, const struct ct_weight *w,
                             ct_cu_address table, int share);
/* Which kernel multiplies so many rows by it. */
enum ct_cuda_kernel ct_cuda_product(const struct ct_cuda_backend *b, int rows, const struct ct_weight *w);
/* out[i] = in * w[i]^T for so many rows. */
void ct_cuda_products(struct ct_cuda_backend *b, ct_mat in, int rows, int n, const ct_mat *out,
                      const struct ct_weight *const *w);
/* cuda_experts.c, cuda_streams.c: those of some models alone */
void ct_cuda_expert_verbs(struct ct_verbs *v);
void ct_cuda_lay_out_experts(struct ct_cuda_backend *b);
void ct_cuda_stream_verbs(struct ct_verbs *v);
void ct_cuda_lay_out_streams(struct ct_cuda_backend *b);
/* cuda_told.c: the verbs beside it */
void ct_cuda_told_verbs(struct ct_verbs *v);

#endif
