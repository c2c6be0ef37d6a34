/* SPDX-License-Identifier: Apache-2.0 */
/* reasoning.h: whether a model thinks before it answers, for how long, and what becomes of its thoughts:
 * --reasoning, --reasoning-budget, --hidethinking. Which ids are thoughts is the library's. */
#ifndef REASONING_H
#define REASONING_H

#include "carat_generate.h"
#include "options/options.h"

struct reasoning_options {
    const char *reasoning; /* on, off, auto and their like */
    int budget;            /* ids of a thought; below 0: any number */
    bool hides;
};

/* auto is what the template does when nobody says anything. */
bool reasoning_on(const struct options *o);
/* "on", "off" or "auto", whichever way it was said. */
const char *reasoning_word(const struct options *o);
void reasoning_generation(const struct options *o, carat_generation_options *g);

/* ---- the thoughts of one answer ---- */

struct thoughts {
    bool prints, hides; /* to standard error as they come; else they are kept */
    bool open;          /* one is printed, and has no end yet */
    char last_byte;
    char *text; /* [n_text] */
    size_t n_text, capacity;
    int n, forced; /* that had a text; that the budget ended */
};

void thoughts_begin(struct thoughts *t, const struct options *o, bool prints);
/* Text of a thought, or n 0: it has none yet. An exit code. */
int thoughts_emit(struct thoughts *t, const char *text, size_t n);
/* The answer goes on, or is over. */
void thoughts_end(struct thoughts *t);
void thoughts_free(struct thoughts *t);

#endif
