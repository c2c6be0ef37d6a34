/* SPDX-License-Identifier: Apache-2.0 */
/* hub.c: what the hub says of a repository: its commit, its files. Lists may be long and come from others:
 * they are read value by value, page by page, and a list with one name that cannot be is refused as a
 * whole. */
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "layout.h"
#include "names.h"
#include "page.h"
#include "report.h"
#include "source.h"

enum {
    MOST_PAGES = 2000,    /* of a list */
    MOST_FILES = 1 << 20, /* of a repository */
};
#define MOST_PLAIN INT64_C(50000000000) /* bytes of a file that is served by other means than Xet */

static int hub_refuse(const struct plan *plan, const struct http_reply *reply, const char *what)
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
            return fetch_refuse(REMOTE, "%s: %s: %s", plan->repository, what, errors[i].sentence);
    for (int i = 0; i < plan->n; i++)
        if (plan->file[i].bytes > MOST_PLAIN && strcmp(plan->file[i].name, what) == 0)
            return fetch_refuse(
                REMOTE,
                "%s: %s has %.1f GB, and the hub has no plain address for files above 50 GB (status "
                "%ld); 'hf download %s %s' fetches it, and carat finds it then",
                plan->repository, what, 1e-9 * (double)plan->file[i].bytes, reply->status, plan->repository,
                what);
    if (reply->status == 401 || reply->status == 403)
        return fetch_refuse(REMOTE,
                            "%s: %s: it is missing or private (status %ld); a token opens private ones",
                            plan->repository, what, reply->status);
    return fetch_refuse(REMOTE, "%s: %s: the hub answers with status %ld", plan->repository, what,
                        reply->status);
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
        return fetch_refuse(WRONG_PLAN, "%s: its address is too long", plan->repository);
    TRY(page_get(h, plan, url, plan->revision, p, &reply));
    ct_json_init(&j, "the hub's answer", (struct ct_bytes){p->text, p->n});
    bool good = ct_json_next(&j) == CT_JSON_OBJECT;
    while (good && ct_json_next(&j) == CT_JSON_KEY) {
        if (ct_str_is(j.string, "sha"))
            good = found = page_text(&j, commit, PLAN_HASH) && is_hash(commit, strlen(commit));
        else
            good = ct_json_skip(&j);
    }
    ct_json_free(&j);
    return found ? DONE
                 : fetch_refuse(REMOTE, "%s: %s: the hub's answer has no commit in \"sha\"", plan->repository,
                                plan->revision);
}

/* ---- its files ---- */

/* The object of a file or folder, whose bracket was read. */
static bool take_lfs(struct ct_json *j, struct wanted *file)
{
    if (ct_json_next(j) != CT_JSON_OBJECT)
        return false;
    while (ct_json_next(j) == CT_JSON_KEY) {
        bool good = ct_str_is(j->string, "oid")    ? page_text(j, file->hash, sizeof file->hash)
                    : ct_str_is(j->string, "size") ? page_number(j, &file->bytes)
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
        if (ct_str_is(j->string, "type"))
            good = page_text(j, type, sizeof type);
        else if (ct_str_is(j->string, "path"))
            good = page_text(j, file->name, sizeof file->name);
        else if (ct_str_is(j->string, "oid"))
            good = page_text(j, oid, sizeof oid);
        else if (ct_str_is(j->string, "lfs"))
            good = take_lfs(j, file);
        else if (!ct_str_is(j->string, "size"))
            good = ct_json_skip(j);
        else if ((good = page_number(j, &size)) && file->bytes < 0)
            file->bytes = size;
        if (!good)
            return false;
    }
    *is_file = strcmp(type, "file") == 0;
    if (!*file->hash)
        strcpy(file->hash, oid);
    return token == CT_JSON_OBJECT_END &&
           (!*is_file || (file->bytes >= 0 && is_hash(file->hash, strlen(file->hash)) &&
                          ct_path_stays_inside(ct_str_of(file->name))));
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
                : fetch_refuse(
                      REMOTE,
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
        return fetch_refuse(WRONG_PLAN, "%s: its address is too long", plan->repository);
    for (; *url; pages++) {
        const int before = n;
        TRY(page_get(h, plan, url, "its files", p, &reply));
        TRY(take_page(plan, p, &n));
        if (*reply.next && (strcmp(reply.next, url) == 0 || n == before || pages == MOST_PAGES ||
                            !http_same_host(reply.next, plan->endpoint)))
            return fetch_refuse(REMOTE, "%s: the hub's list of files does not end", plan->repository);
        snprintf(url, sizeof url, "%s", reply.next);
    }
    return DONE;
}

static int hub_list(struct http *h, const struct plan *plan)
{
    struct page p;
    char commit[PLAN_HASH];
    int code = page_open(&p);

    if (code == DONE)
        code = find_commit(h, plan, &p, commit);
    if (code == DONE)
        code = list_files(h, plan, &p, commit);
    if (code == DONE)
        report_listed(commit);
    page_close(&p);
    return code;
}

/* ---- a file ---- */

static bool hub_address(char *url, size_t capacity, const struct plan *plan, const struct wanted *w)
{
    char path[3 * PLAN_NAME];

    return http_escape(path, sizeof path, w->name) &&
           snprintf(url, capacity, "%s/%s/resolve/%s/%s", plan->endpoint, plan->repository, plan->commit,
                    path) < (int)capacity;
}

static int hub_look(const struct plan *plan, struct wanted *w, const struct http_reply *r)
{
    if (*r->first_commit && strcmp(r->first_commit, plan->commit) != 0)
        return fetch_refuse(REMOTE, "%s: is of commit %s, expected %s", w->name, r->first_commit,
                            plan->commit);
    if (*r->first_etag && strcmp(r->first_etag, w->hash) != 0)
        return fetch_refuse(REMOTE, "%s: has the hash %s by now, expected %s", w->name, r->first_etag,
                            w->hash);
    return DONE;
}

const struct source hub_source = {.name = "hub",
                                  .list = hub_list,
                                  .address = hub_address,
                                  .look = hub_look,
                                  .refuse = hub_refuse,
                                  .layout = &hub_layout};
