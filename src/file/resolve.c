/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c: which model a directory stands for, where it is not the model itself: the snapshot of a hub
 * cache's folder, the only GGUF file of a directory without safetensors. What the model's own files hold is
 * not looked at. */
#include "file/reader.h"
#include "os/files.h"

#include <stdlib.h>

/* Puts dir/name in place of *path. */
static carat_status enter_directory(char **path, const char *name, carat_error *err)
{
    size_t d = strlen(*path), size = d + strlen(name) + 2;
    char *longer = malloc(size);
    if (!longer)
        return ct_no_memory(err, *path);
    snprintf(longer, size, "%s%s%s", *path, d && (*path)[d - 1] == '/' ? "" : "/", name);
    free(*path);
    *path = longer;
    return CARAT_OK;
}

/* ---- the folder of a hub cache: refs/main names one of snapshots/ ---- */

enum { MAX_REVISION = 128 };

static carat_status enter_snapshot(char **path, carat_error *err)
{
    char ref[4096], name[sizeof "snapshots/" + MAX_REVISION];
    struct ct_map m;
    int kind;

    if (ct_exists_in(*path, "config.json") || !ct_exists_in(*path, "snapshots"))
        return CARAT_OK;
    snprintf(ref, sizeof ref, "%s/refs/main", *path);
    CT_TRY(ct_os_look(&kind, ref, err));
    if (kind == 0)
        return ct_fail(err, CARAT_E_NOT_FOUND,
                       "%s is a folder of a hub cache without refs/main: name one of the directories in its "
                       "snapshots",
                       *path);
    CT_TRY(ct_os_map(&m, ref, err));
    size_t n = m.bytes.size;
    while (n && (m.bytes.data[n - 1] == '\n' || m.bytes.data[n - 1] == '\r' || m.bytes.data[n - 1] == ' '))
        n--;
    struct ct_str revision = {(const char *)m.bytes.data, n};
    bool good = ct_name_ok(revision, MAX_REVISION) && !memchr(revision.s, '/', n) && revision.s[0] != '.';
    snprintf(name, sizeof name, "snapshots/%.*s", good ? (int)n : 0, revision.s);
    ct_os_unmap(&m);
    if (!good)
        return ct_bad_file(err, ref, "%zu bytes that name no snapshot, expected a commit's hash", n);
    if (!ct_exists_in(*path, name))
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s names %s, which is not there: download the model again",
                       ref, name);
    return enter_directory(path, name, err);
}

/* ---- a directory of GGUF files ---- */

enum { MAX_NAMES = 64 };

struct ggufs {
    const char *name[MAX_NAMES]; /* the first ones, in the arena */
    int n;
    bool failed;
    struct ct_arena arena;
};

/* One that can be opened: no image encoder, and of the parts of one model the first. */
static bool is_model(const char *name)
{
    size_t n = strlen(name);
    const char *part = n > 20 ? name + n - 20 : ""; /* -00002-of-00003.gguf */
    unsigned index, count;
    char end;
    if (n <= 5 || strcmp(name + n - 5, ".gguf") != 0 || strncmp(name, "mmproj", 6) == 0)
        return false;
    return sscanf(part, "-%5u-of-%5u.ggu%c", &index, &count, &end) != 3 || index <= 1;
}

static void add_gguf(void *user, const char *name)
{
    struct ggufs *g = user;
    if (!is_model(name))
        return;
    if (g->n < MAX_NAMES && !(g->name[g->n] = ct_arena_str(&g->arena, name, strlen(name))))
        g->failed = true;
    g->n++;
}

static int compare_gguf_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static carat_status fail_several(const char *path, struct ggufs *g, carat_error *err)
{
    char list[320] = "", one[CT_QUOTE];
    int shown = 0, kept = CT_MIN(g->n, MAX_NAMES);
    qsort(g->name, (size_t)kept, sizeof *g->name, compare_gguf_names);
    for (size_t used = 0; shown < kept; shown++) {
        ct_quote(one, ct_str_of(g->name[shown]));
        if (used + strlen(one) + 3 > sizeof list)
            break;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", shown ? ", " : "", one);
    }
    char more[32] = "";
    if (shown < g->n)
        snprintf(more, sizeof more, " and %d more", g->n - shown);
    return ct_fail(err, CARAT_E_NOT_FOUND, "%.120s holds %d GGUF models: name one of %s%s", path, g->n, list,
                   more);
}

static carat_status enter_gguf(char **path, bool tokenizer_only, carat_error *err)
{
    struct ggufs g = {.n = 0};
    carat_status status = CARAT_OK;

    if (ct_exists_in(*path, "model.safetensors") || ct_exists_in(*path, "model.safetensors.index.json") ||
        (tokenizer_only && (ct_exists_in(*path, "tokenizer.json") || ct_exists_in(*path, "tokenizer.model"))))
        return CARAT_OK;
    ct_os_names_in(*path, add_gguf, &g);
    if (g.failed)
        status = ct_no_memory(err, *path);
    else if (g.n == 1)
        status = enter_directory(path, g.name[0], err);
    else if (g.n > 1)
        status = fail_several(*path, &g, err);
    ct_arena_free(&g.arena);
    return status;
}

carat_status ct_file_resolve(char **resolved, const char *path, bool tokenizer_only, carat_error *err)
{
    char *at = malloc(strlen(path) + 1);
    if (!at)
        return ct_no_memory(err, path);
    strcpy(at, path);
    carat_status status = CARAT_OK;
    if (ct_os_kind(at) == 2)
        status = enter_snapshot(&at, err);
    if (!status && ct_os_kind(at) == 2)
        status = enter_gguf(&at, tokenizer_only, err);
    if (status)
        free(at);
    else
        *resolved = at;
    return status;
}
