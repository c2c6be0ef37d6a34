/* SPDX-License-Identifier: Apache-2.0 */
/* test_rows.c: requests that are wrong, on every surface, against models/tiny: a row has what is sent, with
 * which status it is refused, and which field or word the refusal names. Nothing of a request's making is a
 * 500, and the next request is answered. */
#include "server/rows.h"

/* ---- fields beside a prompt that is good ---- */

struct row {
    const char *id; /* in the list of bad inputs */
    int kinds;
    const char *members; /* behind those of the prompt; one of drawing, where a surface has these */
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
    {"R2", OF_ALL, "\"temperature\":1e-30", 200, "", ""},
    {"R2", OF_ALL, "\"temperature\":1e-8", 200, "", ""},
    {"R2", OF_ALL, "\"temperature\":-0.0", 200, "", ""},
    {"R2", OF_ALL, "\"temperature\":null", 200, "", ""},
    {"R2", OF_ALL, "\"temperature\":1e999", 400, "", "range"},
    {"R1", OF_ALL, "\"temperature\":NaN", 400, "", "at byte"},
    {"R1", OF_ALL, "\"temperature\":Infinity", 400, "", "at byte"},
    {"R1", OF_ALL, "\"temperature\":01", 400, "", "at byte"},
    {"R1", OF_ALL, "\"temperature\":.5", 400, "", "at byte"},
    {"R1", OF_ALL, "\"temperature\":0x1", 400, "", "at byte"},
    {"R7", OF_ALL, "\"temperature\":1e9", 400, "temperature", "expected"},
    {"R7", OF_ALL, "\"top_p\":0", 200, "", ""},
    {"R7", OF_ALL, "\"top_p\":1e-9", 200, "", ""},
    {"R7", OF_MOST, "\"top_p\":2", 400, "top_p", "expected"},
    {"R7", OF_MOST, "\"top_p\":\"\"", 400, "top_p", "expected"},
    {"R7", OF_MOST & ~OF_MESSAGES, "\"top_k\":-1", 200, "", ""},
    {"R7", OF_MOST, "\"top_k\":-2", 400, "top_k", "expected"},
    {"R7", OF_MESSAGES, "\"top_k\":-1", 400, "top_k", "expected a whole number from 0 to 2147483647"},
    {"R7", OF_ALL, "\"top_k\":5.0", 200, "", ""},
    {"R7", OF_ALL, "\"top_k\":5e1", 200, "", ""},
    {"R7", OF_MOST, "\"top_k\":\"5\"", 400, "top_k", "expected"},
    {"R7", OF_MOST, "\"top_k\":2147483648", 400, "top_k", "expected"},
    {"R7", OF_MOST, "\"top_k\":1.5", 400, "top_k", "expected"},
    {"R7", OF_MOST, "\"top_k\":9007199254740993", 400, "top_k", "expected"},
    {"R7", OF_ALL, "\"seed\":18446744073709551615", 200, "", ""},
    {"R7", OF_ALL, "\"seed\":-9223372036854775808", 200, "", ""},
    {"R7", OF_ALL, "\"seed\":18446744073709551616", 400, "seed", "64 bits"},
    {"R7", OF_ALL, "\"seed\":-9223372036854775809", 400, "seed", "64 bits"},
    {"R7", OF_ALL, "\"seed\":1.0", 200, "", ""},
    {"R7", OF_ALL, "\"seed\":1e3", 200, "", ""},
    {"R7", OF_ALL, "\"seed\":1.5", 400, "seed", "64 bits"},
    {"R7", OF_MOST, "\"seed\":\"1\"", 400, "seed", "expected"},
    {"R7", OF_OPENAI | OF_OLLAMA | OF_LLAMA, "\"min_p\":1.5", 400, "min_p", "expected"},
    {"R7", OF_OPENAI | OF_OLLAMA, "\"presence_penalty\":2.5", 400, "presence_penalty", "expected"},
    {"R7", OF_OPENAI | OF_OLLAMA, "\"frequency_penalty\":-3", 400, "frequency_penalty", "expected"},
    {"R7", OF_OPENAI | OF_OLLAMA | OF_LLAMA, "\"repeat_penalty\":0", 400, "repeat_penalty", "expected"},
    {"R7", OF_OPENAI | OF_OLLAMA | OF_LLAMA, "\"repeat_last_n\":-2", 400, "repeat_last_n", "expected"},
    /* lengths and choices */
    {"R3", OF_CHAT | OF_MESSAGES, "\"max_tokens\":0", 400, "max_tokens", ""},
    {"R3", OF_DRAWING, "\"max_tokens\":-1", 400, "max_tokens", "expected"},
    {"R3", OF_DRAWING, "\"max_tokens\":9223372036854775808", 400, "max_tokens", " to 9007199254740992"},
    {"R3", OF_DRAWING, "\"max_tokens\":9007199254740994", 400, "max_tokens", " is 9007199254740994, expected"},
    {"R3", OF_DRAWING, "\"max_tokens\":5.0", 200, "", ""},
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
    {"R6", OF_OPENAI | OF_OLLAMA | OF_LLAMA, "\"stop\":\"\"", 400, "stop", "1 to 1024"},
    {"R6", OF_OPENAI | OF_OLLAMA | OF_LLAMA, "\"stop\":[\"a\",\"\"]", 400, "stop", "1 to 1024"},
    {"R6", OF_OPENAI | OF_OLLAMA | OF_LLAMA, "\"stop\":[1]", 400, "stop", "1 to 1024"},
    {"R6", OF_OPENAI | OF_OLLAMA | OF_LLAMA, "\"stop\":5", 400, "stop", "expected"},
    {"R6", OF_OPENAI | OF_OLLAMA | OF_LLAMA, "\"stop\":[]", 200, "", ""},
    {"R6", OF_OPENAI | OF_OLLAMA | OF_LLAMA, "\"stop\":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16]", 400, "stop", "at most 16"},
    {"R6", OF_MESSAGES, "\"stop_sequences\":[\"\"]", 400, "stop", "1 to 1024"},
    {"R6", OF_MESSAGES, "\"stop_sequences\":\"a\"", 400, "stop_sequences", "a list"},
    /* tools and forms */
    {"R8", OF_CHAT, "\"tools\":{}", 400, "tools", "a list"},
    {"R8", OF_CHAT, "\"tools\":[1]", 400, "tools[0].function.name", ""},
    {"R8", OF_CHAT, "\"tools\":[{\"type\":\"function\",\"function\":{}}]", 400, "tools[0].function.name", ""},
    {"R8", OF_CHAT, "\"tool_choice\":\"required\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"$ref\":\"#\"}}}}}]", 400, "tools[0].function.parameters", "without end"},
    {"R8", OF_CHAT, "\"tool_choice\":\"required\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"string\",\"pattern\":\"a{1,1000000000}\"}}}}}]", 400, "tools[0].function.parameters.properties.p.pattern", "repeat"},
    {"R8", OF_CHAT | 1 << OLLAMA_CHAT, "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"$ref\":\"#\"}}}}}]", 200, "", ""},
    {"R8", OF_CHAT | 1 << OLLAMA_CHAT, "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"type\":\"integer\",\"minimum\":5,\"maximum\":3}}}}}]", 200, "", ""},
    {"R8", OF_CHAT | 1 << OLLAMA_CHAT, "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"array\",\"uniqueItems\":true},\"q\":{\"multipleOf\":0.5},\"r\":{\"not\":{}},\"s\":{\"format\":\"hostname\"}}}}}]", 200, "", ""},
    {"R8", OF_MESSAGES, "\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"$ref\":\"#\"}}}}]", 200, "", ""},
    {"R8", OF_MESSAGES, "\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"type\":\"integer\",\"minimum\":5,\"maximum\":3}}}}]", 200, "", ""},
    {"R8", OF_MESSAGES, "\"tools\":[{\"name\":\"f\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"array\",\"uniqueItems\":true},\"q\":{\"multipleOf\":0.5},\"r\":{\"not\":{}},\"s\":{\"format\":\"hostname\"}}}}]", 200, "", ""},
    {"R8", OF_RESPONSES, "\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"$ref\":\"#\"}}}}]", 200, "", ""},
    {"R8", OF_RESPONSES, "\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"type\":\"integer\",\"minimum\":5,\"maximum\":3}}}}]", 200, "", ""},
    {"R8", OF_RESPONSES, "\"tools\":[{\"type\":\"function\",\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"array\",\"uniqueItems\":true},\"q\":{\"multipleOf\":0.5},\"r\":{\"not\":{}},\"s\":{\"format\":\"hostname\"}}}}]", 200, "", ""},
    {"R8", OF_GEMINI, "\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\",\"parametersJsonSchema\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"$ref\":\"#\"}}}}]}]", 200, "", ""},
    {"R8", OF_GEMINI, "\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\",\"parametersJsonSchema\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"type\":\"integer\",\"minimum\":5,\"maximum\":3}}}}]}]", 200, "", ""},
    {"R8", OF_GEMINI, "\"tools\":[{\"functionDeclarations\":[{\"name\":\"f\",\"parametersJsonSchema\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"array\",\"uniqueItems\":true},\"q\":{\"multipleOf\":0.5},\"r\":{\"not\":{}},\"s\":{\"format\":\"hostname\"}}}}]}]", 200, "", ""},
    {"R8", OF_CHAT, "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"p\":{\"$ref\":\"http://localhost/x\"}}}}}]", 200, "", ""},
    {"R8", OF_CHAT, "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"hiccup\"}}}}}],\"tool_choice\":\"required\"", 400, "tools[0].function.parameters.properties.p.type", "hiccup"},
    {"R8", OF_CHAT, "\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"string\",\"pattern\":\"(?<=x)\"}}}}}]", 200, "", ""},
    {"R8", OF_CHAT, "\"tool_choice\":\"none\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"required\":[\"p\"],\"properties\":{\"p\":{\"$ref\":\"#\"}}}}}]", 200, "", ""},
    {"R8", OF_CHAT, "\"tool_choice\":\"required\",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"object\",\"properties\":{\"p\":{\"type\":\"array\",\"uniqueItems\":true},\"q\":{\"multipleOf\":0.5},\"r\":{\"not\":{}},\"s\":{\"format\":\"hostname\"}}}}}]", 400, "tools[0].function.parameters.properties.p.uniqueItems", "not supported"},
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
    {"R12", OF_MOST, "\"stream\":\"yes\"", 400, "stream", "true or false"},
    {"R12", OF_MOST, "\"stream\":1", 400, "stream", "true or false"},
    {"R12", OF_OPENAI, "\"stream_options\":{\"include_usage\":true}", 400, "stream_options", "needs stream"},
    {"R12", OF_OPENAI, "\"stream\":true,\"stream_options\":{\"include_usage\":1}", 400, "stream_options.include_usage", "true or false"},
    {"R12", OF_OPENAI, "\"stream\":true,\"stream_options\":[]", 400, "stream_options", "an object"},
    {"R13", OF_DRAWING | OF_LLAMA | OF_GEMINI, "\"model\":\"gpt-9\"", 200, "", ""},
    {"R13", OF_DRAWING | OF_LLAMA | OF_GEMINI, "\"model\":5", 400, "model", "a string"},
    {"R2", OF_CHAT, "\"store\":true", 400, "store", "stored"},
    {"R2", OF_CHAT, "\"store\":false,\"user\":\"x\",\"metadata\":{},\"bluetooth\":1", 200, "", ""},
    {"R2", OF_CHAT, "\"reasoning_effort\":\"heroic\"", 400, "reasoning_effort", "expected"},
    {"R2", OF_MESSAGES, "\"thinking\":{\"type\":\"enabled\",\"budget_tokens\":0}", 400, "thinking.budget_tokens", "whole number"},
    {"R2", OF_MESSAGES, "\"system\":[1]", 400, "system[0]", "text"},
    {"R2", OF_OLLAMA, "\"think\":true", 400, "think", "does not support thinking"},
    {"R2", OF_OLLAMA, "\"keep_alive\":[]", 400, "keep_alive", "expected"},
    {"R2", 1 << OLLAMA_GENERATE, "\"images\":[\"aGk=\"]", 400, "images", "text alone"},
    {"R2", 1 << OLLAMA_GENERATE, "\"suffix\":\"x\"", 400, "suffix", "not supported"},
    {"R2", OF_OPENAI | OF_MESSAGES | OF_LLAMA, "\"temprature\":1", 400, "temprature", "did you mean temperature?"},
    {"R2", OF_OPENAI | OF_MESSAGES | OF_LLAMA, "\"strem\":true", 400, "strem", "did you mean stream?"},
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
    {"R1", OF_BODIES, "\"user\":\"\\ud800\"", 400, "", "surrogate"},
    {"R1", OF_BODIES, "\"user\":\"\\udc00x\"", 400, "", "surrogate"},
    {"R1", OF_BODIES, "\"user\":\"\xd6\xd0\"", 400, "", "at byte"},
    {"T8", OF_BODIES, "\"user\":\"\xc0\xaf\"", 400, "", "at byte"},
    {"T8", OF_BODIES, "\"user\":\"\xed\xa0\x80\"", 400, "", "at byte"},
    {"T8", OF_BODIES, "\"user\":\"\xf4\x90\x80\x80\"", 400, "", "at byte"},
    {"T8", OF_BODIES, "\"user\":\"\xe2\x82\"", 400, "", "at byte"},
    {"R1", OF_BODIES, "\"user\":\"\x01\"", 400, "", "at byte"},
    {"R1", OF_BODIES, "\"user\":1,\"user\":1", 400, "", "duplicate key"},
    {"R1", OF_BODIES, "\"user\":[1,]", 400, "", "at byte"},
    {"R1", OF_BODIES, "\"user\":1,", 400, "", "at byte"},
    /* what llama.cpp's completions alone have */
    {"R3", OF_LLAMA, "\"n_predict\":-3", 400, "n_predict", "expected"},
    {"R3", OF_LLAMA, "\"n_predict\":1e1", 200, "", ""},
    {"R3", OF_LLAMA, "\"n_predict\":9223372036854775808", 400, "n_predict", "expected"},
    {"R3", OF_LLAMA, "\"n_predict\":0", 200, "", ""},
    {"R4", OF_LLAMA, "\"n_cmpl\":0", 400, "n_cmpl", "expected"},
    {"R4", OF_LLAMA, "\"n_cmpl\":5", 400, "n_cmpl", "answers at once"},
    {"R4", OF_LLAMA, "\"n_probs\":21", 400, "n_probs", "expected"},
    {"R4", OF_LLAMA, "\"n_probs\":20,\"n_predict\":2", 200, "", ""},
    {"R5", OF_LLAMA, "\"logit_bias\":[[1]]", 400, "logit_bias", "pairs"},
    {"R5", OF_LLAMA, "\"logit_bias\":[1]", 400, "logit_bias", "pairs"},
    {"R5", OF_LLAMA, "\"logit_bias\":[[1024,1]]", 400, "logit_bias", "expected ids"},
    {"R5", OF_LLAMA, "\"logit_bias\":[[1.5,1]]", 400, "logit_bias", "expected an id"},
    {"R5", OF_LLAMA, "\"logit_bias\":[[1,true]]", 400, "logit_bias", "expected a number"},
    {"R5", OF_LLAMA, "\"logit_bias\":[[1,1e31]]", 400, "logit_bias", "expected a number"},
    {"R5", OF_LLAMA, "\"logit_bias\":{\"-1\":1}", 400, "logit_bias", "expected ids"},
    {"R7", OF_LLAMA, "\"typical_p\":0", 200, "", ""},
    {"R7", OF_LLAMA, "\"frequency_penalty\":1001", 400, "frequency_penalty", "expected"},
    {"R7", OF_LLAMA, "\"dry_base\":0.5", 400, "dry_base", "expected"},
    {"R7", OF_LLAMA, "\"dry_multiplier\":-1", 400, "dry_multiplier", "expected"},
    {"R7", OF_LLAMA, "\"dry_allowed_length\":-1", 400, "dry_allowed_length", "expected"},
    {"R7", OF_LLAMA, "\"dry_sequence_breakers\":[1]", 400, "dry_sequence_breakers", "one token"},
    {"R7", OF_LLAMA, "\"dry_sequence_breakers\":[\"two words\"]", 400, "dry_sequence_breakers", "one token"},
    {"R7", OF_LLAMA, "\"xtc_threshold\":2", 400, "xtc_threshold", "expected"},
    {"R7", OF_LLAMA, "\"samplers\":\"top_k\"", 400, "samplers", "expected penalties"},
    {"R7", OF_ALL, "\"samplers\":\"ektx\"", 200, "", ""},
    {"R7", OF_ALL, "\"samplers\":[\"top_n_sigma\",\"top_k\"]", 200, "", ""},
    {"R7", OF_ALL, "\"samplers\":[\"top_k\",\"top_k\"]", 400, "samplers[1]", "once"},
    {"R7", OF_LLAMA, "\"samplers\":[\"top_q\"]", 400, "samplers[0]", "expected"},
    {"R7", OF_LLAMA, "\"samplers\":[\"top_k\",\"top_k\"]", 400, "samplers[1]", "once"},
    {"R9", OF_LLAMA, "\"grammar\":\"root ::= (\"", 400, "grammar", "without its )"},
    {"R9", OF_LLAMA, "\"grammar\":\"root ::= root \\\"a\\\" | \\\"a\\\"\"", 400, "grammar", ""},
    {"R9", OF_LLAMA, "\"grammar\":\"a ::= \\\"b\\\"\"", 400, "grammar", "root"},
    {"R9", OF_LLAMA, "\"grammar\":5", 400, "grammar", "a string"},
    {"R9", OF_LLAMA, "\"grammar\":\"root ::= \\\"a\\\"\",\"json_schema\":{}", 400, "grammar", "both"},
    {"R8", OF_LLAMA, "\"json_schema\":{\"type\":\"hiccup\"}", 400, "json_schema", "hiccup"},
    {"R8", OF_LLAMA, "\"json_schema\":{\"$ref\":\"#\"}", 400, "json_schema", "refers to itself"},
    {"R2", OF_LLAMA, "\"mirostat\":2", 400, "mirostat", "not supported"},
    {"R2", OF_LLAMA, "\"t_max_predict_ms\":5", 400, "t_max_predict_ms", "not supported"},
    {"R2", OF_LLAMA, "\"lora\":[{\"id\":0}]", 400, "lora", "not supported"},
    {"R2", OF_LLAMA, "\"image_data\":[1]", 400, "image_data", "text alone"},
    /* and Google's */
    {"R7", OF_GEMINI, "\"generationConfig\":5", 400, "generationConfig", "an object"},
    {"R7", OF_GEMINI, "\"generationConfig\":{},\"generation_config\":{}", 400, "generationConfig", "twice"},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"topP\":0,\"topK\":\"5\",\"temperature\":\"1e-8\",\"seed\":\"7\"}", 200, "", ""},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"topK\":\"\"}", 400, "generationConfig.topK", "whole number"},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"topK\":\"5x\"}", 400, "generationConfig.topK", "whole number"},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"topK\":\" 5\"}", 400, "generationConfig.topK", "whole number"},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"topP\":\"NaN\"}", 400, "generationConfig.topP", "a number"},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"topK\":true}", 400, "generationConfig.topK", "whole number"},
    {"R3", OF_GEMINI, "\"generationConfig\":{\"maxOutputTokens\":\"5\"}", 200, "", ""},
    {"R3", OF_GEMINI, "\"generationConfig\":{\"max_output_tokens\":5.0,\"candidateCount\":\"1\",\"logprobs\":\"2.0\",\"responseLogprobs\":true}", 200, "", ""},
    {"R3", OF_GEMINI, "\"generationConfig\":{\"thinkingConfig\":{\"thinkingBudget\":\"5\"}}", 200, "", ""},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"top_p\":2}", 400, "generationConfig.topP", "expected"},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"topK\":-1}", 400, "generationConfig.topK", "expected"},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"topK\":2147483648}", 400, "generationConfig.topK", "expected"},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"topK\":1.5}", 400, "generationConfig.topK", "whole number"},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"topK\":40.0}", 200, "", ""},
    {"R7", OF_GEMINI, "\"generationConfig\":{\"presencePenalty\":3}", 400, "generationConfig.presencePenalty", "expected"},
    {"R3", OF_GEMINI, "\"generationConfig\":{\"maxOutputTokens\":0}", 400, "generationConfig.maxOutputTokens", "expected"},
    {"R3", OF_GEMINI, "\"generationConfig\":{\"maxOutputTokens\":1.5}", 400, "generationConfig.maxOutputTokens", "expected"},
    {"R4", OF_GEMINI, "\"generationConfig\":{\"candidateCount\":4}", 200, "", ""},
    {"R4", OF_GEMINI, "\"generationConfig\":{\"candidateCount\":5}", 400, "generationConfig.candidateCount", "answers at once"},
    {"R4", OF_GEMINI, "\"generationConfig\":{\"candidateCount\":9}", 400, "generationConfig.candidateCount", "expected"},
    {"R4", OF_GEMINI, "\"generationConfig\":{\"logprobs\":3}", 400, "generationConfig.logprobs", "needs responseLogprobs"},
    {"R4", OF_GEMINI, "\"generationConfig\":{\"responseLogprobs\":1}", 400, "generationConfig.responseLogprobs", "true or false"},
    {"R6", OF_GEMINI, "\"generationConfig\":{\"stopSequences\":\"a\"}", 200, "", ""},
    {"R6", OF_GEMINI, "\"generationConfig\":{\"stopSequences\":{}}", 400, "generationConfig.stopSequences", "1 to 1024"},
    {"R6", OF_GEMINI, "\"generationConfig\":{\"stopSequences\":[\"\"]}", 400, "generationConfig.stopSequences", "1 to 1024"},
    {"R8", OF_GEMINI, "\"tools\":5", 400, "tools", "a list"},
    {"R8", OF_GEMINI, "\"tools\":{\"functionDeclarations\":{\"name\":\"f\"}}", 200, "", ""},
    {"R8", OF_GEMINI, "\"tools\":{\"functionDeclarations\":{}}", 400, "tools[0].functionDeclarations[0]", "a name"},
    {"R2", OF_GEMINI, "\"system_instruction\":{\"parts\":{\"text\":\"short\"}}", 200, "", ""},
    {"R2", OF_GEMINI, "\"system_instruction\":{\"parts\":{\"text\":5}}", 400, "systemInstruction.parts[0].text", "a string"},
    {"R8", OF_GEMINI, "\"tools\":[1]", 400, "tools[0]", "an object"},
    {"R8", OF_GEMINI, "\"tools\":[{\"googleSearch\":{}}]", 400, "tools[0].googleSearch", "nothing is fetched"},
    {"R8", OF_GEMINI, "\"tools\":[{\"functionDeclarations\":[1]}]", 400, "tools[0].functionDeclarations[0]", "an object"},
    {"R8", OF_GEMINI, "\"tools\":[{},{\"functionDeclarations\":[{\"name\":\"f\"},{}]}]", 400, "tools[1].functionDeclarations[1]", "a name"},
    {"R8", OF_GEMINI, "\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"ANY\"}}", 400, "toolConfig", "no tools"},
    {"R8", OF_GEMINI, "\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"X\"}}", 400, "toolConfig.functionCallingConfig.mode", "expected"},
    {"R10", OF_GEMINI, "\"generationConfig\":{\"responseMimeType\":\"text/html\"}", 400, "generationConfig.responseMimeType", "expected"},
    {"R10", OF_GEMINI, "\"generationConfig\":{\"responseSchema\":{}}", 400, "generationConfig.responseMimeType", "needs application/json"},
    {"R10", OF_GEMINI, "\"generationConfig\":{\"responseMimeType\":\"application/json\",\"responseSchema\":{\"type\":\"HICCUP\"}}", 400, "generationConfig.responseSchema", "hiccup"},
    {"R8", OF_GEMINI, "\"generationConfig\":{\"responseMimeType\":\"application/json\",\"responseSchema\":{\"ref\":\"#/defs/a\",\"defs\":{\"a\":{\"ref\":\"#/defs/a\"}}}}", 400, "generationConfig.responseSchema", "refers to itself"},
    {"R8", OF_GEMINI, "\"generationConfig\":{\"responseMimeType\":\"application/json\",\"responseSchema\":{\"ref\":\"#/defs/a\",\"defs\":{\"a\":{\"type\":\"BOOLEAN\"}}}}", 200, "", ""},
    {"R2", OF_GEMINI, "\"systemInstruction\":{}", 400, "systemInstruction", "expected parts"},
    {"R2", OF_GEMINI, "\"cachedContent\":\"x\"", 400, "cachedContent", "not supported"},
    {"R2", OF_GEMINI, "\"generationConfig\":{\"responseModalities\":[\"AUDIO\"]}", 400, "generationConfig.responseModalities", "answers are text"},
    {"R2", OF_GEMINI, "\"generationConfig\":{\"thinkingConfig\":{\"thinkingLevel\":\"X\"}}", 400, "generationConfig.thinkingConfig.thinkingLevel", "expected"},
    {"R2", OF_GEMINI, "\"generationConfig\":{\"thinkingConfig\":{\"thinkingBudget\":1.5}}", 400, "generationConfig.thinkingConfig.thinkingBudget", "whole number"},
    {"R2", OF_GEMINI, "\"genrationConfig\":{}", 400, "genrationConfig", "did you mean generationConfig?"},
    {"R2", OF_GEMINI, "\"generationConfig\":{\"temprature\":1}", 400, "generationConfig.temprature", "did you mean generationConfig.temperature?"},
    {"R2", OF_GEMINI, "\"bluetooth\":1", 200, "", ""},
    /* vectors, of which this model gives none */
    {"R2", 1 << VECTORS, "\"user\":\"x\"", 400, "model", "gives no vectors"},
    {"R2", 1 << OLLAMA_VECTORS, "\"user\":\"x\"", 400, "", "gives no vectors"},
    {"R2", OF_VECTORS, "\"dimensions\":-1", 400, "dimensions", "expected"},
    {"R2", OF_VECTORS, "\"dimensions\":1.5", 400, "dimensions", "expected"},
    {"R2", 1 << VECTORS, "\"encoding_format\":3", 400, "encoding_format", "a string"},
    {"R2", 1 << VECTORS, "\"task\":[]", 400, "task", "a string"},
    {"R2", 1 << OLLAMA_VECTORS, "\"truncate\":1", 400, "truncate", "true or false"},
};
/* clang-format on */

