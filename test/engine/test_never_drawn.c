/* SPDX-License-Identifier: Apache-2.0 */
/* test_never_drawn.c: what generation_config.json suppresses is drawn in no mode: greedily or not, by every
 * strategy of the head, with and without drafts, by the loop by hand. The ids suppressed are those that the
 * same model would give. Which ids a checkpoint names is text/test_generation_config.c's. */
#include "told_util.h"

enum { SUPPRESSED = 6 };

static carat_model *model; /* models/tiny, with other suppress_tokens */
static carat_buffer files[4];
static carat_tokens prompt;
static struct got free_answer; /* of tiny itself */
static int32_t suppressed[SUPPRESSED];

static void suppress_its_answer(void)
{
    static char config[256];
    int n = 0, at = snprintf(config, sizeof config, "{\"suppress_tokens\":[");

    for (int i = 0; i < free_answer.n && n < SUPPRESSED; i++) {
        bool again = false;
        for (int k = 0; k < n; k++)
            again |= suppressed[k] == free_answer.id[i];
        if (again)
            continue;
        at += snprintf(config + at, sizeof config - (size_t)at, n ? ",%d" : "%d", free_answer.id[i]);
        suppressed[n++] = free_answer.id[i];
    }
    assert_int_equal(n, SUPPRESSED);
    snprintf(config + at, sizeof config - (size_t)at, "],\"eos_token_id\":[1,106]}");
    files[3] = (carat_buffer){"generation_config.json", config, strlen(config)};
}

static int open_suppressing(void **state)
{
    static const char *const names[] = {"config.json", "model.safetensors", "tokenizer.json"};
    carat_generation_options o;

    prepare(state);
    prompt = prompt_of(question, NULL);
    struct rig r = open_rig(1, NULL);
    o = greedy();
    generate(&free_answer, r.session[0], &prompt, &o);
    rig_close(&r);
    for (int i = 0; i < 3; i++) {
        char path[PATH_SIZE];
        files[i].name = names[i];
        files[i].data =
            read_whole(path_join(path, CT_TEST_DATA "/../../models/tiny", names[i]), &files[i].size);
    }
    suppress_its_answer();
    OK(carat_model_open_memory(&model, files, sizeof(carat_buffer), 4, NULL, err));
    return 0;
}

static int close_suppressing(void **state)
{
    carat_model_close(model);
    carat_tokens_free(&prompt);
    for (int i = 0; i < 3; i++)
        free((void *)(uintptr_t)files[i].data);
    return clean_up(state);
}

static void check_never(const int32_t *id, int n)
{
    assert_true(n > 0);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < SUPPRESSED; k++)
            if (id[i] == suppressed[k])
                fail_msg("id %d of the answer is %d, which is suppressed", i, id[i]);
}

static carat_generation_options plain_options(carat_sampling *s, float temperature, uint64_t seed)
{
    carat_generation_options o;

    carat_sampling_default(model, s);
    s->temperature = temperature;
    s->seed = seed;
    carat_generation_options_default(&o);
    o.sampling = s;
    o.max_tokens = 24;
    return o;
}

/* Drafts are the very ids that must not come. */
static void every_way(void **state)
{
    carat_engine_options engine = engine_of(1, NULL);
    carat_sampling sampling;
    static struct got first, got;

    (void)state;
    struct rig r = rig_open(model, &engine);
    for (int seed = 0; seed < 4; seed++) {
        carat_generation_options o = plain_options(&sampling, (float)seed, (uint64_t)seed);
        sampling.top_k = seed == 3 ? 0 : sampling.top_k;
        for (enum way way = PLAIN; way < N_WAY; way++) {
            go_way(&o, way, &free_answer, &prompt);
            o.logprobs = way == NAIVE;
            generate(&got, r.session[0], &prompt, &o);
            check_never(got.id, got.n);
            if (way == PLAIN)
                first = got;
            check_same_ids(&got, &first, &prompt);
            assert_int_equal(got.n, first.n);
        }
    }
    rig_close(&r);
}

