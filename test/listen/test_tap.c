/* SPDX-License-Identifier: Apache-2.0 */
/* test_tap.c: taps hear of every operation with what it wrote, change no bit unless they write, and then the
 * pass goes on with what they wrote; an engine with fewer layers gives what the whole one has at that place.
 * The values of the reference are compared where CARAT_SHARED names the vectors. */
#include "engine/session.h"

#include <carat_quality.h>
#include <math.h>

#include "engine/vector_util.h"

static carat_model *tiny;
static const int32_t ids[] = {2, 105, 300, 301, 302, 107, 9, 400};
enum { N = 8, VOCAB = 1024, HIDDEN = 256, LAYERS = 6 };

static int open_model(void **state)
{
    (void)state;
    OK(carat_model_open(&tiny, CT_TEST_DATA "/../../models/tiny", NULL, err));
    return 0;
}

static int close_model(void **state)
{
    (void)state;
    carat_model_close(tiny);
    return 0;
}

/* What a tap does and has heard. */
struct ear {
    const char *name;       /* of the values that are kept */
    float *kept;            /* [rows so far][width]; NULL: none */
    int rows, width, calls; /* of that name; calls of any */
    float factor;           /* what every second one is multiplied with; 0: they stay */
    bool in_order;          /* positions ascend */
    int named;              /* calls with any name */
};

static void hear(void *user, const carat_tap *tap)
{
    struct ear *e = user;

    e->calls++;
    e->named += *tap->name != 0;
    assert_int_equal(tap->size, sizeof *tap);
    assert_true(tap->rows > 0 && tap->width > 0);
    for (int i = 1; i < tap->rows; i++)
        assert_true(tap->positions[i] > tap->positions[i - 1]);
    if (!e->name || strcmp(tap->name, e->name) != 0)
        return;
    size_t n = (size_t)tap->rows * (size_t)tap->width;
    e->in_order = tap->positions[0] == e->rows;
    e->width = tap->width;
    if (e->kept)
        memcpy(e->kept + (size_t)e->rows * (size_t)tap->width, tap->values, n * sizeof(float));
    for (size_t i = 0; e->factor != 0 && i < n; i += 2)
        tap->values[i] *= e->factor;
    e->rows += tap->rows;
}

struct rig_options {
    int chunk, first, layers, exact;
};

/* Logits of all ids, tapped by e unless it is NULL. */
static void run(const carat_model *model, const int32_t *id, int n, struct rig_options r, struct ear *e,
                float *logits)
{
    carat_engine_options o;
    carat_engine_options_default(&o);
    o.threads = 1;
    o.context = 256;
    o.chunk = r.chunk;
    o.first_layer = r.first;
    o.layers = r.layers;
    o.exact = r.exact;
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    OK(carat_engine_create(&engine, model, &o, err));
    OK(carat_session_create(&session, engine, NULL, err));
    if (e)
        OK(carat_tap_begin(engine, hear, e, err));
    carat_row row = {.session = session, .tokens = id, .n = n, .logits = logits};
    OK(carat_step(engine, &row, sizeof row, 1, err));
    carat_session_close(session);
    carat_engine_close(engine); /* ends the tap, too */
}

static void taps_change_nothing(void **state)
{
    static float plain[N * VOCAB], tapped[N * VOCAB];
    struct ear e = {.name = "embed"};
    (void)state;

    run(tiny, ids, N, (struct rig_options){0}, NULL, plain);
    run(tiny, ids, N, (struct rig_options){0}, &e, tapped);
    assert_memory_equal(plain, tapped, sizeof plain);
    assert_int_equal(e.rows, N);
    assert_int_equal(e.width, HIDDEN);
    /* embed, then of a layer norm, q, k, v, two norms of heads, two ropes, attend, project, residual_norm,
     * norm, geglu, project, residual_norm; the final norm, and logits row by row */
    assert_int_equal(e.calls, 1 + 15 * LAYERS + 1 + N);
    assert_int_equal(e.named, 1 + 5 * LAYERS + 1 + 0);
    for (int chunk = 1; chunk <= 5; chunk += 2) { /* rows of several passes */
        e = (struct ear){.name = "layer.3.v"};
        run(tiny, ids, N, (struct rig_options){.chunk = chunk}, &e, tapped);
        assert_memory_equal(plain, tapped, sizeof plain);
        assert_int_equal(e.rows, N);
        assert_int_equal(e.width, 128);
    }
}

/* Every named value: doubling it changes the logits of the last row, and halving what was doubled before does
 * not. */
