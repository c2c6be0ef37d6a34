/* SPDX-License-Identifier: Apache-2.0 */
/* show_options.h: options of the verbs that look at a model or a machine. */
#ifndef SHOW_SHOW_OPTIONS_H
#define SHOW_SHOW_OPTIONS_H

#include "options/options.h"

struct show_options {
    const char *out; /* of pack */
    bool tensors, ranges;
    const char *measure; /* of doctor */
    double soak;         /* seconds, of doctor; NAN: not given */
};

#endif
