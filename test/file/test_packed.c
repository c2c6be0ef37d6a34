/* SPDX-License-Identifier: Apache-2.0 */
/* test_packed.c: packed files made by carat and then damaged: what opens is what was packed, packing again
 * gives the same bytes, no version but one is read, every cut and every changed byte is refused or harmless.
 * What single fields may say is test/cli/model/test_bad_packed.c's, what a packed file keeps of its origin
 * test_packed_origin.c's. */
#include "file/packed_build.h"

#include "file/sbs.h"
#include "model/weights.h"
#include "text/tokenizer/tokenizer.h"
#include "file/reader.h"
#include "checkpoint/content.h"

static carat_status open_bytes(struct ct_file **f, const void *p, size_t n, carat_error *err)
{
    static struct ct_part part; /* borrowed until the file is closed */
    part = (struct ct_part){"x.carat", {p, n}};
    *f = NULL;
    return ct_file_open_memory(f, &part, 1, err);
}

/* A heap block of exactly the size, so that a sanitizer sees the first byte read beyond. */
static uint8_t *exact(const void *p, size_t n)
{
    void *copy;
    assert_int_equal(posix_memalign(&copy, CT_PACKED_ALIGN, n ? n : 1), 0);
    if (n)
        memcpy(copy, p, n);
    return copy;
}

/* ---- there and back ---- */

static void packing_again_gives_the_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < CT_COUNT(origins); i++) {
        char *dir = temp_dir();
        struct packed a = packed_from(origins[i].path);
        write_file(dir, "a.carat", a.file.p, a.file.n);
        struct packed b = packed_from(path_in(dir, "a.carat"));
        assert_int_equal(a.file.n, b.file.n);
        assert_memory_equal(a.file.p, b.file.p, a.file.n);
        packed_rewrite(&b);
        assert_int_equal(a.file.n, b.file.n);
        assert_memory_equal(a.file.p, b.file.p, a.file.n);
        packed_free(&a);
        packed_free(&b);
        remove_dir(dir, (const char *const[]){"a.carat", NULL});
    }
}

static void same_text(const char *a, const char *b)
{
    assert_true((a == NULL) == (b == NULL));
    if (a)
        assert_string_equal(a, b);
}

static void same_meta(const struct ct_meta *a, const struct ct_meta *b)
{
    assert_int_equal(a->type, b->type);
    assert_true(a->u == b->u && a->i == b->i && memcmp(&a->f, &b->f, sizeof a->f) == 0);
    assert_true(a->s.n == b->s.n && (a->s.n == 0 || memcmp(a->s.s, b->s.s, a->s.n) == 0));
    assert_true(a->elem == b->elem && a->count == b->count && a->offset == b->offset);
    for (uint64_t i = 0; a->type == CT_META_ARRAY && a->elem != CT_META_STRING && i < a->count; i++)
        assert_true(ct_meta_number(a, i) == ct_meta_number(b, i));
}

/* Everything that a reader of checkpoints can ask for, but for data of tensors and what the tokenizer was
 * made from. */
static void same_file(const struct ct_file *a, const struct ct_file *b, bool tokenizer)
{
    static const char *const sides[] = {
        "config.json",         "generation_config.json", "tokenizer_config.json",
        "chat_template.jinja", "chat_template.json",     "special_tokens_map.json",
        "added_tokens.json",   "tokenizer.json",         "tokenizer.model"};
    bool trusted = true;
    same_text(ct_file_note(a), ct_file_note(b));
    assert_int_equal(ct_file_tensor_count(a), ct_file_tensor_count(b));
    for (int i = 0; i < ct_file_tensor_count(a); i++) {
        const struct ct_tensor *x = ct_file_tensor(a, i), *y = ct_file_find(b, x->name);
        assert_ptr_equal(y, ct_file_tensor(b, i));
        assert_true(x->type == y->type && x->n_dim == y->n_dim && x->size == y->size);
        assert_true(x->offset == y->offset && x->scale == y->scale && !y->data && !y->interleaved);
        assert_memory_equal(x->dim, y->dim, sizeof x->dim);
        same_text(x->type_name, y->type_name);
        same_text(x->file, y->file);
    }
    /* besides, who packs adds the content hash */
    assert_non_null(ct_file_meta(b, CT_CONTENT_KEY));
    assert_int_equal(a->metas.index.n + !ct_file_meta(a, CT_CONTENT_KEY), b->metas.index.n);
    for (int i = 0; i < a->metas.index.n; i++) {
        const struct ct_meta *m = &a->metas.meta[i];
        char key[256];
        snprintf(key, sizeof key, "%.*s", (int)m->key.n, m->key.s);
        assert_non_null(ct_file_meta(b, key));
        same_meta(m, ct_file_meta(b, key));
    }
    for (size_t i = 0; i < CT_COUNT(sides); i++) {
        struct ct_bytes x = ct_file_side(a, sides[i]), y = ct_file_side(b, sides[i]);
        bool vocabulary = strcmp(sides[i], "tokenizer.json") == 0 || strcmp(sides[i], "tokenizer.model") == 0;
        assert_int_equal(vocabulary ? 0 : x.size, y.size);
        if (y.size)
            assert_memory_equal(x.data, y.data, y.size);
    }
    assert_int_equal(ct_file_tables(b, &trusted).size > 0, tokenizer);
    assert_false(trusted); /* whoever gives a file to open may have changed it */
    assert_true((ct_file_sbs(a) == NULL) == (ct_file_sbs(b) == NULL));
    if (ct_file_sbs(a))
        assert_string_equal(ct_file_sbs(a)->display_name, ct_file_sbs(b)->display_name);
}

