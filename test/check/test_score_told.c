/* SPDX-License-Identifier: Apache-2.0 */
/* test_score_told.c: what is told of scored ids beside their log-probabilities: exactly what a generation
 * tells that gave the same ids, however the work is cut; the numbers against a plain sum in long double; what
 * is refused. The log-probabilities themselves are test_score_ids.c's. */
#include "engine/told_util.h"

#include <carat_quality.h>
#include <stdlib.h>

enum { GIVEN = 90, TOP = CARAT_MOST_LOGPROBS };

/* What was told of ids. */
struct told {
    double logprob[GIVEN];
    float given[GIVEN];
    carat_logprob top[GIVEN * TOP];
};

static void score(carat_session *s, const carat_tokens *prompt, const struct got *got, int n_top,
                  struct told *told)
{
    carat_score_options o;

    carat_score_options_default(&o);
    o.given = told->given;
    o.top = told->top;
    o.n_top = n_top;
    memset(told, 0x55, sizeof *told);
    OK(carat_sync(s, prompt->ids, prompt->n, NULL, err));
    OK(carat_score_with(s, got->id, got->n, told->logprob, &o, err));
}

static void check_told(const struct got *got, int n_top, const struct told *told)
{
    static const unsigned char untouched[sizeof(carat_logprob)] = {0x55, 0x55, 0x55, 0x55,
                                                                   0x55, 0x55, 0x55, 0x55};

    for (int i = 0; i < got->n; i++) {
        assert_memory_equal(&told->given[i], &got->logprob[i], sizeof(float));
        assert_memory_equal(told->top + i * n_top, got->top[i], (size_t)n_top * sizeof(carat_logprob));
    }
    if (got->n * n_top < GIVEN * TOP)
        assert_memory_equal(told->top + got->n * n_top, untouched, sizeof untouched);
}

/* Greedy and drawn, of one engine and of all others. */
static void as_by_a_generation(void **state)
{
    static const int chunks[] = {1, 7, 64, 256};
    static const carat_head heads[] = {CARAT_HEAD_DENSE, CARAT_HEAD_EXACT_PRUNED, CARAT_HEAD_SHORTLIST};
    carat_tokens prompt = prompt_of("Which city is the capital of France?", NULL);
    struct got *got = calloc(1, sizeof *got);
    struct told *told = malloc(2 * sizeof *told);
    carat_sampling sampling;
    carat_generation_options o;

    (void)state;
    carat_generation_options_default(&o);
    o.logprobs = 1;
    o.top_logprobs = TOP;
    o.max_tokens = GIVEN;
    o.n_stop_ids = 0;
    o.stop_ids = (int32_t[]){0};
    o.sampling = &sampling;
    for (int seed = 0; seed < 3; seed++) {
        struct rig r = open_rig(1, NULL);
        carat_sampling_default(tiny, &sampling);
        sampling.temperature = seed ? 1.3f : 0;
        sampling.top_k = 0;
        sampling.top_p = 1;
        sampling.seed = (uint64_t)seed;
        begin(got, r.session[0], &prompt, &o);
        OK(carat_generate(got->g, err));
        assert_true(got->n > 33 && got->n_top == TOP); /* more than a slice */
        carat_generation_close(got->g);
        score(r.session[0], &prompt, got, TOP, told);
        check_told(got, TOP, told);
        rig_close(&r);
        for (int k = 0; k < (int)CT_COUNT(chunks) * (int)CT_COUNT(heads); k++) {
            carat_head_options head;
            carat_engine_options e = engine_of(1, NULL);
            carat_head_options_default(&head);
            head.strategy = heads[k % 3];
            head.tile = 64;
            e.head = &head;
            e.chunk = chunks[k / 3];
            e.threads = 1 + k % 3;
            r = rig_open(tiny, &e);
            score(r.session[0], &prompt, got, k % (TOP + 1), &told[1]);
            check_told(got, k % (TOP + 1), &told[1]);
            assert_memory_equal(told[1].logprob, told->logprob, (size_t)got->n * sizeof(double));
            rig_close(&r);
        }
    }
    free(told);
    free(got);
    carat_tokens_free(&prompt);
}

/* ---- by a plain sum ---- */

static const float *sorted;

static int likelier_first(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return sorted[x] != sorted[y] ? (sorted[x] < sorted[y] ? 1 : -1) : (x > y) - (x < y);
}

