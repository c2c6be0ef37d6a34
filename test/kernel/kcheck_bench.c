/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_bench.c: times products of the shapes of real models: per level, type, shape and number of
 * tokens. For few tokens the weights are more than the caches hold, so that GB/s means memory. Shares are
 * of what carat_measure_limits finds in the same run, and of the ceiling: what many tokens can reach by
 * NUMERICS.md, whose products are more than dots (kcheck_ceiling.c). */
#define _GNU_SOURCE
#include "kcheck.h"

#include <pthread.h>
#include <sys/mman.h>

#include "os/clock.h"
#include "os/memory.h"
#include "backend/cpu/cpu_backend.h"
#include "machine/machine.h"

enum { MOST_PASSES = 101, MOST_THREADS = 64, FEW = 16, TOKENS_OF_REF = 8, ROWS_OF_REF = 64 };

/* Rows and columns of the matrices of a layer, and a slice of the head. */
static const struct shape {
    const char *model, *name;
    int rows, cols;
} shapes[] = {
    {"270m", "q", 1024, 640},    {"270m", "kv", 256, 640},    {"270m", "o", 640, 1024},
    {"270m", "gate", 2048, 640}, {"270m", "down", 640, 2048}, {"270m", "head/8", 32768, 640},
    {"1b", "q", 1024, 1152},     {"1b", "kv", 256, 1152},     {"1b", "o", 1152, 1024},
    {"1b", "gate", 6912, 1152},  {"1b", "down", 1152, 6912},  {"1b", "head/8", 32768, 1152},
    {"4b", "q", 2048, 2560},     {"4b", "kv", 1024, 2560},    {"4b", "o", 2560, 2048},
    {"4b", "gate", 10240, 2560}, {"4b", "down", 2560, 10240}, {"4b", "head/8", 32768, 2560},
};

/* ---- threads ---- */

struct member {
    pthread_t thread;
    pthread_barrier_t *barrier;
    void (*work)(void *arg, int id, int threads);
    void *arg;
    int id, threads;
};

static void *run_member(void *p)
{
    struct member *m = p;
    pthread_barrier_wait(m->barrier);
    m->work(m->arg, m->id, m->threads);
    pthread_barrier_wait(m->barrier);
    return NULL;
}

/* Runs work on so many threads at once; the seconds from the first to the last. */
static double together(int threads, void (*work)(void *arg, int id, int threads), void *arg)
{
    struct member m[MOST_THREADS];
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
    double start = ct_os_seconds();
    work(arg, 0, threads);
    pthread_barrier_wait(&barrier);
    double seconds = ct_os_seconds() - start;
    for (int i = 1; i < threads; i++)
        pthread_join(m[i].thread, NULL);
    pthread_barrier_destroy(&barrier);
    return seconds;
}

/* ---- memory ---- */

/* Fresh zeros on whole pages. */
static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("kcheck: mmap");
        exit(2);
    }
    madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static void unmap(void *p, size_t bytes)
{
    munmap(p, bytes);
}

/* Bytes that no cache holds for the next pass. */
static size_t beyond_caches(void)
{
    return CT_MAX((size_t)256 << 20, 2 * ct_os_cache());
}

/* ---- one product ---- */

/* The same product with one matrix after another. */
struct timing {
    const struct ct_kernel *k;
    struct ct_weight w;
    const uint8_t *data;
    size_t apart;
    int matrices;
    struct ct_prepared x;
    enum ct_input form;
    float *out, *scratch;
};

static void multiply(void *arg, int id, int threads)
{
    const struct timing *t = arg;
    struct ct_weight w = t->w;
    bool panels = w.layout == CT_LAYOUT_PANELS;
    int pieces = (w.rows + 63) / 64; /* of four panels */
    int r0 = 64 * (pieces * id / threads), r1 = CT_MIN(w.rows, 64 * (pieces * (id + 1) / threads));
    float *scratch = t->scratch + (size_t)id * CT_SCRATCH(w.cols);

    for (int m = 0; m < t->matrices && r0 < r1; m++) {
        w.data = t->data + (size_t)m * t->apart;
        (panels ? t->k->project_panels : t->k->project)(t->out, (size_t)w.rows, &w, r0, r1, &t->x, t->form,
                                                        scratch, NULL);
    }
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *x, int n)
{
    qsort(x, (size_t)n, sizeof *x, by_value);
    return x[n / 2];
}

/* Median seconds of one product. */
static double time_product(struct timing *t, int threads)
{
    double seconds[MOST_PASSES], start;
    int n = 0;

    together(threads, multiply, t);
    start = ct_os_seconds();
    while (n < 3 || (n < MOST_PASSES && ct_os_seconds() - start < 0.3))
        seconds[n++] = together(threads, multiply, t);
    return median(seconds, n) / t->matrices;
}

static void *need(size_t bytes)
{
    void *p = aligned_alloc(64, ct_round_up(bytes, 64));
    if (!p)
        abort();
    return p;
}

