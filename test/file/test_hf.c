/* SPDX-License-Identifier: Apache-2.0 */
/* test_hf.c: directories, sets of buffers and single files that are not a GGUF: what opens as what, that
 * index and shards must agree, that nothing outside the directory is opened, and that every wrong thing is
 * called by its name. */
#include "file/file_build.h"

#define ENTRY(name, begin, end)                                                                              \
    "\"" name "\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" begin "," end "]}"
#define INDEX  "model.safetensors.index.json"
#define SHARD1 "model-00001-of-00002.safetensors"
#define SHARD2 "model-00002-of-00002.safetensors"

static const char *const all_names[] = {"config.json",
                                        "model.safetensors",
                                        INDEX,
                                        SHARD1,
                                        SHARD2,
                                        "tokenizer.json",
                                        "tokenizer.model",
                                        "tokenizer_config.json",
                                        "generation_config.json",
                                        "pytorch_model.bin",
                                        "adapter_config.json",
                                        "x",
                                        NULL};

static void write_shard(const char *dir, const char *name, const char *header, size_t data)
{
    struct buf b = {0};
    put_safetensors(&b, header, data);
    write_file(dir, name, b.p, b.n);
    buf_free(&b);
}

static void write_map(const char *dir, const char *map)
{
    char text[2048];
    snprintf(text, sizeof text, "{\"metadata\":{\"total_size\":12},\"weight_map\":{%s}}", map);
    write_text(dir, INDEX, text);
}

static void plain_directory(void **state)
{
    (void)state;
    char *dir = temp_dir();
    refuse_path(dir, false, CARAT_E_NOT_FOUND, "it has no config.json;");
    refuse_path(dir, true, CARAT_E_NOT_FOUND, "neither tokenizer.json nor tokenizer.model");
    write_text(dir, "tokenizer.model", "\n\x05xxxxx");
    refuse_path(dir, false, CARAT_E_NOT_FOUND, "it has no config.json, only a tokenizer");
    write_text(dir, "pytorch_model.bin", "PK\3\4");
    write_text(dir, "config.json", "{}");
    refuse_path(dir, false, CARAT_E_UNSUPPORTED, "pytorch_model.bin, a Python pickle");
    unlink(path_in(dir, "pytorch_model.bin"));
    refuse_path(dir, false, CARAT_E_FORMAT, "model.safetensors or model.safetensors.index.json was expected");
    write_text(dir, "adapter_config.json", "{}");
    refuse_path(dir, false, CARAT_E_UNSUPPORTED, "LoRA");
    unlink(path_in(dir, "adapter_config.json"));

    write_shard(dir, "model.safetensors", "{" ENTRY("a", "0", "4") "}", 4);
    write_text(dir, "tokenizer_config.json", "");
    struct ct_file *f = accept_path(dir, false);
    assert_int_equal(ct_file_kind(f), CT_FILE_HF);
    assert_string_equal(ct_file_path(f), dir);
    assert_int_equal(ct_file_tensor_count(f), 1);
    assert_memory_equal(ct_file_find(f, "a")->data, "\0\1\2\3", 4);
    assert_string_equal(ct_file_find(f, "a")->file, path_in(dir, "model.safetensors"));
    assert_int_equal(ct_file_side(f, "config.json").size, 2);
    assert_int_equal(ct_file_side(f, "tokenizer.model").size, 7);
    assert_non_null(ct_file_side(f, "tokenizer_config.json").data); /* there, and empty */
    assert_int_equal(ct_file_side(f, "tokenizer_config.json").size, 0);
    assert_null(ct_file_side(f, "generation_config.json").data);
    assert_null(ct_file_side(f, "../config.json").data);
    ct_file_close(f);
    f = accept_path(path_in(dir, ""), false); /* with a slash at the end */
    assert_int_equal(ct_file_tensor_count(f), 1);
    ct_file_close(f);

    /* only its tokenizer: the weights may be broken */
    write_text(dir, "model.safetensors", "nonsense");
    f = accept_path(dir, true);
    assert_int_equal(ct_file_kind(f), CT_FILE_TOKENIZER);
    assert_int_equal(ct_file_tensor_count(f), 0);
    assert_int_equal(ct_file_side(f, "tokenizer.model").size, 7);
    ct_file_close(f);
    refuse_path(dir, false, CARAT_E_FORMAT, "/model.safetensors");

    unlink(path_in(dir, "config.json"));
    refuse_path(dir, false, CARAT_E_FORMAT, "has weights but no config.json");
    assert_int_equal(mkdir(path_in(dir, "config.json"), 0700), 0);
    refuse_path(dir, false, CARAT_E_FORMAT, "config.json is a directory");
    assert_int_equal(rmdir(path_in(dir, "config.json")), 0);
    remove_dir(dir, all_names);
}

