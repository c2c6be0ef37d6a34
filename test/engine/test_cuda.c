/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda.c: engines on an emulated GPU (test/emu, which LD_LIBRARY_PATH leads to): the committed hashes of
 * logits, in several passes and orders of threads, vectors of texts, guesses of drafters; what is refused,
 * and how; and every call of the driver failing. Kernels one by one: test/kernel/test_gpu.c. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>

#include <carat_device.h>
#include <carat_generate.h>

#include "cuda_util.h"
#include "tier.h"

#include <carat_embed.h>

#include "engine/row_logits.h"
#include "engine/session.h"
#include "kernel/gpu/gpu.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define TINY CT_TEST_DATA "/../../models/tiny"

/* Whether there is a driver and the library has kernels for it. */
static int has_gpu(void **unused)
{
    carat_model *model = NULL;
    carat_error why = {CARAT_OK, ""};
    carat_engine_options o;
    carat_plan plan = {.size = sizeof plan};

    (void)unused;
    carat_engine_options_default(&o);
    o.device = "cuda";
    OK(carat_model_open(&model, TINY, NULL, err));
    carat_plan_engine(model, &o, &plan, &why);
    carat_model_close(model);
    if (why.code && strstr(why.message, "without clang")) {
        print_message("%s\n", why.message);
        skip();
    }
    if (why.code)
        fail_msg("%s", why.message);
    return 0;
}

/* ---- the same bits ---- */

struct line {
    char model[64], arithmetic[8], kv[8];
    unsigned long long hash;
};

/* Of the logits after each of the ids of test_hashes.c. */
static unsigned long long hash_of(carat_model *model, const struct line *l, int chunk)
{
    carat_engine_options o = cuda_options();
    o.context = 128;
    o.chunk = chunk;
    o.exact = strcmp(l->arithmetic, "exact") == 0;
    o.kv = strcmp(l->kv, "f32") == 0   ? CARAT_KV_F32
           : strcmp(l->kv, "f16") == 0 ? CARAT_KV_F16
           : strcmp(l->kv, "q8") == 0  ? CARAT_KV_Q8
                                       : CARAT_KV_BF16;
    struct rig r = rig_open(model, &o);
    struct ids ids = scattered_ids(42, model_info(model).n_text_vocab, 2025);
    const size_t size = (size_t)ids.n * (size_t)r.n_vocab * sizeof(float);
    float *logits = malloc(size);
    carat_row row = {.session = r.session[0], .tokens = ids.id, .n = ids.n, .logits = logits};

    OK(carat_step(r.engine, &row, sizeof row, 1, err));
    const unsigned long long hash = XXH3_64bits(logits, size);
    free(logits);
    free(ids.id);
    rig_close(&r);
    return hash;
}

/* Passes and the order of threads are others for each. False: a GPU does not compute the model. */
static bool has_hash(const struct line *l, int i)
{
    static const char *const orders[] = {"0", "1", "2"};
    static const int chunks[] = {256, 7, 1};
    const char *folder = strncmp(l->model, "sbs/", 4) == 0 ? CT_TEST_DATA : CT_TEST_DATA "/vectors";
    char path[PATH_SIZE];
    carat_model *model = NULL;

    path_join(path, folder, l->model);
    OK(carat_model_open(&model, strcmp(l->model, "tiny") == 0 ? TINY : path, NULL, err));
    const bool runs = runs_on_gpu(model);
    setenv("EMU_ORDER", orders[i % 3], 1);
    const unsigned long long hash = runs ? hash_of(model, l, chunks[i % 3]) : 0;
    if (runs && hash != l->hash)
        fail_msg("%s, %s, %s, chunk %d, order %d: %016llx, expected %016llx", l->model, l->arithmetic, l->kv,
                 chunks[i % 3], i % 3, hash, l->hash);
    unsetenv("EMU_ORDER");
    carat_model_close(model);
    return runs;
}

/* In the deep tier: what takes a minute of a processor, too. */
static bool all;
enum { CASES = 6 }; /* groups of cases that take turns in the sample */

/* tiny in every arithmetic and type of K and V; in the deep tier each of the others in one of them, and in
 * the usual one. */
