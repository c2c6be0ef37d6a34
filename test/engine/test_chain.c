/* SPDX-License-Identifier: Apache-2.0 */
/* test_chain.c: which ids a chain edits, against the plain wording of the rule; what draws read; chains
 * that are refused; draws that follow their probabilities; and that generations with a chain draw what the
 * plain loop does. What links leave: test_links.c. */
#include "step_util.h"

#include <math.h>

#include <carat_generate.h>

#include "engine/row_logits.h"
#include "engine/chain.h"
#include "kernel/kernel.h"

static uint64_t state = 88172645463325252u;
static int below(int n)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 32) % (uint32_t)n);
}

/* ---- edits ---- */

enum { HELD = 60, IDS = 130, WORDS = 3 };

static int count_of(const int32_t *held, int n, int last_n, int32_t id)
{
    int count = 0;
    for (int i = last_n < 0 ? 0 : CT_MAX(n - last_n, 0); i < n; i++)
        count += held[i] == id;
    return count;
}

static bool is_breaker(const carat_chain *c, int32_t id)
{
    for (int i = 0; i < c->n_dry_breakers; i++)
        if (c->dry_breakers[i] == id)
            return true;
    return false;
}

/* The longest repetition that an id would go on with; -1: none. */
static int repetition(const carat_chain *c, const int32_t *held, int n, int32_t id)
{
    const int first = c->dry_penalty_last_n < 0 ? 0 : CT_MAX(n - c->dry_penalty_last_n, 0);
    int longest = -1;

    if (n - first <= c->dry_allowed_length)
        return -1;
    for (int at = first + 1; at < n; at++) {
        int length = 0;
        if (held[at] != id)
            continue;
        while (at - 1 - length >= first && held[at - 1 - length] == held[n - 1 - length] &&
               !is_breaker(c, held[n - 1 - length]))
            length++;
        longest = CT_MAX(longest, length);
    }
    return longest >= c->dry_allowed_length ? longest : -1;
}

static void edits_are_what_the_rule_says(void **unused)
{
    uint64_t set[WORDS];
    int32_t before[WORDS], run[HELD], held[HELD], apart[4 * HELD + IDS];
    struct ct_edit edits[IDS];
    struct ct_penalty penalty = {IDS, HELD, set, before, run, edits};
    int seen = 0;

    (void)unused;
    for (int turn = 0; turn < 3000; turn++) {
        const int n = 1 + below(HELD), alphabet = 1 + below(turn % 2 ? 4 : IDS);
        const int32_t breakers[] = {below(alphabet), below(alphabet)};
        const carat_bias biases[] = {{below(IDS / 2), 2}, {IDS / 2 + below(IDS / 2), -INFINITY}};
        carat_chain c;
        carat_chain_default(&c);
        for (int i = 0; i < n; i++)
            held[i] = below(alphabet);
        c.repeat_penalty = below(2) ? 1 : 1.5f;
        c.repeat_last_n = below(HELD) - 1;
        c.dry_multiplier = below(3) ? 1 : 0;
        c.dry_allowed_length = below(4);
        c.dry_penalty_last_n = below(2) ? -1 : below(HELD);
        c.dry_breakers = breakers;
        c.n_dry_breakers = below(3);
        c.biases = biases;
        c.n_biases = below(3);
        const bool dry = c.dry_multiplier > 0 && c.dry_penalty_last_n != 0;
        const int listed = ct_penalty_edits(&penalty, &c, held, n);
        const int n_apart = ct_chain_apart(&c, held, n, n, apart, (int)CT_COUNT(apart));
        int at = 0;
        for (int32_t id = 0; id < IDS; id++) {
            float bias = 0;
            for (int i = 0; i < c.n_biases; i++)
                bias = biases[i].id == id ? biases[i].bias : bias;
            const int count = c.repeat_penalty > 1 ? count_of(held, n, c.repeat_last_n, id) : 0;
            const int length = dry ? repetition(&c, held, n, id) : -1;
            if (bias == 0 && count == 0 && length < 0)
                continue;
            assert_true(at < listed);
            assert_int_equal(edits[at].id, id);
            assert_true(edits[at].bias == bias);
            assert_int_equal(edits[at].count, count);
            assert_int_equal(edits[at].over, length < 0 ? -1 : length - c.dry_allowed_length);
            int found = 0;
            while (found < n_apart && apart[found] != id)
                found++;
            assert_true(found < n_apart);
            at++;
            seen += length >= 0;
        }
        assert_int_equal(at, listed);
    }
    assert_true(seen > 1000);
}

