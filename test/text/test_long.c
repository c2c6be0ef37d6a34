/* SPDX-License-Identifier: Apache-2.0 */
/* test_long.c: row T7 of the list of bad inputs: one character, or one emoji sequence, a million times.
 * What such a text becomes is what a short one becomes, nothing is lost, and neither time nor a stack of
 * 256 KiB is used up. With CARAT_SHARED the real vocabulary of Gemma 3 is asked as well, with 16 MiB. */
#define _POSIX_C_SOURCE 200809L
#include "text_golden.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SLOWER = 16, STACK_KIB = 1024 };
#else
enum { SLOWER = 1, STACK_KIB = 256 };
#endif

#define FAMILY "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7"

static const struct unit {
    const char *text, *reads; /* what it reads after decoding */
} units[] = {
    {"A", "A"},
    {" ", " "},
    {"\n", "\n"},
    {"\xe4\xb8\x80", "\xe4\xb8\x80"},
    {"\xcc\x81", "\xcc\x81"},
    {"\xff", "\xef\xbf\xbd"},
    {FAMILY, FAMILY},
};

struct job {
    const struct ct_tokenizer *t;
    size_t size; /* of the long text */
    char failure[256];
};

static char *repeat(const char *unit, size_t size, size_t *n)
{
    size_t m = strlen(unit);
    char *text = malloc(size + m);
    for (*n = 0; text && *n < size; *n += m)
        memcpy(text + *n, unit, m);
    return text;
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The text of the ids is unit, again and again. */
static bool reads(const struct job *job, const carat_tokens *ids, const char *unit, size_t times)
{
    char *text = NULL;
    size_t n = 0, m = strlen(unit);
    bool right =
        ct_tokenizer_decode(job->t, ids->ids, ids->n, 0, &text, &n, NULL) == CARAT_OK && n == times * m;
    for (size_t i = 0; right && i < times; i++)
        right = memcmp(text + i * m, unit, m) == 0;
    free(text);
    return right;
}

/* cmocka's assertions may not be used on another thread: the first failure is written down. */
static void try_unit(struct job *job, const struct unit *u)
{
    carat_tokens brief = {0}, all = {0};
    size_t n, n_brief;
    char *text = repeat(u->text, job->size, &n), *start = repeat(u->text, 4096, &n_brief);
    carat_error err = {.message = "no memory"};
    double begin = cpu_seconds();
    if (!text || !start || ct_tokenizer_encode(job->t, start, n_brief, 0, NULL, &brief, &err) != CARAT_OK ||
        ct_tokenizer_encode(job->t, text, n, 0, NULL, &all, &err) != CARAT_OK) {
        snprintf(job->failure, sizeof job->failure, "%.200s", err.message);
    } else {
        double seconds = cpu_seconds() - begin;
        /* an idle machine takes a twentieth of it; anything quadratic would take hours */
        if (seconds > fmax(3, 20.0 * (double)job->size / (16 << 20)) * SLOWER)
            snprintf(job->failure, sizeof job->failure, "\"%s\" took %.1f s", u->text, seconds);
        if (memcmp(brief.ids, all.ids, (size_t)brief.n / 2 * sizeof *all.ids) != 0)
            snprintf(job->failure, sizeof job->failure, "\"%s\" begins otherwise in a long text", u->text);
        if (!reads(job, &all, u->reads, n / strlen(u->text)))
            snprintf(job->failure, sizeof job->failure, "\"%s\" reads otherwise", u->text);
    }
    free(text);
    free(start);
    free(brief.ids);
    free(all.ids);
}

static void *run(void *arg)
{
    struct job *job = arg;
    for (size_t i = 0; i < CT_COUNT(units) && !job->failure[0]; i++)
        try_unit(job, &units[i]);
    return NULL;
}

static void check(struct ct_tokenizer *t, size_t size)
{
    struct job job = {.t = t, .size = size};
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, (size_t)STACK_KIB << 10), 0);
    assert_int_equal(pthread_create(&thread, &attributes, run, &job), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    ct_tokenizer_free(t);
    if (job.failure[0])
        fail_msg("%s", job.failure);
}

static void tiny_json(void **state)
{
    (void)state;
    struct ct_tokenizer *t = NULL;
    struct ct_bytes file = read_file(CT_TEST_DATA "/../../models/tiny/tokenizer.json");
    assert_int_equal(ct_tokenizer_from_json(&t, "tiny", file, NULL, NULL), CARAT_OK);
    free((void *)file.data);
    check(t, 1 << 20);
}

static void tiny_model(void **state)
{
    (void)state;
    struct ct_tokenizer *t = NULL;
    struct ct_bytes file = read_file(CT_TEST_DATA "/../../models/tiny/tokenizer.model");
    assert_int_equal(ct_tokenizer_from_model(&t, "tiny", file, NULL, NULL), CARAT_OK);
    free((void *)file.data);
    check(t, 1 << 20);
}

static void real_gemma3(void **state)
{
    (void)state;
    check(real_tokenizer("gemma3"), ((size_t)16 << 20) / (SLOWER > 1 ? 8 : 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiny_json),
        cmocka_unit_test(tiny_model),
        cmocka_unit_test(real_gemma3),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