static void logits_have_the_committed_hashes(void **unused)
{
    char text[256];
    FILE *f = fopen(CT_TEST_DATA "/hashes.txt", "r");
    int lines = 0, n = 0;

    (void)unused;
    assert_non_null(f);
    if (!tier_reaches(5, CASES)) {
        fclose(f);
        return;
    }
    while (fgets(text, sizeof text, f)) {
        struct line l;
        if (sscanf(text, "%63s %7s %7s %16llx", l.model, l.arithmetic, l.kv, &l.hash) != 4)
            continue;
        const int arithmetic = lines % 5, model = lines++ / 5;
        if (strcmp(l.model, "tiny") != 0 && (!all || (strcmp(l.kv, "bf16") != 0 && model % 5 != arithmetic)))
            continue;
        n += has_hash(&l, n);
    }
    fclose(f);
    assert_true(n > (all ? 50 : 4));
}

/* An answer of two sessions, one of which goes back and on, and is forked. */
static void play(carat_model *model, const char *device, float *logits, int n_vocab)
{
    carat_engine_options o = cuda_options();
    o.device = device;
    o.sessions = 3;
    o.snapshot_bytes = 16 << 20;
    struct rig r = rig_open(model, &o);
    struct ids ids = scattered_ids(310, model_info(model).n_text_vocab, 7);
    const size_t row = (size_t)n_vocab;

    OK(carat_sync(r.session[0], ids.id, 280, NULL, err));
    OK(carat_sync(r.session[1], ids.id + 20, 40, NULL, err));
    OK(carat_rewind(r.session[0], 262, err));
    carat_session_close(r.session[2]);
    OK(carat_fork(r.session[1], 30, &r.session[2], err));
    for (int i = 0; i < 3; i++) {
        carat_row rows[] = {{.session = r.session[i],
                             .tokens = ids.id + 300,
                             .n = 10,
                             .logits = logits + (size_t)i * 10 * row}};
        OK(carat_step(r.engine, rows, sizeof *rows, 1, err));
    }
    free(ids.id);
    rig_close(&r);
}

/* In BF16, and in Q8_0 with prompts long enough for the kernel of many rows. */
static void sessions_go_back_and_on_as_on_the_cpu(void **unused)
{
    static const char *const models[] = {TINY, CT_TEST_DATA "/vectors/gguf/q8_0.gguf"};

    (void)unused;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        carat_model *model = NULL;
        if (!tier_reaches(3, CASES) || (!all && tier_turn() / CASES % 2 != m))
            continue;
        OK(carat_model_open(&model, models[m], NULL, err));
        const int n_vocab = model_info(model).n_vocab;
        const size_t n = 30 * (size_t)n_vocab;
        float *cpu = calloc(n, sizeof *cpu), *cuda = calloc(n, sizeof *cuda);
        assert_true(cpu && cuda);
        play(model, "cpu", cpu, n_vocab);
        play(model, "cuda", cuda, n_vocab);
        assert_memory_equal(cpu, cuda, n * sizeof *cpu);
        free(cpu);
        free(cuda);
        carat_model_close(model);
    }
}

enum { MOST_BATCH = 32, STEPS = 2 };

/* Logits of so many sessions that decode in one pass, twice. */
static void decode_together(carat_model *model, const char *device, int n, float *logits)
{
    carat_engine_options o = cuda_options();
    carat_session *session[MOST_BATCH];
    carat_engine *engine = NULL;
    const size_t row = (size_t)model_info(model).n_vocab;

    o.device = device;
    o.context = 64;
    o.sessions = n;
    OK(carat_engine_create(&engine, model, &o, err));
    for (int i = 0; i < n; i++) {
        const int32_t ids[] = {2, 105, 30 + i};
        OK(carat_session_create(&session[i], engine, NULL, err));
        OK(carat_sync(session[i], ids, 2 + i % 2, NULL, err));
    }
    for (int step = 0; step < STEPS; step++) {
        int32_t id[MOST_BATCH];
        carat_row rows[MOST_BATCH];
        for (int i = 0; i < n; i++) {
            id[i] = 7 + 3 * i + step;
            rows[i] = (carat_row){.session = session[i],
                                  .tokens = &id[i],
                                  .n = 1,
                                  .logits = logits + (size_t)(step * n + i) * row};
        }
        OK(carat_step(engine, rows, sizeof *rows, n, err));
    }
    for (int i = 0; i < n; i++)
        carat_session_close(session[i]);
    carat_engine_close(engine);
}

