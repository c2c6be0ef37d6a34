/* SPDX-License-Identifier: Apache-2.0 */
/* test_pair.c: engines of which the CPU and an emulated GPU (test/emu, which LD_LIBRARY_PATH leads to) have
 * some layers each: the committed hashes of logits for every boundary, sessions that go back and on, vectors
 * of texts, guesses of drafters, a device that is lost. A GPU alone: test_cuda.c. */
#define _POSIX_C_SOURCE 200809L
#include <carat_embed.h>
#include <carat_generate.h>
#include <unistd.h>

#include "cuda_util.h"
#include "tier.h"

#include "engine/row_logits.h"
#include "engine/session.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define TINY CT_TEST_DATA "/../../models/tiny"

/* In the deep tier: what takes minutes of a processor, too. */
static bool all;

static carat_engine_options pair_options(int gpu_layers)
{
    carat_engine_options o;

    carat_engine_options_default(&o);
    o.device = "cuda";
    o.gpu_layers = gpu_layers;
    o.context = 600;
    o.threads = 2;
    return o;
}

/* Whether there is a driver and the library has kernels for it. */
static int has_gpu(void **unused)
{
    carat_model *model = NULL;
    carat_error why = {CARAT_OK, ""};
    const carat_engine_options o = pair_options(1);
    carat_plan plan = {.size = sizeof plan};

    (void)unused;
    OK(carat_model_open(&model, TINY, NULL, err));
    carat_plan_engine(model, &o, &plan, &why);
    carat_model_close(model);
    if (why.code && strstr(why.message, "without clang")) {
        print_message("%s\n", why.message);
        skip();
    }
    if (why.code)
        fail_msg("%s", why.message);
    return 0;
}

/* ---- the same bits ---- */

struct line {
    char model[64], arithmetic[8], kv[8];
    unsigned long long hash;
};

/* Of the logits after each of the ids of test_hashes.c. */
static void has_hash(carat_model *model, const struct line *l, int gpu_layers)
{
    static const int chunks[] = {256, 7, 1};
    carat_engine_options o = pair_options(gpu_layers);
    o.context = 128;
    o.chunk = chunks[gpu_layers % 3];
    o.exact = strcmp(l->arithmetic, "exact") == 0;
    o.kv = strcmp(l->kv, "f32") == 0   ? CARAT_KV_F32
           : strcmp(l->kv, "f16") == 0 ? CARAT_KV_F16
           : strcmp(l->kv, "q8") == 0  ? CARAT_KV_Q8
                                       : CARAT_KV_BF16;
    struct rig r = rig_open(model, &o);
    struct ids ids = scattered_ids(42, model_info(model).n_text_vocab, 2025);
    const size_t size = (size_t)ids.n * (size_t)r.n_vocab * sizeof(float);
    float *logits = malloc(size);
    carat_row row = {.session = r.session[0], .tokens = ids.id, .n = ids.n, .logits = logits};

    OK(carat_step(r.engine, &row, sizeof row, 1, err));
    const unsigned long long hash = XXH3_64bits(logits, size);
    if (hash != l->hash)
        fail_msg("%s, %s, %s, %d layers on the GPU: %016llx, expected %016llx", l->model, l->arithmetic,
                 l->kv, gpu_layers, hash, l->hash);
    free(logits);
    free(ids.id);
    rig_close(&r);
}

/* tiny, in BF16 and in Q8_0, and Gemma 3n, whose streams come back to the CPU; deep, every
 * model. */
