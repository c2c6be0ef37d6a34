/* SPDX-License-Identifier: Apache-2.0 */
/* speed_note.c: see speed_note.h. */
#define _POSIX_C_SOURCE 200809L
#include "model/speed_note.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "term/columns.h"

double speed_of(int n, double s)
{
    return n > 0 && s > 0 ? n / s : NAN;
}

void speed_notes_begin(struct speed_notes *r)
{
    int columns = terminal_columns(STDERR_FILENO);

    *r = (struct speed_notes){.columns = columns > 1 && columns < 80 ? columns - 1 : 79};
}

void speed_notes_flush(struct speed_notes *r)
{
    if (*r->line)
        fprintf(stderr, "%s%s%s\n", dim_on(), r->line, dim_off());
    *r->line = 0;
}

void speed_note_tell(struct speed_notes *r, const char *format, ...)
{
    char piece[sizeof r->line];
    size_t n = strlen(r->line);
    va_list args;

    va_start(args, format);
    vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    if (n > 0 && n + 2 + strlen(piece) > (size_t)r->columns) {
        speed_notes_flush(r);
        n = 0;
    }
    snprintf(r->line + n, sizeof r->line - n, "%s%s", n ? ", " : "", piece);
}

void note_speed(struct speed_notes *r, const char *what, int n, int of, double speed)
{
    char part[16] = "", pace[32] = "";

    if (n < of)
        snprintf(part, sizeof part, "%d of ", n);
    if (isfinite(speed))
        snprintf(pace, sizeof pace, " (%.*f tok/s)", speed < 100, speed);
    speed_note_tell(r, "%s %s%d token%s%s", what, part, of, of == 1 ? "" : "s", pace);
}
