/* SPDX-License-Identifier: Apache-2.0 */
/* heard.h: what a reader of HTTP says of some bytes, as a text with a line for each event. */
#ifndef TEST_SERVER_HEARD_H
#define TEST_SERVER_HEARD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http1.h"

enum { HEARD_BODY = 1000 /* bytes of a body, at most */ };

static inline void heard_must(bool condition)
{
    if (!condition)
        abort();
}

/* The events as a text; parts of a body that follow each other are one. */
struct heard {
    char *text;
    size_t n;
    bool in_body;
};

/* NUL, which ends texts, is written as \\0. */
static inline void hear(struct heard *h, const char *s, size_t n)
{
    h->text = realloc(h->text, h->n + 2 * n + 1);
    heard_must(h->text != NULL);
    for (size_t i = 0; i < n; i++) {
        if (!s[i])
            h->text[h->n++] = '\\';
        h->text[h->n++] = s[i] ? s[i] : '0';
    }
    h->text[h->n] = 0;
}

static inline void hear_text(struct heard *h, const char *before, struct text t)
{
    hear(h, before, strlen(before));
    hear(h, t.n ? t.s : "", t.n);
}

static inline void hear_head(struct heard *h, const struct http1_head *head)
{
    static const char *const names[HTTP1_KEPT] = {"host", "type",    "encoding",   "auth",   "key",
                                                  "goog", "version", "request-id", "origin", "agent"};
    char length[40];

    hear_text(h, http1_method_name(head->method), (struct text){" ", 1});
    hear_text(h, "", head->path);
    if (head->query.s)
        hear_text(h, "?", head->query);
    snprintf(length, sizeof length, " 1.%d%s%s", head->minor, head->keep_alive ? "" : " last",
             head->expects ? " expects" : "");
    hear(h, length, strlen(length));
    snprintf(length, sizeof length, head->chunked ? " chunked" : " %llu", (unsigned long long)head->length);
    hear(h, length, strlen(length));
    for (int i = 0; i < HTTP1_KEPT; i++)
        if (head->field[i].s) {
            hear_text(h, " ", (struct text){names[i], strlen(names[i])});
            hear_text(h, "=", head->field[i]);
        }
    hear(h, "\n", 1);
}

static inline void hear_event(struct heard *h, enum http1_event event, const struct http1 *r)
{
    char said[240];

    if (event == HTTP1_BODY) {
        heard_must(r->piece.n > 0);
        hear_text(h, h->in_body ? "" : "body ", r->piece);
        h->in_body = true;
        return;
    }
    if (h->in_body)
        hear(h, "\n", 1);
    h->in_body = false;
    if (event == HTTP1_HEAD)
        hear_head(h, &r->head);
    snprintf(said, sizeof said, event == HTTP1_BAD ? "bad %d %s\n" : "end\n", r->status, r->message);
    if (event != HTTP1_HEAD)
        hear(h, said, strlen(said));
}

/* Reads the bytes between begin and end from memory of their own, so that sanitizers see its ends. */
static inline bool read_part(struct http1 *r, struct heard *h, struct text bytes, size_t begin, size_t end)
{
    char *copy = malloc(end - begin ? end - begin : 1);
    struct text left = {copy, end - begin};
    enum http1_event event;

    heard_must(copy);
    memcpy(copy, bytes.s + begin, end - begin);
    while ((event = http1_read(r, &left)) != HTTP1_MORE) {
        hear_event(h, event, r);
        if (event == HTTP1_BAD)
            break;
    }
    heard_must(event == HTTP1_BAD || left.n == 0);
    free(copy);
    return event != HTTP1_BAD;
}

/* The whole text, for free, when all was read as far as it is good. */
static inline char *hear_end(struct heard *h, const struct http1 *r, bool good)
{
    hear(h, "\n", h->in_body);
    if (good && http1_is_inside(r))
        hear(h, "inside\n", 7);
    return h->text;
}

static inline char *read_in_pieces(struct text bytes, size_t of)
{
    struct heard h = {0};
    struct http1 r;
    bool good = true;

    http1_init(&r, HEARD_BODY);
    for (size_t at = 0; good && at < bytes.n; at += of)
        good = read_part(&r, &h, bytes, at, bytes.n - at < of ? bytes.n : at + of);
    return hear_end(&h, &r, good);
}

#endif
