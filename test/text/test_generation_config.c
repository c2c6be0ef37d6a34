/* SPDX-License-Identifier: Apache-2.0 */
/* test_generation_config.c: what a checkpoint asks for (parameters, stop ids, banned ids), the ranges, and
 * the errors for files with wrong types. The draw itself is tested with the kernels. */
#define _POSIX_C_SOURCE 200809L
#include "text_golden.h"

#include <math.h>

#include "text/generation_config.h"

#define PART(name, text)                                                                                     \
    {                                                                                                        \
        name,                                                                                                \
        {                                                                                                    \
            (const uint8_t *)(text), strlen(text)                                                            \
        }                                                                                                    \
    }

/* A directory that holds only a tokenizer and these two configurations (NULL: absent). */
static struct ct_file *open_config(const char *config, const char *generation)
{
    static struct ct_part part[3]; /* borrowed until the file is closed */
    int n = 0;
    part[n++] = (struct ct_part)PART("tokenizer.json", "{}");
    if (config)
        part[n++] = (struct ct_part)PART("config.json", config);
    if (generation)
        part[n++] = (struct ct_part)PART("generation_config.json", generation);
    if (n == 1)
        part[n++] = (struct ct_part)PART("tokenizer_config.json", "{}");
    struct ct_file *f = NULL;
    carat_error err;
    if (ct_file_open_memory(&f, part, n, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    return f;
}

/* ---- GGUF, made of keys only ---- */

struct gguf {
    uint8_t data[1024];
    size_t n;
    uint64_t keys;
};

static void put(struct gguf *g, const void *data, size_t n)
{
    assert_true(g->n + n <= sizeof g->data);
    memcpy(g->data + g->n, data, n);
    g->n += n;
}

static void put_key(struct gguf *g, const char *key, uint32_t type)
{
    uint64_t n = strlen(key);
    put(g, &n, 8);
    put(g, key, n);
    put(g, &type, 4);
    g->keys++;
}

static void put_u32(struct gguf *g, const char *key, uint32_t value)
{
    put_key(g, key, 4);
    put(g, &value, 4);
}

/* of INT32 for 5, UINT32 for 4 */
static void put_array(struct gguf *g, const char *key, uint32_t type, const uint32_t *value, uint64_t n)
{
    put_key(g, key, 9);
    put(g, &type, 4);
    put(g, &n, 8);
    put(g, value, n * 4);
}

static void put_f32(struct gguf *g, const char *key, float value)
{
    put_key(g, key, 6);
    put(g, &value, 4);
}

static void put_string(struct gguf *g, const char *key, const char *value)
{
    uint64_t n = strlen(value);
    put_key(g, key, 8);
    put(g, &n, 8);
    put(g, value, n);
}

static void begin_gguf(struct gguf *g)
{
    const uint32_t version = 3;
    const uint64_t none = 0;
    *g = (struct gguf){0};
    put(g, "GGUF", 4);
    put(g, &version, 4);
    put(g, &none, 8);
    put(g, &none, 8);
    put_string(g, "general.architecture", "gemma3");
}

static struct ct_file *open_gguf(struct gguf *g)
{
    memcpy(g->data + 16, &g->keys, 8);
    while (g->n % 32)
        g->data[g->n++] = 0;
    struct ct_file *f = NULL;
    static struct ct_part part;
    carat_error err;
    part = (struct ct_part){"model.gguf", {g->data, g->n}};
    if (ct_file_open_memory(&f, &part, 1, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    return f;
}

/* ---- parameters ---- */

static void check_defaults(struct ct_file *f, float temperature, int top_k, float top_p, float min_p)
{
    carat_sampling s = {0};
    carat_error err;
    if (ct_sampling_defaults(&s, f, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    assert_int_equal(s.size, sizeof s);
    assert_true(s.temperature == temperature);
    assert_int_equal(s.top_k, top_k);
    assert_true(s.top_p == top_p);
    assert_true(s.min_p == min_p);
    assert_true(s.seed == 0 && s.banned == NULL && s.n_banned == 0);
    assert_int_equal(ct_sampling_check(&s, 10, &err), CARAT_OK);
    ct_file_close(f);
}

static void defaults(void **state)
{
    (void)state;
    check_defaults(open_config(NULL, NULL), 1.0f, 64, 0.95f, 0);
    check_defaults(open_config(NULL, "{\"eos_token_id\":1}"), 1.0f, 64, 0.95f, 0);
    check_defaults(
        open_config(
            NULL,
            "{\"do_sample\":true,\"top_k\":40,\"top_p\":0.5,\"temperature\":0.7,\"min_p\":0.1,\"x\":[]}"),
        0.7f, 40, 0.5f, 0.1f);
    check_defaults(open_config(NULL, "{\"do_sample\":false,\"temperature\":0.7,\"top_k\":0,\"top_p\":1}"), 0,
                   0, 1.0f, 0);
    check_defaults(
        open_config(NULL,
                    "{\"do_sample\":null,\"temperature\":null,\"top_k\":null,\"top_p\":null,\"min_p\":null}"),
        1.0f, 64, 0.95f, 0);
    struct gguf g;
    begin_gguf(&g);
    check_defaults(open_gguf(&g), 1.0f, 64, 0.95f, 0);
    begin_gguf(&g);
    put_f32(&g, "general.sampling.temp", 0.25f);
    put_u32(&g, "general.sampling.top_k", 7);
    put_f32(&g, "general.sampling.top_p", 0.5f);
    check_defaults(open_gguf(&g), 0.25f, 7, 0.5f, 0);
}

static void bad_defaults(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"[]", "object"},
        {"{", "at byte 1: expected a key"},
        {"{\"temperature\":\"hot\"}",
         "generation_config.json: temperature at byte 15 is \"hot\", expected a num"},
        {"{\"temperature\":-1}", "temperature"},
        {"{\"temperature\":1e9}", "temperature"},
        {"{\"temperature\":1e300}", "temperature"},
        {"{\"top_k\":1.5}", "top_k"},
        {"{\"top_k\":-1}", "top_k at byte 9 is -1, expected an integer from 0 to 2147483647"},
        {"{\"top_k\":2147483648}", "top_k"},
        {"{\"top_p\":0}", "top_p"},
        {"{\"top_p\":1.1}", "top_p"},
        {"{\"top_p\":[]}", "top_p"},
        {"{\"min_p\":-0.1}", "min_p"},
        {"{\"min_p\":2}", "min_p"},
        {"{\"do_sample\":1}", "do_sample"},
        {"{\"do_sample\":false,\"temperature\":true}", "temperature"},
    };
    carat_sampling s = {.top_k = 5};
    for (size_t i = 0; i < CT_COUNT(bad); i++) {
        struct ct_file *f = open_config(NULL, bad[i][0]);
        carat_error err = {0};
        assert_int_equal(ct_sampling_defaults(&s, f, &err), CARAT_E_FORMAT);
        assert_non_null(strstr(err.message, "generation_config.json"));
        assert_non_null(strstr(err.message, bad[i][1]));
        assert_int_equal(s.top_k, 5);
        ct_file_close(f);
    }
    static const char *const keys[] = {"general.sampling.temp", "general.sampling.top_p",
                                       "general.sampling.min_p"};
    for (size_t i = 0; i < CT_COUNT(keys); i++) {
        struct gguf g;
        carat_error err = {0};
        begin_gguf(&g);
        put_f32(&g, keys[i], -1.0f);
        struct ct_file *f = open_gguf(&g);
        assert_int_equal(ct_sampling_defaults(&s, f, &err), CARAT_E_FORMAT);
        assert_non_null(strstr(err.message, keys[i]));
        ct_file_close(f);
    }
}

static void ranges(void **state)
{
    (void)state;
    const carat_sampling card = ct_card_sampling();
    static const int32_t ids[] = {0, 9};
    carat_sampling good[] = {card, card, card, card, card, card};
    good[1].temperature = 0;
    good[2].temperature = CARAT_TEMPERATURE_MIN;
    good[3].temperature = CARAT_TEMPERATURE_MAX;
    good[4].top_k = 0, good[4].top_p = 1, good[4].min_p = 1;
    good[5].banned = ids, good[5].n_banned = 2, good[5].top_k = 1 << 30;
    for (size_t i = 0; i < CT_COUNT(good); i++)
        assert_int_equal(ct_sampling_check(&good[i], 10, NULL), CARAT_OK);

    static const int32_t negative[] = {3, -1};
    const struct {
        carat_sampling s;
        const char *name;
    } bad[] = {
        {{sizeof card, NAN, 64, 0.95f, 0, 0, NULL, 0, 0, NULL, NULL, 0}, "temperature"},
        {{sizeof card, -0.1f, 64, 0.95f, 0, 0, NULL, 0, 0, NULL, NULL, 0}, "temperature"},
        {{sizeof card, INFINITY, 64, 0.95f, 0, 0, NULL, 0, 0, NULL, NULL, 0}, "temperature"},
        {{sizeof card, 101, 64, 0.95f, 0, 0, NULL, 0, 0, NULL, NULL, 0}, "temperature"},
        {{sizeof card, 1e-30f, 64, 0.95f, 0, 0, NULL, 0, 0, NULL, NULL, 0}, "temperature"},
        {{sizeof card, 1, -1, 0.95f, 0, 0, NULL, 0, 0, NULL, NULL, 0}, "top_k"},
        {{sizeof card, 1, 64, 0, 0, 0, NULL, 0, 0, NULL, NULL, 0}, "top_p"},
        {{sizeof card, 1, 64, 1.5f, 0, 0, NULL, 0, 0, NULL, NULL, 0}, "top_p"},
        {{sizeof card, 1, 64, NAN, 0, 0, NULL, 0, 0, NULL, NULL, 0}, "top_p"},
        {{sizeof card, 1, 64, 0.95f, NAN, 0, NULL, 0, 0, NULL, NULL, 0}, "min_p"},
        {{sizeof card, 1, 64, 0.95f, -1, 0, NULL, 0, 0, NULL, NULL, 0}, "min_p"},
        {{sizeof card, 1, 64, 0.95f, 1.5f, 0, NULL, 0, 0, NULL, NULL, 0}, "min_p"},
        {{sizeof card, 1, 64, 0.95f, 0, 0, NULL, 1, 0, NULL, NULL, 0}, "banned"},
        {{sizeof card, 1, 64, 0.95f, 0, 0, ids, -1, 0, NULL, NULL, 0}, "banned"},
        {{sizeof card, 1, 64, 0.95f, 0, 0, negative, 2, 0, NULL, NULL, 0}, "banned[1]"},
    };
    for (size_t i = 0; i < CT_COUNT(bad); i++) {
        carat_error err = {0};
        assert_int_equal(ct_sampling_check(&bad[i].s, 10, &err), CARAT_E_ARGUMENT);
        assert_non_null(strstr(err.message, bad[i].name));
    }
    assert_int_equal(ct_sampling_check(&good[5], 9, NULL), CARAT_E_ARGUMENT);
}

/* ---- ids ---- */

static struct ct_tokenizer *small_tokenizer(void)
{
    struct ct_bytes json = read_data("tokenizer.json");
    struct ct_tokenizer *t = NULL;
    carat_error err;
    if (ct_tokenizer_from_json(&t, "tokenizer.json", json, NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    free((void *)json.data);
    return t;
}

static void expect_ids(const int32_t *ids, int n, const char *expected)
{
    char text[512];
    size_t at = 0;
    text[0] = 0;
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, i ? " %d" : "%d", ids[i]);
    assert_string_equal(text, expected);
}

static void check_stop(struct ct_file *f, const struct ct_tokenizer *t, int32_t end_of_turn, int n_vocab,
                       const char *expected)
{
    int32_t ids[16];
    int n = -1;
    carat_error err;
    if (ct_stop_ids(f, t, end_of_turn, CT_CHAT_FUNCTIONGEMMA, n_vocab, ids, 16, &n, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    expect_ids(ids, n, expected);
    ct_file_close(f);
}

/* The small tokenizer with other names for some of its pieces. */
static struct ct_tokenizer *renamed_tokenizer(const char *const *old, const char *const *name, size_t n)
{
    struct ct_bytes json = read_data("tokenizer.json");
    char *text = malloc(json.size + n * 32), *to = text;
    assert_non_null(text);
    for (const char *s = (const char *)json.data, *end = s + json.size; s < end;) {
        size_t i = 0, left = (size_t)(end - s);
        while (i < n && (strlen(old[i]) > left || memcmp(s, old[i], strlen(old[i])) != 0))
            i++;
        if (i < n) {
            to += sprintf(to, "%s", name[i]);
            s += strlen(old[i]);
        } else {
            *to++ = *s++;
        }
    }
    struct ct_tokenizer *t = NULL;
    carat_error err;
    if (ct_tokenizer_from_json(&t, "tokenizer.json", (struct ct_bytes){(uint8_t *)text, (size_t)(to - text)},
                               NULL, &err) != CARAT_OK)
        fail_msg("%s", err.message);
    free(text);
    free((void *)json.data);
    return t;
}

static void stop_ids(void **state)
{
    (void)state;
    struct ct_tokenizer *t = small_tokenizer();
    check_stop(open_config("{\"eos_token_id\":[1,106]}", "{\"eos_token_id\":[106,50]}"), NULL, -1, 600,
               "1 106 50");
    check_stop(
        open_config("{\"eos_token_id\":1,\"text_config\":{\"eos_token_id\":[5]}}", "{\"eos_token_id\":null}"),
        NULL, -1, 600, "1 5");
    check_stop(open_config("{\"eos_token_id\":[1,700,2147483647]}", NULL), NULL, -1, 600,
               "1"); /* beyond the matrix */
    check_stop(open_config(NULL, NULL), NULL, -1, 600, "");
    check_stop(open_config(NULL, NULL), t, -1, 600, "1 106"); /* of the tokenizer */
    check_stop(open_config("{\"eos_token_id\":9}", NULL), t, -1, 600, "9 1 106");
    /* without a tokenizer: the family's end of turn, which a tokenizer knows better */
    check_stop(open_config("{\"eos_token_id\":1}", NULL), NULL, 107, 262144, "1 107");
    check_stop(open_config("{\"eos_token_id\":1}", NULL), NULL, 106, 262144, "1 106");
    struct gguf g;
    begin_gguf(&g);
    put_u32(&g, "tokenizer.ggml.eos_token_id", 1);
    put_u32(&g, "tokenizer.ggml.eot_token_id", 106);
    check_stop(open_gguf(&g), NULL, -1, 600, "1 106");

    /* the names: FunctionGemma's response token only with its template */
    struct ct_tokenizer *function = renamed_tokenizer((const char *const[]){"<unused44>"},
                                                      (const char *const[]){"<start_function_response>"}, 1);
    carat_error err;
    check_stop(open_config(NULL, NULL), function, -1, 600, "1 106 50");
    struct ct_file *f = open_config(NULL, NULL);
    int32_t ids[4];
    int n;
    assert_int_equal(ct_stop_ids(f, function, -1, CT_CHAT_GEMMA3, 600, ids, 4, &n, NULL), CARAT_OK);
    expect_ids(ids, n, "1 106");
    assert_int_equal(ct_stop_ids(f, function, -1, CT_CHAT_GEMMA3, 600, ids, 1, &n, &err), CARAT_E_FORMAT);
    ct_file_close(f);
    ct_tokenizer_free(function);
    ct_tokenizer_free(t);
}

/* Gemma 4's end of a turn and what follows a call, whatever the files say. */
static void stop_ids_gemma4(void **state)
{
    (void)state;
    static const char *const old[] = {"<end_of_turn>", "<unused44>"}, *const names[] = {"<turn|>",
                                                                                        "<|tool_response>"};
    struct ct_tokenizer *t = renamed_tokenizer(old, names, CT_COUNT(names));
    check_stop(open_config(NULL, NULL), t, -1, 600, "1 106 50");
    check_stop(open_config(NULL, "{\"eos_token_id\":[1,106,50]}"), t, -1, 600, "1 106 50");
    struct gguf g;
    begin_gguf(&g);
    put_u32(&g, "tokenizer.ggml.eos_token_id", 106);
    check_stop(open_gguf(&g), t, -1, 600, "106 1 50");
    begin_gguf(&g); /* as ollama writes it */
    put_u32(&g, "tokenizer.ggml.eos_token_id", 1);
    put_array(&g, "tokenizer.ggml.eos_token_ids", 5, (const uint32_t[]){1, 106, 50}, 3);
    check_stop(open_gguf(&g), NULL, -1, 600, "1 106 50");
    ct_tokenizer_free(t);
}

static void banned_ids(void **state)
{
    (void)state;
    int32_t ids[8];
    int n = -1;
    struct ct_file *f = open_config("{\"image_token_index\":598,\"boi_token_index\":597,\"eoi_token_index\":"
                                    "262144,\"image_token_id\":null}",
                                    "{\"suppress_tokens\":[3,598,4]}");
    assert_int_equal(ct_banned_ids(f, NULL, 600, ids, 8, &n, NULL), CARAT_OK);
    expect_ids(ids, n, "598 597 3 4");
    carat_error err = {0};
    assert_int_equal(ct_banned_ids(f, NULL, 600, ids, 3, &n, &err), CARAT_E_FORMAT);
    ct_file_close(f);
    struct ct_tokenizer *t = small_tokenizer(); /* has no placeholders; must not ban <pad> or <bos> */
    f = open_config(NULL, NULL);
    assert_int_equal(ct_banned_ids(f, t, 600, ids, 8, &n, NULL), CARAT_OK);
    expect_ids(ids, n, "");
    ct_tokenizer_free(t);
    /* what stands for pictures and sound is known by its name */
    static const char *const old[] = {"<unused0>", "<unused1>", "<unused2>", "<unused3>",
                                      "<unused4>", "<unused5>", "<unused6>"},
                             *const names[2][7] = {{"<start_of_image>", "<end_of_image>",
                                                    "<image_soft_token>", "<start_of_audio>",
                                                    "<end_of_audio>", "<audio_soft_token>"},
                                                   {"<|image>", "<image|>", "<|image|>", "<|video|>",
                                                    "<|audio>", "<audio|>", "<|audio|>"}};
    for (size_t newer = 0; newer < 2; newer++) {
        size_t n_names = 6 + newer;
        t = renamed_tokenizer(old, names[newer], n_names);
        assert_int_equal(ct_banned_ids(f, t, 600, ids, 8, &n, NULL), CARAT_OK);
        assert_int_equal(n, n_names);
        for (size_t i = 0; i < n_names; i++)
            assert_int_equal(ids[i], ct_tokenizer_id(t, names[newer][i]));
        ct_tokenizer_free(t);
    }
    ct_file_close(f);
    f = open_config("{\"video_token_id\":9,\"eoa_token_index\":8}", NULL);
    assert_int_equal(ct_banned_ids(f, NULL, 600, ids, 8, &n, NULL), CARAT_OK);
    expect_ids(ids, n, "8 9");
    ct_file_close(f);
}

/* What the converter of llama.cpp makes of suppress_tokens; it too passes over ids beyond the vocabulary. */
static void suppressed_in_gguf(void **state)
{
    (void)state;
    static const char key[] = "tokenizer.ggml.suppress_tokens";
    static const uint32_t listed[] = {598, 600, 7, UINT32_MAX, INT32_MAX, 598};
    int32_t ids[4];
    struct gguf g;
    struct ct_file *f;
    carat_error err;
    for (uint32_t type = 4; type <= 5; type++) { /* unsigned too; the last but two is then beyond, too */
        int n = -1;
        begin_gguf(&g);
        put_array(&g, key, type, listed, CT_COUNT(listed));
        f = open_gguf(&g);
        assert_int_equal(ct_banned_ids(f, NULL, 600, ids, 2, &n, &err), CARAT_OK);
        expect_ids(ids, n, "598 7");
        assert_int_equal(ct_banned_ids(f, NULL, 600, ids, 1, &n, &err), CARAT_E_FORMAT);
        assert_non_null(strstr(err.message, key));
        ct_file_close(f);
    }
    for (int bad = 0; bad < 3; bad++) {
        int n = 77;
        begin_gguf(&g);
        if (bad == 0)
            put_u32(&g, key, 5);
        else if (bad == 1)
            put_string(&g, key, "5");
        else
            put_array(&g, key, 6, listed, 1);
        f = open_gguf(&g);
        assert_int_equal(ct_banned_ids(f, NULL, 600, ids, 4, &n, &err), CARAT_E_FORMAT);
        assert_int_equal(n, 77);
        assert_non_null(
            strstr(err.message, "model.gguf: metadata key \"tokenizer.ggml.suppress_tokens\" at byte "));
        assert_non_null(strstr(err.message, "expected an array of token ids"));
        ct_file_close(f);
    }
}

static void bad_ids(void **state)
{
    (void)state;
    static const char *const bad[][3] = {
        {"{\"eos_token_id\":\"1\"}", NULL, "config.json: eos_token_id at byte 16 is \"1\""},
        {"{\"eos_token_id\":-1}", NULL, "config.json: eos_token_id at byte 16 is -1"},
        {"{\"eos_token_id\":1.0}", NULL, "config.json: eos_token_id at byte 16 is 1.0"},
        {"{\"eos_token_id\":[1,[2]]}", NULL, "config.json: eos_token_id[1] at byte 19 is [2], exp"},
        {"{\"eos_token_id\":2147483648}", NULL, "config.json: eos_token_id at byte 16 is 2147483648"},
        {"{\"text_config\":7}", NULL, "config.json: text_config at byte 15 is 7, exp"},
        {"{\"text_config\":{\"eos_token_id\":{}}}", NULL,
         "config.json: text_config.eos_token_id at byte 31 is {}"},
        {NULL, "{\"eos_token_id\":true}", "generation_config.json: eos_token_id at byte 16 is true"},
        {NULL, "{\"eos_token_id\":1,\"eos_token_id\":2}", "generation_config.json: at byte"},
        {NULL, "{\"suppress_tokens\":\"x\"}", "generation_config.json: suppress_tokens at byte 19 is \"x\""},
        {"{\"image_token_index\":{}}", NULL, "config.json: image_token_index at byte 21 is {}"},
    };
    for (size_t i = 0; i < CT_COUNT(bad); i++) {
        struct ct_file *f = open_config(bad[i][0], bad[i][1]);
        int32_t ids[8];
        int n = 77;
        carat_error err = {0};
        carat_status status = ct_stop_ids(f, NULL, -1, CT_CHAT_NONE, 600, ids, 8, &n, &err);
        if (status == CARAT_OK) {
            n = 77;
            status = ct_banned_ids(f, NULL, 600, ids, 8, &n, &err);
        }
        assert_int_equal(status, CARAT_E_FORMAT);
        assert_int_equal(n, 77);
        if (!strstr(err.message, bad[i][2]))
            fail_msg("\"%s\" does not name %s", err.message, bad[i][2]);
        ct_file_close(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults),        cmocka_unit_test(bad_defaults),       cmocka_unit_test(ranges),
        cmocka_unit_test(stop_ids),        cmocka_unit_test(banned_ids),         cmocka_unit_test(bad_ids),
        cmocka_unit_test(stop_ids_gemma4), cmocka_unit_test(suppressed_in_gguf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
