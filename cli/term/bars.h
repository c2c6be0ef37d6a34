/* SPDX-License-Identifier: Apache-2.0 */
/* bars.h: a bar for each of several things that go on at once, a line each, and one for their sum, on stderr.
 * On a terminal they stay where they are, however wide it becomes; elsewhere there is a line now and then. */
#ifndef TERM_BARS_H
#define TERM_BARS_H

#include <stdbool.h>
#include <stdint.h>

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
/* How far all of it is, in bytes, and the parts of it that go on. Draws when it is time. */
void bars_update(struct bars *b, int64_t done, int64_t all, const struct bar *bar, int n);
void bars_end(struct bars *b); /* wipes them */

enum { BARS_TEXT = 32768 };
/* The lines, of at most so many columns, without the last newline; rate: bytes a second, 0: unknown. */
void bars_lay_out(char text[BARS_TEXT], const char *label, int64_t done, int64_t all, const struct bar *bar,
                  int n, double rate, int columns);

#endif
