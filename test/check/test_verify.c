/* SPDX-License-Identifier: Apache-2.0 */
/* test_verify.c: carat_verify: sound models of every container and type pass, damaged ones fail where the
 * damage is, the content hash does not depend on the container or layout, tokenizers are tried, and the call
 * can be cancelled. Published members are test_verify_shapes.c's, kernels test_verify_kernels.c's, the
 * command test/cli/show/test_verify.sh's. 20 seconds of processor time under sanitizers, 9 without: each
 * damage of each container is a file that is hashed and read whole. */
#include "file/file_build.h"
#include "verify_util.h"

#include <unistd.h>

#include "file/packed.h"
#include "layout/panel.h"

/* ---- sound models ---- */

static void passes(const char *path)
{
    carat_model *m = open_path(path);
    struct report *r = verify(m, 2);
    for (int i = 0; i < r->n; i++)
        if (r->check[i].verdict == 0)
            fail_msg("%s: %s: %s", path, r->check[i].name, r->check[i].detail);
    assert_int_equal(strlen(r->verdict.content), 32);
    free(r);
    carat_model_close(m);
}

static int pass_folder(const char *dir, const char *skip)
{
    char **names, path[PATH_SIZE];
    int n = list_folder(dir, &names), passed = 0;
    for (int i = 0; i < n; i++) {
        if (skip && strstr(names[i], skip))
            continue;
        passes(path_join(path, dir, names[i]));
        passed++;
    }
    free_names(names, n);
    return passed;
}

static void sound_models_pass(void **state)
{
    (void)state;
    char shared[PATH_SIZE], path[PATH_SIZE];
    passes(CT_TEST_DATA "/../../models/tiny");
    assert_true(pass_folder(CT_TEST_DATA "/vectors/gguf", NULL) >= 10);
    assert_true(pass_folder(CT_TEST_DATA "/vectors/models", NULL) >= 5);
    static const char *const sbs[] = {"g1-sfp", "g2-f32", "g3-i8", "g3-nuq", "g3-sfp", "v1/g2-bf16"};
    for (size_t i = 0; i < sizeof sbs / sizeof *sbs; i++) {
        snprintf(path, sizeof path, CT_TEST_DATA "/sbs/%s.sbs", sbs[i]);
        passes(path);
    }
    if (!shared_vectors(shared))
        return;
    pass_folder(path_join(path, shared, "gguf"), "00002-of-"); /* a part of a model */
    pass_folder(path_join(path, shared, "models"), NULL);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    carat_model *m = open_path(CT_TEST_DATA "/../../models/tiny");
    struct report *one = verify(m, 1), *five = verify(m, 5);
    for (int i = 0; i < one->n; i++)
        assert_string_equal(one->check[i].detail, five->check[i].detail);
    assert_string_equal(one->verdict.content, five->verdict.content);
    free(one);
    free(five);
    carat_model_close(m);
}

/* ---- the content hash ---- */

static void hash_of(const carat_model *m, char out[33])
{
    struct report *r = verify(m, 2);
    detail_of(r, "content", 1);
    memcpy(out, r->verdict.content, 33);
    free(r);
    char alone[33]; /* without the other checks */
    OK(carat_model_content(m, NULL, NULL, alone, err));
    assert_string_equal(alone, out);
}

static void hash_of_path(const char *path, char out[33])
{
    carat_model *m = open_path(path);
    hash_of(m, out);
    carat_model_close(m);
}

static void containers_have_one_hash(void **state)
{
    (void)state;
    char a[33], b[33], shared[PATH_SIZE], path[PATH_SIZE];
    hash_of_path(CT_TEST_DATA "/sbs/hf", a);
    hash_of_path(CT_TEST_DATA "/sbs/g2-f32.sbs", b);
    assert_string_equal(a, b);
    hash_of_path(CT_TEST_DATA "/vectors/gguf/gemma1-f32.gguf", b);
    assert_string_not_equal(a, b);
    if (!shared_vectors(shared))
        return;
    hash_of_path(path_join(path, shared, "models/gemma1-bf16"), a);
    hash_of_path(path_join(path, shared, "gguf/gemma1-bf16.gguf"), b);
    assert_string_equal(a, b);
    hash_of_path(path_join(path, shared, "gguf/split-bf16-00001-of-00002.gguf"), b);
    assert_string_equal(a, b);
}

