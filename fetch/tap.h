/* SPDX-License-Identifier: Apache-2.0 */
/* tap.h: who hears the bytes of a file in order while it is hashed, out of what the disk has: for a plan of
 * one file. */
#ifndef FETCH_TAP_H
#define FETCH_TAP_H

#include <stddef.h>
#include <stdint.h>

struct tap {
    void (*begin)(struct tap *tap); /* the first byte is next, perhaps once more */
    void (*take)(struct tap *tap, const void *data, size_t n);
    /* All were heard, and the hash is right: a code of report.h. */
    int (*end)(struct tap *tap);
    /* It is not. */
    void (*drop)(struct tap *tap);
    int64_t room; /* that the disk has to have beside the file's */
};

#endif
