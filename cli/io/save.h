/* SPDX-License-Identifier: Apache-2.0 */
/* save.h: a file that is written as a whole: a regular one appears under its name only when it is complete.
 */
#ifndef SAVE_H
#define SAVE_H

#include <stdbool.h>
#include <stdio.h>

struct save {
    FILE *file;
    const char *path;
    char *partial; /* the name written to, NULL when path itself is (a device, a pipe) */
};

/* "-" is standard output. Exit codes. */
int save_open(struct save *s, const char *path);
int save_failed(const struct save *s); /* says why writing failed, by errno */
int save_close(struct save *s);        /* and gives it its name */
/* Throws away what is unfinished; harmless after save_close and on {0}. */
void save_abandon(struct save *s);

/* May a file that is there give way? By force, or when who sits before the terminal agrees; what is no
 * regular file is for others to judge. An exit code, behind a message. */
int save_over(const char *path, bool force);

/* Can the file be made or replaced? Opens nothing. what names the option in the message. An exit code. */
int check_writable(const char *what, const char *path);

#endif
