/* SPDX-License-Identifier: Apache-2.0 */
/* test_ranges.c: ranges are the largest values that taps hear, at the place where they were first, for any
 * threads, chunk and level; a value that is planted is found; and what is said to change with a residual
 * scale does, in models that carat_convert scales, while all else stays. Other members than Gemma 3 and 4 E
 * lie in CARAT_SHARED. */
#include "carat_convert.h"
#include "engine/engine.h"

#include <carat_quality.h>
#include <math.h>
#include <unistd.h>

#include "engine/vector_util.h"

#define TINY  CT_TEST_DATA "/../../models/tiny"
#define TINY4 CT_TEST_DATA "/../fixtures/tiny4"

enum { N = 24, MOST = 1024 };

/* Ranges, or what a tap heard, in the order of a pass. */
struct list {
    struct entry {
        char operation[24], weight[32];
        int layer, residual, position, column;
        float peak;
    } at[MOST];
    int n;
};

static void add_range(void *user, const carat_range *r)
{
    struct list *l = user;
    struct entry *e = &l->at[l->n++];

    assert_true(l->n < MOST);
    assert_int_equal(r->size, sizeof *r);
    memset(e, 0, sizeof *e);
    snprintf(e->operation, sizeof e->operation, "%s", r->operation);
    snprintf(e->weight, sizeof e->weight, "%s", r->weight);
    e->layer = r->layer;
    e->residual = r->residual;
    e->position = r->position;
    e->column = r->column;
    e->peak = r->peak;
}

/* Every output of an operation anew; logits come a row at a time. */
static void add_tap(void *user, const carat_tap *tap)
{
    struct list *l = user;
    const bool more = l->n && strcmp(tap->operation, "project_logits") == 0 &&
                      strcmp(l->at[l->n - 1].operation, "project_logits") == 0;
    struct entry *e = &l->at[more ? l->n - 1 : l->n++];

    assert_true(l->n < MOST);
    if (!more) {
        memset(e, 0, sizeof *e);
        e->peak = -1;
        e->layer = tap->layer;
        snprintf(e->operation, sizeof e->operation, "%s", tap->operation);
    }
    for (int row = 0; row < tap->rows; row++)
        for (int k = 0; k < tap->width; k++)
            if (fabsf(tap->values[row * tap->width + k]) > e->peak) {
                e->peak = fabsf(tap->values[row * tap->width + k]);
                e->position = tap->positions[row];
                e->column = k;
            }
}

struct way {
    int threads, chunk, exact, first, layers, wants;
    const char *isa;
};

/* taps: its values, too, of a pass that leaves no row out. */
static float run(const carat_model *model, const struct way *w, carat_tap_callback tap, void *user,
                 struct list *list)
{
    static float logits[N * 4096];
    carat_engine_options o = small_engine();
    struct ids ids = scattered_ids(N, model_info(model).n_vocab, 5);
    carat_session *session;
    carat_engine *engine;
    carat_ranges *ranges;

    o.threads = w->threads ? w->threads : 1;
    o.chunk = w->chunk;
    o.exact = w->exact;
    o.isa = w->isa;
    o.first_layer = w->first;
    o.layers = w->layers;
    OK(carat_engine_create(&engine, model, &o, err));
    OK(carat_session_create(&session, engine, NULL, err));
    OK(carat_ranges_begin(&ranges, engine, err));
    if (tap)
        OK(carat_tap_begin(engine, tap, user, err)); /* heard before the ranges */
    assert_true(model_info(model).n_vocab <= 4096);
    carat_row row = {.session = session, .tokens = ids.id, .n = N, .wants = w->wants};
    row.logits = w->wants == CARAT_WANTS_ALL ? logits : NULL;
    OK(carat_step(engine, &row, sizeof row, 1, err));
    list->n = 0;
    OK(carat_ranges_visit(ranges, add_range, list, err));
    const float scale = carat_ranges_scale(ranges);
    carat_ranges_end(ranges);
    carat_session_close(session);
    carat_engine_close(engine);
    free(ids.id);
    return scale;
}

static carat_model *open_path(const char *path)
{
    carat_model *m = NULL;

    OK(carat_model_open(&m, path, NULL, err));
    return m;
}

