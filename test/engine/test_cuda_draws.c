/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_draws.c: answers on an emulated GPU (test/emu): the ids of the CPU for every way to draw, few
 * bytes of logits that come to the host, all of them for who asks, passes that are one launch and those that
 * cannot be, passes that run ahead, and a device that is lost in an answer. Logits themselves: test_cuda.c.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <carat_generate.h>

#include "cuda_util.h"

#define TINY CT_TEST_DATA "/../../models/tiny"
enum { PROMPT = 5, IDS = 6, SESSIONS = 3 };

static carat_model *model;
static void *driver; /* kept open for its counters */
static size_t *copied, *launches, *graphs;
static int (*calls)(const char *call);
static char told[256]; /* the last line of an engine */

static void hear_line(void *user, const char *line)
{
    (void)user;
    snprintf(told, sizeof told, "%s", line);
}

static int open_tiny(void **unused)
{
    carat_error why = {CARAT_OK, ""};
    carat_engine_options o;
    carat_plan plan = {.size = sizeof plan};

    (void)unused;
    carat_engine_options_default(&o);
    o.device = "cuda";
    OK(carat_model_open(&model, TINY, NULL, err));
    carat_plan_engine(model, &o, &plan, &why);
    if (why.code && strstr(why.message, "without clang")) {
        print_message("%s\n", why.message);
        skip();
    }
    if (why.code)
        fail_msg("%s", why.message);
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    assert_non_null(driver);
    copied = dlsym(driver, "emu_copied");
    launches = dlsym(driver, "emu_launches");
    graphs = dlsym(driver, "emu_graphs");
    void *found = dlsym(driver, "emu_count");
    memcpy(&calls, &found, sizeof calls);
    assert_true(copied && launches && graphs && calls);
    return 0;
}

/* From here on each engine has a driver of its own, which was not lost before. */
static void let_go(void)
{
    if (driver)
        dlclose(driver);
    driver = copied = NULL;
}

static int close_tiny(void **unused)
{
    (void)unused;
    carat_model_close(model);
    return 0;
}

/* ---- ways to draw ---- */

struct way {
    const char *name;
    carat_sampling sampling;
    carat_chain chain;
    carat_bias biases[2];
    int32_t banned[3];
    int logprobs, loop_guard;
    int few;    /* best ids that a token reads; 0: all logits */
    bool ahead; /* the device draws, too, and passes run ahead */
};

static struct way plain(const char *name, float temperature, int top_k, float top_p, float min_p, int few)
{
    struct way w = {.name = name, .few = few, .banned = {300, 17, 105}};

    carat_sampling_default(model, &w.sampling);
    carat_chain_default(&w.chain);
    w.sampling.temperature = temperature;
    w.sampling.top_k = top_k;
    w.sampling.top_p = top_p;
    w.sampling.min_p = min_p;
    w.sampling.seed = 11;
    return w;
}

enum { WAYS = 9 };

static void make_ways(struct way *w)
{
    w[0] = plain("greedy", 0, 0, 1, 0, 1);
    w[1] = plain("the model's", 1, 64, 0.95f, 0, 64);
    w[2] = plain("min-p", 1.5f, 40, 1, 0.05f, 40);
    w[3] = plain("penalties", 0.8f, 40, 0.9f, 0, 40);
    w[3].chain.repeat_penalty = 1.3f;
    w[3].chain.presence_penalty = 0.5f;
    w[4] = plain("biases", 1, 20, 1, 0, 20);
    w[4].biases[0] = (carat_bias){301, 40};
    w[4].biases[1] = (carat_bias){302, -100};
    w[5] = plain("banned", 1, 200, 1, 0, 200);
    w[5].sampling.n_banned = 3;
    w[6] = plain("a guard against loops", 0, 0, 1, 0, 64);
    w[6].loop_guard = 24;
    w[7] = plain("all ids", 1, 0, 1, 0, 0);
    w[8] = plain("probabilities", 1, 64, 0.95f, 0, 0);
    w[8].logprobs = 1;
    for (int i = 0; i < WAYS; i++) {
        w[i].ahead = w[i].few > 0 && i != 3 && i != 4;
        w[i].sampling.banned = w[i].sampling.n_banned ? w[i].banned : NULL;
        w[i].chain.biases = w[i].biases;
        w[i].chain.n_biases = i == 4 ? 2 : 0;
        w[i].sampling.chain = i == 3 || i == 4 ? &w[i].chain : NULL;
    }
}

