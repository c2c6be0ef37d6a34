/* SPDX-License-Identifier: Apache-2.0 */
/* rm.c: `carat rm`: removes models from the hub's cache, with the blobs that nothing else needs and their
 * packed copies. What other programs keep is left to them. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "carat_tools.h"
#include "model/aliases.h"
#include "model/fetcher.h"
#include "model/hub_links.h"
#include "model/located.h"
#include "options/options.h"
#include "store/remove.h"
#include "store/rm_ollama.h"
#include "term/message.h"
#include "term/output.h"
#include "term/size.h"

/* ---- other programs' ---- */

/* How the programs that own a store remove a model; a path follows where a path is needed. */
static const struct {
    const char *store, *command;
    bool by_path;
} owners[] = {
    {"ollama", "ollama rm", false}, {"llama.cpp", "rm", true}, {"LM Studio", "rm", true},
    {"Kaggle", "rm -r", true},      {"carat", "rm", true},
};

static int leave_to_owner(const carat_location *at, const char *typed)
{
    const char *name = at->handle && at->named != CARAT_NAMED_KAGGLE ? at->handle : typed;

    for (size_t i = 0; i < sizeof owners / sizeof owners[0]; i++)
        if (strcmp(owners[i].store, at->store) == 0)
            return fail(USAGE, "rm: %.200s is in the store of %s, which carat only reads; '%s %s' removes it",
                        typed, at->store, owners[i].command, owners[i].by_path ? at->path : name);
    return fail(USAGE, "rm: %.200s is in the store of %s, which carat only reads", typed, at->store);
}

/* ---- the hub's cache ---- */

/* Folders of the snapshot that are empty now, the deepest first, and the names of its commit. */
static void remove_empty(const struct hub_links *l)
{
    for (size_t i = 0; i < l->n; i++) {
        char path[HUB_PATH];
        if (!l->link[i].wanted)
            continue;
        snprintf(path, sizeof path, "%s", l->link[i].path);
        for (char *slash; (slash = strrchr(path, '/')) != NULL && strlen(path) > strlen(l->snapshot);) {
            *slash = 0;
            if (rmdir(path) != 0)
                break;
        }
    }
}

static int remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* A repository without a snapshot has nothing that anybody can use. */
static int remove_repository(const struct hub_links *l)
{
    enum { MOST_OPEN = 16 };
    char snapshots[HUB_PATH + 16];

    snprintf(snapshots, sizeof snapshots, "%s/snapshots", l->folder);
    if (access(l->snapshot, F_OK) == 0 || (rmdir(snapshots) != 0 && errno != ENOENT))
        return DONE; /* another snapshot is there */
    if (nftw(l->folder, remove_entry, MOST_OPEN, FTW_DEPTH | FTW_PHYS) != 0)
        return fail(FAILED, "%s: cannot be removed: %s", l->folder, strerror(errno));
    return DONE;
}

static int remove_links(const struct hub_links *l, const char *path)
{
    int code = DONE;

    (void)packed_copy(path, true);
    for (size_t i = 0; i < l->n && code == DONE; i++)
        if (l->link[i].wanted)
            code = remove_file(l->link[i].path);
    /* links first: none ever leads nowhere */
    for (size_t i = 0; i < l->n && code == DONE; i++)
        if (l->link[i].frees && l->link[i].blob)
            code = remove_file(l->link[i].blob);
    if (code == DONE) {
        remove_empty(l);
        code = remove_repository(l);
    }
    return code;
}

enum { CALLED = 512 };

/* "u/g", or of one of several files "u/g (g-Q4_0.gguf)". */
static void write_called(char called[CALLED], const struct hub_links *l, const char *path, const char *typed)
{
    const size_t n = strlen(l->snapshot);
    const bool file = strlen(path) > n; /* than the snapshot */

    snprintf(called, CALLED, "%.200s%s%.200s%s", typed, file ? " (" : "", file ? path + n + 1 : "",
             file ? ")" : "");
}

