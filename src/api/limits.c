/* limits.c: carat_measure_limits: times the loops of kernel/peak.c on the threads an engine would have. */
#include <math.h>

#include "api/api.h"
#include "base/os.h"
#include "kernel/peak.h"

#define MOST_THREADS   256
#define ROUNDS         11
#define ROUND_SECONDS  0.005             /* of multiplying */
#define PIECE          ((size_t)4 << 20) /* bytes that a thread reads at a time */
#define LEAST_BYTES    ((size_t)256 << 20)
#define ITEMS_A_THREAD 8 /* so that a thread that comes late costs little */

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

/* Seconds of one round. */
static double time_round(struct ct_pool *pool, int items, void (*fn)(void *, int, int), struct limit_job *j)
{
    double start = ct_os_seconds();

    ct_pool_run(pool, items, fn, j);
    return fmax(ct_os_seconds() - start, 1e-9);
}

static double best_round(struct ct_pool *pool, int items, void (*fn)(void *, int, int), struct limit_job *j)
{
    double best = INFINITY;

    for (int i = 0; i < ROUNDS; i++)
        best = fmin(best, time_round(pool, items, fn, j));
    return best;
}

static carat_status measure_read(struct ct_pool *pool, double *read, carat_error *err)
{
    size_t bytes = ct_round_up(CT_MAX(LEAST_BYTES, 4 * ct_os_cache()), PIECE);
    int items = (int)(bytes / PIECE);
    struct limit_job j = {.data = ct_os_reserve(bytes)};

    if (!j.data)
        return ct_fail(err, CARAT_E_MEMORY, "carat_measure_limits: the system refuses %zu bytes", bytes);
    ct_os_huge(j.data, bytes);
    ct_pool_run(pool, items, fill_piece, &j);
    *read = (double)bytes / best_round(pool, items, read_piece, &j);
    ct_os_release(j.data, bytes);
    return CARAT_OK;
}

static double measure_operations(struct ct_pool *pool, struct ct_peak peak)
{
    int items = ct_pool_threads(pool) * ITEMS_A_THREAD;
    struct limit_job j = {.peak = peak, .turns = 1000};

    time_round(pool, items, multiply, &j); /* wakes the units up */
    j.turns = (long)(ROUND_SECONDS / time_round(pool, items, multiply, &j) * (double)j.turns) + 1;
    return (double)j.turns * items * peak.operations / best_round(pool, items, multiply, &j);
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
