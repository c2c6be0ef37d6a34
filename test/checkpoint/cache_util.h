/* SPDX-License-Identifier: Apache-2.0 */
/* cache_util.h: what the tests of the cache share: a cache in a directory of the test, opening through it
 * with what was logged, and everything that can be asked of a model as one text. */
#ifndef CT_TEST_CACHE_UTIL_H
#define CT_TEST_CACHE_UTIL_H

#include "os/scratch.h"
#include "engine/vector_util.h"

#include <carat_generate.h>

#include <assert.h>
#include <fcntl.h>
#include <time.h>

/* ---- places ---- */

/* In memory nobody waits for a disk. Where no place has room, there is nothing to test. */
#define MAIN(tests)                                                                                          \
    (has_room(roomy("/dev/shm", "/tmp")) ? cmocka_run_group_tests(tests, make_cache_scratch, drop_scratch)   \
                                         : (puts("no disk here is free enough"), 0))
UNUSED static int make_cache_scratch(void **state)
{
    (void)state;
    return make_scratch_in(roomy("/dev/shm", "/tmp"));
}

UNUSED static const char *cache_dir(void)
{
    static char path[PATH_SIZE];
    return path_join(path, scratch, "cache");
}

/* Runs before each test. */
UNUSED static int fresh_cache(void **state)
{
    (void)state;
    nftw(cache_dir(), remove_one, 8, FTW_DEPTH | FTW_PHYS);
    return 0;
}

/* The names in the cache with that ending; *name: one of them. */
UNUSED static int count_files(const char *ending, char name[PATH_SIZE])
{
    char **names;
    int n = list_folder(cache_dir(), &names), found = 0;
    for (int i = 0; i < n; i++) {
        size_t length = strlen(names[i]), end = strlen(ending);
        if (length < end || strcmp(names[i] + length - end, ending) != 0)
            continue;
        found++;
        if (name)
            path_join(name, cache_dir(), names[i]);
    }
    free_names(names, n);
    return found;
}

UNUSED static void copy_file(const char *to, const char *from)
{
    size_t n;
    void *bytes = read_whole(from, &n);
    char path[PATH_SIZE];
    strcpy(path, to);
    write_file(path, bytes, n);
    free(bytes);
}

UNUSED static void copy_folder(const char *to, const char *from)
{
    char **names, a[PATH_SIZE], b[PATH_SIZE];
    int n = list_folder(from, &names);
    for (int i = 0; i < n; i++)
        copy_file(path_join(b, to, names[i]), path_join(a, from, names[i]));
    free_names(names, n);
}

/* ---- opening ---- */

struct lines {
    char text[4096];
};

/* Takes out the one line that has these words. */
UNUSED static void cut_line(struct lines *l, const char *words)
{
    char *at = strstr(l->text, words);
    if (!at)
        fail_msg("\"%s\" is not logged, but: %s", words, l->text);
    while (at > l->text && at[-1] != '\n')
        at--;
    char *end = strchr(at, '\n') + 1;
    memmove(at, end, strlen(end) + 1);
}

struct opened {
    carat_model *model;
    carat_status status;
    carat_error err;
    carat_load_times setup;
    struct lines lines;
};

UNUSED static void keep_line(void *user, const char *line)
{
    struct lines *l = &((struct opened *)user)->lines;
    size_t n = strlen(l->text);
    snprintf(l->text + n, sizeof l->text - n, "%s\n", line);
}

/* With the given options, and a log; it may fail. */
UNUSED static struct opened open_by(const char *path, carat_model_options options)
{
    struct opened o = {.setup = {.size = sizeof o.setup}};
    options.log = keep_line;
    options.user = &o;
    o.status = carat_model_open(&o.model, path, &options, &o.err);
    if (!o.status)
        OK(carat_model_get_load_times(o.model, &o.setup, err));
    return o;
}

UNUSED static struct opened open_with(const char *path, const char *cache)
{
    carat_model_options options;
    carat_model_options_default(&options);
    options.cache = cache;
    struct opened o = open_by(path, options);
    if (o.status)
        fail_msg("%s: %s", carat_status_name(o.status), o.err.message);
    return o;
}

UNUSED static void close_opened(struct opened *o)
{
    carat_model_close(o->model);
    o->model = NULL;
}

/* ---- facts ---- */

struct text {
    char *s;
    size_t n, capacity;
};

static void add(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *t, const char *format, ...)
{
    for (;;) {
        va_list args;
        va_start(args, format);
        int n = vsnprintf(t->s ? t->s + t->n : NULL, t->capacity - t->n, format, args);
        va_end(args);
        if ((size_t)n < t->capacity - t->n) {
            t->n += (size_t)n;
            return;
        }
        t->capacity = 2 * t->capacity + (size_t)n + 4096;
        t->s = realloc(t->s, t->capacity);
        assert_non_null(t->s);
    }
}

static void add_ids(struct text *t, const char *what, const int32_t *ids, int n)
{
    add(t, "%s:", what);
    for (int i = 0; i < n; i++)
        add(t, " %d", ids[i]);
    add(t, "\n");
}

