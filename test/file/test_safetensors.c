/* SPDX-License-Identifier: Apache-2.0 */
/* test_safetensors.c: the safetensors reader on headers this test writes: a good one, the same cut at every
 * byte and damaged in every byte, and one for each rule of the format. */
#include "file/file_build.h"
#include "file/reader.h"

static const char good[] =
    "{\"__metadata__\":{\"format\":\"pt\"},"
    "\"model.b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[16,40]},"
    "\"model.a\":{\"dtype\":\"BF16\",\"shape\":[8],\"data_offsets\":[0,16]},"
    "\"empty\":{\"dtype\":\"F64\",\"shape\":[0,4],\"data_offsets\":[16,16]},"
    "\"scalar\":{\"shape\":[],\"data_offsets\":[40,48],\"dtype\":\"I64\"},"
    "\"f\\u00fcr\":{\"dtype\":\"F8_E4M3\",\"shape\":[1,1,2,2],\"data_offsets\":[48,52]}}    ";
enum { GOOD_DATA = 52 };

static carat_status open_bytes(struct ct_file **f, const uint8_t *p, size_t n, carat_error *err,
                               uint8_t **copy)
{
    static struct ct_part part[2]; /* borrowed until the file is closed */
    *copy = malloc(n ? n : 1);
    assert_non_null(*copy);
    if (n)
        memcpy(*copy, p, n);
    part[0] = (struct ct_part){"config.json", {(const uint8_t *)"{}", 2}};
    part[1] = (struct ct_part){"model.safetensors", {*copy, n}};
    *f = NULL;
    return ct_file_open_memory(f, part, 2, err);
}

static void refuse_buf(struct buf *b, carat_status code, const char *text)
{
    struct ct_file *f;
    carat_error err;
    uint8_t *copy;
    carat_status status = open_bytes(&f, b->p, b->n, &err, &copy);
    ct_file_close(f);
    free(copy);
    buf_free(b);
    expect_error(status, &err, code, text);
    assert_non_null(strstr(err.message, "model.safetensors"));
}

static void refuse(const char *header, size_t data, carat_status code, const char *text)
{
    struct buf b = {0};
    put_safetensors(&b, header, data);
    refuse_buf(&b, code, text);
}

/* One entry with these members. */
static void refuse_entry(const char *members, size_t data, const char *text)
{
    char header[2048];
    snprintf(header, sizeof header, "{\"t\":{%s}}", members);
    refuse(header, data, CARAT_E_FORMAT, text);
}