static void what_opens_is_what_was_packed(void **state)
{
    (void)state;
    for (size_t i = 0; i < CT_COUNT(origins); i++) {
        const struct origin *o = &origins[i];
        struct packed k = packed_from(o->path);
        struct ct_file *a = accept_path(o->path, false), *b;
        uint8_t *copy = exact(k.file.p, k.file.n);
        carat_error err;
        if (open_bytes(&b, copy, k.file.n, &err) != CARAT_OK)
            fail_msg("%s", err.message);
        assert_int_equal(ct_file_kind(a), o->kind);
        assert_int_equal(ct_file_kind(b), o->kind);
        assert_int_equal(a->version, o->version);
        assert_int_equal(b->version, o->version);
        same_file(a, b, o->tokenizer);
        assert_false(ct_file_is_packed(a));
        assert_true(ct_file_is_packed(b));
        assert_null(ct_file_weight(b, "no such weight"));
        const struct ct_tensor *embed = ct_file_weight(b, "token_embd.weight");
        assert_true(embed && embed->interleaved && embed->data == copy + embed->offset);
        ct_file_close(a);
        ct_file_close(b);
        free(copy);
        packed_free(&k);
    }
}

/* In memory it may lie where malloc puts things. */
static void a_buffer_begins_at_a_multiple_of_8(void **state)
{
    (void)state;
    struct packed k = packed_from(origins[1].path);
    uint8_t *room = malloc(k.file.n + 16);
    assert_non_null(room);
    for (size_t at = 0; at < 16; at++) {
        struct ct_file *f;
        carat_error err;
        memcpy(room + at, k.file.p, k.file.n);
        carat_status status = open_bytes(&f, room + at, k.file.n, &err);
        if (at % 8)
            expect_error(status, &err, CARAT_E_ARGUMENT, "x.carat: a packed file in memory must begin");
        else
            assert_int_equal(status, CARAT_OK);
        ct_file_close(f);
    }
    free(room);
    packed_free(&k);
}

/* ---- header ---- */

static void refuse(const void *p, size_t n, carat_status code, const char *text)
{
    struct ct_file *f;
    carat_error err;
    uint8_t *copy = exact(p, n);
    carat_status status = open_bytes(&f, copy, n, &err);
    ct_file_close(f);
    free(copy);
    expect_error(status, &err, code, text);
    assert_non_null(strstr(err.message, "x.carat"));
}

static void one_version_is_read(void **state)
{
    (void)state;
    static const struct {
        int layout, numerics; /* added to ours */
        carat_status status;
    } rows[] = {{0, 0, CARAT_OK},
                {-1, 0, CARAT_E_UNSUPPORTED},
                {1, 0, CARAT_E_UNSUPPORTED},
                {0, -1, CARAT_E_UNSUPPORTED},
                {0, 1, CARAT_E_UNSUPPORTED},
                {1 << 30, 1 << 30, CARAT_E_UNSUPPORTED}};
    struct packed k = packed_from(origins[1].path);
    for (size_t i = 0; i < CT_COUNT(rows); i++)
        for (int right = 0; right < 2; right++) {
            struct ct_packed_header h = packed_header(&k.file), ours = h;
            h.layout += (uint32_t)rows[i].layout;
            h.numerics += (uint32_t)rows[i].numerics;
            memcpy(k.file.p, &h, sizeof h);
            if (!right) /* and nothing else is looked at, for nothing else is known to be there */
                k.file.p[sizeof h - 1] ^= 1;
            char said[160];
            snprintf(said, sizeof said,
                     "layout %u and numerics %u; this carat reads layout %d and numerics %d", h.layout,
                     h.numerics, CT_PACKED_LAYOUT, CARAT_NUMERICS_VERSION);
            if (rows[i].status)
                refuse(k.file.p, k.file.n, CARAT_E_UNSUPPORTED, said);
            else if (!right)
                refuse(k.file.p, k.file.n, CARAT_E_FORMAT, "header of the packed file is damaged");
            memcpy(k.file.p, &ours, sizeof ours);
        }
    packed_free(&k);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    struct packed k = packed_from(FUZZ "sbs/gemma1-sfp-v1");
    size_t whole = k.file.n, index = (size_t)packed_header(&k.file).index_at;
    for (size_t n = 8; n < whole; n++)
        refuse(k.file.p, n, CARAT_E_FORMAT,
               n < sizeof(struct ct_packed_header) ? "ends at byte" : "expected");
    put_zero(&k.file, 1); /* and so is a byte too many */
    refuse(k.file.p, k.file.n, CARAT_E_FORMAT, "expected");
    for (size_t n = index; n < whole; n++) { /* under right hashes */
        k.file.n = n;
        packed_mend(&k.file);
        refuse(k.file.p, n, CARAT_E_FORMAT, "in the index of the packed file: the ");
    }
    packed_free(&k);
}

