/* SPDX-License-Identifier: Apache-2.0 */
/* test_sbs.c: the reader of gemma.cpp files on files this test writes itself: good ones of both versions, cut
 * at every byte and damaged in every byte, and one file for each lie that header, directory, configuration
 * and table of contents can tell. What the model makes of it is test/model/test_config_sbs.c's. */
#include "file/sbs_build.h"

#include "file/sbs.h"
#include "file/reader.h"

static carat_status open_bytes(struct ct_file **f, const uint8_t *p, size_t n, carat_error *err)
{
    static struct ct_part part; /* borrowed until the file is closed */
    part = (struct ct_part){"x.sbs", {p, n}};
    *f = NULL;
    return ct_file_open_memory(f, &part, 1, err);
}

/* A heap block of exactly the size, so that a sanitizer sees the first byte read beyond. */
static void refuse(struct buf *b, carat_status code, const char *text)
{
    struct ct_file *f;
    carat_error err;
    uint8_t *exact = malloc(b->n ? b->n : 1);
    assert_non_null(exact);
    if (b->n)
        memcpy(exact, b->p, b->n);
    carat_status status = open_bytes(&f, exact, b->n, &err);
    ct_file_close(f);
    free(exact);
    buf_free(b);
    expect_error(status, &err, code, text);
    assert_non_null(strstr(err.message, "x.sbs"));
}

