/* SPDX-License-Identifier: Apache-2.0 */
/* test_compare.c: carat_compare: each position is what two rows of logits say, whoever drives, and no bit
 * depends on threads, chunks or neighbours. What the numbers mean is test_difference.c's, the verdict
 * test_judge.c's, who fails test_compare_calls.c's, heads that leave ids out test_compare_head.c's. */
#include "compare_util.h"

/* ---- what is measured ---- */

static float *rows_of(carat_engine *e, int n)
{
    float *rows = malloc((size_t)n * VOCAB * sizeof *rows);
    carat_session *s;
    OK(carat_session_create(&s, e, NULL, err));
    carat_row row = {.session = s, .tokens = ids, .n = n, .logits = rows};
    OK(carat_step(e, &row, sizeof row, 1, err));
    carat_session_close(s);
    return rows;
}

static void check_position(const carat_position *p, const float *ref, const float *test, int32_t next)
{
    carat_model_info info = model_info(model);
    carat_difference_options o;
    carat_difference_options_default(&o);
    carat_difference d;
    carat_difference_default(&d);
    o.has_next = next >= 0;
    o.next = next;
    OK(carat_difference_of(ref, test, info.n_text_vocab, &o, &d, err));
    assert_int_equal(p->next, next);
    same_difference(&p->difference, &d);
    assert_true(d.kl > 0);
}

static void a_position_is_two_rows(void **state)
{
    (void)state;
    struct pair e = pair_of(clean, options(1, 16, MOST));
    struct heard_all *h = compare(&e, CARAT_DRIVER_TEXT, 0);
    float *ref = rows_of(e.ref, PROMPT + TEXT), *test = rows_of(e.test, PROMPT + TEXT);
    assert_int_equal(h->of[0].n, TEXT);
    for (int i = 0; i < TEXT; i++)
        check_position(&h->of[0].p[i], ref + (size_t)(PROMPT - 1 + i) * VOCAB,
                       test + (size_t)(PROMPT - 1 + i) * VOCAB, ids[PROMPT + i]);
    free(ref);
    free(test);
    h = compare(&e, CARAT_DRIVER_TEXT, 9);
    assert_int_equal(h->of[0].n, 9);
    close_pair(&e);
}

static void recorded_logits_are_an_engine(void **state)
{
    (void)state;
    struct pair e = pair_of(clean, options(1, 16, MOST));
    static struct heard_all engine, recorded;
    engine = *compare(&e, CARAT_DRIVER_TEXT, 0);
    hear_nothing(&recorded);
    carat_compare_prompt p = prompt_at(&recorded.of[0], 0, true);
    float *rows = rows_of(e.ref, PROMPT + TEXT);
    p.recorded = rows;
    p.n_recorded = PROMPT + TEXT;
    carat_compare_options o = all_options(&recorded, CARAT_DRIVER_TEXT, 0);
    OK(carat_compare(NULL, e.test, &p, &o, err));
    assert_int_equal(recorded.of[0].n, TEXT + 1); /* and what is recorded behind the last id */
    same_positions(recorded.of[0].p, engine.of[0].p, TEXT);
    assert_int_equal(recorded.of[0].p[TEXT].next, -1);
    assert_true(recorded.of[0].p[TEXT].difference.logprob_ref == 0);
    rows[(size_t)(PROMPT + 3) * VOCAB + 5] = NAN;
    hear_nothing(&recorded);
    FAILS_WITH(carat_compare(NULL, e.test, &p, &o, err), CARAT_E_NUMERIC,
               "the reference: the logit of id 5 at position 4");
    free(rows);
    close_pair(&e);
}

/* Logits of transformers as the reference: ours are within 1e-4 of the largest of theirs, so that
 * (Hoeffding's lemma: a log-ratio in an interval of width w, whose mean weight is 1, has a mean of at most
 * w^2 / 8) KL is below half the square of that. */
