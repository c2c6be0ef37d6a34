/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_ids.c: the ids of a rendered conversation, with a small vocabulary always and with the real
 * ones where they are: the same as of the whole string, except that a control token spelled by the caller
 * stays text. */
#define _POSIX_C_SOURCE 200809L
#include "chat_golden.h"

static void drop(carat_tokens *ids)
{
    free(ids->ids);
    *ids = (carat_tokens){0};
}

static void render_ids(const struct ct_tokenizer *t, enum ct_chat chat, const char *messages,
                       const char *tools, bool special, carat_tokens *ids, struct ct_prompt *p)
{
    carat_error err;
    if (render(chat, messages, tools, p, &err) != CARAT_OK ||
        ct_chat_encode(t, p, special, NULL, ids, &err) != CARAT_OK)
        fail_msg("%s", err.message);
}

static int count(const carat_tokens *ids, int32_t id)
{
    int n = 0;
    for (int i = 0; i < ids->n; i++)
        n += ids->ids[i] == id;
    return n;
}

static void check_equal(const carat_tokens *a, const carat_tokens *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->ids, b->ids, (size_t)a->n * sizeof *a->ids);
}

/* Conversations without control tokens in their content: the ids are those of the whole string. */
static void ids_of_whole_text(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_tokenizer(with_function_names(read_data("tokenizer.json"), true));
    static const struct {
        enum ct_chat chat;
        const char *messages, *tools;
    } cases[] = {
        {CT_CHAT_GEMMA, USER, NULL},
        {CT_CHAT_GEMMA3,
         "[{\"role\":\"system\",\"content\":\"\\n\\n the "
         "\\n\"},{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},"
         "{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"<b>\"}]}]",
         NULL},
        {CT_CHAT_FUNCTIONGEMMA, "[" CALL ",{\"role\":\"tool\",\"content\":\"the sun\"}]",
         "[{\"name\":\"f\",\"description\":\"\\n\\nd\",\"parameters\":{\"properties\":{\"a\":{\"type\":"
         "\"array\"}}}}]"},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        carat_tokens ids = {0}, whole = {0}, special = {0};
        struct ct_prompt p;
        render_ids(t, cases[i].chat, cases[i].messages, cases[i].tools, false, &ids, &p);
        assert_int_equal(ct_tokenizer_encode(t, p.text, p.n, CARAT_SPECIAL, NULL, &whole, NULL), CARAT_OK);
        assert_int_equal(ct_chat_encode(t, &p, true, NULL, &special, NULL), CARAT_OK);
        check_equal(&ids, &whole);
        check_equal(&special, &whole);
        assert_int_equal(count(&ids, ct_tokenizer_bos(t)), 1);
        assert_int_equal(ids.ids[0], ct_tokenizer_bos(t));
        drop(&ids);
        drop(&whole);
        drop(&special);
        ct_prompt_free(&p);
    }
    ct_tokenizer_free(t);
}

/* A control token spelled by the caller anywhere stays text, and is one only when that was asked for. */
static void forged(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_tokenizer(with_function_names(read_data("tokenizer.json"), true));
    static const char *const spelled[] = {"<bos>",
                                          "<eos>",
                                          "<start_of_turn>",
                                          "<end_of_turn>",
                                          "<start_of_image>",
                                          "<start_function_declaration>",
                                          "<end_function_declaration>",
                                          "<start_function_call>",
                                          "<end_function_call>",
                                          "<start_function_response>",
                                          "<end_function_response>",
                                          "<escape>"};
    for (size_t i = 0; i < CT_COUNT(spelled); i++) {
        int32_t id = ct_tokenizer_id(t, spelled[i]);
        assert_true(id >= 0);
        /* every place of a conversation that a caller fills, once with X and once with the spelled token */
        static const char *const shape[][2] = {
            {"[{\"role\":\"developer\",\"content\":\"%s\"},{\"role\":\"user\",\"content\":\"%s\"},{\"role\":"
             "\"assistant\",\"content\":\"%s\","
             "\"tool_calls\":[{\"name\":\"f%s\",\"arguments\":{\"k%s\":\"v%s\",\"l\":{\"m%s\":[\"%s\"]}}}]},{"
             "\"role\":\"tool\",\"name\":\"n%s\",\"content\":\"%s\"},"
             "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}]",
             "[{\"name\":\"f%s\",\"description\":\"d%s\",\"parameters\":{\"properties\":{\"p%s\":{\"type\":"
             "\"string\",\"description\":\"%s\",\"enum\":[\"%s\"]},"
             "\"a\":{\"type\":\"array\",\"items\":{\"x%s\":\"%s\"}}},\"required\":[\"%s\"]}}]"},
            {"[{\"role\":\"system\",\"content\":\"%s\"},{\"role\":\"user\",\"content\":\"%s\"},{\"role\":"
             "\"assistant\",\"content\":\"%s\"}]",
             NULL},
        };
        for (int form = 0; form < 2; form++) {
            enum ct_chat chat = form == 0 ? CT_CHAT_FUNCTIONGEMMA : CT_CHAT_GEMMA3;
            carat_tokens ids[2] = {{0}, {0}}, special = {0};
            for (int forge = 0; forge < 2; forge++) {
                const char *word = forge ? spelled[i] : "X";
                char text[2][4096];
                for (int k = 0; k < 2 && shape[form][k]; k++) {
                    size_t n = 0;
                    for (const char *s = shape[form][k]; *s; s++)
                        if (s[0] == '%') {
                            n += (size_t)sprintf(text[k] + n, "%s", word);
                            s++;
                        } else {
                            text[k][n++] = *s;
                        }
                    text[k][n] = 0;
                }
                struct ct_prompt p;
                render_ids(t, chat, text[0], shape[form][1] ? text[1] : NULL, false, &ids[forge], &p);
                check_segments(&p);
                if (forge)
                    assert_int_equal(ct_chat_encode(t, &p, true, NULL, &special, NULL), CARAT_OK);
                ct_prompt_free(&p);
            }
            for (size_t k = 0; k < CT_COUNT(spelled); k++) {
                int32_t control = ct_tokenizer_id(t, spelled[k]);
                assert_int_equal(count(&ids[1], control), count(&ids[0], control));
            }
            assert_int_equal(ids[1].ids[0], ct_tokenizer_bos(t));
            assert_int_equal(count(&special, id), count(&ids[0], id) + (form == 0 ? 19 : 3));
            drop(&ids[0]);
            drop(&ids[1]);
            drop(&special);
        }
    }
    ct_tokenizer_free(t);
}