static void too_many_edits_are_told(void **unused)
{
    int32_t held[HELD] = {0}, apart[HELD];
    carat_chain c;

    (void)unused;
    carat_chain_default(&c);
    assert_int_equal(ct_chain_apart(NULL, held, HELD, HELD, apart, HELD), 0);
    assert_int_equal(ct_chain_apart(&c, held, HELD, HELD, apart, HELD), 0);
    c.presence_penalty = 1;
    c.repeat_last_n = -1;
    assert_int_equal(ct_chain_apart(&c, held, HELD, HELD, apart, HELD), HELD);
    assert_int_equal(ct_chain_apart(&c, held, HELD, HELD, apart, HELD - 1), -1);
}

/* ---- what is read ---- */

static void draws_read_what_their_links_need(void **unused)
{
    const carat_link late[] = {CARAT_LINK_TEMPERATURE, CARAT_LINK_PENALTIES, CARAT_LINK_TOP_K};
    const carat_link cut[] = {CARAT_LINK_TOP_P, CARAT_LINK_TOP_K};
    const carat_link alone[] = {CARAT_LINK_MIN_P};
    carat_chain c;
    carat_sampling s = {.temperature = 1, .top_k = 40, .top_p = 0.9f};

    (void)unused;
    assert_int_equal(ct_chain_best(&s), 40);
    s.temperature = 0;
    assert_int_equal(ct_chain_best(&s), 1);
    s.top_k = 0;
    assert_int_equal(ct_chain_best(&s), 1);
    s.temperature = 1;
    assert_int_equal(ct_chain_best(&s), 0);
    carat_chain_default(&c);
    s.chain = &c;
    s.top_k = 40;
    c.typical_p = 0.5f;
    assert_int_equal(ct_chain_best(&s), 40);
    c.links = late;
    c.n_links = 3;
    assert_int_equal(ct_chain_best(&s), 40); /* penalties do nothing */
    c.repeat_penalty = 2;
    assert_int_equal(ct_chain_best(&s), 0);
    c.links = cut;
    c.n_links = 2;
    assert_int_equal(ct_chain_best(&s), 0);
    s.top_p = 1;
    assert_int_equal(ct_chain_best(&s), 40);
    c.links = alone;
    c.n_links = 1;
    assert_int_equal(ct_chain_best(&s), 0);
    s.temperature = 0; /* nobody looks at it */
    assert_int_equal(ct_chain_best(&s), 0);
}

/* With one link that does something before top_k, after temperature or not. */
static int best_behind(carat_link link, bool tempered)
{
    const carat_link links[] = {CARAT_LINK_TEMPERATURE, link, CARAT_LINK_TOP_K};
    carat_chain c;
    carat_sampling s = {.temperature = 1, .top_k = 40, .top_p = 0.9f, .min_p = 0.1f, .chain = &c};

    carat_chain_default(&c);
    c.typical_p = c.xtc_probability = 0.5f;
    c.dry_multiplier = c.repeat_penalty = 2;
    c.links = links + !tempered;
    c.n_links = 2 + tempered;
    return ct_chain_best(&s);
}

