/* SPDX-License-Identifier: Apache-2.0 */
/* files.h: mapping files, and what lies at a path. Errors name the path. */
#ifndef CT_FILES_H
#define CT_FILES_H

#include "base/base.h"

/* What tells one state of a file from another; nanoseconds since 1970. */
struct ct_os_id {
    uint64_t device, inode, size;
    int64_t modified, changed;
};

/* A read-only mapping of a whole file. An empty file maps to data != NULL, size 0. */
struct ct_map {
    struct ct_bytes bytes;
    void *base;
    size_t length;
    struct ct_os_id id;
};
carat_status ct_os_map(struct ct_map *m, const char *path, carat_error *err);
void ct_os_unmap(struct ct_map *m);

/* 0 = nothing there, 1 = regular file (or something that reads like one), 2 = directory. */
int ct_os_kind(const char *path);
/* The same, and what it is. */
int ct_os_identify(struct ct_os_id *id, const char *path);
/* The same for a file that need not be there. A link that leads nowhere or in a circle is an error, so that a
 * file which somebody put there is never passed over. E_NOT_FOUND, E_IO. */
carat_status ct_os_look(int *kind, const char *path, carat_error *err);
/* Nothing has this name, not even a link that leads nowhere. */
bool ct_os_absent(const char *path);
/* What the link at path holds, terminated; false: it is no link, or that is not shorter than n. */
bool ct_os_read_link(char *target, size_t n, const char *path);
/* The path as it reads from every directory, into out[n]; as it is where that is not known or too long. */
void ct_os_absolute(char *out, size_t n, const char *path);
/* E_IO when names in a directory cannot be looked up, so that all its files would seem to be missing. */
carat_status ct_os_enter(const char *dir, carat_error *err);

/* Gives the first n bytes of a file to feed, a piece at a time; false when they cannot be read. */
bool ct_os_read_head(const char *path, uint64_t n, void (*feed)(void *user, const void *p, size_t n),
                     void *user);

/* Opens a regular file to be read by place; -1 and errno, or -1 and errno 0 for what is no regular file. *id:
 * what it is. The descriptor reads this file, whatever its name leads to later. */
int ct_os_open_file(const char *path, struct ct_os_id *id);
void ct_os_close_file(int fd);
/* Another descriptor of the same file; -1 and errno. */
int ct_os_share_file(int fd);
/* False: the file has not so many bytes there, or cannot be read; *error is errno, or 0 where it ends. */
bool ct_os_read_at(int fd, void *to, size_t n, uint64_t at, int *error);
/* Tells the system that these bytes will be read soon. Does not wait. */
void ct_os_will_read(int fd, uint64_t at, size_t n);

/* The names in a directory, in no order; nothing when there is none. */
void ct_os_names_in(const char *dir, void (*visit)(void *user, const char *name), void *user);
/* What a number of errno means: constant, in English, safe with threads. */
const char *ct_os_reason(int number);

#endif
