/* SPDX-License-Identifier: Apache-2.0 */
/* room.h: where tests keep their files. The cache packs nothing on a disk of which less than a fifth is free,
 * so a place is looked for that has more. What is put there is the tests' business. */
#ifndef CT_TEST_ROOM_H
#define CT_TEST_ROOM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/statvfs.h>

static inline bool has_room(const char *place)
{
    struct statvfs disk;
    return statvfs(place, &disk) == 0 &&
           (double)disk.f_bavail > 0.22 * (double)(disk.f_blocks - disk.f_bfree + disk.f_bavail) &&
           (double)disk.f_bavail * (double)disk.f_frsize > 300e6;
}

/* The first of two places that has room, else the first. */
static inline const char *roomy(const char *first, const char *second)
{
    return !has_room(first) && has_room(second) ? second : first;
}

#endif
