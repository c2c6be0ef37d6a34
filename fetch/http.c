/* SPDX-License-Identifier: Apache-2.0 */
/* http.c: see http.h. */
#define _GNU_SOURCE
#include "http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "carat.h"
#include "source.h"

enum {
    MOST_REDIRECTS = 10,
    MOST_HEADERS = 1 << 18, /* bytes of the headers of one answer */
    SLOWEST = 1024,         /* bytes a second, below which a connection counts as broken */
};

struct http {
    CURL *curl;
    char endpoint[4096], authorization[1200];
    char why[CURL_ERROR_SIZE + 256];
    char url[4096], location[4096];
    const char *body; /* of the next request, or NULL */
    size_t headers;
    bool first;           /* the answer is the endpoint's own, to the address that was asked for */
    bool stopped, floods; /* by the sink; its headers do not end */
    struct http_reply *reply;
    http_sink sink;
    void *user;
    const struct plan *plan;
    bool (*stops)(void *user);
    void *stops_user;
};

/* ---- addresses ---- */

static bool part_of(CURLU *u, CURLUPart part, char **text)
{
    return curl_url_get(u, part, text, CURLU_DEFAULT_PORT) == CURLUE_OK;
}

bool http_same_host(const char *a, const char *b)
{
    static const CURLUPart parts[] = {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT};
    CURLU *u = curl_url(), *v = curl_url();
    bool same = u && v && curl_url_set(u, CURLUPART_URL, a, 0) == CURLUE_OK &&
                curl_url_set(v, CURLUPART_URL, b, 0) == CURLUE_OK;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0] && same; i++) {
        char *s = NULL, *t = NULL;
        same = part_of(u, parts[i], &s) && part_of(v, parts[i], &t) && strcasecmp(s, t) == 0;
        curl_free(s);
        curl_free(t);
    }
    curl_url_cleanup(u);
    curl_url_cleanup(v);
    return same;
}

/* url, where it leads: a relative address or a whole one. */
static bool go_on(char *url, size_t capacity, const char *location)
{
    CURLU *u = curl_url();
    char *whole = NULL;
    bool good = u && curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
                curl_url_set(u, CURLUPART_URL, location, 0) == CURLUE_OK &&
                curl_url_get(u, CURLUPART_URL, &whole, 0) == CURLUE_OK && strlen(whole) < capacity;

    if (good)
        strcpy(url, whole);
    curl_free(whole);
    curl_url_cleanup(u);
    return good;
}

bool http_escape(char *out, size_t capacity, const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    size_t n = 0;

    *out = 0;
    for (; *text && n + 4 <= capacity; text++)
        n += (size_t)(strchr(plain, *text) ? snprintf(out + n, capacity - n, "%c", *text)
                                           : snprintf(out + n, capacity - n, "%%%02X", (unsigned char)*text));
    return !*text;
}

/* ---- one answer ---- */

/* The value of a header of that name, without the quotes of an etag; false: it is another header. */
static bool take_header(const char *line, size_t n, const char *name, char *out, size_t capacity)
{
    const size_t m = strlen(name);

    if (n <= m || strncasecmp(line, name, m) != 0 || line[m] != ':')
        return false;
    line += m + 1;
    n -= m + 1;
    while (n && (*line == ' ' || *line == '\t'))
        line++, n--;
    while (n && (unsigned char)line[n - 1] <= ' ')
        n--;
    snprintf(out, capacity, "%.*s", (int)(n < capacity ? n : capacity - 1), line);
    return true;
}

static void take_etag(char out[136], const char *etag)
{
    if (strncmp(etag, "W/", 2) == 0)
        etag += 2;
    snprintf(out, 136, "%s", *etag == '"' ? etag + 1 : etag);
    out[strcspn(out, "\"")] = 0;
}

static int64_t number(const char *text)
{
    char *end;
    const long long n = strtoll(text, &end, 10);

    return end == text || *end || n < 0 ? -1 : n;
}

/* Seconds, or a date. */
static int64_t seconds_of(const char *text)
{
    const int64_t n = number(text);
    const time_t then = n < 0 ? curl_getdate(text, NULL) : -1, now = time(NULL);

    return n >= 0 ? n : then < 0 ? -1 : then > now ? (int64_t)(then - now) : 0;
}

/* <https://...>; rel="next" */
static void take_next(char *next, size_t capacity, const char *link)
{
    const char *from = strchr(link, '<'), *to = from ? strchr(from, '>') : NULL;

    if (to && strstr(to, "rel=\"next\""))
        snprintf(next, capacity, "%.*s", (int)(to - from - 1), from + 1);
}

