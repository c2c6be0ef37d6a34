/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_ahead.c: answers while passes run ahead on an emulated GPU (test/emu): whatever comes of them, an
 * answer that ends, another session, a fork, a way back, other settings: ids, texts, probabilities, logits
 * and files are those of the CPU. How many passes run ahead: test_cuda_draws.c. */
#define _POSIX_C_SOURCE 200809L
#include <carat_generate.h>
#include <unistd.h>

#include "cuda_util.h"
#include "tier.h"

#include "quant/kv_type.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define TINY CT_TEST_DATA "/../../models/tiny"

/* In the deep tier: what takes minutes of a processor, too. */
static bool all;

enum { CONTEXT = 600, MOST_TOKENS = 560, MOST_STREAMS = 32 };

/* A session with an answer under way. */
struct stream {
    struct player *p;
    carat_generation *g;
    carat_sampling sampling;
    carat_chain chain;
    int leaves; /* its caller stops it at positions that this divides; 0: never */
};

struct player {
    struct rig r;
    int n;
    struct stream stream[MOST_STREAMS];
    struct ids ids; /* of prompts */
    uint32_t random;
    XXH64_hash_t seen; /* of all that callers get */
};

static carat_model *model;

static int open_tiny(void **unused)
{
    carat_error why = {CARAT_OK, ""};
    const carat_engine_options o = cuda_options();
    carat_plan plan = {.size = sizeof plan};

    (void)unused;
    OK(carat_model_open(&model, TINY, NULL, err));
    carat_plan_engine(model, &o, &plan, &why);
    if (why.code && strstr(why.message, "without clang")) {
        print_message("%s\n", why.message);
        skip();
    }
    if (why.code)
        fail_msg("%s", why.message);
    return 0;
}

static int close_tiny(void **unused)
{
    (void)unused;
    carat_model_close(model);
    return 0;
}

static int up_to(struct player *p, int n)
{
    p->random = p->random * 1664525u + 1013904223u;
    return (int)((p->random >> 8) % (uint32_t)n);
}

static void take_in(struct player *p, const void *bytes, size_t n)
{
    p->seen = XXH64(bytes, n, p->seen);
}

static int held(const struct player *p, int i)
{
    return carat_tokens_held(p->r.session[i], NULL);
}

/* ---- answers ---- */

static int hear(void *user, const carat_given *given)
{
    struct stream *s = user;

    take_in(s->p, &given->id, sizeof given->id);
    take_in(s->p, &given->position, sizeof given->position);
    take_in(s->p, &given->logprob, sizeof given->logprob);
    take_in(s->p, given->text, given->n_text);
    return s->leaves && given->position % s->leaves == 0;
}

/* Every third one is drawn so that nothing runs ahead. */
static void choose_sampling(struct stream *s)
{
    struct player *p = s->p;

    carat_sampling_default(model, &s->sampling);
    carat_chain_default(&s->chain);
    s->sampling.temperature = up_to(p, 3) ? 0.5f + 0.25f * (float)up_to(p, 6) : 0;
    s->sampling.top_k = 1 + up_to(p, 80);
    s->sampling.top_p = up_to(p, 2) ? 0.5f + 0.1f * (float)up_to(p, 5) : 1;
    s->sampling.min_p = up_to(p, 3) ? 0 : 0.1f;
    s->sampling.seed = (uint64_t)up_to(p, 1000) << 32 | 7;
    s->chain.repeat_penalty = up_to(p, 3) ? 1 : 1.2f;
    s->sampling.chain = up_to(p, 2) ? &s->chain : NULL;
}

