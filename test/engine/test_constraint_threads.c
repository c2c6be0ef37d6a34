/* SPDX-License-Identifier: Apache-2.0 */
/* test_constraint_threads.c: matchers of one form on several threads: each allows what it allows alone,
 * whatever the others make of the automaton. */
#include "told_util.h"

#include <pthread.h>

#include "carat_constrain.h"
#include "text/tokenizer/tokenizer.h"

enum { THREADS = 4, STEPS = 300 };

static carat_constraint *shared;
static const char eighty[] = "{\"type\": \"array\", \"minItems\": 80}";

struct walker {
    uint64_t seed;
    uint64_t sum; /* of all masks on the way */
    int steps;
};

/* Goes on with one of the ids that fit, again and again. */
static void *walk(void *user)
{
    struct walker *w = user;
    carat_matcher *m;
    const int n = ct_tokenizer_size(tiny->tokenizer);

    OK(carat_matcher_create(&m, shared, err));
    for (int i = 0; i < STEPS; i++) {
        int32_t fits[1024];
        int k = 0;
        const uint64_t *bits = carat_matcher_mask(m, 0);
        for (int32_t id = 0; id < n; id++)
            if (bits[id / 64] >> id % 64 & 1)
                fits[k++] = id;
        for (int word = 0; word < (n + 63) / 64; word++)
            w->sum = (w->sum ^ bits[word]) * 0x9e3779b97f4a7c15u;
        if (k == 0)
            break;
        w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
        OK(carat_matcher_accept(m, fits[(w->seed >> 33) % (uint64_t)k], err));
        w->steps++;
        w->sum += (uint64_t)carat_matcher_complete(m) + 2 * (uint64_t)carat_matcher_shortest(m);
    }
    carat_matcher_close(m);
    return NULL;
}

static void open_form(carat_form kind, const char *text)
{
    carat_constraint_options o;

    carat_constraint_options_default(&o);
    o.form = kind;
    o.text = text;
    OK(carat_constraint_create(&shared, tiny, &o, err));
}

static void walks_side_by_side_are_walks_alone(void **state)
{
    struct walker alone[THREADS], beside[THREADS];
    pthread_t thread[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++) {
        open_form(CARAT_FORM_SCHEMA, eighty);
        alone[i] = beside[i] = (struct walker){.seed = (uint64_t)i};
        (void)walk(&alone[i]);
        carat_constraint_close(shared);
    }
    open_form(CARAT_FORM_SCHEMA, eighty);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, walk, &beside[i]), 0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(thread[i], NULL), 0);
        assert_true(beside[i].sum == alone[i].sum && beside[i].steps > 100);
    }
    carat_constraint_close(shared);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_side_by_side_are_walks_alone),
    };
    return cmocka_run_group_tests(tests, prepare, clean_up);
}
