/* SPDX-License-Identifier: Apache-2.0 */
/* layout_kaggle.c: kagglehub's cache as it is written: models/OWNER/MODEL/FRAMEWORK/VARIATION/VERSION/FILE,
 * and a mark for each file that is whole, and for the version once all are, which kagglehub asks for. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/store_paths.h"
#include "layout.h"

static void kaggle_name(struct store *s)
{
    const struct ct_store_names names = {.root = s->plan->root, .name = ct_str_of(s->plan->repository)};

    ct_store_path(s->folder, sizeof s->folder, CT_AT_KAGGLE_FOLDER, &names);
}

static void write_path(char path[PLACE_PATH], const struct store *s, enum ct_store_path which,
                       const char *file)
{
    const struct ct_store_names names = {
        .root = s->folder, .version = ct_str_of(s->plan->commit), .file = ct_str_of(file)};

    ct_store_path(path, PLACE_PATH, which, &names);
}

/* A file without its mark may be what kagglehub was about to write: a beginning of it. */
static void kaggle_place(struct place *p, const struct store *s, const struct wanted *w)
{
    char mark[PLACE_PATH], all[PLACE_PATH], marks[PLACE_PATH];
    struct stat st;

    write_path(mark, s, CT_AT_KAGGLE_MARK, w->name);
    write_path(all, s, CT_AT_KAGGLE_ALL, "");
    write_path(marks, s, CT_AT_KAGGLE_MARKS, "");
    write_path(p->whole, s, CT_AT_KAGGLE_FILE, w->name);
    snprintf(p->part, sizeof p->part, "%.*s/%s.carat.incomplete", PLACE_PATH - PLAN_PATH, marks, w->name);
    snprintf(p->lock, sizeof p->lock, "%.*s/%s.carat.lock", PLACE_PATH - PLAN_PATH, marks, w->name);
    const bool marked = stat(mark, &st) == 0 || stat(all, &st) == 0;
    snprintf(p->older, sizeof p->older, "%s", marked ? "" : p->whole);
}

static int kaggle_enter(const struct store *s, const struct wanted *w)
{
    char mark[PLACE_PATH];

    write_path(mark, s, CT_AT_KAGGLE_MARK, w->name);
    return write_small(mark, "");
}

/* The plan has all files of the version. */
static int kaggle_end(const struct store *s, char *path, size_t capacity)
{
    char mark[PLACE_PATH], version[PLACE_PATH];

    write_path(mark, s, CT_AT_KAGGLE_ALL, "");
    write_path(version, s, CT_AT_KAGGLE_VERSION, "");
    snprintf(path, capacity, "%s", version);
    return write_small(mark, "");
}

const struct layout kaggle_layout = {
    .by_hash = true, .name = kaggle_name, .place = kaggle_place, .enter = kaggle_enter, .end = kaggle_end};
