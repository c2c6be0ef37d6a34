/* SPDX-License-Identifier: Apache-2.0 */
/* new_file.h: writing: directories, new files that appear whole, small files, the room on a disk. */
#ifndef CT_NEW_FILE_H
#define CT_NEW_FILE_H

#include "base/base.h"
#include "os/files.h"

/* Nothing is there, or a file or link that may give way to another. */
bool ct_os_replaceable(const char *path);
/* A regular file, not a link to one, that belongs to this user and that nobody else may write. */
bool ct_os_own_file(const char *path);
/* A directory of this user alone; with make it is made when absent, with its parents. *why, when false: what
 * is wrong, the end of a sentence. */
bool ct_os_own_directory(const char *dir, bool make, bool *writable, const char **why);
/* True when dir is a directory that this user may make files in. */
bool ct_os_takes_files(const char *dir);
/* Bytes of the disk that dir is on, and those of them that this user may still take; false when not known. As
 * df counts its share, what is reserved for others belongs to neither. */
bool ct_os_disk(const char *dir, uint64_t *total, uint64_t *left);

/* A new file, which gets its name only when it is whole. Only one process makes it at a time. */
struct ct_os_new {
    int fd;
    const char *path; /* borrowed */
    uint8_t *base;    /* [size] to be filled */
    size_t size;
};
/* What a killed process left there is emptied. mode: of the new file, as open takes it. E_BUSY: another
 * process makes the file; E_IO. */
carat_status ct_os_new_begin(struct ct_os_new *n, const char *path, unsigned mode, carat_error *err);
/* True when a process makes the file at this moment. */
bool ct_os_new_held(const char *path);
/* Takes size bytes of the disk and maps them, zeroed; E_IO when the disk has no room or the process may not
 * write so much, E_MEMORY. */
carat_status ct_os_new_size(struct ct_os_new *n, size_t size, carat_error *err);
/* Unmaps what was written; the file still has the name it was begun with. */
void ct_os_new_written(struct ct_os_new *n);
/* Brings it to the disk and gives it its name. The time of its last change is then a second ago, so that
 * a later write, even an immediate one, changes it. *id: the file under its name; zeroes when another file
 * has taken that name. */
carat_status ct_os_new_finish(struct ct_os_new *n, const char *name, struct ct_os_id *id, carat_error *err);
/* Gives it its name without bringing it to the disk: for what may be lost in a power cut. E_IO. */
carat_status ct_os_new_rename(struct ct_os_new *n, const char *name, carat_error *err);
/* Removes the file, in whatever state it is. */
void ct_os_new_abandon(struct ct_os_new *n);

/* A small file, made anew; false when that fails. One that a kill cut short lacks its end. */
bool ct_os_put(const char *path, const void *data, size_t n);
/* At most n bytes of a small file; the count. */
size_t ct_os_get(const char *path, void *data, size_t n);
bool ct_os_remove(const char *path);
void ct_os_remove_empty(const char *dir); /* a directory, if nothing is in it */
/* Sets its times to now. */
void ct_os_touch(const char *path);

#endif
