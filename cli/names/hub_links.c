/* SPDX-License-Identifier: Apache-2.0 */
/* hub_links.c: see hub_links.h. Nothing is changed here. */
#define _POSIX_C_SOURCE 200809L
#include "names/hub_links.h"

#include "base/store_paths.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEEPEST = 8 };

bool is_hub_hash(const char *text, size_t digits)
{
    return strlen(text) == digits && strspn(text, "0123456789abcdef") == digits;
}

/* ---- all links ---- */

/* The blob of the repository that the link names, without a look at what that is. */
static char *blob_of(const struct hub_links *l, const char *path)
{
    char to[HUB_PATH], blob[HUB_PATH + 512];
    const ssize_t n = readlink(path, to, sizeof to - 1);

    if (n <= 0)
        return NULL;
    to[n] = 0;
    const char *name = strrchr(to, '/') ? strrchr(to, '/') + 1 : to;
    if (ct_store_path(blob, sizeof blob, CT_AT_HUB_BLOB,
                      &(struct ct_store_names){.root = l->folder, .hash = name}) >= sizeof blob)
        return NULL;
    return strdup(blob);
}

static void add_link(struct hub_links *l, const char *path)
{
    struct stat st;

    if (l->n == l->capacity) {
        const size_t capacity = l->capacity ? 2 * l->capacity : 32;
        struct hub_link *more = realloc(l->link, capacity * sizeof *more);
        if (!more) {
            l->failed = true;
            return;
        }
        l->link = more;
        l->capacity = capacity;
    }
    struct hub_link *k = &l->link[l->n];
    *k = (struct hub_link){.path = strdup(path), .blob = blob_of(l, path)};
    if (!k->path) {
        free(k->blob);
        l->failed = true;
        return;
    }
    k->bytes = stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
    k->elsewhere = k->blob && lstat(k->blob, &st) == 0 && S_ISLNK(st.st_mode);
    l->n++;
}

static void add_below(struct hub_links *l, const char *dir, int depth)
{
    char path[HUB_PATH];
    DIR *d = depth < DEEPEST ? opendir(dir) : NULL;
    struct dirent *e;
    struct stat st;

    while (d && (e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path || lstat(path, &st) != 0)
            continue;
        if (S_ISDIR(st.st_mode))
            add_below(l, path, depth + 1);
        else
            add_link(l, path);
    }
    if (d)
        closedir(d);
}

static int by_blob(const void *a, const void *b)
{
    const struct hub_link *x = a, *y = b;
    const int order = strcmp(x->blob ? x->blob : "", y->blob ? y->blob : "");

    return order ? order : strcmp(x->path, y->path);
}

/* ---- those of the model ---- */

static bool ends_in(const char *path, const char *ending)
{
    const size_t n = strlen(path), m = strlen(ending);

    return n >= m && strcasecmp(path + n - m, ending) == 0;
}

static bool holds_weights(const char *path)
{
    return ends_in(path, ".gguf") || ends_in(path, ".safetensors");
}

