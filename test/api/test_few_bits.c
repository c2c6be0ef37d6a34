/* SPDX-License-Identifier: Apache-2.0 */
/* test_few_bits.c: what the library says of models that mix every type of few bits, dense and with experts:
 * verify passes their values and kernels; a packed copy in the cache has the same content and logits; in
 * exact arithmetic bisecting finds them the same as their values in F32, and a row that is damaged in one of
 * them where it is. Logits by themselves: test/engine/test_many_types.c. */
#include "engine/mixed_types.h"

#include <carat_quality.h>
#include <carat_tools.h>

enum { N_IDS = 24 };
static char *scratch;
static carat_error e;
#define OK(call)                                                                                             \
    do {                                                                                                     \
        if ((call) != CARAT_OK)                                                                              \
            fail_msg("%s", e.message);                                                                       \
    } while (0)

/* A model in a file of the test's directory. cache: through one there. */
static carat_model *open_written(struct gguf *g, const char *name, bool cache)
{
    char path[1024], directory[1024];
    carat_model_options o;
    carat_model *m = NULL;
    carat_model_options_default(&o);
    if (g) {
        struct buf b = gguf_bytes(g, NULL);
        write_file(scratch, name, b.p, b.n);
        buf_free(&b);
        gguf_done(g);
    }
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    snprintf(directory, sizeof directory, "%s/cache", scratch);
    o.cache = cache ? directory : NULL;
    OK(carat_model_open(&m, path, &o, &e));
    return m;
}

static carat_engine *engine_of(carat_model *m, bool exact)
{
    carat_engine_options o;
    carat_engine *engine = NULL;
    carat_engine_options_default(&o);
    o.threads = 2;
    o.context = 64;
    o.exact = exact;
    OK(carat_engine_create(&engine, m, &o, &e));
    return engine;
}

static void some_ids(int32_t id[N_IDS])
{
    for (int i = 0; i < N_IDS; i++)
        id[i] = i ? 3 + i * 89 % (PIECES - 3) : 2;
}

static void logits_of(carat_model *m, float logits[N_IDS][PIECES])
{
    carat_engine *engine = engine_of(m, false);
    carat_session *session = NULL;
    int32_t id[N_IDS];
    some_ids(id);
    OK(carat_session_create(&session, engine, NULL, &e));
    carat_row row = {.session = session, .tokens = id, .n = N_IDS, .logits = logits[0]};
    OK(carat_step(engine, &row, sizeof row, 1, &e));
    carat_session_close(session);
    carat_engine_close(engine);
}

struct said {
    bool values, kernels;
};

static int hear_check(void *user, const carat_check *c)
{
    struct said *s = user;
    s->values |= strcmp(c->name, "values") == 0 && c->verdict == 1;
    s->kernels |= strcmp(c->name, "kernels") == 0 && c->verdict == 1;
    return 0;
}

static carat_verdict verified(carat_model *m)
{
    struct said said = {false, false};
    carat_verify_options o;
    carat_verdict v = {.size = sizeof v};
    carat_verify_options_default(&o);
    o.report = hear_check;
    o.user = &said;
    OK(carat_verify(m, &o, &v, &e));
    assert_true(said.values && said.kernels);
    return v;
}

static void check_copies(void (*make)(struct gguf *g), size_t first)
{
    static float plain[N_IDS][PIECES], kept[N_IDS][PIECES];
    struct gguf g;
    make(&g);
    mixed_mix(&g, first);
    carat_model *m = open_written(&g, "mixed.gguf", false);
    const carat_verdict as_it_is = verified(m);
    logits_of(m, plain);
    carat_model_close(m);
    for (int turn = 0; turn < 2; turn++) { /* the first one writes the copy, the second one has it */
        m = open_written(NULL, "mixed.gguf", true);
        carat_model_info info = {.size = sizeof info};
        OK(carat_model_get_info(m, &info, &e));
        assert_true(*info.packed_path);
        if (turn) {
            const carat_verdict copied = verified(m);
            assert_string_equal(copied.content, as_it_is.content);
        }
        logits_of(m, kept);
        assert_memory_equal(plain, kept, sizeof plain);
        carat_model_close(m);
    }
}

