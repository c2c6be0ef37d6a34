/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows.c: requests that are wrong, on every surface, against models/tiny: a row has what is sent, with
 * which status it is refused, and which field or word the refusal names. Nothing of a request's making is a
 * 500, and the next request is answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/talk.h"

static struct served served;
static carat_model *model;
static carat_engine *engine;

static int begin(void **state)
{
    carat_engine_options options;

    (void)state;
    carat_engine_options_default(&options);
    options.sessions = 4;
    options.context = 512;
    options.threads = 1;
    if (carat_model_open(&model, CT_TEST_DATA "/../../models/tiny", NULL, NULL) != CARAT_OK ||
        carat_engine_create(&engine, model, &options, NULL) != CARAT_OK)
        return -1;
    served = (struct served){.options.model = model, .options.engine = engine, .options.parallel = 4};
    serve_begin(&served);
    return 0;
}

static int end(void **state)
{
    (void)state;
    if (serve_end(&served) != SERVER_ENDED)
        return -1;
    carat_engine_close(engine);
    carat_model_close(model);
    return 0;
}

/* ---- what is looked at ---- */

static bool is_openai(int kind)
{
    return kind == CHAT || kind == TEXT || kind == RESPONSES;
}

/* A refusal in the shape of its surface, which names the field: as param where the surface has that, else at
 * the beginning of the message. */
static bool is_refusal(int kind, const struct reply *r, const char *param, const char *word)
{
    char said[200];
    struct told t;

    if (!r->whole || !read_told(kind, r, false, &t))
        return false;
    bool good = t.error != NULL && strstr(r->body, word) != NULL;
    if (good && is_openai(kind)) {
        snprintf(said, sizeof said, *param ? "\"param\":\"%s\"" : "\"param\":null", param);
        good = strstr(r->body, said) && strstr(r->body, "\"type\":\"");
    } else if (good && *param)
        good = strstr(t.error, param) != NULL;
    if (kind == MESSAGES)
        good = good && strstr(r->body, "{\"type\":\"error\",\"error\":{\"type\":\"") == r->body;
    told_free(&t);
    return good;
}

static void assert_refused(int kind, const char *body, int status, const char *param, const char *word)
{
    struct reply r;

    ask(&served, "POST", kinds[kind].path, "", body, &r);
    if (status == 200 ? r.status != 200 : r.status != status || !is_refusal(kind, &r, param, word))
        fail_msg("%s: %.300s: expected %d, param '%s', '%s', but there is %d %.600s", kinds[kind].path, body,
                 status, param, word, r.status, r.body);
    reply_free(&r);
}

/* ---- fields beside a prompt that is good ---- */

enum {
    OF_CHAT = 1 << CHAT,
    OF_TEXT = 1 << TEXT,
    OF_MESSAGES = 1 << MESSAGES,
    OF_OLLAMA = 1 << OLLAMA_CHAT | 1 << OLLAMA_GENERATE,
    OF_RESPONSES = 1 << RESPONSES,
    OF_OPENAI = OF_CHAT | OF_TEXT,
    OF_DRAWING = OF_OPENAI | OF_MESSAGES,
    OF_ALL = OF_DRAWING | OF_OLLAMA | OF_RESPONSES,
};

struct row {
    const char *id; /* in the list of bad inputs */
    int kinds;
    const char *members; /* behind those of the prompt; one in options, where that is Ollama's place for it */
    int status;
    const char *param, *word;
};