static void transformers_agree(void **state)
{
    static const char *const models[] = {"gemma1-f32", "gemma2-bf16", "gemma3-bf16", "gemma3-f16-untied",
                                         "gemma3-mm"};
    static const char *const prompts[] = {"p5", "w", "w2p1"};
    int placeholders = 0;
    (void)state;
    for (int i = 0; i < 15; i++) {
        char dir[PATH_SIZE], name[32];
        static struct heard_all h;
        carat_model *m;
        carat_engine *e;
        carat_engine_options o = options(1, 16, 64);
        o.exact = 1;
        OK(carat_model_open(&m, path_join(dir, CT_TEST_DATA "/vectors/models", models[i / 3]), NULL, err));
        OK(carat_engine_create(&e, m, &o, err));
        path_join(dir, CT_TEST_DATA "/vectors/expect", models[i / 3]);
        snprintf(name, sizeof name, "%s.npy", prompts[i % 3]);
        struct array rows = read_npy(dir, name);
        snprintf(name, sizeof name, "%s.json", prompts[i % 3]);
        json_t *json = read_json(dir, name);
        struct ids all = json_ids(json_object_get(json, "ids"));
        double bound = 1e-4 * json_number_value(json_object_get(json, "max_abs_logit"));
        hear_nothing(&h);
        carat_compare_prompt p = {.size = sizeof p,
                                  .prompt = all.id,
                                  .n_prompt = 1,
                                  .text = all.id + 1,
                                  .n_text = all.n - 1,
                                  .recorded = rows.v,
                                  .n_recorded = (int)rows.rows,
                                  .user = &h.of[0]};
        carat_compare_options c = all_options(&h, CARAT_DRIVER_TEXT, 0);
        OK(carat_compare(NULL, e, &p, &c, err));
        assert_int_equal(h.of[0].n, all.n);
        for (int k = 0; k < all.n; k++) {
            const carat_difference *d = &h.of[0].p[k].difference;
            assert_true(d->largest <= bound && d->kl <= bound * bound / 2 && d->match);
            assert_true(d->correlation > 1 - 1e-8);
            assert_int_equal(d->compared, model_info(m).n_text_vocab);
        }
        placeholders += model_info(m).n_text_vocab < model_info(m).n_vocab;
        free(rows.v);
        free(all.id);
        json_decref(json);
        carat_engine_close(e);
        carat_model_close(m);
    }
    assert_true(placeholders > 0); /* a model has ids that are none of text */
}

/* An id that stands for a part of an image is none of text: it can follow, and has no probability. */
static void an_id_beyond_the_text_has_no_probability(void **state)
{
    carat_model *m;
    static struct heard_all h;
    (void)state;
    OK(carat_model_open(&m, CT_TEST_DATA "/vectors/models/gemma3-mm", NULL, err));
    struct pair e = pair_of(m, options(1, 16, 64));
    const int32_t text[] = {5, model_info(m).n_text_vocab, 6};
    assert_true(text[1] < model_info(m).n_vocab);
    hear_nothing(&h);
    carat_compare_prompt p = prompt_at(&h.of[0], 0, false);
    p.text = text;
    p.n_text = 3;
    carat_compare_options o = all_options(&h, CARAT_DRIVER_TEXT, 0);
    OK(carat_compare(e.ref, e.test, &p, &o, err));
    for (int i = 0; i < 3; i++) {
        const carat_difference *d = &h.of[0].p[i].difference;
        assert_int_equal(h.of[0].p[i].next, text[i]);
        assert_true(i == 1 ? d->logprob_ref == 0 && d->logprob_test == 0 && d->delta_p == 0
                           : d->logprob_ref < 0 && d->logprob_test < 0 && d->delta_p != 0);
    }
    close_pair(&e);
    carat_model_close(m);
}

static void a_model_is_itself(void **state)
{
    (void)state;
    struct pair e = pair_of(clean, options(1, 16, MOST)), other = pair_of(clean, options(1, 16, MOST));
    const struct pair same = {other.test, e.test};
    for (carat_driver driver = CARAT_DRIVER_REF; driver <= CARAT_DRIVER_TEXT; driver++) {
        struct heard_all *h = compare(&same, driver, 40);
        assert_int_equal(h->of[0].n, 40);
        assert_int_equal(h->of[0].end.parted, -1);
        for (int i = 0; i < 40; i++) {
            const carat_difference *d = &h->of[0].p[i].difference;
            assert_true(d->kl == 0 && d->kl_reverse == 0 && d->largest == 0 && d->match && d->delta_p == 0);
            assert_true(fabs(d->correlation - 1) < 1e-12 && fabs(d->cosine - 1) < 1e-12);
            assert_int_equal(d->overlap, 10);
        }
    }
    close_pair(&e);
    close_pair(&other);
}

/* ---- who drives ---- */