static void reads_everything(void **state)
{
    (void)state;
    struct buf b = {0};
    put_safetensors(&b, good, GOOD_DATA);
    struct ct_file *f;
    carat_error err;
    uint8_t *copy;
    if (open_bytes(&f, b.p, b.n, &err, &copy) != CARAT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(ct_file_kind(f), CT_FILE_HF);
    assert_int_equal(f->version, 0);
    assert_int_equal(ct_file_tensor_count(f), 5);
    assert_int_equal(f->metas.index.n, 0);
    assert_null(ct_file_meta(f, "general.architecture"));
    assert_int_equal(ct_file_side(f, "config.json").size, 2);
    assert_null(ct_file_side(f, "tokenizer.json").data);
    assert_null(ct_file_side(f, "model.safetensors").data);
    check_tensors(f, copy, b.n);

    static const char *const order[] = {"model.a", "empty", "model.b", "scalar",
                                        "f\xc3\xbcr"}; /* of the data */
    for (int i = 0; i < 5; i++)
        assert_string_equal(ct_file_tensor(f, i)->name, order[i]);
    const struct ct_tensor *t = ct_file_find(f, "model.b");
    assert_int_equal(t->type, CT_F32);
    assert_int_equal(t->n_dim, 2);
    assert_int_equal(t->dim[0], 2);
    assert_int_equal(t->dim[1], 3);
    assert_int_equal(t->size, 24);
    assert_int_equal(t->data[0], 16);
    assert_int_equal(t->offset, 8 + sizeof good - 1 + 16);
    t = ct_file_find(f, "scalar");
    assert_int_equal(t->type, CT_TYPE_COUNT);
    assert_string_equal(t->type_name, "I64");
    assert_int_equal(t->n_dim, 1);
    assert_int_equal(t->dim[0], 1);
    t = ct_file_find(f, "empty");
    assert_int_equal(t->size, 0);
    assert_int_equal(t->dim[0], 0);
    ct_file_close(f);
    free(copy);
    buf_free(&b);
}

static void refuses_every_prefix(void **state)
{
    (void)state;
    struct buf b = {0};
    put_safetensors(&b, good, GOOD_DATA);
    for (size_t n = 0; n < b.n; n++) {
        struct ct_file *f;
        carat_error err;
        uint8_t *copy;
        assert_int_equal(open_bytes(&f, b.p, n, &err, &copy), CARAT_E_FORMAT);
        assert_null(f);
        if (n != 8)
            assert_non_null(strstr(err.message, n < b.n - GOOD_DATA ? "the file ends at byte" : "missing"));
        free(copy);
    }
    /* the header itself cut, with its length telling the truth: JSON in every state of incompleteness */
    for (size_t n = 0; n < strlen(good) - 4; n++) {
        struct buf c = {0};
        put_u64(&c, n);
        put(&c, good, n);
        refuse_buf(&c, CARAT_E_FORMAT, "");
    }
    buf_free(&b);
}

static void survives_every_byte(void **state)
{
    (void)state;
    struct buf b = {0};
    put_safetensors(&b, good, GOOD_DATA);
    static const uint8_t flips[] = {0x01, 0x02, 0x10, 0x80, 0xff};
    int opened = 0, refused = 0;
    for (size_t i = 0; i < b.n - GOOD_DATA; i++)
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
                refused++;
            }
            ct_file_close(f);
            free(copy);
            b.p[i] ^= flips[k];
        }
    assert_true(opened > 50 && refused > 500);
    buf_free(&b);
}

static void refuses_lengths(void **state)
{
    (void)state;
    struct buf b = {0};
    static const struct {
        uint64_t n;
        const char *text;
    } lengths[] = {{0, "found the end of the text"},
                   {1, "expected a key"},
                   {3, "inside the header, which takes 3 bytes"},
                   {100000001, "the limit of the format is 100000000"},
                   {UINT64_MAX, "18446744073709551615"}};
    for (size_t i = 0; i < CT_COUNT(lengths); i++) {
        put_u64(&b, lengths[i].n);
        put_text(&b, "{}");
        refuse_buf(&b, CARAT_E_FORMAT, lengths[i].text);
    }
    put_text(&b, "version https://git-lfs.github.com/spec/v1\n");
    refuse_buf(&b, CARAT_E_FORMAT, "Git LFS pointer");
    /* an empty model is a sound file */
    struct ct_file *f;
    uint8_t *copy;
    put_safetensors(&b, "{}", 0);
    assert_int_equal(open_bytes(&f, b.p, b.n, NULL, &copy), CARAT_OK);
    assert_int_equal(ct_file_tensor_count(f), 0);
    ct_file_close(f);
    free(copy);
    buf_free(&b);
    refuse("{}", 1, CARAT_E_FORMAT, "ends at byte 10, but the file has 11 bytes");
}

