/* kcheck_limits.c: what this machine can do at most, measured: reading memory, and the multiplications that a level
 * has. Small loops in registers, one per instruction; kcheck_bench.c compares kernels with them. Nothing is checked here. */
#define _GNU_SOURCE
#include "kcheck_bench.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PASSES = 11 }; /* the best is the limit: neighbours only ever take away */

/* ---- threads ---- */

struct member {
    pthread_t thread;
    pthread_barrier_t *barrier;
    void (*work)(void *arg, int id, int threads);
    void *arg;
    int id, threads;
};

double kc_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *run_member(void *p)
{
    struct member *m = p;
    pthread_barrier_wait(m->barrier);
    m->work(m->arg, m->id, m->threads);
    pthread_barrier_wait(m->barrier);
    return NULL;
}

double kc_together(int threads, void (*work)(void *arg, int id, int threads), void *arg)
{
    struct member m[KC_THREADS];
    pthread_barrier_t barrier;

    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < threads; i++) {
        m[i] = (struct member){.barrier = &barrier, .work = work, .arg = arg, .id = i, .threads = threads};
        if (i > 0 && pthread_create(&m[i].thread, NULL, run_member, &m[i])) {
            perror("kcheck: pthread_create");
            exit(2);
        }
    }
    pthread_barrier_wait(&barrier);
    double start = kc_now();
    work(arg, 0, threads);
    pthread_barrier_wait(&barrier);
    double seconds = kc_now() - start;
    for (int i = 1; i < threads; i++)
        pthread_join(m[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
    return seconds;
}

/* ---- memory ---- */

void *kc_map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("kcheck: mmap");
        exit(2);
    }
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

void kc_unmap(void *p, size_t bytes)
{
    munmap(p, bytes);
}

size_t kc_beyond_caches(void)
{
    long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return CT_MAX((size_t)256 << 20, 4 * (size_t)CT_MAX(l3, 0));
}

typedef uint64_t words __attribute__((vector_size(16)));
enum { STREAMS = 4, AHEAD = 2048, LINE = 64 };

struct reading {
    const uint8_t *data;
    size_t bytes;
    uint64_t sum[KC_THREADS];
};

/* Four streams, each prefetched: what a product of one token does, without the product. */
static void read_part(void *arg, int id, int threads)
{
    struct reading *r = arg;
    size_t stream = r->bytes / (size_t)threads / STREAMS / 4096 * 4096;
    const uint8_t *p = r->data + stream * STREAMS * (size_t)id;
    words sum[STREAMS] = {{0}};

    for (size_t at = 0; at < stream; at += LINE)
        for (int s = 0; s < STREAMS; s++) {
            const words *line = (const words *)(const void *)(p + (size_t)s * stream + at);
            __builtin_prefetch((const char *)line + AHEAD, 0, 2);
            sum[s] ^= line[0] ^ line[1] ^ line[2] ^ line[3];
        }
    words all = sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
    r->sum[id] = all[0] ^ all[1];
}

double kc_bandwidth(int threads)
{
    struct reading r = {.bytes = kc_beyond_caches()};
    uint8_t *data = kc_map(r.bytes);
    double best = INFINITY;

    memset(data, 1, r.bytes);
    r.data = data;
    for (int i = 0; i < PASSES; i++)
        best = fmin(best, kc_together(threads, read_part, &r));
    kc_unmap(data, r.bytes);
    return (double)r.bytes / best * 1e-9;
}

/* ---- multiplications ---- */

#if defined(__x86_64__)

/* A loop body of independent chains in twelve registers: more than any latency times its throughput. */
#define TWELVE(M) M("0") M("1") M("2") M("3") M("4") M("5") M("6") M("7") M("8") M("9") M("10") M("11")
#define CLOBBERS                                                                                             \
    "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",        \
        "xmm12", "xmm13", "xmm14", "xmm15"
#define LOOP(name, body)                                                                                     \
    static void name(long n)                                                                                 \
    {                                                                                                        \
        __asm__ volatile("vzeroall" ::: CLOBBERS);                                                           \
        for (; n > 0; n--)                                                                                   \
            __asm__ volatile(body ::: CLOBBERS);                                                             \
        __asm__ volatile("vzeroupper" ::: CLOBBERS);                                                         \
    }

#define OP(name, v, r) name " %%" v "15, %%" v "14, %%" v r "\n\t"
#define BYTES(v, r)                                                                                          \
    OP("vpmaddubsw", v, "12")                                                                                \
    "vpmaddwd %%" v "12, %%" v "13, %%" v "12\n\tvpaddd %%" v "12, %%" v r ", %%" v r "\n\t"
