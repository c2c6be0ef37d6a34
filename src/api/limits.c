/* limits.c: carat_measure_limits: times the loops of kernel/peak.c on the threads an engine would have. */
#include <math.h>

#include "api/api.h"
#include "base/os.h"
#include "kernel/peak.h"

#define MOST_THREADS   256
#define PIECE          ((size_t)1 << 20)   /* bytes that a thread reads at a time */
#define LEAST_BYTES    ((size_t)256 << 20) /* of memory to read */
#define LEAST_A_THREAD ((size_t)8 << 20)
#define ITEMS_A_THREAD 8 /* of multiplying, so that a thread that comes late costs little */

/* Many short rounds: one of them passes without a neighbour. A round of reading is a part of the memory, so that the
 * others have left the caches when it comes again. */
#define ROUNDS        48
#define PARTS         8
#define ROUND_SECONDS 0.001 /* of multiplying */

struct limit_job {
    uint8_t *data;
    struct ct_peak peak;
    long turns;
};

static void fill_piece(void *arg, int item, int thread)
{
    struct limit_job *j = arg;

    (void)thread;
    memset(j->data + (size_t)item * PIECE, 1, PIECE);
}

/* What is read ends in the bytes themselves, so that no compiler leaves the reading out. */
static void read_piece(void *arg, int item, int thread)
{
    struct limit_job *j = arg;
    uint8_t *piece = j->data + (size_t)item * PIECE;
    uint64_t sum = ct_peak_read(piece, PIECE);

    (void)thread;
    memcpy(piece, &sum, sizeof sum);
}

static void multiply(void *arg, int item, int thread)
{
    struct limit_job *j = arg;

    (void)item;
    (void)thread;
    j->peak.run(j->turns);
}

static double time_round(struct ct_pool *pool, int items, void (*fn)(void *, int, int), struct limit_job *j)
{
    double start = ct_os_seconds();

    ct_pool_run(pool, items, fn, j);
    return fmax(ct_os_seconds() - start, 1e-9);
}

static carat_status measure_read(struct ct_pool *pool, double *read, carat_error *err)
{
    size_t least = CT_MAX(LEAST_BYTES, (size_t)ct_pool_threads(pool) * LEAST_A_THREAD);
    size_t part = ct_round_up(CT_MAX(least, 2 * ct_os_cache()) / PARTS, PIECE), bytes = part * PARTS;
    uint8_t *data = ct_os_reserve(bytes);
    struct limit_job j = {.data = data};
    double best = INFINITY;

    if (!data)
        return ct_fail(err, CARAT_E_MEMORY, "carat_measure_limits: the system refuses %zu bytes", bytes);
    ct_os_huge(data, bytes);
    ct_pool_run(pool, (int)(bytes / PIECE), fill_piece, &j);
    for (int i = 0; i < ROUNDS; i++) {
        j.data = data + (size_t)(i % PARTS) * part;
        best = fmin(best, time_round(pool, (int)(part / PIECE), read_piece, &j));
    }
    *read = (double)part / best;
    ct_os_release(data, bytes);
    return CARAT_OK;
}

static double measure_operations(struct ct_pool *pool, struct ct_peak peak)
{
    int items = ct_pool_threads(pool) * ITEMS_A_THREAD;
    struct limit_job j = {.peak = peak, .turns = 1000};
    double best = INFINITY;

    time_round(pool, items, multiply, &j); /* wakes the units up */
    j.turns = (long)(ROUND_SECONDS / time_round(pool, items, multiply, &j) * (double)j.turns) + 1;
    for (int i = 0; i < ROUNDS; i++)
        best = fmin(best, time_round(pool, items, multiply, &j));
    return (double)j.turns * items * peak.operations / best;
}

carat_status carat_measure_limits(int threads, const char *isa, carat_limits *limits, carat_error *err)
{
    struct ct_kernel kernel;
    struct ct_pool *pool;
    struct ct_cpu cpu;

    if (!limits)
        return ct_fail(err, CARAT_E_ARGUMENT, "carat_measure_limits: limits is NULL");
    CT_TRY(ct_check_size(limits->size, sizeof *limits, "carat_limits", err));
    if (threads < 0 || threads > MOST_THREADS)
        return ct_fail(err, CARAT_E_ARGUMENT, "threads is %d, expected 0 to %d", threads, MOST_THREADS);
    ct_cpu_detect(&cpu);
    if (!ct_kernel_choose(&kernel, &cpu, isa))
        return ct_fail(err, CARAT_E_ARGUMENT,
                       "isa is \"%s\"; there are ref, avx2, avxvnni, avx512, vnni and amx", isa);
    carat_limits l = {.size = sizeof l, .threads = threads ? threads : ct_os_cpus(), .isa = kernel.isa};
    CT_TRY(ct_pool_create(&pool, l.threads, err));
    carat_status status = measure_read(pool, &l.read, err);
    for (int a = 0; a < CARAT_N_ARITHMETIC && !status; a++) {
        struct ct_peak peak = ct_peak_loop(kernel.isa, (carat_arithmetic)a), last = {0};
        if (a > 0)
            last = ct_peak_loop(kernel.isa, (carat_arithmetic)(a - 1));
        if (peak.run)
            l.operations[a] = peak.run == last.run ? l.operations[a - 1] : measure_operations(pool, peak);
    }
    ct_pool_destroy(pool);
    if (!status)
        *limits = l;
    return status;
}
