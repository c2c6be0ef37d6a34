/* SPDX-License-Identifier: Apache-2.0 */
/* rehash.h: whether the files of a model in the hub's cache, or the weights in a store of ollama, are what
 * the publisher hashed: their names there are those hashes. carat-fetch hashes them; it asks nobody. */
#ifndef MODEL_REHASH_H
#define MODEL_REHASH_H

enum { REHASHED_TEXT = 512 };
struct rehashed {
    int files, wrong;         /* 0 files: there are none to hash, or nobody to do it */
    char text[REHASHED_TEXT]; /* what was found, as the end of a line; "": no file is named by a hash */
};

/* path: where a model was found. An exit code: 0 also where files are wrong. */
int rehash(struct rehashed *r, const char *path);

#endif
