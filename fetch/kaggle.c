/* SPDX-License-Identifier: Apache-2.0 */
/* kaggle.c: what Kaggle says of a model: its newest version, the files of one, where they are. Its lists
 * have no hashes: the answer with a file's bytes tells their MD5. The addresses are those that Kaggle's
 * own SDK declares for its calls. */
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
    MOST_FILES = 1 << 20, /* of a version */
    MOST_VERSION = 999999999,
};

static int kaggle_refuse(const struct plan *plan, const struct http_reply *reply, const char *what)
{
    if (reply->status == 401 || reply->status == 403)
        return refuse(REMOTE,
                      "kaggle://%s: %s: its licence has to be accepted on www.kaggle.com/models/%s, and "
                      "credentials be given (KAGGLE_API_TOKEN, or ~/.kaggle/kaggle.json); status %ld",
                      plan->repository, what, plan->repository, reply->status);
    if (reply->status == 404)
        return refuse(REMOTE, "kaggle://%s: %s: there is no such model, version or file, or it is private",
                      plan->repository, what);
    return refuse(REMOTE, "kaggle://%s: %s: Kaggle answers with status %ld", plan->repository, what,
                  reply->status);
}

/* ---- the version ---- */

static int find_version(struct http *h, const struct plan *plan, struct page *p, int64_t *version)
{
    char url[PLAN_PATH];
    struct http_reply reply;
    struct ct_json j;

    *version = 0;
    if (snprintf(url, sizeof url, "%s/api/v1/models/%s/get", plan->endpoint, plan->repository) >=
        (int)sizeof url)
        return refuse(WRONG_PLAN, "kaggle://%s: its address is too long", plan->repository);
    TRY(page_get(h, plan, url, "its newest version", p, &reply));
    ct_json_init(&j, "Kaggle's answer", (struct ct_bytes){p->text, p->n});
    bool good = ct_json_next(&j) == CT_JSON_OBJECT;
    while (good && ct_json_next(&j) == CT_JSON_KEY)
        good = ct_str_is(j.string, "versionNumber") ? page_number(&j, version) : ct_json_skip(&j);
    ct_json_free(&j);
    return good && *version >= 1 && *version <= MOST_VERSION
               ? DONE
               : refuse(REMOTE, "kaggle://%s: Kaggle's answer has no versionNumber", plan->repository);
}

/* The plan's, or the newest one. */
static int take_version(struct http *h, const struct plan *plan, struct page *p, int64_t *version)
{
    if (!*plan->revision)
        return find_version(h, plan, p, version);
    const struct ct_str s = ct_str_of(plan->revision);
    return ct_json_whole(s, version) && *version >= 1 && *version <= MOST_VERSION
               ? DONE
               : refuse(WRONG_PLAN, "kaggle://%s: %s is no version", plan->repository, plan->revision);
}

/* ---- its files ---- */

static bool take_file(struct ct_json *j, struct wanted *w)
{
    enum ct_json_token token;

    *w = (struct wanted){.bytes = -1};
    while ((token = ct_json_next(j)) == CT_JSON_KEY) {
        const bool good = ct_str_is(j->string, "name")   ? page_text(j, w->name, sizeof w->name)
                          : ct_str_is(j->string, "size") ? page_number(j, &w->bytes)
                                                         : ct_json_skip(j);
        if (!good)
            return false;
    }
    return token == CT_JSON_OBJECT_END && w->bytes >= 0 && ct_path_stays_inside(ct_str_of(w->name)) &&
           strncmp(w->name, ".complete/", strlen(".complete/")) != 0;
}

/* {"files": [{"name", "size"}], "nextPageToken": ""} */
static int take_files(const struct plan *plan, const struct page *p, int *n, char next[PLAN_NAME])
{
    struct ct_json j;
    struct wanted file;
    enum ct_json_token token = CT_JSON_ERROR, inner;

    *next = 0;
    ct_json_init(&j, "Kaggle's list", (struct ct_bytes){p->text, p->n});
    bool good = ct_json_next(&j) == CT_JSON_OBJECT;
    while (good && (token = ct_json_next(&j)) == CT_JSON_KEY) {
        if (ct_str_is(j.string, "nextPageToken")) {
            good = page_text(&j, next, PLAN_NAME);
        } else if (ct_str_is(j.string, "files")) {
            good = ct_json_next(&j) == CT_JSON_ARRAY;
            while (good && (inner = ct_json_next(&j)) != CT_JSON_ARRAY_END) {
                good = inner == CT_JSON_OBJECT && take_file(&j, &file) && ++*n <= MOST_FILES;
                if (good)
                    report_file(file.name, file.bytes, "");
            }
        } else {
            good = ct_json_skip(&j);
        }
    }
    good = good && token == CT_JSON_OBJECT_END;
    ct_json_free(&j);
    return good ? DONE
                : refuse(REMOTE,
                         "kaggle://%s: entry %d of Kaggle's list of files has a name or size that cannot be",
                         plan->repository, *n + 1);
}

