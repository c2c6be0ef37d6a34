/* SPDX-License-Identifier: Apache-2.0 */
/* descriptors.c: see descriptors.h. */
#include "descriptors.h"

#include <fcntl.h>
#include <sys/resource.h>

enum {
    KEPT = 32, /* descriptors that no connection gets: files, and one that is accepted before another ends */
    LOOKED_AT = 1024, /* a new descriptor gets the lowest number that is free */
    ENDLESS = 1 << 30,
};

static int count_open(long limit)
{
    int n = 0;

    for (int i = 0; i < LOOKED_AT && i < limit; i++)
        n += fcntl(i, F_GETFD) != -1;
    return n;
}

int descriptors_for(int most, long *limit)
{
    struct rlimit now;

    *limit = ENDLESS;
    if (getrlimit(RLIMIT_NOFILE, &now) != 0)
        return most;
    if (now.rlim_cur < now.rlim_max) {
        const struct rlimit all = {.rlim_cur = now.rlim_max, .rlim_max = now.rlim_max};
        if (setrlimit(RLIMIT_NOFILE, &all) == 0)
            now = all;
    }
    if (now.rlim_cur < ENDLESS)
        *limit = (long)now.rlim_cur;
    const long left = *limit - KEPT - count_open(*limit);
    return left < most ? (int)left : most;
}
