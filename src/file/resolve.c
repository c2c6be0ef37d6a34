/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c: which model a directory stands for, where it is not the model itself: the snapshot of a hub
 * cache's folder, the only GGUF file of a directory without safetensors. What the model's own files hold is
 * not looked at. */
#include "base/store_paths.h"
#include "file/reader.h"
#include "os/files.h"

#include <errno.h>
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

bool ct_hub_parse_ref(char commit[CT_HUB_REVISION + 1], struct ct_bytes text)
{
    size_t n = text.size;

    while (n && (text.data[n - 1] == '\n' || text.data[n - 1] == '\r' || text.data[n - 1] == ' '))
        n--;
    const struct ct_str s = {(const char *)text.data, n};
    const bool good = ct_name_ok(s, CT_HUB_REVISION) && !memchr(s.s, '/', n) && *s.s != '.';
    snprintf(commit, CT_HUB_REVISION + 1, "%.*s", good ? (int)n : 0, s.s);
    return good;
}

carat_status ct_hub_read_ref(char commit[CT_HUB_REVISION + 1], const char *path, carat_error *err)
{
    uint8_t text[2 * CT_HUB_REVISION];
    struct ct_os_id id = {0};
    const int fd = ct_os_open_file(path, &id);
    int why = fd < 0 ? errno : 0;

    if (fd >= 0) {
        const bool good = id.size <= sizeof text && ct_os_read_at(fd, text, (size_t)id.size, 0, &why) &&
                          ct_hub_parse_ref(commit, (struct ct_bytes){text, (size_t)id.size});
        ct_os_close_file(fd);
        if (good)
            return CARAT_OK;
    }
    if (why)
        return ct_fail(err, CARAT_E_IO, "%s: cannot be read: %s", path, ct_os_reason(why));
    return ct_bad_file(err, path, "%zu bytes that name no snapshot, expected a commit's hash",
                       (size_t)id.size);
}

static carat_status enter_snapshot(char **path, carat_error *err)
{
    char ref[4096], commit[CT_HUB_REVISION + 1], name[32 + CT_HUB_REVISION];
    struct ct_store_names names = {.root = NULL, .version = ct_str_of("main")};
    int kind;

    ct_store_path(name, sizeof name, CT_AT_HUB_SNAPSHOTS, &names);
    if (ct_exists_in(*path, "config.json") || !ct_exists_in(*path, name))
        return CARAT_OK;
    names.root = *path;
    ct_store_path(ref, sizeof ref, CT_AT_HUB_REF, &names);
    CT_TRY(ct_os_look(&kind, ref, err));
    if (kind == 0)
        return ct_fail(err, CARAT_E_NOT_FOUND,
                       "%s is a folder of a hub cache without refs/main: name one of the directories in its "
                       "snapshots",
                       *path);
    CT_TRY(ct_hub_read_ref(commit, ref, err));
    names = (struct ct_store_names){.root = NULL, .version = ct_str_of(commit)};
    ct_store_path(name, sizeof name, CT_AT_HUB_SNAPSHOT, &names);
    if (!ct_exists_in(*path, name))
        return ct_fail(err, CARAT_E_NOT_FOUND, "%s names %s, which is not there: download the model again",
                       ref, name);
    return enter_directory(path, name, err);
}

/* ---- a directory of GGUF files ---- */

bool ct_has_safetensors(const char *dir)
{
    return ct_exists_in(dir, "model.safetensors") || ct_exists_in(dir, "model.safetensors.index.json");
}

enum { MAX_NAMES = CT_SHOWN_NAMES };

struct ggufs {
    const char *name[MAX_NAMES]; /* the first ones, in the arena */
    int n;
    bool failed;
    struct ct_arena arena;
};

static void add_gguf(void *user, const char *name)
{
    struct ggufs *g = user;
    if (!ct_gguf_is_model(name))
        return;
    if (g->n < MAX_NAMES && !(g->name[g->n] = ct_arena_str(&g->arena, name, strlen(name))))
        g->failed = true;
    g->n++;
}

static carat_status enter_gguf(char **path, bool tokenizer_only, carat_error *err)
{
    struct ggufs g = {.n = 0};
    carat_status status = CARAT_OK;

    if (ct_has_safetensors(*path) ||
        (tokenizer_only && (ct_exists_in(*path, "tokenizer.json") || ct_exists_in(*path, "tokenizer.model"))))
        return CARAT_OK;
    ct_os_names_in(*path, add_gguf, &g);
    if (g.failed)
        status = ct_no_memory(err, *path);
    else if (g.n == 1)
        status = enter_directory(path, g.name[0], err);
    else if (g.n > 1)
        status = ct_gguf_fail_several(*path, g.name, g.n, err);
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
