/* SPDX-License-Identifier: Apache-2.0 */
/* http.h: one request and what came of it. Redirects are followed here, by hand, so that the token goes to
 * the endpoint alone and nothing falls back from https to http. */
#ifndef FETCH_HTTP_H
#define FETCH_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan.h"

struct http;

/* The headers of a request's last answer; texts are "" and numbers -1 where it did not say them. */
struct http_reply {
    long status;
    char first_commit[72],
        first_etag[136];        /* of the endpoint's own answer: X-Repo-Commit; X-Linked-Etag or ETag */
    int64_t first_size;         /* X-Linked-Size */
    char error_code[64];        /* X-Error-Code */
    char type[128], range[128]; /* Content-Type, Content-Range */
    char etag[136];             /* of the answer that has the bytes */
    char md5[33];               /* digits of theirs, where X-Goog-Hash says it */
    int64_t size;               /* of all bytes, of which a part may have come */
    char next[4096];            /* Link: rel="next" */
    int64_t retry_after;        /* seconds */
};

/* Gets a part of a body with a status of 200 or 206; false ends the request. */
typedef bool (*http_sink)(void *user, const struct http_reply *reply, const void *data, size_t n);

enum http_end {
    HTTP_ANSWERED,    /* reply says what */
    HTTP_UNREACHABLE, /* no connection */
    HTTP_BROKEN,      /* it ended in the middle */
    HTTP_SLOW,        /* it did not end, and next to nothing came */
    HTTP_STOPPED,     /* by the sink */
    HTTP_REFUSED,     /* where it led, http_why says */
};

/* authorization: a header line for the plan's endpoint alone, or "". NULL: out of memory. */
struct http *http_open(const struct plan *plan, const char *authorization);
/* Another connection like that one. */
struct http *http_like(const struct http *h);
/* It is asked now and then whether to end at once. */
void http_stops(struct http *h, bool (*stops)(void *user), void *user);
void http_close(struct http *h);
/* GET. from: the first byte that is wanted; until: behind the last one; 0: to the end. */
enum http_end http_get(struct http *h, const char *url, int64_t from, int64_t until, http_sink sink,
                       void *user, struct http_reply *reply);
/* POST of a body of JSON, and GET of where that leads, of which alone a part can be wanted. NULL: GET. */
enum http_end http_ask(struct http *h, const char *url, const char *body, int64_t from, int64_t until,
                       http_sink sink, void *user, struct http_reply *reply);
/* The address where the last request led in the end; "": none that can be asked without a body. */
const char *http_where(const struct http *h);
/* Why the last request did not end with an answer. */
const char *http_why(const struct http *h);
/* Text as it stands in a path of an address, / included; false: it does not fit. */
bool http_escape(char *out, size_t capacity, const char *text);
/* True: both addresses have one scheme, host and port. */
bool http_same_host(const char *a, const char *b);

#endif
