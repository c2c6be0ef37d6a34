/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf.c: the GGUF reader on files this test writes itself: a good one, the same cut at every byte and
 * damaged in every byte, and one file for each lie that a header can tell. */
#include "file/file_build.h"

#include "os/clock.h"
#include "file/reader.h"

#include <time.h>

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 };

static void put_array(struct buf *b, const char *key, uint32_t elem, uint64_t n, const void *data,
                      size_t size)
{
    put_str(b, key);
    put_u32(b, ARRAY);
    put_u32(b, elem);
    put_u64(b, n);
    put(b, data, size);
}

static void put_string_meta(struct buf *b, const char *key, const char *value)
{
    put_str(b, key);
    put_u32(b, STRING);
    put_str(b, value);
}

/* All value types, three tensors of which carat cannot read one. *data_at: where the tensor data begin. */
static struct buf good(uint32_t version, size_t *data_at)
{
    struct buf b = {0};
    put_header(&b, version, 3, 17);
    put_string_meta(&b, "general.architecture", "gemma3");
    put_meta(&b, "u8", U8, &(uint8_t){200}, 1);
    put_meta(&b, "i8", I8, &(int8_t){-100}, 1);
    put_meta(&b, "u16", U16, &(uint16_t){60000}, 2);
    put_meta(&b, "i16", I16, &(int16_t){-30000}, 2);
    put_meta_u32(&b, "u32", 4000000000u);
    put_meta(&b, "i32", I32, &(int32_t){-2000000000}, 4);
    put_meta(&b, "f32", F32, &(float){1e-6f}, 4);
    put_meta(&b, "bool", BOOL, &(uint8_t){1}, 1);
    put_meta(&b, "u64", U64, &(uint64_t){UINT64_MAX}, 8);
    put_meta(&b, "i64", I64, &(int64_t){INT64_MIN}, 8);
    put_meta(&b, "f64", F64, &(double){0.1}, 8);
    put_array(&b, "numbers", I16, 3, (int16_t[]){1, -2, 300}, 6);
    put_array(&b, "scores", F32, 2, (float[]){-1000.0f, 0.5f}, 8);
    put_array(&b, "flags", BOOL, 2, (uint8_t[]){1, 0}, 2);
    put_array(&b, "words", STRING, 3, "\3\0\0\0\0\0\0\0one\0\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0t\0o",
              8 + 3 + 8 + 8 + 3);
    put_array(&b, "nothing", STRING, 0, "", 0);
    put_info(&b, "matrix", 2, (uint64_t[]){64, 3}, 2, 0);   /* Q4_0: 3 * 2 * 18 = 108 bytes */
    put_info(&b, "foreign", 1, (uint64_t[]){96}, 9, 128);   /* Q8_1: 108 bytes, not read */
    put_info(&b, "cube", 3, (uint64_t[]){5, 3, 2}, 0, 256); /* F32: 120 bytes */
    put_pad(&b, 32);
    *data_at = b.n;
    put_zero(&b, 256 + 120);
    return b;
}

/* The bytes in a heap block of exactly their size, so that a sanitizer sees the first byte read beyond. */
static carat_status open_bytes(struct ct_file **f, const uint8_t *p, size_t n, carat_error *err,
                               uint8_t **copy)
{
    static struct ct_part part; /* borrowed until the file is closed */
    *copy = malloc(n ? n : 1);
    assert_non_null(*copy);
    if (n)
        memcpy(*copy, p, n);
    part = (struct ct_part){"model.gguf", {*copy, n}};
    *f = NULL;
    return ct_file_open_memory(f, &part, 1, err);
}

static void refuse(struct buf *b, carat_status code, const char *text)
{
    struct ct_file *f;
    carat_error err;
    uint8_t *copy;
    carat_status status = open_bytes(&f, b->p, b->n, &err, &copy);
    ct_file_close(f);
    free(copy);
    buf_free(b);
    expect_error(status, &err, code, text);
}