static void links_before_top_k_read_all(void **unused)
{
    (void)unused;
    for (int tempered = 0; tempered < 2; tempered++) {
        assert_int_equal(best_behind(CARAT_LINK_PENALTIES, tempered), tempered ? 0 : 40);
        assert_int_equal(best_behind(CARAT_LINK_DRY, tempered), tempered ? 0 : 40);
        assert_int_equal(best_behind(CARAT_LINK_TYPICAL, tempered), 0);
        assert_int_equal(best_behind(CARAT_LINK_TOP_P, tempered), 0);
        assert_int_equal(best_behind(CARAT_LINK_MIN_P, tempered), 0);
        assert_int_equal(best_behind(CARAT_LINK_XTC, tempered), 0);
    }
}

static void ids_read_apart_ascend(void **unused)
{
    static const carat_bias biases[] = {{9, 1}, {3, 1}, {17, 1}, {1, 1}, {8, 1}, {2, 1}, {11, 1}};
    static const int32_t banned[] = {8, 30, 3, 4};
    carat_engine_options o = options(1, 16, MOST);
    struct rig r = rig_open(model, &o);
    int32_t apart[CT_MOST_APART];
    carat_sampling s;
    carat_chain c;

    (void)unused;
    carat_sampling_default(model, &s);
    carat_chain_default(&c);
    c.biases = biases;
    s.chain = &c;
    s.banned = banned;
    for (c.n_biases = 0; c.n_biases <= (int)CT_COUNT(biases); c.n_biases++)
        for (s.n_banned = 0; s.n_banned <= (int)CT_COUNT(banned); s.n_banned++) {
            const struct ct_reading reading = ct_reading_of(r.engine, &s, NULL, 0, 0, apart);
            assert_true(reading.n_apart >= CT_MAX(c.n_biases, s.n_banned));
            for (int i = 1; i < reading.n_apart; i++)
                assert_true(apart[i - 1] < apart[i]);
        }
    rig_close(&r);
}

/* ---- what is refused ---- */

static void chain_is_refused(const carat_chain *c, const char *message)
{
    carat_error e;

    assert_int_equal(ct_chain_check(c, 100, &e), CARAT_E_ARGUMENT);
    assert_string_equal(e.message, message);
}