static void batches_decode_as_on_the_cpu(void **unused)
{
    static const int batch[] = {9, 32, 8, 16, 31};
    static const char *const models[] = {CT_TEST_DATA "/vectors/gguf/q8_0.gguf", TINY};

    (void)unused;
    if (!tier_reaches(4, CASES))
        return;
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        carat_model *model = NULL;
        OK(carat_model_open(&model, models[m], NULL, err));
        const size_t n = (size_t)(STEPS * MOST_BATCH * model_info(model).n_vocab);
        float *cpu = calloc(n, sizeof *cpu), *cuda = calloc(n, sizeof *cuda);
        assert_true(cpu && cuda);
        for (size_t i = 0; i < (all ? sizeof batch / sizeof *batch : 1); i++) {
            decode_together(model, "cpu", batch[i], cpu);
            decode_together(model, "cuda", batch[i], cuda);
            assert_true(cpu[0] != 0);
            assert_memory_equal(cpu, cuda, n * sizeof *cpu);
        }
        free(cpu);
        free(cuda);
        carat_model_close(model);
    }
}

/* Vectors of two texts, whose rows see those behind them. */
static void embed_on(const char *path, const char *device, float vector[2][64])
{
    const int32_t first[] = {2, 5, 77, 300, 1}, second[] = {2, 9, 1};
    carat_embed_input input[] = {{.tokens = first, .n = 5, .vector = vector[0]},
                                 {.tokens = second, .n = 3, .vector = vector[1]}};
    carat_engine_options o = cuda_options();
    carat_model *model = NULL;
    carat_engine *engine = NULL;

    o.device = device;
    o.context = 64;
    OK(carat_model_open(&model, path, NULL, err));
    OK(carat_engine_create(&engine, model, &o, err));
    OK(carat_embed(engine, input, sizeof *input, 2, NULL, err));
    carat_engine_close(engine);
    carat_model_close(model);
}

static void vectors_of_texts_are_those_of_the_cpu(void **unused)
{
    static const char *const models[] = {"models/embed1", "models/embed2", "gguf/embed1.gguf"};

    (void)unused;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        float cpu[2][64] = {{0}}, cuda[2][64] = {{0}};
        char path[PATH_SIZE];
        path_join(path, CT_TEST_DATA "/embed", models[i]);
        embed_on(path, "cpu", cpu);
        embed_on(path, "cuda", cuda);
        assert_true(cpu[0][0] != 0 && cpu[1][0] != 0);
        assert_memory_equal(cpu, cuda, sizeof cpu);
    }
}

/* Nor are others when the device is lost on the way. */
static void vectors_survive_a_lost_device(void **unused)
{
    static const struct {
        const char *call;
        int n;
    } lost[] = {{"cuLaunchKernel", 5}, {"cuLaunchKernel", 60}, {"cuMemcpyDtoHAsync_v2", 1}};
    float cpu[2][64] = {{0}}, cuda[2][64];
    char told[64];
    carat_model *model = NULL;

    (void)unused;
    OK(carat_model_open(&model, CT_TEST_DATA "/embed/models/embed1", NULL, err));
    embed_on(CT_TEST_DATA "/embed/models/embed1", "cpu", cpu);
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
        snprintf(told, sizeof told, "%s:%d", lost[i].call, calls_until_made(model, lost[i].call) + lost[i].n);
        setenv("EMU_LOST", told, 1);
        memset(cuda, 0, sizeof cuda);
        embed_on(CT_TEST_DATA "/embed/models/embed1", "cuda", cuda);
        if (memcmp(cpu, cuda, sizeof cpu) != 0)
            fail_msg("EMU_LOST=%s: other vectors", told);
        unsetenv("EMU_LOST");
    }
    carat_model_close(model);
}