/* "crc32c=..., md5=BASE64" as hexadecimal digits; other hashes are left alone. */
static void take_md5(char out[33], const char *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = strstr(text, "md5=");
    uint8_t bytes[18];

    if (!at || strcspn(at += 4, ", ") != 24 || memcmp(at + 22, "==", 2) != 0)
        return;
    for (int i = 0; i < 6; i++) {
        uint32_t four = 0;
        for (int j = 0; j < 4; j++) {
            const char c = at[4 * i + j], *digit = c == '=' ? digits : strchr(digits, c);
            if (!digit)
                return;
            four = four << 6 | (uint32_t)(digit - digits);
        }
        bytes[3 * i] = (uint8_t)(four >> 16);
        bytes[3 * i + 1] = (uint8_t)(four >> 8);
        bytes[3 * i + 2] = (uint8_t)four;
    }
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

static size_t hear_header(char *line, size_t one, size_t n, void *user)
{
    struct http *h = user;
    struct http_reply *r = h->reply;
    char text[4096];

    h->headers += n;
    h->floods = h->headers > MOST_HEADERS;
    if (h->floods)
        return 0;
    if (take_header(line, n, "location", h->location, sizeof h->location) ||
        take_header(line, n, "x-error-code", r->error_code, sizeof r->error_code) ||
        take_header(line, n, "content-type", r->type, sizeof r->type) ||
        take_header(line, n, "content-range", r->range, sizeof r->range))
        return one * n;
    if (take_header(line, n, "etag", text, sizeof text)) {
        take_etag(r->etag, text);
        if (h->first && !*r->first_etag)
            take_etag(r->first_etag, text);
    } else if (take_header(line, n, "content-length", text, sizeof text))
        r->size = number(text);
    else if (take_header(line, n, "x-goog-hash", text, sizeof text))
        take_md5(r->md5, text);
    else if (take_header(line, n, "link", text, sizeof text))
        take_next(r->next, sizeof r->next, text);
    else if (take_header(line, n, "retry-after", text, sizeof text))
        r->retry_after = seconds_of(text);
    else if (!h->first)
        return one * n;
    else if (take_header(line, n, "x-repo-commit", r->first_commit, sizeof r->first_commit))
        return one * n;
    else if (take_header(line, n, "x-linked-etag", text, sizeof text))
        take_etag(r->first_etag, text);
    else if (take_header(line, n, "x-linked-size", text, sizeof text))
        r->first_size = number(text);
    return one * n;
}

static size_t hear_body(char *data, size_t one, size_t n, void *user)
{
    struct http *h = user;

    curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &h->reply->status);
    if (h->reply->status != 200 && h->reply->status != 206)
        return one * n;   /* a page about an error, or about where it leads */
    if (*h->reply->range) /* "bytes 0-9/100": all are 100 */
        h->reply->size = strchr(h->reply->range, '/') ? number(strchr(h->reply->range, '/') + 1) : -1;
    h->stopped = !h->sink(h->user, h->reply, data, one * n);
    return h->stopped ? 0 : one * n;
}

static bool add_line(struct curl_slist **lines, const char *line)
{
    struct curl_slist *more = curl_slist_append(*lines, line);

    if (more)
        *lines = more;
    return more != NULL;
}

static enum http_end ask(struct http *h, int64_t from, int64_t until)
{
    const bool own = http_same_host(h->url, h->endpoint);
    struct curl_slist *lines = NULL;
    char range[64];
    curl_off_t connected = 0;

    if ((own && *h->authorization && !add_line(&lines, h->authorization)) ||
        (own && h->plan->source->accept && !add_line(&lines, h->plan->source->accept)) ||
        (h->body && !add_line(&lines, "Content-Type: application/json"))) {
        curl_slist_free_all(lines);
        return HTTP_BROKEN;
    }
    if (until > 0)
        snprintf(range, sizeof range, "%lld-%lld", (long long)from, (long long)until - 1);
    else
        snprintf(range, sizeof range, "%lld-", (long long)from);
    curl_easy_setopt(h->curl, CURLOPT_URL, h->url);
    curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, lines);
    curl_easy_setopt(h->curl, CURLOPT_RANGE, !h->body && (from > 0 || until > 0) ? range : NULL);
    if (h->body)
        curl_easy_setopt(h->curl, CURLOPT_POSTFIELDS, h->body);
    else
        curl_easy_setopt(h->curl, CURLOPT_HTTPGET, 1L);
    h->headers = 0;
    *h->location = *h->reply->etag = *h->reply->range = *h->reply->type = *h->reply->md5 = 0;
    h->reply->size = -1;
    h->stopped = h->floods = false;
    h->reply->retry_after = -1;
    *h->why = 0;
    const CURLcode code = curl_easy_perform(h->curl);
    curl_easy_setopt(h->curl, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(lines);
    curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &h->reply->status);
    if (h->stopped)
        return HTTP_STOPPED;
    if (h->floods) {
        snprintf(h->why, sizeof h->why, "the headers of an answer have more than %d bytes", MOST_HEADERS);
        return HTTP_REFUSED;
    }
    if (code != CURLE_OK && !*h->why)
        snprintf(h->why, sizeof h->why, "%s", curl_easy_strerror(code));
    switch (code) {
    case CURLE_OK:
        return HTTP_ANSWERED;
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
        return HTTP_REFUSED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
        return HTTP_UNREACHABLE;
    case CURLE_OPERATION_TIMEDOUT:
        curl_easy_getinfo(h->curl, CURLINFO_PRETRANSFER_TIME_T, &connected);
        return connected > 0 ? HTTP_SLOW : HTTP_UNREACHABLE;
    default:
        return HTTP_BROKEN;
    }
}