static void refuses_json(void **state)
{
    (void)state;
    refuse("{} x", 0, CARAT_E_FORMAT, "at byte 11");
    refuse("{}{}", 0, CARAT_E_FORMAT, "at byte 10");
    refuse("[]", 0, CARAT_E_FORMAT, "not a safetensors file");
    refuse("\xef\xbb\xbf{}", 0, CARAT_E_FORMAT, "not a safetensors file");
    refuse("{\"\xff\":{}}", 0, CARAT_E_FORMAT, "UTF-8");
    refuse("{\"a\\u0000b\":{}}", 0, CARAT_E_FORMAT, "plain text");
    refuse("{\"a\\nb\":{}}", 0, CARAT_E_FORMAT, "plain text");
    refuse("{\"\":{}}", 0, CARAT_E_FORMAT, "1 to 4096 bytes");
    refuse("{\"\\ud800\":{}}", 0, CARAT_E_FORMAT, "surrogate");
    refuse("{\"t\":[]}", 0, CARAT_E_FORMAT, "must be an object");
    refuse("{\"t\":null}", 0, CARAT_E_FORMAT, "(in tensor \"t\")");
    refuse("{\"__metadata__\":{\"a\":1}}", 0, CARAT_E_FORMAT, "strings only");
    refuse("{\"__metadata__\":[]}", 0, CARAT_E_FORMAT, "must be an object");
    refuse("{\"__metadata__\":{},\"__metadata__\":{}}", 0, CARAT_E_FORMAT, "__metadata__ is there twice");
    char deep[20002];
    memset(deep, '[', sizeof deep - 1);
    deep[0] = '{';
    deep[sizeof deep - 1] = 0;
    refuse(deep, 0, CARAT_E_FORMAT, "expected a key");
    memcpy(deep, "{\"t\":", 5);
    refuse(deep, 0, CARAT_E_FORMAT, "must be an object");
    memcpy(deep, "{\"t\":{\"shape\":", 14);
    refuse(deep, 0, CARAT_E_FORMAT, "shape must be an array");
    memset(deep, 'n', sizeof deep - 1);
    memcpy(deep, "{\"", 2);
    memcpy(deep + 5000, "\":{}}", 6);
    refuse(deep, 0, CARAT_E_FORMAT, "1 to 4096 bytes");
}

static void refuses_entries(void **state)
{
    (void)state;
#define OFFSETS(a, b) "\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" a "," b "]"
    refuse_entry(OFFSETS("-4", "0"), 4, "plain integer");
    refuse_entry(OFFSETS("0", "4.0"), 4, "plain integer");
    refuse_entry(OFFSETS("0", "4e0"), 4, "plain integer");
    refuse_entry(OFFSETS("-0", "4"), 4, "plain integer");
    refuse_entry(OFFSETS("0", "\"4\""), 4, "at most 2 integers");
    refuse_entry(OFFSETS("0", "4,4"), 4, "at most 2 integers");
    refuse_entry(OFFSETS("0", "9223372036854775808"), 4, "plain integer");
    refuse_entry(OFFSETS("0", "18446744073709551616"), 4, "plain integer");
    refuse_entry(OFFSETS("0", "100000000000000000000000"), 4, "plain integer");
    refuse_entry(OFFSETS("9007199254740993", "9007199254740997"), 4,
                 "9007199254740997"); /* exact above 2^53 */
    refuse_entry(OFFSETS("4", "0"), 4, "reversed");
    refuse_entry(OFFSETS("0", "3"), 4, "take 4");
    refuse_entry(OFFSETS("1", "5"), 5, "leaves a gap");
    refuse_entry(OFFSETS("1", "5"), 4, "at least 1 bytes are missing");
    refuse_entry(OFFSETS("0", "4"), 5, "but the file has");
    refuse_entry("\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0]", 4, "found 1");
    refuse_entry("\"dtype\":\"U8\",\"shape\":[4]", 4, "without data_offsets");
    refuse_entry("\"dtype\":\"U8\",\"data_offsets\":[0,4]", 4, "without shape");
    refuse_entry("\"shape\":[4],\"data_offsets\":[0,4]", 4, "without dtype");
    refuse_entry("", 0, "without dtype");
    refuse_entry("\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]", 4,
                 "dtype is there twice");
    refuse_entry("\"shape\":[4],\"shape\":[4]", 4, "shape is there twice");
    refuse_entry("\"data_offsets\":[0,4],\"data_offsets\":[0,4]", 4, "data_offsets is there twice");
    refuse_entry("\"strides\":[1]", 4, "found the key \"strides\"");
    refuse_entry("\"dtype\":8", 4, "dtype must be a string");
    refuse_entry("\"dtype\":\"U8\",\"shape\":[[4]]", 4, "integers");
    refuse_entry("\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]", 1,
                 "at most 8 integers");
    refuse_entry("\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]", 0,
                 "countable");
    refuse_entry("\"dtype\":\"F32\",\"shape\":[4611686018427387904],\"data_offsets\":[0,0]", 0, "countable");
    refuse_entry("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,1]", 1, "whole bytes");
#undef OFFSETS
    refuse("{\"t\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1],\"data_offsets\":[0,1]}}", 1, CARAT_E_UNSUPPORTED,
           "5 dimensions");
    refuse("{\"t\":{\"dtype\":\"I4\",\"shape\":[2],\"data_offsets\":[0,1]}}", 1, CARAT_E_UNSUPPORTED,
           "dtype \"I4\"");
    refuse("{\"t\":{\"dtype\":\"bf16\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, CARAT_E_UNSUPPORTED,
           "dtype \"bf16\"");
    refuse("{\"t\":{\"dtype\":\"\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4, CARAT_E_UNSUPPORTED,
           "dtype \"\"");
}