/* Ids that a drafter guesses behind a prompt, which it reads K and V of, and the states it goes through. */
enum { GUESSES = 4, MOST_STATE = 512 };
struct guesses {
    int32_t id[GUESSES];
    float state[GUESSES][MOST_STATE];
};

static void guess_on(const char *model_path, const char *drafter_path, const char *device, struct guesses *g)
{
    carat_engine_options o = cuda_options();
    carat_model_options with;
    carat_model *model = NULL;

    carat_model_options_default(&with);
    with.drafter = drafter_path;
    o.device = device;
    o.context = 128;
    OK(carat_model_open(&model, model_path, &with, err));
    struct rig r = rig_open(model, &o);
    struct ids ids = scattered_ids(40, model_info(model).n_text_vocab, 11);
    carat_session *s = r.session[0];
    struct ct_drafter *d = &r.engine->drafts.reader;
    int32_t token = 300;

    OK(carat_sync(s, ids.id, ids.n, NULL, err));
    assert_true(d->state.cols <= MOST_STATE);
    ct_drafter_begin(d, ct_row_logits_hidden(r.engine, s->logits));
    for (int i = 0; i < GUESSES; i++) {
        g->id[i] = token = ct_drafter_step(d, (struct ct_draft_place){s->slot, s->n}, token);
        r.engine->backend->verb.copy_out(r.engine->backend, g->state[i], d->state, 0);
    }
    free(ids.id);
    rig_close(&r);
    carat_model_close(model);
}

static void drafters_guess_as_on_the_cpu(void **unused)
{
    static const char *const models[] = {"models/g4-e", "models/g4-dense"};
    char vectors[PATH_SIZE];

    (void)unused;
    if (!shared_vectors(vectors))
        skip();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        static struct guesses cpu, cuda;
        char family[PATH_SIZE], model[PATH_SIZE], drafter[PATH_SIZE + 16];
        path_join(model, path_join(family, vectors, "../family"), models[i]);
        snprintf(drafter, sizeof drafter, "%s-assistant", model);
        guess_on(model, drafter, "cpu", &cpu);
        guess_on(model, drafter, "cuda", &cuda);
        assert_memory_equal(&cpu, &cuda, sizeof cpu);
    }
}

/* ---- what is refused ---- */

static void refuses(const char *path, const carat_engine_options *o, carat_status status, const char *text)
{
    carat_model *model = NULL;
    carat_engine *engine = NULL;

    OK(carat_model_open(&model, path, NULL, err));
    FAILS_WITH(carat_engine_create(&engine, model, o, err), status, text);
    assert_null(engine);
    carat_model_close(model);
}

static void devices_are_chosen_and_refused(void **unused)
{
    static const struct {
        const char *devices, *driver, *device;
        carat_status status;
        const char *text;
    } cases[] = {
        {"9.0", "11020", "cuda", CARAT_E_IO, "CUDA 11.2, expected 11.3"},
        {"", "12040", "cuda", CARAT_E_IO, "shows no GPU"},
        {"5.2", "12040", "cuda", CARAT_E_IO, "compute capability 5.2, expected at least 6.1"},
        {"5.2,9.0", "12040", "cuda:0", CARAT_E_IO, "cuda:0, emulated 0, has compute capability 5.2"},
        {"5.2,9.0", "12040", "cuda:7", CARAT_E_ARGUMENT, "shows 2 GPUs"},
        {"9.0", "12040", "cuda:x", CARAT_E_ARGUMENT, "expected cpu, cuda, cuda:N or auto"},
        {"9.0", "12040", "gpu", CARAT_E_ARGUMENT, "expected cpu, cuda, cuda:N or auto"},
        {"5.2,9.0", "12040", "cuda", CARAT_OK, ""},
        {"5.2,9.0", "12040", "cuda:1", CARAT_OK, ""},
        {"7.5", "12040", "cuda", CARAT_OK, ""}, /* not all kernels are for it */
    };
    carat_engine_options o = cuda_options();

    (void)unused;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        setenv("EMU_DEVICES", cases[i].devices, 1);
        setenv("EMU_DRIVER", cases[i].driver, 1);
        o.device = cases[i].device;
        if (cases[i].status) {
            refuses(TINY, &o, cases[i].status, cases[i].text);
            continue;
        }
        carat_model *model = NULL;
        OK(carat_model_open(&model, TINY, NULL, err));
        struct rig r = rig_open(model, &o);
        rig_close(&r);
        carat_model_close(model);
    }
    unsetenv("EMU_DEVICES");
    unsetenv("EMU_DRIVER");
    struct ct_backend *none = NULL;
    carat_error why = {CARAT_OK, ""};
    const struct ct_backend_options odd = {.attn = {{.head_dim = 64}, {.head_dim = 70}}};
    assert_int_equal(ct_backend_create_cuda(&none, &odd, -1, &why), CARAT_E_UNSUPPORTED);
    assert_non_null(strstr(why.message, "heads have 70 values"));
}

