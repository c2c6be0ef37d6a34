/* SPDX-License-Identifier: Apache-2.0 */
/* test_allocations.c: decoding allocates nothing: the memory of an engine is planned once. This program
 * defines the allocation functions itself and counts calls while a switch is on; what they return comes from
 * the C library. Not possible together with a sanitizer, which defines them too, or with a C library other
 * than glibc: skipped there. */
#include "vector_util.h"

#include <carat_generate.h>
#include <errno.h>
#include <stdatomic.h>

#if defined(__GLIBC__) && !SANITIZED
#define COUNTED 1
#else
#define COUNTED 0
#endif

static atomic_int counting, allocations, releases;

#if COUNTED
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *p);
/* Declared in stdlib.h only for newer standards than this program asks for. */
int posix_memalign(void **p, size_t alignment, size_t n);

#pragma GCC visibility push(default) /* so that the C library's own functions call them, too */

static void count(atomic_int *counter)
{
    if (atomic_load_explicit(&counting, memory_order_relaxed))
        atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

void *malloc(size_t n)
{
    count(&allocations);
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    count(&allocations);
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    count(&allocations);
    return __libc_realloc(p, n);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    count(&allocations);
    return __libc_memalign(alignment, n);
}

int posix_memalign(void **p, size_t alignment, size_t n)
{
    count(&allocations);
    *p = __libc_memalign(alignment, n);
    return *p ? 0 : ENOMEM;
}

void free(void *p)
{
    if (p)
        count(&releases);
    __libc_free(p);
}

#pragma GCC visibility pop
#endif

#define STEPS 64

static void decode_without_allocating(const char *path, const carat_sampling *sampling, int exact,
                                      int threads)
{
    carat_model *model = NULL;
    OK(carat_model_open(&model, path, NULL, err));
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.exact = exact;
    o.threads = threads;
    o.context = 256;
    struct rig r = rig_open(model, &o);
    struct ids prompt = scattered_ids(20, model_info(model).n_text_vocab, 3);
    OK(carat_sync(r.session[0], prompt.id, prompt.n, NULL, err));
    carat_status status = CARAT_OK;
    carat_error e = {CARAT_OK, ""};
    size_t written = 0;
    char piece[256];
    atomic_store(&allocations, 0);
    atomic_store(&releases, 0);
    atomic_store(&counting, 1);
    for (int i = 0; i < STEPS && status == CARAT_OK; i++) {
        int32_t id = 0;
        status = carat_sample(r.session[0], sampling, &id, &e);
        if (status == CARAT_OK)
            written += carat_stream_text(r.session[0], id, piece, sizeof piece);
        if (status == CARAT_OK)
            status = carat_append(r.session[0], &id, 1, &e);
    }
    atomic_store(&counting, 0);
    if (status != CARAT_OK)
        fail_msg("%s: %s", path, e.message);
    if (model_info(model).has_tokenizer)
        assert_true(written > 0);
    if (atomic_load(&allocations) || atomic_load(&releases))
        fail_msg("%s, exact %d, threads %d: %d allocations and %d releases in %d steps", path, exact, threads,
                 atomic_load(&allocations), atomic_load(&releases), STEPS);
    assert_int_equal(carat_tokens_held(r.session[0], NULL), 20 + STEPS);
    free(prompt.id);
    rig_close(&r);
    carat_model_close(model);
}

static int take_logits(void *user, int token, const float *logits)
{
    *(float *)user += logits[token];
    return 0;
}

/* Two sessions that share what both write into go on into new blocks, with logits handed over. */
static void steps_allocate_nothing(void **state)
{
    (void)state;
    if (!COUNTED)
        skip();
    carat_model *model = NULL;
    OK(carat_model_open(&model, CT_TEST_DATA "/vectors/models/gemma2-bf16", NULL, err));
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = 2;
    o.context = 512;
    o.sessions = 2;
    o.snapshot_bytes = (size_t)64 << 20;
    struct rig r = rig_open(model, &o);
    struct ids ids = scattered_ids(400, r.n_vocab, 3);
    carat_status status = CARAT_OK;
    carat_error e = {CARAT_OK, ""};
    float sum = 0;
    carat_session_close(r.session[1]);
    OK(carat_sync(r.session[0], ids.id, 200, NULL, err));
    OK(carat_fork(r.session[0], 200, &r.session[1], err));
    atomic_store(&allocations, 0);
    atomic_store(&releases, 0);
    atomic_store(&counting, 1);
    for (int n = 200; n < 400 && !status; n += 10) {
        carat_row rows[2];
        for (int i = 0; i < 2; i++)
            rows[i] = (carat_row){.session = r.session[i],
                                  .tokens = ids.id + n - 5 * i,
                                  .n = 10,
                                  .wants = CARAT_WANTS_ALL,
                                  .deliver = take_logits,
                                  .user = &sum};
        status = carat_step(r.engine, rows, sizeof(carat_row), 2, &e);
        if (!status)
            status = carat_reserve(r.session[0], n + 20, &e);
        if (!status)
            status = carat_mark(r.session[0], &e);
        if (!status)
            status = carat_rewind(r.session[1], n + 9, &e);
        if (!status)
            status = carat_append(r.session[1], ids.id + n, 1, &e);
    }
    atomic_store(&counting, 0);
    if (status != CARAT_OK)
        fail_msg("%s", e.message);
    if (atomic_load(&allocations) || atomic_load(&releases))
        fail_msg("%d allocations and %d releases", atomic_load(&allocations), atomic_load(&releases));
    assert_int_equal(carat_tokens_held(r.session[1], NULL), 400);
    free(ids.id);
    rig_close(&r);
    carat_model_close(model);
}

/* A plain generation with many bans, one with drafts that tells all it can, and one that evaluates everything
 * anew, in one step. prompts: their prompts go into the first passes, together. */
static void generate_without_allocating(bool prompts)
{
    carat_model *model = NULL;
    OK(carat_model_open(&model, CT_TEST_DATA "/../../models/tiny", NULL, err));
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = 2;
    o.context = 512;
    o.sessions = 3;
    struct rig r = rig_open(model, &o);
    struct ids ids = scattered_ids(20, model_info(model).n_text_vocab, 3);
    static const int32_t none;
    static int32_t banned[600];
    carat_generation *g[3];
    carat_sampling sampling;
    carat_sampling_default(model, &sampling);
    sampling.banned = banned;
    sampling.n_banned = (int)(sizeof banned / sizeof *banned);
    for (int i = 0; i < sampling.n_banned; i++)
        banned[i] = 1000 - i;
    carat_status status = CARAT_OK;
    carat_error e = {CARAT_OK, ""};
    for (int i = 0; i < 3; i++) {
        carat_generation_options go;
        carat_generation_options_default(&go);
        go.stop_ids = &none;
        go.lookup = i == 1 ? CARAT_LOOKUP_ON : CARAT_LOOKUP_OFF;
        go.naive = i == 2;
        go.sampling = i == 0 ? &sampling : NULL;
        go.stops = (const char *[]){"nowhere"};
        go.n_stops = i == 1;
        go.logprobs = i == 1;
        go.top_logprobs = i == 1 ? CARAT_MOST_LOGPROBS : 0;
        go.loop_guard = i == 1;
        OK(carat_generation_create(&g[i], r.session[i], &go, err));
        const carat_prompt prompt = {.size = sizeof prompt, .ids = ids.id, .n = 20};
        if (prompts)
            OK(carat_generation_prompt(g[i], &prompt, NULL, err));
        else
            OK(carat_sync(r.session[i], ids.id, 20, NULL, err));
    }
    OK(carat_generation_pass(r.engine, g, 3, prompts ? 1 : 0, err));
    atomic_store(&allocations, 0);
    atomic_store(&releases, 0);
    atomic_store(&counting, 1);
    for (int i = 0; i < STEPS && !status; i++)
        status = carat_generation_step(r.engine, g, 3, &e);
    atomic_store(&counting, 0);
    if (status != CARAT_OK)
        fail_msg("%s", e.message);
    if (atomic_load(&allocations) || atomic_load(&releases))
        fail_msg("%d allocations and %d releases", atomic_load(&allocations), atomic_load(&releases));
    for (int i = 0; i < 3; i++) {
        assert_true(carat_tokens_held(r.session[i], NULL) >= 20 + STEPS - prompts);
        carat_generation_close(g[i]);
    }
    free(ids.id);
    rig_close(&r);
    carat_model_close(model);
}

static void generations_allocate_nothing(void **state)
{
    (void)state;
    if (!COUNTED)
        skip();
    generate_without_allocating(false);
    generate_without_allocating(true);
}

static void decoding_allocates_nothing(void **state)
{
    (void)state;
    if (!COUNTED)
        skip();
    static const char *const paths[] = {CT_TEST_DATA "/../../models/tiny",
                                        CT_TEST_DATA "/vectors/models/gemma2-bf16",
                                        CT_TEST_DATA "/vectors/gguf/mixed.gguf"};
    carat_sampling greedy, cut, whole;
    carat_sampling_default(NULL, &greedy);
    cut = whole = greedy;
    greedy.temperature = 0;
    cut.seed = 7;
    whole.top_k = 0;
    whole.top_p = 1;
    whole.min_p = 0.01f;
    const carat_sampling *const samplings[] = {NULL, &greedy, &cut, &whole};
    for (size_t p = 0; p < sizeof paths / sizeof *paths; p++)
        for (size_t s = 0; s < sizeof samplings / sizeof *samplings; s++)
            for (int exact = 0; exact < 2; exact++)
                decode_without_allocating(paths[p], samplings[s], exact, 1 + (int)(s % 2));
}

/* The counter itself works. */
static void allocations_are_counted(void **state)
{
    (void)state;
    if (!COUNTED)
        skip();
    atomic_store(&allocations, 0);
    atomic_store(&releases, 0);
    atomic_store(&counting, 1);
    void *volatile p = malloc(10);
    p = realloc(p, 2000);
    free(p);
    atomic_store(&counting, 0);
    assert_int_equal(atomic_load(&allocations), 2);
    assert_int_equal(atomic_load(&releases), 1);
}

/* Drafts of a drafter that reads K and V, and of a smaller model beside. */
static void drafters_allocate_nothing(void **state)
{
    static const char *const pairs[][2] = {
        {CT_TEST_DATA "/../fixtures/tiny4", CT_TEST_DATA "/../fixtures/tiny4-assistant"},
        {CT_TEST_DATA "/../../models/tiny", CT_TEST_DATA "/../../models/tiny"}};

    (void)state;
    if (!COUNTED)
        skip();
    for (int i = 0; i < 2; i++) {
        carat_model *model = NULL;
        carat_model_options mo;
        carat_model_options_default(&mo);
        mo.drafter = pairs[i][1];
        OK(carat_model_open(&model, pairs[i][0], &mo, err));
        carat_engine_options o;
        carat_engine_options_default(&o);
        o.threads = 2;
        o.context = 640;
        struct rig r = rig_open(model, &o);
        struct ids ids = scattered_ids(20, model_info(model).n_text_vocab, 3);
        static const int32_t none;
        carat_generation *g = NULL;
        carat_generation_options go;
        carat_generation_options_default(&go);
        go.stop_ids = &none;
        go.drafter = CARAT_LOOKUP_ON;
        OK(carat_generation_create(&g, r.session[0], &go, err));
        OK(carat_sync(r.session[0], ids.id, 20, NULL, err));
        OK(carat_generation_step(r.engine, &g, 1, err));
        carat_status status = CARAT_OK;
        carat_error e = {CARAT_OK, ""};
        atomic_store(&allocations, 0);
        atomic_store(&releases, 0);
        atomic_store(&counting, 1);
        for (int k = 0; k < STEPS && !status; k++)
            status = carat_generation_step(r.engine, &g, 1, &e);
        atomic_store(&counting, 0);
        if (status != CARAT_OK)
            fail_msg("%s", e.message);
        if (atomic_load(&allocations) || atomic_load(&releases))
            fail_msg("%s: %d allocations and %d releases", pairs[i][1], atomic_load(&allocations),
                     atomic_load(&releases));
        carat_generation_info info;
        carat_generation_info_default(&info);
        OK(carat_generation_get_info(g, &info, err));
        if (info.use[CARAT_FROM_DRAFTER].drafted < STEPS)
            fail_msg("%s: %d ids of drafts", pairs[i][1], info.use[CARAT_FROM_DRAFTER].drafted);
        carat_generation_close(g);
        free(ids.id);
        rig_close(&r);
        carat_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_counted),      cmocka_unit_test(decoding_allocates_nothing),
        cmocka_unit_test(generations_allocate_nothing), cmocka_unit_test(drafters_allocate_nothing),
        cmocka_unit_test(steps_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