static int count_calls(void *user, size_t done, size_t total)
{
    (void)done;
    (void)total;
    return ++*(int *)user > 1000000;
}

static int note_between(void *user, size_t done, size_t total)
{
    *(bool *)user |= done > 0 && done < total;
    return 0;
}

static void hashing_tells_how_far_it_is(void **state)
{
    bool between = false;
    char content[33];
    carat_model *m = open_path(CT_TEST_DATA "/../../models/tiny");

    (void)state;
    OK(carat_model_content(m, note_between, &between, content, err));
    assert_true(between);
    carat_model_close(m);
}

/* A packed file says the hash, also one that was packed from it; nobody reads the weights for it again. */
static void packed_files_keep_it(void **state)
{
    char dir[] = "/tmp/carat-content-XXXXXX", first[64], second[64], a[33], b[33];
    const char *const paths[] = {first, second};
    carat_model *m = open_path(CT_TEST_DATA "/../../models/tiny");
    int calls = 0;

    (void)state;
    assert_non_null(mkdtemp(dir));
    snprintf(first, sizeof first, "%s/1.carat", dir);
    snprintf(second, sizeof second, "%s/2.carat", dir);
    hash_of(m, a);
    carat_model_info info = {.size = sizeof info};
    OK(carat_model_get_info(m, &info, err));
    assert_string_equal(info.content, ""); /* nobody has read them for it */
    for (int i = 0; i < 2; i++) {
        OK(carat_model_pack(m, paths[i], NULL, NULL, err));
        carat_model_close(m);
        m = open_path(paths[i]);
        OK(carat_model_content(m, count_calls, &calls, b, err));
        assert_string_equal(a, b);
        assert_int_equal(calls, 0);
        OK(carat_model_get_info(m, &info, err));
        assert_string_equal(a, info.content);
        hash_of(m, b); /* and verify, which reads them, agrees */
        assert_string_equal(a, b);
    }
    carat_model_close(m);
    assert_int_equal(remove(first) | remove(second) | rmdir(dir), 0);
}

/* Packs the matrices of a weight; a file of packed weights has them so. */
static carat_status pack(void *user, const char *place, const char *tensor, const struct ct_weight *w)
{
    struct ct_arena *arena = user;
    const struct ct_panel *form = ct_panel_of(w->type);
    (void)tensor;
    if (strstr(place, "norm") || form->lines == CT_LINES_NONE)
        return CARAT_OK;
    struct ct_weight packed = *w;
    packed.layout = CT_LAYOUT_PANELS;
    packed.row_bytes = ct_panel_bytes(form, w->cols);
    uint8_t *data = ct_arena_push(arena, (size_t)ct_weight_pieces(&packed), packed.row_bytes);
    assert_non_null(data);
    for (int r = 0; r < w->rows; r += CT_PANEL_ROWS)
        ct_pack(data + (size_t)(r / CT_PANEL_ROWS) * packed.row_bytes, w, r);
    packed.data = data;
    *(struct ct_weight *)(uintptr_t)w = packed; /* of a model that is the test's own */
    return CARAT_OK;
}

static void panels_have_the_hash_of_rows(void **state)
{
    (void)state;
    char **names, path[PATH_SIZE], a[33], b[33];
    int n = list_folder(CT_TEST_DATA "/vectors/gguf", &names);
    for (int i = 0; i < n; i++) {
        carat_model *m = open_path(path_join(path, CT_TEST_DATA "/vectors/gguf", names[i]));
        struct ct_arena arena = {0};
        OK(carat_model_content(m, NULL, NULL, a, err));
        OK(ct_weights_walk(&m->weights, &m->config, m->file, pack, &arena));
        if (m->weights.tied)
            m->weights.head = m->weights.embed;
        hash_of(m, b);
        assert_string_equal(a, b);
        struct report *r = verify(m, 2);
        assert_int_equal(r->verdict.failed, 0);
        free(r);
        carat_model_close(m);
        ct_arena_free(&arena);
    }
    free_names(names, n);
}

