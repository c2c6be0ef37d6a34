/* SPDX-License-Identifier: Apache-2.0 */
/* test_explain.c: the lines of an explanation, the level that each entry of the kernels comes from, and that
 * settings for passes that decode are used and change no bit. */
#include "engine/step_util.h"

#include "backend/cpu/cpu_backend.h"
#include "carat_generate.h"
#include "engine/session.h"

/* ---- lines ---- */

enum { MOST_LINES = 128 };
struct lines {
    int n, stop_at; /* -1: not at all */
    char key[MOST_LINES][64], value[MOST_LINES][1024];
};

static int take_line(void *user, const char *key, const char *value)
{
    struct lines *l = user;

    assert_true(l->n < MOST_LINES && strlen(key) < 64 && strlen(value) < 1024);
    for (int i = 0; i < l->n; i++)
        assert_string_not_equal(l->key[i], key);
    assert_int_equal(strspn(key, "abcdefghijklmnopqrstuvwxyz_.0123456789"), strlen(key));
    assert_true(*value && !strchr(value, '\n'));
    strcpy(l->key[l->n], key);
    strcpy(l->value[l->n], value);
    return l->n++ == l->stop_at;
}

static struct lines *explain(const carat_engine_options *o)
{
    static struct lines l;
    struct rig r = rig_open(model, o);

    l.n = 0;
    l.stop_at = -1;
    OK(carat_explain(r.engine, take_line, &l, err));
    rig_close(&r);
    return &l;
}

/* NULL: there is no such line. */
static const char *value_of(const struct lines *l, const char *key)
{
    for (int i = 0; i < l->n; i++)
        if (strcmp(l->key[i], key) == 0)
            return l->value[i];
    return NULL;
}

static void check_value(const struct lines *l, const char *key, const char *expected)
{
    const char *value = value_of(l, key);

    if (!value || strcmp(value, expected) != 0)
        fail_msg("%s is '%s', expected '%s'", key, value ? value : "absent", expected);
}

static void check_says(const struct lines *l, const char *key, const char *part)
{
    const char *value = value_of(l, key);

    if (!value || !strstr(value, part))
        fail_msg("%s is '%s', expected '%s' in it", key, value ? value : "absent", part);
}

static void of_plain_c(void **state)
{
    carat_engine_options o = options(2, 32, 512);
    carat_host_info host = {.size = sizeof host};

    (void)state;
    OK(carat_get_host(&host, err));
    o.isa = "ref";
    const struct lines *l = explain(&o);
    check_value(l, "numerics", "1");
    check_value(l, "drawing", "2");
    check_value(l, "level.asked", "ref");
    check_value(l, "level.found", host.isa);
    check_value(l, "level.used", "ref");
    check_value(l, "level.why", "it was asked for");
    for (int i = 0; i < l->n; i++)
        if (strncmp(l->key[i], "kernel.", 7) == 0)
            check_says(l, l->key[i], " of ref");
    check_says(l, "kernel.q", "F16 in rows, input f32: project of ref; kernels of this level read rows");
    check_says(l, "kernel.attention", "K and V in bf16: attend_block of ref");
    check_says(l, "kernel.draw", "draw of ref");
    check_value(l, "prefill.threads", "1");
    check_value(l, "prefill.chunk", "32");
    check_value(l, "prefill.isa", "ref");
    check_value(l, "decode.threads", "1");
    check_value(l, "decode.chunk", "32");
    check_value(l, "decode.isa", "ref");
    check_value(l, "context", "512");
    check_value(l, "sessions", "2");
    check_value(l, "kv", "bf16");
    check_says(l, "cache_file", "none: ");
    check_value(l, "snapshots", "none: no memory is given to them");
    check_says(l, "block.keys", "256");
    assert_null(value_of(l, "decode_level.used"));
    assert_null(value_of(l, "kernel.q.2"));
}

