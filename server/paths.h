/* SPDX-License-Identifier: Apache-2.0 */
/* paths.h: patterns of paths, in which one * stands for any bytes, at least one. */
#ifndef PATHS_H
#define PATHS_H

#include "text.h"

bool path_fits(const char *pattern, struct text path);
/* What a path has at the * of a pattern that it fits, terminated, and cut where it is longer. */
void path_rest(const char *pattern, struct text path, char *rest, size_t capacity);

#endif
