/* SPDX-License-Identifier: Apache-2.0 */
/* body_kind.c: the routes that draw or give vectors, and by what their bodies are known. */
#include "body_kind.h"

#include "anthropic/anthropic.h"
#include "fields.h"
#include "gemini/gemini.h"
#include "llama/llama.h"
#include "ollama/ollama.h"
#include "openai/openai.h"
#include "openai/openai_responses.h"
#include "paths.h"
#include "state.h"

enum {
    CHAT,
    COMPLETIONS,
    RESPONSES,
    MESSAGES,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    GEMINI,
    LLAMA,
    VECTORS,
    OLLAMA_VECTORS,
    BY_PATH
};

static const struct body_kind kinds[] = {
    [CHAT] = {"/v1/chat/completions", true, openai_chat},
    [COMPLETIONS] = {"/v1/completions", true, openai_text},
    [RESPONSES] = {"/v1/responses", true, openai_responses},
    [MESSAGES] = {"/v1/messages", true, anthropic_messages},
    [OLLAMA_CHAT] = {"/api/chat", true, ollama_chat},
    [OLLAMA_GENERATE] = {"/api/generate", true, ollama_generate},
    [GEMINI] = {"/v1beta/models/*:generateContent", true, gemini_generate},
    [LLAMA] = {"/completion", true, llama_completion},
    [VECTORS] = {"/v1/embeddings", false, openai_vectors},
    [OLLAMA_VECTORS] = {"/api/embed", false, ollama_embed},
    /* clang-format off */
    [BY_PATH] = {"/v1beta/models/*:streamGenerateContent", true, gemini_stream},
    {"/v1/models/*:generateContent", true, gemini_generate},
    {"/v1/models/*:streamGenerateContent", true, gemini_stream},
    {"/completions", true, llama_completion},
    {"/api/embeddings", false, ollama_embeddings},
    /* clang-format on */
};

/* Fields that one family of clients alone has. */
static const struct {
    const char *field;
    int kind, with_prompt; /* which route it is; that where the body has a prompt */
} marks[] = {
    {"options", OLLAMA_CHAT, OLLAMA_GENERATE},
    {"keep_alive", OLLAMA_CHAT, OLLAMA_GENERATE},
    {"format", OLLAMA_CHAT, OLLAMA_GENERATE},
    {"think", OLLAMA_CHAT, OLLAMA_GENERATE},
    {"raw", OLLAMA_GENERATE, OLLAMA_GENERATE},
    {"system", MESSAGES, OLLAMA_GENERATE},
    {"n_predict", CHAT, LLAMA},
    {"n_probs", CHAT, LLAMA},
    {"samplers", CHAT, LLAMA},
    {"contents", GEMINI, GEMINI},
    {"prompt", COMPLETIONS, COMPLETIONS},
    {"thinking", MESSAGES, MESSAGES},
    {"stop_sequences", MESSAGES, MESSAGES},
    {"output_config", MESSAGES, MESSAGES},
    {"input", RESPONSES, RESPONSES},
    {"previous_response_id", RESPONSES, RESPONSES},
};

/* The same where vectors are asked for, which is what an embedding model has an input for. */
static int body_kind_of_input(const struct ct_json_value *body)
{
    static const char *const ollama[] = {"options", "keep_alive", "truncate"};

    for (size_t i = 0; i < CT_COUNT(ollama); i++)
        if (ct_json_given(body, ollama[i]))
            return OLLAMA_VECTORS;
    return VECTORS;
}

static int body_kind_of_fields(const struct job *job, const struct ct_json_value *body)
{
    if (job->server->info.kind == CARAT_EMBEDDER && ct_json_given(body, "input"))
        return body_kind_of_input(body);
    for (size_t i = 0; i < CT_COUNT(marks); i++)
        if (ct_json_given(body, marks[i].field))
            return ct_json_given(body, "prompt") ? marks[i].with_prompt : marks[i].kind;
    return job->versioned ? MESSAGES : CHAT;
}

static const struct body_kind *body_kind_of_path(struct text path)
{
    for (size_t i = 0; i < CT_COUNT(kinds); i++)
        if (path_fits(kinds[i].path, path))
            return &kinds[i];
    return NULL;
}

const struct body_kind *body_kind_find(const struct job *job, struct refusal *r)
{
    struct document d = {.r = r};
    const struct body_kind *kind = NULL;

    if (*job->rest) {
        if (!(kind = body_kind_of_path((struct text){job->rest, strlen(job->rest)})))
            server_refuse(r, 404, NULL, NULL, "no answers are drawn at the path %s", job->rest);
    } else if (document_read(&d, (struct ct_bytes){(const uint8_t *)job->body.data, job->body.n}))
        kind = &kinds[body_kind_of_fields(job, &d.tree.value[0])];
    document_free(&d);
    return kind;
}

const struct body_kind *body_kind_chat(void)
{
    return &kinds[CHAT];
}