static void the_pass_goes_on_with_what_is_written(void **state)
{
    static const char *const names[] = {"embed",     "layer.0",   "layer.2.attn",
                                        "layer.5.q", "layer.1.v", "final_norm"};
    static float plain[N * VOCAB], changed[N * VOCAB];
    (void)state;

    run(tiny, ids, N, (struct rig_options){0}, NULL, plain);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct ear e = {.name = names[i], .factor = 3};
        run(tiny, ids, N, (struct rig_options){0}, &e, changed);
        if (memcmp(plain, changed, sizeof plain) == 0)
            fail_msg("%s: what the tap writes changes nothing", names[i]);
    }
}

static void fewer_layers_give_the_same(void **state)
{
    static float whole[N * HIDDEN], part[N * HIDDEN], logits[N * VOCAB];
    (void)state;

    for (int layer = 0; layer < LAYERS; layer++) {
        char name[32];
        snprintf(name, sizeof name, "layer.%d", layer);
        struct ear all = {.name = name, .kept = whole}, few = {.name = name, .kept = part};
        run(tiny, ids, N, (struct rig_options){0}, &all, logits);
        run(tiny, ids, N, (struct rig_options){.layers = layer + 1}, &few, logits);
        assert_int_equal(few.rows, N);
        assert_memory_equal(whole, part, sizeof whole);
    }
    /* layers from another one on are called by their number in the model */
    struct ear e = {.name = "layer.4"};
    run(tiny, ids, N, (struct rig_options){.first = 3, .layers = 2}, &e, logits);
    assert_int_equal(e.rows, N);
}

/* Every value of Gemma 3n that has a name is told of once for each row, changes nothing unless it is written,
 * and then the pass goes on with it; what leaves a layer is that of fewer layers, too. */
static void streams_are_told_of(void **state)
{
    enum { VOCAB3N = 616, HIDDEN3N = 64, LAYERS3N = 10 };
    static float plain[N * VOCAB3N], tapped[N * VOCAB3N], whole[N * HIDDEN3N], part[N * HIDDEN3N];
    carat_model *model = NULL;
    carat_engine *engine = NULL;
    carat_engine_options o;
    char name[32];
    int n = 0;
    (void)state;

    OK(carat_model_open(&model, CT_TEST_DATA "/vectors/models/gemma3n", NULL, err));
    carat_engine_options_default(&o);
    OK(carat_engine_create(&engine, model, &o, err));
    run(model, ids, N, (struct rig_options){0}, NULL, plain);
    for (int width; (width = carat_tap_name(engine, n, name)) > 0; n++) {
        struct ear e = {.name = name};
        run(model, ids, N, (struct rig_options){0}, &e, tapped);
        assert_memory_equal(plain, tapped, sizeof plain);
        if (e.rows != N || e.width != width)
            fail_msg("%s: %d rows of %d values are told of, expected %d of %d", name, e.rows, e.width, N,
                     width);
        e = (struct ear){.name = name, .factor = 3};
        run(model, ids, N, (struct rig_options){0}, &e, tapped);
        if (memcmp(plain, tapped, sizeof plain) == 0)
            fail_msg("%s: what the tap writes changes nothing", name);
    }
    assert_int_equal(n, 2 + 5 * LAYERS3N - 2 * 5); /* the last five layers have no K and V */
    for (int layer = 0; layer < LAYERS3N; layer += 3) {
        snprintf(name, sizeof name, "layer.%d", layer);
        struct ear all = {.name = name, .kept = whole}, few = {.name = name, .kept = part};
        run(model, ids, N, (struct rig_options){0}, &all, tapped);
        run(model, ids, N, (struct rig_options){.layers = layer + 1}, &few, tapped);
        assert_memory_equal(whole, part, sizeof whole);
    }
    carat_engine_close(engine);
    carat_model_close(model);
}

