/* SPDX-License-Identifier: Apache-2.0 */
/* test_timeline_file.c: timelines as files: the same bytes whatever made them, sessions that go on from one
 * with the bits of one that never stopped, and files that are refused and leave the session as it was. */
#include "os/scratch.h"
#include "timeline_util.h"

#include <signal.h>
#include <sys/resource.h>

#include "checkpoint/checkpoint.h"
#include "file/timeline.h"

enum { LONG = 280 };

static const char *in_scratch(char out[PATH_SIZE], const char *name)
{
    return path_join(out, scratch, name);
}

static struct ct_bytes file_bytes(const char *name)
{
    char path[PATH_SIZE];
    struct ct_bytes b;
    b.data = read_whole(in_scratch(path, name), &b.size);
    return b;
}

static void put_file(const char *name, const void *p, size_t n)
{
    char path[PATH_SIZE];
    FILE *f = fopen(in_scratch(path, name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    fclose(f);
}

static void save(carat_session *s, const char *name)
{
    char path[PATH_SIZE];
    OK(carat_save(s, in_scratch(path, name), "a note", 6, err));
}

static void expect_file(const struct ct_bytes *right, const char *how)
{
    struct ct_bytes b = file_bytes("b");
    if (b.size != right->size || memcmp(b.data, right->data, b.size) != 0)
        fail_msg("%s: %s: another file", where, how);
    free((void *)(uintptr_t)b.data);
}

/* ---- equal bytes, equal bits ---- */

/* Nothing is in it but K and V of what can be seen, the logits, the ids, and a little to say so: 64 KiB
 * beside K, V and logits are enough for 16000 tokens. */
static void check_size(size_t found, const struct ct_config *c, carat_kv kv, int n)
{
    const size_t of_kv[] = {[CARAT_KV_BF16] = 2, [CARAT_KV_F16] = 2, [CARAT_KV_F32] = 4};
    size_t least = (size_t)n * sizeof(int32_t) + (size_t)c->n_vocab * sizeof(float);

    for (int i = 0; i < c->n_layer; i++) {
        const struct ct_layer_config *l = &c->layer[i];
        const int window = c->attn[l->attn_type].window, seen = window && n >= window ? window - 1 : n;
        const size_t dim = (size_t)l->head_dim, rows = 2 * (size_t)l->n_kv_head * (size_t)seen;
        if (l->kv_layer == i) /* others store nothing */
            least += rows * (kv == CARAT_KV_Q8 ? (dim + 31) / 32 * 34 : dim * of_kv[kv]);
    }
    assert_in_range(found, least, least + 256);
}

static void files_of_one_model(carat_model *model, const carat_model_info *info)
{
    static const struct {
        int chunk, threads;
        const char *isa;
    } ways[] = {{1, 1, NULL}, {3, 3, NULL}, {256, 1, NULL}, {16, 2, "ref"}};
    char path[PATH_SIZE];
    (void)info;
    for (size_t m = 0; m < N_MODE; m++) {
        if (!takes_mode(m))
            continue;
        name_mode(&modes[m]);
        struct baseline b = baseline_of(model, &modes[m], LONG + 5, 90);
        carat_engine_options o = options_of(&modes[m], 16, 1);
        struct rig r = rig_open(model, &o);
        OK(carat_sync(r.session[0], b.ids.id, LONG, NULL, err));
        save(r.session[0], "a");
        rig_close(&r);
        struct ct_bytes right = file_bytes("a");
        check_size(right.size, &model->config, modes[m].kv, LONG);
        /* a mode has two of the ways in half of the models, and the others in the rest */
        for (size_t i = (m + (size_t)model_turn / 8) % 2; i < sizeof ways / sizeof *ways; i += 2) {
            o = options_of(&modes[m], ways[i].chunk, ways[i].threads);
            o.isa = ways[i].isa;
            o.context = 300 + 50 * (int)i;
            o.sessions = 2;
            r = rig_open(model, &o);
            carat_session *s = r.session[0];
            carat_row rows[2] = {{.session = s, .tokens = b.ids.id, .n = 100},
                                 {.session = r.session[1], .tokens = b.ids.id + 7, .n = 30}};
            if (i % 2) /* with a neighbour */
                OK(carat_step(r.engine, rows, sizeof(carat_row), 2, err));
            OK(carat_append(s, b.ids.id + 100 * (i % 2), LONG + 5 - 100 * (int)(i % 2), err));
            OK(carat_rewind(s, LONG - 1 - 200 * (int)(i / 2), err)); /* some of it behind the window */
            OK(carat_append(s, b.ids.id + carat_tokens_held(s, NULL), LONG - carat_tokens_held(s, NULL),
                            err));
            save(s, "b");
            expect_file(&right, "in another way");
            /* and on from there: in a session that held something else */
            carat_session *other = r.session[1];
            char *note = NULL;
            size_t n = 0;
            int reused = 0;
            OK(carat_load(other, in_scratch(path, "a"), &note, &n, err));
            assert_int_equal(n, 6);
            assert_string_equal(note, "a note");
            carat_free(note);
            check_stats(other, LONG, LONG, 0);
            check_logits(other, &b, r.n_vocab, "loaded");
            save(other, "b");
            expect_file(&right, "loaded");
            OK(carat_sync(other, b.ids.id, LONG, &reused, err));
            assert_int_equal(reused, LONG);
            for (int k = LONG; k < LONG + 5; k++) {
                OK(carat_append(other, b.ids.id + k, 1, err));
                check_logits(other, &b, r.n_vocab, "after it was loaded");
            }
            /* and back, to where it has less than its blocks reach, and where it has nothing */
            OK(carat_load(other, in_scratch(path, "a"), NULL, NULL, err));
            for (int back = LONG - 1; back >= 20; back -= 1 + back / 3) {
                OK(carat_rewind(other, back, err));
                OK(carat_append(other, b.ids.id + back, 2, err));
                check_logits(other, &b, r.n_vocab, "back from what was loaded");
            }
            rig_close(&r);
        }
        free((void *)(uintptr_t)right.data);
        baseline_free(&b);
    }
}

static void files_are_equal_and_go_on(void **state)
{
    (void)state;
    for_every_model(files_of_one_model, 0);
}

/* What is saved of a session that lacks something is what one that has it saves, but for the logits. */
static void what_is_lacking_comes_first(void **state)
{
    (void)state;
    struct windowed w = windowed_open();
    struct ids ids = scattered_ids(1000, model_info(w.model).n_text_vocab, 91);
    carat_engine_options o = options_of(&modes[FAST], 64, 1);
    struct rig r = rig_open(w.model, &o);
    carat_session *s = r.session[0];
    OK(carat_append(s, ids.id, 501, err));
    OK(carat_rewind(s, 500, err));
    save(s, "a");
    struct ct_bytes right = file_bytes("a");
    OK(carat_sync(s, ids.id, 1000, NULL, err));
    OK(carat_rewind(s, 500, err));
    save(s, "b");
    expect_file(&right, "behind the window");
    free((void *)(uintptr_t)right.data);
    free(ids.id);
    rig_close(&r);
    windowed_close(&w);
}

/* ---- refused ---- */

static carat_model *gemma;
static struct rig rig;
static struct ct_bytes good;
static float *logits; /* that the session holds */

enum { HELD = 20 };

static int open_gemma(void **state)
{
    make_scratch(state);
    gemma = open_own("models/gemma3-bf16");
    carat_engine_options o = options_of(&modes[FAST], 16, 1);
    o.context = 128;
    rig = rig_open(gemma, &o);
    struct ids ids = scattered_ids(100, rig.n_vocab, 92);
    OK(carat_sync(rig.session[0], ids.id, 60, NULL, err));
    save(rig.session[0], "good");
    good = file_bytes("good");
    OK(carat_sync(rig.session[0], ids.id + 40, HELD, NULL, err));
    logits = malloc((size_t)rig.n_vocab * sizeof *logits);
    memcpy(logits, carat_logits(rig.session[0]), (size_t)rig.n_vocab * sizeof *logits);
    free(ids.id);
    return 0;
}

static int close_gemma(void **state)
{
    rig_close(&rig);
    carat_model_close(gemma);
    free((void *)(uintptr_t)good.data);
    free(logits);
    return drop_scratch(state);
}

/* A note is there wherever the file is whole, whatever model it is of. */
static void check_note(const char *path, carat_status of_load, const char *says)
{
    char *note = NULL;
    size_t n = 0;
    bool whole = strstr(says, "is a timeline of ") || strstr(says, "is a timeline with ") ||
                 of_load == CARAT_E_CONTEXT || of_load == CARAT_E_NUMERIC;
    carat_status found = carat_load_note(path, &note, &n, NULL);
    assert_int_equal(found, whole ? CARAT_OK : of_load);
    if (whole) {
        assert_int_equal(n, 6);
        assert_string_equal(note, "a note");
    }
    carat_free(note);
}

static void refused(const char *name, carat_status status, const char *says)
{
    char path[PATH_SIZE];
    carat_error e = {CARAT_OK, ""};
    carat_status found = carat_load(rig.session[0], in_scratch(path, name), NULL, NULL, &e);
    if (found != status || !strstr(e.message, says))
        fail_msg("%s gave %s: %s, not %s", name, carat_status_name(found), e.message, says);
    check_sentence(e.message);
    assert_non_null(strstr(e.message, path));
    check_note(path, found, e.message);
    assert_int_equal(carat_tokens_held(rig.session[0], NULL), HELD);
    assert_memory_equal(carat_logits(rig.session[0]), logits, (size_t)rig.n_vocab * sizeof *logits);
}

static void show_bytes(char *out, const uint8_t *p, size_t n, bool hash)
{
    uint64_t number = 0;

    if (n > sizeof number) {
        char *to = out + sprintf(out, "\"");
        for (size_t i = 0; i < n; i++)
            to += sprintf(to, p[i] >= ' ' && p[i] <= '~' && !strchr("\"\\", p[i]) ? "%c" : "\\x%02x", p[i]);
        strcpy(to, "\"");
        return;
    }
    memcpy(&number, p, n);
    sprintf(out, hash ? "%016llx" : "%llu", (unsigned long long)number);
}

/* What is said of a byte of the header from 12 on that is not as in `good`. */
static void name_changed_field(char says[512], const uint8_t *changed, size_t byte)
{
    static const struct {
        size_t at;
        const char *name;
    } fields[] = {
        {12, "the version of numerics"},
        {16, "the size of the file"},
        {24, "the model's hash"},
        {56, "the arithmetic"},
        {60, "the type of K and V"},
        {64, "the first layer"},
        {68, "the number of layers"},
        {72, "the vocabulary"},
        {76, "the number of tokens"},
        {80, "the lowest local position"},
        {84, "the number of logits"},
        {88, "the size of K and V"},
        {96, "the size of the note"},
        {104, "the hash of the tokens"},
        {112, "the hash of K and V"},
        {120, "the hash of the logits"},
        {128, "the hash of the note"},
        {136, "the hash of the header"},
        {144, NULL},
    };
    size_t i = 0;
    char found[160], expected[160];

    while (fields[i + 1].at <= byte)
        i++;
    const size_t at = fields[i].at, n = fields[i + 1].at - at;
    show_bytes(found, changed + at, n, at >= 104);
    show_bytes(expected, good.data + at, n, at >= 104);
    snprintf(says, 512, "in the header of the timeline file: %s is %s, expected %s (at byte ", fields[i].name,
             found, expected);
}

static void damaged_files(void **state)
{
    (void)state;
    uint8_t *p = malloc(good.size + 1);
    const size_t head = sizeof(struct ct_timeline_header);
    for (size_t n = 0; n < good.size; n += n < head + 4 ? 1 : 1 + good.size / 50) {
        put_file("cut", good.data, n);
        refused("cut", CARAT_E_FORMAT, "");
    }
    memcpy(p, good.data, good.size);
    p[good.size] = 0;
    put_file("longer", p, good.size + 1);
    refused("longer", CARAT_E_FORMAT, "has");
    for (size_t i = 0; i < good.size; i += i < head ? 1 : 1 + good.size / 100) {
        char says[512] = "the timeline file is damaged";
        memcpy(p, good.data, good.size);
        p[i] ^= 0x10;
        if (i >= 12 && i < head)
            name_changed_field(says, p, i);
        put_file("flipped", p, good.size);
        refused("flipped", i >= 8 && i < 12 ? CARAT_E_UNSUPPORTED : CARAT_E_FORMAT, i < 12 ? "" : says);
    }
    free(p);
}

/* Each bit of the header: field, what is found, what is expected. */
static void changed_bits_are_named(void **state)
{
    (void)state;
    uint8_t *p = malloc(good.size);
    memcpy(p, good.data, good.size);
    for (size_t i = 12; i < sizeof(struct ct_timeline_header); i++) {
        for (int change = 1; change < 256; change <<= SANITIZED ? 4 : 1) {
            struct ct_timeline t;
            carat_error e;
            char says[512];
            p[i] = good.data[i] ^ (uint8_t)change;
            name_changed_field(says, p, i);
            if (ct_timeline_read(&t, "x", (struct ct_bytes){p, good.size}, &e) != CARAT_E_FORMAT ||
                !strstr(e.message, says))
                fail_msg("byte %zu: %s, expected %s", i, e.message, says);
        }
        p[i] = good.data[i];
    }
    free(p);
}

/* Where more is changed than a byte, what else is wrong is named before the hash. */
static void damaged_headers(void **state)
{
    static const struct {
        size_t at;
        const char *says;
        uint8_t bytes[8];
        size_t n;
    } cases[] = {
        {76, "the number of tokens is 4294967040, expected 1 to 16777216", {0, 0xff, 0xff, 0xff}, 4},
        {16, "bytes, expected the 1095216660480 that the timeline file says", {0, 0, 0, 0, 0xff, 0, 0, 0}, 8},
        {96, "66051 bytes, expected the", {3, 2, 1, 0}, 4},
        {88, " tokens, 1 bytes of K and V", {1, 0, 0, 0, 0, 0, 0, 0}, 8},
        {104, "the hash of the tokens is ", {1, 2, 3, 4, 5, 6, 7, 8}, 8},
        {112, "the hash of K and V is ", {1, 2, 3, 4, 5, 6, 7, 8}, 8},
        {120, "the hash of the logits is ", {1, 2, 3, 4, 5, 6, 7, 8}, 8},
        {128, ", expected 0807060504030201: the timeline file is damaged", {1, 2, 3, 4, 5, 6, 7, 8}, 8},
        {64, "the hash of the header is ", {1, 0, 0, 0, 1, 0, 0, 0}, 8},
        {136, "the hash of the header is 0807060504030201, expected ", {1, 2, 3, 4, 5, 6, 7, 8}, 8},
    };
    (void)state;
    uint8_t *p = malloc(good.size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        memcpy(p, good.data, good.size);
        memcpy(p + cases[i].at, cases[i].bytes, cases[i].n);
        put_file("header", p, good.size);
        refused("header", CARAT_E_FORMAT, cases[i].says);
    }
    struct ct_timeline t;
    OK(ct_timeline_read(&t, "good", good, err));
    t.numerics = 0xff; /* the largest that a byte may have been */
    const struct ct_timeline_header h = ct_timeline_head(&t);
    memcpy(p, good.data, good.size);
    memcpy(p, &h, sizeof h);
    p[12] = 1;
    put_file("header", p, good.size);
    refused("header", CARAT_E_FORMAT, "the version of numerics is 1, expected 255 (at byte 12)");
    free(p);
}

/* Files whose hashes are right, one fact of each being another. */
static void other_facts(void **state)
{
    (void)state;
    struct ct_timeline t;
    carat_error e;
    size_t size;
    assert_int_equal(ct_timeline_read(&t, "good", good, &e), CARAT_OK);
    const struct ct_timeline_facts f = t.facts;
#define FACT(field, value, status, says)                                                                     \
    do {                                                                                                     \
        uint8_t *copy = malloc(good.size);                                                                   \
        memcpy(copy, good.data, good.size);                                                                  \
        ct_timeline_divide(&t, (struct ct_bytes){copy, good.size}, &size);                                   \
        struct ct_timeline_header h = ct_timeline_head(&t);                                                  \
        h.facts.field = (value);                                                                             \
        h.header_hash = 0;                                                                                   \
        t.facts = h.facts;                                                                                   \
        h.header_hash = ct_timeline_head(&t).header_hash;                                                    \
        memcpy(copy, &h, sizeof h);                                                                          \
        put_file("fact", copy, good.size);                                                                   \
        refused("fact", status, says);                                                                       \
        t.facts = f;                                                                                         \
        free(copy);                                                                                          \
    } while (0)
    FACT(content[3], f.content[3] == '0' ? '1' : '0', CARAT_E_UNSUPPORTED, "content hash");
    FACT(content[3], 'x', CARAT_E_FORMAT, "hexadecimal");
    FACT(arithmetic, CT_EXACT, CARAT_E_UNSUPPORTED, "exact arithmetic, expected fast");
    FACT(arithmetic, CT_FAST8, CARAT_E_UNSUPPORTED, "fast8 arithmetic, expected fast");
    FACT(arithmetic, 3, CARAT_E_FORMAT, "the arithmetic is 3");
    FACT(kv, CARAT_KV_F16, CARAT_E_UNSUPPORTED, "type f16, expected bf16");
    FACT(kv, 9, CARAT_E_FORMAT, "type of K and V");
    FACT(first_layer, 1, CARAT_E_UNSUPPORTED, "first layer 1, expected 0");
    FACT(layers, f.layers - 1, CARAT_E_UNSUPPORTED, "number of layers");
    FACT(layers, 0, CARAT_E_FORMAT, "number of layers is 0");
    FACT(n_vocab, 3, CARAT_E_FORMAT, "number of logits is");
    FACT(lowest, f.lowest + 1, CARAT_E_UNSUPPORTED, "lowest local position");
    FACT(lowest, f.n + 1, CARAT_E_FORMAT, "lowest local position");
    FACT(n, 0, CARAT_E_FORMAT, "number of tokens is 0");
    FACT(n, f.n + 1, CARAT_E_FORMAT, "header of the timeline file: 61 tokens, ");
    FACT(n, UINT32_MAX, CARAT_E_FORMAT, "number of tokens");
    FACT(n_logits, 1, CARAT_E_FORMAT, "number of logits is 1");
    FACT(kv_size, UINT64_MAX - 100, CARAT_E_FORMAT, " bytes of K and V, ");
    FACT(kv_size, UINT64_MAX, CARAT_E_FORMAT, "18446744073709551615 bytes of K and V, ");
    FACT(note_size, (uint64_t)CT_TIMELINE_NOTE + 1, CARAT_E_FORMAT, "size of the note");
    t.numerics++;
    FACT(arithmetic, f.arithmetic, CARAT_E_UNSUPPORTED, "numerics version 2, expected 1");
}

/* A file whose parts were changed, with hashes that are right. */
static void other_parts(void **state)
{
    (void)state;
    static const uint8_t nan[4] = {0xff, 0xff, 0xff, 0x7f}, id[4] = {0xff, 0xff, 0, 0};
    for (int part = 0; part < CT_TIMELINE_LOGITS + 1; part++) {
        uint8_t *copy = malloc(good.size);
        struct ct_timeline t;
        carat_error e;
        memcpy(copy, good.data, good.size);
        assert_int_equal(ct_timeline_read(&t, "good", (struct ct_bytes){copy, good.size}, &e), CARAT_OK);
        uint8_t *at = copy + (t.part[part].data - copy) + t.part[part].size / 8 * 4;
        memcpy(at, part == CT_TIMELINE_IDS ? id : nan, 4);
        struct ct_timeline_header h = ct_timeline_head(&t);
        memcpy(copy, &h, sizeof h);
        put_file("part", copy, good.size);
        refused("part", part == CT_TIMELINE_IDS ? CARAT_E_FORMAT : CARAT_E_NUMERIC,
                part == CT_TIMELINE_IDS  ? "token 30 is 65535"
                : part == CT_TIMELINE_KV ? "part: its K and V hold NaN"
                                         : "part: its logits hold NaN");
        free(copy);
    }
}

/* Of each type of K and V: what is not finite is found wherever it stands, and the largest numbers are
 * none. */
static void not_finite(void **state)
{
    static const struct {
        size_t mode;
        int bytes;
        uint32_t most, infinity;
    } types[] = {{1, 2, 0x7f7f, 0x7f80},
                 {2, 2, 0x7bff, 0x7c00},
                 {5, 4, 0x7f7fffff, 0x7f800000},
                 {FAST_Q8, 34, 0x7bff, 0x7c00}};
    char path[PATH_SIZE];
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        carat_engine_options o = options_of(&modes[types[i].mode], 16, 1);
        struct rig r = rig_open(gemma, &o);
        struct ids ids = scattered_ids(11, r.n_vocab, 93);
        OK(carat_sync(r.session[0], ids.id, 11, NULL, err));
        save(r.session[0], "a");
        struct ct_bytes file = file_bytes("a");
        struct ct_timeline t;
        OK(ct_timeline_read(&t, "a", file, err));
        size_t bytes = (size_t)types[i].bytes, width = bytes == 4 ? 4 : 2;
        size_t last = t.part[CT_TIMELINE_KV].size / bytes - 1;
        for (size_t k = 0; k <= last; k = k == last ? k + 1 : CT_MIN(last, k + 1 + k / 3))
            for (uint32_t what = 0; what < 4; what++) { /* most, infinity; above zero, below */
                uint8_t *at = (uint8_t *)(uintptr_t)t.part[CT_TIMELINE_KV].data + k * bytes, kept[4];
                uint32_t value = (what & 1 ? types[i].infinity : types[i].most) |
                                 (what & 2 ? width == 4 ? 0x80000000u : 0x8000u : 0);
                memcpy(kept, at, width);
                memcpy(at, &value, width);
                struct ct_timeline_header h = ct_timeline_head(&t);
                memcpy((uint8_t *)(uintptr_t)file.data, &h, sizeof h);
                put_file("b", file.data, file.size);
                memcpy(at, kept, width);
                assert_int_equal(carat_load(r.session[0], in_scratch(path, "b"), NULL, NULL, NULL),
                                 what & 1 ? CARAT_E_NUMERIC : CARAT_OK);
            }
        free((void *)(uintptr_t)file.data);
        free(ids.id);
        rig_close(&r);
    }
}

static void no_such_files(void **state)
{
    (void)state;
    char path[PATH_SIZE], other[PATH_SIZE];
    carat_session *small;
    refused("absent", CARAT_E_NOT_FOUND, "");
    assert_int_equal(mkdir(in_scratch(path, "directory"), 0700), 0);
    refused("directory", CARAT_E_IO, "directory");
    assert_int_equal(mkfifo(in_scratch(path, "pipe"), 0600), 0);
    refused("pipe", CARAT_E_IO, "pipe");
    assert_int_equal(symlink("nowhere", in_scratch(path, "link")), 0);
    refused("link", CARAT_E_NOT_FOUND, "");
    carat_engine_options o = options_of(&modes[FAST], 16, 1);
    o.context = 59;
    struct rig r = rig_open(gemma, &o);
    small = r.session[0];
    FAILS(CARAT_E_CONTEXT, carat_load(small, in_scratch(path, "good"), NULL, NULL, err));
    assert_int_equal(carat_tokens_held(small, NULL), 0);
    rig_close(&r);
    FAILS(CARAT_E_ARGUMENT, carat_load(NULL, path, NULL, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_load(rig.session[0], NULL, NULL, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_load_note(NULL, &(char *){NULL}, NULL, err));
    FAILS(CARAT_E_ARGUMENT, carat_load_note(path, NULL, NULL, err));
    (void)other;
}

/* What cannot be written leaves nothing, and an older file as it was. */
static void saving_refuses(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    carat_session *s = rig.session[0];
    struct stat st;
    const struct rlimit small = {1000, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    in_scratch(path, "older");
    put_file("older", "as it was", 9);
    FAILS(CARAT_E_ARGUMENT, carat_save(NULL, path, NULL, 0, err));
    FAILS(CARAT_E_ARGUMENT, carat_save(s, NULL, NULL, 0, err));
    FAILS(CARAT_E_ARGUMENT, carat_save(s, path, NULL, 1, err));
    FAILS(CARAT_E_ARGUMENT, carat_save(s, path, path, (size_t)CT_TIMELINE_NOTE + 1, err));
    FAILS(CARAT_E_IO, carat_save(s, "/nowhere/at/all", NULL, 0, err));
    FAILS(CARAT_E_IO, carat_save(s, scratch, NULL, 0, err));
    FAILS(CARAT_E_ARGUMENT,
          carat_save(s, CT_TEST_DATA "/vectors/models/gemma3-bf16/model.safetensors", NULL, 0, err));
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    FAILS(CARAT_E_IO, carat_save(s, path, NULL, 0, err));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
    struct ct_bytes b = file_bytes("older");
    assert_int_equal(b.size, 9);
    assert_memory_equal(b.data, "as it was", 9);
    free((void *)(uintptr_t)b.data);
    in_scratch(path, "older.carat-part");
    assert_int_not_equal(stat(path, &st), 0);
    carat_engine_options o = options_of(&modes[FAST], 16, 1);
    struct rig r = rig_open(gemma, &o);
    FAILS(CARAT_E_ARGUMENT, carat_save(r.session[0], path, NULL, 0, err)); /* it holds nothing */
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_equal_and_go_on),
        cmocka_unit_test(what_is_lacking_comes_first),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(changed_bits_are_named),
        cmocka_unit_test(damaged_headers),
        cmocka_unit_test(other_facts),
        cmocka_unit_test(other_parts),
        cmocka_unit_test(not_finite),
        cmocka_unit_test(no_such_files),
        cmocka_unit_test(saving_refuses),
    };
    return cmocka_run_group_tests(tests, open_gemma, close_gemma);
}