static void a_device_without_room_is_refused(void **unused)
{
    carat_engine_options o = cuda_options();

    (void)unused;
    setenv("EMU_MEMORY", "3000000", 1);
    refuses(TINY, &o, CARAT_E_MEMORY, "a smaller context needs less");
    unsetenv("EMU_MEMORY");
}

/* ---- what is told ---- */

static void devices_are_described(void **unused)
{
    carat_device d, larger = {.size = sizeof d + 1};

    (void)unused;
    carat_device_default(&d);
    setenv("EMU_DEVICES", "5.2,9.0", 1);
    setenv("EMU_MEMORY", "50000000", 1);
    OK(carat_get_device("cuda", 0, &d, err));
    assert_true(d.number == 1 && d.usable && d.compute_major == 9 && d.compute_minor == 0 && !*d.why);
    assert_string_equal(d.name, "emulated 1");
    assert_true(d.free_bytes == 50000000 && d.total_bytes == 50000000 && d.copied == 0);
    OK(carat_get_device("cuda:1", 1, &d, err));
    assert_true(d.number == 1 && d.copied > 0);
    OK(carat_get_device("cuda:0", 1, &d, err));
    assert_true(d.number == 0 && !d.usable && d.compute_major == 5 && d.compute_minor == 2 && d.copied == 0);
    assert_non_null(strstr(d.why, "expected at least 6.1"));
    FAILS_WITH(carat_get_device("cuda:2", 0, &d, err), CARAT_E_ARGUMENT, "shows 2 GPUs");
    FAILS_WITH(carat_get_device("cpu", 0, &d, err), CARAT_E_ARGUMENT, "expected cpu, cuda, cuda:N");
    FAILS_WITH(carat_get_device(NULL, 0, &d, err), CARAT_E_ARGUMENT, "name");
    FAILS_WITH(carat_get_device("cuda", 0, NULL, err), CARAT_E_ARGUMENT, "NULL");
    FAILS_WITH(carat_get_device("cuda", 0, &larger, err), CARAT_E_ARGUMENT, "carat_device");
    setenv("EMU_FAIL", "cuMemcpyDtoDAsync_v2:2", 1); /* what cannot be measured is not known */
    OK(carat_get_device("cuda", 1, &d, err));
    assert_true(d.usable && d.copied == 0 && d.total_bytes == 50000000);
    unsetenv("EMU_FAIL");
    setenv("EMU_DEVICES", "5.2", 1);
    FAILS_WITH(carat_get_device("cuda", 0, &d, err), CARAT_E_IO, "expected at least 6.1");
    setenv("EMU_DRIVER", "11020", 1);
    FAILS_WITH(carat_get_device("cuda:0", 0, &d, err), CARAT_E_IO, "too old");
    unsetenv("EMU_DRIVER");
    unsetenv("EMU_DEVICES");
    unsetenv("EMU_MEMORY");
    assert_string_equal(carat_gpu_kernels(), "PTX for sm_61");
}

/* Who computed, and why: what --stats tells. */
static carat_engine_stats stats_of_auto(carat_model *model)
{
    const int32_t ids[] = {2, 105, 300};
    carat_engine_options o = cuda_options();
    carat_engine_stats s = {.size = sizeof s};

    o.device = "auto";
    struct rig r = rig_open(model, &o);
    OK(carat_sync(r.session[0], ids, 3, NULL, err));
    OK(carat_engine_get_stats(r.engine, &s, err));
    s.gpu.reason = s.cpu.reason = NULL; /* it ends with the engine */
    rig_close(&r);
    return s;
}

