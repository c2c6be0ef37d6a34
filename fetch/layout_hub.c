/* SPDX-License-Identifier: Apache-2.0 */
/* layout_hub.c: the hub's cache as it is written: blobs under their hashes, links to them in snapshots, refs.
 * It is huggingface_hub's, which reads what is written here. A snapshot gets its link when the blob is there,
 * a branch its commit when all links are. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/store_paths.h"
#include "layout.h"
#include "report.h"

/* Backup programs leave a folder out that has this file (bford.info/cachedir). */
static void tag_cache(const char *root)
{
    static const char text[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
                               "# This file is a cache directory tag, see https://bford.info/cachedir/\n";
    char path[PLAN_PATH + 16];

    snprintf(path, sizeof path, "%s/CACHEDIR.TAG", root);
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 && write(fd, text, sizeof text - 1) != (ssize_t)sizeof text - 1)
        unlink(path);
    if (fd >= 0)
        close(fd);
}

/* The names that stand in paths below a root. */
static struct ct_store_names names_of(const struct store *s, const char *root, const struct wanted *w)
{
    struct ct_store_names names = {.root = root, .version = ct_str_of(s->plan->commit)};

    ct_store_split(&names, s->plan->repository);
    if (w) {
        names.file = ct_str_of(w->name);
        names.hash = w->hash;
    }
    return names;
}

static void hub_name(struct store *s)
{
    const struct ct_store_names names = names_of(s, s->plan->root, NULL);

    ct_store_path(s->folder, sizeof s->folder, CT_AT_HUB_FOLDER, &names);
}

static bool is_file(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Sets the places of a file. Where there are no links, a snapshot has the file itself. */
static void hub_place(struct place *p, const struct store *s, const struct wanted *w)
{
    const struct ct_store_names names = names_of(s, s->folder, w), in_cache = names_of(s, s->plan->root, w);
    char name_of_file[PLACE_PATH];

    ct_store_path(p->whole, sizeof p->whole, CT_AT_HUB_BLOB, &names);
    snprintf(p->part, sizeof p->part, "%s.carat.incomplete", p->whole);
    snprintf(p->older, sizeof p->older, "%s.incomplete", p->whole);
    ct_store_path(p->lock, sizeof p->lock, CT_AT_HUB_LOCK, &in_cache);
    ct_store_path(name_of_file, sizeof name_of_file, CT_AT_HUB_FILE, &names);
    if (is_file(name_of_file))
        memcpy(p->whole, name_of_file, sizeof p->whole);
}

/* A link, or the file itself where links cannot be made. */
static int link_or_move(const char *target, const char *path, const char *whole)
{
    if (symlink(target, path) == 0)
        return DONE;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
        return fail_at(path, "linked");
    return rename(whole, path) == 0 ? DONE : fail_at(path, "made");
}

static int hub_enter(const struct store *s, const struct wanted *w)
{
    const struct ct_store_names names = names_of(s, s->folder, w), below = names_of(s, NULL, w);
    char path[PLACE_PATH], beside[PLACE_PATH + 32], target[PLAN_PATH] = "../../", old[PLAN_PATH];
    struct place at;

    hub_place(&at, s, w);
    ct_store_path(path, sizeof path, CT_AT_HUB_FILE, &names);
    TRY(make_folders(path));
    tag_cache(s->plan->root);
    if (strcmp(path, at.whole) == 0)
        return DONE; /* it is the file itself */
    for (const char *slash = w->name; (slash = strchr(slash, '/')); slash++)
        strcat(target, "../");
    ct_store_path(target + strlen(target), sizeof target - strlen(target), CT_AT_HUB_BLOB, &below);
    const ssize_t n = readlink(path, old, sizeof old - 1);
    if (n == (ssize_t)strlen(target) && memcmp(old, target, (size_t)n) == 0)
        return DONE;
    snprintf(beside, sizeof beside, "%s.carat-%ld", path, (long)getpid());
    TRY(link_or_move(target, beside, at.whole));
    return rename(beside, path) == 0 ? DONE : fail_at(path, "linked");
}

static bool holds(const char *path, const char *text)
{
    char held[PLAN_HASH + 1] = "";
    FILE *f = fopen(path, "re");
    const bool same = f && fgets(held, sizeof held, f) && strcmp(held, text) == 0;

    if (f)
        fclose(f);
    return same;
}

static int hub_end(const struct store *s, char *path, size_t capacity)
{
    char ref[PLACE_PATH];
    const struct plan *plan = s->plan;
    struct ct_store_names names = names_of(s, s->folder, NULL);

    ct_store_path(path, capacity, CT_AT_HUB_SNAPSHOT, &names);
    if (!*plan->revision || strcmp(plan->revision, plan->commit) == 0)
        return DONE;
    names.version = ct_str_of(plan->revision);
    ct_store_path(ref, sizeof ref, CT_AT_HUB_REF, &names);
    if (holds(ref, plan->commit))
        return DONE;
    return write_small(ref, plan->commit);
}

const struct layout hub_layout = {
    .by_hash = true, .name = hub_name, .place = hub_place, .enter = hub_enter, .end = hub_end};