/* ---- packed files ---- */

/* A model in a temporary directory, with a cache beside it. */
struct home {
    char *dir, model[768], cache[768];
    uint8_t *data;
    size_t size;
};

static carat_model *open_home(const struct home *h)
{
    carat_model *m = NULL;
    carat_model_options o;
    carat_model_options_default(&o);
    o.cache = h->cache;
    OK(carat_model_open(&m, h->model, &o, err));
    return m;
}

static void leave_home(struct home *h)
{
    char **names;
    int n = list_folder(h->cache, &names);
    for (int i = 0; i < n; i++)
        unlink(path_in(h->cache, names[i]));
    free_names(names, n);
    assert_int_equal(rmdir(h->cache), 0);
    free(h->data);
    remove_dir(h->dir, (const char *const[]){"m.gguf", "packed", NULL});
}

static struct home make_home(void)
{
    struct home h = {.dir = temp_dir()};
    snprintf(h.model, sizeof h.model, "%s/m.gguf", h.dir);
    snprintf(h.cache, sizeof h.cache, "%s/cache", h.dir);
    h.data = read_whole(CT_TEST_DATA "/vectors/gguf/q4_k_m.gguf", &h.size);
    write_file(h.dir, "m.gguf", h.data, h.size);
    return h;
}

static void a_cached_model_is_held_against_its_origin(void **state)
{
    (void)state;
    char a[33], b[33];
    struct home h = make_home();
    hash_of_path(h.model, a);
    carat_model_close(open_home(&h)); /* makes the packed form */
    carat_model *m = open_home(&h);
    hash_of(m, b);
    assert_string_equal(a, b);
    struct report *r = verify(m, 2);
    assert_int_equal(r->verdict.failed, 0);
    holds(detail_of(r, "packed", 1), "has its checksum, and packing the model again gives the same");
    free(r);

    /* another weight in the origin, behind the back of the open model: the last byte of the last tensor */
    uint64_t end = 0;
    for (int i = 0; i < ct_file_tensor_count(m->file); i++) {
        const struct ct_tensor *t = ct_file_tensor(m->file, i);
        end = CT_MAX(end, t->offset + t->size);
    }
    h.data[end - 1] ^= 1;
    write_file(h.dir, "m.gguf", h.data, h.size);
    r = verify(m, 2);
    holds(detail_of(r, "packed", 0), "; but packing ");
    holds(detail_of(r, "packed", 0), "again gives another ");
    free(r);
    carat_model_close(m);
    leave_home(&h);
}

static void a_packed_file_is_what_was_written(void **state)
{
    (void)state;
    char path[768], text[CT_DETAIL];
    struct home h = make_home();
    snprintf(path, sizeof path, "%s/packed", h.dir);
    carat_model *m = open_home(&h);
    OK(carat_model_pack(m, path, NULL, NULL, err));
    carat_model_close(m);
    m = open_path(path);
    struct report *r = verify(m, 2);
    assert_int_equal(r->verdict.failed, 0);
    const struct ct_packed_weight *w = &ct_file_packed(m->file)->weight[3];
    snprintf(text, sizeof text, "packed is damaged: %s at byte %llu differs from what was written", w->name.s,
             (unsigned long long)w->data.at);
    uint64_t last = w->data.at + w->data.size - 1;
    carat_model_close(m);
    free(r);

    size_t n;
    uint8_t *bytes = read_whole(path, &n), *copy = malloc(n);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    carat_buffer buffer = {"packed", copy, n}; /* the caller's, and not to be given back to the system */
    OK(carat_model_open_memory(&m, &buffer, sizeof buffer, 1, NULL, err));
    r = verify(m, 2);
    assert_int_equal(r->verdict.failed, 0);
    assert_memory_equal(copy, bytes, n);
    free(r);
    carat_model_close(m);
    free(copy);

    bytes[last] ^= 1;
    write_file(h.dir, "packed", bytes, n);
    m = open_path(path);
    r = verify(m, 2);
    holds(detail_of(r, "packed", 0), text);
    free(r);
    carat_model_close(m);
    free(bytes);
    leave_home(&h);
}

