/* SPDX-License-Identifier: Apache-2.0 */
/* test_detokenizer.c: whole decoding against the texts of the reference libraries, and the stream against
 * whole decoding. */
#define _POSIX_C_SOURCE 200809L
#include "text_golden.h"

#include "text/tokenizer/detokenizer.h"

static struct ct_tokenizer *open_data(const char *name)
{
    struct ct_tokenizer *t = NULL;
    carat_error err;
    struct ct_bytes file = read_data(name);
    if ((strstr(name, ".json") ? ct_tokenizer_from_json : ct_tokenizer_from_model)(&t, name, file, NULL,
                                                                                   &err))
        fail_msg("%s", err.message);
    free((void *)file.data);
    return t;
}

/* Streams ids; every piece of output must be whole characters. malloc'd */
static char *stream(const struct ct_tokenizer *t, const int32_t *id, int n, int flags, size_t *length)
{
    struct ct_detokenizer d;
    char *text = malloc(((size_t)n + 1) * 256), *guard = malloc(256);
    assert_non_null(text);
    assert_non_null(guard);
    *length = 0;
    ct_detokenizer_init(&d, t, flags);
    for (int i = 0; i <= n; i++) {
        size_t got = ct_detokenizer_push(&d, i < n ? id[i] : -1, guard, 256);
        assert_true(got < 256);
        assert_int_equal(guard[got], 0);
        json_t *valid = json_stringn(guard, got); /* NULL when it is not UTF-8 */
        assert_non_null(valid);
        json_decref(valid);
        memcpy(text + *length, guard, got);
        *length += got;
    }
    free(guard);
    return text;
}

static bool has_replacement(const char *text, size_t n)
{
    for (size_t i = 0; i + 3 <= n; i++)
        if (memcmp(text + i, "\xef\xbf\xbd", 3) == 0)
            return true;
    return false;
}

/* The stream equals the whole for text without bad bytes; where bad bytes are replaced one by one, always. */
static void check_stream(const struct ct_tokenizer *t, int line, const json_t *golden, int flags)
{
    int n;
    size_t length, streamed;
    char *whole = NULL;
    int32_t *id = golden_ids(json_object_get(golden, "ids"), &n);
    assert_int_equal(ct_tokenizer_decode(t, id, n, flags, &whole, &length, NULL), CARAT_OK);
    char *text = stream(t, id, n, flags, &streamed);
    bool bad_bytes = strcmp(ct_tokenizer_source(t), "tokenizer.json") == 0 && has_replacement(whole, length);
    if (!bad_bytes && (streamed != length || memcmp(text, whole, length) != 0))
        fail_msg("line %d: streamed \"%.*s\", whole \"%s\"", line, (int)streamed, text, whole);
    free(text);
    free(whole);
    free(id);
}

static bool holds(const json_t *golden, int first, int last)
{
    size_t i;
    json_t *id;
    json_array_foreach(json_object_get(golden, "ids"), i,
                       id) if (json_integer_value(id) >= first && json_integer_value(id) <= last) return true;
    return false;
}

/* SentencePiece leaves control pieces out and prints turn markers; here both are control tokens. So its
 * text is that without CARAT_SPECIAL where there is no turn marker, and with it where there is nothing
 * else of the kind. */
static void model_line(void *t, int line, json_t *golden)
{
    const json_t *text = json_object_get(golden, "text"), *ids = json_object_get(golden, "ids");
    const json_t *decoded = json_object_get(golden, "decoded");
    text = decoded ? decoded : text;
    if (!holds(golden, 105, 106))
        check_text(t, line, ids, 0, json_string_value(text), json_string_length(text));
    if (!holds(golden, 0, 3))
        check_text(t, line, ids, CARAT_SPECIAL, json_string_value(text), json_string_length(text));
    check_stream(t, line, golden, 0);
    check_stream(t, line, golden, CARAT_SPECIAL);
}

static void model_decode(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_data("tokenizer.model");
    assert_int_equal(each_line(CT_TEST_DATA "/text/decode.jsonl", model_line, t), 61);
    assert_int_equal(each_line(CT_TEST_DATA "/text/goldens.jsonl", model_line, t), 573);
    ct_tokenizer_free(t);
}

/* What was encoded comes back, U+2581 as a space. */
static void round_trip(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_data("tokenizer.json");
    const char *text = " Hello\n\n\n  world \t\xf0\x9f\x99\x82<b>caf\xc3\xa9</b>";
    carat_tokens out = {0};
    size_t n;
    assert_int_equal(ct_tokenizer_encode(t, text, strlen(text), 0, NULL, &out, NULL), CARAT_OK);
    char *back;
    assert_int_equal(ct_tokenizer_decode(t, out.ids, out.n, 0, &back, &n, NULL), CARAT_OK);
    assert_string_equal(back, text);
    free(back);
    char *streamed = stream(t, out.ids, out.n, 0, &n);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(streamed, text, n);
    free(streamed);
    free(out.ids);
    ct_tokenizer_free(t);
}