static void layers_give_the_committed_hashes(void **unused)
{
    char text[256];
    FILE *f = fopen(CT_TEST_DATA "/hashes.txt", "r");
    int lines = 0, n = 0;

    (void)unused;
    assert_non_null(f);
    while (fgets(text, sizeof text, f)) {
        struct line l;
        if (sscanf(text, "%63s %7s %7s %16llx", l.model, l.arithmetic, l.kv, &l.hash) != 4)
            continue;
        const int at = lines++;
        const bool is_tiny = strcmp(l.model, "tiny") == 0;
        const bool every = is_tiny || strstr(l.model, "gguf/q8_0.") || strstr(l.model, "models/gemma3n");
        if (!every && (!all || (strcmp(l.kv, "bf16") != 0 && (at / 5 + at) % 5 != 0)))
            continue;
        const char *folder = strncmp(l.model, "sbs/", 4) == 0 ? CT_TEST_DATA : CT_TEST_DATA "/vectors";
        char path[PATH_SIZE];
        carat_model *model = NULL;
        path_join(path, folder, l.model);
        OK(carat_model_open(&model, is_tiny ? TINY : path, NULL, err));
        const int layers = model_info(model).n_layer;
        for (int on_gpu = 1; on_gpu < layers && runs_on_gpu(model); on_gpu++)
            if (all || (strcmp(l.kv, "bf16") == 0 && (layers <= 6 || on_gpu == layers / 2))) {
                has_hash(model, &l, on_gpu);
                n++;
            }
        carat_model_close(model);
    }
    fclose(f);
    assert_true(n > (all ? 100 : 5));
}

/* ---- sessions that go back and on ---- */

enum { CONTEXT = 600, STEPS = 20, FEW_STEPS = 12, SESSIONS = 4, MOST_TOKENS = 500 };

struct player {
    struct rig r;
    struct ids ids; /* that are evaluated: a session's token at a position is one of them */
    uint32_t random;
    XXH64_hash_t seen;              /* of all logits and files */
    float *logits;                  /* [CONTEXT][n_vocab] */
    void (*turn)(struct player *p); /* before each operation; may be NULL */
};

static int up_to(struct player *p, int n)
{
    p->random = p->random * 1664525u + 1013904223u;
    return (int)((p->random >> 8) % (uint32_t)n);
}

static int held(const struct player *p, int i)
{
    return carat_tokens_held(p->r.session[i], NULL);
}

static void take_in(struct player *p, const void *bytes, size_t n)
{
    p->seen = XXH64(bytes, n, p->seen);
}

/* The state behind its last token, which comes from where the pass ended. */
static void take_state(struct player *p, int i)
{
    const carat_session *s = p->r.session[i];
    const float *state = ct_row_logits_state(p->r.engine, s->logits);

    assert_non_null(state);
    take_in(p, state, (size_t)p->r.engine->config.hidden * sizeof *state);
}

/* Tokens of one or two sessions, in one pass or in some. */
static void evaluate(struct player *p, int i, int beside)
{
    const int n[] = {up_to(p, 8) ? 1 + up_to(p, 6) : 1 + up_to(p, 150), 1};
    carat_row rows[2];
    const int n_rows = beside == i ? 1 : 2;

    for (int k = 0; k < n_rows; k++) {
        const int who = k ? beside : i;
        if (held(p, who) + n[k] > MOST_TOKENS)
            OK(carat_rewind(p->r.session[who], up_to(p, MOST_TOKENS - 150), err));
        rows[k] = (carat_row){.session = p->r.session[who],
                              .tokens = p->ids.id + up_to(p, p->ids.n - n[k]),
                              .n = n[k],
                              .logits = p->logits + (size_t)(k ? n[0] : 0) * (size_t)p->r.n_vocab};
    }
    OK(carat_step(p->r.engine, rows, sizeof *rows, n_rows, err));
    take_state(p, i);
    take_in(p, p->logits, (size_t)(n[0] + (n_rows > 1)) * (size_t)p->r.n_vocab * sizeof(float));
}

static void fork_into(struct player *p, int from, int to)
{
    if (from == to || held(p, from) == 0)
        return;
    carat_session_close(p->r.session[to]);
    OK(carat_fork(p->r.session[from], 1 + up_to(p, held(p, from)), &p->r.session[to], err));
}

