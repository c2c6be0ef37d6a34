/* SPDX-License-Identifier: Apache-2.0 */
/* test_ple.c: rows of the table of layer inputs out of a file: each token's own bytes whatever is kept, also
 * with hardly more room than a pass has rows, and what a cut or exchanged file does. That logits are the same
 * with the table in memory is seen here, too. What is computed with rows: test_reference.c of the engine. */
#include "os/scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "carat.h"
#include "carat_tools.h"
#include "model/ple.h"

#define FIXTURE CT_TEST_DATA "/vectors/models/gemma4-e"

enum { ROWS = 4, PASSES = 300, PATH_SIZE = 512, MOST_BYTES = 1 << 20 };

struct open {
    struct ct_file *f;
    struct ct_config c;
    struct ct_weights w;
    struct ct_arena arena;
    struct ct_backend b;
    void *host[8];
    int n_host;
};

/* A backend that only has memory. */
static struct open *opened;

static void *take(struct ct_backend *b, size_t bytes)
{
    (void)b;
    assert_true(opened->n_host < (int)CT_COUNT(opened->host));
    return opened->host[opened->n_host++] = calloc(1, bytes + 1);
}

static void open_at(struct open *o, const char *path)
{
    carat_error err;

    *o = (struct open){.b = {.verb = {.alloc_host = take}}};
    opened = o;
    assert_int_equal(ct_file_open(&o->f, path, false, &err), CARAT_OK);
    assert_int_equal(ct_config_read(&o->c, o->f, &err), CARAT_OK);
    assert_int_equal(ct_weights_bind(&o->w, &o->c, o->f, &o->arena, &err), CARAT_OK);
}

static void close_it(struct open *o)
{
    for (int i = 0; i < o->n_host; i++)
        free(o->host[i]);
    ct_arena_free(&o->arena);
    ct_file_close(o->f);
}

static char *in_scratch(char path[PATH_SIZE], const char *name)
{
    snprintf(path, PATH_SIZE, "%s/%s", scratch, name);
    return path;
}

static void copy_file(const char *name, const char *from)
{
    char path[PATH_SIZE];
    FILE *f = fopen(from, "rb");
    char *bytes = malloc(MOST_BYTES);

    assert_non_null(f);
    assert_non_null(bytes);
    const size_t n = fread(bytes, 1, MOST_BYTES, f);
    assert_true(n > 0 && n < MOST_BYTES);
    fclose(f);
    write_file(in_scratch(path, name), bytes, n);
    free(bytes);
}

/* A copy of the fixture that may be cut and exchanged. */
static const char *copied(char path[PATH_SIZE])
{
    copy_file("model/config.json", FIXTURE "/config.json");
    copy_file("model/model.safetensors", FIXTURE "/model.safetensors");
    return in_scratch(path, "model");
}

static void expect_rows(const struct open *o, const struct ct_ple *p, const int32_t *token, int n)
{
    const struct ct_weight *t = &o->w.ple;

    for (int i = 0; i < n; i++) {
        const int right = token[i] < t->rows ? token[i] : 0;
        assert_memory_equal((const uint8_t *)p->table.data + (size_t)p->row[i] * t->row_bytes,
                            (const uint8_t *)t->data + (size_t)right * t->row_bytes, t->row_bytes);
    }
}

static void rows_are_those_of_the_table(void **state)
{
    static const int slots[] = {0, ROWS + 1, ROWS + 3, 100, 601};
    (void)state;

    for (size_t s = 0; s < CT_COUNT(slots); s++) {
        struct open o;
        struct ct_ple p;
        carat_error err;
        uint32_t x = 12345;
        open_at(&o, FIXTURE);
        ct_ple_init(&p, &o.b, &o.w.ple, ROWS, slots[s]);
        assert_int_equal(ct_ple_open(&p, o.f, &o.w.ple, &err), CARAT_OK);
        for (int pass = 0; pass < PASSES; pass++) {
            int32_t token[ROWS];
            const int n = 1 + pass % ROWS;
            for (int i = 0; i < n; i++) {
                x = x * 1664525 + 1013904223;
                token[i] = i && pass % 3 == 0 ? token[0] : (int32_t)(x >> 20) % (pass % 2 ? 9 : 700);
            }
            ct_ple_ask(&p, &(struct ct_rows){.n = n, .token = token});
            ct_ple_await(&p);
            assert_int_equal(p.error.code, CARAT_OK);
            expect_rows(&o, &p, token, n);
        }
        ct_ple_close(&p);
        close_it(&o);
    }
}

