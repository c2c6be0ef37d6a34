/* SPDX-License-Identifier: Apache-2.0 */
/* refusal.c: refusals, their names in each surface, and what HTTP calls a status. */
#include "refusal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "json_write.h"

static const struct {
    int status;
    const char *phrase, *openai;
} statuses[] = {
    {100, "Continue", ""},
    {200, "OK", ""},
    {204, "No Content", ""},
    {400, "Bad Request", "invalid_request_error"},
    {403, "Forbidden", "permission_error"},
    {404, "Not Found", "not_found_error"},
    {405, "Method Not Allowed", "invalid_request_error"},
    {408, "Request Timeout", "invalid_request_error"},
    {413, "Content Too Large", "invalid_request_error"},
    {414, "URI Too Long", "invalid_request_error"},
    {415, "Unsupported Media Type", "invalid_request_error"},
    {417, "Expectation Failed", "invalid_request_error"},
    {429, "Too Many Requests", "rate_limit_error"},
    {431, "Request Header Fields Too Large", "invalid_request_error"},
    {500, "Internal Server Error", "server_error"},
    {501, "Not Implemented", "not_supported_error"},
    {503, "Service Unavailable", "unavailable_error"},
    {505, "HTTP Version Not Supported", "invalid_request_error"},
    {529, "Overloaded", "server_error"},
};
enum { STATUSES = sizeof statuses / sizeof statuses[0] };

const char *status_phrase(int status)
{
    for (int i = 0; i < STATUSES; i++)
        if (statuses[i].status == status)
            return statuses[i].phrase;
    return "Error";
}

static const char *openai_type(int status)
{
    for (int i = 0; i < STATUSES; i++)
        if (statuses[i].status == status)
            return statuses[i].openai;
    return status < 500 ? "invalid_request_error" : "server_error";
}

bool server_refuse(struct refusal *r, int status, const char *code, const char *param, const char *format,
                   ...)
{
    va_list values;

    if (r->status)
        return false;
    r->status = status;
    r->code = code;
    snprintf(r->param, sizeof r->param, "%s", param ? param : "");
    va_start(values, format);
    vsnprintf(r->message, sizeof r->message, format, values);
    va_end(values);
    return false;
}

const char *refusal_says(const carat_error *err)
{
    const bool of_request = err->code == CARAT_E_ARGUMENT || err->code == CARAT_E_UNSUPPORTED;
    const char *at = err->message, *end;

    /* the colon behind the name of a file tells it from other slashes: "Input/output error" */
    while (!of_request && (end = strchr(at, '/')) && strstr(end, ": "))
        at = end + 1;
    return at;
}

static void respell(char *text, size_t capacity, const struct respelling *name)
{
    char rest[sizeof((struct refusal *)0)->message], *at = strstr(text, name->from);

    if (!at)
        return;
    snprintf(rest, sizeof rest, "%s", at + strlen(name->from));
    snprintf(at, capacity - (size_t)(at - text), "%s%s", name->to, rest);
}

void text_respell(char *text, size_t capacity, const struct respelling *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        respell(text, capacity, &names[i]);
}

void refusal_respell(struct refusal *r, const struct respelling *names, size_t n)
{
    text_respell(r->message, sizeof r->message, names, n);
    text_respell(r->param, sizeof r->param, names, n);
}

/* What both shapes end with. */
static void put_lengths(struct buffer *out, const struct refusal *r)
{
    if (r->n_context)
        json_put(out, ",'n_prompt_tokens':%d,'n_ctx':%d", r->n_prompt, r->n_context);
    buffer_text(out, "}");
}

void refusal_openai_member(struct buffer *out, const struct refusal *r)
{
    json_put(out, "'error':{'message':%s,'type':%s,'param':%s,'code':%s", r->message, openai_type(r->status),
             *r->param ? r->param : NULL, r->code);
    put_lengths(out, r);
}

void refusal_openai(struct buffer *out, const struct refusal *r)
{
    buffer_text(out, "{");
    refusal_openai_member(out, r);
    buffer_text(out, "}");
}

void refusal_llama(struct buffer *out, const struct refusal *r)
{
    json_put(out, "{'error':{'code':%d,'message':%s,'type':%s,'param':%s", r->status, r->message,
             r->n_context ? "exceed_context_size_error" : openai_type(r->status),
             *r->param ? r->param : NULL);
    put_lengths(out, r);
    buffer_text(out, "}");
}