static void auto_takes_the_gpu_or_the_cpu(void **unused)
{
    carat_model *model = NULL;
    carat_engine *engine = NULL;
    carat_engine_options o = cuda_options();
    carat_plan plan = {.size = sizeof plan};
    int asked = 0;

    (void)unused;
    OK(carat_model_open(&model, TINY, NULL, err));
    o.device = "auto";
    OK(carat_plan_engine(model, &o, &plan, err));
    assert_string_equal(plan.isa, "cuda");
    const size_t at_both = plan.weight_bytes;
    carat_engine_stats s = stats_of_auto(model);
    assert_true(s.gpu.all.passes + s.cpu.all.passes == 1 && s.gpu.all.rows + s.cpu.all.rows == 3);

    o.progress = stop_at_once; /* who stops it does not want another one */
    o.user = &asked;
    assert_int_equal(carat_engine_create(&engine, model, &o, NULL), CARAT_E_CANCELLED);
    assert_int_equal(asked, 1);
    o.progress = NULL;

    setenv("EMU_DRIVER", "11020", 1);
    OK(carat_plan_engine(model, &o, &plan, err));
    assert_string_not_equal(plan.isa, "cuda");
    assert_true(plan.weight_bytes > 0 && plan.weight_bytes < at_both);
    OK(carat_fit_engine(model, &o, 64 << 20, err));
    s = stats_of_auto(model);
    assert_true(s.gpu.all.passes == 0 && s.gpu.all.rows == 0 && s.cpu.all.passes == 1 && s.cpu.all.rows == 3);
    unsetenv("EMU_DRIVER");
    o.context = -1; /* nobody takes it */
    FAILS_WITH(carat_engine_create(&engine, model, &o, err), CARAT_E_ARGUMENT, "context");
    carat_model_close(model);
}

/* A device that computes something else, in a model of each type that it reads. */
static void a_wrong_device_is_refused(void **unused)
{
    static const char *const planted[] = {"unfused", "barriers"}, *const models[] = {
                                                                      TINY,
                                                                      CT_TEST_DATA "/vectors/gguf/q8_0.gguf"};
    carat_engine_options o = cuda_options();

    (void)unused;
    o.context = 0;
    for (int i = 0; i < 4; i++) {
        setenv("EMU_PLANTED", planted[i % 2], 1);
        refuses(models[i / 2], &o, CARAT_E_IO, "gives other numbers than the CPU");
        unsetenv("EMU_PLANTED");
    }
}

/* Nor one of which a single kernel does. */
static void a_wrong_kernel_is_refused(void **unused)
{
    static const struct {
        const char *planted, *model;
    } wrong[] = {
        {"barriers:attend", TINY},
        {"barriers:best", TINY},
        {"barriers:norm", TINY},
        {"barriers:project_eight", CT_TEST_DATA "/vectors/gguf/q8_0.gguf"},
        {"barriers:project_value", TINY},
        {"unfused:logits", TINY},
        {"unfused:norm", CT_TEST_DATA "/vectors/gguf/q8_0.gguf"},
        {"unfused:project_eight", CT_TEST_DATA "/vectors/gguf/q8_0.gguf"},
    };
    carat_engine_options o = cuda_options();

    (void)unused;
    if (!tier_reaches(5, CASES))
        return;
    o.context = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("EMU_PLANTED", wrong[i].planted, 1);
        refuses(wrong[i].model, &o, CARAT_E_IO, "gives other numbers than the CPU");
        unsetenv("EMU_PLANTED");
    }
}

