/* SPDX-License-Identifier: Apache-2.0 */
/* new_dir.h: a new directory that appears whole, as new_file.h has it for files. */
#ifndef CT_NEW_DIR_H
#define CT_NEW_DIR_H

#include "base/base.h"

/* Gets its name only when it is whole. Only one process makes it at a time. */
struct ct_os_new_dir {
    int fd;
    const char *path; /* borrowed */
};
/* True when nothing is at path, or a directory without files; else *why is the end of a sentence. */
bool ct_os_takes_dir(const char *path, const char **why);
/* What a killed process left there is removed: files, and folders of files. E_BUSY: another process makes it;
 * E_IO. */
carat_status ct_os_new_dir_begin(struct ct_os_new_dir *d, const char *path, carat_error *err);
/* A folder in it. E_IO. */
carat_status ct_os_new_dir_folder(const struct ct_os_new_dir *d, const char *name, carat_error *err);
/* Brings its names to the disk and gives it its own, which nothing has, or a directory without files. E_IO:
 * then it is abandoned. */
carat_status ct_os_new_dir_finish(struct ct_os_new_dir *d, const char *name, carat_error *err);
/* Links in it to all that another directory has and it has not. E_IO. */
carat_status ct_os_new_dir_borrow(const struct ct_os_new_dir *d, const char *from, carat_error *err);
/* Gives its files, one after the other, to another directory, where they replace what has their names; the
 * rest is abandoned. E_IO: some may have gone there. */
carat_status ct_os_new_dir_give(struct ct_os_new_dir *d, const char *to, carat_error *err);
/* Removes it with what is in it. */
void ct_os_new_dir_abandon(struct ct_os_new_dir *d);

#endif
