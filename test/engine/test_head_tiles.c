/* SPDX-License-Identifier: Apache-2.0 */
/* test_head_tiles.c: logits out of tiles. Native tiles give dense's bits, however few are kept, for every
 * model, from the file and packed, with one to three threads, and in batches; int8 tiles are the head as a
 * Q8_0 tensor, encoded here once more. What is counted is exact; what is not kept is not in memory; a pass
 * that is stopped while it makes a tile leaves no trace. Which tiles are kept: test/model/test_tiles.c.
 * Shortlists: test_head_audit.c. */
#include "os/scratch.h"

#include "head_util.h"

#include "engine/engine.h"
#include "os/memory.h"

#include <math.h>
#include <sys/prctl.h>

enum { N = 13 };

/* ---- native tiles ---- */

static void check_native(carat_model *model, const struct baseline *b, const carat_head_options *h, int chunk,
                         int threads, const char *isa)
{
    const int n_vocab = model_info(model).n_vocab;
    carat_engine_options o = options_of(&modes[FAST], chunk, threads);

    o.head = h;
    o.isa = isa;
    struct rig r = rig_open(model, &o);
    float *logits = step_all(&r, 0, &b->ids);
    char what[128];
    snprintf(what, sizeof what, "%s, tile %d, capacity %d, chunk %d, %d threads, isa %s",
             carat_head_name(h->strategy), h->tile, h->capacity, chunk, threads, isa ? isa : "best");
    for (int i = 0; i < N; i++)
        expect_same(logits + (size_t)i * (size_t)n_vocab, row_of(b, i, n_vocab), (size_t)n_vocab, what, i);
    const carat_head_stats s = stats_of(r.engine);
    assert_true(s.exact && s.strategy == h->strategy && s.tiles == (n_vocab + s.tile - 1) / s.tile);
    assert_int_equal(s.evaluated, s.hits + s.misses);
    assert_true(s.tokens == N && s.evaluated % (uint64_t)s.tiles == 0);
    free(logits);
    rig_close(&r);
}

static void check_capacities(carat_model *model, const carat_model_info *info)
{
    struct baseline b = baseline_of(model, &modes[FAST], N, 5);

    for (int tile = 0; tile <= info->n_vocab && tile <= 128; tile += SMALL) {
        const int tiles = tile ? (info->n_vocab + tile - 1) / tile : 1;
        const int capacities[] = {1, 2, tiles / 2, tiles};
        carat_head_options h = head_options(CARAT_HEAD_PRELOAD, tile, 0);
        check_native(model, &b, &h, 1 + tile / 32, 1 + tile / 64, NULL);
        for (int i = 0; i < 4; i++) {
            if (capacities[i] < 1 || capacities[i] > tiles)
                continue;
            if (SANITIZED && i != (model_turn + tile / SMALL) % 4)
                continue;
            h = head_options(CARAT_HEAD_LAZY, tile, capacities[i]);
            check_native(model, &b, &h, 1 + (i * 5) % 8, 1 + i % 3, i == 2 ? "ref" : NULL);
        }
    }
    baseline_free(&b);
}

/* From the file, whose rows are packed into slots, and out of a packed one, where tiles are read as they
 * lie. */
static void check_model(carat_model *model, const carat_model_info *info)
{
    char path[sizeof scratch + 16];
    carat_model *packed = NULL;

    check_capacities(model, info);
    snprintf(path, sizeof path, "%s/packed.carat", scratch);
    OK(carat_model_pack(model, path, NULL, NULL, err));
    OK(carat_model_open(&packed, path, NULL, err));
    check_capacities(packed, info);
    carat_model_close(packed);
}

static void native_tiles_have_the_bits_of_dense(void **unused)
{
    carat_model *tiny = NULL;
    carat_model_info info;

    (void)unused;
    for_every_model(check_model, 0);
    OK(carat_model_open(&tiny, TINY, NULL, err));
    info = model_info(tiny);
    snprintf(where, sizeof where, "tiny");
    check_model(tiny, &info);
    carat_model_close(tiny);
}

