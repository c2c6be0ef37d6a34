/* SPDX-License-Identifier: Apache-2.0 */
/* paths.c: patterns of paths. */
#include "paths.h"

#include <stdio.h>

bool path_fits(const char *pattern, struct text path)
{
    const char *star = strchr(pattern, '*');
    const size_t n = strlen(pattern), before = star ? (size_t)(star - pattern) : n;
    const size_t behind = star ? n - before - 1 : 0;

    return (star ? path.n >= n : path.n == n) && memcmp(path.s, pattern, before) == 0 &&
           memcmp(path.s + path.n - behind, pattern + n - behind, behind) == 0;
}

void path_rest(const char *pattern, struct text path, char *rest, size_t capacity)
{
    const size_t before = strcspn(pattern, "*"), n = path.n + 1 - strlen(pattern);

    *rest = 0;
    if (pattern[before])
        snprintf(rest, capacity, "%.*s", (int)n, path.s + before);
}