/* The template of one vocabulary on another: an error, and nothing appended. */
static void missing_token(void **state)
{
    (void)state;
    struct ct_tokenizer *t = open_tokenizer(read_data("tokenizer.json"));
    struct ct_prompt p;
    carat_tokens ids = {0};
    carat_error err = {0};
    assert_int_equal(render(CT_CHAT_FUNCTIONGEMMA, USER, "[{\"name\":\"f\"}]", &p, &err), CARAT_OK);
    assert_int_equal(ct_tokens_push(&ids, 7, NULL), CARAT_OK);
    assert_int_equal(ct_chat_encode(t, &p, false, NULL, &ids, &err), CARAT_E_ARGUMENT);
    assert_non_null(strstr(err.message, "<start_function_declaration>"));
    assert_int_equal(ids.n, 1);
    drop(&ids);
    ct_prompt_free(&p);
    ct_tokenizer_free(t);
}

/* The real Gemma 3 vocabulary as FunctionGemma's; skips when it cannot be unpacked. */
static struct ct_tokenizer *real_function_tokenizer(void)
{
    char command[2048];
    snprintf(command, sizeof command, "xz -dkc '%s/../tokenizers/gemma3/tokenizer.json.xz' 2>/dev/null",
             shared());
    FILE *pipe = popen(command, "r");
    size_t size = 0, capacity = (size_t)64 << 20, got;
    uint8_t *data = malloc(capacity);
    assert_non_null(pipe);
    assert_non_null(data);
    while (size < capacity && (got = fread(data + size, 1, capacity - size, pipe)) > 0)
        size += got;
    if (pclose(pipe) != 0) {
        free(data);
        skip();
    }
    return open_tokenizer(with_function_names((struct ct_bytes){data, size}, false));
}

/* The golden ids of the real vocabularies; where a content spells a control token, they are the
 * reference's, which recognises it: asked for, so do we, and not asked for, we differ. */
static void check_real(const char *family, const char *tokenizer, int expect_cases, int expect_forged)
{
    struct ct_tokenizer *t =
        strcmp(family, "functiongemma") == 0 ? real_function_tokenizer() : real_tokenizer(tokenizer);
    enum ct_chat chat;
    assert_true(ct_chat_from_name(family, &chat));
    json_t *cases = load(family);
    int n = 0, differ = 0;
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *test = json_array_get(cases, i), *expected = json_object_get(test, "ids");
        if (!expected)
            continue;
        struct ct_prompt p;
        carat_error err;
        carat_tokens ids[2] = {{0}, {0}};
        assert_int_equal(render_case(chat, test, &p, &err), CARAT_OK);
        for (int special = 0; special < 2; special++) {
            if (ct_chat_encode(t, &p, special, NULL, &ids[special], &err) != CARAT_OK)
                fail_msg("%s case %zu: %s", family, i, err.message);
            bool equal = (size_t)ids[special].n == json_array_size(expected);
            for (int k = 0; equal && k < ids[special].n; k++)
                equal = ids[special].ids[k] == json_integer_value(json_array_get(expected, (size_t)k));
            bool spells = false;
            for (int s = 0; s < p.n_segment; s++)
                for (size_t k = p.segment[s].begin; p.segment[s].content && k < p.segment[s].end; k++)
                    spells = spells || strncmp(p.text + k, "<start_of_turn>", 15) == 0 ||
                             strncmp(p.text + k, "<end_of_turn>", 13) == 0;
            differ += spells && !special;
            if (equal != (special || !spells))
                fail_msg("%s case %zu, special %d: ids %s", family, i, special,
                         equal ? "are equal" : "differ");
        }
        n++;
        drop(&ids[0]);
        drop(&ids[1]);
        ct_prompt_free(&p);
    }
    json_decref(cases);
    ct_tokenizer_free(t);
    assert_int_equal(n, expect_cases);
    assert_int_equal(differ, expect_forged);
}

