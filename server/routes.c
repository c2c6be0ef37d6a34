/* SPDX-License-Identifier: Apache-2.0 */
/* routes.c: the table of routes, and those that need nobody but the thread of the connections. */
#include "routes.h"

#include "anthropic/anthropic.h"
#include "explain.h"
#include "gemini/gemini.h"
#include "json_write.h"
#include "llama/llama.h"
#include "ollama/ollama.h"
#include "openai/openai.h"
#include "openai/openai_responses.h"
#include "paths.h"
#include "state.h"

/* Nothing but that the process lives. */
static void answer_live(struct job *job, struct text path)
{
    (void)path;
    json_put(&job->out, "{'status':'ok'}");
    job_begin(job, 200, "application/json", false);
}

static void answer_ready(struct job *job, struct text path)
{
    const struct server *s = job->server;
    const bool ready = atomic_load(&s->ready);

    (void)path;
    json_put(&job->out, "{'status':%s,'running':%d,'waiting':%d,'places':%d}", ready ? "ok" : "ending",
             atomic_load(&s->running), atomic_load(&s->waiting), s->options->parallel);
    job_begin(job, ready ? 200 : 503, "application/json", false);
}

static const struct route routes[] = {
    {HTTP1_METHOD_GET, "/livez", &surface_openai, answer_live, NULL},
    {HTTP1_METHOD_GET, "/readyz", &surface_openai, answer_ready, NULL},
    {HTTP1_METHOD_GET, "/health", &surface_openai, answer_ready, NULL},
    {HTTP1_METHOD_GET, "/v1/models", &surface_openai, openai_models, NULL},
    {HTTP1_METHOD_GET, "/v1/models/*", &surface_openai, openai_models, NULL},
    {HTTP1_METHOD_POST, "/v1/chat/completions", &surface_openai, NULL, openai_chat},
    {HTTP1_METHOD_POST, "/v1/chat/completions/render", &surface_openai, NULL, inspect_render},
    {HTTP1_METHOD_POST, "/v1/chat/completions/input_tokens", &surface_openai, NULL, inspect_count},
    {HTTP1_METHOD_POST, "/v1/explain", &surface_openai, NULL, server_explain},
    {HTTP1_METHOD_POST, "/v1/explain*", &surface_openai, NULL, server_explain},
    {HTTP1_METHOD_POST, "/v1/prepare", &surface_openai, NULL, server_evaluate},
    {HTTP1_METHOD_POST, "/v1/prepare*", &surface_openai, NULL, server_evaluate},
    {HTTP1_METHOD_POST, "/completion", &surface_llama, NULL, llama_completion},
    {HTTP1_METHOD_POST, "/completions", &surface_llama, NULL, llama_completion},
    {HTTP1_METHOD_POST, "/apply-template", &surface_openai, NULL, inspect_template},
    {HTTP1_METHOD_POST, "/tokenize", &surface_openai, NULL, inspect_tokenize},
    {HTTP1_METHOD_POST, "/detokenize", &surface_openai, NULL, inspect_detokenize},
    {HTTP1_METHOD_GET, "/tokenizer_info", &surface_openai, NULL, inspect_tokenizer},
    {HTTP1_METHOD_GET, "/props", &surface_openai, NULL, inspect_props},
    {HTTP1_METHOD_GET, "/slots", &surface_openai, inspect_slots, NULL},
    {HTTP1_METHOD_POST, "/v1/completions", &surface_openai, NULL, openai_text},
    {HTTP1_METHOD_POST, "/v1/embeddings", &surface_openai, NULL, openai_vectors},
    {HTTP1_METHOD_POST, "/v1/responses", &surface_responses, NULL, openai_responses},
    {HTTP1_METHOD_POST, "/v1/responses/input_tokens", &surface_openai, NULL, openai_responses_count},
    {HTTP1_METHOD_GET, "/v1/responses/*", &surface_openai, NULL, openai_responses_get},
    {HTTP1_METHOD_DELETE, "/v1/responses/*", &surface_openai, openai_responses_delete, NULL},
    {HTTP1_METHOD_POST, "/v1/messages", &surface_anthropic, NULL, anthropic_messages},
    {HTTP1_METHOD_POST, "/v1/messages/count_tokens", &surface_anthropic, NULL, anthropic_count},
    {HTTP1_METHOD_POST, "/v1beta/models/*:generateContent", &surface_gemini, NULL, gemini_generate},
    {HTTP1_METHOD_POST, "/v1beta/models/*:streamGenerateContent", &surface_gemini, NULL, gemini_stream},
    {HTTP1_METHOD_POST, "/v1beta/models/*:countTokens", &surface_gemini, NULL, gemini_count},
    {HTTP1_METHOD_POST, "/v1beta/models/*:embedContent", &surface_gemini, gemini_vectors, NULL},
    {HTTP1_METHOD_POST, "/v1beta/models/*:batchEmbedContents", &surface_gemini, gemini_vectors, NULL},
    {HTTP1_METHOD_GET, "/v1beta/models", &surface_gemini, gemini_models, NULL},
    {HTTP1_METHOD_GET, "/v1beta/models/*", &surface_gemini, gemini_models, NULL},
    {HTTP1_METHOD_POST, "/v1/models/*:generateContent", &surface_gemini, NULL, gemini_generate},
    {HTTP1_METHOD_POST, "/v1/models/*:streamGenerateContent", &surface_gemini, NULL, gemini_stream},
    {HTTP1_METHOD_POST, "/v1/models/*:countTokens", &surface_gemini, NULL, gemini_count},
    {HTTP1_METHOD_POST, "/v1/models/*:embedContent", &surface_gemini, gemini_vectors, NULL},
    {HTTP1_METHOD_POST, "/v1/models/*:batchEmbedContents", &surface_gemini, gemini_vectors, NULL},
    {HTTP1_METHOD_GET, "/", &surface_ollama, ollama_root, NULL},
    {HTTP1_METHOD_POST, "/api/chat", &surface_ollama, NULL, ollama_chat},
    {HTTP1_METHOD_POST, "/api/generate", &surface_ollama_generate, NULL, ollama_generate},
    {HTTP1_METHOD_POST, "/api/show", &surface_ollama, NULL, ollama_show},
    {HTTP1_METHOD_GET, "/api/version", &surface_ollama, ollama_version, NULL},
    {HTTP1_METHOD_GET, "/api/tags", &surface_ollama, ollama_tags, NULL},
    {HTTP1_METHOD_GET, "/api/ps", &surface_ollama, ollama_ps, NULL},
    {HTTP1_METHOD_POST, "/api/embed", &surface_ollama, NULL, ollama_embed},
    {HTTP1_METHOD_POST, "/api/embeddings", &surface_ollama, NULL, ollama_embeddings},
    {HTTP1_METHOD_POST, "/api/pull", &surface_ollama, ollama_store, NULL},
    {HTTP1_METHOD_POST, "/api/push", &surface_ollama, ollama_store, NULL},
    {HTTP1_METHOD_POST, "/api/create", &surface_ollama, ollama_store, NULL},
    {HTTP1_METHOD_POST, "/api/copy", &surface_ollama, ollama_store, NULL},
    {HTTP1_METHOD_DELETE, "/api/delete", &surface_ollama, ollama_store, NULL},
    {HTTP1_METHOD_POST, "/api/blobs/*", &surface_ollama, ollama_store, NULL},
};
enum { ROUTES = sizeof routes / sizeof routes[0] };

const struct route *route_find(enum http1_method method, struct text path, unsigned *allowed)
{
    *allowed = 0;
    for (int i = 0; i < ROUTES; i++) {
        if (!path_fits(routes[i].path, path))
            continue;
        if (routes[i].method == method)
            return &routes[i];
        *allowed |= 1u << routes[i].method;
    }
    return NULL;
}

const struct surface *route_surface(struct text path)
{
    static const struct {
        const char *pattern;
        const struct surface *surface;
    } others[] = {{"/api/*", &surface_ollama},
                  {"/completion", &surface_llama},
                  {"/completions", &surface_llama},
                  {"/v1/messages", &surface_anthropic},
                  {"/v1/messages/*", &surface_anthropic},
                  {"/v1beta/*", &surface_gemini},
                  {"/v1/models/*:generateContent", &surface_gemini},
                  {"/v1/models/*:streamGenerateContent", &surface_gemini},
                  {"/v1/models/*:countTokens", &surface_gemini},
                  {"/v1/models/*:embedContent", &surface_gemini},
                  {"/v1/models/*:batchEmbedContents", &surface_gemini}};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (path_fits(others[i].pattern, path))
            return others[i].surface;
    return &surface_openai;
}
