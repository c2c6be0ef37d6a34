/* SPDX-License-Identifier: Apache-2.0 */
/* openai_responses_get.c: the routes of responses that are remembered: one of them, the items of its request,
 * and that it be forgotten. */
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "json_write.h"
#include "openai/openai_responses.h"
#include "state.h"

/* Which part of a list is wanted: as clients ask for its pages. */
struct page {
    int64_t limit;
    bool ascends;
    struct text after; /* an id, or none */
};

static bool refuse_unknown(struct refusal *r, const char *id)
{
    return server_refuse(r, 404, NULL, NULL, "Response with id '%.60s' not found.", id);
}

static bool take_page(const struct job *job, struct page *page, struct refusal *r)
{
    enum { USUAL = 20, MOST = 100 };
    struct text rest = {job->query, strlen(job->query)};

    *page = (struct page){.limit = USUAL};
    while (rest.n) {
        struct text name = rest;
        rest = text_split(&name, '&');
        const struct text value = text_split(&name, '=');
        const struct ct_str digits = {value.s, value.n};
        if (text_is(name, "after"))
            page->after = value;
        else if (text_is(name, "order") && (text_is(value, "asc") || text_is(value, "desc")))
            page->ascends = text_is(value, "asc");
        else if (text_is(name, "limit") && ct_json_whole(digits, &page->limit) && page->limit >= 1 &&
                 page->limit <= MOST)
            continue;
        else if (text_is(name, "order") || text_is(name, "limit"))
            return server_refuse(r, 400, NULL, text_is(name, "order") ? "order" : "limit",
                                 "expected an order of asc or desc, and a limit from 1 to %d", MOST);
    }
    return true;
}

/* The items of a page. all: all that there are, the oldest first. */
static void put_page(struct buffer *out, const struct document *d, const struct page *page,
                     const struct ct_json_value *const *all, int n)
{
    const struct ct_str after = {page->after.s, page->after.n};
    struct ct_str id = {0}, first = {0};
    int told = 0, i = 0;

    for (int k = 0; k < n && page->after.n; k++)
        if (ct_str_same(ct_json_str(ct_json_get(all[page->ascends ? k : n - 1 - k], "id")), after))
            i = k + 1;
    json_put(out, "{'object':'list','data':[");
    for (; i < n && told < page->limit; i++, told++) {
        const struct ct_json_value *item = all[page->ascends ? i : n - 1 - i];
        const struct ct_str text = value_text(d, item);
        id = ct_json_str(ct_json_get(item, "id"));
        if (told == 0)
            first = id;
        buffer_text(out, told ? "," : "");
        buffer_put(out, text.s, text.n);
    }
    json_put(out, "],'has_more':%b,'first_id':%t,'last_id':%t}", i < n, first.n ? first.s : "", first.n,
             id.n ? id.s : "", id.n);
}

static void copy_input(void *user, const struct stored *one)
{
    struct buffer *text = user;

    json_put(text, "{'items':[");
    buffer_put(text, one->input.data, one->input.n);
    buffer_text(text, "]}");
}

static bool list_items(struct job *job, const char *id, struct refusal *r)
{
    struct document d = {.r = r};
    struct buffer text = {0};
    struct page page;
    const struct ct_json_value **all = NULL;
    int n = 0;

    if (!take_page(job, &page, r))
        return false;
    if (!store_read(&job->server->responses, id, copy_input, &text))
        refuse_unknown(r, id);
    else if (text.failed)
        server_refuse(r, 503, NULL, NULL, "there is no memory for the items");
    else if (document_read(&d, (struct ct_bytes){(const uint8_t *)text.data, text.n})) {
        const struct ct_json_value *items = ct_json_get(&d.tree.value[0], "items");
        all = malloc((ct_json_count(items) + 1) * sizeof(*all));
        if (!all)
            server_refuse(r, 503, NULL, NULL, "there is no memory for the items");
        CT_JSON_EACH(item, items)
        if (all)
            all[n++] = item;
    }
    if (all)
        put_page(&job->out, &d, &page, all, n);
    free(all);
    document_free(&d);
    buffer_free(&text);
    return r->status == 0;
}

static void copy_reply(void *user, const struct stored *one)
{
    buffer_put(user, one->reply.data, one->reply.n);
}

bool openai_responses_get(struct job *job, struct refusal *r)
{
    static const char items[] = "/input_items";
    char *behind = strchr(job->rest, '/');
    bool good;

    if (behind && strcmp(behind, items) == 0) {
        *behind = 0;
        good = list_items(job, job->rest, r);
    } else if (strstr(job->query, "stream=true"))
        good = server_refuse(r, 400, NULL, "stream", "stream: a response that has ended is told as a whole");
    else
        good = store_read(&job->server->responses, job->rest, copy_reply, &job->out) ||
               refuse_unknown(r, job->rest);
    if (good)
        job_begin(job, 200, "application/json", false);
    return false;
}

void openai_responses_delete(struct job *job, struct text path)
{
    struct refusal r = {0};

    (void)path;
    if (store_forget(&job->server->responses, job->rest)) {
        json_put(&job->out, "{'id':%s,'object':'response','deleted':true}", job->rest);
        job_begin(job, 200, "application/json", false);
        return;
    }
    refuse_unknown(&r, job->rest);
    job_refuse(job, &r);
}
