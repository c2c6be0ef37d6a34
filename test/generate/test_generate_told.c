/* SPDX-License-Identifier: Apache-2.0 */
/* test_generate_told.c: log-probabilities against logits in double, the loop guard against its rule over all
 * ids and logits; both are the same whatever makes the ids, and change none. The guard's counting is
 * test_guard.c's. */
#include "engine/told_util.h"

/* ---- log-probabilities ---- */

/* Against the logits of the loop by hand, in double. */
static void check_logprobs(const struct got *got, struct rig *r, const carat_tokens *prompt)
{
    int n_text = model_info(tiny).n_text_vocab;

    OK(carat_sync(r->session[0], prompt->ids, prompt->n, NULL, err));
    for (int i = 0; i < got->n; i++) {
        const float *logits = carat_logits(r->session[0]);
        double top = -INFINITY, sum = 0;
        for (int id = 0; id < n_text; id++)
            top = CT_MAX(top, (double)logits[id]);
        for (int id = 0; id < n_text; id++)
            sum += exp((double)logits[id] - top);
        assert_true(fabs((double)logits[got->id[i]] - top - log(sum) - (double)got->logprob[i]) < 1e-5);
        for (int k = 0; k < got->n_top; k++) {
            const carat_logprob *p = &got->top[i][k];
            int better = 0;
            for (int id = 0; id < n_text; id++)
                better += logits[id] > logits[p->id] || (logits[id] == logits[p->id] && id < p->id);
            assert_int_equal(better, k);
            assert_true(fabs((double)logits[p->id] - top - log(sum) - (double)p->logprob) < 1e-5);
        }
        assert_true(!got->n_top || got->top[i][0].logprob >= got->logprob[i]);
        OK(carat_append(r->session[0], &got->id[i], 1, err));
    }
}

static void check_same_logprobs(const struct got *a, const struct got *b)
{
    assert_int_equal(a->n, b->n);
    assert_int_equal(a->n_top, b->n_top);
    assert_memory_equal(a->logprob, b->logprob, (size_t)a->n * sizeof *a->logprob);
    for (int i = 0; i < a->n; i++)
        assert_memory_equal(a->top[i], b->top[i], (size_t)a->n_top * sizeof *a->top[i]);
}

static void logprobs(void **state)
{
    carat_tokens prompt = prompt_of(question, NULL);
    carat_generation_options o = greedy();
    carat_sampling sampling = *o.sampling;
    static const int32_t banned[] = {300, 301, 302};
    static struct got plain, got, first;

    (void)state;
    o.sampling = &sampling;
    o.stop_ids = banned;
    o.max_tokens = SANITIZED ? 20 : 60;
    for (int seed = 0; seed < 3; seed++) {
        sampling.temperature = (float)seed;
        sampling.seed = (uint64_t)seed;
        sampling.top_k = seed == 1 ? 0 : 40;
        sampling.banned = seed ? banned : NULL;
        sampling.n_banned = seed ? 3 : 0;
        struct rig r = open_rig(1, NULL), ref = open_rig(1, "ref"), pruned = open_pruned();
        const struct rig *const of[N_WAY] = {&r, &r, &ref, &pruned, &r};
        o.logprobs = o.top_logprobs = 0;
        go_way(&o, PLAIN, &plain, &prompt);
        generate(&plain, r.session[0], &prompt, &o);
        assert_int_equal(plain.n_top, 0);
        o.logprobs = 1;
        o.top_logprobs = seed * 10;
        for (enum way way = PLAIN; way < N_WAY; way++) {
            go_way(&o, way, &plain, &prompt);
            generate(&got, of[way]->session[0], &prompt, &o);
            check_same_ids(&got, &plain, &prompt);
            assert_int_equal(got.n_top, seed * 10);
            if (way == PLAIN)
                first = got;
            check_same_logprobs(&first, &got);
        }
        check_logprobs(&first, &r, &prompt);
        rig_close(&r);
        rig_close(&ref);
        rig_close(&pruned);
    }
    carat_tokens_free(&prompt);
}

/* ---- the loop guard ---- */

/* Only so many ids may be drawn. */
struct few {
    carat_sampling sampling;
    int32_t banned[1024];
};

static void allow_few(struct few *f, const int32_t *allowed, int n, int most)
{
    int n_text = model_info(tiny).n_text_vocab;

    carat_sampling_default(tiny, &f->sampling);
    f->sampling.temperature = 0;
    f->sampling.banned = f->banned;
    for (int id = 0; id < n_text && f->sampling.n_banned < most; id++) {
        bool good = false;
        for (int i = 0; i < n; i++)
            good |= allowed[i] == id;
        if (!good)
            f->banned[f->sampling.n_banned++] = id;
    }
}

/* Of the 64 best that may be drawn, by the logits of the loop by hand. */
static void entropies_by_hand(double entropy[MOST], const struct got *plain, struct rig *r,
                              const carat_tokens *prompt, const struct few *f)
{
    int n_text = model_info(tiny).n_text_vocab;
    bool never[2048] = {false};

    assert_true(n_text <= (int)CT_COUNT(never));
    for (int i = 0; i < f->sampling.n_banned; i++)
        never[f->banned[i]] = true;
    for (int i = 0; i < tiny->n_banned; i++)
        never[tiny->banned[i]] = true;
    OK(carat_sync(r->session[0], prompt->ids, prompt->n, NULL, err));
    for (int i = 0; i < plain->n; i++) {
        const float *logits = carat_logits(r->session[0]);
        float best[64];
        int kept = 0;
        for (int id = 0; id < n_text; id++) {
            if (never[id] || (kept == 64 && logits[id] <= best[63]))
                continue;
            int at = kept < 64 ? kept++ : 63;
            for (; at > 0 && best[at - 1] < logits[id]; at--)
                best[at] = best[at - 1];
            best[at] = logits[id];
        }
        double sum = 0, weighted = 0;
        for (int k = 0; k < kept; k++) {
            double below = (double)best[k] - (double)best[0];
            sum += exp(below);
            weighted += exp(below) * below;
        }
        entropy[i] = log(sum) - weighted / sum;
        OK(carat_append(r->session[0], &plain->id[i], 1, err));
    }
}