/* Scales for a whole tensor are kept by copies of rows. */
static void tensors_with_a_scale_are_tiled(void **unused)
{
    static const char *const files[] = {"g1-each.sbs", "g3-i8.sbs", "g3-nuq.sbs", "g2-f32.sbs"};

    (void)unused;
    for (size_t i = 0; i < CT_COUNT(files); i++) {
        char path[PATH_SIZE];
        carat_model *model = NULL;
        OK(carat_model_open(&model, path_join(path, CT_TEST_DATA "/sbs", files[i]), NULL, err));
        const carat_model_info info = model_info(model);
        snprintf(where, sizeof where, "%s", files[i]);
        check_capacities(model, &info);
        carat_model_close(model);
    }
    carat_model *tiny = NULL;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    tiny->weights.head.scale = tiny->weights.embed.scale = 0.75f;
    const carat_model_info info = model_info(tiny);
    snprintf(where, sizeof where, "tiny with a scale");
    check_capacities(tiny, &info);
    carat_model_close(tiny);
}

static void batches_have_the_bits_of_dense(void **unused)
{
    enum { MOST = 8 };
    carat_model *tiny = NULL;
    struct baseline b[MOST];

    (void)unused;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    snprintf(where, sizeof where, "tiny in batches");
    for (int i = 0; i < MOST; i++)
        b[i] = baseline_of(tiny, &modes[FAST], N, 30 + (uint32_t)i);
    for (int sessions = 1; sessions <= MOST; sessions += 1 + sessions / 3)
        for (int capacity = 0; capacity <= 5; capacity += 5) {
            const carat_head_options h = head_options(CARAT_HEAD_LAZY, SMALL, capacity);
            carat_engine_options o = options_of(&modes[FAST], 64, 1 + sessions % 3);
            carat_row rows[MOST];
            o.sessions = sessions;
            o.head = &h;
            struct rig r = rig_open(tiny, &o);
            for (int at = 0; at < N; at++) {
                for (int i = 0; i < sessions; i++)
                    rows[i] = (carat_row){.session = r.session[i], .tokens = b[i].ids.id + at, .n = 1};
                OK(carat_step(r.engine, rows, sizeof(carat_row), sessions, err));
                for (int i = 0; i < sessions; i++)
                    expect_same(carat_logits(r.session[i]), row_of(&b[i], at, r.n_vocab), (size_t)r.n_vocab,
                                "a batch", at);
            }
            rig_close(&r);
        }
    for (int i = 0; i < MOST; i++)
        baseline_free(&b[i]);
    carat_model_close(tiny);
}

static void uses_are_counted(void **unused)
{
    carat_model *tiny = NULL;

    (void)unused;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    const struct ct_weight *w = &tiny->weights.head;
    const uint64_t row = w->row_bytes, tiles = 16, scans = N;
    for (int capacity = 1; capacity <= 16; capacity += 3) {
        const carat_head_options h = head_options(CARAT_HEAD_LAZY, SMALL, capacity);
        carat_engine_options o = options_of(&modes[FAST], 1, 1);
        struct baseline b = baseline_of(tiny, &modes[FAST], N, 5);
        o.head = &h;
        struct rig r = rig_open(tiny, &o);
        free(step_all(&r, 0, &b.ids));
        const carat_head_stats s = stats_of(r.engine);
        const uint64_t stay = capacity == 16 ? 16 : (uint64_t)capacity - 1;
        assert_true(s.tiles == 16 && s.tile == SMALL && s.kept == capacity);
        assert_int_equal(s.evaluated, scans * tiles);
        assert_int_equal(s.hits, (scans - 1) * stay);
        assert_int_equal(s.misses, s.evaluated - s.hits);
        assert_int_equal(s.evictions, s.misses - (uint64_t)capacity);
        assert_int_equal(s.made_bytes, s.misses * SMALL * row); /* bf16 takes as much in panels */
        assert_int_equal(s.bytes, scans * 1024 * row);
        assert_int_equal(s.dense_bytes, s.bytes);
        assert_int_equal(s.tile_bytes, (uint64_t)capacity * SMALL * row);
        rig_close(&r);
        baseline_free(&b);
    }
    carat_model_close(tiny);
}

/* Pages of w that are in memory, of this process. */
static size_t resident_pages(const struct ct_weight *w)
{
    const size_t page = ct_os_page(), first = (uintptr_t)w->data / page;
    const size_t n = ((uintptr_t)w->data + ct_weight_bytes(w) - 1) / page - first + 1;
    FILE *f = fopen("/proc/self/pagemap", "rb");
    uint64_t *entry = malloc(n * sizeof *entry);
    size_t resident = 0;

    assert_non_null(entry);
    if (!f || fseek(f, (long)(first * sizeof *entry), SEEK_SET) != 0 ||
        fread(entry, sizeof *entry, n, f) != n)
        skip();
    for (size_t i = 0; i < n; i++)
        resident += entry[i] >> 63;
    free(entry);
    fclose(f);
    return resident;
}