/* Whatever the order of the tokens, the file is read from front to back. */
static void rows_are_asked_for_in_order(void **state)
{
    enum { MANY = 200 };
    static int32_t token[MANY];
    struct open o;
    struct ct_ple p;
    carat_error err;
    uint32_t x = 777;
    (void)state;

    open_at(&o, FIXTURE);
    ct_ple_init(&p, &o.b, &o.w.ple, MANY, MANY + 1);
    assert_int_equal(ct_ple_open(&p, o.f, &o.w.ple, &err), CARAT_OK);
    for (int n = 1; n <= MANY; n += 1 + n / 9) {
        bool wanted[600] = {0};
        for (int i = 0; i < n; i++) {
            x = x * 1664525 + 1013904223;
            token[i] = (int32_t)(x >> 8) % 600;
            wanted[token[i]] = true;
        }
        ct_ple_ask(&p, &(struct ct_rows){.n = n, .token = token});
        assert_true(p.n_missing > 0);
        for (int i = 0; i < p.n_missing; i++)
            assert_true(wanted[p.missing[i]] && (i == 0 || p.missing[i] > p.missing[i - 1]));
        ct_ple_await(&p);
        assert_int_equal(p.error.code, CARAT_OK);
        expect_rows(&o, &p, token, n);
    }
    ct_ple_close(&p);
    close_it(&o);
}

/* What is kept is not read again: a file that has lost its rows does no harm to those. */
static void kept_rows_are_not_read(void **state)
{
    const int32_t kept[ROWS] = {7, 8, 9, 599}, lost[ROWS] = {7, 300, 9, 599};
    char path[PATH_SIZE], file[PATH_SIZE];
    struct open o;
    struct ct_ple p;
    carat_error err;
    (void)state;

    open_at(&o, copied(path));
    ct_ple_init(&p, &o.b, &o.w.ple, ROWS, 20);
    assert_int_equal(ct_ple_open(&p, o.f, &o.w.ple, &err), CARAT_OK);
    ct_ple_ask(&p, &(struct ct_rows){.n = ROWS, .token = kept});
    ct_ple_await(&p);
    assert_int_equal(p.error.code, CARAT_OK);
    assert_int_equal(truncate(in_scratch(file, "model/model.safetensors"), 1000), 0);
    ct_ple_ask(&p, &(struct ct_rows){.n = ROWS, .token = kept});
    ct_ple_await(&p);
    assert_int_equal(p.error.code, CARAT_OK);
    for (int again = 0; again < 2; again++) { /* a row that failed is asked for again */
        ct_ple_ask(&p, &(struct ct_rows){.n = ROWS, .token = lost});
        ct_ple_await(&p);
        assert_int_equal(p.error.code, CARAT_E_IO);
        assert_non_null(
            strstr(p.error.message, "model.safetensors: row 300 of the table of layer inputs, at byte "));
        assert_non_null(strstr(p.error.message, "cannot be read: the file ends before it"));
    }
    ct_ple_close(&p);
    close_it(&o);
}

static void another_file_is_refused(void **state)
{
    char path[PATH_SIZE], file[PATH_SIZE], other[PATH_SIZE];
    struct open o;
    struct ct_ple p;
    carat_error err;
    (void)state;

    open_at(&o, copied(path));
    copy_file("model/other", in_scratch(file, "model/model.safetensors"));
    assert_int_equal(rename(in_scratch(other, "model/other"), file), 0);
    ct_ple_init(&p, &o.b, &o.w.ple, ROWS, 20);
    assert_int_equal(ct_ple_open(&p, o.f, &o.w.ple, &err), CARAT_E_IO);
    assert_non_null(strstr(err.message, "another file has taken its name since the model was opened"));
    assert_int_equal(remove(file), 0);
    assert_int_equal(ct_ple_open(&p, o.f, &o.w.ple, &err), CARAT_E_IO);
    ct_ple_close(&p);
    close_it(&o);
}

/* Logits of a prompt by an engine that has the table on the disk, or in memory. */
static void logits_with(float *logits, int resident)
{
    static const int32_t ids[] = {2, 222, 270, 303, 308, 225, 538};
    carat_model *m;
    carat_engine *e;
    carat_session *s;
    carat_error err;
    carat_plan plan = {.size = sizeof plan};
    carat_engine_options o;

    carat_engine_options_default(&o);
    o.threads = 1;
    o.context = 64;
    o.ple_resident = resident;
    assert_int_equal(carat_model_open(&m, FIXTURE, NULL, &err), CARAT_OK);
    assert_int_equal(carat_plan_engine(m, &o, &plan, &err), CARAT_OK);
    assert_int_equal(plan.disk_bytes, resident ? 0 : 600 * 64 * 2);
    assert_int_equal(carat_engine_create(&e, m, &o, &err), CARAT_OK);
    assert_int_equal(carat_session_create(&s, e, NULL, &err), CARAT_OK);
    assert_int_equal(carat_sync(s, ids, (int)CT_COUNT(ids), NULL, &err), CARAT_OK);
    memcpy(logits, carat_logits(s), 600 * sizeof *logits);
    carat_session_close(s);
    carat_engine_close(e);
    carat_model_close(m);
}

static void logits_do_not_tell_where_it_lies(void **state)
{
    static float disk[600], memory[600];
    (void)state;

    logits_with(disk, 0);
    logits_with(memory, 1);
    assert_memory_equal(disk, memory, sizeof disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_those_of_the_table),      cmocka_unit_test(rows_are_asked_for_in_order),
        cmocka_unit_test(kept_rows_are_not_read),           cmocka_unit_test(another_file_is_refused),
        cmocka_unit_test(logits_do_not_tell_where_it_lies),
    };
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}
