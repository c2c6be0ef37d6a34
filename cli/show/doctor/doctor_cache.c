/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_cache.c: what lies in the cache of packed models, counted. What is done with it is pack.c's. */
#define _DEFAULT_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "show/doctor/doctor.h"

static const char suffix[] = ".part"; /* of files that are being written, or were given up: counted apart */

static bool is_part(const char *name)
{
    size_t n = strlen(name);
    return n > strlen(suffix) && strcmp(name + n - strlen(suffix), suffix) == 0;
}

static int count(void *user, const carat_cache_entry *e)
{
    struct cache_content *c = user;

    if (is_part(e->file))
        return 0;
    c->n[e->state]++;
    c->bytes[e->state] += (double)e->bytes;
    return 0;
}

/* A file that is being written is locked by its writer; an abandoned one is not locked. */
static bool is_given_up(int directory, const char *name, double *bytes)
{
    int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    bool free = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && flock(fd, LOCK_SH | LOCK_NB) == 0;

    if (free)
        *bytes += (double)st.st_blocks * 512;
    if (fd >= 0)
        close(fd); /* and unlock */
    return free;
}

void doctor_look_into(struct cache_content *c, const char *directory)
{
    DIR *d = opendir(directory);
    struct dirent *entry;

    if (!d)
        return;
    while ((entry = readdir(d)) != NULL) {
        if (is_part(entry->d_name))
            c->n_part += is_given_up(dirfd(d), entry->d_name, &c->part_bytes);
    }
    closedir(d);
    carat_cache_walk(directory, count, c, NULL); /* what cannot be walked is as good as empty */
}

int doctor_cache_count(const struct cache_content *c, carat_cache_state from, double *bytes)
{
    int n = 0;

    *bytes = 0;
    for (int i = from; i < CACHE_STATES; i++) {
        n += c->n[i];
        *bytes += c->bytes[i];
    }
    return n;
}