static void of_the_best_level(void **state)
{
    carat_engine_options o = options(1, 32, 512);
    carat_host_info host = {.size = sizeof host};

    (void)state;
    OK(carat_get_host(&host, err));
    o.snapshot_bytes = (size_t)1 << 30;
    o.kv = CARAT_KV_Q8;
    const struct lines *l = explain(&o);
    check_value(l, "level.asked", "none");
    check_value(l, "level.used", host.isa);
    check_value(l, "level.why", "the best one of this processor");
    check_says(l, "kernel.attention", "K and V in q8: attend_block_q8");
    check_says(l, "snapshots", "up to ");
    if (strcmp(host.isa, "ref") != 0)
        check_says(l, "kernel.q", "F16 in panels, input f32: project_panels");
}

/* ---- reasons ---- */

/* "avx2" of "norm of avx2; why"; out. */
static const char *level_of(char out[16], const char *value)
{
    char first[1024];

    snprintf(first, sizeof first, "%.*s", (int)strcspn(value, ";"), value);
    const char *of = strstr(first, " of ");
    for (const char *next; of && (next = strstr(of + 4, " of "));)
        of = next; /* behind "in 3 of 4 layers" */
    assert_non_null(of);
    snprintf(out, 16, "%s", of + 4);
    return out;
}

/* What the line of an operation says of its level, with a limit, where best is its line without one. */
static void check_reason(const char *value, const char *best, const char *found, const char *limit)
{
    char level[16], other[16], asked[64];
    bool is_best = strcmp(level_of(level, value), found) == 0;
    bool is_of_best = strcmp(level, level_of(other, best)) == 0;

    snprintf(asked, sizeof asked, "; at most %s was asked for", limit);
    if (!!strstr(value, asked) != (!is_best && !is_of_best) ||
        !!strstr(value, "; the levels above it have none of their own") != (!is_best && is_of_best))
        fail_msg("'%s' at most at %s, without it '%s', the best is %s", value, limit, best, found);
}

/* Every operation of both phases, at every level that can be asked for. */
static void of_every_level(void **state)
{
    static struct lines best;
    carat_host_info host = {.size = sizeof host};
    int kernels = 0;

    (void)state;
    OK(carat_get_host(&host, err));
    for (int mode = 0; mode < 4; mode++) {
        carat_engine_options o = options(1, 32, 512);
        o.exact = mode & 1;
        o.kv = mode & 2 ? CARAT_KV_Q8 : CARAT_KV_DEFAULT;
        best = *explain(&o);
        for (int i = 0; carat_isa_name(i); i++) {
            carat_engine *probe;
            o.isa = carat_isa_name(i);
            o.decode_isa = mode & 1 ? "ref" : NULL;
            if (carat_engine_create(&probe, model, &o, NULL) != CARAT_OK)
                continue; /* of another architecture */
            carat_engine_close(probe);
            const struct lines *l = explain(&o);
            for (int k = 0; k < l->n; k++) {
                bool decodes = strncmp(l->key[k], "decode_kernel.", 14) == 0;
                const char *key = l->key[k] + (decodes ? 7 : 0);
                if (strncmp(key, "kernel.", 7) != 0)
                    continue;
                check_reason(l->value[k], value_of(&best, key), host.isa, decodes ? o.decode_isa : o.isa);
                kernels++;
            }
        }
    }
    assert_true(kernels >= 4 * 18);
}

/* The lines of a model that lies in a file. */
static const struct lines *explain_file(const char *name, const carat_engine_options *o)
{
    char path[PATH_SIZE];
    carat_model *other, *own = model;

    OK(carat_model_open(&other, path_join(path, CT_TEST_DATA "/vectors/gguf", name), NULL, err));
    model = other;
    const struct lines *l = explain(o);
    model = own;
    carat_model_close(other);
    return l;
}

static void of_integers(void **state)
{
    carat_engine_options o = options(1, 32, 512);

    (void)state;
    assert_null(strstr(value_of(explain_file("q8_0.gguf", &o), "kernel.q"), ";"));
    o.exact = 1;
    const struct lines *l = explain_file("q8_0.gguf", &o);
    check_says(l, "arithmetic", "exact");
    check_says(l, "kernel.q", "Q8_0 in rows, input f32: project of ");
    check_says(l, "kernel.q", "; exact arithmetic reads rows");
    o.isa = "ref";
    l = explain_file("q8_0.gguf", &o);
    if (strcmp(value_of(l, "level.found"), "ref") != 0)
        check_value(l, "kernel.q",
                    "Q8_0 in rows, input f32: project of ref; exact arithmetic reads rows; "
                    "at most ref was asked for");
}

