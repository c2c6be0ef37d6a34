/* SPDX-License-Identifier: Apache-2.0 */
/* pace.c: moving means, and what is to be waited for by them. */
#include "pace.h"

enum { FEWEST_TOKENS = 16 }; /* of a prompt, for its time to tell of longer ones */

static void mean(double *of, double value, double share)
{
    *of = *of > 0 ? *of + (value - *of) * share : value;
}

void pace_prompt(struct pace *p, int tokens, double ms)
{
    if (tokens >= FEWEST_TOKENS && ms > 0)
        mean(&p->prompt, tokens / ms, 0.5);
}

void pace_drawn(struct pace *p, int ids, double ms)
{
    if (ids > 0 && ms > 0)
        mean(&p->drawn, ids / ms, 0.125);
}

void pace_length(struct pace *p, int ids)
{
    if (ids > 0)
        mean(&p->length, ids, 0.125);
}

void pace_add(const struct pace *p, struct load *load, int prompt, int most, bool waits)
{
    load->answers++;
    load->waiting += waits;
    load->prompt += prompt;
    load->drawn += most < p->length ? most : p->length;
}

double pace_wait_ms(const struct pace *p, const struct load *load, int places)
{
    const int over = load->answers + 1 - places, behind = load->waiting > 0 ? load->waiting + 1 : 0;
    const int ended = over > behind ? over : behind; /* answers that have to end before, on the way to all */
    double ms = 0;

    if (ended <= 0)
        return 0;
    if (p->prompt > 0)
        ms += load->prompt / p->prompt;
    if (p->drawn > 0)
        ms += load->drawn / p->drawn;
    return ended < load->answers ? ms * ended / load->answers : ms;
}