/* What a page is asked for by; only what needs no escape is taken. */
static bool is_token(const char *s)
{
    for (; *s; s++)
        if (!(*s >= '0' && *s <= '9') && !((*s | 0x20) >= 'a' && (*s | 0x20) <= 'z') &&
            !strchr("-_.~=+/", *s))
            return false;
    return true;
}

static int list_version(struct http *h, const struct plan *plan, struct page *p, int64_t version)
{
    char url[PLAN_PATH], next[PLAN_NAME] = "", token[3 * PLAN_NAME] = "";
    struct http_reply reply;
    int n = 0, pages = 0;

    do {
        const int before = n;
        char last[PLAN_NAME];
        snprintf(last, sizeof last, "%s", next);
        if (snprintf(url, sizeof url, "%s/api/v1/models/%s/%lld/files?pageSize=200%s%s", plan->endpoint,
                     plan->repository, (long long)version, *token ? "&pageToken=" : "",
                     token) >= (int)sizeof url)
            return refuse(WRONG_PLAN, "kaggle://%s: its address is too long", plan->repository);
        TRY(page_get(h, plan, url, "its files", p, &reply));
        TRY(take_files(plan, p, &n, next));
        if (*next && (!is_token(next) || strcmp(next, last) == 0 || n == before || ++pages == MOST_PAGES ||
                      !http_escape(token, sizeof token, next)))
            return refuse(REMOTE, "kaggle://%s: Kaggle's list of files does not end", plan->repository);
    } while (*next);
    return n > 0 ? DONE
                 : refuse(REMOTE, "kaggle://%s: version %lld has no files", plan->repository,
                          (long long)version);
}

static int kaggle_list(struct http *h, const struct plan *plan)
{
    struct page p;
    int64_t version = 0;
    char text[32];
    int code = page_open(&p);

    if (code == DONE)
        code = take_version(h, plan, &p, &version);
    if (code == DONE)
        code = list_version(h, plan, &p, version);
    snprintf(text, sizeof text, "%lld", (long long)version);
    if (code == DONE)
        report_listed(text);
    page_close(&p);
    return code;
}

/* ---- a file ---- */

static bool kaggle_address(char *url, size_t capacity, const struct plan *plan, const struct wanted *w)
{
    char path[3 * PLAN_NAME];

    return http_escape(path, sizeof path, w->name) &&
           snprintf(url, capacity, "%s/api/v1/models/%s/%s/download/%s", plan->endpoint, plan->repository,
                    plan->commit, path) < (int)capacity;
}

static int kaggle_look(const struct plan *plan, struct wanted *w, const struct http_reply *reply)
{
    if (!*w->hash && *reply->md5)
        snprintf(w->hash, sizeof w->hash, "%s", reply->md5);
    else if (*reply->md5 && strcmp(w->hash, reply->md5) != 0)
        return refuse(REMOTE, "kaggle://%s: %s has the MD5 %s by now, expected %s", plan->repository, w->name,
                      reply->md5, w->hash);
    return DONE;
}

/* A token of its own, or, with a user, a key. */
static bool kaggle_authorize(char *line, size_t capacity, const struct plan *plan)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char pair[sizeof plan->user + sizeof plan->token + 2] = "";
    const size_t n = (size_t)snprintf(pair, sizeof pair, "%s:%s", plan->user, plan->token);
    size_t at = strlen("Authorization: Basic ");

    if (!*plan->token)
        return true;
    if (!*plan->user)
        return snprintf(line, capacity, "Authorization: Bearer %s", plan->token) < (int)capacity;
    if (at + (n + 2) / 3 * 4 >= capacity)
        return false;
    memcpy(line, "Authorization: Basic ", at);
    for (size_t i = 0; i < n; i += 3) {
        const unsigned three = (unsigned)(unsigned char)pair[i] << 16 |
                               (unsigned)(unsigned char)pair[i + 1] << 8 |
                               (i + 1 < n ? (unsigned)(unsigned char)pair[i + 2] : 0);
        line[at++] = digits[three >> 18];
        line[at++] = digits[three >> 12 & 63];
        line[at++] = i + 1 < n ? digits[three >> 6 & 63] : '=';
        line[at++] = i + 2 < n ? digits[three & 63] : '=';
    }
    line[at] = 0;
    memset(pair, 0, sizeof pair);
    return true;
}

const struct source kaggle_source = {.name = "kaggle",
                                     .list = kaggle_list,
                                     .address = kaggle_address,
                                     .look = kaggle_look,
                                     .refuse = kaggle_refuse,
                                     .authorize = kaggle_authorize,
                                     .layout = &kaggle_layout};
