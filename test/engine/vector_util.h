/* SPDX-License-Identifier: Apache-2.0 */
/* vector_util.h: what the tests of room api share: reading golden vectors (JSON, NumPy files, folders), and
 * opening a model with an engine and sessions in one line. All functions are static and end the running test
 * when something they need is missing; comparing is left to the tests. */
#ifndef CT_TEST_VECTOR_UTIL_H
#define CT_TEST_VECTOR_UTIL_H

#include <carat_tools.h>
#include <dirent.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka.h needs the four headers above it. */
#include <cmocka.h>

#define UNUSED    __attribute__((unused))
#define PATH_SIZE 4096

/* 1 in a build with a sanitizer that watches memory. */
#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HAS_FEATURE(address_sanitizer) ||       \
    HAS_FEATURE(thread_sanitizer) || HAS_FEATURE(memory_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* ---- files ---- */

UNUSED static const char *path_join(char out[PATH_SIZE], const char *dir, const char *name)
{
    if (snprintf(out, PATH_SIZE, "%s/%s", dir, name) >= PATH_SIZE)
        fail_msg("path too long: %s/%s", dir, name);
    return out;
}

/* NULL when there is no such file; a broken one ends the test. */
UNUSED static json_t *read_json(const char *dir, const char *name)
{
    char path[PATH_SIZE];
    FILE *f = fopen(path_join(path, dir, name), "rb");
    if (!f)
        return NULL;
    json_error_t e;
    json_t *j = json_loadf(f, 0, &e);
    fclose(f);
    if (!j)
        fail_msg("%s: %s", path, e.text);
    return j;
}

struct ids {
    int32_t *id; /* [n] */
    int n;
};

UNUSED static struct ids json_ids(const json_t *array)
{
    struct ids r = {NULL, (int)json_array_size(array)};
    r.id = calloc((size_t)r.n + 1, sizeof *r.id);
    for (int i = 0; i < r.n; i++)
        r.id[i] = (int32_t)json_integer_value(json_array_get(array, (size_t)i));
    return r;
}

/* A NumPy file of float32, C order, one or two dimensions; one dimension counts as one row. */
struct array {
    float *v; /* [rows][cols] */
    size_t rows, cols;
};

UNUSED static struct array read_npy(const char *dir, const char *name)
{
    char path[PATH_SIZE];
    unsigned char head[10];
    char text[1024] = "";
    FILE *f = fopen(path_join(path, dir, name), "rb");
    if (!f)
        fail_msg("%s: cannot open", path);
    assert_int_equal(fread(head, 1, sizeof head, f), sizeof head);
    assert_memory_equal(head, "\x93NUMPY\x01\x00", 8);
    size_t n = head[8] + 256u * head[9];
    assert_true(n < sizeof text);
    assert_int_equal(fread(text, 1, n, f), n);
    assert_non_null(strstr(text, "'<f4'"));
    assert_non_null(strstr(text, "'fortran_order': False"));
    const char *shape = strstr(text, "'shape': (");
    assert_non_null(shape);
    struct array a = {NULL, 1, 1};
    int dims = sscanf(shape, "'shape': (%zu, %zu)", &a.rows, &a.cols);
    if (dims == 1) {
        a.cols = a.rows;
        a.rows = 1;
    }
    assert_true(dims >= 1 && a.rows > 0 && a.cols > 0 && a.rows < 100000 && a.cols < 10000000);
    a.v = malloc(a.rows * a.cols * sizeof *a.v);
    assert_int_equal(fread(a.v, sizeof *a.v, a.rows * a.cols, f), a.rows * a.cols);
    assert_int_equal(fgetc(f), EOF);
    fclose(f);
    return a;
}

UNUSED static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names in a folder, sorted; free each and the list. An absent folder has none. */
UNUSED static int list_folder(const char *dir, char ***names)
{
    int n = 0, capacity = 0;
    DIR *d = opendir(dir);
    *names = NULL;
    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (e->d_name[0] == '.')
            continue;
        if (n == capacity) {
            capacity = capacity ? 2 * capacity : 64;
            *names = realloc(*names, (size_t)capacity * sizeof **names);
        }
        size_t len = strlen(e->d_name) + 1;
        (*names)[n] = malloc(len);
        memcpy((*names)[n++], e->d_name, len);
    }
    closedir(d);
    if (n)
        qsort(*names, (size_t)n, sizeof **names, by_name);
    return n;
}