static void begin_answer(struct player *p, int i)
{
    struct stream *s = &p->stream[i];
    carat_generation_options o;
    int32_t stop[4];

    carat_generation_close(s->g);
    if (held(p, i) == 0 || held(p, i) > MOST_TOKENS || up_to(p, 3) == 0) {
        const int n = up_to(p, all ? 4 : 12) ? 1 + up_to(p, 12) : 240 + up_to(p, 20);
        OK(carat_sync(p->r.session[i], p->ids.id + up_to(p, 8), n, NULL, err));
    }
    choose_sampling(s);
    for (int k = 0; k < 4; k++)
        stop[k] = up_to(p, 300);
    carat_generation_options_default(&o);
    o.sampling = &s->sampling;
    o.on_token = hear;
    o.user = s;
    o.max_tokens = 3 + up_to(p, 30);
    o.stop_ids = stop;
    o.n_stop_ids = 4;
    o.lookup = up_to(p, 4) ? CARAT_LOOKUP_OFF : CARAT_LOOKUP_ON;
    o.logprobs = up_to(p, 8) == 0;
    o.loop_guard = up_to(p, 4) ? 0 : 16;
    s->leaves = up_to(p, 4) ? 0 : 3 + up_to(p, 9);
    OK(carat_generation_create(&s->g, p->r.session[i], &o, err));
}

/* A step of all, or of some; an answer that ends is followed by another one. */
static void step(struct player *p, bool together)
{
    carat_generation *g[MOST_STREAMS];
    int which[MOST_STREAMS], n = 0;

    for (int i = 0; i < p->n; i++)
        if (together || up_to(p, 2)) {
            which[n] = i;
            g[n++] = p->stream[i].g;
        }
    if (n == 0)
        return;
    OK(carat_generation_step(p->r.engine, g, n, err));
    for (int i = 0; i < n; i++) {
        carat_generation_info info = {.size = sizeof info};
        OK(carat_generation_get_info(g[i], &info, err));
        take_in(p, &info.reason, sizeof info.reason);
        if (info.reason != CARAT_REASON_NONE && info.reason != CARAT_REASON_CALLBACK)
            begin_answer(p, which[i]);
    }
}

/* ---- what comes between ---- */

/* So that the session has logits. */
static void evaluate(struct player *p, int i)
{
    const carat_row row = {.session = p->r.session[i], .tokens = p->ids.id + 1 + up_to(p, 200), .n = 1};

    OK(carat_step(p->r.engine, (carat_row[]){row}, sizeof row, 1, err));
}

static void fork_into(struct player *p, int from, int to)
{
    const int n = held(p, from);

    if (from == to)
        return;
    carat_generation_close(p->stream[to].g);
    p->stream[to].g = NULL;
    carat_session_close(p->r.session[to]);
    OK(carat_fork(p->r.session[from], up_to(p, 2) ? n : 1 + up_to(p, n), &p->r.session[to], err));
    evaluate(p, to);
    begin_answer(p, to);
}

static void go_back(struct player *p, int i)
{
    const int n = held(p, i);

    OK(carat_rewind(p->r.session[i], n > 3 && up_to(p, 4) ? n - 1 - up_to(p, 3) : up_to(p, n), err));
    evaluate(p, i);
}

static void read_logits(struct player *p, int i)
{
    const float *all_logits = carat_logits(p->r.session[i]);

    if (all_logits)
        take_in(p, all_logits, (size_t)p->r.n_vocab * sizeof *all_logits);
}

/* Tokens, K and V. */
static void save(struct player *p, int i)
{
    char path[] = "/tmp/test_cuda_ahead.XXXXXX";
    const int fd = mkstemp(path);
    size_t size = 0;

    assert_true(fd >= 0);
    close(fd);
    OK(carat_save(p->r.session[i], path, NULL, 0, err));
    void *bytes = read_whole(path, &size);
    take_in(p, bytes, size);
    free(bytes);
    unlink(path);
}

static void do_something(struct player *p)
{
    const int i = up_to(p, p->n), what = up_to(p, 24);

    if (what == 0)
        fork_into(p, i, up_to(p, p->n));
    else if (what == 1)
        go_back(p, i);
    else if (what == 2)
        read_logits(p, i);
    else if (what == 3)
        save(p, i);
    else if (what == 4)
        begin_answer(p, i);
    else
        step(p, what > 6);
}