/* Nor one of which a kernel is wrong for one kind of type alone, as a model has it. */
static void a_wrong_kernel_for_a_type_is_refused(void **unused)
{
    static const struct {
        const char *model;
        enum ct_gpu_form form;
    } wrong[] = {
        {"q4_k_m", CT_GPU_SIX_BITS}, {"q4_k_m", CT_GPU_HALVES}, {"q2_k", CT_GPU_NIBBLES},
        {"iq2", CT_GPU_HALVES},      {"nvfp4", CT_GPU_E4M3},
    };
    carat_engine_options o = cuda_options();

    (void)unused;
    o.context = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char planted[16], path[PATH_SIZE];
        if (!tier_reaches(4, CASES) || !tier_takes((unsigned)i, 5))
            continue;
        snprintf(planted, sizeof planted, "codes:%d", (int)wrong[i].form);
        snprintf(path, sizeof path, CT_TEST_DATA "/vectors/gguf/%s.gguf", wrong[i].model);
        setenv("EMU_PLANTED", planted, 1);
        refuses(path, &o, CARAT_E_IO, "gives other numbers than the CPU");
        unsetenv("EMU_PLANTED");
    }
}

/* ---- calls that fail ---- */

enum { IDS = 6 };

/* Logits of tiny while a call fails, or of the CPU. Returns whether an engine came of it: if not, there is
 * one line. */
static bool computes(carat_model *model, const char *device, float *logits)
{
    const int32_t ids[IDS] = {2, 105, 300, 301, 302, 107};
    carat_engine_options o = cuda_options();
    carat_engine *engine = NULL;
    carat_session *session = NULL;
    carat_error why = {CARAT_OK, ""};
    const size_t row = (size_t)model_info(model).n_vocab;

    o.device = device;
    if (!carat_engine_create(&engine, model, &o, &why) &&
        !carat_session_create(&session, engine, NULL, &why)) {
        carat_row first = {.session = session, .tokens = ids, .n = 3, .logits = logits};
        carat_row second = {.session = session, .tokens = ids + 3, .n = IDS - 3, .logits = logits + 3 * row};
        OK(carat_step(engine, &first, sizeof first, 1, err));
        OK(carat_step(engine, &second, sizeof second, 1, err));
    }
    assert_true(why.code == CARAT_OK || why.code == CARAT_E_IO || why.code == CARAT_E_MEMORY);
    assert_true(why.code == CARAT_OK || (*why.message && !strchr(why.message, '\n')));
    carat_session_close(session);
    carat_engine_close(engine);
    return why.code == CARAT_OK;
}

static void every_call_may_fail(void **unused)
{
    static const struct {
        const char *name;
        int beyond; /* calls of an engine that is there, which fail in turn, too */
        int spare; /* calls before whose failure changes nothing: of the device's check, the end or a graph */
    } calls[] = {{"cuInit", 0, 0},
                 {"cuDeviceGetCount", 0, 0},
                 {"cuDeviceGet", 0, 0},
                 {"cuDeviceGetName", 0, 0},
                 {"cuDeviceGetAttribute", 0, 0},
                 {"cuDevicePrimaryCtxRetain", 0, 0},
                 {"cuCtxPushCurrent_v2", 2, 1},
                 {"cuStreamCreate", 0, 0},
                 {"cuModuleLoadData", 0, 0},
                 {"cuModuleGetFunction", 0, 0},
                 {"cuMemAlloc_v2", 0, 0},
                 {"cuMemHostAlloc", 0, 0},
                 {"cuMemsetD8Async", 2, 0},
                 {"cuMemcpyHtoDAsync_v2", 8, 0},
                 {"cuMemcpyDtoHAsync_v2", 8, 0},
                 {"cuStreamSynchronize", 8, 0},
                 {"cuLaunchKernel", 150, 60}};
    static const char *const variables[] = {"EMU_FAIL", "EMU_LOST"};
    carat_model *model = NULL;

    (void)unused;
    if (!tier_reaches(0, CASES) && !tier_reaches(1, CASES))
        return;
    OK(carat_model_open(&model, TINY, NULL, err));
    const size_t n = IDS * (size_t)model_info(model).n_vocab;
    float *cpu = calloc(n, sizeof *cpu), *cuda = calloc(n, sizeof *cuda);
    assert_true(cpu && cuda && computes(model, "cpu", cpu));
    for (unsigned v = 0; v < 2; v++)
        for (size_t c = 0; c < sizeof calls / sizeof *calls && tier_reaches(v, CASES); c++) {
            const int create = calls_until_made(model, calls[c].name);
            int spared = 0;
            for (int i = 1; i <= create + calls[c].beyond; i += 1 + i / (all ? 8 : 2)) {
                char told[64];
                snprintf(told, sizeof told, "%s:%d", calls[c].name, i);
                setenv(variables[v], told, 1);
                memset(cuda, 0, n * sizeof *cuda);
                const bool made = computes(model, "cuda", cuda);
                spared += made && i <= create;
                if (i > create ? !made : spared > calls[c].spare)
                    fail_msg("%s=%s: %s", variables[v], told, made ? "an engine" : "no engine");
                if (made && memcmp(cpu, cuda, n * sizeof *cpu) != 0)
                    fail_msg("%s=%s: the CPU went on with other logits", variables[v], told);
                unsetenv(variables[v]);
            }
        }
    free(cpu);
    free(cuda);
    carat_model_close(model);
}