static void reads_everything(void **state)
{
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        size_t data_at;
        struct buf b = good(version, &data_at);
        struct ct_file *f;
        carat_error err;
        uint8_t *copy;
        assert_int_equal(open_bytes(&f, b.p, b.n, &err, &copy), CARAT_OK);
        assert_int_equal(ct_file_kind(f), CT_FILE_GGUF);
        assert_int_equal(f->version, version);
        assert_string_equal(ct_file_path(f), "model.gguf");
        assert_int_equal(f->metas.index.n, 17);
        assert_int_equal(ct_file_tensor_count(f), 3);
        check_tensors(f, copy, b.n);
        assert_null(ct_file_side(f, "config.json").data);

        const struct ct_tensor *t = ct_file_find(f, "matrix");
        assert_int_equal(t->type, CT_Q4_0);
        assert_int_equal(t->n_dim, 2);
        assert_int_equal(t->dim[0], 3); /* rows first */
        assert_int_equal(t->dim[1], 64);
        assert_int_equal(t->size, 108);
        assert_int_equal(t->offset, data_at);
        t = ct_file_tensor(f, 1);
        assert_string_equal(t->name, "foreign");
        assert_string_equal(t->type_name, "Q8_1");
        assert_int_equal(t->type, CT_TYPE_COUNT);
        assert_int_equal(t->size, 108);
        t = ct_file_find(f, "cube");
        assert_int_equal(t->n_dim, 3);
        assert_int_equal(t->dim[0], 2);
        assert_int_equal(t->dim[1], 3);
        assert_int_equal(t->dim[2], 5);
        assert_int_equal(t->offset, data_at + 256);

        static const struct {
            const char *key;
            int64_t value;
        } ints[] = {{"u8", 200},          {"i8", -100},         {"u16", 60000},    {"i16", -30000},
                    {"u32", 4000000000u}, {"i32", -2000000000}, {"i64", INT64_MIN}};
        for (size_t i = 0; i < CT_COUNT(ints); i++) {
            int64_t v = 7;
            assert_int_equal(ct_file_meta_int(f, ints[i].key, INT64_MIN, INT64_MAX, &v, &err), CARAT_OK);
            assert_true(v == ints[i].value);
        }
        double d = 0;
        assert_int_equal(ct_file_meta_float(f, "f32", &d, &err), CARAT_OK);
        assert_true(d == (double)1e-6f);
        assert_int_equal(ct_file_meta_float(f, "f64", &d, &err), CARAT_OK);
        assert_true(d == 0.1);
        assert_int_equal(ct_file_meta_float(f, "i16", &d, &err), CARAT_OK);
        assert_true(d == -30000.0);
        assert_int_equal(ct_file_meta(f, "bool")->type, CT_META_BOOL);
        assert_int_equal(ct_file_meta(f, "bool")->u, 1);
        assert_true(ct_str_is(ct_file_meta(f, "general.architecture")->s, "gemma3"));
        assert_true(ct_file_meta(f, "u64")->u == UINT64_MAX);
        assert_ptr_equal(&f->metas.meta[1], ct_file_meta(f, "u8"));
        assert_null(ct_file_meta(f, "u"));

        const struct ct_meta *m = ct_file_meta(f, "numbers");
        assert_int_equal(m->count, 3);
        assert_true(ct_meta_number(m, 1) == -2.0 && ct_meta_number(m, 2) == 300.0);
        assert_true(ct_meta_number(ct_file_meta(f, "scores"), 1) == 0.5);
        assert_true(ct_meta_number(ct_file_meta(f, "flags"), 0) == 1.0 &&
                    ct_meta_number(ct_file_meta(f, "flags"), 1) == 0.0);
        m = ct_file_meta(f, "words");
        size_t at = 0;
        struct ct_str s;
        assert_true(ct_meta_next_string(m, &at, &s) && ct_str_is(s, "one"));
        assert_true(ct_meta_next_string(m, &at, &s) && s.n == 0);
        assert_true(ct_meta_next_string(m, &at, &s) && s.n == 3 && memcmp(s.s, "t\0o", 3) == 0);
        assert_false(ct_meta_next_string(m, &at, &s));
        at = 0;
        assert_false(ct_meta_next_string(ct_file_meta(f, "nothing"), &at, &s));

        /* checked access */
        int64_t v = 5;
        assert_int_equal(ct_file_meta_int(f, "absent", 0, 1, &v, &err), CARAT_OK);
        assert_int_equal(v, 5);
        expect_error(ct_file_meta_int(f, "u8", 1, 100, &v, &err), &err, CARAT_E_FORMAT,
                     "\"u8\" is 200 at byte ");
        expect_error(ct_file_meta_int(f, "u64", 1, 100, &v, &err), &err, CARAT_E_FORMAT,
                     "18446744073709551615");
        expect_error(ct_file_meta_int(f, "f32", 1, 100, &v, &err), &err, CARAT_E_FORMAT, "is a float");
        expect_error(ct_file_meta_int(f, "bool", 0, 1, &v, &err), &err, CARAT_E_FORMAT, "is a bool");
        expect_error(ct_file_meta_float(f, "words", &d, &err), &err, CARAT_E_FORMAT, "is an array");
        assert_int_equal(v, 5);
        ct_file_close(f);
        free(copy);
        buf_free(&b);
    }
}

