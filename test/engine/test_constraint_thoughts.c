/* SPDX-License-Identifier: Apache-2.0 */
/* test_constraint_thoughts.c: a thought before a form is free, but for its length: it is closed while the
 * form still fits; no thought begins within a form, and none ends an answer. */
#include "thinking.h"

#include "carat_constrain.h"

enum { VOCAB = 1024 };
static carat_constraint *form;

static int open_form(void **state)
{
    static const char text[] = "I say (yes|no), (yes|no)";
    carat_constraint_options o;

    (void)open_thinking(state);
    carat_constraint_options_default(&o);
    o.form = CARAT_FORM_REGEX;
    o.text = text;
    OK(carat_constraint_create(&form, model, &o, err));
    return 0;
}

static int close_form(void **state)
{
    carat_constraint_close(form);
    return close_thinking(state);
}

static int count(const uint64_t *mask, int n)
{
    int bits = 0;

    for (int i = 0; i < n; i++)
        bits += (int)(mask[i / 64] >> i % 64 & 1);
    return bits;
}

static bool has(const uint64_t *mask, int32_t id)
{
    return mask[id / 64] >> id % 64 & 1;
}

static void places(void **state)
{
    carat_matcher *m;
    carat_tokens answer = ids_of("I say no, yes");

    (void)state;
    OK(carat_matcher_create(&m, form, err));
    const int shortest = carat_matcher_shortest(m);
    for (int thoughts = 0; thoughts < 2; thoughts++) { /* as many as there are */
        assert_int_equal(carat_matcher_allows(m, CHANNEL, 0), 1);
        assert_int_equal(carat_matcher_allows(m, CHANNEL, shortest + 2), 1);
        assert_int_equal(carat_matcher_allows(m, CHANNEL, shortest + 1), 0);
        assert_int_equal(carat_matcher_allows(m, THOUGHT, 0), 0);
        assert_true(has(carat_matcher_mask(m, 0), CHANNEL) && !has(carat_matcher_mask(m, 0), CHANNEL_END));
        OK(carat_matcher_accept(m, CHANNEL, err));
        assert_int_equal(carat_matcher_complete(m), 0);
        assert_int_equal(carat_matcher_shortest(m), shortest + 1);
        assert_int_equal(carat_matcher_draft(m, &(int32_t){0}, 1), 0); /* not what the form begins with */
        for (int left = shortest + 1; left < shortest + 4; left++) {
            const uint64_t *mask = carat_matcher_mask(m, left);
            assert_true(has(mask, CHANNEL_END));
            assert_int_equal(has(mask, THOUGHT), left > shortest + 1);
            assert_int_equal(has(mask, CHANNEL), left > shortest + 1); /* it means nothing there */
            assert_true(left == shortest + 1 ? count(mask, VOCAB) == 1 : count(mask, VOCAB) > 900);
            for (int32_t id = 0; id < VOCAB; id += 7)
                assert_int_equal(has(mask, id), carat_matcher_allows(m, id, left));
        }
        assert_int_equal(count(carat_matcher_mask(m, shortest), VOCAB), 0);
        OK(carat_matcher_accept(m, THOUGHT, err));
        OK(carat_matcher_accept(m, CHANNEL_END, err));
        assert_int_equal(carat_matcher_shortest(m), shortest);
    }
    for (int i = 0; i < answer.n; i++) {
        OK(carat_matcher_accept(m, answer.ids[i], err));
        assert_int_equal(carat_matcher_allows(m, CHANNEL, 0), 0);
        assert_int_equal(carat_matcher_allows(m, CHANNEL_END, 0), 0);
        assert_false(has(carat_matcher_mask(m, 0), CHANNEL) || has(carat_matcher_mask(m, 0), CHANNEL_END));
        assert_int_equal(carat_matcher_accept(m, CHANNEL, NULL), CARAT_E_CONSTRAINT);
    }
    assert_int_equal(carat_matcher_complete(m), 1);
    carat_matcher_close(m);
    carat_tokens_free(&answer);
}

/* Where a text may come in place of calls, a thought needs its end alone, and text comes behind it. */
static void calls_if_any(void **state)
{
    carat_constraint *calls;
    carat_constraint_options o;
    carat_matcher *m;

    (void)state;
    carat_constraint_options_default(&o);
    o.form = CARAT_FORM_TOOLS;
    o.text = "[{\"name\":\"f\"}]";
    OK(carat_constraint_create(&calls, model, &o, err));
    OK(carat_matcher_create(&m, calls, err));
    assert_int_equal(carat_matcher_complete(m), 1);
    OK(carat_matcher_accept(m, CHANNEL, err));
    assert_int_equal(carat_matcher_shortest(m), 1);
    assert_int_equal(carat_matcher_complete(m), 0);
    assert_int_equal(carat_matcher_allows(m, THOUGHT, 2), 1);
    assert_int_equal(carat_matcher_allows(m, THOUGHT, 1), 0);
    assert_int_equal(carat_matcher_allows(m, CHANNEL_END, 1), 1);
    assert_int_equal(count(carat_matcher_mask(m, 1), VOCAB), 1);
    OK(carat_matcher_accept(m, CHANNEL_END, err));
    assert_int_equal(carat_matcher_complete(m), 1);
    assert_int_equal(carat_matcher_allows(m, THOUGHT, 1), 1);
    carat_matcher_close(m);
    carat_constraint_close(calls);
}