static bool is_below(const char *path, const char *dir)
{
    const size_t n = strlen(dir);

    return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* True: path is the file `first`, or a further part of it: "-00002-of-00003.gguf" for
 * "-00001-of-00003.gguf". */
static bool is_part_of(const char *path, const char *first)
{
    static const char number[] = "-00001-of-00001.gguf";
    const size_t n = strlen(first), m = sizeof number - 1;

    if (strcmp(path, first) == 0)
        return true;
    return n > m && strlen(path) == n && strncmp(path, first, n - m) == 0 && first[n - m] == '-' &&
           strncmp(first + n - m + 6, "-of-", 4) == 0 && strcmp(path + n - m + 6, first + n - m + 6) == 0;
}

/* A snapshot without any weights is of no use to anybody: its last model takes it along. */
static void want(struct hub_links *l, const char *path)
{
    bool whole = strcmp(path, l->snapshot) == 0, others = false;

    for (size_t i = 0; i < l->n && !whole; i++) {
        l->link[i].wanted = is_part_of(l->link[i].path, path);
        others |=
            !l->link[i].wanted && is_below(l->link[i].path, l->snapshot) && holds_weights(l->link[i].path);
    }
    for (size_t i = 0; i < l->n && !others; i++)
        l->link[i].wanted |= is_below(l->link[i].path, l->snapshot);
}

static bool same_blob(const struct hub_link *a, const struct hub_link *b)
{
    return a->blob && b->blob && strcmp(a->blob, b->blob) == 0;
}

/* Bytes of each blob once. */
static void count(struct hub_links *l)
{
    for (size_t i = 0, end; i < l->n; i = end) {
        struct hub_link *k = &l->link[i];
        bool all = true, any = false;
        for (end = i; end == i || (end < l->n && same_blob(k, &l->link[end])); end++) {
            all &= l->link[end].wanted;
            any |= l->link[end].wanted;
        }
        l->link[end - 1].frees = all;
        if (any)
            *(all && !k->elsewhere ? &l->freed : &l->shared) += k->bytes;
    }
}

bool hub_links_read(struct hub_links *l, const char *path)
{
    static const char between[] = "/snapshots/";
    char snapshots[HUB_PATH + 16];

    *l = (struct hub_links){.n = 0};
    const char *at = NULL;
    for (const char *p = path; (p = strstr(p, between)) != NULL; p++)
        at = p;
    if (!at)
        return false;
    const char *slash = at;
    while (slash > path && slash[-1] != '/')
        slash--;
    const char *commit = at + strlen(between), *behind = commit + strcspn(commit, "/");
    struct ct_store_names names;
    if (!ct_store_names(&names, CT_AT_HUB_FOLDER, (struct ct_str){slash, (size_t)(at - slash)}) ||
        behind == commit || behind - path >= HUB_PATH)
        return false;
    snprintf(l->folder, sizeof l->folder, "%.*s", (int)(at - path), path);
    snprintf(l->snapshot, sizeof l->snapshot, "%.*s", (int)(behind - path), path);
    names.root = l->folder;
    ct_store_path(snapshots, sizeof snapshots, CT_AT_HUB_SNAPSHOTS, &names);
    add_below(l, snapshots, 0);
    if (l->n > 0)
        qsort(l->link, l->n, sizeof *l->link, by_blob);
    want(l, path);
    count(l);
    return !l->failed;
}

void hub_links_free(struct hub_links *l)
{
    for (size_t i = 0; i < l->n; i++) {
        free(l->link[i].path);
        free(l->link[i].blob);
    }
    free(l->link);
    *l = (struct hub_links){.n = 0};
}

/* ---- what was begun ---- */

bool hub_begun(char path[HUB_PATH], const char *folder)
{
    const struct ct_store_names names = {.root = folder};
    char snapshots[HUB_PATH + 16];
    bool found = false;

    ct_store_path(snapshots, sizeof snapshots, CT_AT_HUB_SNAPSHOTS, &names);
    DIR *d = opendir(snapshots);
    for (struct dirent *e; d && !found && (e = readdir(d)) != NULL;) {
        struct hub_links l;
        if (*e->d_name == '.' || snprintf(path, HUB_PATH, "%s/%.80s", snapshots, e->d_name) >= HUB_PATH)
            continue;
        found = hub_links_read(&l, path);
        for (size_t i = 0; i < l.n; i++)
            found &= !(is_below(l.link[i].path, path) && holds_weights(l.link[i].path));
        hub_links_free(&l);
    }
    if (d)
        closedir(d);
    return found || snprintf(path, HUB_PATH, "%s/none", snapshots) < HUB_PATH;
}

uint64_t hub_incomplete(const char *folder, bool removes)
{
    struct ct_store_names names = {.root = folder};
    char path[HUB_PATH + 300];
    uint64_t bytes = 0;
    struct stat st;

    ct_store_path(path, sizeof path, CT_AT_HUB_BLOBS, &names);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        if (!ends_in(e->d_name, ".incomplete"))
            continue;
        names.hash = e->d_name;
        ct_store_path(path, sizeof path, CT_AT_HUB_BLOB, &names);
        bytes += lstat(path, &st) == 0 ? (uint64_t)st.st_blocks * 512 : 0;
        if (removes)
            (void)unlink(path);
    }
    if (d)
        closedir(d);
    return bytes;
}

/* ---- for lists ---- */

/* True: the cache has a store that all repositories share. The answer about the last cache is remembered:
 * questions about one cache follow each other. */
static bool has_store(const char *dir)
{
    static char last[HUB_PATH];
    static bool has;

    if (strcmp(dir, last) != 0) {
        has = access(dir, F_OK) == 0;
        snprintf(last, sizeof last, "%s", dir);
    }
    return has;
}

/* More than one snapshot, or such a store. */
static bool may_share(const char *path)
{
    const char *at = strstr(path, "/models--"), *behind = strstr(path, "/snapshots/");
    char dir[HUB_PATH];
    struct stat st;
    int n = 0;

    if (!at || !behind || snprintf(dir, sizeof dir, "%.*s/blobs", (int)(at - path), path) >= (int)sizeof dir)
        return false;
    if (has_store(dir))
        return true;
    snprintf(dir, sizeof dir, "%.*s/snapshots", (int)(behind - path), path);
    if (stat(dir, &st) == 0 &&
        st.st_nlink == 3) /* itself, its name, one folder: most file systems count them */
        return false;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d)) != NULL;)
        n += *e->d_name != '.';
    if (d)
        closedir(d);
    return n > 1;
}

uint64_t hub_shared(const char *path)
{
    struct hub_links l;
    uint64_t shared = 0;

    if (!may_share(path))
        return 0;
    if (hub_links_read(&l, path))
        shared = l.shared;
    hub_links_free(&l);
    return shared;
}
