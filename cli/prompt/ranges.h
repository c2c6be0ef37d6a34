/* SPDX-License-Identifier: Apache-2.0 */
/* ranges.h: how large the values of a model become over a text: -f, or one that is built in. */
#ifndef PROMPT_RANGES_H
#define PROMPT_RANGES_H

#include "carat_convert.h"
#include "prompt/windows.h"

struct ranges {
    carat_ranges *ranges;
    int n; /* ids that were evaluated */
    struct windows windows;
};

/* Whatever the code is, ranges_end follows. */
int ranges_measure(struct ranges *r, const carat_model *model, const struct options *o);
void ranges_end(struct ranges *r);

/* The operation with the largest peak; residual: among those that a residual scale multiplies, else among all
 * others. peak 0: there is none. */
struct peak {
    char operation[24], weight[32];
    int layer, position;
    float peak;
};
void ranges_peak(struct peak *p, const struct ranges *r, bool residual);
/* "residual_norm post_ffw_norm in layer 7". */
enum { PEAK_TEXT = 96 };
const char *peak_text(char out[PEAK_TEXT], const struct peak *p);

#endif
