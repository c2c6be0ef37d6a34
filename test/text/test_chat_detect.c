/* SPDX-License-Identifier: Apache-2.0 */
/* test_chat_detect.c: which template a checkpoint asks for, and what is said about it. */
#define _POSIX_C_SOURCE 200809L
#include "chat_golden.h"

#include "text/chat/chat_parts.h"

static char note[CT_CHAT_NOTE]; /* of the last detection */

static struct ct_chat_found seen; /* likewise */

static carat_status detect(const char *name, const char *text, const char *architecture, enum ct_chat *chat,
                           carat_error *err)
{
    struct ct_file *f = NULL;
    const struct ct_part part[] = {{"tokenizer.json", {(const uint8_t *)"{}", 2}},
                                   {name, {(const uint8_t *)text, strlen(text)}}};
    if (ct_file_open_memory(&f, part, 2, err) != CARAT_OK)
        fail_msg("%s", err->message);
    carat_status status = ct_chat_detect(f, architecture, &seen, note, err);
    ct_file_close(f);
    if (status == CARAT_OK)
        *chat = seen.chat;
    return status;
}

static void detection(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *architecture;
        enum ct_chat expected;
    } cases[] = {
        {"tokenizer_config.json", "{\"bos_token\":\"<bos>\"}", "gemma3", CT_CHAT_NONE},
        {"tokenizer_config.json", "{\"chat_template\":null}", "gemma3", CT_CHAT_NONE},
        {"tokenizer_config.json", "{\"chat_template\":\"<|im_start|>\"}", "gemma3", CT_CHAT_NONE},
        {"tokenizer_config.json", "{\"a\":{\"chat_template\":\"<start_of_turn>\"},\"b\":[1]}", "gemma3",
         CT_CHAT_NONE},
        {"tokenizer_config.json", "{\"chat_template\":\"a<start_of_turn>\"}", "gemma3", CT_CHAT_GEMMA3},
        {"tokenizer_config.json", "{\"chat_template\":\"\\u003cstart_of_turn>\"}", "gemma2", CT_CHAT_GEMMA},
        {"tokenizer_config.json", "{\"chat_template\":\"<start_of_turn>\"}", "gemma", CT_CHAT_GEMMA},
        {"tokenizer_config.json", "{\"chat_template\":\"<start_of_turn>\"}", NULL, CT_CHAT_GEMMA3},
        {"tokenizer_config.json", "{\"chat_template\":\"System role not supported <start_of_turn>\"}", "",
         CT_CHAT_GEMMA},
        {"tokenizer_config.json", "{\"chat_template\":\"<start_of_turn><start_function_declaration>\"}",
         "gemma3", CT_CHAT_FUNCTIONGEMMA},
        {"tokenizer_config.json",
         "{\"chat_template\":[{\"template\":\"<start_of_turn>\",\"name\":\"default\"},"
         "{\"name\":\"tool_use\",\"template\":\"start_function_declaration\"}]}",
         "gemma3", CT_CHAT_GEMMA3},
        {"tokenizer_config.json",
         "{\"chat_template\":[{\"name\":\"x\",\"other\":[{}],\"template\":\"<start_of_turn>\"}]}", "gemma3",
         CT_CHAT_GEMMA3},
        {"tokenizer_config.json",
         "{\"chat_template\":[{\"name\":\"x\",\"template\":\"<start_of_turn>\"},{\"name\":\"y\",\"template\":"
         "\"<start_of_turn>\"}]}",
         "gemma3", CT_CHAT_NONE},
        {"chat_template.json", "{\"chat_template\":\"<start_of_turn>\"}", "gemma3", CT_CHAT_GEMMA3},
        {"chat_template.jinja", "<start_of_turn", "gemma3", CT_CHAT_NONE},
        {"chat_template.jinja", "<<start_of_turn>", "gemma3", CT_CHAT_GEMMA3},
        {"chat_template.jinja", "start_function_declaration", "gemma3", CT_CHAT_FUNCTIONGEMMA},
    };
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        enum ct_chat chat = CT_CHAT_FUNCTIONGEMMA;
        carat_error err = {0};
        if (detect(cases[i].name, cases[i].text, cases[i].architecture, &chat, &err) != CARAT_OK)
            fail_msg("case %zu: %s", i, err.message);
        if (chat != cases[i].expected)
            fail_msg("case %zu: \"%s\" found", i, ct_chat_name(chat));
    }
}

