/* SPDX-License-Identifier: Apache-2.0 */
/* layout_kaggle.c: kagglehub's cache as it is written: models/OWNER/MODEL/FRAMEWORK/VARIATION/VERSION/FILE,
 * and a mark for each file that is whole, and for the version once all are, which kagglehub asks for. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "layout.h"

static void kaggle_name(struct store *s)
{
    snprintf(s->folder, sizeof s->folder, "%s/models/%s", s->plan->root, s->plan->repository);
}

static void write_mark(char mark[PLACE_PATH], const struct store *s, const char *name)
{
    snprintf(mark, PLACE_PATH, "%s/.complete/%s/%s.complete", s->folder, s->plan->commit, name);
}

/* A file without its mark may be what kagglehub was about to write: a beginning of it. */
static void kaggle_place(struct place *p, const struct store *s, const struct wanted *w)
{
    char mark[PLACE_PATH], all[PLACE_PATH];
    struct stat st;

    write_mark(mark, s, w->name);
    snprintf(all, sizeof all, "%s/%s.complete", s->folder, s->plan->commit);
    snprintf(p->whole, sizeof p->whole, "%s/%s/%s", s->folder, s->plan->commit, w->name);
    snprintf(p->part, sizeof p->part, "%s/.complete/%s/%s.carat.incomplete", s->folder, s->plan->commit,
             w->name);
    snprintf(p->lock, sizeof p->lock, "%s/.complete/%s/%s.carat.lock", s->folder, s->plan->commit, w->name);
    const bool marked = stat(mark, &st) == 0 || stat(all, &st) == 0;
    snprintf(p->older, sizeof p->older, "%s", marked ? "" : p->whole);
}

static int kaggle_enter(const struct store *s, const struct wanted *w)
{
    char mark[PLACE_PATH];

    write_mark(mark, s, w->name);
    return write_small(mark, "");
}

/* The plan has all files of the version. */
static int kaggle_end(const struct store *s, char *path, size_t capacity)
{
    char mark[PLACE_PATH];

    snprintf(mark, sizeof mark, "%s/%s.complete", s->folder, s->plan->commit);
    snprintf(path, capacity, "%s/%s", s->folder, s->plan->commit);
    return write_small(mark, "");
}

const struct layout kaggle_layout = {
    .by_hash = true, .name = kaggle_name, .place = kaggle_place, .enter = kaggle_enter, .end = kaggle_end};
