/* SPDX-License-Identifier: Apache-2.0 */
/* kcheck_bench_vector.c: times the small operators: nanoseconds a value per level, one thread, data in the
 * caches. Timed is the shape of one token of a small model, and of a large vocabulary; the fastest of many
 * turns. */
#include "kcheck.h"

#include "os/clock.h"

enum { WIDTH = 2048, VOCABULARY = 262144, HEAD = 256, TURNS = 400 };

struct bench {
    const struct ct_kernel *k;
    float *x, *y, *w, *logits;
    struct ct_draw_room room;
    double inverse[HEAD / 2];
    struct ct_kv_head kv;
    volatile bool sound;
    volatile int32_t id;
    struct ct_row_bound *bound;
    struct ct_input_norms norms;
};

static void run_norm(struct bench *b)
{
    b->k->norm(b->y, b->x, b->w, WIDTH, 1e-6f);
}
static void run_add(struct bench *b)
{
    b->k->add(b->y, b->x, WIDTH);
}
static void run_geglu(struct bench *b)
{
    memcpy(b->y, b->x, WIDTH * sizeof *b->y);
    b->k->geglu(b->y, b->w, WIDTH);
}
static void run_softcap(struct bench *b)
{
    memcpy(b->y, b->x, WIDTH * sizeof *b->y);
    b->k->softcap(b->y, 30, WIDTH);
}
static void run_coefs(struct bench *b)
{
    const struct ct_altup w = {b->w, b->w, b->w, CT_STREAMS * CT_STREAMS};
    b->k->altup_coefs(b->y, b->x, &w, WIDTH, 1e-6f);
}
static void run_predict(struct bench *b)
{
    float *const stream[CT_STREAMS] = {b->y, b->y + WIDTH, b->y + 2 * WIDTH, b->y + 3 * WIDTH};
    b->k->altup_predict(stream, b->w, WIDTH);
}
static void run_correct(struct bench *b)
{
    float *const stream[CT_STREAMS] = {b->y, b->y + WIDTH, b->y + 2 * WIDTH, b->y + 3 * WIDTH};
    b->k->altup_correct(stream, b->x, b->w, WIDTH);
}
static void run_cutoff(struct bench *b)
{
    memcpy(b->y, b->x, WIDTH * sizeof *b->y);
    b->k->cutoff(b->y, 1.6448536f, WIDTH);
}
static void run_rope(struct bench *b)
{
    b->k->rope(b->y, b->x, b->w, HEAD / 2, HEAD);
}
static void run_table(struct bench *b)
{
    b->k->rope_table(b->y, b->y + HEAD, b->inverse, HEAD / 2, 1234);
}
static void run_store(struct bench *b)
{
    b->k->kv_write(&b->kv, 100, b->x, b->w);
}
static void run_finite(struct bench *b)
{
    b->sound = b->k->finite(b->logits, VOCABULARY);
}
static void run_log_sum(struct bench *b)
{
    b->y[0] = b->k->log_sum(b->logits, VOCABULARY, &b->y[1]);
}
static void run_entropy(struct bench *b)
{
    b->y[0] = b->k->entropy(b->logits, 64);
}
static void draw(struct bench *b, const struct ct_draw *d)
{
    b->id = b->k->draw(&(struct ct_logits){.value = b->logits, .n = VOCABULARY}, d, &b->room);
}
static void run_greedy(struct bench *b)
{
    draw(b, &(struct ct_draw){.top_p = 1});
}
static void run_draw(struct bench *b)
{
    draw(b, &(struct ct_draw){.temperature = 1, .top_p = 0.95f, .top_k = 64, .seed = 1});
}
static void run_all(struct bench *b)
{
    draw(b, &(struct ct_draw){.temperature = 1, .top_p = 1, .seed = 1});
}
static void run_top_p(struct bench *b)
{
    draw(b, &(struct ct_draw){.temperature = 0.8f, .top_p = 0.95f, .min_p = 0.05f, .seed = 1});
}
static void run_chain(struct bench *b)
{
    enum { EDITS = 100 };
    carat_chain chain;
    struct ct_edit edits[EDITS];

    carat_chain_default(&chain);
    chain.repeat_penalty = 1.1f;
    chain.frequency_penalty = chain.presence_penalty = 0.1f;
    chain.dry_multiplier = 0.8f;
    chain.typical_p = 0.9f;
    chain.xtc_probability = 1;
    chain.xtc_threshold = 0.01f;
    for (int i = 0; i < EDITS; i++)
        edits[i] = (struct ct_edit){i * 2000, i % 7, i % 5, i % 3 - 1};
    draw(b, &(struct ct_draw){.temperature = 0.8f,
                              .top_p = 0.95f,
                              .min_p = 0.01f,
                              .top_k = 64,
                              .seed = 1,
                              .chain = &chain,
                              .edits = edits,
                              .n_edits = EDITS});
}

static void run_above(struct bench *b)
{
    b->id = b->k->above(b->logits, VOCABULARY, __builtin_inff());
}

