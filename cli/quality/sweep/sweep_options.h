/* SPDX-License-Identifier: Apache-2.0 */
/* sweep_options.h: what `carat sweep` is asked to try. */
#ifndef QUALITY_SWEEP_SWEEP_OPTIONS_H
#define QUALITY_SWEEP_SWEEP_OPTIONS_H

#include "options/options.h"

struct sweep_options {
    const char *recipes;
    bool keep;
    double max_kl; /* NAN: not given */
    int n_prompt, n_gen, repetitions;
};

#endif
