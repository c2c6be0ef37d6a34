/* SPDX-License-Identifier: Apache-2.0 */
/* test_links.c: what the links of a chain leave, against llama.cpp's samplers and transformers' processors
 * (tools/make_sampling_vectors.py): the same ids, and probabilities within 1e-5. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "engine/chain.h"
#define CT_ISA ref
#include "kernel/ref/ref.h"

enum { MOST = 64, MOST_HELD = 96, N_CHAINS = 11, LINKS_END = -1 };
static const int chains[N_CHAINS][CARAT_LINKS + 1] = {
    {CARAT_LINK_PENALTIES, LINKS_END},
    {CARAT_LINK_DRY, LINKS_END},
    {CARAT_LINK_TEMPERATURE, CARAT_LINK_TYPICAL, LINKS_END},
    {CARAT_LINK_TOP_K, CARAT_LINK_TEMPERATURE, CARAT_LINK_TOP_P, CARAT_LINK_MIN_P, LINKS_END},
    {CARAT_LINK_TEMPERATURE, CARAT_LINK_XTC, LINKS_END},
    {CARAT_LINK_PENALTIES, CARAT_LINK_DRY, CARAT_LINK_TOP_K, CARAT_LINK_TEMPERATURE, CARAT_LINK_TYPICAL,
     CARAT_LINK_TOP_P, CARAT_LINK_MIN_P, CARAT_LINK_XTC, LINKS_END},
    {CARAT_LINK_TOP_P, CARAT_LINK_TEMPERATURE, CARAT_LINK_XTC, CARAT_LINK_TYPICAL, LINKS_END},
    {CARAT_LINK_TOP_K, CARAT_LINK_PENALTIES, CARAT_LINK_MIN_P, CARAT_LINK_TEMPERATURE, CARAT_LINK_TOP_P,
     LINKS_END},
    {CARAT_LINK_PENALTIES, CARAT_LINK_TOP_K, CARAT_LINK_TEMPERATURE, CARAT_LINK_TYPICAL, LINKS_END},
    {CARAT_LINK_TEMPERATURE, CARAT_LINK_TOP_K, CARAT_LINK_TOP_P, LINKS_END},
    {CARAT_LINK_TEMPERATURE, CARAT_LINK_MIN_P, LINKS_END},
};
enum { OF_TRANSFORMERS = 8 }; /* from this chain on; their only penalty is the first, over all tokens */

struct distribution {
    int n, n_held;
    float logits[MOST];
    int32_t held[MOST_HELD];
    float temperature, top_k, top_p, min_p, repeat, frequency, presence, last_n, multiplier, base, allowed,
        typical, threshold;
};

static int read_int(FILE *f)
{
    int32_t v;
    assert_int_equal(fread(&v, 4, 1, f), 1);
    return v;
}

static void read_distribution(FILE *f, struct distribution *d)
{
    d->n = read_int(f);
    d->n_held = read_int(f);
    assert_true(d->n <= MOST && d->n_held <= MOST_HELD);
    assert_int_equal(fread(d->logits, 4, (size_t)d->n, f), d->n);
    for (int i = 0; i < d->n_held; i++)
        d->held[i] = fgetc(f);
    assert_int_equal(fread(&d->temperature, 4, 13, f), 13);
}

/* The candidates behind a chain: in order of ids, with their softmax. Returns how many there are. */
static int run_chain(const struct distribution *d, int which, int32_t *ids, float *p)
{
    int32_t order[3][MOST], run[MOST_HELD], before[1];
    bool left[MOST] = {false};
    float value[3][MOST], weight[MOST];
    uint64_t set[1];
    struct ct_edit edits[MOST];
    struct ct_penalty penalty = {MOST, MOST_HELD, set, before, run, edits};
    struct ct_draw_room room = {order[0], order[1], order[2], value[0], value[1], value[2]};
    const struct ct_logits all = {.value = d->logits, .n = d->n};
    carat_chain chain;
    int n = 0;

    carat_chain_default(&chain);
    chain.repeat_penalty = d->repeat;
    chain.frequency_penalty = which < OF_TRANSFORMERS ? d->frequency : 0;
    chain.presence_penalty = which < OF_TRANSFORMERS ? d->presence : 0;
    chain.repeat_last_n = which < OF_TRANSFORMERS ? (int)d->last_n : -1;
    chain.dry_multiplier = d->multiplier;
    chain.dry_base = d->base;
    chain.dry_allowed_length = (int)d->allowed;
    chain.typical_p = d->typical;
    chain.xtc_probability = 1;
    chain.xtc_threshold = d->threshold;
    const struct ct_draw draw = {.temperature = d->temperature,
                                 .top_k = (int)d->top_k,
                                 .top_p = d->top_p,
                                 .min_p = d->min_p,
                                 .chain = &chain,
                                 .edits = edits,
                                 .n_edits = ct_penalty_edits(&penalty, &chain, d->held, d->n_held)};

    struct ct_candidates c = {&all, &room, order[0], value[0], value[1], d->n, false, false};
    ct_select_ref(c.order, &all, d->n, NULL, 0, NULL);
    for (int i = 0; i < d->n; i++)
        c.value[i] = d->logits[c.order[i]];
    for (const int *link = chains[which]; *link != LINKS_END; link++)
        ct_chain_link_ref(&c, (carat_link)*link, &draw, 0);
    ct_chain_weigh_ref(&c);
    float whole = 0;
    for (int i = 0; i < c.n; i++) {
        assert_true(i == 0 || c.value[i - 1] >= c.value[i]);
        left[c.order[i]] = true;
        weight[c.order[i]] = c.weight[i];
        whole += c.weight[i];
    }
    for (int i = 0; i < d->n; i++)
        if (left[i]) {
            ids[n] = i;
            p[n++] = weight[i] / whole;
        }
    return n;
}

static void links_leave_what_others_leave(void **unused)
{
    FILE *f = fopen(CT_TEST_DATA "/sampling/links.bin", "rb");
    struct distribution d;
    int compared = 0;

    (void)unused;
    assert_non_null(f);
    for (int left = read_int(f); left > 0; left--) {
        read_distribution(f, &d);
        for (int which = 0; which < N_CHAINS; which++) {
            int32_t ids[MOST];
            float p[MOST], expected[MOST];
            unsigned char kept[MOST];
            int n = read_int(f), found = run_chain(&d, which, ids, p);
            assert_int_equal(fread(kept, 1, (size_t)n, f), n);
            assert_int_equal(fread(expected, 4, (size_t)n, f), n);
            if (found != n)
                fail_msg("chain %d of distribution %d from the end: %d ids left, expected %d", which, left,
                         found, n);
            for (int i = 0; i < n; i++) {
                assert_int_equal(ids[i], kept[i]);
                assert_true(fabsf(p[i] - expected[i]) <= 1e-5f);
            }
            compared++;
        }
    }
    assert_int_equal(compared, 200 * N_CHAINS);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(links_leave_what_others_leave)};
    return cmocka_run_group_tests_name("engine: links", tests, NULL, NULL);
}
