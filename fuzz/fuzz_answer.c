/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_answer.c: any bytes as what servers answer, headers and body, one answer behind the other with a NUL
 * between: where they lead, what a page names as the next one, and what headers say. libcurl's functions for
 * connections are replaced, those for addresses are its own. The token goes to the endpoint alone, no answer
 * leads from https to http, none is asked for ever, and texts end. */
#define _GNU_SOURCE
#include <curl/curl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http.h"
#include "source.h"

#undef curl_easy_setopt
#undef curl_easy_getinfo

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef size_t hear(char *data, size_t one, size_t n, void *user);
static const char endpoint[] = "https://hub.example:8443/x";
static const uint8_t *answers;
static size_t n_answers;
static int n_asked;
static long status;
static const char *url;
static const struct curl_slist *lines;
static hear *hear_header, *hear_body;
static void *user;

static void must(bool condition)
{
    if (!condition)
        abort();
}

/* ---- libcurl ---- */

CURLcode curl_global_init(long flags)
{
    (void)flags;
    return CURLE_OK;
}

void curl_global_cleanup(void)
{
}

CURL *curl_easy_init(void)
{
    return &n_asked;
}

void curl_easy_cleanup(CURL *curl)
{
    (void)curl;
}

CURLcode curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
    va_list args;

    (void)curl;
    va_start(args, option);
    if (option == CURLOPT_URL)
        url = va_arg(args, const char *);
    else if (option == CURLOPT_HTTPHEADER)
        lines = va_arg(args, const struct curl_slist *);
    else if (option == CURLOPT_HEADERFUNCTION)
        hear_header = va_arg(args, hear *);
    else if (option == CURLOPT_WRITEFUNCTION)
        hear_body = va_arg(args, hear *);
    else if (option == CURLOPT_WRITEDATA)
        user = va_arg(args, void *);
    va_end(args);
    return CURLE_OK;
}

CURLcode curl_easy_getinfo(CURL *curl, CURLINFO info, ...)
{
    va_list args;

    (void)curl;
    va_start(args, info);
    if (info == CURLINFO_RESPONSE_CODE)
        *va_arg(args, long *) = status;
    else
        *va_arg(args, curl_off_t *) = 1;
    va_end(args);
    return CURLE_OK;
}

static void check_request(void)
{
    bool token = false;

    for (const struct curl_slist *l = lines; l; l = l->next)
        token |= strncasecmp(l->data, "authorization:", 14) == 0;
    must(++n_asked <= 11 && token == http_same_host(url, endpoint) && strncasecmp(url, "https:", 6) == 0);
}

/* The next answer: a byte for its status, lines, an empty one, a body. */
CURLcode curl_easy_perform(CURL *curl)
{
    static const long statuses[] = {200, 206, 301, 302, 307, 308, 403, 429};
    const uint8_t *end = n_answers ? memchr(answers, 0, n_answers) : NULL, *at = answers;
    size_t n = end ? (size_t)(end - answers) : n_answers;

    (void)curl;
    check_request();
    answers += end ? n + 1 : n;
    n_answers -= end ? n + 1 : n;
    status = n ? statuses[*at++ % 8] : 404;
    n -= n > 0;
    for (bool more = n > 0; more;) {
        const uint8_t *line = memchr(at, '\n', n);
        const size_t length = line ? (size_t)(line - at) + 1 : n;
        char *copy = malloc(length); /* the end is where a look behind it is seen */
        must(copy != NULL);
        memcpy(copy, at, length);
        const size_t heard = hear_header(copy, 1, length, user);
        free(copy);
        if (heard != length)
            return CURLE_WRITE_ERROR;
        at += length;
        n -= length;
        more = n > 0 && length > 2;
    }
    return n == 0 || hear_body((char *)(uintptr_t)at, 1, n, user) == n ? CURLE_OK : CURLE_WRITE_ERROR;
}

/* ---- what is heard ---- */

static bool look(void *nothing, const struct http_reply *r, const void *data, size_t n)
{
    (void)nothing;
    must(data && n && (r->status == 200 || r->status == 206) && r->size >= -1);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct source source = {.name = "hub", .accept = "Accept: application/json"};
    struct plan plan = {.source = &source, .patience = 1};
    struct http_reply r;

    snprintf(plan.endpoint, sizeof plan.endpoint, "%s", endpoint);
    struct http *h = http_open(&plan, "Authorization: Bearer secret");
    must(h != NULL);
    answers = data;
    n_answers = size;
    n_asked = 0;
    const enum http_end end = http_get(h, endpoint, 0, 0, look, NULL, &r);
    must(r.first_size >= -1 && r.size >= -1 && r.retry_after >= -1);
    must(strlen(r.first_commit) + strlen(r.first_etag) + strlen(r.error_code) + strlen(r.type) +
             strlen(r.range) + strlen(r.etag) <
         sizeof r);
    must((strlen(r.md5) == 32 || !*r.md5) && strspn(r.md5, "0123456789abcdef") == strlen(r.md5));
    must(end != HTTP_REFUSED || *http_why(h));
    (void)http_same_host(r.next, endpoint);
    char out[256];
    must(!http_escape(out, sizeof out, r.next) || !strpbrk(out, " ?#\"<>\\"));
    http_close(h);
    return 0;
}