static struct ct_prepared prepare(const struct ct_kernel *k, enum ct_input form, const float *x, int n,
                                  int cols)
{
    size_t values = ct_round_up((size_t)n, CT_LANES) * (size_t)ct_pad_group(cols);
    struct ct_prepared p = {
        .n = n,
        .cols = cols,
        .value = need(values * sizeof(float)),
        .q = need(values),
        .scale = need(values / CT_GROUP * sizeof(float)),
        .sum = need(values / CT_HALF * sizeof(int32_t)),
    };
    for (int t = 0; t < n; t += CT_LANES)
        ct_call_prepare(k, &p, form, x + (size_t)t * (size_t)cols, (size_t)cols,
                        ct_input_of_tokens(&p, t, t + CT_LANES));
    return p;
}

static void forget(struct timing *t)
{
    free(t->x.value);
    free(t->x.q);
    free(t->x.scale);
    free(t->x.sum);
    free(t->out);
    free(t->scratch);
}

/* A weight on the heap, and inputs. */
struct material {
    struct ct_weight rows;
    uint8_t *data;
    float *x;
};

static struct material make(struct kcheck *c, enum ct_type type, const struct shape *s, int tokens)
{
    struct material m = {.rows = {type, CT_LAYOUT_ROWS, s->rows, s->cols, 0, NULL, 1, false, NULL}};
    size_t values = (size_t)tokens * (size_t)s->cols;

    ct_type_row_bytes(type, (size_t)s->cols, &m.rows.row_bytes);
    size_t bytes = ct_weight_bytes(&m.rows);
    m.rows.data = m.data = need(bytes);
    kc_fill_weights(c, type, m.data, bytes, KC_ORDINARY);
    m.x = need(values * sizeof(float));
    for (size_t i = 0; i < values; i++)
        m.x[i] = kc_uniform(c, -2, 2);
    return m;
}

/* Seconds of ref for the whole product, from a slice of it: it is slow and does not depend on caches. */
static double time_ref(const struct kcheck *c, const struct material *m, int tokens)
{
    int n = CT_MIN(tokens, TOKENS_OF_REF);
    struct timing t = {.k = &c->level[0], .w = m->rows, .data = m->data, .matrices = 1};

    t.w.rows = CT_MIN(m->rows.rows, ROWS_OF_REF);
    t.form = ct_input_form(&t.w, false);
    t.x = prepare(t.k, t.form, m->x, n, t.w.cols);
    t.out = need((size_t)n * (size_t)t.w.rows * sizeof(float));
    t.scratch = need(CT_SCRATCH(t.w.cols) * sizeof(float));
    double seconds = time_product(&t, 1) * m->rows.rows / t.w.rows * tokens / n;
    forget(&t);
    return seconds;
}

static double time_level(const struct ct_kernel *k, const struct material *m, int tokens, int threads,
                         size_t *bytes)
{
    struct timing t = {.k = k, .w = m->rows, .matrices = 1};
    const struct ct_panel *panel = ct_panel_of(m->rows.type);
    bool packed = k->layout == CT_LAYOUT_PANELS && panel->lines != CT_LINES_NONE;

    if (packed) {
        t.w.layout = CT_LAYOUT_PANELS;
        t.w.row_bytes = ct_panel_bytes(panel, t.w.cols);
    }
    *bytes = ct_weight_bytes(&t.w);
    t.apart = ct_round_up(*bytes, 64);
    if (tokens <= FEW)
        t.matrices = (int)CT_MIN((beyond_caches() + t.apart - 1) / t.apart, (size_t)1 << 20);
    uint8_t *data = map(t.apart * (size_t)t.matrices);
    for (int r = 0; packed && r < t.w.rows; r += CT_PANEL_ROWS)
        ct_pack(data + (size_t)(r / CT_PANEL_ROWS) * t.w.row_bytes, &m->rows, r);
    if (!packed)
        memcpy(data, m->data, *bytes);
    for (int i = 1; i < t.matrices; i++)
        memcpy(data + (size_t)i * t.apart, data, *bytes);

    t.data = data;
    t.form = ct_input_form(&t.w, false);
    t.x = prepare(k, t.form, m->x, tokens, t.w.cols);
    t.out = need((size_t)tokens * (size_t)t.w.rows * sizeof(float));
    t.scratch = need((size_t)threads * CT_SCRATCH(t.w.cols) * sizeof(float));
    double seconds = time_product(&t, threads);
    forget(&t);
    unmap(data, t.apart * (size_t)t.matrices);
    return seconds;
}

/* ---- ceilings ---- */

struct turning {
    struct ct_roofline loop;
    long turns;
};

static void turn(void *arg, int id, int threads)
{
    const struct turning *t = arg;

    (void)id;
    (void)threads;
    t->loop.run(t->turns);
}

/* Operations a second of a product of that type, with so many threads; 0 where that is not known. The best of
 * many short rounds: one of them passes without a neighbour. */