static void refuses_every_prefix(void **state)
{
    (void)state;
    size_t data_at;
    struct buf b = good(3, &data_at);
    for (size_t n = 0; n < b.n; n++) {
        struct ct_file *f;
        carat_error err;
        uint8_t *copy;
        carat_status status = open_bytes(&f, b.p, n, &err, &copy);
        assert_int_equal(status, CARAT_E_FORMAT);
        assert_null(f);
        assert_non_null(strstr(err.message, n == 0 ? "empty" : n < data_at ? "byte" : "missing"));
        free(copy);
    }
    buf_free(&b);
}

static void survives_every_byte(void **state)
{
    (void)state;
    size_t data_at;
    struct buf b = good(3, &data_at);
    static const uint8_t flips[] = {0x01, 0x80, 0xff, 0x40, 0x0b};
    int opened = 0, refused = 0;
    for (size_t i = 0; i < data_at; i++)
        for (size_t k = 0; k < CT_COUNT(flips); k++) {
            struct ct_file *f;
            carat_error err;
            uint8_t *copy;
            b.p[i] ^= flips[k];
            if (open_bytes(&f, b.p, b.n, &err, &copy) == CARAT_OK) {
                check_tensors(f, copy, b.n);
                opened++;
            } else {
                assert_null(f);
                assert_true(strlen(err.message) > 20);
                refused++;
            }
            ct_file_close(f);
            free(copy);
            b.p[i] ^= flips[k];
        }
    assert_true(opened > 100 && refused > 1000);
    buf_free(&b);
}

/* A file with one tensor info, its dimensions and type as given, and 64 bytes of data. */
static struct buf one_tensor(const char *name, uint32_t n_dim, const uint64_t *ne, uint32_t type,
                             uint64_t offset)
{
    struct buf b = {0};
    put_header(&b, 3, 1, 0);
    put_info(&b, name, n_dim, ne, type, offset);
    put_pad(&b, 32);
    put_zero(&b, 64);
    return b;
}

