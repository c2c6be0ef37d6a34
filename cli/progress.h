/* progress.h: a bar with rate and remaining time on stderr, drawn only when stderr is a terminal and only once the
 * work has taken long enough to make somebody wait. */
#ifndef PROGRESS_H
#define PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct progress {
    const char *label;
    const char *unit; /* "tok", or NULL: no rate */
    double start, drawn;
    bool terminal, shown;
};

void progress_begin(struct progress *p, const char *label, const char *unit);
/* A carat_progress; user is the struct progress. Nonzero after Ctrl-C. */
int progress_update(void *user, size_t done, size_t total);
void progress_end(struct progress *p); /* wipes the bar */

#endif