static void unsound_chains_are_refused(void **unused)
{
    static const struct {
        size_t at;
        float value;
        const char *message;
    } rows[] = {
#define ROW(field, value, message) {offsetof(carat_chain, field), value, message}
        ROW(repeat_penalty, 0, "repeat_penalty is 0, expected 0.001 to 1000"),
        ROW(repeat_penalty, NAN, "repeat_penalty is nan, expected 0.001 to 1000"),
        ROW(frequency_penalty, 2000, "frequency_penalty is 2000, expected -1000 to 1000"),
        ROW(presence_penalty, -INFINITY, "presence_penalty is -inf, expected -1000 to 1000"),
        ROW(dry_multiplier, -1, "dry_multiplier is -1, expected 0 to 1000"),
        ROW(dry_base, 0.5f, "dry_base is 0.5, expected 1 to 1000"),
        ROW(typical_p, 0, "typical_p is 0, expected 0.000001 to 1"),
        ROW(typical_p, 1.5f, "typical_p is 1.5, expected 0.000001 to 1"),
        ROW(xtc_probability, NAN, "xtc_probability is nan, expected 0 to 1"),
        ROW(xtc_threshold, 2, "xtc_threshold is 2, expected 0 to 1"),
#undef ROW
    };
    static const carat_bias nan[] = {{3, NAN}}, large[] = {{3, INFINITY}}, twice[] = {{3, 1}, {4, 1}, {3, 2}},
                            beyond[] = {{100, 1}};
    static const carat_link again[] = {CARAT_LINK_TOP_K, CARAT_LINK_MIN_P, CARAT_LINK_TOP_K};
    static const carat_link unknown[] = {(carat_link)9};
    static const int32_t breaker[] = {-1};
    carat_chain good, c;

    (void)unused;
    carat_chain_default(&good);
    assert_int_equal(ct_chain_check(NULL, 100, NULL), CARAT_OK);
    assert_int_equal(ct_chain_check(&good, 100, NULL), CARAT_OK);
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        c = good;
        memcpy((char *)&c + rows[i].at, &rows[i].value, sizeof(float));
        chain_is_refused(&c, rows[i].message);
    }
    c = good, c.repeat_last_n = -2;
    chain_is_refused(&c, "repeat_last_n is -2, expected -1 (all) or more");
    c = good, c.biases = nan, c.n_biases = 1;
    chain_is_refused(&c, "biases[0].bias of id 3 is nan, expected -1e38 to 1e38, or -infinity");
    c.biases = large;
    chain_is_refused(&c, "biases[0].bias of id 3 is inf, expected -1e38 to 1e38, or -infinity");
    c.biases = beyond;
    chain_is_refused(&c, "biases[0].id is 100, expected an id from 0 to 99");
    c.biases = twice, c.n_biases = 3;
    chain_is_refused(&c, "biases[2].id is 3 once more, expected each id once");
    c.n_biases = 1025;
    chain_is_refused(&c, "n_biases is 1025, expected 0 to 1024");
    c.n_biases = 2, c.biases = NULL;
    chain_is_refused(&c, "n_biases is 2 and biases is NULL, expected a list of that length");
    c = good, c.links = again, c.n_links = 3;
    chain_is_refused(&c, "links[2] is top_k once more, expected each link once");
    c.links = unknown, c.n_links = 1;
    chain_is_refused(&c, "links[0] is 9, expected 0 to 7");
    c.n_links = 9;
    chain_is_refused(&c, "n_links is 9, expected 0 to 8");
    c = good, c.dry_breakers = breaker, c.n_dry_breakers = 1;
    chain_is_refused(&c, "dry_breakers[0] is -1, expected an id from 0 to 99");
    for (int i = 0; i < CARAT_LINKS; i++)
        assert_true(*carat_link_name((carat_link)i) && carat_link_name((carat_link)i)[1] != 0);
    assert_string_equal(carat_link_name((carat_link)CARAT_LINKS), "");
}

/* ---- draws ---- */

/* Of so many draws each id is drawn as often as its probability says: chi-square. */
static void draws_follow(const float *logits, int n, const struct ct_draw *how, const double *p)
{
    enum { DRAWS = 1000000, MOST_IDS = 16 };
    static int32_t order[3][MOST_IDS];
    static float value[3][MOST_IDS];
    struct ct_draw_room room = {order[0], order[1], order[2], value[0], value[1], value[2]};
    int seen[MOST_IDS] = {0}, likely = -1;
    struct ct_kernel k;
    struct ct_cpu cpu;
    struct ct_draw d = *how;
    double chi = 0;

    ct_cpu_detect(&cpu);
    assert_true(ct_kernel_choose(&k, &cpu, NULL));
    for (d.position = 0; d.position < DRAWS; d.position++) {
        int32_t id = k.draw(&(struct ct_logits){.value = logits, .n = n}, &d, &room);
        assert_true(id >= 0 && id < n);
        seen[id]++;
    }
    for (int i = 0; i < n; i++) {
        if (p[i] == 0)
            assert_int_equal(seen[i], 0);
        else
            chi += (seen[i] - DRAWS * p[i]) * (seen[i] - DRAWS * p[i]) / (DRAWS * p[i]);
        likely += p[i] > 0;
    }
    /* five standard deviations above the mean */
    assert_true(chi < likely + 5 * sqrt(2.0 * likely));
}