/* What lies in a packed file is not read at the start, and then no more of it stays than is kept, and one
 * tile; that the system brings in neighbours of a page is another one. */
static void few_tiles_are_in_memory(void **unused)
{
    char path[sizeof scratch + 16];
    carat_model *tiny = NULL, *packed = NULL;

    (void)unused;
    if (SANITIZED)
        skip();
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0)
        skip(); /* the model is smaller than a huge page */
    OK(carat_model_open(&tiny, TINY, NULL, err));
    snprintf(path, sizeof path, "%s/packed.carat", scratch);
    OK(carat_model_pack(tiny, path, NULL, NULL, err));
    for (int capacity = 1; capacity <= 16; capacity += 5) {
        const carat_head_options h = head_options(CARAT_HEAD_LAZY, SMALL, capacity);
        carat_engine_options o = options_of(&modes[FAST], 16, 2);
        struct ids ids = scattered_ids(N, 1024, 5);
        OK(carat_model_open(&packed, path, NULL, err));
        const struct ct_weight *w = &packed->weights.head;
        const size_t tile = SMALL * 512 / ct_os_page(), before = resident_pages(w);
        o.head = &h;
        struct rig r = rig_open(packed, &o);
        assert_int_equal(resident_pages(w), before);
        free(step_all(&r, 0, &ids));
        const size_t after = resident_pages(w);
        assert_in_range(after, (size_t)capacity * tile, CT_MIN((size_t)capacity + 2, 16) * tile + 1);
        free(ids.id);
        rig_close(&r);
        carat_model_close(packed);
    }
    prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0);
    carat_model_close(tiny);
}

/* ---- who listens ---- */

struct listener {
    const struct baseline *b;
    int heads;
};

static void hear_head(void *user, const carat_tap *tap)
{
    struct listener *l = user;

    if (strcmp(tap->operation, "project_logits") != 0)
        return;
    assert_true(tap->rows == 1 && tap->width == 1024);
    expect_same(tap->values, row_of(l->b, *tap->positions, 1024), 1024, "a tap", *tap->positions);
    l->heads++;
    tap->values[7] = 1000; /* which is what the session draws */
}

/* The tiles of a token are one operation, with its logits and its bytes. */
static void listeners_hear_of_one_head(void **unused)
{
    carat_model *tiny = NULL;

    (void)unused;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    snprintf(where, sizeof where, "tiny, tapped");
    struct baseline b = baseline_of(tiny, &modes[FAST], N, 5);
    for (int capacity = 0; capacity <= 4; capacity += 4) {
        const carat_head_options h = head_options(CARAT_HEAD_LAZY, SMALL, capacity);
        carat_engine_options o = options_of(&modes[FAST], 1, 1);
        struct listener l = {&b, 0};
        carat_profile profile = {.size = sizeof profile};
        int32_t id = -1;
        o.head = &h;
        struct rig r = rig_open(tiny, &o);
        OK(carat_tap_begin(r.engine, hear_head, &l, err));
        carat_profile_begin(r.engine);
        for (int n = 1; n <= N; n++)
            OK(carat_sync(r.session[0], b.ids.id, n, NULL, err));
        OK(carat_profile_end(r.engine, &profile, err));
        assert_int_equal(l.heads, N);
        OK(carat_sample(r.session[0], NULL, &id, err));
        assert_int_equal(id, 7);
        for (int i = 0; i < profile.n; i++)
            if (strcmp(profile.operation[i].name, "head") == 0) {
                assert_int_equal(profile.operation[i].calls, N);
                assert_int_equal(profile.operation[i].bytes,
                                 (uint64_t)N * 1024 * tiny->weights.head.row_bytes);
            }
        rig_close(&r);
    }
    baseline_free(&b);
    carat_model_close(tiny);
}

/* ---- int8 ---- */

