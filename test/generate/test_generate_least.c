/* SPDX-License-Identifier: Apache-2.0 */
/* test_generate_least.c: generations that must give so many ids: as far as that they are those of one whose
 * sampling bans the stop ids; one that is longer by itself stays as it is; in every way, greedy and seeded,
 * where few logits are computed, too. */
#include "engine/told_util.h"

#include "carat_constrain.h"
#include "carat_receipt.h"

enum { LONGEST = 40 };

/* min_tokens of one way, beside an answer that may end at once and one that cannot end. */
static void check_least(struct rig *r, const carat_tokens *prompt, carat_sampling s, int least, enum way way)
{
    static struct got plain, endless, got;
    carat_generation_options o = greedy();
    const int32_t *stops;

    o.sampling = &s;
    o.max_tokens = LONGEST;
    generate(&plain, r->session[0], prompt, &o);
    const int n_stops = carat_stop_ids(tiny, &stops);
    s.banned = stops;
    s.n_banned = n_stops;
    generate(&endless, r->session[0], prompt, &o);
    s.n_banned = 0;
    assert_int_equal(endless.n, LONGEST);
    go_way(&o, way, &plain, prompt);
    o.min_tokens = least;
    generate(&got, r->session[0], prompt, &o);
    if (plain.n >= least) {
        assert_int_equal(got.n, plain.n);
        assert_memory_equal(got.id, plain.id, (size_t)got.n * sizeof *got.id);
        return;
    }
    assert_true(got.n >= least);
    assert_memory_equal(got.id, endless.id, (size_t)least * sizeof *got.id);
    for (int i = 0; i < got.n; i++)
        assert_false(carat_is_stop(tiny, got.id[i]));
    assert_true(got.info.reason == (got.n == LONGEST ? CARAT_REASON_LENGTH : CARAT_REASON_STOP) ||
                got.info.reason == CARAT_REASON_STOP || got.info.reason == CARAT_REASON_TOOL_CALLS);
}

static void as_many_as_are_asked_for(void **state)
{
    struct rig rigs[] = {open_rig(1, NULL), open_pruned()};
    carat_tokens prompt = prompt_of(question, NULL);
    static const int least[] = {1, 5, 7, 8, 12, 25, LONGEST};

    (void)state;
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < sizeof least / sizeof least[0]; i++)
            for (int seed = 0; seed < 3; seed++) {
                carat_sampling s;
                carat_sampling_default(tiny, &s);
                s.temperature = (float)seed;
                s.seed = (uint64_t)seed;
                check_least(&rigs[k], &prompt, s, least[i], (enum way)((i + (size_t)seed) % N_WAY));
            }
    carat_tokens_free(&prompt);
    rig_close(&rigs[0]);
    rig_close(&rigs[1]);
}

/* A stop string ends it all the same; stop ids of the caller's are those that are meant. */
static void what_ends_it(void **state)
{
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of(question, NULL);
    carat_generation_options o = greedy();
    const char *stops[] = {"lights"};
    static struct got plain, got;

    (void)state;
    o.max_tokens = LONGEST;
    generate(&plain, r.session[0], &prompt, &o);
    o.stops = stops;
    o.n_stops = 1;
    o.min_tokens = LONGEST;
    generate(&got, r.session[0], &prompt, &o);
    assert_int_equal(got.info.reason, CARAT_REASON_STOP_STRING);
    o.n_stops = 0;
    o.stop_ids = &plain.id[3];
    o.n_stop_ids = 1;
    o.min_tokens = 2;
    generate(&got, r.session[0], &prompt, &o);
    assert_int_equal(got.n, 3);
    assert_int_equal(got.info.end, plain.id[3]);
    o.min_tokens = 9;
    generate(&got, r.session[0], &prompt, &o);
    assert_true(got.n >= 9 && got.id[3] != plain.id[3]);
    carat_tokens_free(&prompt);
    rig_close(&r);
}

static void refused(void **state)
{
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of(question, NULL);
    carat_generation_options o = greedy();
    carat_sampling s = *o.sampling;
    carat_generation *g = NULL;
    carat_receipt *receipt = NULL;
    carat_constraint *form;
    carat_matcher *matcher;
    carat_constraint_options f;
    carat_error why;
    static int32_t many[1024];

    (void)state;
    o.max_tokens = 5;
    for (int least = -1; least < 7; least += 7) {
        o.min_tokens = least;
        assert_int_equal(carat_generation_create(&g, r.session[0], &o, &why), CARAT_E_ARGUMENT);
        assert_non_null(strstr(why.message, "min_tokens"));
    }
    o.min_tokens = 5;
    OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
    OK(carat_generation_create(&g, r.session[0], &o, err));
    assert_int_equal(carat_receipt_begin(&receipt, g, NULL, &why), CARAT_E_ARGUMENT);
    assert_non_null(strstr(why.message, "min_tokens is 5"));
    carat_generation_close(g);
    carat_constraint_options_default(&f);
    f.form = CARAT_FORM_REGEX;
    f.text = "x";
    OK(carat_constraint_create(&form, tiny, &f, err));
    OK(carat_matcher_create(&matcher, form, err));
    s.matcher = matcher;
    o.sampling = &s;
    assert_int_equal(carat_generation_create(&g, r.session[0], &o, &why), CARAT_E_ARGUMENT);
    assert_non_null(strstr(why.message, "form"));
    s.matcher = NULL;
    for (int i = 0; i < 1024; i++)
        many[i] = i % 900;
    s.banned = many;
    s.n_banned = 1024;
    assert_int_equal(carat_generation_create(&g, r.session[0], &o, &why), CARAT_E_ARGUMENT);
    assert_non_null(strstr(why.message, "together"));
    carat_matcher_close(matcher);
    carat_constraint_close(form);
    carat_tokens_free(&prompt);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_many_as_are_asked_for),
        cmocka_unit_test(what_ends_it),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