static void run_select(struct bench *b)
{
    const struct ct_logits l = {.value = b->logits, .n = VOCABULARY};
    b->id = b->k->select(b->room.order, &l, 64, NULL, 0, NULL);
}
static void run_input_norms(struct bench *b)
{
    b->k->input_norms(&b->norms, b->x, WIDTH, CT_INPUT_BF16);
}
/* Logits are uniform: a bar so far below the highest as leaves a part of the rows. */
static void prune(struct bench *b, float bar)
{
    struct ct_prune p = {b->logits, b->bound, VOCABULARY, {20, 0.02}, bar, NULL};
    int rows;
    b->id = b->k->prune(b->room.order, &rows, &p);
}
static void run_prune_most(struct bench *b)
{
    prune(b, 21.99f);
}
static void run_prune_some(struct bench *b)
{
    prune(b, 18);
}

static const struct entry {
    const char *name, *what;
    int values;
    void (*run)(struct bench *b);
} entries[] = {
    {"norm", "a row", WIDTH, run_norm},
    {"add", "a row", WIDTH, run_add},
    {"geglu", "a row", WIDTH, run_geglu},
    {"softcap", "a row", WIDTH, run_softcap},
    {"altup_coefs", "a row", WIDTH, run_coefs},
    {"altup_predict", "a row of four streams", WIDTH, run_predict},
    {"altup_correct", "a row of four streams", WIDTH, run_correct},
    {"cutoff", "a row", WIDTH, run_cutoff},
    {"rope", "a head", HEAD, run_rope},
    {"rope_table", "a position", HEAD, run_table},
    {"kv_write", "bf16 K and V of a head", 2 * HEAD, run_store},
    {"finite", "logits", VOCABULARY, run_finite},
    {"log_sum", "logits", VOCABULARY, run_log_sum},
    {"entropy", "logits of candidates", 64, run_entropy},
    {"above", "nothing is", VOCABULARY, run_above},
    {"select", "the 64 best", VOCABULARY, run_select},
    {"input_norms", "a row", WIDTH, run_input_norms},
    {"prune", "few rows stay", VOCABULARY, run_prune_most},
    {"prune", "every tenth row stays", VOCABULARY, run_prune_some},
    {"draw", "greedy", VOCABULARY, run_greedy},
    {"draw", "top-k 64, top-p 0.95", VOCABULARY, run_draw},
    {"draw", "every link", VOCABULARY, run_chain},
    {"draw", "top-k 0", VOCABULARY, run_all},
    {"draw", "top-k 0, top-p 0.95", VOCABULARY, run_top_p},
};

static double fastest(struct bench *b, const struct entry *e)
{
    double best = INFINITY;
    for (int turn = 0; turn < TURNS; turn++) {
        double start = ct_os_seconds();
        e->run(b);
        best = fmin(best, ct_os_seconds() - start);
    }
    return best;
}

static void fill(struct kcheck *c, float *x, int n, float most)
{
    for (int i = 0; i < n; i++)
        x[i] = kc_uniform(c, -most, most);
}

int kc_bench_vector(struct kcheck *c)
{
    struct bench b = {.kv = {CT_KV_BF16, CT_KEY_BLOCK, HEAD, NULL, NULL}};
    size_t bytes = VOCABULARY * sizeof(float);
    void *arrays = aligned_alloc(4096, 12 * bytes);
    int lines = 0;

    if (!arrays)
        abort();
    memset(arrays, 0, 12 * bytes);
    b.x = arrays;
    b.y = b.x + VOCABULARY;
    b.w = b.y + VOCABULARY;
    b.logits = b.w + VOCABULARY;
    void *scratch[CT_DRAW_ARRAYS];
    for (int i = 0; i < CT_DRAW_ARRAYS; i++)
        scratch[i] = b.logits + (size_t)(i + 1) * VOCABULARY;
    b.room = (struct ct_draw_room){scratch[0], scratch[1], scratch[2], scratch[3], scratch[4], scratch[5]};
    b.kv.k = b.logits + (size_t)(CT_DRAW_ARRAYS + 1) * VOCABULARY;
    b.kv.v = (uint8_t *)b.kv.k + ct_kv_bytes(b.kv.type, b.kv.capacity, HEAD);
    b.bound = (struct ct_row_bound *)(void *)((float *)arrays + 7 * (size_t)VOCABULARY);
    for (int i = 0; i < VOCABULARY; i++)
        b.bound[i] = (struct ct_row_bound){ct_f32_to_f16(kc_uniform(c, 0.06f, 0.1f)), ct_f32_to_f16(1)};
    fill(c, b.x, WIDTH, 4);
    fill(c, b.w, WIDTH, 1);
    fill(c, b.logits, VOCABULARY, 20);
    c->level[0].rope_frequencies(b.inverse, HEAD, 10000, 1);
    printf("%-8s %-12s %-24s %10s %12s\n", "level", "entry", "of", "us", "ns a value");
    for (size_t i = 0; i < CT_COUNT(entries); i++)
        for (int level = 0; level < c->n_level; level++) {
            const struct entry *e = &entries[i];
            if (strcmp(c->only, "all") != 0 && strcmp(c->only, e->name) != 0)
                continue;
            b.k = &c->level[level];
            double seconds = fastest(&b, e);
            printf("%-8s %-12s %-24s %10.2f %12.3f\n", b.k->isa, e->name, e->what, seconds * 1e6,
                   seconds * 1e9 / e->values);
            lines++;
        }
    free(arrays);
    if (!lines)
        printf("no entry of that name is timed\n");
    return lines ? 0 : 1;
}