/* Sessions that hold tokens when the device is lost, in a pass of several of them. */
static void a_lost_device_loses_no_session(void **unused)
{
    static const struct {
        const char *name;
        int after; /* calls, the last of which finds the device gone */
    } lost[] = {{"cuLaunchKernel", 150},
                {"cuLaunchKernel", 320},
                {"cuMemcpyDtoDAsync_v2", 1},
                {"cuMemcpyDtoHAsync_v2", 3}};
    char told[64];
    carat_model *model = NULL;

    (void)unused;
    if (!tier_reaches(2, CASES))
        return;
    OK(carat_model_open(&model, TINY, NULL, err));
    const int n_vocab = model_info(model).n_vocab;
    const size_t n = 30 * (size_t)n_vocab;
    float *cpu = calloc(n, sizeof *cpu), *cuda = calloc(n, sizeof *cuda);
    assert_true(cpu && cuda);
    play(model, "cpu", cpu, n_vocab);
    for (unsigned i = 0; i < sizeof lost / sizeof *lost; i++) {
        if (!all && tier_turn() / CASES % 4 != i)
            continue;
        snprintf(told, sizeof told, "%s:%d", lost[i].name,
                 calls_until_made(model, lost[i].name) + lost[i].after);
        setenv("EMU_LOST", told, 1);
        memset(cuda, 0, n * sizeof *cuda);
        play(model, "cuda", cuda, n_vocab);
        if (memcmp(cpu, cuda, n * sizeof *cpu) != 0)
            fail_msg("EMU_LOST=%s: other logits", told);
        unsetenv("EMU_LOST");
    }
    free(cpu);
    free(cuda);
    carat_model_close(model);
}

int main(void)
{
    all = tier_is_deep();

    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(logits_have_the_committed_hashes, has_gpu),
        cmocka_unit_test_setup(sessions_go_back_and_on_as_on_the_cpu, has_gpu),
        cmocka_unit_test_setup(drafters_guess_as_on_the_cpu, has_gpu),
        cmocka_unit_test_setup(batches_decode_as_on_the_cpu, has_gpu),
        cmocka_unit_test_setup(vectors_of_texts_are_those_of_the_cpu, has_gpu),
        cmocka_unit_test_setup(vectors_survive_a_lost_device, has_gpu),
        cmocka_unit_test_setup(devices_are_chosen_and_refused, has_gpu),
        cmocka_unit_test_setup(a_device_without_room_is_refused, has_gpu),
        cmocka_unit_test_setup(devices_are_described, has_gpu),
        cmocka_unit_test_setup(auto_takes_the_gpu_or_the_cpu, has_gpu),
        cmocka_unit_test_setup(a_wrong_device_is_refused, has_gpu),
        cmocka_unit_test_setup(a_wrong_kernel_is_refused, has_gpu),
        cmocka_unit_test_setup(a_wrong_kernel_for_a_type_is_refused, has_gpu),
        cmocka_unit_test_setup(every_call_may_fail, has_gpu),
        cmocka_unit_test_setup(a_lost_device_loses_no_session, has_gpu),
    };
    return cmocka_run_group_tests_name("engine: cuda, emulated", tests, NULL, NULL);
}