static void draws_follow_their_probabilities(void **unused)
{
    enum { N = 12 };
    float logits[N];
    double all[N], cut[N] = {0}, sum = 0, xtc[N] = {0};
    carat_chain c;

    (void)unused;
    for (int i = 0; i < N; i++)
        logits[i] = (float)((i * 5) % N) * 0.4f;
    for (int i = 0; i < N; i++)
        sum += exp((double)logits[i]);
    for (int i = 0; i < N; i++)
        all[i] = exp((double)logits[i]) / sum;
    draws_follow(logits, N, &(struct ct_draw){.temperature = 1, .top_p = 1, .seed = 1}, all);
    draws_follow(logits, N, &(struct ct_draw){.temperature = 1, .top_p = 1, .top_k = N, .seed = 2}, all);
    sum = 0;
    for (int i = 0; i < N; i++)
        sum += (i * 5) % N >= 8 ? all[i] : 0;
    for (int i = 0; i < N; i++)
        cut[i] = (i * 5) % N >= 8 ? all[i] / sum : 0;
    draws_follow(logits, N, &(struct ct_draw){.temperature = 1, .top_p = 1, .top_k = 4, .seed = 3}, cut);

    /* in one draw of four the best three of these go */
    carat_chain_default(&c);
    c.xtc_probability = 0.25f;
    c.xtc_threshold = 0.05f;
    int worst = -1;
    for (int i = 0; i < N; i++)
        worst = cut[i] > 0 && (worst < 0 || cut[i] < cut[worst]) ? i : worst;
    for (int i = 0; i < N; i++)
        xtc[i] = 0.75 * cut[i] + (i == worst ? 0.25 : 0);
    draws_follow(logits, N,
                 &(struct ct_draw){.temperature = 1, .top_p = 1, .top_k = 4, .seed = 4, .chain = &c}, xtc);
}

/* ---- generations ---- */

enum { PROMPT = 40, ANSWER = 30 };
static const int32_t sick_ids[] = {SICK};

static carat_sampling sampling_with(const carat_chain *c, uint64_t seed)
{
    carat_sampling s;
    carat_sampling_default(model, &s);
    s.temperature = 1.5f;
    s.top_k = 20;
    s.banned = sick_ids;
    s.n_banned = 1;
    s.seed = seed;
    s.chain = c;
    return s;
}

static void draw_loop(int32_t *out, const carat_sampling *sampling)
{
    carat_engine_options o = options(1, 16, MOST);
    struct rig r = rig_open(model, &o);

    OK(carat_sync(r.session[0], ids, PROMPT, NULL, err));
    for (int i = 0; i < ANSWER; i++) {
        OK(carat_sample(r.session[0], sampling, &out[i], err));
        OK(carat_append(r.session[0], &out[i], 1, err));
    }
    rig_close(&r);
}

struct answer {
    int32_t id[ANSWER];
    int n;
    const int32_t *proposed;
};

static int take_id(void *user, const carat_given *given)
{
    struct answer *a = user;
    a->id[a->n++] = given->id;
    return 0;
}

/* What comes, and now and then something else. */
static int propose_ids(void *user, const int32_t *held, int n, int32_t *draft, int k)
{
    const struct answer *a = user;
    int i = 0;

    (void)held;
    for (; i < k && n - PROMPT + i < ANSWER; i++)
        draft[i] = (a->proposed[n - PROMPT + i] + (i == 3)) % SICK;
    return i;
}

static void generate_ids(struct answer *a, carat_sampling sampling, bool naive, bool drafts)
{
    static const int32_t none;
    carat_engine_options o = options(1, 16, MOST);
    struct rig r = rig_open(model, &o);
    carat_generation_options g;
    carat_generation *generation;
    carat_chain c = *sampling.chain;

    a->n = 0;
    carat_generation_options_default(&g);
    sampling.chain = &c;
    g.sampling = &sampling;
    g.max_tokens = ANSWER;
    g.stop_ids = &none;
    g.on_token = take_id;
    g.user = a;
    g.naive = naive;
    g.lookup = CARAT_LOOKUP_OFF;
    g.propose = drafts ? propose_ids : NULL;
    OK(carat_sync(r.session[0], ids, PROMPT, NULL, err));
    OK(carat_generation_create(&generation, r.session[0], &g, err));
    memset(&c, 0xff, sizeof c); /* it was copied */
    memset(&sampling, 0xff, sizeof sampling);
    OK(carat_generate(generation, err));
    carat_generation_close(generation);
    rig_close(&r);
}