#define NIBBLES(v, r) OP("vpmaddubsw", v, "12") "vpaddw %%" v "12, %%" v r ", %%" v r "\n\t"
#define FMA_Y(r)      OP("vfmadd231ps", "ymm", r)
#define FMA_Z(r)      OP("vfmadd231ps", "zmm", r)
#define DOT_Y(r)      OP("%{vex%} vpdpbusd", "ymm", r)
#define DOT_Z(r)      OP("vpdpbusd", "zmm", r)
#define BYTES_Y(r)    BYTES("ymm", r)
#define BYTES_Z(r)    BYTES("zmm", r)
#define NIBBLES_Y(r)  NIBBLES("ymm", r)
#define NIBBLES_Z(r)  NIBBLES("zmm", r)

LOOP(fma_y, TWELVE(FMA_Y))
LOOP(fma_z, TWELVE(FMA_Z))
LOOP(dot_y, TWELVE(DOT_Y))
LOOP(dot_z, TWELVE(DOT_Z))
LOOP(bytes_y, TWELVE(BYTES_Y))
LOOP(bytes_z, TWELVE(BYTES_Z))
LOOP(nibbles_y, TWELVE(NIBBLES_Y))
LOOP(nibbles_z, TWELVE(NIBBLES_Z))

/* Tiles of 16 rows of 64 bytes: four sums, each of its own pair of inputs, as a kernel of 2 x 2 tiles has them. */
static void tiles(long n, bool floats)
{
    struct {
        uint8_t palette, start, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1};

    for (int i = 0; i < 8; i++) {
        config.bytes[i] = 64;
        config.rows[i] = 16;
    }
    syscall(SYS_arch_prctl, 0x1023, 18); /* ask for the tiles' state; who has it is not harmed */
    __asm__ volatile("ldtilecfg %0" ::"m"(config));
    __asm__ volatile("tilezero %tmm0\n\ttilezero %tmm1\n\ttilezero %tmm2\n\ttilezero %tmm3\n\t"
                     "tilezero %tmm4\n\ttilezero %tmm5\n\ttilezero %tmm6\n\ttilezero %tmm7");
#define FOUR(op)                                                                                             \
    __asm__ volatile(op " %tmm6, %tmm4, %tmm0\n\t" op " %tmm7, %tmm4, %tmm1\n\t" op                          \
                        " %tmm6, %tmm5, %tmm2\n\t" op " %tmm7, %tmm5, %tmm3")
    for (; n > 0; n--)
        if (floats)
            FOUR("tdpbf16ps");
        else
            FOUR("tdpbusd");
#undef FOUR
    __asm__ volatile("tilerelease");
}
static void tiles_int8(long n)
{
    tiles(n, false);
}
static void tiles_bf16(long n)
{
    tiles(n, true);
}

/* What a level multiplies with, and how many operations (a multiplication and an addition are two) one turn of the loop
 * is. Without a dot instruction nibbles are cheaper than bytes: eight sums of two fit 16 bits. */
static const struct {
    const char *level;
    struct loop {
        void (*run)(long n);
        int ops;
    } peak[KC_PEAKS];
} loops[] = {
    {"avx2", {{fma_y, 12 * 16}, {fma_y, 12 * 16}, {bytes_y, 12 * 64}, {nibbles_y, 12 * 64}}},
    {"avxvnni", {{fma_y, 12 * 16}, {fma_y, 12 * 16}, {dot_y, 12 * 64}, {dot_y, 12 * 64}}},
    {"avx512", {{fma_z, 12 * 32}, {fma_z, 12 * 32}, {bytes_z, 12 * 128}, {nibbles_z, 12 * 128}}},
    {"vnni", {{fma_z, 12 * 32}, {fma_z, 12 * 32}, {dot_z, 12 * 128}, {dot_z, 12 * 128}}},
    {"amx", {{fma_z, 12 * 32}, {tiles_bf16, 4 * 16384}, {tiles_int8, 4 * 32768}, {tiles_int8, 4 * 32768}}},
};

struct multiplying {
    const struct loop *loop;
    long n;
};

static void multiply(void *arg, int id, int threads)
{
    const struct multiplying *m = arg;
    (void)id;
    (void)threads;
    m->loop->run(m->n);
}

double kc_peak(const char *level, enum kc_peak what, int threads)
{
    for (size_t i = 0; i < CT_COUNT(loops); i++) {
        struct multiplying m = {&loops[i].peak[what], 100000};
        double best = INFINITY;
        if (strcmp(loops[i].level, level) != 0)
            continue;
        kc_together(threads, multiply, &m); /* wakes the units up */
        m.n = (long)(0.01 / kc_together(threads, multiply, &m) * (double)m.n) + 1;
        for (int k = 0; k < PASSES; k++)
            best = fmin(best, kc_together(threads, multiply, &m));
        return (double)m.n * m.loop->ops * threads / best * 1e-9;
    }
    return 0;
}

#else

double kc_peak(const char *level, enum kc_peak what, int threads)
{
    (void)level;
    (void)what;
    (void)threads;
    return 0;
}

#endif
