/* SPDX-License-Identifier: Apache-2.0 */
/* test_gguf_merges.c: a vocabulary with merges in GGUF, as llama.cpp's and ollama's converters write
 * Gemma 4's: it encodes and decodes as the tokenizer.json that it was made from, the committed one and the
 * real one, and what contradicts itself is refused by name. */
#include "vocabulary_gguf.h"

#include "text/tokenizer/detokenizer.h"

/* ---- the rules of tokenizer.json ---- */

/* The two converters. */
static const struct {
    const char *model, *pre;
    bool typed;
} writers[] = {{"gemma4", NULL, true}, {"llama", "gemma4", false}, {"gemma4", "default", true}};

static void json_line(void *t, int line, json_t *golden)
{
    const json_t *text = json_object_get(golden, "text"), *ids = json_object_get(golden, "hf_ids");
    check_ids(t, line, json_string_value(text), json_string_length(text), CARAT_SPECIAL,
              ids ? ids : json_object_get(golden, "ids"));
}

/* Both give the same ids and texts. */
static void check_alike(const struct ct_tokenizer *json, const struct ct_tokenizer *gguf, const char *text,
                        size_t n)
{
    for (int flags = 0; flags < 4; flags++) {
        carat_tokens a = {0}, b = {0};
        char *texts[2] = {NULL, NULL};
        size_t size[2];
        assert_int_equal(ct_tokenizer_encode(json, text, n, flags, NULL, &a, NULL), CARAT_OK);
        assert_int_equal(ct_tokenizer_encode(gguf, text, n, flags, NULL, &b, NULL), CARAT_OK);
        assert_int_equal(a.n, b.n);
        if (a.n)
            assert_memory_equal(a.ids, b.ids, (size_t)a.n * sizeof *a.ids);
        assert_int_equal(ct_tokenizer_decode(json, a.ids, a.n, flags, &texts[0], &size[0], NULL), CARAT_OK);
        assert_int_equal(ct_tokenizer_decode(gguf, a.ids, a.n, flags, &texts[1], &size[1], NULL), CARAT_OK);
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(texts[0], texts[1], size[0]);
        free(texts[0]);
        free(texts[1]);
        carat_tokens_free(&a);
        carat_tokens_free(&b);
    }
}

/* Any bytes, and what is hard: runs of white space, control tokens, bytes that make no character. */
static void check_random(const struct ct_tokenizer *json, const struct ct_tokenizer *gguf)
{
    static const char *const parts[] = {
        " ",  "\n", "\n\n\n", "\t",       "<bos>", "<unk>",   "<0x41>",           "the",
        "\r", "1",  "\xff",   "\xe2\x96", "<eos>", "kitchen", "\xf0\x9f\x99\x82", "a"};
    uint64_t seed = 4;
    for (int round = 0; round < 400; round++) {
        char text[512];
        size_t n = 0, most = next_random(&seed) % 300;
        while (n < most) {
            const char *part = parts[next_random(&seed) % CT_COUNT(parts)];
            for (uint32_t times = next_random(&seed) % 40 ? 1 : 70; times && n + strlen(part) < 500;
                 times--) {
                memcpy(text + n, part, strlen(part));
                n += strlen(part);
            }
        }
        check_alike(json, gguf, text, n);
    }
}

/* Lists of ids that no text gives: bytes in every order, control tokens among them. */
static void check_random_ids(const struct ct_tokenizer *json, const struct ct_tokenizer *gguf)
{
    uint64_t seed = 5;
    for (int round = 0; round < 400; round++) {
        int32_t ids[20];
        for (size_t i = 0; i < CT_COUNT(ids); i++)
            ids[i] = next_random(&seed) % 2 ? json->byte_id[next_random(&seed) % 256]
                                            : (int32_t)(next_random(&seed) % (uint32_t)json->n);
        for (int flags = 0; flags <= CARAT_SPECIAL; flags += CARAT_SPECIAL) {
            char *texts[2] = {NULL, NULL};
            size_t size[2];
            const struct ct_tokenizer *of[2] = {json, gguf};
            for (int i = 0; i < 2; i++)
                assert_int_equal(
                    ct_tokenizer_decode(of[i], ids, (int)CT_COUNT(ids), flags, &texts[i], &size[i], NULL),
                    CARAT_OK);
            assert_int_equal(size[0], size[1]);
            assert_memory_equal(texts[0], texts[1], size[0]);
            free(texts[0]);
            free(texts[1]);
        }
    }
}