static double ceiling(const struct ct_kernel *k, enum ct_type type, int threads)
{
    struct turning t = {.loop = kc_ceiling(k->isa, type), .turns = 1000};
    double best = 0;

    if (!t.loop.run)
        return 0;
    while (together(threads, turn, &t) < 5e-4)
        t.turns *= 2;
    for (int i = 0; i < 40; i++)
        best = CT_MAX(best, (double)t.turns * t.loop.operations * threads / together(threads, turn, &t));
    return best;
}

/* ---- the table ---- */

static void percent(double part, double whole)
{
    if (whole > 0)
        printf(" %5.1f%%", 100 * part / whole);
    else
        printf(" %6s", "-");
}

static void one_line(const struct kcheck *c, int level, const struct material *m, const struct shape *s,
                     int tokens, int threads, const carat_limits *limits, double most, double ref)
{
    size_t bytes;
    double seconds = time_level(&c->level[level], m, tokens, threads, &bytes);
    double gbs = (double)bytes / seconds * 1e-9, gops = 2.0 * s->rows * s->cols * tokens / seconds * 1e-9;

    printf("%-8s %-7s %-5s %-7s %6d %6d %6d %11.1f %8.2f", c->level[level].isa,
           ct_type_info(m->rows.type)->name, s->model, s->name, s->rows, s->cols, tokens, seconds * 1e6, gbs);
    percent(gbs, 1e-9 * limits->read);
    printf(" %9.1f", gops);
    percent(gops, 1e-9 * limits->operations[ct_cpu_arithmetic(m->rows.type, false)]);
    percent(gops, 1e-9 * most);
    printf(" %8.2f\n", ref / threads / seconds);
}

static bool in_list(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (strncmp(p, word, n) == 0 && (p[n] == ',' || !p[n]))
            return true;
    return false;
}

static void one_matrix(struct kcheck *c, const struct kc_bench *b, const carat_limits *limits,
                       const double *most, enum ct_type type, const struct shape *s)
{
    for (const char *p = b->tokens; *p; p += strcspn(p, ","), p += *p == ',') {
        int tokens = atoi(p);
        if (tokens < 1 || tokens > 1 << 16)
            continue;
        struct material m = make(c, type, s, tokens);
        double ref = time_ref(c, &m, tokens);
        for (int level = c->n_level > 1; level < c->n_level; level++)
            one_line(c, level, &m, s, tokens, b->threads, &limits[level], most[level], ref);
        free(m.data);
        free(m.x);
    }
}

/* What each level can do at most; of an emulated one only the reading is known. */
static void measure(const struct kcheck *c, int threads, carat_limits *limits)
{
    static const char *const names[] = {"f32", "bf16", "int8", "int8 by nibbles"};

    for (int level = 0; level < c->n_level; level++) {
        limits[level] = (carat_limits){.size = sizeof *limits};
        if (carat_measure_limits(threads, c->level[level].isa, NULL, NULL, &limits[level], NULL))
            limits[level].read = limits[0].read;
        if (level == 0)
            printf("%d threads; reading %.1f GB/s", threads, 1e-9 * limits->read);
        for (int i = 0; i < CARAT_N_ARITHMETIC; i++)
            if (limits[level].operations[i] > 0)
                printf("%s%s %s %.0f", i ? "," : "; Gop/s of ", i ? "" : c->level[level].isa, names[i],
                       1e-9 * limits[level].operations[i]);
    }
}

int kc_bench(struct kcheck *c, const struct kc_bench *b)
{
    carat_limits limits[KC_LEVELS];
    int lines = 0;

    measure(c, b->threads, limits);
    printf("\n%-8s %-7s %-5s %-7s %6s %6s %6s %11s %8s %6s %9s %6s %7s %8s\n", "level", "type", "model",
           "matrix", "rows", "cols", "tokens", "us", "GB/s", "limit", "GOP/s", "limit", "ceiling", "x ref");
    for (int type = 0; type < CT_TYPE_COUNT; type++) {
        double most[KC_LEVELS] = {-1}; /* not measured yet */
        for (size_t s = 0; s < CT_COUNT(shapes); s++) {
            bool wanted =
                b->type < 0 ? ct_panel_of((enum ct_type)type)->lines != CT_LINES_NONE : type == b->type;
            if (!wanted || !in_list(b->shapes, shapes[s].model) ||
                shapes[s].cols % ct_type_info((enum ct_type)type)->block)
                continue;
            for (int level = most[0] < 0 ? c->n_level - 1 : -1; level >= 0; level--)
                most[level] = ceiling(&c->level[level], (enum ct_type)type, b->threads);
            one_matrix(c, b, limits, most, (enum ct_type)type, &shapes[s]);
            lines++;
        }
    }
    if (!lines)
        printf("no matrix of these shapes can have that type\n");
    return lines ? 0 : 1;
}
