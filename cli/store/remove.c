/* SPDX-License-Identifier: Apache-2.0 */
/* remove.c: see remove.h. */
#define _POSIX_C_SOURCE 200809L
#include "store/remove.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "carat_tools.h"
#include "model/cache_place.h"
#include "term/exit.h"
#include "term/message.h"
#include "term/question.h"
#include "term/size.h"

struct packed {
    struct stat model;
    uint64_t bytes;
    bool removes;
};

static int visit_packed(void *user, const carat_cache_entry *e)
{
    struct packed *p = user;
    struct stat st;
    const bool same = *e->origin && stat(e->origin, &st) == 0 && st.st_dev == p->model.st_dev &&
                      st.st_ino == p->model.st_ino;

    p->bytes += same ? e->bytes : 0;
    return same && p->removes;
}

uint64_t packed_copy(const char *path, bool removes)
{
    struct packed p = {.removes = removes};
    struct cache_place place;

    cache_find(&place);
    if (*place.path && stat(path, &p.model) == 0)
        (void)carat_cache_walk(place.path, visit_packed, &p, NULL);
    return p.bytes;
}

int remove_file(const char *path)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return DONE;
    return fail(FAILED, "%s: cannot be removed: %s", path, strerror(errno));
}

int agree_to_remove(const char *called, uint64_t freed, bool yes)
{
    char size[SIZE_TEXT];

    if (yes)
        return DONE;
    size_text(size, (double)freed);
    if (!somebody_is_there())
        return fail(USAGE, "rm: %s: %s would be free, and nobody is there to be asked: --yes removes it",
                    called, size);
    return agrees("Remove %s, which frees %s?", called, size)
               ? DONE
               : fail(FAILED, "rm: %s was not removed", called);
}