/* A model of CARAT_SHARED; NULL: there is none. */
static carat_model *open_shared(const char *name)
{
    char path[PATH_SIZE];
    const char *shared = getenv("CARAT_SHARED");

    if (!shared || !*shared)
        return NULL;
    snprintf(path, sizeof path, "%s/family/models/%s", shared, name);
    if (access(path, F_OK) != 0)
        snprintf(path, sizeof path, "%s/../family/models/%s", shared, name);
    return open_path(path);
}

static void compare_with_taps(carat_model *m)
{
    static struct list heard, found;

    heard.n = 0;
    run(m, &(struct way){.chunk = N, .wants = CARAT_WANTS_ALL}, add_tap, &heard, &found);
    assert_true(found.n > 30);
    assert_int_equal(found.n, heard.n);
    for (int i = 0; i < found.n; i++) {
        const struct entry *a = &found.at[i], *b = &heard.at[i];
        const bool matches = strcmp(a->operation, "altup_match") == 0; /* a tap takes it for a layer's */
        assert_string_equal(a->operation, b->operation);
        if ((a->layer != b->layer && !matches) || a->peak != b->peak || a->position != b->position ||
            a->column != b->column)
            fail_msg("%s %s of layer %d: %.9g at %d, %d, but %.9g at %d, %d of layer %d", a->operation,
                     a->weight, a->layer, (double)a->peak, a->position, a->column, (double)b->peak,
                     b->position, b->column, b->layer);
    }
    carat_model_close(m);
}

static void ranges_are_those_of_taps(void **state)
{
    (void)state;
    compare_with_taps(open_path(TINY));
    compare_with_taps(open_path(TINY4));
}

static void ranges_of_other_members_are_too(void **state)
{
    static const char *const names[] = {"g3n", "g4-moe", "g4-dense"};

    (void)state;
    for (size_t i = 0; i < CT_COUNT(names); i++) {
        carat_model *m = open_shared(names[i]);
        if (!m)
            skip();
        compare_with_taps(m);
    }
}

static void threads_and_chunks_change_nothing(void **state)
{
    static const struct way ways[] = {
        {.threads = 1, .chunk = 1}, {.threads = 3, .chunk = 5},  {.threads = 2, .chunk = 7, .isa = "ref"},
        {.threads = 2, .chunk = N}, {.threads = 1, .chunk = 16},
    };
    static struct list first, other, none;
    carat_model *m[2] = {open_path(TINY), open_path(TINY4)};

    (void)state;
    for (size_t k = 0; k < CT_COUNT(m); k++) {
        run(m[k], &(struct way){0}, NULL, NULL, &first);
        for (size_t i = 0; i < CT_COUNT(ways); i++) {
            run(m[k], &ways[i], NULL, NULL, &other);
            assert_int_equal(other.n, first.n);
            assert_memory_equal(first.at, other.at, (size_t)first.n * sizeof *first.at);
        }
        /* who wants no logits hears of all but them */
        run(m[k], &(struct way){.wants = CARAT_WANTS_NONE}, NULL, NULL, &none);
        assert_int_equal(none.n, first.n - 1);
        assert_memory_equal(first.at, none.at, (size_t)none.n * sizeof *none.at);
        carat_model_close(m[k]);
    }
}

static void plant(void *user, const carat_tap *tap)
{
    (void)user;
    for (int row = 0; row < tap->rows && strcmp(tap->name, "layer.3.attn") == 0; row++)
        if (tap->positions[row] == 17)
            tap->values[row * tap->width + 29] = tap->values[row * tap->width + 30] = -12345;
}

static void what_is_planted_is_found(void **state)
{
    static struct list l;
    carat_model *m = open_path(TINY);
    int found = 0;

    (void)state;
    for (int chunk = 1; chunk <= N; chunk += 11) {
        run(m, &(struct way){.chunk = chunk, .first = 2, .layers = 3}, plant, NULL, &l);
        for (int i = 0; i < l.n; i++)
            if (l.at[i].peak == 12345) {
                found++;
                assert_string_equal(l.at[i].weight, "attn_output");
                assert_string_equal(l.at[i].operation, "project");
                assert_int_equal(l.at[i].layer, 3);
                assert_int_equal(l.at[i].position, 17);
                assert_int_equal(l.at[i].column, 29);
                assert_false(l.at[i].residual);
            }
    }
    assert_int_equal(found, 3);
    carat_model_close(m);
}

