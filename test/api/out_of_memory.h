/* SPDX-License-Identifier: Apache-2.0 */
/* out_of_memory.h: what the test_out_of_memory_*.c programs share, each with models of its own: whatever the
 * n-th request to the system is (memory, a mapping, a thread), its refusal gives CARAT_E_MEMORY with a
 * sentence, leaks nothing, changes no output, and the same call on the same objects succeeds afterwards with
 * the same bits. Every n is tried (of thousands, ever fewer), twice: refusing only that request, and that one
 * with all that follow. Under sanitizers
 * their leak check sees the same paths. */
#ifndef OUT_OF_MEMORY_H
#define OUT_OF_MEMORY_H

#include "checkpoint/cache_util.h"
#include "refusable.h"

#include <carat_generate.h>
#include <carat_quality.h>

#include <pthread.h>

/* ---- requests that are not for memory; live counts threads, too ---- */

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg);
int __real_pthread_join(pthread_t t, void **result);

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*fn)(void *), void *arg)
{
    int failed = refuse() ? EAGAIN : __real_pthread_create(t, a, fn, arg);
    atomic_fetch_add(&live, !failed);
    return failed;
}

int __wrap_pthread_join(pthread_t t, void **result)
{
    atomic_fetch_sub(&live, 1);
    return __real_pthread_join(t, result);
}

/* ---- what is done to a model, in acts that leave nothing behind ---- */

struct subject {
    const char *path;
    int tokenizer_only;
    int by_memory; /* 1: opened from buffers that hold the files of the folder */
    /* the last two: nothing but a head that the cache keeps, or has */
    enum { NO_CACHE, EMPTY_CACHE, FULL_CACHE, KEEPS_HEAD, HAS_HEAD } cache;
};

struct act {
    const struct subject *subject;
    carat_model *model;
    carat_buffer *files;
    int n_files;
    carat_error err;     /* of the first failure */
    carat_status status; /* of the first failure */
    uint64_t digest;     /* of all results */
};

static void mix(struct act *a, const void *data, size_t n)
{
    for (size_t i = 0; i < n; i++)
        a->digest = (a->digest ^ ((const unsigned char *)data)[i]) * 0x100000001b3u;
}

/* Takes a failure down; true when the call should be made once more, which must succeed then. */
static bool once_more(struct act *a, carat_status status, const carat_error *err)
{
    if (!a->status) {
        a->status = status;
        a->err = *err;
        return !atomic_load(&refuse_later);
    }
    return false;
}

/* A call with `err`; when it fails it is made again on the same objects, where only one request is refused.
 */
#define DO(call)                                                                                             \
    do {                                                                                                     \
        carat_error err_ = {CARAT_OK, ""}, *err = &err_;                                                     \
        carat_status status_ = (call);                                                                       \
        if (status_ && once_more(a, status_, err))                                                           \
            status_ = (call);                                                                                \
        if (status_)                                                                                         \
            goto close;                                                                                      \
    } while (0)

static int go_on(void *user, size_t done, size_t total)
{
    (void)user;
    return done > total;
}

