/* SPDX-License-Identifier: Apache-2.0 */
/* page.h: pages of JSON from a source: one request each, in memory, read value by value. */
#ifndef FETCH_PAGE_H
#define FETCH_PAGE_H

#include "base/json.h"
#include "http.h"
#include "plan.h"

struct page {
    uint8_t *text; /* malloc'd by page_open */
    size_t n;
};

/* Codes of report.h. */
int page_open(struct page *p);
void page_close(struct page *p);
/* what: for messages. Answers other than 200 are the source's to refuse. */
int page_get(struct http *h, const struct plan *plan, const char *url, const char *what, struct page *p,
             struct http_reply *reply);
/* page_get as a POST of a body of JSON. */
int page_ask(struct http *h, const struct plan *plan, const char *url, const char *body, const char *what,
             struct page *p, struct http_reply *reply);
/* page_ask for what there is to say about the bytes behind the address: it keeps none of them. */
int page_peek(struct http *h, const struct plan *plan, const char *url, const char *body, const char *what,
              struct http_reply *reply);
/* A sink that ends a request behind its headers. */
bool page_nothing(void *user, const struct http_reply *reply, const void *data, size_t n);
/* Text as it stands between the quotes of JSON; false: it does not fit. */
bool page_quote(char *out, size_t capacity, const char *text);

/* The next value of a reader, copied; false: it is another, or too long, or has a NUL, or is negative. */
bool page_text(struct ct_json *j, char *out, size_t capacity);
bool page_number(struct ct_json *j, int64_t *out);

#endif