/* clang-format off */
static const struct row rows[] = {
    /* numbers */
    {"R2", OF_ALL, "\"temperature\":-1", 400, "temperature", "expected"},
    {"R2", OF_ALL, "\"temperature\":\"hot\"", 400, "temperature", "hot"},
    {"R2", OF_ALL, "\"temperature\":{}", 400, "temperature", "expected"},
    {"R2", OF_ALL, "\"temperature\":true", 400, "temperature", "expected"},
    {"R2", OF_ALL, "\"temperature\":1e308", 400, "temperature", "expected"},
    {"R2", OF_ALL, "\"temperature\":1e-30", 400, "temperature", "expected"},
    {"R2", OF_ALL, "\"temperature\":-0.0", 200, "", ""},
    {"R2", OF_ALL, "\"temperature\":null", 200, "", ""},
    {"R2", OF_ALL, "\"temperature\":1e999", 400, "", "range"},
    {"R1", OF_ALL, "\"temperature\":NaN", 400, "", "at byte"},
    {"R1", OF_ALL, "\"temperature\":Infinity", 400, "", "at byte"},
    {"R1", OF_ALL, "\"temperature\":01", 400, "", "at byte"},
    {"R1", OF_ALL, "\"temperature\":.5", 400, "", "at byte"},
    {"R1", OF_ALL, "\"temperature\":0x1", 400, "", "at byte"},
    {"R7", OF_ALL, "\"temperature\":1e9", 400, "temperature", "expected"},
    {"R7", OF_ALL, "\"top_p\":0", 400, "top_p", "expected"},
    {"R7", OF_ALL, "\"top_p\":2", 400, "top_p", "expected"},
    {"R7", OF_ALL, "\"top_p\":\"\"", 400, "top_p", "expected"},
    {"R7", OF_ALL, "\"top_k\":-1", 400, "top_k", "expected"},
    {"R7", OF_ALL, "\"top_k\":2147483648", 400, "top_k", "expected"},
    {"R7", OF_ALL, "\"top_k\":1.5", 400, "top_k", "expected"},
    {"R7", OF_ALL, "\"top_k\":9007199254740993", 400, "top_k", "expected"},
    {"R7", OF_ALL, "\"seed\":18446744073709551615", 200, "", ""},
    {"R7", OF_ALL, "\"seed\":-9223372036854775808", 200, "", ""},
    {"R7", OF_ALL, "\"seed\":18446744073709551616", 400, "seed", "64 bits"},
    {"R7", OF_ALL, "\"seed\":-9223372036854775809", 400, "seed", "64 bits"},
    {"R7", OF_ALL, "\"seed\":1.0", 400, "seed", "64 bits"},
    {"R7", OF_ALL, "\"seed\":1e3", 400, "seed", "64 bits"},
    {"R7", OF_ALL, "\"seed\":\"1\"", 400, "seed", "expected"},
    {"R7", OF_OPENAI | OF_OLLAMA, "\"min_p\":1.5", 400, "min_p", "expected"},
    {"R7", OF_OPENAI | OF_OLLAMA, "\"presence_penalty\":2.5", 400, "presence_penalty", "expected"},
    {"R7", OF_OPENAI | OF_OLLAMA, "\"frequency_penalty\":-3", 400, "frequency_penalty", "expected"},
    {"R7", OF_OPENAI | OF_OLLAMA, "\"repeat_penalty\":0", 400, "repeat_penalty", "expected"},
    {"R7", OF_OPENAI | OF_OLLAMA, "\"repeat_last_n\":-2", 400, "repeat_last_n", "expected"},
    /* lengths and choices */
    {"R3", OF_CHAT | OF_MESSAGES, "\"max_tokens\":0", 400, "max_tokens", ""},
    {"R3", OF_DRAWING, "\"max_tokens\":-1", 400, "max_tokens", "expected"},
    {"R3", OF_DRAWING, "\"max_tokens\":9223372036854775808", 400, "max_tokens", "expected"},
    {"R3", OF_DRAWING, "\"max_tokens\":1.5", 400, "max_tokens", "expected"},
    {"R3", OF_DRAWING, "\"max_tokens\":100000", 200, "", ""},
    {"R3", OF_CHAT, "\"max_completion_tokens\":0", 400, "max_completion_tokens", "expected"},
    {"R3", OF_TEXT, "\"max_tokens\":0", 400, "max_tokens", "echo"},
    {"R3", OF_OLLAMA, "\"num_predict\":-3", 400, "num_predict", "expected"},
    {"R3", OF_OLLAMA, "\"num_predict\":-1", 200, "", ""},
    {"R4", OF_OPENAI, "\"n\":0", 400, "n", "expected"},
    {"R4", OF_OPENAI, "\"n\":4", 200, "", ""},
    {"R4", OF_OPENAI, "\"n\":5", 400, "n", "answers at once"},
    {"R4", OF_OPENAI, "\"n\":9", 400, "n", "expected"},
    {"R4", OF_OPENAI, "\"n\":16384", 400, "n", "expected"},
    {"R4", OF_TEXT, "\"best_of\":2", 400, "best_of", "not supported"},
    {"R4", OF_TEXT, "\"logprobs\":20", 200, "", ""},
    {"R4", OF_TEXT, "\"logprobs\":21", 400, "logprobs", "expected"},
    {"R4", OF_TEXT, "\"logprobs\":-1", 400, "logprobs", "expected"},
    {"R4", OF_CHAT, "\"logprobs\":1", 400, "logprobs", "true or false"},
    {"R4", OF_CHAT, "\"logprobs\":true,\"top_logprobs\":20", 200, "", ""},
    {"R4", OF_CHAT, "\"logprobs\":true,\"top_logprobs\":21", 400, "top_logprobs", "expected"},
    {"R4", OF_CHAT, "\"logprobs\":true,\"top_logprobs\":-1", 400, "top_logprobs", "expected"},
    {"R4", OF_CHAT, "\"top_logprobs\":2", 400, "top_logprobs", "needs logprobs"},
    /* biases and stop strings */
    {"R5", OF_OPENAI, "\"logit_bias\":{\"1\":100,\"2\":-100}", 200, "", ""},
    {"R5", OF_OPENAI, "\"logit_bias\":{\"1\":1e9}", 400, "logit_bias", "-100 to 100"},
    {"R5", OF_OPENAI, "\"logit_bias\":{\"1\":\"2\"}", 400, "logit_bias", "-100 to 100"},
    {"R5", OF_OPENAI, "\"logit_bias\":{\"abc\":1}", 400, "logit_bias", "abc"},
    {"R5", OF_OPENAI, "\"logit_bias\":{\"-1\":1}", 400, "logit_bias", "expected ids"},
    {"R5", OF_OPENAI, "\"logit_bias\":{\"\":1}", 400, "logit_bias", "expected ids"},
    {"R5", OF_OPENAI, "\"logit_bias\":{\"999999999\":1}", 400, "logit_bias", "expected ids"},
    {"R5", OF_OPENAI, "\"logit_bias\":{\"99999999999999999999\":1}", 400, "logit_bias", "expected ids"},
    {"R5", OF_OPENAI, "\"logit_bias\":[]", 400, "logit_bias", "an object"},
    {"R6", OF_OPENAI | OF_OLLAMA, "\"stop\":\"\"", 400, "stop", "1 to 1024"},
    {"R6", OF_OPENAI | OF_OLLAMA, "\"stop\":[\"a\",\"\"]", 400, "stop", "1 to 1024"},
    {"R6", OF_OPENAI | OF_OLLAMA, "\"stop\":[1]", 400, "stop", "1 to 1024"},
    {"R6", OF_OPENAI | OF_OLLAMA, "\"stop\":5", 400, "stop", "expected"},
    {"R6", OF_OPENAI | OF_OLLAMA, "\"stop\":[]", 200, "", ""},
    {"R6", OF_OPENAI | OF_OLLAMA, "\"stop\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]", 400, "stop", "at most 16"},
    {"R6", OF_MESSAGES, "\"stop_sequences\":[\"\"]", 400, "stop", "1 to 1024"},
    {"R6", OF_MESSAGES, "\"stop_sequences\":\"a\"", 400, "stop_sequences", "a list"},
    /* tools and forms */
    {"R8", OF_CHAT, "\"tools\":{}", 400, "tools", "a list"},
    {"R8", OF_CHAT, "\"tools\":[1]", 400, "tools[0]", ""},
    {"R8", OF_CHAT, "\"tools\":[{\"type\":\"function\",\"function\":{}}]", 400, "tools[0].function.name", ""},
    {"R8", OF_CHAT, "\"tool_choice\":\"required\"", 400, "tool_choice", "no tools"},
    {"R8", OF_CHAT, "\"tool_choice\":\"perhaps\"", 400, "tool_choice", ""},
    {"R8", OF_MESSAGES, "\"tools\":[{\"name\":1}]", 400, "tools[0]", "input_schema"},
    {"R8", OF_MESSAGES, "\"tools\":[{\"type\":\"bash_20250124\",\"name\":\"bash\"}]", 400, "tools[0]", "none are run"},
    {"R8", OF_MESSAGES, "\"tool_choice\":{\"type\":\"perhaps\"}", 400, "tool_choice", "expected"},
    {"R8", 1 << OLLAMA_CHAT, "\"tools\":[{\"function\":1}]", 400, "tools[0]", ""},
    {"R10", OF_CHAT, "\"response_format\":{\"type\":\"yaml\"}", 400, "response_format.type", "expected"},
    {"R10", OF_CHAT, "\"response_format\":\"json\"", 400, "response_format", "an object"},
    {"R10", OF_CHAT, "\"response_format\":{\"type\":\"json_schema\"}", 400, "response_format.json_schema.schema", "schema"},
    {"R10", OF_CHAT, "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":1}}", 400, "response_format.json_schema.schema", "schema"},
    {"R10", OF_CHAT, "\"max_tokens\":9,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":false}}", 400, "response_format", ""},
    {"R10", OF_CHAT, "\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":true}}", 200, "", ""},
    {"R10", OF_OLLAMA, "\"format\":\"yaml\"", 400, "format", "expected"},
    {"R10", OF_OLLAMA, "\"format\":[]", 400, "format", "expected"},
    {"R10", OF_OLLAMA, "\"format\":{\"type\":\"hiccup\"}", 400, "format", "hiccup"},
    {"R10", OF_MESSAGES, "\"output_config\":{\"format\":{\"type\":\"x\"}}", 400, "output_config.format", "json_schema"},
    /* streams and the rest */
    {"R12", OF_ALL, "\"stream\":\"yes\"", 400, "stream", "true or false"},
    {"R12", OF_ALL, "\"stream\":1", 400, "stream", "true or false"},
    {"R12", OF_OPENAI, "\"stream_options\":{\"include_usage\":true}", 400, "stream_options", "needs stream"},
    {"R12", OF_OPENAI, "\"stream\":true,\"stream_options\":{\"include_usage\":1}", 400, "stream_options.include_usage", "true or false"},
    {"R12", OF_OPENAI, "\"stream\":true,\"stream_options\":[]", 400, "stream_options", "an object"},
    {"R13", OF_DRAWING, "\"model\":\"gpt-9\"", 200, "", ""},
    {"R13", OF_DRAWING, "\"model\":5", 400, "model", "a string"},
    {"R2", OF_CHAT, "\"store\":true", 400, "store", "stored"},
    {"R2", OF_CHAT, "\"store\":false,\"user\":\"x\",\"metadata\":{},\"bluetooth\":1", 200, "", ""},
    {"R2", OF_CHAT, "\"reasoning_effort\":\"heroic\"", 400, "reasoning_effort", "expected"},
    {"R2", OF_MESSAGES, "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":0}", 400, "thinking.budget_tokens", "whole number"},
    {"R2", OF_MESSAGES, "\"system\":[1]", 400, "system[0]", "text"},
    {"R2", OF_OLLAMA, "\"think\":true", 400, "think", "does not support thinking"},
    {"R2", OF_OLLAMA, "\"keep_alive\":[]", 400, "keep_alive", "expected"},
    {"R2", 1 << OLLAMA_GENERATE, "\"images\":[\"aGk=\"]", 400, "images", "text alone"},
    {"R2", 1 << OLLAMA_GENERATE, "\"suffix\":\"x\"", 400, "suffix", "not supported"},
    {"R2", OF_OPENAI | OF_MESSAGES, "\"temprature\":1", 400, "temprature", "did you mean temperature?"},
    {"R2", OF_OPENAI | OF_MESSAGES, "\"strem\":true", 400, "strem", "did you mean stream?"},
    {"R2", OF_OLLAMA, "\"temprature\":1", 400, "options.temprature", "did you mean options.temperature?"},
    {"R3", OF_RESPONSES, "\"max_output_tokens\":0", 400, "max_output_tokens", "expected"},
    {"R3", OF_RESPONSES, "\"max_tokens\":5", 400, "max_tokens", "max_output_tokens"},
    {"R4", OF_RESPONSES, "\"n\":2", 400, "n", "one answer"},
    {"R4", OF_RESPONSES, "\"top_logprobs\":21", 400, "top_logprobs", "expected"},
    {"R8", OF_RESPONSES, "\"tools\":[1]", 400, "tools[0].type", ""},
    {"R8", OF_RESPONSES, "\"tools\":[{\"type\":\"web_search\"}]", 400, "tools[0].type", ""},
    {"R10", OF_RESPONSES, "\"text\":{\"format\":{\"type\":\"yaml\"}}", 400, "text.format.type", "expected"},
    {"R2", OF_RESPONSES, "\"background\":true", 400, "background", "waited for"},
    {"R2", OF_RESPONSES, "\"previous_response_id\":\"resp_none\"", 400, "previous_response_id", ""},
    {"R2", OF_RESPONSES, "\"reasoning\":{\"effort\":\"heroic\"}", 400, "reasoning.effort", "expected"},
    {"R1", OF_ALL, "\"user\":\"\\ud800\"", 400, "", "surrogate"},
    {"R1", OF_ALL, "\"user\":\"\\udc00x\"", 400, "", "surrogate"},
    {"R1", OF_ALL, "\"user\":\"\xd6\xd0\"", 400, "", "at byte"},
    {"T8", OF_ALL, "\"user\":\"\xc0\xaf\"", 400, "", "at byte"},
    {"T8", OF_ALL, "\"user\":\"\xed\xa0\x80\"", 400, "", "at byte"},
    {"T8", OF_ALL, "\"user\":\"\xf4\x90\x80\x80\"", 400, "", "at byte"},
    {"T8", OF_ALL, "\"user\":\"\xe2\x82\"", 400, "", "at byte"},
    {"R1", OF_ALL, "\"user\":\"\x01\"", 400, "", "at byte"},
    {"R1", OF_ALL, "\"user\":1,\"user\":1", 400, "", "duplicate key"},
    {"R1", OF_ALL, "\"user\":[1,]", 400, "", "at byte"},
    {"R1", OF_ALL, "\"user\":1,", 400, "", "at byte"},
};
/* clang-format on */