static void wrong_layers_are_refused(void **state)
{
    static const int wrong[][2] = {{0, -1}, {0, 7}, {-1, 0}, {6, 0}, {3, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        carat_engine_options o;
        carat_engine *engine = NULL;
        carat_engine_options_default(&o);
        o.first_layer = wrong[i][0];
        o.layers = wrong[i][1];
        FAILS(CARAT_E_ARGUMENT, carat_engine_create(&engine, tiny, &o, err));
    }
}

/* Layers that share K and V do not run without the one that makes them: 2 and 3 of this model, whose layers
 * 4 to 7 share. */
static void sharers_need_their_owner(void **state)
{
    carat_model *model = NULL;
    carat_engine *engine = NULL;
    carat_engine_options o;
    carat_error why;
    (void)state;

    OK(carat_model_open(&model, CT_TEST_DATA "/vectors/models/gemma4-e", NULL, err));
    carat_engine_options_default(&o);
    o.first_layer = 2;
    OK(carat_engine_create(&engine, model, &o, err));
    carat_engine_close(engine);
    engine = NULL;
    o.first_layer = 3;
    assert_int_equal(carat_engine_create(&engine, model, &o, &why), CARAT_E_ARGUMENT);
    assert_non_null(strstr(why.message, "first_layer is 3, but layer 4 reads the K and V of layer 2"));
    carat_model_close(model);
}

/* A profile and a tap at once; a second tap takes the place of the first; after the end nobody is called. */
static void listeners_come_and_go(void **state)
{
    carat_engine *engine = NULL;
    carat_session *s = NULL;
    struct ear first = {.name = "embed"}, second = {.name = "embed"};
    carat_profile profile;
    char name[32];
    (void)state;

    OK(carat_engine_create(&engine, tiny, NULL, err));
    OK(carat_session_create(&s, engine, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_tap_begin(engine, NULL, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_tap_begin(NULL, hear, NULL, err));
    OK(carat_tap_begin(engine, hear, &first, err));
    carat_profile_begin(engine);
    OK(carat_tap_begin(engine, hear, &second, err));
    OK(carat_append(s, ids, 3, err));
    carat_profile_default(&profile);
    OK(carat_profile_end(engine, &profile, err));
    assert_int_equal(first.calls, 0);
    assert_int_equal(second.rows, 3);
    assert_int_equal(profile.rows, 3);
    OK(carat_append(s, ids, 2, err));
    assert_int_equal(second.rows, 5);
    carat_tap_end(engine);
    carat_tap_end(engine);
    carat_tap_end(NULL);
    OK(carat_append(s, ids, 2, err));
    assert_int_equal(second.rows, 5);

    int n = 0;
    while (carat_tap_name(engine, n, name))
        n++;
    assert_int_equal(n, 5 * LAYERS + 2);
    assert_int_equal(carat_tap_name(engine, -1, name), 0);
    carat_session_close(s);
    carat_engine_close(engine);
}

/* What a tap gets that calls the session of its pass. */
struct caller {
    carat_session *session;
    int calls, refused;
    bool cancels;
};

static void call_back(void *user, const carat_tap *tap)
{
    struct caller *c = user;
    carat_session *s = c->session, *fork;
    carat_row row = {.session = s, .tokens = ids, .n = 1};
    carat_session_stats stats = {.size = sizeof stats};
    carat_candidate best;
    const int32_t *held = ids;
    int32_t id;
    double logprob;
    char out[8];
    (void)tap;
    if (c->calls++ > 0)
        return;
    const carat_status status[] = {
        carat_append(s, ids, 1, NULL),
        carat_sync(s, ids, 1, NULL, NULL),
        carat_step(s->engine, &row, sizeof row, 1, NULL),
        carat_rewind(s, 0, NULL),
        carat_fork(s, 0, &fork, NULL),
        carat_reserve(s, 8, NULL),
        carat_sample(s, NULL, &id, NULL),
        carat_top(s, 1, &best, NULL),
        carat_mark(s, NULL),
        carat_save(s, "none", NULL, 0, NULL),
        carat_load(s, "none", NULL, NULL, NULL),
        carat_session_get_stats(s, &stats, NULL),
        carat_score(s, ids, 1, &logprob, NULL),
    };
    for (size_t i = 0; i < sizeof status / sizeof *status; i++)
        if (status[i] != CARAT_E_BUSY)
            fail_msg("call %zu gave %s", i, carat_status_name(status[i]));
    assert_int_equal(carat_tokens_held(s, &held), 0);
    assert_null(held);
    assert_null(carat_logits(s));
    assert_int_equal(carat_stream_text(s, 9, out, sizeof out), 0);
    c->refused = (int)(sizeof status / sizeof *status);
    if (c->cancels)
        carat_cancel(s);
}

static void a_tap_may_not_use_its_session(void **state)
{
    static float plain[N * VOCAB];
    carat_engine_options o = small_engine();
    (void)state;
    run(tiny, ids, N, (struct rig_options){0}, NULL, plain);
    struct rig r = rig_open(tiny, &o);
    struct caller c = {.session = r.session[0], .cancels = true};
    OK(carat_tap_begin(r.engine, call_back, &c, err));
    FAILS(CARAT_E_CANCELLED, (c.calls = 0, carat_append(c.session, ids, N, err)));
    assert_int_equal(carat_tokens_held(c.session, NULL), 0);
    c = (struct caller){.session = r.session[0]};
    OK(carat_append(c.session, ids, N, err));
    assert_true(c.refused > 0 && c.calls > 1);
    assert_int_equal(carat_tokens_held(c.session, NULL), N);
    assert_memory_equal(carat_logits(c.session), plain + (N - 1) * VOCAB, VOCAB * sizeof *plain);
    rig_close(&r);
}

/* The data of a NumPy file of version 1.0 with float32 in C order, after its header. */
static float *read_taps(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        fail_msg("%s: cannot be opened", path);
    uint8_t head[10];
    assert_int_equal(fread(head, 1, 10, f), 10);
    assert_int_equal(fseek(f, 0, SEEK_END), 0);
    long begin = 10 + head[8] + 256 * head[9], end = ftell(f);
    *n = (size_t)(end - begin) / sizeof(float);
    float *x = malloc(*n * sizeof *x);
    assert_non_null(x);
    assert_int_equal(fseek(f, begin, SEEK_SET), 0);
    assert_int_equal(fread(x, sizeof *x, *n, f), *n);
    fclose(f);
    return x;
}

/* The stream behind each layer, for newer members but the last one, and final_norm: within 1e-4 of the
 * largest value of the reference's hidden states (NUMERICS.md section 9). */
static void taps_of_the_reference(void **state)
{
    static const struct {
        const char *root, *name;
    } cases[] = {{".", "gemma1-f32"},       {".", "gemma2-bf16"},  {".", "gemma3-f32-old"},
                 {"../family", "g4-dense"}, {"../family", "g4-e"}, {"../family", "g4-e-f32"},
                 {"../family", "g4-moe"}};
    const char *shared = getenv("CARAT_SHARED");
    (void)state;
    if (!shared)
        skip();
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        static const char *const prompts[] = {"p17", "wp1", "w2p1", "w", "w5", "p5", "long"};
        char dir[PATH_SIZE], path[PATH_SIZE], file[64];
        carat_model *model = NULL;
        json_t *prompt = NULL;
        snprintf(dir, sizeof dir, "%s/%s/expect/%s", shared, cases[c].root, cases[c].name);
        for (size_t p = 0; p < sizeof prompts / sizeof *prompts; p++) {
            snprintf(file, sizeof file, "%s.json", prompts[p]);
            prompt = read_json(dir, file);
            if (prompt && json_object_get(prompt, "taps"))
                break;
            json_decref(prompt);
            prompt = NULL;
        }
        assert_non_null(prompt);
        struct ids all = json_ids(json_object_get(prompt, "ids"));
        size_t count;
        float *right = read_taps(path_join(path, dir, "taps.npy"), &count);
        snprintf(path, sizeof path, "%s/%s/models/%s", shared, cases[c].root, cases[c].name);
        OK(carat_model_open(&model, path, NULL, err));
        carat_model_info info = model_info(model);
        size_t size = (size_t)all.n * (size_t)info.hidden;
        float *kept = malloc(size * sizeof *kept);
        float *logits = malloc((size_t)all.n * (size_t)info.n_vocab * sizeof *logits);
        assert_non_null(kept);
        assert_non_null(logits);
        const int n_tap = (int)(count / size);
        assert_true(count % size == 0 && (n_tap == info.n_layer || n_tap == info.n_layer + 1));
        for (int i = 0; i < n_tap; i++) {
            char name[32] = "final_norm";
            double worst = 0, top = 0;
            if (i < n_tap - 1)
                snprintf(name, sizeof name, "layer.%d", i);
            struct ear e = {.name = name, .kept = kept};
            run(model, all.id, all.n, (struct rig_options){.exact = 1}, &e, logits);
            assert_int_equal(e.rows, all.n);
            for (size_t k = 0; k < size; k++) {
                double r = (double)right[(size_t)i * size + k];
                worst = fmax(worst, fabs(r - (double)kept[k]));
                top = fmax(top, fabs(r));
            }
            if (!(worst <= 1e-4 * top))
                fail_msg("%s, %s: %g away, of %g", cases[c].name, name, worst, top);
        }
        free(logits);
        free(kept);
        free(right);
        free(all.id);
        json_decref(prompt);
        carat_model_close(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(taps_change_nothing),
        cmocka_unit_test(the_pass_goes_on_with_what_is_written),
        cmocka_unit_test(fewer_layers_give_the_same),
        cmocka_unit_test(wrong_layers_are_refused),
        cmocka_unit_test(a_tap_may_not_use_its_session),
        cmocka_unit_test(sharers_need_their_owner),
        cmocka_unit_test(listeners_come_and_go),
        cmocka_unit_test(taps_of_the_reference),
        cmocka_unit_test(streams_are_told_of),
    };
    return cmocka_run_group_tests_name("engine: taps", tests, open_model, close_model);
}
