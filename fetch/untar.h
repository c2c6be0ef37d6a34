/* SPDX-License-Identifier: Apache-2.0 */
/* untar.h: a tar.gz read as it comes, in whichever pieces: its files are told in order. Regular files alone
 * are known, folders are passed over, and everything else, links and devices, is refused, as are names that
 * leave the folder. What becomes of a file is its listener's. */
#ifndef FETCH_UNTAR_H
#define FETCH_UNTAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct untar;

/* Each returns false to end it there. */
struct untar_listener {
    bool (*begin)(void *user, const char *name, int64_t bytes);
    bool (*put)(void *user, const void *data, size_t n);
    bool (*end)(void *user);
    void *user;
};

/* most: bytes that it may have unpacked, headers included. NULL: out of memory. */
struct untar *untar_open(const struct untar_listener *listener, int64_t most);
/* False: it is wrong, or the listener ended it; nothing more is taken. */
bool untar_take(struct untar *u, const void *data, size_t n);
/* All has come: whether it ends where a tar.gz does. */
bool untar_end(struct untar *u);
/* Says what was found and where, once one of them was false; "" where the listener ended it. */
const char *untar_why(const struct untar *u);
/* NULL is allowed. */
void untar_close(struct untar *u);

#endif