enum http_end http_get(struct http *h, const char *url, int64_t from, int64_t until, http_sink sink,
                       void *user, struct http_reply *reply)
{
    return http_ask(h, url, NULL, from, until, sink, user, reply);
}

enum http_end http_ask(struct http *h, const char *url, const char *body, int64_t from, int64_t until,
                       http_sink sink, void *user, struct http_reply *reply)
{
    *reply = (struct http_reply){.first_size = -1, .retry_after = -1};
    h->reply = reply;
    h->sink = sink;
    h->user = user;
    h->first = true;
    h->body = body;
    if (snprintf(h->url, sizeof h->url, "%s", url) >= (int)sizeof h->url) {
        snprintf(h->why, sizeof h->why, "an address is too long");
        return HTTP_REFUSED;
    }
    for (int i = 0; i <= MOST_REDIRECTS; i++) {
        const enum http_end end = ask(h, from, until);
        if (end != HTTP_ANSWERED || reply->status < 300 || reply->status > 399 || !*h->location)
            return end;
        const bool secure = strncasecmp(h->url, "https:", 6) == 0;
        h->first = false;
        if (reply->status < 307) /* as clients do, whatever 301 and 302 once meant */
            h->body = NULL;
        if (!go_on(h->url, sizeof h->url, h->location) || (secure && strncasecmp(h->url, "https:", 6) != 0)) {
            snprintf(h->why, sizeof h->why, "%.100s leads to %.100s, which is not followed", url,
                     h->location);
            return HTTP_REFUSED;
        }
    }
    snprintf(h->why, sizeof h->why, "%.200s leads on more than %d times", url, MOST_REDIRECTS);
    return HTTP_REFUSED;
}

const char *http_where(const struct http *h)
{
    return h->body ? "" : h->url;
}

const char *http_why(const struct http *h)
{
    return h->why;
}

static int hear_progress(void *user, curl_off_t n, curl_off_t of, curl_off_t sent, curl_off_t to_send)
{
    const struct http *h = user;

    (void)n;
    (void)of;
    (void)sent;
    (void)to_send;
    return h->stops && h->stops(h->stops_user);
}

void http_stops(struct http *h, bool (*stops)(void *user), void *user)
{
    h->stops = stops;
    h->stops_user = user;
}

struct http *http_like(const struct http *h)
{
    return http_open(h->plan, h->authorization);
}

/* Who is trusted: the variables that the program curl reads, which its library does not. */
static void trust(CURL *curl)
{
    const char *bundle = getenv("CURL_CA_BUNDLE"), *file = getenv("SSL_CERT_FILE"),
               *dir = getenv("SSL_CERT_DIR");

    if (bundle && *bundle) {
        curl_easy_setopt(curl, CURLOPT_CAINFO, bundle);
        return;
    }
    if (file && *file)
        curl_easy_setopt(curl, CURLOPT_CAINFO, file);
    if (dir && *dir)
        curl_easy_setopt(curl, CURLOPT_CAPATH, dir);
}

struct http *http_open(const struct plan *plan, const char *authorization)
{
    struct http *h = calloc(1, sizeof *h);

    if (!h || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK || !(h->curl = curl_easy_init())) {
        free(h);
        return NULL;
    }
    h->plan = plan;
    snprintf(h->endpoint, sizeof h->endpoint, "%s", plan->endpoint);
    snprintf(h->authorization, sizeof h->authorization, "%s", authorization);
    curl_easy_setopt(h->curl, CURLOPT_ERRORBUFFER, h->why);
    curl_easy_setopt(h->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h->curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(h->curl, CURLOPT_USERAGENT, "carat/" CARAT_VERSION);
    curl_easy_setopt(h->curl, CURLOPT_CONNECTTIMEOUT, 30L);
    curl_easy_setopt(h->curl, CURLOPT_LOW_SPEED_LIMIT, plan->rate > 0 ? 1L : (long)SLOWEST);
    curl_easy_setopt(h->curl, CURLOPT_LOW_SPEED_TIME, (long)plan->patience);
    curl_easy_setopt(h->curl, CURLOPT_BUFFERSIZE, 512L << 10);
    curl_easy_setopt(h->curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(h->curl, CURLOPT_XFERINFOFUNCTION, hear_progress);
    curl_easy_setopt(h->curl, CURLOPT_XFERINFODATA, h);
    curl_easy_setopt(h->curl, CURLOPT_HEADERFUNCTION, hear_header);
    curl_easy_setopt(h->curl, CURLOPT_HEADERDATA, h);
    curl_easy_setopt(h->curl, CURLOPT_WRITEFUNCTION, hear_body);
    curl_easy_setopt(h->curl, CURLOPT_WRITEDATA, h);
    trust(h->curl);
    return h;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    explicit_bzero(h->authorization, sizeof h->authorization);
    curl_easy_cleanup(h->curl);
    curl_global_cleanup();
    free(h);
}