static void refuses_headers(void **state)
{
    (void)state;
    static const struct {
        uint32_t version;
        carat_status code;
        const char *text;
    } v[] = {{0, CARAT_E_FORMAT, "version 0"},
             {1, CARAT_E_UNSUPPORTED, "version 1"},
             {4, CARAT_E_UNSUPPORTED, "version 4"},
             {0x80000000u, CARAT_E_UNSUPPORTED, "version 2147483648"},
             {0x03000000u, CARAT_E_UNSUPPORTED, "big-endian"},
             {0x02000000u, CARAT_E_UNSUPPORTED, "big-endian"}};
    for (size_t i = 0; i < CT_COUNT(v); i++) {
        struct buf b = {0};
        put_header(&b, v[i].version, 0, 0);
        refuse(&b, v[i].code, v[i].text);
    }
    static const uint64_t counts[] = {65537, (uint64_t)1 << 32, (uint64_t)1 << 63, UINT64_MAX};
    for (size_t i = 0; i < CT_COUNT(counts); i++) {
        struct buf b = {0};
        put_header(&b, 3, counts[i], 0);
        refuse(&b, CARAT_E_FORMAT, "the number of tensors is ");
        put_header(&b, 3, 0, counts[i]);
        refuse(&b, CARAT_E_FORMAT, "the limit is 65536");
    }
    struct buf b = {0};
    put_header(&b, 3, 65536, 0);
    put_zero(&b, 1000);
    refuse(&b, CARAT_E_FORMAT, "is 65536 at byte 8, more than there is room for from byte 24 to byte 1024");
    put_header(&b, 3, 0, 65536);
    put_zero(&b, 1000);
    refuse(&b, CARAT_E_FORMAT, "is 65536 at byte 16, more than there is room for from byte 24 to byte 1024");
    /* enough bytes before the metadata was read, not after it */
    put_header(&b, 3, 10, 1);
    put_array(&b, "a", U8, 400, (uint8_t[400]){0}, 400);
    refuse(&b, CARAT_E_FORMAT,
           "the number of tensors is 10 at byte 8, more than there is room for from byte 449");
    /* nothing at all is fine */
    struct ct_file *f;
    uint8_t *copy;
    put_header(&b, 3, 0, 0);
    assert_int_equal(open_bytes(&f, b.p, b.n, NULL, &copy), CARAT_OK);
    assert_int_equal(ct_file_tensor_count(f) + f->metas.index.n, 0);
    assert_null(ct_file_meta(f, ""));
    ct_file_close(f);
    free(copy);
    buf_free(&b);
}

