/* SPDX-License-Identifier: Apache-2.0 */
/* hub.c: see hub.h. Lists may be long and come from others: they are read value by value, page by page, and a
 * list with one name that cannot be is refused as a whole. */
#include "hub.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "names.h"
#include "report.h"

enum {
    MOST_PAGE = 8 << 20,  /* bytes of a page */
    MOST_PAGES = 2000,    /* of a list */
    MOST_FILES = 1 << 20, /* of a repository */
};

struct page {
    uint8_t *text;
    size_t n;
};

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

int hub_refuse(const struct plan *plan, const struct http_reply *reply, const char *what)
{
    static const struct {
        const char *code, *sentence;
    } errors[] = {
        {"GatedRepo", "its licence has to be accepted on its page first, and a token be given (HF_TOKEN, or "
                      "'hf auth login')"},
        {"RepoNotFound", "there is no such repository, or it is private"},
        {"RevisionNotFound", "it has no such revision"},
        {"EntryNotFound", "it has no such file"},
    };
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (strcmp(reply->error_code, errors[i].code) == 0)
            return refuse(REMOTE, "%s: %s: %s", plan->repository, what, errors[i].sentence);
    if (reply->status == 401 || reply->status == 403)
        return refuse(REMOTE, "%s: %s: it is missing or private (status %ld); a token opens private ones",
                      plan->repository, what, reply->status);
    return refuse(REMOTE, "%s: %s: the hub answers with status %ld", plan->repository, what, reply->status);
}

/* One page of JSON. */
static int get_page(struct http *h, const struct plan *plan, const char *url, const char *what,
                    struct page *p, struct http_reply *reply)
{
    p->n = 0;
    switch (http_get(h, url, 0, add_to_page, p, reply)) {
    case HTTP_ANSWERED:
        return reply->status == 200 ? DONE : hub_refuse(plan, reply, what);
    case HTTP_UNREACHABLE:
        return refuse(UNREACHABLE, "%s: %s: no connection: %s", plan->repository, what, http_why(h));
    case HTTP_STOPPED:
        return refuse(REMOTE, "%s: %s: the answer has more than %d bytes", plan->repository, what, MOST_PAGE);
    case HTTP_BROKEN:
        return refuse(UNREACHABLE, "%s: %s: %s", plan->repository, what, http_why(h));
    default:
        return refuse(REMOTE, "%s: %s: %s", plan->repository, what, http_why(h));
    }
}

static bool take_string(struct ct_json *j, char *out, size_t capacity)
{
    if (ct_json_next(j) != CT_JSON_STRING || j->string.n >= capacity || memchr(j->string.s, 0, j->string.n))
        return false;
    memcpy(out, j->string.s, j->string.n);
    out[j->string.n] = 0;
    return true;
}

static bool take_number(struct ct_json *j, int64_t *out)
{
    if (ct_json_next(j) != CT_JSON_NUMBER)
        return false;
    const struct ct_str spelled = {(const char *)j->text + j->start, j->at - j->start};
    return ct_json_whole(spelled, out) && *out >= 0;
}

static bool is_key(const struct ct_json *j, const char *key)
{
    return ct_str_is(j->string, key);
}

/* ---- the commit ---- */

static int find_commit(struct http *h, const struct plan *plan, struct page *p, char commit[PLAN_HASH])
{
    char url[PLAN_PATH], revision[3 * sizeof plan->revision];
    struct http_reply reply;
    struct ct_json j;
    bool found = false;

    if (!http_escape(revision, sizeof revision, plan->revision) ||
        snprintf(url, sizeof url, "%s/api/models/%s/revision/%s", plan->endpoint, plan->repository,
                 revision) >= (int)sizeof url)
        return refuse(WRONG_PLAN, "%s: its address is too long", plan->repository);
    TRY(get_page(h, plan, url, plan->revision, p, &reply));
    ct_json_init(&j, "the hub's answer", (struct ct_bytes){p->text, p->n});
    bool good = ct_json_next(&j) == CT_JSON_OBJECT;
    while (good && ct_json_next(&j) == CT_JSON_KEY) {
        if (is_key(&j, "sha"))
            good = found = take_string(&j, commit, PLAN_HASH) && is_hash(commit, strlen(commit));
        else
            good = ct_json_skip(&j);
    }
    ct_json_free(&j);
    return found ? DONE
                 : refuse(REMOTE, "%s: %s: the hub's answer has no commit in \"sha\"", plan->repository,
                          plan->revision);
}

