/* SPDX-License-Identifier: Apache-2.0 */
/* search.c: asks the hub for repositories by words. Which of them are of use is the command's to say, by
 * their names and tags. */
#include "search.h"

#include <stdio.h>
#include <string.h>

#include "page.h"
#include "report.h"
#include "source.h"

enum { TAGS = 4096 };

/* The tags as one text, each between spaces; those that do not fit or have a space are left out. */
static bool take_tags(struct ct_json *j, char tags[TAGS])
{
    size_t n = 1;
    enum ct_json_token token;

    strcpy(tags, " ");
    if (ct_json_next(j) != CT_JSON_ARRAY)
        return false;
    while ((token = ct_json_next(j)) == CT_JSON_STRING) {
        if (j->string.n == 0 || n + j->string.n + 2 > TAGS || memchr(j->string.s, 0, j->string.n) ||
            memchr(j->string.s, ' ', j->string.n))
            continue;
        memcpy(tags + n, j->string.s, j->string.n);
        n += j->string.n;
        tags[n++] = ' ';
        tags[n] = 0;
    }
    return token == CT_JSON_ARRAY_END;
}

static bool take_found(struct ct_json *j)
{
    char name[256] = "", tags[TAGS] = " ";
    int64_t downloads = 0;
    enum ct_json_token token;

    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        bool good = ct_str_is(j->string, "id")          ? page_text(j, name, sizeof name)
                    : ct_str_is(j->string, "downloads") ? page_number(j, &downloads)
                    : ct_str_is(j->string, "tags")      ? take_tags(j, tags)
                                                        : ct_json_skip(j);
        if (!good)
            return false;
    }
    if (token != CT_JSON_OBJECT_END || !*name)
        return false;
    report_found(name, downloads, tags);
    return true;
}

static int take_answer(const struct page *p)
{
    struct ct_json j;
    enum ct_json_token token = CT_JSON_ERROR;
    int64_t n = 0;

    ct_json_init(&j, "the hub's answer", (struct ct_bytes){p->text, p->n});
    bool good = ct_json_next(&j) == CT_JSON_ARRAY;
    while (good && (token = ct_json_next(&j)) == CT_JSON_OBJECT) {
        good = take_found(&j);
        n++;
    }
    good = good && token == CT_JSON_ARRAY_END;
    ct_json_free(&j);
    return good ? DONE
                : fetch_refuse(REMOTE, "entry %lld of what the hub found is not understood", (long long)n);
}

int search_all(struct http *h, struct plan *plan)
{
    char url[PLAN_PATH], query[3 * sizeof plan->query];
    struct http_reply reply;
    struct page p;

    if (!http_escape(query, sizeof query, plan->query) ||
        snprintf(url, sizeof url, "%s/api/models?search=%s&limit=%lld&sort=downloads&direction=-1",
                 plan->endpoint, query, (long long)plan->limit) >= (int)sizeof url)
        return fetch_refuse(WRONG_PLAN, "the words are too long");
    TRY(page_open(&p));
    int code = page_get(h, plan, url, plan->query, &p, &reply);
    if (code == DONE)
        code = take_answer(&p);
    page_close(&p);
    return code;
}