/* ---- answers ---- */

struct answer {
    int32_t id[IDS];
    float logprob[IDS];
    int n;
    size_t bytes, launches; /* of those that came to the host for a token, and of kernels one by one: most */
    int passes, graphs, waits;
};

static int hear(void *user, const carat_given *given)
{
    struct answer *a = user;

    assert_true(a->n < IDS);
    a->logprob[a->n] = given->logprob;
    a->id[a->n++] = given->id;
    return 0;
}

struct counted {
    size_t copied, launches, graphs;
    int waits;
};

static struct counted count(void)
{
    return copied ? (struct counted){*copied, *launches, *graphs,
                                     calls("cuStreamSynchronize") + calls("cuEventSynchronize")}
                  : (struct counted){0};
}

static void answer(struct answer *a, const char *device, const struct way *w, int n, float *logits)
{
    static const int32_t prompt[SESSIONS][PROMPT] = {
        {2, 105, 300, 301, 107}, {2, 105, 310, 311, 98}, {2, 105, 312, 313, 97}};
    carat_engine_options o;
    carat_head_options head;
    carat_generation *g[SESSIONS];

    carat_engine_options_default(&o);
    o.device = device;
    o.context = 128;
    o.sessions = SESSIONS;
    carat_head_options_default(&head);
    head.log = hear_line;
    o.head = &head;
    *told = 0;
    struct rig r = rig_open(model, &o);
    memset(a, 0, (size_t)n * sizeof *a);
    for (int i = 0; i < n; i++) {
        carat_generation_options go;
        carat_generation_options_default(&go);
        go.sampling = &w->sampling;
        go.logprobs = w->logprobs;
        go.loop_guard = w->loop_guard;
        go.max_tokens = IDS;
        go.on_token = hear;
        go.user = &a[i];
        go.lookup = CARAT_LOOKUP_OFF;
        OK(carat_sync(r.session[i], prompt[i], PROMPT, NULL, err));
        OK(carat_generation_create(&g[i], r.session[i], &go, err));
    }
    int steps = 0;
    for (bool goes_on = true; goes_on;) {
        goes_on = false;
        const struct counted before = count();
        const bool passes = steps++ > 0; /* the first ids come without one */
        OK(carat_generation_step(r.engine, g, n, err));
        const struct counted now = count();
        if (passes && now.copied - before.copied > a[0].bytes)
            a[0].bytes = now.copied - before.copied;
        if (passes && now.launches - before.launches > a[0].launches)
            a[0].launches = now.launches - before.launches;
        a[0].passes += passes;
        a[0].waits = passes && now.waits - before.waits > a[0].waits ? now.waits - before.waits : a[0].waits;
        a[0].graphs += (int)(now.graphs - before.graphs);
        for (int i = 0; i < n; i++) {
            carat_generation_info info = {.size = sizeof info};
            OK(carat_generation_get_info(g[i], &info, err));
            goes_on |= info.reason == CARAT_REASON_NONE;
        }
    }
    for (int i = 0; i < n; i++) { /* what nobody has read until now */
        const float *all = carat_logits(r.session[i]);
        assert_non_null(all);
        memcpy(logits + (size_t)i * (size_t)r.n_vocab, all, (size_t)r.n_vocab * sizeof *all);
        carat_generation_close(g[i]);
    }
    rig_close(&r);
}