static void ignore(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static carat_status open_subject(const struct act *a, carat_model **model, carat_error *err)
{
    carat_model_options o;
    carat_model_options_default(&o);
    o.tokenizer_only = a->subject->tokenizer_only;
    if (a->subject->cache)
        o.cache = cache_dir();
    o.progress = go_on;
    o.log = ignore;
    return a->files ? carat_model_open_memory(model, a->files, sizeof(carat_buffer), a->n_files, &o, err)
                    : carat_model_open(model, a->subject->path, &o, err);
}

static void act_open(struct act *a)
{
    carat_model *m = NULL;
    carat_model_info info = {.size = sizeof info};

    if (a->subject->cache == EMPTY_CACHE)
        fresh_cache(NULL);
    DO(open_subject(a, &m, err));
    DO(carat_model_get_info(m, &info, err));
    mix(a, &info.n_vocab, sizeof info.n_vocab);
    mix(a, info.name, strlen(info.name));
close:
    carat_model_close(m);
}

static void act_plan(struct act *a)
{
    carat_plan plan = {.size = sizeof plan};

    DO(carat_plan_engine(a->model, NULL, &plan, err));
    mix(a, &plan.kv_bytes, sizeof plan.kv_bytes);
close:;
}

static void act_generate(struct act *a)
{
    carat_engine *engine = NULL;
    carat_session *session[2] = {NULL, NULL};
    carat_generation *generation = NULL;
    carat_engine_options o;
    carat_engine_options_default(&o);
    static const int32_t prompt[] = {2, 90, 7, 71, 30, 11};
    char piece[256], path[PATH_SIZE], *note = NULL;
    o.context = 64;
    o.threads = 3;
    o.sessions = 2;
    o.snapshot_bytes = (size_t)64 << 20;

    DO(carat_engine_create(&engine, a->model, &o, err));
    for (int i = 0; i < 2; i++)
        DO(carat_session_create(&session[i], engine, NULL, err));
    for (int i = 0; i < 2; i++)
        DO(carat_sync(session[i], prompt, (int)(sizeof prompt / sizeof *prompt) - i, NULL, err));
    for (int i = 0; i < 6; i++) {
        int32_t id;
        DO(carat_sample(session[i % 2], NULL, &id, err));
        mix(a, piece, carat_stream_text(session[i % 2], id, piece, sizeof piece));
        DO(carat_append(session[i % 2], &id, 1, err));
    }
    for (int i = 0; i < 2; i++) {
        carat_generation_options go;
        carat_generation_options_default(&go);
        go.max_tokens = 6;
        go.naive = i;
        go.stops = (const char *[]){"nowhere", "else"};
        go.n_stops = model_info(a->model).has_tokenizer ? 2 : 0;
        go.loop_guard = 96;
        DO(carat_generation_create(&generation, session[i], &go, err));
        DO(carat_generate(generation, err));
        carat_generation_close(generation);
        generation = NULL;
    }
    DO(carat_sync(session[0], prompt, (int)(sizeof prompt / sizeof *prompt), NULL, err));
    DO(carat_mark(session[0], err));
    DO(carat_save(session[0], path_join(path, scratch, "timeline"), "note", 4, err));
    DO(carat_load(session[0], path, &note, NULL, err));
    mix(a, note, 5);
    DO(carat_rewind(session[0], 3, err));
    mix(a, carat_logits(session[1]), (size_t)model_info(a->model).n_vocab * sizeof(float));
close:
    carat_free(note);
    carat_generation_close(generation);
    carat_session_close(session[0]);
    carat_session_close(session[1]);
    carat_engine_close(engine);
}

static void count_call(void *user, const carat_tap *tap)
{
    (void)tap;
    ++*(int *)user;
}

/* A tap in place of another one, which stays where the second is refused. */
static void act_tap(struct act *a)
{
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    carat_engine_options o;
    static const int32_t prompt[] = {2, 90, 7};
    int calls[2] = {0, 0};

    carat_engine_options_default(&o);
    o.context = 64;
    o.threads = 1;
    DO(carat_engine_create(&engine, a->model, &o, err));
    DO(carat_session_create(&session, engine, NULL, err));
    DO(carat_tap_begin(engine, count_call, &calls[0], err));
    bool first = carat_tap_begin(engine, count_call, &calls[1], NULL) == CARAT_E_MEMORY;
    OK(carat_append(session, prompt, 3, err));
    assert_true(calls[first ? 0 : 1] > 0 && calls[first ? 1 : 0] == 0);
    calls[0] = calls[1] = 0;
    DO(carat_tap_begin(engine, count_call, &calls[1], err));
    OK(carat_append(session, prompt, 3, err));
    assert_true(calls[0] == 0 && calls[1] > 0);
    mix(a, &calls[1], sizeof calls[1]);
    mix(a, carat_logits(session), (size_t)model_info(a->model).n_vocab * sizeof(float));
close:
    carat_session_close(session);
    carat_engine_close(engine);
}

/* Rows of an older program, which are copied into new ones. */
struct old_row {
    carat_session *session;
    const int32_t *tokens;
    int n;
    float *logits;
};

/* A head that is kept in the cache, or comes from there. */
static void act_head(struct act *a)
{
    carat_model *m = NULL;
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    carat_engine_options o;
    carat_head_options head;
    carat_candidate top[4];
    static const int32_t prompt[] = {2, 90, 7};

    if (a->subject->cache == KEEPS_HEAD)
        fresh_cache(NULL);
    carat_engine_options_default(&o);
    carat_head_options_default(&head);
    head.strategy = CARAT_HEAD_EXACT_PRUNED;
    o.context = 64;
    o.threads = 2;
    o.head = &head;
    DO(open_subject(a, &m, err));
    DO(carat_engine_create(&engine, m, &o, err));
    DO(carat_session_create(&session, engine, NULL, err));
    DO(carat_sync(session, prompt, 3, NULL, err));
    DO(carat_top(session, 4, top, err));
    for (int i = 0; i < 4; i++) {
        mix(a, &top[i].id, sizeof top[i].id);
        mix(a, &top[i].logit, sizeof top[i].logit);
    }
close:
    carat_session_close(session);
    carat_engine_close(engine);
    carat_model_close(m);
}

/* An engine that is told its bytes of K and V: forks, reservations, steps, scoring. */
static void act_fork(struct act *a)
{
    carat_engine *engine = NULL;
    carat_session *session[3] = {NULL, NULL, NULL};
    carat_use use = {.size = sizeof use};
    carat_engine_options o;
    carat_engine_options_default(&o);
    static const int32_t prompt[] = {2, 90, 7, 71, 30, 11};
    size_t bytes = (size_t)model_info(a->model).n_vocab * sizeof(float);
    double logprob[6];
    carat_plan plan = {.size = sizeof plan};
    o.context = 256;
    o.threads = 2;
    o.sessions = 3;
    o.logits_rows = 4;

    DO(carat_plan_engine(a->model, &o, &plan, err));
    o.kv_bytes = plan.kv_bytes;
    DO(carat_engine_create(&engine, a->model, &o, err));
    DO(carat_session_create(&session[0], engine, NULL, err));
    DO(carat_reserve(session[0], 100, err));
    DO(carat_sync(session[0], prompt, 6, NULL, err));
    DO(carat_fork(session[0], 5, &session[1], err));
    DO(carat_fork(session[0], 6, &session[2], err));
    for (int i = 0; i < 2; i++) {
        struct old_row rows[2] = {{session[0], prompt + i, 1, NULL}, {session[2], prompt + 1, 2, NULL}};
        DO(carat_step(engine, (carat_row *)rows, sizeof *rows, 1 + i, err));
    }
    mix(a, carat_logits(session[0]), bytes);
    DO(carat_score(session[0], prompt, 6, logprob, err));
    mix(a, logprob, sizeof logprob);
    DO(carat_engine_use(engine, &use, err));
    mix(a, &use, sizeof use);
close:
    for (int i = 0; i < 3; i++)
        carat_session_close(session[i]);
    carat_engine_close(engine);
}

#include "out_of_memory_quality.h"

/* Engines whose heads keep more than weights, and the best ids of each. */
static void act_heads(struct act *a)
{
    static const carat_head heads[] = {CARAT_HEAD_AUTO, CARAT_HEAD_LAZY, CARAT_HEAD_SHORTLIST};
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    static const int32_t prompt[] = {2, 90, 7, 71, 30, 11};

    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        carat_engine_options o;
        carat_head_options h;
        carat_candidate best[3];
        carat_engine_options_default(&o);
        carat_head_options_default(&h);
        h.strategy = heads[i];
        h.audit = 2;
        o.head = &h;
        o.context = 64;
        o.threads = 2;
        DO(carat_engine_create(&engine, a->model, &o, err));
        DO(carat_session_create(&session, engine, NULL, err));
        DO(carat_sync(session, prompt, 6, NULL, err));
        DO(carat_top(session, 3, best, err));
        mix(a, best, sizeof best);
        carat_session_close(session);
        carat_engine_close(engine);
        session = NULL;
        engine = NULL;
    }
close:
    carat_session_close(session);
    carat_engine_close(engine);
}