static void drivers_choose(void **state)
{
    (void)state;
    carat_engine_options o = options(1, 16, MOST), fewer = o;
    struct pair e;
    OK(carat_engine_create(&e.ref, clean, &o, err));
    fewer.layers = 2; /* another model */
    OK(carat_engine_create(&e.test, clean, &fewer, err));
    struct heard_all *h = compare(&e, CARAT_DRIVER_REF, 30);
    assert_int_equal(h->of[0].n, 30);
    int differ = 0;
    for (int i = 0; i < 30; i++) {
        const carat_position *p = &h->of[0].p[i];
        assert_int_equal(p->next, p->difference.top_ref);
        assert_int_equal(h->of[0].ref[i], p->difference.top_ref);
        assert_int_equal(h->of[0].test[i], p->difference.top_test);
        assert_true(
            p->difference.delta_p == exp(p->difference.logprob_test) - exp(p->difference.logprob_ref) ||
            fabs(p->difference.delta_p - (exp(p->difference.logprob_test) - exp(p->difference.logprob_ref))) <
                1e-14);
        differ += !p->difference.match;
    }
    assert_true(differ > 0);
    /* whoever drives, the same ids give the same numbers */
    static struct heard_all drove, followed;
    drove = *h;
    hear_nothing(&followed);
    carat_compare_prompt p = prompt_at(&followed.of[0], 0, false);
    p.text = drove.of[0].ref;
    p.n_text = 30;
    carat_compare_options text = all_options(&followed, CARAT_DRIVER_TEXT, 0);
    OK(carat_compare(e.ref, e.test, &p, &text, err));
    assert_int_equal(followed.of[0].n, 30);
    same_positions(followed.of[0].p, drove.of[0].p, 30);
    h = compare(&e, CARAT_DRIVER_TEST, 30);
    for (int i = 0; i < 30; i++)
        assert_int_equal(h->of[0].p[i].next, h->of[0].p[i].difference.top_test);
    h = compare(&e, CARAT_DRIVER_FREE, 30);
    const struct heard_prompt *free_ = &h->of[0];
    assert_true(free_->n < 30 && free_->end.parted == free_->n - 1);
    assert_true(!free_->p[free_->n - 1].difference.match);
    assert_int_equal(free_->end.n_ref, 30);
    assert_int_equal(free_->end.n_test, 30);
    static struct heard_prompt parted;
    parted = *free_;
    /* each answer is what that engine says alone */
    struct pair only = {e.test, e.test};
    carat_engine *twin[2];
    OK(carat_engine_create(&twin[0], clean, &o, err));
    OK(carat_engine_create(&twin[1], clean, &fewer, err));
    only.ref = twin[0];
    only.test = e.ref;
    h = compare(&only, CARAT_DRIVER_REF, 30);
    assert_memory_equal(h->of[0].ref, parted.ref, 30 * sizeof(int32_t));
    only.ref = twin[1];
    only.test = e.test;
    h = compare(&only, CARAT_DRIVER_REF, 30);
    assert_memory_equal(h->of[0].ref, parted.test, 30 * sizeof(int32_t));
    carat_engine_close(twin[0]);
    carat_engine_close(twin[1]);
    close_pair(&e);
}

/* A text that is a whole conversation goes on behind ids that end an answer. */
static void whole_texts_do_not_end(void **state)
{
    static int32_t text[20];
    static struct heard_all h;
    const int32_t *stops;
    (void)state;
    assert_true(carat_stop_ids(clean, &stops) > 0);
    for (int i = 0; i < 20; i++)
        text[i] = i == 7 ? stops[0] : ids[PROMPT + i];
    struct pair e = pair_of(clean, options(1, 16, MOST));
    for (int whole = 0; whole < 2; whole++) {
        hear_nothing(&h);
        carat_compare_prompt p = prompt_at(&h.of[0], 0, false);
        p.text = text;
        p.n_text = 20;
        p.whole = whole;
        carat_compare_options o = all_options(&h, CARAT_DRIVER_TEXT, 0);
        o.ignore_eos = 0;
        OK(carat_compare(e.ref, e.test, &p, &o, err));
        assert_int_equal(h.of[0].n, whole ? 20 : 8);
        assert_int_equal(h.of[0].end.stop, whole ? -1 : 7);
    }
    close_pair(&e);
}