/* Q8_0 as its own rule has it, from the largest |value| of a scale's share. */
static void encode_q8(uint8_t *out, const float *x, int n, float largest)
{
    for (int g = 0; g < n / 32; g++, x += 32, out += 34) {
        const float d = largest / 127, inverse = d != 0 ? 1 / d : 0;
        const uint16_t half = ct_f32_to_f16(d);
        memcpy(out, &half, sizeof half);
        for (int i = 0; i < 32; i++)
            out[2 + i] = (uint8_t)(int8_t)roundf(x[i] * inverse);
    }
}

static float largest_of(const float *x, size_t n)
{
    float most = 0;

    for (size_t i = 0; i < n; i++)
        most = fmaxf(most, fabsf(x[i]));
    return most;
}

/* The logits of ids where the head is a tensor of int8, encoded here. */
static float *logits_of_int8(carat_model *model, carat_head_quant quant, const struct ids *ids)
{
    const struct ct_weights as_it_was = model->weights;
    const struct ct_weight *w = &as_it_was.embed;
    const int rows = w->rows, cols = w->cols;
    const size_t row_bytes = (size_t)cols / 32 * 34;
    float *x = malloc((size_t)rows * (size_t)cols * sizeof *x);
    uint8_t *codes = malloc((size_t)rows * row_bytes);

    for (int r = 0; r < rows; r++)
        ct_dequantize(w->type, x + (size_t)r * (size_t)cols,
                      (const uint8_t *)w->data + (size_t)r * w->row_bytes, (size_t)cols);
    const float all = largest_of(x, (size_t)rows * (size_t)cols);
    for (int r = 0; r < rows; r++) {
        const float *row = x + (size_t)r * (size_t)cols;
        uint8_t *to = codes + (size_t)r * row_bytes;
        for (int g = 0; g < cols / 32 && quant == CARAT_QUANT_GROUP; g++)
            encode_q8(to + g * 34, row + g * 32, 32, largest_of(row + g * 32, 32));
        if (quant != CARAT_QUANT_GROUP)
            encode_q8(to, row, cols, quant == CARAT_QUANT_TENSOR ? all : largest_of(row, (size_t)cols));
    }
    model->weights.tied = false;
    model->weights.head =
        (struct ct_weight){CT_Q8_0, CT_LAYOUT_ROWS, rows, cols, row_bytes, codes, 1, false, NULL};
    carat_engine_options o = options_of(&modes[FAST], 16, 1);
    struct rig r = rig_open(model, &o);
    float *logits = step_all(&r, 0, ids);
    rig_close(&r);
    model->weights = as_it_was;
    free(x);
    free(codes);
    return logits;
}

static void check_int8(carat_model *model, const carat_head_options *h, const struct ids *ids,
                       const float *want, int threads)
{
    const size_t n_vocab = (size_t)model_info(model).n_vocab;
    carat_engine_options o = options_of(&modes[FAST], 1 + threads, threads);
    char what[128];

    o.head = h;
    snprintf(what, sizeof what, "%s, quant %d, tile %d, capacity %d", carat_head_name(h->strategy),
             (int)h->quant, h->tile, h->capacity);
    struct rig r = rig_open(model, &o);
    float *logits = step_all(&r, 0, ids);
    for (int i = 0; i < ids->n; i++)
        expect_same(logits + (size_t)i * n_vocab, want + (size_t)i * n_vocab, n_vocab, what, i);
    assert_false(stats_of(r.engine).exact);
    free(logits);
    rig_close(&r);
}

static void check_int8_of(carat_model *model, const carat_model *origin)
{
    const int n_vocab = model_info(model).n_vocab;
    struct ids ids = scattered_ids(N, n_vocab, 5);

    for (int quant = CARAT_QUANT_GROUP; quant <= CARAT_QUANT_TENSOR; quant++) {
        float *want = logits_of_int8((carat_model *)(uintptr_t)origin, (carat_head_quant)quant, &ids);
        for (int capacity = 0; capacity <= 3; capacity += 1 + capacity / 2) {
            carat_head_options h = head_options(CARAT_HEAD_LAZY, SMALL, capacity);
            h.quant = (carat_head_quant)quant;
            check_int8(model, &h, &ids, want, 1 + capacity % 3);
            h.strategy = CARAT_HEAD_PRELOAD;
            check_int8(model, &h, &ids, want, 1 + capacity % 3);
        }
        free(want);
    }
    free(ids.id);
}

