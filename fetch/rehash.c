/* SPDX-License-Identifier: Apache-2.0 */
/* rehash.c: what files on the disk are by now, see download.h. */
#define _POSIX_C_SOURCE 200809L
#include "download.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hasher.h"
#include "report.h"

enum { STEP = 16 << 20 }; /* bytes between two words about how far it is */

struct rehashing {
    const struct wanted *file;
    int64_t before, total, told; /* bytes of the files before this one, of all */
};

static void tell(void *user, int64_t done)
{
    struct rehashing *r = user;
    const struct report_running running = {r->file->name, done, r->file->bytes, "checking"};

    if (r->before + done < r->told + STEP)
        return;
    r->told = r->before + done;
    report_progress(r->told, r->total, &running, 1);
}

static void rehash_one(struct rehashing *r, const char *root)
{
    char path[2 * PLAN_PATH], hash[PLAN_HASH] = "";
    struct stat st = {.st_size = 0};

    snprintf(path, sizeof path, "%s/%s", root, r->file->name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        !hasher_whole(fd, st.st_size, r->file->hash, hash, tell, r))
        *hash = 0;
    if (fd >= 0)
        close(fd);
    report_file(r->file->name, st.st_size, hash);
    r->before += r->file->bytes;
}

int rehash_all(const struct plan *plan)
{
    struct rehashing r = {.before = 0};

    for (int i = 0; i < plan->n; i++)
        r.total += plan->file[i].bytes;
    for (r.file = plan->file; r.file < plan->file + plan->n; r.file++)
        rehash_one(&r, plan->root);
    return DONE;
}