static void sharded_directory(void **state)
{
    (void)state;
    char *dir = temp_dir();
    write_text(dir, "config.json", "{}");
    write_shard(dir, SHARD1, "{" ENTRY("a", "4", "8") "," ENTRY("b", "0", "4") "}", 8);
    write_shard(dir, SHARD2, "{" ENTRY("c", "0", "4") "," ENTRY("extra", "4", "8") "}", 8);

    /* what the index does not name is left out */
    write_map(dir, "\"c\":\"" SHARD2 "\",\"a\":\"" SHARD1 "\",\"b\":\"" SHARD1 "\"");
    struct ct_file *f = accept_path(dir, false);
    assert_int_equal(ct_file_tensor_count(f), 3);
    check_tensors(f, NULL, 1 << 20);
    assert_string_equal(ct_file_tensor(f, 0)->name, "b");
    assert_string_equal(ct_file_tensor(f, 2)->name, "c");
    assert_int_equal(ct_file_find(f, "a")->data[0], 4);
    assert_string_equal(ct_file_find(f, "c")->file, path_in(dir, SHARD2));
    assert_null(ct_file_find(f, "extra"));
    ct_file_close(f);

    /* two models: a whole file that the index does not name; one that it does name is a shard */
    write_shard(dir, "model.safetensors", "{" ENTRY("single", "0", "4") "}", 4);
    refuse_path(dir, false, CARAT_E_FORMAT, "found model.safetensors beside it, which it does not name");
    write_map(dir, "\"c\":\"" SHARD2 "\",\"single\":\"model.safetensors\"");
    f = accept_path(dir, false);
    assert_int_equal(ct_file_tensor_count(f), 2);
    ct_file_close(f);
    unlink(path_in(dir, "model.safetensors"));

    write_map(dir, "\"a\":\"" SHARD1 "\",\"b\":\"" SHARD1 "\",\"c\":\"" SHARD1 "\"");
    refuse_path(dir, false, CARAT_E_FORMAT, "puts tensor \"c\" into");
    write_map(dir, "\"a\":\"" SHARD1 "\",\"z\":\"" SHARD2 "\"");
    refuse_path(dir, false, CARAT_E_FORMAT, SHARD2 ", which does not have it");
    write_map(dir, "\"a\":\"" SHARD1 "\",\"c\":\"model-3.safetensors\"");
    refuse_path(dir, false, CARAT_E_FORMAT, "model-3.safetensors is missing");
    write_map(dir, "\"a\":\"" SHARD1 "\",\"b\":\"" SHARD1 "\",\"a\":\"" SHARD1 "\"");
    refuse_path(dir, false, CARAT_E_FORMAT, "names tensor \"a\" twice");
    write_map(dir, "\"a\":\"" SHARD1 "\",\"a\":\"" SHARD2 "\"");
    refuse_path(dir, false, CARAT_E_FORMAT, "puts tensor \"a\" into");
    write_shard(dir, SHARD2, "{" ENTRY("a", "0", "4") "}", 4);
    refuse_path(dir, false, CARAT_E_FORMAT, "tensor \"a\" is there twice");

    static const char *const outside[] = {"../x.safetensors", "/etc/passwd", "..",       ".", "",
                                          "a/b.safetensors",  "a\\\\b",      "a\\u0000b"};
    for (size_t i = 0; i < CT_COUNT(outside); i++) {
        char map[256];
        snprintf(map, sizeof map, "\"a\":\"%s\"", outside[i]);
        write_map(dir, map);
        refuse_path(dir, false, CARAT_E_FORMAT, "is not a plain file name");
    }
    static const struct {
        const char *text, *message;
    } bad[] = {{"", "found the end of the text"},
               {"[]", "must be a JSON object"},
               {"{}", "has no weight_map"},
               {"{\"weight_map\":[]}", "weight_map must be an object"},
               {"{\"weight_map\":{\"a\":1}}", "must hold file names"},
               {"{\"weight_map\":{},\"weight_map\":{}}", "weight_map is there twice"},
               {"{\"weight_map\":{\"a\":\"" SHARD1 "\"}", "found the end"},
               {"{\"weight_map\":{}} 1", "after the document"}};
    for (size_t i = 0; i < CT_COUNT(bad); i++) {
        write_text(dir, INDEX, bad[i].text);
        refuse_path(dir, false, CARAT_E_FORMAT, bad[i].message);
        refuse_path(dir, false, CARAT_E_FORMAT, INDEX);
    }
    /* more files than any checkpoint has: not one of them is opened */
    struct buf b = {0};
    put_text(&b, "{\"weight_map\":{\"a0\":\"" SHARD1 "\"");
    for (int i = 0; i < 100000; i++) {
        char entry[64];
        snprintf(entry, sizeof entry, ",\"t%d\":\"z%d.safetensors\"", i, i);
        put_text(&b, entry);
    }
    put_text(&b, "}}");
    write_file(dir, INDEX, b.p, b.n);
    refuse_path(dir, false, CARAT_E_FORMAT, "names 100001 files; the limit is 1024");
    buf_free(&b);
    remove_dir(dir, all_names);
}