/* A model that begins a thought, and likes best to end its turn in it. */
static void a_turn_does_not_end_in_a_thought(void **state)
{
    static const carat_bias biases[] = {{CHANNEL, 1500}, {TURN_END, 1000}, {CHANNEL_END, -500}};
    static struct got got;
    carat_engine_options engine = engine_of(1, NULL);
    struct rig r = rig_open(model, &engine);

    (void)state;
    for (int seed = 0; seed < 6; seed++)
        for (int more = 0; more < 12; more += 3) {
            carat_sampling s;
            carat_chain chain;
            carat_generation_options o;
            carat_matcher *m;
            char *text;
            size_t n;
            OK(carat_matcher_create(&m, form, err));
            carat_chain_default(&chain);
            chain.biases = biases;
            chain.n_biases = 3;
            chain.frequency_penalty = 1000;
            chain.repeat_last_n = -1;
            carat_sampling_default(model, &s);
            s.temperature = (float)seed / 2;
            s.seed = (uint64_t)seed;
            s.chain = &chain;
            s.matcher = m;
            carat_generation_options_default(&o);
            o.sampling = &s;
            o.max_tokens = carat_matcher_shortest(m) + 2 + more;
            generate(&got, r.session[0], &prompt, &o);
            int end = 0;
            while (end < got.n && got.id[end] != CHANNEL_END)
                end++;
            assert_true(got.id[0] == CHANNEL && end < got.n && got.info.complete);
            for (int i = 0; i < end; i++)
                assert_int_not_equal(got.id[i], TURN_END);
            OK(carat_detokenize(model, got.id + end + 1, got.n - end - 1, 0, &text, &n, err));
            assert_true(n >= strlen("I say no, no") && memcmp(text, "I say ", 6) == 0 &&
                        strstr("yes, yes no, no yes, no, yes", text + 6));
            carat_free(text);
            carat_matcher_close(m);
        }
    rig_close(&r);
}

static int goes_on(void *user, size_t done, size_t total)
{
    (void)user;
    (void)done;
    (void)total;
    return 0;
}

/* A form whose shortest answer has no room in the states: who is asked all along says so at once, and without
 * that no answer has room for it, behind a thought neither. */
static void no_shortest(void **state)
{
    carat_constraint_options o;
    carat_constraint *long_form;
    carat_generation_options options;
    carat_sampling s;
    carat_generation *generation;
    carat_matcher *m;
    carat_error why = {0};
    carat_engine_options eo;

    (void)state;
    carat_engine_options_default(&eo);
    struct rig r = rig_open(model, &eo);
    OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
    carat_constraint_options_default(&o);
    o.form = CARAT_FORM_SCHEMA;
    o.text = "{\"type\":\"array\",\"minItems\":1000000,\"items\":{}}";
    o.progress = goes_on;
    assert_int_equal(carat_constraint_create(&long_form, model, &o, &why), CARAT_E_ARGUMENT);
    assert_non_null(strstr(why.message, "the shortest answer of this form needs more than 131072 states"));
    o.progress = NULL;
    OK(carat_constraint_create(&long_form, model, &o, err));
    for (int thinks = 0; thinks < 2; thinks++) {
        OK(carat_matcher_create(&m, long_form, err));
        if (thinks)
            OK(carat_matcher_accept(m, CHANNEL, err));
        assert_int_equal(carat_matcher_shortest(m), INT32_MAX);
        carat_sampling_default(model, &s);
        s.matcher = m;
        carat_generation_options_default(&options);
        options.sampling = &s;
        options.max_tokens = 20;
        OK(carat_generation_create(&generation, r.session[0], &options, err));
        assert_int_equal(carat_generate(generation, &why), CARAT_E_ARGUMENT);
        assert_non_null(strstr(why.message, "needs more than 131072 states"));
        carat_generation_close(generation);
        carat_matcher_close(m);
    }
    rig_close(&r);
    carat_constraint_close(long_form);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places),
        cmocka_unit_test(calls_if_any),
        cmocka_unit_test(no_shortest),
        cmocka_unit_test(a_turn_does_not_end_in_a_thought),
    };
    return cmocka_run_group_tests_name("forms behind thoughts", tests, open_form, close_form);
}