/* A router reads f32 in either arithmetic; experts are as their weights ask. */
static void of_experts(void **state)
{
    carat_engine_options o = options(1, 32, 512);

    (void)state;
    const struct lines *l = explain_file("../models/gemma4-moe", &o);
    check_says(l, "kernel.router", "BF16 in ");
    check_says(l, "kernel.router", ", input f32: ");
    check_says(l, "kernel.expert_gate", "BF16 in ");
    check_says(l, "kernel.expert_up", ", input bf16");
    check_says(l, "kernel.expert_down", ", input bf16");
    assert_null(value_of(l, "kernel.expert_gate.2"));
    assert_null(value_of(explain_file("q8_0.gguf", &o), "kernel.expert_gate"));
}

/* An operation whose weights are of several types has a line for each. */
static void of_mixed_types(void **state)
{
    static struct lines l = {.stop_at = -1};
    carat_engine_options o = options(1, 32, 512);
    struct rig r = rig_open(model, &o);
    struct ct_layer *layer = r.engine->weights.layer;
    int n = r.engine->config.n_layer;
    char of[32];

    (void)state;
    assert_true(n > 2);
    layer[1].down.type = CT_Q8_0; /* no pass runs on it */
    layer[2].k.data = NULL;
    OK(carat_explain(r.engine, take_line, &l, err));
    rig_close(&r);
    snprintf(of, sizeof of, " in %d of %d layers, ", n - 1, n);
    check_says(&l, "kernel.down", "F16 in ");
    check_says(&l, "kernel.down", of);
    check_says(&l, "kernel.k", of);
    assert_null(value_of(&l, "kernel.k.2"));
    assert_null(strstr(value_of(&l, "kernel.up"), " layers"));
    snprintf(of, sizeof of, " in 1 of %d layers, ", n);
    check_says(&l, "kernel.down.2", "Q8_0 in ");
    check_says(&l, "kernel.down.2", of);
    assert_null(value_of(&l, "kernel.down.3"));
}

static void the_caller_may_end_it(void **state)
{
    carat_engine_options o = options(1, 32, 512);
    struct rig r = rig_open(model, &o);
    struct lines l = {.stop_at = 2};

    (void)state;
    assert_int_equal(carat_explain(r.engine, take_line, &l, NULL), CARAT_E_CANCELLED);
    assert_int_equal(l.n, 3);
    FAILS(CARAT_E_ARGUMENT, carat_explain(NULL, take_line, &l, err));
    FAILS(CARAT_E_ARGUMENT, carat_explain(r.engine, NULL, &l, err));
    rig_close(&r);
}

/* ---- phases ---- */

static void phases_have_their_own(void **state)
{
    carat_engine_options o = options(1, 32, 512);

    (void)state;
    o.threads = 3;
    o.decode_threads = 2;
    o.decode_chunk = 5;
    o.decode_isa = "ref";
    const struct lines *l = explain(&o);
    check_value(l, "prefill.threads", "3");
    check_value(l, "prefill.chunk", "32");
    check_value(l, "decode.threads", "2");
    check_value(l, "decode.chunk", "5");
    check_value(l, "decode.isa", "ref");
    if (strcmp(value_of(l, "level.found"), "ref") != 0) {
        check_value(l, "decode_level.used", "ref");
        check_says(l, "decode_kernel.down", " of ref");
        assert_null(strstr(value_of(l, "kernel.down"), " of ref"));
    }
}

/* A prompt, single tokens, a draft that is not needed, and tokens again after a rewind: the logits of each
 * are those of a fresh engine. */
