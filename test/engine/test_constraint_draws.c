/* SPDX-License-Identifier: Apache-2.0 */
/* test_constraint_draws.c: 100,000 draws with a form have the probabilities that the form's ids have among
 * themselves (NUMERICS.md section 8): Pearson's chi-square of their counts. Seeds are fixed, so the outcome
 * is, too. */
#include "told_util.h"

#include "carat_constrain.h"
#include "text/tokenizer/tokenizer.h"

enum { DRAWS = 100000, LETTERS = 12, KINDS = LETTERS + 1 };

/* Letters, and all tokens of their bytes together, which are rare. Counts differ from what is expected by so
 * much once in a thousand times, with 12 degrees of freedom: the 0.999 quantile of chi-square. A mask that
 * drew among its ids evenly would be thousands away. */
static const double most = 32.909;

static int kind_of(const int32_t *id, int32_t drawn)
{
    int i = 0;

    while (i < LETTERS && id[i] != drawn)
        i++;
    return i;
}

static void draws_have_the_probabilities_of_the_allowed(void **state)
{
    struct rig r = open_rig(1, NULL);
    carat_tokens prompt = prompt_of("Hello", NULL);
    carat_constraint *c;
    carat_matcher *m;
    carat_constraint_options o;
    carat_sampling s;
    int32_t id[LETTERS];
    int count[KINDS] = {0}, second = 0, allowed = 0;
    double weight[KINDS] = {0}, all = 0, chi = 0;

    (void)state;
    carat_constraint_options_default(&o);
    o.form = CARAT_FORM_REGEX;
    o.text = "[a-l]";
    OK(carat_constraint_create(&c, tiny, &o, err));
    OK(carat_matcher_create(&m, c, err));
    carat_sampling_default(tiny, &s);
    s.temperature = 2.5f;
    s.top_k = 0;
    s.top_p = 1;
    OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
    const float *logits = carat_logits(r.session[0]);
    assert_non_null(logits);
    for (int i = 0; i < LETTERS; i++) {
        const char text[] = {(char)('a' + i), 0};
        id[i] = ct_tokenizer_id(tiny->tokenizer, text);
        assert_true(id[i] >= 0 && carat_matcher_allows(m, id[i], 0));
    }
    for (int32_t any = 0; any < ct_tokenizer_size(tiny->tokenizer); any++)
        if (carat_matcher_allows(m, any, 0)) {
            const double own = exp(((double)logits[any] - (double)logits[id[0]]) / 2.5);
            weight[kind_of(id, any)] += own;
            all += own;
            allowed++;
        }
    assert_int_equal(allowed, 2 * LETTERS);
    for (int n = 0; n < DRAWS; n++) {
        int32_t drawn, unbound;
        s.seed = (uint64_t)n;
        s.matcher = NULL;
        OK(carat_sample(r.session[0], &s, &unbound, err));
        s.matcher = m;
        OK(carat_sample(r.session[0], &s, &drawn, err));
        assert_true(drawn == unbound || !carat_matcher_allows(m, unbound, 0)); /* what fits is not changed */
        second += drawn != unbound;
        assert_true(carat_matcher_allows(m, drawn, 0));
        count[kind_of(id, drawn)]++;
    }
    for (int i = 0; i < KINDS; i++) {
        const double expected = DRAWS * weight[i] / all;
        assert_true(expected > 50);
        chi += (count[i] - expected) * (count[i] - expected) / expected;
    }
    print_message("chi-square %.2f of %d draws, of which %d were made twice\n", chi, DRAWS, second);
    assert_true(second > DRAWS / 2 && second < DRAWS);
    if (chi > most)
        fail_msg("chi-square %.2f, expected at most %.2f", chi, most);
    carat_matcher_close(m);
    carat_constraint_close(c);
    carat_tokens_free(&prompt);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(draws_have_the_probabilities_of_the_allowed)};

    return cmocka_run_group_tests(tests, prepare, clean_up);
}
