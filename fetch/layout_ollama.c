/* SPDX-License-Identifier: Apache-2.0 */
/* layout_ollama.c: ollama's store as it is written: blobs under their digests, and the manifest that leads to
 * them, last. What is on its way lies in a folder of its own, .carat: ollama takes whatever lies among the
 * manifests for models, and clears the blobs of what has not their names. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/store_paths.h"
#include "layout.h"
#include "report.h"

#define HOST "registry.ollama.ai" /* that the names mean, wherever it was asked */

static void ollama_name(struct store *s)
{
    snprintf(s->folder, sizeof s->folder, "%s", s->plan->root);
}

static void ollama_place(struct place *p, const struct store *s, const struct wanted *w)
{
    const struct ct_store_names names = {.root = s->folder, .hash = w->hash};

    ct_store_path(p->whole, sizeof p->whole, CT_AT_OLLAMA_BLOB, &names);
    snprintf(p->part, sizeof p->part, "%s/.carat/sha256-%s.incomplete", s->folder, w->hash);
    snprintf(p->lock, sizeof p->lock, "%s/.carat/sha256-%s.lock", s->folder, w->hash);
    *p->older = 0;
}

/* ollama clears blobs that no manifest names; it may have begun meanwhile. */
static int check_blobs(const struct store *s)
{
    struct place at;
    struct stat st;

    for (int i = 0; i < s->plan->n; i++) {
        const struct wanted *w = &s->plan->file[i];
        ollama_place(&at, s, w);
        if (stat(at.whole, &st) != 0 || st.st_size != w->bytes)
            return fetch_refuse(LOCAL, "%s: another program has removed it; begin again", at.whole);
    }
    return DONE;
}

/* Nobody needs the locks any more; who waits for one looks whether it still has its name. */
static void remove_locks(const struct store *s)
{
    struct place at;

    for (int i = 0; i < s->plan->n; i++) {
        ollama_place(&at, s, &s->plan->file[i]);
        unlink(at.lock);
    }
}

static int ollama_end(const struct store *s, char *path, size_t capacity)
{
    const struct plan *plan = s->plan;
    char manifest[FOLDER_PATH], beside[FOLDER_PATH];

    if (!*plan->manifest)
        return fetch_refuse(WRONG_PLAN, "plan: there is no manifest to write");
    TRY(check_blobs(s));
    struct ct_store_names names = {
        .root = s->folder, .host = ct_str_of(HOST), .version = ct_str_of(plan->revision)};
    ct_store_split(&names, plan->repository);
    ct_store_path(manifest, sizeof manifest, CT_AT_OLLAMA_MANIFEST, &names);
    snprintf(beside, sizeof beside, "%s/.carat/manifest-%ld", s->folder, (long)getpid());
    TRY(make_folders(manifest));
    TRY(make_folders(beside));
    TRY(write_beside(manifest, beside, plan->manifest));
    remove_locks(s);
    snprintf(path, capacity, "%s", manifest);
    return DONE;
}

const struct layout ollama_layout = {
    .by_hash = true, .name = ollama_name, .place = ollama_place, .end = ollama_end};