static void refuses_metadata(void **state)
{
    (void)state;
    struct buf b = {0};
#define META(...) (put_header(&b, 3, 0, 1), __VA_ARGS__, put_zero(&b, 64))
    META(put_u64(&b, 65536));
    refuse(&b, CARAT_E_FORMAT, "the limit is 65535");
    META(put_u64(&b, UINT64_MAX));
    refuse(&b, CARAT_E_FORMAT, "metadata entry 0");
    META(put_meta_u32(&b, "", 1));
    refuse(&b, CARAT_E_FORMAT, "which is not a name");
    META(put_meta_u32(&b, "a\xff", 1));
    refuse(&b, CARAT_E_FORMAT, "\"a\\xff\"");
    META(put_meta_u32(&b, "a\nb", 1));
    refuse(&b, CARAT_E_FORMAT, "\"a\\x0ab\"");
    META(put_u64(&b, 3), put(&b, "a\0b", 3), put_u32(&b, U32));
    refuse(&b, CARAT_E_FORMAT, "\"a\\x00b\"");
    META(put_meta(&b, "k", 13, "", 0));
    refuse(&b, CARAT_E_FORMAT, "\"k\" at byte 33 has the value type 13");
    META(put_meta(&b, "k", UINT32_MAX, "", 0));
    refuse(&b, CARAT_E_FORMAT, "value type -1");
    META(put_meta(&b, "k", BOOL, &(uint8_t){2}, 1));
    refuse(&b, CARAT_E_FORMAT, "a bool of 2");
    META(put_array(&b, "k", BOOL, 3, (uint8_t[]){0, 1, 7}, 3));
    refuse(&b, CARAT_E_FORMAT, "a bool of 7");
    META(put_str(&b, "k"), put_u32(&b, STRING), put_u64(&b, 65));
    refuse(&b, CARAT_E_FORMAT, "the file ends at byte");
    META(put_str(&b, "k"), put_u32(&b, STRING), put_u64(&b, UINT64_MAX));
    refuse(&b, CARAT_E_FORMAT, "18446744073709551615");
    META(put_array(&b, "k", ARRAY, 1, "", 0));
    refuse(&b, CARAT_E_FORMAT, "array of arrays");
    META(put_array(&b, "k", 255, 1, "", 0));
    refuse(&b, CARAT_E_FORMAT, "array of type 255");
    META(put_array(&b, "k", U64, (uint64_t)1 << 61, "", 0));
    refuse(&b, CARAT_E_FORMAT, "the limit is 16777216");
    META(put_array(&b, "k", U64, (uint64_t)1 << 24, "", 0));
    refuse(&b, CARAT_E_FORMAT, "the elements of metadata key \"k\"");
    META(put_array(&b, "k", STRING, (uint64_t)1 << 30, "", 0));
    refuse(&b, CARAT_E_FORMAT, "the limit is 16777216");
    META(put_array(&b, "k", STRING, 100, "", 0));
    refuse(&b, CARAT_E_FORMAT, "an element of metadata key \"k\"");
#undef META
    put_header(&b, 3, 0, 3);
    put_meta_u32(&b, "twice", 1);
    put_meta_u32(&b, "once", 1);
    put_meta_u32(&b, "twice", 1);
    refuse(&b, CARAT_E_FORMAT, "\"twice\" is there twice: at byte 41, and at byte 82");

    static const uint32_t alignments[] = {0, 1, 3, 4, 7, 48, 0x200000, 0x80000000u};
    for (size_t i = 0; i < CT_COUNT(alignments); i++) {
        put_header(&b, 3, 0, 1);
        put_meta_u32(&b, "general.alignment", alignments[i]);
        refuse(&b, CARAT_E_FORMAT, "general.alignment");
    }
    put_header(&b, 3, 0, 1);
    put_string_meta(&b, "general.alignment", "32");
    refuse(&b, CARAT_E_FORMAT, "general.alignment");
}