static void answers_end(void **state)
{
    (void)state;
    carat_model *tiny;
    carat_tokens prompt = {0};
    static struct heard_all h, on;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    struct pair e = pair_of(tiny, options(1, 16, 256));
    const carat_message message = {.role = "user", .content = "Where is the bed?"};
    OK(carat_render(tiny, &message, sizeof message, 1, NULL, &prompt, NULL, err));
    for (carat_driver driver = CARAT_DRIVER_REF; driver <= CARAT_DRIVER_FREE; driver++) {
        hear_nothing(&h);
        carat_compare_prompt p = {
            .size = sizeof p, .prompt = prompt.ids, .n_prompt = prompt.n, .user = &h.of[0]};
        carat_compare_options o = all_options(&h, driver, 0);
        o.ignore_eos = 0;
        OK(carat_compare(e.ref, e.test, &p, &o, err));
        const struct heard_prompt *a = &h.of[0];
        assert_int_equal(a->end.stop, a->n - 1);
        assert_true(carat_is_stop(tiny, a->p[a->n - 1].next) && a->n > 3 && a->n < 30);
        on = h;
        hear_nothing(&on);
        p.user = &on.of[0];
        o = all_options(&on, driver, 60);
        OK(carat_compare(e.ref, e.test, &p, &o, err));
        assert_int_equal(on.of[0].n, 60);
        assert_int_equal(on.of[0].end.stop, a->end.stop);
        same_positions(on.of[0].p, a->p, a->n);
        for (int i = 0; i < 60; i++)
            assert_int_equal(on.of[0].p[i].after_stop, i > a->end.stop);
    }
    carat_tokens_free(&prompt);
    close_pair(&e);
    carat_model_close(tiny);
}

/* ---- no bit depends on how ---- */

static struct heard_all *many(carat_engine_options o, carat_driver driver, int parallel)
{
    static struct heard_all h;
    carat_compare_prompt p[PROMPTS];
    o.sessions = parallel;
    struct pair e = pair_of(clean, o);
    hear_nothing(&h);
    for (int i = 0; i < PROMPTS; i++) {
        p[i] = prompt_at(&h.of[i], 13 * i, driver == CARAT_DRIVER_TEXT);
        p[i].n_prompt += i; /* they end at different times */
        if (p[i].text)
            p[i].n_text -= 3 * i;
    }
    h.given = p;
    h.n_given = PROMPTS;
    carat_compare_options c = all_options(&h, driver, 40);
    c.parallel = parallel;
    OK(carat_compare(e.ref, e.test, &p[0], &c, err));
    for (int i = 0; i < PROMPTS; i++) {
        assert_int_equal(h.of[i].ends, 1);
        assert_true(h.of[i].n > 20);
    }
    close_pair(&e);
    return &h;
}

static void neighbours_change_nothing(void **state)
{
    static const int threads[] = {1, 2, 3}, chunks[] = {1, 7, 64}, parallels[] = {1, 4};
    static struct heard_all first;
    (void)state;
    for (carat_driver driver = CARAT_DRIVER_REF; driver <= CARAT_DRIVER_TEXT; driver += 3) {
        first = *many(options(1, 16, MOST), driver, 1);
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 2; k++) {
                carat_engine_options o = options(1, chunks[i], MOST);
                o.threads = threads[i];
                struct heard_all *h = many(o, driver, parallels[k]);
                for (int p = 0; p < PROMPTS; p++) {
                    assert_int_equal(h->of[p].n, first.of[p].n);
                    same_positions(h->of[p].p, first.of[p].p, first.of[p].n);
                }
            }
    }
}

static void levels_change_nothing(void **state)
{
    static struct heard_all first;
    carat_engine_options o = options(1, 16, MOST);
    (void)state;
    o.isa = "ref";
    first = *many(o, CARAT_DRIVER_TEXT, 2);
    for (int i = 1; carat_isa_name(i); i++) {
        if (!has_isa(clean, carat_isa_name(i)))
            continue;
        o.isa = carat_isa_name(i);
        struct heard_all *h = many(o, CARAT_DRIVER_TEXT, 2);
        for (int p = 0; p < PROMPTS; p++)
            same_positions(h->of[p].p, first.of[p].p, first.of[p].n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_position_is_two_rows),
        cmocka_unit_test(recorded_logits_are_an_engine),
        cmocka_unit_test(transformers_agree),
        cmocka_unit_test(an_id_beyond_the_text_has_no_probability),
        cmocka_unit_test(a_model_is_itself),
        cmocka_unit_test(drivers_choose),
        cmocka_unit_test(whole_texts_do_not_end),
        cmocka_unit_test(answers_end),
        cmocka_unit_test(neighbours_change_nothing),
        cmocka_unit_test(levels_change_nothing),
    };
    return cmocka_run_group_tests(tests, open_both, close_both);
}
