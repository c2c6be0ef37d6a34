/* SPDX-License-Identifier: Apache-2.0 */
/* test_thought_budget.c: a thought ends where its budget does, whatever makes the ids; and a session goes
 * back to the beginning of the model's turn without more to evaluate than what is new, since a finished turn
 * is rendered without its thoughts. */
#include "engine/thinking.h"

/* ---- budgets ---- */

/* A chain that has the model think: what it likes best is drawn once, then never again; it does not end its
 * thought by itself. */
struct thinker {
    carat_sampling sampling;
    carat_chain chain;
    carat_bias biases[4];
};

static carat_generation_options thinker_options(struct thinker *t, float temperature, uint64_t seed)
{
    carat_generation_options o;
    const carat_bias biases[] = {{CHANNEL, 900}, {THOUGHT, 800}, {LINE_BREAK, 700}, {CHANNEL_END, -INFINITY}};

    memcpy(t->biases, biases, sizeof biases);
    for (int i = 0; i < prompt.n; i++)
        t->biases[2].bias += prompt.ids[i] == LINE_BREAK ? 1000.0f : 0;
    carat_chain_default(&t->chain);
    t->chain.biases = t->biases;
    t->chain.n_biases = 4;
    t->chain.frequency_penalty = 1000;
    t->chain.repeat_last_n = -1;
    carat_sampling_default(model, &t->sampling);
    t->sampling.temperature = temperature;
    t->sampling.seed = seed;
    t->sampling.chain = &t->chain;
    carat_generation_options_default(&o);
    o.sampling = &t->sampling;
    o.max_tokens = 30;
    return o;
}

/* Of the ids that a generation told. */
struct marks {
    int forced[MOST], n;
    bool thought[MOST];
};

static int mark(void *user, const carat_given *given)
{
    struct marks *m = user;

    m->forced[m->n] = given->forced;
    m->thought[m->n++] = given->thought != 0;
    return 0;
}

static carat_on_token both_take;
static struct marks told;

static int take_both(void *user, const carat_given *given)
{
    (void)mark(&told, given);
    return both_take(user, given);
}

static void run(struct got *got, carat_session *s, const carat_generation_options *options)
{
    carat_generation_options o = *options;

    memset(&told, 0, sizeof told);
    memset(got, 0, sizeof *got);
    got->session = s;
    both_take = take_given;
    o.on_token = take_both;
    o.user = got;
    OK(carat_sync(s, prompt.ids, prompt.n, NULL, err));
    OK(carat_generation_create(&got->g, s, &o, err));
    OK(carat_generate(got->g, err));
    end(got);
}

/* The beginning of every answer here. */
static void check_thought(const struct got *got, int budget)
{
    assert_int_equal(got->id[0], CHANNEL);
    assert_int_equal(got->id[1], THOUGHT);
    assert_int_equal(got->id[2], LINE_BREAK);
    for (int i = 0; i < got->n; i++) {
        bool ends = budget >= 0 && i == 3 + budget;
        assert_int_equal(got->id[i] == CHANNEL_END, ends);
        assert_int_equal(told.forced[i], ends);
        assert_int_equal(told.thought[i], i > 0 && (budget < 0 || i <= 3 + budget));
    }
    assert_int_equal(got->info.in_thought, budget < 0);
    assert_int_equal(got->info.thought_ids, budget < 0 ? got->n : budget + 4);
    carat_reason reason = got->info.reason;
    assert_true(got->n == 30 || reason == CARAT_REASON_STOP || reason == CARAT_REASON_TOOL_CALLS);
}

static void every_way(void **state)
{
    static const int budgets[] = {-1, 0, 1, 2, 7};
    static struct got all, first, got;
    struct thinker t;

    (void)state;
    carat_engine_options engine = engine_of(1, NULL);
    struct rig r = rig_open(model, &engine);
    for (int seed = 0; seed < 2; seed++)
        for (size_t b = 0; b < CT_COUNT(budgets); b++) {
            carat_generation_options o = thinker_options(&t, (float)seed, (uint64_t)seed + 7);
            o.limits_thought = budgets[b] >= 0;
            o.thought_budget = budgets[b] < 0 ? 0 : budgets[b];
            for (enum way way = PLAIN; way < N_WAY; way++) {
                go_way(&o, way, &first, &prompt);
                o.logprobs = way == WRONG;
                run(&got, r.session[0], &o);
                check_thought(&got, budgets[b]);
                if (way == PLAIN)
                    first = got;
                check_same_ids(&got, &first, &prompt);
                assert_int_equal(got.n, first.n);
                assert_string_equal(got.all, first.all);
            }
            if (budgets[b] < 0)
                all = first;
            assert_memory_equal(first.id, all.id,
                                (size_t)(3 + budgets[b] * (budgets[b] > 0)) * sizeof *all.id);
        }
    rig_close(&r);
}

/* The budget counts what stands in the prompt, too, and means nothing where nobody thinks. */
static void from_the_prompt(void **state)
{
    static struct got got;
    struct thinker t;
    carat_tokens mine = prompt;

    (void)state;
    carat_engine_options engine = engine_of(1, NULL);
    struct rig r = rig_open(model, &engine);
    carat_tokens longer =
        ids_of("<bos><|turn>user\nTurn on the lights<turn|>\n<|turn>model\n<|channel>thought\nthe lights");
    for (int budget = 0; budget < 9; budget++) {
        carat_generation_options o = thinker_options(&t, 0, 0);
        t.chain.n_biases = 0;
        o.limits_thought = 1;
        o.thought_budget = budget;
        o.max_tokens = 8;
        prompt = longer;
        run(&got, r.session[0], &o);
        prompt = mine;
        int at = budget < 3 ? 0 : budget - 3; /* the, lights: three ids */
        for (int i = 0; i < got.n; i++)
            assert_int_equal(told.forced[i], i == at);
    }
    carat_generation_options o = thinker_options(&t, 0, 0);
    t.chain.n_biases = 0;
    o.limits_thought = 1;
    run(&got, r.session[0], &o);
    for (int i = 0; i < got.n; i++)
        assert_int_equal(told.forced[i] || told.thought[i], 0);
    carat_tokens_free(&longer);
    rig_close(&r);
}