static void refuses_tensors(void **state)
{
    (void)state;
    static const uint64_t ok[] = {8, 2, 1, 1, 1, 1, 1, 1};
    struct buf b;
#define ONE(text, ...) (b = one_tensor(__VA_ARGS__), refuse(&b, CARAT_E_FORMAT, text))
    ONE("has 0 dimensions", "t", 0, ok, 0, 0);
    ONE("has 5 dimensions", "t", 5, ok, 0, 0);
    ONE("has 4294967295 dimensions", "t", UINT32_MAX, ok, 0, 0);
    ONE("a dimension of 0", "t", 2, ((uint64_t[]){8, 0}), 0, 0);
    ONE("a dimension of -9223372036854775808", "t", 1, ((uint64_t[]){(uint64_t)1 << 63}), 0, 0);
    ONE("more elements", "t", 2, ((uint64_t[]){(uint64_t)1 << 32, (uint64_t)1 << 32}), 0, 0);
    ONE("more elements", "t", 2, ((uint64_t[]){(uint64_t)1 << 62, 2}), 0, 0);
    ONE("more bytes", "t", 1, ((uint64_t[]){(uint64_t)1 << 62}), 0, 0);
    ONE("missing", "t", 1, ((uint64_t[]){(uint64_t)1 << 61}), 0, 0);
    ONE("a multiple of 32", "t", 2, ((uint64_t[]){33, 1}), 8, 0);
    ONE("a multiple of 256", "t", 2, ((uint64_t[]){128, 2}), 14, 0);
    ONE("is not 1 to 63 bytes", "", 2, ok, 0, 0);
    ONE("\"a\\x07b\"", "a\ab", 2, ok, 0, 0);
    ONE("the limit is 63", "0123456789012345678901234567890123456789012345678901234567890123", 2, ok, 0, 0);
    ONE("not a multiple of the alignment", "t", 2, ok, 0, 8);
    ONE("leaves a gap", "t", 2, ok, 0, 32);
    ONE("1 byte is missing", "t", 1, ((uint64_t[]){65}), 24, 0);
#undef ONE
    /* a first tensor that does not begin at 0, in a file that ends before its data would */
    b = (struct buf){0};
    put_header(&b, 3, 1, 0);
    put_info(&b, "t", 2, ok, 0, 32);
    refuse(&b, CARAT_E_FORMAT, "leaves a gap");
    static const uint32_t types[] = {UINT32_MAX, 43, 0x80000000u};
    for (size_t i = 0; i < CT_COUNT(types); i++) {
        b = one_tensor("t", 2, ok, types[i], 0);
        refuse(&b, CARAT_E_UNSUPPORTED, "tensor \"t\" has the type number ");
    }
    static const struct {
        uint32_t type;
        const char *says;
    } removed[] = {
        {4, "is of type Q4_2 (number 4 at byte "},         {5, "is of type Q4_3 (number 5 at byte "},
        {31, "is of type Q4_0_4_4 (number 31 at byte "},   {32, "is of type Q4_0_4_8 (number 32 at byte "},
        {33, "is of type Q4_0_8_8 (number 33 at byte "},   {36, "is of type IQ4_NL_4_4 (number 36 at byte "},
        {37, "is of type IQ4_NL_4_8 (number 37 at byte "}, {38, "is of type IQ4_NL_8_8 (number 38 at byte "},
    };
    for (size_t i = 0; i < CT_COUNT(removed); i++) {
        b = one_tensor("t", 2, ok, removed[i].type, 0);
        refuse(&b, CARAT_E_UNSUPPORTED, removed[i].says);
    }
    static const struct {
        const char *second;
        uint64_t offset;
        const char *text;
    } two[] = {{"b", 0, "overlaps"},
               {"b", 64, "leaves a gap"},
               {"a", 32, "is there twice"},
               {"b", UINT64_MAX - 31, "leaves a gap"},
               {"b", 33, "not a multiple"}};
    for (size_t i = 0; i < CT_COUNT(two); i++) {
        struct buf c = {0};
        put_header(&c, 3, 2, 0);
        put_info(&c, "a", 1, (uint64_t[]){5}, 0, 0);
        put_info(&c, two[i].second, 1, (uint64_t[]){8}, 0, two[i].offset);
        put_pad(&c, 32);
        put_zero(&c, 128);
        refuse(&c, CARAT_E_FORMAT, two[i].text);
    }
}

static void many_keys(void **state)
{
    (void)state;
    struct buf b = {0};
    put_header(&b, 3, 0, 65536);
    for (int i = 0; i < 65536; i++) {
        char key[96];
        snprintf(key, sizeof key, "the.same.long.prefix.for.every.key.of.the.file.%05d",
                 (int)((unsigned)i * 40503u % 65536));
        put_meta_u32(&b, key, (uint32_t)i);
    }
    struct ct_file *f;
    carat_error err;
    uint8_t *copy;
    assert_int_equal(open_bytes(&f, b.p, b.n, &err, &copy), CARAT_OK);
    clock_t start = clock();
    for (unsigned i = 0; i < 65536; i++) {
        char key[96];
        int64_t v;
        snprintf(key, sizeof key, "the.same.long.prefix.for.every.key.of.the.file.%05d",
                 (int)(i * 40503u % 65536));
        assert_int_equal(ct_file_meta_int(f, key, 0, 65536, &v, &err), CARAT_OK);
        assert_int_equal(v, i);
    }
    double spent = (double)(clock() - start) / CLOCKS_PER_SEC;
    print_message("65536 lookups: %.0f ms\n", spent * 1e3);
    assert_true(spent < 0.5); /* linear search would take minutes */
    ct_file_close(f);
    free(copy);
    buf_free(&b);
}

