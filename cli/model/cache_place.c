/* SPDX-License-Identifier: Apache-2.0 */
/* cache_place.c: where the cache lies: XDG_CACHE_HOME and HOME, as the standard of these variables says. The
 * library is told; it reads no environment. */
#include "model/cache_place.h"

#include <stdio.h>
#include <stdlib.h>

void cache_find(struct cache_place *c)
{
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n = -1;

    c->path[0] = 0;
    carat_cache_info_default(&c->in);
    carat_cache_look(NULL, &c->in, NULL);
    /* A relative path is to be ignored. */
    if (xdg && *xdg == '/')
        n = snprintf(c->path, sizeof c->path, "%s/carat", xdg);
    else if (home && *home == '/')
        n = snprintf(c->path, sizeof c->path, "%s/.cache/carat", home);
    if (n < 0 || n >= (int)sizeof c->path) {
        c->path[0] = 0;
        c->in.note = n < 0 ? "none: neither XDG_CACHE_HOME nor HOME is an absolute path"
                           : "none: its path is too long";
        return;
    }
    carat_cache_look(c->path, &c->in, NULL);
}