/* Fields that some surfaces have in an object of their own: its name, or NULL. */
static const char *inside_of(int kind, const char *members)
{
    static const char *const names[] = {"\"temp",     "\"top_p",     "\"top_k",  "\"seed", "\"min_p",
                                        "\"presence", "\"frequency", "\"repeat", "\"num_", "\"stop"};

    for (size_t i = 0; i < CT_COUNT(names); i++)
        if (strncmp(members, names[i], strlen(names[i])) == 0)
            return OF_OLLAMA >> kind & 1 ? "options" : OF_GEMINI >> kind & 1 ? "generationConfig" : NULL;
    return NULL;
}

static void fields(void **state)
{
    char members[400], param[100];

    (void)state;
    for (size_t i = 0; i < CT_COUNT(rows); i++)
        for (int kind = 0; kind < ALL_KINDS; kind++) {
            const struct row *row = &rows[i];
            const char *inside = inside_of(kind, row->members);
            if (!(row->kinds >> kind & 1))
                continue;
            if (inside)
                snprintf(members, sizeof members, ",\"%s\":{%s}", inside, row->members);
            else
                snprintf(members, sizeof members, ",%s", row->members);
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
        {"R1", OF_BODIES, "", 400, "", "end of the text"},
        {"R1", OF_BODIES, "[]", 400, "", "expected a JSON object"},
        {"R1", OF_BODIES, "null", 400, "", "expected a JSON object"},
        {"R1", OF_BODIES, "\"x\"", 400, "", "expected a JSON object"},
        {"R1", OF_BODIES, "{", 400, "", "at byte"},
        {"R1", OF_BODIES, "{}x", 400, "", "at byte"},
        {"R1", OF_BODIES, "\xef\xbb\xbf{}", 400, "", "at byte"},
        {"R1", OF_CHAT, "{}", 400, "messages", "missing"},
        {"R1", OF_TEXT, "{}", 400, "prompt", "missing"},
        {"R1", OF_MESSAGES, "{}", 400, "max_tokens", "missing"},
        {"R1", OF_RESPONSES, "{}", 400, "input", "missing"},
        {"R1", OF_RESPONSES, "{\"input\":[]}", 400, "input", ""},
        {"T13", OF_RESPONSES, "{\"input\":[1]}", 400, "input[0]", ""},
        {"T13", OF_RESPONSES, "{\"input\":[{\"role\":\"wizard\",\"content\":\"x\"}]}", 400, "input[0].role",
         ""},
        {"R1", OF_OLLAMA, "{}", 400, "model", "required"},
        {"R13", OF_OLLAMA, "{\"model\":\"gpt-9\",\"messages\":[],\"prompt\":\"\"}", 200, "", ""},
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
        {"R1", OF_LLAMA, "{}", 400, "prompt", "missing"},
        {"R2", OF_LLAMA, "{\"prompt\":5}", 400, "prompt", "expected a string"},
        {"R2", OF_LLAMA, "{\"prompt\":{}}", 400, "prompt", "prompt_string"},
        {"R11", OF_LLAMA, "{\"prompt\":{\"prompt_string\":\"x\",\"multimodal_data\":[\"aGk=\"]}}", 400,
         "prompt.multimodal_data", "text alone"},
        {"R15", OF_LLAMA, "{\"prompt\":[]}", 400, "prompt", "expected 1 to 128"},
        {"R15", OF_LLAMA, "{\"prompt\":[\"x\",[]]}", 400, "prompt[1]", "no ids"},
        {"R15", OF_LLAMA, "{\"prompt\":[[[1]]]}", 400, "prompt[0]", "expected ids"},
        {"T9", OF_LLAMA, "{\"prompt\":[1024]}", 400, "prompt", "expected ids"},
        {"T9", OF_LLAMA, "{\"prompt\":[-1]}", 400, "prompt", "expected ids"},
        {"T13", OF_GEMINI, "{}", 400, "contents", "expected 1 to 4096"},
        {"T13", OF_GEMINI, "{\"contents\":[]}", 400, "contents", "expected 1 to 4096"},
        {"T13", OF_GEMINI, "{\"contents\":\"x\"}", 400, "contents", "a list"},
        {"T13", OF_GEMINI, "{\"contents\":[1]}", 400, "contents[0]", "an object"},
        {"T13", OF_GEMINI, "{\"contents\":[{\"parts\":[]}]}", 400, "contents[0]", "expected parts"},
        {"T13", OF_GEMINI, "{\"contents\":[{\"role\":\"wizard\",\"parts\":[{\"text\":\"x\"}]}]}", 400,
         "contents[0].role", "wizard"},
        {"T13", OF_GEMINI, "{\"contents\":[{\"parts\":[{\"text\":\"x\"},{}]}]}", 400, "contents[0].parts[1]",
         "expected one of"},
        {"T13", OF_GEMINI, "{\"contents\":[{\"parts\":[{\"functionCall\":{\"name\":\"f\"}}]}]}", 400,
         "contents[0].parts[0]", "role model alone"},
        {"T13", OF_GEMINI, "{\"contents\":[{\"role\":\"model\",\"parts\":[{\"functionCall\":{}}]}]}", 400,
         "contents[0].parts[0].functionCall", "a name"},
        {"T13", OF_GEMINI,
         "{\"contents\":[{\"parts\":[{\"functionResponse\":{\"name\":\"f\",\"response\":{}}}]}]}", 400,
         "contents[0].role", "without a call"},
        {"R11", OF_GEMINI, "{\"contents\":[{\"parts\":[{\"inlineData\":{}}]}]}", 400,
         "contents[0].parts[0].inlineData", "text alone"},
        {"R1", 1 << VECTORS, "{\"input\":5}", 400, "input", "a string or a list"},
        {"R13", 1 << OLLAMA_VECTORS, "{\"model\":\"gpt-9\",\"input\":\"x\"}", 400, "", "carat embed"},
        {"R1", 1 << OLLAMA_VECTORS, "{\"input\":\"x\"}", 400, "model", "required"},
        {"R1", 1 << PREPARE | 1 << EXPLAIN, "{\"input\":[\"x\"]}", 400, "input[0]", "an object"},
        {"R1", 1 << PREPARE | 1 << EXPLAIN, "{\"contents\":[]}", 400, "contents", "expected 1 to 4096"},
        {"R1", 1 << PREPARE | 1 << EXPLAIN, "{\"prompt\":5}", 400, "prompt", "expected a string"},
    };

    (void)state;
    for (size_t i = 0; i < CT_COUNT(whole); i++)
        for (int kind = 0; kind < ALL_KINDS; kind++)
            if (whole[i].kinds >> kind & 1)
                assert_refused(kind, whole[i].members, whole[i].status, whole[i].param, whole[i].word);
}

/* ---- explanations of what is no answer ---- */

static void nothing_to_explain(void **state)
{
    static const char *const others[] = {"/v1/embeddings/x", "/api/tags", "/v1/explain",
                                         "/v1/models",       "/",         "x"};
    char path[80];
    struct reply r;

    (void)state;
    for (size_t i = 0; i < CT_COUNT(others); i++)
        for (int kind = PREPARE; kind <= EXPLAIN; kind++) {
            snprintf(path, sizeof path, "%s%s", kinds[kind].path, others[i]);
            ask(&served, "POST", path, "", "{\"model\":\"tiny\",\"input\":\"x\"}", &r);
            assert_int_equal(r.status, 404);
            assert_true(is_refusal(kind, &r, "", "no answers are drawn at the path"));
            reply_free(&r);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(fields), cmocka_unit_test(bodies),
                                       cmocka_unit_test(nothing_to_explain)};
    return cmocka_run_group_tests(tests, begin, end);
}
