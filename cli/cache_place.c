/* SPDX-License-Identifier: Apache-2.0 */
/* cache_place.c: where the cache lies: XDG_CACHE_HOME and HOME, as the standard of these variables says. The
 * library is told; it reads no environment. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli.h"

/* Could the directory be made, or is it there and takes files? Looks at the nearest parent that exists. As in
 * the library, one that is not this user's alone is left alone: root in a user's home would leave files there
 * that the user cannot remove. */
static void look(struct cache_place *c)
{
    char parent[MOST_CACHE_PATH];
    struct statvfs disk;
    struct stat st;

    c->exists = access(c->path, F_OK) == 0;
    snprintf(parent, sizeof parent, "%s", c->path);
    while (access(parent, F_OK) != 0 && errno == ENOENT) {
        char *slash = strrchr(parent, '/');
        if (!slash)
            break;
        slash[slash == parent] = 0;
    }
    bool found = stat(parent, &st) == 0 && S_ISDIR(st.st_mode);
    bool foreign = found && c->exists && st.st_uid != geteuid();
    bool open = found && c->exists && (st.st_mode & (S_IWGRP | S_IWOTH));
    c->ours = found && c->exists && !foreign && !open;
    c->writable = found && c->ours == c->exists && access(parent, W_OK | X_OK) == 0;
    c->note = c->writable ? (c->exists ? "exists" : "can be made")
              : foreign   ? "belongs to another user"
              : open      ? "can be written by others"
              : c->exists ? "exists, not writable"
                          : "cannot be made";
    if (found && statvfs(parent, &disk) == 0) {
        c->disk = (double)disk.f_blocks * (double)disk.f_frsize;
        c->disk_free = (double)disk.f_bavail * (double)disk.f_frsize;
    }
}

void cache_find(struct cache_place *c)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;

    *c = (struct cache_place){.path = ""};
    /* A relative path is to be ignored. */
    if (xdg && *xdg == '/')
        n = snprintf(c->path, sizeof c->path, "%s/carat", xdg);
    else if (home && *home == '/')
        n = snprintf(c->path, sizeof c->path, "%s/.cache/carat", home);
    if (n < 0 || n >= (int)sizeof c->path) {
        c->path[0] = 0;
        c->note = n < 0 ? "none: neither XDG_CACHE_HOME nor HOME is an absolute path"
                        : "none: its path is too long";
        return;
    }
    look(c);
}