static void add_info(struct text *t, const carat_model *model)
{
    carat_model_info m = model_info(model);
    carat_sampling s;
    carat_sampling_default(model, &s);
    const int32_t *stop;
    int n_stop = carat_stop_ids(model, &stop);

    add(t, "%d %s %s \"%s\" %d %d %d %d %d %d %d %d %d %d %d\n", m.kind, m.architecture, m.container, m.name,
        m.n_layer, m.hidden, m.ffn, m.n_head, m.n_kv_head, m.head_dim, m.n_vocab, m.n_text_vocab,
        m.max_context, m.sliding_window, m.n_local);
    add(t, "%a %a %a %a %a %a %a %a\n", m.rope_base, m.rope_base_local, m.rope_factor, m.attention_scale,
        m.embedding_scale, m.attention_cap, m.logit_cap, m.norm_eps);
    add(t, "%llu %zu %d %d %d %d %s %s %d\n", (unsigned long long)m.n_parameter, m.weight_bytes, m.tied,
        m.multimodal, m.has_tokenizer, m.has_chat_template, m.tokenizer, m.chat_template, m.bos);
    add(t, "sampling: %a %d %a %a %llu\n", (double)s.temperature, s.top_k, (double)s.top_p, (double)s.min_p,
        (unsigned long long)s.seed);
    add_ids(t, "stop", stop, n_stop);
    /* of a split file opened for its tokenizer, only the first part is looked at */
    for (int i = 0; m.kind == CARAT_GENERATOR && i < carat_model_tensor_count(model); i++) {
        carat_tensor_info x = {.size = sizeof x};
        OK(carat_model_get_tensor(model, i, &x, err));
        add(t, "%s %s %d: %lld %lld %lld %lld, %zu\n", x.name, x.type, x.n_dim, (long long)x.dim[0],
            (long long)x.dim[1], (long long)x.dim[2], (long long)x.dim[3], x.bytes);
    }
}

static void add_text(struct text *t, const carat_model *model)
{
    static const char sample[] =
        "Hello  world, 12345! \xc3\xa9\xf0\x9f\x98\x80<start_of_turn>user\n\tdef f(x): return x<eos>";
    static const carat_message talk[] = {{"user", "Hi <b>you</b>", NULL}, {"assistant", "Hello", NULL}};
    carat_tokens ids = {0};
    char *s = NULL;
    size_t n;

    if (model_info(model).has_tokenizer) {
        for (int flags = 0; flags < 4; flags++)
            OK(carat_tokenize(model, sample, sizeof sample - 1, flags, &ids, err));
        add_ids(t, "ids", ids.ids, ids.n);
        OK(carat_detokenize(model, ids.ids, ids.n, CARAT_SPECIAL, &s, &n, err));
        add(t, "text: %zu %s\n", n, s);
        carat_free(s);
        s = NULL;
    }
    if (model_info(model).has_tokenizer && model_info(model).has_chat_template) {
        ids.n = 0;
        OK(carat_render(model, talk, sizeof(carat_message), 1, NULL, &ids, &s, err));
        add(t, "prompt: %s\n", s);
        add_ids(t, "prompt", ids.ids, ids.n);
        carat_free(s);
    }
    carat_tokens_free(&ids);
}

static void add_logits(struct text *t, const carat_model *model, const carat_engine_options *options)
{
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    carat_error refusal;
    int n_vocab = model_info(model).n_vocab;

    carat_status status = carat_engine_create(&engine, model, options, &refusal);
    add(t, "exact %d kv %d isa %s: ", options->exact, (int)options->kv, options->isa ? options->isa : "-");
    if (status) {
        add(t, "%s\n", refusal.message);
        return;
    }
    OK(carat_session_create(&session, engine, NULL, err));
    struct ids ids = scattered_ids(24, n_vocab, 5);
    float *logits = malloc((size_t)ids.n * (size_t)n_vocab * sizeof *logits);
    carat_row row = {.session = session, .tokens = ids.id, .n = ids.n, .logits = logits};
    OK(carat_step(engine, &row, sizeof(carat_row), 1, err));
    OK(carat_append(session, ids.id, 1, err));
    uint64_t digest = 14695981039346656037u;
    for (size_t i = 0; i < (size_t)ids.n * (size_t)n_vocab; i++) {
        uint32_t bits;
        memcpy(&bits, &logits[i], sizeof bits);
        digest = (digest ^ bits) * 0x100000001b3u;
    }
    for (int i = 0; i < n_vocab; i++) {
        uint32_t bits;
        memcpy(&bits, &carat_logits(session)[i], sizeof bits);
        digest = (digest ^ bits) * 0x100000001b3u;
    }
    add(t, "%016llx\n", (unsigned long long)digest);
    free(logits);
    free(ids.id);
    carat_session_close(session);
    carat_engine_close(engine);
}

enum engines { ONE_ENGINE, ALL_ENGINES };

