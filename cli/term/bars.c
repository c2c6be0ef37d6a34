/* SPDX-License-Identifier: Apache-2.0 */
/* bars.c: several bars, see progress.h. */
#define _POSIX_C_SOURCE 200809L
#include "term/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "term/clock.h"
#include "term/columns.h"
#include "term/size.h"

enum { WIDEST_BAR = 30, LEAST_BAR = 6, WIDEST = 250, LINE = 1024 };

static const double interval = 0.1, span = 5; /* seconds between drawings; that a rate is of */
static const double elsewhere = 10;           /* between lines where there is no terminal */

/* ---- one line ---- */

static bool begins_character(char c)
{
    return ((unsigned char)c & 0xc0) != 0x80;
}

static int count_columns(const char *text)
{
    int n = 0;

    for (; *text; text++)
        n += begins_character(*text);
    return n;
}

static const char *skip_columns(const char *text, int n)
{
    for (; n > 0 && *text; n--)
        do
            text++;
        while (!begins_character(*text));
    return text;
}

/* The name in so many columns: of a longer one the end, which tells it from others. */
static void put_shortened(char *out, const char *name, int columns)
{
    const int wide = count_columns(name);
    const char *dots = wide > columns && columns > 3 ? "..." : "";

    if (wide > columns)
        name = skip_columns(name, wide - columns + (int)strlen(dots));
    snprintf(out, LINE, "%s%.900s%*s", dots, name, columns > wide ? columns - wide : 0, "");
}

static double share_of(int64_t done, int64_t all)
{
    return all <= 0 ? 0 : done >= all ? 1 : (double)done / (double)all;
}

/* " [####    ]" in so many columns. */
static void put_bar(char *out, double share, int columns)
{
    const int width = columns - 3 < WIDEST_BAR ? columns - 3 : WIDEST_BAR, full = (int)(share * width);

    snprintf(out, LINE, " [%.*s%*s]", full, "##############################", width - full, "");
}

static void put_time(char *out, size_t capacity, double left)
{
    if (left < 100)
        snprintf(out, capacity, "  %.0f s left", left);
    else if (left < 6000)
        snprintf(out, capacity, "  %.0f min left", left / 60);
    else
        snprintf(out, capacity, "  %.0f h left", left / 3600);
}

/* Name, bar and what stands behind them; the name has all room where the bar has none. */
static size_t put_line(char *text, const char *name, int longest, int room, double share, const char *behind)
{
    const bool barred = room - longest >= LEAST_BAR + 3;
    char shown[LINE], bar[LINE] = "";

    put_shortened(shown, name, barred ? longest : room);
    if (barred)
        put_bar(bar, share, room - longest);
    return (size_t)snprintf(text, LINE, "%s%s%s", shown, bar, behind);
}

void bars_lay_out(char text[BARS_TEXT], const char *label, int64_t done, int64_t all, const struct bar *bar,
                  int n, double rate, int columns)
{
    char behind[MOST_BARS + 1][96], speed[SIZE_TEXT], left[32] = "";
    int longest = count_columns(label), widest = 0;
    size_t used = 0;

    for (int i = 0; i < n; i++) {
        snprintf(behind[i], sizeof behind[i], " %3.0f %%%s%.40s", 100 * share_of(bar[i].done, bar[i].all),
                 bar[i].state ? "  " : "", bar[i].state ? bar[i].state : "");
        widest = (int)strlen(behind[i]) > widest ? (int)strlen(behind[i]) : widest;
        longest = count_columns(bar[i].name) > longest ? count_columns(bar[i].name) : longest;
    }
    for (int i = 0; i < n; i++) {
        used += put_line(text + used, bar[i].name, longest, columns - widest,
                         share_of(bar[i].done, bar[i].all), behind[i]);
        text[used++] = '\n';
    }
    if (rate > 0 && done < all)
        put_time(left, sizeof left, (double)(all - done) / rate);
    snprintf(behind[n], sizeof behind[n], " %3.0f %%", 100 * share_of(done, all));
    if (rate > 0)
        snprintf(behind[n] + strlen(behind[n]), sizeof behind[n] - strlen(behind[n]), "  %s/s%s",
                 size_text(speed, rate), left);
    put_line(text + used, label, longest, columns - (int)strlen(behind[n]), share_of(done, all), behind[n]);
}

/* ---- on the screen ---- */

static char drawn[BARS_TEXT], wipe[64]; /* what stands there, and how it goes */

/* Lines that became too long for a narrower terminal take several rows of it. */
static void note_rows(int columns)
{
    int rows = 0;

    for (const char *line = drawn; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        char one[LINE];
        snprintf(one, sizeof one, "%.*s", (int)strcspn(line, "\n"), line);
        const int wide = count_columns(one);
        rows += wide > columns ? (wide + columns - 1) / columns : 1;
    }
    if (rows > 1)
        snprintf(wipe, sizeof wipe, "\r\033[%dA\033[J", rows - 1);
    else
        snprintf(wipe, sizeof wipe, "\r\033[J");
}

void bars_begin(struct bars *b, const char *label)
{
    const char *term = getenv("TERM");

    progress_hide();
    *b = (struct bars){.label = label,
                       .terminal = isatty(STDERR_FILENO) && !(term && strcmp(term, "dumb") == 0),
                       .drawn = term_seconds()};
}

/* Bytes a second since a few seconds ago. */
static double take_sample(struct bars *b, double now, int64_t done)
{
    while (b->n_samples == BAR_SAMPLES || (b->n_samples > 1 && b->sample[1].when < now - span))
        memmove(b->sample, b->sample + 1, sizeof b->sample[0] * (size_t)--b->n_samples);
    if (b->n_samples == 0 || now - b->sample[b->n_samples - 1].when > span / (BAR_SAMPLES - 2)) {
        b->sample[b->n_samples].when = now;
        b->sample[b->n_samples++].done = done;
    }
    const double spent = now - b->sample[0].when;
    return spent > 0 && done > b->sample[0].done ? (double)(done - b->sample[0].done) / spent : 0;
}

void bars_update(struct bars *b, int64_t done, int64_t all, const struct bar *bar, int n)
{
    const double now = term_seconds(), rate = take_sample(b, now, done);
    char size[SIZE_TEXT], speed[SIZE_TEXT], left[32] = "";

    if (all <= 0 || now - b->drawn < (b->terminal ? interval : elsewhere))
        return;
    b->drawn = now;
    if (!b->terminal) {
        if (rate > 0)
            put_time(left, sizeof left, (double)(all - done) / rate);
        fprintf(stderr, "%s: %.0f %% of %s  %s/s%s\n", b->label, 100 * share_of(done, all),
                size_text(size, (double)all), size_text(speed, rate), left);
        return;
    }
    int columns = terminal_columns(STDERR_FILENO);
    columns = columns < 2 ? USUAL_COLUMNS : columns > WIDEST ? WIDEST : columns;
    if (progress_stands()) {
        note_rows(columns);
        progress_hide();
    }
    /* the last column stays free: in it some terminals go on to the next line; and the two of ^C */
    bars_lay_out(drawn, b->label, done, all, bar, n < MOST_BARS ? n : MOST_BARS, rate, columns - 3);
    note_rows(columns);
    fputs(drawn, stderr);
    fflush(stderr);
    progress_stands_as(wipe);
}

void bars_end(struct bars *b)
{
    if (b->terminal && progress_stands()) {
        const int columns = terminal_columns(STDERR_FILENO);
        note_rows(columns < 2 ? USUAL_COLUMNS : columns);
        progress_hide();
    }
}