static void expect_text(const struct ct_tokenizer *t, const int32_t *id, int n, int flags, const char *text)
{
    char *out;
    size_t length;
    assert_int_equal(ct_tokenizer_decode(t, id, n, flags, &out, &length, NULL), CARAT_OK);
    assert_int_equal(length, strlen(text));
    assert_string_equal(out, text);
    free(out);
}

/* Bad bytes by the rule of each source; the ids of bytes are 176 + value in both. */
static void bad_bytes(void **state)
{
    (void)state;
    static const int32_t good_bad[] = {176 + 0xc3, 176 + 0xa9, 176 + 0xff},
                         split[] = {176 + 0xc3, 2, 176 + 0xa9};
    struct ct_tokenizer *json = open_data("tokenizer.json"), *model = open_data("tokenizer.model");
    expect_text(json, good_bad, 3, 0, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect_text(model, good_bad, 3, 0, "\xc3\xa9\xef\xbf\xbd");
    expect_text(json, split, 3, 0, "\xc3\xa9"); /* the control token is gone before the bytes are joined */
    expect_text(json, split, 3, CARAT_SPECIAL, "\xef\xbf\xbd<bos>\xef\xbf\xbd");
    expect_text(model, split, 3, 0, "\xef\xbf\xbd\xef\xbf\xbd");

    struct ct_detokenizer d;
    char out[256];
    ct_detokenizer_init(&d, model, 0);
    assert_int_equal(ct_detokenizer_push(&d, 176 + 0xe2, out, sizeof out), 0);
    assert_int_equal(ct_detokenizer_push(&d, 176 + 0x96, out, sizeof out), 0);
    assert_int_equal(ct_detokenizer_push(&d, 176 + 'x', out, sizeof out), 7); /* both given up, then x */
    assert_string_equal(out, "\xef\xbf\xbd\xef\xbf\xbdx");
    assert_int_equal(ct_detokenizer_push(&d, 176 + 0xf0, out, sizeof out), 0);
    assert_int_equal(ct_detokenizer_push(&d, -1, out, sizeof out), 3);
    assert_int_equal(ct_detokenizer_push(&d, -1, out, sizeof out), 0);
    assert_int_equal(ct_detokenizer_push(&d, 1 << 30, out, sizeof out), 0);

    char *text = NULL;
    size_t n;
    assert_int_equal(ct_tokenizer_decode(json, (const int32_t[]){600}, 1, 0, &text, &n, NULL),
                     CARAT_E_ARGUMENT);
    assert_int_equal(ct_tokenizer_decode(json, (const int32_t[]){-1}, 1, 0, &text, &n, NULL),
                     CARAT_E_ARGUMENT);
    assert_null(text);
    ct_tokenizer_free(json);
    ct_tokenizer_free(model);
}

/* Too little room: the stream says what it needs, writes nothing and forgets nothing. */
static void too_little_room(void **state)
{
    (void)state;
    static const char text[] = "Turn on \xe2\x96\x81 the \xf0\x9f\x98\x80 lights \xc3\xa9 <b>";
    struct ct_tokenizer *t = open_data("tokenizer.json");
    struct ct_detokenizer d;
    carat_tokens ids = {0};
    char *room = malloc(CT_STREAM_MAX), all[256] = "";
    assert_non_null(room);
    assert_int_equal(ct_tokenizer_encode(t, text, strlen(text), 0, NULL, &ids, NULL), CARAT_OK);
    assert_int_equal(ct_tokens_push(&ids, 176 + 0xe2, NULL), CARAT_OK); /* held until the flush */
    ct_detokenizer_init(&d, t, 0);
    for (int i = 0; i <= ids.n; i++) {
        int32_t id = i < ids.n ? ids.ids[i] : -1;
        size_t needed = ct_detokenizer_push(&d, id, NULL, 0);
        if (needed == 0) /* perhaps a byte that is held: with room it is taken */
            assert_int_equal(ct_detokenizer_push(&d, id, room, 1), 0);
        for (size_t capacity = 1; needed && capacity <= needed + 1; capacity++) {
            memset(room, 'x', CT_STREAM_MAX);
            assert_int_equal(ct_detokenizer_push(&d, id, room, capacity), needed);
            assert_int_equal(room[0] == 'x' && room[capacity - 1] == 'x', capacity <= needed);
        }
        strncat(all, needed ? room : "", needed);
    }
    assert_string_equal(all, "Turn on   the \xf0\x9f\x98\x80 lights \xc3\xa9 <b>\xef\xbf\xbd");
    free(room);
    free(ids.ids);
    ct_tokenizer_free(t);
}

/* FunctionGemma's call syntax is printed always, and recognised only with CARAT_SPECIAL. */
static void visible_tokens(void **state)
{
    (void)state;
    static const char text[] =
        "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"},"
        "\"decoder\":{\"type\":\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":"
        "\"\xe2\x96\x81\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"}]},"
        "\"added_tokens\":[{\"id\":1,\"content\":\"<escape>\",\"special\":false},"
        "{\"id\":2,\"content\":\"<end_of_turn>\",\"special\":true}],"
        "\"model\":{\"unk_token\":\"<unk>\",\"vocab\":{\"<unk>\":0,\"<unused46>\":1,\"<end_of_turn>\":2,"
        "\"a\":3,"
        "\"<\":4},\"merges\":[]}}";
    struct ct_tokenizer *t = NULL;
    carat_error err;
    if (ct_tokenizer_from_json(&t, "x", (struct ct_bytes){(const uint8_t *)text, strlen(text)}, NULL, &err) !=
        CARAT_OK)
        fail_msg("%s", err.message);
    assert_true(ct_tokenizer_is_control(t, 1));
    assert_int_equal(ct_tokenizer_id(t, "<escape>"), 1);
    assert_int_equal(ct_tokenizer_id(t, "<unused46>"), -1);
    expect_text(t, (const int32_t[]){3, 1, 3, 2}, 4, 0, "a<escape>a");
    expect_text(t, (const int32_t[]){3, 1, 3, 2}, 4, CARAT_SPECIAL, "a<escape>a<end_of_turn>");
    carat_tokens out = {0};
    assert_int_equal(ct_tokenizer_encode(t, "a<escape>", 9, CARAT_SPECIAL, NULL, &out, NULL), CARAT_OK);
    assert_int_equal(out.n, 2);
    assert_int_equal(out.ids[1], 1);
    out.n = 0;
    assert_int_equal(ct_tokenizer_encode(t, "a<escape>", 9, 0, NULL, &out, NULL), CARAT_OK);
    assert_int_equal(out.ids[1], 4);
    free(out.ids);
    ct_tokenizer_free(t);
}

