/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c: draws the bar. Whether the work goes on after Ctrl-C is asked of interrupt.c. */
#define _POSIX_C_SOURCE 200809L
#include "term/progress.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "term/clock.h"
#include "term/columns.h"
#include "term/interrupt.h"

enum { WIDEST_BAR = 24, LEAST_BAR = 4, LINE = 200 };

/* Seconds before the first drawing, and between drawings. A line that stays is worth fewer. */
static const double patience = 0.5, interval = 0.1;
static const double dumb_patience = 2, dumb_interval = 5;

static bool standing; /* a bar is on the screen, and the cursor behind it */

static const char line_wipe[] = "\r\033[K";
static const char *wipe = line_wipe; /* what stands there */

bool progress_stands(void)
{
    return standing;
}

/* A signal that ends the command wipes the bar, too. */
static void set_standing(bool stands)
{
    standing = stands;
    interrupt_wipes(stands ? wipe : "");
}

void progress_stands_as(const char *wipes)
{
    wipe = wipes;
    set_standing(true);
}

void progress_hide(void)
{
    if (standing) {
        fputs(wipe, stderr);
        fflush(stderr);
    }
    set_standing(false);
    wipe = line_wipe;
}

void progress_begin(struct progress *p, const char *label, const char *unit)
{
    const char *term = getenv("TERM");

    progress_hide();
    *p = (struct progress){.label = label,
                           .unit = unit,
                           .scale = 1,
                           .start = term_seconds(),
                           .terminal = isatty(STDERR_FILENO) != 0,
                           .dumb = term && strcmp(term, "dumb") == 0};
}

void progress_always(struct progress *p)
{
    p->dumb |= !p->terminal;
    p->terminal = p->always = true;
}

static void write_left(char *out, size_t capacity, double left)
{
    if (left < 100)
        snprintf(out, capacity, "  %.0f s left", left);
    else
        snprintf(out, capacity, "  %.0f min left", left / 60);
}

/* The line in at most `columns`: first the bar becomes shorter and goes, then the time left, then the
 * rate. */
static void lay_out(char *line, const struct progress *p, double spent, int columns)
{
    char share[16] = "", rate[48] = "", left[32] = "", bar[WIDEST_BAR + 4] = "";
    double pace = p->done * p->scale / spent;
    int room;

    if (!p->unmeasured)
        snprintf(share, sizeof share, " %3.0f %%", p->share * 100);
    if (!p->unmeasured && p->share > 0) {
        if (p->unit)
            snprintf(rate, sizeof rate, "  %.*f %s/s", pace < 100, pace, p->unit);
        if (p->share < 1)
            write_left(left, sizeof left, spent / p->share - spent);
    }
    for (;;) {
        room = columns - (int)(strlen(p->label) + strlen(share) + strlen(rate) + strlen(left));
        if (room >= 0 || (!*left && !*rate))
            break;
        *(*left ? left : rate) = 0;
    }
    room -= 3; /* brackets and a space */
    if (room >= LEAST_BAR && *share) {
        int width = room < WIDEST_BAR ? room : WIDEST_BAR;
        memset(bar, ' ', (size_t)width + 3);
        bar[1] = '[';
        memset(bar + 2, '#', (size_t)(p->share * width));
        bar[2 + width] = ']';
    }
    snprintf(line, LINE, "%.60s%s%s%s%s", p->label, bar, share, rate, left);
    if ((int)strlen(line) > columns)
        line[columns] = 0;
}

static void draw(struct progress *p, double spent)
{
    char line[LINE];
    int columns = terminal_columns(STDERR_FILENO);

    /* the last column stays free: in it some terminals go on to the next line */
    lay_out(line, p, spent, columns > 1 && columns < LINE ? columns - 1 : columns > 1 ? LINE - 1 : 79);
    fprintf(stderr, p->dumb ? "%s\n" : "\r%s\033[K", line);
    fflush(stderr);
    set_standing(!p->dumb);
}

int progress_update(void *user, size_t done, size_t total)
{
    struct progress *p = user;

    if (p->terminal && total > 0 && done <= total) {
        double now = term_seconds(), spent = now - p->start, share = (double)done / (double)total;
        if (share >= p->share) {
            p->share = share;
            p->done = (double)done;
        }
        if (spent >= (p->dumb ? dumb_patience : patience) &&
            now - p->drawn >= (p->dumb ? dumb_interval : interval)) {
            draw(p, spent);
            p->drawn = now;
        }
    }
    return term_interrupted();
}

int progress_opening(void *user, size_t done, size_t total)
{
    enum { MOST_STEPS = 16 };
    struct progress *p = user;
    bool packs = total > MOST_STEPS;

    if (packs && p->unmeasured) {
        progress_begin(p, "packing", "MB");
        p->scale = KIB_IN_MB;
    } else if (!packs) {
        p->unmeasured = true;
        p->label = total == 1 ? "waiting for the process that packs this model" : "loading";
    }
    return progress_update(p, done, total);
}

void progress_end(struct progress *p)
{
    if (p->always && p->dumb && p->done > 0)
        draw(p, term_seconds() - p->start);
    progress_hide();
    p->terminal = false;
}