UNUSED static void free_names(char **names, int n)
{
    for (int i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

/* Root of all golden vectors: the committed ones, or the larger set where the environment names it (else
 * NULL). */
UNUSED static const char *own_vectors(void)
{
    return CT_TEST_DATA "/vectors";
}

UNUSED static const char *shared_vectors(char out[PATH_SIZE])
{
    const char *shared = getenv("CARAT_SHARED");
    if (!shared || !*shared)
        return NULL;
    /* The variable may name the folder of vectors or the one above it. */
    DIR *d = opendir(path_join(out, shared, "expect"));
    if (d) {
        closedir(d);
        return strcpy(out, shared);
    }
    path_join(out, shared, "vectors");
    d = opendir(out);
    if (!d)
        fail_msg("CARAT_SHARED is %s, but there are no vectors", shared);
    closedir(d);
    return out;
}

/* ---- carat ---- */

/* A call that must succeed; the message of the library is the message of the test. */
#define OK(call)                                                                                             \
    do {                                                                                                     \
        carat_error ok_err = {CARAT_OK, ""};                                                                 \
        carat_error *err = &ok_err;                                                                          \
        carat_status ok_status = (call);                                                                     \
        if (ok_status != CARAT_OK)                                                                           \
            fail_msg("%s: %s", carat_status_name(ok_status), err->message);                                  \
    } while (0)
/* The call, which has `err`, fails with that status and a message that says so. */
#define FAILS_WITH(call, status, text)                                                                       \
    do {                                                                                                     \
        carat_error err_ = {CARAT_OK, ""}, *err = &err_;                                                     \
        assert_int_equal(call, status);                                                                      \
        if (!strstr(err->message, text))                                                                     \
            fail_msg("'%s' does not say '%s'", err->message, text);                                          \
    } while (0)

#define MAX_SESSIONS 32

/* One model, one engine, its sessions. */
struct rig {
    carat_model *model; /* borrowed */
    carat_engine *engine;
    carat_session *session[MAX_SESSIONS];
    int n_session, n_vocab;
};

UNUSED static carat_model_info model_info(const carat_model *model)
{
    carat_model_info info = {.size = sizeof info};
    OK(carat_model_get_info(model, &info, err));
    return info;
}

UNUSED static struct rig rig_open(carat_model *model, const carat_engine_options *options)
{
    struct rig r = {.model = model, .n_session = options->sessions ? options->sessions : 1};
    assert_true(r.n_session <= MAX_SESSIONS);
    r.n_vocab = model_info(model).n_vocab;
    OK(carat_engine_create(&r.engine, model, options, err));
    for (int i = 0; i < r.n_session; i++)
        OK(carat_session_create(&r.session[i], r.engine, NULL, err));
    return r;
}

UNUSED static void rig_close(struct rig *r)
{
    for (int i = 0; i < r->n_session; i++)
        carat_session_close(r->session[i]);
    carat_engine_close(r->engine);
}

/* 1 when engines of this model can have kernels of that level on this machine. */
UNUSED static int has_isa(const carat_model *model, const char *isa)
{
    carat_engine_options o;
    carat_engine_options_default(&o);
    carat_plan plan = {.size = sizeof plan};
    o.isa = isa;
    /* it fails for a level of another architecture */
    return carat_plan_engine(model, &o, &plan, NULL) == CARAT_OK && strcmp(plan.isa, isa) == 0;
}

/* Ids that are the same on every machine and look like nothing in particular: 2, then from [3, n_vocab). */
UNUSED static struct ids scattered_ids(int n, int n_vocab, uint32_t seed)
{
    struct ids r = {malloc((size_t)n * sizeof *r.id), n};
    uint32_t x = seed * 2654435761u + 12345u;
    for (int i = 0; i < n; i++) {
        x = x * 1664525u + 1013904223u;
        r.id[i] = i == 0 ? 2 : 3 + (int32_t)((x >> 8) % (uint32_t)(n_vocab - 3));
    }
    return r;
}

/* ---- errors ---- */

UNUSED static void check_sentence(const char *message)
{
    assert_true(strlen(message) > 10);
    assert_null(strchr(message, '\n'));
}

/* A call that must fail with that status, a sentence, and no crash without an error object. */
#define FAILS(expected, call)                                                                                \
    do {                                                                                                     \
        carat_error fails_err = {CARAT_OK, ""}, *err = &fails_err;                                           \
        carat_status fails_status = (call);                                                                  \
        if (fails_status != (expected))                                                                      \
            fail_msg("%s gave %s (%s)", #call, carat_status_name(fails_status), fails_err.message);          \
        assert_int_equal(fails_err.code, (expected));                                                        \
        check_sentence(fails_err.message);                                                                   \
        err = NULL;                                                                                          \
        assert_int_equal((call), (expected));                                                                \
    } while (0)

UNUSED static carat_engine_options small_engine(void)
{
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = 1;
    o.context = 64;
    return o;
}

UNUSED static int stop_at_once(void *user, size_t done, size_t total)
{
    (void)done;
    (void)total;
    ++*(int *)user;
    return 1;
}

UNUSED static void *read_whole(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    *size = (size_t)ftell(f);
    rewind(f);
    void *data = malloc(*size + 1);
    assert_int_equal(fread(data, 1, *size, f), *size);
    fclose(f);
    return data;
}

#endif