/* ---- the real vocabularies ---- */

/* The library takes Gemma 1's turn markers for text and prints them with skip_special_tokens; here they are
 * control tokens and left out. */
static void real_line(void *t, int line, json_t *golden)
{
    const json_t *ids = json_object_get(golden, "ids"), *text = json_object_get(golden, "text");
    const json_t *skip = json_object_get(golden, "text_skip");
    check_text(t, line, ids, CARAT_SPECIAL, json_string_value(text), json_string_length(text));
    if (strstr(json_string_value(skip), "_of_turn>")) {
        char *half = without(json_string_value(skip), "<start_of_turn>"),
             *cut = without(half, "<end_of_turn>");
        check_text(t, line, ids, 0, cut, strlen(cut));
        free(half);
        free(cut);
    } else {
        check_text(t, line, ids, 0, json_string_value(skip), json_string_length(skip));
    }
    check_stream(t, line, golden, 0);
    check_stream(t, line, golden, CARAT_SPECIAL);
}

/* Texts decode to themselves, or to "decoded". */
static void real_text_line(void *t, int line, json_t *golden)
{
    const json_t *text = json_object_get(golden, "decoded");
    text = text ? text : json_object_get(golden, "text");
    check_text(t, line, json_object_get(golden, "ids"), CARAT_SPECIAL, json_string_value(text),
               json_string_length(text));
    check_stream(t, line, golden, CARAT_SPECIAL);
}

static void check_real(const char *family, int n)
{
    char path[1024];
    struct ct_tokenizer *t = real_tokenizer(family);
    assert_int_equal(each_line(real_goldens(path, family, "-decode"), real_line, t), n);
    assert_int_equal(each_line(real_goldens(path, family, ""), real_text_line, t), 601);
    ct_tokenizer_free(t);
}

static void real_gemma3(void **state)
{
    (void)state;
    check_real("gemma3", 93);
}

static void real_gemma(void **state)
{
    (void)state;
    check_real("gemma", 93);
}

static void real_gemma4(void **state)
{
    (void)state;
    check_real("gemma4", 74);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_decode),    cmocka_unit_test(round_trip),     cmocka_unit_test(bad_bytes),
        cmocka_unit_test(too_little_room), cmocka_unit_test(visible_tokens), cmocka_unit_test(real_gemma3),
        cmocka_unit_test(real_gemma),      cmocka_unit_test(real_gemma4),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