static void int8_tiles_are_a_tensor_of_q8(void **unused)
{
    static const char *const files[] = {TINY, CT_TEST_DATA "/vectors/gguf/gemma3-f16.gguf",
                                        CT_TEST_DATA "/vectors/gguf/q4_k_m.gguf"};
    char path[sizeof scratch + 16];

    (void)unused;
    snprintf(path, sizeof path, "%s/packed.carat", scratch);
    for (size_t i = 0; i < CT_COUNT(files); i++) {
        carat_model *model = NULL, *packed = NULL;
        OK(carat_model_open(&model, files[i], NULL, err));
        snprintf(where, sizeof where, "%s", files[i]);
        if (model->weights.embed.cols % 32 == 0 && model->weights.tied) {
            check_int8_of(model, model);
            OK(carat_model_pack(model, path, NULL, NULL, err));
            OK(carat_model_open(&packed, path, NULL, err));
            check_int8_of(packed, model);
            carat_model_close(packed);
        } else {
            assert_true(i > 0);
        }
        carat_model_close(model);
    }
}

/* ---- stopped passes ---- */

static int stop_after(void *user, size_t done, size_t total)
{
    (void)done;
    (void)total;
    return --*(int *)user < 0;
}

/* A pass asks at every job whether it goes on: it is stopped at each of them once, also within the making of
 * a tile. */
static void stopped_passes_leave_no_trace(void **unused)
{
    carat_head_options h = head_options(CARAT_HEAD_LAZY, SMALL, 3);
    carat_model *tiny = NULL;
    int left = 0, stopped = 0;

    (void)unused;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    snprintf(where, sizeof where, "tiny, stopped");
    struct baseline b = baseline_of(tiny, &modes[FAST], N, 5);
    carat_engine_options o = options_of(&modes[FAST], 1, 1);
    carat_session_options so = {.size = sizeof so, .watch = stop_after, .user = &left};
    carat_engine *engine = NULL;
    h.audit = 1;
    o.head = &h;
    OK(carat_engine_create(&engine, tiny, &o, err));
    for (int asked = 0;; asked++) {
        carat_session *s = NULL;
        carat_error e;
        left = asked;
        OK(carat_session_create(&s, engine, &so, err));
        carat_status status = carat_sync(s, b.ids.id, 2, NULL, &e);
        stopped += status == CARAT_E_CANCELLED;
        left = INT32_MAX;
        OK(carat_sync(s, b.ids.id, N, NULL, err));
        expect_same(carat_logits(s), row_of(&b, N - 1, 1024), 1024, "after a stop", N - 1);
        carat_session_close(s);
        if (!status)
            break;
    }
    assert_true(stopped > 100);
    assert_int_equal(stats_of(engine).differences, 0);
    carat_engine_close(engine);
    baseline_free(&b);
    carat_model_close(tiny);
}

struct loading {
    size_t most, total, stop_at; /* KiB; stop_at before the end */
};

static int hear_loading(void *user, size_t done, size_t total)
{
    struct loading *l = user;
    l->most = CT_MAX(l->most, done);
    l->total = total;
    return done + l->stop_at > total && l->stop_at;
}

/* Tiles that are made beforehand are the last tenth of what is loaded, and can be cancelled. */
static void loading_can_be_cancelled(void **unused)
{
    carat_model *tiny = NULL;

    (void)unused;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    for (int quant = CARAT_QUANT_GROUP; quant <= CARAT_QUANT_TENSOR; quant++)
        for (size_t stop_at = 0; stop_at <= 120; stop_at += 60) {
            carat_head_options h = head_options(CARAT_HEAD_PRELOAD, SMALL, 0);
            carat_engine_options o = options_of(&modes[FAST], 16, 2);
            struct loading l = {.stop_at = stop_at};
            carat_engine *engine = NULL;
            h.quant = (carat_head_quant)quant;
            o.head = &h;
            o.progress = hear_loading;
            o.user = &l;
            if (stop_at)
                FAILS(CARAT_E_CANCELLED, carat_engine_create(&engine, tiny, &o, err));
            else
                OK(carat_engine_create(&engine, tiny, &o, err));
            assert_true(l.most > l.total - CT_MAX(stop_at, 60) && l.most <= l.total);
            carat_engine_close(engine);
        }
    carat_model_close(tiny);
}

/* ---- refusals ---- */