/* A list that holds one id, which a failing call must leave there alone. */
static carat_tokens one_token(void)
{
    carat_tokens t = {counted(__real_malloc(sizeof *t.ids)), 1, 1};
    assert_non_null(t.ids);
    t.ids[0] = 42;
    return t;
}

static const char text[] =
    "Hello  world, 12345! \xc3\xa9\xf0\x9f\x98\x80<start_of_turn>user\n\tdef f(x): return x";

static void act_text(struct act *a)
{
    carat_tokens t = one_token();
    char *back = NULL;
    size_t n = 77;

    DO(carat_tokenize(a->model, text, sizeof text - 1, CARAT_BOS, &t, err));
    mix(a, t.ids, (size_t)t.n * sizeof *t.ids);
    DO(carat_tokenize(a->model, text, sizeof text - 1, CARAT_SPECIAL, &t, err));
    mix(a, t.ids, (size_t)t.n * sizeof *t.ids);
    DO(carat_detokenize(a->model, t.ids + 1, t.n - 1, CARAT_SPECIAL, &back, &n, err));
    mix(a, back, n);
close:
    if (a->status && !back)
        assert_int_equal(n, 77);
    assert_int_equal(t.ids[0], 42);
    carat_free(back);
    carat_tokens_free(&t);
}