/* Fields that Ollama has among its options. */
static bool is_option(const char *members)
{
    static const char *const names[] = {"\"temp",     "\"top_p",     "\"top_k",  "\"seed", "\"min_p",
                                        "\"presence", "\"frequency", "\"repeat", "\"num_", "\"stop"};

    for (size_t i = 0; i < CT_COUNT(names); i++)
        if (strncmp(members, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static void fields(void **state)
{
    char members[400], param[100];

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++)
        for (int kind = 0; kind < ALL_KINDS; kind++) {
            const struct row *row = &rows[i];
            const bool inside = (OF_OLLAMA >> kind & 1) && is_option(row->members);
            if (!(row->kinds >> kind & 1))
                continue;
            snprintf(members, sizeof members, inside ? ",\"options\":{%s}" : ",%s", row->members);
            snprintf(param, sizeof param, "%s", row->param);
            char *body = body_of(kind, "x", members);
            assert_refused(kind, body, row->status, param, row->word);
            free(body);
        }
}

/* ---- whole bodies ---- */

static void bodies(void **state)
{
    static const struct row whole[] = {
        {"R1", OF_ALL, "", 400, "", "end of the text"},
        {"R1", OF_ALL, "[]", 400, "", "expected a JSON object"},
        {"R1", OF_ALL, "null", 400, "", "expected a JSON object"},
        {"R1", OF_ALL, "\"x\"", 400, "", "expected a JSON object"},
        {"R1", OF_ALL, "{", 400, "", "at byte"},
        {"R1", OF_ALL, "{}x", 400, "", "at byte"},
        {"R1", OF_ALL, "\xef\xbb\xbf{}", 400, "", "at byte"},
        {"R1", OF_CHAT, "{}", 400, "messages", "missing"},
        {"R1", OF_TEXT, "{}", 400, "prompt", "missing"},
        {"R1", OF_MESSAGES, "{}", 400, "max_tokens", "missing"},
        {"R1", OF_RESPONSES, "{}", 400, "input", "missing"},
        {"R1", OF_RESPONSES, "{\"input\":[]}", 400, "input", ""},
        {"T13", OF_RESPONSES, "{\"input\":[1]}", 400, "input[0]", ""},
        {"T13", OF_RESPONSES, "{\"input\":[{\"role\":\"wizard\",\"content\":\"x\"}]}", 400, "input[0].role",
         ""},
        {"R1", OF_OLLAMA, "{}", 400, "model", "required"},
        {"R13", OF_OLLAMA, "{\"model\":\"gpt-9\",\"messages\":[],\"prompt\":\"x\"}", 404, "model",
         "not found"},
        {"T9", OF_TEXT, "{\"prompt\":[-1]}", 400, "prompt", "expected ids"},
        {"T9", OF_TEXT, "{\"prompt\":[1024]}", 400, "prompt", "expected ids"},
        {"T9", OF_TEXT, "{\"prompt\":[2147483648]}", 400, "prompt", "expected ids"},
        {"T9", OF_TEXT, "{\"prompt\":[1.5]}", 400, "prompt", "expected ids"},
        {"T9", OF_TEXT, "{\"prompt\":[1,\"1\"]}", 400, "prompt", "expected ids"},
        {"R15", OF_TEXT, "{\"prompt\":[\"x\",1]}", 400, "prompt[1]", "expected a string"},
        {"R15", OF_TEXT, "{\"prompt\":[]}", 400, "prompt", "expected 1 to 128"},
        {"R2", OF_TEXT, "{\"prompt\":5}", 400, "prompt", "expected a string"},
        {"T13", OF_CHAT | OF_MESSAGES, "{\"max_tokens\":1,\"messages\":[]}", 400, "messages",
         "expected 1 to 4096"},
        {"T13", OF_CHAT | OF_MESSAGES, "{\"max_tokens\":1,\"messages\":{}}", 400, "messages", "a list"},
        {"T13", OF_CHAT, "{\"messages\":[1]}", 400, "messages[0]", ""},
        {"T13", OF_CHAT, "{\"messages\":[{\"role\":\"wizard\",\"content\":\"x\"}]}", 400, "messages[0].role",
         "wizard"},
        {"T13", OF_CHAT, "{\"messages\":[{\"role\":\"user\",\"content\":5}]}", 400, "messages[0].content",
         ""},
        {"T13", OF_CHAT,
         "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":\"b\"},{"
         "\"role\":\"assistant\",\"content\":\"c\"},{\"role\":\"user\"}]}",
         400, "messages[3].content", ""},
        {"R11", OF_CHAT,
         "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\",\"image_url\":{\"url\":"
         "\"file:///etc/passwd\"}}]}]}",
         400, "messages[0].content[0].type", "image"},
        {"T13", OF_MESSAGES, "{\"max_tokens\":1,\"messages\":[{\"role\":\"wizard\",\"content\":\"x\"}]}", 400,
         "messages[0].role", "expected user or assistant"},
        {"T13", OF_MESSAGES, "{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":null}]}", 400,
         "messages[0].content", "expected"},
        {"R11", OF_MESSAGES,
         "{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{}}]"
         "}]}",
         400, "messages[0].content[0]", "text alone"},
        {"T13", OF_MESSAGES,
         "{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\"}]}]}",
         400, "messages[0].content[0].tool_use_id", "expected"},
        {"T13", 1 << OLLAMA_CHAT, "{\"model\":\"tiny\",\"messages\":[1]}", 400, "messages[0]",
         "expected an object"},
        {"T13", 1 << OLLAMA_CHAT,
         "{\"model\":\"tiny\",\"messages\":[{\"role\":\"wizard\",\"content\":\"x\"}]}", 400,
         "messages[0].role", "wizard"},
        {"R11", 1 << OLLAMA_CHAT,
         "{\"model\":\"tiny\",\"messages\":[{\"role\":\"user\",\"content\":\"x\",\"images\":[\"aGk=\"]}]}",
         400, "messages[0].images", "text alone"},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(whole); i++)
        for (int kind = 0; kind < ALL_KINDS; kind++)
            if (whole[i].kinds >> kind & 1)
                assert_refused(kind, whole[i].members, whole[i].status, whole[i].param, whole[i].word);
}