/* ---- damaged weights ---- */

/* A model in memory that may be changed. */
struct patient {
    uint8_t *data;
    size_t size;
    carat_model *m;
};

static void open_patient(struct patient *p)
{
    carat_buffer buffer = {"model.gguf", p->data, p->size};
    carat_model_close(p->m);
    p->m = NULL;
    OK(carat_model_open_memory(&p->m, &buffer, sizeof(carat_buffer), 1, NULL, err));
}

static struct patient admit(const char *path)
{
    struct patient p = {0};
    p.data = read_whole(path, &p.size);
    open_patient(&p);
    return p;
}

static void discharge(struct patient *p)
{
    carat_model_close(p->m);
    free(p->data);
}

/* The bytes of a tensor. */
static uint8_t *tensor(struct patient *p, const char *name, uint64_t *offset)
{
    const struct ct_tensor *t = ct_file_find(p->m->file, name);
    if (!t)
        fail_msg("there is no tensor %s", name);
    *offset = t->offset;
    return p->data + t->offset;
}

/* Evaluation says of the same damage where it is. */
static void evaluation_names(carat_model *m, const char *text)
{
    static const int32_t ids[] = {2, 5, 9};
    carat_engine_options o = small_engine();
    o.sessions = o.threads = 2;
    struct rig r = rig_open(m, &o);
    for (int i = 0; i < 2; i++) /* the second is told what the first found */
        FAILS_WITH(carat_sync(r.session[i], ids, 3, NULL, err), CARAT_E_NUMERIC, text);
    rig_close(&r);
}

static void damage_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *file, *tensor, *place;
        int row, at, n; /* the damage, from the beginning of a row; -1: in the last value of the last row */
        uint8_t byte[4];
        int col, bad; /* what must be said */
        const char *unit;
    } rows[] = {
        /* d of the second block of Q4_0 is infinite: 32 values are infinite, or NaN where the weight is 0 */
        {"q4_0.gguf", "blk.1.attn_q.weight", "blk.1.attn_q", 3, 18, 2, {0x00, 0x7c}, 32, 32, "block"},
        {"q8_0.gguf", "blk.0.ffn_down.weight", "blk.0.ffn_down", 7, 34, 2, {0x00, 0x7e}, 32, 32, "block"},
        /* dmin of Q4_K */
        {"q4_k_m.gguf", "blk.0.ffn_gate.weight", "blk.0.ffn_gate", 0, 2, 2, {0xff, 0xff}, 0, 256, "block"},
        {"gemma2-bf16.gguf", "blk.2.attn_k.weight", "blk.2.attn_k", 5, 20, 2, {0xc0, 0x7f}, 10, 1, "value"},
        /* the last weight of a layer's last matrix */
        {"gemma3-f16.gguf", "blk.1.ffn_up.weight", "blk.1.ffn_up", -1, 0, 2, {0x01, 0x7c}, 0, 1, "value"},
        {"gemma3-f16.gguf", "token_embd.weight", "token_embd", 100, 2, 2, {0x00, 0xfc}, 1, 1, "value"},
        {"gemma1-f32.gguf", "output_norm.weight", "output_norm", 0, 12, 4, {0, 0, 0x80, 0x7f}, 3, 1, "value"},
        {"q8_0.gguf", "blk.1.ffn_norm.weight", "blk.1.ffn_norm", 0, 0, 4, {1, 0, 0xc0, 0xff}, 0, 1, "value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char path[PATH_SIZE], text[256];
        uint64_t offset;
        struct patient p = admit(path_join(path, CT_TEST_DATA "/vectors/gguf", rows[i].file));
        uint8_t *data = tensor(&p, rows[i].tensor, &offset);
        const struct ct_tensor *t = ct_file_find(p.m->file, rows[i].tensor);
        size_t row_bytes = t->n_dim == 1 ? 0 : t->size / (size_t)t->dim[0],
               block = (size_t)ct_type_info(t->type)->bytes; /* or a value */
        bool last = rows[i].row < 0;
        int row = last ? (int)t->dim[0] - 1 : rows[i].row, col = last ? (int)t->dim[1] - 1 : rows[i].col;
        size_t at = (size_t)row * row_bytes + (last ? row_bytes - block : (size_t)rows[i].at);
        memcpy(data + at, rows[i].byte, (size_t)rows[i].n);
        open_patient(&p); /* norms are copied when a model is opened */
        struct report *r = verify(p.m, 2);
        const char *detail = detail_of(r, "values", 0);
        snprintf(text, sizeof text, "%s has %d that %s NaN or infinite, the first in row %d, column %d",
                 rows[i].place, rows[i].bad, rows[i].bad == 1 ? "is" : "are", row, col);
        holds(detail, text);
        const size_t within = (at - (size_t)row * row_bytes) / block * block;
        const unsigned long long byte = offset + (size_t)row * row_bytes + within;
        snprintf(text, sizeof text, "(%s of %s, byte %llu of ", rows[i].unit, rows[i].tensor, byte);
        holds(detail, text);
        detail_of(r, "kernels", 1); /* a NaN of one level is that of another */
        snprintf(text, sizeof text, "model.gguf: tensor %s has ", rows[i].tensor);
        evaluation_names(p.m, text);
        snprintf(text, sizeof text, " in row %d, column %d, the %s at byte %llu, expected a finite number",
                 row, col, rows[i].unit, byte);
        evaluation_names(p.m, text);
        free(r);
        discharge(&p);
    }
}