static void generations_draw_what_the_loop_does(void **unused)
{
    const carat_link odd[] = {CARAT_LINK_TOP_K, CARAT_LINK_DRY, CARAT_LINK_TEMPERATURE, CARAT_LINK_PENALTIES,
                              CARAT_LINK_XTC};
    const carat_bias biases[] = {{5, 3}, {9, -INFINITY}, {60, -1}};
    int32_t right_ids[ANSWER], plain[ANSWER];
    int differ = 0;

    (void)unused;
    for (int turn = 0; turn < 4; turn++) {
        carat_chain c;
        carat_chain_default(&c);
        carat_sampling s = sampling_with(NULL, 3), with = sampling_with(&c, 3);
        draw_loop(plain, &s);
        draw_loop(right_ids, &with);
        assert_memory_equal(plain, right_ids, sizeof plain); /* neutral values change nothing */
        c.repeat_penalty = 1.3f;
        c.frequency_penalty = 0.2f;
        c.dry_multiplier = 0.8f;
        c.dry_allowed_length = 1;
        c.typical_p = 0.95f;
        c.xtc_probability = 0.5f;
        c.xtc_threshold = 0.02f;
        c.biases = turn > 1 ? biases : NULL;
        c.n_biases = turn > 1 ? 3 : 0;
        c.links = turn % 2 ? odd : NULL;
        c.n_links = 5;
        draw_loop(right_ids, &with);
        differ += memcmp(plain, right_ids, sizeof plain) != 0;
        struct answer a = {.proposed = right_ids};
        for (int way = 0; way < 3; way++) {
            generate_ids(&a, with, way == 1, way == 2);
            assert_int_equal(a.n, ANSWER);
            assert_memory_equal(a.id, right_ids, sizeof right_ids);
        }
    }
    assert_int_equal(differ, 4);
}

static void a_draw_without_candidates_is_refused(void **unused)
{
    carat_engine_options o = options(1, 16, MOST);
    struct rig r = rig_open(model, &o);
    carat_bias biases[VOCAB];
    carat_chain c;
    carat_error e;
    int32_t id = -7;

    (void)unused;
    carat_chain_default(&c);
    for (int i = 0; i < VOCAB; i++)
        biases[i] = (carat_bias){i, -INFINITY};
    c.biases = biases;
    c.n_biases = VOCAB;
    carat_sampling s = sampling_with(&c, 1);
    OK(carat_sync(r.session[0], ids, PROMPT, NULL, err));
    for (int top_k = 0; top_k < 2; top_k++) {
        s.top_k = 20 * top_k;
        assert_int_equal(carat_sample(r.session[0], &s, &id, &e), CARAT_E_ARGUMENT);
        assert_string_equal(e.message, "every id is banned");
        assert_int_equal(id, -7);
    }
    c.size = 3;
    assert_int_equal(carat_sample(r.session[0], &s, &id, &e), CARAT_E_ARGUMENT);
    assert_non_null(strstr(e.message, "carat_chain has size 3"));
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(edits_are_what_the_rule_says),
        cmocka_unit_test(too_many_edits_are_told),
        cmocka_unit_test(draws_read_what_their_links_need),
        cmocka_unit_test(links_before_top_k_read_all),
        cmocka_unit_test(ids_read_apart_ascend),
        cmocka_unit_test(unsound_chains_are_refused),
        cmocka_unit_test(draws_follow_their_probabilities),
        cmocka_unit_test(generations_draw_what_the_loop_does),
        cmocka_unit_test(a_draw_without_candidates_is_refused),
    };
    return cmocka_run_group_tests_name("engine: chain", tests, open_model, close_model);
}
