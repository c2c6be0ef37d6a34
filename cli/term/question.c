/* SPDX-License-Identifier: Apache-2.0 */
/* question.c: see question.h. */
#define _POSIX_C_SOURCE 200809L
#include "term/question.h"

#include <stdarg.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

#include "term/interrupt.h"
#include "term/output.h"
#include "term/progress.h"

bool somebody_is_there(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

bool term_agrees(const char *format, ...)
{
    char text[1024], line[16];
    size_t n = 0;
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    out_flush();
    progress_hide();
    fprintf(stderr, "%s [y/N] ", text);
    fflush(stderr);
    /* byte by byte: what follows the line is somebody else's */
    while (n + 1 < sizeof line && read_unless_interrupted(STDIN_FILENO, line + n, 1) == 1 && line[n] != '\n')
        n++;
    line[n] = 0;
    return strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0;
}
