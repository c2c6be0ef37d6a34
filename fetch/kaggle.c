/* SPDX-License-Identifier: Apache-2.0 */
/* kaggle.c: what Kaggle says of a model: its newest version, the files of one, where they are. Its lists
 * have no hashes: the answer with a file's bytes tells their MD5. Everything is asked as kagglehub 1.0.2
 * does: a POST of JSON to the name of a call. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/path.h"
#include "archive.h"
#include "layout.h"
#include "names.h"
#include "page.h"
#include "report.h"
#include "search.h"
#include "source.h"

enum {
    PAGE = 25,            /* files of a page, as kagglehub asks for them */
    MOST_PAGES = 1 << 16, /* of a list */
    MOST_FILES = 1 << 20, /* of a version */
    MOST_VERSION = 999999999,
};

static int kaggle_refuse(const struct plan *plan, const struct http_reply *reply, const char *what)
{
    if (plan->task == TASK_SEARCH)
        return fetch_refuse(REMOTE, "Kaggle does not search for %s: status %ld%s", what, reply->status,
                            reply->status == 401 || reply->status == 403 ? "; it may want KAGGLE_API_TOKEN"
                                                                         : "");
    if (reply->status == 401 || reply->status == 403)
        return fetch_refuse(
            REMOTE,
            "kaggle://%s: %s: its licence has to be accepted on www.kaggle.com/models/%s, and "
            "credentials be given (KAGGLE_API_TOKEN, or ~/.kaggle/kaggle.json); status %ld",
            plan->repository, what, plan->repository, reply->status);
    if (reply->status == 404)
        return fetch_refuse(REMOTE,
                            "kaggle://%s: %s: there is no such model, version or file, or it is private",
                            plan->repository, what);
    return fetch_refuse(REMOTE, "kaggle://%s: %s: Kaggle answers with status %ld", plan->repository, what,
                        reply->status);
}

/* ---- questions ---- */

/* As Kaggle's SDK calls them; a handle may leave the underscores out, and write them in any case. */
static const char *const frameworks[] = {
    "TENSOR_FLOW_1", "TENSOR_FLOW_2", "TF_LITE", "TF_JS", "PY_TORCH",      "JAX",          "FLAX",  "PAX",
    "MAX_TEXT",      "GEMMA_CPP",     "GGML",    "GGUF",  "CORAL",         "SCIKIT_LEARN", "MXNET", "ONNX",
    "KERAS",         "TRANSFORMERS",  "API",     "OTHER", "TENSOR_RT_LLM", "TRITON",       "VLLM"};

static bool is_framework(const char *f, const char *s, size_t n)
{
    size_t k = 0;

    for (;;) {
        f += *f == '_';
        k += k < n && s[k] == '_';
        if (k == n || !*f)
            return k == n && !*f;
        if (*f++ != (s[k] >= 'a' && s[k] <= 'z' ? s[k] - 'a' + 'A' : s[k]))
            return false;
        k++;
    }
}

static const char *find_framework(const char *s, size_t n)
{
    for (size_t i = 0; i < CT_COUNT(frameworks); i++)
        if (is_framework(frameworks[i], s, n))
            return frameworks[i];
    return NULL;
}

/* Writes a question about a model: {"ownerSlug": ..., and more. False: the plan's model is none. */
static bool write_question(char *body, size_t capacity, const struct plan *plan, const char *more)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    const char *part[4], *at = plan->repository;
    int length[4];

    for (int i = 0; i < 4; i++) {
        part[i] = at;
        length[i] = (int)strspn(at, plain);
        at += length[i];
        if (length[i] == 0 || *at != (i < 3 ? '/' : 0))
            return false;
        at += *at == '/';
    }
    const char *framework = find_framework(part[2], (size_t)length[2]);
    return framework && snprintf(body, capacity,
                                 "{\"ownerSlug\": \"%.*s\", \"modelSlug\": \"%.*s\", \"framework\": "
                                 "\"MODEL_FRAMEWORK_%s\", \"instanceSlug\": \"%.*s\"%s}",
                                 length[0], part[0], length[1], part[1], framework, length[3], part[3],
                                 more) < (int)capacity;
}

static bool write_address(char *url, size_t capacity, const struct plan *plan, const char *call)
{
    return snprintf(url, capacity, "%s/v1/models.ModelApiService/%s", plan->endpoint, call) < (int)capacity;
}

static int ask(struct http *h, const struct plan *plan, const char *call, const char *more, const char *what,
               struct page *p)
{
    char url[PLAN_PATH], body[2 * PLAN_PATH];
    struct http_reply reply;