/* What the built-in template has not is said, and a template that is none of ours is never replaced. */
static void notes(void **state)
{
    (void)state;
    static const struct {
        const char *name, *text, *architecture;
        enum ct_chat expected;
        const char *says[2]; /* NULL: no note */
    } cases[] = {
        {"chat_template.jinja",
         "a<start_of_turn>",
         "gemma3",
         CT_CHAT_GEMMA3,
         {"altered", "built-in template gemma3 is used"}},
        {"chat_template.jinja",
         "System role not supported<start_of_turn>",
         "gemma3",
         CT_CHAT_GEMMA,
         {"altered", "built-in template gemma is used"}},
        {"chat_template.jinja",
         "start_function_declaration tools tool_calls",
         "gemma3",
         CT_CHAT_FUNCTIONGEMMA,
         {"published ones that carat knows;", "built-in template functiongemma is used"}},
        {"tokenizer_config.json", "{\"chat_template\":null}", "gemma3", CT_CHAT_NONE, {NULL}},
        {"tokenizer_config.json", "{}", "gemma3", CT_CHAT_NONE, {NULL}},
        {"chat_template.jinja",
         "<|turn>user enable_thinking tools reasoning_content",
         "gemma4",
         CT_CHAT_GEMMA4_SMALL,
         {"altered", "that carat knows; the built-in template gemma4-small is used"}},
        {"chat_template.jinja",
         "<|turn>{{ '<|channel>thought\\n<channel|>' }}",
         "gemma3",
         CT_CHAT_GEMMA4,
         {"that carat knows; the built-in template gemma4 is used"}},
        {"chat_template.jinja",
         "<start_of_turn><|turn><|channel>thought\n<channel|><think",
         "gemma4",
         CT_CHAT_GEMMA4,
         {"\"<think\"", "built-in template gemma4 is used"}},
        {"chat_template.jinja",
         "a<start_of_turn>enable_thinking",
         "gemma3",
         CT_CHAT_GEMMA3,
         {"\"enable_thinking\"", "which the built-in one has not"}},
        {"chat_template.jinja",
         "<|im_start|>user",
         "gemma3",
         CT_CHAT_NONE,
         {"none of Gemma's", "can be named"}},
        {"chat_template.jinja", "", "gemma3", CT_CHAT_NONE, {"none of Gemma's"}},
        {"chat_template.jinja", "\xff<start_of_turn>", "gemma3", CT_CHAT_NONE, {"no UTF-8 text"}},
        {"chat_template.json",
         "{\"chat_template\":\"<start_of_turn>\\u0000\"}",
         "gemma3",
         CT_CHAT_NONE,
         {"NUL"}},
        {"tokenizer_config.json",
         "{\"chat_template\":[{\"name\":\"a\",\"template\":\"<start_of_turn>\"},{\"name\":\"b\"}]}",
         "gemma3",
         CT_CHAT_NONE,
         {"none of Gemma's"}},
        {"chat_template.jinja",
         "<start_of_turn>{% if tools %}",
         "gemma3",
         CT_CHAT_GEMMA3,
         {"has \"tools\"", "built-in template gemma3"}},
        {"chat_template.jinja",
         "<start_of_turn>{{ enable_thinking }}",
         "gemma2",
         CT_CHAT_GEMMA,
         {"has \"enable_thinking\"", "built-in template gemma is"}},
        {"chat_template.jinja",
         "start_function_declaration <think>",
         "gemma3",
         CT_CHAT_FUNCTIONGEMMA,
         {"\"<think\""}},
    };
    enum ct_chat chat;
    carat_error err;
    for (size_t i = 0; i < CT_COUNT(cases); i++) {
        assert_int_equal(detect(cases[i].name, cases[i].text, cases[i].architecture, &chat, &err), CARAT_OK);
        bool right = chat == cases[i].expected && (cases[i].says[0] || !*note) &&
                     seen.altered == (strstr(note, "altered") != NULL) && !*seen.origin;
        for (size_t k = 0; k < 2 && cases[i].says[k]; k++)
            right = right && strstr(note, cases[i].says[k]);
        if (!right)
            fail_msg("case %zu: \"%s\" found, note \"%s\"", i, ct_chat_name(chat), note);
    }
    char *large = malloc(CT_CHAT_TEMPLATE_MAX + 2);
    assert_non_null(large);
    for (int more = 0; more < 2; more++) {
        memset(large, 'x', CT_CHAT_TEMPLATE_MAX + 1);
        memcpy(large, "<start_of_turn>", 15);
        large[CT_CHAT_TEMPLATE_MAX + more] = 0;
        assert_int_equal(detect("chat_template.jinja", large, "gemma3", &chat, &err), CARAT_OK);
        assert_int_equal(chat, more ? CT_CHAT_NONE : CT_CHAT_GEMMA3);
    }
    free(large);
}

/* ---- the published ones ---- */

static char *read_text(const char *directory, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    char *text = calloc(1, (1 << 20) + 1);
    assert_non_null(text);
    assert_true(fread(text, 1, 1 << 20, file) > 0);
    fclose(file);
    return text;
}

static void known(const char *name, const char *text, const char *architecture, enum ct_chat expected,
                  const char *origin)
{
    enum ct_chat chat;
    carat_error err;
    assert_int_equal(detect(name, text, architecture, &chat, &err), CARAT_OK);
    if (chat != expected || seen.altered || *note || !strstr(seen.origin, origin))
        fail_msg("\"%s\" of \"%s\" found, note \"%s\"", ct_chat_name(chat), seen.origin, note);
}

