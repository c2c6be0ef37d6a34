/* progress.c: draws the bar. Whether the work goes on after Ctrl-C is asked of interrupt.c. */
#define _POSIX_C_SOURCE 200809L
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

enum { BAR_WIDTH = 24 };
static const double patience = 0.5; /* seconds before the first drawing */
static const double interval = 0.1; /* seconds between drawings */

void progress_begin(struct progress *p, const char *label, const char *unit)
{
    *p = (struct progress){
        .label = label, .unit = unit, .start = seconds(), .terminal = isatty(STDERR_FILENO) != 0};
}

static void draw(struct progress *p, double share, double rate, double left)
{
    char bar[BAR_WIDTH + 1], pace[40] = "";
    int filled = (int)(share * BAR_WIDTH);

    memset(bar, ' ', BAR_WIDTH);
    memset(bar, '#', (size_t)filled);
    bar[BAR_WIDTH] = 0;
    if (p->unit)
        snprintf(pace, sizeof pace, "  %.1f %s/s", rate, p->unit);
    fprintf(stderr, "\r%s [%s] %3.0f %%%s  %.0f s left\033[K", p->label, bar, share * 100, pace, left);
    fflush(stderr);
    p->shown = true;
}

int progress_update(void *user, size_t done, size_t total)
{
    struct progress *p = user;

    if (p->terminal && total > 0 && done > 0 && done <= total) {
        double now = seconds(), spent = now - p->start;
        if (spent >= patience && now - p->drawn >= interval) {
            double share = (double)done / (double)total;
            draw(p, share, (double)done / spent, spent / share - spent);
            p->drawn = now;
        }
    }
    return interrupted();
}

void progress_end(struct progress *p)
{
    if (p->shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    p->shown = false;
}