static const char tools[] = "[{\"type\":\"function\",\"function\":{\"name\":\"set_light\",\"description\":"
                            "\"Turns a light on or off\","
                            "\"parameters\":{\"type\":\"object\",\"properties\":{\"room\":{\"type\":"
                            "\"string\",\"description\":\"Room\"},"
                            "\"on\":{\"type\":\"boolean\"},\"level\":{\"type\":\"integer\",\"enum\":[1,2,3]},"
                            "\"more\":{\"type\":\"array\","
                            "\"items\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"number\"}}}}},"
                            "\"required\":[\"room\"]}}}]";
static const char calls[] =
    "[{\"role\":\"developer\",\"content\":\"You call functions.\"},{\"role\":\"user\",\"content\":[{\"type\":"
    "\"text\",\"text\":\"Light in the "
    "kitchen\"}]},{\"role\":\"assistant\",\"tool_calls\":[{\"type\":\"function\","
    "\"id\":\"c1\",\"function\":{\"name\":\"set_light\",\"arguments\":\"{\\\"room\\\":\\\"kitchen\\\","
    "\\\"on\\\":true,"
    "\\\"more\\\":[{\\\"x\\\":1.5},null]}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"{"
    "\\\"ok\\\":"
    "true}\"}]";

/* A conversation that is built anew: after CARAT_E_MEMORY one can only be closed. */
static carat_status render_talk(const carat_model *model, const carat_render_options *o, char **prompt,
                                carat_error *err)
{
    static const char user[] = "{\"role\":\"user\",\"content\":\"And\\u003f\"}";
    carat_talk *talk = NULL;
    carat_status status = carat_talk_create(&talk, err);

    for (int i = 0; i < 40 && !status; i++) { /* more than a tree is deep */
        status = carat_talk_message(talk, i % 2 ? "assistant" : "user", err);
        if (!status)
            status = carat_talk_text(talk, "Hi", 2, err);
        if (!status)
            status = carat_talk_text(talk, " there", 6, err);
    }
    if (!status)
        status = carat_talk_json(talk, user, strlen(user), err);
    if (!status)
        status = carat_talk_render(model, talk, o, NULL, prompt, err);
    carat_talk_close(talk);
    return status;
}

static void act_render(struct act *a)
{
    static const carat_message talk[] = {
        {"user", "Hi <b>you</b> \xc3\xa9", NULL},
        {NULL, NULL, "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Hello\"}]}"},
        {"user", "And?", NULL},
    };
    carat_tokens t = one_token(), begins = one_token();
    char *prompt[4] = {NULL};
    carat_render_options o;
    carat_render_options_default(&o);
    carat_calls parts = {.size = sizeof *parts.part};
    bool functions = strcmp(model_info(a->model).chat_template, "functiongemma") == 0;

    o.chat_template = "functiongemma"; /* ids of it need the model's own control tokens */
    o.tools = tools;
    DO(carat_render_json(a->model, calls, &o, functions ? &t : NULL, &prompt[0], err));
    mix(a, prompt[0], strlen(prompt[0]));
    DO(carat_parse_calls(a->model, t.ids, t.n, tools, &parts, err));
    for (int i = 0; i < parts.n; i++)
        mix(a, parts.part[i].text, parts.part[i].n_text);
    assert_true(!functions || (parts.n == 3 && parts.part[1].arguments && !parts.part[1].error));
    o.chat_template = "gemma4";
    o.thinking = 1;
    DO(carat_render_json(a->model, calls, &o, NULL, &prompt[2], err));
    mix(a, prompt[2], strlen(prompt[2]));
    o.chat_template = "gemma3";
    o.tools = NULL;
    o.thinking = 0;
    o.begins = &begins;
    DO(carat_render(a->model, talk, sizeof(carat_message), 3, &o, &t, &prompt[1], err));
    assert_int_equal(begins.n, 4);
    mix(a, begins.ids, (size_t)begins.n * sizeof *begins.ids);
    mix(a, prompt[1], strlen(prompt[1]));
    mix(a, t.ids, (size_t)t.n * sizeof *t.ids);
    o.begins = NULL;
    DO(render_talk(a->model, &o, &prompt[3], err));
    mix(a, prompt[3], strlen(prompt[3]));
close:
    carat_free(prompt[3]);
    assert_int_equal(t.ids[0], 42);
    assert_true(begins.ids[0] == 42 && (begins.n == 1 || begins.n == 4));
    carat_tokens_free(&begins);
    carat_free(prompt[0]);
    carat_free(prompt[1]);
    carat_free(prompt[2]);
    carat_calls_free(&parts);
    carat_tokens_free(&t);
}

static void act_verify(struct act *a)
{
    carat_verify_options o;
    carat_verify_options_default(&o);
    carat_verdict verdict = {.size = sizeof verdict};
    o.threads = 2;

    DO(carat_verify(a->model, &o, &verdict, err));
    mix(a, verdict.content, sizeof verdict.content);
    mix(a, &verdict.passed, sizeof verdict.passed);
close:;
}

static int count_entry(void *user, const carat_cache_entry *e)
{
    (void)e;
    ++*(int *)user;
    return 0;
}

static void act_walk(struct act *a)
{
    int n = 0;

    DO((n = 0, carat_cache_walk(cache_dir(), count_entry, &n, err)));
    mix(a, &n, sizeof n);
close:;
}

static void act_pack(struct act *a)
{
    char path[PATH_SIZE];

    DO(carat_model_pack(a->model, path_join(path, scratch, "packed"), go_on, NULL, err));
close:;
}

/* ---- every n ---- */

/* The files of a folder as buffers. */
static int read_folder(const char *dir, carat_buffer **files)
{
    char **names, path[PATH_SIZE];
    int n = list_folder(dir, &names);

    *files = calloc((size_t)n + 1, sizeof **files);
    for (int i = 0; i < n; i++) {
        (*files)[i].data = read_whole(path_join(path, dir, names[i]), &(*files)[i].size);
        (*files)[i].name = names[i];
    }
    free(names);
    return n;
}

static void free_folder(carat_buffer *files, int n)
{
    for (int i = 0; i < n; i++) {
        free((void *)files[i].name);
        free((void *)files[i].data);
    }
    free(files);
}

/* The promises after one run with request n refused; NULL when they were kept. */
static const char *breach(const struct act *a, uint64_t expected, long before, bool later)
{
    if (atomic_load(&live) != before)
        return "blocks, mappings or threads leaked";
    if (a->status && a->status != CARAT_E_MEMORY)
        return "not CARAT_E_MEMORY";
    if (a->status && (a->err.code != a->status || !*a->err.message))
        return "no message";
    if ((!later || !a->status) && a->digest != expected)
        return "another result than without a refusal";
    return NULL;
}

static void run(struct act *a, void (*act)(struct act *), long at, bool later)
{
    a->digest = 0;
    a->status = CARAT_OK;
    atomic_store(&requests, 0);
    atomic_store(&n_refused, 0);
    atomic_store(&refuse_later, later);
    atomic_store(&refuse_at, at);
    act(a);
    atomic_store(&refuse_at, NEVER);
}

/* Refuses request 0 and then every `step` of what went before, at least the next one; 0: every request.
 * Returns the number of breaches; says the first few. */
static int refuse_some(struct act *a, const char *name, void (*act)(struct act *), double step)
{
    int breaches = 0;
    long n = 0, survived = 0;

    run(a, act, NEVER, false);
    if (a->status)
        fail_msg("%s, %s: %s", a->subject->path, name, a->err.message);
    const uint64_t expected = a->digest;
    long before = atomic_load(&live);
    for (int later = 0; later < 2; later++)
        for (n = 0;; n += 1 + (long)((double)n * step)) {
            run(a, act, n, later != 0);
            const char *what = breach(a, expected, before, later != 0);
            if (what && breaches++ < 5)
                print_error("%s, %s, request %ld%s refused: %s (%s, \"%s\", %ld live)\n", a->subject->path,
                            name, n, later ? " and all later" : "", what, carat_status_name(a->status),
                            a->status ? a->err.message : "", atomic_load(&live) - before);
            before = atomic_load(&live);
            if (!atomic_load(&n_refused))
                break;
            survived += !a->status;
        }
    print_message("%s, %s: %ld requests, %ld n_refused without consequence\n", a->subject->path, name, n,
                  survived);
    return breaches;
}

static int refuse_each(struct act *a, const char *name, void (*act)(struct act *))
{
    return refuse_some(a, name, act, 0);
}

/* All acts on an open model. */
static int use_each(struct act *a)
{
    int breaches = 0;

    OK(open_subject(a, &a->model, err));
    carat_model_info info = model_info(a->model);
    if (info.kind == CARAT_GENERATOR)
        breaches += refuse_each(a, "plan", act_plan) + refuse_each(a, "generate", act_generate) +
                    refuse_each(a, "fork", act_fork) + refuse_each(a, "tap", act_tap) +
                    refuse_each(a, "heads", act_heads) + refuse_each(a, "compare", act_compare) +
                    refuse_each(a, "bisect", act_bisect);
    if (info.has_tokenizer)
        breaches += refuse_each(a, "text", act_text) + refuse_each(a, "render", act_render);
    if (info.kind == CARAT_GENERATOR)
        breaches += refuse_each(a, "pack", act_pack);
    breaches += refuse_some(a, "verify", act_verify, 1); /* it asks thousands of times */
    carat_model_close(a->model);
    return breaches;
}

__attribute__((unused)) static void refuse_all(const struct subject *subjects, size_t n)
{
    int breaches = 0;
    for (size_t i = 0; i < n; i++) {
        struct act a = {.subject = &subjects[i]};
        if (a.subject->by_memory)
            a.n_files = read_folder(a.subject->path, &a.files);
        if (a.subject->cache >= KEEPS_HEAD) {
            breaches += refuse_each(&a, "head", act_head);
            continue;
        }
        breaches += refuse_each(&a, "open", act_open);
        if (!a.subject->by_memory && a.subject->cache != EMPTY_CACHE)
            breaches += use_each(&a);
        if (a.subject->cache == FULL_CACHE)
            breaches += refuse_each(&a, "walk", act_walk);
        free_folder(a.files, a.n_files);
    }
    assert_int_equal(breaches, 0);
}

/* A program: its models in braces. */
#define OUT_OF_MEMORY(...)                                                                                   \
    static void every_refusal_is_clean(void **state)                                                         \
    {                                                                                                        \
        static const struct subject subjects[] = {__VA_ARGS__};                                              \
        (void)state;                                                                                         \
        refuse_all(subjects, sizeof subjects / sizeof *subjects);                                            \
    }                                                                                                        \
    int main(void)                                                                                           \
    {                                                                                                        \
        json_set_alloc_funcs(malloc, free);                                                                  \
        const struct CMUnitTest tests[] = {cmocka_unit_test(every_refusal_is_clean)};                        \
        return MAIN(tests);                                                                                  \
    }

#endif