/* Part `no` of `count` of a split model that holds tensor `name`. */
static struct buf part(const char *name, uint16_t no, uint16_t count, int32_t total)
{
    struct buf b = {0};
    put_header(&b, 3, 1, 3);
    put_meta(&b, "split.no", U16, &no, 2);
    put_meta(&b, "split.count", U16, &count, 2);
    put_meta(&b, "split.tensors.count", I32, &total, 4);
    put_info(&b, name, 1, (uint64_t[]){4}, 0, 0);
    put_pad(&b, 32);
    put(&b, name, 1);
    put_zero(&b, 15);
    return b;
}

static void split_files(void **state)
{
    (void)state;
    static const char *const names[] = {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "other.gguf", NULL};
    char *dir = temp_dir();
    struct buf a = part("a", 0, 2, 2), b = part("b", 1, 2, 2);
    write_file(dir, names[0], a.p, a.n);
    char first[1024];
    snprintf(first, sizeof first, "%s", path_in(dir, names[0]));
    refuse_path(first, false, CARAT_E_FORMAT, "m-00002-of-00002.gguf is missing: it is part 2 of the 2");

    /* the metadata are in part 1 */
    struct ct_file *f = accept_path(first, true);
    ct_file_close(f);

    write_file(dir, names[1], b.p, b.n);
    f = accept_path(first, false);
    assert_int_equal(ct_file_tensor_count(f), 2);
    assert_string_equal(ct_file_tensor(f, 1)->name, "b");
    assert_int_equal(ct_file_find(f, "a")->data[0], 'a');
    assert_int_equal(ct_file_find(f, "b")->data[0], 'b');
    assert_non_null(strstr(ct_file_find(f, "b")->file, names[1]));
    ct_file_close(f);

    struct ct_part parts[2] = {{names[0], {a.p, a.n}}, {names[1], {b.p, b.n}}};
    assert_int_equal(ct_file_open_memory(&f, parts, 2, NULL), CARAT_OK);
    assert_int_equal(ct_file_tensor_count(f), 2);
    ct_file_close(f);
    carat_error err;
    expect_error(ct_file_open_memory(&f, parts, 1, &err), &err, CARAT_E_FORMAT, "is missing");

    refuse_path(path_in(dir, names[1]), false, CARAT_E_UNSUPPORTED, "is part 2 of 2");
    write_file(dir, names[2], a.p, a.n);
    refuse_path(path_in(dir, names[2]), false, CARAT_E_FORMAT, "does not end in -00001-of-00002.gguf");
    static const struct {
        const char *tensor;
        uint16_t no, count;
        int32_t total;
        const char *text;
    } wrong[] = {{"b", 0, 2, 2, "part 1 of 2"},      {"b", 1, 3, 2, "part 2 of 3"},
                 {"b", 1, 2, 3, "different models"}, {"a", 1, 2, 2, "is there twice"},
                 {"b", 2, 2, 2, "split.no"},         {"b", 0, 0, 2, "split.count"}};
    for (size_t i = 0; i < CT_COUNT(wrong); i++) {
        struct buf w = part(wrong[i].tensor, wrong[i].no, wrong[i].count, wrong[i].total);
        write_file(dir, names[1], w.p, w.n);
        refuse_path(first, false, CARAT_E_FORMAT, wrong[i].text);
        buf_free(&w);
    }
    write_file(dir, names[1], b.p, b.n - 17);
    refuse_path(first, false, CARAT_E_FORMAT, names[1]);
    buf_free(&a);
    a = part("a", 0, 2, 5);
    buf_free(&b);
    b = part("b", 1, 2, 5);
    write_file(dir, names[0], a.p, a.n);
    write_file(dir, names[1], b.p, b.n);
    refuse_path(first, false, CARAT_E_FORMAT, "the 2 parts hold 2 tensors, but split.tensors.count is 5");
    buf_free(&a);
    buf_free(&b);
    remove_dir(dir, names);
}