static void buffers(void **state)
{
    (void)state;
    struct buf w = {0};
    put_safetensors(&w, "{" ENTRY("a", "0", "4") "}", 4);
    struct ct_part weights = {"model.safetensors", {w.p, w.n}},
                   config = {"config.json", {(const uint8_t *)"{}", 2}},
                   json = {"tokenizer.json", {(const uint8_t *)" {}", 3}},
                   nothing = {"tokenizer.json", {NULL, 0}};
    struct ct_file *f = NULL;
    carat_error err;
    assert_int_equal(ct_file_open_memory(&f, (struct ct_part[]){config, json, weights}, 3, &err), CARAT_OK);
    assert_int_equal(ct_file_kind(f), CT_FILE_HF);
    check_tensors(f, w.p, w.n);
    assert_int_equal(ct_file_tensor_count(f), 1);
    assert_ptr_equal(ct_file_side(f, "tokenizer.json").data, json.bytes.data);
    assert_string_equal(ct_file_find(f, "a")->file, "model.safetensors");
    ct_file_close(f);

    assert_int_equal(ct_file_open_memory(&f, (struct ct_part[]){nothing, config, weights}, 3, &err),
                     CARAT_OK);
    assert_non_null(ct_file_side(f, "tokenizer.json").data);
    ct_file_close(f);
    assert_int_equal(ct_file_open_memory(&f, &json, 1, &err), CARAT_OK);
    assert_int_equal(ct_file_kind(f), CT_FILE_TOKENIZER);
    assert_int_equal(ct_file_side(f, "tokenizer.json").size, 3);
    ct_file_close(f);
    assert_int_equal(ct_file_open_memory(&f, (struct ct_part[]){config, json}, 2, &err), CARAT_OK);
    assert_int_equal(ct_file_kind(f), CT_FILE_TOKENIZER);
    ct_file_close(f);

    f = NULL;
    expect_error(ct_file_open_memory(&f, NULL, 0, &err), &err, CARAT_E_ARGUMENT, "No buffer");
    expect_error(ct_file_open_memory(&f, (struct ct_part[]){config, weights, config}, 3, &err), &err,
                 CARAT_E_ARGUMENT, "named config.json");
    expect_error(ct_file_open_memory(&f, &config, 1, &err), &err, CARAT_E_FORMAT, "has no weights");
    expect_error(ct_file_open_memory(&f, &weights, 1, &err), &err, CARAT_E_UNSUPPORTED,
                 "is a safetensors file");
    expect_error(ct_file_open_memory(&f, &nothing, 1, &err), &err, CARAT_E_FORMAT, "is empty");
    expect_error(ct_file_open_memory(&f, (struct ct_part[]){weights, json}, 2, &err), &err, CARAT_E_FORMAT,
                 "no config.json");
    assert_null(f);
    buf_free(&w);
}

