/* SPDX-License-Identifier: Apache-2.0 */
/* stop.h: stop strings in a text that comes piece by piece. What may still become one is held back. It knows
 * text alone: which text, and what becomes of a generation, is the caller's. */
#ifndef CT_STOP_H
#define CT_STOP_H

#include "base/base.h"
#include "carat_generate.h"

#define CT_STOP_HELD (CARAT_MOST_STOP_BYTES - 1) /* most bytes that are held back */

struct ct_stop {
    const char *text;     /* [n] */
    const uint16_t *fail; /* [n] of its first i + 1 bytes: the longest end, but all, that it begins with */
    int n, at;            /* the text so far ends with its first `at` bytes */
};

struct ct_stops {
    int n; /* 0: nothing is ever held back */
    struct ct_stop of[CARAT_MOST_STOPS];
    void *memory; /* of all texts and tables */
};

/* Copies n strings. E_ARGUMENT: there are too many, or one is empty, longer than 1024 bytes or not UTF-8.
 * E_MEMORY. Nothing is to be closed then. */
carat_status ct_stops_open(struct ct_stops *s, const char *const *stops, int n, carat_error *err);
void ct_stops_close(struct ct_stops *s);
/* Another text begins; what is held back of the last one is forgotten. */
void ct_stops_begin(struct ct_stops *s);
/* The text goes on by n bytes. Writes to out, which has room for CT_STOP_HELD more than n, what can be in no
 * stop string any more, and sets *n_out. Returns the string that is complete, of several that end there the
 * longest, and then nothing is held back and neither it nor what follows is written; else -1. */
int ct_stops_push(struct ct_stops *s, const char *text, size_t n, char *out, size_t *n_out);
/* Writes what is held back, at most CT_STOP_HELD bytes, returns their number, and begins another text. */
size_t ct_stops_rest(struct ct_stops *s, char *out);

#endif
