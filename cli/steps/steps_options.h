/* SPDX-License-Identifier: Apache-2.0 */
/* steps_options.h: options of the verbs that show single steps. */
#ifndef STEPS_STEPS_OPTIONS_H
#define STEPS_STEPS_OPTIONS_H

#include "options/options.h"

struct steps_options {
    const char *out, *tap; /* of logits: a file, and the values that it gets */
    int top;               /* 0: not given */
    int steps, rounds;     /* of decode */
    bool all, prefill_logits;
};

#endif