static void single_files(void **state)
{
    (void)state;
    char *dir = temp_dir();
    char x[1024];
    snprintf(x, sizeof x, "%s", path_in(dir, "x"));
    refuse_path(x, false, CARAT_E_NOT_FOUND, x);
    static const struct {
        const char *bytes;
        size_t n;
        carat_status code;
        const char *text;
    } kinds[] = {
#define FILE_OF(bytes) bytes, sizeof(bytes) - 1
        {FILE_OF(""), CARAT_E_FORMAT, "is empty"},
        {FILE_OF("GGU"), CARAT_E_FORMAT, "ends at byte 3 inside the magic"},
        {FILE_OF("GGUF"), CARAT_E_FORMAT, "inside the version"},
        {FILE_OF("\x89PNG\r\n\x1a\n"), CARAT_E_UNSUPPORTED, "PNG image"},
        {FILE_OF("PK\3\4...."), CARAT_E_UNSUPPORTED, "pickle is never loaded"},
        {FILE_OF("\x80\2}q\0"), CARAT_E_UNSUPPORTED, "pickle is never loaded"},
        {FILE_OF("\x7f"
                 "ELF\2\1\1"),
         CARAT_E_UNSUPPORTED, "ELF"},
        {FILE_OF("\x1f\x8b\x08"), CARAT_E_UNSUPPORTED, "gzip"},
        {FILE_OF("<!DOCTYPE html>"), CARAT_E_FORMAT, "HTML"},
        {FILE_OF("version https://git-lfs.github.com/spec/v1\n"), CARAT_E_FORMAT, "Git LFS pointer"},
        {FILE_OF("lmgg\1\0\0\0"), CARAT_E_UNSUPPORTED, "GGML"},
        {FILE_OF("tjgg\3\0\0\0"), CARAT_E_UNSUPPORTED, "GGJT"},
        {FILE_OF("SBS\n............"), CARAT_E_FORMAT, "SBS"},
        {FILE_OF("\x1c\0\0\0TFL3"), CARAT_E_UNSUPPORTED, "TensorFlow Lite"},
        {FILE_OF("LITERTLM\1\0\0\0"), CARAT_E_UNSUPPORTED, "LiteRT-LM"},
        {FILE_OF("\2\0\0\0\0\0\0\0{}"), CARAT_E_UNSUPPORTED,
         "is a safetensors file, which holds weights only: give the directory"},
        {FILE_OF("  \n{}"), CARAT_E_UNSUPPORTED, "JSON document"},
        {FILE_OF("\n\x0e\n\x05<unk>"), CARAT_E_UNSUPPORTED, "SentencePiece"},
        {FILE_OF("\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\2"), CARAT_E_UNSUPPORTED, "SentencePiece"},
        {FILE_OF("\n                                 Apache License\n"), CARAT_E_UNSUPPORTED,
         "begins with bytes 0a 20 20 20;"},
        {FILE_OF("\n\n\n\n\n\n"), CARAT_E_UNSUPPORTED, "begins with bytes 0a 0a 0a 0a;"},
        {FILE_OF("\n\x0d\n\x05hello, world"), CARAT_E_UNSUPPORTED, "begins with bytes 0a 0d 0a 05;"},
        {FILE_OF("hello"), CARAT_E_UNSUPPORTED, "begins with bytes 68 65 6c 6c;"},
        {FILE_OF("\0"), CARAT_E_UNSUPPORTED, "begins with bytes 00;"},
#undef FILE_OF
    };
    for (size_t i = 0; i < CT_COUNT(kinds); i++) {
        write_file(dir, "x", kinds[i].bytes, kinds[i].n);
        refuse_path(x, false, kinds[i].code, kinds[i].text);
        refuse_path(x, false, kinds[i].code, x);
    }
    write_text(dir, "x", " \n{}");
    struct ct_file *f = accept_path(x, true);
    assert_int_equal(ct_file_kind(f), CT_FILE_TOKENIZER);
    assert_int_equal(ct_file_side(f, "tokenizer.json").size, 4);
    assert_null(ct_file_side(f, "tokenizer.model").data);
    assert_string_equal(ct_file_path(f), x);
    ct_file_close(f);
    write_text(dir, "x", "\n\x0e\n\x05<unk>");
    f = accept_path(x, true);
    assert_int_equal(ct_file_side(f, "tokenizer.model").size, 9);
    assert_null(ct_file_side(f, "tokenizer.json").data);
    ct_file_close(f);
    write_text(dir, "x", "hello");
    refuse_path(x, true, CARAT_E_UNSUPPORTED, "68 65 6c 6c");
    refuse_path(path_in(dir, "x/y"), false, CARAT_E_NOT_FOUND, "x/y");
    refuse_path("/dev/null", false, CARAT_E_IO, "device");
    remove_dir(dir, all_names);
}

/* The reference's checkpoints, where they are at hand: all open, and tensors agree in number with their
 * container. */
static void shared_vectors(void **state)
{
    (void)state;
    const char *shared = getenv("CARAT_SHARED");
    if (!shared)
        skip();
    static const struct {
        const char *path;
        enum ct_file_kind kind;
        int tensors;
    } models[] = {
        {"models/gemma1-f32", CT_FILE_HF, 29},
        {"models/gemma3-mm-sharded", CT_FILE_HF, 103},
        {"models/gemma3-mm-sharded-b", CT_FILE_HF, 103},
        {"models/gemma3-realvocab", CT_FILE_HF, 80},
        {"gguf/v2-f16.gguf", CT_FILE_GGUF, 29},
        {"gguf/align64-f16.gguf", CT_FILE_GGUF, 46},
        {"gguf/mixed-q4_0.gguf", CT_FILE_GGUF, 28},
        {"gguf/split-bf16-00001-of-00002.gguf", CT_FILE_GGUF, 29},
        {"gguf/q-IQ4_XS.gguf", CT_FILE_GGUF, 28},
        {"gguf/gemma3-62layers.gguf", CT_FILE_GGUF, 808},
    };
    for (size_t i = 0; i < CT_COUNT(models); i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", shared, models[i].path);
        struct ct_file *f = accept_path(path, false);
        assert_int_equal(ct_file_kind(f), models[i].kind);
        assert_int_equal(ct_file_tensor_count(f), models[i].tensors);
        check_tensors(f, NULL, (size_t)1 << 30);
        ct_file_close(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_directory), cmocka_unit_test(sharded_directory), cmocka_unit_test(buffers),
        cmocka_unit_test(single_files),    cmocka_unit_test(shared_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