static void accept(const struct buf *b, int version, int n_tensor)
{
    struct ct_file *f;
    carat_error err;
    if (open_bytes(&f, b->p, b->n, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(ct_file_kind(f), CT_FILE_SBS);
    assert_int_equal(f->version, version);
    assert_int_equal(ct_file_tensor_count(f), n_tensor);
    for (int i = 0; i < n_tensor; i++) {
        const struct ct_tensor *t = ct_file_tensor(f, i);
        assert_ptr_equal(ct_file_find(f, t->name), t);
        assert_ptr_equal(t->data, b->p + t->offset);
        assert_true(t->offset % 256 == 0 && t->offset + t->size <= b->n && t->scale == 1);
    }
    const struct ct_sbs_config *c = ct_file_sbs(f);
    assert_string_equal(c->display_name, "test");
    assert_int_equal(c->vocab_size, SBS_VOCAB);
    assert_true(c->att_cap == 50 && c->final_cap == 30);
    assert_int_equal(c->layer_configs.n, 1);
    assert_int_equal(((const struct ct_sbs_layer *)c->layer_configs.element)->ff_hidden_dim, SBS_FFN);
    assert_int_equal(*(const uint32_t *)c->attention_window_sizes.element, 64);
    assert_int_equal(c->secondary_eos_id, 107);
    ct_file_close(f);
}

static void good_files_open(void **state)
{
    (void)state;
    for (int version = 1; version <= 2; version++)
        for (int fused = 0; fused < 2; fused++)
            for (uint32_t type = SBS_F32; type <= SBS_I8; type = type == SBS_NUQ ? SBS_I8 : type + 1) {
                size_t directory;
                struct sbs s = sbs_model(type, fused);
                struct buf b = sbs_file(&s, version, &directory);
                accept(&b, version, s.n - 2);
                if (version == 1) { /* the first writers padded the end to 256 bytes or not at all */
                    size_t end = ct_le64(b.p + directory + (size_t)s.n * 32 - 16) + sbs_find(&s, "toc")->n;
                    for (int i = 0; i < 2; i++) {
                        b.n = i ? end : (end + 255) / 256 * 256;
                        memcpy(b.p + 8, &(uint64_t){b.n}, 8);
                        accept(&b, 1, s.n - 2);
                    }
                }
                buf_free(&b);
                sbs_free(&s);
            }
}

static void cut_files_are_refused(void **state)
{
    (void)state;
    for (int version = 1; version <= 2; version++) {
        size_t directory;
        struct sbs s = sbs_model(SBS_SFP, true);
        struct buf b = sbs_file(&s, version, &directory);
        for (size_t n = 0; n < b.n; n += n < 1200 || n + 1200 > b.n ? 1 : 509) {
            struct ct_file *f;
            carat_error err;
            uint8_t *cut = malloc(n ? n : 1);
            assert_non_null(cut);
            if (n)
                memcpy(cut, b.p, n);
            carat_status status = open_bytes(&f, cut, n, &err);
            assert_true(status == CARAT_E_FORMAT || (n < 4 && status == CARAT_E_UNSUPPORTED));
            assert_null(f);
            free(cut);
        }
        buf_free(&b);
        sbs_free(&s);
    }
}

/* Every byte of header, directory, configuration and contents, changed: opens or is refused, never anything
 * else. */
static void damaged_files_do_no_harm(void **state)
{
    (void)state;
    for (int version = 1; version <= 2; version++) {
        size_t directory;
        struct sbs s = sbs_model(SBS_NUQ, false);
        struct buf b = sbs_file(&s, version, &directory);
        size_t last = (size_t)s.n * 32 - 32;
        size_t config = ct_le64(b.p + directory + last), toc = ct_le64(b.p + directory + last + 16);
        const size_t from[] = {0, directory, config, toc, b.n - 16},
                     size[] = {16, (size_t)s.n * 32, sbs_find(&s, "config")->n, sbs_find(&s, "toc")->n, 16};
        int opened = 0, refused = 0;
        for (size_t k = 0; k < CT_COUNT(from); k++)
            for (size_t i = from[k]; i < from[k] + size[k]; i++)
                for (size_t v = 0; v < 3; v++) {
                    struct ct_file *f;
                    carat_error err;
                    uint8_t old = b.p[i];
                    b.p[i] = (uint8_t)(v == 0 ? old ^ 1 : v == 1 ? old ^ 0x80 : 0xff);
                    carat_status status = open_bytes(&f, b.p, b.n, &err);
                    b.p[i] = old;
                    opened += status == CARAT_OK;
                    refused += status == CARAT_E_FORMAT;
                    assert_true(status == CARAT_OK || status == CARAT_E_FORMAT ||
                                status == CARAT_E_UNSUPPORTED);
                    ct_file_close(f);
                }
        assert_true(opened > 50 && refused > 1000);
        buf_free(&b);
        sbs_free(&s);
    }
}

/* ---- B1 to B5: the container ---- */

static struct buf small(int version, size_t *directory)
{
    struct sbs s = sbs_model(SBS_SFP, true);
    struct buf b = sbs_file(&s, version, directory);
    sbs_free(&s);
    return b;
}

static void headers_that_lie(void **state)
{
    (void)state;
    size_t dir;
    struct buf b = {0};
    put_text(&b, "SBS\n");
    refuse(&b, CARAT_E_FORMAT, "ends at byte 4");
    b = small(2, &dir);
    memcpy(b.p, "SBT\n", 4); /* the footer alone is enough */
    accept(&b, 2, 10);
    memcpy(b.p + b.n - 16, "SBT\n", 4);
    refuse(&b, CARAT_E_UNSUPPORTED, "not a model that carat knows");
    b = small(2, &dir);
    memcpy(b.p + b.n - 16, "SBT\n", 4);
    refuse(&b, CARAT_E_FORMAT, "no SBS footer at byte 65520");
    b = small(1, &dir); /* both, and they do not agree */
    b.n -= 16;
    put_magic(&b, 3, b.n + 16);
    refuse(&b, CARAT_E_FORMAT, "counts 12 blobs, and a footer at byte 65520 counts 3");
    for (int version = 1; version <= 2; version++) {
        static const struct {
            uint32_t n;
            const char *text;
        } rows[] = {{16385, "counts 16385 blobs, expected 1 to 16384"},
                    {UINT32_MAX, "counts 4294967295 blobs"},
                    {16384, "16384 blobs takes 524288 bytes"},
                    {16383, "do not fit"}};
        for (size_t i = 0; i < CT_COUNT(rows); i++) {
            b = small(version, &dir);
            memcpy(b.p + (version == 1 ? 4 : b.n - 12), &rows[i].n, 4);
            refuse(&b, CARAT_E_FORMAT, rows[i].text);
        }
        b = small(version, &dir);
        memset(b.p + (version == 1 ? 4 : b.n - 12), 0, 4);
        refuse(&b, CARAT_E_FORMAT, version == 1 ? "no SBS footer" : "counts 0 blobs");
        b = small(version, &dir);
        memcpy(b.p + (version == 1 ? 8 : b.n - 8), &(uint64_t){65535}, 8);
        refuse(&b, CARAT_E_FORMAT, "says 65535 bytes, but the file has 65536");
    }
    b = small(1, &dir);
    put_zero(&b, 7);
    refuse(&b, CARAT_E_FORMAT, "says 65536 bytes, but the file has 65543");
    b = small(1, &dir); /* an honest size, but far more than the last blob */
    put_zero(&b, 65536);
    memcpy(b.p + 8, &(uint64_t){b.n}, 8);
    refuse(&b, CARAT_E_FORMAT, "the last blob \"toc\" ends at byte");
}

/* The number of blobs may be as large as the format allows. */
static void as_many_blobs_as_allowed(void **state)
{
    (void)state;
    const uint32_t n = 16384;
    size_t dir = 0, length = 32 * (size_t)n;
    struct buf old = small(1, &dir), b = {0};
    uint64_t at = (16 + length + 255) / 256 * 256;
    put_magic(&b, n, 0);
    put(&b, old.p + dir, 16 * 12); /* the names of the model */
    for (uint32_t i = 12; i < n; i++) {
        char name[17] = "";
        snprintf(name, sizeof name, "x%u", (unsigned)i);
        put(&b, name, 16);
    }
    uint64_t first = ct_le64(old.p + dir + 16 * 12), end = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t size = i < 12 ? ct_le64(old.p + dir + 16 * 12 + 16 * i + 8) : 1;
        put_u64(&b, at);
        put_u64(&b, size);
        end = at + size;
        at = (end + 255) / 256 * 256;
    }
    put_pad(&b, 256);
    put(&b, old.p + first, (size_t)(65536 - first));
    b.n = (16 + length + 255) / 256 * 256; /* the twelve blobs in place, zeros for the rest */
    for (uint32_t i = 0; i < 12; i++) {
        put(&b, old.p + ct_le64(old.p + dir + 16 * 12 + 16 * i), ct_le64(old.p + dir + 16 * 12 + 16 * i + 8));
        put_pad(&b, 256);
    }
    put_zero(&b, (size_t)at - b.n);
    memcpy(b.p + 8, &(uint64_t){b.n}, 8);
    accept(&b, 1, 10);
    buf_free(&b);
    buf_free(&old);
}

static void directories_that_lie(void **state)
{
    (void)state;
    for (int version = 1; version <= 2; version++) {
        size_t dir;
        struct buf probe = small(version, &dir);
        size_t ranges = dir + 12 * 16, last = ranges + 11 * 16;
        uint64_t start = ct_le64(probe.p + ranges), toc = ct_le64(probe.p + last);
        buf_free(&probe);
        const struct {
            size_t at;
            uint64_t value;
            const char *text;
        } rows[] = {
            {ranges, start + 1, "blobs begin at multiples of 256"},
            {ranges, 0, "blob \"c_embedding\" has 256 bytes at byte 0"},
            {ranges, start + 256, "blobs lie back to back"},
            {ranges + 8, 0, "a blob has at least one byte"},
            {last + 8, UINT64_MAX - 255, "blob \"toc\" has 18446744073709551360 bytes"},
            {last + 8, 65536 - toc + 1, "blobs end before the directory"},
            {last, UINT64_MAX - 255, "blob \"toc\" has"},
            {ranges + 8, 1000, "blob \"c_final_norm\""},
        };
        for (size_t i = 0; i < CT_COUNT(rows); i++) {
            struct buf b = small(version, &dir);
            memcpy(b.p + rows[i].at, &rows[i].value, 8);
            refuse(&b, CARAT_E_FORMAT, rows[i].text);
        }
        struct buf b = small(version, &dir);
        memcpy(b.p + dir + 16, b.p + dir, 16);
        refuse(&b, CARAT_E_FORMAT, "blob \"c_embedding\" is there twice");
        b = small(version, &dir);
        b.p[dir + 2] = 0x07;
        refuse(&b, CARAT_E_FORMAT, "printable ASCII");
        b = small(version, &dir);
        memset(b.p + dir, 0, 16);
        refuse(&b, CARAT_E_FORMAT, "1 to 16 printable");
        b = small(version, &dir);
        b.p[dir + 15] = 'x'; /* behind the zeros */
        refuse(&b, CARAT_E_FORMAT, "zeros behind them");
    }
    /* the last blob of V2 must not reach into the directory */
    size_t dir;
    struct buf b = small(2, &dir);
    uint64_t toc = ct_le64(b.p + dir + 12 * 16 + 11 * 16);
    memcpy(b.p + dir + 12 * 16 + 11 * 16 + 8, &(uint64_t){dir - toc + 1}, 8);
    refuse(&b, CARAT_E_FORMAT, "blobs end before the directory");
    /* a name may take all 16 bytes */
    struct sbs s = sbs_model(SBS_SFP, true);
    put_zero(sbs_add(&s, "0123456789abcdef"), 5);
    b = sbs_file(&s, 2, &dir);
    accept(&b, 2, 10);
    buf_free(&b);
    sbs_free(&s);
}

static void old_files_are_named(void **state)
{
    (void)state;
    size_t dir;
    struct sbs s = {.n = 0};
    put_zero(sbs_add(&s, "$qkv_ein_0"), 64);
    struct buf b = sbs_file(&s, 1, &dir);
    refuse(&b, CARAT_E_UNSUPPORTED, "from before 2025");
    put_config(sbs_add(&s, "config"), SBS_SFP);
    b = sbs_file(&s, 1, &dir);
    refuse(&b, CARAT_E_FORMAT, "no blob \"toc\"");
    sbs_free(&s);
}

/* ---- B6 and B7: fields ---- */

static void configurations_that_lie(void **state)
{
    (void)state;
    static const struct {
        size_t word;
        uint32_t value;
        const char *text;
    } rows[] = {
        {WORD_SIZE, 1000, "a ModelConfig at byte"},
        {WORD_NAME, 65, "ModelConfig.display_name"},
        {WORD_NAME + 1, 0xe4747365, "four printable ASCII characters"},
        {WORD_NAME + 1, 0, "four printable ASCII characters"},
        {WORD_NAME + 1, 0x74007465, "four printable ASCII characters"},
        {WORD_MODEL, 19, "ModelConfig.model"},
        {WORD_MODEL, UINT32_MAX, "(0xffffffff), expected a known number"},
        {WORD_WRAPPING, 4, "ModelConfig.wrapping"},
        {WORD_WEIGHT, 9, "ModelConfig.weight"},
        {WORD_WEIGHT, SBS_BF16, "ModelConfig.weight is BF16, but the narrowest tensor in \"toc\" has 8 bits"},
        {WORD_WEIGHT, 0, "ModelConfig.weight is unknown"},
        {WORD_ATT_CAP, 0x7fc00000, "ModelConfig.att_cap"},
        {WORD_FINAL_CAP, 0xff800000, "expected a finite number"},
        {WORD_ABSOLUTE_PE, 2, "expected 0 or 1"},
        {WORD_QUERY_SCALE, 2, "ModelConfig.query_scale"},
        {WORD_LAYER_COUNT, 65537, "a count of at most 65536"},
        {WORD_LAYER_COUNT, 60000, "fits into the"},
        {WORD_LAYER, 500, "a LayerConfig at byte"},
        {WORD_LAYER + 8, 2, "LayerConfig.ff_biases"},
        {WORD_LAYER + 11, 2, "LayerConfig.post_norm"},
        {WORD_LAYER + 13, 1, "LayerConfig.activation"},
        {WORD_WINDOW_COUNT, 65537, "ModelConfig.attention_window_sizes"},
    };
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        size_t dir;
        struct sbs s = sbs_model(SBS_SFP, true);
        set_word(sbs_find(&s, "config"), rows[i].word, rows[i].value);
        struct buf b = sbs_file(&s, 2, &dir);
        refuse(&b, CARAT_E_FORMAT, rows[i].text);
        sbs_free(&s);
    }
    size_t dir;
    struct sbs s = sbs_model(SBS_SFP, true);
    put(sbs_find(&s, "config"), "x", 1);
    struct buf b = sbs_file(&s, 2, &dir);
    refuse(&b, CARAT_E_FORMAT, "expected a multiple of 4");
    sbs_free(&s);
}