/* ---- limits: at the limit, and one beyond ---- */

/* first, then n times a text. */
static char *repeated(const char *first, const char *text, size_t n, const char *last)
{
    const size_t size = strlen(text);
    char *all = malloc(strlen(first) + n * size + strlen(last) + 1), *at = all;

    assert_non_null(all);
    at += sprintf(at, "%s", first);
    for (size_t i = 0; i < n; i++, at += size)
        memcpy(at, text, size);
    strcpy(at, last);
    return all;
}

static void assert_limit(int kinds_of, const char *first, const char *text, size_t n, const char *last,
                         int status, const char *param, const char *word)
{
    char *members = repeated(first, text, n, last);

    for (int kind = 0; kind < ALL_KINDS; kind++)
        if (kinds_of >> kind & 1) {
            char *body = body_of(kind, "x", members);
            assert_refused(kind, body, status, param, word);
            free(body);
        }
    free(members);
}

static void limits(void **state)
{
    char *body, biases[16 * 1100], *at;

    (void)state;
    assert_limit(OF_ALL, ",\"x\":", "[", 63, "1", 400, "", "at byte");
    assert_limit(OF_ALL, ",\"x\":", "[", 100000, "", 400, "", "at byte");
    assert_limit(OF_ALL, ",\"x\":[0", ",0", 99000, "]", 200, "", "");
    assert_limit(OF_ALL, ",\"x\":[0", ",0", 100000, "]", 400, "", "values");
    assert_limit(OF_OPENAI, ",\"stop\":\"", "s", 1024, "\"", 200, "", "");
    assert_limit(OF_OPENAI, ",\"stop\":\"", "s", 1025, "\"", 400, "stop", "1 to 1024");
    assert_limit(OF_OPENAI, ",\"stop\":\"", "s", 1 << 20, "\"", 400, "stop", "1 to 1024");
    assert_limit(OF_OPENAI, ",\"stop\":[\"a\"", ",\"b\"", 15, "]", 200, "", "");
    assert_limit(OF_OPENAI, ",\"stop\":[\"a\"", ",\"b\"", 16, "]", 400, "stop", "at most 16");
    assert_limit(OF_CHAT, ",\"tools\":[0", ",0", 128, "]", 400, "tools", "at most 128");
    assert_limit(OF_CHAT, ",\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":",
                 "{\"items\":", 33, "{}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}}", 400, "response_format", "");
    assert_limit(1 << OLLAMA_CHAT, ",\"tools\":[0", ",0", 128, "]", 400, "tools", "at most 128");
    at = biases + sprintf(biases, ",\"logit_bias\":{\"0\":1");
    for (int i = 1; i <= 1024; i++) {
        sprintf(at, "}");
        if (i == 1024)
            assert_limit(OF_OPENAI, biases, "", 0, "", 200, "", "");
        at += sprintf(at, ",\"%d\":1", i);
    }
    assert_limit(OF_OPENAI, biases, "", 0, "}", 400, "logit_bias", "has 1025 ids, expected at most 1024");
    body = repeated("{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"\"}",
                    ",{\"role\":\"user\",\"content\":\"\"}", 4096, "]}");
    assert_refused(CHAT, body, 400, "messages", "expected 1 to 4096");
    assert_refused(MESSAGES, body, 400, "messages", "expected 1 to 4096");
    free(body);
    body = repeated("{\"prompt\":[\"x\"", ",\"x\"", 128, "]}");
    assert_refused(TEXT, body, 400, "prompt", "expected 1 to 128");
    free(body);
    body = repeated("{\"prompt\":[2", ",5", 10000, "]}");
    assert_refused(TEXT, body, 400, "prompt", "the prompt has 10001 tokens, and the context 512 positions");
    free(body);
}