static void copies_and_checks_know_the_types(void **state)
{
    (void)state;
    check_copies(mixed_dense, 0);
    check_copies(mixed_experts, 0);
}

/* The most that an operation is off by itself. */
static int hear_operation(void *user, const carat_operation_error *o)
{
    double *own = user;
    *own = CT_MAX(*own, o->own);
    return 0;
}

static carat_operation_error bisected(carat_model *ref, carat_model *test, bool exact, double *own)
{
    carat_engine *const of_ref = engine_of(ref, exact), *const of_test = engine_of(test, exact);
    carat_operation_error first = {.size = sizeof first};
    carat_bisect_options o;
    int32_t id[N_IDS];
    some_ids(id);
    carat_bisect_options_default(&o);
    o.on_operation = hear_operation;
    o.user = own;
    *own = 0;
    OK(carat_bisect(of_ref, of_test, id, N_IDS, &o, &first, &e));
    carat_engine_close(of_ref);
    carat_engine_close(of_test);
    return first;
}

static void bisecting_knows_the_types(void **state)
{
    void (*const make[])(struct gguf * g) = {mixed_dense, mixed_experts};
    (void)state;
    for (size_t i = 0; i < CT_COUNT(make); i++) {
        struct gguf g;
        double own;
        make[i](&g);
        mixed_mix(&g, i);
        carat_model *mixed = open_written(&g, "mixed.gguf", false);
        make[i](&g);
        mixed_mix(&g, i);
        mixed_decode(&g);
        carat_model *plain = open_written(&g, "plain.gguf", false);
        assert_true(!bisected(plain, mixed, true, &own).operation && own == 0);
        assert_true(!bisected(plain, mixed, false, &own).operation && own > 0);
        carat_model_close(mixed);
        carat_model_close(plain);
    }
}

/* Types and bytes are alike but for what is damaged, so that the limits are those of one type. */
static void damage_is_found(void **state)
{
    enum { ROW = 9 };
    (void)state;
    struct gguf g;
    double own;
    mixed_dense(&g);
    mixed_mix(&g, 0);
    carat_model *sound = open_written(&g, "sound.gguf", false);
    mixed_dense(&g);
    mixed_mix(&g, 0);
    struct gguf_tensor *t = gguf_find(&g, "blk.1.ffn_up.weight");
    const struct gguf_form form = gguf_form(t->type);
    assert_true(form.block > 1 && form.type != T_IQ1_M && form.type != T_NVFP4);
    for (size_t k = 0; k < t->dim[0] / form.block; k++) /* the sign of each factor of a row */
        t->data.p[(ROW * (t->dim[0] / form.block) + k) * form.bytes + form.at + 1] ^= 0x80;
    carat_model *ill = open_written(&g, "ill.gguf", false);
    const carat_operation_error first = bisected(sound, ill, false, &own);
    assert_non_null(first.operation);
    assert_string_equal(first.operation, "up");
    assert_int_equal(first.layer, 1);
    assert_int_equal(first.channel, ROW);
    carat_model_close(sound);
    carat_model_close(ill);
}

static int make_place(void **state)
{
    (void)state;
    scratch = temp_dir();
    return 0;
}

static int drop_place(void **state)
{
    (void)state;
    nftw(scratch, bad_unlink, 16, FTW_DEPTH | FTW_PHYS);
    free(scratch);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(copies_and_checks_know_the_types),
                                       cmocka_unit_test(bisecting_knows_the_types),
                                       cmocka_unit_test(damage_is_found)};
    return cmocka_run_group_tests_name("api: models of few bits", tests, make_place, drop_place);
}
