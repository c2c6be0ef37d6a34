/* SPDX-License-Identifier: Apache-2.0 */
/* plain.c: one file at an address. Nobody says what its hash should be: it is pinned to the name that the
 * server gives to its bytes (ETag), and to their number. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "layout.h"
#include "page.h"
#include "report.h"
#include "source.h"

static int plain_refuse(const struct plan *plan, const struct http_reply *reply, const char *what)
{
    (void)what;
    return fetch_refuse(REMOTE, "%s: the server answers with status %ld", plan->endpoint, reply->status);
}

/* The last part of the address, before ? and #. */
static bool name_of(char *name, size_t capacity, const char *address)
{
    const size_t whole = strcspn(address, "?#");
    size_t from = whole;

    while (from > 0 && address[from - 1] != '/')
        from--;
    if (snprintf(name, capacity, "%.*s", (int)(whole - from), address + from) >= (int)capacity)
        return false;
    const struct ct_str s = {name, ct_path_unescape(name)};
    return !memchr(s.s, '/', s.n) && ct_path_stays_inside(s);
}

/* 40 digits that change when the ETag or the size does. */
static void pin(char out[PLAN_HASH], const struct http_reply *r)
{
    uint64_t a = UINT64_C(14695981039346656037), b = (uint64_t)r->size;

    for (const char *s = r->etag; *s; s++) {
        a = (a ^ (unsigned char)*s) * UINT64_C(1099511628211);
        b = (b + a) * UINT64_C(6364136223846793005);
    }
    snprintf(out, PLAN_HASH, "%016" PRIx64 "%016" PRIx64 "%08" PRIx32, a, b, (uint32_t)(a >> 7));
}

static int plain_list(struct http *h, const struct plan *plan)
{
    char name[PLAN_NAME], commit[PLAN_HASH];
    struct http_reply r;
    const enum http_end end = http_get(h, plan->endpoint, 0, 1, page_nothing, NULL, &r);

    if (end == HTTP_UNREACHABLE || end == HTTP_BROKEN || end == HTTP_SLOW)
        return fetch_refuse(UNREACHABLE, "%s: no connection: %s", plan->endpoint, http_why(h));
    if (end == HTTP_REFUSED)
        return fetch_refuse(REMOTE, "%s: %s", plan->endpoint, http_why(h));
    if (r.status != 200 && r.status != 206)
        return plain_refuse(plan, &r, "");
    if (!name_of(name, sizeof name, plan->endpoint))
        return fetch_refuse(REMOTE, "%s: does not end in a file's name", plan->endpoint);
    if (r.size < 0)
        return fetch_refuse(REMOTE, "%s: the server does not say how many bytes it has", plan->endpoint);
    pin(commit, &r);
    report_file(name, r.size, "");
    report_listed(commit);
    return DONE;
}

static bool plain_address(char *url, size_t capacity, const struct plan *plan, const struct wanted *w)
{
    (void)w;
    return snprintf(url, capacity, "%s", plan->endpoint) < (int)capacity;
}

static int plain_look(const struct plan *plan, struct wanted *w, const struct http_reply *r)
{
    char commit[PLAN_HASH];

    pin(commit, r);
    return r->size < 0 || strcmp(commit, plan->commit) == 0
               ? DONE
               : fetch_refuse(REMOTE, "%s: has changed on the server since it was asked for", w->name);
}

const struct source plain_source = {.name = "plain",
                                    .list = plain_list,
                                    .address = plain_address,
                                    .look = plain_look,
                                    .refuse = plain_refuse,
                                    .layout = &folder_layout};