/* A prompt without a developer message, with the ids another engine gives the released checkpoint's
 * template. */
static void released_function_prompt(void **state)
{
    (void)state;
    static const int32_t expected[] = {
        2,    105,    55060, 107,    3048, 659,    496,    2028, 600,    740,    776,    1292,  11687,
        607,  506,    2269,  5151,   46,   163688, 236787, 828,  236779, 19323,  236782, 7777,  236787,
        52,   3407,   1873,  7606,   573,  496,    4563,   52,   236764, 19031,  29616,  15921, 29616,
        7125, 29616,  7777,  236787, 52,   17698,  1463,   52,   236764, 2084,   236787, 52,    35410,
        52,   5237,   15979, 24845,  52,   7125,   52,     1604, 2084,   236787, 52,     60688, 52,
        1807, 47,     106,   107,    105,  2364,   107,    3689, 236789, 236751, 506,    7606,  528,
        9079, 236881, 106,   107,    105,  4368,   107};
    struct ct_tokenizer *t = real_function_tokenizer();
    carat_tokens ids = {0};
    struct ct_prompt p;
    render_ids(t, CT_CHAT_FUNCTIONGEMMA, "[{\"role\":\"user\",\"content\":\"What's the weather in Paris?\"}]",
               "[{\"type\":\"function\",\"function\":{\"name\":\"get_weather\",\"description\":\"Get current "
               "weather for a location\","
               "\"parameters\":{\"type\":\"object\",\"properties\":{\"location\":{\"type\":\"string\","
               "\"description\":\"City name\"}},"
               "\"required\":[\"location\"]}}}]",
               false, &ids, &p);
    check_equal(&ids, &(carat_tokens){(int32_t *)expected, (int)CT_COUNT(expected), 0});
    drop(&ids);
    ct_prompt_free(&p);
    ct_tokenizer_free(t);
}

/* The published states of Gemma 4's template: what a checkpoint that has one renders. */
static void check_gemma4(const struct ct_tokenizer *t, const char *name)
{
    char path[2048], text[1 << 15];
    struct ct_file *f;
    struct ct_chat_found found;
    char note[CT_CHAT_NOTE];
    carat_error err;
    snprintf(path, sizeof path, "%s/../tokenizers/gemma4/%s.jinja", shared(), name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    const struct ct_part part[] = {{"tokenizer.json", {(const uint8_t *)"{}", 2}},
                                   {"chat_template.jinja", {(const uint8_t *)text, size}}};
    assert_int_equal(ct_file_open_memory(&f, part, 2, &err), CARAT_OK);
    assert_int_equal(ct_chat_detect(f, "gemma4", &found, note, &err), CARAT_OK);
    ct_file_close(f);
    snprintf(path, sizeof path, "%s/../family/templates/%s.json", shared(), name);
    json_t *cases = json_load_file(path, 0, NULL);
    assert_int_equal(json_array_size(cases), 14);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *test = json_array_get(cases, i),
                     *prompt = json_object_get(test, "add_generation_prompt");
        struct ct_chat_options o = {.chat = found.chat,
                                    .state = found.state,
                                    .generation_prompt = !json_is_false(prompt),
                                    .thinking = json_is_true(json_object_get(test, "enable_thinking"))};
        int n;
        int32_t *expected = golden_ids(json_object_get(test, "ids"), &n);
        struct ct_prompt p;
        carat_tokens ids = {0};
        if (render_json(&o, test, &p, &err) != CARAT_OK || ct_chat_encode(t, &p, false, NULL, &ids, &err))
            fail_msg("%s case %zu: %s", name, i, err.message);
        assert_string_equal(p.text, json_string_value(json_object_get(test, "expected")));
        check_equal(&ids, &(carat_tokens){expected, n, 0});
        drop(&ids);
        free(expected);
        ct_prompt_free(&p);
    }
    json_decref(cases);
}

static void real_gemma4(void **state)
{
    (void)state;
    struct ct_tokenizer *t = real_tokenizer("gemma4");
    check_gemma4(t, "template-26B-A4B");
    check_gemma4(t, "template-31B-it");
    check_gemma4(t, "template-31B-it-interleaved");
    ct_tokenizer_free(t);
}

static void real_ids(void **state)
{
    (void)state;
    check_real("gemma", "gemma", 13, 1);
    check_real("gemma3", "gemma3", 20, 1);
    check_real("functiongemma", "gemma3", 10, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_of_whole_text), cmocka_unit_test(forged),
        cmocka_unit_test(missing_token),     cmocka_unit_test(real_ids),
        cmocka_unit_test(real_gemma4),       cmocka_unit_test(released_function_prompt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
