/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c: parts of files, told instead of kept: what their heads say of a model that is not fetched. One
 * connection, one file after another; nothing is kept, so that memory is what one answer's buffer takes. A
 * server that knows no ranges is heard up to the last byte that is wanted, and left. */
#include "download.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "report.h"
#include "source.h"
#include "tries.h"

struct part {
    const struct plan *plan;
    struct wanted *w;
    int64_t at;   /* of the next byte to be told */
    int64_t skip; /* bytes before it that come unasked */
    bool begun;   /* the answer was looked at */
    int code;     /* of report.h */
};

/* Checks what the answer says of itself. */
static int look_at_answer(struct part *p, const struct http_reply *r)
{
    char range[64];

    if (p->plan->source->look)
        TRY(p->plan->source->look(p->plan, p->w, r));
    if (r->size >= 0 && r->size != p->w->bytes)
        return fetch_refuse(REMOTE, "%s: has %lld bytes by now, expected %lld", p->w->name,
                            (long long)r->size, (long long)p->w->bytes);
    p->skip = r->status == 200 ? p->at : 0;
    snprintf(range, sizeof range, "bytes %lld-", (long long)p->at);
    return r->status == 200 || strncmp(r->range, range, strlen(range)) == 0
               ? DONE
               : fetch_refuse(REMOTE, "%s: the server sends another part than was asked for (%.100s)",
                              p->w->name, *r->range ? r->range : "no Content-Range");
}

static bool take_bytes(void *user, const struct http_reply *reply, const void *data, size_t n)
{
    struct part *p = user;
    const char *bytes = data;

    if (!p->begun && (p->code = look_at_answer(p, reply)) != DONE)
        return false;
    p->begun = true;
    const size_t skips = (size_t)CT_MIN((uint64_t)p->skip, n),
                 tells = (size_t)CT_MIN((uint64_t)(p->w->until - p->at), n - skips);
    p->skip -= (int64_t)skips;
    if (tells > 0)
        report_part(p->w->name, p->at, bytes + skips, tells);
    p->at += (int64_t)tells;
    return skips + tells == n && !(reply->status == 200 && p->at == p->w->until && p->at < p->w->bytes);
}

/* Not all has come; DONE: it is asked for again. */
static int goes_on(const struct part *p, enum http_end end, const struct http *h, int fruitless,
                   const struct http_reply *r)
{
    const bool answered = end == HTTP_ANSWERED && r->status != 200 && r->status != 206;

    if (p->code != DONE)
        return p->code;
    if (end == HTTP_REFUSED)
        return fetch_refuse(REMOTE, "%s: %s", p->w->name, http_why(h));
    /* an address that had run out is given anew */
    if (answered && !is_passing(r->status) && (r->status != 403 || *r->error_code || fruitless > 1))
        return p->plan->source->refuse(p->plan, r, p->w->name);
    if (end != HTTP_UNREACHABLE && fruitless <= MOST_TRIES)
        return DONE;
    return answered ? fetch_refuse(REMOTE, "%s: the server answers with status %ld, %d times", p->w->name,
                                   r->status, fruitless)
                    : fetch_refuse(UNREACHABLE, "%s: no connection: %s", p->w->name,
                                   end == HTTP_ANSWERED ? "the answer ends too early" : http_why(h));
}

static int tell_part(struct http *h, const struct plan *plan, struct wanted *w)
{
    struct part p = {.plan = plan, .w = w, .at = w->from};
    const struct source *source = plan->source;
    char url[2 * PLAN_PATH], body[2 * PLAN_PATH];
    struct http_reply reply;

    if (!source->address(url, sizeof url, plan, w) ||
        (source->question && !source->question(body, sizeof body, plan, w)))
        return fetch_refuse(WRONG_PLAN, "%s: its address is too long", w->name);
    for (int fruitless = 0; p.at < w->until;) {
        const int64_t before = p.at;
        const bool whole = before == 0 && w->until == w->bytes;
        p.begun = false;
        const enum http_end end = http_ask(h, url, source->question ? body : NULL, before,
                                           whole ? 0 : w->until, take_bytes, &p, &reply);
        if (p.at == w->until)
            break;
        fruitless = p.at > before && end != HTTP_SLOW ? 0 : fruitless + 1;
        TRY(goes_on(&p, end, h, fruitless, &reply));
        wait_for(pause_before(fruitless, reply.retry_after, plan->patience), NULL, NULL);
    }
    return DONE;
}

int parts_tell(struct http *h, struct plan *plan)
{
    for (int i = 0; i < plan->n; i++)
        TRY(tell_part(h, plan, &plan->file[i]));
    return DONE;
}