static void every_head(void **state)
{
    static const carat_head strategies[] = {CARAT_HEAD_DENSE,     CARAT_HEAD_PRELOAD,      CARAT_HEAD_LAZY,
                                            CARAT_HEAD_SHORTLIST, CARAT_HEAD_EXACT_PRUNED, CARAT_HEAD_AUTO};
    carat_sampling sampling;
    static struct got got;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(strategies); i++) {
        carat_engine_options engine = engine_of(1, NULL);
        carat_head_options head;
        carat_head_options_default(&head);
        head.strategy = strategies[i];
        head.tile = strategies[i] >= CARAT_HEAD_PRELOAD && strategies[i] <= CARAT_HEAD_SHORTLIST ? 64 : 0;
        head.shortlist_tiles = strategies[i] == CARAT_HEAD_SHORTLIST ? 4 : 0;
        engine.head = &head;
        struct rig r = rig_open(model, &engine);
        for (int seed = 0; seed < 3; seed++) {
            carat_generation_options o = plain_options(&sampling, seed ? 1 : 0, (uint64_t)seed);
            generate(&got, r.session[0], &prompt, &o);
            check_never(got.id, got.n);
        }
        rig_close(&r);
    }
}

/* The loop by hand, with bans of the caller's and a chain besides. */
static void by_hand(void **state)
{
    carat_engine_options engine = engine_of(1, NULL);
    carat_sampling sampling;
    carat_chain chain;
    const carat_bias likely = {suppressed[0], 1e6f};
    int32_t id[20];

    (void)state;
    struct rig r = rig_open(model, &engine);
    carat_chain_default(&chain);
    chain.biases = &likely;
    chain.n_biases = 1;
    chain.repeat_penalty = 1.5f;
    for (int seed = 0; seed < 4; seed++) {
        static const int32_t other[] = {3};
        plain_options(&sampling, seed ? 1 : 0, (uint64_t)seed);
        sampling.banned = other;
        sampling.n_banned = 1;
        sampling.chain = seed % 2 ? &chain : NULL;
        OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
        for (size_t i = 0; i < CT_COUNT(id); i++) {
            OK(carat_sample(r.session[0], &sampling, &id[i], err));
            OK(carat_append(r.session[0], &id[i], 1, err));
        }
        check_never(id, (int)CT_COUNT(id));
    }
    rig_close(&r);
}

/* A unified Gemma 4, whose list has ids that its sampling would give otherwise; pictures and sound are named
 * by config.json alone, since there is no tokenizer. */
static void as_published(void **state)
{
    static const int32_t never[] = {5, 17, 599, 598}, first[] = {2, 501, 139, 315};
    const char *shared = getenv("CARAT_SHARED");
    carat_model *unified = NULL;
    char path[PATH_SIZE];

    (void)state;
    if (!shared)
        skip();
    OK(carat_model_open(&unified, path_join(path, shared, "../family/models/g4-unified"), NULL, err));
    carat_engine_options engine = engine_of(1, NULL);
    struct rig r = rig_open(unified, &engine);
    for (size_t i = 0; i < CT_COUNT(never); i++) {
        const carat_bias likely = {never[i], 1e6f};
        carat_chain chain;
        carat_sampling s;
        int32_t id;
        carat_chain_default(&chain);
        chain.biases = &likely;
        chain.n_biases = 1;
        carat_sampling_default(unified, &s);
        s.chain = &chain;
        for (int seed = 0; seed < 20; seed++) {
            s.temperature = seed ? 1 : 0;
            s.seed = (uint64_t)seed;
            OK(carat_sync(r.session[0], first, (int)CT_COUNT(first), NULL, err));
            OK(carat_sample(r.session[0], &s, &id, err));
            assert_true(id != 5 && id != 17 && id < 598);
        }
    }
    rig_close(&r);
    carat_model_close(unified);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way),
        cmocka_unit_test(every_head),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(as_published),
    };
    return cmocka_run_group_tests_name("ids that are never drawn", tests, open_suppressing,
                                       close_suppressing);
}