/* A body of 8 MiB is read, and one with a byte more is not; nor is one in another coding. */
static void sizes(void **state)
{
    enum { MOST = 8 << 20 };
    char *body = malloc(MOST + 2);
    struct reply r;

    (void)state;
    assert_non_null(body);
    memset(body, ' ', MOST + 1);
    body[MOST + 1] = 0;
    for (int kind = 0; kind < ALL_KINDS; kind++) {
        body[MOST] = 0;
        assert_refused(kind, body, 400, "", "at byte");
        body[MOST] = ' ';
        assert_refused(kind, body, 413, "", "");
        ask(&served, "POST", kinds[kind].path, "Content-Encoding: gzip\r\n", "\x1f\x8b", &r);
        assert_true(r.status == 415 && is_refusal(kind, &r, "", "coding"));
        reply_free(&r);
        ask(&served, "GET", kinds[kind].path, "", "", &r);
        assert_true(r.status == 405 && is_refusal(kind, &r, "", "does not take GET") &&
                    strstr(r.head, "\nAllow: OPTIONS, POST\n"));
        reply_free(&r);
    }
    free(body);
}

/* Strings that could begin in every token change nothing of a text that they do not end. */
static void stops_everywhere(void **state)
{
    static const char common[] =
        ",\"temperature\":0,\"max_tokens\":60,\"logit_bias\":{\"1\":-100,\"106\":-100}";
    char stops[8000], *at = stops, more[9000];
    struct reply plain, r;
    struct told t, u;

    (void)state;
    at += sprintf(at, ",\"stop\":[");
    for (int i = 0; i < 16; i++)
        at += sprintf(at, "%s\"%c%c%0*d\"", i ? "," : "", "the light"[i % 9], "hesnaoi "[i % 8], 300, i);
    strcpy(at, "]");
    ask_kind(&served, CHAT, "Turn on the kitchen lights", common, &plain);
    assert_true(read_told(CHAT, &plain, false, &t));
    for (int streams = 0; streams < 2; streams++) {
        snprintf(more, sizeof more, "%s%s%s", common, stops, streams ? ",\"stream\":true" : "");
        ask_kind(&served, CHAT, "Turn on the kitchen lights", more, &r);
        assert_true(read_told(CHAT, &r, streams, &u));
        assert_string_equal(u.text, t.text);
        told_free(&u);
        reply_free(&r);
    }
    told_free(&t);
    reply_free(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields), cmocka_unit_test(bodies),
                                       cmocka_unit_test(limits), cmocka_unit_test(sizes),
                                       cmocka_unit_test(stops_everywhere)};
    return cmocka_run_group_tests(tests, begin, end);
}