/* Panels of the cache do not lie as the file does, and norms lie in it as a pass reads them. */
static void damage_in_the_cache_is_named_in_its_origin(void **state)
{
    (void)state;
    static const char *const names[] = {"blk.0.ffn_gate.weight", "blk.0.ffn_norm.weight"};
    for (int i = 0; i < 2; i++) {
        struct home h = make_home();
        carat_model *m = open_home(&h);
        const struct ct_tensor *t = ct_file_find(m->file, names[i]);
        const size_t row_bytes = i ? 0 : t->size / (size_t)t->dim[0];
        const uint64_t at = t->offset + 2 * row_bytes + (i ? 8 : 0);
        char text[1024];
        memcpy(h.data + at, i ? "\0\0\x80\xff" : "\0\x7c", i ? 4 : 2);
        carat_model_close(m);
        write_file(h.dir, "m.gguf", h.data, h.size);
        carat_model_close(open_home(&h)); /* packs */
        m = open_home(&h);
        assert_true(ct_file_is_packed(m->file));
        snprintf(text, sizeof text, "%s: tensor %s has ", h.model, names[i]);
        evaluation_names(m, text);
        snprintf(text, sizeof text, " in row %d, column %d, the %s at byte %llu, expected a", i ? 0 : 2,
                 i ? 2 : 0, i ? "value" : "block", (unsigned long long)at);
        evaluation_names(m, text);
        carat_model_close(m);
        leave_home(&h);
    }
}

/* No value of it is NaN or infinite, but their product with the hidden state is. */
static void too_large_a_weight(void **state)
{
    (void)state;
    struct patient p = admit(CT_TEST_DATA "/vectors/gguf/gemma1-f32.gguf");
    uint64_t offset;
    uint8_t *data = tensor(&p, "output_norm.weight", &offset);
    for (int i = 0; i < 8; i++)
        memcpy(data + 4 * i, "\xff\xff\x7f\x7f", 4);
    open_patient(&p);
    evaluation_names(p.m,
                     "model.gguf: the logits hold NaN or infinity, and all weights are finite: one is too "
                     "large, or the model's range exceeds float32");
    discharge(&p);
}

static void much_damage_is_counted(void **state)
{
    (void)state;
    struct patient p = admit(CT_TEST_DATA "/vectors/gguf/gemma2-bf16.gguf");
    uint64_t offset;
    char name[64];
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 2; k++) {
            snprintf(name, sizeof name, "blk.%d.attn_%s.weight", i, k ? "v" : "q");
            memcpy(tensor(&p, name, &offset) + 6, "\x80\xff", 2);
        }
    struct report *r = verify(p.m, 3);
    const char *detail = detail_of(r, "values", 0);
    holds(detail, "blk.0.attn_q has 1 that is");
    holds(detail, "; blk.0.attn_v has 1");
    holds(detail, "; blk.1.attn_q has 1");
    holds(detail, "; and 5 more weights have such values");
    free(r);
    discharge(&p);
}

