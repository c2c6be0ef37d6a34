/* SPDX-License-Identifier: Apache-2.0 */
/* fetch_stubs.h: what readers of carat-fetch stand on, for targets: answers out of the input instead of
 * connections, and listeners that check what they are told instead of writing it. Included once by a
 * target. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "archive.h"
#include "base/path.h"
#include "hasher.h"
#include "layout.h"
#include "names.h"
#include "report.h"
#include "source.h"
#include "tries.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *answers;
static size_t n_answers;
static int n_refused, n_listed;
const struct layout hub_layout, folder_layout, kaggle_layout, ollama_layout;

static void must(bool condition)
{
    if (!condition)
        abort();
}

int fetch_refuse(int code, const char *format, ...)
{
    char text[8192];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    must(*text != 0 && code != DONE);
    n_refused++;
    return code;
}

void report_file(const char *name, int64_t bytes, const char *hash)
{
    must(bytes >= 0 && strlen(name) < PLAN_NAME && ct_path_stays_inside(ct_str_of(name)));
    must(is_any_hash(hash, strlen(hash)));
}

void report_found(const char *name, int64_t downloads, const char *tags)
{
    must(*name && strlen(name) < PLAN_NAME && downloads >= 0 && tags);
}

void report_manifest(const char *text)
{
    must(strlen(text) < PLAN_MANIFEST);
}

bool hasher_text(const void *data, size_t n, char hash[PLAN_HASH])
{
    must(data && n < PLAN_MANIFEST);
    snprintf(hash, PLAN_HASH, "0123");
    return true;
}

void report_listed(const char *commit)
{
    must(*commit && strlen(commit) < PLAN_HASH);
    n_listed++;
}

enum http_end http_ask(struct http *h, const char *url, const char *body, int64_t from, int64_t until,
                       http_sink sink, void *user, struct http_reply *reply)
{
    const uint8_t *end = n_answers ? memchr(answers, 0, n_answers) : NULL;
    const size_t n = end ? (size_t)(end - answers) : n_answers;

    must(strlen(url) < PLAN_PATH && !h && from == 0 && until == 0 && (!body || *body == '{'));
    *reply = (struct http_reply){.status = 200, .first_size = -1, .size = -1, .retry_after = -1};
    if (end) /* there is another page */
        snprintf(reply->next, sizeof reply->next, "http://hub/%zu", n_answers);
    const bool taken = n == 0 || sink(user, reply, answers, n);
    answers += end ? n + 1 : n;
    n_answers -= end ? n + 1 : n;
    return taken ? HTTP_ANSWERED : HTTP_STOPPED;
}

const char *http_why(const struct http *h)
{
    (void)h;
    return "it is so";
}

bool http_escape(char *out, size_t capacity, const char *text)
{
    return snprintf(out, capacity, "%s", text) < (int)capacity;
}

bool http_same_host(const char *a, const char *b)
{
    return strncmp(a, b, strlen("http://hub")) == 0;
}

int archive_get(struct http *h, struct plan *plan)
{
    return h && plan ? DONE : WRONG_PLAN;
}

static int ask_source(const struct source *source, const char *repository, const char *revision,
                      const uint8_t *data, size_t size)
{
    struct plan plan = {.task = TASK_LIST, .source = source, .endpoint = "http://hub"};

    snprintf(plan.repository, sizeof plan.repository, "%s", repository);
    snprintf(plan.revision, sizeof plan.revision, "%s", revision);
    answers = data;
    n_answers = size;
    n_refused = n_listed = 0;
    const int code = source->list(NULL, &plan);
    must(code == DONE ? n_listed == 1 && n_refused == 0 : n_listed == 0 && n_refused == 1);
    return 0;
}