/* To be freed. */
UNUSED static char *facts_of(const carat_model *model, enum engines engines)
{
    static const struct {
        int exact;
        carat_kv kv;
        const char *isa;
    } ways[] = {
        {0, CARAT_KV_DEFAULT, NULL}, {1, CARAT_KV_DEFAULT, NULL}, {0, CARAT_KV_DEFAULT, "ref"},
        {0, CARAT_KV_F16, NULL},     {0, CARAT_KV_F32, NULL},     {0, CARAT_KV_Q8, NULL},
        {1, CARAT_KV_BF16, "ref"},
    };
    struct text t = {0};

    add_info(&t, model);
    add_text(&t, model);
    size_t n = model_info(model).kind != CARAT_GENERATOR ? 0
               : engines == ONE_ENGINE                   ? 1
               : SANITIZED                               ? 3 /* they take long */
                                                         : sizeof ways / sizeof *ways;
    for (size_t i = 0; i < n; i++) {
        carat_engine_options o = small_engine();
        o.exact = ways[i].exact;
        o.kv = ways[i].kv;
        o.isa = ways[i].isa;
        add_logits(&t, model, &o);
    }
    return t.s;
}

/* What one engine says is how what all of them say begins. */
UNUSED static void check_facts(const carat_model *model, enum engines engines, const char *expected)
{
    char *facts = facts_of(model, engines);
    if (engines == ONE_ENGINE)
        assert_memory_equal(facts, expected, strlen(facts));
    else
        assert_string_equal(facts, expected);
    free(facts);
}

/* ---- what an opening should do ---- */

enum how { MADE, MAPPED, PLAIN };

/* Opens path with and without the cache; words: of the one line that the cache has to say, or NULL. */
UNUSED static void opens(const char *path, enum how how, const char *words)
{
    struct opened plain = open_with(path, NULL), o = open_with(path, cache_dir());
    char *facts = facts_of(plain.model, ONE_ENGINE);

    if (words)
        cut_line(&o.lines, words);
    assert_string_equal(o.lines.text, plain.lines.text);
    assert_int_equal(o.setup.packed, how != PLAIN);
    assert_int_equal(o.setup.made, how == MADE);
    check_facts(o.model, ONE_ENGINE, facts);
    free(facts);
    close_opened(&plain);
    close_opened(&o);
    assert_int_equal(count_files(".part", NULL), 0);
}

UNUSED static const char in[] = "packed into the cache, ",
                         changed[] = "; the copy there was of a model that has changed since: ";

UNUSED static const char *model_file(void)
{
    static char path[PATH_SIZE];
    copy_file(path_join(path, scratch, "model.gguf"), CT_TEST_DATA "/vectors/gguf/q4_0.gguf");
    return path;
}

UNUSED static const char *model_folder(void)
{
    static char path[PATH_SIZE];
    path_join(path, scratch, "folder");
    nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    copy_folder(path, CT_TEST_DATA "/../../models/tiny");
    return path;
}

UNUSED static struct stat status_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st;
}

UNUSED static void set_back(const char *path, const struct stat *st)
{
    struct timespec times[2] = {st->st_atim, st->st_mtim};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Longer than the times of files stand still. */
UNUSED static void wait_a_tick(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
}

UNUSED static void flip(const char *path, size_t at, int bit)
{
    uint8_t byte;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, (off_t)at), 1);
    byte ^= (uint8_t)(1 << bit);
    assert_int_equal(pwrite(fd, &byte, 1, (off_t)at), 1);
    assert_int_equal(close(fd), 0);
}

UNUSED static carat_model_options cached(void)
{
    carat_model_options o;
    carat_model_options_default(&o);
    o.cache = cache_dir();
    return o;
}

/* Makes an engine with a pruned head and closes it. Whether the head came from the cache; -1: the engine was
 * refused. */
UNUSED static int pruned_engine(const carat_model *model, carat_progress progress)
{
    carat_engine *engine = NULL;
    carat_engine_options o = small_engine();
    carat_head_options head;
    carat_head_stats stats = {.size = sizeof stats};

    carat_head_options_default(&head);
    head.strategy = CARAT_HEAD_EXACT_PRUNED;
    o.head = &head;
    o.threads = 2;
    o.progress = progress;
    if (carat_engine_create(&engine, model, &o, NULL) != CARAT_OK)
        return -1;
    OK(carat_engine_get_head(engine, &stats, err));
    carat_engine_close(engine);
    return stats.from_cache;
}

UNUSED static bool exists(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0;
}

/* Small models with all that they need inside. */
UNUSED static const char *small(int i)
{
    static char path[4][PATH_SIZE];
    char name[16];
    snprintf(name, sizeof name, "small%d.sbs", i);
    path_join(path[i], scratch, name);
    if (!exists(path[i]))
        copy_file(path[i], CT_TEST_DATA "/sbs/g3-sfp.sbs");
    return path[i];
}

/* In the index, at the end. */
UNUSED static void damage(const char *packed)
{
    flip(packed, (size_t)status_of(packed).st_size - 10, 1);
}

#endif