static void as_tokenizer_json(void **state)
{
    (void)state;
    struct ct_tokenizer *json = open_json();
    for (size_t i = 0; i < CT_COUNT(writers); i++) {
        struct ct_tokenizer *gguf =
            tokenizer_of(gguf_of(json, writers[i].model, writers[i].pre, writers[i].typed));
        assert_string_equal(ct_tokenizer_source(gguf), "gguf");
        assert_int_equal(gguf->bos, json->bos);
        assert_true(gguf->byte_fallback && !gguf->space_prefix);
        assert_int_equal(each_line(CT_TEST_DATA "/text/goldens.jsonl", json_line, gguf), 573);
        check_random(json, gguf);
        check_random_ids(json, gguf);
        struct ct_bytes tables = tables_of(gguf);
        struct ct_tokenizer *mapped = from_tables(tables, false);
        check_random(json, mapped);
        check_random_ids(json, mapped);
        ct_tokenizer_free(mapped);
        free((void *)tables.data);
        ct_tokenizer_free(gguf);
    }
    ct_tokenizer_free(json);
}

/* A type that tokenizer.json does not have means no other than its rule: an unknown token is skipped as other
 * control tokens are, and a piece that is called unused is still made by merges. */
static void other_types(void **state)
{
    (void)state;
    struct ct_tokenizer *json = open_json(), *gguf;
    int32_t the = ct_tokenizer_id(json, "\xe2\x96\x81the"), unknown = ct_tokenizer_id(json, "<unk>");
    assert_true(the >= 0 && unknown >= 0);
    json->piece[the].kind = CT_PIECE_UNUSED;
    json->piece[unknown].kind = CT_PIECE_UNKNOWN;
    gguf = tokenizer_of(gguf_of(json, "gemma4", NULL, true));
    carat_tokens ids = {0};
    char *text = NULL;
    size_t n;
    assert_int_equal(ct_tokenizer_encode(gguf, " the", 4, 0, NULL, &ids, NULL), CARAT_OK);
    assert_true(ids.n == 1 && ids.ids[0] == the);
    assert_int_equal(ct_tokenizer_decode(gguf, &unknown, 1, 0, &text, &n, NULL), CARAT_OK);
    assert_int_equal(n, 0);
    free(text);
    carat_tokens_free(&ids);
    ct_tokenizer_free(gguf);
    ct_tokenizer_free(json);
}

/* ---- Gemma 4's own ---- */

static void real_line(void *t, int line, json_t *golden)
{
    const json_t *text = json_object_get(golden, "text");
    const char *s = json_string_value(text);
    size_t n = json_string_length(text);
    check_ids(t, line, s, n, CARAT_SPECIAL, json_object_get(golden, "ids"));
    check_ids(t, line, s, n, 0, json_object_get(golden, "ids_plain"));
}

static void real_ids(void *t, int line, json_t *golden)
{
    const json_t *ids = json_object_get(golden, "ids"), *text = json_object_get(golden, "text"),
                 *skipped = json_object_get(golden, "text_skip");
    check_text(t, line, ids, CARAT_SPECIAL, json_string_value(text), json_string_length(text));
    check_text(t, line, ids, 0, json_string_value(skipped), json_string_length(skipped));
}

static void real_gemma4(void **state)
{
    (void)state;
    char path[1024];
    struct ct_tokenizer *json = real_tokenizer("gemma4");
    struct ct_tokenizer *gguf = tokenizer_of(gguf_of(json, "gemma4", NULL, true));
    ct_tokenizer_free(json);
    assert_int_equal(each_line(real_goldens(path, "gemma4", ""), real_line, gguf), 601);
    assert_int_equal(each_line(real_goldens(path, "gemma4", "-decode"), real_ids, gguf), 74);
    ct_tokenizer_free(gguf);
}

/* ---- what is refused ---- */

