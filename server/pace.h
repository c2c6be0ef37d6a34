/* SPDX-License-Identifier: Apache-2.0 */
/* pace.h: how fast an engine is, as its passes were measured, and how long those who come now would wait for
 * a place. Nothing is known before something was measured; then it counts as no time. Used by the drawing
 * thread alone. */
#ifndef PACE_H
#define PACE_H

#include <stdbool.h>

struct pace {
    double prompt; /* tokens of prompts a millisecond; 0: not measured */
    double drawn;  /* ids of all answers together a millisecond; 0: not measured */
    double length; /* ids of an answer, of late; 0: none has ended */
};

/* What there is to do before somebody who comes now. */
struct load {
    int answers, waiting; /* in all, and those of them that have no place yet */
    double prompt, drawn; /* tokens that have yet to be evaluated and drawn */
};

/* A pass has evaluated a piece of a prompt, or has given ids beside no such piece; an answer has ended. */
void pace_prompt(struct pace *p, int tokens, double ms);
void pace_drawn(struct pace *p, int ids, double ms);
void pace_length(struct pace *p, int ids);
/* An answer before which so many tokens have to be evaluated, and which may have up to so many ids more. */
void pace_add(const struct pace *p, struct load *load, int prompt, int most, bool waits);
/* Milliseconds until one of so many places is free, and nobody who came before wants it. */
double pace_wait_ms(const struct pace *p, const struct load *load, int places);

#endif