/* What is held begins behind the beginning of a thought: who knows that says so. */
static void goes_on_inside(void **state)
{
    static struct got got;
    struct thinker t;

    (void)state;
    carat_engine_options engine = engine_of(1, NULL);
    struct rig r = rig_open(model, &engine);
    carat_generation_options o = thinker_options(&t, 0, 0);
    t.chain.n_biases = 0;
    o.in_thought = 1;
    o.max_tokens = 3;
    run(&got, r.session[0], &o);
    assert_true(got.n == 3 && told.thought[0] && told.thought[2] && got.info.in_thought);
    o.limits_thought = 1;
    o.thought_budget = 1;
    run(&got, r.session[0], &o);
    assert_true(told.thought[0] && told.forced[1] && !told.thought[2] && !got.info.in_thought);
    rig_close(&r);
}

static void refused(void **state)
{
    static const struct {
        int limits, budget, inside;
    } bad[] = {{2, 0, 0}, {-1, 0, 0}, {1, -1, 0}, {0, 0, 2}, {0, 0, -1}};
    carat_generation *g = NULL;

    (void)state;
    carat_engine_options engine = engine_of(1, NULL);
    struct rig r = rig_open(model, &engine);
    for (size_t i = 0; i < CT_COUNT(bad); i++) {
        carat_generation_options o;
        carat_generation_options_default(&o);
        o.limits_thought = bad[i].limits;
        o.thought_budget = bad[i].budget;
        o.in_thought = bad[i].inside;
        FAILS(CARAT_E_ARGUMENT, carat_generation_create(&g, r.session[0], &o, err));
        assert_null(g);
    }
    rig_close(&r);
}

/* ---- the next turn ---- */

/* A prompt of n ids whose last four are an empty thought, or whose thought is yet to come. */
static void make_prompt(int32_t *ids, int n, bool empty_thought)
{
    static const int32_t thought[] = {CHANNEL, THOUGHT, LINE_BREAK, CHANNEL_END};
    struct ids scattered = scattered_ids(n, 1000, 5);

    for (int i = 0; i < n; i++)
        ids[i] = 200 + scattered.id[i] % 800;
    if (empty_thought)
        memcpy(ids + n - 4, thought, sizeof thought);
    free(scattered.id);
}

static void next_turn(void **state)
{
    /* where the window of 64 leaves a block of 256, and where a pass ends at one */
    static const int around[] = {320, 512, 576};
    enum { ANSWER = 20, AGAIN = 7, ALL = 600 + ANSWER };
    int32_t ids[ALL], next[ALL];
    carat_engine_options o = engine_of(1, NULL), fresh = engine_of(1, NULL);
    carat_session_stats stats = {.size = sizeof stats};
    carat_plan plan = {.size = sizeof plan};
    int parted = 0;

    (void)state;
    OK(carat_plan_engine(model, &o, &plan, err));
    o.snapshot_bytes = 4 * plan.snapshot_least;
    struct rig r = rig_open(model, &o), other = rig_open(model, &fresh);
    for (size_t i = 0; i < CT_COUNT(around); i++)
        for (int n = around[i] - 6; n <= around[i] + 6; n++) {
            bool empty = n != around[i] - 6; /* once with a thought that is yet to come */
            int turn = empty ? n - 4 : n, reused = -1;
            OK(carat_rewind(r.session[0], 0, err));
            make_prompt(ids, n + ANSWER, false);
            make_prompt(ids, n, empty);
            OK(carat_sync(r.session[0], ids, n, NULL, err));
            OK(carat_session_get_stats(r.session[0], &stats, err));
            parted += stats.snapshots == 2;
            OK(carat_append(r.session[0], ids + n, ANSWER, err));
            memcpy(next, ids, (size_t)turn * sizeof *ids); /* the answer without its thought, and a message */
            memcpy(next + turn, ids + n + 5, AGAIN * sizeof *ids);
            OK(carat_sync(r.session[0], next, turn + AGAIN, &reused, err));
            if (reused != turn)
                fail_msg("a prompt of %d, turn at %d: %d reused", n, turn, reused);
            OK(carat_session_get_stats(r.session[0], &stats, err));
            assert_int_equal(stats.reevaluated, 0);
            if (n % 3)
                continue;
            OK(carat_sync(other.session[0], next, turn + AGAIN, NULL, err));
            assert_memory_equal(carat_logits(r.session[0]), carat_logits(other.session[0]),
                                (size_t)r.n_vocab * sizeof(float));
            OK(carat_rewind(other.session[0], 0, err));
        }
    assert_true(parted > 3 && parted < 13); /* a pass of its own where it must be, and nowhere else */
    rig_close(&r);
    rig_close(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way), cmocka_unit_test(from_the_prompt), cmocka_unit_test(goes_on_inside),
        cmocka_unit_test(refused),   cmocka_unit_test(next_turn),
    };
    return cmocka_run_group_tests_name("budgets of thoughts", tests, open_thinking, close_thinking);
}
