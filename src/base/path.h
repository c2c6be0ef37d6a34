/* SPDX-License-Identifier: Apache-2.0 */
/* path.h: paths as texts. What lies at one is src/os's. */
#ifndef CT_PATH_H
#define CT_PATH_H

#include "base/arena.h"
#include "base/base.h"

/* True for a path that can be followed from a directory without leaving that: a relative path of UTF-8
 * without control characters and backslashes, no part of which is empty, "." or "..". For names that come
 * from others. */
bool ct_path_stays_inside(struct ct_str path);
/* In place, %20 and so on become what they stand for in addresses. Returns the length: %00 is a NUL, too. */
size_t ct_path_unescape(char *s);
/* a/b, in the arena; NULL when memory is out. */
char *ct_path_join(struct ct_arena *arena, const char *a, const char *b);

#endif
