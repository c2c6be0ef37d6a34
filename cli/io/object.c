/* SPDX-License-Identifier: Apache-2.0 */
/* object.c: see object.h. */
#define _POSIX_C_SOURCE 200809L
#include "io/object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_FILE = 1 << 20 };

json_t *object_read(const char *path, char why[OBJECT_WHY])
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    json_t *all = NULL;
    json_error_t e;

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return json_object();
    if (fd < 0) {
        snprintf(why, OBJECT_WHY, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= MOST_FILE)
        all = json_loadfd(fd, JSON_REJECT_DUPLICATES, &e);
    else
        snprintf(e.text, sizeof e.text, "it is no file of at most %d bytes", MOST_FILE);
    close(fd);
    if (json_is_object(all))
        return all;
    snprintf(why, OBJECT_WHY, "%s", all ? "it is no object of names" : e.text);
    json_decref(all);
    return NULL;
}