static void check_bits(const carat_engine_options *o)
{
    struct rig r = rig_open(model, o);
    float *logits = malloc(200 * VOCAB * sizeof *logits);
    carat_row row = row_of(r.session[0], 200);

    row.logits = logits;
    OK(step(&r, &row, 1, err));
    for (int i = 0; i < 200; i++)
        assert_true(are_of(logits + (size_t)i * VOCAB, i));
    free(logits);
    for (int i = 200; i < 210; i++) {
        OK(carat_append(r.session[0], ids + i, 1, err));
        check_held(r.session[0], i + 1);
    }
    struct ct_row guessed = {.row = row_of(r.session[0], 8), .drafts = 7};
    OK(ct_evaluate(&guessed, false, err));
    check_held(r.session[0], 218);
    OK(carat_rewind(r.session[0], 30, err));
    check_goes_on(r.session[0], 31);
    carat_row two[] = {row_of(r.session[0], 1), row_of(r.session[1], 1)};
    OK(step(&r, two, 2, err));
    check_held(r.session[0], 32);
    check_held(r.session[1], 1);
    rig_close(&r);
}

static void no_setting_changes_a_bit(void **state)
{
    static const char *const isas[] = {NULL, "ref"};
    static const int threads[] = {1, 2, 3}, chunks[] = {0, 1, 3};

    (void)state;
    for (size_t p = 0; p < 2; p++)
        for (size_t d = 0; d < 2; d++)
            for (int t = 0; t < 3; t++) {
                carat_engine_options o = options(2, 64, MOST);
                o.isa = isas[p];
                o.decode_isa = isas[d];
                o.threads = threads[t];
                o.decode_threads = threads[(t + 1 + (int)d) % 3];
                o.decode_chunk = chunks[t];
                check_bits(&o);
            }
}

/* Each pass has the kernels, threads and rows of its phase. */
static void settings_are_used(void **state)
{
    carat_engine_options o = options(3, 32, 512);
    carat_engine_stats stats = {.size = sizeof stats};
    carat_row rows[3];

    (void)state;
    o.threads = 1;
    o.decode_threads = 2;
    o.decode_chunk = 2;
    o.decode_isa = "ref";
    struct rig r = rig_open(model, &o);
    const struct ct_cpu_backend *b = ct_cpu(r.engine->backend);
    const char *best = b->kernels[0].isa;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 3; i++)
            rows[i] = row_of(r.session[i], 3);
        OK(step(&r, rows, 3, err));
        assert_string_equal(b->kernel.isa, best);
        assert_int_equal(b->threads, 1);
        for (int i = 0; i < 3; i++)
            rows[i] = row_of(r.session[i], 1);
        OK(step(&r, rows, 3, err));
        assert_string_equal(b->kernel.isa, "ref");
        assert_int_equal(b->threads, 2);
        for (int i = 0; i < 3; i++)
            check_held(r.session[i], 4 * (round + 1));
    }
    OK(carat_engine_get_stats(r.engine, &stats, err));
    assert_int_equal(stats.passes, 6);
    assert_int_equal(stats.by_rows[0].passes, 2); /* of three rows two fit */
    assert_int_equal(stats.by_rows[1].passes, 2);
    assert_int_equal(stats.prefill, 18);
    assert_int_equal(stats.decode, 6);
    rig_close(&r);
}

static void wrong_settings_are_refused(void **state)
{
    carat_engine *engine;
    carat_engine_options o = options(1, 32, 512);

    (void)state;
    o.decode_isa = "mmx";
    FAILS(CARAT_E_ARGUMENT, carat_engine_create(&engine, model, &o, err));
    o = options(1, 32, 512);
    o.decode_threads = 257;
    FAILS(CARAT_E_ARGUMENT, carat_engine_create(&engine, model, &o, err));
    o = options(1, 32, 512);
    o.decode_chunk = -1;
    FAILS(CARAT_E_ARGUMENT, carat_engine_create(&engine, model, &o, err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_plain_c),
        cmocka_unit_test(of_the_best_level),
        cmocka_unit_test(of_every_level),
        cmocka_unit_test(of_integers),
        cmocka_unit_test(of_experts),
        cmocka_unit_test(of_mixed_types),
        cmocka_unit_test(the_caller_may_end_it),
        cmocka_unit_test(phases_have_their_own),
        cmocka_unit_test(no_setting_changes_a_bit),
        cmocka_unit_test(settings_are_used),
        cmocka_unit_test(wrong_settings_are_refused),
    };
    return cmocka_run_group_tests_name("explain", tests, open_model, close_model);
}