/* Through a file, whose bytes are K and V, too. */
static void save_and_load(struct player *p, int from, int to)
{
    char path[] = "/tmp/test_pair.XXXXXX";
    const int fd = mkstemp(path);
    size_t size = 0;

    assert_true(fd >= 0);
    close(fd);
    if (held(p, from) > 0) {
        OK(carat_save(p->r.session[from], path, NULL, 0, err));
        void *bytes = read_whole(path, &size);
        take_in(p, bytes, size);
        free(bytes);
        OK(carat_load(p->r.session[to], path, NULL, NULL, err));
    }
    unlink(path);
}

static void do_something(struct player *p)
{
    const int i = up_to(p, SESSIONS), other = up_to(p, SESSIONS), what = up_to(p, 10);

    if (p->turn)
        p->turn(p);
    if (what == 0)
        fork_into(p, i, other);
    else if (what == 1 && held(p, i) > 0)
        OK(carat_rewind(p->r.session[i], up_to(p, held(p, i)), err));
    else if (what == 2)
        OK(carat_sync(p->r.session[i], p->ids.id, 1 + up_to(p, 320), NULL, err));
    else if (what == 3)
        save_and_load(p, i, other);
    else
        evaluate(p, i, other);
}

/* A schedule by its number; what is seen of it does not depend on who computes. */
static unsigned long long play(carat_model *model, carat_engine_options o, uint32_t seed,
                               void (*turn)(struct player *p))
{
    struct player p = {.random = seed, .turn = turn};

    o.context = CONTEXT;
    o.sessions = SESSIONS;
    o.chunk = 64;
    o.snapshot_bytes = 16 << 20;
    p.r = rig_open(model, &o);
    p.ids = scattered_ids(700, model_info(model).n_text_vocab, seed);
    p.logits = malloc((size_t)CONTEXT * (size_t)p.r.n_vocab * sizeof *p.logits);
    assert_non_null(p.logits);
    for (int i = 0; i < (all ? STEPS : FEW_STEPS); i++)
        do_something(&p);
    free(p.logits);
    free(p.ids.id);
    rig_close(&p.r);
    return p.seen;
}

static carat_engine_options cpu_options(void)
{
    carat_engine_options o = pair_options(0);

    o.device = "cpu";
    return o;
}

static void sessions_go_back_and_on_as_on_the_cpu(void **unused)
{
    static const char *const models[] = {TINY, CT_TEST_DATA "/vectors/models/gemma3n",
                                         CT_TEST_DATA "/vectors/models/gemma4-moe"};

    (void)unused;
    for (size_t m = 0; m < (all ? sizeof models / sizeof *models : 1); m++) {
        carat_model *model = NULL;
        OK(carat_model_open(&model, models[m], NULL, err));
        const int layers = model_info(model).n_layer;
        for (int i = 1; i < (all ? layers : 3); i++) {
            const int on_gpu = 1 + i % (layers - 1);
            const unsigned long long cpu = play(model, cpu_options(), (uint32_t)i, NULL),
                                     pair = play(model, pair_options(on_gpu), (uint32_t)i, NULL);
            if (cpu != pair)
                fail_msg("%s, schedule %d, %d layers on the GPU", models[m], i, on_gpu);
        }
        carat_model_close(model);
    }
}

/* ---- each has all, and passes go to either ---- */

/* A table of costs by which passes go here and there. */
static void deal(carat_costs *costs, struct player *p)
{
    for (int k = 0; k < CARAT_COST_KINDS; k++)
        for (int d = 0; d < CARAT_COST_DEPTHS; d++)
            for (int b = 0; b < CARAT_ROW_BUCKETS; b++) {
                costs->of[k][d][b] = (carat_cost){1 << b, 1e3 + up_to(p, 1000), 1};
                costs->on_gpu[k][d][b] = (carat_cost){1 << b, 1e3 + up_to(p, 1000), 1};
            }
}

static void deal_anew(struct player *p)
{
    const uint32_t random = p->random;

    p->random ^= 0x5bd1e995u;
    deal(&p->r.engine->stats.costs, p);
    p->random = random; /* the schedule is that of other engines */
}