/* The rule: ids until it fires, or 0. */
static int guard_by_hand(const struct got *plain, const double *entropy, int least, int *cycle)
{
    for (int n = 1; n <= plain->n; n++)
        for (*cycle = 1; *cycle <= 64; ++*cycle) {
            int ids = CT_MAX(4 * *cycle, least), i = n - 1;
            double mean = 0;
            while (n >= ids && i >= n - ids + *cycle && plain->id[i] == plain->id[i - *cycle])
                i--;
            if (n < ids || i >= n - ids + *cycle)
                continue;
            for (i = n - ids / 2; i < n; i++)
                mean += entropy[i] / (ids / 2);
            if (mean < 0.1)
                return n;
            break;
        }
    *cycle = 0;
    return 0;
}

static int copy_stop_ids(int32_t *out)
{
    const int32_t *stop;
    int n = carat_stop_ids(tiny, &stop);

    memcpy(out, stop, (size_t)n * sizeof *out);
    return n;
}

static void guard(void **state)
{
    static const int32_t none;
    int32_t choices[7];
    carat_tokens lights = prompt_of(question, NULL), zeros = prompt_of("0 0 0 0 0 0 0 0 0 0 0", NULL);
    struct rig r = open_rig(1, NULL), ref = open_rig(1, "ref"), pruned = open_pruned();
    const struct rig *const of[N_WAY] = {&r, &r, &ref, &pruned, &r};
    carat_generation_options o = greedy();
    static struct got plain, got;
    static struct few f;
    static double entropy[MOST];
    int fired = 0, cycle;

    (void)state;
    generate(&plain, r.session[0], &lights, &o); /* what may be drawn below: words of an answer */
    assert_true(plain.n >= 7);
    memcpy(choices, plain.id, sizeof choices);
    o.sampling = &f.sampling;
    o.stop_ids = &none;
    for (int n = 0; n <= 7; n++) {
        carat_tokens prompt = n ? lights : zeros; /* where all may be drawn */
        memset(&f, 0, sizeof f);
        allow_few(&f, choices, n ? n : 7, n ? 1024 : 0);
        if (n == 0)
            f.sampling.n_banned = copy_stop_ids(f.banned);
        o.max_tokens = n ? 120 : 300;
        o.loop_guard = 0;
        go_way(&o, PLAIN, &plain, &prompt);
        generate(&plain, r.session[0], &prompt, &o);
        assert_int_equal(plain.n, o.max_tokens);
        entropies_by_hand(entropy, &plain, &r, &prompt, &f);
        static const int leasts[] = {1, 96, 118};
        for (int i = 0; i < 3; i++) {
            const int least = leasts[i];
            int at = guard_by_hand(&plain, entropy, least, &cycle);
            o.loop_guard = least;
            const enum way way = (enum way)(LOOKUP + (n + i) % 3); /* each with each n, and with each least */
            go_way(&o, way, &plain, &prompt);
            o.logprobs = way == WRONG;
            const struct rig *with = way == LOOKUP && n > 2 ? &r : of[way]; /* ref is slow */
            generate(&got, with->session[0], &prompt, &o);
            check_same_ids(&got, &plain, &prompt);
            assert_int_equal(got.n, at ? at : plain.n);
            assert_int_equal(got.info.reason, at ? CARAT_REASON_LOOP : CARAT_REASON_LENGTH);
            assert_int_equal(got.info.cycle, cycle);
            assert_true(n || at); /* with 64 others to choose from */
            fired += at > 0;
        }
    }
    assert_true(fired >= 14 && fired < 24);
    carat_head_stats head = {.size = sizeof head};
    OK(carat_engine_get_head(pruned.engine, &head, err));
    assert_true(head.strategy == CARAT_HEAD_EXACT_PRUNED && head.rows_finished > 0);
    carat_tokens_free(&lights);
    carat_tokens_free(&zeros);
    rig_close(&r);
    rig_close(&ref);
    rig_close(&pruned);
}

/* Gemma's own sampling reads as many as the guard; what ends nothing changes nothing. */
static void guard_leaves_answers_alone(void **state)
{
    carat_tokens prompt = prompt_of("List the numbers from one to twenty", NULL);
    struct rig r = open_rig(1, NULL);
    carat_generation_options o;
    carat_sampling sampling;
    static struct got plain, got;

    (void)state;
    carat_generation_options_default(&o);
    carat_sampling_default(tiny, &sampling);
    o.sampling = &sampling;
    for (int seed = 0; seed < 5; seed++) {
        sampling.seed = (uint64_t)seed;
        o.loop_guard = 0;
        generate(&plain, r.session[0], &prompt, &o);
        o.loop_guard = 96;
        generate(&got, r.session[0], &prompt, &o);
        check_same_ids(&got, &plain, &prompt);
        assert_int_equal(got.n, plain.n);
        assert_string_equal(got.all, plain.all);
    }
    carat_tokens_free(&prompt);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logprobs),
        cmocka_unit_test(guard),
        cmocka_unit_test(guard_leaves_answers_alone),
    };
    return cmocka_run_group_tests_name("what generations tell", tests, prepare, clean_up);
}