/* ---- tokenizers ---- */

/* The folder of a tiny model with another tokenizer.json: `from` becomes `to`, of the same length. */
static struct report *with_tokenizer(char *json, size_t n, const char *from, const char *to)
{
    carat_model *m = NULL;
    carat_model_options o;
    carat_model_options_default(&o);
    carat_buffer buffer = {"tokenizer.json", json, n};
    char *at = json;
    assert_int_equal(strlen(from), strlen(to));
    assert_non_null(strstr(json, from));
    for (; (at = strstr(at, from)) != NULL; at += strlen(to))
        memcpy(at, to, strlen(to));
    o.tokenizer_only = 1;
    OK(carat_model_open_memory(&m, &buffer, sizeof(carat_buffer), 1, &o, err));
    struct report *r = verify(m, 2);
    static const char *const of_weights[] = {"packed", "values", "content", "shapes", "kernels"};
    for (size_t i = 0; i < sizeof of_weights / sizeof *of_weights; i++)
        detail_of(r, of_weights[i], -1); /* there are none */
    assert_string_equal(r->verdict.content, "");
    carat_model_close(m);
    return r;
}

static void bad_tokenizers_fail(void **state)
{
    (void)state;
    size_t n;
    char *json = read_whole(CT_TEST_DATA "/text/tokenizer.json", &n);
    json[n] = 0;
    struct report *r = with_tokenizer(json, n, "<0x41>", "<0x41>");
    holds(detail_of(r, "tokenizer", 1), "pieces come back as they are");
    detail_of(r, "vocabulary", -1);
    detail_of(r, "kernels", -1);
    free(r);
    /* without byte_fallback the reader asks for no byte tokens, and nothing becomes them */
    r = with_tokenizer(json, n, "\"byte_fallback\": true", "\"byte_fallback\":false");
    holds(detail_of(r, "tokenizer", 0), "U+0000 is not a piece, but it is encoded as 3 instead of its bytes");
    free(r);
    r = with_tokenizer(json, n, "\"<0xF0>\"", "\"<0xG0>\"");
    holds(detail_of(r, "tokenizer", 0), "the vocabulary has tokens for only 255 of 256 bytes");
    free(r);
    free(json);
}

/* A piece that has no row in the embedding. */
static void pieces_need_rows(void **state)
{
    (void)state;
    carat_model *m = open_path(CT_TEST_DATA "/../../models/tiny");
    m->config.n_vocab = 1000;
    struct ct_verify *v = calloc(1, sizeof *v);
    static const carat_verify_options o = {.size = sizeof o};
    int verdict = CT_NOTHING;
    v->model = m;
    v->o = &o;
    OK(ct_pool_create(&v->pool, 1, err));
    OK(ct_verify_tokenizer(v, &verdict, err));
    assert_int_equal(verdict, CT_FAILED);
    holds(v->detail, "piece 1000, ");
    holds(v->detail, " has no row in the embedding, which has 1000");
    ct_pool_destroy(v->pool);
    free(v);
    carat_model_close(m);
}

/* The real vocabularies, where they are at hand: as they are, and with another merge in the place of one of
 * theirs. */
static void real_vocabularies_are_known(void **state)
{
    (void)state;
    char shared[PATH_SIZE], command[2 * PATH_SIZE];
    static const struct {
        const char *folder, *name, *from, *to;
    } rows[] = {
        {"gemma3", "the vocabulary of Gemma 3", "\"d\",\n        \"on\"\n", "\"d\",\n        \"en\"\n"},
        {"gemma", "the vocabulary of Gemma 1 and 2", "\"d on\"", "\"d en\""},
        {"gemma4", "the vocabulary of Gemma 3 and 4", "[\"d\", \"on\"]", "[\"d\", \"en\"]"},
    };
    if (!shared_vectors(shared))
        return;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(command, sizeof command, "xz -dkc '%s/../tokenizers/%s/tokenizer.json.xz' 2>/dev/null",
                 shared, rows[i].folder);
        FILE *f = popen(command, "r");
        size_t capacity = (size_t)64 << 20;
        char *json = malloc(capacity);
        size_t n = fread(json, 1, capacity - 1, f);
        json[n] = 0;
        if (pclose(f) != 0 || n == 0) { /* no xz here */
            free(json);
            continue;
        }
        struct report *r = with_tokenizer(json, n, "<pad>", "<pad>");
        detail_of(r, "tokenizer", 1);
        const char *detail = detail_of(r, "vocabulary", 1);
        holds(detail, rows[i].name);
        holds(detail, ": 17 texts give the reference's ids");
        free(r);
        r = with_tokenizer(json, n, rows[i].from, rows[i].to);
        detail_of(r, "tokenizer", 1);
        detail = detail_of(r, "vocabulary", 0);
        holds(detail, rows[i].name);
        holds(detail, ": the text \"don't\" is encoded as ");
        free(r);
        free(json);
    }
}