static carat_engine_options auto_options(void)
{
    static carat_costs costs = {.size = sizeof costs};
    struct player any = {.random = 1};
    carat_engine_options o = pair_options(0);

    deal(&costs, &any);
    o.device = "auto";
    o.costs = &costs;
    return o;
}

/* Whether the device is gone by now; what is told of it is then the CPU's. */
static bool was_lost;

static void deal_and_look(struct player *p)
{
    carat_engine_stats s = {.size = sizeof s};

    deal_anew(p);
    OK(carat_engine_get_stats(p->r.engine, &s, err));
    assert_null(p->r.engine->sides.gone);
    was_lost = !p->r.engine->sides.chooses;
    if (was_lost) {
        assert_non_null(strstr(s.cpu.reason, "the GPU"));
        assert_string_not_equal(p->r.engine->plan.isa, "cuda");
    }
    assert_true(was_lost || s.cpu.by_reason[CARAT_DISPATCH_NO_GPU] == 0);
    assert_int_equal(s.cpu.by_reason[CARAT_DISPATCH_OPTION] + s.gpu.by_reason[CARAT_DISPATCH_OPTION], 0);
}

static void either_gives_the_same_bits(void **unused)
{
    static const char *const models[] = {TINY, CT_TEST_DATA "/vectors/models/gemma3n",
                                         CT_TEST_DATA "/vectors/models/gemma4-moe",
                                         CT_TEST_DATA "/vectors/gguf/q8_0.gguf"};

    (void)unused;
    for (size_t m = 0; m < (all ? sizeof models / sizeof *models : 1); m++) {
        carat_model *model = NULL;
        OK(carat_model_open(&model, models[m], NULL, err));
        for (uint32_t i = 1; i < (all ? 8 : 4); i++)
            if (play(model, cpu_options(), i, NULL) != play(model, auto_options(), i, deal_anew))
                fail_msg("%s, schedule %u", models[m], i);
        carat_model_close(model);
    }
}

/* A schedule in which the device is lost. The CPU has all: it goes on, and no weight is read again. */
static void a_lost_device_leaves_the_cpu(void **unused)
{
    static const struct {
        const char *call;
        int after;
    } lost[] = {{"cuLaunchKernel", 1},       {"cuLaunchKernel", 60},      {"cuMemcpyDtoHAsync_v2", 3},
                {"cuMemcpyHtoDAsync_v2", 9}, {"cuStreamSynchronize", 12}, {"cuMemcpyHtoDAsync_v2", 1}};
    carat_model *model = NULL;
    carat_engine_options o = auto_options();
    char told[64];

    (void)unused;
    OK(carat_model_open(&model, TINY, NULL, err));
    const unsigned long long cpu = play(model, cpu_options(), 5, NULL);
    o.context = CONTEXT;
    o.sessions = SESSIONS;
    o.chunk = 64;
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        snprintf(told, sizeof told, "%s:%d", lost[i].call,
                 calls_until_made_with(model, &o, lost[i].call) + lost[i].after);
        setenv("EMU_LOST", told, 1);
        was_lost = false;
        if (play(model, auto_options(), 5, deal_and_look) != cpu)
            fail_msg("EMU_LOST=%s: other bits", told);
        unsetenv("EMU_LOST");
        if (!was_lost)
            fail_msg("EMU_LOST=%s: there were fewer calls", told);
    }
    carat_model_close(model);
}

int main(void)
{
    all = tier_is_deep();

    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(layers_give_the_committed_hashes, has_gpu),
        cmocka_unit_test_setup(sessions_go_back_and_on_as_on_the_cpu, has_gpu),
        cmocka_unit_test_setup(either_gives_the_same_bits, has_gpu),
        cmocka_unit_test_setup(a_lost_device_leaves_the_cpu, has_gpu),
    };
    return cmocka_run_group_tests_name("engine: pair, emulated", tests, NULL, NULL);
}