/* rest: it is not complete, and what has come of blobs goes with it. */
static int remove_from_hub(const char *path, const char *typed, bool rest, bool yes)
{
    char called[CALLED];
    struct hub_links l;
    char size[SIZE_TEXT];
    bool elsewhere = false;
    int code = DONE;

    if (!hub_links_read(&l, path))
        code = l.failed ? fail_memory() : fail(FAILED, "rm: %s: it is no snapshot of the hub's cache", path);
    uint64_t freed = l.freed + (code == DONE ? packed_copy(path, false) : 0);
    if (code == DONE && rest)
        freed += hub_incomplete(l.folder, false);
    for (size_t i = 0; i < l.n; i++)
        elsewhere |= l.link[i].frees && l.link[i].elsewhere;
    if (code == DONE) {
        write_called(called, &l, path, typed);
        code = agree_to_remove(called, freed, yes);
    }
    if (code == DONE && rest)
        (void)hub_incomplete(l.folder, true);
    if (code == DONE)
        code = remove_links(&l, path);
    if (code == DONE)
        out_print("removed %s, %s are free\n", called, size_text(size, (double)freed));
    if (code == DONE && elsewhere)
        note("%s stay in the store that repositories share; 'hf cache prune' removes what none needs",
             size_text(size, (double)l.shared));
    else if (code == DONE && l.shared)
        note("%s stay: other snapshots need them", size_text(size, (double)l.shared));
    hub_links_free(&l);
    return code;
}

/* Where a part of a model lies that is not complete. */
static bool find_rest(char path[HUB_PATH], const carat_location *at)
{
    char hub[HUB_PATH], folder[HUB_PATH];
    const char *slash = at->repository ? strchr(at->repository, '/') : NULL;

    if (!slash || !find_hub(hub, sizeof hub) ||
        snprintf(folder, sizeof folder, "%s/models--%.*s--%s", hub, (int)(slash - at->repository),
                 at->repository, slash + 1) >= (int)sizeof folder ||
        access(folder, F_OK) != 0)
        return false;
    if (!at->commit)
        return hub_begun(path, folder);
    return snprintf(path, HUB_PATH, "%s/snapshots/%s", folder, at->commit) < HUB_PATH;
}

static int forget_alias(const char *typed)
{
    json_t *all = aliases_read();
    int code = all ? DONE : fail_memory();

    if (code == DONE && json_object_del(all, typed) == 0 && (code = aliases_write(all)) == DONE)
        out_print("removed the name %s; what it stood for is still there\n", typed);
    json_decref(all);
    return code;
}

static int remove_one(const char *typed, const struct options *o)
{
    char target[MOST_TARGET], path[HUB_PATH];
    carat_location at;

    if (strcmp(typed, "tiny") == 0 || strcmp(typed, "-") == 0)
        return fail(USAGE, "rm: %s is no model that could be removed", typed);
    if (access(typed, F_OK) != 0 && alias_target(target, typed))
        return forget_alias(typed);
    TRY(look_for_model(&at, typed));
    int code;
    if (at.named == CARAT_NAMED_PATH && at.path && !at.word)
        code = fail(USAGE, "rm: %.200s is a path; carat removes by name what was fetched by name", typed);
    else if (at.path && is_own_ollama(&at))
        code = remove_from_ollama(&at, typed, o->fetch->yes);
    else if (at.path && at.store && strcmp(at.store, "Hugging Face") != 0)
        code = leave_to_owner(&at, typed);
    else if (at.path && at.repository)
        code = remove_from_hub(at.path, typed, false, o->fetch->yes);
    else if (find_rest(path, &at))
        code = remove_from_hub(path, typed, true, o->fetch->yes);
    else
        code = fail(NOT_FOUND, "rm: %.200s is not on this machine; 'carat ls' lists what is", typed);
    carat_location_free(&at);
    return code;
}

int verb_rm(const struct options *o)
{
    out_fold(1);
    TRY(remove_one(o->model, o));
    if (o->text)
        TRY(remove_one(o->text, o));
    for (int i = 0; i < o->more.n; i++)
        TRY(remove_one(o->more.text[i], o));
    return DONE;
}