/* Ranges before and behind a residual scale: what is said to change does, by that, and what is not does not.
 */
static void compare_scaled(carat_model *m, float scale, double near)
{
    static struct list before, after;
    static const struct way way = {.exact = 1, .wants = CARAT_WANTS_ALL};
    const char *const path = "scaled.gguf";
    carat_convert_options o;
    float peak = 0, expected = 1;
    int n = 0;

    carat_convert_options_default(&o);
    o.residual_scale = scale;
    o.type = "f32";
    OK(carat_convert(m, path, &o, err));
    run(m, &way, NULL, NULL, &before);
    carat_model_close(m);
    m = open_path(path);
    const float found = run(m, &way, NULL, NULL, &after);
    carat_model_close(m);
    remove(path);
    assert_int_equal(before.n, after.n);
    for (int i = 0; i < before.n; i++) {
        const struct entry *a = &before.at[i], *b = &after.at[i];
        const double ratio = (double)b->peak / (double)a->peak / (a->residual ? (double)scale : 1);
        assert_string_equal(a->operation, b->operation);
        assert_int_equal(a->residual, b->residual);
        if (!(fabs(ratio - 1) <= near))
            fail_msg("%s %s of layer %d: %g became %g, and residual is %d", a->operation, a->weight, a->layer,
                     (double)a->peak, (double)b->peak, a->residual);
        n += a->residual;
        if (b->residual)
            peak = fmaxf(peak, b->peak);
    }
    assert_true(n > 10 && n < before.n - 50);
    while (peak * expected > 50000)
        expected /= 2;
    assert_true(found == expected);
    assert_true((scale > 1000) == (found < 1));
}

static void a_residual_scale_multiplies_what_is_said(void **state)
{
    (void)state;
    compare_scaled(open_path(TINY), 0.5f, 1e-4);
    compare_scaled(open_path(TINY), 16384, 1e-4);
    compare_scaled(open_path(TINY4), 0.5f, 1e-2);
    compare_scaled(open_path(TINY4), 65536, 1e-2);
}

static void so_it_does_in_other_members(void **state)
{
    static const char *const names[] = {"g3n", "g4-moe", "g4-dense"};

    (void)state;
    for (size_t i = 0; i < CT_COUNT(names); i++) {
        carat_model *m = open_shared(names[i]);
        if (!m)
            skip();
        compare_scaled(m, 0.5f, 1e-2);
    }
}

static void arguments_are_checked(void **state)
{
    carat_engine_options o = small_engine();
    carat_ranges *ranges = NULL;
    carat_engine *engine;
    carat_model *m = open_path(TINY);

    (void)state;
    OK(carat_engine_create(&engine, m, &o, err));
    FAILS(CARAT_E_ARGUMENT, carat_ranges_begin(NULL, engine, err));
    FAILS(CARAT_E_ARGUMENT, carat_ranges_begin(&ranges, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_ranges_visit(NULL, add_range, NULL, err));
    OK(carat_ranges_begin(&ranges, engine, err));
    FAILS(CARAT_E_ARGUMENT, carat_ranges_visit(ranges, NULL, NULL, err));
    assert_true(carat_ranges_scale(ranges) == 1 && carat_ranges_scale(NULL) == 1);
    carat_ranges_end(ranges);
    carat_ranges_end(NULL);
    carat_engine_close(engine);
    carat_model_close(m);
    if (!(m = open_shared("embed1")))
        return;
    OK(carat_engine_create(&engine, m, &o, err));
    FAILS(CARAT_E_UNSUPPORTED, carat_ranges_begin(&ranges, engine, err));
    carat_engine_close(engine);
    carat_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_are_those_of_taps),
        cmocka_unit_test(ranges_of_other_members_are_too),
        cmocka_unit_test(threads_and_chunks_change_nothing),
        cmocka_unit_test(what_is_planted_is_found),
        cmocka_unit_test(a_residual_scale_multiplies_what_is_said),
        cmocka_unit_test(so_it_does_in_other_members),
        cmocka_unit_test(arguments_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