static void older_and_newer_configurations_open(void **state)
{
    (void)state;
    struct ct_file *f;
    carat_error err;
    size_t dir;
    struct sbs s = sbs_model(SBS_SFP, true);
    struct buf *config = sbs_find(&s, "config");
    uint32_t words = ct_le32(config->p);
    put_u32(config, 0xffffffff); /* of a field to come */
    put_u32(config, 5);
    set_word(config, 0, words + 2);
    struct buf b = sbs_file(&s, 2, &dir);
    accept(&b, 2, 10);
    buf_free(&b);
    config->n -= 4 * 4; /* eos ids and what follows are not there yet */
    set_word(config, 0, words - 2);
    b = sbs_file(&s, 2, &dir);
    if (open_bytes(&f, b.p, b.n, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(ct_file_sbs(f)->eos_id, 1);
    assert_int_equal(ct_file_sbs(f)->secondary_eos_id, 1);
    ct_file_close(f);
    buf_free(&b);
    config->n = 4; /* nothing but a size of 0 */
    set_word(config, 0, 0);
    b = sbs_file(&s, 2, &dir);
    refuse(&b, CARAT_E_FORMAT, "ModelConfig.weight is unknown");
    sbs_free(&s);
}

/* ---- B8: table of contents ---- */

static void contents_that_lie(void **state)
{
    (void)state;
    /* words of the first entry: size, name (1 + 3), type, element_bytes, num_elements, rows, cols, scale,
     * stride */
    static const struct {
        size_t word;
        uint32_t value;
        const char *text;
    } rows[] = {
        {0, 60000, "a MatPtr at byte"},
        {0, 5, "element_bytes"},
        {1, 65, "MatPtr.name"},
        {2, 0x78787878, "is not a blob of this file"},
        {5, SBS_F32, "blob \"c_embedding\" at byte 256"},
        {5, 0, "element_bytes is 2, expected 1"},
        {5, 9, "MatPtr.type"},
        {6, 4, "element_bytes is 4, expected 2"},
        {7, 127, "num_elements is 127, expected 128"},
        {8, 17, "size of the blob is 256, expected 272"},
        {8, 0, "size of the blob is 256, expected 0"},
        {8, UINT32_MAX, "size of the blob"},
        {9, UINT32_MAX, "size of the blob"},
        {10, 0, "scale 0"},
        {10, 0x7f800000, "MatPtr.scale"},
        {10, 0xbf800000, "positive"},
        {11, 12, "stride is 12, expected 8"},
    };
    for (size_t i = 0; i < CT_COUNT(rows); i++) {
        size_t dir;
        struct sbs s = sbs_model(SBS_SFP, true);
        set_word(sbs_find(&s, "toc"), rows[i].word, rows[i].value);
        struct buf b = sbs_file(&s, 2, &dir);
        refuse(&b, CARAT_E_FORMAT, rows[i].text);
        sbs_free(&s);
    }
    size_t dir;
    struct sbs s = sbs_model(SBS_SFP, true);
    put_entry(sbs_find(&s, "toc"), "c_final_norm", SBS_BF16, 1, SBS_HIDDEN);
    struct buf b = sbs_file(&s, 2, &dir);
    refuse(&b, CARAT_E_FORMAT, "\"c_final_norm\" is there twice");
    for (int i = 0; i < 20; i++)
        put_entry(sbs_find(&s, "toc"), "c_final_norm", SBS_BF16, 1, SBS_HIDDEN);
    b = sbs_file(&s, 2, &dir);
    refuse(&b, CARAT_E_FORMAT, "entry 13 at byte");
    sbs_free(&s);
}

/* ---- B9 and files on disk ---- */

static void tokenizers_are_found(void **state)
{
    (void)state;
    static const char proto[] = "\n\3\n\1a";
    static const char *const all[] = {"x.sbs", "tokenizer.spm", "tokenizer.model", NULL};
    for (int inside = 0; inside < 3; inside++) { /* nothing, the mark of none, a model */
        char *dir = temp_dir();
        size_t at;
        struct sbs s = sbs_model(SBS_SFP, true);
        if (inside)
            put_text(sbs_add(&s, "tokenizer"), inside == 1 ? "unavailable" : proto);
        struct buf b = sbs_file(&s, 2, &at);
        write_file(dir, "x.sbs", b.p, b.n);
        for (int beside = 0; beside < 3; beside++) {
            if (beside)
                write_text(dir, all[3 - beside], beside == 1 ? "\n\2second" : "\n\2first");
            struct ct_file *f = accept_path(path_in(dir, "x.sbs"), false);
            struct ct_bytes t = ct_file_side(f, "tokenizer.model");
            const char *expected = inside == 2   ? proto
                                   : beside == 1 ? "\n\2second"
                                   : beside == 2 ? "\n\2first"
                                                 : NULL;
            assert_int_equal(t.data != NULL, expected != NULL);
            if (expected) {
                assert_int_equal(t.size, strlen(expected));
                assert_memory_equal(t.data, expected, t.size);
            }
            ct_file_close(f);
        }
        buf_free(&b);
        sbs_free(&s);
        remove_dir(dir, all);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_files_open),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(headers_that_lie),
        cmocka_unit_test(as_many_blobs_as_allowed),
        cmocka_unit_test(directories_that_lie),
        cmocka_unit_test(old_files_are_named),
        cmocka_unit_test(configurations_that_lie),
        cmocka_unit_test(older_and_newer_configurations_open),
        cmocka_unit_test(contents_that_lie),
        cmocka_unit_test(tokenizers_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
