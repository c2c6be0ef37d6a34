/* SPDX-License-Identifier: Apache-2.0 */
/* glance.h: what a model is, by the first bytes of its file, for lists. Nothing is opened as a model, so what
 * is said here is what the file says of itself. */
#ifndef STORE_GLANCE_H
#define STORE_GLANCE_H

#include <stdint.h>

enum { GLANCE_TEXT = 32 };
struct glance {
    char kind[GLANCE_TEXT]; /* architecture, as "gemma3", or "" */
    char type[GLANCE_TEXT]; /* quantisation, as "Q4_K_M" or "BF16", or "" */
    int64_t used;           /* when it was read last, in seconds since 1970; 0: not known */
};
/* path: a GGUF file or a directory; anything else leaves it empty. */
void glance_at(struct glance *g, const char *path);

#endif
