/* SPDX-License-Identifier: Apache-2.0 */
/* page.c: see page.h. */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"
#include "source.h"
#include "tries.h"

enum { MOST_PAGE = 8 << 20 };

static bool add_to_page(void *user, const struct http_reply *reply, const void *data, size_t n)
{
    struct page *p = user;

    (void)reply;
    if (n > MOST_PAGE - p->n)
        return false;
    memcpy(p->text + p->n, data, n);
    p->n += n;
    return true;
}

int page_open(struct page *p)
{
    *p = (struct page){malloc(MOST_PAGE), 0};
    return p->text ? DONE : fetch_refuse(NO_MEMORY, "out of memory for a list of files");
}

void page_close(struct page *p)
{
    free(p->text);
}

int page_get(struct http *h, const struct plan *plan, const char *url, const char *what, struct page *p,
             struct http_reply *reply)
{
    return page_ask(h, plan, url, NULL, what, p, reply);
}

/* until: as http_ask has it. The last answer, once it is not worth another try. */
static enum http_end try_asking(struct http *h, const struct plan *plan, const char *url, const char *body,
                                int64_t until, http_sink sink, struct page *p, struct http_reply *reply)
{
    enum http_end end = HTTP_BROKEN;

    for (int tries = 0;; tries++) {
        if (p)
            p->n = 0;
        end = http_ask(h, url, body, 0, until, sink, p, reply);
        if (tries == MOST_TRIES ||
            (end == HTTP_ANSWERED ? !is_passing(reply->status) : end != HTTP_BROKEN && end != HTTP_SLOW))
            return end;
        wait_for(pause_before(tries + 1, reply->retry_after, plan->patience), NULL, NULL);
    }
}

static int take_end(const struct http *h, const struct plan *plan, enum http_end end, const char *what,
                    const struct http_reply *reply)
{
    switch (end) {
    case HTTP_ANSWERED:
        return reply->status == 200 ? DONE : plan->source->refuse(plan, reply, what);
    case HTTP_UNREACHABLE:
        return fetch_refuse(UNREACHABLE, "%s: %s: no connection: %s", plan->repository, what, http_why(h));
    case HTTP_STOPPED:
        return fetch_refuse(REMOTE, "%s: %s: the answer has more than %d bytes", plan->repository, what,
                            MOST_PAGE);
    case HTTP_BROKEN:
    case HTTP_SLOW:
        return fetch_refuse(UNREACHABLE, "%s: %s: %s", plan->repository, what, http_why(h));
    default:
        return fetch_refuse(REMOTE, "%s: %s: %s", plan->repository, what, http_why(h));
    }
}

int page_ask(struct http *h, const struct plan *plan, const char *url, const char *body, const char *what,
             struct page *p, struct http_reply *reply)
{
    return take_end(h, plan, try_asking(h, plan, url, body, 0, add_to_page, p, reply), what, reply);
}

bool page_nothing(void *user, const struct http_reply *reply, const void *data, size_t n)
{
    (void)user;
    (void)reply;
    (void)data;
    (void)n;
    return false;
}

int page_peek(struct http *h, const struct plan *plan, const char *url, const char *body, const char *what,
              struct http_reply *reply)
{
    const enum http_end end = try_asking(h, plan, url, body, 1, page_nothing, NULL, reply);

    return end == HTTP_STOPPED ? DONE : take_end(h, plan, end, what, reply);
}

bool page_quote(char *out, size_t capacity, const char *text)
{
    size_t n = 0;

    for (; *text && n + 7 <= capacity; text++) {
        const unsigned char c = (unsigned char)*text;
        n += (size_t)sprintf(out + n, c < 0x20 ? "\\u%04x" : c == '"' || c == '\\' ? "\\%c" : "%c", c);
    }
    if (capacity)
        out[n] = 0;
    return !*text;
}

bool page_text(struct ct_json *j, char *out, size_t capacity)
{
    if (ct_json_next(j) != CT_JSON_STRING || j->string.n >= capacity || memchr(j->string.s, 0, j->string.n))
        return false;
    memcpy(out, j->string.s, j->string.n);
    out[j->string.n] = 0;
    return true;
}

bool page_number(struct ct_json *j, int64_t *out)
{
    if (ct_json_next(j) != CT_JSON_NUMBER)
        return false;
    const struct ct_str spelled = {(const char *)j->text + j->start, j->at - j->start};
    return ct_json_whole(spelled, out) && *out >= 0;
}
