/* SPDX-License-Identifier: Apache-2.0 */
/* remark.h: the last words about an answer: dim lines on stderr, put together from pieces that the end of a
 * line does not break. */
#ifndef REMARK_H
#define REMARK_H

#include "term/message.h"

struct remarks {
    char line[80];
    int columns; /* at most 79 */
};

void remarks_begin(struct remarks *r);
void model_remark(struct remarks *r, const char *format, ...) PRINTF(2, 3);
/* "prompt 14 tokens (350 tok/s)", where there was a pass; of is the whole of which n are a part. */
void remark_speed(struct remarks *r, const char *what, int n, int of, double speed);
void remarks_flush(struct remarks *r);
/* Tokens a second; NAN where nothing was evaluated. */
double speed_of(int n, double s);

#endif