static void large_file_is_not_read(void **state)
{
    (void)state;
    static const char *const names[] = {"large.gguf", NULL};
    const uint64_t n = (uint64_t)144 << 20; /* times 4 bytes */
    char *dir = temp_dir();
    struct buf b = one_tensor("large", 2, (uint64_t[]){1 << 20, n >> 20}, 0, 0);
    write_file(dir, names[0], b.p, b.n);
    assert_int_equal(truncate(path_in(dir, names[0]), (off_t)(b.n - 64 + 4 * n)), 0);
    double start = ct_os_seconds();
    struct ct_file *f = accept_path(path_in(dir, names[0]), false);
    assert_true(ct_os_seconds() - start < 0.1);
    assert_int_equal(ct_file_tensor(f, 0)->size, 4 * n);
    ct_file_close(f);
    assert_int_equal(truncate(path_in(dir, names[0]), (off_t)(b.n - 64 + 4 * n - 1)), 0);
    refuse_path(path_in(dir, names[0]), false, CARAT_E_FORMAT, ": 1 byte is missing");
    buf_free(&b);
    remove_dir(dir, names);
}

/* Written by the gguf package: test/data/file/mixed.gguf, described in test/data/file/README.md. */
static void foreign_writer(void **state)
{
    (void)state;
    struct ct_file *f = accept_path(path_in(CT_TEST_DATA, "file/mixed.gguf"), false);
    assert_int_equal(f->version, 3);
    assert_int_equal(ct_file_tensor_count(f), 5);
    assert_true(ct_str_is(ct_file_meta(f, "general.architecture")->s, "gemma3"));
    static const struct {
        const char *name, *type;
        int64_t rows, columns;
    } want[] = {{"token_embd.weight", "F16", 6, 64},
                {"blk.0.attn_q.weight", "Q4_0", 4, 64},
                {"blk.0.attn_k.weight", "Q8_0", 2, 64},
                {"blk.0.ffn_up.weight", "BF16", 3, 64},
                {"output_norm.weight", "F32", 64, 0}};
    for (size_t i = 0; i < CT_COUNT(want); i++) {
        const struct ct_tensor *t = ct_file_find(f, want[i].name);
        assert_non_null(t);
        assert_ptr_equal(t, ct_file_tensor(f, (int)i));
        assert_string_equal(t->type_name, want[i].type);
        assert_int_equal(t->n_dim, want[i].columns ? 2 : 1);
        assert_int_equal(t->dim[0], want[i].rows);
        if (want[i].columns)
            assert_int_equal(t->dim[1], want[i].columns);
        assert_int_equal(t->offset % 64, 0); /* general.alignment of the file */
        /* element i of every tensor is (i % 16 - 8) / 8, exact in all five types */
        size_t n = (size_t)(t->dim[0] * (want[i].columns ? want[i].columns : 1));
        float *out = malloc(n * sizeof *out);
        assert_non_null(out);
        ct_dequantize(t->type, out, t->data, n);
        for (size_t k = 0; k < n; k++)
            assert_true(out[k] == (float)((int)(k % 16) - 8) / 8);
        free(out);
    }
    const struct ct_meta *m = ct_file_meta(f, "tokenizer.ggml.tokens");
    struct ct_str s;
    size_t at = 0;
    assert_int_equal(m->count, 6);
    assert_true(ct_meta_next_string(m, &at, &s) && ct_str_is(s, "<pad>"));
    double eps;
    assert_int_equal(ct_file_meta_float(f, "gemma3.attention.layer_norm_rms_epsilon", &eps, NULL), CARAT_OK);
    assert_true(eps == (double)1e-6f);
    ct_file_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_everything),
        cmocka_unit_test(refuses_every_prefix),
        cmocka_unit_test(survives_every_byte),
        cmocka_unit_test(refuses_headers),
        cmocka_unit_test(refuses_metadata),
        cmocka_unit_test(refuses_tensors),
        cmocka_unit_test(many_keys),
        cmocka_unit_test(split_files),
        cmocka_unit_test(large_file_is_not_read),
        cmocka_unit_test(foreign_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