/* ---- every byte ---- */

/* Takes it as far as opening a model does. */
static void use(const struct ct_file *f)
{
    static struct ct_config c; /* large */
    struct ct_weights w;
    struct ct_arena arena = {0};
    struct ct_tokenizer *t = NULL;
    carat_error err;
    if (ct_config_read(&c, f, &err) == CARAT_OK)
        ct_weights_bind(&w, &c, f, &arena, &err);
    if (ct_tokenizer_open(&t, f, NULL, &err) == CARAT_OK)
        ct_tokenizer_free(t);
    ct_arena_free(&arena);
}

/* Without mending nothing of it opens; with, it may, and then its index is written as it was read. */
static void every_changed_byte_is_refused_or_harmless(void **state)
{
    (void)state;
    static const uint8_t masks[] = {0x01, 0x80, 0xff};
    static const char *const from[] = {FUZZ "gguf/gemma3", SBS "v1/g2-bf16.sbs"};
    for (size_t i = 0; i < CT_COUNT(from); i++) {
        struct packed k = packed_from(from[i]);
        size_t index = (size_t)packed_header(&k.file).index_at, size = k.file.n - index, opened = 0;
        uint8_t *copy = exact(k.file.p, k.file.n), *again = malloc(size);
        struct buf file = {copy, k.file.n, k.file.n};
        assert_non_null(again);
        for (size_t at = 0; at < k.file.n; at = at == sizeof(struct ct_packed_header) - 1 ? index : at + 1)
            for (size_t m = 0; m < CT_COUNT(masks); m++) {
                struct ct_file *f;
                carat_error err;
                copy[at] ^= masks[m];
                assert_true(open_bytes(&f, copy, k.file.n, &err) != CARAT_OK);
                assert_null(f);
                if (at >= index) {
                    packed_mend(&file);
                    if (open_bytes(&f, copy, k.file.n, &err) == CARAT_OK) {
                        assert_int_equal(ct_packed_write_index(ct_file_packed(f), NULL), size);
                        ct_packed_write_index(ct_file_packed(f), again);
                        assert_memory_equal(again, copy + index, size);
                        use(f);
                        ct_file_close(f);
                        opened++;
                    } else {
                        assert_null(strchr(err.message, '\n'));
                    }
                }
                copy[at] ^= masks[m];
                memcpy(copy, k.file.p, sizeof(struct ct_packed_header));
            }
        assert_true(opened > 0); /* hashes, times and texts of no consequence */
        free(copy);
        free(again);
        packed_free(&k);
    }
}

/* ---- the corpus of the fuzz target ---- */

static void the_corpus_is_of_this_layout(void **state)
{
    (void)state;
    static const char *const good[] = {"gguf-gemma",  "gguf-gemma3",       "gguf-quantised",
                                       "file-gemma3", "sbs-gemma1-sfp-v1", "sbs-gemma3-nuq-v2",
                                       "made",        "gguf-gemma4_inputs"};
    for (size_t i = 0; i < CT_COUNT(good); i++) {
        carat_model *model = NULL;
        carat_error err;
        if (carat_model_open(&model, path_in(FUZZ "packed", good[i]), NULL, &err) != CARAT_OK)
            fail_msg("run tools/pack_corpus.sh: %s", err.message);
        carat_model_close(model);
    }
    carat_model *left = NULL;
    carat_error err;
    expect_error(carat_model_open(&left, path_in(FUZZ "packed", "left"), NULL, &err), &err,
                 CARAT_E_UNSUPPORTED,
                 "left is a copy for the cache, which leaves per_layer_token_embd.weight in the model: open "
                 "that, /dev/shm/carat/gguf-gemma4_inputs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packing_again_gives_the_same_bytes),
        cmocka_unit_test(what_opens_is_what_was_packed),
        cmocka_unit_test(a_buffer_begins_at_a_multiple_of_8),
        cmocka_unit_test(one_version_is_read),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(every_changed_byte_is_refused_or_harmless),
        cmocka_unit_test(the_corpus_is_of_this_layout),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