/* Published texts are known whole, and the family they are of beats what config.json says. */
static void published(void **state)
{
    (void)state;
    char *tiny = read_text(CT_TEST_DATA "/../../models/tiny", "chat_template.jinja");
    assert_non_null(tiny);
    known("chat_template.jinja", tiny, "gemma3", CT_CHAT_FUNCTIONGEMMA, "tiny");
    free(tiny);
    const char *shared = getenv("CARAT_SHARED");
    char *text = shared ? read_text(shared, "templates/gemma.jinja") : NULL;
    if (text) {
        const char *bos = "{{ bos_token }}";
        assert_memory_equal(text, bos, strlen(bos));
        known("chat_template.jinja", text, "gemma3", CT_CHAT_GEMMA, "April 2024");
        known("chat_template.jinja", text + strlen(bos), "gemma", CT_CHAT_GEMMA, "February 2024");
        free(text);
    }
    static const struct {
        const char *name;
        enum ct_gemma4 state;
    } newer[] = {{"template-26B-A4B.jinja", CT_GEMMA4_APRIL_2},
                 {"template-31B-it.jinja", CT_GEMMA4_APRIL_10},
                 {"template-31B-it-interleaved.jinja", CT_GEMMA4_INTERLEAVED}};
    char folder[1024];
    snprintf(folder, sizeof folder, "%s/../tokenizers/gemma4", shared ? shared : ".");
    for (size_t i = 0; i < CT_COUNT(newer); i++)
        if ((text = shared ? read_text(folder, newer[i].name) : NULL)) {
            known("chat_template.jinja", text, "gemma3", CT_CHAT_GEMMA4, "Gemma 4");
            assert_int_equal(seen.state, newer[i].state);
            free(text);
        }
    text = shared ? read_text(shared, "sp/tokenizer_config.json") : NULL;
    if (text)
        known("tokenizer_config.json", text, "gemma2", CT_CHAT_GEMMA3, "March 2025");
    free(text);
}

static uint64_t hash(const char *s)
{
    return ct_chat_hash((struct ct_str){s, strlen(s)});
}

/* White space that Jinja ignores does not count; everything else does. */
static void normal_form(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        bool same;
    } pairs[] = {
        {"{{ x }}", "{{x}}", true},
        {"{{ x }}\n", "{{x}}", true},
        {"{{ x }}\r\n", "{{x}}", true},
        {"{{ x }}\n\n", "{{x}}", false},
        {"{% if a %}b{% endif %}", "{%if\na%}b{%\tendif %}", true},
        {"a\n  {%- if b -%}\n c {%- endif -%} \n", "a{% if b %}c{% endif %}", true},
        {"a\n  {% if b %}", "a{% if b %}", false},
        {"{{ 'a\\n' }}", "{{ 'a\n' }}", true},
        {"{{ 'a\r\n' }}", "{{ 'a\n' }}", true},
        {"{{ 'a\\\\n' }}", "{{ 'a\\\n' }}", false},
        {"{{ 'a b' }}", "{{ 'ab' }}", false},
        {"{{ 'a\n\n' }}", "{{ 'a\n' }}", false},
        {"{{ \"a %} b\" }}", "{{ \"a %}b\" }}", false},
        {"{{ 'it\\'s  }}' }}", "{{'it\\'s  }}'}}", true},
        {"{{ 'it\\'s  }}' }}", "{{'it\\'s }}'}}", false},
        {"a {#- a note -#} b", "ab", true},
        {"a{# it's #}b", "ab", true},
        {"a {# a note #} b", "ab", false},
        {"{{ -x }}", "{{ x }}", false},
        {"a{{", "a{{ ", false},
        {"{%", "{%", true},
        {"{%-%}", "{%%}", true},
        {"", "\n", true},
        {"a\rb", "ab", false},
    };
    for (size_t i = 0; i < CT_COUNT(pairs); i++)
        if ((hash(pairs[i].a) == hash(pairs[i].b)) != pairs[i].same)
            fail_msg("case %zu", i);
}

static void bad_side_files(void **state)
{
    (void)state;
    static const char *const text[] = {" ",
                                       "[]",
                                       "{",
                                       "{\"chat_template\":3}",
                                       "{\"chat_template\":{}}",
                                       "{\"chat_template\":[3]}",
                                       "{\"chat_template\":[{\"name\":3}]}",
                                       "{\"chat_template\":[{\"template\":\"x\"",
                                       "{\"a\" 1}",
                                       "{\"chat_template\":\"x\"} y"};
    for (size_t i = 0; i < CT_COUNT(text); i++) {
        enum ct_chat chat = CT_CHAT_GEMMA;
        carat_error err = {0};
        if (i != CT_COUNT(text) - 1)
            assert_int_equal(detect("tokenizer_config.json", text[i], "gemma3", &chat, &err), CARAT_E_FORMAT);
        else
            assert_int_equal(detect("chat_template.json", text[i], "gemma3", &chat, &err), CARAT_E_FORMAT);
        assert_int_equal(chat, CT_CHAT_GEMMA);
        assert_non_null(
            strstr(err.message, i != CT_COUNT(text) - 1 ? "tokenizer_config.json" : "chat_template.json"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(detection), cmocka_unit_test(notes),
                                       cmocka_unit_test(published), cmocka_unit_test(normal_form),
                                       cmocka_unit_test(bad_side_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