/* ---- the call ---- */

struct stop {
    int after, calls;
};
static int stop_report(void *user, const carat_check *check)
{
    struct stop *s = user;
    (void)check;
    return ++s->calls > s->after;
}
static int stop_progress(void *user, size_t done, size_t total)
{
    struct stop *s = user;
    assert_true(done <= total);
    return ++s->calls > s->after;
}

static void it_can_be_cancelled(void **state)
{
    (void)state;
    carat_model *m = open_path(CT_TEST_DATA "/../../models/tiny");
    carat_verdict verdict = {.size = sizeof verdict, .passed = 77};
    for (int after = 0; after < 7; after++) {
        struct stop s = {after, 0};
        carat_verify_options o;
        carat_verify_options_default(&o);
        o.threads = 2;
        o.user = &s;
        o.report = stop_report;
        assert_int_equal(carat_verify(m, &o, &verdict, NULL), CARAT_E_CANCELLED);
        assert_int_equal(s.calls, after + 1);
        s.calls = 0;
        o.report = NULL;
        o.progress = stop_progress;
        assert_int_equal(carat_verify(m, &o, &verdict, NULL), CARAT_E_CANCELLED);
        assert_int_equal(s.calls, after + 1);
        assert_int_equal(verdict.passed, 77);
    }
    carat_model_close(m);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    carat_model *m = open_path(CT_TEST_DATA "/../../models/tiny");
    carat_verdict verdict = {.size = sizeof verdict};
    carat_verify_options o;
    carat_verify_options_default(&o);
    FAILS(CARAT_E_ARGUMENT, carat_verify(NULL, &o, &verdict, err));
    FAILS(CARAT_E_ARGUMENT, carat_verify(m, &o, NULL, err));
    verdict.size++;
    FAILS(CARAT_E_ARGUMENT, carat_verify(m, &o, &verdict, err));
    verdict.size--;
    o.size++;
    FAILS(CARAT_E_ARGUMENT, carat_verify(m, &o, &verdict, err));
    o.size--;
    o.threads = -1;
    FAILS(CARAT_E_ARGUMENT, carat_verify(m, &o, &verdict, err));
    o.threads = 0;
    o.isa = "mmx";
    FAILS(CARAT_E_ARGUMENT, carat_verify(m, &o, &verdict, err));
    OK(carat_verify(m, NULL, &verdict, err));
    assert_int_equal(verdict.failed, 0);
    carat_model_close(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sound_models_pass),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(containers_have_one_hash),
        cmocka_unit_test(hashing_tells_how_far_it_is),
        cmocka_unit_test(packed_files_keep_it),
        cmocka_unit_test(panels_have_the_hash_of_rows),
        cmocka_unit_test(packed_files_keep_it),
        cmocka_unit_test(a_cached_model_is_held_against_its_origin),
        cmocka_unit_test(a_packed_file_is_what_was_written),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(damage_in_the_cache_is_named_in_its_origin),
        cmocka_unit_test(too_large_a_weight),
        cmocka_unit_test(much_damage_is_counted),
        cmocka_unit_test(bad_tokenizers_fail),
        cmocka_unit_test(pieces_need_rows),
        cmocka_unit_test(real_vocabularies_are_known),
        cmocka_unit_test(it_can_be_cancelled),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
