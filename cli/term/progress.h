/* SPDX-License-Identifier: Apache-2.0 */
/* progress.h: a bar with rate and remaining time on stderr, drawn only when stderr is a terminal and only
 * once the work has taken long enough to be noticed. It never leaves its line; a dumb terminal gets a
 * line now and then. Or several bars (bars.c). */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB_IN_MB (1024 / 1e6) /* the scale of a bar whose work is reported in KiB */

struct progress {
    const char *label;
    const char *unit;                 /* "tok", "MB", or NULL: no rate */
    double scale;                     /* of that unit in one of done; 1 unless set after progress_begin */
    double start, drawn, share, done; /* share and done are the highest so far */
    bool terminal, dumb;
    bool unmeasured; /* how much there is to do is not known, the label stands alone */
    bool always;     /* progress_always */
};

/* Begins one, or the next one in the same place. */
void progress_begin(struct progress *p, const char *label, const char *unit);
/* Behind progress_begin: also where stderr is no terminal, a line now and then and one at the end. */
void progress_always(struct progress *p);
/* A carat_progress; user is the struct progress. Nonzero after Ctrl-C. After progress_end that is all it
 * does. */
int progress_update(void *user, size_t done, size_t total);
/* progress_update for opening a model, which counts a few steps; then, where it packs, KiB; and 0 of 1 while
 * another process does. Only KiB say how long they take, so the rest is a word without a bar, and no bar runs
 * backwards. */
int progress_opening(void *user, size_t done, size_t total);
void progress_end(struct progress *p); /* wipes the bar */
/* Wipes the bar that stands on the screen, if one does, so that something else can be printed there; the next
 * update draws it anew. */
void progress_hide(void);
bool progress_stands(void); /* on the screen */
/* Something else than one line stands there, which this text wipes; the text must stay where it is. */
void progress_stands_as(const char *wipes);

/* ---- bars.c ---- */

/* A bar for each of several things that go on at once, a line each, and one for their sum, on stderr. On
 * a terminal they stay where they are, however wide it becomes; elsewhere there is a line now and then. */

enum { MOST_BARS = 16, BAR_SAMPLES = 32 };

struct bar {
    const char *name;
    int64_t done, all;
    const char *state; /* instead of a share, as "checking", or NULL */
};

struct bars {
    const char *label; /* of the sum */
    bool terminal;
    double drawn;
    int n_samples;
    struct {
        double when;
        int64_t done;
    } sample[BAR_SAMPLES]; /* the oldest first: the rate is that of the last seconds */
};

void bars_begin(struct bars *b, const char *label);
/* Takes how far all of it is, in bytes, and the parts of it that go on. Draws when it is time. */
void bars_update(struct bars *b, int64_t done, int64_t all, const struct bar *bar, int n);
void bars_end(struct bars *b); /* wipes them */

enum { BARS_TEXT = 32768 };
/* The lines, of at most so many columns, without the last newline; rate: bytes a second, 0: unknown. */
void bars_lay_out(char text[BARS_TEXT], const char *label, int64_t done, int64_t all, const struct bar *bar,
                  int n, double rate, int columns);

#endif