/* ---- its files ---- */

/* The object of a file or folder, whose bracket was read. */
static bool take_lfs(struct ct_json *j, struct wanted *file)
{
    if (ct_json_next(j) != CT_JSON_OBJECT)
        return false;
    while (ct_json_next(j) == CT_JSON_KEY) {
        bool good = is_key(j, "oid")    ? take_string(j, file->hash, sizeof file->hash)
                    : is_key(j, "size") ? take_number(j, &file->bytes)
                                        : ct_json_skip(j);
        if (!good)
            return false;
    }
    return true;
}

static bool take_entry(struct ct_json *j, struct wanted *file, bool *is_file)
{
    char type[16] = "", oid[PLAN_HASH] = "";
    enum ct_json_token token;

    *file = (struct wanted){.bytes = -1};
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        int64_t size;
        bool good = true;
        if (is_key(j, "type"))
            good = take_string(j, type, sizeof type);
        else if (is_key(j, "path"))
            good = take_string(j, file->name, sizeof file->name);
        else if (is_key(j, "oid"))
            good = take_string(j, oid, sizeof oid);
        else if (is_key(j, "lfs"))
            good = take_lfs(j, file);
        else if (!is_key(j, "size"))
            good = ct_json_skip(j);
        else if ((good = take_number(j, &size)) && file->bytes < 0)
            file->bytes = size;
        if (!good)
            return false;
    }
    *is_file = strcmp(type, "file") == 0;
    if (!*file->hash)
        strcpy(file->hash, oid);
    return token == CT_JSON_OBJECT_END &&
           (!*is_file || (file->bytes >= 0 && is_hash(file->hash, strlen(file->hash)) &&
                          name_stays_inside(file->name, strlen(file->name))));
}

static int take_page(const struct plan *plan, const struct page *p, int *n)
{
    struct ct_json j;
    struct wanted file;
    enum ct_json_token token = CT_JSON_ERROR;
    bool good, is_file;

    ct_json_init(&j, "the hub's list", (struct ct_bytes){p->text, p->n});
    good = ct_json_next(&j) == CT_JSON_ARRAY;
    while (good && (token = ct_json_next(&j)) == CT_JSON_OBJECT) {
        good = take_entry(&j, &file, &is_file) && ++*n <= MOST_FILES;
        if (good && is_file)
            report_file(file.name, file.bytes, file.hash);
    }
    good = good && token == CT_JSON_ARRAY_END;
    ct_json_free(&j);
    return good ? DONE
                : refuse(REMOTE,
                         "%s: entry %d of the hub's list of files has a name, size or hash that cannot be",
                         plan->repository, *n + 1);
}

static int list_files(struct http *h, const struct plan *plan, struct page *p, const char *commit)
{
    char url[PLAN_PATH];
    struct http_reply reply;
    int n = 0, pages = 0;

    if (snprintf(url, sizeof url, "%s/api/models/%s/tree/%s?recursive=true&expand=false", plan->endpoint,
                 plan->repository, commit) >= (int)sizeof url)
        return refuse(WRONG_PLAN, "%s: its address is too long", plan->repository);
    for (; *url; pages++) {
        const int before = n;
        TRY(get_page(h, plan, url, "its files", p, &reply));
        TRY(take_page(plan, p, &n));
        if (*reply.next && (strcmp(reply.next, url) == 0 || n == before || pages == MOST_PAGES ||
                            !http_same_host(reply.next, plan->endpoint)))
            return refuse(REMOTE, "%s: the hub's list of files does not end", plan->repository);
        snprintf(url, sizeof url, "%s", reply.next);
    }
    return DONE;
}

int hub_list(struct http *h, const struct plan *plan)
{
    struct page p = {malloc(MOST_PAGE), 0};
    char commit[PLAN_HASH];
    int code = p.text ? DONE : refuse(NO_MEMORY, "out of memory for a list of files");

    if (code == DONE)
        code = find_commit(h, plan, &p, commit);
    if (code == DONE)
        code = list_files(h, plan, &p, commit);
    if (code == DONE)
        report_listed(commit);
    free(p.text);
    return code;
}

bool hub_address(char *url, size_t capacity, const struct plan *plan, const char *name)
{
    char path[3 * PLAN_NAME];

    return http_escape(path, sizeof path, name) &&
           snprintf(url, capacity, "%s/%s/resolve/%s/%s", plan->endpoint, plan->repository, plan->commit,
                    path) < (int)capacity;
}
