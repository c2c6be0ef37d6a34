/* SPDX-License-Identifier: Apache-2.0 */
/* rehash.h: whether the files of a model in the hub's cache are what the publisher hashed: their names there
 * are those hashes. carat-fetch hashes them; it asks nobody. */
#ifndef MODEL_REHASH_H
#define MODEL_REHASH_H

#include <stdbool.h>
#include <stdint.h>

enum { REHASHED_TEXT = 512 };
struct rehashed {
    int files, wrong;
    char text[REHASHED_TEXT]; /* what was found, as the end of a line */
};

/* path: where a model was found. False: it lies in no such cache, or no file of it is named by a hash. */
bool can_rehash(const char *path);
/* An exit code: 0 also where files are wrong. */
int rehash(struct rehashed *r, const char *path);

#endif