/* A schedule by its number; what is seen of it does not depend on who computes. */
static unsigned long long play(const char *device, int streams, int turns, uint32_t seed)
{
    static struct player p;
    carat_engine_options o = cuda_options();

    p = (struct player){.n = streams, .random = seed};
    o.device = device;
    o.context = CONTEXT;
    o.sessions = streams;
    o.snapshot_bytes = 4 << 20;
    p.r = rig_open(model, &o);
    p.ids = scattered_ids(400, model_info(model).n_text_vocab, seed);
    for (int i = 0; i < streams; i++) {
        p.stream[i].p = &p;
        begin_answer(&p, i);
    }
    for (int i = 0; i < turns; i++)
        do_something(&p);
    for (int i = 0; i < streams; i++) {
        read_logits(&p, i);
        carat_generation_close(p.stream[i].g);
    }
    free(p.ids.id);
    rig_close(&p.r);
    return p.seen;
}

static void answers_are_those_of_the_cpu(void **unused)
{
    static const struct {
        int streams, turns, seeds, seeds_of_all;
    } plays[] = {{1, 90, 1, 8}, {3, 24, 1, 5}, {5, 20, 0, 4}, {9, 12, 0, 2}, {32, 8, 0, 1}};

    (void)unused;
    for (size_t i = 0; i < sizeof plays / sizeof *plays; i++)
        for (int k = 0; k < (all ? plays[i].seeds_of_all : plays[i].seeds); k++) {
            const uint32_t seed = (uint32_t)k * 7 + 15;
            const unsigned long long cpu = play("cpu", plays[i].streams, plays[i].turns, seed),
                                     cuda = play("cuda", plays[i].streams, plays[i].turns, seed);
            if (cpu != cuda)
                fail_msg("%d streams, schedule %u", plays[i].streams, seed);
        }
}

/* Logits of a session that waits while another one's answer crosses the end of a block. A pass that ran ahead
 * there would write where its table does not tell yet: into the block of the first. */
static void wait_for_another(const char *device, float *logits)
{
    carat_engine_options o = cuda_options();
    carat_generation_options go;
    carat_generation *g = NULL;
    carat_sampling sampling;

    o.device = device;
    o.sessions = 2;
    struct rig r = rig_open(model, &o);
    struct ids ids = scattered_ids(260, model_info(model).n_text_vocab, 3);
    carat_sampling_default(model, &sampling);
    carat_generation_options_default(&go);
    go.sampling = &sampling;
    go.max_tokens = 20;
    go.lookup = CARAT_LOOKUP_OFF;
    OK(carat_sync(r.session[0], ids.id, 5, NULL, err));
    OK(carat_sync(r.session[1], ids.id, CT_KEY_BLOCK - 8, NULL, err));
    OK(carat_generation_create(&g, r.session[1], &go, err));
    for (int i = 0; i < 20; i++)
        OK(carat_generation_step(r.engine, &g, 1, err));
    carat_generation_close(g);
    assert_true(carat_tokens_held(r.session[1], NULL) > CT_KEY_BLOCK);
    OK(carat_sync(r.session[0], ids.id, 6, NULL, err));
    memcpy(logits, carat_logits(r.session[0]), (size_t)r.n_vocab * sizeof *logits);
    free(ids.id);
    rig_close(&r);
}

static void nothing_is_written_behind_a_block(void **unused)
{
    const size_t n = (size_t)model_info(model).n_vocab;
    float *cpu = calloc(n, sizeof *cpu), *cuda = calloc(n, sizeof *cuda);

    (void)unused;
    assert_true(cpu && cuda);
    wait_for_another("cpu", cpu);
    wait_for_another("cuda", cuda);
    assert_memory_equal(cpu, cuda, n * sizeof *cpu);
    free(cpu);
    free(cuda);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_those_of_the_cpu),
        cmocka_unit_test(nothing_is_written_behind_a_block),
    };

    all = tier_is_deep();
    return cmocka_run_group_tests_name("engine: passes that run ahead, emulated", tests, open_tiny,
                                       close_tiny);
}