static void same_answers(const struct way *w, int n, const char *what)
{
    static struct answer cpu[SESSIONS], cuda[SESSIONS];
    const carat_model_info info = model_info(model);
    const size_t bytes = (size_t)n * (size_t)info.n_vocab * sizeof(float);
    float *logits[2] = {malloc(bytes), malloc(bytes)};

    assert_true(logits[0] && logits[1]);
    answer(cpu, "cpu", w, n, logits[0]);
    answer(cuda, "cuda", w, n, logits[1]);
    for (int i = 0; i < n; i++)
        if (cpu[i].n != cuda[i].n || memcmp(cpu[i].id, cuda[i].id, sizeof cpu[i].id) != 0 ||
            memcmp(cpu[i].logprob, cuda[i].logprob, sizeof cpu[i].logprob) != 0)
            fail_msg("%s, %s: answer %d of %d is another", w->name, what, i, n);
    if (memcmp(logits[0], logits[1], bytes) != 0)
        fail_msg("%s, %s: the last logits are others", w->name, what);
    /* best ids with their logits, the same of those apart, of which there are few, and the hidden state */
    const size_t few = (size_t)n * ((size_t)w->few * 8 + 128 * 8 + (size_t)info.hidden * sizeof(float));
    if (w->few && copied && (cuda[0].bytes == 0 || cuda[0].bytes > few || cuda[0].bytes > 8192))
        fail_msg("%s, %s: %zu bytes came for a token, not at most %zu", w->name, what, cuda[0].bytes, few);
    /* beside the graph of a pass there is the head; the pass behind the last one has run ahead in vain */
    if (copied && (cuda[0].graphs != cuda[0].passes + w->ahead || cuda[0].launches > 7))
        fail_msg("%s, %s: %d graphs of %d passes, %zu launches", w->name, what, cuda[0].graphs,
                 cuda[0].passes, cuda[0].launches);
    /* logits, what they are made of, and whether all is finite come together */
    if (w->few && copied && cuda[0].waits != 1)
        fail_msg("%s, %s: the device is waited for %d times", w->name, what, cuda[0].waits);
    free(logits[0]);
    free(logits[1]);
}

static void every_way_to_draw_gives_the_ids_of_the_cpu(void **unused)
{
    struct way ways[WAYS];

    (void)unused;
    make_ways(ways);
    for (int i = 0; i < WAYS; i++) {
        if (i < 2)
            same_answers(&ways[i], 1, "alone");
        same_answers(&ways[i], SESSIONS, "together");
    }
}

/* Of 262144 ids several rounds of blocks find the best, the last ones first. */
static void a_large_vocabulary_stays_on_the_device(void **unused)
{
    char shared[PATH_SIZE], path[PATH_SIZE];
    carat_model *tiny = model;
    struct way ways[WAYS];

    (void)unused;
    if (!shared_vectors(shared))
        skip();
    OK(carat_model_open(&model, path_join(path, shared, "models/gemma3-realvocab"), NULL, err));
    make_ways(ways);
    setenv("EMU_ORDER", "1", 1);
    same_answers(&ways[1], 1, "a large vocabulary");
    unsetenv("EMU_ORDER");
    carat_model_close(model);
    model = tiny;
}

/* Inputs of layers come from the host before the graph of a pass begins; experts are chosen in it. */
static void passes_of_other_models_are_graphs_too(void **unused)
{
    static const char *const models[] = {"gemma3n", "gemma4-e", "gemma4-moe"};
    carat_model *tiny = model;
    char path[PATH_SIZE];
    struct way ways[WAYS];

    (void)unused;
    for (int i = 0; i < 3; i++) {
        OK(carat_model_open(&model, path_join(path, CT_TEST_DATA "/vectors/models", models[i]), NULL, err));
        make_ways(ways);
        ways[1].ahead = i == 2; /* the host has no inputs of layers for ids that it does not know */
        same_answers(&ways[1], 1, models[i]);
        same_answers(&ways[1], SESSIONS, models[i]);
        carat_model_close(model);
    }
    model = tiny;
}

/* The n-th call of an engine that is there: what a variable of the emulated driver is told. */
static const char *later_call(const char *name, int n)
{
    static char call[64];

    snprintf(call, sizeof call, "%s:%d", name, calls_until_made(model, name) + n);
    return call;
}