static void refuses_overlap(void **state)
{
    (void)state;
#define TWO(a, b)                                                                                            \
    "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" a                                             \
    "},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":" b "}}"
    refuse(TWO("[0,4]", "[0,4]"), 4, CARAT_E_FORMAT, "overlaps");
    refuse(TWO("[0,4]", "[3,7]"), 7, CARAT_E_FORMAT, "overlaps");
    refuse(TWO("[0,4]", "[5,9]"), 9, CARAT_E_FORMAT, "leaves a gap");
    refuse(TWO("[4,8]", "[5,9]"), 9, CARAT_E_FORMAT, "leaves a gap");
#undef TWO
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"a\":{\"dtype\":\"U8\",\"shape\":"
           "[4],"
           "\"data_offsets\":[4,8]}}",
           8, CARAT_E_FORMAT, "tensor \"a\" is there twice");
    /* a name spelled with an escape is the same name */
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},\"\\u0061\":{\"dtype\":\"U8\","
           "\"shape\":[4],"
           "\"data_offsets\":[4,8]}}",
           8, CARAT_E_FORMAT, "tensor \"a\" is there twice");
}

/* Written by the safetensors package: test/data/file/README.md. */
static void foreign_writer(void **state)
{
    (void)state;
    struct ct_file *f = accept_path(path_in(CT_TEST_DATA, "file/hf"), false);
    assert_int_equal(ct_file_tensor_count(f), 4);
    const struct ct_tensor *t = ct_file_find(f, "model.embed_tokens.weight");
    float out[48];
    assert_int_equal(t->type, CT_F16);
    assert_int_equal(t->dim[0], 6);
    assert_int_equal(t->dim[1], 8);
    ct_dequantize(t->type, out, t->data, 48);
    for (int i = 0; i < 48; i++)
        assert_true(out[i] == (float)(i % 16 - 8) / 8);
    t = ct_file_find(f, "model.norm.weight");
    ct_dequantize(t->type, out, t->data, 8);
    for (int i = 0; i < 8; i++)
        assert_true(out[i] == (float)(i - 8) / 8);
    t = ct_file_find(f, "scale");
    ct_dequantize(t->type, out, t->data, 1);
    assert_true(out[0] == 0.5f);
    t = ct_file_find(f, "ids");
    assert_string_equal(t->type_name, "I64");
    assert_int_equal(ct_le64(t->data + 16), 2);
    ct_file_close(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_everything),    cmocka_unit_test(refuses_every_prefix),
        cmocka_unit_test(survives_every_byte), cmocka_unit_test(refuses_lengths),
        cmocka_unit_test(refuses_json),        cmocka_unit_test(refuses_entries),
        cmocka_unit_test(refuses_overlap),     cmocka_unit_test(foreign_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