static void refuses(const carat_model *model, carat_head_options h, const char *says)
{
    carat_engine_options o = options_of(&modes[FAST], 16, 1);
    carat_engine *engine = NULL;
    carat_error e;

    o.head = &h;
    FAILS(CARAT_E_ARGUMENT, carat_engine_create(&engine, model, &o, err));
    assert_int_equal(carat_engine_create(&engine, model, &o, &e), CARAT_E_ARGUMENT);
    if (!strstr(e.message, says))
        fail_msg("\"%s\" does not say \"%s\"", e.message, says);
}

static void bad_options_are_refused(void **unused)
{
    carat_model *tiny = NULL, *odd = NULL;
    carat_head_options h = head_options(CARAT_HEAD_LAZY, 0, 0);
    char line[256] = "";

    (void)unused;
    OK(carat_model_open(&tiny, TINY, NULL, err));
    for (int tile = -64; tile <= 1088; tile += tile == 64 ? 1024 : 1)
        if (tile && tile != 64)
            refuses(tiny, head_options(CARAT_HEAD_LAZY, tile, 0), "tile is");
    refuses(tiny, head_options(CARAT_HEAD_LAZY, SMALL, -1), "capacity is -1, expected 0 to 16");
    refuses(tiny, head_options(CARAT_HEAD_LAZY, SMALL, 17), "capacity is 17, expected 0 to 16");
    h.shortlist_tiles = 2;
    refuses(tiny, h, "shortlist_tiles is 2, expected 0 to 1");
    h.tile = SMALL;
    h.shortlist_tiles = -1;
    refuses(tiny, h, "shortlist_tiles is -1, expected 0 to 16");
    h.shortlist_tiles = 0;
    h.capacity_bytes = 32767;
    refuses(tiny, h, "capacity_bytes is 32767, expected at least the 32768 of a tile of 64 rows");
    h.capacity_bytes = 0;
    h.quant = (carat_head_quant)4;
    refuses(tiny, h, "quant is 4");
    h.quant = CARAT_QUANT_GROUP;
    h.strategy = CARAT_HEAD_DENSE;
    refuses(tiny, h, "quant is for tiles");
    h.quant = CARAT_QUANT_NATIVE;
    h.shortlist_tiles = 4;
    refuses(tiny, h, "shortlist_tiles is 4, and head dense");
    OK(carat_model_open(&odd, CT_TEST_DATA "/vectors/models/gemma3-bf16", NULL, err));
    h = head_options(CARAT_HEAD_PRELOAD, 0, 0);
    h.quant = CARAT_QUANT_CHANNEL;
    refuses(odd, h, "groups of 32 values, and its rows have 40");
    carat_model_close(odd);

    /* a shortlist that is longer than what is kept is worth a line; bytes are whole tiles */
    h = head_options(CARAT_HEAD_LAZY, SMALL, 0);
    h.shortlist_tiles = 3;
    h.capacity_bytes = 3 * 32768 - 1;
    h.log = hear_line;
    h.user = line;
    carat_engine_options o = options_of(&modes[FAST], 16, 1);
    carat_engine *engine = NULL;
    o.head = &h;
    OK(carat_engine_create(&engine, tiny, &o, err));
    assert_int_equal(stats_of(engine).kept, 2);
    assert_string_equal(line, "a shortlist of 3 tiles is longer than the 2 that are kept");
    carat_engine_close(engine);

    /* and so is int8 */
    h = head_options(CARAT_HEAD_PRELOAD, 0, 0);
    h.quant = CARAT_QUANT_GROUP;
    h.log = hear_line;
    h.user = line;
    OK(carat_engine_create(&engine, tiny, &o, err));
    assert_string_equal(line, "int8 tiles of the head are another model than the one in the file");
    carat_engine_close(engine);
    carat_model_close(tiny);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(native_tiles_have_the_bits_of_dense),
        cmocka_unit_test(tensors_with_a_scale_are_tiled),
        cmocka_unit_test(batches_have_the_bits_of_dense),
        cmocka_unit_test(uses_are_counted),
        cmocka_unit_test(few_tiles_are_in_memory),
        cmocka_unit_test(listeners_hear_of_one_head),
        cmocka_unit_test(int8_tiles_are_a_tensor_of_q8),
        cmocka_unit_test(stopped_passes_leave_no_trace),
        cmocka_unit_test(loading_can_be_cancelled),
        cmocka_unit_test(bad_options_are_refused),
    };
    return cmocka_run_group_tests_name("engine: head_tiles", tests, make_scratch, drop_scratch);
}
