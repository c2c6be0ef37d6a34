/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline_threads.c: sessions of one engine that generate, are saved and loaded, go back, are forked
 * and cancelled, all at once: each has the ids and the file of one that is alone. `make check-deep` runs it
 * under ThreadSanitizer too. What one thread does with timelines is test_timeline*.c's. */
#include "os/scratch.h"
#include "timeline_util.h"

#include <pthread.h>
#include <stdatomic.h>

enum { PROMPT = 40, IDS = SANITIZED ? 12 : 64, ROUNDS = SANITIZED ? 2 : 20, SESSIONS = 5 };

static carat_model *model;
static carat_engine *engine;
static struct ids prompt;
static struct ct_file {
    void *bytes;
    size_t size;
} right;                                 /* of the prompt */
static int32_t alone[IDS];               /* what follows it */
static carat_session *session[SESSIONS]; /* 0, 1: generate; 2, 3: are saved; 4: goes back and is forked */
static atomic_bool done;

/* cmocka's assertions belong to the main thread; the others count what went wrong. */
static atomic_int failures;
static void expect(bool holds)
{
    atomic_fetch_add(&failures, !holds);
}

static struct ct_file file_of(const char *path)
{
    struct ct_file f;
    f.bytes = read_whole(path, &f.size);
    return f;
}

/* All ids, however often it is stopped. */
static void generate_all(carat_session *s, int32_t *ids)
{
    carat_generation_options o;
    carat_generation *g = NULL;
    const int32_t *held;
    carat_sampling sampling;
    carat_status status = CARAT_E_CANCELLED;

    carat_generation_options_default(&o);
    carat_sampling_default(model, &sampling);
    sampling.temperature = 1;
    sampling.seed = 7;
    o.sampling = &sampling;
    o.max_tokens = IDS;
    o.stop_ids = prompt.id; /* none */
    while (carat_sync(s, prompt.id, PROMPT, NULL, NULL) == CARAT_E_CANCELLED)
        ;
    expect(carat_generation_create(&g, s, &o, NULL) == CARAT_OK);
    while (status == CARAT_E_CANCELLED)
        status = carat_generate(g, NULL);
    expect(status == CARAT_OK);
    int n = carat_tokens_held(s, &held);
    expect(n == PROMPT + IDS - 1);
    memset(ids, 0, IDS * sizeof *ids);
    memcpy(ids, held + PROMPT, (IDS - 1) * sizeof *ids);
    carat_generation_close(g);
}

static void *generator(void *arg)
{
    int32_t ids[IDS];

    for (int i = 0; i < ROUNDS; i++) {
        generate_all(arg, ids);
        expect(memcmp(ids, alone, sizeof ids) == 0);
    }
    return NULL;
}

/* Each into a file of its own; stopped, a save has changed nothing. */
static void *saver(void *arg)
{
    carat_session *s = arg;
    char name[16], path[PATH_SIZE];

    snprintf(name, sizeof name, "file%d", s == session[2]);
    path_join(path, scratch, name);
    for (int i = 0; i < ROUNDS; i++) {
        carat_status status;
        while (carat_sync(s, prompt.id, PROMPT, NULL, NULL) == CARAT_E_CANCELLED)
            ;
        if (i % 2) { /* back and forth, so that saving has to evaluate */
            expect(carat_rewind(s, PROMPT - 20, NULL) == CARAT_OK);
            while ((status = carat_append(s, prompt.id + carat_tokens_held(s, NULL),
                                          PROMPT - carat_tokens_held(s, NULL), NULL)) == CARAT_E_CANCELLED)
                ;
            expect(status == CARAT_OK);
        }
        while ((status = carat_save(s, path, NULL, 0, NULL)) == CARAT_E_CANCELLED)
            ;
        expect(status == CARAT_OK);
        struct ct_file f = file_of(path);
        expect(f.size == right.size && memcmp(f.bytes, right.bytes, f.size) == 0);
        free(f.bytes);
        expect(carat_load(s, path, NULL, NULL, NULL) == CARAT_OK);
    }
    return NULL;
}

static void *wanderer(void *arg)
{
    carat_session *s = arg;

    for (int i = 0; i < ROUNDS; i++) {
        carat_session *fork = NULL;
        while (carat_sync(s, prompt.id, PROMPT - i % 3, NULL, NULL) == CARAT_E_CANCELLED)
            ;
        expect(carat_mark(s, NULL) == CARAT_OK);
        expect(carat_fork(s, PROMPT / 2, &fork, NULL) == CARAT_OK);
        expect(carat_append(fork, prompt.id + PROMPT / 2, 3, NULL) == CARAT_OK);
        carat_session_close(fork);
        expect(carat_rewind(s, PROMPT / 4, NULL) == CARAT_OK);
    }
    return NULL;
}

/* Asks them all to stop, again and again, but ever less often: a pass that is stopped begins anew, so one
 * that takes longer than the pause (on a slow machine, under ThreadSanitizer) would never end. */
static void *nuisance(void *arg)
{
    long pause = 300000; /* nanoseconds */
    (void)arg;
    for (int i = 0; !atomic_load(&done); i++) {
        carat_cancel(session[i % SESSIONS]);
        nanosleep(&(struct timespec){0, pause}, NULL);
        if (pause < 100000000)
            pause += pause / 32;
    }
    return NULL;
}

static void all_at_once(void **state)
{
    void *(*const what[SESSIONS])(void *) = {generator, generator, saver, saver, wanderer};
    pthread_t thread[SESSIONS], other;
    (void)state;
    for (int i = 0; i < SESSIONS; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, what[i], session[i]), 0);
    assert_int_equal(pthread_create(&other, NULL, nuisance, NULL), 0);
    for (int i = 0; i < SESSIONS; i++)
        pthread_join(thread[i], NULL);
    atomic_store(&done, true);
    pthread_join(other, NULL);
    assert_int_equal(atomic_load(&failures), 0);
}

static int open_all(void **state)
{
    char path[PATH_SIZE];
    make_scratch(state);
    model = open_own("models/gemma3-bf16");
    carat_engine_options o = options_of(&modes[FAST], 8, 2);
    o.context = 256;
    o.sessions = SESSIONS + 1;
    o.snapshot_bytes = 2 * snapshot_size(model, &o);
    OK(carat_engine_create(&engine, model, &o, err));
    for (int i = 0; i < SESSIONS; i++)
        OK(carat_session_create(&session[i], engine, NULL, err));
    prompt = scattered_ids(PROMPT, model_info(model).n_text_vocab, 96);
    OK(carat_sync(session[0], prompt.id, PROMPT, NULL, err));
    OK(carat_save(session[0], path_join(path, scratch, "right"), NULL, 0, err));
    right = file_of(path);
    generate_all(session[0], alone);
    return 0;
}

static int close_all(void **state)
{
    for (int i = 0; i < SESSIONS; i++)
        carat_session_close(session[i]);
    carat_engine_close(engine);
    carat_model_close(model);
    free(prompt.id);
    free(right.bytes);
    return drop_scratch(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_at_once)};
    return cmocka_run_group_tests(tests, open_all, close_all);
}
