/* cache.c: where the cache lies: XDG_CACHE_HOME and HOME, as the standard of these variables says. The library is told; it
 * reads no environment. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"

/* Could the directory be made, or is it there and takes files? Looks at the nearest parent that exists. */
static bool can_write(const char *path)
{
    char parent[MOST_CACHE_PATH];

    snprintf(parent, sizeof parent, "%s", path);
    while (access(parent, F_OK) != 0 && errno == ENOENT) {
        char *slash = strrchr(parent, '/');
        if (!slash)
            return false;
        slash[slash == parent] = 0;
    }
    struct stat st;
    return stat(parent, &st) == 0 && S_ISDIR(st.st_mode) && access(parent, W_OK | X_OK) == 0;
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
    c->exists = access(c->path, F_OK) == 0;
    c->writable = can_write(c->path);
    c->note = c->exists ? (c->writable ? "exists" : "exists, not writable")
                        : (c->writable ? "can be made" : "cannot be made");
}
