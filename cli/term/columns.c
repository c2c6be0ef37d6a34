/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c: how wide a terminal is, and how wide text may be. */
#define _POSIX_C_SOURCE 200809L
#include "term/columns.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

int terminal_columns(int fd)
{
    struct winsize window = {0};

    return isatty(fd) && ioctl(fd, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

int columns_of(int fd, int otherwise)
{
    const char *said = getenv("COLUMNS");
    long columns = said && *said >= '1' && *said <= '9' ? strtol(said, NULL, 10) : 0;

    if (columns <= 0)
        columns = terminal_columns(fd);
    if (columns <= 0 || columns > INT_MAX)
        return otherwise;
    return columns < 20 ? 20 : (int)columns;
}