/* A call for graphs fails once, or the context is lost in it: kernels run one by one, or the CPU goes on. */
static void an_answer_needs_no_graph(void **unused)
{
    static const struct {
        const char *variable, *call;
        int n;
        const char *told;
    } cases[] = {{"EMU_FAIL", "cuStreamBeginCapture_v2", 1, "runs kernels one by one"},
                 {"EMU_FAIL", "cuStreamEndCapture", 1, "runs kernels one by one"},
                 {"EMU_FAIL", "cuGraphInstantiate_v2", 1, "runs kernels one by one"},
                 {"EMU_FAIL", "cuGraphDestroy", 1, ""},
                 {"EMU_FAIL", "cuGraphLaunch", 1, "runs kernels one by one"},
                 {"EMU_FAIL", "cuGraphLaunch", 3, "runs kernels one by one"},
                 {"EMU_LOST", "cuStreamEndCapture", 1, "the CPU goes on"},
                 {"EMU_LOST", "cuGraphLaunch", 3, "the CPU goes on"}};
    struct way ways[WAYS];

    (void)unused;
    make_ways(ways);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        let_go();
        const char *call = later_call(cases[i].call, cases[i].n);
        setenv(cases[i].variable, call, 1);
        same_answers(&ways[1], SESSIONS, call);
        if (!strstr(told, cases[i].told) || (!*cases[i].told && *told))
            fail_msg("%s=%s: '%s'", cases[i].variable, call, told);
        unsetenv(cases[i].variable);
    }
}

/* Logits behind STEPS tokens of one session, beside another, which wants some in the first and the last step
 * alone. */
enum { STEPS = 7 };
static void step_beside(const char *device, float *logits)
{
    static const int32_t ids[2][STEPS] = {{2, 105, 300, 301, 107, 99, 12}, {2, 105, 310, 311, 107, 98, 13}};
    carat_engine_options o;
    carat_head_options head;

    carat_engine_options_default(&o);
    carat_head_options_default(&head);
    head.log = hear_line;
    o.head = &head;
    o.device = device;
    o.context = 128;
    o.sessions = 2;
    *told = 0;
    struct rig r = rig_open(model, &o);
    for (int i = 0; i < STEPS; i++) {
        carat_row rows[] = {{.session = r.session[0], .tokens = &ids[0][i], .n = 1},
                            {.session = r.session[1], .tokens = &ids[1][i], .n = 1}};
        rows[0].wants = CARAT_WANTS_LAST;
        rows[1].wants = i == 0 || i == STEPS - 1 ? CARAT_WANTS_LAST : CARAT_WANTS_NONE;
        OK(carat_step(r.engine, rows, sizeof *rows, 2, err));
        memcpy(logits + (size_t)i * (size_t)r.n_vocab, carat_logits(r.session[0]),
               (size_t)r.n_vocab * sizeof *logits);
    }
    memcpy(logits + (size_t)STEPS * (size_t)r.n_vocab, carat_logits(r.session[1]),
           (size_t)r.n_vocab * sizeof *logits);
    rig_close(&r);
}

/* Passes that are not those of their graph run as they are, and after some there are no graphs any more. */
static void other_passes_than_those_of_a_graph_are_right(void **unused)
{
    const size_t n = (STEPS + 1) * (size_t)model_info(model).n_vocab;
    float *cpu = calloc(n, sizeof *cpu), *cuda = calloc(n, sizeof *cuda);

    (void)unused;
    assert_true(cpu && cuda);
    step_beside("cpu", cpu);
    step_beside("cuda", cuda);
    assert_memory_equal(cpu, cuda, n * sizeof *cpu);
    assert_non_null(strstr(told, "passes ask for others each time"));
    free(cpu);
    free(cuda);
}

static void an_answer_goes_on_when_the_device_is_lost(void **unused)
{
    static const struct {
        const char *call;
        int n;
    } lost[] = {{"cuLaunchKernel", 150}, {"cuMemcpyDtoHAsync_v2", 4}};
    struct way ways[WAYS];

    (void)unused;
    make_ways(ways);
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        let_go();
        const char *call = later_call(lost[i].call, lost[i].n);
        setenv("EMU_LOST", call, 1);
        same_answers(&ways[1], SESSIONS, call);
        unsetenv("EMU_LOST");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_to_draw_gives_the_ids_of_the_cpu),
        cmocka_unit_test(a_large_vocabulary_stays_on_the_device),
        cmocka_unit_test(passes_of_other_models_are_graphs_too),
        cmocka_unit_test(other_passes_than_those_of_a_graph_are_right),
        cmocka_unit_test(an_answer_needs_no_graph),
        cmocka_unit_test(an_answer_goes_on_when_the_device_is_lost),
    };
    return cmocka_run_group_tests_name("engine: draws on cuda, emulated", tests, open_tiny, close_tiny);
}
