/* SPDX-License-Identifier: Apache-2.0 */
/* ollama.c: ollama's registry: a manifest names the blobs of a model by their digests. What a manifest says
 * is base's to read; here it must also say of each blob how many bytes it has. */
#include <stdio.h>
#include <string.h>

#include "base/ollama_manifest.h"
#include "hasher.h"
#include "layout.h"
#include "names.h"
#include "page.h"
#include "report.h"
#include "source.h"

#define MOST_BYTES (INT64_C(1) << 48) /* of a blob; the sum of all is then still a number */

static int ollama_refuse(const struct plan *plan, const struct http_reply *reply, const char *what)
{
    const char *why = reply->status == 404 ? "there is no such model or tag"
                      : reply->status == 401 || reply->status == 403
                          ? "it is missing or private, and private ones are fetched by 'ollama pull' alone"
                      : reply->status == 412 ? "the registry says that it needs a newer program"
                                             : "the registry gives no answer";

    return fetch_refuse(REMOTE, "%s:%s: %s: %s (status %ld)", plan->repository, plan->revision, what, why,
                        reply->status);
}

/* "gemma3-4b.gguf", "params", "license-2": what the blob is, as people call it. */
static bool name_blob(char name[PLAN_NAME], const struct plan *plan, const struct ct_ollama_manifest *m,
                      int i)
{
    const char *slash = strrchr(plan->repository, '/');
    int before = 0;

    if (strcmp(m->all[i].kind, "model") == 0)
        return slash && snprintf(name, PLAN_NAME, "%s-%s.gguf", slash + 1, plan->revision) < PLAN_NAME;
    for (int k = 0; k < i; k++)
        before += strcmp(m->all[k].kind, m->all[i].kind) == 0;
    snprintf(name, PLAN_NAME, before ? "%s-%d" : "%s", m->all[i].kind, before + 1);
    return true;
}

static int tell_blobs(const struct plan *plan, const struct ct_ollama_manifest *m)
{
    for (int i = 0; i < m->n; i++) {
        const char *hash = m->all[i].blob + strlen("sha256-");
        char name[PLAN_NAME];
        if (m->all[i].size < 0 || m->all[i].size > MOST_BYTES || !is_hash(hash, strlen(hash)) ||
            !name_blob(name, plan, m, i))
            return fetch_refuse(REMOTE, "%s:%s: blob %d of the manifest has a digest or size that cannot be",
                                plan->repository, plan->revision, i + 1);
        report_file(name, m->all[i].size, hash);
    }
    return DONE;
}

static int take_manifest(const struct plan *plan, struct page *p)
{
    struct ct_ollama_manifest m;
    char hash[PLAN_HASH];
    carat_error err;

    if (p->n >= PLAN_MANIFEST)
        return fetch_refuse(REMOTE, "%s:%s: the manifest has %zu bytes, expected at most %d",
                            plan->repository, plan->revision, p->n, PLAN_MANIFEST - 1);
    if (ct_ollama_read_manifest(&m, "the registry's manifest", (struct ct_bytes){p->text, p->n}, &err) !=
        CARAT_OK)
        return fetch_refuse(REMOTE, "%s:%s: %s", plan->repository, plan->revision, err.message);
    if (*m.refused || *m.list.blob)
        return fetch_refuse(UNSUPPORTED, "%s:%s: the model has %s", plan->repository, plan->revision,
                            *m.refused ? m.refused : "a list of manifests, which 'ollama pull' fetches");
    TRY(tell_blobs(plan, &m));
    p->text[p->n] = 0;
    report_manifest((const char *)p->text);
    if (!hasher_text(p->text, p->n, hash))
        return fetch_refuse(NO_MEMORY, "out of memory for a hash");
    report_listed(hash);
    return DONE;
}

/* Bytes of the manifest are kept as they came: their hash is the model's. */
static int ollama_list(struct http *h, const struct plan *plan)
{
    char url[PLAN_PATH];
    struct http_reply reply;
    struct page p;

    if (snprintf(url, sizeof url, "%s/v2/%s/manifests/%s", plan->endpoint, plan->repository,
                 plan->revision) >= (int)sizeof url)
        return fetch_refuse(WRONG_PLAN, "%s: its address is too long", plan->repository);
    TRY(page_open(&p));
    int code = page_get(h, plan, url, "its manifest", &p, &reply);
    if (code == DONE)
        code = take_manifest(plan, &p);
    page_close(&p);
    return code;
}

static bool ollama_address(char *url, size_t capacity, const struct plan *plan, const struct wanted *w)
{
    return snprintf(url, capacity, "%s/v2/%s/blobs/sha256:%s", plan->endpoint, plan->repository, w->hash) <
           (int)capacity;
}

const struct source ollama_source = {
    .name = "ollama",
    .accept = "Accept: application/vnd.docker.distribution.manifest.v2+json, */*;q=0.5",
    .list = ollama_list,
    .address = ollama_address,
    .refuse = ollama_refuse,
    .layout = &ollama_layout};