/* A vocabulary of a few pieces with such merges: n strings of them, or other elements when type says so. */
static carat_status try_merges(uint32_t type, const char *const *merges, uint64_t n, int32_t bos,
                               carat_error *err)
{
    static const char *const pieces[] = {"<pad>", "<eos>", "<bos>", "<unk>", "a", "b", "ab"};
    static char text[2 * CT_PIECE_MAX];
    struct gguf_written w = {0};
    struct ct_tokenizer *t = NULL;
    gguf_text(&w, "tokenizer.ggml.model", "gemma4");
    gguf_list(&w, "tokenizer.ggml.tokens", GGUF_STRING, CT_COUNT(pieces));
    for (size_t i = 0; i < CT_COUNT(pieces); i++)
        gguf_string(&w, ct_str_of(pieces[i]));
    gguf_u32(&w, "tokenizer.ggml.bos_token_id", (uint32_t)bos);
    if (type == GGUF_STRING) {
        gguf_list(&w, "tokenizer.ggml.merges", type, n);
        for (uint64_t i = 0; i < n; i++) {
            const char *merge = merges[i];
            if (strcmp(merge, "long") == 0) {
                memset(text, 'a', sizeof text - 1);
                text[5] = ' ';
                merge = text;
            }
            gguf_string(&w, ct_str_of(merge));
        }
    } else if (type == GGUF_ARRAY) { /* no list at all */
        gguf_text(&w, "tokenizer.ggml.merges", "a b");
    } else if (type) {
        gguf_list(&w, "tokenizer.ggml.merges", type, n);
        for (uint64_t i = 0; i < n; i++)
            put_u32(&w.metas, (uint32_t)i);
    }
    struct buf file = gguf_end(&w);
    carat_status status = open_written(&file, &t, err);
    buf_free(&file);
    ct_tokenizer_free(t);
    return status;
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        const char *merge[2];
        uint64_t n;
        const char *says;
    } bad[] = {
        {0, {NULL}, 0, "metadata key \"tokenizer.ggml.merges\" is missing"},
        {GGUF_U32, {NULL}, 2, "expected an array of strings"},
        {GGUF_ARRAY, {NULL}, 0, "expected an array of strings"},
        {GGUF_STRING, {"a b", "ab"}, 2, "merge 1 is \"ab\", expected two parts with one space between"},
        {GGUF_STRING, {"a  b"}, 1, "merge 0 is \"a  b\", expected two parts"},
        {GGUF_STRING, {""}, 1, "merge 0 is \"\", expected two parts"},
        {GGUF_STRING, {"long"}, 1, "merge 0 is longer than 240 bytes"},
        {GGUF_STRING, {"a b", "c a"}, 2, "the left part of merge 1, \"c\", is not in the vocabulary"},
        {GGUF_STRING, {"a c"}, 1, "the right part of merge 0, \"c\", is not in the vocabulary"},
        {GGUF_STRING, {"a "}, 1, "the right part of merge 0, \"\", is not in the vocabulary"},
        {GGUF_STRING, {" b"}, 1, "the left part of merge 0, \"\", is not in the vocabulary"},
        {GGUF_STRING, {"b a"}, 1, "the whole of merge 0, \"ba\", is not in the vocabulary"},
        {GGUF_STRING, {"a \n"}, 1, "the right part of merge 0, \"\\x0a\""},
    };
    carat_error err = {0};
    const char *const good[] = {"a b"};
    assert_int_equal(try_merges(GGUF_STRING, good, 1, 2, &err), CARAT_OK);
    assert_int_equal(try_merges(GGUF_STRING, good, 0, 2, &err), CARAT_OK);
    for (size_t i = 0; i < CT_COUNT(bad); i++) {
        expect_error(try_merges(bad[i].type, bad[i].merge, bad[i].n, 2, &err), &err, CARAT_E_FORMAT,
                     bad[i].says);
        expect_error(CARAT_E_FORMAT, &err, CARAT_E_FORMAT,
                     "model.gguf: metadata key \"tokenizer.ggml.merges\"");
    }
    const char *many[64];
    for (size_t i = 0; i < CT_COUNT(many); i++)
        many[i] = "a b";
    expect_error(try_merges(GGUF_STRING, many, 64, 2, &err), &err, CARAT_E_FORMAT,
                 "64 merges found, expected at most 24 for this vocabulary");
    expect_error(try_merges(GGUF_STRING, good, 1, 7, &err), &err, CARAT_E_FORMAT, "bos_token_id");
    expect_error(try_merges(GGUF_STRING, good, 1, -1, &err), &err, CARAT_E_FORMAT, "bos_token_id");
    struct ct_tokenizer *json = open_json(), *t = NULL;
    struct buf file = gguf_of(json, "gpt2", "gemma4", true);
    expect_error(open_written(&file, &t, &err), &err, CARAT_E_UNSUPPORTED, "is not \"llama\" or \"gemma4\"");
    buf_free(&file);
    ct_tokenizer_free(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_tokenizer_json),
        cmocka_unit_test(other_types),
        cmocka_unit_test(real_gemma4),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