    if (!write_question(body, sizeof body, plan, more))
        return fetch_refuse(
            WRONG_PLAN, "kaggle://%s: is not OWNER/MODEL/FRAMEWORK/VARIATION with a framework of Kaggle's",
            plan->repository);
    if (!write_address(url, sizeof url, plan, call))
        return fetch_refuse(WRONG_PLAN, "kaggle://%s: its address is too long", plan->repository);
    return page_ask(h, plan, url, body, what, p, &reply);
}

/* ---- the version ---- */

static int find_version(struct http *h, const struct plan *plan, struct page *p, int64_t *version)
{
    struct ct_json j;

    *version = 0;
    TRY(ask(h, plan, "GetModelInstance", "", "its newest version", p));
    ct_json_init(&j, "Kaggle's answer", (struct ct_bytes){p->text, p->n});
    bool good = ct_json_next(&j) == CT_JSON_OBJECT;
    while (good && ct_json_next(&j) == CT_JSON_KEY)
        good = ct_str_is(j.string, "versionNumber") ? page_number(&j, version) : ct_json_skip(&j);
    ct_json_free(&j);
    return good && *version >= 1 && *version <= MOST_VERSION
               ? DONE
               : fetch_refuse(REMOTE, "kaggle://%s: Kaggle's answer has no versionNumber", plan->repository);
}

/* The plan's, or the newest one. */
static int take_version(struct http *h, const struct plan *plan, struct page *p, int64_t *version)
{
    if (!*plan->revision)
        return find_version(h, plan, p, version);
    const struct ct_str s = ct_str_of(plan->revision);
    return ct_json_whole(s, version) && *version >= 1 && *version <= MOST_VERSION
               ? DONE
               : fetch_refuse(WRONG_PLAN, "kaggle://%s: %s is no version", plan->repository, plan->revision);
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
                : fetch_refuse(
                      REMOTE,
                      "kaggle://%s: entry %d of Kaggle's list of files has a name or size that cannot be",
                      plan->repository, *n + 1);
}

static int list_version(struct http *h, const struct plan *plan, struct page *p, int64_t version)
{
    char more[8 * PLAN_NAME], next[PLAN_NAME] = "", token[6 * PLAN_NAME] = "";
    int n = 0, pages = 0;

    do {
        const int before = n;
        char last[PLAN_NAME];
        snprintf(last, sizeof last, "%s", next);
        snprintf(more, sizeof more, ", \"versionNumber\": %lld, \"pageSize\": %d%s%s%s", (long long)version,
                 PAGE, *token ? ", \"pageToken\": \"" : "", token, *token ? "\"" : "");
        TRY(ask(h, plan, "ListModelInstanceVersionFiles", more, "its files", p));
        TRY(take_files(plan, p, &n, next));
        if (*next && (strcmp(next, last) == 0 || n == before || ++pages == MOST_PAGES ||
                      !page_quote(token, sizeof token, next)))
            return fetch_refuse(REMOTE, "kaggle://%s: Kaggle's list of files does not end", plan->repository);
    } while (*next);
    return n > 0 ? DONE
                 : fetch_refuse(REMOTE, "kaggle://%s: version %lld has no files", plan->repository,
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
    (void)w;
    return write_address(url, capacity, plan, "DownloadModelInstanceVersion");
}

/* Without a path, all of it as an archive. */
static bool kaggle_question(char *body, size_t capacity, const struct plan *plan, const struct wanted *w)
{
    const char *tail = plan->tap ? "" : "\"";
    char more[PLAN_PATH], path[3 * PLAN_NAME];

    return page_quote(path, sizeof path, plan->tap ? "" : w->name) &&
           snprintf(more, sizeof more, ", \"versionNumber\": %s%s%s%s", plan->commit,
                    plan->tap ? "" : ", \"path\": \"", path, tail) < (int)sizeof more &&
           write_question(body, capacity, plan, more);
}

static int kaggle_look(const struct plan *plan, struct wanted *w, const struct http_reply *reply)
{
    if (!*w->hash && *reply->md5)
        snprintf(w->hash, sizeof w->hash, "%s", reply->md5);
    else if (*reply->md5 && strcmp(w->hash, reply->md5) != 0)
        return fetch_refuse(REMOTE, "kaggle://%s: %s has the MD5 %s by now, expected %s", plan->repository,
                            w->name, reply->md5, w->hash);
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
                                     .question = kaggle_question,
                                     .look = kaggle_look,
                                     .refuse = kaggle_refuse,
                                     .authorize = kaggle_authorize,
                                     .search = search_kaggle,
                                     .get = archive_get,
                                     .layout = &kaggle_layout};