static void equal_recomputation(void **state)
{
    const int n_text = tiny->config.n_text_vocab;
    carat_tokens prompt = prompt_of("What is 2+2?", NULL);
    struct rig r = open_rig(1, NULL);
    int32_t *order = malloc((size_t)n_text * sizeof *order), id = 77;
    float given;
    carat_logprob top[TOP];
    carat_score_options o;

    (void)state;
    carat_score_options_default(&o);
    o.given = &given;
    o.top = top;
    o.n_top = TOP;
    OK(carat_sync(r.session[0], prompt.ids, prompt.n, NULL, err));
    const float *logits = carat_logits(r.session[0]);
    long double sum = 0;
    for (int i = 0; i < n_text; i++)
        order[i] = i;
    sorted = logits;
    qsort(order, (size_t)n_text, sizeof *order, likelier_first);
    for (int i = 0; i < n_text; i++)
        sum += expl((long double)logits[i] - logits[order[0]]);
    OK(carat_score_with(r.session[0], &id, 1, NULL, &o, err));
    for (int i = 0; i < TOP; i++) {
        const long double wanted = (long double)logits[order[i]] - logits[order[0]] - logl(sum);
        assert_int_equal(top[i].id, order[i]);
        assert_true(fabsl(top[i].logprob - wanted) < 1e-6L * (1 + fabsl(wanted)));
    }
    assert_true(fabsl(given - ((long double)logits[id] - logits[order[0]] - logl(sum))) < 1e-5L);
    id = top[3].id;
    OK(carat_score_with(r.session[0], &id, 1, NULL, &o, err));
    assert_memory_equal(&given, &top[3].logprob, sizeof given);
    free(order);
    rig_close(&r);
    carat_tokens_free(&prompt);
}

/* ---- the call ---- */

static void refuses(void **state)
{
    struct ct_config *c = (struct ct_config *)(uintptr_t)&tiny->config; /* nobody else uses it now */
    const int whole = c->n_text_vocab;
    const int32_t id[3] = {5, 6, 7};
    struct rig r = open_rig(1, NULL);
    double logprob[3], alone[3];
    float given[4] = {3, 3, 3, 3};
    carat_logprob top[3 * TOP];
    carat_score_options o;

    (void)state;
    OK(carat_sync(r.session[0], id, 3, NULL, err));
    carat_score_options_default(&o);
    o.top = top;
    for (int n_top = -1; n_top <= TOP + 1; n_top += TOP + 2) {
        o.n_top = n_top;
        FAILS(CARAT_E_ARGUMENT, carat_score_with(r.session[0], id, 3, logprob, &o, err));
    }
    o.n_top = 1;
    o.top = NULL;
    FAILS(CARAT_E_ARGUMENT, carat_score_with(r.session[0], id, 3, logprob, &o, err));
    o.top = top;
    FAILS(CARAT_E_ARGUMENT, carat_score_with(NULL, id, 3, logprob, &o, err));
    FAILS(CARAT_E_ARGUMENT, carat_score_with(r.session[0], NULL, 3, logprob, &o, err));
    FAILS(CARAT_E_ARGUMENT, carat_score_with(r.session[0], id, 0, logprob, &o, err));
    o.size++;
    FAILS(CARAT_E_ARGUMENT, carat_score_with(r.session[0], id, 3, logprob, &o, err));
    o.size--;
    c->n_text_vocab = 8;
    o.n_top = 9;
    FAILS(CARAT_E_ARGUMENT, carat_score_with(r.session[0], id, 3, logprob, &o, err));
    o.n_top = 8;
    OK(carat_score_with(r.session[0], id, 1, logprob, &o, err));
    for (int i = 0; i < 8; i++) /* none beyond the vocabulary of text */
        assert_in_range(top[i].id, 0, 7);
    c->n_text_vocab = whole;
    /* each of what is told by itself, and nothing */
    OK(carat_sync(r.session[0], id, 3, NULL, err));
    OK(carat_score(r.session[0], id, 3, alone, err));
    o = (carat_score_options){.size = sizeof o, .given = given};
    OK(carat_sync(r.session[0], id, 3, NULL, err));
    OK(carat_score_with(r.session[0], id, 3, logprob, &o, err));
    assert_memory_equal(logprob, alone, sizeof alone);
    for (int i = 0; i < 3; i++)
        assert_true(fabs(given[i] - alone[i]) < 1e-5 * (1 + fabs(alone[i])));
    assert_true(given[3] == 3);
    OK(carat_sync(r.session[0], id, 3, NULL, err));
    OK(carat_score_with(r.session[0], id, 3, NULL, NULL, err));
    assert_int_equal(carat_tokens_held(r.session[0], NULL), 5);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_by_a_generation),
        cmocka_unit_test(equal_recomputation),
        cmocka_unit_test(refuses),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
