/* SPDX-License-Identifier: Apache-2.0 */
/* test_column_sums.c: importance is what hooks on transformers' layers and experts hear (test/data/convert,
 * made by tools/check_imatrix.py), bit for bit the same for all threads, chunks and levels and in every cut
 * into passes; and who listens changes no logit. */
#define _XOPEN_SOURCE 700 /* mkstemp */
#include <unistd.h>

#include "carat_convert.h"
#include "engine/vector_util.h"
#include "file/file.h"

enum { N = 96, IDS = 300 };

struct way {
    int threads, chunk, exact, cut; /* cut: a call for the first so many ids; 0: one call for all */
    const char *isa;
};

static carat_model *open_model(const char *name)
{
    carat_model *m = NULL;
    char path[PATH_SIZE];

    snprintf(path, sizeof path, CT_TEST_DATA "/%s", name);
    OK(carat_model_open(&m, path, NULL, err));
    return m;
}

/* What a pass over made-up ids gives; the importance goes to path, unless that is NULL. */
static float *measure(const carat_model *model, const struct way *w, const char *path)
{
    carat_engine_options o = small_engine();
    struct ids ids = scattered_ids(N, IDS, 5);
    const size_t n_vocab = (size_t)model_info(model).n_vocab;
    float *logits = malloc(n_vocab * sizeof *logits);
    carat_importance *importance = NULL;
    carat_session *session;
    carat_engine *engine;

    assert_non_null(logits);
    o.context = N;
    o.threads = w->threads ? w->threads : 1;
    o.chunk = w->chunk;
    o.exact = w->exact;
    o.isa = w->isa;
    OK(carat_engine_create(&engine, model, &o, err));
    OK(carat_session_create(&session, engine, NULL, err));
    if (path)
        OK(carat_importance_begin(&importance, engine, err));
    carat_row row = {.session = session, .tokens = ids.id, .n = w->cut, .wants = CARAT_WANTS_NONE};
    if (w->cut)
        OK(carat_step(engine, &row, sizeof row, 1, err));
    row = (carat_row){.session = session,
                      .tokens = ids.id + w->cut,
                      .n = N - w->cut,
                      .wants = CARAT_WANTS_LAST,
                      .logits = logits};
    OK(carat_step(engine, &row, sizeof row, 1, err));
    if (path)
        OK(carat_importance_write(importance, path, "ids", N, err));
    carat_importance_end(importance);
    carat_session_close(session);
    carat_engine_close(engine);
    free(ids.id);
    return logits;
}

static void temp_path(char path[64])
{
    snprintf(path, 64, "/tmp/carat-sums-XXXXXX");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
}

static struct ct_file *open_file(const char *path)
{
    struct ct_file *f = NULL;

    OK(ct_file_open(&f, path, false, err));
    return f;
}

static float value(const struct ct_tensor *t, size_t i)
{
    float v;

    memcpy(&v, t->data + i * sizeof v, sizeof v);
    return v;
}

static void check_tensor(const struct ct_tensor *found, const struct ct_tensor *wanted)
{
    const size_t n = wanted->size / sizeof(float);
    const bool counts = strstr(wanted->name, ".counts") != NULL;
    float most = 0;

    assert_int_equal(found->n_dim, wanted->n_dim);
    assert_int_equal(found->size, wanted->size);
    for (int d = 0; d < wanted->n_dim; d++)
        assert_int_equal(found->dim[d], wanted->dim[d]);
    for (size_t i = 0; i < n; i++)
        most = value(wanted, i) > most ? value(wanted, i) : most;
    for (size_t i = 0; i < n; i++) {
        const float off = value(found, i) - value(wanted, i);
        if ((off < 0 ? -off : off) > (counts ? 0 : most * 1e-4f))
            fail_msg("%s %zu: %.9g, expected %.9g", wanted->name, i, (double)value(found, i),
                     (double)value(wanted, i));
    }
}

static void sums_are_those_of_transformers(void **state)
{
    static const char *const names[] = {"gemma3n", "gemma4-moe"};
    char path[64], want[PATH_SIZE], model[PATH_SIZE];

    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        snprintf(model, sizeof model, "vectors/models/%s", names[k]);
        snprintf(want, sizeof want, CT_TEST_DATA "/convert/%s-sums.gguf", names[k]);
        carat_model *m = open_model(model);
        temp_path(path);
        free(measure(m, &(struct way){.exact = 1, .chunk = 40}, path));
        struct ct_file *found = open_file(path), *wanted = open_file(want);
        assert_int_equal(ct_file_tensor_count(found), ct_file_tensor_count(wanted));
        for (int i = 0; i < ct_file_tensor_count(wanted); i++) {
            const struct ct_tensor *t = ct_file_find(found, ct_file_tensor(wanted, i)->name);
            if (!t)
                fail_msg("%s is missing", ct_file_tensor(wanted, i)->name);
            check_tensor(t, ct_file_tensor(wanted, i));
        }
        ct_file_close(found);
        ct_file_close(wanted);
        carat_model_close(m);
        remove(path);
    }
}

static char *read_all(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *text = malloc(1 << 20);

    assert_non_null(f);
    assert_non_null(text);
    *n = fread(text, 1, 1 << 20, f);
    fclose(f);
    remove(path);
    return text;
}

static void nothing_changes_a_bit(void **state)
{
    static const struct way ways[] = {
        {.threads = 1, .chunk = 1}, {.threads = 3, .chunk = 5},  {.threads = 2, .chunk = 7, .isa = "ref"},
        {.threads = 2, .chunk = N}, {.threads = 1, .chunk = 33}, {.threads = 2, .chunk = 16, .cut = 29},
    };
    static const char *const names[] = {"vectors/models/gemma3n", "vectors/models/gemma4-moe",
                                        "../../models/tiny"};
    char path[64];
    size_t n, n_other;

    (void)state;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        carat_model *m = open_model(names[k]);
        const size_t bytes = (size_t)model_info(m).n_vocab * sizeof(float);
        for (int exact = 0; exact <= 1; exact++) {
            float *const plain = measure(m, &(struct way){.exact = exact}, NULL);
            temp_path(path);
            free(measure(m, &(struct way){.exact = exact}, path));
            char *const first = read_all(path, &n);
            for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                struct way w = ways[i];
                w.exact = exact;
                temp_path(path);
                float *const logits = measure(m, &w, path);
                char *const other = read_all(path, &n_other);
                assert_int_equal(n, n_other);
                if (memcmp(first, other, n) != 0)
                    fail_msg("%s: other bytes in way %zu", names[k], i);
                assert_memory_equal(plain, logits, bytes);
                free(other);
                free(logits);
            }
            free(first);
            free(plain);
        }
        carat_model_close(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_transformers),
        cmocka_unit_test(nothing_changes_a_bit),
    };
    return cmocka_run_group_tests_name("engine: importance", tests, NULL, NULL);
}
